"""The input of the CIFAR-10 example: readers, distortions and queues, all in the graph.

File names go through a queue to a reader, records through a second queue that shuffles, and
batches leave it. Threads of queue runners fill the queues while the model computes.

  file names -> string_input_producer -> FixedLengthRecordReader -> distort -> shuffle_batch

A step of a queue runner takes READ_AT_ONCE records: with a step for each there were a hundred
steps of these for one of the model (docs/tracing.md).
"""
import os
import sys

import leat as tf

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import data_files  # noqa: E402, the module beside this folder

SIZE = 32
PUBLISHED_SIZE = 24    # of the part of a picture that the tutorial's network sees
CLASSES = 10
READ_AT_ONCE = 16    # records that one step of a queue runner reads and distorts


def read_pictures(queue):
  """(pictures float32 [n, 32, 32, 3] from 0 to 255, labels int32 [n]) of the next records, of
  which there are READ_AT_ONCE but at the end of a file."""
  reader = tf.FixedLengthRecordReader(record_bytes=data_files.CIFAR10_RECORD)
  _, records = reader.read_up_to(queue, READ_AT_ONCE)
  records = tf.decode_raw(records, tf.uint8)
  labels = tf.cast(records[:, 0], tf.int32)
  planes = tf.reshape(records[:, 1:], [-1, 3, SIZE, SIZE])
  return tf.cast(tf.transpose(planes, [0, 2, 3, 1]), tf.float32), labels


def distort(picture):
  """The picture moved by up to 4 pixels, flipped or not, in another light, with a part cut out."""
  picture = tf.pad(picture, [[4, 4], [4, 4], [0, 0]], 'REFLECT')
  picture = tf.random_crop(picture, [SIZE, SIZE, 3])
  picture = tf.image.random_flip_left_right(picture)
  picture = tf.image.random_brightness(picture, max_delta=25)
  picture = tf.image.random_contrast(picture, lower=0.8, upper=1.25)
  return cut_out(tf.image.per_image_standardization(picture))


def distort_as_published(picture):
  """A part of 24 x 24 pixels, flipped or not, in quite another light."""
  picture = tf.random_crop(picture, [PUBLISHED_SIZE, PUBLISHED_SIZE, 3])
  picture = tf.image.random_flip_left_right(picture)
  picture = tf.image.random_brightness(picture, max_delta=63)
  picture = tf.image.random_contrast(picture, lower=0.2, upper=1.8)
  return tf.image.per_image_standardization(picture)


def cut_out(picture, size=8):
  """The picture with a square of zeros somewhere, in part outside at times."""
  row, column = tf.unstack(tf.random_uniform([2], 0, SIZE, tf.int32))
  distance = tf.maximum(tf.abs(tf.range(SIZE) - row)[:, None],
                        tf.abs(tf.range(SIZE) - column)[None, :])
  return picture * tf.cast(distance >= size // 2, tf.float32)[:, :, None]


def train_batch(batch_size, published=False, threads=2, smoke=False):
  """(pictures [batch, size, size, 3], labels [batch]): distorted and shuffled, for ever. They are
  distorted as for the tutorial's network where |published|."""
  queue = tf.train.string_input_producer(data_files.cifar10('train', smoke))
  examples = []
  for _ in range(threads):
    pictures, labels = read_pictures(queue)
    pictures = tf.map_fn(distort_as_published if published else distort, pictures)
    examples.append((pictures, labels))
  enough = 100 if smoke else 4000
  return tf.train.shuffle_batch_join(examples, batch_size, capacity=enough + 4 * batch_size,
                                     min_after_dequeue=enough, enqueue_many=True)


def test_batch(batch_size, published=False, smoke=False):
  """(pictures, labels) of the test set, once and in order; the last batch may be smaller."""
  queue = tf.train.string_input_producer(data_files.cifar10('test', smoke), num_epochs=1,
                                         shuffle=False)
  pictures, labels = read_pictures(queue)
  if published:
    pictures = tf.image.resize_image_with_crop_or_pad(pictures, PUBLISHED_SIZE, PUBLISHED_SIZE)
  return tf.train.batch([tf.map_fn(tf.image.per_image_standardization, pictures), labels],
                        batch_size, capacity=4 * batch_size, enqueue_many=True,
                        allow_smaller_final_batch=True)
