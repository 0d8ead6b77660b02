"""tf.contrib.metrics: values that are summed up over many steps, as tf.metrics has them, and
more."""
