"""Files behind a scheme: tf.gfile, savers, writers and models on a plug-in's file system."""
import os
import unittest

import leat as tf

PLUGIN = os.path.join(tf.sysconfig.get_lib(), 'memory_plugin.so')


def setUpModule():
  tf.load_file_system_library(PLUGIN)


class FileSystemTest(unittest.TestCase):

  def test_files_are_written_and_read(self):
    path = 'memory:///files/a.txt'
    tf.gfile.MakeDirs('memory:///files')
    with tf.gfile.GFile(path, 'w') as f:
      f.write('one\ntwo\n')
      self.assertEqual(f.tell(), 8)
    with tf.gfile.GFile(path, 'a') as f:
      f.write('three')
    with tf.gfile.GFile(path) as f:
      self.assertEqual(list(f), ['one\n', 'two\n', 'three'])
      f.seek(4)
      self.assertEqual((f.read(3), f.tell(), f.size()), ('two', 7, 13))
      with self.assertRaises(tf.errors.InvalidArgumentError):
        f.seek(14)
    with tf.gfile.GFile(path, 'rb') as f:
      self.assertEqual(f.read(), b'one\ntwo\nthree')

  def test_what_was_flushed_can_be_read(self):
    tf.gfile.MakeDirs('memory:///flushed')
    with tf.gfile.GFile('memory:///flushed/a', 'wb') as f:
      f.write(b'x' * 3000000)
      f.flush()
      with tf.gfile.GFile('memory:///flushed/a', 'rb') as g:
        self.assertEqual(g.read(), b'x' * 3000000)

  def test_folders(self):
    top = 'memory:///folders'
    tf.gfile.MakeDirs(top + '/a/b')
    tf.gfile.MakeDirs(top + '/a/b')
    for name in ('/one', '/a/two', '/a/b/three'):
      tf.gfile.GFile(top + name, 'w').write('.')
    self.assertTrue(tf.gfile.IsDirectory(top + '/a'))
    self.assertFalse(tf.gfile.IsDirectory(top + '/one'))
    self.assertEqual(sorted(tf.gfile.ListDirectory(top)), ['a', 'one'])
    self.assertEqual(sorted(tf.gfile.Glob(top + '/*/t*')), [top + '/a/two'])
    walked = [(top, ['a'], ['one']), (top + '/a', ['b'], ['two']), (top + '/a/b', [], ['three'])]
    self.assertEqual(list(tf.gfile.Walk(top)), walked)
    self.assertEqual(list(tf.gfile.Walk(top, in_order=False)), walked[::-1])
    self.assertEqual(tf.gfile.Stat(top + '/one').length, 1)
    tf.gfile.Rename(top + '/one', top + '/a/one')
    with self.assertRaises(tf.errors.AlreadyExistsError):
      tf.gfile.Rename(top + '/a/one', top + '/a/two')
    tf.gfile.Copy(top + '/a/one', '/tmp/leat_copy_%d' % os.getpid())
    tf.gfile.Copy('/tmp/leat_copy_%d' % os.getpid(), top + '/a/two', overwrite=True)
    os.remove('/tmp/leat_copy_%d' % os.getpid())
    tf.gfile.Remove(top + '/a/one')
    self.assertFalse(tf.gfile.Exists(top + '/a/one'))
    tf.gfile.DeleteRecursively(top)
    self.assertFalse(tf.gfile.Exists(top))

  def test_errors_are_those_of_the_file_system(self):
    for act, kind in ((lambda: tf.gfile.GFile('memory:///none').read(), tf.errors.NotFoundError),
                      (lambda: tf.gfile.Remove('memory:///none'), tf.errors.NotFoundError),
                      (lambda: tf.gfile.ListDirectory('memory:///none'), tf.errors.NotFoundError),
                      (lambda: tf.gfile.Stat('none://x'), tf.errors.UnimplementedError),
                      (lambda: tf.gfile.GFile('none://x', 'w').write('x'),
                       tf.errors.UnimplementedError)):
      self.assertRaises(kind, act)
    self.assertFalse(tf.gfile.Exists('none://x'))
    with self.assertRaises(tf.errors.NotFoundError):
      tf.load_file_system_library('/no/such/library.so')

  def test_checkpoints_records_events_and_models(self):
    with tf.Graph().as_default(), tf.Session() as session:
      variable = tf.Variable([1., 2.])
      saver = tf.train.Saver(max_to_keep=1)
      session.run(tf.global_variables_initializer())
      tf.gfile.MakeDirs('memory:///model')
      first = saver.save(session, 'memory:///model/ckpt', global_step=1)
      path = saver.save(session, 'memory:///model/ckpt', global_step=2)
      self.assertEqual(tf.train.latest_checkpoint('memory:///model'), path)
      self.assertEqual([tf.train.checkpoint_exists(p) for p in (first, path)], [False, True])
      self.assertIn('Variable', dict(tf.train.list_variables('memory:///model')))
      session.run(variable.assign([0., 0.]))
      saver.restore(session, path)
      self.assertEqual(session.run(variable).tolist(), [1, 2])
      x = tf.placeholder(tf.float32, [])
      tf.saved_model.simple_save(session, 'memory:///saved', {'x': x}, {'y': variable + x})
    with tf.Graph().as_default(), tf.Session() as session:
      loaded = tf.saved_model.loader.load(session, ['serve'], 'memory:///saved')
      signature = loaded.signature_def['serving_default']
      y = session.run(signature.outputs['y'].name, {signature.inputs['x'].name: 1})
      self.assertEqual(y.tolist(), [2, 3])
    with tf.python_io.TFRecordWriter('memory:///model/records') as writer:
      writer.write(b'a record')
    self.assertEqual(list(tf.python_io.tf_record_iterator('memory:///model/records')),
                     [b'a record'])
    with tf.Graph().as_default():
      writer = tf.summary.FileWriter('memory:///logs/run')
      writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='x', simple_value=1)]), 5)
      writer.close()
    name, = tf.gfile.Glob('memory:///logs/run/events*')
    self.assertEqual([e.step for e in tf.train.summary_iterator(name) if e.summary.value], [5])


if __name__ == '__main__':
  unittest.main()
