#!/usr/bin/env python3
"""The cluster of deploy/kubernetes on a real Kubernetes, within this machine.

usage: kubernetes.py [--build DIR]

Kubernetes' own programs (programs.py) make this machine a node (node.py); the images are built as
deploy/README.md says (images.py), and the commands of docs/cluster.md and of that page are run:
what they start must train, be found whole by `leat doctor` from within a pod, and train again after
pods were lost. Not seen here: that the NetworkPolicy keeps others out, since the plug-in for the
network of this node knows none.

Needs root, Go, and the packages of `dev/setup kubernetes`; where one is missing, it prints SKIP and
why. What it leaves on the machine are the cache folder and empty control groups.
"""
import argparse
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, 'tests', name) for name in ('faults', 'cluster_page')]
import hosts  # noqa: E402, of the tests of networks with faults
import images  # noqa: E402
import node  # noqa: E402
import page  # noqa: E402, the commands of docs/cluster.md
import programs  # noqa: E402

TOOLS = ('etcd', 'containerd', 'runc', 'ctr', 'dockerd', 'docker', 'debootstrap', 'iptables')
TASKS = ('ps-0', 'worker-0', 'worker-1')


def expect(condition, *what):
  if not condition:
    raise node.Failure(' '.join(map(str, what)))


def is_ready(pod):
  return any(condition['type'] == 'Ready' and condition['status'] == 'True'
             for condition in pod['status'].get('conditions', []))


class Scene:
  """The node, and what the tests ask it."""

  def __init__(self, cluster):
    self._cluster = cluster

  def run(self, command):
    """Runs a command line of a page, which begins with kubectl."""
    program, *arguments = command.split()
    expect(program == 'kubectl', command)
    return self._cluster.kubectl(*arguments, cwd=ROOT)

  def pods(self):
    found = json.loads(self.run('kubectl get pods -o json'))['items']
    return {pod['metadata']['name']: pod for pod in found}

  def wait_for_tasks(self, but=()):
    """Waits until each task has a pod that is ready and no one of |but|. -> {name: identity}"""
    found = {}

    def are_ready():
      found.clear()
      found.update((name, pod['metadata']['uid']) for name, pod in self.pods().items()
                   if is_ready(pod) and pod['metadata']['uid'] not in but)
      return found.keys() >= set(TASKS)

    node.wait_for('a ready pod for each task', are_ready)
    return found

  def check_training(self):
    """Waits for the Job; its losses must fall as those of deploy_test do."""
    node.wait_for('the end of the Job', lambda: 'True' in self.run(
        'kubectl get job train -o jsonpath={.status.conditions[?(@.type=="Complete")].status}'))
    log = self.run('kubectl logs job/train')
    losses = [float(loss) for loss in re.findall(r'loss (\S+)', log)]
    expect(len(losses) == 10 and losses[-1] < losses[0] / 1000, 'the training says', log)
    return losses


def apply_command():
  found = [c for c in page.commands_of('kubectl') if ' apply ' in c]
  expect(len(found) == 1, 'docs/cluster.md has', found)
  return found[0]


def trains(scene):
  """The page's command starts tasks and a Job that trains on them."""
  scene.run(apply_command())
  scene.wait_for_tasks()
  losses = scene.check_training()
  return 'loss %g to %g' % (losses[0], losses[-1])


def doctor(scene):
  """From within a pod every task is reached by the name that the source gives it."""
  source = re.search(r'--cluster (kubernetes:\S+)', '\n'.join(page.commands())).group(1)
  report = scene.run('kubectl exec worker-1 -- /leat doctor --load 1 --cluster ' + source)
  for name in TASKS:
    task = '/job:%s/replica:0/task:%s at %s.leat:2222' % (*name.split('-'), name)
    expect(task in report, 'the doctor says nothing of', task, report)
  expect('bandwidth' in report, report)
  return '%d tasks' % len(TASKS)


def goes_on(scene):
  """Pods that are lost come back under their names, and a new Job trains on them."""
  before = scene.wait_for_tasks()
  scene.run('kubectl delete job train')
  scene.run('kubectl delete pod ps-0 worker-1 --force --grace-period=0')
  after = scene.wait_for_tasks(but=(before['ps-0'], before['worker-1']))
  expect(after['worker-0'] == before['worker-0'], 'worker-0 was started anew too')
  scene.run(apply_command())
  scene.check_training()
  return 'ps-0 and worker-1 came back'


def ends(scene):
  """All that the page's command made goes again."""
  scene.run('kubectl delete -k deploy/kubernetes')
  node.wait_for('the end of the pods', lambda: not scene.pods())
  return 'no pod is left'


def missing():
  if os.geteuid() != 0:
    return 'this is not root'
  absent = [tool for tool in TOOLS if not shutil.which(tool)]
  return 'no ' + ', '.join(absent) if absent else programs.missing_go()


TESTS = (trains, doctor, goes_on, ends)


def run_all(archives, folder):
  """-> how many tests failed"""
  cluster = node.Node(programs.build(), folder, glob.glob(os.path.join(archives, '*.tar')))
  failed = 0
  try:
    for test in TESTS:
      try:
        print('kubernetes %s: ok, %s' % (test.__name__, test(Scene(cluster))), flush=True)
      except Exception:  # whatever it is, the next one runs
        failed += 1
        print('kubernetes %s: FAIL %s' % (test.__name__, traceback.format_exc()), flush=True)
    if failed:
      for name, text in cluster.logs():
        print('== %s\n%s' % (name, text))
  finally:
    cluster.stop()
  print('kubernetes: %d passed, %d failed' % (len(TESTS) - failed, failed))
  return failed


def main():
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
  build = os.path.abspath(parser.parse_args().build)
  archives = os.path.join(build, 'kubernetes')
  reason = None
  if not hosts.is_isolated():  # where there is a network, from which programs and packages come
    reason = missing()
    if not reason:
      programs.build()
      os.makedirs(archives, exist_ok=True)
      images.build(programs.cache(), build, archives)
  reason = reason or hosts.isolate()
  if reason:
    print('SKIP kubernetes: ' + reason)
    return 0
  # /run lies in memory, and goes with the namespace of mounts.
  return 1 if run_all(archives, tempfile.mkdtemp(dir='/run')) else 0


if __name__ == '__main__':
  sys.exit(main())
