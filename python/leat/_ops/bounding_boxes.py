"""tf.image: boxes in images: drawing, cropping, sampling, and leaving out those that overlap.

A box is [y_min, x_min, y_max, x_max], in parts of the image's height and width.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.value import constant_value
from leat._ops import array, control_flow, math, random


@export('image.draw_bounding_boxes')
def draw_bounding_boxes(images, boxes, name=None, colors=None):
  """The images with a line around each box, in the colors [n, channels], which are repeated, or in
  colors of the library's choice."""
  if colors is None:
    return apply_op('DrawBoundingBoxes', name=name, images=images, boxes=boxes)
  return apply_op('DrawBoundingBoxesV2', name=name, images=images, boxes=boxes, colors=colors)


@export('image.crop_and_resize')
def crop_and_resize(image, boxes, box_ind=None, crop_size=None, method='bilinear',
                    extrapolation_value=0, name=None, box_indices=None):
  """The boxes [n, 4] of images of a batch, each in the size `crop_size`: [n, height, width,
  channels] of float32. Box i is of image box_ind[i]."""
  if box_indices is not None:
    if box_ind is not None:
      raise ValueError("Cannot specify both 'box_ind' and 'box_indices'.")
    box_ind = box_indices
  return apply_op('CropAndResize', name=name, image=image, boxes=boxes, box_ind=box_ind,
                  crop_size=crop_size, method=method, extrapolation_value=extrapolation_value)


# ---- Overlaps -----------------------------------------------------------------------------------


def _floats(boxes, scores, threshold, score_threshold):
  """The arguments of the suppression as tensors: the thresholds are of the types of what they are
  compared with."""
  boxes, scores = convert(boxes, name='boxes'), convert(scores, name='scores')
  return boxes, scores, convert(threshold, boxes.dtype.base_dtype, 'iou_threshold'), \
      convert(score_threshold, scores.dtype.base_dtype, 'score_threshold')


@export('image.non_max_suppression')
def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5,
                        score_threshold=float('-inf'), name=None):
  """The indices of the boxes that stay when, from the highest score on, those are left out that
  overlap one that stays: by more than iou_threshold, intersection over union.

  Args:
    boxes: [n, 4], of any two corners that are opposite.
    scores: [n]; boxes with less than score_threshold are left out.
    max_output_size: int32 scalar, how many stay at most.

  Returns:
    int32, [m], in the order of the scores.
  """
  with name_scope(name, 'non_max_suppression'):
    boxes, scores, threshold, least = _floats(boxes, scores, iou_threshold, score_threshold)
    return apply_op('NonMaxSuppressionV3', boxes=boxes, scores=scores,
                    max_output_size=max_output_size, iou_threshold=threshold,
                    score_threshold=least)


@export('image.non_max_suppression_with_scores')
def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5,
                                    score_threshold=float('-inf'), soft_nms_sigma=0.0, name=None):
  """(indices, scores) of the boxes that stay. With a soft_nms_sigma above 0 overlapping boxes are
  not left out, but their scores are lowered."""
  with name_scope(name, 'non_max_suppression_with_scores'):
    boxes, scores, threshold, least = _floats(boxes, scores, iou_threshold, score_threshold)
    sigma = convert(soft_nms_sigma, scores.dtype.base_dtype, 'soft_nms_sigma')
    indices, kept, _ = apply_op(
        'NonMaxSuppressionV5', boxes=boxes, scores=scores, max_output_size=max_output_size,
        iou_threshold=threshold, score_threshold=least, soft_nms_sigma=sigma,
        pad_to_max_output_size=False)
    return indices, kept


@export('image.non_max_suppression_padded')
def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5,
                               score_threshold=float('-inf'), pad_to_max_output_size=False,
                               name=None):
  """(indices, how many are valid); with pad_to_max_output_size zeros follow up to that number."""
  with name_scope(name, 'non_max_suppression_padded'):
    boxes, scores, threshold, least = _floats(boxes, scores, iou_threshold, score_threshold)
    return apply_op('NonMaxSuppressionV4', boxes=boxes, scores=scores,
                    max_output_size=max_output_size, iou_threshold=threshold,
                    score_threshold=least, pad_to_max_output_size=pad_to_max_output_size)


@export('image.non_max_suppression_overlaps')
def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5,
                                 score_threshold=float('-inf'), name=None):
  """The same where the overlaps [n, n] of all pairs are given."""
  with name_scope(name, 'non_max_suppression_overlaps'):
    return apply_op('NonMaxSuppressionWithOverlaps', overlaps=overlaps, scores=scores,
                    max_output_size=max_output_size, overlap_threshold=overlap_threshold,
                    score_threshold=score_threshold)


# ---- A random box -------------------------------------------------------------------------------


def _floored(x):
  return math.floor(x + 0.5)


def _drawn_size(height, width, aspect, area, n, seed):
  """(heights, widths, whether they fit), [n] each: sizes with a random ratio of width and height
  in the range `aspect`, and an area that is the part `area` of the image's."""
  draw = lambda: random.random_uniform([n], seed=seed)
  ratio = aspect[0] + (aspect[1] - aspect[0]) * draw()
  least, most = area[0] * height * width, area[1] * height * width
  low, high = _floored(math.sqrt(least / ratio)), _floored(math.sqrt(most / ratio))
  # The width must be less than half a pixel more than the image's.
  high = array.where(_floored(high * ratio) > width, math.floor((width + 0.5 - 1e-7) / ratio),
                     high)
  high = apply_op('Minimum', x=high, y=height)
  low = apply_op('Minimum', x=low, y=high)
  heights = low + math.floor((high - low + 1.0) * draw())
  heights = apply_op('Minimum', x=heights, y=high)
  widths = _floored(heights * ratio)
  # Rounding may have made the area too large or too small by a line.
  covered = heights * widths
  heights = array.where(covered < least, heights + 1.0, heights)
  heights = array.where(covered > most, heights - 1.0, heights)
  widths = _floored(heights * ratio)
  covered = heights * widths
  fits = math.reduce_all(array.stack([
      covered >= least, covered <= most, widths <= width, heights <= height, widths > 0.0,
      heights > 0.0]), 0)
  return heights, widths, fits


def _covers(tops, lefts, heights, widths, boxes, wanted):
  """[n]: whether each drawn box covers the part `wanted` of one of the boxes [m, 4], in pixels."""
  y, x = array.expand_dims(tops, 1), array.expand_dims(lefts, 1)
  y_end, x_end = y + array.expand_dims(heights, 1), x + array.expand_dims(widths, 1)
  common = _positive(_least(y_end, boxes[:, 2]) - _most(y, boxes[:, 0])) * \
      _positive(_least(x_end, boxes[:, 3]) - _most(x, boxes[:, 1]))
  sizes = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
  enough = apply_op('LogicalAnd', x=common >= wanted * sizes, y=common > 0.0)
  return math.reduce_any(enough, 1)


def _least(x, y):
  return apply_op('Minimum', x=x, y=y)


def _most(x, y):
  return apply_op('Maximum', x=x, y=y)


def _positive(x):
  return _most(x, 0.0)


def _checked_ranges(aspect, area):
  if len(aspect) != 2 or not 0 < aspect[0] <= aspect[1]:
    raise ValueError('aspect_ratio_range is %s, must be two positive numbers, the smaller first.' %
                     (aspect,))
  if len(area) != 2 or not 0 < area[0] <= area[1] <= 1:
    raise ValueError('area_range is %s, must be two numbers in (0, 1], the smaller first.' %
                     (area,))


@export('image.sample_distorted_bounding_box')
def sample_distorted_bounding_box(image_size, bounding_boxes, seed=None, seed2=None,
                                  min_object_covered=0.1, aspect_ratio_range=None, area_range=None,
                                  max_attempts=None, use_image_if_no_bounding_boxes=None,
                                  name=None):
  """A random box of the image that covers a part of one of the given boxes.

  All attempts are drawn at once, and the first that fits is taken; if none does, the whole image.

  Args:
    image_size: [3] of integers: height, width, channels.
    bounding_boxes: [batch, n, 4] of float32.
    min_object_covered: which part of a box must be inside, of at least one box.
    aspect_ratio_range: of width / height, (0.75, 1.33) where it is left out.
    area_range: which part of the image it may be, (0.05, 1) where it is left out.
    max_attempts: 100 where it is left out.
    use_image_if_no_bounding_boxes: without boxes any box fits; else the step fails.

  Returns:
    (begin, size, box): what `tf.slice` takes, [3] of the type of `image_size`, and [1, 1, 4] of
    float32.
  """
  aspect = (0.75, 1.33) if aspect_ratio_range is None else aspect_ratio_range
  area = (0.05, 1.0) if area_range is None else area_range
  attempts = 100 if max_attempts is None else max_attempts
  _checked_ranges(aspect, area)
  with name_scope(name, 'sample_distorted_bounding_box'):
    image_size = convert(image_size, name='image_size')
    image_size.get_shape().assert_is_compatible_with([3])
    boxes = array.reshape(convert(bounding_boxes, dtypes.float32, 'bounding_boxes'), [-1, 4])
    some = array.shape(boxes)[0] > 0
    if not use_image_if_no_bounding_boxes:
      with control_dependencies([control_flow.Assert(some, [
          'No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes '
          'if you wish to not provide any bounding boxes.'])]):
        boxes = array.identity(boxes)
    height, width = [math.cast(image_size[i], dtypes.float32) for i in (0, 1)]
    if seed2 is not None and seed is not None:
      seed = seed + seed2
    heights, widths, fits = _drawn_size(height, width, aspect, area, attempts, seed)
    tops = math.floor((height - heights + 1.0) * random.random_uniform([attempts], seed=seed))
    lefts = math.floor((width - widths + 1.0) * random.random_uniform([attempts], seed=seed))
    in_pixels = boxes * array.stack([height, width, height, width])
    covers = _covers(tops, lefts, heights, widths, in_pixels,
                     convert(min_object_covered, dtypes.float32))
    covers = apply_op('LogicalOr', x=covers, y=apply_op('LogicalNot', x=some))
    fits = apply_op('LogicalAnd', x=fits, y=covers)
    zero = array.zeros_like(height)
    # The whole image stands behind all attempts.
    drawn = [array.concat([parts, [last]], 0) for parts, last in (
        (tops, zero), (lefts, zero), (heights, height), (widths, width))]
    at = math.argmax(math.cast(array.concat([fits, [True]], 0), dtypes.int32), 0)
    top, left, tall, wide = [array.gather(parts, at) for parts in drawn]
    begin = math.cast(array.stack([top, left, zero]), image_size.dtype.base_dtype)
    size = array.concat([math.cast(array.stack([tall, wide]), image_size.dtype.base_dtype),
                         constant_of([-1], image_size.dtype.base_dtype)], 0)
    box = array.stack([top / height, left / width, (top + tall) / height, (left + wide) / width])
    return begin, size, array.reshape(box, [1, 1, 4])


# ---- Glimpses, patches --------------------------------------------------------------------------


@export('extract_image_patches', 'image.extract_image_patches')
def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None,
                          sizes=None):
  """The patches of images [batch, height, width, channels] as the last dimension of the result."""
  if sizes is not None:
    if ksizes is not None:
      raise ValueError("Cannot specify both 'ksizes' and 'sizes'.")
    ksizes = sizes
  return apply_op('ExtractImagePatches', name=name, images=images, ksizes=ksizes, strides=strides,
                  rates=rates, padding=padding)


def _glimpse_starts(offsets, sizes, glimpse, centered, normalized):
  """[batch]: the first row, or column, of each glimpse, which may be outside of the image."""
  if normalized:
    offsets = offsets * sizes
  if centered:
    offsets = offsets / 2.0 + sizes / 2.0
  return math.cast(offsets - glimpse / 2.0, dtypes.int32)


def _glimpse_line(start, length, size):
  """([batch, length] of places within the image, whether they are where the glimpse looks)."""
  places = array.expand_dims(start, 1) + array.expand_dims(math.range(length), 0)
  inside = apply_op('LogicalAnd', x=places >= 0, y=apply_op('Less', x=places, y=size))
  return _most(_least(places, size - 1), 0), inside


def _noise(images, shape, uniform_noise):
  """Pixels for what is outside, in the range of those of each image."""
  low = math.reduce_min(images, [1, 2, 3], keepdims=True)
  high = math.reduce_max(images, [1, 2, 3], keepdims=True)
  if uniform_noise:
    return low + (high - low) * random.random_uniform(shape)
  mean = math.reduce_mean(images, [1, 2, 3], keepdims=True)
  deviation = math.sqrt(math.reduce_mean(math.square(images - mean), [1, 2, 3], keepdims=True))
  return _least(_most(mean + deviation * random.random_normal(shape), low), high)


@export('image.extract_glimpse')
def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True,
                    name=None):
  """The window of `size` around a point of each image; noise where it is outside of the image.

  Args:
    input: [batch, height, width, channels] of float32.
    size: [2] of int32: height and width of the window.
    offsets: [batch, 2] of float32: y and x of its center. They count from the middle of the image
      where `centered`, else from its corner; in images, where `normalized`: -1 to 1, or 0 to 1.
    uniform_noise: evenly between the least and the largest value of the image, else Gaussian with
      its mean and deviation, within the same range.

  Returns:
    [batch, size[0], size[1], channels] of float32.
  """
  with name_scope(name, 'ExtractGlimpse', [input, size, offsets]) as scope:
    images = convert(input, dtypes.float32, 'input')
    known = images.get_shape().with_rank(4)
    offsets = convert(offsets, dtypes.float32, 'offsets')
    offsets.get_shape().with_rank(2)[1:].assert_is_compatible_with([2])
    known[:1].assert_is_compatible_with(offsets.get_shape()[:1])
    window = convert(size, dtypes.int32, 'size')
    batch, height, width, channels = array.unstack(array.shape(images), 4)
    real = [math.cast(s, dtypes.float32) for s in (height, width, window[0], window[1])]
    starts = [_glimpse_starts(offsets[:, i], real[i], real[2 + i], centered, normalized)
              for i in (0, 1)]
    rows, rows_inside = _glimpse_line(starts[0], window[0], height)
    columns, columns_inside = _glimpse_line(starts[1], window[1], width)
    first = array.reshape(math.range(batch) * height, [-1, 1])
    places = array.expand_dims((first + rows) * width, 2) + array.expand_dims(columns, 1)
    inside = apply_op('LogicalAnd', x=array.expand_dims(rows_inside, 2),
                      y=array.expand_dims(columns_inside, 1))
    seen = array.gather(array.reshape(images, array.stack([-1, channels])), places)
    result = array.where_v2(array.expand_dims(inside, 3), seen,
                            _noise(images, array.shape(seen), uniform_noise), name=scope)
    sizes = constant_value(window)
    inner = [None, None] if sizes is None else [int(s) for s in sizes]
    result.set_shape([known[0].value] + inner + [known[3].value])
    return result
