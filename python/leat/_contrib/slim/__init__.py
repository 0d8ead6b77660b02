"""tf.contrib.slim: training and evaluation of networks of contrib.layers, data, and known
networks."""
