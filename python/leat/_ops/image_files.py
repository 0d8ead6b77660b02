"""tf.image: files of images as pixels, and the loss of quality that a JPEG file brings."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import math, random
from leat._ops.image import is_tensor
from leat._ops.image_colors import convert_image_dtype


@export('image.decode_image', 'io.decode_image')
def decode_image(contents, channels=None, dtype=dtypes.uint8, name=None, expand_animations=True):
  """The pixels of a file of BMP, GIF, JPEG or PNG.

  Args:
    contents: string scalar.
    channels: 1, 3 or 4; those of the file, if None or 0. Not every kind of file can have each.
    dtype: of the pixels, scaled to its range.
    expand_animations: a GIF is [frames, height, width, 3]; else its first frame is taken.

  Returns:
    [height, width, channels], or [frames, height, width, 3].
  """
  with name_scope(name, 'decode_image'):
    dtype = dtypes.as_dtype(dtype)
    direct = dtype in (dtypes.uint8, dtypes.uint16, dtypes.float32)
    pixels = apply_op('DecodeImage', contents=contents, channels=channels or 0,
                      dtype=dtype if direct else dtypes.uint8,
                      expand_animations=expand_animations)
    if not expand_animations:
      pixels.set_shape([None, None, channels or None])
    return pixels if direct else convert_image_dtype(pixels, dtype)


@export('image.encode_png', 'io.encode_png')
def encode_png(image, compression=-1, name=None):
  """A PNG file of pixels [height, width, channels], or of a batch of them [..., height, width,
  channels], of uint8 or uint16. `compression` is 0 to 9, or -1 for the usual one."""
  return apply_op('EncodePng', name=name, image=image, compression=compression)


@export('image.is_jpeg', 'io.is_jpeg')
def is_jpeg(contents, name=None):
  """Whether a string begins as a JPEG file does."""
  with name_scope(name, 'is_jpeg'):
    start = apply_op('Substr', input=contents, pos=0, len=3)
    return math.equal(start, b'\xff\xd8\xff')


@export('image.adjust_jpeg_quality')
def adjust_jpeg_quality(image, jpeg_quality, dct_method='', name=None):
  """The image as it is after having been a JPEG file of that quality, 0 to 100."""
  with name_scope(name, 'adjust_jpeg_quality', [image]):
    image = convert(image, name='image')
    before, known = image.dtype.base_dtype, image.get_shape()
    pixels = convert_image_dtype(image, dtypes.uint8, saturate=True)
    if not is_tensor(jpeg_quality):
      jpeg_quality = convert(jpeg_quality, dtypes.int32)
    file = apply_op('EncodeJpegVariableQuality', images=pixels, quality=jpeg_quality)
    channels = known[-1].value if known.ndims is not None else None
    pixels = apply_op('DecodeJpeg', contents=file, channels=channels or 0, dct_method=dct_method)
    pixels.set_shape(known)
    return convert_image_dtype(pixels, before, saturate=True)


@export('image.random_jpeg_quality')
def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
  """adjust_jpeg_quality by an integer of [min_jpeg_quality, max_jpeg_quality)."""
  if min_jpeg_quality < 0 or max_jpeg_quality < 0 or min_jpeg_quality > 100 or \
      max_jpeg_quality > 100:
    raise ValueError('jpeg encoding range must be between 0 and 100, is %s to %s.' % (
        min_jpeg_quality, max_jpeg_quality))
  if min_jpeg_quality >= max_jpeg_quality:
    raise ValueError('`min_jpeg_quality` must be less than `max_jpeg_quality`; they are %s and %s.'
                     % (min_jpeg_quality, max_jpeg_quality))
  quality = random.random_uniform([], min_jpeg_quality, max_jpeg_quality, dtype=dtypes.int32,
                                  seed=seed)
  return adjust_jpeg_quality(image, quality)
