"""contrib.testing: a writer of summaries that keeps them, and what is in event files."""
from __future__ import annotations

import collections
import glob
import os

from leat._export import export
from leat._graph import message
from leat._train import events


@export('contrib.testing.FakeSummaryWriter')
class FakeSummaryWriter:
  """Keeps what is written to it, for tests. Between install() and uninstall() the writers of
  FileWriterCache are of this class."""
  _replaced = None

  @classmethod
  def install(cls):
    if cls._replaced:
      raise ValueError('FakeSummaryWriter already installed.')
    cls._replaced, events.FileWriter = events.FileWriter, FakeSummaryWriter

  @classmethod
  def uninstall(cls):
    if not cls._replaced:
      raise ValueError('FakeSummaryWriter not installed.')
    events.FileWriter, cls._replaced = cls._replaced, None

  def __init__(self, logdir, graph=None):
    self._logdir, self._graph = logdir, graph
    self._summaries = collections.defaultdict(list)
    self._graphs, self._meta_graphs, self._session_logs = [], [], []
    self._run_metadata = {}

  @property
  def summaries(self):
    """The summaries of each step."""
    return self._summaries

  def assert_summaries(self, test_case, expected_logdir=None, expected_graph=None,
                       expected_summaries=None, expected_added_graphs=None,
                       expected_added_meta_graphs=None, expected_session_logs=None):
    """Compares what was written with what is expected, where that is given. expected_summaries are
    the numbers of steps: {step: {tag: number}}."""
    for expected, found in ((expected_logdir, self._logdir),
                            (expected_added_graphs, self._graphs),
                            (expected_added_meta_graphs, self._meta_graphs),
                            (expected_session_logs, self._session_logs)):
      if expected is not None:
        test_case.assertEqual(expected, found)
    if expected_graph is not None:
      test_case.assertIs(expected_graph, self._graph)
    for step, expected in (expected_summaries or {}).items():
      test_case.assertIn(step, self._summaries)
      # A supervisor writes the speed from a thread of its own, at any time.
      found = {v.tag: v.simple_value for summary in self._summaries[step] for v in summary.value
               if v.tag != 'global_step/sec'}
      test_case.assertEqual(expected, found)

  def add_summary(self, summ, current_global_step):
    """`summ` is a Summary, or one that is serialized."""
    if isinstance(summ, bytes):
      summ = message.of('Summary').FromString(summ)
    self._summaries[current_global_step].append(summ)

  def add_graph(self, graph, global_step=None, graph_def=None):
    if global_step is not None and global_step < 0:
      raise ValueError('Invalid global_step %s.' % global_step)
    if graph_def is not None:
      raise ValueError('Unexpected graph_def %s.' % graph_def)
    self._graphs.append(graph)

  def add_meta_graph(self, meta_graph_def, global_step=None):
    if global_step is not None and global_step < 0:
      raise ValueError('Invalid global_step %s.' % global_step)
    self._meta_graphs.append(meta_graph_def)

  def add_session_log(self, session_log, global_step=None):
    del global_step
    self._session_logs.append(session_log)

  def add_run_metadata(self, run_metadata, tag, global_step=None):
    if global_step is not None and global_step < 0:
      raise ValueError('Invalid global_step %s.' % global_step)
    self._run_metadata[tag] = run_metadata

  def flush(self):
    """Does nothing: what is written is there."""

  reopen = close = flush


@export('contrib.testing.latest_event_file')
def latest_event_file(base_dir):
  """The path of the last event file in a folder, None where there is none."""
  found = glob.glob(os.path.join(base_dir, 'events.*'))
  return sorted(found)[-1] if found else None


@export('contrib.testing.latest_events')
def latest_events(base_dir):
  """The events in the last event file of a folder."""
  path = latest_event_file(base_dir)
  return list(events.summary_iterator(path)) if path is not None else []


@export('contrib.testing.latest_summaries')
def latest_summaries(base_dir):
  """The events with summaries in the last event file of a folder."""
  return [e for e in latest_events(base_dir) if e.HasField('summary')]
