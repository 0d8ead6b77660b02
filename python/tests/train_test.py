"""Optimizers, savers, summaries and input pipelines, on problems whose answers are known."""
import glob
import os
import tempfile
import unittest
import zlib

import leat as tf
from leat import _leat


class OptimizerTest(unittest.TestCase):

  def _one_step(self, optimizer, gradient=2.0, start=1.0, steps=1):
    """The variable after steps with a constant gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
      v = tf.Variable(start)
      train = optimizer.minimize(v * gradient)
      session.run(tf.global_variables_initializer())
      for _ in range(steps):
        session.run(train)
      return session.run(v), [s.name for s in tf.global_variables()]

  def test_updates_are_the_formulas(self):
    value, names = self._one_step(tf.train.GradientDescentOptimizer(0.1))
    self.assertAlmostEqual(value, 0.8, 6)
    self.assertEqual(names, ['Variable:0'])
    value, names = self._one_step(tf.train.MomentumOptimizer(0.1, 0.9), steps=2)
    self.assertAlmostEqual(value, 1 - 0.1 * 2 - 0.1 * (0.9 * 2 + 2), 6)
    self.assertEqual(names, ['Variable:0', 'Variable/Momentum:0'])
    value, names = self._one_step(tf.train.AdamOptimizer(0.1), steps=3)
    self.assertAlmostEqual(value, 0.7, 5)   # with one gradient all steps have the rate's length
    self.assertEqual(names, ['Variable:0', 'beta1_power:0', 'beta2_power:0', 'Variable/Adam:0',
                             'Variable/Adam_1:0'])
    value, _ = self._one_step(tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.1))
    self.assertAlmostEqual(value, 1 - 0.1 * 2 / 4.1 ** 0.5, 6)

  def test_slots_are_named_by_their_variables_and_initializers(self):
    for optimizer, initial in ((tf.train.AdamOptimizer(), 'zeros'),
                               (tf.train.AdagradOptimizer(0.1), 'Const')):
      with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name='v')
        optimizer.minimize(tf.reduce_sum(v))
        slot = 'v/' + optimizer.get_name()
        assign = graph.get_operation_by_name(slot + '/Assign')
        self.assertEqual(assign.inputs[1].name, slot + '/Initializer/' + initial + ':0')

  def test_slots_of_a_variable_of_unknown_shape(self):
    with tf.Graph().as_default(), tf.Session() as session:
      start = tf.placeholder(tf.float32, [None])
      v = tf.Variable(start, validate_shape=False)
      train = tf.train.AdagradOptimizer(1.0, initial_accumulator_value=5.0).apply_gradients(
          [(tf.constant([2.0, 2.0]), v)])
      session.run(tf.global_variables_initializer(), {start: [1.0, 2.0]})
      session.run(train)
      for found, expected in zip(session.run(v), [1 - 2 / 3, 2 - 2 / 3]):
        self.assertAlmostEqual(found, expected, 5)

  def test_resource_variables(self):
    with tf.Graph().as_default(), tf.Session() as session:
      v = tf.Variable([1.0, 2.0], use_resource=True)
      step = tf.train.get_or_create_global_step()
      train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * [1.0, -1.0]), step)
      session.run(tf.global_variables_initializer())
      session.run(train)
      value, count = session.run([v, step])
    self.assertAlmostEqual(value[0], 0.9, 5)
    self.assertAlmostEqual(value[1], 2.1, 5)
    self.assertEqual(count, 1)

  def test_gradients_are_those_of_the_variables_before_the_step(self):
    """No variable changes while the gradient of a layer below still has to read it. The layers are
    so large that operations run side by side."""
    import numpy as np
    random = np.random.RandomState(1)
    weights = [(random.standard_normal([192, 192]) / 192 ** 0.5).astype(np.float32)
               for _ in range(4)]
    for use_resource in (False, True):
      with tf.Graph().as_default(), tf.Session() as session:
        y = tf.constant(random.standard_normal([32, 192]).astype(np.float32))
        variables = [tf.Variable(w, use_resource=use_resource) for w in weights]
        for v in variables:
          y = tf.matmul(y, v)
        loss = tf.reduce_sum(y * y)
        gradients = tf.gradients(loss, variables)
        train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        for _ in range(10):
          session.run(tf.global_variables_initializer())
          expected = session.run(gradients)
          session.run(train)
          for w, v, gradient in zip(weights, session.run(variables), expected):
            self.assertLess(abs(w - v - gradient).max(), 1e-3 * abs(gradient).max())

  def test_untrainable_variables_stay(self):
    with tf.Graph().as_default(), tf.Session() as session:
      a, b = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
      train = tf.train.GradientDescentOptimizer(0.5).minimize(a * b)
      session.run(tf.global_variables_initializer())
      session.run(train)
      self.assertEqual(session.run([a, b]), [0.5, 1.0])


class SaverTest(unittest.TestCase):

  def test_saves_restores_and_keeps(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'model')
      with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable('v', initializer=[1.0, 2.0])
        r = tf.get_variable('r', initializer=3, use_resource=True)
        saver = tf.train.Saver(max_to_keep=2)
        session.run(tf.global_variables_initializer())
        for step in range(3):
          session.run(v.assign([step, step]))
          self.assertEqual(saver.save(session, path, step), '%s-%d' % (path, step))
        self.assertFalse(glob.glob(path + '-0*'))
        session.run([v.assign([9, 9]), r.assign(9)])
        saver.restore(session, tf.train.latest_checkpoint(folder))
        self.assertEqual(session.run(v).tolist(), [2, 2])
        self.assertEqual(session.run(r), 3)
      with tf.Graph().as_default(), tf.Session() as session:
        again = tf.train.import_meta_graph(path + '-1.meta')
        again.restore(session, path + '-1')
        self.assertEqual(session.run('v:0').tolist(), [1, 1])
        self.assertEqual([v.name for v in tf.trainable_variables()], ['v:0', 'r:0'])

  def test_missing_names_are_told(self):
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session() as session:
      a, b = tf.Variable(1.0, name='a'), tf.Variable(1.0, name='b')
      session.run(tf.global_variables_initializer())
      path = tf.train.Saver([a]).save(session, os.path.join(folder, 'm'))
      with self.assertRaises(tf.errors.NotFoundError):
        tf.train.Saver([b]).restore(session, path)


class SummaryTest(unittest.TestCase):

  def test_event_files(self):
    with tempfile.TemporaryDirectory() as folder:
      with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.summary.scalar('loss', tf.constant(2.5))
        merged = tf.summary.merge_all()
        with tf.summary.FileWriter(folder, graph) as writer:
          writer.add_summary(session.run(merged), 7)
      events = list(tf.train.summary_iterator(glob.glob(folder + '/*')[0]))
    self.assertEqual([e.WhichOneof('what') for e in events],
                     ['file_version', 'graph_def', 'meta_graph_def', 'summary'])
    self.assertEqual(events[3].step, 7)
    self.assertEqual(events[3].summary.value[0].tag, 'loss')
    self.assertEqual(events[3].summary.value[0].simple_value, 2.5)


class GraphFileTest(unittest.TestCase):

  def test_texts_of_graphs(self):
    with tf.Graph().as_default() as graph, tempfile.TemporaryDirectory() as folder:
      tf.reshape(tf.constant([1.5, 2.5]), [2, 1], name='r')
      path = tf.train.write_graph(graph, folder, 'graph.pbtxt')
      with open(path, encoding='utf-8') as f:
        text = f.read()
      # The library reads what it wrote; keys of maps are in order.
      self.assertEqual(_leat.message_from_text('GraphDef', text.encode()),
                       graph.as_graph_def().SerializeToString())
      self.assertLess(text.index('key: "T"'), text.index('key: "Tshape"'))
      meta = tf.train.export_meta_graph(os.path.join(folder, 'meta.pbtxt'), as_text=True)
      again = tf.train.import_meta_graph(os.path.join(folder, 'meta.pbtxt'), import_scope='again')
      self.assertIsNone(again)
      self.assertEqual(len(meta.graph_def.node), 3)
      self.assertEqual(graph.get_operation_by_name('again/r').type, 'Reshape')


class ProjectorTest(unittest.TestCase):

  def test_settings_lie_beside_the_events(self):
    from leat.contrib.tensorboard.plugins import projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = 'words'
    embedding.sprite.image_path = 'all.png'
    embedding.sprite.single_image_dim.extend([28, 14])
    with tempfile.TemporaryDirectory() as folder:
      writer = tf.summary.FileWriter(folder)
      projector.visualize_embeddings(writer, config)
      writer.close()
      with open(os.path.join(folder, 'projector_config.pbtxt'), encoding='utf-8') as f:
        self.assertEqual(f.read(), 'embeddings {\n  tensor_name: "words"\n  sprite {\n'
                         '    image_path: "all.png"\n    single_image_dim: 28\n'
                         '    single_image_dim: 14\n  }\n}\n')
    again = projector.ProjectorConfig.FromString(config.SerializeToString())
    self.assertEqual(list(again.embeddings[0].sprite.single_image_dim), [28, 14])


class InputTest(unittest.TestCase):

  def test_batches_until_the_end(self):
    with tf.Graph().as_default(), tf.Session() as session:
      row = tf.train.slice_input_producer([tf.range(5)], num_epochs=1, shuffle=False)[0]
      rows = tf.train.batch([row], 2, allow_smaller_final_batch=True)
      session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
      coordinator = tf.train.Coordinator()
      threads = tf.train.start_queue_runners(session, coordinator)
      found = []
      with self.assertRaises(tf.errors.OutOfRangeError):
        while True:
          found.append(session.run(rows).tolist())
      coordinator.request_stop()
      coordinator.join(threads)
    self.assertEqual(found, [[0, 1], [2, 3], [4]])

  def test_records(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'r')
      for options in (None, tf.python_io.TFRecordOptions(
          tf.python_io.TFRecordCompressionType.ZLIB)):
        with tf.python_io.TFRecordWriter(path, options) as writer:
          writer.write(b'one')
          writer.write(b'')
        self.assertEqual(list(tf.python_io.tf_record_iterator(path, options)), [b'one', b''])

  def test_options_of_zlib(self):
    # What Python's zlib makes of the same bytes is what the file must hold.
    records = [b'%d' % (i ** 9) * 40 for i in range(90)] + [b'#' * 5000]
    kinds = tf.python_io.TFRecordCompressionType
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'r')

      def written(options):
        with tf.python_io.TFRecordWriter(path, options) as writer:
          for record in records:
            writer.write(record)
        with open(path, 'rb') as f:
          return f.read()

      plain = written(None)

      def compressed(level=-1, bits=15, memory=9, strategy=0):
        codec = zlib.compressobj(level, zlib.DEFLATED, bits, memory, strategy)
        return codec.compress(plain) + codec.flush()

      def collected(size):
        # What is collected goes out before a part that does not fit; one that never fits goes out
        # alone. The last item is what waits at the end.
        pieces, begin = [b''], 0
        for record in records:
          for length in (12, len(record), 4):
            part, begin = plain[begin:begin + length], begin + length
            if len(pieces[-1]) + len(part) > size:
              pieces.append(b'')
            pieces[-1] += part
            if len(part) > size:
              pieces.append(b'')
        return pieces

      self.assertEqual(written(tf.python_io.TFRecordOptions(kinds.ZLIB)), compressed())
      for given, wanted in [
          (dict(compression_level=1), dict(level=1)), (dict(window_bits=9), dict(bits=9)),
          (dict(window_bits=31), dict(bits=31)), (dict(mem_level=1), dict(memory=1)),
          (dict(compression_strategy=zlib.Z_HUFFMAN_ONLY), dict(strategy=2))]:
        with self.subTest(given):
          got = written(tf.python_io.TFRecordOptions(kinds.ZLIB, **given))
          self.assertEqual(got, compressed(**wanted))
          self.assertNotEqual(got, compressed())
      gzip = written(tf.python_io.TFRecordOptions(kinds.GZIP, compression_level=9))
      self.assertEqual(gzip, compressed(level=9, bits=31))
      options = tf.python_io.TFRecordOptions(
          kinds.ZLIB, flush_mode=zlib.Z_FULL_FLUSH, input_buffer_size=1000)
      codec = zlib.compressobj(-1, zlib.DEFLATED, 15, 9)
      *flushed, rest = collected(1000)
      wanted = [codec.compress(piece) + codec.flush(zlib.Z_FULL_FLUSH) for piece in flushed]
      wanted += [codec.compress(rest), codec.flush()]
      self.assertEqual(written(options), b''.join(wanted))
      for wrong in (dict(window_bits=99), dict(flush_mode=zlib.Z_FINISH), dict(flush_mode=-1),
                    dict(input_buffer_size=0), dict(compression_strategy=9)):
        with self.subTest(wrong), self.assertRaises(tf.errors.InvalidArgumentError):
          written(tf.python_io.TFRecordOptions(kinds.ZLIB, **wrong))

  def test_flushed_records_can_be_read(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'r')
      for kind in ('', 'ZLIB', 'GZIP'):
        with tf.python_io.TFRecordWriter(path, kind) as writer:
          for i in range(3):
            writer.write(b'record %d' % i)
            writer.flush()
            read = list(tf.python_io.tf_record_iterator(path, kind))
            self.assertEqual(read, [b'record %d' % j for j in range(i + 1)])


class CheckpointReaderTest(unittest.TestCase):

  def test_both_versions_are_read_without_their_graph(self):
    with tempfile.TemporaryDirectory() as folder:
      with tf.Graph().as_default(), tf.Session() as session:
        names = ['scope/variable_%d' % i for i in range(40)]   # more than one prefix in a block
        for i, name in enumerate(names):
          tf.Variable([float(i)] * 3, name=name)
        parts = tf.get_variable('parts', initializer=tf.reshape(tf.range(12), [4, 3]),
                                partitioner=tf.fixed_size_partitioner(2))
        session.run(tf.global_variables_initializer())
        for version in (1, 2):
          saver = tf.train.Saver(write_version=version)
          saver.save(session, os.path.join(folder, 'v%d' % version))
      for version in (1, 2):
        reader = tf.train.NewCheckpointReader(os.path.join(folder, 'v%d' % version))
        shapes = reader.get_variable_to_shape_map()
        self.assertEqual(sorted(shapes), sorted(names + ['parts']))
        self.assertEqual((shapes[names[7]], shapes['parts']), ([3], [4, 3]))
        self.assertEqual(reader.get_variable_to_dtype_map()['parts'], tf.int32)
        self.assertEqual(reader.get_tensor(names[7]).tolist(), [7.0] * 3)
        self.assertEqual(reader.get_tensor('parts')[3].tolist(), [9, 10, 11])
        self.assertIn(b'parts (DT_INT32) [4,3]', reader.debug_string())
      with open(os.path.join(folder, 'bad.index'), 'wb') as f:
        f.write(b'x' * 60)
      with self.assertRaises(tf.errors.DataLossError):
        tf.train.NewCheckpointReader(os.path.join(folder, 'bad'))

  def test_variables_begin_with_values_of_a_checkpoint(self):
    with tempfile.TemporaryDirectory() as folder:
      with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([1.0, 2.0], name='old/a')
        tf.get_variable('w', initializer=tf.reshape(tf.range(12), [4, 3]))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, os.path.join(folder, 'model'))
      with tf.Graph().as_default(), tf.Session() as session:
        a = tf.Variable([0.0, 0.0], name='new/a', use_resource=True)
        w = tf.get_variable('w', [4, 3], tf.int32, tf.zeros_initializer(),
                            partitioner=tf.fixed_size_partitioner(2))
        tf.train.init_from_checkpoint(folder, {'old/': 'new/', 'w': w})
        session.run(tf.global_variables_initializer())
        self.assertEqual(session.run(a).tolist(), [1.0, 2.0])
        self.assertEqual(session.run(tf.convert_to_tensor(w))[2].tolist(), [6, 7, 8])
        with self.assertRaisesRegex(ValueError, "doesn't match"):
          tf.train.init_from_checkpoint(folder, {'w': a})


class WarmStartTest(unittest.TestCase):

  def test_rows_follow_their_words(self):
    with tempfile.TemporaryDirectory() as folder:
      for name, words in (('old', 'apple banana guava'), ('new', 'guava kiwi apple fig')):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
          f.write('\n'.join(words.split()) + '\n')
      with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable('a', initializer=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        tf.get_variable('b', initializer=[[1.0, 2.0, 3.0]])
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, os.path.join(folder, 'model'))
      old, new = os.path.join(folder, 'old'), os.path.join(folder, 'new')
      for partitioner in (None, tf.fixed_size_partitioner(2)):
        with tf.Graph().as_default(), tf.Session() as session:
          a = tf.get_variable('a', [6, 2], partitioner=partitioner)
          b = tf.get_variable('c', [1, 5])
          tf.train.warm_start(
              folder, var_name_to_prev_var_name={'c': 'b'}, var_name_to_vocab_info={
                  'a': tf.train.VocabInfo(new, 4, 2, old, 3, tf.ones_initializer()),
                  'c': tf.train.VocabInfo(new, 4, 1, old, axis=1)})
          session.run(tf.global_variables_initializer())
          self.assertEqual(session.run(tf.convert_to_tensor(a)).tolist(),
                           [[5, 6], [1, 1], [1, 2], [1, 1], [1, 1], [1, 1]])
          self.assertEqual(session.run(b).tolist(), [[3, 0, 1, 0, 0]])
      with tf.Graph().as_default(), self.assertRaisesRegex(ValueError, 'not used'):
        tf.train.warm_start(folder, None, var_name_to_prev_var_name={'q': 'b'})


if __name__ == '__main__':
  unittest.main()
