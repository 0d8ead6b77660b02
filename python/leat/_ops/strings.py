"""Strings: cut, joined, formatted, and their characters."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, math
from leat._ops.sparse import SparseTensor

_RESULTS = ('SparseTensor', 'RaggedTensor')


def _split_result(made, result_type):
  """The sparse tensor that an op gives, or a ragged one of it."""
  sparse = SparseTensor(made.indices, made.values, made.shape)
  sparse.indices.set_shape([None, 2])
  sparse.values.set_shape([None])
  sparse.dense_shape.set_shape([2])
  if result_type == 'SparseTensor':
    return sparse
  from leat._ops.ragged.tensor import RaggedTensor
  return RaggedTensor.from_value_rowids(sparse.values, sparse.indices[:, 0],
                                        nrows=sparse.dense_shape[0], validate=False)


def _check_result(result_type):
  if result_type not in _RESULTS:
    raise ValueError('result_type is %r, must be one of %s' % (result_type, ', '.join(_RESULTS)))


@export('string_split')
def string_split(source, sep=None, skip_empty=True, delimiter=None, result_type='SparseTensor',
                 name=None):
  """Each string of a vector cut at any character of the separator; an empty one cuts between all
  bytes."""
  sep = either('sep', sep, 'delimiter', delimiter)
  _check_result(result_type)
  with name_scope(name, 'StringSplit', [source]):
    sep = convert(' ' if sep is None else sep, dtypes.string)
    source = convert(source, dtypes.string)
    return _split_result(apply_op('StringSplit', input=source, delimiter=sep,
                                  skip_empty=skip_empty), result_type)


@export('strings.split')
def split(input=None, sep=None, maxsplit=-1, result_type='SparseTensor', source=None, name=None):
  """Each string cut at the separator as Python's str.split does it, at white space where there is
  none. Of strings in more than one dimension, or as result_type says, a ragged tensor."""
  input = either('input', input, 'source', source)
  if input is None:
    raise ValueError('input must be given')
  _check_result(result_type)
  sep = '' if sep is None else sep
  with name_scope(name, 'StringSplit', [input] if hasattr(input, 'op') else []):
    from leat._ops.ragged.tensor import RaggedTensor, as_ragged
    strings = as_ragged(input, dtypes.string, 'input')
    if not isinstance(strings, RaggedTensor) and strings.get_shape().ndims == 0:
      strings = array.expand_dims(strings, 0)
    if not isinstance(strings, RaggedTensor) and strings.get_shape().ndims in (None, 1) and \
        result_type == 'SparseTensor':
      return _split_result(apply_op('StringSplitV2', input=strings, sep=convert(
          sep, dtypes.string), maxsplit=maxsplit), result_type)
    ragged = _split_ragged(strings, sep, maxsplit)
    return ragged if result_type == 'RaggedTensor' else ragged.to_sparse()


def _split_ragged(strings, sep, maxsplit):
  from leat._ops.ragged.tensor import RaggedTensor
  if isinstance(strings, RaggedTensor):
    return strings.with_flat_values(_split_ragged(strings.flat_values, sep, maxsplit))
  rank = strings.get_shape().ndims
  if rank is None:
    raise ValueError('input must have a known rank')
  if rank > 1:
    ragged = RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
    return _split_ragged(ragged, sep, maxsplit)
  return _split_result(apply_op('StringSplitV2', input=strings, sep=convert(sep, dtypes.string),
                                maxsplit=maxsplit), 'RaggedTensor')


@export('strings.bytes_split')
def bytes_split(input, name=None):
  """Each string as its bytes, a ragged tensor with one dimension more."""
  with name_scope(name, 'StringsByteSplit'):
    from leat._ops.ragged.tensor import RaggedTensor, as_ragged
    strings = as_ragged(input, dtypes.string, 'input')
    if isinstance(strings, RaggedTensor):
      return strings.with_flat_values(bytes_split(strings.flat_values))
    rank = strings.get_shape().ndims
    if rank is None:
      raise ValueError('input must have a statically-known rank.')
    if rank == 0:
      return bytes_split(array.stack([strings]))[0]
    if rank > 1:
      return bytes_split(RaggedTensor.from_tensor(strings, ragged_rank=rank - 1))
    return _split_result(apply_op('StringSplit', input=strings, delimiter='', skip_empty=False),
                         'RaggedTensor')


@export('strings.format')
def string_format(template, inputs, placeholder='{}', summarize=3, name=None):
  """The template with tensors in words in its places; summarize items are written from each end of
  a dimension, all where it is -1."""
  if hasattr(inputs, 'op') or not isinstance(inputs, (list, tuple, dict)):
    inputs = [inputs]
  if template.count(placeholder) != len(inputs):
    raise ValueError('%s placeholder(s) in template does not match %s tensor(s) provided as input' %
                     (template.count(placeholder), len(inputs)))
  return apply_op('StringFormat', name=name, inputs=list(inputs), template=template,
                  placeholder=placeholder, summarize=summarize)


@export('reduce_join', 'strings.reduce_join')
def reduce_join(inputs, axis=None, keep_dims=None, separator='', name=None, reduction_indices=None,
                keepdims=None):
  """Strings joined along dimensions, of which the first named runs fastest; along all from the last
  to the first where none is named."""
  keep = either('keepdims', keepdims, 'keep_dims', keep_dims)
  axis = either('axis', axis, 'reduction_indices', reduction_indices)
  inputs = convert(inputs, dtypes.string, 'inputs')
  with name_scope(name, 'ReduceJoin', [inputs, axis]):
    if axis is None:
      rank = inputs.get_shape().ndims
      if rank is not None:
        axis = convert(list(range(rank - 1, -1, -1)), dtypes.int32)
      else:
        count = array.rank(inputs)
        axis = math.range(count - 1, -1, -1)
    return apply_op('ReduceJoin', inputs=inputs, reduction_indices=axis, keep_dims=bool(keep),
                    separator=separator)


@export('strings.ngrams')
def ngrams(data, ngram_width, separator=' ', pad_values=None, padding_width=None,
           preserve_short_sequences=False, name=None):
  """The sequences of ngram_width strings that follow each other in each row, joined."""
  with name_scope(name, 'StringNGrams'):
    from leat._ops.ragged.tensor import RaggedTensor, as_ragged
    if pad_values is None:
      left = right = ''
      padding_width = 0
    else:
      left, right = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
      if padding_width is None:
        padding_width = -1
      elif padding_width < 1:
        raise ValueError('padding_width is %d, must be at least 1' % padding_width)
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if any(w < 1 for w in widths):
      raise ValueError('All ngram_widths must be greater than 0. Received: %s' % (ngram_width,))
    data = as_ragged(data, dtypes.string, 'data')
    dense = not isinstance(data, RaggedTensor)
    single = dense and data.get_shape().ndims == 1
    if dense:
      data = array.expand_dims(data, 0) if single else data
      data = RaggedTensor.from_tensor(data, ragged_rank=data.get_shape().ndims - 1)
    inner = data
    while isinstance(inner.values, RaggedTensor):
      inner = inner.values
    made = apply_op('StringNGrams', data=inner.values, data_splits=inner.row_splits,
                    separator=separator, ngram_widths=widths, left_pad=left, right_pad=right,
                    pad_width=padding_width, preserve_short_sequences=preserve_short_sequences)
    result = made.ngrams
    for splits in [made.ngrams_splits] + list(reversed(data.nested_row_splits[:-1])):
      result = RaggedTensor.from_row_splits(result, splits, validate=False)
    if single:
      return result.flat_values
    return result.to_tensor() if dense else result


@export('strings.regex_full_match')
def regex_full_match(input, pattern, name=None):
  """Whether the pattern, in RE2's syntax, matches the whole of each string. A pattern that is no
  tensor is compiled once."""
  if isinstance(pattern, (str, bytes)):
    return apply_op('StaticRegexFullMatch', name=name, input=input, pattern=pattern)
  return apply_op('RegexFullMatch', name=name, input=input, pattern=pattern)


@export('regex_replace', 'strings.regex_replace')
def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
  """Each string with what the pattern, in RE2's syntax, matches replaced by `rewrite`, in which
  \\\\0 to \\\\9 stand for the match and its groups; only the first match without replace_global. A
  pattern and a rewrite that are no tensors are read once."""
  if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
    return apply_op('StaticRegexReplace', name=name, input=input, pattern=pattern, rewrite=rewrite,
                    replace_global=replace_global)
  return apply_op('RegexReplace', name=name, input=input, pattern=pattern, rewrite=rewrite,
                  replace_global=replace_global)
