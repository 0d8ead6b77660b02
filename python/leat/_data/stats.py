"""Statistics of datasets: how long elements take and how large they are.

A dataset says what is told (latency_stats, bytes_produced_stats), its options say whom
(StatsOptions). The aggregator that is told keeps a histogram for each tag.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert


@export('data.experimental.StatsAggregator')
class StatsAggregator:
  """Gathers what the datasets tell whose options name it, in the graph where it was made."""

  def __init__(self):
    self._resource = apply_op('StatsAggregatorHandle', name='StatsAggregatorHandle')

  def get_summary(self):
    """A string tensor: the serialized Summary of the histograms so far."""
    return apply_op('StatsAggregatorSummary', iterator=self._resource)


def aggregated(dataset, settings):
  """The dataset, which tells its statistics as the StatsOptions ask."""
  return dataset._made(
      'SetStatsAggregatorDataset', stats_aggregator=settings.aggregator._resource,
      tag=settings.prefix or '', counter_prefix=settings.counter_prefix or '')


def _telling(op, tag):
  return lambda dataset: dataset._made(op, tag=convert(tag, dtypes.string, 'tag'))


@export('data.experimental.bytes_produced_stats')
def bytes_produced_stats(tag):
  """For Dataset.apply: tells under `tag` how many bytes each element has."""
  return _telling('BytesProducedStatsDataset', tag)


@export('data.experimental.latency_stats')
def latency_stats(tag):
  """For Dataset.apply: tells under `tag` how many microseconds each element takes."""
  return _telling('LatencyStatsDataset', tag)
