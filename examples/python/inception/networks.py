"""Inception's networks of tf.contrib.slim with all classifiers that they are trained with.

slim.nets has versions 1 to 3. The first two were published with classifiers in the middle, which
bring gradients to the lower layers, and slim has that of version 3 only; those of the others are
here. With it version 2, the one with batch normalization, has the 13.6 million parameters and 2
thousand million multiplications and additions of the network in section 6 of the white paper.
"""
import leat as tf

slim = tf.contrib.slim
inception = slim.nets.inception


def _auxiliary(net, classes, hidden, scope):
  """Logits [batch, classes] of a map in the middle of the network."""
  with tf.variable_scope(scope):
    size = [min(5, n) for n in net.get_shape().as_list()[1:3]]
    net = slim.avg_pool2d(net, size, stride=3, scope='AvgPool_0a')
    net = slim.conv2d(net, 128, [1, 1], scope='Conv2d_0b_1x1')
    net = slim.fully_connected(slim.flatten(net), hidden, scope='Hidden')
    return slim.fully_connected(net, classes, activation_fn=None, scope='Logits')


def v1(pictures, classes, training):
  logits, ends = inception.inception_v1(pictures, classes, training)
  return logits, [_auxiliary(ends[end], classes, 1024, 'InceptionV1/Aux_' + end)
                  for end in ('Mixed_4b', 'Mixed_4e')] if training else []


def v2(pictures, classes, training):
  logits, ends = inception.inception_v2(pictures, classes, training)
  return logits, [_auxiliary(ends['Mixed_4e'], classes, 768, 'InceptionV2/Aux')] if training else []


def v3(pictures, classes, training):
  logits, ends = inception.inception_v3(pictures, classes, training)
  return logits, [ends['AuxLogits']]


# name: (function, height of its pictures, the smallest height that it can take)
NETWORKS = {'v1': (v1, 224, 193), 'v2': (v2, 224, 96), 'v3': (v3, 299, 107)}

# How much of the moving means of batch normalization a step keeps. Slim's 0.9997 is for runs of
# many thousand steps: after some hundred the means would still be close to their initial values.
BATCH_NORM_DECAY = 0.95


def network(name, pictures, classes, training):
  """(logits [batch, classes], a list of logits of further classifiers, to be trained only)."""
  function, _, _ = NETWORKS[name]
  # The layers of the three versions have the same arguments; the scope of version 3 takes a decay.
  with slim.arg_scope(inception.inception_v3_arg_scope(batch_norm_decay=BATCH_NORM_DECAY)):
    return function(pictures, classes, training)
