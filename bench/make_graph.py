"""Writes a graph that LEAT_BENCH_DIR does not have, with its .spec beside it, as OUT.
usage: make_graph.py SOURCE NAME OUT

mobilenet_v2_b32   SOURCE, which is fed one image, with 32 images
towers4            four towers of eight products of 256 rows; SOURCE does not matter

Runs in the oracle's environment.
"""
import sys

import numpy as np
import tensorflow as tf

TOWERS, LAYERS, WIDTH = 4, 8, 256


def read(path):
  graph = tf.compat.v1.GraphDef()
  with open(path, 'rb') as f:
    graph.ParseFromString(f.read())
  return graph


def mobilenet_v2_b32(source):
  graph = read(source)
  for node in graph.node:
    if node.op == 'Placeholder':
      node.attr['shape'].shape.dim[0].size = 32
  with open(source[:-3] + '.spec') as f:
    spec = f.read().replace('float32 1,', 'float32 32,').replace('unit image 1', 'unit image 32')
  return graph, spec


def towers4(_):
  random = np.random.default_rng(1)
  with tf.Graph().as_default() as graph:
    x = tf.compat.v1.placeholder(tf.float32, [WIDTH, WIDTH], name='x')
    heads = []
    for _ in range(TOWERS):
      value = x
      for _ in range(LAYERS):
        weights = tf.constant(random.standard_normal((WIDTH, WIDTH)) / WIDTH ** 0.5, tf.float32)
        value = tf.tanh(tf.matmul(value, weights))
      heads.append(tf.reduce_mean(value))
    tf.add_n(heads, name='y')
  return graph.as_graph_def(), 'feed x:0 float32 %d,%d -1 1\nfetch y:0\nunit step 1\n' % (
      WIDTH, WIDTH)


def main():
  source, name, target = sys.argv[1:]
  graph, spec = globals()[name](source)
  with open(target, 'wb') as f:
    f.write(graph.SerializeToString())
  with open(target[:-3] + '.spec', 'w') as f:
    f.write(spec)


if __name__ == '__main__':
  main()
