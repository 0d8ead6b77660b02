"""tf.data.Options: settings of a dataset that change how it is made, not what is in it."""
from __future__ import annotations

from leat._export import export

_AUTOTUNE = -1
EXPORTS = {'data.AUTOTUNE': '_AUTOTUNE', 'data.experimental.AUTOTUNE': '_AUTOTUNE'}


class _Settings:
  """Named settings with types, None where nothing is said. A name that is not in `_types` cannot
  be set, nor can a value of another type."""
  _types = {}
  _aliases = {}

  def __init__(self):
    object.__setattr__(self, '_values', {})

  def __getattr__(self, name):
    name = type(self)._aliases.get(name, name)
    if name not in type(self)._types:
      raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))
    kind = type(self)._types[name]
    if issubclass(kind, _Settings) and name not in self._values:
      self._values[name] = kind()
    return self._values.get(name)

  def __setattr__(self, name, value):
    own = type(self)._aliases.get(name, name)
    kind = type(self)._types.get(own)
    if kind is None:
      raise AttributeError('Cannot set the property %s on %s.' % (name, type(self).__name__))
    if value is not None and not isinstance(value, kind):
      raise TypeError("Property '%s' must be of type %s, got: %r (type: %s)" % (
          name, kind.__name__, value, type(value).__name__))
    self._values[own] = value

  def _said(self):
    """{name: value} of what was set."""
    found = {}
    for name, value in self._values.items():
      value = value._said() if isinstance(value, _Settings) else value
      if value is not None and value != {}:
        found[name] = value
    return found

  def __eq__(self, other):
    return type(self) is type(other) and self._said() == other._said()

  def __ne__(self, other):
    return not self == other

  __hash__ = None

  def merge(self, options):
    """New settings: those of `options` where they say something, else these."""
    made = type(self)()
    for name, kind in type(self)._types.items():
      ours, theirs = self._values.get(name), options._values.get(name)
      if issubclass(kind, _Settings):
        if ours is not None or theirs is not None:
          made._values[name] = (ours or kind()).merge(theirs or kind())
      elif ours is not None or theirs is not None:
        made._values[name] = ours if theirs is None else theirs
    return made


@export('data.ThreadingOptions', 'data.experimental.ThreadingOptions')
class ThreadingOptions(_Settings):
  """max_intra_op_parallelism: threads of one operation; private_threadpool_size: threads of the
  dataset, 0 as many as there are processors."""
  _types = {'max_intra_op_parallelism': int, 'private_threadpool_size': int}


@export('data.experimental.OptimizationOptions')
class OptimizationOptions(_Settings):
  """Which rewrites of the dataset are wished. They change no element; the library makes none."""
  _types = dict.fromkeys((
      'apply_default_optimizations', 'autotune', 'filter_fusion', 'filter_parallelization',
      'hoist_random_uniform', 'inject_prefetch', 'map_and_batch_fusion', 'map_and_filter_fusion',
      'map_fusion', 'map_parallelization', 'noop_elimination', 'parallel_batch',
      'shuffle_and_repeat_fusion'), bool)


@export('data.experimental.StatsOptions')
class StatsOptions(_Settings):
  """Who is told the statistics of the dataset. aggregator: a StatsAggregator; prefix: stands before
  each tag, with '::'; counter_prefix, latency_all_edges: have no effect here."""
  _types = {'aggregator': object, 'prefix': str, 'counter_prefix': str, 'latency_all_edges': bool}


@export('data.Options')
class Options(_Settings):
  """Settings for Dataset.with_options: deterministic (False allows another order where that is
  faster), threading, experimental_stats, experimental_optimization, and others that have no
  effect here."""
  _types = {'deterministic': bool, 'threading': ThreadingOptions, 'autotune': bool,
            'experimental_optimization': OptimizationOptions, 'experimental_slack': bool,
            'experimental_stats': StatsOptions}
  _aliases = {'experimental_deterministic': 'deterministic', 'experimental_threading': 'threading',
              'experimental_autotune': 'autotune'}
