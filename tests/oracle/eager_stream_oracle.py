"""TensorFlow's eager client with its default, a stream of calls to each task (StreamingEnqueue).

A client is a process that works on two tasks: 10,000 ops whose order shows in what comes out, a
tensor far above the limit of messages that gRPC has by default, ops that fail among others, and the
death of a task, of the client in the middle of its ops, and of a client that waits for an op. The
answers must be equal where TensorFlow's servers play the tasks and where Leat's do.
"""
import json
import os
import signal
import subprocess
import sys
import time

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0')

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.eager import context  # noqa: E402

from cluster import Cluster  # noqa: E402
from outcome import report  # noqa: E402

# Guards against hangs: of a client, and of failures that are not forgotten.
SECONDS, FORGETTING_SECONDS = 240, 10


def on(task):
  return tf.device('/job:worker/task:%d' % task)


# ---- The client ----------------------------------------------------------------------------------

def order():
  """Ops that no data join: only the order of their arrival shows in the queue."""
  with on(1):
    queue = tf.queue.FIFOQueue(10000, tf.int32, shapes=[[]])
    for i in range(10000):
      queue.enqueue(i)
    found = queue.dequeue_many(10000).numpy().tolist()
    state = tf.Variable(1)
    for i in range(1000):
      state.assign(state * 31 + i)
    return [found == list(range(10000)), int((state + 0).numpy())]


def chain():
  """Values that go from task to task and to the client."""
  with on(0):
    x = tf.constant(0)
  for i in range(300):
    with on(i % 2):
      x = x * 3 + i
  return int(x.numpy())


def large():
  """64 MiB there, from task to task, and back."""
  values = np.arange(1 << 24, dtype='f4')
  with on(0):
    x = tf.identity(values) * 2.0
  with on(1):
    y = x + 1.0
  return bool((y.numpy() == values * 2 + 1).all())


def mistakes():
  """Ops that fail, some before anybody asked for a value. What was sent behind one of those, before
  its failure was known, fails too; the client forgets that when it is told to. No op has a number
  of Python as an input: the client keeps the tensors that it makes of such, and when one was sent
  behind an op that failed, all later ops with that number fail."""
  codes = set()
  with on(1):
    kept = tf.constant([1.0, 2.0]) * 2.0
    kept.numpy()
    for i in range(20):
      try:
        bad = tf.raw_ops.Reshape(tensor=kept, shape=tf.constant([3 + i]))
        codes.add(tf.negative(bad).numpy().tolist())
      except tf.errors.OpError as e:
        codes.add(e.error_code)
      value, begin = None, time.time()
      while not value and time.time() - begin < FORGETTING_SECONDS:
        try:
          value = tf.negative(kept).numpy().tolist()
        except tf.errors.OpError as e:
          codes.add(e.error_code)
          context.context().clear_executor_errors()
          time.sleep(.001)
  return [sorted(codes), value]


def death_of_a_task():
  """The parent kills task 1 when it has read the line."""
  with on(0):
    here = tf.constant([1.0]) * 2.0
  with on(1):
    there = tf.constant([1.0]) * 3.0
    there.numpy()
  print(json.dumps(['kill', 0]), flush=True)
  sys.stdin.readline()
  codes = []
  for _ in range(2):
    try:
      with on(1):
        (there + 1.0).numpy()
      codes.append(0)
    except tf.errors.OpError as e:
      codes.append(e.error_code)
  with on(0):
    return [codes, (here + 1.0).numpy().tolist()]


def endless():
  """Works until it is killed."""
  with on(1):
    x = tf.constant(0)
    print(json.dumps(['started', 0]), flush=True)
    while True:
      x = x + 1


def waiting():
  """Waits for an element of an empty queue until it is killed."""
  with on(1):
    queue = tf.queue.FIFOQueue(10, tf.int32, shapes=[[]], shared_name='shared')
    queue.size().numpy()
    print(json.dumps(['started', 0]), flush=True)
    queue.dequeue().numpy()


def after_waiting():
  """The element is still there for those who live."""
  with on(1):
    queue = tf.queue.FIFOQueue(10, tf.int32, shapes=[[]], shared_name='shared')
    queue.enqueue(7)
    return [int(queue.dequeue().numpy()), int(queue.size().numpy())]


WORKS = {w.__name__: w for w in (order, chain, large, mistakes, death_of_a_task, endless, waiting,
                                 after_waiting)}


def client(workers, works):
  tf.config.experimental_connect_to_cluster(
      tf.train.ClusterSpec({'worker': workers}), job_name='client', protocol='grpc')
  for work in works:
    print(json.dumps([work, WORKS[work]()]), flush=True)


# ---- The parent ----------------------------------------------------------------------------------

def start(cluster, *works):
  environment = {k: v for k, v in os.environ.items() if 'STREAMING_ENQUEUE' not in k}
  return subprocess.Popen([sys.executable, __file__, ','.join(cluster.jobs['worker']), *works],
                          env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def finish(process, text=None):
  out, err = process.communicate(text, timeout=SECONDS)
  if process.returncode:
    raise RuntimeError('after %s: %s' % (out.split('\n')[:-1], err[-600:]))
  return dict(json.loads(line) for line in out.splitlines())


def start_and_wait(cluster, work):
  process = start(cluster, work)
  line = process.stdout.readline()
  if not line:
    raise RuntimeError(process.communicate()[1][-600:])
  return process


def kill_client(cluster, work):
  process = start_and_wait(cluster, work)
  time.sleep(.5)
  process.send_signal(signal.SIGKILL)
  process.communicate()


def kill_task(cluster):
  process = start_and_wait(cluster, 'death_of_a_task')
  cluster.kill('worker/1')
  return finish(process, '\n')['death_of_a_task']


def work(cluster):
  """-> what came of everything, by name"""
  found = finish(start(cluster, 'order', 'chain', 'large', 'mistakes'))
  kill_client(cluster, 'endless')
  found['after_endless'] = finish(start(cluster, 'chain'))['chain']
  found['death_of_a_task'] = kill_task(cluster)
  return found


def release(cluster):
  """An op that waits ends with its client, so that it takes no element from those who live. That of
  a TensorFlow server goes on waiting, and takes the next one."""
  cluster.start()
  kill_client(cluster, 'waiting')
  found = finish(start(cluster, 'after_waiting'))['after_waiting']
  return '' if found == [7, 0] else 'it is %s, must be [7, 0]' % found


def compare(found, expected):
  return '' if found == expected else 'it is %s, must be %s' % (found, expected)


def main():
  if len(sys.argv) > 1:
    return client(sys.argv[1].split(','), sys.argv[2:])
  clusters = {p: Cluster({'worker': p}) for p in ('TT', 'LL')}
  clusters['TT'].start('T')
  clusters['LL'].start('L')
  try:
    expected, found = work(clusters['TT']), work(clusters['LL'])
    for name in expected:
      report('eager_stream_' + name, compare, found.get(name), expected[name])
    report('eager_stream_release', release, clusters['LL'])
  finally:
    for cluster in clusters.values():
      cluster.stop()


if __name__ == '__main__':
  main()
