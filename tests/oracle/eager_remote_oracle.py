"""Eager ops on other tasks, where the client or the tasks run TensorFlow.

In the first part Leat's context is the task "client" of a cluster whose two workers are servers of
TensorFlow, of Leat, or one of each. In the second one TensorFlow's client drives servers of Leat
and of TensorFlow, by streams and by single calls; it does the same work with servers of its own,
and the answers must be equal. eager_stream_oracle.py has more of the streams.
"""
import ctypes
import json
import os
import subprocess
import sys

import numpy as np
import tensorflow.compat.v1 as tf

from capi import Library
from cluster import Cluster
from outcome import report

P = ctypes.c_void_p
FLOAT, INT32, RESOURCE = 1, 3, 20
CLIENT = '/job:client/replica:0/task:0/device:CPU:0'


class Eager:
  """Leat's eager context as the client of a cluster."""

  def __init__(self, cluster):
    self.leat = Library()
    self.context = self.call('TFE_NewContext', P(self.call('TFE_NewContextOptions', None)))
    jobs = tf.train.ClusterSpec(cluster.jobs).as_cluster_def()
    self.server_def = tf.train.ServerDef(cluster=jobs, job_name='client', protocol='grpc')

  def call(self, name, *arguments):
    """Calls a function whose last argument is a status; |arguments| that end with None lack it."""
    function = getattr(self.leat.handle, name)
    function.restype = P
    if arguments and arguments[-1] is None:
      return function(*arguments[:-1])
    result = function(*arguments, P(self.leat.status))
    self.leat.check()
    return result

  def join(self):
    data = self.server_def.SerializeToString()
    self.call('TFE_ContextSetServerDef', P(self.context), 60, data, ctypes.c_size_t(len(data)))

  def close(self):
    self.call('TFE_DeleteContext', P(self.context), None)

  def devices(self):
    devices = P(self.call('TFE_ContextListDevices', P(self.context)))
    count = self.leat.handle.TF_DeviceListCount(devices)
    return [ctypes.string_at(self.call('TF_DeviceListName', devices, i)).decode()
            for i in range(count)]

  def handle(self, array):
    return self.call('TFE_NewTensorHandle', P(self.leat.tensor(array)))

  def run(self, name, inputs=(), device='', outputs=1, lists=(), **attrs):
    """|lists| are the inputs of a list behind the others."""
    op = P(self.call('TFE_NewOp', P(self.context), name.encode()))
    self.call('TFE_OpSetDevice', op, device.encode())
    for key, value in attrs.items():
      if key.startswith('type_'):
        self.call('TFE_OpSetAttrType', op, key[5:].encode(), value, None)
      elif key.startswith('types_'):
        types = (ctypes.c_int * len(value))(*value)
        self.call('TFE_OpSetAttrTypeList', op, key[6:].encode(), types, len(value), None)
      elif key.startswith('shape_'):
        dims = (ctypes.c_int64 * max(len(value), 1))(*value)
        self.call('TFE_OpSetAttrShape', op, key[6:].encode(), dims, len(value))
      else:
        self.call('TFE_OpSetAttrString', op, key.encode(), value, ctypes.c_size_t(len(value)), None)
    for x in inputs:
      self.call('TFE_OpAddInput', op, P(x))
    if lists:
      self.call('TFE_OpAddInputList', op, (P * len(lists))(*lists), len(lists))
    results, count = (P * max(outputs, 1))(), ctypes.c_int(outputs)
    try:
      self.call('TFE_Execute', op, results, ctypes.byref(count))
    finally:
      self.call('TFE_DeleteOp', op, None)
    values = [results[i] for i in range(count.value)]
    return values[0] if outputs == 1 else values

  def value(self, handle):
    return self.leat.array(self.call('TFE_TensorHandleResolve', P(handle)))

  def device_of(self, handle):
    return ctypes.string_at(self.call('TFE_TensorHandleDeviceName', P(handle))).decode()

  def shape_of(self, handle):
    rank = self.leat.handle.TFE_TensorHandleNumDims(P(handle), P(self.leat.status))
    dim = self.leat.handle.TFE_TensorHandleDim
    dim.restype = ctypes.c_int64
    return [dim(P(handle), i, P(self.leat.status)) for i in range(rank)]

  def add_function(self, function):
    data = function.SerializeToString()
    self.call('TFE_ContextAddFunctionDef', P(self.context), data, ctypes.c_size_t(len(data)))


def function_def(name, body):
  """A function of one float that TensorFlow traces."""
  graph = tf.Graph()
  with graph.as_default():
    function = tf.function(body, input_signature=[tf.TensorSpec([2], tf.float32)])
    made = function.get_concrete_function().function_def
  copy = type(made)()
  copy.CopyFrom(made)
  copy.signature.name = name
  return copy


# ---- Leat's client ------------------------------------------------------------------------------

def leat_client(cluster):
  eager = Eager(cluster)
  workers = ['/job:worker/replica:0/task:%d/device:CPU:0' % i for i in range(2)]
  try:
    eager.add_function(function_def('before', lambda x: x * 2.0))
    eager.join()
    names = eager.devices()
    assert names == [CLIENT] + workers, names
    eager.add_function(function_def('after', lambda x: tf.nn.relu(x) - 1.0))
    x = np.array([1.5, -2.0], 'f4')
    for i, device in enumerate(workers):
      other = workers[1 - i]
      here = eager.handle(x)
      y = eager.run('Neg', [here], device)
      assert eager.device_of(y) == device and eager.shape_of(y) == [2]
      np.testing.assert_array_equal(eager.value(y), -x)
      z = eager.run('AddV2', [y, here], other)
      assert eager.device_of(z) == other
      np.testing.assert_array_equal(eager.value(z), x * 0)
      w = eager.run('Mul', [z, y])
      assert eager.device_of(w) == CLIENT, eager.device_of(w)
      copied = eager.call('TFE_TensorHandleCopyToDevice', P(y), P(eager.context), other.encode())
      assert eager.device_of(copied) == other
      np.testing.assert_array_equal(eager.value(copied), -x)
      text = eager.run('AsString', [here], device)
      assert [float(t) for t in eager.value(text)] == x.tolist()
      variable = eager.run('VarHandleOp', [], device, type_dtype=FLOAT, shape_shape=[2],
                           shared_name=b'v')
      eager.run('AssignVariableOp', [variable, here], outputs=0, type_dtype=FLOAT)
      eager.run('AssignAddVariableOp', [variable, y], outputs=0, type_dtype=FLOAT)
      read = eager.run('ReadVariableOp', [variable], type_dtype=FLOAT)
      assert eager.device_of(read) == device
      np.testing.assert_array_equal(eager.value(read), x * 0)
      for name, expected in (('before', x * 2), ('after', np.maximum(x, 0) - 1)):
        np.testing.assert_array_equal(eager.value(eager.run(name, [here], device)),
                                      expected)
      long = eager.handle(np.zeros([3], 'f4'))
      try:
        eager.run('AddV2', [here, long], device)
        raise AssertionError('shapes that do not fit were added')
      except Exception as e:
        assert getattr(e, 'code', 0) == 3, e
      for handle in (y, z, w, copied, text, variable, read):
        eager.call('TFE_DeleteTensorHandle', P(handle), None)
    eager.close()
  finally:
    cluster.stop()


# ---- TensorFlow's client ------------------------------------------------------------------------

def tensorflow_client(workers):
  """The life of a process that drives |workers|: prints what came of each piece of work."""
  tf.enable_eager_execution()
  tf.config.experimental_connect_to_cluster(
      tf.train.ClusterSpec({'worker': workers}), job_name='client', protocol='grpc')
  print(json.dumps(['devices', [d.name for d in tf.config.list_logical_devices()]]))

  @tf.function
  def double(x):
    return x * 2.0

  def ops():
    with tf.device('/job:worker/task:0'):
      x = tf.constant([1.0, 2.0])
      y = -x
    with tf.device('/job:worker/task:1'):
      z = y + x * 3.0
    return [y.device, y.numpy().tolist(), z.device, z.numpy().tolist()]

  def function():
    with tf.device('/job:worker/task:1'):
      y = double(tf.constant([1.0, 2.0]))
    return [y.device, y.numpy().tolist()]

  def gradient():
    with tf.device('/job:worker/task:0'):
      v = tf.Variable(3.0)
      with tf.GradientTape() as tape:
        loss = v * v
      return float(tape.gradient(loss, v).numpy())

  def variables():
    with tf.device('/job:worker/task:0'):
      v, w = tf.Variable(1.0), tf.Variable(2.0)
      v.assign_add(w)
      return [float((v + 0.0).numpy()), float((w + 0.0).numpy())]

  def queue():
    with tf.device('/job:worker/task:1'):
      q = tf.queue.FIFOQueue(3, tf.float32)
      q.enqueue(2.0)
      return float(q.dequeue().numpy())

  def dataset():
    with tf.device('/job:worker/task:1'):
      return [int(x) for x in tf.data.Dataset.range(3)]

  def text():
    with tf.device('/job:worker/task:1'):
      return tf.strings.join(['a', 'b']).numpy().decode()

  def mistake():
    with tf.device('/job:worker/task:1'):
      try:
        tf.reshape(tf.constant([1.0, 2.0]), tf.constant([3])).numpy()
      except tf.errors.OpError as e:
        return e.error_code

  for work in (ops, function, gradient, variables, queue, dataset, text, mistake):
    print(json.dumps([work.__name__, work()]), flush=True)


def answers(cluster, streams):
  environment = {k: v for k, v in os.environ.items() if 'STREAMING_ENQUEUE' not in k}
  if not streams:
    environment['TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE'] = 'false'
  run = subprocess.run([sys.executable, __file__, *cluster.jobs['worker']], env=environment,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=400)
  found = dict(json.loads(line) for line in run.stdout.decode().splitlines())
  if run.returncode:
    raise RuntimeError('after %s: %s' % (list(found), run.stderr.decode()[-300:]))
  return found


def other_client(cluster, streams, expected):
  found = answers(cluster, streams)
  return '; '.join('%s: %s, must be %s' % (k, found.get(k), expected[k])
                   for k in expected if found.get(k) != expected[k])


def main():
  if len(sys.argv) > 1:
    return tensorflow_client(sys.argv[1:])
  clusters = {p: Cluster({'client': 'C', 'worker': p}) for p in ('TT', 'TL', 'LL')}
  servers = {p: Cluster({'worker': p}) for p in ('TT', 'TL', 'LL')}
  # Before anything is computed here, since TensorFlow's tasks are forked from this process.
  for cluster in [*clusters.values(), *servers.values()]:
    cluster.start('T')
  for players, cluster in clusters.items():
    cluster.start('LT')
    report('eager_remote_client_%s' % players, leat_client, cluster)
  expected = answers(servers['TT'], True)
  servers['TT'].stop()
  for players in ('TL', 'LL'):
    servers[players].start('LT')
    for streams in (True, False):
      report('eager_remote_servers_%s_%s' % (players, 'streams' if streams else 'calls'),
             other_client, servers[players], streams, expected)
    servers[players].stop()


if __name__ == '__main__':
  main()
