"""Flags of several values, checks of flags, aliases: what tf.flags has of absl."""
import enum
import subprocess
import sys
import unittest

PROGRAM = '''
import enum
import leat as tf
flags = tf.flags
class Color(enum.Enum):
  RED, BLUE = 1, 2
flags.DEFINE_multi_integer('sizes', [1], 'sizes')
flags.DEFINE_multi_string('names', None, 'names')
flags.DEFINE_enum_class('color', Color.RED, Color, 'a color')
flags.DEFINE_spaceseplist('words', 'a b', 'words')
flags.DEFINE_integer('batch', 8, 'size')
flags.DEFINE_alias('batch_size', 'batch')
flags.register_validator('batch', lambda n: n % 2 == 0, message='must be even')
flags.DEFINE_string('a', None, '')
flags.DEFINE_string('b', None, '')
flags.mark_flags_as_mutual_exclusive(['a', 'b'])
flags.set_default('words', ['c'])
FLAGS = flags.FLAGS
def main(_):
  print(FLAGS.sizes, FLAGS.names, FLAGS.color.name, FLAGS.words, FLAGS.batch, FLAGS.batch_size)
if __name__ == '__main__':
  tf.app.run()
'''


class FlagsTest(unittest.TestCase):

  def _run(self, *arguments):
    done = subprocess.run([sys.executable, '-c', PROGRAM, *arguments], text=True,
                          capture_output=True, check=False)
    return done.stdout.strip() or done.stderr.strip().split('\n')[-1]

  def test_values(self):
    self.assertEqual(self._run(), "[1] None RED ['c'] 8 8")
    self.assertEqual(
        self._run('--sizes=2', '--sizes', '3', '--names=x', '--color=blue', '--words=d e',
                  '--batch_size=4'), "[2, 3] ['x'] BLUE ['d', 'e'] 4 4")

  def test_checks(self):
    self.assertIn('must be even', self._run('--batch=3'))
    self.assertIn('At most one of (a, b)', self._run('--a=1', '--b=2'))
    self.assertIn('should be one of', self._run('--color=green'))


if __name__ == '__main__':
  unittest.main()
