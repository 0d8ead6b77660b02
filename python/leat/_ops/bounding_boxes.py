"""tf.image: boxes in images: drawing, cropping, sampling, and leaving out those that overlap.

A box is [y_min, x_min, y_max, x_max], in parts of the image's height and width.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope


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


@export('image.combined_non_max_suppression')
def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size,
                                 iou_threshold=0.5, score_threshold=float('-inf'),
                                 pad_per_class=False, clip_boxes=True, name=None):
  """The best boxes of all classes of each image, without those that overlap a better one of their
  class.

  Args:
    boxes: [batch, n, classes or 1, 4] of float32.
    scores: [batch, n, classes] of float32.
    pad_per_class: at most max_output_size_per_class boxes for each class are padded.
    clip_boxes: corners outside [0, 1] are moved there.

  Returns:
    (boxes [batch, m, 4], scores [batch, m], classes [batch, m], how many there are [batch]).
  """
  with name_scope(name, 'combined_non_max_suppression'):
    return apply_op('CombinedNonMaxSuppression', boxes=boxes, scores=scores,
                    max_output_size_per_class=max_output_size_per_class,
                    max_total_size=max_total_size,
                    iou_threshold=convert(iou_threshold, dtypes.float32, 'iou_threshold'),
                    score_threshold=convert(score_threshold, dtypes.float32, 'score_threshold'),
                    pad_per_class=bool(pad_per_class), clip_boxes=bool(clip_boxes))


@export('image.sample_distorted_bounding_box')
def sample_distorted_bounding_box(image_size, bounding_boxes, seed=None, seed2=None,
                                  min_object_covered=0.1, aspect_ratio_range=None, area_range=None,
                                  max_attempts=None, use_image_if_no_bounding_boxes=None,
                                  name=None):
  """A random box of the image that covers a part of one of the given boxes.

  Args:
    image_size: [3] of integers: height, width, channels.
    bounding_boxes: [batch, n, 4] of float32.
    min_object_covered: which part of a box must be inside, of at least one box.
    aspect_ratio_range: of width / height, (0.75, 1.33) where it is left out.
    area_range: which part of the image it may be, (0.05, 1) where it is left out.
    max_attempts: 100 where it is left out. If no attempt fits, the box is the whole image.
    use_image_if_no_bounding_boxes: without boxes any box fits; else the step fails.

  Returns:
    (begin, size, box): what `tf.slice` takes, [3] of the type of `image_size`, and [1, 1, 4] of
    float32.
  """
  attrs = dict(seed=seed, seed2=seed2, aspect_ratio_range=aspect_ratio_range,
               area_range=area_range, max_attempts=max_attempts,
               use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes)
  with name_scope(name, 'sample_distorted_bounding_box'):
    return apply_op('SampleDistortedBoundingBoxV2', image_size=image_size,
                    bounding_boxes=bounding_boxes, min_object_covered=min_object_covered,
                    **{attr: value for attr, value in attrs.items() if value is not None})


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


@export('image.extract_patches')
def extract_patches(images, sizes, strides, rates, padding, name=None):
  """extract_image_patches with the order of arguments of TensorFlow 2."""
  return extract_image_patches(images, sizes, strides, rates, padding, name)


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
  return apply_op('ExtractGlimpse', name=name, input=input, size=size, offsets=offsets,
                  centered=centered, normalized=normalized, uniform_noise=uniform_noise,
                  noise='uniform' if uniform_noise else 'gaussian')
