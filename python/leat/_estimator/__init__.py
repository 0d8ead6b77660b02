"""tf.estimator: models as functions, with loops that train, evaluate and predict, and what exports
them."""
