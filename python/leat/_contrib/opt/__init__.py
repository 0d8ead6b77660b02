"""tf.contrib.opt: further optimizers, and optimizers around others."""
