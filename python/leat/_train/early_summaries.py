"""Summaries as they were before TensorFlow 1.0: the tag is what the program says, whatever name
scope it is in, and the name of the operation does not follow from it."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.scope import GraphKeys
from leat._train import summary


@export('scalar_summary', 'contrib.deprecated.scalar_summary')
def scalar_summary(tags, values, collections=None, name=None):
  """A summary of numbers: tags and values are of one shape. It is added to the collection
  SUMMARIES, or to `collections`."""
  return summary.collect(apply_op('ScalarSummary', name=name, tags=tags, values=values),
                         collections)


@export('histogram_summary', 'contrib.deprecated.histogram_summary')
def histogram_summary(tag, values, collections=None, name=None):
  """A summary of the distribution of the values of a tensor."""
  return summary.collect(apply_op('HistogramSummary', name=name, tag=tag, values=values),
                         collections)


@export('image_summary', 'contrib.deprecated.image_summary')
def image_summary(tag, tensor, max_images=3, collections=None, name=None):
  """A summary of up to max_images pictures of a tensor [batch, height, width, channels]."""
  return summary.collect(
      apply_op('ImageSummary', name=name, tag=tag, tensor=tensor, max_images=max_images),
      collections)


@export('audio_summary', 'contrib.deprecated.audio_summary')
def audio_summary(tag, tensor, sample_rate, max_outputs=3, collections=None, name=None):
  """A summary of sound, [n, frames, channels] or [n, frames]."""
  return summary.collect(
      apply_op('AudioSummaryV2', name=name, tag=tag, tensor=tensor, sample_rate=sample_rate,
               max_outputs=max_outputs), collections)


@export('merge_summary', 'contrib.deprecated.merge_summary')
def merge_summary(inputs, collections=None, name=None):
  """One summary that has all of `inputs`."""
  return summary.merge(inputs, collections, name)


@export('merge_all_summaries', 'contrib.deprecated.merge_all_summaries')
def merge_all_summaries(key=GraphKeys.SUMMARIES):
  """A summary of all in the collection `key` of the graph, or None where there is none."""
  return summary.merge_all(key)
