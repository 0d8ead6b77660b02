"""What bench/python.py measures, in one process with one package: python_rows.py leat|tensorflow

The process imports the package, and then measures rows as their names come in on the standard
input; for each it answers a line of JSON. The rows `import` and `first` are of a fresh process and
can be asked for once, before all others. The same code runs with both packages.
"""
import glob
import json
import os
import resource
import sys
import tempfile
import time

BATCH = 100
IMAGES = 32


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
    self.tf, self.numpy, self.steps, self.folders = tf, numpy, {}, []

  def measure(self, row, seconds):
    if row.startswith('build'):
      return getattr(self, row)()
    if row not in self.steps:
      with self.tf.Graph().as_default():
        self.steps[row] = getattr(self, row)(self.session())
    # What is prefetched is there at once, so only the mean of many batches says how long one takes.
    return {'us': (mean_us if row.startswith('images') else quickest_us)(self.steps[row], seconds)}

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

  def images(self, session):
    """A batch of pictures for a network as resnet50: records are read and parsed, their pictures
    decoded, scaled and resized."""
    tf = self.tf

    def read(image):
      pixels = tf.image.decode_jpeg(image, channels=3)
      return tf.image.resize_images(tf.image.convert_image_dtype(pixels, tf.float32), [224, 224])
    return self.pictures(session, read)

  def images_bytes(self, session):
    """The same with pixels of a byte, as programs have them that scale in the network."""
    tf = self.tf

    def read(image):
      pixels = tf.image.decode_jpeg(image, channels=3)
      return tf.cast(tf.image.resize_images(pixels, [224, 224]), tf.uint8)
    return self.pictures(session, read)

  def images_crop(self, session):
    """Pictures to train with: a random part of each is decoded, resized, and mirrored or not."""
    tf = self.tf

    def read(image):
      begin, size, _ = tf.image.sample_distorted_bounding_box(
          tf.image.extract_jpeg_shape(image), tf.constant([0.0, 0, 1, 1], shape=[1, 1, 4]), seed=7,
          aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1), max_attempts=10,
          use_image_if_no_bounding_boxes=True)
      window = tf.concat([begin[:2], size[:2]], 0)
      pixels = tf.image.decode_and_crop_jpeg(image, window, channels=3)
      pixels = tf.image.resize_images(tf.cast(pixels, tf.float32) / 255.0, [224, 224])
      return tf.image.random_flip_left_right(pixels, seed=7)
    return self.pictures(session, read)

  def images_png(self, session):
    """As `images`, with PNG files."""
    tf = self.tf

    def read(image):
      pixels = tf.image.decode_png(image, channels=3)
      return tf.image.resize_images(tf.image.convert_image_dtype(pixels, tf.float32), [224, 224])
    return self.pictures(session, read, tf.image.encode_png)

  def pictures(self, session, read, encode=None):
    """Steps that take a batch of the pictures which `read` makes of the files in the records."""
    tf = self.tf

    def parse(record):
      held = tf.parse_single_example(record, {'image': tf.FixedLenFeature([], tf.string)})
      return read(held['image'])

    path = self.write_images(session, encode)
    batch = tf.data.TFRecordDataset(path).map(parse).batch(IMAGES).repeat()
    pixels = batch.make_one_shot_iterator().get_next().op
    return lambda: session.run(pixels)

  def write_images(self, session, encode):
    """The path of a file with IMAGES records: photos of LEAT_DATA_DIR, or made ones; JPEG files, or
    what `encode` makes of them."""
    tf, numpy = self.tf, self.numpy
    folder = os.path.join(os.environ.get('LEAT_DATA_DIR', '/none'), 'images', 'flowers')
    names = sorted(glob.glob(os.path.join(folder, '*', '*.jpg')))[:IMAGES]
    images = []
    for name in names:
      with open(name, 'rb') as f:
        images.append(f.read())
    if len(images) < IMAGES:
      ramp = numpy.add.outer(numpy.arange(375), numpy.arange(500))[..., None] // [4, 5, 6]
      images = session.run([tf.image.encode_jpeg((ramp + i).astype(numpy.uint8), quality=90)
                            for i in range(IMAGES)])
    if encode:
      images = session.run([encode(tf.image.decode_jpeg(image, channels=3)) for image in images])
    folder = tempfile.TemporaryDirectory()
    self.folders.append(folder)  # they go with the process
    path = os.path.join(folder.name, 'images')
    with tf.python_io.TFRecordWriter(path) as writer:
      for image in images:
        held = tf.train.Feature(bytes_list=tf.train.BytesList(value=[image]))
        writer.write(tf.train.Example(features=tf.train.Features(
            feature={'image': held})).SerializeToString())
    return path

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


def mean_us(step, seconds):
  """The time of a call, as long as `seconds` and twenty calls take."""
  count, start = 0, time.perf_counter()
  while count < 20 or time.perf_counter() - start < seconds:
    step()
    count += 1
  return (time.perf_counter() - start) / count * 1e6


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
