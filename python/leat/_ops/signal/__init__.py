"""tf.signal: Fourier transforms, windows, frames, spectra."""
