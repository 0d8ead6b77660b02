"""SessionRunHook: what a monitored session calls before and after each step.

A hook may ask for more fetches and feeds before a step, sees their values after it, and can ask the
loop of steps to end. monitored.py calls the hooks; hooks.py and saver_hooks.py have those that most
programs use.
"""
from __future__ import annotations

import collections

from leat._export import export


@export('train.SessionRunArgs')
class SessionRunArgs(collections.namedtuple('SessionRunArgs', ['fetches', 'feed_dict', 'options'])):
  """What a hook adds to a step: a structure of fetches, feeds, and RunOptions."""
  __slots__ = ()

  def __new__(cls, fetches, feed_dict=None, options=None):
    return super().__new__(cls, fetches, feed_dict, options)


@export('train.SessionRunValues')
class SessionRunValues(collections.namedtuple('SessionRunValues',
                                              ['results', 'options', 'run_metadata'])):
  """What a step gave a hook: the values of its fetches in the same structure, the RunOptions of the
  step and its RunMetadata."""
  __slots__ = ()


@export('train.SessionRunContext')
class SessionRunContext:
  """A step that is about to run or has run: what the program asked for, and the session."""

  def __init__(self, original_args, session):
    self._original_args, self._session = original_args, session
    self._stop_requested = False

  @property
  def original_args(self):
    """SessionRunArgs with what the program gave to run()."""
    return self._original_args

  @property
  def session(self):
    """The session below the hooks, whose run() calls no hook."""
    return self._session

  @property
  def stop_requested(self):
    """Whether a hook asked for the end of the loop."""
    return self._stop_requested

  def request_stop(self):
    """Makes should_stop() of the monitored session true after this step."""
    self._stop_requested = True


@export('train.SessionRunHook')
class SessionRunHook:
  """The base of hooks, which a monitored session calls around its steps. Each method does nothing
  here; a hook defines those that it needs."""

  def begin(self):
    """Called once, while operations can still be added to the graph."""

  def after_create_session(self, session, coord):
    """Called for each session that is made, the first one and those after a failure; `coord` is the
    Coordinator of its threads."""

  def before_run(self, run_context):
    """Called before each step; gives SessionRunArgs or None."""
    return None

  def after_run(self, run_context, run_values):
    """Called after each step that succeeded."""

  def end(self, session):
    """Called when the loop ends without an error; the session can still be used."""
