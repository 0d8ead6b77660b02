"""Recordings of Python programs: nodes tell the line of the program that added them."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = b"""import leat as tf
x = tf.placeholder(tf.float32, [2, 3], name='x')
def layer(x):
  return tf.nn.softmax(x, name='soft')
y = layer(x)
loss = tf.reduce_sum(y * y, name='loss')
(slope,) = tf.gradients(loss, x)
with tf.Session() as session:
  session.run(slope, {x: [[1, 2, 3], [4, 5, 6]]})
"""


class LineTest(unittest.TestCase):
  def lines(self, file):
    """Name of each node that ran -> 'file:line', of the program, which is written to `file`."""
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    program = os.path.join(os.fsencode(folder.name), file)
    with open(program, 'wb') as f:
      f.write(PROGRAM)
    recording = os.path.join(folder.name, 'recording.json')
    subprocess.run([sys.executable, program], check=True, timeout=100,
                   env=dict(os.environ, LEAT_TRACE=recording))
    with open(recording) as f:
      events = json.load(f)['traceEvents']
    nodes = [e['args'] for e in events if e.get('name') == 'leat_graph_node']
    return {n['node']: n.get('source') for n in nodes}, os.fsdecode(program)

  def test_the_line_is_that_of_the_program(self):
    lines, program = self.lines(b'program.py')
    self.assertEqual(lines['soft'], program + ':4')
    slopes = [line for name, line in lines.items() if name.startswith('gradients/')]
    self.assertTrue(slopes)
    self.assertEqual(set(slopes), {program + ':7'})

  def test_a_file_whose_name_is_no_text_has_none(self):
    try:
      lines, _ = self.lines(b'program\xff.py')
    except OSError as error:
      self.skipTest(str(error))  # the file system takes no such name
    self.assertEqual(set(lines.values()), {None})


if __name__ == '__main__':
  unittest.main()
