"""contrib.learn.graph_actions: training, evaluation and inference over a graph."""
import tempfile
import unittest

import leat as tf

actions = tf.contrib.learn.graph_actions


class GraphActionsTest(unittest.TestCase):

  def setUp(self):
    self.graph = tf.Graph()
    context = self.graph.as_default()
    context.__enter__()
    self.addCleanup(context.__exit__, None, None, None)
    actions.clear_summary_writers()
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)
    self.addCleanup(actions.clear_summary_writers)

  def _model(self):
    """(x, the loss x * w, an operation that adds 1 to w and to the global step)."""
    step = tf.train.create_global_step()
    x = tf.placeholder_with_default(1.0, [])
    w = tf.get_variable('w', initializer=1.0)
    return x, x * w, tf.group(tf.assign_add(w, 1.0), tf.assign_add(step, 1))

  def test_training_goes_on_where_it_ended(self):
    for wanted in ('begin', 'go on'):
      with tf.Graph().as_default() as graph:
        _, loss, train_op = self._model()
        kwargs = {'steps': 3} if wanted == 'begin' else {'max_steps': 5}
        actions.train(graph, self.folder.name, train_op, loss, **kwargs)
    self.assertEqual(tf.train.load_variable(self.folder.name, 'global_step'), 5)
    self.assertEqual(tf.train.load_variable(self.folder.name, 'w'), 6.0)
    x, loss, _ = self._model()
    path = tf.train.latest_checkpoint(self.folder.name)
    feeds = [{x: 1.0}, {x: 2.0}]
    self.assertEqual(actions.run_feeds({'loss': loss}, feeds, path), [{'loss': 6.0},
                                                                      {'loss': 12.0}])
    self.assertEqual(actions.evaluate(self.graph, self.folder.name, path, {'loss': loss},
                                      max_steps=2), ({'loss': 6.0}, 5))

  def test_the_input_ends(self):
    x, loss, train_op = self._model()
    numbers = iter([1.0, 2.0])
    found = actions.train(self.graph, self.folder.name, train_op, loss,
                          feed_fn=lambda: {x: next(numbers)})
    self.assertEqual(tf.train.load_variable(self.folder.name, 'global_step'), 2)
    self.assertIn(float(found), (4.0, 6.0))   # w before or after its last update

  def test_a_loss_that_is_no_number(self):
    _, _, train_op = self._model()
    loss = tf.constant(float('nan'))
    with self.assertRaises(tf.train.NanLossDuringTrainingError):
      actions.train(self.graph, self.folder.name, train_op, loss, steps=1)

  def test_arguments(self):
    _, loss, train_op = self._model()
    for kwargs, text in (({'steps': 1, 'max_steps': 1}, 'both steps and max_steps'),
                         ({'output_dir': ''}, 'non-empty'), ({'train_op': None}, 'train_op'),
                         ({'loss_op': None}, 'loss_op')):
      given = dict({'output_dir': 'x', 'train_op': train_op, 'loss_op': loss}, **kwargs)
      with self.assertRaisesRegex(ValueError, text):
        actions.train(self.graph, **given)
    with self.assertRaisesRegex(ValueError, 'output_dict is invalid'):
      actions.infer(None, {})
    with self.assertRaisesRegex(ValueError, 'feed_dicts is invalid'):
      actions.run_feeds({'loss': loss}, [])

  def test_what_is_written(self):
    _, loss, _ = self._model()
    tf.contrib.testing.FakeSummaryWriter.install()
    self.addCleanup(tf.contrib.testing.FakeSummaryWriter.uninstall)
    actions.evaluate(self.graph, self.folder.name, None, {'loss': loss}, max_steps=1)
    writer = actions.get_summary_writer(self.folder.name)
    writer.assert_summaries(self, expected_summaries={0: {'loss': 1.0}})


if __name__ == '__main__':
  unittest.main()
