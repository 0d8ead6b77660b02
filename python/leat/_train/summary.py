"""tf.summary: operations that make summaries. events.py has the writers of their files."""
from __future__ import annotations

import contextlib

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import message
from leat._graph.apply import apply_op
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, name_scope


def collect(value, collections):
  collections = [GraphKeys.SUMMARIES] if collections is None else collections
  get_default_graph().add_to_collections(list(collections), value)
  return value


def _clean(name):
  """A name that operations can have."""
  import re
  return re.sub(r'[^-/\w\.]', '_', name).lstrip('/')


@contextlib.contextmanager
def scoped(name, family, values, default=None):
  """(tag, scope) of a summary: the name of the operation, below the family where there is one."""
  name = _clean(name) if name else name
  family = _clean(family) if family else None
  base = '%s/%s' % (family, name) if family else name
  with name_scope(base, default, values) as scope:
    tag = scope.rstrip('/')
    yield '%s/%s' % (family, tag) if family else tag, scope


@export('summary.scalar')
def scalar(name, tensor, collections=None, family=None):
  """A summary of a number: a string tensor, which FileWriter.add_summary writes and the board draws
  over time. It is added to the collection SUMMARIES, or to `collections`."""
  with scoped(name, family, [tensor]) as (tag, scope):
    return collect(apply_op('ScalarSummary', name=scope, tags=tag, values=tensor), collections)


@export('summary.histogram')
def histogram(name, values, collections=None, family=None):
  """A summary of the distribution of the values of a tensor, over time."""
  with scoped(name, family, [values], 'HistogramSummary') as (tag, scope):
    return collect(apply_op('HistogramSummary', name=scope, tag=tag, values=values), collections)


@export('summary.image')
def image(name, tensor, max_outputs=3, collections=None, family=None):
  """A summary of up to max_outputs pictures of a tensor [batch, height, width, channels] with 1, 3
  or 4 channels, uint8 or float32."""
  with scoped(name, family, [tensor]) as (tag, scope):
    return collect(apply_op('ImageSummary', name=scope, tag=tag, tensor=tensor,
                             max_images=max_outputs), collections)


@export('summary.audio')
def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
  """Sound, [n, frames, channels]."""
  with scoped(name, family, [tensor]) as (tag, scope):
    return collect(apply_op('AudioSummaryV2', name=scope, tag=tag, tensor=tensor,
                             max_outputs=max_outputs, sample_rate=sample_rate), collections)


@export('summary.tensor_summary')
def tensor_summary(name, tensor, summary_description=None, collections=None,
                   summary_metadata=None, family=None, display_name=None):
  """A tensor of any type and shape; `summary_metadata` says what shows it."""
  metadata = message.of('SummaryMetadata')()
  if summary_metadata is not None:
    metadata.CopyFrom(summary_metadata)
  if summary_description is not None:
    metadata.summary_description = summary_description
  if display_name is not None:
    metadata.display_name = display_name
  with scoped(name, family, [tensor]) as (tag, scope):
    return collect(apply_op('TensorSummaryV2', name=scope, tag=tag, tensor=tensor,
                             serialized_summary_metadata=metadata.SerializeToString()),
                    collections)


@export('summary.text')
def text(name, tensor, collections=None):
  """Texts, a string tensor of any shape."""
  if tensor.dtype.base_dtype is not dtypes.string:
    raise ValueError('Expected tensor %s to have dtype string, got %s' % (tensor.name,
                                                                          tensor.dtype))
  metadata = message.of('SummaryMetadata')()
  metadata.plugin_data.plugin_name = 'text'
  return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


@export('summary.merge')
def merge(inputs, collections=None, name=None):
  """One summary that has all of `inputs`, which are summaries; it is added to the collections that
  are named."""
  with name_scope(name, 'Merge', inputs):
    value = apply_op('MergeSummary', inputs=list(inputs))
    if collections:
      collect(value, collections)
    return value


@export('summary.merge_all')
def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
  """A summary of all in the collection of the graph, or None where there is none: one tensor to
  fetch instead of many."""
  found = get_default_graph().get_collection(key, scope=scope)
  return merge(found, name=name) if found else None
