"""tf.contrib.gan: networks that are trained against each other."""
