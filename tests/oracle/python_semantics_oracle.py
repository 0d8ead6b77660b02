"""Small TensorFlow 1 programs do the same through the package leat and through TensorFlow.

The programs are data: tests/oracle/semantics/*.txt, which snippets.py evaluates in a process for
each library. Of each are compared the values that it shows, the classes of errors, the collections,
the nodes of its graph one by one (names, ops, inputs, attributes, devices) and all static shapes.

A title ends with ` | shown` where Leat makes a function of other operations than TensorFlow 2.21
does: nodes and shapes are not compared then. ` | values` leaves the collections out too.
"""
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import tensor_util

from outcome import report

SHOWN = 12  # differences of one snippet that are printed
HERE = os.path.dirname(os.path.abspath(__file__))
# Attributes that say nothing to a user, and collections whose items the library keeps.
QUIET_ATTRIBUTES = ('_has_manual_control_dependencies', '_output_shapes', 'shared_name')
QUIET_COLLECTIONS = ('cond_context', 'while_context')


def environment_of(module):
  """The environment of a process that imports the module."""
  environment = dict(os.environ, TF_USE_LEGACY_KERAS='1', TF_ENABLE_ONEDNN_OPTS='0')
  if module == 'leat':
    package = os.path.join(os.environ['LEAT_BUILD_DIR'], 'python')
    environment['PYTHONPATH'] = os.pathsep.join(
        [package] + [p for p in [os.environ.get('PYTHONPATH')] if p])
  return environment


def evaluate(module, paths, folder):
  """{(file, title): what the snippet did}"""
  out = os.path.join(folder, module)
  run = subprocess.run([sys.executable, os.path.join(HERE, 'snippets.py'), module, out] + paths,
                       env=environment_of(module), stderr=subprocess.PIPE, text=True)
  if run.returncode:
    print(run.stderr[-2000:])
  results = [json.loads(line) for line in open(out)] if os.path.exists(out) else []
  return {(r['file'], r['title']): r for r in results}


# ---- Comparing ---------------------------------------------------------------------------------
def same(a, b):
  """Whether two plain values are equal; numbers up to rounding, errors without their texts."""
  if isinstance(a, list) and isinstance(b, list) and a[:1] == b[:1] == ['error']:
    return a[1] == b[1]
  if isinstance(a, float) and isinstance(b, (int, float)) or isinstance(b, float) and isinstance(
      a, int):
    return a == b or math.isnan(a) and math.isnan(b) or abs(a - b) <= 2e-5 * abs(b) + 2e-6
  if isinstance(a, list) and isinstance(b, list):
    return len(a) == len(b) and all(map(same, a, b))
  return type(a) is type(b) and a == b


def attribute(value):
  """An AttrValue as something that can be compared and printed."""
  if value.WhichOneof('value') == 'tensor':
    array = tensor_util.MakeNdarray(value.tensor)
    return '%s%s %s' % (array.dtype, list(array.shape), array.ravel()[:20].tolist())
  return ' '.join(str(value).split())


def nodes_of(result):
  graph = graph_pb2.GraphDef.FromString(bytes.fromhex(result['nodes']))
  return {node.name: node for node in graph.node}


def difference_of_nodes(got, want):
  """-> '' or a sentence about the first nodes that differ, |got| and |want| by name."""
  absent, extra = [n for n in want if n not in got], [n for n in got if n not in want]
  if absent or extra:
    return 'nodes %s are absent, %s are too many' % (absent[:6], extra[:6])
  for name, node in want.items():
    own = got[name]
    if own.op != node.op:
      return 'node %s is %s, not %s' % (name, own.op, node.op)
    if list(own.input) != list(node.input):
      return 'node %s has inputs %s, not %s' % (name, list(own.input), list(node.input))
    if own.device != node.device:
      return 'node %s is on %s, not %s' % (name, own.device, node.device)
    for key in sorted(node.attr):
      got_value, value = attribute(own.attr[key]), attribute(node.attr[key])
      colocated_with_itself = key == '_class' and value == 'list { s: "loc:@%s" }' % name
      if got_value != value and key not in QUIET_ATTRIBUTES and not colocated_with_itself:
        return 'node %s has %s %s, not %s' % (name, key, got_value, value)
  return ''


def difference_of_tables(what, got, want):
  """The first entry of a dict of lists that differs."""
  for key in sorted(set(got) | set(want)):
    if got.get(key) != want.get(key):
      return '%s %s are %s, not %s' % (what, key, got.get(key), want.get(key))
  return ''


def difference(mode, got, want):
  """What differs between two results of a snippet, or nothing."""
  if want.get('error'):
    return 'TensorFlow itself: ' + want['error']
  if got is None:
    return 'Leat ended before'
  if got.get('error'):
    return got['error']
  if len(got['shown']) != len(want['shown']):
    return 'shows %d values, not %d' % (len(got['shown']), len(want['shown']))
  wrong = ['value %d is %s, not %s' % (i, shortened(a), shortened(b))
           for i, (a, b) in enumerate(zip(got['shown'], want['shown'])) if not same(a, b)]
  if wrong:
    return '; '.join(wrong[:SHOWN])
  if mode == 'values':
    return ''
  why = difference_of_tables('collections', *[
      {k: v for k, v in r['collections'].items() if v and k not in QUIET_COLLECTIONS}
      for r in (got, want)])
  if why or mode == 'shown':
    return why
  return difference_of_nodes(nodes_of(got), nodes_of(want)) or difference_of_tables(
      'shapes of', got['shapes'], want['shapes'])


def shortened(value):
  text = str(value)
  return text if len(text) < 260 else text[:260] + '...'


def main():
  only = sys.argv[1:]
  paths = [p for p in sorted(glob.glob(os.path.join(HERE, 'semantics', '*.txt')))
           if not only or os.path.basename(p)[:-4] in only]
  with tempfile.TemporaryDirectory(prefix='leat-semantics') as folder:
    results = {module: evaluate(module, paths, folder) for module in ('tensorflow', 'leat')}
  for key, want in results['tensorflow'].items():
    title, _, mode = key[1].partition(' | ')
    report('%s: %s' % (key[0][:-4], title), difference, mode, results['leat'].get(key), want)


if __name__ == '__main__':
  main()
