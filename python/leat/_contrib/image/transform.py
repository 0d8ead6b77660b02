"""Projective transformations of images: rotations, translations and products of them.

A transformation is eight numbers [a0, a1, a2, b0, b1, b2, c0, c1]: the pixel (x, y) of the result
is that of the image at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1.
It is one row for all images, or a row for each. """
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, math, matrix

_TYPES = ('uint8', 'int32', 'int64', 'float16', dtypes.float32, 'float64')


@export('contrib.image.transform')
def transform(images, transforms, interpolation='NEAREST', output_shape=None, name=None):
  """The images [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns],
  transformed; points from outside of an image are 0."""
  with name_scope(name, 'transform', [images, transforms]):
    images = convert(images, name='images')
    transforms = convert(transforms, dtypes.float32, 'transforms')
    rank = images.get_shape().ndims
    if rank is None:
      raise TypeError('image_or_images rank must be statically known')
    if rank not in (2, 3, 4):
      raise TypeError('Images should have rank between 2 and 4.')
    if images.dtype.base_dtype.name not in _TYPES:
      raise TypeError('Invalid dtype %s.' % images.dtype)
    if transforms.get_shape().ndims not in (1, 2):
      raise TypeError('Transforms should have rank 1 or 2.')
    batch = images[None, :, :, None] if rank == 2 else images[None] if rank == 3 else images
    rows = transforms[None] if transforms.get_shape().ndims == 1 else transforms
    shape = array.shape(batch)[1:3] if output_shape is None else convert(output_shape, dtypes.int32)
    found = apply_op('ImageProjectiveTransformV2', images=batch, transforms=rows,
                     output_shape=shape, interpolation=interpolation.upper())
    return found[0, :, :, 0] if rank == 2 else found[0] if rank == 3 else found


@export('contrib.image.angles_to_projective_transforms')
def angles_to_projective_transforms(angles, image_height, image_width, name=None):
  """Transformations that turn images counterclockwise by the angles, in radians, about their
  middles."""
  with name_scope(name, 'angles_to_projective_transforms'):
    angles = convert(angles, dtypes.float32, 'angles')
    angles = angles[None] if angles.get_shape().ndims == 0 else angles
    if angles.get_shape().ndims != 1:
      raise TypeError('Angles should have rank 0 or 1.')
    width, height = (math.cast(convert(s), dtypes.float32) - 1 for s in (image_width, image_height))
    sin, cos = apply_op('Sin', x=angles), apply_op('Cos', x=angles)
    zeros = array.zeros_like(angles)
    return array.stack([cos, -sin, (width - (cos * width - sin * height)) / 2.0,
                        sin, cos, (height - (sin * width + cos * height)) / 2.0, zeros, zeros], 1)


def _size(images):
  """(height, width) of images of any rank, as floats."""
  rank = images.get_shape().ndims
  if rank is None:
    raise TypeError('image_or_images rank must be statically known')
  shape = math.cast(array.shape(images), dtypes.float32)
  return (shape[0], shape[1]) if rank < 4 else (shape[1], shape[2])


@export('contrib.image.rotate')
def rotate(images, angles, interpolation='NEAREST', name=None):
  """The images turned counterclockwise by an angle in radians, or by one for each."""
  with name_scope(name, 'rotate', [images]):
    images = convert(images, name='images')
    return transform(images, angles_to_projective_transforms(angles, *_size(images)),
                     interpolation)


@export('contrib.image.translations_to_projective_transforms')
def translations_to_projective_transforms(translations, name=None):
  """Transformations that move images by (dx, dy)."""
  with name_scope(name, 'translations_to_projective_transforms'):
    moves = convert(translations, dtypes.float32, 'translations')
    moves = moves[None] if moves.get_shape().ndims == 1 else moves
    if moves.get_shape().ndims != 2:
      raise TypeError('Translations should have rank 1 or 2.')
    x, y = moves[:, 0], moves[:, 1]
    one, zero = array.ones_like(x), array.zeros_like(x)
    return array.stack([one, zero, -x, zero, one, -y, zero, zero], 1)


@export('contrib.image.translate')
def translate(images, translations, interpolation='NEAREST', name=None):
  """The images moved by (dx, dy), or by a pair for each."""
  with name_scope(name, 'translate', [images]):
    return transform(images, translations_to_projective_transforms(translations), interpolation)


@export('contrib.image.flat_transforms_to_matrices')
def flat_transforms_to_matrices(transforms, name=None):
  """Transformations [..., 8] as matrices [..., 3, 3]."""
  with name_scope(name, 'flat_transforms_to_matrices'):
    rows = array.reshape(convert(transforms, dtypes.float32, 'transforms'), [-1, 8])
    return array.reshape(array.concat([rows, array.ones_like(rows[:, :1])], 1), [-1, 3, 3])


@export('contrib.image.matrices_to_flat_transforms')
def matrices_to_flat_transforms(transform_matrices, name=None):
  """Matrices [..., 3, 3] as transformations."""
  with name_scope(name, 'matrices_to_flat_transforms'):
    rows = array.reshape(convert(transform_matrices, dtypes.float32, 'matrices'), [-1, 9])
    return (rows / rows[:, 8:9])[:, :8]


@export('contrib.image.compose_transforms')
def compose_transforms(*transforms):
  """The transformation that is the given ones, the first of them first."""
  if not transforms:
    raise ValueError('transforms cannot be empty')
  with name_scope('compose_transforms'):
    product = flat_transforms_to_matrices(transforms[0])
    for other in transforms[1:]:
      product = matrix.matmul(product, flat_transforms_to_matrices(other))
    return matrices_to_flat_transforms(product)


# ---- Other ways to change images -----------------------------------------------------------------


@export('contrib.image.dense_image_warp')
def dense_image_warp(image, flow, name='dense_image_warp'):
  """The pixel (y, x) of the result is that of the image at (y, x) - flow, between pixels by linear
  interpolation; image [batch, rows, columns, channels], flow [batch, rows, columns, 2]."""
  with name_scope(name):
    image, flow = convert(image), convert(flow)
    shape = array.shape(image)
    y, x = math.range(shape[1]), math.range(shape[2])
    y, x = array.meshgrid(y, x, indexing='ij')
    grid = math.cast(array.stack([y, x], 2), flow.dtype.base_dtype)
    points = array.reshape(grid[None] - flow, [shape[0], shape[1] * shape[2], 2])
    found = _interpolated(image, points)
    result = array.reshape(found, shape)
    result.set_shape(image.get_shape())
    return result


def _interpolated(image, points):
  """The values of the image at points (y, x) [batch, count, 2]; points outside are moved to the
  border."""
  shape = array.shape(image)
  corners, weights = [], []
  for n in range(2):
    size = shape[1 + n]
    at = points[..., n]
    low = apply_op('Floor', x=at)
    top = math.cast(size - 2, at.dtype.base_dtype)
    low = apply_op('Maximum', x=apply_op('Minimum', x=low, y=top), y=array.zeros_like(low))
    share = apply_op('ClipByValue', t=at - low, clip_value_min=convert(0.0, at.dtype.base_dtype),
                     clip_value_max=convert(1.0, at.dtype.base_dtype))
    corners.append(math.cast(low, dtypes.int32))
    weights.append(math.cast(share, image.dtype.base_dtype)[..., None])
  flat = array.reshape(image, [-1, shape[3]])
  first = array.expand_dims(math.range(shape[0]) * shape[1] * shape[2], 1)

  def pixel(dy, dx):
    rows = apply_op('Minimum', x=corners[0] + dy, y=shape[1] - 1)
    columns = apply_op('Minimum', x=corners[1] + dx, y=shape[2] - 1)
    return array.gather(flat, first + rows * shape[2] + columns)
  top = pixel(0, 0) + weights[1] * (pixel(0, 1) - pixel(0, 0))
  bottom = pixel(1, 0) + weights[1] * (pixel(1, 1) - pixel(1, 0))
  return top + weights[0] * (bottom - top)


@export('contrib.resampler.resampler')
def resampler(data, warp, name='resampler'):
  """The values of data [batch, rows, columns, channels] at the points (x, y) of warp [batch, ...,
  2], by linear interpolation; 0 outside."""
  with name_scope(name):
    data, warp = convert(data, name='data'), convert(warp, name='warp')
    shape, points = array.shape(data), array.reshape(warp, [array.shape(warp)[0], -1, 2])
    ring = array.pad(data, [[0, 0], [1, 1], [1, 1], [0, 0]])   # a border of zeros
    moved = array.stack([points[..., 1], points[..., 0]], -1) + 1.0
    found = _interpolated(ring, moved)
    result = array.reshape(found, array.concat([array.shape(warp)[:-1], shape[3:]], 0))
    result.set_shape(warp.get_shape()[:-1].concatenate(data.get_shape()[3:]))
    return result
