"""Names of tf.contrib for functions that have a public name outside of it."""
from __future__ import annotations

ALIASES = {contrib + name: public + name for contrib, public, names in (
    ('contrib.framework.', 'train.',
     'assert_global_step create_global_step get_global_step get_or_create_global_step '
     'init_from_checkpoint list_variables load_checkpoint load_variable'),
    ('contrib.framework.', '',
     'argsort broadcast_to convert_to_tensor_or_sparse_tensor is_tensor sort'),
    ('contrib.slim.', 'contrib.framework.', 'assert_or_get_global_step global_variable '
     'local_variable zero_initializer'),
    ('contrib.learn.', 'contrib.learn.graph_actions.', 'evaluate infer run_feeds run_n train'),
    ('contrib.slim.', 'train.', 'assert_global_step create_global_step get_global_step '
     'get_or_create_global_step'),
) for name in names.split()}
