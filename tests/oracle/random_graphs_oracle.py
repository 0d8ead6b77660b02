"""Random graphs give in Leat what they give in TensorFlow: the same values, and where a mistake was
put in, the same status code.

random_graph.py and the modules named after it compose the graphs from seeds: 10 to 200 nodes of all
families, conditionals, loops and functions. Each library runs them in a process of its own, through
the same C API. The tolerance of a value is what rounding can do to it on its way
(random_graph.Info), so that a verdict does not depend on the machine. For a difference the seed is
printed, and the smallest graph that was found to show it: the first node that differs, fed with
what TensorFlow gives its inputs, if that is enough, else all that the node depends on.

usage: random_graphs_oracle.py [--graphs N] [--first SEED]
N is 2000, or LEAT_RANDOM_GRAPHS from the environment; as many take about 30 s of one core.
"""
import argparse
import os
import random

import numpy as np
from google.protobuf import text_format
from tensorflow.core.framework import node_def_pb2

import capi
import random_graph_families  # noqa: F401
from library_process import OURS, THEIRS, Library
from outcome import report
from random_graph import Graph, Unfit, as_type, op_defs_of, set_attr
from random_graph_flow import grow
from random_graph_mistakes import MISTAKES

PART = 100  # graphs of one line of the report


class Judge:
  def __init__(self):
    self.libraries = [Library(OURS), Library(THEIRS)]

  def both(self, graph_def, feeds, fetches):
    for library in self.libraries:
      library.ask((graph_def, feeds, fetches))
    return [library.answer() for library in self.libraries]

  def close(self):
    for library in self.libraries:
      library.close()

  def differs(self, sketch, values):
    """Why the libraries do not agree about some values of a graph, or nothing; and the values in
    TensorFlow."""
    ours, theirs = self.both(sketch.graph_def().SerializeToString(), sketch.feeds,
                             ['%s:%d' % (v.node, v.index) for v in values])
    if ours[0] != theirs[0]:
      return 'status %s, not %s' % (said(ours), said(theirs)), None
    if ours[0] != 0:
      return '', None
    for value, got, want in zip(values, ours[1], theirs[1]):
      why = difference(value, got, want)
      if why:
        return '%s:%d (%s) %s' % (value.node, value.index, value.dtype, why), theirs[1]
    return '', theirs[1]


def said(result):
  return 'OK' if result[0] == 0 else '%s "%s"' % (result[0], ' '.join(result[1].split())[:200])


def difference(value, got, want):
  if got.dtype != want.dtype or got.shape != want.shape:
    return 'is %s %s, not %s %s' % (got.dtype, got.shape, want.dtype, want.shape)
  if value.info.error == 0:
    wrong = (got != want) & ~((got != got) & (want != want))
  else:
    exact = np.float64 if got.dtype.kind != 'c' else np.complex128
    distance = np.abs(got.astype(exact) - want.astype(exact))
    wrong = ~(distance <= 4 * value.info.error)
  if not np.any(wrong):
    return ''
  places = np.argwhere(wrong)
  place = tuple(places[0])
  return 'has %s, not %s, at %s; %d of %d elements differ by more than %g' % (
      got[place], want[place], list(map(int, place)), len(places), got.size, 4 * value.info.error)


# ---- Making and reducing graphs ----------------------------------------------------------------
def compose(op_defs, seed):
  """The graph of a seed, and the values that are fetched: all of them, or, so that Leat may change
  more of the graph, some of them; and what the mistake gives, if there is one."""
  chance = random.Random(seed)
  sketch = Graph(op_defs, chance)
  wanted = int(10 * 20**(chance.random()**1.5))
  while len(sketch.nodes) < wanted:
    grow(sketch.top, 1)
  values = list(sketch.top.values)
  if chance.random() < 0.5:
    values = chance.sample(values, min(len(values), 12)) + values[-4:]
  if chance.random() < 0.15:
    try:
      with sketch.top.attempt():
        values += chance.choice(MISTAKES)(sketch.top)[:1]
    except Unfit:
      pass
  return sketch, values


def inputs_of(node):
  return [i.lstrip('^').split(':')[0] for i in node.input]


def only_needed(sketch, values):
  """The graph without the nodes that do not lead to |values|."""
  nodes, needed = {n.name: n for n in sketch.nodes}, set()
  waiting = [v.node for v in values]
  while waiting:
    name = waiting.pop()
    if name not in needed:
      needed.add(name)
      waiting += inputs_of(nodes[name])
  return reduced(sketch, [n for n in sketch.nodes if n.name in needed])


def reduced(sketch, nodes, feeds=None):
  """A copy with other nodes; the feeds are those of its placeholders, if none are given."""
  copy = Graph(sketch.op_defs, None)
  copy.nodes, copy.functions = nodes, sketch.functions
  names = {n.name for n in nodes}
  copy.feeds = feeds or {k: v for k, v in sketch.feeds.items() if k in names}
  return copy


def alone(sketch, value, inputs, arrays):
  """The node of |value| by itself: its inputs are fed."""
  node = node_def_pb2.NodeDef()
  node.CopyFrom(next(n for n in sketch.nodes if n.name == value.node))
  placeholders = [node_def_pb2.NodeDef(name='input_%d' % i, op='Placeholder')
                  for i in range(len(inputs))]
  for placeholder, given in zip(placeholders, inputs):
    set_attr(placeholder.attr['dtype'], as_type(given.dtype))
    set_attr(placeholder.attr['shape'], None)
  node.input[:] = [p.name for p in placeholders]
  return reduced(sketch, placeholders + [node],
                 {p.name: array for p, array in zip(placeholders, arrays)})


def reduce_graph(judge, sketch, values):
  """-> the smallest graph that was found to show a difference, and why."""
  candidates = sketch.top.values + [v for v in values if v not in sketch.top.values]
  for value in candidates:
    small = only_needed(sketch, [value])
    why, _ = judge.differs(small, [value])
    if why:
      break
  else:
    return sketch, 'the values differ only when all are fetched'
  node = next(n for n in small.nodes if n.name == value.node)
  by_name = {'%s:%d' % (v.node, v.index): v for v in candidates}
  inputs = [by_name.get(i) for i in node.input]
  if inputs and all(inputs):
    arrays = judge.differs(small, inputs)[1]
    single = arrays and alone(small, value, inputs, arrays)
    why_single = single and judge.differs(single, [value])[0]
    if why_single:
      return single, why_single
  return small, why


# ---- Reporting ---------------------------------------------------------------------------------
def functions_of(sketch, nodes):
  """The functions that |nodes| call, themselves or through others."""
  by_name = {f.signature.name: f for f in sketch.functions}
  called = [a.func.name for n in nodes for a in n.attr.values() if a.func.name in by_name]
  return called and [by_name[name] for name in called] + [
      f for name in called for f in functions_of(sketch, by_name[name].node_def)]


def written(op_defs, node):
  """A node in one line: name = Op(inputs) and the attributes that are not the default."""
  usual = {a.name: a.default_value for a in op_defs[node.op].attr}
  attrs = ['%s=%s' % (k, text_format.MessageToString(v, as_one_line=True)[:200])
           for k, v in sorted(node.attr.items()) if v != usual.get(k)]
  return '%s = %s(%s) %s' % (node.name, node.op, ', '.join(node.input), ' '.join(attrs))


def shown(sketch):
  """The graph, the functions that it calls and the feeds, in one line for each test's report."""
  lines = [written(sketch.op_defs, node) for node in sketch.nodes]
  for function in functions_of(sketch, sketch.nodes):
    body = [written(sketch.op_defs, node) for node in function.node_def]
    lines.append('function %s {%s}' % (function.signature.name, '; '.join(body)))
  for name, array in sketch.feeds.items():
    lines.append('feed %s = %s%s %s' % (
        name, array.dtype, list(array.shape), array.ravel().tolist()))
  return '; '.join(lines)


def compare(judge, op_defs, seed):
  """What differs between the libraries in the graph of a seed, or nothing."""
  sketch, values = compose(op_defs, seed)
  if not judge.differs(sketch, values)[0]:
    return ''
  small, why = reduce_graph(judge, sketch, values)
  return 'seed %d (%d nodes): %s, in: %s' % (seed, len(sketch.nodes), why, shown(small))


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--graphs', type=int, default=int(os.environ.get('LEAT_RANDOM_GRAPHS', 2000)))
  parser.add_argument('--first', type=int, default=0, help='the first seed')
  options = parser.parse_args()
  op_defs, judge = op_defs_of(capi.Library().op_list()), Judge()
  seeds = range(options.first, options.first + options.graphs)
  for part in range(0, len(seeds), PART):
    chosen = seeds[part:part + PART]
    report('random graphs %d to %d' % (chosen[0], chosen[-1]), lambda: '; '.join(
        filter(None, (compare(judge, op_defs, seed) for seed in chosen))))
  judge.close()


if __name__ == '__main__':
  main()
