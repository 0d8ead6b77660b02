#!/usr/bin/env python3
"""What `leat simulate` predicts beside what is: bench/simulate.py [--rows REGEX] [--rounds N]

Workers and a parameter server, each a process of this machine, train three models that differ in
what a step is made of (simulate_task.py). All constants come from one worker alone:

  t  seconds of a step        w, s  processor's seconds of a step, in the worker and in the server

Where w + s is more than t, the two worked at the same time, while one end put a value into the
network and the other took it out; that much of either is the scenario's "copy". Where it is less,
the rest is waiting, the scenario's "latency". The cores of the machine are worth less than they are
many, since they share caches and memory: "cores" is how many times as fast as one process as many
processes as there are cores train the same model without a cluster.

From these constants the simulator predicts 2, 4 and 8 workers, which are then compared with what
was measured. Rounds go through all of it in turn, and of each measurement the fastest counts, since
other programs of the machine only make it slower. The exit code is 1 where a prediction is more
than 15 % off; on a machine that is busy with other things it may be.
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
  """Workers that took steps together: steps a second, and seconds of each for a step."""

  def __init__(self, reports):
    steps = sum(r['steps'] for r in reports)
    self.rate = sum(r['steps'] / r['seconds'] for r in reports)
    self.step = len(reports) / self.rate
    self.worker = sum(r['cpu'] for r in reports) / steps
    self.server = statistics.mean(r['server'] for r in reports) / steps


def reports(command, count, folder):
  process = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
  paths = [os.path.join(folder, 'report.%d' % i) for i in range(count)]
  if process.returncode or not all(map(os.path.exists, paths)):
    sys.exit('%s ended with %d:\n%s' % (' '.join(command), process.returncode, process.stdout))
  return [json.load(open(path)) for path in paths]


def measure(model, workers, seconds):
  """A cluster with |workers|."""
  with tempfile.TemporaryDirectory() as folder:
    return Measurement(reports([LEAT, 'launch', '-n', str(workers), '--ps', '1', '--',
                                python_venv.python(), TASK, model, folder, str(seconds)],
                               workers, folder))


def measure_alone(model, processes, seconds):
  """Steps a second of |processes| that have nothing to do with each other."""
  with tempfile.TemporaryDirectory() as folder:
    command = [LEAT, 'launch', '-n', str(processes), '--', python_venv.python(), TASK, '--alone',
               model, folder, str(seconds)]
    return sum(r['steps'] / r['seconds'] for r in reports(command, processes, folder))


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
  """Prints a model's rows; returns whether all predictions hold."""
  rates, single, many, ones = {n: [] for n in WORKERS}, [], [], []
  for _ in range(options.rounds):
    single.append(measure_alone(model, 1, options.seconds))
    many.append(measure_alone(model, CORES, options.seconds))
    ones.append(measure(model, 1, options.seconds))
    for n in WORKERS:
      rates[n].append(measure(model, n, options.seconds).rate)
  cores = min(CORES, max(many) / max(single))
  one = min(ones, key=lambda measurement: measurement.step)
  t, w, s = one.step, one.worker, one.server
  text = scenario(model, t, w, s, cores)
  print('%s: a step takes %.2f ms, the worker works %.2f ms and the server %.2f ms; %d cores are '
        'worth %.2f' % (model, t * 1e3, w * 1e3, s * 1e3, CORES, cores))
  if options.scenarios:
    print(text)
  holds = True
  for n, predicted in zip((1,) + WORKERS, predict(text, (1,) + WORKERS)):
    measured = max(rates[n]) if n > 1 else 1 / t
    error = predicted / measured - 1
    holds = holds and abs(error) <= TOLERANCE
    print('  %d workers %10.1f steps/s measured %10.1f predicted %+6.1f %%%s' % (
        n, measured, predicted, 100 * error, '' if abs(error) <= TOLERANCE else '  short'),
          flush=True)
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
