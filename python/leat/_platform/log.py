"""tf.logging: the logger 'tensorflow' of Python's logging, loaded with the first message."""
from __future__ import annotations

import sys

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_logger = []


def get_logger():
  """Python's logger."""
  if not _logger:
    import logging
    logger = logging.getLogger('tensorflow')
    logger.setLevel(WARN)
    if not logging.getLogger().handlers:
      handler = logging.StreamHandler(sys.stderr)
      handler.setFormatter(logging.Formatter('%(levelname)s:%(name)s:%(message)s'))
      logger.addHandler(handler)
    _logger.append(logger)
  return _logger[0]


def log(level, msg, *args, **kwargs):
  """Writes a message at a level (`tf.logging.INFO`, say); args are put into it as % does."""
  get_logger().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
  """Writes a message at the level DEBUG; args are put into it as % does."""
  get_logger().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs):
  """Writes a message at the level INFO; args are put into it as % does. It is shown after
  `tf.logging.set_verbosity(tf.logging.INFO)`."""
  get_logger().info(msg, *args, **kwargs)


def warn(msg, *args, **kwargs):
  """Writes a message at the level WARN; args are put into it as % does."""
  get_logger().warning(msg, *args, **kwargs)


warning = warn


def error(msg, *args, **kwargs):
  """Writes a message at the level ERROR; args are put into it as % does."""
  get_logger().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
  """Writes a message at the level FATAL; args are put into it as % does. The program goes on."""
  get_logger().fatal(msg, *args, **kwargs)


def vlog(level, msg, *args, **kwargs):
  """Writes a message at a level that is a number, as `log` does."""
  get_logger().log(level, msg, *args, **kwargs)


def flush():
  """Nothing waits."""


def get_verbosity():
  """The lowest level of messages that are shown."""
  return get_logger().getEffectiveLevel()


def set_verbosity(v):
  """Shows messages of the level `v` and above: tf.logging.DEBUG, INFO, WARN (from the start), ERROR
  or FATAL."""
  get_logger().setLevel(v)


def log_if(level, msg, condition, *args):
  """Writes a message where the condition is true."""
  if condition:
    log(level, msg, *args)


_counts = {}


def _count():
  frame = sys._getframe(2)
  key = frame.f_code, frame.f_lineno
  _counts[key] = _counts.get(key, -1) + 1
  return _counts[key]


def log_every_n(level, msg, n, *args):
  """Writes the message at the first, and then each n-th time that this line of the program is
  reached."""
  if _count() % n == 0:
    log(level, msg, *args)


def log_first_n(level, msg, n, *args):
  """Writes the message the first n times that this line of the program is reached."""
  if _count() < n:
    log(level, msg, *args)


def TaskLevelStatusMessage(msg):
  """Writes a message about a whole task, at the level ERROR."""
  error(msg)


EXPORTS = {'logging.' + n: n for n in (
    'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL', 'log', 'debug', 'info', 'warn', 'warning', 'error',
    'fatal', 'vlog', 'flush', 'get_verbosity', 'set_verbosity', 'log_if', 'log_every_n',
    'log_first_n', 'TaskLevelStatusMessage', 'get_logger')}
ALIASES = {'get_logger': 'logging.get_logger'}
