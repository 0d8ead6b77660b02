"""The larger models of examples/python run from their beginning to their end on small made data,
go on where they ended, and classify given pictures as is known where $LEAT_DATA_DIR has them."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import leat

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, 'examples', 'python')
PACKAGE = os.path.dirname(os.path.dirname(leat.__file__))
TOOL = os.path.join(os.path.dirname(PACKAGE), 'bin', 'leat')
DATA = os.environ.get('LEAT_DATA_DIR', '')


class ExampleTest(unittest.TestCase):

  def setUp(self):
    self.folder = self.enterContext(tempfile.TemporaryDirectory())

  def run_example(self, name, *arguments, before=(), data=''):
    """What the program prints. Its folder is made for this test, its data are made by itself."""
    command = [*before, sys.executable, os.path.join(EXAMPLES, name), *arguments]
    environment = dict(os.environ, LEAT_DATA_DIR=data, PYTHONPATH=PACKAGE, TMPDIR=self.folder)
    environment.pop('TF_CONFIG', None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout

  def smoke(self, name, *arguments, **named):
    return self.run_example(name, '--smoke', '--train_dir', os.path.join(self.folder, 'log'),
                            *arguments, **named)

  def assertWritten(self, steps):
    """The folder has a checkpoint after so many steps, and events."""
    log = os.path.join(self.folder, 'log')
    latest = leat.train.latest_checkpoint(log)
    self.assertEqual(os.path.basename(latest or 'none'), 'model.ckpt-%d' % steps)
    self.assertTrue([name for name in os.listdir(log) if 'tfevents' in name])


class CharactersTest(ExampleTest):

  def goes_on_and_writes(self, name):
    self.assertIn('step 2, ', self.smoke(name))
    self.assertWritten(4)
    text = self.smoke(name, '--sample', '20', '--start', 'the ')
    self.assertEqual(len(text), len('the ') + 20 + len('\n'))

  def test_char_rnn(self):
    self.goes_on_and_writes('char_rnn.py')

  def test_transformer(self):
    self.goes_on_and_writes('transformer_lm.py')


class DQNTest(ExampleTest):

  def test_it_goes_on(self):
    self.assertIn('step 60: mean return', self.smoke('dqn.py'))
    self.assertWritten(60)
    again = self.smoke('dqn.py')
    self.assertIn('step 60: mean return', again)
    self.assertNotIn('loss', again)


class DatesTest(ExampleTest):

  def test_one_device_and_many_compute_the_same(self):
    one = self.smoke('seq2seq/train.py')
    self.assertWritten(4)
    self.assertIn('Friday, November 29, 2086', one)
    self.folder = self.enterContext(tempfile.TemporaryDirectory())
    four = self.smoke('seq2seq/train.py', '--devices')
    without_time = lambda text: re.sub(r'[\d.]+ s$', '', text, flags=re.M)
    self.assertEqual(without_time(one), without_time(four))

  @unittest.skipUnless(os.path.exists(TOOL), 'the tool leat is not beside the package')
  def test_a_layer_a_task(self):
    found = self.smoke('seq2seq/train.py',
                       before=[TOOL, 'launch', '-n', '1', '--ps', '3', '--'])
    self.assertRegex(found, r'\[worker 0\] exact: [\d.]+ %')


@unittest.skipUnless(os.path.exists(TOOL), 'the tool leat is not beside the package')
class ReplicasTest(ExampleTest):

  def on_cluster(self, workers, *arguments):
    """The line of the chief with the accuracy and the digest of the weights."""
    found = self.smoke('distributed/mnist_replicas.py', *arguments,
                       before=[TOOL, 'launch', '-n', str(workers), '--ps', '1', '--'])
    return re.search(r'\[worker 0\] (accuracy .*)', found).group(1)

  def test_two_workers_in_step_are_one_machine_to_the_last_bit(self):
    alone = self.smoke('distributed/mnist_replicas.py', '--shards', '2').splitlines()[-1]
    self.assertWritten(20)
    self.assertRegex(alone, r'^accuracy 1\.0000, weights [0-9a-f]{16}$')
    self.folder = self.enterContext(tempfile.TemporaryDirectory())
    self.on_cluster(2, '--steps', '8')
    self.assertWritten(8)
    self.assertEqual(self.on_cluster(2), alone)
    self.assertWritten(20)

  def test_a_backup_worker(self):
    self.assertRegex(self.on_cluster(3, '--backup', '1'), r'^accuracy (1\.|0\.[5-9])')

  def test_each_at_its_own_pace(self):
    self.assertRegex(self.on_cluster(2, '--nosync'), r'^accuracy (1\.|0\.[5-9])')

  def test_pictures(self):
    found = self.smoke('distributed/cifar10_replicas.py',
                       before=[TOOL, 'launch', '-n', '2', '--ps', '1', '--'])
    self.assertRegex(found, r'\[worker 0\] accuracy [\d.]+ of 200 pictures')
    self.assertWritten(4)


class PicturesTest(ExampleTest):

  def test_resnet50(self):
    self.assertIn('step 1, ', self.smoke('resnet50.py'))
    self.assertWritten(2)
    picture = os.path.join(self.folder, 'leat-colours-%d' % os.getuid(), 'red', '0.jpg')
    found = self.smoke('resnet50.py', '--classify', picture)
    self.assertRegex(found, re.escape(picture) + r': \w+, [01]\.\d+')

  def test_inception_trains_and_evaluates(self):
    arguments = '--network', 'v2'
    self.assertIn('loss ', self.smoke('inception/train.py', *arguments))
    self.assertWritten(2)
    self.assertRegex(self.smoke('inception/train.py', *arguments, '--evaluate'),
                     r'right: [0-5] of 5')

  def test_inception_is_as_large_as_it_is(self):
    found = self.smoke('inception/train.py', '--network', 'v2', '--count')
    self.assertIn('inception v2: 13.6 million parameters', found)

  def test_classify(self):
    self.assertRegex(self.run_example('inception/classify.py', '--smoke'), r'0\.\d+ +0  red')

  @unittest.skipUnless(os.path.isdir(os.path.join(DATA, 'models')), 'LEAT_DATA_DIR has no models')
  def test_known_answers(self):
    pictures = [os.path.join(DATA, 'images', name)
                for name in ('grace_hopper.jpg', 'macaque.jpg', 'shasta-daisy.jpg')]
    found = self.run_example('inception/classify.py', '--top', '1', *pictures, data=DATA)
    best = [(float(p), int(i)) for p, i in re.findall(r'^ +([\d.]+) +(\d+)  ', found, re.M)]
    self.assertEqual(best, [(0.515, 653), (0.969, 374), (0.995, 986)])


if __name__ == '__main__':
  unittest.main()
