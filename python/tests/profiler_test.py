"""Counts of parameters and of floating-point operations."""
import contextlib
import io
import json
import os
import tempfile
import unittest

import leat as tf

Builder = tf.profiler.ProfileOptionBuilder


class ProfilerTest(unittest.TestCase):

  def setUp(self):
    default = tf.Graph().as_default()
    self.graph = default.__enter__()
    self.addCleanup(default.__exit__, None, None, None)
    tf.get_variable('w', [3, 4])
    with tf.variable_scope('net'):
      tf.get_variable('b', [5])
      tf.get_variable('s', [], use_resource=True)
      tf.get_variable('fixed', [7], trainable=False)

  def test_parameters_by_scope(self):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
      root = tf.profiler.profile()
    self.assertEqual(root.total_parameters, 18)
    self.assertEqual([(c.name, c.total_parameters) for c in root.children], [('net', 6), ('w', 12)])
    self.assertIn('\n  net (--/6 params)\n    net/b (5, 5/5 params)\n    net/s (1, 1/1 params)\n'
                  '  w (3x4, 12/12 params)\n', shown.getvalue())
    again = type(root).FromString(root.SerializeToString())
    self.assertEqual(again.children[0].children[1].name, 'net/s')

  def test_what_is_hidden_may_count(self):
    quiet = Builder(Builder.trainable_variables_parameter()).with_empty_output()
    large = quiet.with_min_parameters(6).build()
    self.assertEqual(tf.profiler.profile(options=large).total_parameters, 12)
    large = quiet.account_displayed_op_only(False).build()
    self.assertEqual(tf.profiler.profile(options=large).total_parameters, 18)
    below = Builder(Builder.trainable_variables_parameter()).with_empty_output().with_node_names(
        start_name_regexes=['net'], hide_name_regexes=['.*/s']).build()
    root = tf.profiler.profile(options=below)
    self.assertEqual((root.total_parameters, root.children[0].name), (5, 'net'))

  def test_the_table_is_that_of_tensorflow(self):
    shown = io.StringIO()
    options = Builder(Builder.trainable_variables_parameter()).with_accounted_types(['.*']).select(
        ['params', 'float_ops', 'op_types', 'occurrence', 'input_shapes']).order_by('params')
    with tf.Graph().as_default(), contextlib.redirect_stdout(shown):
      x = tf.placeholder(tf.float32, [4, 3], name='x')
      tf.reduce_sum(tf.matmul(x, tf.get_variable(
          'w', [3, 2], initializer=tf.zeros_initializer())), name='total')
      tf.profiler.profile(options=options.account_displayed_op_only(False).build())
      tf.profiler.profile(cmd='op', options=options.with_accounted_types(
          ['MatMul', 'Const']).build())
    scope, ops = shown.getvalue().split('End of Report')[:2]
    self.assertEqual(scope.split('Profile:')[1].split('\n')[1:-2], [
        'node name | # parameters | # float_ops | op types | op count (run|defined) | input shapes',
        '_TFProfRoot (--/18 params, --/55 flops, _kTFScopeParent, --/0|--/9, )',
        '  x (4x3, 12/12 params, 0/0 flops, Placeholder, 0/0|1/1, )',
        '  w (3x2, 6/6 params, 0/0 flops, VariableV2|_trainable_variables, 0/0|1/5, )',
        '    w/Assign (0/0 params, 0/0 flops, Assign, 0/0|1/1, 0:3x2|1:3x2)',
        '    w/Initializer (0/0 params, 0/0 flops, _kTFScopeParent, 0/0|1/2, )',
        '      w/Initializer/zeros (0/0 params, 0/0 flops, Const, 0/0|1/1, )',
        '    w/read (0/0 params, 0/0 flops, Identity, 0/0|1/1, 0:3x2)',
        '  Const (0/0 params, 0/0 flops, Const, 0/0|1/1, )',
        '  MatMul (0/0 params, 48/48 flops, MatMul, 0/0|1/1, 0:4x3|1:3x2)',
        '  total (0/0 params, 7/7 flops, Sum, 0/0|1/1, 0:4x2|1:2)'])
    self.assertIn('-account_type_regexes       MatMul,Const\n', ops)
    self.assertIn('MatMul                          0 params (0.00%, 0.00%), '
                  '48 float_ops (100.00%, 100.00%), MatMul,        0|1\n\n'
                  'input_type: 0:4x3,\t1:3x2\t(run*0|defined*1)\texec_time: 0us\n', ops)

  def test_operations_by_op(self):
    tf.matmul(tf.ones([2, 3]), tf.ones([4, 3]), transpose_b=True)
    x = tf.placeholder(tf.float32, [None, 3])
    tf.matmul(x, tf.ones([3, 3]))   # of an unknown shape, it counts nothing
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'table')
      options = Builder(Builder.float_operation()).with_accounted_types(['MatMul'])
      root = tf.profiler.profile(cmd='op', options=options.with_file_output(path).build())
      with open(path, encoding='utf-8') as f:
        self.assertIn('48 float_ops (100.00%, 100.00%)', f.read())
    self.assertEqual(root.total_float_ops, 48)
    self.assertEqual([n.float_ops for n in root.children[0].graph_nodes], [48, 0])

  def test_what_is_refused(self):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'scope, graph, op, code'):
      tf.profiler.profile(cmd='class')
    with self.assertRaisesRegex(ValueError, 'Cannot select .tensor_value.'):
      tf.profiler.profile(options=Builder().select(['tensor_value']).build())
    with self.assertRaisesRegex(ValueError, "output is 'pprof'"):
      tf.profiler.profile(options=Builder().with_pprof_output('p').build())
    with self.assertRaisesRegex(ValueError, 'not of op'):
      tf.profiler.profile(cmd='op', options=Builder().with_timeline_output('t').build())
    with self.assertRaisesRegex(ValueError, 'NoChecker'):
      tf.profiler.advise(options={'NoChecker': {}})


def a_step(**kernels):
  """RunMetadata of nodes and how long each took, as (on the processor, on an accelerator)."""
  run_meta = tf.RunMetadata()
  places = ('/job:a/replica:0/task:0/device:CPU:0', '/device:GPU:0/stream:all')
  for i, name in enumerate(places):
    device = run_meta.step_stats.dev_stats.add()
    device.device = name
    for node, times in kernels.items():
      if times[i]:
        stats = device.node_stats.add()
        stats.node_name, stats.all_start_micros = node.replace('__', '/'), 1000
        stats.op_start_rel_micros, stats.op_end_rel_micros = 3, 3 + times[i]
        output = stats.output.add().tensor_description
        output.allocation_description.requested_bytes = 8
        output.shape.dim.add().size = 2
        output.shape.dim.add().size = 3
        if not i:
          memory = stats.memory.add()
          memory.total_bytes, memory.peak_bytes, memory.live_bytes = 1500, 40, 20
  return run_meta


class StepsTest(unittest.TestCase):

  def setUp(self):
    self.enterContext(tf.Graph().as_default())
    with tf.variable_scope('net'):
      x = tf.placeholder(tf.float32, [None, 3], name='x')
      y = tf.nn.relu(tf.matmul(x, tf.ones([3, 3], name='w'), name='product'), name='y')
    tf.negative(y, name='z')

  def _lines(self, cmd, options, **named):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
      root = tf.profiler.profile(cmd=cmd, options=options, **named)
    return root, shown.getvalue().split('Profile:\n')[1].split('\n')[:-3]

  def test_time_and_memory(self):
    options = Builder(Builder.time_and_memory()).account_displayed_op_only(False).order_by(
        'name').build()
    root, lines = self._lines('scope', options, run_meta=a_step(
        net__y=(7, 0), net__product=(20, 2000)))
    self.assertEqual(lines, [
        'node name | requested bytes | total execution time | accelerator execution time | '
        'cpu execution time',
        '_TFProfRoot (--/3.00KB, --/2.03ms, --/2.00ms, --/27us)',
        '  net (0B/3.00KB, 0us/2.03ms, 0us/2.00ms, 0us/27us)',
        '    net/product (1.50KB/1.50KB, 2.02ms/2.02ms, 2.00ms/2.00ms, 20us/20us)',
        '    net/y (1.50KB/1.50KB, 7us/7us, 0us/0us, 7us/7us)'])
    self.assertEqual((root.total_exec_micros, root.total_accelerator_exec_micros,
                      root.total_cpu_exec_micros, root.total_peak_bytes,
                      root.total_residual_bytes, root.total_output_bytes, root.total_run_count),
                     (2027, 2000, 27, 80, 40, 16, 2))
    self.assertEqual(list(root.children[0].children[0].devices),
                     ['/job:a/replica:0/task:0/device:cpu:0', '/device:gpu:0'])

  def test_ops_by_their_time(self):
    _, lines = self._lines('op', Builder(Builder.time_and_memory()).select(
        ['cpu_micros', 'occurrence']).build(), run_meta=a_step(net__y=(30, 0), z=(10, 0)))
    self.assertEqual(lines, [
        'node name | cpu execution time | op occurrence (run|defined)',
        'Relu                             30us (100.00%, 75.00%),        1|1',
        'Neg                               10us (25.00%, 25.00%),        1|1'])

  def test_fused_nodes_and_shapes_of_a_step(self):
    options = Builder(Builder.float_operation()).with_empty_output().build()
    self.assertEqual(tf.profiler.profile(options=options).total_float_ops, 0)
    run_meta = a_step(net__y___fused=(7, 0), net__x=(1, 0), net__product=(1, 0), z=(1, 0))
    root = tf.profiler.profile(run_meta=run_meta, options=options)
    self.assertEqual(root.total_float_ops, 2 * 2 * 3 * 3 + 6)   # the product, and the negation
    root = tf.profiler.profile(run_meta=run_meta, options=Builder(
        Builder.time_and_memory()).with_empty_output().with_accounted_types(['Relu']).build())
    self.assertEqual(root.total_exec_micros, 7)

  def test_inputs_are_below_what_reads_them(self):
    options = Builder(Builder.trainable_variables_parameter()).with_accounted_types(['.*']).select(
        ['float_ops', 'occurrence']).build()
    _, lines = self._lines('graph', options, run_meta=a_step(
        net__x=(1, 0), net__product=(1, 0), net__y=(0, 4), z=(0, 4)))
    self.assertEqual(lines[1:], [
        '_TFProfRoot (--/42 flops, --/2|--/6)', '  z (6/42 flops, 0/2|1/5)',
        '    net/y (0/36 flops, 0/2|1/4)', '      net/product (36/36 flops, 1/2|1/3)',
        '        net/w (0/0 flops, 0/0|1/1)', '        net/x (0/0 flops, 1/1|1/1)'])

  def test_lines_of_the_program(self):
    root, lines = self._lines('code', Builder(Builder.time_and_memory()).with_min_memory(
        ).select(['micros']).build(), run_meta=a_step(net__y=(7, 0), z=(5, 0)))
    self.assertRegex(lines[2], r'^  profiler_test.py:\d+:setUp.*\(7us/7us, 0us/0us, 7us/7us\)')
    self.assertEqual([n.name for n in root.children[1].graph_nodes], ['z'])

  def test_steps_and_their_mean(self):
    profiler = tf.profiler.Profiler()
    for step, micros in ((4, 10), (5, 30)):
      profiler.add_step(step, a_step(net__y=(micros, 0)))
    time = Builder(Builder.time_and_memory()).with_empty_output()
    for step, micros in ((4, 10), (5, 30), (-1, 20)):
      options = time.with_step(step).build()
      for view in (profiler.profile_operations, profiler.profile_name_scope,
                   profiler.profile_graph, profiler.profile_python):
        self.assertEqual(view(options).total_exec_micros, micros)
    with self.assertRaisesRegex(ValueError, r'step is 6, must be -1 or one of \[4, 5\]'):
      profiler.profile_operations(time.with_step(6).build())
    none = time.with_step(-1).with_min_execution_time(min_cpu_micros=21).build()
    self.assertEqual(profiler.profile_operations(none).total_exec_micros, 0)

  def test_advice(self):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
      advice = tf.profiler.advise(run_meta=a_step(net__y=(30, 0), net__product=(5, 100)))
    reports = advice.checkers['ExpensiveOperationChecker'].reports
    self.assertEqual(list(reports[:2]), [
        'top 1 operation type: MatMul, cpu: 5us, accelerator: 100us, total: 105us (77.78%)\n'
        'top 2 operation type: Relu, cpu: 30us, accelerator: 0us, total: 30us (22.22%)',
        'top 1 graph node: net/product, cpu: 5us, accelerator: 100us, total: 105us'])
    self.assertIn(reports[1], shown.getvalue())
    self.assertEqual(list(advice.checkers['AcceleratorUtilizationChecker'].reports), [])

  def test_an_idle_accelerator_and_its_layout(self):
    tf.nn.max_pool(tf.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME', name='pool')
    run_meta = a_step(net__y=(0, 10), pool=(0, 10))
    run_meta.step_stats.dev_stats[1].node_stats[1].all_start_micros = 9000
    with contextlib.redirect_stdout(io.StringIO()):
      advice = tf.profiler.advise(run_meta=run_meta)
    self.assertEqual(list(advice.checkers['AcceleratorUtilizationChecker'].reports),
                     ['device: /device:gpu:0 utilization: 0.00'])
    self.assertRegex(advice.checkers['OperationChecker'].reports[0], '^pool has the layout NHWC')

  def test_a_timeline(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'trace')
      tf.profiler.profile(run_meta=a_step(net__y=(7, 0), z=(5, 0)), options=Builder(
          Builder.time_and_memory()).with_timeline_output(path).build())
      with open(path, encoding='utf-8') as f:
        events = json.load(f)['traceEvents']
    self.assertEqual(sorted((e['name'], e['ts'], e['dur']) for e in events),
                     [('net/y', 0, 7), ('z', 7, 5)])

  def test_a_log_of_ops(self):
    with tempfile.TemporaryDirectory() as folder:
      tf.get_variable('v', initializer=[1., 2.])
      tf.profiler.write_op_log(tf.get_default_graph(), folder, run_meta=a_step(net__x=(1, 0),
                                                                              net__product=(1, 0)))
      with open(os.path.join(folder, 'tfprof_log'), 'rb') as f:
        log = tf.profiler.OpLogProto.FromString(f.read())
    self.assertEqual([(e.name, e.float_ops, list(e.types)) for e in log.log_entries],
                     [('net/product', 36, []), ('v', 0, ['_trainable_variables'])])
    log.log_entries[0].float_ops, log.log_entries[0].types[:] = 5, ['mine']
    options = Builder(Builder.float_operation()).with_empty_output().with_accounted_types(
        ['mine']).build()
    self.assertEqual(tf.profiler.profile(op_log=log, options=options).total_float_ops, 5)

  def test_a_traced_step(self):
    run_meta, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    graph = tf.get_default_graph()
    tf.Session().run('z:0', {'net/x:0': [[1, 2, 3]]}, options=options, run_metadata=run_meta)
    root = tf.profiler.profile(graph, run_meta, options=Builder(
        Builder.time_and_memory()).with_empty_output().account_displayed_op_only(False).build())
    self.assertGreater(root.total_exec_micros, 0)
    self.assertGreater(root.total_requested_bytes, 0)


if __name__ == '__main__':
  unittest.main()
