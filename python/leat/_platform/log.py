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
  get_logger().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
  get_logger().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs):
  get_logger().info(msg, *args, **kwargs)


def warn(msg, *args, **kwargs):
  get_logger().warning(msg, *args, **kwargs)


warning = warn


def error(msg, *args, **kwargs):
  get_logger().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
  get_logger().fatal(msg, *args, **kwargs)


def vlog(level, msg, *args, **kwargs):
  get_logger().log(level, msg, *args, **kwargs)


def flush():
  """Nothing waits."""


def get_verbosity():
  return get_logger().getEffectiveLevel()


def set_verbosity(v):
  get_logger().setLevel(v)


def log_if(level, msg, condition, *args):
  if condition:
    log(level, msg, *args)


_counts = {}


def _count():
  frame = sys._getframe(2)
  key = frame.f_code, frame.f_lineno
  _counts[key] = _counts.get(key, -1) + 1
  return _counts[key]


def log_every_n(level, msg, n, *args):
  if _count() % n == 0:
    log(level, msg, *args)


def log_first_n(level, msg, n, *args):
  if _count() < n:
    log(level, msg, *args)


def TaskLevelStatusMessage(msg):
  error(msg)


EXPORTS = {'logging.' + n: n for n in (
    'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL', 'log', 'debug', 'info', 'warn', 'warning', 'error',
    'fatal', 'vlog', 'flush', 'get_verbosity', 'set_verbosity', 'log_if', 'log_every_n',
    'log_first_n', 'TaskLevelStatusMessage', 'get_logger')}
