"""tf.contrib.seq2seq: decoders, attention, and the helpers that choose the inputs of a decoder."""
