"""ProfileOptionBuilder: what tf.profiler.profile counts and shows, as a dict."""
from __future__ import annotations

import copy

from leat._export import export

_DEFAULTS = {
    'max_depth': 100, 'min_bytes': 0, 'min_micros': 0, 'min_params': 0, 'min_float_ops': 0,
    'min_occurrence': 0, 'order_by': 'name', 'account_type_regexes': ['.*'],
    'start_name_regexes': ['.*'], 'trim_name_regexes': [], 'show_name_regexes': ['.*'],
    'hide_name_regexes': [], 'account_displayed_op_only': False, 'select': ['micros'], 'step': -1,
    'output': 'stdout'}


@export('profiler.ProfileOptionBuilder')
class ProfileOptionBuilder:
  """Begins with defaults or with given options; each method changes some and gives the builder."""

  def __init__(self, options=None):
    self._options = copy.deepcopy(_DEFAULTS if options is None else options)

  def build(self):
    """The dict."""
    return copy.deepcopy(self._options)

  def _with(self, **options):
    self._options.update(options)
    return self

  @staticmethod
  def trainable_variables_parameter():
    """Options for the numbers of parameters of trainable variables."""
    return dict(_DEFAULTS, max_depth=10000, account_type_regexes=['_trainable_variables'],
                account_displayed_op_only=True, select=['params'])

  @staticmethod
  def float_operation():
    """Options for the numbers of floating-point operations."""
    return dict(_DEFAULTS, max_depth=10000, min_float_ops=1, order_by='float_ops',
                account_displayed_op_only=True, select=['float_ops'])

  @staticmethod
  def time_and_memory(min_micros=1, min_bytes=1, min_accelerator_micros=0, min_cpu_micros=0,
                      min_peak_bytes=0, min_residual_bytes=0, min_output_bytes=0):
    """Options for the times and the memory of what takes at least so much."""
    return dict(_DEFAULTS, max_depth=10000, min_bytes=min_bytes, min_peak_bytes=min_peak_bytes,
                min_residual_bytes=min_residual_bytes, min_output_bytes=min_output_bytes,
                min_micros=min_micros, min_accelerator_micros=min_accelerator_micros,
                min_cpu_micros=min_cpu_micros, order_by='micros', account_displayed_op_only=True,
                select=['micros', 'bytes'])

  def with_max_depth(self, max_depth):
    return self._with(max_depth=max_depth)

  def with_min_memory(self, min_bytes=0, min_peak_bytes=0, min_residual_bytes=0,
                      min_output_bytes=0):
    """Only what asked for, held, kept and gave at least so many bytes."""
    return self._with(min_bytes=min_bytes, min_peak_bytes=min_peak_bytes,
                      min_residual_bytes=min_residual_bytes, min_output_bytes=min_output_bytes)

  def with_min_execution_time(self, min_micros=0, min_accelerator_micros=0, min_cpu_micros=0):
    """Only what took at least so many microseconds."""
    return self._with(min_micros=min_micros, min_accelerator_micros=min_accelerator_micros,
                      min_cpu_micros=min_cpu_micros)

  def with_min_parameters(self, min_params):
    return self._with(min_params=min_params)

  def with_min_float_operations(self, min_float_ops):
    return self._with(min_float_ops=min_float_ops)

  def with_min_occurrence(self, min_occurrence):
    return self._with(min_occurrence=min_occurrence)

  def with_accounted_types(self, account_type_regexes):
    """Only nodes count of which an op or type matches; `_trainable_variables` is one."""
    return self._with(account_type_regexes=copy.copy(account_type_regexes))

  def with_node_names(self, start_name_regexes=None, show_name_regexes=None,
                      hide_name_regexes=None, trim_name_regexes=None):
    """Where the tree begins, what of it is shown, and where it ends."""
    given = {'start_name_regexes': start_name_regexes, 'show_name_regexes': show_name_regexes,
             'hide_name_regexes': hide_name_regexes, 'trim_name_regexes': trim_name_regexes}
    return self._with(**{k: copy.copy(v) for k, v in given.items() if v is not None})

  def account_displayed_op_only(self, is_true):
    return self._with(account_displayed_op_only=is_true)

  def with_empty_output(self):
    """Nothing is printed."""
    return self._with(output='none')

  def with_stdout_output(self):
    return self._with(output='stdout')

  def with_file_output(self, outfile):
    return self._with(output='file:outfile=%s' % outfile)

  def with_timeline_output(self, timeline_file):
    """A trace for chrome://tracing; of the views scope, graph and code."""
    return self._with(output='timeline:outfile=%s' % timeline_file)

  def with_pprof_output(self, pprof_file):
    """A profile for pprof, which tf.profiler.profile refuses here."""
    return self._with(output='pprof:outfile=%s' % pprof_file)

  def with_step(self, step):
    """The step that is shown, -1 for the mean of all."""
    return self._with(step=step)

  def order_by(self, attribute):
    """'name' or a count: 'micros', 'bytes', 'params', 'float_ops', 'occurrence', ..."""
    return self._with(order_by=attribute)

  def select(self, attributes):
    """What is shown: 'micros', 'cpu_micros', 'accelerator_micros', 'bytes', 'peak_bytes',
    'residual_bytes', 'output_bytes', 'params', 'float_ops', 'occurrence', 'device', 'op_types',
    'input_shapes'."""
    return self._with(select=copy.copy(attributes))
