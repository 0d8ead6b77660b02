"""Random numbers that follow from a seed [2] alone, the same in every step."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops.array import _shape_tensor


@export('random.stateless_uniform')
def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
  """Numbers in [minval, maxval): reals below 1 or integers below maxval, which integers need. With
  None for both bounds all integers of the type are as likely."""
  dtype = dtypes.as_dtype(dtype)
  if dtype.is_integer and (minval is None) != (maxval is None):
    raise ValueError('For integer `dtype` argument %s, argument `minval` and `maxval` must be both '
                     'None or not None. Got minval=%s and maxval=%s.' % (dtype, minval, maxval))
  with name_scope(name, 'stateless_random_uniform', [shape, seed]) as scope:
    shape = _shape_tensor(shape, 'shape')
    if dtype.is_integer:
      if minval is None:
        return apply_op('StatelessRandomUniformFullInt', name=scope, shape=shape, seed=seed,
                        dtype=dtype)
      return apply_op('StatelessRandomUniformInt', name=scope, shape=shape, seed=seed,
                      minval=convert(minval, dtype, 'min'), maxval=convert(maxval, dtype, 'max'))
    minval = convert(minval, dtype, 'min')
    maxval = convert(1 if maxval is None else maxval, dtype, 'max')
    unit = apply_op('StatelessRandomUniform', shape=shape, seed=seed, dtype=dtype)
    return apply_op('AddV2', name=scope, x=unit * (maxval - minval), y=minval)


def _scaled(op, scope, shape, seed, mean, stddev, dtype, name):
  dtype = dtypes.as_dtype(dtype)
  with name_scope(name, scope, [shape, seed, mean, stddev]) as full:
    unit = apply_op(op, shape=_shape_tensor(shape, 'shape'), seed=seed, dtype=dtype)
    return apply_op('AddV2', name=full, x=unit * convert(stddev, dtype, 'stddev'),
                    y=convert(mean, dtype, 'mean'))


@export('random.stateless_normal')
def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
  """Numbers of a normal distribution."""
  return _scaled('StatelessRandomNormal', 'stateless_random_normal', shape, seed, mean, stddev,
                 dtype, name)


@export('random.stateless_truncated_normal')
def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
  """The same without what is farther from the mean than twice the deviation."""
  return _scaled('StatelessTruncatedNormal', 'stateless_truncated_normal', shape, seed, mean,
                 stddev, dtype, name)


@export('random.stateless_multinomial')
def stateless_multinomial(logits, num_samples, seed, output_dtype=dtypes.int64, name=None):
  """num_samples classes for each row of unnormalised log probabilities."""
  with name_scope(name, 'stateless_multinomial', [logits, seed]) as scope:
    return apply_op('StatelessMultinomial', name=scope, logits=logits, num_samples=num_samples,
                    seed=seed, output_dtype=output_dtype)


@export('random.stateless_categorical')
def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
  """The same."""
  return stateless_multinomial(logits, num_samples, seed, dtype, name or 'stateless_categorical')
