"""The messages of profiles (tensorflow/core/profiler), which the library does not have."""
from __future__ import annotations

from leat._graph import message, wire

EXPORTS = {'profiler.GraphNodeProto': 'GraphNodeProto', 'profiler.AdviceProto': 'AdviceProto',
           'profiler.MultiGraphNodeProto': 'MultiGraphNodeProto',
           'profiler.OpLogProto': 'OpLogProto'}

# {field: (count, whether it is the total, number in GraphNodeProto, in MultiGraphNodeProto)}
NUMBERS = {
    'run_count': ('run_count', False, 21, None), 'exec_micros': ('micros', False, 2, 2),
    'accelerator_exec_micros': ('accelerator_micros', False, 17, 12),
    'cpu_exec_micros': ('cpu_micros', False, 18, 13), 'requested_bytes': ('bytes', False, 3, 3),
    'peak_bytes': ('peak_bytes', False, 24, 16),
    'residual_bytes': ('residual_bytes', False, 25, 17),
    'output_bytes': ('output_bytes', False, 26, 18), 'parameters': ('params', False, 4, 4),
    'float_ops': ('float_ops', False, 13, 5),
    'total_definition_count': ('occurrence', True, 23, None),
    'total_run_count': ('run_count', True, 22, None), 'total_exec_micros': ('micros', True, 6, 6),
    'total_accelerator_exec_micros': ('accelerator_micros', True, 19, 14),
    'total_cpu_exec_micros': ('cpu_micros', True, 20, 15),
    'total_requested_bytes': ('bytes', True, 7, 7),
    'total_peak_bytes': ('peak_bytes', True, 27, 19),
    'total_residual_bytes': ('residual_bytes', True, 28, 20),
    'total_output_bytes': ('output_bytes', True, 29, 21),
    'total_parameters': ('params', True, 8, 8), 'total_float_ops': ('float_ops', True, 14, 9)}


def _define(name, *fields):
  """The class of tensorflow.tfprof.<name>; a field is (name, number, kind, label, message)."""
  wire.define('tensorflow.tfprof.' + name, [
      [field, number, kind, label, of and (of if '.' in of else 'tensorflow.tfprof.' + of), -1]
      for field, number, kind, label, of in fields])


def _text(name, number, label='singular'):
  return name, number, 'string', label, None


def _number(name, number):
  return name, number, 'int64', 'singular', None


def _messages(name, number, of, label='repeated'):
  return name, number, 'message', label, of


_define('GraphNodeProto', _text('name', 1), _text('devices', 10, 'repeated'),
        _messages('shapes', 11, 'tensorflow.TensorShapeProto'),
        _messages('children', 12, 'GraphNodeProto'),
        *(_number(field, number) for field, (_, _, number, _) in NUMBERS.items()))
_define('MultiGraphNodeProto', _text('name', 1), _messages('graph_nodes', 10, 'GraphNodeProto'),
        _messages('children', 11, 'MultiGraphNodeProto'),
        *(_number(field, number) for field, (_, _, _, number) in NUMBERS.items() if number))
_define('OpLogEntry', _text('name', 1), _number('float_ops', 2), _text('types', 3, 'repeated'))
_define('OpLogProto', _messages('log_entries', 1, 'OpLogEntry'))
_define('Checker', _text('reports', 2, 'repeated'))
_define('AdviceProto.checkers_entry', _text('key', 1), _messages('value', 2, 'Checker', 'singular'))
_define('AdviceProto', _messages('checkers', 1, 'tensorflow.tfprof.AdviceProto.checkers_entry',
                                 'map'))
GraphNodeProto = message.of('tfprof.GraphNodeProto')
MultiGraphNodeProto = message.of('tfprof.MultiGraphNodeProto')
OpLogProto, AdviceProto = message.of('tfprof.OpLogProto'), message.of('tfprof.AdviceProto')
