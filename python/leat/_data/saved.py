"""Datasets whose elements are saved in files, which TensorFlow reads and writes too.

A saved dataset is a directory: `dataset_spec.pb` says what an element is, the other files, which
operations write and read, hold the elements. A snapshot is written by the first pass over a dataset
and read by later ones, as long as the dataset is made of the same operations.
"""
from __future__ import annotations

from leat._data import element as elements
from leat._data.dataset import Dataset
from leat._data.function import traced
from leat._data.spec import DatasetSpec, TensorSpec
from leat._export import export
from leat._graph import dtype as dtypes, message
from leat._graph.apply import apply_op, make_op
from leat._graph.shape import TensorShape

_SPEC_NAME = 'dataset_spec.pb'
_COMPRESSIONS = ('', 'GZIP', 'ZLIB', 'SNAPPY')


def _compression(name):
  if name is None:
    return ''
  if name not in _COMPRESSIONS:
    raise ValueError('`compression` is %r, must be None or one of %s.' % (name, _COMPRESSIONS))
  return name


# ---- What an element is -------------------------------------------------------------------------

_SEQUENCES = {tuple: 'tuple_value', list: 'list_value'}


def _encode(spec, out):
  """Writes a structure of specs into a StructuredValue."""
  if isinstance(spec, dict):
    for key, item in spec.items():
      _encode(item, out.dict_value.fields[key])
  elif type(spec) in _SEQUENCES:
    values = getattr(out, _SEQUENCES[type(spec)])
    values.SetInParent()
    for item in spec:
      _encode(item, values.values.add())
  elif isinstance(spec, TensorSpec):
    out.tensor_spec_value.shape.CopyFrom(spec.shape.as_proto())
    out.tensor_spec_value.dtype = spec.dtype.as_datatype_enum
  else:
    raise TypeError('The components of a dataset that is saved must be tensors. Got %r.' % (spec,))


def _decode(value):
  """The structure of specs that a StructuredValue holds."""
  kind = value.WhichOneof('kind')
  for sequence, name in _SEQUENCES.items():
    if kind == name:
      return sequence(_decode(item) for item in getattr(value, name).values)
  if kind == 'dict_value':
    return {key: _decode(item) for key, item in value.dict_value.fields.items()}
  if kind == 'tensor_spec_value':
    spec = value.tensor_spec_value
    return TensorSpec(TensorShape(spec.shape), dtypes.as_dtype(spec.dtype), spec.name or None)
  raise ValueError('The saved dataset has components of a kind that is not known: %s.' % kind)


# ---- Saving and loading -------------------------------------------------------------------------

@export('data.experimental.save')
def save(dataset, path, compression=None, shard_func=None, checkpoint_args=None):
  """The operation that writes the elements of a dataset, whose components are tensors, to the
  directory `path`. What an element is, is written when the operation is made.

  Args:
    path: a string.
    compression: None, 'GZIP', 'ZLIB' or 'SNAPPY'.
    shard_func: gives for an element the number, an int64 scalar, of the shard that holds it; None:
      all are in one.
    checkpoint_args: must be None: a save that was cut off is begun anew.
  """
  import os
  from leat._platform import files
  if checkpoint_args is not None:
    raise ValueError('`checkpoint_args` is %r, must be None.' % (checkpoint_args,))
  encoded = message.of('StructuredValue')()
  _encode(dataset._element, encoded)
  made = traced(shard_func or _first_shard, 'save', dataset._element)
  compression = _compression(compression)
  files.MakeDirs(path)
  with files.GFile(os.path.join(path, _SPEC_NAME), 'wb') as file:
    file.write(encoded.SerializeToString())
  return make_op('SaveDataset', name='SaveDataset', input_dataset=dataset._variant, path=path,
                 shard_func_other_args=made.captured, shard_func=made.name,
                 use_shard_func=shard_func is not None, compression=compression)


def _first_shard(*components):
  from leat._graph.conversion import constant_of
  return constant_of(0, dtypes.int64)


def _read_spec(path):
  import os
  from leat._platform import files
  with files.GFile(os.path.join(path, _SPEC_NAME), 'rb') as file:
    return _decode(message.of('StructuredValue').FromString(file.read()))


def _in_turns(shards):
  return shards.interleave(lambda shard: shard, num_parallel_calls=-1)


@export('data.experimental.load')
def load(path, element_spec=None, compression=None, reader_func=None):
  """The dataset whose elements were saved in the directory `path`.

  Args:
    path: a string.
    element_spec: what an element is; None: as it was saved.
    compression: that with which it was saved.
    reader_func: makes the dataset of the elements of a dataset of the shards' datasets; None: takes
      an element from each shard in turn.

  Raises:
    NotFoundError: where element_spec is None and nothing was saved in `path`.
  """
  element = _read_spec(path) if element_spec is None else element_spec
  made = traced(reader_func or _in_turns, 'load', DatasetSpec(DatasetSpec(element)))
  variant = apply_op('LoadDataset', path=path, reader_func_other_args=made.captured,
                     reader_func=made.name, compression=_compression(compression),
                     **elements.described(element))
  return Dataset(variant, element)


# ---- Snapshots ----------------------------------------------------------------------------------

def _described(node, inputs):
  """What makes a node what it is: its operation, attributes and inputs, and not its name."""
  attributes = [(key, node.attr[key].SerializeToString()) for key in sorted(node.attr)]
  return repr((node.op, attributes, inputs)).encode()


def _functions_in(nodes):
  """The names of functions in the attributes of nodes, and of operations, which may be some."""
  for node in nodes:
    yield node.op
    for value in node.attr.values():
      if value.WhichOneof('value') == 'func':
        yield value.func.name
      for function in value.list.func:
        yield function.name


def _fingerprint(variant):
  """A number that tells the operations apart that make a dataset, with all that they are made of.
  Values that are fed play no part."""
  import hashlib
  digest, places, pending = hashlib.sha256(), {}, [variant.op]
  while pending:
    op = pending.pop()
    if op not in places:
      places[op] = len(places)
      pending += [i.op for i in op.inputs]
  nodes = [op.node_def for op in places]
  for op, node in zip(places, nodes):
    digest.update(_described(node, [(places[i.op], i.value_index) for i in op.inputs]))
  library = {f.signature.name: f for f in variant.graph.as_graph_def().library.function}
  seen, wanted = set(), list(_functions_in(nodes))
  while wanted:
    name = wanted.pop()
    if name in library and name not in seen:
      seen.add(name)
      wanted += _functions_in(library[name].node_def)
  for name in sorted(seen):
    function = library[name]
    digest.update(repr((name, sorted(function.ret.items()))).encode())
    for node in function.node_def:
      digest.update(_described(node, (node.name, list(node.input))))
  return int.from_bytes(digest.digest()[:8], 'little') >> 1


def _by_turns(index, unused_element):
  import os
  return index % (os.cpu_count() or 1)


@export('data.experimental.snapshot')
def snapshot(path, compression='AUTO', reader_func=None, shard_func=None):
  """For Dataset.apply: the first pass over the elements writes them to files below the directory
  `path`, and later passes, of other programs too, read them there in place of making them.

  Args:
    path: a string.
    compression: None, 'GZIP', 'SNAPPY', or 'AUTO', which is SNAPPY.
    reader_func: makes the dataset of the elements of a dataset of the shards' datasets; None: takes
      an element from each shard in turn.
    shard_func: gives for an element the number, an int64 scalar, of the shard that holds it; None:
      one after the other, as many as there are processors.
  """
  compression = 'SNAPPY' if compression == 'AUTO' else _compression(compression)

  def apply(dataset):
    source = dataset.enumerate() if shard_func is None else dataset
    sharding = traced(shard_func or _by_turns, 'snapshot', source._element)
    reading = traced(reader_func or _in_turns, 'snapshot', DatasetSpec(
        DatasetSpec(source._element)))
    made = source._made(
        'SnapshotDatasetV2', path=path, reader_func_other_args=reading.captured,
        shard_func_other_args=sharding.captured, compression=compression,
        reader_func=reading.name, shard_func=sharding.name, hash_valid=True,
        hash=_fingerprint(source._variant))
    return made.map(lambda index, element: element) if shard_func is None else made
  return apply
