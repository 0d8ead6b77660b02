"""What contrib.distributions has besides distributions: percentiles, and triangles of vectors."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, math, sorting


@export('contrib.distributions.percentile')
def percentile(x, q, axis=None, interpolation=None, keep_dims=False, validate_args=False,
               name=None):
  """The value of x below which q percent of the values along the axes are: the 'nearest' of them,
  or the next 'lower' or 'higher' one."""
  del validate_args
  interpolation = interpolation or 'nearest'
  if interpolation not in ('nearest', 'lower', 'higher'):
    raise ValueError("Argument 'interpolation' must be in (lower, higher, nearest). Found %s." %
                     interpolation)
  with name_scope(name, 'percentile', [x, q]):
    x, q = convert(x, name='x'), math.cast(convert(q, name='q'), dtypes.float64)
    rank = x.get_shape().ndims
    axes = list(range(rank)) if axis is None else sorted(
        a % rank for a in ([axis] if isinstance(axis, int) else axis))
    kept = [n for n in range(rank) if n not in axes]
    rows = array.transpose(x, kept + axes)
    sizes = array.shape(rows)
    rows = array.reshape(rows, array.concat([sizes[:len(kept)], [-1]], 0))
    ordered = sorting.sort(rows, axis=-1)
    place = math.cast(array.shape(ordered)[-1] - 1, dtypes.float64) * q / 100.0
    rounded = apply_op({'nearest': 'Round', 'lower': 'Floor', 'higher': 'Ceil'}[interpolation],
                       x=place)
    found = array.gather(ordered, math.cast(rounded, dtypes.int32), axis=-1)
    for n in axes if keep_dims else ():
      found = array.expand_dims(found, n)
    return found


@export('contrib.distributions.fill_triangular')
def fill_triangular(x, upper=False, name=None):
  """Triangular matrices [..., n, n] of vectors [..., n (n + 1) / 2], clockwise from the corner."""
  with name_scope(name, 'fill_triangular', [x]):
    x = convert(x, name='x')
    count = x.get_shape()[-1].value
    size = int((0.25 + 2.0 * count) ** 0.5)
    if size * (size + 1) // 2 != count:
      raise ValueError('Input right-most shape (%s) does not correspond to a triangular matrix.' %
                       count)
    turned = apply_op('ReverseV2', 'ReverseV2', tensor=x, axis=[-1])
    whole = array.concat([x, turned[..., size:]] if upper else [x[..., size:], turned], -1)
    shape = array.concat([array.shape(x)[:-1], [size, size]], 0)
    square = array.reshape(whole, shape)
    return apply_op('MatrixBandPart', input=square, num_lower=0 if upper else -1,
                    num_upper=-1 if upper else 0)
