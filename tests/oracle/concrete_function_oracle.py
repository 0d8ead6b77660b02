"""Functions of a SavedModel that TensorFlow saved, found by their path and called through Leat's C
API, give what the same functions of the loaded model give in TensorFlow: variables (several of one
name), tables that are fixed and that change, assets, constants, several traces; and a function that
changes a variable is seen by another one and by a signature."""
import ctypes
import os
import tempfile

import numpy as np
import tensorflow as tf

import capi
from outcome import report

LEAT = capi.Library()
P = ctypes.c_void_p
SCALAR, WORD = tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.string)


class Layer(tf.Module):
  def __init__(self, value):
    self.w = tf.Variable([value, value + 1], name='w')

  @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
  def call(self, x):
    return x + self.w


class Model(tf.Module):
  def __init__(self, folder):
    self.v = tf.Variable(3., name='v')
    self.layers = [Layer(1.), Layer(10.)]
    self.shift = tf.constant([5., 6.])
    self.table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(['a', 'b'], [1, 2]), -1)
    self.counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    self.counts.insert('z', 9)
    path = os.path.join(folder, 'words.txt')
    with open(path, 'w') as f:
      f.write('mill leat')
    self.asset = tf.saved_model.Asset(path)
    self.any(tf.constant(1))
    self.any(tf.constant(1.))

  @tf.function(input_signature=[SCALAR])
  def several(self, x):
    return {'second': x * self.v, 'first': x + self.shift}

  @tf.function(input_signature=[SCALAR])
  def add(self, x):
    self.v.assign_add(x)

  @tf.function(input_signature=[WORD])
  def find(self, key):
    return self.table.lookup(key)

  @tf.function(input_signature=[WORD])
  def count(self, key):
    return self.counts.lookup(key)

  @tf.function(input_signature=[])
  def text(self):
    return tf.io.read_file(self.asset)

  @tf.function
  def any(self, x):
    return x + 1


class Functions:
  """The functions of a model in an eager context of Leat's."""

  def __init__(self, path):
    self.context = self.call('TFE_NewContext', P(self.call('TFE_NewContextOptions', None)))
    self.model = self.call('TF_LoadSavedModel', path.encode(), P(self.context))

  def call(self, name, *arguments):
    function = getattr(LEAT.handle, name)
    function.restype = P
    if arguments == (None,):
      return function()
    result = function(*arguments, P(LEAT.status))
    LEAT.check()
    return result

  def run(self, path, *inputs, find='TF_GetSavedModelConcreteFunction',
          make='TF_ConcreteFunctionMakeCallOp'):
    function = self.call(find, P(self.model), path.encode())
    handles = (P * max(len(inputs), 1))(
        *[self.call('TFE_NewTensorHandle', P(LEAT.tensor(i))) for i in inputs])
    op = self.call(make, P(function), handles, len(inputs))
    results, count = (P * 8)(), ctypes.c_int(8)
    self.call('TFE_Execute', P(op), results, ctypes.byref(count))
    LEAT.handle.TFE_DeleteOp(P(op))
    return [LEAT.array(self.call('TFE_TensorHandleResolve', P(results[i])))
            for i in range(count.value)]


def compare(functions, loaded, path, attribute, *inputs):
  got = functions.run(path, *inputs)
  want = [t.numpy() for t in tf.nest.flatten(attribute(loaded)(*map(tf.constant, inputs)))
          if t is not None]
  same = len(got) == len(want) and all(
      np.array_equal(g.item() if g.dtype == object else g, w) for g, w in zip(got, want))
  return '' if same else '%s gives %s, not %s' % (path, got, want)


def functions_agree(folder):
  path = os.path.join(folder, 'model')
  model = Model(folder)
  tf.saved_model.save(model, path, signatures={'serving_default': model.several})
  loaded, functions = tf.saved_model.load(path), Functions(path)
  two, word = np.float32(2), lambda text: np.array(text, object)
  pair = np.array([3, 4], 'f4')
  calls = [('several', lambda m: m.several, two), ('add', lambda m: m.add, two),
           ('several', lambda m: m.several, two),
           ('layers.0.call', lambda m: m.layers[0].call, pair),
           ('layers.1.call', lambda m: m.layers[1].call, pair)]
  calls += [(name, lambda m, name=name: getattr(m, name), word(key))
            for name in ('find', 'count') for key in ('b', 'z', '')]
  calls += [('text', lambda m: m.text),
            ('any.trace_0', lambda m: m.any, np.int32(3)),
            ('any.trace_1', lambda m: m.any, two)]
  for call in calls:
    why = compare(functions, loaded, *call)
    if why:
      return why
  served = functions.run('serving_default', two, find='TF_GetSavedModelSignatureDefFunction',
                         make='TF_SignatureDefFunctionMakeCallOp')
  want = loaded.signatures['serving_default'](tf.constant(two))
  if not any(np.array_equal(s, np.float32(10)) for s in served) or len(served) != len(want):
    return 'the signature gives %s after the function changed the variable' % served
  return ''


with tempfile.TemporaryDirectory(prefix='leat-functions') as scratch:
  report('Functions of a SavedModel', functions_agree, scratch)
