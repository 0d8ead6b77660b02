"""Runs every example of examples/python for a moment, as a user would, and once more where it
resumes. The data are made ones, so that the tests need no files."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../examples/python')


class ExamplesTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def run_example(self, path, *arguments):
    """What the program prints; a program that fails fails the test."""
    environment = dict(os.environ, LEAT_DATA_DIR='', TMPDIR=self.folder, OPENBLAS_NUM_THREADS='1')
    done = subprocess.run([sys.executable, os.path.join(FOLDER, path), '--smoke', *arguments],
                          capture_output=True, text=True, env=environment, timeout=600)
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout

  def events(self, folder=''):
    return [f for f in os.listdir(os.path.join(self.folder, folder)) if 'tfevents' in f]

  def number(self, pattern, text):
    return float(re.search(pattern, text).group(1))

  def test_figure1(self):
    printed = self.run_example('figure1.py', '--log_dir', self.folder)
    costs = [float(line.split()[1]) for line in printed.splitlines()]
    self.assertEqual(len(costs), 10)
    # Half of 784 x 100 units are above zero, each by sqrt(784 / 9) * sqrt(2 / pi) / 2 on average
    # of x in [0, 1) (variance of w x: 1/3 * 1/3 each).
    self.assertTrue(all(80000 < cost < 140000 for cost in costs), costs)
    self.assertEqual(len(self.events()), 1)

  def test_mnist_softmax(self):
    printed = self.run_example('mnist_softmax.py', '--train_dir', self.folder)
    self.assertGreater(self.number(r'accuracy ([\d.]+) %', printed), 90)
    again = self.run_example('mnist_softmax.py', '--train_dir', self.folder)
    self.assertNotIn('step', again)
    self.assertEqual(self.number(r'accuracy ([\d.]+) %', again),
                     self.number(r'accuracy ([\d.]+) %', printed))
    self.assertEqual(len(self.events()), 2)

  def test_mnist_cnn(self):
    printed = self.run_example('mnist_cnn.py', '--train_dir', self.folder)
    self.assertGreater(self.number(r'accuracy ([\d.]+) %', printed), 60)
    self.assertTrue(self.events())

  def test_cifar10(self):
    parameters = []
    for towers in ('1', '2'):
      folder = os.path.join(self.folder, towers)
      self.run_example('cifar10/train.py', '--train_dir', folder, '--towers', towers)
      printed = self.run_example('cifar10/evaluate.py', '--train_dir', folder)
      self.assertIn('step 10: ', printed)
      self.assertIn(' of 200 test pictures right', printed)
      self.assertGreater(len(self.events(towers)), 1)
      counts = self.run_example('porting/parameter_counts.py', '--meta',
                                os.path.join(folder, 'model.ckpt-10.meta'))
      parameters.append(counts.splitlines()[0])
    self.assertEqual(parameters[0], parameters[1])    # towers share the variables

  def test_cifar10_as_published(self):
    arguments = ('--network', 'tutorial', '--train_dir', self.folder)
    self.run_example('cifar10/train.py', *arguments)
    self.assertIn('step 10: ', self.run_example('cifar10/evaluate.py', *arguments))

  def test_ptb_lstm(self):
    printed = self.run_example('ptb_lstm.py', '--train_dir', self.folder)
    self.assertLess(self.number(r'epoch 2: .* valid ([\d.]+),', printed), 100)
    again = self.run_example('ptb_lstm.py', '--train_dir', self.folder, '--epochs', '3')
    self.assertNotIn('epoch 2', again)
    self.assertLess(self.number(r'test perplexity ([\d.]+)', again), 100)

  def test_word2vec(self):
    printed = self.run_example('word2vec.py', '--train_dir', self.folder)
    losses = [float(value) for value in re.findall(r'loss ([\d.]+)', printed)]
    self.assertLess(losses[1], losses[0])
    again = self.run_example('word2vec.py', '--train_dir', self.folder)
    self.assertNotIn('epoch', again.partition('an epoch')[2])

  def test_parameter_counts(self):
    printed = self.run_example('porting/parameter_counts.py', '--log_dir', self.folder)
    self.assertRegex(printed, r'(?m)^all +6,617,624$')
    self.assertRegex(printed, r'(?m)^    Logits +1,025,000$')    # 1024 x 1000 and 1000 biases
    self.run_example('mnist_softmax.py', '--train_dir', self.folder)
    printed = self.run_example('porting/parameter_counts.py', '--meta',
                               os.path.join(self.folder, 'model-50.meta'))
    self.assertRegex(printed, r'(?m)^all +7,850$')

  def test_check_numerics(self):
    printed = self.run_example('porting/check_numerics.py', '--log_dir', self.folder)
    self.assertIn('log_probability:0 : Tensor had Inf', printed)
    printed = self.run_example('porting/check_numerics.py', '--log_dir', self.folder,
                               '--loss', 'joint')
    self.assertIn('every number of every step is finite', printed)

  def test_compare_losses(self):
    def compare(flaw):
      return self.run_example('porting/compare_losses.py', '--log_dir', self.folder,
                              '--flaw', flaw).splitlines()
    found = compare('none')
    self.assertTrue(len(found) == 2 and all('agree' in line for line in found), found)
    found = compare('decay')
    self.assertIn('learning rate 0: the losses differ in step 0', found[0])
    found = compare('momentum')
    self.assertIn('agree', found[0])
    self.assertIn('differ in step 2', found[1])


if __name__ == '__main__':
  unittest.main()
