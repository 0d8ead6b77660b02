"""Graphs with what belongs to them: MetaGraphs, SavedModels, frozen graphs, texts."""
import os

import numpy as np

from exchange_checkpoints import DATA, started


def gathered(items):
  return [getattr(i, 'name', None) or i for i in items]


# ---- Collections --------------------------------------------------------------------------------
def write_collections(tf, folder):
  v = tf.Variable([1., 2.], name='v')
  w = tf.get_variable('w', [4, 2], partitioner=tf.fixed_size_partitioner(2),
                      initializer=tf.ones_initializer())
  r = tf.get_variable('r', [2], use_resource=True, initializer=tf.zeros_initializer())
  local = tf.get_local_variable('local', [1], initializer=tf.zeros_initializer())
  queue = tf.FIFOQueue(10, [tf.float32], [[]], name='queue')
  tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([1.])] * 2))
  tf.summary.scalar('s', v[0])
  for value in (1, -(1 << 40)):
    tf.add_to_collection('ints', value)
  tf.add_to_collection('floats', 2.5)
  tf.add_to_collection('texts', 'some text')
  tf.add_to_collection('nodes', v.op)
  tf.add_to_collection('nodes', tf.constant(3., name='three'))
  tf.add_to_collection('variables of mine', v)
  tf.train.get_or_create_global_step()
  saver = tf.train.Saver(max_to_keep=7, keep_checkpoint_every_n_hours=2.5)
  tf.add_to_collection('savers', saver)
  tf.train.export_meta_graph('model.meta', collection_list=None)
  saver.save(started(tf), os.path.join(folder, 'model'))
  tf.train.export_meta_graph('text.meta', as_text=True)
  tf.train.export_meta_graph('cleared.meta', clear_devices=True, strip_default_attrs=True)


def read_collections(tf, folder):
  found = []
  for name in ('model.meta', 'text.meta', 'cleared.meta'):
    tf.reset_default_graph()
    saver = tf.train.import_meta_graph(name)
    graph = tf.get_default_graph()
    keys = sorted(k for k in graph.get_all_collection_keys() if not k.endswith('_context'))
    found.append([[k, gathered(graph.get_collection(k))] for k in keys])
    runner, = tf.get_collection('queue_runners')
    found.append(
        [runner.name, runner.queue.name,
         gathered(runner.enqueue_ops), runner.close_op.name])
    with tf.Session() as session:
      saver.restore(session, os.path.join(folder, 'model'))
      found.append(session.run(tf.global_variables()))
      found.append(saver.saver_def.max_to_keep)
      found.append([str(v.shape) for v in tf.global_variables()])
      found.append([str(v.initializer.name) for v in tf.global_variables()])
  return found


def read_scoped(tf, folder):
  """Imported below a scope, the variables have names there."""
  saver = tf.train.import_meta_graph('model.meta', import_scope='below')
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    return [
        gathered(tf.global_variables()),
        gathered(tf.trainable_variables()),
        session.run(tf.global_variables()), saver.saver_def.save_tensor_name
    ]


# ---- Control flow -------------------------------------------------------------------------------
def flow(tf):
  x = tf.placeholder(tf.float32, [None, 3], 'x')
  w = tf.Variable([[.1, .2, .3], [.3, -.1, .1], [.5, .4, -.2]], name='w')
  _, y = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x])
  y = tf.cond(tf.reduce_sum(y) > 0., lambda: y * 2., lambda: tf.matmul(y, w))
  z = tf.while_loop(lambda h: tf.reduce_sum(h) < 50.,
                    lambda h: tf.cond(h[0] > 1., lambda: h * 2., lambda: h + tf.abs(w[0, 0]) + 1.),
                    [tf.reduce_mean(tf.abs(y), 0)])
  return x, tf.add(tf.reduce_mean(tf.square(y - 1.)), tf.reduce_sum(z) * 1e-3, name='loss')


def write_flow(trained):
  def write(tf, folder):
    x, loss = flow(tf)
    if trained:
      tf.train.MomentumOptimizer(.1, .9, name='train').minimize(loss, name='step')
    tf.train.Saver().save(started(tf), os.path.join(folder, 'flow'))

  return write


def losses_of(tf, session, step):
  losses = [session.run(['loss:0', step], {'x:0': DATA})[0] for _ in range(5)]
  return [losses, session.run('w:0')]


def read_flow(tf, folder):
  """The optimizer is added to a graph whose loops another library has built."""
  saver = tf.train.import_meta_graph('flow.meta')
  graph = tf.get_default_graph()
  step = tf.train.MomentumOptimizer(.1, .9).minimize(graph.get_tensor_by_name('loss:0'))
  session = started(tf)
  saver.restore(session, os.path.join(folder, 'flow'))
  return losses_of(tf, session, step)


def read_trained_flow(tf, folder):
  saver = tf.train.import_meta_graph('flow.meta')
  session = tf.Session()
  saver.restore(session, os.path.join(folder, 'flow'))
  return losses_of(tf, session, 'step')


def write_recurrent(tf, folder):
  x = tf.placeholder(tf.float32, [None, 4, 3], 'x')
  cell = tf.nn.rnn_cell.LSTMCell(2, initializer=tf.constant_initializer(.3))
  outputs, state = tf.nn.dynamic_rnn(cell, x, [2, 4], dtype=tf.float32)
  tf.add(tf.reduce_sum(tf.square(outputs)), tf.reduce_sum(state.h), name='loss')
  tf.train.Saver().save(started(tf), os.path.join(folder, 'rnn'))


def read_recurrent(tf, folder):
  tf.train.import_meta_graph('rnn.meta')
  loss = tf.get_default_graph().get_tensor_by_name('loss:0')
  step = tf.train.AdamOptimizer(.1).minimize(loss)
  session = started(tf)
  feed = {'x:0': np.sin(np.arange(24.)).reshape(2, 4, 3)}
  return [session.run([loss, step], feed)[0] for _ in range(4)
         ] + [gathered(tf.trainable_variables())]


def write_queues(tf, folder):
  producer = tf.train.range_input_producer(6, num_epochs=1, shuffle=False)
  batch = tf.train.batch([producer.dequeue()], 2, name='batch')
  tf.identity(batch * 10, name='out')
  tf.train.export_meta_graph('queues.meta')


def read_queues(tf, folder):
  tf.train.import_meta_graph('queues.meta')
  found = []
  with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    try:
      while True:
        found.append(session.run('out:0'))
    except tf.errors.OutOfRangeError:
      pass
    coordinator.request_stop()
    coordinator.join(threads, stop_grace_period_secs=10)
  return found


# ---- SavedModels --------------------------------------------------------------------------------
def write_saved_model(legacy):
  def write(tf, folder):
    x = tf.placeholder(tf.float32, [None, 3], 'x')
    w = tf.get_variable('w', initializer=tf.constant([[1., 2.], [3., 4.], [5., 6.]]))
    y = tf.nn.softmax(tf.matmul(x, w), name='y')
    with open('words.txt', 'w') as f:
      f.write('mill\nleat\n')
    path = tf.constant(os.path.join(folder, 'words.txt'), name='path')
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, path)
    table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                      tf.lookup.TextFileIndex.LINE_NUMBER), -1)
    ids = tf.identity(table.lookup(tf.constant(['leat', 'mill', 'no'])), name='ids')
    session = started(tf)
    session.run(tf.tables_initializer())
    info = tf.saved_model.utils.build_tensor_info
    definition = tf.saved_model.signature_def_utils
    signatures = {
        'serving_default': definition.predict_signature_def({'in': x}, {'out': y}), 'classify':
            definition.build_signature_def({'inputs': info(x)}, {'scores': info(y)},
                                           tf.saved_model.signature_constants.CLASSIFY_METHOD_NAME)
    }
    builder = tf.saved_model.builder.SavedModelBuilder(os.path.join(folder, 'model'))
    start = {'legacy_init_op' if legacy else 'main_op': tf.group(tf.tables_initializer())}
    builder.add_meta_graph_and_variables(
        session, ['serve'], signatures,
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), clear_devices=True,
        **start)
    builder.add_meta_graph(['train', 'gpu'], {'serving_default': signatures['serving_default']})
    builder.save(as_text=legacy)
    os.rename('words.txt', 'moved.txt')

  return write


def read_saved_model(tf, folder):
  path, found = os.path.join(folder, 'model'), []
  for tags in (['serve'], ['gpu', 'train']):
    with tf.Graph().as_default(), tf.Session() as session:
      meta = tf.saved_model.loader.load(session, tags, path)
      signature = meta.signature_def['serving_default']
      found.append([
          sorted(meta.signature_def),
          sorted(meta.meta_info_def.tags), signature.method_name, signature.inputs['in'].name,
          [d.size for d in signature.inputs['in'].tensor_shape.dim], signature.outputs['out'].dtype
      ])
      found.append(session.run(signature.outputs['out'].name, {signature.inputs['in'].name: DATA}))
      if tags == ['serve']:
        found.append(session.run(['ids:0']))
        found.append(os.path.basename(session.run('path:0')))
  try:
    tf.saved_model.loader.load(tf.Session(), ['nothing'], path)
  except RuntimeError as error:
    found.append(type(error).__name__)
  return found + [
      tf.saved_model.loader.maybe_saved_model_directory(path),
      os.listdir(os.path.join(path, 'assets')),
      sorted(os.listdir(os.path.join(path, 'variables')))
  ]


def write_simple(tf, folder):
  x = tf.placeholder(tf.float32, [None, 3], 'x')
  y = tf.layers.dense(x, 2, kernel_initializer=tf.constant_initializer(.5))
  tf.saved_model.simple_save(started(tf), os.path.join(folder, 'simple'), {'x': x}, {'y': y})


def read_simple(tf, folder):
  with tf.Session() as session:
    meta = tf.saved_model.load(session, [tf.saved_model.tag_constants.SERVING],
                               os.path.join(folder, 'simple'))
    signature = meta.signature_def[
        tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    return [
        signature.method_name,
        session.run(signature.outputs['y'].name, {signature.inputs['x'].name: DATA}),
        gathered(tf.global_variables())
    ]


# ---- GraphDefs ----------------------------------------------------------------------------------
def write_frozen(tf, folder):
  x = tf.placeholder(tf.float32, [None, 3], 'x')
  h = tf.layers.dense(x, 4, tf.nn.relu, kernel_initializer=tf.constant_initializer(.25))
  h = tf.layers.batch_normalization(h)
  r = tf.get_variable('r', initializer=[1., 2., 3., 4.], use_resource=True)
  _, h = tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, h * 1.5), [0, h * r])
  tf.identity(h, name='out')
  session = started(tf)
  frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ['out'])
  tf.train.write_graph(frozen, folder, 'frozen.pb', as_text=False)
  tf.io.write_graph(frozen, folder, 'frozen.pbtxt')


def read_frozen(tf, folder):
  found = []
  for name in ('frozen.pb', 'frozen.pbtxt'):
    definition = tf.GraphDef()
    with tf.gfile.GFile(name, 'rb') as f:
      data = f.read()
    if name.endswith('.pb'):
      definition.ParseFromString(data)
    else:
      definition = parsed_text(tf, data, definition)
    with tf.Graph().as_default(), tf.Session() as session:
      out, = tf.import_graph_def(definition, return_elements=['out:0'], name='frozen')
      found.append(session.run(out, {'frozen/x:0': DATA}))
      found.append([n.op for n in definition.node if n.op in ('VariableV2', 'VarHandleOp')])
  return found


def parsed_text(tf, data, message):
  """TensorFlow's messages are protobuf's; the library of Leat reads texts of its own."""
  if 'tensorflow' in tf.__name__:
    from google.protobuf import text_format
    return text_format.Parse(data, message)
  from leat import _leat
  return tf.GraphDef.FromString(_leat.message_from_text('GraphDef', data))


CASES = {
    'MetaGraph with collections': (write_collections, read_collections),
    'MetaGraph below a scope': (write_collections, read_scoped),
    'MetaGraph with loops, to be trained': (write_flow(False), read_flow),
    'MetaGraph with loops and a training step': (write_flow(True), read_trained_flow),
    'MetaGraph with a recurrent network': (write_recurrent, read_recurrent),
    'MetaGraph with queue runners': (write_queues, read_queues),
    'SavedModel': (write_saved_model(False), read_saved_model),
    'SavedModel as text with a legacy init op': (write_saved_model(True), read_saved_model),
    'SavedModel of simple_save': (write_simple, read_simple),
    'frozen graph': (write_frozen, read_frozen),
}
