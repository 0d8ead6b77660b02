"""tf.image: images in other sizes: interpolated, averaged, or with their ratio of sides kept."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array, math
from leat._ops.image import as_batch, check_at_least_3d, either_size, held, is_tensor, \
    pad_to_bounding_box, requirement, sizes_of


@export('image.ResizeMethod')
class ResizeMethod:
  """How pixels are made of others."""
  BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = 0, 1, 2, 3


@export('image.resize_area')
def resize_area(images, size, align_corners=False, name=None):
  """Each pixel becomes the mean of those that it covers.

  Args:
    images: [batch, height, width, channels] of numbers.
    size: int32, [2]: height and width.
    align_corners: the corners of both images are at the same places.

  Returns:
    [batch, size[0], size[1], channels] of float32.
  """
  return apply_op('ResizeArea', name=name, images=images, size=size, align_corners=align_corners)


_OPS = {ResizeMethod.BILINEAR: 'ResizeBilinear', ResizeMethod.BICUBIC: 'ResizeBicubic',
        ResizeMethod.NEAREST_NEIGHBOR: 'ResizeNearestNeighbor', ResizeMethod.AREA: 'ResizeArea'}


def _resized(images, size, method, align_corners):
  return apply_op(_OPS[method], images=images, size=size, align_corners=align_corners)


def _with_ratio_kept(size, height, width):
  """The largest size within `size` that has the ratio of height and width; as a tensor."""
  real = [math.cast(s, dtypes.float32) for s in (height, width)]
  wanted = math.cast(size, dtypes.float32)
  scale = apply_op('Minimum', x=wanted[0] / real[0], y=wanted[1] / real[1])
  return math.cast(math.round(array.stack([scale * r for r in real])), dtypes.int32)


@export('image.resize_images', 'image.resize')
def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False,
                  preserve_aspect_ratio=False, name=None):
  """The images in another size.

  Args:
    images: [batch, height, width, channels] or [height, width, channels].
    size: int32, [2]: the new height and width.
    method: one of ResizeMethod.
    align_corners: the corners of both images are at the same places.
    preserve_aspect_ratio: the ratio of sides stays; the image is as large as `size` allows.

  Returns:
    float32, or the type of `images` for NEAREST_NEIGHBOR and where the size does not change.

  Raises:
    ValueError: if the sizes are not two, the rank is another, or there is no such method.
  """
  with name_scope(name, 'resize', [images, size]):
    images = convert(images, name='images')
    rank = images.get_shape().ndims
    if rank is None:
      raise ValueError("'images' contains no shape.")
    if rank not in (3, 4):
      raise ValueError("'images' must have either 3 or 4 dimensions, has %d." % rank)
    batch, batched = as_batch(images)
    _, height, width, _ = sizes_of(batch, 4)
    size = _checked_size(size)
    if method not in _OPS and method != ResizeMethod.AREA:
      raise ValueError('Resize method is not implemented: %s' % (method,))
    if preserve_aspect_ratio:
      size = _with_ratio_kept(size, height, width)
    known = constant_value(size)
    if known is not None and not is_tensor(height) and not is_tensor(width) and \
        known.tolist() == [height, width]:
      return images
    resized = _resized(batch, size, method, align_corners)
    inner = [None, None] if known is None else known.tolist()
    before = batch.get_shape().as_list()
    resized.set_shape([before[0]] + inner + [before[3]])
    return resized if batched else array.squeeze(resized, [0])


def _checked_size(size):
  try:
    size = convert(size, dtypes.int32, name='size')
  except (TypeError, ValueError):
    raise ValueError("'size' must be a 1-D int32 Tensor, is %s" % (size,)) from None
  if not size.get_shape().is_compatible_with([2]):
    raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width. It has the "
                     'shape %s.' % size.get_shape())
  return size


@export('image.resize_image_with_pad')
def resize_image_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR,
                          align_corners=False):
  """The image with its ratio of sides, as large as the target allows, and zeros around it."""
  with name_scope(None, 'resize_image_with_pad', [image]):
    image, batched = as_batch(convert(image, name='image'))
    assertions = check_at_least_3d(image)
    assertions += requirement(target_width > 0, 'target_width must be > 0.')
    assertions += requirement(target_height > 0, 'target_height must be > 0.')
    image = held(image, assertions)
    _, height, width, _ = sizes_of(image, 4)
    real = [math.cast(s, dtypes.float64) for s in (height, width)]
    target = [math.cast(s, dtypes.float64) for s in (target_height, target_width)]
    ratio = apply_op('Maximum', x=real[0] / target[0], y=real[1] / target[1])
    inner = [math.floor(r / ratio) for r in real]
    padding = [math.floor((t - r / ratio) / 2) for t, r in zip(target, real)]
    padding = [either_size('Maximum', 0, math.cast(p, dtypes.int32)) for p in padding]
    resized = resize_images(image, math.cast(array.stack(inner), dtypes.int32), method,
                            align_corners)
    padded = pad_to_bounding_box(resized, padding[0], padding[1], target_height, target_width)
    return padded if batched else array.squeeze(padded, [0])
