"""tf.raw_ops: a function for each op of the library, under the op's own name.

The functions are made when they are first asked for, of the op's definition, which the library
gives; `load_op_library` brings more. They take their arguments by name. The wrappers that are
public under a name of their own (`tf.less`) are the same functions with positional arguments, in
TensorFlow's order, which endpoints.txt says where it does not follow from the definition.
"""
from __future__ import annotations

from leat import _leat
from leat import _namespace


def _parameters(op, definition):
  """[(parameter, argument of the op, default)]."""
  text = _namespace._names().PARAMETERS.get(op)
  found = definition.parameters()
  if text is None:
    return [(name, name, default) for name, default in found]
  defaults = dict(found)
  result = []
  for word in text.split(','):
    parameter, _, argument = word.partition('=')
    argument = argument or parameter
    result.append((parameter, argument, defaults.get(argument)))
  return result


def _plain(default):
  """The default of an attribute as a program would write it."""
  kind, value = default
  if kind == 't':
    from leat._graph import dtype
    return dtype.as_dtype(value)
  if kind == 'lt':
    from leat._graph import dtype
    return [dtype.as_dtype(v) for v in value]
  if kind == 's':
    return value.decode('utf-8', 'replace')
  if kind == 'ls':
    return [v.decode('utf-8', 'replace') for v in value]
  return value


def wrapper(op, name=None):
  """The function for an op; with `name` its arguments may be positional."""
  from leat._graph import apply
  from leat._graph import definition as definitions
  definition = definitions.of(None, op)
  parameters = _parameters(op, definition)
  order = [p for p, _, _ in parameters] + ['name']
  arguments = {p: a for p, a, _ in parameters}
  required = [p for p, _, default in parameters if default is None]
  positional = name is not None

  def call(*values, **named):
    if values:
      if not positional:
        raise TypeError('%s only takes keyword args (possible keys: %s). Please pass these args as '
                        'kwargs instead.' % (op, order))
      if len(values) > len(order):
        raise TypeError('%s() takes %d positional arguments but %d were given' %
                        (call.__name__, len(order), len(values)))
      for parameter, value in zip(order, values):
        if parameter in named:
          raise TypeError("%s() got multiple values for argument '%s'" %
                          (call.__name__, parameter))
        named[parameter] = value
    own = named.pop('name', None)
    for parameter in required:
      if parameter not in named:
        raise TypeError("%s() missing required argument '%s'" % (call.__name__, parameter))
    given = {}
    for parameter, value in named.items():
      argument = arguments.get(parameter)
      if argument is None:
        raise TypeError("%s() got an unexpected keyword argument '%s'" %
                        (call.__name__, parameter))
      given[argument] = value
    return apply.apply_op(op, own, **given)
  call.__name__ = call.__qualname__ = name or op
  call.__module__ = 'leat.raw_ops'
  call.__doc__ = _document(definition, parameters)
  call._leat_parameters = parameters
  _sign(call, parameters, positional)
  return call


def _sign(call, parameters, positional):
  """inspect.signature of the wrapper; made when it is looked at."""
  words = [p if d is None else '%s=%r' % (p, _plain(d)) for p, _, d in parameters] + ['name=None']
  call.__text_signature__ = '(%s)' % ', '.join(words if positional else ['*'] + words)


def _document(definition, parameters):
  from leat._op_summaries import summary_of
  lines = [definition.summary or summary_of(definition.name), '', 'Args:']
  by_name = {a.name: a for a in definition.inputs}
  for parameter, argument, default in parameters:
    if argument in by_name:
      lines.append('  %s: a tensor%s.' % (parameter, _type_text(definition, by_name[argument])))
    else:
      attribute = definition.by_name[argument]
      lines.append('  %s: %s%s.' % (
          parameter, attribute.type, '' if default is None else ', %r where it is left out' %
          (_plain(default),)))
  lines += ['  name: of the operation.', '', 'Returns:']
  for a in definition.outputs:
    lines.append('  %s: a tensor%s.' % (a.name, _type_text(definition, a)))
  if not definition.outputs:
    lines.append('  The operation.')
  return '\n'.join(lines)


def _type_text(definition, argument):
  if argument.type is not None:
    text = ' of type ' + argument.type.name
  elif argument.type_attr:
    allowed = definition.by_name[argument.type_attr].allowed
    text = ' of type %s' % argument.type_attr
    if allowed:
      text += ' (%s)' % ', '.join(d.name for d in allowed)
  else:
    return ' for each of ' + argument.type_list_attr
  return ' for each of %s,%s' % (argument.number_attr, text) if argument.number_attr else text


def __getattr__(name):
  if name.startswith('_'):
    raise AttributeError(name)
  try:
    function = wrapper(name)
  except KeyError:
    raise AttributeError("leat.raw_ops has no op '%s'" % name) from None
  globals()[name] = function
  return function


def _all_ops():
  import json
  return [op['name'] for op in json.loads(_leat.ops_json())]


def __dir__():
  return [name for name in _all_ops() if not name.startswith('_')]
