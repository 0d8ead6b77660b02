"""tf.contrib.layers: layers as functions, whose arguments arg_scope can set."""
