"""How many floating-point operations a node takes, by the shapes of its inputs and outputs.

The counts are TensorFlow's: a multiplication that is added counts as two, a comparison as one. A
node with a shape that is not known, or with an op that is not listed, counts nothing.
"""
from __future__ import annotations

import math


def count(op, shape_of=lambda tensor: tensor.shape_):
  """The number of an Operation; shape_of(tensor) gives the sizes, None or -1 where unknown."""
  function = _FORMULAS.get(op.type)
  if function is None:
    return 0
  shapes = [shape_of(t) for t in op.inputs], [shape_of(t) for t in op.outputs]
  if any(s is None or min(s, default=0) < 0 for part in shapes for s in part):
    return 0
  return int(function(op, *shapes))


def _each(number):
  """|number| operations for each element of the result."""
  return lambda op, inputs, outputs: number * math.prod(outputs[0])


def _reduction(last):
  """One operation for each element, and |last| for each result in place of its first."""
  return lambda op, inputs, outputs: math.prod(inputs[0]) + (last - 1) * math.prod(outputs[0])


def _product(op, inputs, outputs):
  transposed = op.get_attr('transpose_a' if op.type == 'MatMul' else 'adj_x')
  return 2 * inputs[0][-2 if transposed else -1] * math.prod(outputs[0])


def _window(op):
  """The size of a pool's window."""
  return math.prod(op.get_attr('ksize'))


def _filtered(op, inputs, outputs):
  """Each result is a sum over a filter, without its last dimension."""
  return 2 * math.prod(outputs[0]) * math.prod(inputs[1][:-1])


def _filtered_by_channel(op, inputs, outputs):
  return 2 * math.prod(outputs[0]) * math.prod(inputs[1][:2])


def _back(of_image, of_filter):
  """A derivative of a convolution: as many operations as the convolution took. The arguments find
  the shapes of the image and of the filter, of which one is the input and one the result."""
  def function(op, inputs, outputs):
    image, kernel = of_image(inputs, outputs), of_filter(inputs, outputs)
    places = math.prod(image) // image[-1] // math.prod(op.get_attr('strides'))
    return 2 * places * math.prod(kernel)
  return function


_FORMULAS = {
    'AddN': lambda op, inputs, outputs: (len(inputs) - 1) * math.prod(inputs[0]),
    'ArgMax': _reduction(0), 'ArgMin': _reduction(0), 'BiasAddGrad': _reduction(0),
    'Mean': _reduction(1), 'Sum': _reduction(0),
    'L2Loss': lambda op, inputs, outputs: 3 * math.prod(inputs[0]) - 1,
    'MatMul': _product, 'BatchMatMul': _product, 'BatchMatMulV2': _product,
    'BatchMatMulV3': _product,
    'AvgPool': lambda op, inputs, outputs: _window(op) * math.prod(outputs[0]),
    'MaxPool': lambda op, inputs, outputs: _window(op) * math.prod(outputs[0]),
    'AvgPoolGrad': lambda op, inputs, outputs: 2 * _window(op) * math.prod(inputs[1]),
    'MaxPoolGrad': lambda op, inputs, outputs: (
        _window(op) * math.prod(inputs[1]) + math.prod(inputs[2])),
    'Conv2D': _filtered, 'Conv3D': _filtered, 'DepthwiseConv2dNative': _filtered_by_channel,
    'Dilation2D': _filtered_by_channel,
    'Conv2DBackpropInput': _back(lambda i, o: o[0], lambda i, o: i[1]),
    'Conv2DBackpropFilter': _back(lambda i, o: i[0], lambda i, o: o[0]),
}
for _name in ('Add AddV2 AssignAdd AssignSub BiasAdd Equal Greater GreaterEqual Less LessEqual Log '
              'Maximum Minimum Mul Neg NotEqual Pow RealDiv Reciprocal Square Sub').split():
  _FORMULAS[_name] = _each(1)
for _name, _number in (('Rsqrt', 2), ('SquaredDifference', 2), ('RsqrtGrad', 4), ('Softmax', 5)):
  _FORMULAS[_name] = _each(_number)
