"""What bench/python.py measures, in one process with one package: python_rows.py leat|tensorflow

The process imports the package, and then measures rows as their names come in on the standard
input; for each it answers a line of JSON. The rows `import` and `first` are of a fresh process and
can be asked for once, before all others. The same code runs with both packages.
"""
import json
import os
import resource
import sys
import time

BATCH = 100


def resident_kb():
  with open('/proc/self/statm') as f:
    return int(f.read().split()[1]) * resource.getpagesize() // 1024


def load(name):
  """-> the package, {field: value} of importing it"""
  before, start = resident_kb(), time.perf_counter()
  if name == 'leat':
    import leat as tf
    tf.Session  # what a program names first
  else:
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    tf.disable_resource_variables()
  return tf, {'ms': (time.perf_counter() - start) * 1e3, 'mb': (resident_kb() - before) / 1024}


def first_run(tf):
  """From the imported package to the first value. numpy is loaded before, as most programs do."""
  import numpy  # noqa: F401
  before, start = resident_kb(), time.perf_counter()
  with tf.Graph().as_default(), tf.Session() as session:
    session.run(tf.constant(1.0) + 2.0)
  return {'ms': (time.perf_counter() - start) * 1e3, 'mb': (resident_kb() - before) / 1024}


class Rows:
  """The steps of the rows; each is built when it is first asked for, in a graph of its own."""

  def __init__(self, tf):
    import numpy
    self.tf, self.numpy, self.steps = tf, numpy, {}

  def measure(self, row, seconds):
    if row.startswith('build'):
      return getattr(self, row)()
    if row not in self.steps:
      with self.tf.Graph().as_default():
        self.steps[row] = getattr(self, row)(self.session())
    return {'us': quickest_us(self.steps[row], seconds)}

  def session(self):
    tf = self.tf
    return tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1,
                                            inter_op_parallelism_threads=1))

  def constant(self, session):
    value = self.tf.constant(1.0)
    return lambda: session.run(value)

  def callable(self, session):
    return session.make_callable(self.tf.constant(1.0))

  def ten(self, session):
    tf, numpy = self.tf, self.numpy
    inputs = [tf.placeholder(tf.float32, []) for _ in range(10)]
    outputs = [x + 1.0 for x in inputs]
    feeds = {x: numpy.array(i, numpy.float32) for i, x in enumerate(inputs)}
    return lambda: session.run(outputs, feeds)

  def training(self, session, layers):
    """A step of gradient descent on a classifier of 784 pixels, fed with the next batch."""
    tf, numpy = self.tf, self.numpy
    random = numpy.random.RandomState(0)
    data = random.rand(60 * BATCH, 784).astype(numpy.float32)
    classes = numpy.eye(10, dtype=numpy.float32)[random.randint(0, 10, 60 * BATCH)]
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    hidden = x
    for i, size in enumerate(layers + [10]):
      inputs = int(hidden.shape[1])
      weights = tf.Variable(tf.truncated_normal([inputs, size], stddev=0.1, seed=i))
      hidden = tf.matmul(hidden, weights) + tf.Variable(tf.zeros([size]))
      hidden = tf.nn.relu(hidden) if i < len(layers) else hidden
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=hidden))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    position = 0

    def step():
      nonlocal position
      position = (position + BATCH) % len(data)
      feeds = {x: data[position:position + BATCH], y: classes[position:position + BATCH]}
      session.run([train, loss], feed_dict=feeds)
    return step

  def softmax(self, session):
    return self.training(session, [])

  def mlp(self, session):
    return self.training(session, [128, 32])

  # ---- Building --------------------------------------------------------------------------------

  def building(self, add):
    """The processor's time for what `add` adds to a new graph, by nodes and in sum."""
    with self.tf.Graph().as_default() as graph:
      before, start = resident_kb(), time.thread_time()
      add()
      seconds = time.thread_time() - start
      nodes = len(graph.get_operations())
      return {'us': seconds / nodes * 1e6, 'seconds': seconds, 'nodes': nodes,
              'kb': (resident_kb() - before) / nodes}

  def build_sums(self):
    def add():
      x = y = self.tf.placeholder(self.tf.float32, [3])
      for _ in range(3000):
        y = y + x
    return self.building(add)

  def build_inception(self):
    import inception_v3
    return self.building(lambda: inception_v3.build(self.tf))


def quickest_us(step, seconds):
  """The least time of a call over chunks of at least a millisecond."""
  count, least, end = 1, float('inf'), time.perf_counter() + seconds
  while True:
    start = time.perf_counter()
    for _ in range(count):
      step()
    now = time.perf_counter()
    if now - start < 1e-3:
      count *= 2
      continue
    least = min(least, (now - start) / count)
    if now > end:
      return least * 1e6


def main():
  tf, imported = load(sys.argv[1])
  rows = None
  for line in sys.stdin:
    row, seconds = line.split()
    if row == 'import':
      answer = imported
    elif row == 'first':
      answer = first_run(tf)
    else:
      rows = rows or Rows(tf)
      answer = rows.measure(row, float(seconds))
    print(json.dumps(answer), flush=True)


if __name__ == '__main__':
  sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
  main()
