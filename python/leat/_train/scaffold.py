"""Scaffold: the operations that a training program needs besides its model, made where the program
gives none: to initialize, to tell what is not initialized, to summarize and to save.

What is made is kept in a collection of the graph, so that a second scaffold of the graph finds it.
"""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.conversion import constant_of
from leat._graph.scope import GraphKeys, name_scope
from leat._ops import array, control, lookup, variable_collections
from leat._platform import log


def only_item(collection):
  """The only item of a collection of the default graph, or None; RuntimeError where there are
  several."""
  found = graphs.get_default_graph().get_collection(collection)
  if len(found) > 1:
    raise RuntimeError('More than one item in the collection "%s". Please indicate which one to '
                       'use by passing it to the constructor.' % collection)
  return found[0] if found else None


def kept(collection, make):
  """The only item of a collection, made and added where it is empty."""
  found = only_item(collection)
  if found is None:
    found = make()
    graphs.get_default_graph().add_to_collection(collection, found)
  return found


# ---- Resources: tables and the like, in collections as (handle, create, is_initialized) ----------


_Resource = collections.namedtuple('_Resource', ['handle', 'create', 'is_initialized'])


def _resources(*keys):
  graph = graphs.get_default_graph()
  return [item for key in keys for item in graph.get_collection(key)]


@export('python.ops.resources.register_resource')
def register_resource(handle, create_op, is_initialized_op, is_shared=True):
  """Notes a resource of the graph, which sessions of tf.train create: a shared one as global
  variables are initialized, another one as local variables are."""
  graphs.get_default_graph().add_to_collection(
      GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES,
      _Resource(handle, create_op, is_initialized_op))


@export('python.ops.resources.shared_resources')
def shared_resources():
  """The resources that all sessions of a cluster share: [(handle, create, is_initialized)]."""
  return _resources(GraphKeys.RESOURCES)


@export('python.ops.resources.local_resources')
def local_resources():
  """The resources of each task of a cluster."""
  return _resources(GraphKeys.LOCAL_RESOURCES)


@export('python.ops.resources.initialize_resources')
def initialize_resources(resources, name='init'):
  """An operation that creates resources."""
  return control.group(*[r.create for r in resources], name=name)


@export('python.ops.resources.report_uninitialized_resources')
def report_uninitialized_resources(resources=None, name='report_uninitialized_resources'):
  """The names of the resources that are not created, [n]; of all resources of the graph where none
  are given."""
  from leat._graph.apply import apply_op
  if resources is None:
    resources = shared_resources() + local_resources()
  with name_scope(name):
    if not resources:
      return constant_of([], dtypes.string)
    missing = apply_op('LogicalNot', x=array.stack([r.is_initialized for r in resources]))
    return array.boolean_mask(constant_of([r.handle.name for r in resources]), missing)


def default_init_op():
  return control.group(variable_collections.global_variables_initializer(),
                       initialize_resources(_resources(GraphKeys.RESOURCES)))


def default_ready_op():
  return array.concat([
      variable_collections.report_uninitialized_variables(),
      report_uninitialized_resources(_resources(GraphKeys.RESOURCES, GraphKeys.LOCAL_RESOURCES))],
                      0)


def default_ready_for_local_init_op():
  return array.concat([
      variable_collections.report_uninitialized_variables(variable_collections.global_variables()),
      report_uninitialized_resources(_resources(GraphKeys.RESOURCES))], 0)


def default_saver():
  """The graph's saver; one for all variables, a file for each device, where it has none."""
  from leat._train import saver
  return kept(GraphKeys.SAVERS, lambda: saver.Saver(sharded=True, allow_empty=True))


_FIELDS = ('init_op', 'ready_op', 'ready_for_local_init_op', 'local_init_op',
           'local_init_feed_dict', 'summary_op', 'saver', 'init_feed_dict')


@export('train.Scaffold')
class Scaffold:
  """The operations of a training program. Those that are not given are made by finalize(), which a
  session creator calls."""

  def __init__(self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None,
               ready_for_local_init_op=None, local_init_op=None, summary_op=None, saver=None,
               copy_from_scaffold=None, local_init_feed_dict=None):
    if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
      raise TypeError('copy_from_scaffold is not a Scaffold instance: %r' % (copy_from_scaffold,))
    given = dict(init_op=init_op, ready_op=ready_op,
                 ready_for_local_init_op=ready_for_local_init_op, local_init_op=local_init_op,
                 local_init_feed_dict=local_init_feed_dict, summary_op=summary_op, saver=saver,
                 init_feed_dict=init_feed_dict)
    for field in _FIELDS:
      value = given[field]
      if value is None and copy_from_scaffold is not None:
        value = getattr(copy_from_scaffold, field)
      setattr(self, '_' + field, value)
    self._init_fn = None
    if init_fn:
      self._init_fn = lambda session: init_fn(self, session)
    elif copy_from_scaffold is not None:
      self._init_fn = copy_from_scaffold.init_fn

  init_fn = property(lambda self: self._init_fn, doc='A function of a session, or None.')
  init_op = property(lambda self: self._init_op)
  ready_op = property(lambda self: self._ready_op)
  ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
  local_init_op = property(lambda self: self._local_init_op)
  local_init_feed_dict = property(lambda self: self._local_init_feed_dict)
  summary_op = property(lambda self: self._summary_op)
  saver = property(lambda self: self._saver)
  init_feed_dict = property(lambda self: self._init_feed_dict)

  def finalize(self):
    """Makes what is missing, and finalizes the graph."""
    from leat._train import summary
    default = Scaffold.get_or_default
    if self._init_op is None:
      self._init_op = default('init_op', GraphKeys.INIT_OP, default_init_op)
    if self._ready_op is None:
      self._ready_op = default('ready_op', GraphKeys.READY_OP, default_ready_op)
    if self._ready_for_local_init_op is None:
      self._ready_for_local_init_op = default(
          'ready_for_local_init_op', GraphKeys.READY_FOR_LOCAL_INIT_OP,
          default_ready_for_local_init_op)
    if self._local_init_op is None:
      self._local_init_op = default('local_init_op', GraphKeys.LOCAL_INIT_OP,
                                    Scaffold.default_local_init_op)
    if self._summary_op is None:
      self._summary_op = default('summary_op', GraphKeys.SUMMARY_OP, summary.merge_all)
    if self._saver is None:
      self._saver = default_saver()
    self._saver.build()
    graphs.get_default_graph().finalize()
    log.info('Graph was finalized.')
    return self

  @staticmethod
  def get_or_default(arg_name, collection_key, default_constructor):
    """The only item of a collection, else default_constructor(), which is added to it unless it is
    None."""
    found = graphs.get_default_graph().get_collection(collection_key)
    if len(found) > 1:
      raise RuntimeError('More than one item in the collection "%s". Please indicate which one to '
                         'use by passing it to the tf.Scaffold constructor as:  '
                         'tf.Scaffold(%s=item to use)' % (collection_key, arg_name))
    if found:
      return found[0]
    made = default_constructor()
    if made is not None:
      graphs.get_default_graph().add_to_collection(collection_key, made)
    return made

  @staticmethod
  def default_local_init_op():
    """Initializes local variables, tables and local resources."""
    return control.group(variable_collections.local_variables_initializer(),
                         lookup.tables_initializer(),
                         initialize_resources(_resources(GraphKeys.LOCAL_RESOURCES)))
