#!/usr/bin/env python3
"""Speed beside TensorFlow: bench/run.py [--rows REGEX] [--rounds N] [--seconds S] [--core N]

Every row is one graph of LEAT_BENCH_DIR (../shared/bench) run by one program, capibench, through
Leat and through TensorFlow with oneDNN off and on, alternating in each round and pinned to one
core. Shown are medians over the rounds of min, median and 99th percentile of a step; the ratio is
TensorFlow's better median over Leat's. Absolute times mean nothing on shared machines. The goal is
what Leat must reach; `limit` is the time that the machine needs for the row's arithmetic or memory
traffic, as bench/peak.c measures it. A row whose fetched values differ between the libraries after
three steps does not count.

With --before DIR the peer is the libleat of another build, in DIR, and no row may be slower than
there by more than 3 %; what is compared are the quickest rounds.
"""
import argparse
import glob
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'dev'))
import oracle_venv  # noqa: E402
from graphdef import fields  # noqa: E402

TABLE_ROWS, TABLE_SLACK = (1_000_000, 100_000), 1.5
NULL_OPS = ['chain1k', 'exec16x1024', 'exec1024x16']
INFERENCE = ['resnet50_b1', 'resnet50_b32', 'inception_v1_b1', 'inception_v1_b32',
             'mobilenet_v2_b1', 'mobilenet_v2_b32']
PROGRAMS = ['queue_handoff', 'eager_op']
MADE = ['mobilenet_v2_b32', 'towers4']  # by bench/make_graph.py
MAX_STRIPPED_BYTES, MAX_RESIDENT_MB = 5 << 20, 20
LIMIT_SLACK = 1.25
LEAST_OF_BEFORE = 0.97


class Row:
  """A graph, how it is run, what is measured, the ratio wanted, and the work of a step."""

  def __init__(self, graph, goal=None, flags=(), executor=None, measure='med_us', gflop=0,
               read_mb=0, moved_mb=0, bound=False, slack=LIMIT_SLACK, threads=1):
    self.graph, self.goal, self.flags, self.measure = graph, goal, list(flags), measure
    self.threads = threads  # and cores
    if threads > 1:
      self.flags += ['-t', str(threads)]
    self.executor, self.gflop, self.read_mb, self.moved_mb = executor, gflop, read_mb, moved_mb
    self.bound, self.slack = bound, slack  # how much of the limit is part of the goal
    self.name = graph + (' ' + executor if executor else '') + (
        '' if measure == 'med_us' else ' ' + measure) + (
        '' if threads == 1 else ' %d threads' % threads)

  def limit_us(self, peak):
    seconds = (self.gflop / peak['gflops'] + self.read_mb / 1e3 / peak['read_gbs']
               + self.moved_mb / 1e3 / peak['copy_gbs'])
    return seconds * 1e6


OFF = ['-g', '1']  # graph optimizers off
ONCE = ['-n', '1', '-w', '0']
ROWS = [
    Row('feedfetch1', 12), Row('feedfetch10', 10), Row('feedfetch100mb'),
    *[Row(g, 2.5, OFF, 'dataflow') for g in NULL_OPS],
    *[Row(g, 8, OFF, 'sequence') for g in NULL_OPS],
    Row('addchain1k', 5, OFF), Row('wide1k', 8, OFF),
    Row('chain36k', 40, ONCE, measure='first'),
    Row('feedfetch1', 30, ONCE, measure='start'),
    # Beside the products: what elementwise nodes read and write of arrays too large for a core's
    # own cache (mlp: the update of 1.6 MB; cnn: activations of 6.4 and 3.2 MB, Adam on 6.4 MB).
    Row('mnist_mlp', 1, gflop=0.21, moved_mb=5, bound=True),
    Row('mnist_cnn', 1, gflop=4.7, moved_mb=158, bound=True),
    Row('loop1', 10), Row('loop100', 16), Row('loop1grad', 9),
    Row('ptb_small_while', 1.4, gflop=6.3, bound=True, slack=1.35),
    Row('ptb_small_unrolled', gflop=6.3),
    # Updates of rows of a table: as quick whatever the number of rows (see table_independence).
    *[Row('word2vec_%d' % rows, 3) for rows in TABLE_ROWS],
    Row('InceptionV3.meta', 30, ONCE, measure='import'), Row('queue_handoff', 10, ONCE),
    Row('eager_op', 4, ONCE),
    Row('matmul32', gflop=65e-6), Row('matmul256', 1, gflop=0.0336),
    Row('matmul2048', 1, gflop=17.2),
    Row('ewchain16m', 1, moved_mb=134), Row('softmax4kx1k', 1, moved_mb=33.6),
    Row('reduce16m', 1, read_mb=67), Row('adam25m', 1, moved_mb=700),
    *[Row(g, 1) for g in INFERENCE],
    # Branches of one device run side by side. The first row is what one thread takes.
    Row('towers4'), *[Row(g, 1, threads=2) for g in ('towers4', 'inception_v1_b1')],
]


class Library:
  def __init__(self, name, folder, **env):
    self.name, self.folder, self.env = name, folder, env


def bench_folder():
  """Where capibench.c and the graphs are."""
  return os.environ.get('LEAT_BENCH_DIR') or os.path.join(ROOT, '..', 'shared', 'bench')


def compile_program(out, source, *flags):
  """Compiles a C program into the folder |out|, unless a newer binary is there; its path."""
  binary = os.path.join(out, os.path.basename(source)[:-2])
  if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
    subprocess.check_call([os.environ.get('CC', 'cc'), flags[0], '-o', binary, source, '-w']
                          + list(flags[1:]))
  return binary


class Bench:
  def __init__(self, options):
    self.options = options
    self.out = os.path.join(options.build, 'bench')
    os.makedirs(self.out, exist_ok=True)
    home = bench_folder()
    if not os.path.exists(os.path.join(home, 'capibench.c')):
      raise SystemExit('bench: no capibench.c in %s; set LEAT_BENCH_DIR' % home)
    self.graphs = os.path.join(home, 'graphs')
    self.capibench = compile_program(self.out, os.path.join(home, 'capibench.c'), '-O2', '-ldl')
    peak = compile_program(self.out, os.path.join(ROOT, 'bench', 'peak.c'), '-O3')
    output = subprocess.check_output(self.pin(1) + [peak], text=True)
    self.peak = numbers(output)
    self.leat = os.path.join(options.build, 'lib')
    if options.before:
      self.peers = [Library('before', os.path.abspath(options.before))]
    else:
      tf = oracle_venv.library_folder()
      self.peers = [Library('tf', tf, TF_ENABLE_ONEDNN_OPTS='0'),
                    Library('tf+onednn', tf, TF_ENABLE_ONEDNN_OPTS='1')]

  def pin(self, cores):
    """The command that keeps a program on |cores| cores: the chosen one and those before it."""
    first = max(self.options.core - cores + 1, 0)
    return ['taskset', '-c', '%d-%d' % (first, first + cores - 1)]

  def run(self, library, graph, flags, cores=1):
    """What capibench prints, as numbers, with the time of loading nothing in `exec_ms`."""
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL='3', CUDA_VISIBLE_DEVICES='', **library.env)
    if graph in PROGRAMS:
      return self.run_program(graph, library, env)
    path = self.path(graph)
    start = time.perf_counter()
    subprocess.run(self.pin(cores) + [self.capibench, '/nonexistent', path], capture_output=True)
    exec_ms = (time.perf_counter() - start) * 1e3
    try:
      run = subprocess.run(self.pin(cores) + [self.capibench, library.folder, path] + flags,
                           env=env, capture_output=True, text=True,
                           timeout=self.options.timeout)
    except subprocess.TimeoutExpired:
      return {'error': 'no answer in %d s' % self.options.timeout}
    if run.returncode or 'med_us' not in run.stdout:
      return {'error': (run.stdout + run.stderr).strip()[-160:] or 'exit %d' % run.returncode}
    found = numbers(run.stdout.split(None, 1)[1])
    found['first'] = 1e3 * (found['import_ms'] + found['create_ms'] + found['init_ms']
                            + found['first_ms'])
    found['import'] = 1e3 * found['import_ms']
    found['start'] = found['first'] + 1e3 * (found['lib_ms'] + exec_ms)
    return found

  def path(self, graph):
    table = re.fullmatch(r'(word2vec)_(\d+)', graph)
    if graph.endswith('.meta'):
      return self.extract(graph)
    if table:
      return self.make(graph, 'resize_table.py', table.group(1), table.group(2))
    if graph in MADE:
      return self.make(graph, 'make_graph.py', 'mobilenet_v2_b1', graph)
    return os.path.join(self.graphs, graph + '.pb')

  def make(self, graph, script, source, argument):
    """Makes |graph| by a script of this folder, from the graph |source|, unless it is there."""
    path = os.path.join(self.out, graph + '.pb')
    if not os.path.exists(path):
      subprocess.check_call([oracle_venv.python(), os.path.join(ROOT, 'bench', script),
                             os.path.join(self.graphs, source + '.pb'), argument, path],
                            stderr=subprocess.DEVNULL)
    return path

  def run_program(self, name, library, env):
    """A program of this folder that is a row by itself; it may have threads and is not pinned."""
    binary = compile_program(self.out, os.path.join(ROOT, 'bench', name + '.c'), '-O2',
                             '-ldl', '-lpthread', '-I' + os.path.join(ROOT, 'include'),
                             '-I' + os.path.join(ROOT, 'bench'))
    run = subprocess.run([binary, library.folder], env=env, capture_output=True, text=True,
                         timeout=self.options.timeout)
    return (numbers(run.stdout.split(None, 1)[1]) if run.returncode == 0
            else {'error': run.stderr.strip()[-160:]})

  def extract(self, meta):
    """The graph of a MetaGraph of LEAT_DATA_DIR beside a .spec that fetches a constant of it."""
    path = os.path.join(self.out, meta + '.pb')
    if not os.path.exists(path):
      data = os.environ.get('LEAT_DATA_DIR') or os.path.join(ROOT, '..', 'shared', 'data')
      [source] = glob.glob(os.path.join(data, 'models', '**', meta), recursive=True)
      with open(source, 'rb') as f:
        graph = next(value for field, value in fields(f.read()) if field == 2)
      nodes = (dict(fields(value)) for field, value in fields(graph) if field == 1)
      constant = next(node[1].decode() for node in nodes if node[2] == b'Const')
      with open(path, 'wb') as f:
        f.write(graph)
      with open(path[:-3] + '.spec', 'w') as f:
        f.write('fetch %s:0\n' % constant)
    return path

  def measure(self, row):
    """{library: {field: median over rounds}}; alternates the libraries in every round."""
    env = {'LEAT_EXECUTOR': row.executor} if row.executor else {}
    before = self.options.before is not None
    libraries = [Library('leat', self.leat, **env)] + [
        Library(peer.name, peer.folder, **(env if before else peer.env)) for peer in self.peers]
    flags = row.flags + ([] if row.flags == ONCE else ['-s', str(self.options.seconds)])
    samples = {library.name: [] for library in libraries}
    for _ in range(self.options.rounds):
      for library in libraries:
        samples[library.name].append(self.run(library, row.graph, flags, row.threads))
    result = {}
    pick = min if before else statistics.median
    for name, runs in samples.items():
      errors = [r['error'] for r in runs if 'error' in r]
      result[name] = {'error': errors[0]} if errors else {
          field: pick(r[field] for r in runs) for field in runs[0]}
    check = [self.run(library, row.graph, [f for f in row.flags if f not in ONCE]
                      + ['-n', '3', '-w', '0'], row.threads) for library in libraries]
    result['last'] = [c.get('last') for c in check]
    return result


def numbers(text):
  words = text.split()
  return {k: float(v) for k, v in zip(words[::2], words[1::2]) if re.fullmatch(r'-?[\d.e+-]+', v)}


def close(a, b):
  return a is not None and b is not None and (a == b or abs(a - b) <= 1e-3 * max(abs(a), abs(b)))


def judge_before(row, result):
  """(cells, verdict) of one row beside the same row of an earlier build."""
  leat, before, field = result['leat'], result['before'], row.measure
  for found in (leat, before):
    if 'error' in found:
      return [row.name] + ['-'] * 7, 'error: ' + found['error']
  ratio = before[field] / leat[field]
  cells = [row.name, '-', us(leat[field]), '-', us(before[field]), '%.2f' % ratio, '-', '-']
  return cells, 'ok' if ratio >= LEAST_OF_BEFORE else 'slower than before'


def us(value):
  return '%.2f' % value if value < 100 else '%.0f' % value


def judge(row, result, peak):
  """(cells, verdict) of one row; the verdict is ok, short or a reason."""
  leat, peers = result['leat'], [v for k, v in result.items() if k.startswith('tf')]
  peers = [p for p in peers if 'error' not in p]
  limit = row.limit_us(peak)
  field = row.measure
  cells = [row.name]
  if 'error' in leat:
    return cells + ['-'] * 7, 'error: ' + leat['error']
  cells += [us(leat[f]) for f in ('min_us', 'med_us', 'p99_us')] if field == 'med_us' else [
      '-', us(leat[field]), '-']
  if not peers:
    return cells + ['-'] * 4, 'TensorFlow does not run it'
  ratio = min(p[field] for p in peers) / leat[field]
  near = leat[field] / limit if limit else 0
  cells += [us(min(p[field] for p in peers)), '%.2f' % ratio,
            '%.4g' % row.goal if row.goal else '-', '%.2fx' % near if limit else '-']
  if not any(close(result['last'][0], other) for other in result['last'][1:]):
    return cells, 'values differ: %s, TensorFlow %s' % tuple(result['last'][:2])
  reached = row.goal is None or (ratio > row.goal if row.bound else ratio >= row.goal)
  if row.bound and near > row.slack:
    return cells, 'short: %.2f of the limit, at most %.2f%s' % (
        near, row.slack, '' if reached else '; behind TensorFlow')
  return cells, 'ok' if reached else 'short'


def footprint(bench):
  """Library size and resident memory, as (line, ok)."""
  stripped = os.path.join(bench.out, 'stripped.so')
  subprocess.check_call(['strip', '-o', stripped, os.path.join(bench.leat, 'libleat.so.0')])
  size = os.path.getsize(stripped)
  yield ('libleat.so stripped: %.2f MiB, at most %.2f'
         % (size / (1 << 20), MAX_STRIPPED_BYTES / (1 << 20)), size <= MAX_STRIPPED_BYTES)
  found = bench.run(Library('leat', bench.leat), 'feedfetch1', ['-n', '1000'])
  if 'error' in found:
    yield 'resident memory of feedfetch1: error: ' + found['error'], False
  else:
    yield 'resident memory of feedfetch1: %.0f MB, at most %d' % (
        found['rss_mb'], MAX_RESIDENT_MB), found['rss_mb'] <= MAX_RESIDENT_MB


def table_independence(results):
  """A step that updates rows costs the same in a large table and in a small one: by the quickest
  steps, which other programs' traffic disturbs least."""
  found = [results.get('word2vec_%d' % rows, {}).get('leat', {}) for rows in TABLE_ROWS]
  if all('min_us' in leat for leat in found):
    ratio = found[0]['min_us'] / found[1]['min_us']
    yield 'word2vec: a step with %d rows over one with %d: %.2f, at most %.2f' % (
        *TABLE_ROWS, ratio, TABLE_SLACK), ratio <= TABLE_SLACK


def read_options(text, seconds, timeout):
  """The options of a program that measures rows; |text| describes it."""
  parser = argparse.ArgumentParser(description=text,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--rows', default='.', help='regular expression of row names')
  parser.add_argument('--rounds', type=int, default=3)
  parser.add_argument('--seconds', type=float, default=seconds, help='of steps in each run')
  parser.add_argument('--core', type=int, default=max(os.sched_getaffinity(0)))
  parser.add_argument('--timeout', type=float, default=timeout)
  parser.add_argument('--before', help='the lib folder of an earlier build')
  parser.add_argument('--build', type=os.path.abspath, default=os.path.join(ROOT, 'build'))
  return parser.parse_args()


def main():
  options = read_options(__doc__, seconds=1.0, timeout=120)
  bench = Bench(options)
  print('one core: %(gflops).0f GFLOP/s, %(read_gbs).1f GB/s read, %(copy_gbs).1f GB/s copied; '
        'times in us' % bench.peak)
  peer = 'before' if options.before else 'TF median'
  head = ['graph', 'leat min', 'median', 'p99', peer, 'ratio', 'goal', 'of limit']
  form = '%-22s' + '%11s' * 4 + '%9s' * 3 + '  %s'
  print(form % (*head, ''), flush=True)
  results, short = {}, 0
  for row in ROWS:
    if re.search(options.rows, row.name):
      results[row.name] = bench.measure(row)
      found = results[row.name]
      cells, verdict = (judge_before(row, found) if options.before
                        else judge(row, found, bench.peak))
      short += verdict != 'ok'
      print(form % (*cells, verdict), flush=True)
  for line, ok in itertools.chain(table_independence(results), footprint(bench)):
    short += not ok
    print(line, 'ok' if ok else 'short')
  with open(os.path.join(bench.out, 'results.json'), 'w') as f:
    json.dump({'peak': bench.peak, 'rows': results}, f, indent=1)
  print('%d rows fall short' % short if short else 'every goal is reached')
  return 0


if __name__ == '__main__':
  sys.exit(main())
