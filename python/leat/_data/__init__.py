"""tf.data: datasets, their elements, iterators over them."""
