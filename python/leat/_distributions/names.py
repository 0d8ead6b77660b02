"""tf.contrib.distributions has what tf.distributions has."""
from __future__ import annotations

ALIASES = {'contrib.distributions.*': 'distributions.*'}
