"""A convolutional network for digits, for the type checkers."""
import numpy as np

import leat.compat.v1 as tf

images = tf.placeholder(np.float32, [None, 28, 28, 1], name='images')
labels = tf.placeholder('int64', [None])
training = tf.placeholder_with_default(False, [])
hidden = tf.layers.conv2d(images, 32, 5, padding='same', activation=tf.nn.relu, name='conv1')
hidden = tf.layers.max_pooling2d(hidden, 2, 2)
hidden = tf.layers.dropout(tf.layers.flatten(hidden), rate=0.5, training=training)
logits = tf.layers.dense(hidden, 10)
loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.01, step, 100, 0.95, staircase=True)
train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
saver = tf.train.Saver(max_to_keep=2)
tf.summary.scalar('loss', loss)
merged = tf.summary.merge_all()
with tf.Session() as sess, tf.device('/cpu:0'):
  sess.run(tf.global_variables_initializer())
  writer = tf.summary.FileWriter('/tmp/log', sess.graph)
  for n in range(100):
    feeds = {images: np.zeros((8, 28, 28, 1)), labels: np.zeros(8)}
    _, text = sess.run([train, merged], feed_dict=feeds)
    writer.add_summary(text, n)
  path = saver.save(sess, '/tmp/model', global_step=step)
  print(right.eval(feed_dict={images: np.zeros((1, 28, 28, 1)), labels: [1]}), path)
try:
  sess.run(loss)
except tf.errors.InvalidArgumentError as error:
  print(error.message, error.op)
