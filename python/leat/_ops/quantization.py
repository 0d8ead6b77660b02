"""Numbers that quantized integers stand for."""
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
