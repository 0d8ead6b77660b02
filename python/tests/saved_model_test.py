"""SavedModels: written, read, with assets, signatures and operations that a load runs."""
import os
import tempfile
import unittest

import leat as tf


class SavedModelTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.dir = os.path.join(folder.name, 'model')
    self.vocabulary = os.path.join(folder.name, 'words.txt')
    with open(self.vocabulary, 'w', encoding='utf-8') as f:
      f.write('one two')

  def _write(self, as_text=False):
    """y = x * v, and w with the text of an asset."""
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.placeholder(tf.float32, [None], name='x')
      v = tf.Variable([2.0, 3.0], name='v')
      y = tf.multiply(x, v, name='y')
      asset = tf.constant(self.vocabulary, name='asset')
      w = tf.Variable('', name='w', collections=[], trainable=False)
      main = tf.group(tf.assign(w, tf.read_file(asset)), name='main')
      session.run(v.initializer)
      builder = tf.saved_model.builder.SavedModelBuilder(self.dir)
      signature = tf.saved_model.signature_def_utils.predict_signature_def({'x': x}, {'y': y})
      builder.add_meta_graph_and_variables(session, ['serve'], {'serving_default': signature},
                                           assets_collection=[asset], main_op=main)
      return builder.save(as_text)

  def test_a_load_restores_variables_and_assets(self):
    for as_text in (False, True):
      with self.subTest(as_text=as_text):
        self._write(as_text)
        os.rename(self.vocabulary, self.vocabulary + '.away')   # the copy in the folder is read
        with tf.Graph().as_default(), tf.Session() as session:
          meta = tf.saved_model.loader.load(session, ['serve'], self.dir, import_scope='m')
          signature = meta.signature_def['serving_default']
          x = tf.saved_model.utils.get_tensor_from_tensor_info(signature.inputs['x'],
                                                               import_scope='m')
          y = tf.saved_model.utils.get_tensor_from_tensor_info(signature.outputs['y'],
                                                               import_scope='m')
          self.assertEqual(session.run(y, {x: [1.0, 10.0]}).tolist(), [2.0, 30.0])
          self.assertEqual(session.run('m/w:0'), b'one two')
        os.rename(self.vocabulary + '.away', self.vocabulary)
        self.dir += '2'

  def test_tags_must_be_those_of_a_graph(self):
    self._write()
    with tf.Graph().as_default(), tf.Session() as session:
      with self.assertRaisesRegex(RuntimeError, 'could not be found'):
        tf.saved_model.loader.load(session, ['train'], self.dir)
    self.assertTrue(tf.saved_model.maybe_saved_model_directory(self.dir))
    with self.assertRaisesRegex(AssertionError, 'already exists'):
      tf.saved_model.Builder(self.dir)

  def test_assets_of_one_name_are_kept_apart(self):
    other = os.path.join(os.path.dirname(self.vocabulary), 'other')
    os.mkdir(other)
    path = os.path.join(other, 'words.txt')
    with open(path, 'w', encoding='utf-8') as f:
      f.write('three')
    with tf.Graph().as_default(), tf.Session() as session:
      assets = [tf.constant(self.vocabulary), tf.constant(path), tf.constant(path)]
      builder = tf.saved_model.Builder(self.dir)
      builder.add_meta_graph_and_variables(session, ['serve'], assets_collection=assets)
    self.assertEqual(sorted(os.listdir(os.path.join(self.dir, 'assets'))),
                     ['words.txt', 'words.txt_1'])

  def test_signatures_are_checked(self):
    utils = tf.saved_model.signature_def_utils
    with tf.Graph().as_default(), tf.Session() as session:
      text, number = tf.constant('a'), tf.constant(1.0)
      self.assertTrue(utils.is_valid_signature(utils.regression_signature_def(text, number)))
      self.assertTrue(utils.is_valid_signature(
          utils.classification_signature_def(text, None, number)))
      self.assertRaises(ValueError, utils.classification_signature_def, number, None, number)
      self.assertRaises(ValueError, utils.predict_signature_def, {}, {'y': number})
      self.assertFalse(utils.is_valid_signature(utils.build_signature_def()))
      builder = tf.saved_model.Builder(self.dir)
      nameless = tf.saved_model.utils.build_tensor_info(number)
      nameless.name = ''
      with self.assertRaises(AssertionError):
        builder.add_meta_graph_and_variables(
            session, ['serve'], {'s': utils.build_signature_def({'x': nameless}, {}, 'm')})


if __name__ == '__main__':
  unittest.main()
