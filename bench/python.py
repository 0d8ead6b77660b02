#!/usr/bin/env python3
"""The Python package beside TensorFlow's: bench/python.py [--rows REGEX] [--rounds N] [--seconds S]

Both packages run the same program, bench/python_rows.py, each in a process on one core with one
thread; rounds of the two alternate, and a process is stopped while it is not measured, since
TensorFlow would fill its buffers meanwhile: on the other's core, and for its own next round. Times
of steps are the least over short chunks in all rounds, since other programs of the machine only
make them longer; building is measured in the processor's time. The goal is what Leat must reach: a
ratio to TensorFlow (x), or an absolute value, which means something on a quiet machine only. Leat's
interpreter is that of its tests (dev/python_venv.py). TensorFlow's is $LEAT_TF_PYTHON, else that of
the environment which tests against TensorFlow use, where there is one; without it Leat runs alone.
An installed package has its bytecode beside it. The build tree has none: Leat's is kept in a folder
of the build, and made in the first round.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'dev'))
import oracle_venv  # noqa: E402
import python_venv  # noqa: E402


class Row:
  """A measurement: its name in python_rows.py, the field that counts, and what Leat must reach."""

  def __init__(self, text, name, field, most=None, ratio=None, fresh=False):
    self.text, self.name, self.field = text, name, field
    self.most, self.ratio = most, ratio
    self.fresh = fresh   # in a process of its own

  def goal(self):
    return '%gx' % self.ratio if self.ratio else '<= %g' % self.most if self.most else '-'

  def verdict(self, leat, peer):
    if self.ratio:
      return 'no TensorFlow' if peer is None else 'ok' if peer / leat >= self.ratio else 'short'
    return 'ok' if not self.most or leat <= self.most else 'short'


ROWS = [
    Row('import, ms', 'import', 'ms', most=50, fresh=True),
    Row('import, MB', 'import', 'mb', most=30, fresh=True),
    Row('first step, ms', 'first', 'ms', most=10, fresh=True),
    Row('a constant, us', 'constant', 'us', most=4),
    Row('a callable, us', 'callable', 'us', most=1.5),
    Row('10 feeds, 10 fetches, us', 'ten', 'us', most=15),
    Row('softmax, batch 100, us', 'softmax', 'us', ratio=3),
    Row('MLP 128-32, batch 100, us', 'mlp', 'us', ratio=1.5),
    Row('32 images as records, us', 'images', 'us', ratio=1.2),
    Row('32 images in bytes, us', 'images_bytes', 'us', ratio=1.2),
    Row('32 images in part, us', 'images_crop', 'us', ratio=1.2),
    Row('32 images in PNG, us', 'images_png', 'us'),
    Row('a node by x + y, us', 'build_sums', 'us', most=10),
    Row('Inception-v3, s', 'build_inception', 'seconds', most=1),
    Row('Inception-v3, KB a node', 'build_inception', 'kb', most=2),
]


class Package:
  """A package of Python, and the process in which it is measured."""

  def __init__(self, name, interpreter, core, **environment):
    self.name = name
    self.command = ['taskset', '-c', str(core), interpreter,
                    os.path.join(ROOT, 'bench', 'python_rows.py'), name]
    self.environment = dict(os.environ, CUDA_VISIBLE_DEVICES='', TF_CPP_MIN_LOG_LEVEL='3',
                            **environment)
    self.process = None

  def start(self):
    return subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

  def measure(self, row, seconds):
    """{field: value} of one round."""
    question = '%s %g\n' % (row.name, seconds)
    if row.fresh:
      answer, _ = self.start().communicate(question)
    else:
      self.process = self.process or self.start()
      self.process.send_signal(signal.SIGCONT)
      self.process.stdin.write(question)
      self.process.stdin.flush()
      answer = self.process.stdout.readline()
      self.process.send_signal(signal.SIGSTOP)
    if not answer:
      raise SystemExit('bench: %s stopped in the row "%s"' % (self.name, row.text))
    return json.loads(answer)

  def stop(self):
    if self.process:
      self.process.send_signal(signal.SIGCONT)
      self.process.communicate()


def tensorflow_python():
  """TensorFlow's interpreter, or None."""
  given = os.environ.get('LEAT_TF_PYTHON')
  path = given or os.path.join(oracle_venv.folder(), 'bin', 'python')
  if given or os.path.exists(path):
    return path
  return None


def read_options():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--rows', default='.', help='regular expression of row names')
  parser.add_argument('--rounds', type=int, default=3)
  parser.add_argument('--seconds', type=float, default=0.5, help='of steps in each round')
  parser.add_argument('--core', type=int, default=max(os.sched_getaffinity(0)))
  parser.add_argument('--build', type=os.path.abspath, default=os.path.join(ROOT, 'build'))
  return parser.parse_args()


def main():
  options = read_options()
  packages = [Package('leat', python_venv.python(), options.core,
                      PYTHONPATH=os.path.join(options.build, 'python'), PYTHONDONTWRITEBYTECODE='',
                      PYTHONPYCACHEPREFIX=os.path.join(options.build, 'python-bytecode'))]
  interpreter = tensorflow_python()
  if interpreter:
    packages.append(Package('tensorflow', interpreter, options.core, TF_ENABLE_ONEDNN_OPTS='0'))
  form, short, measured = '%-27s' + '%12s' * 4 + '  %s', 0, {}
  print(form % ('', 'leat', 'TensorFlow', 'ratio', 'goal', ''), flush=True)
  for row in ROWS:
    if not re.search(options.rows, row.text):
      continue
    if row.name not in measured:
      rounds = [[p.measure(row, options.seconds) for p in packages] for _ in range(options.rounds)]
      measured[row.name] = rounds
    leat, *peers = [min(found[i][row.field] for found in measured[row.name])
                    for i in range(len(packages))]
    peer = peers[0] if peers else None
    verdict = row.verdict(leat, peer)
    short += verdict == 'short'
    print(form % (row.text, '%.3g' % leat, '-' if peer is None else '%.4g' % peer,
                  '-' if peer is None else '%.2f' % (peer / leat), row.goal(), verdict), flush=True)
  for package in packages:
    package.stop()
  print('%d rows fall short' % short if short else 'every goal is reached')
  return 0


if __name__ == '__main__':
  sys.exit(main())
