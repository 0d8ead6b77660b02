"""Writes GRAPH with tables of ROWS instead of 1,000,000 rows, and with seeds: its samplers have
none, so that no two runs would give the same values. usage: resize_table.py GRAPH ROWS OUT

GRAPH and OUT name a .pb with a .spec beside it. Runs in the oracle's environment.
"""
import sys

import tensorflow as tf

ROWS_THERE = 1_000_000


def resize(graph, rows):
  for node in graph.node:
    for dim in node.attr['shape'].shape.dim if 'shape' in node.attr else ():
      dim.size = rows if dim.size == ROWS_THERE else dim.size
    if 'range_max' in node.attr:
      node.attr['range_max'].i, node.attr['seed'].i, node.attr['seed2'].i = rows, 87654321, 1
    if node.op == 'Const' and node.attr['dtype'].type in (tf.int32, tf.int64):
      value = tf.make_ndarray(node.attr['value'].tensor)
      if (value == ROWS_THERE).any():
        value = value.copy()
        value[value == ROWS_THERE] = rows
        node.attr['value'].tensor.CopyFrom(tf.make_tensor_proto(value))


def main():
  source, rows, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
  graph = tf.compat.v1.GraphDef()
  with open(source, 'rb') as f:
    graph.ParseFromString(f.read())
  resize(graph, rows)
  with open(target, 'wb') as f:
    f.write(graph.SerializeToString())
  with open(source[:-3] + '.spec') as f:
    spec = f.read().replace(str(ROWS_THERE), str(rows))
  with open(target[:-3] + '.spec', 'w') as f:
    f.write(spec)


if __name__ == '__main__':
  main()
