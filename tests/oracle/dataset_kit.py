"""What the comparisons of datasets share: graphs that TensorFlow builds and both libraries run."""
import os

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0')

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from tensorflow.python.framework import function  # noqa: E402

import capi  # noqa: E402

tf.disable_eager_execution()
raw = tf.raw_ops
LEAT = capi.Library()
NUMBER = dict(output_types=[tf.int64], output_shapes=[[]])


# ---- Both libraries ------------------------------------------------------------------------------
def run_tensorflow(graph, names):
  with tf.Session(graph=graph) as session:
    try:
      return session.run(names)
    except tf.errors.OpError as error:
      return error.error_code


def run_leat(graph_def, names):
  try:
    session = capi.Session(LEAT, graph_def)
  except capi.Error as error:
    return error.code
  try:
    return session.run(names)
  except capi.Error as error:
    return error.code
  finally:
    session.close()


def compare(build):
  graph = tf.Graph()
  with graph.as_default():
    names = [t.name for t in build()]
  want = run_tensorflow(graph, names)
  got = run_leat(graph.as_graph_def().SerializeToString(), names)
  return difference(got, want)


def difference(got, want):
  same = got == want if isinstance(want, int) or isinstance(got, int) else all(
      a.dtype == np.asarray(b, object if isinstance(b, bytes) else None).dtype and
      np.array_equal(a, b) for a, b in zip(got, want))
  return '' if same else '%s, must be %s' % (got, want)


def elements(dataset, count=64):
  """All elements, numbers, in one tensor."""
  batch = raw.BatchDataset(input_dataset=dataset, batch_size=count, output_types=[tf.int64],
                           output_shapes=[[None]])
  return raw.DatasetToSingleElement(dataset=batch, output_types=[tf.int64],
                                    output_shapes=[[None]])[0]


def numbers(start, stop):
  return raw.RangeDataset(start=start, stop=stop, step=1, **NUMBER)


def defun(name, body, *types):
  made = function.Defun(*types, func_name=name)(body)
  made.add_to_graph(tf.get_default_graph())
  return made


def in_tensorflow(graph, name):
  with tf.Session(graph=graph) as session:
    return session.run(name)


def in_leat(graph, name):
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  try:
    return session.run([name])[0]
  finally:
    session.close()


def examples():
  """Two elements of two Examples each; the features differ in length, and some are not there."""
  def encode(**features):
    example = tf.train.Example()
    for name, values in features.items():
      kind = 'bytes_list' if isinstance(values[0], bytes) else (
          'float_list' if isinstance(values[0], float) else 'int64_list')
      getattr(example.features.feature[name], kind).value.extend(values)
    return example.SerializeToString()
  return np.array([[encode(a=[5, 7], t=[b'x', b'']), encode(a=[9], f=[.5])],
                   [encode(t=[b'yz']), encode(a=[1, 2, 3], f=[1.5, 2.5], t=[b'w'])]], object)
