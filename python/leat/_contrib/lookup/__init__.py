"""tf.contrib.lookup: tables as tf.lookup has them, and tables of ids from files and tensors."""
