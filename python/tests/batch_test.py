"""Batches of several steps: Batch, Unbatch with their gradients, and BatchFunction. The tests pass
in TensorFlow too. None waits for a batch to time out, unless the time is over at once: batches are
full, or a later step closes them."""
import os
import threading
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  from tensorflow.python.framework import function
  tf.disable_v2_behavior()
else:
  import leat as tf
  from leat.python.framework import function

HOUR = 1800 * 10**6  # in microseconds: for a batch that must become full


def rows(*values):
  return np.array(values, np.float32)[:, None]


class BatchTest(unittest.TestCase):

  def setUp(self):
    default = tf.Graph().as_default()
    default.__enter__()
    self.addCleanup(default.__exit__, None, None, None)
    self.x = tf.placeholder(tf.float32, [None, 1])

  def together(self, fetches, *feeds):
    """What steps that run at once give, in the order of |feeds|; of an error its class."""
    results = [None] * len(feeds)

    def run(session, index):
      try:
        results[index] = session.run(fetches, {self.x: feeds[index]})
      except tf.errors.OpError as error:
        results[index] = type(error).__name__

    with tf.Session() as session:
      threads = [threading.Thread(target=run, args=(session, i)) for i in range(len(feeds))]
      for thread in threads:
        thread.start()
      for thread in threads:
        thread.join()
    return results

  def batch(self, **more):
    options = dict(in_tensors=[self.x], num_batch_threads=1, max_batch_size=4,
                   batch_timeout_micros=HOUR, grad_timeout_micros=HOUR)
    return tf.raw_ops.Batch(**{**options, **more})

  def function(self, f, captured=(), outputs=(tf.float32,), **more):
    options = dict(in_tensors=[self.x], captured_tensors=list(captured), f=f, Tout=list(outputs),
                   num_batch_threads=1, max_batch_size=4, batch_timeout_micros=HOUR)
    return tf.raw_ops.BatchFunction(**{**options, **more})

  # ---- Batch and Unbatch ------------------------------------------------------------------------

  def test_one_step_gets_the_rows_of_all(self):
    tensors, index, key = self.batch()
    self.assertEqual(index.shape.as_list(), [None, 3])
    self.assertEqual(tensors[0].shape.as_list(), [None, 1])
    results = self.together([tensors[0], index, key], rows(1), rows(2, 3, 4))
    results.sort(key=lambda r: len(r[0]))
    none, whole = results
    self.assertEqual([none[0].shape, none[1].shape, none[2].shape], [(0, 1), (0, 3), ()])
    self.assertEqual(sorted(whole[0].ravel()), [1, 2, 3, 4])
    self.assertEqual(sorted(whole[1][:, 0]), sorted([none[2], whole[2]]))
    self.assertEqual(sorted(whole[1][:, 2] - whole[1][:, 1]), [1, 3])
    # Of each step the rows stand where the index says, the batch's own step comes last.
    self.assertEqual(whole[1][-1, 0], whole[2])
    self.assertEqual([whole[1][0, 1], whole[1][1, 2]], [0, 4])

  def test_a_batch_is_padded_with_its_first_row(self):
    tensors, index, _ = self.batch(batch_timeout_micros=0, allowed_batch_sizes=[3, 4])
    (values, indices), = self.together([tensors[0], index], rows(5, 6))
    self.assertEqual(values.ravel().tolist(), [5, 6, 5])
    self.assertEqual(indices[:, 1:].tolist(), [[0, 2]])

  def test_no_rows_need_no_batch(self):
    tensors, index, key = self.batch()
    (values, indices, ids), = self.together([tensors[0], index, key], np.zeros([0, 1]))
    self.assertEqual([values.shape, indices.shape, ids.shape], [(0,), (0,), (0,)])

  @unittest.skipIf(os.environ.get('LEAT_TEST_WITH') == 'tensorflow', 'were in TensorFlow 1 only')
  def test_each_step_gets_its_rows_and_their_gradients(self):
    tensors, index, key = self.batch()
    y = tf.raw_ops.Unbatch(batched_tensor=tensors[0] * 3, batch_index=index, id=key,
                           timeout_micros=HOUR)
    self.assertEqual(y.shape.as_list(), [None, 1])
    dx, = tf.gradients(y * y, [self.x])
    feeds = [rows(1), rows(2, 3), rows(4)]
    for fed, (forward, backward) in zip(feeds, self.together([y, dx], *feeds)):
      np.testing.assert_array_equal(forward, 3 * fed)
      np.testing.assert_array_equal(backward, 18 * fed)

  @unittest.skipIf(os.environ.get('LEAT_TEST_WITH') == 'tensorflow', 'were in TensorFlow 1 only')
  def test_gradients_name_their_resources(self):
    tensors, index, key = self.batch(name='in')
    y = tf.raw_ops.Unbatch(batched_tensor=tensors[0], batch_index=index, id=key,
                           timeout_micros=7, name='out')
    tf.gradients(y, [self.x])
    nodes = {n.op: n for n in tf.get_default_graph().as_graph_def().node if 'gradients' in n.name}
    self.assertEqual(nodes['Unbatch'].attr['shared_name'].s, b'batch_gradient_in_0')
    self.assertEqual(nodes['Unbatch'].attr['timeout_micros'].i, HOUR)
    self.assertEqual(nodes['UnbatchGrad'].attr['shared_name'].s, b'unbatch_gradient_out')

  def test_a_step_that_nobody_answers_times_out(self):
    y = tf.raw_ops.Unbatch(batched_tensor=self.x, batch_index=tf.zeros([0, 3], tf.int64), id=5,
                           timeout_micros=1)
    self.assertEqual(self.together(y, rows(1)), ['DeadlineExceededError'])

  def test_what_an_index_may_be(self):
    def fails(index, key=5, x=rows(1, 2)):
      y = tf.raw_ops.Unbatch(batched_tensor=self.x, batch_index=tf.constant(index, tf.int64),
                             id=tf.constant(key, tf.int64), timeout_micros=1)
      self.assertEqual(self.together(y, x), ['InvalidArgumentError'])
    fails([[5, 0]])
    fails([[5, 0, 3]])
    fails([[5, 0, 1], [6, 1, 3]])
    fails([[5, 0, 1], [6, 1, 2], [7, 2, 2]])
    fails([[5, 0, 1]], key=[5])

  def test_what_a_gradient_may_be(self):
    def fails(index, key):
      y = tf.raw_ops.UnbatchGrad(original_input=[[1.]], batch_index=tf.constant(index, tf.int64),
                                 grad=self.x, id=tf.constant(key, tf.int64))
      self.assertEqual(self.together(y, rows(1)), ['InvalidArgumentError'])
    fails(np.zeros([0, 3]), 5)
    fails([[5, 0, 1]], [5, 6])

  def test_what_a_batch_may_be(self):
    for options in [dict(max_batch_size=0), dict(num_batch_threads=0),
                    dict(batch_timeout_micros=-1), dict(allowed_batch_sizes=[3]),
                    dict(allowed_batch_sizes=[4, 3])]:
      self.assertEqual(self.together(self.batch(**options)[2], rows(1)), ['InvalidArgumentError'])
    self.assertEqual(self.together(self.batch()[2], rows(1, 2, 3, 4, 5)), ['InvalidArgumentError'])
    unequal = self.batch(in_tensors=[self.x, [1]])
    self.assertEqual(self.together(unequal[2], rows(1, 2)), ['InvalidArgumentError'])
    with self.assertRaises(ValueError):
      self.batch(in_tensors=[1.])

  # ---- BatchFunction ----------------------------------------------------------------------------

  def test_a_function_sees_the_rows_of_all_steps(self):
    @function.Defun(tf.float32, tf.float32)
    def f(x, w):
      return x * w, tf.fill(tf.shape(x)[:1], tf.reduce_sum(x))
    y = self.function(f, captured=[10.], outputs=[tf.float32, tf.float32])
    feeds = [rows(1), rows(2, 3), rows(4)]
    for fed, (scaled, total) in zip(feeds, self.together(y, *feeds)):
      np.testing.assert_array_equal(scaled, 10 * fed)
      self.assertEqual(total.tolist(), [10] * len(fed))

  def test_padding_is_not_given_back(self):
    @function.Defun(tf.float32)
    def f(x):
      return x + tf.reduce_sum(x)
    y = self.function(f, batch_timeout_micros=0, allowed_batch_sizes=[3, 4])
    (value,), = self.together(y, rows(1, 2))
    self.assertEqual(value.ravel().tolist(), [5, 6])  # 1 + 2 + 1

  def test_a_large_task_is_divided(self):
    @function.Defun(tf.float32)
    def f(x):
      return x + 100 * tf.cast(tf.shape(x)[0], tf.float32)
    y = self.function(f, batch_timeout_micros=0, allowed_batch_sizes=[2, 3], max_batch_size=8,
                      enable_large_batch_splitting=True)
    (value,), = self.together(y, rows(*range(8)))
    self.assertEqual(value.ravel().tolist(), [300, 301, 302, 303, 304, 305, 206, 207])
    self.assertEqual(self.together(y, rows(*range(9))), ['InvalidArgumentError'])

  def test_rows_are_given_up_rather_than_padded(self):
    @function.Defun(tf.float32)
    def f(x):
      return x + 100 * tf.cast(tf.shape(x)[0], tf.float32)
    y = self.function(f, batch_timeout_micros=0, allowed_batch_sizes=[2, 4],
                      batch_padding_policy='BATCH_DOWN')
    (value,), = self.together(y, rows(1, 2, 3))  # one task is not divided
    self.assertEqual(value.ravel().tolist(), [401, 402, 403])

  def test_a_batch_is_divided_where_a_task_ends(self):
    """A batch has one task of two rows, or two, of which the second is put off. Without that it
    would be padded to five rows. It does not matter whether the steps come in time."""
    @function.Defun(tf.float32)
    def f(x):
      return x + 100 * tf.cast(tf.shape(x)[0], tf.float32)
    y = self.function(f, batch_timeout_micros=200000, max_batch_size=5,
                      allowed_batch_sizes=[2, 5], batch_padding_policy='BATCH_DOWN')
    results = self.together(y, rows(1, 2), rows(3, 4))
    self.assertEqual([r[0].ravel().tolist() for r in results], [[201, 202], [203, 204]])

  def test_each_step_fails_with_its_batch(self):
    @function.Defun(tf.float32)
    def f(x):
      with tf.control_dependencies([tf.Assert(tf.reduce_sum(x) < 0, ['no'])]):
        return tf.identity(x)
    self.assertEqual(self.together(self.function(f), rows(1), rows(2, 3, 4)),
                     ['InvalidArgumentError'] * 2)

  def test_every_row_needs_an_output(self):
    @function.Defun(tf.float32)
    def total(x):
      return tf.reduce_sum(x)

    @function.Defun(tf.float32)
    def first(x):
      return x[:1]
    for f in total, first:
      y = self.function(f, batch_timeout_micros=0)
      self.assertEqual(self.together(y, rows(1, 2)), ['FailedPreconditionError'])

  def test_a_load_that_adapts(self):
    @function.Defun(tf.float32)
    def f(x):
      return 2 * x
    y = self.function(f, num_batch_threads=0, batch_timeout_micros=0)
    (value,), = self.together(y, rows(1))
    self.assertEqual(value.tolist(), [[2]])

  def test_full_batches_wait_for_nobody(self):
    @function.Defun(tf.float32)
    def f(x):
      return 2 * x
    y = self.function(f, max_batch_size=2, max_enqueued_batches=2)
    results = self.together(y, rows(1, 2), rows(3, 4))
    self.assertEqual([r[0].ravel().tolist() for r in results], [[2, 4], [6, 8]])

  @unittest.skipIf(os.environ.get('LEAT_TEST_WITH') == 'tensorflow', 'waits for ever there')
  def test_the_end_of_a_session_ends_what_waits(self):
    y = self.batch()[2]
    errors = []
    session = tf.Session()
    session.run(y, {self.x: np.zeros([0, 1])})  # the queue is there, and a step is compiled

    def run():
      try:
        session.run(y, {self.x: rows(1)}, options=tf.RunOptions(timeout_in_ms=1))
      except tf.errors.OpError as error:
        errors.append(type(error).__name__)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    session.close()
    self.assertEqual(errors, ['DeadlineExceededError'])

  @unittest.skipIf(os.environ.get('LEAT_TEST_WITH') == 'tensorflow', 'waits for ever there')
  def test_rows_of_different_shapes_make_no_batch(self):
    x = tf.placeholder(tf.float32)
    y = self.batch(in_tensors=[x], max_batch_size=2)[2]
    self.x = x
    self.assertEqual(self.together(y, rows(1), [1.]), ['InvalidArgumentError'] * 2)


if __name__ == '__main__':
  unittest.main()
