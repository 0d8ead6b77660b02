"""Warm starts: variables that begin with those of another run, also where a vocabulary, after which
their rows or columns are ordered, has changed since."""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of
from leat._graph.scope import GraphKeys
from leat._ops import array, assign, initializers, variables
from leat._train import checkpoint_reader


@export('train.VocabInfo')
class VocabInfo(collections.namedtuple('VocabInfo', [
    'new_vocab', 'new_vocab_size', 'num_oov_buckets', 'old_vocab', 'old_vocab_size',
    'backup_initializer', 'axis'])):
  """Two vocabularies, files with a word on each line, and the axis (0 or 1) of a matrix that they
  order. Rows of new words and of out-of-vocabulary buckets begin with backup_initializer, zeros
  where it is None."""
  __slots__ = ()

  def __new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size=-1,
              backup_initializer=None, axis=0):
    if axis not in (0, 1):
      raise ValueError('The only supported values for the axis argument are 0 and 1.  Provided '
                       'axis: %s' % (axis,))
    return super().__new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab,
                           old_vocab_size, backup_initializer, axis)


@export('train.warm_start')
def warm_start(ckpt_to_initialize_from, vars_to_warm_start='.*', var_name_to_vocab_info=None,
               var_name_to_prev_var_name=None):
  """Lets variables of the default graph begin with values of a checkpoint.

  vars_to_warm_start is a regular expression for trainable variables, a list of those for all
  variables, a list of variables, or None for only those of var_name_to_vocab_info. Variables have
  the same name in the checkpoint unless var_name_to_prev_var_name says another.
  """
  vocabularies = dict(var_name_to_vocab_info or {})
  renamed = dict(var_name_to_prev_var_name or {})
  used = set()
  for name, parts in sorted(_grouped(vars_to_warm_start).items()):
    source = renamed.get(name, name)
    if name in vocabularies:
      _remap(parts, ckpt_to_initialize_from, source, vocabularies[name])
    elif vars_to_warm_start:
      checkpoint_reader.init_from_checkpoint(ckpt_to_initialize_from, {
          source: parts[0] if len(parts) == 1 else parts})
    else:
      continue
    used.add(name)
  _check_used(renamed, used, 'var_name_to_prev_var_name')
  _check_used(vocabularies, used, 'var_name_to_vocab_info')


def _check_used(given, used, what):
  unused = sorted(set(given) - used)
  if unused:
    raise ValueError('You provided the following vars in %s, but they were not used: %s' % (what,
                                                                                            unused))


def _grouped(wanted):
  """{name: [the variable, or its parts]}."""
  graph = graphs.get_default_graph()
  if wanted is None or isinstance(wanted, str):
    found = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=wanted)
  elif isinstance(wanted, (list, tuple)) and all(isinstance(w, str) for w in wanted):
    found = [v for w in wanted for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=w)]
  elif isinstance(wanted, (list, tuple)) and all(
      isinstance(w, variables.Variable) or hasattr(w, '_get_variable_list') for w in wanted):
    found = [v for w in wanted
             for v in (w._get_variable_list() if hasattr(w, '_get_variable_list') else [w])]
  else:
    raise ValueError('If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  '
                     'Given types are %s' % (wanted,))
  groups = {}
  for v in found:
    info = v._get_save_slice_info()
    parts = groups.setdefault(info.full_name if info is not None else v.op.name, [])
    if v not in parts:
      parts.append(v)
  return groups


def _remap(parts, folder, source, vocabulary):
  """Sets the initializers of a matrix, or of its parts along the rows, to the rows or columns that
  the words have in a checkpoint."""
  prefix = checkpoint_reader._checkpoint_of(folder)
  for part in parts:
    info = part._get_save_slice_info()
    offset = info.var_offset[0] if info is not None else 0
    value = remapped(prefix, source, part.get_shape().as_list(), offset, vocabulary)
    part._initializer = assign.assign(part, value).op


def remapped(prefix, name, shape, offset, vocabulary):
  """A matrix [rows, columns] of float32: the rows from `offset` on of the matrix `name` in a
  checkpoint, whose rows (axis 0) or columns are put into the order of the new vocabulary."""
  if len(shape) != 2:
    raise ValueError('a variable with a vocabulary must be a matrix, but %s has the shape %s' % (
        name, shape))
  make = vocabulary.backup_initializer or initializers.zeros_initializer()
  rows, columns = shape
  if vocabulary.axis == 0:
    known = max(0, min(rows, vocabulary.new_vocab_size - offset))   # the rest are buckets
    places, present = _remapping(vocabulary, offset, known)
    missing, columns_of = (known - present) * columns, constant_of([], dtypes.int64)
    shape_found = known, columns
  else:
    known = vocabulary.new_vocab_size
    columns_of, present = _remapping(vocabulary, 0, known)
    places = constant_of(list(range(offset, offset + rows)), dtypes.int64)
    missing, shape_found = rows * (known - present), (rows, known)
  found = apply_op('LoadAndRemapMatrix', ckpt_path=prefix, old_tensor_name=name,
                   row_remapping=places, col_remapping=columns_of,
                   initializing_values=make(array.reshape(missing, [1]), dtype=dtypes.float32),
                   num_rows=shape_found[0], num_cols=shape_found[1])
  buckets = [rows - shape_found[0], columns - shape_found[1]]
  if buckets[0]:
    found = array.concat([found, make([buckets[0], columns], dtype=dtypes.float32)], 0)
  if buckets[1]:
    found = array.concat([found, make([rows, buckets[1]], dtype=dtypes.float32)], 1)
  return found


def _remapping(vocabulary, offset, count):
  """(for each of `count` new words from `offset` on its old number or -1, how many have one)."""
  return apply_op('GenerateVocabRemapping', new_vocab_file=vocabulary.new_vocab,
                  old_vocab_file=vocabulary.old_vocab, new_vocab_offset=offset,
                  num_new_vocab=count, old_vocab_size=vocabulary.old_vocab_size)
