"""What nodes cost in steps, from the RunMetadata of these.

A node's time is from its start to its end. A kernel on an accelerator is counted there, by the
device's own clock, and the time of the thread that launched it as time of the processor. The node
that several were fused into is counted by the name of the one whose result it makes.
"""
from __future__ import annotations

import re

_STREAM = re.compile(r'stream:all|/stream:\d')


class Steps:
  """{number of the step: {node: (counts, devices)}}"""

  def __init__(self):
    self._steps, self._shapes, self._busy = {}, {}, {}

  def add(self, step, run_meta):
    """Adds a step; one of the same number is replaced."""
    nodes = self._steps[step] = {}
    for device in run_meta.step_stats.dev_stats:
      on_accelerator = bool(_STREAM.search(device.device))
      name = re.sub('/stream:.*', '', device.device).lower()
      for stats in device.node_stats:
        node = _node_name(stats)
        counts, devices = nodes.setdefault(node, ({}, []))
        if '/device:' in name and name not in devices:
          devices.append(name)
        for key, number in _counts(stats, on_accelerator).items():
          counts[key] = counts.get(key, 0) + number
        if on_accelerator:
          self._busy.setdefault(name, []).append((
              stats.all_start_micros, stats.all_start_micros + counts['accelerator_micros']))
        for output in stats.output:
          self._shapes[node, output.slot] = tuple(
              d.size for d in output.tensor_description.shape.dim)

  def shape(self, tensor):
    """The sizes of a tensor: those of the graph or, where these are not all known, of a step."""
    known = tensor.shape_
    if known is not None and min(known, default=0) >= 0:
      return known
    return self._shapes.get((tensor.op.name, tensor.value_index), known)

  def utilization(self):
    """[(accelerator, share of the time between its first and its last kernel that it worked)]"""
    return [(device, sum(end - start for start, end in spans) / max(
        1, max(end for _, end in spans) - min(start for start, _ in spans)))
            for device, spans in sorted(self._busy.items())]

  def costs(self, step):
    """{node: (counts, devices)} of a step, or the means of all for -1. ValueError for a step that
    was not added."""
    if step == -1:
      return _means(list(self._steps.values()))
    if step not in self._steps and self._steps:
      raise ValueError('step is %d, must be -1 or one of %s' % (step, sorted(self._steps)))
    return self._steps.get(step, {})


def _node_name(stats):
  """The name of the node that a line of the statistics is about."""
  name = stats.node_name.partition(':')[0]
  return re.sub('/_[a-z]+(_[0-9]+)?$', '', name)


def _counts(stats, on_accelerator):
  micros = max(1, stats.op_end_rel_micros - stats.op_start_rel_micros)
  output = sum(o.tensor_description.allocation_description.requested_bytes for o in stats.output)
  if on_accelerator:
    return {'accelerator_micros': micros, 'micros': micros}
  memory = stats.memory
  return {'run_count': 1, 'cpu_micros': micros, 'micros': micros, 'output_bytes': output,
          'bytes': sum(m.total_bytes for m in memory) or output,
          'peak_bytes': sum(m.peak_bytes for m in memory) or output,
          'residual_bytes': sum(m.live_bytes for m in memory)}


def _means(steps):
  total = {}
  for nodes in steps:
    for node, (counts, devices) in nodes.items():
      sums, places = total.setdefault(node, ({}, []))
      places += [d for d in devices if d not in places]
      for key, number in counts.items():
        sums[key] = sums.get(key, 0) + number
  for sums, _ in total.values():
    for key in sums:
      sums[key] //= len(steps)
  return total
