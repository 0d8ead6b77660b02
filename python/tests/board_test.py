"""tf.board.show: the board in a frame of a notebook."""
import os
import tempfile
import unittest
import urllib.request

import leat as tf


class ShowTest(unittest.TestCase):
  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.logdir = folder.name
    writer = tf.summary.FileWriter(os.path.join(self.logdir, 'train'))
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='loss', simple_value=1)]), 1)
    writer.close()

  def show(self, **options):
    try:
      board = tf.board.show(self.logdir, **options)
    except RuntimeError as error:
      if 'libmicrohttpd' in str(error):
        raise unittest.SkipTest(str(error))
      raise
    self.addCleanup(board.close)
    return board

  def test_the_frame_may_be_shown_and_has_the_runs(self):
    board = self.show(height=321)
    self.assertIn('src="%s"' % board.url, board._repr_html_())
    self.assertIn('height="321"', board._repr_html_())
    with urllib.request.urlopen(board.url) as answer:
      self.assertIn('frame-ancestors \'self\' http://localhost:*',
                    answer.headers['Content-Security-Policy'])
    with urllib.request.urlopen(board.url + 'data/logdir') as answer:
      self.assertIn(self.logdir.encode(), answer.read())

  def test_a_second_call_shows_the_board_that_runs(self):
    board = self.show()
    self.assertIs(self.show(), board)
    board.close()
    board.close()
    self.assertIsNot(self.show(), board)

  def test_behind_a_proxy(self):
    board = self.show(path_prefix='/proxy/"x')
    self.assertIn('src="/proxy/&quot;x/"', board._repr_html_())
    with self.assertRaisesRegex(ValueError, "path_prefix is 'x', must begin with '/'"):
      tf.board.show(self.logdir, path_prefix='x')

  def test_a_board_that_cannot_begin_says_why(self):
    with self.assertRaisesRegex(RuntimeError, 'could not begin: .*port'):
      self.show(port=70000)


if __name__ == '__main__':
  unittest.main()
