"""Random tensors."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, get_seed, name_scope
from leat._ops.array import _shape_tensor


def _seeds(seed):
  first, second = get_seed(seed)
  return {'seed': first or 0, 'seed2': second or 0}


@export('random_normal', 'random.normal')
def random_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
  """Numbers from a normal distribution, new ones at each step. With `seed`, or tf.set_random_seed,
  each session draws the same."""
  with name_scope(name, 'random_normal', [shape, mean, stddev]) as scope:
    shape = _shape_tensor(shape, 'shape')
    mean, stddev = convert(mean, dtype, 'mean'), convert(stddev, dtype, 'stddev')
    unit = apply_op('RandomStandardNormal', shape=shape, dtype=dtype, **_seeds(seed))
    return apply_op('AddV2', name=scope, x=unit * stddev, y=mean)


@export('truncated_normal', 'random.truncated_normal')
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
  """Numbers from a normal distribution; those further than two standard deviations from the mean
  are drawn again. With `seed`, or tf.set_random_seed, each session draws the same."""
  with name_scope(name, 'truncated_normal', [shape, mean, stddev]) as scope:
    shape = _shape_tensor(shape, 'shape')
    mean, stddev = convert(mean, dtype, 'mean'), convert(stddev, dtype, 'stddev')
    unit = apply_op('TruncatedNormal', shape=shape, dtype=dtype, **_seeds(seed))
    return apply_op('AddV2', name=scope, x=unit * stddev, y=mean)


def _is_number(value, number):
  """Whether it is that number, as Python has it: what a tensor holds is not looked at."""
  return isinstance(value, (int, float)) and value == number


@export('random_uniform', 'random.uniform')
def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
  """Numbers drawn evenly from minval to below maxval (1 for floats; integers need it), new ones at
  each step. With `seed`, or tf.set_random_seed, each session draws the same."""
  dtype = dtypes.as_dtype(dtype)
  if maxval is None:
    if dtype.is_integer:
      raise ValueError('Must specify maxval for integer dtype %r' % dtype)
    maxval = 1
  with name_scope(name, 'random_uniform', [shape, minval, maxval]) as scope:
    shape = _shape_tensor(shape, 'shape')
    from_zero = _is_number(minval, 0) and not dtype.is_integer
    if from_zero and _is_number(maxval, 1):
      return apply_op('RandomUniform', shape=shape, dtype=dtype, **_seeds(seed))
    if from_zero:
      maxval = convert(maxval, dtype, 'max')
      unit = apply_op('RandomUniform', shape=shape, dtype=dtype, **_seeds(seed))
      return apply_op('Mul', x=unit, y=maxval)
    minval, maxval = convert(minval, dtype, 'min'), convert(maxval, dtype, 'max')
    if dtype.is_integer:
      return apply_op('RandomUniformInt', name=scope, shape=shape, minval=minval, maxval=maxval,
                      **_seeds(seed))
    unit = apply_op('RandomUniform', shape=shape, dtype=dtype, **_seeds(seed))
    return apply_op('AddV2', name=scope, x=unit * (maxval - minval), y=minval)


@export('random_shuffle', 'random.shuffle')
def random_shuffle(value, seed=None, name=None):
  """The slices of the first dimension in a random order."""
  return apply_op('RandomShuffle', name=name, value=value, **_seeds(seed))


@export('random_crop', 'image.random_crop')
def random_crop(value, size, seed=None, name=None):
  """A part of that size at a random place. The step fails if the size is larger than the value."""
  from leat._ops import array, control_flow, math
  with name_scope(name, 'random_crop', [value, size]) as scope:
    value = convert(value, name='value')
    size = convert(size, dtypes.int32, 'size')
    shape = array.shape(value)
    check = control_flow.Assert(math.reduce_all(shape >= size),
                                ['Need value.shape >= size, got ', shape, size], summarize=1000)
    with control_dependencies([check]):
      limit = array.identity(shape) - size + 1
    offset = random_uniform(array.shape(limit), dtype=dtypes.int32, maxval=dtypes.int32.max,
                            seed=seed) % limit
    return array.slice(value, offset, size, name=scope)


@export('multinomial', 'random.multinomial')
def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
  """Draws num_samples classes for each row of logits [batch, classes], with the probabilities
  softmax(logits): [batch, num_samples] of output_dtype (int64)."""
  with name_scope(name, 'multinomial', [logits]):
    return apply_op('Multinomial', logits=convert(logits, name='logits'), num_samples=num_samples,
                    output_dtype=output_dtype, **_seeds(seed))


@export('random.categorical')
def categorical(logits, num_samples, dtype=None, seed=None, name=None):
  """The same."""
  return multinomial(logits, num_samples, seed, name or 'categorical', dtype)


@export('random_gamma', 'random.gamma')
def random_gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
  """From gamma distributions."""
  from leat._ops import array
  with name_scope(name, 'random_gamma', [shape, alpha, beta]):
    shape = convert(shape, dtypes.int32, 'shape')
    alpha = convert(alpha, dtype, 'alpha')
    beta = convert(1 if beta is None else beta, dtype, 'beta')
    both = array.broadcast_dynamic_shape(array.shape(alpha), array.shape(beta))
    alpha = apply_op('BroadcastTo', input=alpha, shape=both)
    tiny = convert(1.1754943508222875e-38, alpha.dtype) if alpha.dtype == dtypes.float32 else \
        convert(2.2250738585072014e-308 if alpha.dtype == dtypes.float64 else 6.1e-05, alpha.dtype)
    drawn = apply_op('RandomGamma', shape=shape, alpha=alpha, **_seeds(seed)) / beta
    return apply_op('Maximum', x=tiny, y=drawn)


@export('random_poisson', 'random.poisson')
def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
  """From Poisson distributions."""
  with name_scope(name, 'random_poisson', [lam, shape]):
    return apply_op('RandomPoissonV2', shape=convert(shape, dtypes.int32, 'shape'), rate=lam,
                    dtype=dtype, **_seeds(seed))
