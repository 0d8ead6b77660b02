#!/usr/bin/env python3
"""What `leat simulate` predicts beside what is: bench/simulate.py [--rows REGEX] [--rounds N]

Workers and a parameter server, each a process of this machine, train three models that differ in
what a step is made of (simulate_task.py). All constants come from one worker alone:

  t  seconds of a step        w, s  processor's seconds of a step, in the worker and in the server

A message costs more where its two ends have a core each: the receiver is woken for each piece of
it, and from another core. So w and s are measured twice, with all cores and with worker and server
on one core. On a machine that is full, two processes meet on one of C cores with a chance of 1 / C,
and the two measurements are averaged by that.

Where w + s is more than t, the two worked at the same time, while one end put a value into the
network and the other took it out; that much of either is the scenario's "copy". Where it is less,
the rest is waiting, the scenario's "latency". Cores that share caches and memory are worth less
than they are many: "cores" is their number, times what a step takes of the processor when one
process trains the model without a cluster, over what it takes when each core has such a process.

From these constants the simulator predicts 2, 4 and 8 workers, which are then compared with what
was measured. Rounds go through all of it in turn, and of each measurement the fastest counts, since
other programs only make it slower. What those took is shown, in cores: where it is more than a
tenth of the machine, the row is called disturbed. The exit code is 1 where another prediction is
more than 15 % off.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'dev'))
import python_venv  # noqa: E402

BUILD = os.environ.get('LEAT_BUILD_DIR', os.path.join(ROOT, 'build'))
LEAT = os.path.join(BUILD, 'bin', 'leat')
TASK = os.path.join(ROOT, 'bench', 'simulate_task.py')
ENVIRONMENT = dict(os.environ, PYTHONPATH=os.path.join(BUILD, 'python'))
BYTES = {'perceptron': 4 * (784 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10),
         'parameters': 4 * 4000000, 'null': 4}  # of all parameters
WORKERS, TOLERANCE = (2, 4, 8), .15
CORES = len(os.sched_getaffinity(0))


class Measurement:
  """Processes that took steps together: steps a second, and seconds of each for a step."""

  def __init__(self, reports, has_server):
    steps = sum(r['steps'] for r in reports)
    self.rate = sum(r['steps'] / r['seconds'] for r in reports)
    self.step = len(reports) / self.rate
    self.worker = sum(r['cpu'] for r in reports) / steps
    server = statistics.mean(r['server'] for r in reports) if has_server else 0
    self.server = server / steps
    seconds = statistics.mean(r['seconds'] for r in reports)
    idle = statistics.mean(r['idle'] for r in reports)
    own = sum(r['cpu'] for r in reports) + server
    self.others = max(0, CORES - (idle + own) / seconds)  # cores that other programs had


def reports(command, count, folder):
  process = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
  paths = [os.path.join(folder, 'report.%d' % i) for i in range(count)]
  if process.returncode or not all(map(os.path.exists, paths)):
    sys.exit('%s ended with %d:\n%s' % (' '.join(command), process.returncode, process.stdout))
  return [json.load(open(path)) for path in paths]


def measure(model, workers, seconds, servers=1, on_one_core=False):
  """Workers of a cluster with a server, or without one, each with its own variables."""
  pinned = ['taskset', '-c', str(min(os.sched_getaffinity(0)))] if on_one_core else []
  kind = ['--ps', '1'] if servers else []
  alone = [] if servers else ['--alone']
  with tempfile.TemporaryDirectory() as folder:
    command = [*pinned, LEAT, 'launch', '-n', str(workers), *kind, '--', python_venv.python(), TASK,
               *alone, model, folder, str(seconds)]
    return Measurement(reports(command, workers, folder), servers > 0)


def scenario(model, t, w, s, cores):
  # Where the cores are worth less than two, the two do not work at full speed at the same time.
  overlap = max(0, min((w + s - t) / (2 - max(1, 2 / cores)), w, s)) if cores > 1.05 else 0
  wait = max(0, t - w - s)
  return '\n'.join([
      'machines = one',
      'policy = async',
      'cores = %.4f' % cores,
      'latency = %.3f ns' % (wait * 1e9 / 4),  # RunGraph, values there and back, the answer
      'copy = %s' % ('%.3f B/s' % (2 * BYTES[model] / overlap) if overlap else 'none'),
      'steps = 300',
      'phase = server compute %.3f ns send %d B' % ((s - overlap) * .5e9, BYTES[model]),
      'phase = worker compute %.3f ns send %d B' % ((w - overlap) * 1e9, BYTES[model]),
      'phase = server compute %.3f ns' % ((s - overlap) * .5e9), ''])


def predict(text, workers):
  """Steps a second."""
  with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
    f.write(text)
    f.flush()
    command = [LEAT, 'simulate', f.name, '--json', '--sweep',
               'workers=' + ','.join(map(str, workers))]
    return [run['steps_per_s'] for run in json.loads(subprocess.check_output(command))['runs']]


def compare(model, options):
  """Prints a model's rows; returns whether the predictions hold."""
  alone, full, pinned, clusters = [], [], [], {n: [] for n in (1,) + WORKERS}
  for _ in range(options.rounds):
    alone.append(measure(model, 1, options.seconds, servers=0).worker)
    full.append(measure(model, CORES, options.seconds, servers=0).worker)
    pinned.append(measure(model, 1, options.seconds, on_one_core=True))
    for n, measured in clusters.items():
      measured.append(measure(model, n, options.seconds))
  best = {n: max(measured, key=lambda m: m.rate) for n, measured in clusters.items()}
  cores = CORES * min(1, min(alone) / min(full))
  pinned = max(pinned, key=lambda m: m.rate)
  t = best[1].step
  w, s = ((getattr(pinned, name) + (CORES - 1) * getattr(best[1], name)) / CORES
          for name in ('worker', 'server'))
  text = scenario(model, t, w, s, cores)
  print('%s: a step takes %.2f ms, the worker works %.2f ms and the server %.2f ms; %d cores are '
        'worth %.2f' % (model, t * 1e3, w * 1e3, s * 1e3, CORES, cores))
  if options.scenarios:
    print(text)
  holds = True
  for (n, measured), predicted in zip(best.items(), predict(text, best)):
    error = predicted / measured.rate - 1
    is_disturbed = measured.others > CORES / 10
    is_short = abs(error) > TOLERANCE and not is_disturbed
    holds = holds and not is_short
    print('  %d workers %9.1f steps/s measured %9.1f predicted %+6.1f %%, others took %.2f%s' % (
        n, measured.rate, predicted, 100 * error, measured.others,
        ' disturbed' if is_disturbed else ' short' if is_short else ''), flush=True)
  return holds


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--rows', default='.', help='regular expression of models')
  parser.add_argument('--rounds', type=int, default=3)
  parser.add_argument('--seconds', type=float, default=2, help='of each measurement')
  parser.add_argument('--scenarios', action='store_true', help='print what is simulated')
  options = parser.parse_args()
  held = [compare(model, options) for model in BYTES if re.search(options.rows, model)]
  return 0 if all(held) else 1


if __name__ == '__main__':
  sys.exit(main())
