"""Moving blocks of space into the batch or the depth, and back."""
from __future__ import annotations

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array


@export('space_to_batch')
def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
  """Cuts height and width into blocks, and moves the places of a block into the batch.

  input [batch, height, width, depth] is padded with zeros by `paddings`, [[top, bottom], [left,
  right]], to multiples of block_size; the result is [batch * block_size^2, height / block_size,
  width / block_size, depth]. A block_shape that is a list takes any number of dimensions, as
  space_to_batch_nd does.
  """
  n = block_size if block_shape is None else block_shape
  result = apply_op('SpaceToBatchND', name=name, input=input, paddings=paddings,
                    block_shape=conversion.constant_of([n, n]) if isinstance(n, int) else n)
  return _of_images(result, n)


@export('batch_to_space')
def batch_to_space(input, crops, block_size, name=None, block_shape=None):
  """Puts the blocks of space_to_batch together again, and cuts `crops`, [[top, bottom], [left,
  right]], off: [batch * block_size^2, height, width, depth] becomes [batch, height * block_size -
  crops, width * block_size - crops, depth]."""
  n = block_size if block_shape is None else block_shape
  result = apply_op('BatchToSpaceND', name=name, input=input, crops=crops,
                    block_shape=conversion.constant_of([n, n]) if isinstance(n, int) else n)
  return _of_images(result, n)


def _of_images(tensor, block_size):
  """The tensor, which has four dimensions where one size of blocks is for height and width."""
  if isinstance(block_size, int):
    tensor.set_shape([None] * 4)
  return tensor


@export('space_to_depth', 'nn.space_to_depth')
def space_to_depth(input, block_size, name=None, data_format='NHWC'):
  """Moves each block of block_size * block_size places into the depth: [batch, height, width,
  depth] becomes [batch, height / block_size, width / block_size, depth * block_size^2]."""
  return apply_op('SpaceToDepth', name=name, input=input, block_size=block_size,
                  data_format=data_format)


@export('depth_to_space', 'nn.depth_to_space')
def depth_to_space(input, block_size, name=None, data_format='NHWC'):
  """Spreads the depth over blocks of block_size * block_size places: [batch, height, width, depth]
  becomes [batch, height * block_size, width * block_size, depth / block_size^2]."""
  return apply_op('DepthToSpace', name=name, input=input, block_size=block_size,
                  data_format=data_format)


@export('required_space_to_batch_paddings')
def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
  """(paddings, crops) that make sizes multiples of block_shape."""
  import numpy as np
  with name_scope(name, 'required_space_to_batch_paddings', [input_shape, block_shape]):
    input_shape = convert(input_shape, dtypes.int32, 'input_shape')
    block_shape = convert(block_shape, dtypes.int32, 'block_shape')
    blocks = block_shape.get_shape()[0].value
    if base_paddings is not None:
      base_paddings = convert(base_paddings, dtypes.int32, 'base_paddings')
    else:
      base_paddings = array.zeros([blocks, 2], dtypes.int32)
    known = [constant_value(t) for t in (input_shape, block_shape, base_paddings)]
    if all(k is not None for k in known):
      input_shape, block_shape, base_paddings = known
      start, end = base_paddings[:, 0], base_paddings[:, 1]
      extra = (block_shape - (input_shape + start + end) % block_shape) % block_shape
      paddings = np.stack([start, end + extra], 1)
      crops = np.stack([np.zeros_like(extra), extra], 1)
      return (conversion.constant_of(paddings, name='paddings'),
              conversion.constant_of(crops, name='crops'))
    start, end = base_paddings[:, 0], base_paddings[:, 1]
    extra = (block_shape - (input_shape + start + end) % block_shape) % block_shape
    return (array.stack([[start[i], end[i] + extra[i]] for i in range(blocks)], name='paddings'),
            array.stack([[0, extra[i]] for i in range(blocks)], name='crops'))
