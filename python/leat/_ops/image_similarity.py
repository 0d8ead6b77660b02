"""tf.image: edges and gradients of images, and how alike two images are (PSNR, SSIM)."""
from __future__ import annotations

import math as numbers

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies, name_scope
from leat._ops import array, control_flow, math, nn
from leat._ops.image_colors import convert_image_dtype

# The weights of five scales, of Z. Wang, E. P. Simoncelli and A. C. Bovik, Multi-scale structural
# similarity for image quality assessment, 2003.
_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


# ---- Differences of neighbors -------------------------------------------------------------------


@export('image.total_variation')
def total_variation(images, name=None):
  """The sum of |difference| of all neighbors: a scalar, or [batch]."""
  with name_scope(name, 'total_variation'):
    images = convert(images, name='images')
    rank = images.get_shape().ndims
    if rank == 3:
      rows, columns, axis = images[1:] - images[:-1], images[:, 1:] - images[:, :-1], None
    elif rank == 4:
      rows = images[:, 1:] - images[:, :-1]
      columns, axis = images[:, :, 1:] - images[:, :, :-1], [1, 2, 3]
    else:
      raise ValueError("'images' must be either 3 or 4-dimensional, has %s dimensions." % rank)
    return math.reduce_sum(math.abs(rows), axis) + math.reduce_sum(math.abs(columns), axis)


@export('image.image_gradients')
def image_gradients(image):
  """(dy, dx) of [batch, height, width, channels]: the difference to the next row and to the next
  column, 0 in the last."""
  image = convert(image, name='image')
  if image.get_shape().ndims != 4:
    raise ValueError('image_gradients expects a 4D tensor [batch_size, h, w, d], not %s.' %
                     image.get_shape())
  down = array.pad(image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
  right = array.pad(image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
  for part in (down, right):
    part.set_shape(image.get_shape())
  return down, right


@export('image.sobel_edges')
def sobel_edges(image):
  """[batch, height, width, channels, 2]: dy and dx by Sobel's filter of 3 x 3; at its border an
  image goes on as in a mirror."""
  image = convert(image, name='image')
  known = image.get_shape()
  sizes = array.shape(image)
  vertical = [[-1, -2, -1], [0, 0, 0], [1, 2, 1]]
  both = [[[[vertical[i][j], vertical[j][i]]] for j in range(3)] for i in range(3)]
  filters = apply_op('Tile', input=constant_of(both, image.dtype.base_dtype),
                     multiples=array.stack([1, 1, sizes[-1], 1]))
  padded = array.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode='REFLECT')
  edges = nn.depthwise_conv2d_native(padded, filters, [1, 1, 1, 1], 'VALID')
  edges = array.reshape(edges, array.concat([sizes, [2]], 0))
  edges.set_shape(known.concatenate([2]))
  return edges


# ---- Likeness -----------------------------------------------------------------------------------


def _checked_pair(img1, img2):
  """(both as tensors, assertions that their sizes are the same): ValueError if they are known to
  differ. The dimensions ahead of the last three need only fit."""
  img1, img2 = convert(img1), convert(img2)
  a, b = img1.get_shape().with_rank_at_least(3), img2.get_shape().with_rank_at_least(3)
  a[-3:].assert_is_compatible_with(b[-3:])
  if a.ndims is not None and b.ndims is not None:
    for x, y in zip(a.as_list()[:-3][::-1], b.as_list()[:-3][::-1]):
      if not (x is None or y is None or 1 in (x, y) or x == y):
        raise ValueError('Two images are not compatible: %s and %s' % (a, b))
  if a.is_fully_defined() and b.is_fully_defined():
    return img1, img2, []
  sizes = array.shape(img1), array.shape(img2)
  ranks = [control_flow.Assert(array.rank(img) >= 3, [size]) for img, size in zip(
      (img1, img2), sizes)]
  with control_dependencies(ranks):
    same = math.reduce_all(math.equal(sizes[0][-3:], sizes[1][-3:]))
  return img1, img2, ranks + [control_flow.Assert(same, list(sizes))]


def _as_floats(img1, img2, max_val):
  """Both images and the largest value of a pixel, in float32."""
  largest = convert_image_dtype(math.cast(max_val, img1.dtype), dtypes.float32)
  return convert_image_dtype(img1, dtypes.float32), convert_image_dtype(img2, dtypes.float32), \
      largest


@export('image.psnr')
def psnr(a, b, max_val, name=None):
  """The ratio of peak and noise in decibels, [...], of images [..., height, width, channels]."""
  with name_scope(name, 'PSNR', [a, b]):
    a, b, assertions = _checked_pair(a, b)
    a, b, largest = _as_floats(a, b, max_val)
    error = math.reduce_mean(apply_op('SquaredDifference', x=a, y=b), [-3, -2, -1])
    in_decibels = 10 / numbers.log(10)
    peak, noise = apply_op('Log', x=largest), apply_op('Log', x=error)
    result = math.subtract(2 * in_decibels * peak, in_decibels * noise, name='psnr')
    with control_dependencies(assertions):
      return array.identity(result)


def _window(size, sigma):
  """[size, size, 1, 1]: Gaussian weights that add up to 1."""
  line = [-0.5 * ((i - (size - 1) / 2.0) / sigma) ** 2 for i in range(size)]
  weights = [[numbers.exp(a + b) for b in line] for a in line]
  total = sum(map(sum, weights))
  return constant_of([[[[w / total]] for w in row] for row in weights], dtypes.float32)


def _per_channel(img1, img2, largest, filter_size, filter_sigma, k1, k2, averaged):
  """(SSIM, contrast and structure) of each channel: [..., channels], means over the places, or
  the maps themselves."""
  assertions = [control_flow.Assert(math.reduce_all(array.shape(img)[-3:-1] >= filter_size),
                                    [array.shape(img), filter_size]) for img in (img1, img2)]
  with control_dependencies(assertions):
    img1 = array.identity(img1)
  channels = array.shape(img1)[-1]
  window = apply_op('Tile', input=_window(filter_size, filter_sigma),
                    multiples=array.stack([1, 1, channels, 1]))

  def mean(x):
    sizes = array.shape(x)
    flat = array.reshape(x, array.concat([[-1], sizes[-3:]], 0))
    blurred = nn.depthwise_conv2d_native(flat, window, [1, 1, 1, 1], 'VALID')
    return array.reshape(blurred, array.concat([sizes[:-3], array.shape(blurred)[1:]], 0))

  c1, c2 = (k1 * largest) ** 2, (k2 * largest) ** 2
  mean1, mean2 = mean(img1), mean(img2)
  products, squares = 2.0 * mean1 * mean2, math.square(mean1) + math.square(mean2)
  luminance = (products + c1) / (squares + c1)
  covariance = 2.0 * mean(img1 * img2) - products
  variances = mean(math.square(img1) + math.square(img2)) - squares
  structure = (covariance + c2) / (variances + c2)
  if not averaged:
    return luminance * structure, structure
  return math.reduce_mean(luminance * structure, [-3, -2]), math.reduce_mean(structure, [-3, -2])


@export('image.ssim')
def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03,
         return_index_map=False):
  """The structural similarity of images [..., height, width, channels]: [...] in [-1, 1].

  Means, variances and the covariance are those of a window with Gaussian weights, at each place
  where it is inside of the image. With return_index_map the values of the places are given, [...,
  height - filter_size + 1, width - filter_size + 1].
  """
  with name_scope(None, 'SSIM', [img1, img2]):
    img1, img2, assertions = _checked_pair(img1, img2)
    with control_dependencies(assertions):
      img1 = array.identity(img1)
    img1, img2, largest = _as_floats(img1, img2, max_val)
    values, _ = _per_channel(img1, img2, largest, filter_size, filter_sigma, k1, k2,
                             not return_index_map)
    return math.reduce_mean(values, [-1])


def _half(img):
  """The image with half the height and width, of means of 2 x 2; odd sizes are made even by
  repeating the last line."""
  sizes = array.shape(img)
  flat = array.reshape(img, array.concat([[-1], sizes[-3:]], 0))
  odd = sizes[-3:-1] % 2
  ends = array.stack([0, odd[0], odd[1], 0])
  paddings = array.stack([array.zeros_like(ends), ends], 1)
  halves = nn.avg_pool(array.pad(flat, paddings, mode='SYMMETRIC'), [1, 2, 2, 1], [1, 2, 2, 1],
                       'VALID')
  return array.reshape(halves, array.concat([sizes[:-3], array.shape(halves)[1:]], 0))


@export('image.ssim_multiscale')
def ssim_multiscale(img1, img2, max_val, power_factors=_SCALES, filter_size=11, filter_sigma=1.5,
                    k1=0.01, k2=0.03):
  """The structural similarity over several scales, each with half the size of the one before:
  [...] in [0, 1] of images [..., height, width, channels]. The product, to the power of the
  factors, of contrast and structure at each scale, and of all of SSIM at the last."""
  with name_scope(None, 'MS-SSIM', [img1, img2]):
    img1, img2, assertions = _checked_pair(img1, img2)
    with control_dependencies(assertions):
      img1 = array.identity(img1)
    img1, img2, largest = _as_floats(img1, img2, max_val)
    factors, last = [], len(power_factors) - 1
    for i in range(last + 1):
      if i > 0:
        img1, img2 = _half(img1), _half(img2)
      values, structure = _per_channel(img1, img2, largest, filter_size, filter_sigma, k1, k2, True)
      factors.append(apply_op('Relu', features=values if i == last else structure))
    powers = constant_of(list(power_factors), dtypes.float32)
    product = math.reduce_prod(math.pow(array.stack(factors, axis=-1), powers), [-1])
    return math.reduce_mean(product, [-1])
