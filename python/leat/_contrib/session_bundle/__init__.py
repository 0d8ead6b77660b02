"""tf.contrib.session_bundle: the format of exported models from before SavedModel."""
