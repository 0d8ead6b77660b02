"""Small packages of tf.contrib: names of functions that are elsewhere, sums over one device, and
statistics of memory."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import colocate_with, name_scope
from leat._ops import array, math, nn, random

ALIASES = {contrib + name: public + name for contrib, public, names in (
    ('contrib.stateless.', 'random.', 'stateless_uniform stateless_normal '
     'stateless_truncated_normal stateless_multinomial'),
    ('contrib.signal.', 'signal.',
     'stft inverse_stft inverse_stft_window_fn frame overlap_and_add hann_window hamming_window '
     'linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms'),
    ('contrib.stateless.stateless_random_', 'random.stateless_', 'uniform normal'),
    ('contrib.util.', '', 'make_tensor_proto make_ndarray'),
    ('contrib.checkpoint.', 'train.', 'CheckpointManager'),
    ('io.', '', 'PaddingFIFOQueue PriorityQueue RandomShuffleQueue QueueBase'),
    ('spectral.', 'signal.', 'dct idct'),
) for name in names.split()}


_minimum = lambda x, y: apply_op('Minimum', x=x, y=y)


# ---- contrib.nn ----------------------------------------------------------------------------------


@export('contrib.nn.alpha_dropout')
def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
  """Dropout for selu: what is dropped becomes the value to which selu saturates, and the result is
  scaled so that the mean and the variance of standard normal numbers stay."""
  with name_scope(name, 'alpha_dropout', [x]):
    x = convert(x, name='x')
    if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
      raise ValueError('keep_prob must be a scalar tensor or a float in the range (0, 1], got %g' %
                       keep_prob)
    if isinstance(keep_prob, (int, float)) and keep_prob == 1:
      return x
    keep = convert(keep_prob, x.dtype.base_dtype, 'keep_prob')
    shape = array.shape(x) if noise_shape is None else noise_shape
    kept = math.cast(random.random_uniform(shape, dtype=x.dtype.base_dtype, seed=seed) < keep,
                     x.dtype.base_dtype)
    alpha = -1.7580993408473766
    a = (keep + alpha ** 2 * keep * (1 - keep)) ** -0.5
    b = -a * alpha * (1 - keep)
    found = a * (x * kept + alpha * (1 - kept)) + b
    found.set_shape(x.get_shape())
    return found


@export('contrib.nn.scaled_softplus')
def scaled_softplus(x, alpha, clip=None, name=None):
  """alpha log(1 + exp(x / alpha)), at most `clip`."""
  with name_scope(name, 'scaled_softplus', [x, alpha]):
    x = convert(x, name='x')
    alpha = convert(alpha, x.dtype.base_dtype, 'alpha')
    y = alpha * math.softplus(x / alpha)
    return y if clip is None else _minimum(y, convert(clip, x.dtype.base_dtype))


@export('contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits')
def deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=-1, name=None):
  """softmax_cross_entropy_with_logits with the order of arguments before 1.0."""
  return nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


@export('contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits')
def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels, name=None):
  """sparse_softmax_cross_entropy_with_logits with the order of arguments before 1.0."""
  return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


@export('contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits')
def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets, name=None):
  """sigmoid_cross_entropy_with_logits with the order of arguments before 1.0."""
  return nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


# ---- contrib.nccl --------------------------------------------------------------------------------


def _reduced(combine, tensors):
  if not tensors:
    raise ValueError('Must pass >0 tensors to all reduce operations')
  total = tensors[0]
  for tensor in tensors[1:]:
    total = combine(total, tensor)
  found = []
  for tensor in tensors:
    with colocate_with(tensor.op):
      found.append(array.identity(total))
  return found


@export('contrib.nccl.all_sum')
def all_sum(tensors):
  """The sum of the tensors on the device of each of them, as a list."""
  return _reduced(math.add, tensors)


@export('contrib.nccl.all_prod')
def all_prod(tensors):
  """The product of the tensors on the device of each of them."""
  return _reduced(math.multiply, tensors)


@export('contrib.nccl.all_min')
def all_min(tensors):
  """The smallest of the tensors on the device of each of them."""
  return _reduced(_minimum, tensors)


@export('contrib.nccl.all_max')
def all_max(tensors):
  """The largest of the tensors on the device of each of them."""
  return _reduced(lambda x, y: apply_op('Maximum', x=x, y=y), tensors)


@export('contrib.nccl.broadcast')
def broadcast(tensor):
  """The tensor: where it is read elsewhere, the session sends it."""
  return array.identity(tensor)


# ---- contrib.memory_stats ------------------------------------------------------------------------


def _of_process(field):
  """A number of bytes of /proc/self/status; 0 where there is none."""
  def read():
    import numpy
    try:
      with open('/proc/self/status', encoding='ascii') as f:
        lines = [line.split() for line in f if line.startswith(field + ':')]
    except OSError:
      lines = []
    return numpy.int64(int(lines[0][1]) * 1024 if lines else 0)
  return read


def _stat(name, field):
  from leat._ops.py_func import py_func
  found = py_func(_of_process(field), [], dtypes.int64, name=name)
  found.set_shape([])
  return found


@export('contrib.memory_stats.BytesInUse')
def BytesInUse():
  """How much memory this process has now: that of the CPU, which is not the device's alone."""
  return _stat('BytesInUse', 'VmRSS')


@export('contrib.memory_stats.MaxBytesInUse')
def MaxBytesInUse():
  """The most memory that this process has had."""
  return _stat('MaxBytesInUse', 'VmHWM')


@export('contrib.memory_stats.BytesLimit')
def BytesLimit():
  """How much memory the CPU's device may take, as sessions say it."""
  from leat._session.device_list import list_local_devices
  from leat._graph import message
  return convert(list_local_devices(message.of('ConfigProto')())[0].memory_limit, dtypes.int64)
