"""A MonitoredTrainingSession over servers that are killed: each step's loss stays what it is.

The servers and the training are processes. The training is that of the tests of faults
(tests/faults/train.py), whose losses depend on all updates before them; it says each step, so that
a server is killed when a step was reached, and started again at once.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import leat

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(leat.__file__))))
STEPS = 60


def free_port():
  with socket.socket() as s:
    s.bind(('127.0.0.1', 0))
    return s.getsockname()[1]


class RecoveryTest(unittest.TestCase):

  def setUp(self):
    self.addresses = {job: '127.0.0.1:%d' % free_port() for job in ('ps', 'worker')}
    self.servers = {}
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)
    for job in self.addresses:
      self.start(job)
    self.addCleanup(lambda: [self.kill(job) for job in self.addresses])

  def start(self, job):
    spec = ';'.join('%s=%s' % item for item in self.addresses.items())
    self.servers[job] = subprocess.Popen(
        [os.path.join(BUILD, 'bin', 'leat'), 'server', '--cluster', spec, '--job', job, '--task',
         '0', '--heartbeat', '3000'], stdout=subprocess.DEVNULL)

  def kill(self, job):
    self.servers[job].send_signal(signal.SIGKILL)
    self.servers[job].wait()

  def train(self, target, kills):
    """-> {step: the losses that it had}. |kills| is {step: the job whose server dies there}."""
    losses = {}
    command = [sys.executable, os.path.join(ROOT, 'tests', 'faults', 'train.py'), target,
               os.path.join(self.folder.name, 'remote' if target else 'local'), str(STEPS), '5']
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, TF_DETERMINISTIC_OPS='1')) as process:
      for line in process.stdout:
        said = json.loads(line)
        self.assertIn('loss', said)
        losses.setdefault(said['step'], []).append(said['loss'])
        if kills.get(said['step']):
          job = kills.pop(said['step'])
          self.kill(job)
          self.start(job)
    self.assertEqual(process.returncode, 0)
    return losses

  def test_servers_are_killed(self):
    expected = self.train('', {})
    self.assertEqual(list(expected), list(range(STEPS)))
    found = self.train('grpc://' + self.addresses['worker'], {15: 'ps', 33: 'worker', 48: 'ps'})
    self.assertEqual(sorted(found), list(range(STEPS)))
    for step, losses in found.items():
      self.assertEqual(set(losses), set(expected[step]), step)
    # What was done since the last checkpoint was done once more, at least.
    for step in (12, 32, 46):
      self.assertGreater(len(found[step]), 1, step)


if __name__ == '__main__':
  unittest.main()
