"""tf.feature_column: how columns of data become what a model multiplies."""
