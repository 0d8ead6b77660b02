"""tf.distributions: random variables with samples, probabilities, moments and divergences."""
