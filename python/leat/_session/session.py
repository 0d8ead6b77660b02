"""Session and InteractiveSession: steps of a graph.

A call of run() finds what is fetched (fetch.py) and fed (feed.py), gives both to the library, which
runs the step without the interpreter's lock, and puts the values into the structure of the fetches.
"""
from __future__ import annotations

import collections.abc
import sys
import threading
import typing

from leat import _leat
from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph import value as conversion
from leat._graph.operation import Operation
from leat._graph.tensor import Tensor
from leat._graph.value import to_numpy
from leat._session import feed as feeds
from leat._session import fetch as fetches


# Fetches whose plan is kept, and how many plans a session keeps.
_ELEMENTS = frozenset((Tensor, Operation, str))
_MOST_PLANS = 1000


class _Stack(threading.local):
  def __init__(self):
    self.sessions = []


_stack = _Stack()


@export('get_default_session')
def get_default_session():
  """The innermost session that is entered by `with`, or None."""
  return _stack.sessions[-1] if _stack.sessions else None


def of_run(session, graph, verb):
  """The session that runs `tensor.eval()` or `op.run()`; ValueError where there is none."""
  what = 'evaluate tensor' if verb == 'eval' else 'execute operation'
  if session is None:
    session = get_default_session()
    if session is None:
      raise ValueError('Cannot %s using `%s()`: No default session is registered. Use `with '
                       'sess.as_default()` or pass an explicit session to `%s(session=sess)`' %
                       (what, verb, verb))
    if session.graph is not graph:
      raise ValueError("Cannot use the default session to %s: the %s's graph is different from the "
                       "session's graph. Pass an explicit session to `%s(session=sess)`." %
                       (what, what.split()[1], verb))
  elif session.graph is not graph:
    raise ValueError("Cannot use the given session to %s: the %s's graph is different from the "
                     "session's graph." % (what, what.split()[1]))
  return session


class DeviceAttributes(typing.NamedTuple):
  """What is known of a device of a session."""
  name: str
  device_type: str
  memory_limit_bytes: int
  incarnation: int


class BaseSession:
  """What Session and InteractiveSession have in common."""

  def __init__(self, target='', graph=None, config=None):
    if graph is None:
      graph = graphs.get_default_graph()
    elif not isinstance(graph, _leat.Graph):
      raise TypeError('graph must be a tf.Graph, but got %s' % type(graph))
    if isinstance(target, bytes):
      target = target.decode()
    if target is not None and not isinstance(target, str):
      raise TypeError('target must be a string, but got %s' % type(target))
    if config is None and 'leat._platform.configuration' in sys.modules:
      config = sys.modules['leat._platform.configuration'].default()   # what tf.config has set
    if config is not None and not hasattr(config, 'allow_soft_placement'):
      raise TypeError('config must be a tf.ConfigProto, but got %s' % type(config))
    config = self._completed(config)
    self._graph, self._target, self._config = graph, target or '', config
    self._closed = False
    self._forgotten_handles = []   # of tensors that stay in the session, see handle.py
    self._partials = {}
    self._plans = {}   # fetches -> Plan
    try:
      self._session = _leat.Session(graph, self._target,
                                    None if config is None else config.SerializeToString())
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def _completed(self, config):
    """The ConfigProto of the session, given the program's, or None."""
    return config

  @property
  def graph(self):
    """The graph that it runs."""
    return self._graph

  @property
  def graph_def(self):
    """The graph as a GraphDef."""
    return self._graph.as_graph_def()

  @property
  def sess_str(self):
    """The target."""
    return self._target.encode()

  def close(self):
    """Cancels what runs and frees the state; run() fails from then on."""
    if not self._closed:
      self._closed = True
      try:
        self._session.close_()
      except _leat.StatusError as error:
        raise errors.of_status(error) from None

  def as_default(self):
    """`with sess.as_default():` makes it the session that Tensor.eval and Operation.run use. It is
    not closed at the end."""
    return _Default(self)

  # Steps --------------------------------------------------------------------------------------

  def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
    """Runs one step: computes what is fetched, and only what that needs.

    `fetches` is a tensor, an operation, a variable, a name ('loss:0'), or a list, tuple or dict of
    these, nested as you like; the result has its form, with arrays for tensors and None for
    operations. feed_dict gives tensors, placeholders most often, a value for this step. With
    `options`, a tf.RunOptions, and `run_metadata`, a tf.RunMetadata, the step is recorded there.

    RuntimeError where the session is closed; TypeError where something cannot be fetched or fed;
    ValueError where a name is not in the graph or a value has the wrong shape; tf.errors.OpError
    where an operation fails.

    >>> x = tf.placeholder(tf.float32, [2])
    >>> sess = tf.Session()
    >>> sess.run({'twice': x * 2.0}, feed_dict={x: [1.0, 2.0]})
    {'twice': array([2., 4.], dtype=float32)}
    """
    if self._forgotten_handles:
      from leat._session import handle
      handle.delete_forgotten(self)
    plan, pairs = self._prepare(fetches, feed_dict)
    if plan.tensors or feed_dict:
      conversion.load_arrays()
    given = {}
    for tensor, value in pairs:
      given[tensor] = (value, feeds.value_of(self._graph, tensor, value))
    wanted = [t for t in plan.tensors if t not in given] if given else plan.tensors
    if not wanted and not plan.targets and run_metadata is None:
      return plan.build(self._with_fed(plan, given, ()))
    try:
      found, metadata = self._session.run_(
          list(given), [v for _, v in given.values()], wanted, plan.targets,
          options.SerializeToString() if options is not None else None, run_metadata is not None)
    except _leat.StatusError as error:
      raise errors.of_status(error, self._graph) from None
    if run_metadata is not None:
      run_metadata.ParseFromString(metadata)
    arrays = _arrays(found)
    if plan.has_handles:
      from leat._session import handle
      arrays = [handle.wrapped(t, v, self) for t, v in zip(wanted, arrays)]
    if given and len(wanted) != len(plan.tensors):
      arrays = self._with_fed(plan, given, arrays)
    return plan.build(arrays)

  @staticmethod
  def _with_fed(plan, given, arrays):
    """What is fetched and fed is what was fed."""
    rest = iter(arrays)
    return [to_numpy(given[t][1]) if t in given else next(rest) for t in plan.tensors]

  def _prepare(self, wanted, feed_dict):
    if self._closed:
      raise RuntimeError('Attempted to use a closed Session.')
    if self._graph.version == 0 and not self._graph.operations():
      raise RuntimeError('The Session graph is empty. Add operations to the graph before calling '
                         'run().')
    if feed_dict is not None and not isinstance(feed_dict, collections.abc.Mapping):
      raise TypeError('feed_dict must be a dict, but got %s' % type(feed_dict).__name__)
    plan = self._plan(wanted)
    return plan, feeds.flat(self._graph, feed_dict) if feed_dict else ()

  def _plan(self, wanted):
    """The plan of what is fetched. That of a tensor or operation, or of a flat list of them, is
    kept for the next call."""
    kind = type(wanted)
    if kind in _ELEMENTS:
      key = wanted
    elif kind in (list, tuple) and _ELEMENTS.issuperset(map(type, wanted)):
      key = (kind, *wanted)
    else:
      return fetches.Plan(self._graph, wanted)
    plan = self._plans.get(key)
    if plan is None:
      if len(self._plans) >= _MOST_PLANS:
        self._plans.clear()
      plan = self._plans[key] = fetches.Plan(self._graph, wanted)
    return plan

  def partial_run_setup(self, fetches, feeds=None):
    """A step in parts: all that its parts will fetch and feed. The handle is for partial_run."""
    if self._closed:
      raise RuntimeError('Attempted to use a closed Session.')
    if self._graph.version == 0:
      raise RuntimeError('The Session graph is empty. Add operations to the graph before calling '
                         'run().')
    plan = self._plan(fetches)
    tensors = []
    for feed in feeds or ():
      for cls, function in _feed_conversions():
        if isinstance(feed, cls):
          tensors += [self._graph.as_graph_element(t) for t, _ in function(feed, None)]
          break
      else:
        try:
          tensors.append(self._graph.as_graph_element(feed, allow_operation=False))
        except Exception as error:
          raise TypeError('Cannot interpret feed_list key as Tensor: %s' % error) from None
    try:
      return self._session.partial_run_setup_(tensors, plan.tensors, plan.targets).decode()
    except _leat.StatusError as error:
      raise errors.of_status(error, self._graph) from None

  def partial_run(self, handle, fetches, feed_dict=None):
    """A part of a step that partial_run_setup began."""
    plan, pairs = self._prepare(fetches, feed_dict)
    tensors = [t for t, _ in pairs]
    values = [feeds.value_of(self._graph, t, v) for t, v in pairs]
    try:
      found = self._session.partial_run_(handle.encode(), tensors, values, plan.tensors,
                                         plan.targets)
    except _leat.StatusError as error:
      raise errors.of_status(error, self._graph) from None
    return plan.build(_arrays(found))

  def make_callable(self, fetches, feed_list=None, accept_options=False):
    """A function that takes the values of feed_list, runs a step and gives the values of `fetches`.
    It is faster than `run` with the same arguments each time."""
    if feed_list is not None and not isinstance(feed_list, (list, tuple)):
      raise TypeError('`feed_list` must be a list or tuple.')
    graph = self._graph
    plan = self._plan(fetches)
    tensors = [graph.as_graph_element(f, allow_operation=False) for f in feed_list or ()]
    if accept_options or self._target:   # a master elsewhere knows whole steps alone
      return self._callable_by_run(fetches, tensors, accept_options)
    try:
      conversion.load_arrays()
      runner = _leat.Callable(self._session, tensors, plan.tensors, plan.targets)
    except _leat.StatusError as error:
      raise errors.of_status(error, graph) from None
    run, build, value_of = runner.run, plan.build, feeds.value_of

    def call(*values):
      if len(values) != len(tensors):
        raise TypeError('Expected %d arguments but got %d' % (len(tensors), len(values)))
      try:
        found = run([value_of(graph, t, v) for t, v in zip(tensors, values)])
      except _leat.StatusError as error:
        raise errors.of_status(error, graph) from None
      return build(_arrays(found))
    return call

  def _callable_by_run(self, fetches, tensors, accept_options):
    """A function of the values of `tensors`, and of options and run_metadata where they are
    accepted, that calls run()."""
    def call(*values, **named):
      if len(values) != len(tensors):
        raise TypeError('Expected %d arguments but got %d' % (len(tensors), len(values)))
      if not accept_options and named:
        raise TypeError('Unexpected arguments: %s' % ', '.join(named))
      return self.run(fetches, dict(zip(tensors, values)), options=named.get('options'),
                      run_metadata=named.get('run_metadata'))
    return call

  def list_devices(self):
    """The devices of the session."""
    if self._closed:
      raise RuntimeError('Attempted to use a closed Session.')
    try:
      return [DeviceAttributes(*d) for d in self._session.list_devices_()]
    except _leat.StatusError as error:
      raise errors.of_status(error) from None


def _arrays(found):
  """What the library gave, with strings taken out of their Values."""
  return [to_numpy(v) if type(v) is _leat.Value else v for v in found]


def _feed_conversions():
  return fetches.feed_conversions


class _Default:
  """`with session.as_default()`: the session that eval() and run() use."""

  def __init__(self, session):
    self._session = session

  def __enter__(self):
    _stack.sessions.append(self._session)
    return self._session

  def __exit__(self, *unused):
    if not _stack.sessions or _stack.sessions[-1] is not self._session:
      raise AssertionError('Nesting violated for default stack of %s objects' %
                           type(self._session))
    _stack.sessions.pop()
    return False


@export('Session')
class Session(BaseSession):
  """Runs operations of a graph, and holds the state of its variables.

  `graph` is the default graph where none is given. `config` is a tf.ConfigProto. `target` is empty
  for this process, or the address of a server, 'grpc://host:port'. In `with tf.Session() as sess:`
  the session and its graph are the default ones, and the session is closed at the end.

  >>> a = tf.constant([1.0, 2.0])
  >>> with tf.Session() as sess:
  ...   print(sess.run(a * 2.0))
  [2. 4.]
  """

  def __init__(self, target='', graph=None, config=None):
    super().__init__(target, graph, config)
    self._defaults = []

  def __enter__(self):
    graph = self._graph.as_default()
    graph.__enter__()
    session = self.as_default()
    session.__enter__()
    self._defaults.append((graph, session))
    return self

  def __exit__(self, kind, value, traceback):
    graph, session = self._defaults.pop()
    session.__exit__(kind, value, traceback)
    graph.__exit__(kind, value, traceback)
    self.close()
    return False

  @staticmethod
  def reset(target, containers=None, config=None):
    """Forgets the variables and queues in the containers named, or in the default one, in the
    processes behind `target`, and closes the sessions there."""
    if containers is not None and isinstance(containers, (str, bytes)):
      raise TypeError('containers must be a list of names, is %r' % (containers,))
    try:
      _leat.reset(target, tuple(containers or ()),
                  None if config is None else config.SerializeToString())
    except _leat.StatusError as error:
      raise errors.of_status(error) from None


@export('InteractiveSession')
class InteractiveSession(BaseSession):
  """A session that is the default one from when it is made until it is closed, for notebooks and
  shells: `t.eval()` and `op.run()` use it. Only what a step needs must have a device, so that a
  node that was a mistake does not end the session."""
  _count = 0

  def __init__(self, target='', graph=None, config=None):
    super().__init__(target, graph, config)
    self._given_graph = graph is not None
    _stack.sessions.append(self)
    if self._given_graph:
      graphs._stack.graphs.append(graph)

  def _completed(self, config):
    from leat._graph import message
    completed = message.of('ConfigProto')() if config is None else type(config)()
    if config is not None:
      completed.CopyFrom(config)
    completed.graph_options.place_pruned_graph = True
    return completed

  def close(self):
    super().close()
    if self in _stack.sessions:
      _stack.sessions.remove(self)
    if self._given_graph and self._graph in graphs._stack.graphs:
      graphs._stack.graphs.remove(self._graph)
      self._given_graph = False
