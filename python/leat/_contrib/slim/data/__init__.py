"""tf.contrib.slim.data: what reads examples from files, decodes them and gives them to a
program."""
