"""tf.contrib.image: images that are turned, moved and warped."""
