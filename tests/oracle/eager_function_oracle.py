"""Functions of which parts run on several tasks, called by TensorFlow's eager client.

The client cuts a tf.function by its nodes' devices, registers the parts with their tasks and has
each run its own (RunComponentFunction); values go between parts by Send and Recv. Conditionals and
loops span tasks as well. The calls themselves have no device: a function that is called on a task
of Leat's runs there as a whole. The same work is done on two servers of TensorFlow, on one of each
kind, and on two of Leat's, and the answers must be equal.
"""
import json
import os
import signal
import subprocess
import sys

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0')

import tensorflow as tf  # noqa: E402

from cluster import Cluster  # noqa: E402
from outcome import report  # noqa: E402

SECONDS = 300  # a guard against hangs


def on(task):
  return tf.device('/job:worker/task:%d' % task)


def numbers(*values):
  return tf.constant(values, tf.float32)


# ---- The client ----------------------------------------------------------------------------------

@tf.function
def there_and_back(x):
  """Outputs of one call on both tasks and on the client."""
  with on(0):
    y = x * 2.0
  with on(1):
    z = y + 1.0
  with on(0):
    w = z * y
  return w, z, y, tf.identity(x)


def outputs():
  found = []
  for x in (numbers(1, 2), numbers(3, 4, 5)):
    found += [t.numpy().tolist() for t in there_and_back(x)]
  with on(1):  # an argument that is on a task, and outputs that stay there for the next op
    x = numbers(5) * 1.0
  y, z, *_ = there_and_back(x)
  with on(1):
    return found + [(y + z).numpy().tolist()]


def variables():
  """Their handles are arguments; the client reads them by a function too."""
  with on(0):
    v = tf.Variable(numbers(1, 2))
  with on(1):
    w = tf.Variable(numbers(3, 4))

  @tf.function
  def step():
    with on(0):
      v.assign_add(w * 2.0)
    with on(1):
      w.assign(w + v)
    return w.read_value()

  steps = [step().numpy().tolist() for _ in range(3)]
  return steps + [v.numpy().tolist(), w.numpy().tolist()]


def training():
  """Gradients of a function over two tasks, and updates on both."""
  with on(0):
    a = tf.Variable(0.5)
  with on(1):
    b = tf.Variable(-1.0)

  @tf.function
  def train(x, t):
    with tf.GradientTape() as tape:
      with on(0):
        h = x * a
      with on(1):
        loss = tf.reduce_mean(tf.square(h + b - t))
    for variable, gradient in zip([a, b], tape.gradient(loss, [a, b])):
      variable.assign_sub(0.1 * gradient)
    return loss

  losses = [float(train(numbers(1, 2, 3), numbers(3, 5, 7))) for _ in range(20)]
  return [round(x, 5) for x in losses + [float(a.numpy()), float(b.numpy())]]


def conditional():
  @tf.function
  def choose(x):
    with on(0):
      y = x * 2.0
    if tf.reduce_sum(y) > 4.0:
      with on(1):
        z = y + 1.0
    else:
      with on(0):
        z = y - 1.0
    return z
  return [choose(numbers(*x)).numpy().tolist() for x in ((1, 3), (1, 0), (4, 4))]


def loop():
  """A loop that passes through both tasks, and one whose only effect is on a variable."""
  with on(1):
    v = tf.Variable(0.0)

  @tf.function
  def run(x, n):
    for i in tf.range(n):
      with on(0):
        x = x * 2.0
      with on(1):
        x = x + tf.cast(i, tf.float32)
        v.assign_add(1.0)
    return x
  return [run(numbers(1, 3), n).numpy().tolist() for n in (0, 1, 7)] + [float(v.numpy())]


def mistake():
  """An op of one part fails, and the other parts and later calls do not hang."""
  @tf.function
  def pick(x, i):
    with on(0):
      y = tf.gather(x, i)
    with on(1):
      return y + 1.0
  found = []
  for i in (1, 9, 0, 9, 9, 1):
    try:
      found.append(float(pick(numbers(1, 2), i)))
    except tf.errors.OpError as e:
      found.append(e.error_code)
  return found


def text_and_integers():
  @tf.function
  def join(x, n):
    with on(0):
      y = tf.strings.join([x, x])
    with on(1):
      return tf.strings.join([y, '!']), tf.range(n)
  texts, count = join(tf.constant(['a', 'bc']), 3)
  return [t.decode() for t in texts.numpy()] + count.numpy().tolist()


def many():
  """300 calls, of which nothing may be left that others meet."""
  total = numbers(0)
  for i in range(300):
    total += there_and_back(numbers(i))[1]
  return total.numpy().tolist()


def dead_task():
  """The parent kills task 1, which a call waits for, when it has read the line."""
  with on(1):
    queue = tf.queue.FIFOQueue(1, tf.float32, shapes=[[]])

  @tf.function
  def wait():
    with on(1):
      x = queue.dequeue()
    with on(0):
      return x * 2.0
  queue.enqueue(1.0)
  found = [float(wait())]
  print(json.dumps(['kill', 0]), flush=True)
  try:
    found.append(float(wait()))
  except tf.errors.OpError as e:
    found.append(e.error_code)
  with on(0):
    return found + [float(numbers(3)[0] * 2.0)]


WORKS = {w.__name__: w for w in (outputs, variables, training, conditional, loop, mistake,
                                 text_and_integers, many, dead_task)}


def client(workers):
  tf.config.experimental_connect_to_cluster(
      tf.train.ClusterSpec({'worker': workers}), job_name='client', protocol='grpc')
  for name, work in WORKS.items():
    print(json.dumps([name, work()]), flush=True)


# ---- The parent ----------------------------------------------------------------------------------

def answers(cluster):
  process = subprocess.Popen([sys.executable, __file__, *cluster.jobs['worker']], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
  signal.alarm(SECONDS)
  found = {}
  for line in process.stdout:
    name, value = json.loads(line)
    found[name] = value
    if name == 'kill':
      cluster.kill('worker/1')
  error = process.communicate()[1]
  signal.alarm(0)
  if process.returncode:
    raise RuntimeError('after %s: %s' % (list(found), error[-600:]))
  return found


def compare(cluster, expected):
  found = answers(cluster)
  return '; '.join('%s: %s, must be %s' % (k, found.get(k), expected[k])
                   for k in expected if found.get(k) != expected[k])


def main():
  if len(sys.argv) > 1:
    return client(sys.argv[1:])
  clusters = {p: Cluster({'worker': p}) for p in ('TT', 'TL', 'LT', 'LL')}
  for cluster in clusters.values():
    cluster.start('T')
  try:
    expected = answers(clusters.pop('TT'))
    for players, cluster in clusters.items():
      cluster.start('LT')
      report('eager_function_%s' % players, compare, cluster, expected)
      cluster.stop()
  finally:
    for cluster in clusters.values():
      cluster.stop()


if __name__ == '__main__':
  main()
