"""A cluster on this machine, each task a process that Leat or TensorFlow plays.

TensorFlow's servers are forked from this process, since importing TensorFlow for each would take
seconds; that must come before its first session, whose threads a fork would lose. A server ends
with its cluster, at the latest with the script (PR_SET_PDEATHSIG; timeout(1) for Leat's, which
would outlive a script that is killed)."""
import ctypes
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time

import tensorflow.compat.v1 as tf

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'python', 'tests'))
from free_ports import free_ports  # noqa: E402

LEAT = os.path.join(os.environ['LEAT_BUILD_DIR'], 'bin', 'leat')
# Guards against hangs, which a slow machine does not come near.
SERVER_SECONDS, SESSION_SECONDS, START_SECONDS = 900, 120, 120
PR_SET_PDEATHSIG = 1


def serve_tensorflow(jobs, job, index, config):
  """The life of a forked process: a server of TensorFlow."""
  ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
  with open(os.devnull, 'w') as null:
    os.dup2(null.fileno(), 2)
  tf.train.Server(jobs, job_name=job, task_index=index, config=config).join()


class Cluster:
  """Tasks "ps/0", "worker/0" ..., each played by Leat ('L'; 'U': with the protocol grpc+ucx) or
  TensorFlow ('T'): {'ps': 'L'}.
  |config| is a ConfigProto that all servers get. |hosts| names the hosts on which Leat's tasks
  believe to be, in the same form as |players|; by default they are on this one."""

  def __init__(self, players, config=None, hosts=None):
    self.config = config or tf.ConfigProto()
    self.hosts = {'%s/%d' % (j, i): h for j, all_of in (hosts or {}).items()
                  for i, h in enumerate(all_of)}
    ports = iter(free_ports(sum(map(len, players.values()))))
    self.jobs = {j: ['127.0.0.1:%d' % next(ports) for _ in p] for j, p in players.items()}
    self.players = {'%s/%d' % (j, i): p for j, all_of in players.items()
                    for i, p in enumerate(all_of)}
    self.processes = {}

  def address(self, task):
    job, index = task.split('/')
    return self.jobs[job][int(index)]

  def start(self, kinds='LUT'):
    """Starts the tasks that |kinds| play and that do not run."""
    for task in [t for t in self.players if t not in self.processes and self.players[t] in kinds]:
      job, index = task.split('/')
      if self.players[task] == 'T':
        process = multiprocessing.get_context('fork').Process(
            target=serve_tensorflow, args=(self.jobs, job, int(index), self.config),
            daemon=True)
        process.start()
      else:
        spec = ';'.join('%s=%s' % (j, ','.join(a)) for j, a in self.jobs.items())
        process = subprocess.Popen(
            ['timeout', '-s', 'KILL', str(SERVER_SECONDS), LEAT, 'server', '--cluster', spec,
             '--job', job, '--task', index,
             '--protocol', 'grpc+ucx' if self.players[task] == 'U' else 'grpc', '--config',
             self.config.SerializeToString().hex() or '-'],
            env=dict(os.environ, LEAT_HOST=self.hosts.get(task, '')),
            stdout=subprocess.DEVNULL, start_new_session=True)
      self.processes[task] = process
    for task in self.processes:
      self.wait_for(task)

  def wait_for(self, task):
    host, port = self.address(task).split(':')
    end = time.time() + START_SECONDS
    while True:
      try:
        return socket.create_connection((host, int(port)), 1).close()
      except OSError:
        if time.time() > end:
          raise RuntimeError('%s does not serve %s' % (task, self.address(task)))
        time.sleep(.02)

  def kill(self, task):
    process = self.processes.pop(task)
    if self.players[task] == 'T':
      process.kill()
      process.join()
    else:
      os.killpg(process.pid, signal.SIGKILL)  # timeout(1) and the server
      process.wait()

  def stop(self):
    for task in list(self.processes):
      self.kill(task)

  def session(self, task, graph, timeout_ms=SESSION_SECONDS * 1000):
    """A session of the master of |task|; its steps end at the latest after |timeout_ms|."""
    config = tf.ConfigProto(operation_timeout_in_ms=timeout_ms)
    return tf.Session('grpc://' + self.address(task), graph=graph, config=config)
