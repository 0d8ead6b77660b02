"""tf.distribute: strategies for one device, and descriptions of clusters."""
