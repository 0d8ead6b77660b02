"""An estimator with a model of its own, for the type checkers."""
import numpy as np

import leat as tf
from leat.estimator import EstimatorSpec, ModeKeys


def model_fn(features, labels, mode, params):
  net = tf.feature_column.input_layer(features, params['columns'])
  with tf.variable_scope('top', reuse=tf.AUTO_REUSE):
    logits = tf.layers.dense(net, params['classes'], kernel_initializer=tf.zeros_initializer())
  if mode == ModeKeys.PREDICT:
    return EstimatorSpec(mode, predictions={'class': tf.argmax(logits, axis=1)})
  loss = tf.losses.softmax_cross_entropy(tf.one_hot(labels, params['classes']), logits)
  train_op = tf.train.AdamOptimizer(learning_rate=1e-3).minimize(
      loss, global_step=tf.train.get_global_step())
  return EstimatorSpec(mode=mode, loss=loss, train_op=train_op)


def main() -> None:
  columns = [tf.feature_column.numeric_column('x', shape=(4,)),
             tf.feature_column.embedding_column(
                 tf.feature_column.categorical_column_with_identity('c', 10), dimension=3)]
  estimator = tf.estimator.Estimator(model_fn, model_dir='/tmp/e',
                                     config=tf.estimator.RunConfig(tf_random_seed=1),
                                     params={'columns': columns, 'classes': 3})
  inputs = tf.estimator.inputs.numpy_input_fn({'x': np.zeros((8, 4))}, np.zeros(8),
                                              shuffle=False, num_epochs=None)
  estimator.train(inputs, steps=10)
  print(estimator.evaluate(inputs, steps=1)['loss'])


main()
