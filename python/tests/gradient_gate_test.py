"""Gradients that wait for what reads their variable: an update must not change a backward pass."""
import unittest

import leat as tf


def ancestors(op):
  """The operations that have run before |op| has."""
  found, left = set(), [op]
  while left:
    op = left.pop()
    if op not in found:
      found.add(op)
      left += [i.op for i in op.inputs] + op.control_inputs
  return found


class GateTest(unittest.TestCase):

  def setUp(self):
    self.enterContext(tf.Graph().as_default())

  def variable(self, name, shape, **named):
    return tf.get_variable(name, shape, initializer=tf.ones_initializer(), use_resource=False,
                           **named)

  def gradients(self, loss, **named):
    """{name of the variable: its gradient}."""
    pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss, **named)
    return {v.op.name: g for g, v in pairs}

  def readers(self, tensor):
    """Operations of the gradients that read the tensor."""
    return [op for op in tensor.consumers() if op.name.startswith('gradients')]

  def two_layers(self, **named):
    w, u = self.variable('w', [3, 3]), self.variable('u', [3, 1])
    hidden = tf.matmul(tf.ones([4, 3]), w)
    return u, self.gradients(tf.reduce_sum(tf.matmul(hidden, u)), **named)

  def test_the_next_layer_is_waited_for(self):
    u, found = self.two_layers()
    reader, = self.readers(u.value())
    self.assertEqual(reader.type, 'MatMul')
    self.assertIn(reader, ancestors(found['u'].op))
    # Nothing else reads w, so that its gradient waits for nothing.
    self.assertEqual(found['w'].op.name, 'gradients/MatMul_grad/tuple/control_dependency_1')
    self.assertEqual((found['w'].op.inputs[0].op.type, found['w'].op.control_inputs),
                     ('MatMul', []))

  def test_no_gate_where_none_is_asked_for(self):
    u, found = self.two_layers(gate_gradients=tf.train.Optimizer.GATE_NONE)
    self.assertNotIn(self.readers(u.value())[0], ancestors(found['u'].op))

  def test_a_reshaped_variable_is_the_same_memory(self):
    w, u = self.variable('w', [3, 3]), self.variable('u', [3])
    column = tf.reshape(u, [3, 1])
    found = self.gradients(tf.reduce_sum(tf.matmul(tf.matmul(tf.ones([4, 3]), w), column)))
    reader, = self.readers(column)
    self.assertIn(reader, ancestors(found['u'].op))

  def test_rows_of_a_table_are_gated_too(self):
    table, u = self.variable('table', [5, 3]), self.variable('u', [3, 5])
    rows = tf.nn.embedding_lookup(table, [1, 2])
    found = self.gradients(tf.reduce_sum(tf.matmul(rows, u)) + tf.reduce_sum(rows * table[0]))
    self.assertIsInstance(found['u'], tf.Tensor)
    self.assertIn(self.readers(u.value())[0], ancestors(found['u'].op))

  def test_loops(self):
    cells = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicRNNCell(2) for _ in range(2)])
    outputs, _ = tf.nn.dynamic_rnn(cells, tf.ones([1, 3, 2]), dtype=tf.float32)
    loss = tf.reduce_sum(outputs)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    ends = {op for op in tf.get_default_graph().get_operations()
            if op.type == 'Exit' and op.name.startswith('gradients')}
    kernels = [g for g, v in pairs if 'kernel' in v.op.name]
    self.assertTrue(ends & ancestors(kernels[0].op))
    before = {op for g in kernels for op in ancestors(g.op)} & ends
    for gradient in kernels:
      self.assertEqual(ancestors(gradient.op) & ends, before)
    train = optimizer.apply_gradients(pairs)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      first = session.run([loss, train])[0]
      self.assertLess(session.run(loss), first)

  def test_a_branch_that_is_not_taken(self):
    w, u = self.variable('w', [1, 1]), self.variable('u', [1, 1])
    taken = tf.placeholder(tf.bool, [])
    hidden = tf.matmul([[2.0]], w)
    loss = tf.reduce_sum(tf.cond(taken, lambda: tf.matmul(hidden, u), lambda: hidden))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      session.run(train, {taken: False})
      self.assertEqual([v[0, 0] for v in session.run([w, u])], [-1.0, 1.0])
      session.run(train, {taken: True})
      self.assertEqual([v[0, 0] for v in session.run([w, u])], [-3.0, 3.0])

  def test_resource_variables_are_read_once(self):
    w = tf.get_variable('w', [3, 3], use_resource=True)
    u = tf.get_variable('u', [3, 1], use_resource=True)
    found = self.gradients(tf.reduce_sum(tf.matmul(tf.matmul(tf.ones([4, 3]), w), u)))
    self.assertEqual(found['u'].op.control_inputs, [])

  def test_gates_have_the_names_of_tensorflow(self):
    x = tf.placeholder(tf.float32, [None, 4, 4, 3])
    k, b, w = self.variable('k', [2, 2, 3, 4]), self.variable('b', [4]), self.variable('w', [64, 2])
    hidden = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k, [1] * 4, 'SAME'), b))
    found = self.gradients(tf.reduce_mean(tf.matmul(tf.reshape(hidden, [-1, 64]), w)))
    for name, gate in (('k', 'Conv2D'), ('b', 'BiasAdd'), ('w', 'MatMul')):
      self.assertEqual(found[name].name,
                       'gradients/%s_grad/tuple/control_dependency_1:0' % gate)
    self.assertEqual([op.name for op in found['w'].op.control_inputs],
                     ['gradients/MatMul_grad/tuple/group_deps'])

  def test_a_variable_that_is_used_twice_has_a_sum_that_waits(self):
    v, w = self.variable('v', [3, 3]), self.variable('w', [3, 3])
    tf.nn.l2_loss(w)   # the loss does not depend on it
    x = tf.matmul(tf.placeholder(tf.float32, [None, 3]), v)
    found = self.gradients(tf.reduce_sum(tf.matmul(tf.tanh(tf.matmul(x, w)), w)))
    self.assertEqual(found['w'].name, 'gradients/AddN:0')
    readers = self.readers(w.value())
    self.assertEqual(len(readers), 2)
    for reader in readers:
      self.assertIn(reader, ancestors(found['w'].op))

  def test_an_operation_with_one_gradient_has_no_gate(self):
    w = self.variable('w', [3])
    self.assertEqual(self.gradients(tf.reduce_sum(tf.tanh(w)))['w'].op.name,
                     'gradients/Tanh_grad/TanhGrad')

  def test_all_gradients_together_by_name(self):
    table, w = self.variable('table', [5, 3]), self.variable('w', [3, 2])
    found = self.gradients(tf.reduce_sum(tf.matmul(tf.nn.embedding_lookup(table, [1, 2]), w)),
                           gate_gradients=tf.train.Optimizer.GATE_GRAPH)
    self.assertEqual(found['w'].name, 'tuple/control_dependency_1:0')
    self.assertEqual([found['table'].values.name, found['table'].indices.name],
                     ['tuple/control_dependency:0', 'gradients/embedding_lookup_grad/Reshape_1:0'])


if __name__ == '__main__':
  unittest.main()
