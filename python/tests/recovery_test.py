"""A MonitoredTrainingSession over servers that are killed: each step's loss stays what it is.

The servers and the training are processes. The training is that of the tests of faults
(tests/faults/train.py), whose losses depend on all updates before them. It says each step and waits
to be told to go on, so that a server is killed, and started again at once, between two known steps.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

from free_ports import free_port
import leat

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(leat.__file__))))
STEPS = 60


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
               os.path.join(self.folder.name, 'remote' if target else 'local'), str(STEPS), '-']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, TF_DETERMINISTIC_OPS='1')) as process:
      for line in process.stdout:
        said = json.loads(line)
        self.assertIn('loss', said)
        losses.setdefault(said['step'], []).append(said['loss'])
        if kills.get(said['step']):
          job = kills.pop(said['step'])
          self.kill(job)
          self.start(job)
        process.stdin.write('\n')
        process.stdin.flush()
    self.assertEqual(process.returncode, 0)
    return losses

  def test_servers_are_killed(self):
    expected = self.train('', {})
    self.assertEqual(list(expected), list(range(STEPS)))
    found = self.train('grpc://' + self.addresses['worker'], {15: 'ps', 33: 'worker', 48: 'ps'})
    self.assertEqual(sorted(found), list(range(STEPS)))
    for step, losses in found.items():
      self.assertEqual(set(losses), set(expected[step]), step)
    # What was done since the last checkpoint, of every ten steps, was done once more, and no other.
    redone = [step for step, losses in found.items() if len(losses) > 1]
    self.assertEqual(redone, [*range(10, 16), *range(30, 34), *range(40, 49)])


if __name__ == '__main__':
  unittest.main()
