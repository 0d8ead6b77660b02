"""tf.contrib.losses: the losses before tf.losses, with predictions first, and metric learning."""
