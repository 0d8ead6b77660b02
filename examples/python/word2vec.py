"""Word vectors: the skip-gram model with noise contrastive estimation (Mikolov et al., 2013).

Each word is given a vector from which its neighbours in the text can be guessed. Guessing among
all words would be slow: the model learns instead to tell the neighbour from words drawn at random
(tf.nn.nce_loss). Very frequent words are left out of the text now and then, since they say little
about their neighbours.

The vectors are measured by analogies: a is to b as c is to which word? The answer is the word
nearest to b - a + c that is none of the three.

  python word2vec.py --train_dir /tmp/word2vec

Text and questions are those of Mikolov's program: text8 and questions-words.txt. A run continues
after the last epoch that was saved in --train_dir, where the summaries are too.
"""
import os
import time

import leat as tf
import numpy as np

import data_files

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-word2vec', 'folder of checkpoints and summaries')
flags.DEFINE_integer('epochs', 15, 'epochs in all')
flags.DEFINE_integer('size', 200, 'of a vector')
flags.DEFINE_integer('window', 5, 'the farthest neighbour that is guessed')
flags.DEFINE_integer('batch_size', 500, 'pairs of a step')
flags.DEFINE_integer('noise', 100, 'words drawn at random in a step')
flags.DEFINE_integer('min_count', 5, 'words that are rarer are left out of the text')
flags.DEFINE_float('subsample', 1e-3, 'words more frequent than this are left out at times')
flags.DEFINE_float('learning_rate', 0.1, 'of the first step; it falls to zero in a straight line')
flags.DEFINE_integer('threads', 0, 'threads that compute; 0: as many as there are cores')
flags.DEFINE_bool('smoke', False, 'a trial of some seconds with a small model')
FLAGS = flags.FLAGS


def vocabulary_of(words):
  """(words by frequency, how often each occurs) of those that are not too rare."""
  different, counts = np.unique(words, return_counts=True)
  order = [i for i in np.argsort(-counts, kind='stable') if counts[i] >= FLAGS.min_count]
  return different[order].tolist(), counts[order]


def subsampled(ids, counts, random):
  """The text without some of its frequent words: of a word that is a share f of the text, the share
  sqrt(s / f) stays, where s is --subsample."""
  frequency = counts / counts.sum()
  keep = np.sqrt(FLAGS.subsample / frequency)
  return ids[random.random_sample(len(ids)) < keep[ids]]


def pairs_of(ids, random):
  """(words, neighbours): for each word those within a distance that is drawn anew for each."""
  reach = random.randint(1, FLAGS.window + 1, len(ids))
  words, neighbours = [], []
  for distance in range(1, FLAGS.window + 1):
    left, right = ids[:-distance], ids[distance:]
    forward, backward = reach[:-distance] >= distance, reach[distance:] >= distance
    words += [left[forward], right[backward]]
    neighbours += [right[forward], left[backward]]
  words, neighbours = np.concatenate(words), np.concatenate(neighbours)
  order = random.permutation(len(words))
  return words[order], neighbours[order]


class Model:
  """The graph of the training. |counts| says how often each word occurs.

  Attributes:
    words, neighbours: placeholders, int32 [batch].
    loss: the mean of a pair; train_op, summaries: of a step.
  """

  def __init__(self, counts, steps):
    vocabulary_size = len(counts)
    self.words = tf.placeholder(tf.int32, [None], name='words')
    self.neighbours = tf.placeholder(tf.int32, [None], name='neighbours')
    with tf.name_scope('embedding'):
      self.embeddings = tf.Variable(
          tf.random_uniform([vocabulary_size, FLAGS.size], -0.5 / FLAGS.size, 0.5 / FLAGS.size),
          name='vectors')
      vectors = tf.nn.embedding_lookup(self.embeddings, self.words)
    with tf.name_scope('nce'):
      weights = tf.Variable(tf.zeros([vocabulary_size, FLAGS.size]), name='weights')
      # A word's bias begins as the logarithm of its frequency. So the model guesses words by their
      # frequency at first, and what it learns from the neighbours goes into the vectors.
      biases = tf.Variable(tf.log(tf.constant(counts / counts.sum(), tf.float32)), name='biases')
      losses = tf.nn.nce_loss(weights, biases, labels=self.neighbours[:, None], inputs=vectors,
                              num_sampled=FLAGS.noise, num_classes=vocabulary_size)
      self.loss = tf.reduce_mean(losses)
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(FLAGS.learning_rate, global_step, steps, 0.0)
    # The sum of the losses is minimized: a pair moves the vectors as far whatever the batch is.
    self.train_op = tf.train.AdagradOptimizer(rate).minimize(tf.reduce_sum(losses), global_step)
    tf.summary.scalar('loss', self.loss)
    tf.summary.scalar('learning_rate', rate)
    self.summaries = tf.summary.merge_all()


class Analogies:
  """The graph that answers questions, and the questions whose words are all known."""

  def __init__(self, embeddings, vocabulary):
    ids = {word: i for i, word in enumerate(vocabulary)}
    self.questions = np.array([[ids[word] for word in question]
                               for question in data_files.analogies()
                               if all(word in ids for word in question)], np.int32).reshape(-1, 4)
    with tf.name_scope('analogies'):
      self.asked = tf.placeholder(tf.int32, [None, 3])
      unit = tf.nn.l2_normalize(embeddings, 1)
      a, b, c = [tf.gather(unit, self.asked[:, i]) for i in range(3)]
      nearness = tf.matmul(b - a + c, unit, transpose_b=True)
      _, self.nearest = tf.nn.top_k(nearness, 4)    # a, b and c are often among the nearest

  def accuracy(self, session):
    """The share of the questions that are answered rightly; 0 without questions."""
    right = 0
    for start in range(0, len(self.questions), 500):
      part = self.questions[start:start + 500]
      nearest = session.run(self.nearest, {self.asked: part[:, :3]})
      for question, answers in zip(part, nearest):
        answer = next(word for word in answers if word not in question[:3])
        right += answer == question[3]
    return right / max(len(self.questions), 1)


def main(_):
  if FLAGS.smoke:
    FLAGS.epochs, FLAGS.size = 2, 16
  words = data_files.text8(FLAGS.smoke)
  vocabulary, counts = vocabulary_of(words)
  ids = {word: i for i, word in enumerate(vocabulary)}
  text = np.array([ids[word] for word in words if word in ids], np.int32)
  random = np.random.RandomState(1)
  pairs = len(pairs_of(subsampled(text, counts, random), random)[0])    # of an epoch, nearly
  print('%d words, %d different; about %d pairs an epoch' % (len(text), len(vocabulary), pairs))

  model = Model(counts, FLAGS.epochs * pairs // FLAGS.batch_size)
  analogies = Analogies(model.embeddings, vocabulary)
  epoch_done = tf.Variable(0, trainable=False, name='epoch_done')
  next_epoch = tf.assign_add(epoch_done, 1)
  global_step = tf.train.get_global_step()
  saver = tf.train.Saver()
  prefix = os.path.join(FLAGS.train_dir, 'model')
  settings = tf.ConfigProto(intra_op_parallelism_threads=FLAGS.threads,
                            inter_op_parallelism_threads=FLAGS.threads)

  with tf.Session(config=settings) as session:
    checkpoint = tf.train.latest_checkpoint(FLAGS.train_dir)
    if checkpoint:
      saver.restore(session, checkpoint)
    else:
      session.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(FLAGS.train_dir, session.graph)
    begun = time.time()
    for epoch in range(session.run(epoch_done), FLAGS.epochs):
      inputs, outputs = pairs_of(subsampled(text, counts, random), random)
      losses = []
      for i in range(0, len(inputs), FLAGS.batch_size):
        feed_dict = {model.words: inputs[i:i + FLAGS.batch_size],
                     model.neighbours: outputs[i:i + FLAGS.batch_size]}
        losses.append(session.run([model.loss, model.train_op], feed_dict)[0])
      step, accuracy = session.run(global_step), analogies.accuracy(session)
      writer.add_summary(session.run(model.summaries, feed_dict), step)
      writer.add_summary(tf.Summary(value=[
          tf.Summary.Value(tag='analogies', simple_value=accuracy)]), step)
      session.run(next_epoch)
      saver.save(session, prefix, global_step=global_step)
      print('epoch %d: loss %.3f, %.1f %% of %d analogies right, %.0f s' % (
          epoch + 1, np.mean(losses), 100 * accuracy, len(analogies.questions),
          time.time() - begun), flush=True)
    writer.close()


if __name__ == '__main__':
  tf.app.run()
