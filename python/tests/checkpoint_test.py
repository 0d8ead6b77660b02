"""tf.train.Checkpoint and CheckpointManager."""
import os
import tempfile
import unittest

import leat as tf


def _model():
  """(a Checkpoint, what it holds): names of operations differ from those of attributes."""
  v = tf.Variable([1.0, 2.0], name='first')
  w = tf.Variable([5.0, 6.0], name='second')
  optimizer = tf.train.AdamOptimizer(0.1)
  train = optimizer.minimize(tf.reduce_sum(v * w))
  return tf.train.Checkpoint(v=v, rest=[w], optimizer=optimizer), v, w, optimizer, train


class CheckpointTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.dir = folder.name

  def _write(self):
    """The path of a checkpoint after one step, and what the variables have then."""
    with tf.Graph().as_default(), tf.Session() as session:
      checkpoint, v, _, optimizer, train = _model()
      session.run(tf.global_variables_initializer())
      session.run(train)
      path = checkpoint.save(os.path.join(self.dir, 'model'))
      return path, session.run([v, optimizer.get_slot(v, 'm')])

  def test_values_go_by_the_names_of_attributes(self):
    path, (value, slot) = self._write()
    self.assertEqual(os.path.basename(path), 'model-1')
    self.assertEqual(tf.train.latest_checkpoint(self.dir), path)
    names = [n for n, _ in tf.train.list_variables(path)]
    self.assertIn('rest/0/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE', names)
    with tf.Graph().as_default(), tf.Session() as session, tf.name_scope('elsewhere'):
      tf.Variable(0.0, name='first')
      checkpoint, v, _, optimizer, _ = _model()
      checkpoint.restore(path).assert_consumed().run_restore_ops()
      self.assertEqual(session.run(v).tolist(), value.tolist())
      self.assertEqual(session.run(optimizer.get_slot(v, 'm')).tolist(), slot.tolist())
      self.assertEqual(session.run(checkpoint.save_counter), 1)

  def test_what_does_not_match_is_said(self):
    path, (value, _) = self._write()
    with tf.Graph().as_default(), tf.Session() as session:
      v, new = tf.Variable([0.0, 0.0]), tf.Variable(3.0)
      status = tf.train.Checkpoint(v=v).restore(path)
      status.assert_existing_objects_matched()
      self.assertRaisesRegex(AssertionError, 'Unresolved object', status.assert_consumed)
      status = tf.train.Checkpoint(v=v, new=new).restore(path)
      self.assertRaisesRegex(AssertionError, 'not assigned',
                             status.assert_existing_objects_matched)
      status.initialize_or_restore(session)
      self.assertEqual(session.run(new), 3.0)
      self.assertEqual(session.run(v).tolist(), value.tolist())

  def test_a_checkpoint_of_a_saver_is_read_by_names(self):
    with tf.Graph().as_default(), tf.Session() as session:
      v = tf.Variable(7.0, name='first')
      session.run(v.initializer)
      path = tf.train.Saver().save(session, os.path.join(self.dir, 'old'))
    with tf.Graph().as_default(), tf.Session() as session:
      v = tf.Variable(0.0, name='first')
      tf.train.Checkpoint(other=v).restore(path).initialize_or_restore(session)
      self.assertEqual(session.run(v), 7.0)

  def test_a_manager_keeps_the_newest_also_after_a_restart(self):
    with tf.Graph().as_default(), tf.Session():
      checkpoint = tf.train.Checkpoint()
      manager = tf.train.CheckpointManager(checkpoint, self.dir, max_to_keep=2)
      for _ in range(3):
        manager.save()
      manager = tf.train.CheckpointManager(checkpoint, self.dir, max_to_keep=2)
      manager.save()
      names = [os.path.basename(p) for p in manager.checkpoints]
      self.assertEqual(names, ['ckpt-3', 'ckpt-4'])
      self.assertEqual(sorted(n for n in os.listdir(self.dir) if n.endswith('.index')),
                       ['ckpt-3.index', 'ckpt-4.index'])
      with self.assertRaises(ValueError):
        tf.train.CheckpointManager(checkpoint, self.dir, max_to_keep=0)

  def test_readers_know_both_versions_and_shards(self):
    values = {'number': 7.0, 'texts': [[b'a', b'']], 'flags': [True, False]}
    for version, sharded in ((tf.train.SaverDef.V1, True), (tf.train.SaverDef.V2, False)):
      with tf.Graph().as_default(), tf.Session() as session:
        made = [tf.Variable(value, name=name) for name, value in values.items()]
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver(made, write_version=version, sharded=sharded).save(
            session, os.path.join(self.dir, 'v%d' % version))
      reader = tf.train.NewCheckpointReader(path)
      self.assertEqual(reader.get_variable_to_shape_map(),
                       {'number': [], 'texts': [1, 2], 'flags': [2]})
      self.assertEqual(reader.get_variable_to_dtype_map()['texts'], tf.string)
      self.assertEqual({name: reader.get_tensor(name).tolist() for name in values}, values)
      with self.assertRaises(tf.errors.NotFoundError):
        reader.get_tensor('absent')
    with self.assertRaises(tf.errors.NotFoundError):
      tf.train.NewCheckpointReader(os.path.join(self.dir, 'absent'))

  def test_parts_and_the_step_come_back_with_a_meta_graph(self):
    path = os.path.join(self.dir, 'parts')
    with tf.Graph().as_default(), tf.Session() as session:
      v = tf.get_variable('v', [5], partitioner=tf.fixed_size_partitioner(2),
                          initializer=tf.ones_initializer())
      tf.train.create_global_step()
      session.run(tf.global_variables_initializer())
      tf.train.Saver({'v': v}).save(session, path, write_meta_graph=False)
      tf.train.export_meta_graph(path + '.meta')
    with tf.Graph().as_default(), tf.Session() as session:
      tf.train.import_meta_graph(path + '.meta')
      self.assertEqual(tf.train.get_global_step().name, 'global_step:0')
      parts = tf.global_variables()[:2]
      tf.train.Saver(parts).restore(session, path)
      self.assertEqual([p.tolist() for p in session.run(parts)], [[1, 1, 1], [1, 1]])


if __name__ == '__main__':
  unittest.main()
