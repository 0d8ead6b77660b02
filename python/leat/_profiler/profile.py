"""tf.profiler: what the nodes of a graph cost, in numbers of parameters and operations, and, where
steps were traced, in time and memory; and advice that follows from it.

A profile is a view (tree.py) of the nodes' counts; steps.py reads these from RunMetadata, report.py
makes tables and messages. tf.RunMetadata comes of a step with RunOptions.FULL_TRACE. Nodes that the
library fuses are counted as the one whose result the fused node makes.
"""
from __future__ import annotations

import os

from leat._export import export
from leat._graph import graph as graphs
from leat._graph.errors import InvalidArgumentError
from leat._profiler import float_operations, messages, report, tree
from leat._profiler.options import ProfileOptionBuilder
from leat._profiler.steps import Steps

_VIEWS = {'scope': tree.by_scope, 'graph': tree.by_graph, 'op': tree.by_op, 'code': tree.by_code}
ALL_ADVICE = {'ExpensiveOperationChecker': {}, 'AcceleratorUtilizationChecker': {},
              'JobChecker': {}, 'OperationChecker': {}}


@export('profiler.profile')
def profile(graph=None, run_meta=None, op_log=None, cmd='scope',
            options=ProfileOptionBuilder.trainable_variables_parameter()):
  """Counts, shows the table where `options` say, and gives a GraphNodeProto (for the views 'scope'
  and 'graph') or a MultiGraphNodeProto ('op' and 'code').

  run_meta is the RunMetadata of a traced step: with it there are times, bytes and runs, and shapes
  that the graph does not tell. op_log, an OpLogProto, gives nodes further types and counts.
  ValueError for other views, for what cannot be selected, for a step that is not there.
  """
  profiler = Profiler(graph, op_log)
  if run_meta is not None:
    profiler.add_step(0 if options['step'] < 0 else options['step'], run_meta)
  return profiler._profile(cmd, options)


@export('profiler.advise')
def advise(graph=None, run_meta=None, options=ALL_ADVICE):
  """An AdviceProto with what the checkers of `options`, {name: its options}, have to say of a
  traced step; it is printed too."""
  profiler = Profiler(graph)
  if run_meta is not None:
    profiler.add_step(0, run_meta)
  return profiler.advise(options)


@export('profiler.Profiler')
class Profiler:
  """Profiles of several steps: add_step() for each that was traced, then any of the views; the
  option `step` says which, -1 for the mean of all.

  >>> y = tf.matmul(tf.ones([2, 3]), tf.ones([3, 4]))
  >>> run_meta = tf.RunMetadata()
  >>> options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
  >>> _ = tf.Session().run(y, options=options, run_metadata=run_meta)
  >>> profiler = tf.profiler.Profiler(y.graph)
  >>> profiler.add_step(1, run_meta)
  >>> builder = tf.profiler.ProfileOptionBuilder
  >>> quiet = builder(builder.float_operation()).with_empty_output().build()
  >>> profiler.profile_operations(quiet).total_float_ops
  48
  """

  def __init__(self, graph=None, op_log=None):
    self._graph = graphs.get_default_graph() if graph is None else graph
    self._op_log, self._steps = op_log, Steps()

  def add_step(self, step, run_meta):
    """Adds the RunMetadata of the step of that number."""
    self._steps.add(step, run_meta)

  def profile_name_scope(self, options):
    """A GraphNodeProto of the view by names."""
    return self._profile('scope', options)

  def profile_graph(self, options):
    """A GraphNodeProto of the view by inputs."""
    return self._profile('graph', options)

  def profile_operations(self, options):
    """A MultiGraphNodeProto of the view by ops."""
    return self._profile('op', options)

  def profile_python(self, options):
    """A MultiGraphNodeProto of the view by lines of the program."""
    return self._profile('code', options)

  def advise(self, options):
    """An AdviceProto of the checkers that `options` name."""
    unknown = sorted(set(options) - set(ALL_ADVICE))
    if unknown:
      raise ValueError('No checker is called %s; there are %s' % (
          ', '.join(unknown), ', '.join(sorted(ALL_ADVICE))))
    made = messages.AdviceProto()
    for name in ('ExpensiveOperationChecker', 'OperationChecker', 'AcceleratorUtilizationChecker'):
      if name in options:
        reports = _CHECKERS[name](self)
        made.checkers[name].reports.extend(reports)
        print('\n'.join(['', name + ':', *reports]))
    return made

  def _root(self, cmd, options):
    nodes = tree.nodes_of(self._graph, options, self._steps, self._op_log)
    return _VIEWS[cmd](nodes, options)

  def _profile(self, cmd, options):
    if cmd not in _VIEWS:
      raise InvalidArgumentError(None, None, 'Cannot profile by %r: the views are %s' % (
          cmd, ', '.join(_VIEWS)))
    unknown = [s for s in options['select'] if s not in report.SELECTED]
    if unknown:
      raise ValueError('Cannot select %s: there are %s' % (
          ', '.join(map(repr, unknown)), ', '.join(sorted(report.SELECTED))))
    kind, _, where = options['output'].partition(':')
    if kind not in ('none', 'stdout', 'file', 'timeline'):
      raise ValueError('output is %r, must be none, stdout, file or timeline' % kind)
    if kind == 'timeline' and cmd == 'op':
      raise ValueError('A timeline is of the views scope, graph or code, not of op')
    root = self._root(cmd, options)
    if kind == 'stdout':
      print(report.text_of(root, cmd, options))
    elif kind != 'none':
      text = report.text_of(root, cmd, options) + '\n' if kind == 'file' else \
          report.timeline_of(root)
      with open(where.partition('=')[2], 'w', encoding='utf-8') as f:
        f.write(text)
    return report.message_of(root, cmd)


# ---- Advice -------------------------------------------------------------------------------------


def _quiet(**options):
  return dict(ProfileOptionBuilder.time_and_memory(), output='none', **options)


def _cost_of(item):
  return 'cpu: %s, accelerator: %s, total: %s' % tuple(
      report.amount(key, item.own[key]) for key in ('cpu_micros', 'accelerator_micros', 'micros'))


def _expensive(profiler):
  """The ops, the node and the line that take most of the time."""
  found, item = [], profiler._root('op', _quiet())
  whole = item.total['micros']
  if not whole:
    return []
  while item.children and len(found) < 3:
    item = item.children[0]
    found.append('top %d operation type: %s, %s (%.2f%%)' % (
        len(found) + 1, item.name, _cost_of(item), 100.0 * item.own['micros'] / whole))
  nodes = profiler._root('scope', _quiet())
  largest = lambda items: max(items, key=lambda item: (item.own['micros'], item.name))
  found = ['\n'.join(found), 'top 1 graph node: ' + _described(largest(tree.below(nodes)[1:]))]
  lines = tree.below(profiler._root('code', _quiet()))[1:]
  return found + [_described(largest(lines))] if lines else found


def _described(item):
  return '%s, %s' % (item.name, _cost_of(item))


def _operations(profiler):
  """Layouts that an accelerator is slow with."""
  for op in profiler._graph.get_operations():
    layout = op.attribute('data_format')
    _, devices = profiler._steps.costs(-1).get(op.name, ({}, []))
    if layout and op.get_attr('data_format') == b'NHWC' and any('gpu' in d for d in devices):
      return ['%s has the layout NHWC on a GPU, where NCHW may be faster.' % op.name]
  return []


def _utilization(profiler):
  """Accelerators that wait more than they work."""
  return ['device: %s utilization: %.2f' % (device, share)
          for device, share in profiler._steps.utilization() if share < 0.2]


_CHECKERS = {'ExpensiveOperationChecker': _expensive, 'OperationChecker': _operations,
             'AcceleratorUtilizationChecker': _utilization}


# ---- Logs ---------------------------------------------------------------------------------------


@export('profiler.write_op_log')
def write_op_log(graph, log_dir, op_log=None, run_meta=None, add_trace=True):
  """Writes an OpLogProto into the file tfprof_log of log_dir: the types of trainable variables and
  the floating-point operations of nodes, by the shapes in run_meta where the graph does not tell
  them, and what is in op_log. Lines of the program are not written, whatever add_trace says."""
  del add_trace
  graph = graphs.get_default_graph() if graph is None else graph
  steps = Steps()
  if run_meta is not None:
    steps.add(0, run_meta)
  made = messages.OpLogProto()
  if op_log is not None:
    made.MergeFrom(op_log)
  known = {entry.name: entry for entry in made.log_entries}
  trainable = {v.op.name for v in graph.get_collection('trainable_variables')}
  for op in graph.get_operations():
    number = float_operations.count(op, steps.shape)
    if not number and op.name not in trainable:
      continue
    entry = known.get(op.name) or made.log_entries.add()
    entry.name = op.name
    if number and not entry.float_ops:
      entry.float_ops = number
    if op.name in trainable:
      entry.types.append('_trainable_variables')
  with open(os.path.join(log_dir, 'tfprof_log'), 'wb') as f:
    f.write(made.SerializeToString())

