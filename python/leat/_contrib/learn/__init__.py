"""tf.contrib.learn: the first estimators, and what belonged to them."""
