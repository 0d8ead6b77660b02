"""apply_op: an operation from values of Python, by the definition of its op.

Values become tensors; attributes that follow from them (types, numbers of inputs) are found; others
are checked and brought into the form that the library takes. What TensorFlow's programs rely on is
kept: the order in which inputs decide types, the names of constants, and the texts of errors.

Most operations take tensors only. They go to the library as they are, which checks them anyway
(_of_tensors); what it refuses, and all others, are looked at value by value (_of_values).
"""
from __future__ import annotations

from leat import _leat
from leat._graph import conversion
from leat._graph import definition as definitions
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.shape import TensorShape, as_shape
from leat._graph.tensor import Tensor


def apply_op(op_name, name=None, **values):
  """Adds an operation of `op_name` and gives its outputs: a tensor, a list, a named tuple, or the
  Operation where it has none."""
  op, definition = _make(op_name, name, values)
  return results(op, definition)


def make_op(op_name, name=None, **values):
  """The same; gives the Operation."""
  return _make(op_name, name, values)[0]


def results(op, definition):
  """The outputs of an operation as its wrapper gives them."""
  outputs = op.outputs_
  if not definition.outputs:
    return op
  if len(definition.outputs) == 1:
    return list(outputs) if definition.outputs[0].is_list else outputs[0]
  found, position = [], 0
  for argument in definition.outputs:
    if argument.is_list:
      count = op.output_length(argument.name)
      found.append(list(outputs[position:position + count]))
    else:
      count = 1
      found.append(outputs[position])
    position += count
  return _tuple_class(definition)(*found)


_tuple_classes = {}


def _tuple_class(definition):
  found = _tuple_classes.get(definition.name)
  if found is None:
    import collections
    found = _tuple_classes[definition.name] = collections.namedtuple(
        definition.name, [a.name for a in definition.outputs])
  return found


class _Inference:
  """What is known of the attributes while the inputs are converted."""

  def __init__(self, definition):
    self.definition = definition
    self.values = {}   # attribute -> DType, list of DType, int
    self.source = {}   # attribute -> the input that it follows from


def _make(op_name, name, values):
  graph = graphs.of_inputs(_flat(values.values()))
  try:
    definition = definitions.of(graph, op_name)
  except KeyError:
    raise RuntimeError('Unrecognized Op name ' + op_name) from None
  scope = graph._new_scope(name or op_name)
  op = _of_tensors(graph, definition, scope[:-1], values)
  if op is None:
    op = _of_values(graph, definition, scope, values)
  return op, definition


def _of_tensors(graph, definition, name, values):
  """The operation where all inputs are tensors already. None where something is to be converted or
  found out, and where the library refuses it: _of_values says then what is wrong."""
  if definition.takes_references or graph._is_function:
    return None
  inputs = []
  for argument in definition.inputs:
    value = values.get(argument.name)
    if argument.is_list:
      if not value or type(value) is not list or not all(type(v) is Tensor for v in value):
        return None
    elif type(value) is not Tensor:
      return None
    inputs.append(value)
  attributes = []
  if len(values) > len(inputs) or definition.needs_attributes or definition.has_container:
    attributes = _given_attributes(graph, definition, values)
    if attributes is None:
      return None
  try:
    return graph._add_or_refuse(definition.name, name, inputs, attributes)
  except _leat.StatusError:
    return None


def _of_values(graph, definition, scope, values):
  op_name = definition.name
  inference = _Inference(definition)
  # What `with graph.as_default(), graph.name_scope(...)` does, without its context managers: this
  # is done for every operation.
  stack, building = graphs._stack.graphs, graph._building
  outer, colocations, devices = building.scope, building.colocations, building.devices
  stack.append(graph)
  building.scope = scope
  try:
    inputs = []
    for argument in definition.inputs:
      key = argument.name
      if key not in values:
        if key + '_' not in values:
          raise TypeError('No argument for input %s found in %s' % (key, op_name))
        key += '_'
      value = values.pop(key)
      if argument.is_list:
        inputs.append(_list_input(inference, argument, value))
      else:
        inputs.append(_single_input(inference, argument, value))
    attributes = _attributes(graph, inference, values)
    if values:
      raise TypeError('%s got unexpected keyword arguments: %s' % (
          op_name, ', '.join(sorted(values))))
    referred = [i.op for a, i in zip(definition.inputs, inputs) if a.is_ref and not a.is_list]
    if referred:
      # What writes to a variable is placed where the variable is.
      building.colocations, building.devices = colocations + referred, []
    return graph._add(op_name, scope[:-1], inputs, attributes)
  finally:
    building.scope = outer
    building.colocations, building.devices = colocations, devices
    stack.pop()


def _flat(values):
  for value in values:
    if type(value) is list or type(value) is tuple:
      yield from value
    else:
      yield value


# ---- Inputs -------------------------------------------------------------------------------------


def _single_input(inference, argument, value):
  dtype, default = argument.type, None
  attribute = argument.type_attr
  if dtype is None and attribute:
    dtype = inference.values.get(attribute)
    default = inference.definition.default_types.get(attribute)
  try:
    tensor = _converted(inference, argument, value, dtype, default)
  except TypeError as error:
    if dtype is None:
      raise
    raise TypeError("Expected %s passed to parameter '%s' of op '%s', got %s of type '%s' instead. "
                    'Error: %s' % (dtype.name, argument.name, inference.definition.name,
                                   repr(value), type(value).__name__, error)) from None
  except ValueError:
    _explain_single(inference, argument, value, dtype)
    raise
  found = tensor.dtype
  if argument.is_ref and not found._is_ref_dtype:
    raise TypeError("'%s' Op requires that input '%s' be a mutable tensor (e.g.: a tf.Variable)" %
                    (inference.definition.name, argument.name))
  if argument.type is None and attribute:
    _infer_type(inference, argument, found.base_dtype)
  return tensor


def _converted(inference, argument, value, dtype, default):
  if dtype is None:
    allowed = inference.definition.by_name[argument.type_attr].allowed if argument.type_attr \
        else None
    if allowed and default is not None and not isinstance(value, Tensor):
      try:
        tensor = conversion.convert(value, None, argument.name, argument.is_ref)
        if tensor.dtype.base_dtype in allowed:
          return tensor
      except TypeError:
        pass
  return conversion.convert(value, dtype, argument.name, argument.is_ref, default)


def _explain_single(inference, argument, value, dtype):
  """Raises the error that says which types meet where they must be the same."""
  name = inference.definition.name
  try:
    observed = conversion.convert(value, as_ref=argument.is_ref).dtype.name
  except ValueError as error:
    raise ValueError("Tried to convert '%s' to a tensor and failed. Error: %s" %
                     (argument.name, error)) from None
  prefix = "Input '%s' of '%s' Op has type %s that does not match" % (argument.name, name, observed)
  if argument.type is not None:
    raise TypeError('%s expected type of %s.' % (prefix, dtype.name)) from None
  if argument.type_attr in inference.values:
    raise TypeError("%s type %s of argument '%s'." % (
        prefix, inference.values[argument.type_attr].name,
        inference.source[argument.type_attr])) from None


def _infer_type(inference, argument, dtype):
  attribute = argument.type_attr
  known = inference.values.get(attribute)
  if known is None:
    _check_allowed(dtype, inference.definition.by_name[attribute], argument.name)
    inference.values[attribute] = dtype
    inference.source[attribute] = argument.name
  elif known != dtype:
    raise TypeError("Input '%s' of '%s' Op has type %s that does not match type %s of argument "
                    "'%s'." % (argument.name, inference.definition.name, dtype.name, known.name,
                               inference.source[attribute]))


def _check_allowed(dtype, attribute, parameter):
  if attribute.allowed is not None and dtype not in attribute.allowed:
    raise TypeError("Value passed to parameter '%s' has DataType %s not in list of allowed values: "
                    '%s' % (parameter, dtype.name, ', '.join(d.name for d in attribute.allowed)))


def _list_input(inference, argument, values):
  definition = inference.definition
  if not isinstance(values, (list, tuple)):
    raise TypeError("Expected list for '%s' argument to '%s' Op, not %s." % (
        argument.name, definition.name, values))
  dtype, default = argument.type, None
  if dtype is None and argument.number_attr:
    dtype = inference.values.get(argument.type_attr)
    if dtype is None:
      for value in values:
        if hasattr(value, 'dtype') and isinstance(value.dtype, dtypes.DType):
          dtype = value.dtype
          break
    if dtype is None:
      default = definition.default_types.get(argument.type_attr)
  if dtype is not None and not argument.is_ref:
    dtype = dtype.base_dtype
  try:
    tensors = [conversion.convert(v, dtype, '%s_%d' % (argument.name, i), argument.is_ref, default)
               for i, v in enumerate(values)]
    bases = [t.dtype.base_dtype for t in tensors]
    if argument.number_attr and len(set(bases)) > 1:
      raise TypeError('Not all types matched for %s for %s. Got %s' % (
          argument.name, definition.name, set(bases)))
  except (TypeError, ValueError):
    _explain_list(inference, argument, values, dtype)
  if argument.is_ref and not all(t.dtype._is_ref_dtype for t in tensors):
    raise TypeError("'%s' Op requires that input '%s' be a mutable tensor (e.g.: a tf.Variable)" %
                    (definition.name, argument.name))
  if argument.number_attr:
    _infer_number(inference, argument, len(tensors))
    if argument.type_attr and bases:
      _infer_type(inference, argument, bases[0])
    elif argument.type_attr and argument.type_attr not in inference.values and \
        argument.type_attr not in definition.default_types:
      raise TypeError("Don't know how to infer type variable from empty input list passed to input "
                      "'%s' of '%s' Op." % (argument.name, definition.name))
  else:
    _infer_types(inference, argument, bases)
  return tensors


def _explain_list(inference, argument, values, dtype):
  observed = []
  for value in values:
    try:
      observed.append(conversion.convert(value, as_ref=argument.is_ref).dtype.base_dtype.name)
    except (TypeError, ValueError):
      observed.append('<NOT CONVERTIBLE TO TENSOR>')
  prefix = "Tensors in list passed to '%s' of '%s' Op have types [%s]" % (
      argument.name, inference.definition.name, ', '.join(observed))
  if not argument.number_attr:
    raise TypeError('%s that are invalid. Tensors: %s' % (prefix, values)) from None
  if argument.type is not None:
    raise TypeError('%s that do not match expected type %s.' % (prefix, dtype.name)) from None
  if argument.type_attr in inference.values:
    raise TypeError('%s that do not match type %s inferred from earlier arguments.' %
                    (prefix, dtype.name)) from None
  raise TypeError("%s that don't all match." % prefix) from None


def _infer_number(inference, argument, count):
  attribute, definition = argument.number_attr, inference.definition
  known = inference.values.get(attribute)
  if known is not None:
    if known != count:
      raise ValueError("List argument '%s' to '%s' Op with length %d must match length %d of "
                       "argument '%s'." % (argument.name, definition.name, count, known,
                                           inference.source[attribute]))
    return
  minimum = definition.by_name[attribute].minimum
  if minimum is not None and count < minimum:
    raise ValueError("List argument '%s' to '%s' Op with length %d shorter than minimum length %d."
                     % (argument.name, definition.name, count, minimum))
  inference.values[attribute] = count
  inference.source[attribute] = argument.name


def _infer_types(inference, argument, bases):
  attribute, definition = argument.type_list_attr, inference.definition
  known = inference.values.get(attribute)
  if known is not None and known != bases:
    raise TypeError("Input '%s' of '%s' Op has type list of %s that does not match type list %s of "
                    "argument '%s'." % (argument.name, definition.name,
                                        ', '.join(d.name for d in bases),
                                        ', '.join(d.name for d in known),
                                        inference.source[attribute]))
  for dtype in bases:
    _check_allowed(dtype, definition.by_name[attribute], argument.name)
  inference.values[attribute] = bases
  inference.source[attribute] = argument.name


# ---- Attributes ---------------------------------------------------------------------------------


def _attributes(graph, inference, values):
  """The attributes that the library does not find by itself, as (name, kind, value); takes what it
  uses out of `values`."""
  found = []
  definition = inference.definition
  for attribute in definition.attributes:
    name = attribute.name
    if name in inference.values:
      if name in values:
        raise TypeError("Should not specify value for inferred attr '%s' for %s." % (
            name, definition.name))
      if attribute.type == 'list(type)' or attribute.type == 'int':
        if attribute.type == 'int' and inference.values[name] == 0:
          continue
        if not inference.values[name]:
          found.append((name, 'lt', []))
      continue
    _take_attribute(graph, definition, attribute, values, found)
  return found


def _given_attributes(graph, definition, values):
  """The attributes that do not follow from inputs. None where `values` has more than inputs and
  them."""
  rest = {name: value for name, value in values.items() if name not in definition.input_names}
  found = []
  for attribute in definition.given:
    _take_attribute(graph, definition, attribute, rest, found)
  return None if rest else found


def _take_attribute(graph, definition, attribute, values, found):
  """Appends (name, kind, value) to `found`, if the attribute is in `values`, and takes it out."""
  name = attribute.name
  key = name if name in values else name + '_'
  if key in values:
    value = values.pop(key)
    if value is not None or attribute.default is None:
      found.append((name,) + attribute_value(definition.name, attribute, value))
  elif attribute.default is None:
    raise TypeError('No argument found for attribute %s' % name)
  elif name == 'container' and definition.stateful and graph._container:
    found.append((name, 's', graph._container.encode()))


def attribute_value(op_name, attribute, value):
  """(kind, value) of an attribute, checked against its definition."""
  kind = attribute.type
  if kind.startswith('list('):
    if not isinstance(value, (list, tuple)):
      if hasattr(value, '__iter__') and not isinstance(value, (str, bytes)):
        value = list(value)
      else:
        raise TypeError('Expected list for attr ' + attribute.name + ', obtained %s instead.' %
                        type(value).__name__)
    if attribute.minimum is not None and len(value) < attribute.minimum:
      raise ValueError("Attr '%s' of '%s' Op passed list of length %d less than minimum %d." %
                       (attribute.name, op_name, len(value), attribute.minimum))
    element = kind[5:-1]
    if element == 'func':
      return 'P', _function_list(value)
    letter, convert = _CONVERSIONS[element]
    items = [convert(v, attribute.name) for v in value]
    if attribute.allowed is not None:
      for item in items:
        _check_value(op_name, attribute, element, item)
    return 'l' + letter, items
  letter, convert = _CONVERSIONS[kind]
  item = convert(value, attribute.name)
  if type(item) is _Raw:
    return item.kind, item.value
  if kind == 'int' and attribute.minimum is not None and item < attribute.minimum:
    raise ValueError("Attr '%s' of '%s' Op passed %d less than minimum %d." %
                     (attribute.name, op_name, item, attribute.minimum))
  if attribute.allowed is not None:
    _check_value(op_name, attribute, kind, item)
  return letter, item


def _check_value(op_name, attribute, kind, item):
  if kind == 'type':
    _check_allowed(dtypes._by_number[item], attribute, attribute.name)
  elif item not in attribute.allowed:
    raise ValueError('Attr \'%s\' of \'%s\' Op passed string \'%s\' not in: "%s".' % (
        attribute.name, op_name, item.decode('utf-8', 'replace'),
        '", "'.join(a.decode() for a in attribute.allowed)))


class _Raw:
  """An attribute in another form than its type's."""

  def __init__(self, kind, value):
    self.kind, self.value = kind, value


def _string(value, name):
  if isinstance(value, str):
    return value.encode()
  if isinstance(value, (bytes, bytearray)):
    return bytes(value)
  raise TypeError("Expected string for argument '%s' not %s." % (name, repr(value)))


def _integer(value, name):
  if isinstance(value, str):
    raise TypeError("Expected int for argument '%s' not %s." % (name, repr(value)))
  try:
    return int(value)
  except (TypeError, ValueError):
    raise TypeError("Expected int for argument '%s' not %s." % (name, repr(value))) from None


def _float(value, name):
  if isinstance(value, str):
    raise TypeError("Expected float for argument '%s' not %s." % (name, repr(value)))
  try:
    return float(value)
  except (TypeError, ValueError):
    raise TypeError("Expected float for argument '%s' not %s." % (name, repr(value))) from None


def _bool(value, name):
  if type(value) is bool or type(value).__name__ in ('bool_', 'bool'):
    return bool(value)
  raise TypeError("Expected bool for argument '%s' not %s." % (name, repr(value)))


def _type(value, name):
  try:
    return dtypes.as_dtype(value).base_dtype._number
  except TypeError:
    raise TypeError("Expected DataType for argument '%s' not %s." % (name, repr(value))) from None


def _shape(value, name):
  if type(value) is TensorShape:
    return value._sizes()
  try:
    return as_shape(value)._sizes()
  except TypeError as error:
    raise TypeError('Error converting %s to a TensorShape: %s' % (name, error)) from None
  except ValueError as error:
    raise ValueError('Error converting %s to a TensorShape: %s' % (name, error)) from None


def _tensor(value, name):
  from leat import _leat
  from leat._graph import value as values
  if isinstance(value, _leat.Value):
    return value
  if hasattr(value, 'tensor_shape'):
    return values.of_proto(value)
  raise TypeError("Don't know how to convert %s to a TensorProto for argument '%s'." % (
      repr(value), name))


def _function(value, name):
  if isinstance(value, str):
    return value.encode()
  if hasattr(value, 'add_to_graph'):
    value.add_to_graph(graphs.get_default_graph())
    return value.name.encode()
  if hasattr(value, 'attr') and hasattr(value, 'name'):  # a NameAttrList
    from leat._graph import message
    attribute = message.of('AttrValue')()
    attribute.func.CopyFrom(value)
    return _Raw('P', attribute.SerializeToString())
  raise TypeError("Don't know how to convert %s to a func for argument %s" % (value, name))


def _function_list(values):
  from leat._graph import message
  attribute = message.of('AttrValue')()
  for value in values:
    item = attribute.list.func.add()
    if hasattr(value, 'attr') and not hasattr(value, 'add_to_graph'):
      item.CopyFrom(value)
    else:
      item.name = _function(value, '').decode()
  return attribute.SerializeToString()


_CONVERSIONS = {'string': ('s', _string), 'int': ('i', _integer), 'float': ('f', _float),
                'bool': ('b', _bool), 'type': ('t', _type), 'shape': ('h', _shape),
                'tensor': ('v', _tensor), 'func': ('n', _function)}
