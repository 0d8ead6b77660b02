"""Training: optimizers, savers."""
