"""tf.cond, tf.while_loop, tf.case: values, names, structures, errors, gradients. With
LEAT_TEST_MODULE=tensorflow.compat.v1 the same tests run through TensorFlow itself."""
import collections
import gc
import importlib
import os
import unittest
import weakref

tf = importlib.import_module(os.environ.get('LEAT_TEST_MODULE', 'leat'))
tf.disable_v2_behavior()
tf.disable_control_flow_v2()


class ControlFlowCase(unittest.TestCase):

  def setUp(self):
    self.graph = tf.Graph()
    default = self.graph.as_default()
    default.__enter__()
    self.addCleanup(default.__exit__, None, None, None)
    self.session = tf.Session()
    self.addCleanup(self.session.close)

  def run_(self, fetches, feed=None):
    found = self.session.run(fetches, feed)
    return found.tolist() if hasattr(found, 'tolist') else found

  def names(self, op_type=None):
    return [op.name for op in self.graph.get_operations() if op_type in (None, op.type)]

  def controls(self, name):
    return sorted(op.name for op in self.graph.get_operation_by_name(name).control_inputs)


class CondTest(ControlFlowCase):

  def test_one_branch_runs(self):
    p = tf.placeholder(tf.bool, [])
    v = tf.Variable(0)
    self.session.run(tf.global_variables_initializer())
    made = tf.cond(p, lambda: tf.assign_add(v, 1), lambda: tf.assign_add(v, 10))
    self.assertEqual(self.run_(made, {p: True}), 1)
    self.assertEqual(self.run_(made, {p: False}), 11)
    self.assertEqual(self.run_(v), 11)

  def test_names_are_those_of_tensorflow(self):
    x = tf.constant(2.0, name='x')
    tf.cond(tf.constant(True, name='p'), lambda: x * 3.0, lambda: x)
    self.assertEqual(sorted(self.names()), sorted([
        'x', 'p', 'cond/Switch', 'cond/switch_t', 'cond/switch_f', 'cond/pred_id', 'cond/mul/y',
        'cond/mul/Switch', 'cond/mul', 'cond/Switch_1', 'cond/Merge']))
    self.assertEqual(self.controls('cond/mul/y'), ['cond/switch_t'])
    with tf.name_scope('outer'):
      self.assertEqual(tf.cond(tf.constant(True), lambda: x, lambda: x, name='c').name,
                       'outer/c/Merge:0')

  def test_structures(self):
    p = tf.constant(False)
    pair = collections.namedtuple('pair', 'a b')
    made = tf.cond(p, lambda: pair(tf.constant(1), [tf.constant(2)]),
                   lambda: pair(tf.constant(3), [tf.constant(4)]))
    self.assertIsInstance(made, pair)
    self.assertEqual(self.run_([made.a, made.b[0]]), [3, 4])
    self.assertEqual(self.run_(tf.cond(p, lambda: [1], lambda: [2])), 2)
    self.assertEqual(self.run_(tf.cond(p, lambda: [[1]], lambda: [[2]])), 2)
    self.assertEqual(self.run_(tf.cond(p, lambda: [1], lambda: [2], strict=True)), [2])
    by_key = tf.cond(p, lambda: {'k': tf.constant(1)}, lambda: {'k': tf.constant(5)})
    self.assertEqual(self.run_(by_key['k']), 5)
    sparse = tf.SparseTensor([[1]], [2.0], [3])
    made = tf.cond(tf.constant(True), lambda: sparse, lambda: tf.SparseTensor([[0]], [1.0], [3]))
    self.assertEqual(self.session.run(made).indices.tolist(), [[1]])

  def test_operations_as_results(self):
    v = tf.Variable(1)
    self.session.run(tf.global_variables_initializer())
    done = tf.cond(tf.constant(True), lambda: tf.group(tf.assign(v, 5)), tf.no_op)
    self.assertEqual(done.dtype, tf.bool)
    self.assertEqual(self.run_(done), True)
    self.assertEqual(self.run_(v), 5)

  def test_errors(self):
    p = tf.constant(True)
    one = lambda: tf.constant(1)
    for error, text, call in (
        (TypeError, 'must not be a Python bool', lambda: tf.cond(True, one, one)),
        (TypeError, 'must be callable', lambda: tf.cond(p, 1, one)),
        (TypeError, 'argument required', lambda: tf.cond(p, one)),
        (TypeError, 'may not be set simultaneously', lambda: tf.cond(p, one, one, fn1=one)),
        (ValueError, 'must have a return value', lambda: tf.cond(p, lambda: None, one)),
        (TypeError, "of 'Switch' Op has type int32",
         lambda: tf.cond(tf.constant(1), one, one)),
        (ValueError, 'at least one result', lambda: tf.cond(p, lambda: [], lambda: [])),
        (ValueError, 'same type', lambda: tf.cond(p, one, lambda: tf.constant(1.0))),
        (ValueError, 'ncompatible return values|same nested structure',
         lambda: tf.cond(p, one, lambda: [1, 2])),
        (TypeError, 'ncompatible return types|same nested structure', lambda: tf.cond(
            p, lambda: (tf.constant(1), tf.constant(2)), lambda: [1, 2]))):
      with self.assertRaisesRegex(error, text):
        call()
      # The context is left: this would otherwise wait for a pivot.
      self.assertEqual(self.controls(tf.constant(1).op.name), [])

  def test_a_function_that_raises_leaves_the_context(self):
    def fails():
      raise KeyError('mine')
    with self.assertRaisesRegex(KeyError, 'mine'):
      tf.cond(tf.constant(True), lambda: tf.while_loop(lambda i: fails(), lambda i: i, [0]), fails)
    self.assertEqual(self.controls(tf.constant(1).op.name), [])

  def test_control_dependencies(self):
    before = tf.no_op(name='before')
    with tf.control_dependencies([before]):
      tf.cond(tf.constant(True, name='p'), lambda: tf.constant(1, name='in'),
              lambda: self._outside())
    self.assertEqual(self.controls('cond/Switch'), [])  # it waits through p
    self.assertEqual(self.controls('p'), ['before'])
    self.assertEqual(self.controls('cond/in'), ['before', 'cond/switch_t'])
    self.assertEqual(self.controls('cond/outside'), [])

  def _outside(self):
    with tf.control_dependencies(None):
      return tf.constant(2, name='outside')

  def test_the_construct_waits_and_has_a_device(self):
    p = tf.constant(True, name='p')
    with tf.control_dependencies([tf.no_op(name='before')]), tf.device('/cpu:1'):
      tf.cond(p, lambda: 1, lambda: 2)
      tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0],
                    parallel_iterations=3)
    self.assertEqual(self.controls('cond/Switch'), ['before'])
    self.assertEqual(self.controls('cond/Merge'), [])
    for name in ('cond/Switch', 'cond/Merge', 'while/Enter', 'while/Exit', 'while/LoopCond'):
      self.assertEqual(self.graph.get_operation_by_name(name).device, '/device:CPU:1', name)
    self.assertEqual(self.graph.get_operation_by_name('while/Enter').get_attr(
        'parallel_iterations'), 3)

  def test_insides_cannot_be_fetched(self):
    inside = []
    tf.cond(tf.constant(True), lambda: inside.append(tf.constant(1)) or 1, lambda: 2)
    with self.assertRaisesRegex(ValueError, 'not fetchable'):
      self.session.run(inside[0])

  def test_gradients(self):
    x = tf.placeholder(tf.float32, [])
    made = tf.cond(x < 1.0, lambda: x * x, lambda: 3.0 * x)
    slope = tf.gradients(made, x)[0]
    self.assertEqual(self.run_(slope, {x: 0.5}), 1.0)
    self.assertEqual(self.run_(slope, {x: 2.0}), 3.0)


class WhileTest(ControlFlowCase):

  def test_sum(self):
    total = tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s + i), [0, 0])
    self.assertEqual(self.run_(total), (10, 45))

  def test_names_are_those_of_tensorflow(self):
    x = tf.constant(2, name='x')
    end = tf.while_loop(lambda i: i < 10, lambda i: i + x, [tf.constant(0, name='i')])
    self.assertEqual(end.name, 'while/Exit:0')
    self.assertEqual(sorted(self.names()), sorted([
        'x', 'i', 'while/Enter', 'while/Merge', 'while/Less/y', 'while/Less', 'while/LoopCond',
        'while/Switch', 'while/Identity', 'while/add/Enter', 'while/add', 'while/NextIteration',
        'while/Exit']))
    self.assertEqual(self.controls('while/Less/y'), ['while/Merge'])
    enter = self.graph.get_operation_by_name('while/add/Enter')
    self.assertEqual(enter.get_attr('is_constant'), True)
    self.assertEqual(enter.get_attr('frame_name'), b'while/while_context')
    self.assertEqual(enter.get_attr('parallel_iterations'), 10)

  def test_structures(self):
    pair = collections.namedtuple('pair', 'a b')
    n, (s, d) = tf.while_loop(
        lambda n, v: n < 3, lambda n, v: (n + 1, (v[0] + 1, {'k': pair(v[1]['k'].a * 2, n)})),
        (0, (1, {'k': pair(1, 7)})))
    self.assertEqual(self.run_([n, s, d['k'].a, d['k'].b]), [3, 4, 8, 2])
    one = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True)
    self.assertIsInstance(one, list)
    self.assertEqual(self.run_(one), [3])

  def test_maximum_iterations(self):
    run = lambda n, **more: self.run_(tf.while_loop(
        lambda i: i < 100, lambda i: i + 2, [0], maximum_iterations=n, **more))
    self.assertEqual(run(3), 6)
    self.assertEqual(run(0), 0)
    self.assertEqual(run(tf.constant(1000, tf.int64)), 100)
    self.assertEqual(self.run_(tf.while_loop(
        lambda i, x: i < 5, lambda i, x: [i + 1, x * 2], [0, 1], maximum_iterations=4)), [4, 16])
    with self.assertRaisesRegex(ValueError, 'must be a scalar'):
      run([3])

  def test_shape_invariants(self):
    x = tf.ones([1, 2])
    grow = lambda x: tf.concat([x, x], 0)
    with self.assertRaises(ValueError):
      tf.while_loop(lambda x: tf.shape(x)[0] < 9, grow, [x])
    end = tf.while_loop(lambda x: tf.shape(x)[0] < 9, grow, [x], [tf.TensorShape([None, 2])])
    self.assertEqual(end.get_shape().as_list(), [None, 2])
    self.assertEqual(self.run_(tf.shape(end)), [16, 2])
    with self.assertRaises(ValueError):
      tf.while_loop(lambda x: True, grow, [x], [tf.TensorShape([None, 3])])
    with self.assertRaises(TypeError):
      tf.while_loop(lambda x: True, grow, [x], [5])

  def test_shape_invariants_of_many(self):
    shapes = [[], [None, 2], None, [3]]
    ends = tf.while_loop(lambda i, *_: i < 2, lambda i, a, b, c: (i + 1, a, b, c),
                         [0, tf.ones([1, 2]), tf.ones([4]), tf.ones([3])],
                         [tf.TensorShape(s) for s in shapes])
    self.assertEqual([e.shape.as_list() if e.shape.ndims is not None else None for e in ends],
                     shapes)
    x = tf.placeholder(tf.float32, [None])
    end = tf.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, x * v), [0, tf.constant([2.0])],
                        [tf.TensorShape([]), tf.TensorShape(None)])[1]
    self.assertEqual(tf.gradients(end, x)[0].get_shape().as_list(), [None])

  def test_sparse_tensors(self):
    x = tf.SparseTensor([[0], [3]], [2.0, 4.0], [10])
    double = lambda i, x: [i + 1, tf.SparseTensor(x.indices, x.values * 2.0, x.dense_shape)]
    _, end = tf.while_loop(lambda i, _: i < 3, double, [0, x])
    self.assertEqual(self.session.run(end).values.tolist(), [16.0, 32.0])
    self.assertEqual(end.dense_shape.get_shape().as_list(), [1])
    _, end = tf.while_loop(lambda i, _: i < 3, double, [0, x],
                           [tf.TensorShape([]), tf.TensorShape([None])])
    self.assertEqual(end.dense_shape.get_shape().as_list(), [None])

  def test_indexed_slices(self):
    x = tf.IndexedSlices(tf.constant([[2.0, 4.0]]), tf.constant([3]), tf.constant([10, 2]))
    _, end = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, x: (i + 1, tf.IndexedSlices(x.values * 2.0, x.indices, x.dense_shape)), [0, x],
        [tf.TensorShape([]), tf.TensorShape([None, 2])])
    self.assertEqual(end.values.get_shape().as_list(), [None, 2])
    self.assertEqual(self.run_(tf.convert_to_tensor(end))[3], [16.0, 32.0])

  def test_variables(self):
    v = tf.Variable(3.0)
    self.session.run(tf.global_variables_initializer())
    _, end = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * v), [0, v])
    self.assertEqual(self.run_(end), 27.0)
    self.assertEqual(self.run_(tf.gradients(end, v)), [27.0])

  def test_tensor_arrays(self):
    x = tf.constant(2.0)
    array = tf.TensorArray(tf.float32, 4)
    _, array = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))),
        [0, array])
    self.assertIsInstance(array, tf.TensorArray)
    stacked = array.stack()
    self.assertEqual(self.run_(stacked), [0.0, 2.0, 4.0, 6.0])
    self.assertEqual(self.run_(tf.gradients(stacked, x)), [6.0])

  def test_errors(self):
    for error, text, call in (
        (TypeError, 'must be callable', lambda: tf.while_loop(1, lambda i: i, [0])),
        (TypeError, 'must be callable', lambda: tf.while_loop(lambda i: i, 1, [0])),
        (ValueError, 'loop_vars', lambda: tf.while_loop(lambda: True, lambda: 1, [])),
        (ValueError, 'same n', lambda: tf.while_loop(lambda i: i < 1, lambda i: (i, i), [0])),
        (TypeError, "of 'LoopCond' Op has type int32", lambda: tf.while_loop(
            lambda i: i, lambda i: i, [0])),
        (ValueError, '', lambda: tf.while_loop(lambda i: [True], lambda i: i, [0])),
        (TypeError, 'positive integer', lambda: tf.while_loop(
            lambda i: i < 1, lambda i: i, [0], parallel_iterations=0))):
      with self.assertRaisesRegex(error, text):
        call()
      self.assertEqual(self.controls(tf.constant(1).op.name), [])

  def test_values_from_a_loop_stay_there(self):
    kept = []
    end = tf.while_loop(lambda i: i < 3, lambda i: kept.append(i + 1) or kept[0], [0])
    with self.assertRaisesRegex(ValueError, 'is in a while loop'):
      tf.add(kept[0], 1)
    with self.assertRaisesRegex(ValueError, 'not fetchable'):
      self.session.run(kept[0])
    self.assertEqual(self.run_(end), 3)

  def test_control_dependencies(self):
    before = tf.constant(1, name='before')
    with tf.control_dependencies([before]):
      tf.while_loop(lambda i: i < 3, lambda i: tf.identity(i, 'same') + tf.constant(1, name='in'),
                    [tf.constant(0, name='i')])
    # No control edge enters the frame.
    self.assertEqual(self.controls('while/in'), ['while/Identity', 'while/in/Identity']
                     if 'while/in/Identity' in self.names() else
                     ['while/Identity', 'while/Identity_1'])
    self.assertEqual(self.controls('i'), ['before'])
    self.assertEqual(self.controls('while/same'), [])  # it waits through its variable

  def test_back_prop(self):
    x = tf.constant(2.0)
    loop = lambda **more: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x),
                                        [0, x], **more)[1]
    self.assertEqual(self.run_(tf.gradients(loop(), x)), [32.0])
    self.assertEqual(tf.gradients(loop(back_prop=False), x), [None])

  def test_group_and_tuple_inside(self):
    v = tf.Variable(0)
    self.session.run(tf.global_variables_initializer())

    def body(i, s):
      with tf.control_dependencies([tf.group(tf.assign_add(v, i), tf.assign_add(v, 100))]):
        return tf.tuple([i + 1, tf.identity(s)])
    self.assertEqual(self.run_(tf.while_loop(lambda i, s: i < 4, body, [0, 7])), [4, 7])
    self.assertEqual(self.run_(v), 406)


class NestedTest(ControlFlowCase):

  def test_loop_in_cond_in_loop(self):
    x = tf.placeholder(tf.float64, [])

    def body(i, a):
      power = lambda: tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * x), [0, a])[1]
      return i + 1, tf.cond(a < 10.0, power, lambda: a + x)
    end = tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]
    slope = tf.gradients(end, x)[0]
    # 2 -> 8 -> 32 -> 34 -> 36, which is x^5 + 2x.
    self.assertEqual(self.run_([end, slope], {x: 2.0}), [36.0, 82.0])
    # 1.5 -> 3.375 -> 7.59375 -> 17.0859375 -> 18.5859375, which is x^7 + x.
    self.assertEqual(self.run_([end, slope], {x: 1.5}), [1.5 ** 7 + 1.5, 7 * 1.5 ** 6 + 1.0])

  def test_loops_in_loops(self):
    inner = []

    def outer(i, s):
      inner.append(tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + i * j), [0, s])[1])
      return i + 1, inner[0]
    end = tf.while_loop(lambda i, s: i < 5, outer, [0, 0])[1]
    self.assertEqual(self.run_(end), sum(i * j for i in range(5) for j in range(i)))
    self.assertEqual(inner[0].op.type, 'Exit')
    with self.assertRaisesRegex(ValueError, 'not fetchable'):
      self.session.run(inner[0])

  def test_gradients_inside_of_a_loop(self):
    w = tf.constant(3.0)

    def body(i, x):
      inner = tf.gradients(x * x * w, x)[0]   # 2 x w
      outer = tf.gradients(x * w * w, w)[0]   # 2 x w too, of a value from outside
      return i + 1, x + 0.25 * inner - 0.125 * outer
    end = tf.while_loop(lambda i, _: i < 2, body, [0, 4.0])[1]
    self.assertEqual(self.run_(end), 4.0 * 1.75 * 1.75)

  def test_arrays_and_imported_graphs_in_branches(self):
    with tf.Graph().as_default() as part:
      tf.multiply(tf.placeholder(tf.float32, [], name='in'), 10.0, name='out')
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, 3).unstack(x)

    def body(i, a):
      times_ten = lambda: tf.import_graph_def(
          part.as_graph_def(), {'in': array.read(i)}, ['out:0'])[0]
      return i + 1, tf.cond(tf.equal(i, 1), times_ten, lambda: a * array.read(i))
    end = tf.while_loop(lambda i, _: i < 3, body, [0, 5.0],
                        [tf.TensorShape([]), tf.TensorShape(None)])[1]
    self.assertEqual(self.run_(end), 60.0)
    self.assertEqual(self.run_(tf.gradients(end, x)[0]), [0.0, 30.0, 20.0])

  def test_resource_variables(self):
    v = tf.get_variable('v', [], initializer=tf.constant_initializer(3.0), use_resource=True)
    self.session.run(tf.global_variables_initializer())
    end = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x * v), [0, 1.0])[1]
    self.assertEqual(self.run_([end, tf.gradients(end, v)[0]]), [27.0, 27.0])

  def test_finalized_graphs_do_not_grow(self):
    p, i = tf.constant(True), tf.constant(0)
    count = len(self.names())
    self.graph.finalize()
    with self.assertRaisesRegex(RuntimeError, 'finalized'):
      tf.cond(p, lambda: p, lambda: p)
    with self.assertRaisesRegex(RuntimeError, 'finalized'):
      tf.while_loop(lambda i: p, lambda i: i, [i])
    self.assertEqual(len(self.names()), count)

  def test_a_variable_made_inside_is_outside(self):
    def body(i):
      v = tf.get_variable('v', [], tf.int32, initializer=tf.constant_initializer(2))
      return i + v
    end = tf.while_loop(lambda i: i < 5, body, [0])
    self.session.run(tf.global_variables_initializer())
    self.assertEqual(self.run_(end), 6)


class FunctionalTest(ControlFlowCase):

  def test_map(self):
    x = tf.constant([1.0, 2.0, 3.0])
    squares = tf.map_fn(lambda v: v * v, x)
    self.assertEqual(squares.get_shape().as_list(), [3])
    self.assertEqual(self.run_(squares), [1.0, 4.0, 9.0])
    self.assertEqual(self.run_(tf.gradients(squares, x)[0]), [2.0, 4.0, 6.0])
    both = tf.map_fn(lambda v: (v[0] + v[1], v[1]), (x, x), dtype=(tf.float32, tf.float32))
    self.assertEqual([v.tolist() for v in self.session.run(both)], [[2, 4, 6], [1, 2, 3]])
    with self.assertRaisesRegex(ValueError, 'not scalars'):
      tf.map_fn(lambda v: v, tf.constant(1))

  def test_folds(self):
    x = tf.placeholder(tf.float32, [None])
    f = lambda a, v: 2.0 * a - v
    feed = {x: [5.0, 3.0, 2.0]}
    self.assertEqual(self.run_(tf.foldl(f, x), feed), 12.0)
    self.assertEqual(self.run_(tf.foldl(f, x, initializer=1.0), feed), -20.0)
    self.assertEqual(self.run_(tf.foldr(f, x), feed), -3.0)
    self.assertEqual(self.run_(tf.foldr(f, x, initializer=1.0), feed), -11.0)

  def test_scan(self):
    x = tf.constant([1, 2, 3, 4])
    f = lambda a, v: a * 2 + v
    self.assertEqual(self.run_(tf.scan(f, x)), [1, 4, 11, 26])
    self.assertEqual(self.run_(tf.scan(f, x, initializer=1)), [3, 8, 19, 42])
    self.assertEqual(self.run_(tf.scan(f, x, reverse=True)), [49, 24, 11, 4])
    self.assertEqual(tf.scan(f, x).get_shape().as_list(), [4])

  def test_hessians(self):
    x = tf.constant([1.0, 2.0])
    self.assertEqual(self.run_(tf.hessians(x[0] * x[0] * x[1], x)[0]), [[4.0, 2.0], [2.0, 0.0]])

  def test_initialized_value(self):
    v = tf.Variable(3.0)
    first = v.initialized_value()
    self.assertEqual(self.run_(first), 3.0)
    self.session.run(v.initializer)
    self.session.run(tf.assign(v, 5.0))
    self.assertEqual(self.run_(first), 5.0)


@unittest.skipIf(tf.__name__ != 'leat', 'about the extension')
class ContextTest(unittest.TestCase):

  def test_a_context_keeps_its_graph_and_nothing_keeps_it(self):
    from leat import _leat
    graph = tf.Graph()
    with graph.as_default():
      kept = []
      tf.while_loop(lambda i: i < 3, lambda i: kept.append(i) or i + 1, [0])
      context = _leat.flow_of(kept.pop().op)
    seen = weakref.ref(graph)
    del graph
    gc.collect()
    self.assertIsNotNone(seen())
    _leat.flow_abandon(context)  # not open any more: nothing
    del context
    gc.collect()
    self.assertIsNone(seen())

  def test_arguments_of_the_extension(self):
    from leat import _leat
    with tf.Graph().as_default() as graph:
      p = tf.constant(True)
    for call in (lambda: _leat.while_begin(graph, 'w', [1], None, '', [], 10, None),
                 lambda: _leat.cond_begin(p, 'c', p, '', []), lambda: _leat.flow_of(1),
                 lambda: _leat.while_begin(graph, 'w', [p], [('x',)], '', [], 10, None),
                 lambda: _leat.cond_else(p, [p]), lambda: _leat.flow_leave(None)):
      with self.assertRaises((TypeError, ValueError)):
        call()
    with self.assertRaises(_leat.StatusError):
      _leat.while_begin(graph, 'w', [], None, '', [], 10, None)
    context = _leat.cond_begin(graph, 'c', p, '', [])
    for results in (1, [1], [None]):
      with self.assertRaises(TypeError):
        _leat.cond_else(context, results)
    with self.assertRaises(_leat.StatusError):
      _leat.cond_end(context, [p])
    _leat.flow_abandon(context)
    with graph.as_default():
      self.assertEqual(tf.constant(1).op.control_inputs, [])


class CaseTest(ControlFlowCase):

  def test_the_first_that_is_true(self):
    x = tf.placeholder(tf.int32, [])
    made = tf.case([(x < 1, lambda: tf.constant(10)), (x < 5, lambda: tf.constant(20))],
                   default=lambda: tf.constant(30))
    self.assertEqual([self.run_(made, {x: v}) for v in (0, 3, 7)], [10, 20, 30])

  def test_without_a_default(self):
    x = tf.placeholder(tf.int32, [])
    made = tf.case([(x < 1, lambda: tf.constant(10)), (x < 5, lambda: tf.constant(20))])
    self.assertEqual(self.run_(made, {x: 3}), 20)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'None of conditions'):
      self.run_(made, {x: 9})

  def test_exclusive(self):
    x = tf.placeholder(tf.int32, [])
    made = tf.case({x < 1: lambda: tf.constant(10), x < 5: lambda: tf.constant(20)},
                   default=lambda: tf.constant(30), exclusive=True)
    self.assertEqual(self.run_(made, {x: 3}), 20)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'more than 1 conditions'):
      self.run_(made, {x: 0})

  def test_errors(self):
    for pairs, text in ((3, 'must be a list'), ([3], '2-tuple'), ([(True, tf.no_op)], 'Tensor'),
                        ([(tf.constant(1), tf.no_op)], 'bool'),
                        ([(tf.constant(True), 1)], 'callable')):
      with self.assertRaisesRegex(TypeError, text):
        tf.case(pairs, default=tf.no_op)


class AssertTest(ControlFlowCase):

  def test_assert(self):
    x = tf.placeholder(tf.float32, [])
    check = tf.Assert(x < 1.0, ['too large:', x])
    self.assertIsNone(self.run_(check, {x: 0.5}))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'too large:.*2'):
      self.run_(check, {x: 2.0})
    self.assertEqual(check.name, 'Assert/AssertGuard/Merge')
    self.assertEqual(tf.Assert(tf.constant(True), [1, 'text']).type, 'Assert')

  def test_batches_of_one_matrix(self):
    """The optimizer makes them products of matrices, with shapes that must be in their frame."""
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.placeholder_with_default(tf.constant([[[2.0, 0.0], [0.0, 3.0]]]), [1, 2, 2])
      _, power = tf.while_loop(lambda i, _: i < 2, lambda i, m: (i + 1, tf.matmul(m, m)),
                               [tf.constant(0), x])
      flag = tf.placeholder(tf.bool, [])
      chosen = tf.cond(flag, lambda: tf.matmul(x, x), lambda: tf.identity(x))
      self.assertEqual(session.run(power).tolist(), [[[16.0, 0.0], [0.0, 81.0]]])
      self.assertEqual(session.run(chosen, {flag: True}).tolist(), [[[4.0, 0.0], [0.0, 9.0]]])
      self.assertEqual(session.run(chosen, {flag: False}).tolist(), [[[2.0, 0.0], [0.0, 3.0]]])


class ContextMessageTest(unittest.TestCase):
  """What MetaGraphs tell TensorFlow of loops and branches."""

  def test_a_branch_in_a_loop(self):
    from leat._graph import flow_contexts
    with tf.Graph().as_default():
      k, p = tf.constant(2.0, name='k'), tf.placeholder(tf.bool, [], 'p')
      x = tf.while_loop(lambda x: x < 5.0, lambda x: tf.cond(p, lambda: x * k, lambda: x + 1.0),
                        [tf.constant(1.0)], parallel_iterations=3)
      tf.gradients(x, k)
      meta = tf.train.export_meta_graph()
      self.assertNotIn('cond_context', meta.collection_def)
      data, = meta.collection_def['while_context'].bytes_list.value
    loop = flow_contexts.message_of('WhileContextDef').FromString(data)
    self.assertEqual(
        (loop.context_name, loop.pivot_name, loop.pivot_for_pred_name, loop.pivot_for_body_name),
        ('while/while_context', 'while/LoopCond:0', 'while/Merge:0', 'while/Identity:0'))
    # What a gradient counts in the loop comes behind.
    self.assertEqual((loop.loop_enter_names[0], loop.loop_exit_names[0]),
                     ('while/Enter:0', 'while/Exit:0'))
    self.assertEqual(loop.parallel_iterations, 3)
    self.assertEqual(loop.values_def.external_values['k:0'], 'while/cond/mul/Enter:0')
    self.assertIn('while/cond/Merge:0', loop.values_def.values)
    self.assertNotIn('while/cond/mul:0', loop.values_def.values)
    branches = [n.cond_ctxt for n in loop.nested_contexts]
    self.assertEqual([b.branch for b in branches], [1, 0])
    self.assertEqual([b.pivot_name for b in branches],
                     ['while/cond/switch_t:0', 'while/cond/switch_f:0'])
    self.assertIn('while/cond/mul:0', branches[0].values_def.values)
    self.assertEqual(branches[0].values_def.external_values['while/cond/mul/Enter:0'],
                     'while/cond/mul/Switch_1:1')

  def test_an_import_exports_the_same(self):
    with tf.Graph().as_default():
      tf.cond(tf.placeholder(tf.bool, []), lambda: tf.constant(1), lambda: tf.constant(2))
      first = tf.train.export_meta_graph()
    with tf.Graph().as_default():
      tf.train.import_meta_graph(first)
      again = tf.train.export_meta_graph()
    self.assertEqual(len(first.collection_def['cond_context'].bytes_list.value), 2)
    self.assertEqual(list(first.collection_def['cond_context'].bytes_list.value),
                     list(again.collection_def['cond_context'].bytes_list.value))


if __name__ == '__main__':
  unittest.main()
