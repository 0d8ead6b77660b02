#!/usr/bin/env python3
"""What the optimizer does with the same work written in different ways: bench/variants.py

Every graph of LEAT_BENCH_DIR/variants (LEAT_BENCH_DIR: ../shared/bench) spells some work in one of
the ways in which people write it. A pass that changes one spelling and not its neighbours has too
narrow a trigger, and this table shows it. A step runs the leaves that are NoOps and depend on an
input (the train op) and fetches the leaves outside of name scopes (the loss); a graph without a
train op fetches all leaves that depend on an input. Shown are, by graph,

  - the time of a step with the optimizer and without it, and their ratio: medians over rounds that
    alternate, pinned to one core. Sizes that a graph leaves unknown are 32, or 4096 where 32 fails.
    capibench feeds float, int32 and int64; other inputs are cast from float, in both of the runs.
  - the passes that change the step, in the order in which they run, with how many nodes each
    removes and adds (-removed+added), and the rewrite rules that it uses, with how often; as `leat
    inspect graph FILE --pass all` tells them. FILE is build/bench/variants/<graph>_step.pb, the
    nodes that the step needs, with the sizes that are fed where the graph leaves them unknown.

Exit code 2 where the graphs are absent, 1 where one of them does not run.
"""
import collections
import glob
import json
import os
import re
import statistics
import subprocess
import sys

import run
from graphdef import Node, cast_placeholder, encode, fields, shaped_placeholder

FED = {1: 'float32', 3: 'int32', 9: 'int64'}  # TF_DataType -> capibench's word
INTEGERS = (3, 4, 5, 6, 9, 17, 22, 23)  # TF_DataTypes whose values may be row numbers
# Unknown sizes and bounds of integers that are fed, which may be rows of a small table.
TRIALS = [(size, high) for size in (32, 4096) for high in (1000, 100, 10, 2)]
ASSIGNMENTS = ('Assign', 'AssignVariableOp')
READS = ('ReadVariableOp', 'VarIsInitializedOp', 'IsVariableInitialized')


def reach(names, edges):
  """The set of |names| and all that their edges lead to."""
  found, todo = set(), list(names)
  while todo:
    name = todo.pop()
    if name not in found:
      found.add(name)
      todo += edges[name]
  return found


class Variant:
  """A graph and the step that a user of it would run."""

  def __init__(self, path):
    with open(path, 'rb') as f:
      self.parts = list(fields(f.read()))
    self.nodes = [Node(value) for field, value in self.parts if field == 1]
    readers, inputs = collections.defaultdict(list), {n.name: n.inputs for n in self.nodes}
    for node in self.nodes:
      for name in node.inputs:
        readers[name].append(node.name)
    fed = reach([n.name for n in self.nodes if n.is_input], readers)
    self.inits = [n.name for n in self.nodes if n.op in ASSIGNMENTS and n.name not in fed]
    in_loop = reach([n.name for n in self.nodes if n.op == 'Enter'], {
        n.name: [] if n.op == 'Exit' else readers[n.name] for n in self.nodes})
    leaves = [n for n in self.nodes if not readers[n.name] and n.name in fed and n.op not in READS
              and (n.op == 'Exit' or n.name not in in_loop)]
    self.targets = [n.name for n in leaves if n.op == 'NoOp']
    self.fetches = [n.name for n in leaves if n.op != 'NoOp'
                    and not (self.targets and '/' in n.name)]
    self.needed = reach(self.targets + self.fetches, inputs)

  def write(self, path, convert):
    """Writes the graph with convert(node, its encoding) in the place of each node."""
    with open(path, 'wb') as f:
      for field, value in self.parts:
        if isinstance(value, bytes):
          f.write(convert(Node(value), encode((1, value))) if field == 1
                  else encode((field, value)))

  def write_step(self, path, unknown):
    """Writes the nodes that the step needs, with |unknown| for unknown sizes of what is fed."""
    def convert(node, encoded):
      if node.name not in self.needed:
        return b''
      return shaped_placeholder(node, unknown) if node.is_input else encoded
    self.write(path, convert)

  def write_run(self, path, unknown, high):
    """The graph and its .spec, with |unknown| for unknown sizes and integers fed below |high|."""
    with open(path[:-3] + '.spec', 'w') as f:
      f.writelines('init %s\n' % name for name in self.inits)
      for node in self.nodes:
        if node.is_input:
          f.write('feed %s:0 %s %s 0 %d\n' % (
              node.name if node.dtype in FED else node.name + '__fed',
              FED.get(node.dtype, 'float32'), node.shape(unknown),
              high if node.dtype in INTEGERS else 1))
      f.writelines('fetch %s:0\n' % name for name in self.fetches)
      f.writelines('target %s\n' % name for name in self.targets)
    self.write(path, lambda node, encoded: cast_placeholder(node, node.name + '__fed')
               if node.is_input and node.dtype not in FED else encoded)


def explain(tool, path):
  """What the passes do with the graph, in words."""
  found = json.loads(subprocess.check_output(
      [tool, 'inspect', 'graph', path, '--pass', 'all', '--json'], text=True))
  words = []
  for done in found['passes']:
    if done['removed'] or done['added']:
      rules = ', '.join('%s %d' % (r['rule'], r['times']) for r in done['rules'])
      words.append('%s -%d+%d' % (done['pass'], done['removed'], done['added'])
                   + (' (%s)' % rules if rules else ''))
  return ', '.join(words) or 'none'


def measure(command, variant, path, options):
  """Median step times in us with the optimizer and without it, and the size that was fed where
  the graph leaves one unknown; raises RuntimeError."""
  def step(*flags):
    done = subprocess.run(command + [path, *flags], capture_output=True, text=True,
                          timeout=options.timeout)
    if done.returncode or 'med_us' not in done.stdout:
      raise RuntimeError((done.stdout + done.stderr).strip()[-120:] or 'exit %d' % done.returncode)
    return run.numbers(done.stdout.split(None, 1)[1])['med_us']
  errors = []
  for unknown, high in TRIALS:
    variant.write_run(path, unknown, high)
    try:
      step('-n', '1', '-w', '0')
      break
    except RuntimeError as error:
      errors.append(error)
  else:
    raise errors[0]
  times = ([], [])
  for _ in range(options.rounds):
    for off in (0, 1):
      times[off].append(step('-s', str(options.seconds), '-g', str(off)))
  return [statistics.median(t) for t in times], unknown


def main():
  options = run.read_options(__doc__, seconds=0.3, timeout=60)
  home = run.bench_folder()
  paths = sorted(p for p in glob.glob(os.path.join(home, 'variants', '*.pb'))
                 if re.search(options.rows, os.path.basename(p)[:-3]))
  if not paths or not os.path.exists(os.path.join(home, 'capibench.c')):
    print('SKIP bench-variants: no variants/*.pb or no capibench.c in %s (LEAT_BENCH_DIR)' % home)
    return 2
  library, tool = (os.path.join(options.build, *p) for p in (['lib'], ['bin', 'leat']))
  out = os.path.join(options.build, 'bench', 'variants')
  os.makedirs(out, exist_ok=True)
  capibench = run.compile_program(out, os.path.join(home, 'capibench.c'), '-O2', '-ldl')
  command = ['taskset', '-c', str(options.core), capibench, library]
  form, failures = '%-26s%12s%12s%8s  %s', 0
  print(form % ('graph', 'optimized us', 'plain us', 'ratio', 'passes that change it (rules)'))
  for source in paths:
    name, cells = os.path.basename(source)[:-3], ['-'] * 3
    try:
      variant = Variant(source)
      step = os.path.join(out, name + '_step.pb')
      (fast, plain), unknown = measure(command, variant, os.path.join(out, name + '.pb'), options)
      variant.write_step(step, unknown)
      words = explain(tool, step)
      cells = [run.us(fast), run.us(plain), '%.2f' % (plain / fast)]
    except (RuntimeError, subprocess.SubprocessError) as error:
      words, failures = 'error: %s' % error, failures + 1
    print(form % (name, *cells, words), flush=True)
  print('%d graphs, %d of them do not run' % (len(paths), failures))
  return 1 if failures else 0


if __name__ == '__main__':
  sys.exit(main())
