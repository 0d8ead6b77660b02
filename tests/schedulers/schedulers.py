#!/usr/bin/env python3
"""Clusters that Slurm and Open MPI start: the real ones, on hosts within this machine.

usage: schedulers.py [--build DIR] [--only REGEX]

Two hosts are network namespaces with names of their own, joined by a bridge; Slurm's controller
runs beside them, and a daemon of its own on each, all without accounts or a key. What is started
goes through the front doors: `leat server`, `leat launch` with a training of the examples, as the
commands of docs/cluster.md have it, and `leat doctor`, whose exit code tells whether each task is
where the source says. The variables that other tests set by hand are set by the launchers here.

Needs namespaces, as root has them, Slurm and Open MPI (dev/setup schedulers); where one is missing,
it prints SKIP and why.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, 'tests', name) for name in ('faults', 'cluster_page')]
import hosts  # noqa: E402, of the tests of networks with faults
import page  # noqa: E402, the commands of docs/cluster.md

NODES = {'node1': '10.88.0.1', 'node2': '10.88.0.2'}
CONTROL = '10.88.0.254'
PATIENCE_S = 90
SLURM_CONF = """
ClusterName=test
SlurmctldHost=control({control})
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdParameters=config_overrides
ReturnToService=2
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Wrong(Exception):
  """A cluster is not what it must be."""


def on_host(name, command):
  """|command| as it is run on a host."""
  return ['ip', 'netns', 'exec', name, 'unshare', '--uts', 'sh', '-c',
          'hostname %s; exec "$@"' % name, 'sh', *command]


def run(command, **options):
  done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                        errors='replace', timeout=PATIENCE_S, check=False, **options)
  if done.returncode:
    raise Wrong('%s ended with %d: %s' % (' '.join(command), done.returncode, done.stdout[-3000:]))
  return done.stdout


class Scene:
  """The programs, and a folder that all hosts see."""

  def __init__(self, build, folder):
    self.leat = os.path.join(build, 'bin', 'leat')
    self.folder = folder
    self.environment = {k: v for k, v in os.environ.items()
                        if not k.startswith(('SLURM', 'OMPI', 'PMI', 'TF_CONFIG', 'LEAT_'))}
    self.environment.update(
        PYTHONPATH=os.path.join(build, 'python'), SLURM_CONF=os.path.join(folder, 'slurm.conf'),
        PATH=os.path.dirname(self.leat) + os.pathsep + os.environ['PATH'],
        # Root and few cores are what Open MPI asks about.
        OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
        OMPI_MCA_rmaps_base_oversubscribe='1')

  def run(self, *command, **options):
    return run([*command], env=self.environment, cwd=self.folder, **options)

  def page_command(self, program, part, training=''):
    """The page's command of |program| that has |part|, for this machine, as arguments; a training
    writes into the folder |training|."""
    found = [c for c in page.commands_of(program) if part in c]
    if len(found) != 1:
      raise Wrong('docs/cluster.md has %s' % found)
    command = found[0].replace('/shared/', self.folder + '/')
    command = command.replace('python examples/', '%s %s/examples/' % (sys.executable, ROOT))
    return ['sh', '-c', 'exec ' + command + (training and ' --train_dir ' + training)]

  @contextlib.contextmanager
  def running(self, *command):
    """A program that is ended with the block."""
    log = open(os.path.join(self.folder, 'running.log'), 'w+')
    process = subprocess.Popen(command, env=self.environment, cwd=self.folder, stdout=log,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
      yield process
    except Exception:
      log.seek(0)
      print('  %s: %s' % (' '.join(command), log.read()[-3000:]))
      raise
    finally:
      process.terminate()
      try:
        process.wait(20)
      except subprocess.TimeoutExpired:
        process.kill()
      log.close()

  def doctor(self, cluster, tasks):
    """The doctor reaches |tasks| tasks, each under its own name. Waits until all have come up."""
    end = time.monotonic() + PATIENCE_S
    while True:
      done = subprocess.run([self.leat, 'doctor', '--cluster', cluster, '--load', '0', '--json'],
                            env=self.environment, stdout=subprocess.PIPE, text=True, check=False)
      if done.returncode == 0 or time.monotonic() > end:
        break
      time.sleep(0.2)
    found = json.loads(done.stdout)
    names = [t['task'] for t in found['tasks'] if t['reachable'] and 'answers_as' not in t]
    if len(names) != tasks or not all(p['reachable'] for p in found['pairs']):
      raise Wrong('the doctor found %s' % done.stdout)

  def start(self, command, host=None):
    log = open(os.path.join(self.folder, 'daemons.log'), 'a')
    return subprocess.Popen(on_host(host, command) if host else command, env=self.environment,
                            stdout=log, stderr=subprocess.STDOUT)


# ---- The hosts and Slurm -------------------------------------------------------------------------
def make_hosts(folder):
  with open('/etc/hosts') as f:
    known = f.read()
  path = os.path.join(folder, 'hosts')
  with open(path, 'w') as f:
    f.write(known + ''.join('%s %s\n' % (a, n) for n, a in NODES.items()) + CONTROL + ' control\n')
  run(['mount', '--bind', path, '/etc/hosts'])
  run(['ip', 'link', 'set', 'lo', 'up'])
  run(['ip', 'link', 'add', 'bridge0', 'type', 'bridge'])
  run(['ip', 'address', 'add', CONTROL + '/24', 'dev', 'bridge0'])
  run(['ip', 'link', 'set', 'bridge0', 'up'])
  for i, (name, address) in enumerate(NODES.items()):
    run(['ip', 'netns', 'add', name])
    run(['ip', 'link', 'add', 'out%d' % i, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name])
    run(['ip', 'link', 'set', 'out%d' % i, 'master', 'bridge0', 'up'])
    run(['ip', '-n', name, 'address', 'add', address + '/24', 'dev', 'eth0'])
    for device in ('lo', 'eth0'):
      run(['ip', '-n', name, 'link', 'set', device, 'up'])


def start_slurm(scene):
  nodes = '\n'.join('NodeName=%s NodeAddr=%s CPUs=4 State=UNKNOWN' % n for n in NODES.items())
  with open(os.path.join(scene.folder, 'slurm.conf'), 'w') as f:
    f.write(SLURM_CONF.format(folder=scene.folder, control=CONTROL, nodes=nodes))
  # The daemon looks for control groups although nothing here uses them: let it find none.
  with open(os.path.join(scene.folder, 'cgroup.conf'), 'w') as f:
    f.write('CgroupPlugin=cgroup/v1\nCgroupMountpoint=%s\n' % scene.folder)
  os.mkdir(os.path.join(scene.folder, 'state'))
  scene.start(['unshare', '--uts', 'sh', '-c', 'hostname control; exec slurmctld -D'])
  for name in NODES:
    os.mkdir(os.path.join(scene.folder, 'spool-' + name))
    scene.start(['slurmd', '-D'], name)
  end = time.monotonic() + PATIENCE_S
  while 'idle' != subprocess.run(['sinfo', '-h', '-o', '%T'], env=scene.environment, text=True,
                                 stdout=subprocess.PIPE, check=False).stdout.strip():
    if time.monotonic() > end:
      with open(os.path.join(scene.folder, 'daemons.log')) as f:
        raise Wrong('Slurm does not come up: ' + f.read()[-3000:])
    time.sleep(0.2)


# ---- One machine ---------------------------------------------------------------------------------
def one_machine(scene):
  """The page's first command."""
  folder = os.path.join(scene.folder, 'training')
  out = scene.run(*scene.page_command('leat', 'python', folder))
  if 'accuracy' not in out or not os.path.exists(os.path.join(folder, 'checkpoint')):
    raise Wrong(out)


# ---- Slurm ---------------------------------------------------------------------------------------
SRUN = ('srun', '--nodes=2', '--ntasks=3')


def slurm_servers(scene):
  """A ps and two workers on two hosts; the doctor in the same job finds them by the same source."""
  with scene.running(*scene.page_command('srun', 'leat server')):
    scene.doctor('ps=node1:8888;worker=node1:8889,node2:8888', 3)


def slurm_layouts(scene):
  """Each process finds itself where it is, for both ways in which Slurm gives out numbers."""
  for way in ('block', 'cyclic'):
    out = scene.run('srun', '--nodes=2', '--ntasks=4', '--distribution', way, scene.leat, 'launch',
                    '--cluster', 'slurm:ps=1', '--', 'sh', '-c', 'echo "$(hostname) $TF_CONFIG"')
    lines = [line for line in out.split('\n') if line.startswith('node')]  # not what srun says
    configs = [(line.split(' ', 1)[0], json.loads(line.split(' ', 1)[1])) for line in lines]
    if len({(c['task']['type'], c['task']['index']) for _, c in configs}) != 4:
      raise Wrong(out)
    for host, config in configs:
      task = config['task']
      if config['cluster'][task['type']][task['index']].split(':')[0] != host:
        raise Wrong('%s: %s' % (way, out))


def slurm_training(scene):
  """A training of the examples, unchanged. The ps would serve for ever: srun ends it some time
  after the workers, and says so by its exit code."""
  folder = os.path.join(scene.folder, 'slurm-training')
  out = scene.run('sh', '-c', '"$@"; echo "srun ended with $?"', 'sh',
                  *scene.page_command('srun', 'leat launch', folder))
  if 'accuracy' not in out or not os.path.exists(os.path.join(folder, 'checkpoint')):
    raise Wrong(out)


def slurm_python(scene):
  """tf.distribute.cluster_resolver.SlurmClusterResolver says the same."""
  program = ('import leat as tf; r = tf.distribute.cluster_resolver.SlurmClusterResolver('
             "{'ps': 1, 'worker': 2}); print(r.cluster_spec().as_dict(), *r.get_task_info())")
  lines = sorted(line for line in scene.run(*SRUN, sys.executable, '-c', program).split('\n')
                 if line.startswith('{'))
  cluster = "{'ps': ['node1:8888'], 'worker': ['node1:8889', 'node2:8888']}"
  if lines != [cluster + ' ' + task for task in ('ps 0', 'worker 0', 'worker 1')]:
    raise Wrong(lines)


# ---- Open MPI ------------------------------------------------------------------------------------

def mpi_servers(scene):
  """Three processes of one mpirun, which are on this machine, as Open MPI tells them."""
  with scene.running(*scene.page_command('mpirun', 'leat server')):
    scene.doctor('ps=localhost:8888;worker=localhost:8889,localhost:8890', 3)


def mpi_exchange(scene):
  """Three processes that tell each other their addresses through a folder, on the hosts of Slurm's
  job, since mpirun starts its daemons there by srun."""
  out = scene.run('salloc', '--nodes=2', '--ntasks=3', '-Q', 'mpirun', '-n', '3', '--map-by',
                  'node', scene.leat, 'launch', '--cluster', 'mpi:ps=1,folder=' + scene.folder,
                  '--', 'sh', '-c', 'echo "$(hostname) $TF_CONFIG"')
  lines = [line for line in out.split('\n') if line.startswith('node')]
  if {line.split()[0] for line in lines} != set(NODES) or len(lines) != 3:
    raise Wrong(out)
  for line in lines:
    host, config = line.split(' ', 1)
    config = json.loads(config)
    task = config['task']
    if not config['cluster'][task['type']][task['index']].startswith(host + ':'):
      raise Wrong(out)


def mpi_training(scene):
  """The training: its ps serves for ever, so mpirun is ended once the checkpoint is there."""
  folder = os.path.join(scene.folder, 'mpi-training')
  with scene.running(*scene.page_command('mpirun', 'leat launch', folder)):
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists(os.path.join(folder, 'checkpoint')):
      if time.monotonic() > end:
        raise Wrong('no checkpoint')
      time.sleep(0.2)


SCENARIOS = (one_machine, slurm_servers, slurm_layouts, slurm_training, slurm_python, mpi_servers,
             mpi_exchange, mpi_training)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
  parser.add_argument('--only', default='')
  arguments = parser.parse_args()
  absent = [p for p in ('srun', 'salloc', 'slurmd', 'slurmctld', 'mpirun') if not shutil.which(p)]
  reason = 'there is no ' + ', '.join(absent) if absent else hosts.isolate()
  if reason:
    print('SKIP schedulers: ' + reason)
    return 0
  folder = tempfile.mkdtemp(prefix='leat-schedulers-')
  os.chmod(folder, 0o755)
  scene = Scene(os.path.abspath(arguments.build), folder)
  passed = failed = 0
  try:
    make_hosts(folder)
    start_slurm(scene)
    for scenario in SCENARIOS:
      if not re.search(arguments.only, scenario.__name__):
        continue
      try:
        scenario(scene)
        passed += 1
        print('%s: ok' % scenario.__name__, flush=True)
      except Exception:  # pylint: disable=broad-except
        failed += 1
        print('%s: FAILED\n%s' % (scenario.__name__, traceback.format_exc()), flush=True)
  finally:
    shutil.rmtree(folder, ignore_errors=True)
  print('schedulers: %d passed, %d failed' % (passed, failed))
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
