"""Checkpoints of variables that one library saves and the other restores."""
import os

import numpy as np

DTYPES = [
    'float32', 'float64', 'float16', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8',
    'uint16', 'bool', 'complex64', 'complex128', 'string'
]
OLD_DTYPES = [
    'float32', 'float64', 'int8', 'int16', 'int32', 'int64', 'uint8', 'bool', 'complex64', 'string'
]


def started(tf):
  session = tf.Session()
  session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
  return session


def saver_of(tf, version, **options):
  return tf.train.Saver(write_version=getattr(tf.train.SaverDef, 'V%d' % version), **options)


# ---- Every type ---------------------------------------------------------------------------------
def value_of(dtype, i):
  numbers = np.arange(6).reshape(2, 3) + i
  if dtype == 'string':
    return np.array([[b'a', b'', b'\x00\xff'], [b'x' * 300, b'b', b'c']], object)
  return numbers % 2 == 0 if dtype == 'bool' else numbers


def variables_of(tf, dtypes, values):
  """A matrix and a scalar of each type."""
  for i, dtype in enumerate(dtypes):
    value = value_of(dtype, i) if values else np.zeros_like(value_of(dtype, i))
    if dtype == 'string' and not values:
      value = np.full((2, 3), b'', object)
    start = tf.constant(value.tolist()) if dtype == 'string' else tf.cast(value, dtype)
    tf.get_variable(dtype, initializer=start)
    tf.get_variable('scope/' + dtype, initializer=start[1, 1], use_resource=True)


def save_types(version, sharded):
  def write(tf, folder):
    variables_of(tf, DTYPES if version == 2 else OLD_DTYPES, True)
    return saver_of(tf, version, sharded=sharded).save(started(tf), 'model', global_step=5)

  return write


def contents(tf, path, values=True):
  """What a reader says of a checkpoint."""
  reader = tf.train.NewCheckpointReader(path)
  shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
  return [[n, shapes[n], dtypes[n],
           plain_array(reader.get_tensor(n)) if values else None] for n in sorted(shapes)]


def plain_array(value):
  """An array that JSON can hold: extension types as numbers."""
  value = np.asarray(value)
  return value.astype('f8') if value.dtype.kind == 'V' else value


def restore_types(version, sharded):
  def read(tf, folder):
    variables_of(tf, DTYPES if version == 2 else OLD_DTYPES, False)
    session, path = started(tf), tf.train.latest_checkpoint(folder)
    saver_of(tf, version, sharded=sharded).restore(session, path)
    restored = session.run([
        tf.cast(v, tf.float32) if v.dtype.base_dtype == tf.bfloat16 else v.read_value()
        for v in tf.global_variables()
    ])
    return [
        contents(tf, path, version == 2),
        tf.train.list_variables(folder), restored,
        tf.train.load_variable(path, 'float32'),
        os.path.basename(path)
    ]

  return read


# ---- Parts --------------------------------------------------------------------------------------
def save_parts(version):
  def write(tf, folder):
    with tf.variable_scope('s', partitioner=tf.fixed_size_partitioner(3)):
      v = tf.get_variable('v', [7, 2], initializer=tf.zeros_initializer())
    start = np.arange(14.).reshape(7, 2)
    session = started(tf)
    at = 0
    for part in v:
      rows = part.shape.as_list()[0]
      session.run(tf.assign(part, start[at:at + rows]))
      at += rows
    return saver_of(tf, version, sharded=version == 2).save(session, 'parts')

  return write


def restore_parts(version):
  def read(tf, folder):
    path = tf.train.latest_checkpoint(folder)
    found = [contents(tf, path, version == 2)]
    for parts in (1, 2, 3, 7):
      tf.reset_default_graph()
      with tf.variable_scope('s', partitioner=tf.fixed_size_partitioner(parts)):
        v = tf.get_variable('v', [7, 2], initializer=tf.zeros_initializer())
      session = started(tf)
      saver_of(tf, version).restore(session, path)
      found.append(session.run(tf.convert_to_tensor(v)))
    return found

  return read


# ---- Several saves ------------------------------------------------------------------------------
def save_several(tf, folder):
  v = tf.get_variable('v', initializer=0.)
  saver, session = tf.train.Saver(max_to_keep=2), started(tf)
  for step in range(5):
    session.run(v.assign_add(1.))
    saver.save(session, os.path.join(folder, 'model.ckpt'), global_step=step)
  other = tf.train.Saver(max_to_keep=3, save_relative_paths=True, name='other')
  for step in range(4):
    other.save(session, os.path.join(folder, 'named'), global_step=step, latest_filename='second')


def restore_several(tf, folder):
  states = [tf.train.get_checkpoint_state(folder, name) for name in (None, 'second')]
  named = [[os.path.basename(s.model_checkpoint_path)] +
           [os.path.basename(p) for p in s.all_model_checkpoint_paths] for s in states]
  v = tf.get_variable('v', initializer=0.)
  session, saver = started(tf), tf.train.Saver(max_to_keep=2)
  saver.recover_last_checkpoints(list(states[0].all_model_checkpoint_paths))
  saver.restore(session, tf.train.latest_checkpoint(folder))
  return [
      named,
      session.run(v), [os.path.basename(p) for p in saver.last_checkpoints],
      sorted(n for n in os.listdir(folder) if n.endswith('.index')),
      tf.train.checkpoint_exists('model.ckpt-4'),
      tf.train.checkpoint_exists('model.ckpt-1'),
      os.path.basename(tf.train.latest_checkpoint(folder, 'second'))
  ]


# ---- Objects ------------------------------------------------------------------------------------
def objects_of(tf, start):
  a = tf.Variable(start, name='a', dtype=tf.float32)
  b = tf.Variable([start, start], name='other', dtype=tf.float32)
  return a, b, tf.train.Checkpoint(first=a, inner=tf.train.Checkpoint(second=b))


def save_objects(tf, folder):
  a, b, checkpoint = objects_of(tf, 3.)
  session = started(tf)
  with session.as_default():
    return checkpoint.save(os.path.join(folder, 'objects'))


def restore_objects(tf, folder):
  a, b, checkpoint = objects_of(tf, 0.)
  path = tf.train.latest_checkpoint(folder)
  with started(tf).as_default() as session:
    status = checkpoint.restore(path)
    status.assert_consumed()
    status.run_restore_ops()
    values = session.run([a, b, checkpoint.save_counter])
  names = [n for n, _ in tf.train.list_variables(path)]
  return [values, names]


def restore_objects_by_name(tf, folder):
  """A saver of names finds what a checkpoint of objects has."""
  v = tf.get_variable('v', initializer=0.)
  session = started(tf)
  tf.train.Saver({'first/.ATTRIBUTES/VARIABLE_VALUE': v
                 }).restore(session, tf.train.latest_checkpoint(folder))
  return session.run(v)


# ---- Optimizers, averages, warm starts ----------------------------------------------------------
def model(tf):
  x = tf.placeholder(tf.float32, [None, 3], 'x')
  with tf.variable_scope('net'):
    w = tf.get_variable('w', initializer=tf.constant([[.1, .2], [.3, -.1], [.5, .4]]))
    b = tf.get_variable('b', initializer=tf.zeros([2]))
  loss = tf.reduce_mean(tf.square(tf.nn.softmax(tf.matmul(x, w) + b) - [1., 0.]))
  step = tf.train.get_or_create_global_step()
  train = tf.train.AdamOptimizer(.05).minimize(loss, step)
  average = tf.train.ExponentialMovingAverage(.9, step)
  with tf.control_dependencies([train]):
    train = average.apply([w, b])
  return x, loss, train, average


DATA = np.sin(np.arange(12.)).reshape(4, 3)


def save_training(tf, folder):
  x, loss, train, _ = model(tf)
  session = started(tf)
  for _ in range(4):
    session.run(train, {x: DATA})
  tf.train.Saver().save(session, os.path.join(folder, 'model'), tf.train.get_global_step())


def continue_training(tf, folder):
  x, loss, train, average = model(tf)
  session, path = started(tf), tf.train.latest_checkpoint(folder)
  tf.train.Saver().restore(session, path)
  losses = [session.run([loss, train], {x: DATA})[0] for _ in range(4)]
  tf.train.Saver(average.variables_to_restore()).restore(session, path)
  return [losses, session.run(loss, {x: DATA}), contents(tf, path)]


def start_warm(tf, folder):
  with tf.variable_scope('mine'):
    w = tf.get_variable('w', [3, 2])
  tf.train.init_from_checkpoint(folder, {'net/': 'mine/'})
  return started(tf).run(w)


def save_monitored(tf, folder):
  x, loss, train, _ = model(tf)
  with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_steps=2,
                                         save_summaries_steps=0, log_step_count_steps=0) as session:
    for _ in range(5):
      session.run(train, {x: DATA})


def continue_monitored(tf, folder):
  x, loss, train, _ = model(tf)
  with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_secs=None,
                                         save_checkpoint_steps=None, save_summaries_steps=None,
                                         log_step_count_steps=None) as session:
    return [session.run(tf.train.get_global_step()), session.run(loss, {x: DATA})]


# ---- Feature columns ----------------------------------------------------------------------------
def columns(tf):
  words = tf.feature_column.categorical_column_with_vocabulary_list('word', ['a', 'b', 'c'])
  hashed = tf.feature_column.categorical_column_with_hash_bucket('other', 5)
  number = tf.feature_column.numeric_column('number')
  buckets = tf.feature_column.bucketized_column(number, [0., 1.])
  features = {
      'word': tf.constant([['a'], ['c'], ['zz']]), 'other': tf.constant([['q'], ['r'], ['']]),
      'number': tf.constant([[-1.], [.5], [2.]])
  }
  dense = tf.feature_column.input_layer(features, [
      tf.feature_column.embedding_column(words, 2),
      tf.feature_column.indicator_column(hashed), number, buckets
  ])
  linear = tf.feature_column.linear_model(
      features, [words, hashed, number,
                 tf.feature_column.crossed_column(['word', buckets], 7)])
  return dense, linear


def save_columns(tf, folder):
  dense, linear = columns(tf)
  session = started(tf)
  session.run(tf.tables_initializer())
  for i, v in enumerate(tf.global_variables()):
    session.run(
        tf.assign(v,
                  np.cos(np.arange(v.shape.num_elements()) + i).reshape(v.shape.as_list())))
  tf.train.Saver().save(session, os.path.join(folder, 'columns'))


def restore_columns(tf, folder):
  dense, linear = columns(tf)
  session = started(tf)
  session.run(tf.tables_initializer())
  tf.train.Saver().restore(session, tf.train.latest_checkpoint(folder))
  return [session.run([dense, linear]), contents(tf, tf.train.latest_checkpoint(folder))]


CASES = {
    'checkpoint of version 2': (save_types(2, False), restore_types(2, False)),
    'checkpoint of version 2, sharded': (save_types(2, True), restore_types(2, True)),
    'checkpoint of version 1': (save_types(1, False), restore_types(1, False)),
    'checkpoint of version 1, sharded': (save_types(1, True), restore_types(1, True)),
    'partitioned variables': (save_parts(2), restore_parts(2)),
    'partitioned variables of version 1': (save_parts(1), restore_parts(1)),
    'several checkpoints and their state files': (save_several, restore_several),
    'checkpoint of objects': (save_objects, restore_objects),
    'checkpoint of objects, by name': (save_objects, restore_objects_by_name),
    'training that goes on': (save_training, continue_training),
    'warm start': (save_training, start_warm),
    'monitored session': (save_monitored, continue_monitored),
    'feature columns': (save_columns, restore_columns),
}
