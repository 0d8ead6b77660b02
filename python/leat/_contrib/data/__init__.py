"""tf.contrib.data: tf.data.experimental by its older names, and further transformations."""
