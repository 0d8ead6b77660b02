"""Checkpoints that Leat writes are read by TensorFlow, and the reverse: by the ops of graphs that
TensorFlow built, by leat/files.h and by the saver of leat/train.h."""
import ctypes
import os
import subprocess
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

import capi
from outcome import report

tf.disable_eager_execution()
tf.disable_v2_behavior()
LEAT = capi.Library()
DTYPES = ['float32', 'float64', 'float16', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8',
          'uint16', 'uint32', 'uint64', 'bool', 'complex64', 'complex128', 'string']
SHAPES = [(), (1,), (7,), (3, 4), (0, 3), (2, 1, 3, 1, 2)]
PARTS = [(4, '10 3 0,4:-'), (6, '10 3 4,6:-')]  # rows of a variable in two parts


def values_of(dtype, shape, seed=1):
  random = np.random.RandomState(seed)
  count = int(np.prod(shape))
  if dtype == 'string':
    texts = [random.bytes(int(n)) for n in random.randint(0, 60, count)]
    flat = np.array(texts + [b'?'], object)[:-1]
  elif dtype == 'bool':
    flat = random.randint(0, 2, count).astype(bool)
  elif dtype.startswith('complex'):
    flat = (random.randn(count) + 1j * random.randn(count)).astype(dtype)
  elif 'float' in dtype:
    special = [np.nan, np.inf, -np.inf, -0.0]
    flat = np.array([special[i % 9] if i % 9 < 4 and count > 8 else v
                     for i, v in enumerate(random.randn(count))])
    flat = flat.astype(tf.as_dtype(dtype).as_numpy_dtype)
  else:
    flat = random.randint(0, 1 << 30, count).astype(dtype)
  return flat.reshape(shape)


def everything():
  tensors = {'%s/%d' % (dtype, i): values_of(dtype, shape, i)
             for dtype in DTYPES for i, shape in enumerate(SHAPES)}
  tensors['long text'] = np.array([b'', b'x' * 100000, b'\0\xff'], object)
  tensors['many'] = np.arange(500000, dtype='f4').reshape(500, 1000)
  return tensors


def different(name, got, want):
  want = np.asarray(want)
  got = np.asarray(got)
  if got.shape != want.shape:
    return '%s has shape %s, not %s' % (name, got.shape, want.shape)
  if want.dtype.kind in 'OSU':
    same = [bytes(v) for v in got.ravel()] == [bytes(v) for v in want.ravel()]
  else:
    same = got.dtype == want.dtype and got.tobytes() == want.tobytes()
  return '' if same else '%s differs' % name


def first_difference(get, tensors):
  """|get| gives the value of a name."""
  return next((why for why in (different(n, get(n), v) for n, v in tensors.items()) if why), '')


# ---- Sessions: one interface, two libraries ------------------------------------------------------
def run_tensorflow(graph, fetches=(), feeds=None, targets=()):
  with tf.Session(graph=graph) as session:
    values = session.run([graph.get_tensor_by_name(f + ':0' * (':' not in f)) for f in fetches],
                         feeds)
    session.run([graph.get_operation_by_name(t) for t in targets], feeds)
    return values


def run_leat(graph, fetches=(), feeds=None, targets=()):
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  try:
    return session.run(fetches, feeds, targets)
  finally:
    session.close()


def save(run, prefix, tensors, slices=None, op='SaveV2'):
  """Runs a graph of one op that saves constants."""
  names = list(tensors)
  with tf.Graph().as_default() as graph:
    values = [tf.constant(v, tf.string if v.dtype.kind == 'O' else None) for v in tensors.values()]
    slices = slices or [''] * len(names)
    if op == 'SaveSlices':
      tf.raw_ops.SaveSlices(filename=prefix, tensor_names=names, shapes_and_slices=slices,
                            data=values, name='save')
    elif op == 'Save':
      tf.raw_ops.Save(filename=prefix, tensor_names=names, data=values, name='save')
    else:
      tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices,
                        tensors=values, name='save')
  run(graph, targets=['save'])


def restore(run, prefix, names, dtypes, slices=None):
  with tf.Graph().as_default() as graph:
    tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names,
                         shape_and_slices=slices or [''] * len(names), dtypes=dtypes,
                         name='restore')
  return run(graph, ['restore:%d' % i for i in range(len(names))])


def restore_one_by_one(run, file_name, names, dtypes):
  """The op of the first version, which has one output."""
  with tf.Graph().as_default() as graph:
    for i, (name, dtype) in enumerate(zip(names, dtypes)):
      tf.raw_ops.Restore(file_pattern=file_name, tensor_name=name, dt=dtype, name='r%d' % i)
  return run(graph, ['r%d' % i for i in range(len(names))])


def dtypes_of(tensors):
  return [tf.string if v.dtype.kind == 'O' else tf.as_dtype(v.dtype) for v in tensors.values()]


# ---- The ops -----------------------------------------------------------------------------------
def ops_write(folder):
  tensors, prefix = everything(), os.path.join(folder, 'all')
  save(run_leat, prefix, tensors)
  reader = tf.train.load_checkpoint(prefix)
  shapes = {n: tuple(s) for n, s in reader.get_variable_to_shape_map().items()}
  if shapes != {n: v.shape for n, v in tensors.items()}:
    return 'names or shapes differ'
  kinds = dict(zip(tensors, dtypes_of(tensors)))
  if reader.get_variable_to_dtype_map() != kinds:
    return 'dtypes differ'
  return first_difference(reader.get_tensor, tensors)


def ops_read(folder):
  tensors, prefix = everything(), os.path.join(folder, 'all')
  save(run_tensorflow, prefix, tensors)
  got = dict(zip(tensors, restore(run_leat, prefix, list(tensors), dtypes_of(tensors))))
  return first_difference(got.get, tensors)


def many_names(writer, reader, folder):
  """An index of many blocks with long shared prefixes."""
  prefix = os.path.join(folder, 'names')
  tensors = {'model/layer_%04d/%s' % (i, 'weights/' * (i % 40)): np.array([i, -i], 'i4')
             for i in range(6000)}
  save(writer, prefix, tensors)
  got = dict(zip(tensors, restore(reader, prefix, list(tensors), dtypes_of(tensors))))
  return first_difference(got.get, tensors)


def same_bytes(folder):
  """Data and index are those that TensorFlow writes."""
  tensors = everything()
  tensors.update({'layer_%04d/%s' % (i, 'weights/' * (i % 90)): np.array(i, 'i4')
                  for i in range(6000)})  # more than one block of the index
  for name, run in [('a', run_tensorflow), ('b', run_leat)]:
    os.mkdir(os.path.join(folder, name))
    save(run, os.path.join(folder, name, 'p'), tensors)
  for ending in ['data-00000-of-00001', 'index']:
    a, b = [open(os.path.join(folder, n, 'p.' + ending), 'rb').read() for n in 'ab']
    if a != b:
      return '%s differs (%d and %d bytes)' % (ending, len(a), len(b))
  return ''


def slices(writer, reader, folder):
  """A variable saved in parts is read whole, in its parts and in others."""
  prefix = os.path.join(folder, 'parts')
  whole = values_of('float32', (10, 3))
  starts = np.cumsum([0] + [rows for rows, _ in PARTS])
  for i, (rows, _) in enumerate(PARTS):
    shard = '%s_temp/part-%05d-of-%05d' % (prefix, i, len(PARTS))
    save(writer, shard, {'v': whole[starts[i]:starts[i] + rows]}, [PARTS[i][1]])
  with tf.Graph().as_default() as graph:
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=['%s_temp/part-%05d-of-%05d' % (prefix, i, len(PARTS))
                             for i in range(len(PARTS))],
        destination_prefix=prefix, delete_old_dirs=True, name='merge')
  writer(graph, targets=['merge'])
  if os.path.exists(prefix + '_temp'):
    return 'the folder of the parts is still there'
  wanted = ['', PARTS[0][1], PARTS[1][1], '10 3 2,5:1,2', '10 3 -:0,1']
  got = restore(reader, prefix, ['v'] * len(wanted), [tf.float32] * len(wanted), wanted)
  want = [whole, whole[:4], whole[4:], whole[2:7, 1:3], whole[:, :1]]
  return next((w for w in (different(s, g, v) for s, g, v in zip(wanted, got, want)) if w), '')


def merge(run, parts, prefix):
  with tf.Graph().as_default() as graph:
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=prefix,
                                  delete_old_dirs=False, name='merge')
  run(graph, targets=['merge'])


def data_files(prefix):
  folder, name = os.path.split(prefix)
  return sorted(f[len(name) + 1:] for f in os.listdir(folder) if f.startswith(name + '.data'))


def generations(folder):
  """A checkpoint that replaces another has data files of other names: TensorFlow reads every
  generation, saves over each, and merges them, with whole tensors and with slices."""
  prefix = os.path.join(folder, 'again')
  for i, run in enumerate([run_leat] * 4 + [run_tensorflow] + [run_leat] * 3 + [run_tensorflow]):
    want = {'a': values_of('float32', (5, 7), i), 's': np.array([b'%d' % i, b''], object)}
    save(run, prefix, want)
    if run is run_leat and len(data_files(prefix)) != 1:
      return 'generation %d has the files %s' % (i, data_files(prefix))
    for read in (run_tensorflow, run_leat):
      got = dict(zip(want, restore(read, prefix, list(want), dtypes_of(want))))
      why = first_difference(got.get, want)
      if why:
        return 'generation %d: %s' % (i, why)
    reader = tf.train.load_checkpoint(prefix)
    why = first_difference(reader.get_tensor, want)
    if why or not tf.train.checkpoint_exists(prefix):
      return 'generation %d: load_checkpoint: %s' % (i, why)
  return ''


def generations_merged(merger, folder):
  """Parts of later generations are merged, again and again under one prefix."""
  prefix = os.path.join(folder, 'merged')
  for generation in range(4):
    whole = values_of('float32', (10, 3), generation)
    parts = [os.path.join(folder, 'part%d' % i) for i in range(2)]
    for _ in range(1 + generation % 2):  # the second save of a part has another file
      save(run_leat, parts[0], {'v': whole[:4], 'x': whole}, [PARTS[0][1], ''])
      save(run_leat, parts[1], {'v': whole[4:]}, [PARTS[1][1]])
    merge(merger, parts, prefix)
    for read in (run_tensorflow, run_leat):
      got = restore(read, prefix, ['v', 'x'], [tf.float32] * 2)
      why = different('v', got[0], whole) or different('x', got[1], whole)
      if why:
        return 'generation %d: %s' % (generation, why)
  return ''


def first_version(writer, reader, folder):
  """Save and Restore: the format of 2015. Only its own dtypes."""
  path = os.path.join(folder, 'model.ckpt')
  kinds = ['float32', 'float64', 'int8', 'int16', 'int32', 'int64', 'uint8', 'bool', 'complex64',
           'string']
  tensors = {n: v for n, v in everything().items() if n.split('/')[0] in kinds}
  save(writer, path, tensors, op='Save')
  got = dict(zip(tensors, restore_one_by_one(reader, path, list(tensors), dtypes_of(tensors))))
  return first_difference(got.get, tensors)


def first_version_slices(writer, reader, folder):
  path, whole = os.path.join(folder, 'model.ckpt'), values_of('float32', (10, 3))
  save(writer, path, {'v': whole[:4]}, [PARTS[0][1]], op='SaveSlices')
  with tf.Graph().as_default() as graph:
    tf.raw_ops.RestoreSlice(file_pattern=path, tensor_name='v', shape_and_slice='10 3 1,2:0,2',
                            dt=tf.float32, name='r')
  return different('v', reader(graph, ['r'])[0], whole[1:3, :2])


def wrong_names(folder):
  """Errors have TensorFlow's codes: no such name, wrong dtype, no such file."""
  prefix = os.path.join(folder, 'small')
  save(run_tensorflow, prefix, {'v': np.zeros(3, 'f4')})
  cases = [(prefix, ['w'], [tf.float32]), (prefix, ['v'], [tf.int32]),
           (prefix + 'x', ['v'], [tf.float32])]
  for file_name, names, dtypes in cases:
    try:
      restore(run_tensorflow, file_name, names, dtypes)
      return 'TensorFlow finds no error in %s' % names
    except tf.errors.OpError as error:
      want = error.error_code
    try:
      restore(run_leat, file_name, names, dtypes)
      return 'no error for %s of %s' % (names, dtypes)
    except capi.Error as error:
      if error.code != want:
        return 'code %d, not %d: %s' % (error.code, want, error)
  return ''


# ---- leat/files.h ------------------------------------------------------------------------------
def read_with_files(prefix):
  """-> {name: value} through leat_checkpoint_*."""
  checkpoint = LEAT.leat_checkpoint_open(prefix.encode(), LEAT.status)
  LEAT.check()
  values, dims, dtype = {}, (ctypes.c_int64 * 8)(), ctypes.c_int()
  for i in range(LEAT.leat_checkpoint_count(checkpoint)):
    name = LEAT.leat_checkpoint_name(checkpoint, i)
    rank = LEAT.leat_checkpoint_shape(checkpoint, i, ctypes.byref(dtype), dims, 8)
    tensor = LEAT.leat_checkpoint_read(checkpoint, name, LEAT.status)
    LEAT.check()
    value = values[name.decode()] = LEAT.array(tensor)
    assert tuple(dims[:rank]) == value.shape and dtype.value == LEAT.TF_TensorType(tensor), name
    LEAT.TF_DeleteTensor(tensor)
  LEAT.leat_checkpoint_close(checkpoint)
  return values


def files_read(folder):
  tensors, prefix = everything(), os.path.join(folder, 'all')
  save(run_tensorflow, prefix, tensors)
  got = read_with_files(prefix)
  if list(got) != sorted(tensors):
    return 'names differ'
  return first_difference(got.get, tensors)


# ---- The saver ---------------------------------------------------------------------------------
def saver_model(folder, *steps):
  """Runs saver_model.c -> (step, {name: flat value})."""
  source, build = os.environ['LEAT_SOURCE_DIR'], os.environ['LEAT_BUILD_DIR']
  program, libraries = os.path.join(folder, 'saver_model'), os.path.join(build, 'lib')
  if not os.path.exists(program):
    subprocess.check_call([os.environ.get('CC', 'cc'), '-o', program,
                           os.path.join(source, 'tests/oracle/saver_model.c'),
                           '-I' + os.path.join(source, 'include'), '-L' + libraries,
                           '-Wl,-rpath,' + libraries, '-lleat'])
  run = subprocess.run([program, folder, *map(str, steps)], capture_output=True, text=True)
  assert run.returncode == 0, run.stderr
  first, *lines = run.stdout.splitlines()
  words = [line.split() for line in lines]
  return int(first), {w[0]: np.array([float.fromhex(v) for v in w[1:]], 'f4') for w in words}


def tensorflow_variables(shapes):
  return [tf.get_variable(n, s, initializer=tf.zeros_initializer()) for n, s in shapes.items()]


def saver_writes(folder):
  """tf.train finds, lists and restores what leat_saver_save wrote, optimizer's variables too."""
  _, want = saver_model(folder, 10, 20, 30)
  state = tf.train.get_checkpoint_state(folder)
  kept = [os.path.basename(p) for p in state.all_model_checkpoint_paths]
  there = sorted(n for n in os.listdir(folder) if n.endswith('.index'))
  latest = tf.train.latest_checkpoint(folder)
  if kept != ['model.ckpt-20', 'model.ckpt-30'] or there != [k + '.index' for k in kept]:
    return 'the state file names %s, there are %s' % (kept, there)
  if latest != os.path.join(folder, 'model.ckpt-30'):
    return 'latest is %s' % latest
  shapes = dict(tf.train.list_variables(latest))
  if set(shapes) != set(want) or len(shapes) < 8:  # two variables, their slots, two powers
    return 'variables are %s' % list(shapes)
  with tf.Graph().as_default() as graph:
    variables = tensorflow_variables(shapes)
    with tf.Session(graph=graph) as session:
      tf.train.Saver(variables).restore(session, latest)
      got = dict(zip(shapes, session.run(variables)))
  return first_difference(lambda n: got[n].ravel(), want)


def saver_reads(folder):
  """leat_saver_restore_latest takes what tf.train.Saver wrote."""
  saver_model(folder, 1)
  shapes = dict(tf.train.list_variables(tf.train.latest_checkpoint(folder)))
  want = {n: values_of('float32', s, i) for i, (n, s) in enumerate(shapes.items())}
  with tf.Graph().as_default() as graph:
    variables = tensorflow_variables(shapes)
    with tf.Session(graph=graph) as session:
      for variable in variables:
        variable.load(want[variable.op.name], session)
      tf.train.Saver(variables).save(session, os.path.join(folder, 'model.ckpt'), global_step=77)
  step, got = saver_model(folder)
  if step != 77:
    return 'the step is %d' % step
  return first_difference(got.get, {n: v.ravel() for n, v in want.items()})


def training_moves(first, second, resource, folder):
  """Trained for three steps by one library, saved, restored and trained on by the other: as if one
  had done it all. The graph, saver and all, is TensorFlow's."""
  prefix = os.path.join(folder, 'moved')
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [None, 4], 'x')
    initializer = tf.random_uniform_initializer(-1, 1, seed=3)
    w = tf.get_variable('w', [4, 3], initializer=initializer, use_resource=resource,
                        partitioner=tf.fixed_size_partitioner(2))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, tf.convert_to_tensor(w))), name='loss')
    step = tf.train.create_global_step()
    train = tf.train.AdamOptimizer(.05).minimize(loss, step).name
    init = tf.global_variables_initializer().name
    saver = tf.train.Saver().saver_def
  feed = {'x:0': np.arange(20, dtype='f4').reshape(5, 4) / 10}

  def run_steps(library, start, targets_after):
    session = (TensorFlowSession(graph) if library == 'tensorflow' else
               capi.Session(LEAT, graph.as_graph_def().SerializeToString()))
    if start == init:
      session.run(targets=[init])
    else:
      session.run(feeds={saver.filename_tensor_name: name}, targets=[start])
    losses = [session.run(['loss:0'], feed, targets=[train])[0] for _ in range(3)]
    for target in targets_after:
      session.run([target], {saver.filename_tensor_name: name})
    losses.append(session.run(['global_step:0'])[0])
    session.close()
    return losses

  name = np.array(prefix.encode(), object)
  start = run_steps(first, init, [saver.save_tensor_name])
  tf.train.list_variables(prefix)
  got = start + run_steps(second, saver.restore_op_name, [])
  want = run_steps('tensorflow', init, [saver.save_tensor_name])
  want += run_steps('tensorflow', saver.restore_op_name, [])
  worst = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(got, want))
  return '' if worst <= 1e-4 else 'losses differ by %.2g' % worst


class TensorFlowSession:
  """As capi.Session."""

  def __init__(self, graph):
    self.graph, self.session = graph, tf.Session(graph=graph)

  def run(self, fetches=(), feeds=None, targets=()):
    feeds = {n: v.item() if v.dtype.kind == 'O' else v for n, v in (feeds or {}).items()}
    names = list(fetches) + [self.graph.get_operation_by_name(t) for t in targets]
    return self.session.run(names, feeds)[:len(fetches)]

  def close(self):
    self.session.close()


def check(name, compare, *arguments):
  with tempfile.TemporaryDirectory(prefix='leat-checkpoint') as folder:
    report('checkpoint ' + name, compare, *arguments, folder)


BOTH_WAYS = [('written by Leat', run_leat, run_tensorflow),
             ('written by TensorFlow', run_tensorflow, run_leat)]
check('ops, written by Leat', ops_write)
check('ops, written by TensorFlow', ops_read)
check('the same bytes', same_bytes)
for label, writer, reader in BOTH_WAYS:
  check('many names, ' + label, many_names, writer, reader)
  check('slices, ' + label, slices, writer, reader)
  check('first version, ' + label, first_version, writer, reader)
  check('slices of the first version, ' + label, first_version_slices, writer, reader)
check('generations', generations)
check('generations, merged by Leat', generations_merged, run_leat)
check('generations, merged by TensorFlow', generations_merged, run_tensorflow)
check('wrong names', wrong_names)
check('leat/files.h, written by TensorFlow', files_read)
check('saver, written by Leat', saver_writes)
check('saver, written by TensorFlow', saver_reads)
for resource in (False, True):
  for first, second in [('leat', 'tensorflow'), ('tensorflow', 'leat'), ('leat', 'leat')]:
    check('training moves from %s to %s%s' % (first, second, ', resource' * resource),
          training_moves, first, second, resource)
