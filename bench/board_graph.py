#!/usr/bin/env python3
"""How fast `leat board` opens levels of large graphs: make bench-board (board.py runs it, too)

Each graph is a tower of blocks of four branches, with a gradient beside each node, as a training
graph of Inception has it. Times are those of a client: the first answer (the graph is read, its
tree is made, the outermost level is laid out), and then one more level opened at a time.

usage: bench/board_graph.py [--build DIR] [--nodes N]...
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import board


def field(number, data):
  return board.varint(number << 3 | 2) + board.varint(len(data)) + data


def node(name, op, inputs):
  text = field(1, name.encode()) + field(2, op.encode())
  return field(1, text + b''.join(field(3, i.encode()) for i in inputs))


OPS = ('Conv2D', 'BiasAdd', 'Relu', 'Mean', 'Rsqrt', 'Mul', 'Sub', 'Add')


def graph_of(count):
  """A GraphDef of about |count| nodes."""
  out, made, block, last = [], 0, 0, 'input'
  out.append(node('input', 'Placeholder', []))
  out.append(node('global_step', 'VariableV2', []))
  while made < count:
    ends = []
    for branch in range(4):
      scope, before = 'tower/block_%d/branch_%d' % (block, branch), last
      for layer in range(4):
        out.append(node('%s/layer_%d/weights' % (scope, layer), 'VariableV2', []))
        for i, op in enumerate(OPS):
          name = '%s/layer_%d/%s' % (scope, layer, op)
          inputs = [before] + (['%s/layer_%d/weights' % (scope, layer)] if i == 0 else [])
          out.append(node(name, op, inputs))
          out.append(node('gradients/' + name + '_grad', op + 'Grad', [name, before]))
          before = name
          made += 2
        out.append(node('%s/layer_%d/update' % (scope, layer), 'AssignAdd',
                        ['%s/layer_%d/weights' % (scope, layer), 'gradients/' + before + '_grad',
                         '^global_step']))
        made += 2
      ends.append(before)
    last = 'tower/block_%d/concat' % block
    out.append(node(last, 'ConcatV2', ends))
    made += 1
    block += 1
  return b''.join(out), made


def ask(port, path):
  begin = time.time()
  with urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path), timeout=60) as reply:
    data = reply.read()
  return json.loads(data), time.time() - begin, len(data)


def measure(build, count):
  folder, port = tempfile.mkdtemp(prefix='leat-bench-graph'), board.free_port()
  graph, nodes = graph_of(count)
  event = b'\x09' + b'\0' * 8 + field(4, graph)
  with open(os.path.join(folder, 'events.out.tfevents.1.host'), 'wb') as f:
    f.write(board.VERSION + board.record(event))
  process = subprocess.Popen(board.leat(build, folder, port), stdout=subprocess.DEVNULL)
  try:
    while not board.leat_is_loaded(port):
      time.sleep(0.01)
    print('a graph of %d nodes, %.1f MB' % (nodes, len(graph) / 1e6))
    levels, seconds, size = ask(port, '/data/leat/graph/levels?run=.')
    print('  the first answer                 %7.1f ms  %8d bytes' % (seconds * 1e3, size))
    opened, slowest = [], 0
    for _ in range(8):
      closed = [box for level in levels['levels'] for box in level['boxes']
                if box[1] != 1 and not box[10]]
      if not closed:
        break
      opened.append(max(closed, key=lambda box: (box[6], -box[0]))[0])
      levels, seconds, size = ask(port, '/data/leat/graph/levels?run=.&open=' +
                                  ','.join(map(str, opened)))
      boxes = sum(len(level['boxes']) for level in levels['levels'])
      slowest = max(slowest, seconds)
      print('  %2d levels open, %5d boxes        %7.1f ms  %8d bytes' % (
          len(opened) + 1, boxes, seconds * 1e3, size))
    _, seconds, _ = ask(port, '/data/leat/graph/search?run=.&q=block_7/branch_2')
    print('  a search                         %7.1f ms' % (seconds * 1e3), flush=True)
  finally:
    process.terminate()
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('--build', default=os.path.join(board.ROOT, 'build'))
  parser.add_argument('--nodes', type=int, action='append')
  options = parser.parse_args()
  for count in options.nodes or (36000, 100000):
    measure(options.build, count)


if __name__ == '__main__':
  sys.exit(main())
