"""SavedModels that Leat writes are loaded by TensorFlow, and the reverse: variables, signatures,
assets, initialisers. MetaGraphs likewise."""
import ctypes
import os
import subprocess
import tempfile

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf

import capi
from outcome import report

LEAT = capi.Library()
X = np.array([[1, 2], [-3, .5]], 'f4')
Y = X @ np.array([[1, 2], [3, 4]], 'f4') + np.array([-1, 5], 'f4')


def export(folder):
  """Runs export_model.c in |folder| -> its SavedModel."""
  source, build = os.environ['LEAT_SOURCE_DIR'], os.environ['LEAT_BUILD_DIR']
  program, libraries = os.path.join(folder, 'export_model'), os.path.join(build, 'lib')
  subprocess.check_call([os.environ.get('CC', 'cc'), '-o', program,
                         os.path.join(source, 'tests/oracle/export_model.c'),
                         '-I' + os.path.join(source, 'include'), '-L' + libraries,
                         '-Wl,-rpath,' + libraries, '-lleat'])
  open(os.path.join(folder, 'words.txt'), 'w').write('mill\nleat\n')
  run = subprocess.run([program, 'export', 'words.txt'], capture_output=True, text=True,
                       cwd=folder)
  assert run.returncode == 0, run.stderr
  return os.path.join(folder, 'export')


def different(got, want):
  return '' if np.array_equal(got, want) else 'gives %s, not %s' % (got, want)


def written_loads(folder):
  """tf.compat.v1.saved_model.load in a session."""
  path = export(folder)
  with tf.Graph().as_default(), tf.Session() as session:
    meta = tf.saved_model.load(session, ['serve'], path)
    signature = meta.signature_def['serving_default']
    got, place = session.run([signature.outputs['scores'].name, 'place:0'],
                             {signature.inputs['images'].name: X})
  if place != os.path.join(path, 'assets/words.txt').encode():
    return 'the asset is %r' % place
  return different(got, Y)


def written_loads_eagerly(folder):
  """tf.saved_model.load: its signature as a function. Reference variables are lifted."""
  loaded = tf2.saved_model.load(export(folder))
  return different(loaded.signatures['serving_default'](tf2.constant(X))['scores'].numpy(), Y)


def written_imports(folder):
  """tf.train.import_meta_graph, then the checkpoint, then saving by the same saver."""
  path = export(folder)
  with tf.Graph().as_default(), tf.Session() as session:
    saver = tf.train.import_meta_graph(os.path.join(folder, 'model.meta'))
    saver.restore(session, os.path.join(path, 'variables/variables'))
    again = saver.save(session, os.path.join(folder, 'again'), write_meta_graph=False)
    names = [n for n, _ in tf.train.list_variables(again)]
    if names != ['b', 'w']:
      return 'saves %s' % names
    graph = tf.get_default_graph()
    y = [o for o in graph.get_operations() if o.type in ('Add', 'AddV2')][-1]
    return different(session.run(y.outputs[0], {'x:0': X}), Y)


# ---- The other way -----------------------------------------------------------------------------
def tensorflow_model(path, resource):
  """A partitioned variable, an asset that the initialiser looks at, two sets of tags."""
  with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [None, 2], 'x')
    w = tf.get_variable('w', initializer=lambda shape, dtype, partition_info: tf.constant(
        [[1, 2], [3, 4]], dtype)[partition_info.var_offset[0]:][:shape[0]], shape=[2, 2],
                        partitioner=tf.fixed_size_partitioner(2), use_resource=resource)
    b = tf.get_variable('b', initializer=tf.constant([-1., 5.]), use_resource=resource)
    y = tf.add(tf.matmul(x, tf.convert_to_tensor(w)), b, name='y')
    asset = tf.constant(os.path.join(path + '.words'), name='asset')
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
    place = tf.get_variable('place', initializer=tf.constant('none'), use_resource=resource)
    keep = place.assign(asset).op
    place_name = (place.value() if resource else place).name
    session.run(tf.global_variables_initializer())
    builder = tf.saved_model.Builder(path)
    signature = tf.saved_model.predict_signature_def({'in': x}, {'out': y})
    builder.add_meta_graph_and_variables(
        session, ['serve', 'gpu'], {'serving_default': signature}, assets_collection=[asset],
        main_op=keep)
    builder.add_meta_graph(['train'], {'serving_default': signature})
    builder.save(as_text=resource)
    return place_name


def load(path, tags):
  """TF_LoadSessionFromSavedModel -> a session."""
  session = capi.Session(LEAT)
  LEAT.TF_DeleteSession(session.session, LEAT.status)
  function = LEAT.handle.TF_LoadSessionFromSavedModel
  function.restype, options = ctypes.c_void_p, LEAT.TF_NewSessionOptions()
  names = (ctypes.c_char_p * len(tags))(*[t.encode() for t in tags])
  session.session = function(
      ctypes.c_void_p(options), None, path.encode(), names, len(tags),
      ctypes.c_void_p(session.graph), None, ctypes.c_void_p(LEAT.status))
  LEAT.TF_DeleteSessionOptions(options)
  LEAT.check()
  return session


def read_loads(resource, folder):
  path = os.path.join(folder, 'model')
  open(path + '.words', 'w').write('mill\n')
  place_name = tensorflow_model(path, resource)
  session = load(path, ['gpu', 'serve'])
  got, place = session.run(['y:0', place_name], {'x:0': X})
  session.close()
  if place.item() != (path + '/assets/model.words').encode():
    return 'the asset is %r' % place
  load(path, ['train']).close()
  try:
    load(path, ['serve'])
    return 'finds tags that are not there'
  except capi.Error as error:
    if error.code != 5:
      return str(error)
  return different(got, Y)


def check(name, compare, *arguments):
  with tempfile.TemporaryDirectory(prefix='leat-saved-model') as folder:
    report('SavedModel ' + name, compare, *arguments, folder)


check('written by Leat, in a session', written_loads)
check('written by Leat, eagerly', written_loads_eagerly)
check('MetaGraph written by Leat', written_imports)
for kind in (False, True):
  check('written by TensorFlow' + ', resource, text' * kind, read_loads, kind)
