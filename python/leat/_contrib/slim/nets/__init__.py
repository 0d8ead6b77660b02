"""tf.contrib.slim.nets: known networks as tables. The names of their variables are those of
TensorFlow's published checkpoints."""
