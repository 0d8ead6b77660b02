"""The network of the MNIST tutorial (`tensorflow.examples.tutorials.mnist.mnist`): two hidden
layers of rectified units and a linear one, trained by gradient descent."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.dtype import int32
from leat._graph.scope import name_scope
from leat._ops import array, embedding, losses, math, matrix, random, variables
from leat._train import optimizers, summary

EXPORTS = {'examples.tutorials.mnist.mnist.NUM_CLASSES': 'NUM_CLASSES',
           'examples.tutorials.mnist.mnist.IMAGE_SIZE': 'IMAGE_SIZE',
           'examples.tutorials.mnist.mnist.IMAGE_PIXELS': 'IMAGE_PIXELS'}
NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _layer(name, inputs, inputs_size, size, is_linear=False):
  with name_scope(name):
    weights = variables.Variable(
        random.truncated_normal([inputs_size, size], stddev=inputs_size ** -0.5), name='weights')
    biases = variables.Variable(array.zeros([size]), name='biases')
    outputs = matrix.matmul(inputs, weights) + biases
    return outputs if is_linear else apply_op('Relu', features=outputs)


@export('examples.tutorials.mnist.mnist.inference')
def inference(images, hidden1_units, hidden2_units):
  """The logits [batch, 10] of images [batch, 784]."""
  hidden1 = _layer('hidden1', images, IMAGE_PIXELS, hidden1_units)
  hidden2 = _layer('hidden2', hidden1, hidden1_units, hidden2_units)
  return _layer('softmax_linear', hidden2, hidden2_units, NUM_CLASSES, is_linear=True)


@export('examples.tutorials.mnist.mnist.loss')
def loss(logits, labels):
  """The mean cross entropy of the labels [batch], numbers below 10."""
  return losses.sparse_softmax_cross_entropy(labels=math.cast(labels, 'int64'), logits=logits)


@export('examples.tutorials.mnist.mnist.training')
def training(loss, learning_rate):
  """The operation of a step of training, which counts in a variable `global_step`."""
  summary.scalar('loss', loss)
  step = variables.Variable(0, name='global_step', trainable=False)
  return optimizers.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=step)


@export('examples.tutorials.mnist.mnist.evaluation')
def evaluation(logits, labels):
  """How many of the batch have the right label, as int32."""
  return math.reduce_sum(math.cast(embedding.in_top_k(logits, labels, 1), int32))
