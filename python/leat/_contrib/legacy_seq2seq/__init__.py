"""tf.contrib.legacy_seq2seq: sequence to sequence models over lists of steps."""
