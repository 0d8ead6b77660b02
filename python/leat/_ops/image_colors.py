"""tf.image: types of pixels, brightness, contrast, hue, saturation, gray, and spaces of colors.

Pixels of floating point are in [0, 1], those of integers in [0, the type's largest]. Functions that
adjust an image compute in floating point and give the type that they got, without overflow.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._ops import array, checks, matrix, math, random
from leat._ops.image import check_at_least_3d, held, is_tensor


def _maximum(x, y):
  return apply_op('Maximum', x=x, y=y)


def _clipped(x):
  return apply_op('Minimum', x=_maximum(x, 0.0), y=1.0)


# ---- Types --------------------------------------------------------------------------------------


@export('image.convert_image_dtype')
def convert_image_dtype(image, dtype, saturate=False, name=None):
  """The image with pixels of another type, scaled from the range of the one to that of the other.
  With `saturate` pixels outside of the range become its ends; else they overflow."""
  image = convert(image, name='image')
  dtype = dtypes.as_dtype(dtype)
  if dtype == image.dtype.base_dtype:
    return array.identity(image, name=name)
  with name_scope(name, 'convert_image', [image]) as scope:
    before = image.dtype.base_dtype
    cast = math.saturate_cast if saturate else math.cast
    if before.is_integer and dtype.is_integer:
      return _integers(image, before, dtype, cast, scope)
    if before.is_floating and dtype.is_floating:
      return math.cast(image, dtype, name=scope)
    if before.is_integer:
      return math.multiply(math.cast(image, dtype), 1.0 / before.max, name=scope)
    # The half keeps what the product loses from making 1.0 less than the largest integer.
    return cast(math.multiply(image, dtype.max + 0.5), dtype, name=scope)


def _integers(image, before, dtype, cast, name):
  if before.max > dtype.max:
    scale = (before.max + 1) // (dtype.max + 1)
    return cast(apply_op('FloorDiv', x=image, y=convert(scale, before)), dtype, name=name)
  scale = (dtype.max + 1) // (before.max + 1)
  return math.multiply(cast(image, dtype), scale, name=name)


def _as_floats(image):
  """(the image in floating point, the type to go back to)."""
  before = image.dtype.base_dtype
  if before in (dtypes.float16, dtypes.float32):
    return image, before
  return convert_image_dtype(image, dtypes.float32), before


# ---- Brightness, contrast -----------------------------------------------------------------------


@export('image.adjust_brightness')
def adjust_brightness(image, delta):
  """delta is added to all pixels, as to such in [0, 1]."""
  with name_scope(None, 'adjust_brightness', [image, delta]) as scope:
    floats, before = _as_floats(convert(image, name='image'))
    adjusted = math.add(floats, math.cast(delta, floats.dtype), name=scope)
    return convert_image_dtype(adjusted, before, saturate=True)


def _contrast(images, factor):
  mean = math.reduce_mean(images, [-3, -2], keepdims=True)
  return (images - mean) * math.cast(factor, images.dtype) + mean


@export('image.adjust_contrast')
def adjust_contrast(images, contrast_factor):
  """(pixel - mean) * factor + mean, where the mean is that of a channel of an image."""
  with name_scope(None, 'adjust_contrast', [images, contrast_factor]):
    floats, before = _as_floats(convert(images, name='images'))
    return convert_image_dtype(_contrast(floats, contrast_factor), before, saturate=True)


@export('image.adjust_gamma')
def adjust_gamma(image, gamma=1, gain=1):
  """gain * pixel ** gamma, of pixels in [0, 1]."""
  with name_scope(None, 'adjust_gamma', [image, gamma, gain]):
    floats, before = _as_floats(convert(image, name='image'))
    if is_tensor(gamma):
      gamma = math.cast(gamma, floats.dtype)
      floats = held(floats, [checks.assert_non_negative(
          gamma, message='Gamma should be a non-negative real number.')])
    elif gamma < 0:
      raise ValueError('Gamma should be a non-negative real number, is %s.' % gamma)
    adjusted = gain * math.pow(floats, gamma)
    return convert_image_dtype(adjusted, before, saturate=True)


@export('image.per_image_standardization')
def per_image_standardization(image):
  """Each image with the mean 0 and the variance 1; the deviation is taken to be at least that of
  noise, 1 / sqrt(number of pixels), so that an even image becomes zeros."""
  with name_scope(None, 'per_image_standardization', [image]) as scope:
    image = convert(image, name='image')
    image = held(image, check_at_least_3d(image))
    image = math.cast(image, dtypes.float32)
    number = math.cast(math.reduce_prod(array.shape(image)[-3:]), dtypes.float32)
    mean = math.reduce_mean(image, [-3, -2, -1], keepdims=True)
    variance = math.reduce_mean(math.square(image - mean), [-3, -2, -1], keepdims=True)
    deviation = _maximum(math.sqrt(variance), apply_op('Rsqrt', x=number))
    return apply_op('RealDiv', name=scope, x=image - mean, y=deviation)


def _checked_range(lower, upper):
  if upper <= lower:
    raise ValueError('upper must be > lower. upper is %s, lower is %s.' % (upper, lower))
  if lower < 0:
    raise ValueError('lower must be non-negative, is %s.' % lower)


@export('image.random_brightness')
def random_brightness(image, max_delta, seed=None):
  """adjust_brightness by a number of [-max_delta, max_delta)."""
  if max_delta < 0:
    raise ValueError('max_delta must be non-negative, is %s.' % max_delta)
  return adjust_brightness(image, random.random_uniform([], -max_delta, max_delta, seed=seed))


@export('image.random_contrast')
def random_contrast(image, lower, upper, seed=None):
  """adjust_contrast by a factor of [lower, upper)."""
  _checked_range(lower, upper)
  return adjust_contrast(image, random.random_uniform([], lower, upper, seed=seed))


# ---- Hue, saturation ----------------------------------------------------------------------------


def _channels(images):
  """The three channels, [..., 1] each."""
  images.get_shape().with_rank_at_least(1)[-1:].assert_is_compatible_with([3])
  return array.split(images, 3, axis=-1)


@export('image.rgb_to_hsv')
def rgb_to_hsv(images, name=None):
  """[..., 3] of red, green, blue in [0, 1] as hue, saturation, value in [0, 1]."""
  with name_scope(name, 'RGBToHSV', [images]) as scope:
    red, green, blue = _channels(convert(images, name='images'))
    value = _maximum(_maximum(red, green), blue)
    spread = value - apply_op('Minimum', x=apply_op('Minimum', x=red, y=green), y=blue)
    saturation = apply_op('DivNoNan', x=spread, y=value)
    # The largest color says in which third of the circle the hue is, the others where there.
    third = array.where(
        math.equal(red, value), green - blue, array.where(
            math.equal(green, value), blue - red + 2.0 * spread, red - green + 4.0 * spread))
    hue = apply_op('DivNoNan', x=third, y=6.0 * spread)
    hue = array.where(hue < 0.0, hue + 1.0, hue)
    return array.concat([hue, saturation, value], -1, name=scope)


@export('image.hsv_to_rgb')
def hsv_to_rgb(images, name=None):
  """[..., 3] of hue, saturation, value in [0, 1] as red, green, blue in [0, 1]."""
  with name_scope(name, 'HSVToRGB', [images]) as scope:
    hue, saturation, value = _channels(convert(images, name='images'))
    six = 6.0 * hue
    shares = (_clipped(math.abs(six - 3.0) - 1.0), _clipped(2.0 - math.abs(six - 2.0)),
              _clipped(2.0 - math.abs(six - 4.0)))
    return array.concat([value * (1.0 - saturation + saturation * share) for share in shares], -1,
                        name=scope)


def _adjusted_hsv(image, name, default_name, argument, change):
  """The image, of which `change` made another (hue, saturation)."""
  with name_scope(name, default_name, [image, argument]):
    floats, before = _as_floats(convert(image, name='image'))
    hue, saturation, value = _channels(rgb_to_hsv(floats))
    hue, saturation = change(hue, saturation, math.cast(argument, floats.dtype))
    adjusted = hsv_to_rgb(array.concat([hue, saturation, value], -1))
    return convert_image_dtype(adjusted, before, saturate=True)


@export('image.adjust_hue')
def adjust_hue(image, delta, name=None):
  """delta of [-1, 1], a part of the circle of colors, is added to the hue of an RGB image."""
  return _adjusted_hsv(image, name, 'adjust_hue', delta, lambda hue, saturation, delta: (
      apply_op('FloorMod', x=hue + delta, y=convert(1.0, hue.dtype)), saturation))


@export('image.adjust_saturation')
def adjust_saturation(image, saturation_factor, name=None):
  """The saturation of an RGB image times the factor, at most 1."""
  return _adjusted_hsv(image, name, 'adjust_saturation', saturation_factor,
                       lambda hue, saturation, factor: (hue, _clipped(saturation * factor)))


@export('image.random_hue')
def random_hue(image, max_delta, seed=None):
  """adjust_hue by a number of [-max_delta, max_delta)."""
  if max_delta > 0.5:
    raise ValueError('max_delta must be <= 0.5, is %s.' % max_delta)
  if max_delta < 0:
    raise ValueError('max_delta must be non-negative, is %s.' % max_delta)
  return adjust_hue(image, random.random_uniform([], -max_delta, max_delta, seed=seed))


@export('image.random_saturation')
def random_saturation(image, lower, upper, seed=None):
  """adjust_saturation by a factor of [lower, upper)."""
  _checked_range(lower, upper)
  return adjust_saturation(image, random.random_uniform([], lower, upper, seed=seed))


# ---- Gray, and other spaces ---------------------------------------------------------------------


@export('image.rgb_to_grayscale')
def rgb_to_grayscale(images, name=None):
  """[..., 3] of colors as [..., 1] of brightness, as the eye sees them."""
  with name_scope(name, 'rgb_to_grayscale', [images]) as scope:
    images = convert(images, name='images')
    floats = convert_image_dtype(images, dtypes.float32)
    gray = math.reduce_sum(floats * constant_of([0.2989, 0.5870, 0.1140], dtypes.float32), -1,
                           keepdims=True)
    return convert_image_dtype(gray, images.dtype.base_dtype, name=scope)


@export('image.grayscale_to_rgb')
def grayscale_to_rgb(images, name=None):
  """[..., 1] of brightness three times, as [..., 3]."""
  with name_scope(name, 'grayscale_to_rgb', [images]) as scope:
    images = convert(images, name='images')
    images = held(images, _checked_gray(images))
    rank = array.rank(images)
    ones = array.ones(array.expand_dims(rank - 1, 0), dtypes.int32)
    multiples = array.concat([ones, [3]], 0)
    result = apply_op('Tile', name=scope, input=images, multiples=multiples)
    if images.get_shape().ndims is not None:
      result.set_shape(images.get_shape().as_list()[:-1] + [3])
    return result


def _checked_gray(images):
  known = images.get_shape()
  if known.ndims is not None and (known.ndims < 1 or not known[-1:].is_compatible_with([1])):
    raise ValueError('Last dimension of a grayscale image should be size 1. The shape is %s.' %
                     known)
  if known.ndims is not None and known[-1].value == 1:
    return []
  return [checks.assert_equal(array.shape(images)[-1], 1,
                              message='Last dimension of a grayscale image should be size 1.')]


# What an image [..., 3] is multiplied with; a row for each channel of the image.
_SPACES = {
    'rgb_to_yiq': [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617],
                   [0.114, -0.32134392, 0.31119955]],
    'yiq_to_rgb': [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021],
                   [0.6208248, -0.64720424, 1.70423049]],
    'rgb_to_yuv': [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512],
                   [0.114, 0.43601035, -0.10001026]],
    'yuv_to_rgb': [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]],
}


def _space(name):
  def function(images):
    images = convert(images, name='images')
    kernel = constant_of(_SPACES[name], images.dtype.base_dtype, 'kernel')
    return matrix.tensordot(images, kernel, [[images.get_shape().ndims - 1], [0]])
  function.__name__ = function.__qualname__ = name
  function.__doc__ = 'The colors [..., 3] of images in another space: %s.' % name.replace('_', ' ')
  return function


rgb_to_yiq, yiq_to_rgb = _space('rgb_to_yiq'), _space('yiq_to_rgb')
rgb_to_yuv, yuv_to_rgb = _space('rgb_to_yuv'), _space('yuv_to_rgb')
EXPORTS = {'image.' + name: name for name in ('rgb_to_yiq', 'yiq_to_rgb', 'rgb_to_yuv',
                                              'yuv_to_rgb')}
