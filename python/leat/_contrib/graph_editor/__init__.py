"""tf.contrib.graph_editor: parts of a graph found, copied and connected anew."""
