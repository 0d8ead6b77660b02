"""HParamDef, the message that hyperparameters are saved as. It belongs to contrib.training alone,
and the library has no descriptor of it; its fields are listed here in the library's form."""
from __future__ import annotations

from leat._graph import message, wire

_SCALARS = [('int64', 1), ('float', 2), ('bytes', 3), ('bool', 7)]
_LISTS = [('int64', 'Int64List', 4), ('float', 'FloatList', 5), ('bytes', 'BytesList', 6),
          ('bool', 'BoolList', 8)]


def hparam_def():
  """The class of the message."""
  outer = 'tensorflow.HParamDef'
  for kind, name, _ in _LISTS:
    label = 'repeated' if kind == 'bytes' else 'packed'
    wire.define('%s.%s' % (outer, name), [['value', 1, kind, label, None, -1]])
  wire.define(outer + '.HParamType', [
      [kind + '_value', number, kind, 'singular', None, 0] for kind, number in _SCALARS] + [
          [kind + '_list', number, 'message', 'singular', '%s.%s' % (outer, name), 0]
          for kind, name, number in _LISTS])
  wire.define(outer + '.hparam_entry', [
      ['key', 1, 'string', 'singular', None, -1],
      ['value', 2, 'message', 'singular', outer + '.HParamType', -1]])
  wire.define(outer, [['hparam', 1, 'message', 'map', outer + '.hparam_entry', -1]])
  return message.of('HParamDef')
