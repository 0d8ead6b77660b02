"""The commands of docs/cluster.md: lines of its blocks that begin with a program's name."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ('leat', 'openssl', 'printf', 'srun', 'mpirun', 'kubectl', 'docker', 'curl')


def commands():
  """All commands, in their order. Those of Slurm and MPI are run by tests/schedulers, and those of
  Kubernetes by tests/kubernetes; the others by `run` beside this file."""
  with open(os.path.join(ROOT, 'docs', 'cluster.md'), encoding='utf-8') as f:
    return re.findall(r'^    ((?:%s) .*)$' % '|'.join(PROGRAMS), f.read(), re.M)


def commands_of(*programs):
  return [c for c in commands() if c.split()[0] in programs]
