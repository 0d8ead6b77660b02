"""Numbers as integers of few bits over a range, and the numbers that such integers stand for."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op


@export('dequantize', 'quantization.dequantize')
def dequantize(input, min_range, max_range, mode='MIN_COMBINED', name=None, axis=None,
               narrow_range=False, dtype=dtypes.float32):
  """The reals that the integers of a quantized type stand for, which cover a range."""
  return apply_op('Dequantize', name=name, input=input, min_range=min_range, max_range=max_range,
                  mode=mode, axis=-1 if axis is None else axis, narrow_range=narrow_range,
                  dtype=dtype)


@export('quantize', 'quantization.quantize')
def quantize(input, min_range, max_range, T, mode='MIN_COMBINED',
             round_mode='HALF_AWAY_FROM_ZERO', name=None, narrow_range=False, axis=None,
             ensure_minimum_range=0.01):
  """The reals as integers of the quantized type T over a range: output, output_min, output_max.

  The range is widened to contain 0 and to be at least ensure_minimum_range wide. With an axis,
  min_range and max_range are vectors with a range for each slice along it.
  """
  return apply_op('QuantizeV2', name=name, input=input, min_range=min_range, max_range=max_range,
                  T=T, mode=mode, round_mode=round_mode, narrow_range=narrow_range,
                  axis=-1 if axis is None else axis, ensure_minimum_range=ensure_minimum_range)


@export('quantize_v2')
def quantize_v2(input, min_range, max_range, T, mode='MIN_COMBINED', name=None,
                round_mode='HALF_AWAY_FROM_ZERO', narrow_range=False, axis=None,
                ensure_minimum_range=0.01):
  """quantize under its older name, with the arguments in another order."""
  return quantize(input, min_range, max_range, T, mode, round_mode, name, narrow_range, axis,
                  ensure_minimum_range)


@export('quantization.quantize_and_dequantize')
def quantize_and_dequantize(input, input_min, input_max, signed_input=True, num_bits=8,
                            range_given=False, round_mode='HALF_TO_EVEN', name=None,
                            narrow_range=False, axis=None):
  """What integers of num_bits bits would keep of the reals; the gradient passes unchanged."""
  return _quantize_and_dequantize('QuantizeAndDequantizeV2', **locals())


@export('quantization.quantize_and_dequantize_v2')
def quantize_and_dequantize_v2(input, input_min, input_max, signed_input=True, num_bits=8,
                               range_given=False, round_mode='HALF_TO_EVEN', name=None,
                               narrow_range=False, axis=None):
  """quantize_and_dequantize whose gradient passes only where the input lies within the range."""
  return _quantize_and_dequantize('QuantizeAndDequantizeV4', **locals())


def _quantize_and_dequantize(op, axis, **arguments):
  return apply_op(op, axis=-1 if axis is None else axis, **arguments)
