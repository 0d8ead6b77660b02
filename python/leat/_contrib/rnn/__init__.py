"""tf.contrib.rnn: more cells of recurrent networks, wrappers of cells, and stacks in both
directions."""
