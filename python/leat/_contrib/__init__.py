"""tf.contrib: a folder for each of its packages; contrib.framework, on which the others are built,
is the files here. Nothing is loaded before a name of it is asked for."""
