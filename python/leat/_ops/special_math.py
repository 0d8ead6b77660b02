"""Functions put together of others: einsum, lbeta, polynomials, means of segments, histograms."""
from __future__ import annotations

import builtins

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._ops import array, math
from leat._ops.sparse import IndexedSlices


@export('lbeta', 'math.lbeta')
def lbeta(x, name=None):
  """The logarithm of the beta function of the vectors along the last dimension."""
  with name_scope(name, 'lbeta', [x]):
    x = convert(x, name='x')
    sums = apply_op('Lgamma', x=math.reduce_sum(x, [-1]))
    return math.reduce_sum(apply_op('Lgamma', x=x), [-1]) - sums


@export('scalar_mul', 'math.scalar_mul')
def scalar_mul(scalar, x, name=None):
  """A scalar times a tensor or IndexedSlices."""
  scalar = convert(scalar, x.dtype.base_dtype, 'scalar')
  if scalar.get_shape().ndims != 0:
    raise ValueError('Only scalar multiply works, got shape %s' % scalar.get_shape())
  if isinstance(x, IndexedSlices):
    return IndexedSlices(math.multiply(scalar, x.values, name), x.indices, x.dense_shape)
  return math.multiply(scalar, x, name)


@export('math.polyval')
def polyval(coeffs, x, name=None):
  """The polynomial with these coefficients, that of the highest power first, at x."""
  if not isinstance(coeffs, list):
    raise ValueError('Argument coeffs must be list type. Received type %s.' % type(coeffs))
  with name_scope(name, 'polyval', [c for c in coeffs if hasattr(c, 'op')] + [x]):
    x = convert(x, name='x')
    if not coeffs:
      return array.zeros_like(x, name=name)
    coeffs = [convert(c, name='coeff%d' % i) for i, c in enumerate(coeffs)]
    result = coeffs[0]
    for c in coeffs[1:]:
      result = c + result * x
    return result


# ---- Segments -----------------------------------------------------------------------------------


def _counts(segment_ids, num_segments, like):
  """How many slices each segment has, at least 1, in the shape that divides `like`."""
  ids = convert(segment_ids)
  ones = array.ones(array.shape(ids), like.dtype.base_dtype)
  counts = apply_op('UnsortedSegmentSum', data=ones, segment_ids=ids, num_segments=num_segments)
  counts = apply_op('Maximum', x=counts, y=constant_of(1, counts.dtype))
  inner = array.rank(like) - array.rank(ids)
  sizes = array.concat([array.reshape(num_segments, [1]), array.ones(
      array.expand_dims(inner, 0), dtypes.as_dtype(convert(num_segments).dtype))], 0)
  return array.reshape(counts, sizes)


def _segments(name, scope, divide, data, segment_ids, num_segments):
  with name_scope(name, scope):
    data, ids = convert(data), convert(segment_ids)
    counts = _counts(ids, num_segments, data)
    total = apply_op('UnsortedSegmentSum', data=data, segment_ids=ids, num_segments=num_segments)
    return divide(total, counts)


@export('unsorted_segment_mean', 'math.unsorted_segment_mean')
def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
  """The mean of the slices of each segment, 0 where there is none."""
  return _segments(name, 'UnsortedSegmentMean', lambda total, n: total / n, data, segment_ids,
                   num_segments)


@export('unsorted_segment_sqrt_n', 'math.unsorted_segment_sqrt_n')
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
  """The sum of the slices of each segment divided by the root of their number."""
  return _segments(name, 'UnsortedSegmentSqrtN', lambda total, n: total / math.sqrt(n), data,
                   segment_ids, num_segments)


# ---- Histograms ---------------------------------------------------------------------------------


@export('histogram_fixed_width')
def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
  """How many lie in each of nbins equal parts of a range; those outside count at its ends."""
  with name_scope(name, 'histogram_fixed_width', [values, value_range, nbins]) as scope:
    return apply_op('HistogramFixedWidth', name=scope, values=values, value_range=value_range,
                    nbins=nbins, dtype=dtype)


@export('histogram_fixed_width_bins')
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
  """In which of nbins equal parts of a range each value lies, of type int32 as in TensorFlow 1."""
  del dtype
  with name_scope(name, 'histogram_fixed_width_bins', [values, value_range, nbins]):
    values = convert(values, name='values')
    shape = array.shape(values)
    flat = array.reshape(values, [-1])
    value_range = convert(value_range, name='value_range')
    nbins = convert(nbins, dtypes.int32, name='nbins')
    number = math.cast(nbins, flat.dtype.base_dtype)
    scaled = math.truediv(flat - value_range[0], value_range[1] - value_range[0])
    places = math.cast(math.floor(math.cast(number, scaled.dtype) * scaled), dtypes.int32)
    places = apply_op('Maximum', x=constant_of(0), y=apply_op('Minimum', x=places, y=nbins - 1))
    return array.reshape(places, shape)


# ---- Einsum -------------------------------------------------------------------------------------


@export('einsum', 'linalg.einsum')
def einsum(equation, *inputs, **kwargs):
  """Sums of products over dimensions with labels: 'ij,jk->ik' multiplies matrices.

  Labels that the result does not name are summed over. Without '->' the result has the labels that
  occur once, in alphabetical order. '...' stands for dimensions without labels.
  """
  name = kwargs.pop('name', None)
  kwargs.pop('optimize', None)
  if kwargs:
    raise TypeError('Invalid keyword arguments for this function: %s' % ', '.join(sorted(kwargs)))
  with name_scope(name, 'einsum', [equation, inputs]):
    inputs = [convert(x, name='input_%d' % i) for i, x in enumerate(inputs)]
    labels, result = _parsed(equation, [x.get_shape() for x in inputs])
    while len(inputs) > 2:
      # The pair whose product is the smallest is multiplied first.
      i, j = _cheapest(labels, result, inputs)
      kept = set(result).union(*[l for k, l in enumerate(labels) if k not in (i, j)])
      made = ''.join(sorted(c for c in set(labels[i]) | set(labels[j]) if c in kept))
      pair = _one_einsum([labels[i], labels[j]], made, [inputs[i], inputs[j]])
      labels = [l for k, l in enumerate(labels) if k not in (i, j)] + [made]
      inputs = [x for k, x in enumerate(inputs) if k not in (i, j)] + [pair]
    return _one_einsum(labels, result, inputs)


def _one_einsum(labels, result, inputs):
  dots = lambda text: ''.join(c if c.isalpha() else '...' for c in text)
  return apply_op('Einsum', inputs=inputs, equation='%s->%s' % (
      ','.join(dots(l) for l in labels), dots(result)))


def _parsed(equation, shapes):
  """(the labels of each input, those of the result), where '.' is the ellipsis."""
  text = equation.replace(' ', '').replace('...', '.')
  left, arrow, right = text.partition('->')
  labels = left.split(',')
  good = text and text.replace('->', '').replace(',', '').replace('.', '').isalpha() or \
      text.strip('.,->') == '' and left
  if ' ' in equation.strip() and len(labels) == 1 and not arrow and len(shapes) > 1 or not good \
      or any(l.count('.') > 1 for l in labels + [right]):
    raise ValueError('Indices have incorrect format: %s' % equation)
  if len(labels) != len(shapes):
    raise ValueError('Got %d arguments for equation "%s", expecting %d' % (
        len(shapes), equation, len(labels)))
  every = ''.join(labels)
  if not arrow:
    right = '.' * ('.' in every) + ''.join(sorted(c for c in set(every) if every.count(c) == 1 and
                                                  c != '.'))
  unknown = set(right) - set(every)
  if unknown:
    raise ValueError('Unknown output axes: %s' % ''.join(sorted(unknown)))
  sizes = {}
  for label, shape in zip(labels, shapes):
    _check_sizes(label, shape, sizes, equation)
  return labels, right


def _check_sizes(label, shape, sizes, equation):
  """ValueError where an input has another number of dimensions, or sizes of a label differ."""
  if shape.ndims is None:
    return
  if '.' not in label and shape.ndims != len(label) or shape.ndims < len(label) - 1:
    raise ValueError('Input with labels %s of equation "%s" must have rank %d, but has shape %s' % (
        label, equation, len(label), shape))
  if '.' in label:
    return
  for c, dimension in zip(label, shape.as_list()):
    if dimension is None:
      continue
    if sizes.setdefault(c, dimension) != dimension and 1 not in (dimension, sizes[c]):
      raise ValueError('Sizes of label %s of equation "%s" must be equal, but are %d and %d' % (
          c, equation, sizes[c], dimension))


def _cheapest(labels, result, inputs):
  """The two inputs whose product has the fewest elements."""
  sizes = {}
  for label, x in zip(labels, inputs):
    if x.get_shape().ndims == len(label):
      for c, d in zip(label, x.get_shape().as_list()):
        sizes[c] = max(sizes.get(c, 1), d or 100)
  best = None
  for i in builtins.range(len(labels)):
    for j in builtins.range(i + 1, len(labels)):
      others = set(result).union(*[l for k, l in enumerate(labels) if k not in (i, j)])
      cost = 1
      for c in (set(labels[i]) | set(labels[j])) & others:
        cost *= sizes.get(c, 100)
      if best is None or cost < best[0]:
        best = cost, i, j
  return best[1:]
