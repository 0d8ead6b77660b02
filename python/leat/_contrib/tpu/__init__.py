"""tf.contrib.tpu: what programs for TPUs use, where they run without one."""
