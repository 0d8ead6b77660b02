"""tf.contrib.training: hyperparameters, queues that sample, bucket or keep state, loops that train
and evaluate."""
