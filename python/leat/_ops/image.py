"""tf.image: crops, pads and turns of images.

An image is [height, width, channels], a batch of images [batch, height, width, channels]. Sizes
that are known while the graph is built stay numbers, and what is wrong with them is a ValueError
there; others are tensors, and an Assert checks them in the step. `image_resize`, `image_colors`,
`image_similarity`, `bounding_boxes` and `image_files` have the rest of tf.image.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._ops import array, checks, control_flow, math, random


def is_tensor(value):
  return isinstance(value, _leat.Output)


def static(size):
  """The size of a shape: None where it is a tensor."""
  return None if is_tensor(size) else size


def either_size(op, a, b):
  """The Maximum or Minimum of two sizes, each a number or a tensor."""
  if is_tensor(a) or is_tensor(b):
    return apply_op(op, x=a, y=b)
  return (max if op == 'Maximum' else min)(a, b)


def requirement(condition, message):
  """[an Assert] of a tensor; ValueError where the condition is False."""
  if is_tensor(condition):
    return [control_flow.Assert(condition, [message])]
  if not condition:
    raise ValueError(message)
  return []


def held(image, assertions):
  """The image, after the assertions."""
  if not assertions:
    return image
  with control_dependencies(assertions):
    return array.identity(image)


def sizes_of(image, rank):
  """The sizes as numbers, or tensors where they are not known."""
  known = image.get_shape()
  if known.is_fully_defined():
    return known.as_list()
  known = known.with_rank(rank).as_list()
  dynamic = array.unstack(array.shape(image), rank)
  return [d if k is None else k for k, d in zip(known, dynamic)]


def check_at_least_3d(image):
  """Assertions that the image has three dimensions, of which the last three are not empty."""
  known = image.get_shape()
  if known.ndims is not None and known.ndims < 3:
    raise ValueError("'image' (shape %s) must be at least three-dimensional." % known)
  if known.ndims is not None and None not in known.as_list()[-3:]:
    if 0 in known.as_list()[-3:]:
      raise ValueError("inner 3 dims of 'image.shape' must be > 0: %s" % known)
    return []
  positive = checks.assert_positive(
      array.shape(image)[-3:], ["inner 3 dims of 'image.shape' must be > 0."])
  if known.ndims is not None:
    return [positive]
  return [positive, checks.assert_greater_equal(
      array.rank(image), 3, message="'image' must be at least three-dimensional.")]


def as_batch(image):
  """(the image as a batch, whether it was one)."""
  rank = image.get_shape().ndims
  if rank == 4:
    return image, True
  if rank not in (None, 3):
    raise ValueError("'image' (shape %s) must have either 3 or 4 dimensions." % image.get_shape())
  batch = array.expand_dims(image, 0)
  if rank is None:
    batch.set_shape([None] * 4)
  return batch, False


# ---- Crops and pads -----------------------------------------------------------------------------


@export('image.crop_to_bounding_box')
def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
  """The part of the image that begins at the offsets and has the target's size."""
  with name_scope(None, 'crop_to_bounding_box', [
      image, offset_height, offset_width, target_height, target_width]):
    image, batched = as_batch(convert(image, name='image'))
    assertions = check_at_least_3d(image)
    batch, height, width, depth = sizes_of(image, 4)
    assertions += requirement(offset_width >= 0, 'offset_width must be >= 0.')
    assertions += requirement(offset_height >= 0, 'offset_height must be >= 0.')
    assertions += requirement(target_width > 0, 'target_width must be > 0.')
    assertions += requirement(target_height > 0, 'target_height must be > 0.')
    assertions += requirement(width >= target_width + offset_width,
                              'width must be >= target + offset.')
    assertions += requirement(height >= target_height + offset_height,
                              'height must be >= target + offset.')
    image = held(image, assertions)
    cropped = array.slice(image, array.stack([0, offset_height, offset_width, 0]),
                          array.stack([-1, target_height, target_width, -1]))
    cropped.set_shape([static(s) for s in (batch, target_height, target_width, depth)])
    return cropped if batched else array.squeeze(cropped, [0])


@export('image.pad_to_bounding_box')
def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
  """An image of the target's size, of zeros, with this image at the offsets."""
  with name_scope(None, 'pad_to_bounding_box', [
      image, offset_height, offset_width, target_height, target_width]):
    image, batched = as_batch(convert(image, name='image'))
    assertions = check_at_least_3d(image)
    batch, height, width, depth = sizes_of(image, 4)
    below = target_height - offset_height - height
    right = target_width - offset_width - width
    assertions += requirement(offset_height >= 0, 'offset_height must be >= 0')
    assertions += requirement(offset_width >= 0, 'offset_width must be >= 0')
    assertions += requirement(right >= 0, 'width must be <= target - offset')
    assertions += requirement(below >= 0, 'height must be <= target - offset')
    image = held(image, assertions)
    paddings = array.reshape(array.stack(
        [0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2])
    padded = array.pad(image, paddings)
    padded.set_shape([static(s) for s in (batch, target_height, target_width, depth)])
    return padded if batched else array.squeeze(padded, [0])


@export('image.resize_image_with_crop_or_pad', 'image.resize_with_crop_or_pad')
def resize_image_with_crop_or_pad(image, target_height, target_width):
  """The image in the target's size: cut off or filled with zeros at both sides alike."""
  with name_scope(None, 'resize_image_with_crop_or_pad', [image, target_height, target_width]):
    image, batched = as_batch(convert(image, name='image'))
    assertions = check_at_least_3d(image)
    assertions += requirement(target_width > 0, 'target_width must be > 0.')
    assertions += requirement(target_height > 0, 'target_height must be > 0.')
    image = held(image, assertions)
    target_height, target_width = [_after(s, assertions) for s in (target_height, target_width)]
    _, height, width, _ = sizes_of(image, 4)
    more_height, more_width = target_height - height, target_width - width
    cropped = crop_to_bounding_box(
        image, either_size('Maximum', -more_height // 2, 0),
        either_size('Maximum', -more_width // 2, 0),
        either_size('Minimum', target_height, height), either_size('Minimum', target_width, width))
    resized = pad_to_bounding_box(
        cropped, either_size('Maximum', more_height // 2, 0),
        either_size('Maximum', more_width // 2, 0), target_height, target_width)
    if resized.get_shape().ndims is None:
      raise ValueError('resized contains no shape.')
    return resized if batched else array.squeeze(resized, [0])


def _after(size, assertions):
  return held(size, assertions) if is_tensor(size) else size


@export('image.central_crop')
def central_crop(image, central_fraction):
  """The middle of the image, with the fraction of its height and width."""
  with name_scope(None, 'central_crop', [image]):
    image = convert(image, name='image')
    if not is_tensor(central_fraction):
      if central_fraction <= 0.0 or central_fraction > 1.0:
        raise ValueError('central_fraction must be within (0, 1], is %s' % central_fraction)
      if central_fraction == 1.0:
        return image
    assertions = check_at_least_3d(image)
    rank = image.get_shape().ndims
    if rank not in (3, 4):
      raise ValueError('`image` should either be a Tensor with rank = 3 or rank = 4. '
                       'Had rank = %s.' % rank)
    if is_tensor(central_fraction):
      assertions.append(control_flow.Assert(
          apply_op('LogicalAnd', x=central_fraction > 0.0, y=central_fraction <= 1.0),
          ['central_fraction must be within (0, 1]', central_fraction]))
    image = held(image, assertions)
    sizes = sizes_of(image, rank)
    starts = [_central_start(s, central_fraction) for s in sizes[-3:-1]]
    kept = [s - 2 * start for s, start in zip(sizes[-3:-1], starts)]
    ahead = [0] * (rank - 3)
    cropped = array.slice(image, array.stack(ahead + starts + [0]),
                          array.stack([-1] * (rank - 3) + kept + [-1]))
    cropped.set_shape([static(s) for s in sizes[:rank - 3] + kept + sizes[-1:]])
    return cropped


def _central_start(size, fraction):
  if is_tensor(size) or is_tensor(fraction):
    size, fraction = math.cast(size, dtypes.float64), math.cast(fraction, dtypes.float64)
    return math.cast((size - size * fraction) / 2, dtypes.int32)
  return int((size - size * fraction) / 2)


# ---- Turns --------------------------------------------------------------------------------------


def _by_rank(image, of_image, of_batch):
  """What is done with an image, or with a batch of them, where the rank may be known only in the
  step."""
  rank = image.get_shape().ndims
  if rank == 3:
    return of_image(image)
  if rank == 4:
    return of_batch(image)
  if rank is not None:
    raise ValueError("'image' (shape %s) must have either 3 or 4 dimensions." % image.get_shape())
  return control_flow.cond(math.equal(array.rank(image), 3), lambda: of_image(image),
                           lambda: of_batch(image))


def _reversed(axis):
  return lambda image: apply_op('ReverseV2', tensor=image, axis=[axis])


def _flip(image, axis, default_name):
  with name_scope(None, default_name, [image]):
    image = convert(image, name='image')
    image = held(image, check_at_least_3d(image))
    flipped = _by_rank(image, _reversed(axis), _reversed(axis + 1))
    flipped.set_shape(image.get_shape())
    return flipped


@export('image.flip_left_right')
def flip_left_right(image):
  """The columns in the opposite order, of an image or of each of a batch."""
  return _flip(image, 1, 'flip_left_right')


@export('image.flip_up_down')
def flip_up_down(image):
  """The rows in the opposite order, of an image or of each of a batch."""
  return _flip(image, 0, 'flip_up_down')


def _random_flip(image, axis, seed, default_name):
  with name_scope(None, default_name, [image]):
    image = convert(image, name='image')
    image = held(image, check_at_least_3d(image))

    def of_image(image):
      flips = random.random_uniform([], 0, 1.0, seed=seed) < 0.5
      return control_flow.cond(flips, lambda: _reversed(axis)(image),
                               lambda: array.identity(image))

    def of_batch(image):
      size = array.shape(image)[0]
      flips = random.random_uniform(array.stack([size, 1, 1, 1]), 0, 1.0, seed=seed)
      flips = math.cast(math.round(flips), image.dtype.base_dtype)
      return flips * _reversed(axis + 1)(image) + (1 - flips) * image

    result = _by_rank(image, of_image, of_batch)
    result.set_shape(image.get_shape())
    return result


@export('image.random_flip_left_right')
def random_flip_left_right(image, seed=None):
  """flip_left_right in half of the cases; images of a batch are decided one by one."""
  return _random_flip(image, 1, seed, 'random_flip_left_right')


@export('image.random_flip_up_down')
def random_flip_up_down(image, seed=None):
  """flip_up_down in half of the cases; images of a batch are decided one by one."""
  return _random_flip(image, 0, seed, 'random_flip_up_down')


def _transposed(rank):
  order = [1, 0, 2] if rank == 3 else [0, 2, 1, 3]
  return lambda image: array.transpose(image, order)


@export('image.transpose_image', 'image.transpose')
def transpose_image(image, name=None):
  """Rows become columns, of an image or of each of a batch."""
  with name_scope(name, 'transpose', [image]):
    image = convert(image, name='image')
    image = held(image, check_at_least_3d(image))
    return _by_rank(image, _transposed(3), _transposed(4))


def _turned(image, k, axis):
  """The image turned k times; axis is that of the rows."""
  transposed = _transposed(3 + axis)
  rows, columns = _reversed(axis), _reversed(axis + 1)
  if k == 0:
    return array.identity(image)
  if k == 1:
    return rows(transposed(image))
  if k == 2:
    return apply_op('ReverseV2', tensor=image, axis=[axis, axis + 1])
  return transposed(rows(image))


@export('image.rot90')
def rot90(image, k=1, name=None):
  """The image turned k times by 90 degrees against the clock; k is a number or an int32 scalar."""
  with name_scope(name, 'rot90', [image, k]) as scope:
    image = convert(image, name='image')
    image = held(image, check_at_least_3d(image))
    if not is_tensor(k):
      k = int(k) % 4
      turn = lambda axis: lambda image: _turned(image, k, axis)
    else:
      k.get_shape().assert_has_rank(0)
      k = apply_op('FloorMod', x=k, y=convert(4, k.dtype.base_dtype))
      turn = lambda axis: lambda image: _turned_in_step(image, k, axis)
    return array.identity(_by_rank(image, turn(0), turn(1)), name=scope)


def _turned_in_step(image, k, axis):
  pairs = [(math.equal(k, i), lambda i=i: _turned(image, i, axis)) for i in (1, 2, 3)]
  result = control_flow.case(pairs, default=lambda: array.identity(image), exclusive=True)
  sizes = [None] * len(image.get_shape())
  sizes[-1] = image.get_shape()[-1].value
  if len(sizes) == 4:
    sizes[0] = image.get_shape()[0].value
  result.set_shape(sizes)
  return result
