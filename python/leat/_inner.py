"""Inner modules of TensorFlow, which programs import by their path though they are no API:
`from tensorflow.python.ops import array_ops`. Here each stands for one public namespace. A name is
looked up in it, and then among the names at the top; what a module has for itself alone
(`moving_averages.assign_moving_average`) is public under its whole path.

Modules of generated wrappers (`gen_nn_ops`) have those of all ops, by names like `max_pool_grad`.
Modules of messages (`graph_pb2`) have all messages and enumerators.
"""
_GENERATED, _MESSAGES = '(ops)', '(messages)'

# A line is 'package namespace: modules of the package'; the namespace '.' is the top.
_TABLE = '''
core (messages): example framework protobuf util
core.example (messages): example_pb2 feature_pb2
core.framework (messages): attr_value_pb2 config_pb2 cost_graph_pb2 device_attributes_pb2
core.framework (messages): function_pb2 graph_pb2 node_def_pb2 op_def_pb2 step_stats_pb2 summary_pb2
core.framework (messages): tensor_pb2 tensor_shape_pb2 tensor_slice_pb2 types_pb2 variable_pb2
core.framework (messages): versions_pb2
core.protobuf (messages): cluster_pb2 config_pb2 meta_graph_pb2 queue_runner_pb2 rewriter_config_pb2
core.protobuf (messages): saved_model_pb2 saver_pb2 tensorflow_server_pb2
core.util (messages): event_pb2
models .: rnn
models.rnn nn: rnn
models.rnn nn.rnn_cell: rnn_cell
models.rnn nn.seq2seq: seq2seq
python .: client data eager framework layers lib ops platform tools util
python estimator: estimator
python feature_column: feature_column
python saved_model: saved_model
python summary: summary
python train: pywrap_tensorflow training
python.client .: client session
python.client graph_util: graph_util
python.data data: ops
python.data data.experimental: experimental
python.data nest: util
python.data.experimental data.experimental: ops
python.data.experimental.ops data.experimental: batching cardinality counter enumerate_ops error_ops
python.data.experimental.ops data.experimental: get_single_element grouping interleave_ops
python.data.experimental.ops data.experimental: iterator_ops optimization parsing_ops
python.data.experimental.ops data.experimental: prefetching_ops random_ops readers resampling
python.data.experimental.ops data.experimental: scan_ops shuffle_ops unique writers
python.data.ops data: dataset_ops iterator_ops readers
python.data.util nest: nest
python.eager .: backprop context def_function function
python.estimator estimator: canned estimator estimator_lib exporter model_fn run_config training
python.estimator estimator.export: export
python.estimator estimator.inputs: inputs
python.estimator.canned estimator: baseline dnn dnn_linear_combined head linear
python.estimator.export estimator.export: export export_lib export_output
python.estimator.inputs estimator.inputs: inputs numpy_io pandas_io
python.feature_column feature_column: feature_column feature_column_lib
python.framework .: common_shapes constant_op device dtypes framework_lib function importer
python.framework .: load_library ops random_seed sparse_tensor tensor_shape tensor_spec versions
python.framework contrib.util: tensor_util
python.framework errors: errors errors_impl
python.framework graph_util: graph_util graph_util_impl
python.framework test: test_util
python.framework train: graph_io meta_graph
python.layers contrib.layers: utils
python.layers layers: base convolutional core layers normalization pooling
python.lib .: io
python.lib.io gfile: file_io
python.lib.io python_io: python_io tf_record
python.ops (ops): gen_array_ops gen_bitwise_ops gen_candidate_sampling_ops gen_checkpoint_ops
python.ops (ops): gen_control_flow_ops gen_ctc_ops gen_data_flow_ops gen_dataset_ops
python.ops (ops): gen_functional_ops gen_image_ops gen_io_ops gen_linalg_ops gen_list_ops
python.ops (ops): gen_logging_ops gen_lookup_ops gen_manip_ops gen_math_ops gen_nn_ops
python.ops (ops): gen_parsing_ops gen_random_ops gen_resource_variable_ops gen_script_ops
python.ops (ops): gen_sdca_ops gen_set_ops gen_sparse_ops gen_spectral_ops gen_state_ops
python.ops (ops): gen_stateless_random_ops gen_string_ops gen_summary_ops gen_user_ops
python.ops .: array_ops check_ops clip_ops confusion_matrix constant_op control_flow_ops
python.ops .: custom_gradient data_flow_ops functional_ops gradients gradients_impl histogram_ops
python.ops .: io_ops logging_ops map_fn numerics parsing_ops partitioned_variables random_ops
python.ops .: resource_variable_ops script_ops session_ops sort_ops sparse_ops standard_ops
python.ops .: state_ops stateless_random_ops template tensor_array_ops variable_scope variables
python.ops bitwise: bitwise_ops
python.ops contrib.lookup: lookup_ops
python.ops contrib.summary: summary_ops_v2
python.ops distributions: distributions
python.ops image: image_ops image_ops_impl
python.ops initializers: init_ops
python.ops linalg: linalg linalg_ops
python.ops losses: losses
python.ops manip: manip_ops
python.ops math: math_ops special_math_ops
python.ops metrics: metrics metrics_impl
python.ops nn: candidate_sampling_ops ctc_ops embedding_ops nn nn_impl nn_ops rnn
python.ops nn.rnn_cell: rnn_cell rnn_cell_impl
python.ops nn.seq2seq: seq2seq
python.ops ragged: ragged
python.ops sets: sets sets_impl
python.ops signal: signal
python.ops spectral: spectral_ops
python.ops strings: string_ops
python.ops summary: summary_ops
python.ops test: gradient_checker
python.ops.distributions distributions: bernoulli beta categorical dirichlet distribution
python.ops.distributions distributions: exponential gamma kullback_leibler laplace multinomial
python.ops.distributions distributions: normal student_t uniform
python.ops.linalg linalg: linalg linalg_impl linear_operator linear_operator_adjoint
python.ops.linalg linalg: linear_operator_block_diag linear_operator_circulant
python.ops.linalg linalg: linear_operator_composition linear_operator_diag
python.ops.linalg linalg: linear_operator_full_matrix linear_operator_identity
python.ops.linalg linalg: linear_operator_inversion linear_operator_kronecker
python.ops.linalg linalg: linear_operator_low_rank_update linear_operator_lower_triangular
python.ops.losses losses: losses losses_impl util
python.ops.ragged ragged: ragged_array_ops ragged_factory_ops ragged_functional_ops ragged_map_ops
python.ops.ragged ragged: ragged_math_ops ragged_string_ops ragged_tensor
python.ops.signal signal: dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops shape_ops signal
python.ops.signal signal: spectral_ops window_ops
python.platform .: resource_loader sysconfig
python.platform app: app
python.platform flags: flags
python.platform gfile: gfile
python.platform logging: tf_logging
python.platform test: googletest test
python.saved_model saved_model: saved_model simple_save
python.saved_model saved_model.builder: builder builder_impl
python.saved_model saved_model.constants: constants
python.saved_model saved_model.loader: loader loader_impl
python.saved_model saved_model.main_op: main_op main_op_impl
python.saved_model saved_model.signature_constants: signature_constants
python.saved_model saved_model.signature_def_utils: signature_def_utils signature_def_utils_impl
python.saved_model saved_model.tag_constants: tag_constants
python.saved_model saved_model.utils: utils utils_impl
python.summary summary: summary writer
python.summary train: summary_iterator
python.summary.writer summary: writer writer_cache
python.training (ops): gen_training_ops training_ops
python.training train: adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks
python.training train: checkpoint_management checkpoint_state_pb2 checkpoint_utils coordinator
python.training train: device_setter ftrl gradient_descent input learning_rate_decay momentum
python.training train: monitored_session moving_averages optimizer proximal_adagrad
python.training train: proximal_gradient_descent queue_runner queue_runner_impl rmsprop saver
python.training train: server_lib session_manager session_run_hook summary_io supervisor
python.training train: sync_replicas_optimizer training training_util warm_starting_util
python.util compat: compat
python.util contrib.framework: deprecation
python.util nest: nest
'''

# What a module calls otherwise than its namespace does: module, and 'its name=public name'.
_RENAMED = '''
data.experimental.ops.cardinality INFINITE=data.experimental.INFINITE_CARDINALITY
data.experimental.ops.cardinality UNKNOWN=data.experimental.UNKNOWN_CARDINALITY
framework.tensor_util ConstantValue=contrib.util.constant_value MakeNdarray=make_ndarray
framework.test_util TensorFlowTestCase=test.TestCase
layers.normalization batch_norm=layers.batch_normalization
lib.io.file_io FileIO=gfile.GFile copy=gfile.Copy create_dir=gfile.MkDir delete_file=gfile.Remove
lib.io.file_io delete_recursively=gfile.DeleteRecursively file_exists=gfile.Exists
lib.io.file_io get_matching_files=gfile.Glob is_directory=gfile.IsDirectory
lib.io.file_io list_directory=gfile.ListDirectory recursive_create_dir=gfile.MakeDirs
lib.io.file_io rename=gfile.Rename stat=gfile.Stat walk=gfile.Walk
ops.init_ops Constant=constant_initializer Identity=initializers.identity Ones=ones_initializer
ops.init_ops Orthogonal=orthogonal_initializer RandomNormal=random_normal_initializer
ops.init_ops RandomUniform=random_uniform_initializer TruncatedNormal=truncated_normal_initializer
ops.init_ops VarianceScaling=variance_scaling_initializer Zeros=zeros_initializer
ops.math_ops matvec=linalg.matvec
ops.rnn_cell_impl _RNNCell=nn.rnn_cell.RNNCell
ops.sparse_ops sparse_cross=sparse.cross sparse_cross_hashed=sparse.cross_hashed
ops.sparse_ops sparse_expand_dims=sparse.expand_dims sparse_eye=sparse.eye
ops.variables VariableV1=Variable
summary.writer.writer SummaryWriter=train.SummaryWriter
util.nest is_sequence=nest.is_nested
'''


def _read():
  spaces = {'python': '', 'core': _MESSAGES, 'models': ''}
  for line in _TABLE.split('\n'):
    place, _, modules = line.partition(':')
    for module in modules.split():
      package, space = place.split()
      spaces[package + '.' + module] = '' if space == '.' else space
  return spaces


def _read_renamed():
  renamed = {}
  for line in _RENAMED.split('\n'):
    module, *pairs = line.split() or ['']
    for pair in pairs:
      name, _, public = pair.partition('=')
      renamed['python.%s.%s' % (module, name)] = public
  return renamed


_spaces, _renamed = _read(), _read_renamed()


def public_name(path, name):
  """The public name of what the inner module at `path` calls `name`; None: its own."""
  return _renamed.get(path + '.' + name)


def space_of(path, public):
  """The namespace of the inner module, one of the set `public`; None where there is no such module.
  A module below contrib.X.python has the names of contrib.X, or of the namespace in it that has the
  module's name: contrib.slim.python.slim.nets.vgg is contrib.slim.nets.vgg."""
  parts = path.split('.')
  if parts[0] != 'contrib' or parts[2:3] != ['python']:
    return _spaces.get(path)
  rest = parts[4:] if parts[3:4] == parts[1:2] else parts[3:]
  ends = [rest[n:] for n in range(len(rest))]            # slim.data.dataset is slim.dataset
  beginnings = [rest[:n] for n in range(len(rest), -1, -1)]
  spaces = ['.'.join(parts[:2] + names) for names in ends + beginnings]
  return next((space for space in spaces if space in public), None)


def find(space, name):
  """The item of a module of wrappers or of messages. KeyError where there is none."""
  if space == _GENERATED:
    return _wrapper(name)
  if space == _MESSAGES:
    return _message(name)
  raise KeyError(name)


def _plain(name):
  return name.replace('_', '').lower()


_ops = {}


def _wrapper(name):
  from leat import raw_ops
  if not _ops:
    _ops.update((_plain(op), op) for op in dir(raw_ops))
  return raw_ops.wrapper(_ops[_plain(name)], name.strip('_'))


def _message(name):
  from leat._graph import message
  from leat._graph.wire import tables
  for enum, values in tables()['enums'].items():
    package, _, own = enum.rpartition('.')
    if package == 'tensorflow' and own == name:
      return message._Enum(enum, values)
    if package == 'tensorflow' and name in values:
      return values[name]
  return message.of(name)
