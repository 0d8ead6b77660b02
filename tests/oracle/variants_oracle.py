"""Values in variants that cross from task to task: lists, maps, ragged tensors and optionals.

Each is made on the parameter server, read on the worker and made anew there for the parameter
server, in clusters of Leat alone, TensorFlow alone and both mixtures; what is read must be what
NumPy says. Then the bytes in which either writes such values (SerializeTensor) are compared."""
import os
import sys

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0')

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

from cluster import Cluster  # noqa: E402
from outcome import report  # noqa: E402

tf.disable_eager_execution()
raw = tf.raw_ops
PS, WORKER = '/job:ps/task:0', '/job:worker/task:0'
CLUSTERS = {'all TensorFlow': {'ps': 'T', 'worker': 'T'},
            'all Leat': {'ps': 'L', 'worker': 'L'},
            'Leat master': {'ps': 'T', 'worker': 'L'},
            'TensorFlow master': {'ps': 'L', 'worker': 'T'}}
ROWS = np.arange(6, dtype='f4').reshape(3, 2)


# ---- kinds ---------------------------------------------------------------------------------------
# Each makes a value of the tensor |x| [3, 2]; the other reads it into a tensor, whose value for
# ROWS is the third.
def make_list(x):
  return raw.TensorListFromTensor(tensor=x, element_shape=tf.constant([2]))


def stack(value):
  return raw.TensorListStack(input_handle=value, element_shape=tf.constant([2]),
                             element_dtype=tf.float32, num_elements=-1)


def make_list_with_gaps(x):
  """Elements 0 and 3 have no tensor."""
  value = raw.TensorListReserve(element_shape=tf.constant([-1]), num_elements=4,
                                element_dtype=tf.float32)
  for i in (1, 2):
    value = raw.TensorListSetItem(input_handle=value, index=i, item=x[i])
  return value


def make_list_of_strings(x):
  return raw.TensorListFromTensor(tensor=tf.as_string(x), element_shape=tf.constant([2]))


def stack_strings(value):
  texts = raw.TensorListStack(input_handle=value, element_shape=tf.constant([2]),
                              element_dtype=tf.string, num_elements=-1)
  return tf.strings.to_number(texts)


def make_list_of_lists(x):
  value = raw.EmptyTensorList(element_shape=tf.constant([], tf.int32), max_num_elements=-1,
                              element_dtype=tf.variant)
  return raw.TensorListPushBack(input_handle=value, tensor=make_list(x))


def stack_inner(value):
  return stack(raw.TensorListPopBack(input_handle=value, element_shape=tf.constant([], tf.int32),
                                     element_dtype=tf.variant)[1])


def make_lists(x):
  """A vector of two lists."""
  return tf.raw_ops.TensorListPushBackBatch(
      input_handles=tf.stack([make_empty(), make_empty()]), tensor=x[:2])


def make_empty():
  return raw.EmptyTensorList(element_shape=tf.constant([2]), max_num_elements=9,
                             element_dtype=tf.float32)


def stack_second(value):
  return stack(value[1])


def make_map(x):
  value = raw.TensorMapInsert(input_handle=raw.EmptyTensorMap(), key=tf.constant('x'), value=x)
  return raw.TensorMapInsert(input_handle=value, key=tf.constant('y'), value=-x)


def look_up(value):
  return raw.TensorMapLookup(input_handle=value, key=tf.constant('y'), value_dtype=tf.float32)


def make_ragged(x):
  return raw.RaggedTensorToVariant(rt_nested_splits=[tf.constant([0, 2, 2, 3], tf.int64)],
                                   rt_dense_values=x, batched_input=True)


def join_ragged(value):
  joined = raw.RaggedTensorFromVariant(encoded_ragged=value, input_ragged_rank=0,
                                       output_ragged_rank=1, Tvalues=tf.float32)
  splits = tf.reshape(tf.cast(joined.output_nested_splits[0], tf.float32), [2, 2])
  return tf.concat([splits, joined.output_dense_values], 0)


def make_optional(x):
  return raw.OptionalFromValue(components=[x, tf.shape(x)])


def take_value(value):
  got = raw.OptionalGetValue(optional=value, output_types=[tf.float32, tf.int32],
                             output_shapes=[[3, 2], [2]])
  return got[0] * tf.cast(got[1][0], tf.float32)


def make_none(x):
  with tf.control_dependencies([x]):
    return raw.OptionalNone()


def has_value(value):
  return tf.cast(raw.OptionalHasValue(optional=value), tf.float32)


KINDS = {
    'list': (make_list, stack, ROWS),
    'list with gaps': (make_list_with_gaps, stack,
                       np.concatenate([0 * ROWS[:1], ROWS[1:], 0 * ROWS[:1]])),
    'list of strings': (make_list_of_strings, stack_strings, ROWS),
    'list of lists': (make_list_of_lists, stack_inner, ROWS),
    'vector of lists': (make_lists, stack_second, ROWS[1:2]),
    'map': (make_map, look_up, -ROWS),
    'ragged tensor': (make_ragged, join_ragged, np.concatenate([[[0, 2], [2, 3]], ROWS])),
    'optional': (make_optional, take_value, 3 * ROWS),
    'none': (make_none, has_value, np.float32(0)),
}


# ---- from task to task ---------------------------------------------------------------------------
def cross(cluster, kind):
  """From the parameter server to the worker, and from there back."""
  make, read, want = KINDS[kind]
  graph = tf.Graph()
  with graph.as_default():
    x = tf.placeholder(tf.float32, [3, 2])
    with tf.device(PS):
      value = make(x)
    with tf.device(WORKER):
      there = read(value)
      value = make(x + 0)
    with tf.device(PS):
      back = read(value)
    with cluster.session('worker/0', graph) as session:
      results = session.run([there, back], {x: ROWS})
  for way, got in zip(('to the worker', 'to the ps'), results):
    if got.shape != want.shape or not np.array_equal(got, want):
      return '%s came %s, not %s' % (way, got.tolist(), want.tolist())
  return ''


def read_across(kind, clusters):
  """Bytes that one writes, the other reads."""
  make, read, want = KINDS[kind]
  for writer, reader in (('all Leat', 'all TensorFlow'), ('all TensorFlow', 'all Leat')):
    graph = tf.Graph()
    with graph.as_default(), tf.device(WORKER):
      x, data = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.string, [])
      written = raw.SerializeTensor(tensor=make(x))
      got = read(raw.ParseTensor(serialized=data, out_type=tf.variant))
    with clusters[writer].session('worker/0', graph) as session:
      content = session.run(written, {x: ROWS})
    with clusters[reader].session('worker/0', graph) as session:
      got = session.run(got, {data: content})
    if got.shape != want.shape or not np.array_equal(got, want):
      return 'what %s wrote is %s for %s' % (writer, got.tolist(), reader)
  return ''


def main():
  clusters = {name: Cluster(players) for name, players in CLUSTERS.items()}
  for cluster in clusters.values():
    cluster.start('T')
  for cluster in clusters.values():
    cluster.start()
  for name, cluster in clusters.items():
    for kind in KINDS:
      report('variants %s, %s' % (name, kind), lambda: cross(cluster, kind))
  for kind in KINDS:
    report('variants in bytes, %s' % kind, lambda: read_across(kind, clusters))
  for cluster in clusters.values():
    cluster.stop()
  sys.stdout.flush()
  os._exit(0)  # TensorFlow's channels to dead servers would be waited for


if __name__ == '__main__':
  main()
