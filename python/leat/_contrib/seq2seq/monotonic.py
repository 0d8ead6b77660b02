"""Monotonic attention (Raffel et al., arXiv:1704.00784): attention that moves forward only."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, clip, functional, math, random


@export('contrib.seq2seq.safe_cumprod')
def safe_cumprod(x, *args, **kwargs):
  """The running products of numbers from 0 to 1, by the logarithms of what is not smaller than the
  smallest normal number, so that gradients are finite. Other arguments are those of cumprod."""
  with name_scope(None, 'SafeCumprod', [x]):
    import numpy as np
    x = convert(x, name='x')
    tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
    logs = apply_op('Log', x=clip.clip_by_value(x, tiny, 1))
    return math.exp(math.cumsum(logs, *args, **kwargs))


@export('contrib.seq2seq.monotonic_attention')
def monotonic_attention(p_choose_i, previous_attention, mode):
  """The probabilities [batch, time] of attending to each place, where `p_choose_i` is the
  probability of stopping at a place once it is reached, and reading goes on from where
  `previous_attention` was. `mode` says how: 'recursive' by a loop, exact; 'parallel' by running
  products, which is fast and becomes inexact where probabilities are near 1; 'hard' for
  probabilities that are 0 or 1."""
  p_choose_i = convert(p_choose_i, name='p_choose_i')
  previous_attention = convert(previous_attention, name='previous_attention')
  if mode == 'recursive':
    batch = p_choose_i.get_shape()[0].value
    batch = array.shape(p_choose_i)[0] if batch is None else batch
    passed = array.concat([array.ones([batch, 1], p_choose_i.dtype), 1 - p_choose_i[:, :-1]], 1)
    reached = functional.scan(
        lambda x, yz: array.reshape(yz[0] * x + yz[1], [batch]),
        [array.transpose(passed), array.transpose(previous_attention)],
        array.zeros([batch], p_choose_i.dtype))
    return p_choose_i * array.transpose(reached)
  if mode == 'parallel':
    passed = safe_cumprod(1 - p_choose_i, axis=1, exclusive=True)
    return p_choose_i * passed * math.cumsum(
        previous_attention / clip.clip_by_value(passed, 1e-10, 1.0), axis=1)
  if mode == 'hard':
    p_choose_i = p_choose_i * math.cumsum(previous_attention, axis=1)
    return p_choose_i * math.cumprod(1 - p_choose_i, axis=1, exclusive=True)
  raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def monotonic_probabilities(score, previous_alignments, sigmoid_noise, mode, seed=None):
  """Attention of scores [batch, time]: with noise while training, and in 'hard' mode without any
  chance."""
  if sigmoid_noise > 0:
    noise = random.random_normal(array.shape(score), dtype=score.dtype, seed=seed)
    score = score + sigmoid_noise * noise
  chosen = math.cast(score > 0, score.dtype) if mode == 'hard' else math.sigmoid(score)
  return monotonic_attention(chosen, previous_alignments, mode)
