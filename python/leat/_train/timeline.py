"""Timeline: the statistics of a step (RunMetadata.step_stats) as events for chrome://tracing.

Each device is a process of the trace. Its operations are laid out in rows so that none overlap in a
row; arrows go from the operation that made a tensor to those that read it, and counters tell how
much memory each allocator has given out.
"""
from __future__ import annotations

import collections
import json
import re

from leat._export import export

AllocationMaximum = collections.namedtuple('AllocationMaximum', ('timestamp', 'num_bytes',
                                                                 'tensors'))
StepStatsAnalysis = collections.namedtuple('StepStatsAnalysis', ('chrome_trace',
                                                                 'allocator_maximums'))


class ChromeTrace:
  """Events in Chrome's format: those that name processes, then the others."""

  def __init__(self):
    self._events, self._metadata = [], []

  def _add(self, ph, category, name, pid, tid, timestamp, **more):
    self._events.append(dict(ph=ph, cat=category, name=name, pid=pid, tid=tid, ts=timestamp,
                             **more))

  def emit_pid(self, name, pid):
    self._metadata.append(dict(name='process_name', ph='M', pid=pid, args={'name': name}))

  def emit_tid(self, name, pid, tid):
    self._metadata.append(dict(name='thread_name', ph='M', pid=pid, tid=tid, args={'name': name}))

  def emit_region(self, timestamp, duration, pid, tid, category, name, args):
    """Something that lasts."""
    self._add('X', category, name, pid, tid, timestamp, dur=duration, args=args)

  def emit_flow_start(self, name, timestamp, pid, tid, flow_id):
    self._add('s', 'DataFlow', name, pid, tid, timestamp, id=flow_id)

  def emit_flow_end(self, name, timestamp, pid, tid, flow_id):
    self._add('t', 'DataFlow', name, pid, tid, timestamp, id=flow_id)

  def emit_counter(self, category, name, pid, timestamp, counter, value):
    self._add('C', category, name, pid, 0, timestamp, args={counter: value})

  def format_to_string(self, pretty=False):
    return json.dumps({'traceEvents': self._metadata + self._events}, indent=4 if pretty else None,
                      separators=None if pretty else (',', ':'))


def _name_op_inputs(node):
  """(name, op, inputs) of a node's statistics, of its label 'name = Op(input, ^input)' where it has
  one of that form."""
  found = re.match(r'(.*) = ([^(]*)\((.*)\)', node.timeline_label)
  if found:
    name, op, inputs = found.groups()
    return name, op, [i for i in inputs.split(', ') if i]
  if node.node_name.startswith(('RecvTensor', '_Recv')):
    return node.node_name, 'RecvTensor', []
  # The part of the name after the last colon is the op where the device's tracer put it there.
  name, _, op = node.node_name.partition(':')
  return name, op or name.rpartition('/')[2].rstrip('0123456789').rstrip('_'), []


def _rows(nodes):
  """The row of each of the nodes, which are sorted by their start: the first one that is free."""
  ends, found = [], []
  for node in nodes:
    row = next((i for i, end in enumerate(ends) if end <= node.all_start_micros), len(ends))
    if row == len(ends):
      ends.append(0)
    ends[row] = node.all_start_micros + max(node.all_end_rel_micros, 1)
    found.append(row)
  return found


@export('python.client.timeline.Timeline')
class Timeline:
  """Makes traces of the statistics of one step."""

  def __init__(self, step_stats, graph=None):
    self._step_stats, self._graph = step_stats, graph

  def analyze_step_stats(self, show_dataflow=True, show_memory=True, op_time='schedule'):
    """A StepStatsAnalysis: the ChromeTrace and {allocator: AllocationMaximum}. `op_time` says what
    an operation's bar is: 'schedule', until it has ended in the trace of its device; 'gpu' or
    'all', the times of the kernels where a device has them."""
    trace = ChromeTrace()
    stats = self._shown(op_time)
    places = {}   # name of a node -> (pid, row, start, end)
    for pid, device in enumerate(stats, 1):
      self._emit_device(trace, pid, device, places)
    if show_dataflow:
      self._emit_flows(trace, stats, places)
    maximums = self._memory(trace, len(stats) + 1, show_memory)
    return StepStatsAnalysis(chrome_trace=trace, allocator_maximums=maximums)

  def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False,
                                   op_time='schedule'):
    """The trace as a JSON text."""
    found = self.analyze_step_stats(show_dataflow=show_dataflow, show_memory=show_memory,
                                    op_time=op_time)
    return found.chrome_trace.format_to_string(pretty=True)

  def _shown(self, op_time):
    """The devices whose nodes are shown: with 'gpu' those of kernels alone where there are any."""
    stats = list(self._step_stats.dev_stats)
    if op_time == 'gpu':
      kernels = [d for d in stats if '/stream:' in d.device]
      return kernels or stats
    return stats

  def _emit_device(self, trace, pid, device, places):
    trace.emit_pid(device.device + ' Compute', pid)
    nodes = sorted(device.node_stats, key=lambda n: n.all_start_micros)
    for node, row in zip(nodes, _rows(nodes)):
      name, op, inputs = _name_op_inputs(node)
      args = {'name': name, 'op': op}
      args.update(('input%d' % i, value) for i, value in enumerate(inputs))
      end = node.all_start_micros + node.all_end_rel_micros
      trace.emit_region(node.all_start_micros, node.all_end_rel_micros, pid, row, 'Op', op, args)
      places.setdefault(node.node_name, (pid, row, node.all_start_micros, end))

  def _emit_flows(self, trace, stats, places):
    """An arrow for each input that was made in the same step."""
    flow = 0
    for device in stats:
      for node in device.node_stats:
        _, _, inputs = _name_op_inputs(node)
        to = places.get(node.node_name)
        for text in inputs or self._inputs_in_graph(node.node_name):
          source = text.lstrip('^').partition(':')[0]
          start = places.get(source)
          if start is None or to is None or start[:2] == to[:2]:
            continue   # nothing to draw: in one row time goes from left to right anyway
          trace.emit_flow_start(source, start[3], start[0], start[1], flow)
          trace.emit_flow_end(source, to[2], to[0], to[1], flow)
          flow += 1

  def _inputs_in_graph(self, name):
    op = self._graph.operation(name) if self._graph is not None else None
    return [i.name for i in op.inputs] if op is not None else []

  def _memory(self, trace, pid, show_memory):
    """Follows what each allocator has given out over time; gives the maximum of each."""
    changes = self._allocations()
    if show_memory and changes:
      trace.emit_pid('Allocators', pid)
    maximums = {}
    for allocator in sorted(changes):
      total, live, best = 0, collections.Counter(), (0, 0, ())
      for when, size, name in sorted(changes[allocator]):
        total += size
        live[name] += size
        if total > best[1]:
          best = when, total, tuple(n for n in live if live[n] > 0)
        if show_memory:
          trace.emit_counter('Memory', allocator, pid, when, allocator, total)
      maximums[allocator] = AllocationMaximum(timestamp=best[0], num_bytes=best[1], tensors=best[2])
    return maximums

  def _allocations(self):
    """{allocator: [(time, bytes, name of the node)]}: outputs from the end of their node to that of
    the last one that reads them, of the statistics of its memory where a node has them."""
    changes, last_use = collections.defaultdict(list), self._last_uses()
    for device in self._step_stats.dev_stats:
      for node in device.node_stats:
        end = node.all_start_micros + node.all_end_rel_micros
        for used in node.memory:
          size = used.peak_bytes or used.total_bytes
          if size:
            at = changes[used.allocator_name or _allocator_of(device.device)]
            at.append((node.all_start_micros, size, node.node_name))
            at.append((end, used.live_bytes - size, node.node_name))
        for output in () if node.memory else node.output:
          used = output.tensor_description.allocation_description
          size = used.allocated_bytes or used.requested_bytes
          if size:
            at = changes[used.allocator_name or _allocator_of(device.device)]
            at.append((end, size, node.node_name))
            at.append((max(end, last_use.get(node.node_name, end)) + 1, -size, node.node_name))
    return changes

  def _last_uses(self):
    """{name of a node: when the last one that reads its outputs ended}."""
    found = {}
    for device in self._step_stats.dev_stats:
      for node in device.node_stats:
        end = node.all_start_micros + node.all_end_rel_micros
        _, _, inputs = _name_op_inputs(node)
        for text in inputs or self._inputs_in_graph(node.node_name):
          source = text.partition(':')[0]
          found[source] = max(found.get(source, 0), end)
    return found


def _allocator_of(device):
  """The allocator of a device's memory, for statistics that do not name it."""
  kind, _, index = device.rpartition('device:')[2].rpartition('/')[2].partition(':')
  return 'cpu' if kind.upper() == 'CPU' else '%s_%s_bfc' % (kind.upper(), index or '0')
