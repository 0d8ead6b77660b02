"""contrib.slim.model_analyzer: how large a model is."""
from __future__ import annotations

from leat._export import export


@export('contrib.slim.model_analyzer.tensor_description')
def tensor_description(var):
  """'(float32_ref 3x4)': the type and the sizes of a variable or tensor, whose rank must be
  known."""
  text = '(' + str(var.dtype.name) + ' '
  sizes = var.get_shape().as_list()
  text += 'x'.join(str(n) for n in sizes) + ')'
  return text


@export('contrib.slim.model_analyzer.analyze_ops')
def analyze_ops(graph, print_info=False):
  """The number of elements that all operations of a graph with known shapes give, which are printed
  if asked for."""
  if print_info:
    print('---------')
    print('Operations: name -> (type shapes) [size]')
    print('---------')
  total = 0
  for op in graph.get_operations():
    own, shapes = 0, []
    for output in op.outputs:
      known = output.get_shape()
      size = known.num_elements() if known.is_fully_defined() else 0
      own += size
      if known.ndims is not None:
        shapes.append(tensor_description(output))
    if print_info:
      print(op.name, '\t->', ', '.join(shapes), '[' + str(own) + ']')
    total += own
  return total


@export('contrib.slim.model_analyzer.analyze_vars')
def analyze_vars(variables, print_info=False):
  """(elements, bytes) of all variables, which are printed if asked for."""
  if print_info:
    print('---------')
    print('Variables: name (type shape) [size]')
    print('---------')
  total_size = total_bytes = 0
  for var in variables:
    size = var.get_shape().num_elements() or 0
    own_bytes = size * var.dtype.base_dtype.size
    total_size += size
    total_bytes += own_bytes
    if print_info:
      print(var.name, tensor_description(var), '[%d, bytes: %d]' % (size, own_bytes))
  if print_info:
    print('Total size of variables: %d' % total_size)
    print('Total bytes of variables: %d' % total_bytes)
  return total_size, total_bytes
