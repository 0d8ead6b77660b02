"""tf.print: values in words, tensors among them, written when a step runs.

The text is put together of what is known now and of places for tensors; one StringFormat operation
fills these places, and PrintV2 writes the result.
"""
from __future__ import annotations

import sys

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops.sparse import SparseTensor
from leat._ops.strings import string_format


@export('print')
def print_v2(*inputs, **options):
  """Writes values to a stream or a file when the step runs; gives the operation.

  output_stream: sys.stderr, sys.stdout, tf.logging.info, warning or error, or 'file://path'.
  summarize: how many items of each end of a dimension are written, -1 for all.
  sep, end: what stands between the values and after them.
  """
  stream, name = options.pop('output_stream', sys.stderr), options.pop('name', None)
  summarize = options.pop('summarize', 3)
  summarize = 3 if summarize is None else summarize
  sep, end = options.pop('sep', ' '), options.pop('end', '\n')
  if options:
    raise ValueError('Unrecognized keyword arguments for tf.print: %s' % options)
  target = _target(stream)
  with name_scope(name):
    return apply_op('PrintV2', input=_text(inputs, sep, summarize), output_stream=target, end=end)


def _target(stream):
  """The op's name of a stream; ValueError where it has none."""
  from leat._platform import log
  if isinstance(stream, str) and stream.startswith('file://'):
    return stream
  for known, name in ((sys.stdout, 'stdout'), (sys.stderr, 'stderr'), (sys.__stdout__, 'stdout'),
                      (sys.__stderr__, 'stderr'), (log.info, 'log(info)'),
                      (log.warn, 'log(warning)'), (log.error, 'log(error)')):
    if stream is known:
      return name
  raise ValueError('output_stream is %r, must be sys.stdout, sys.stderr, tf.logging.info, '
                   "tf.logging.warning, tf.logging.error or a string 'file://path'" % (stream,))


class _Place:
  """Stands in a text where a tensor will be."""

  def __init__(self, tensor):
    self.tensor = tensor


def _text(inputs, sep, summarize):
  """A scalar string tensor: the values in words."""
  if len(inputs) == 1 and isinstance(inputs[0], _leat.Output) and \
      inputs[0].dtype == dtypes.string and inputs[0].get_shape().ndims == 0:
    return inputs[0]
  parts = []
  for i, value in enumerate(inputs):
    parts += ([sep] if i else []) + _words(value, False)
  placeholder = '{}'
  while any(placeholder in p for p in parts if isinstance(p, str)):
    placeholder = '{' + placeholder + '}'
  template = ''.join(p if isinstance(p, str) else placeholder for p in parts)
  return string_format(template, [p.tensor for p in parts if isinstance(p, _Place)], placeholder,
                       summarize)


def _words(value, inside):
  """Texts and places for a value; `inside` of a structure texts are quoted."""
  if isinstance(value, SparseTensor):
    quote = "'" if inside else ''
    return [quote + 'SparseTensor(indices=', _Place(value.indices), ', values=',
            _Place(value.values), ', shape=', _Place(value.dense_shape), ')' + quote]
  if getattr(value, '_is_ragged', False) and hasattr(value, 'flat_values') and hasattr(
      value, 'graph'):
    return [value.__class__.__name__ + '(values='] + _words(value.values, True) + [
        ', row_splits=', _Place(value.row_splits), ')']
  if isinstance(value, _leat.Output) or hasattr(value, '_as_graph_element'):
    return [_Place(convert(value))]
  if isinstance(value, dict):
    items = [(repr(k) + ': ', value[k]) for k in sorted(value)]
    return ['{'] + _listed(items) + ['}']
  if isinstance(value, (list, tuple)):
    if hasattr(value, '_fields'):
      items = [(f + '=', v) for f, v in zip(value._fields, value)]
      return [type(value).__name__ + '('] + _listed(items) + [')']
    ends = '[]' if isinstance(value, list) else '()'
    tail = ',' if isinstance(value, tuple) and len(value) == 1 else ''
    return [ends[0]] + _listed([('', v) for v in value]) + [tail + ends[1]]
  return [repr(value) if inside else str(value)]


def _listed(items):
  parts = []
  for i, (label, value) in enumerate(items):
    parts += [', ' + label if i else label] + _words(value, True)
  return parts
