"""Collectives: values that the devices of a group make together, such as the sum of their inputs.

Each member of a group of `group_size` devices runs an op with the same `group_key` and
`instance_key` in the same step. The op waits for the others, `timeout` seconds at most where that
is not 0, and then fails with DeadlineExceededError; what fails at one member fails at all.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.shape import TensorShape


def _check_size(group_size, least, name):
  if group_size < least:
    raise ValueError('Parameter `group_size` to %s must be at least %d. Received: %d.' %
                     (name, least, group_size))


def _tokens(ordering_token):
  """The list of resources that order ops of the second form; none is needed here."""
  return [] if ordering_token is None else [ordering_token]


@export('python.ops.collective_ops.all_reduce')
def all_reduce(t, group_size, group_key, instance_key, merge_op='Add', final_op='Id',
               subdiv_offsets=(0,), communication_hint='auto', timeout=0):
  """The tensors `t` of all members, which have one shape, merged element by element by `merge_op`
  ('Min', 'Max', 'Mul', 'Add') and, with the `final_op` 'Div', divided by `group_size`."""
  _check_size(group_size, 1, 'all_reduce')
  return apply_op('CollectiveReduce', input=t, group_size=group_size, group_key=group_key,
                  instance_key=instance_key, merge_op=merge_op, final_op=final_op,
                  subdiv_offsets=subdiv_offsets, communication_hint=communication_hint.lower(),
                  timeout_seconds=timeout)


@export('python.ops.collective_ops.all_reduce_v2')
def all_reduce_v2(t, group_size, group_key, instance_key, merge_op='Add', final_op='Id',
                  communication_hint='auto', timeout=0, ordering_token=None,
                  max_subdivs_per_device=-1, name=None):
  """`all_reduce` whose group and keys may be tensors."""
  return apply_op('CollectiveReduceV2', input=t, group_size=group_size, group_key=group_key,
                  instance_key=instance_key, merge_op=merge_op, final_op=final_op,
                  communication_hint=communication_hint.lower(), timeout_seconds=timeout,
                  ordering_token=_tokens(ordering_token),
                  max_subdivs_per_device=max_subdivs_per_device, name=name)


@export('python.ops.collective_ops.all_gather')
def all_gather(t, group_size, group_key, instance_key, communication_hint='auto', timeout=0):
  """The tensors `t` of all members, one behind the other along the first dimension."""
  _check_size(group_size, 1, 'all_gather')
  return apply_op('CollectiveGather', input=t, shape=[0], group_size=group_size,
                  group_key=group_key, instance_key=instance_key,
                  communication_hint=communication_hint.lower(), timeout_seconds=timeout)


@export('python.ops.collective_ops.all_gather_v2')
def all_gather_v2(t, group_size, group_key, instance_key, communication_hint='auto', timeout=0,
                  ordering_token=None, name=None):
  """`all_gather` whose group and keys may be tensors."""
  return apply_op('CollectiveGatherV2', input=t, group_size=group_size, group_key=group_key,
                  instance_key=instance_key, communication_hint=communication_hint.lower(),
                  timeout_seconds=timeout, ordering_token=_tokens(ordering_token), name=name)


@export('python.ops.collective_ops.broadcast_send')
def broadcast_send(t, shape, dtype, group_size, group_key, instance_key,
                   communication_hint='auto', timeout=0):
  """`t`, which the other members get from `broadcast_recv`. ValueError where it has not the shape
  and the type that are declared."""
  _check_size(group_size, 2, 'broadcast_send')
  t, shape, dtype = convert(t), TensorShape(shape), dtypes.as_dtype(dtype)
  if t.shape.as_list() != shape.as_list():
    raise ValueError('Shape of broadcast_send tensor `t` not equal to declared shape. '
                     'Received %s, expected %s.' % (t.shape, shape))
  if t.dtype != dtype:
    raise ValueError('Type of broadcast_send tensor `t` not equal to declared type. '
                     'Received %s, expected %s.' % (t.dtype, dtype))
  return apply_op('CollectiveBcastSend', input=t, shape=shape, group_size=group_size,
                  group_key=group_key, instance_key=instance_key,
                  communication_hint=communication_hint.lower(), timeout_seconds=timeout)


@export('python.ops.collective_ops.broadcast_send_v2')
def broadcast_send_v2(t, group_size, group_key, instance_key, communication_hint='auto',
                      timeout=0):
  """`broadcast_send` whose group and keys may be tensors."""
  return apply_op('CollectiveBcastSendV2', input=t, group_size=group_size, group_key=group_key,
                  instance_key=instance_key, communication_hint=communication_hint.lower(),
                  timeout_seconds=timeout)


@export('python.ops.collective_ops.broadcast_recv')
def broadcast_recv(shape, dtype, group_size, group_key, instance_key, communication_hint='auto',
                   timeout=0):
  """The tensor of that shape and type that another member gives to `broadcast_send`."""
  _check_size(group_size, 2, 'broadcast_recv')
  return apply_op('CollectiveBcastRecv', shape=shape, T=dtype, group_size=group_size,
                  group_key=group_key, instance_key=instance_key,
                  communication_hint=communication_hint.lower(), timeout_seconds=timeout)


@export('python.ops.collective_ops.broadcast_recv_v2')
def broadcast_recv_v2(shape, dtype, group_size, group_key, instance_key,
                      communication_hint='auto', timeout=0):
  """`broadcast_recv` whose group, keys and shape may be tensors."""
  return apply_op('CollectiveBcastRecvV2', T=dtype, group_size=group_size, group_key=group_key,
                  instance_key=instance_key, shape=shape,
                  communication_hint=communication_hint.lower(), timeout_seconds=timeout)


@export('python.ops.collective_ops.all_to_all_v2')
def all_to_all_v2(t, group_size, group_key, instance_key, communication_hint='auto', timeout=0,
                  ordering_token=None, name=None):
  """The rows of all members that are for this one: the member of rank i gets row i of each `t`,
  by rank. `t` has as many rows as the group has members."""
  return apply_op('CollectiveAllToAllV2', input=t, group_size=group_size, group_key=group_key,
                  instance_key=instance_key, communication_hint=communication_hint.lower(),
                  timeout_seconds=timeout, ordering_token=_tokens(ordering_token), name=name)


@export('python.ops.collective_ops.initialize_communicator')
def initialize_communicator(group_key, rank, group_size, communication_hint='auto',
                            timeout_seconds=0):
  """A handle of the group, which all members make together. `rank` is this member's place."""
  return apply_op('CollectiveInitializeCommunicator', group_key=group_key, rank=rank,
                  group_size=group_size, communication_hint=communication_hint,
                  timeout_seconds=timeout_seconds)


@export('python.ops.collective_ops.all_reduce_v3')
def all_reduce_v3(communicator, t, reduction='Add', group_assignment=None, timeout_seconds=None):
  """`all_reduce` among the members of a communicator. An assignment of subgroups is refused with
  UnimplementedError when it runs."""
  return apply_op('CollectiveReduceV3', communicator=communicator, input=t,
                  group_assignment=_assignment(group_assignment), reduction=reduction,
                  timeout_seconds=timeout_seconds or 0)


@export('python.ops.collective_ops.all_to_all_v3')
def all_to_all_v3(communicator, t, group_assignment=None, timeout_seconds=None):
  """`all_to_all_v2` among the members of a communicator."""
  return apply_op('CollectiveAllToAllV3', communicator=communicator, input=t,
                  group_assignment=_assignment(group_assignment),
                  timeout_seconds=timeout_seconds or 0)


def _assignment(group_assignment):
  if group_assignment is not None:
    return group_assignment
  return convert([], dtype=dtypes.int32)


@export('python.ops.collective_ops.assign_group_v2')
def assign_group_v2(group_assignment, device_index, base_key):
  """(group_size, group_key) of the row of `group_assignment` that has `device_index`; row i has the
  key `base_key` + i."""
  return apply_op('CollectiveAssignGroupV2', group_assignment=group_assignment,
                  device_index=device_index, base_key=base_key)
