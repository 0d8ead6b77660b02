"""Names of contrib.slim for functions of contrib.layers and other packages."""
from __future__ import annotations

ALIASES = {'contrib.slim.*': 'contrib.layers.*'}
