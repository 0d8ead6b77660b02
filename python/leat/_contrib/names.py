"""Names of tf.contrib for functions that have a public name outside of it."""
from __future__ import annotations

ALIASES = {'contrib.framework.' + name: 'train.' + name for name in (
    'assert_global_step', 'create_global_step', 'get_global_step', 'get_or_create_global_step',
    'init_from_checkpoint', 'list_variables', 'load_checkpoint', 'load_variable')}
