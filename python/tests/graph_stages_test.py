"""Stages of compiling of steps whose master is a server, as the board shows them: a program at two
processes of `leat server` writes a log, and `leat board` opens it.
"""
import json
import os
import re
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from free_ports import free_port
import leat as tf

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tf.__file__))))
LEAT = os.path.join(BUILD, 'bin', 'leat')
PS, WORKER = ('/job:%s/replica:0/task:0/device:CPU:0' % job for job in ('ps', 'worker'))


class ServedStagesTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.logdir = folder.name

  def start(self, *arguments):
    process = subprocess.Popen([LEAT, *arguments], stdout=subprocess.PIPE, text=True)
    self.addCleanup(process.stdout.close)
    self.addCleanup(process.wait, 30)
    self.addCleanup(process.terminate)
    return process

  def serve(self):
    """-> the target of a cluster of two processes, whose master is the worker."""
    spec = ';'.join('%s=127.0.0.1:%d' % (job, free_port()) for job in ('ps', 'worker'))
    for job in ('ps', 'worker'):
      said = self.start('server', '--cluster', spec, '--job', job).stdout.readline()
    return re.search(r'grpc://\S+', said).group()

  def record(self, target, **options):
    """Runs a step of two tasks, some times -> the RunMetadata of the last one, which is logged."""
    with tf.Graph().as_default() as graph:
      x = tf.placeholder(tf.float32, [2, 2], name='x')
      with tf.device('/job:ps'):
        v = tf.get_variable('v', initializer=[[1., 2.], [3., 4.]])
        product = tf.matmul(x, v, name='product')
      with tf.device('/job:worker'):
        scale = tf.add(tf.constant(2., name='two'), tf.constant(3., name='three'), name='five')
        end = tf.multiply(product, scale, name='end')
      config = tf.ConfigProto(graph_options=tf.GraphOptions(**options))
      with tf.Session(target, config=config) as session:
        session.run(v.initializer)
        asked = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        for _ in range(3):
          metadata = tf.RunMetadata()
          value = session.run(end, {x: [[1, 0], [0, 1]]}, asked, metadata)
          self.assertEqual(value.tolist(), [[5, 10], [15, 20]])
      with tf.summary.FileWriter(os.path.join(self.logdir, 'train'), graph) as writer:
        writer.add_run_metadata(metadata, 'step 1', 1)
    return metadata

  def ask(self, what, **parameters):
    """The board's answer, which it has once it has read the run."""
    query = urllib.parse.urlencode(dict(run='train', tag='step 1', placed='1', **parameters))
    end = time.monotonic() + 60
    while True:
      try:
        with urllib.request.urlopen('%sdata/leat/graph/%s?%s' % (self.url, what, query)) as answer:
          return json.load(answer)
      except urllib.error.HTTPError as error:
        with error:
          if error.code != 404 or time.monotonic() > end:
            raise
        time.sleep(.02)

  def open_board(self):
    program = self.start('board', '--logdir', self.logdir, '--port', '0', '--json', '--no_cache')
    line = program.stdout.readline()
    if not line:
      self.skipTest('SKIP leat board does not start: no libmicrohttpd')
    self.url = json.loads(line)['url']

  def expect_board(self, metadata):
    """The board has the stages, their changes, and why a node is where it is."""
    self.open_board()
    stages = self.ask('stages')['stages']
    self.assertEqual([stage['name'] for stage in stages],
                     [stage.name for stage in metadata.graph_stages])
    named = {stage['name']: (number, stage) for number, stage in enumerate(stages)}
    fold, tasks = named['fold'], named['partition_tasks']
    self.assertEqual((fold[1]['came'], fold[1]['gone']), (1, 3))
    self.assertEqual((tasks[1]['came'] > 0, tasks[1]['gone']), (True, 0))
    # What the last stage left is what the devices ran, on both tasks.
    self.assertEqual(stages[-1]['nodes'], sum(len(g.node) for g in metadata.partition_graphs))
    changed = self.ask('changes', stage=fold[0])['items']
    self.assertEqual(sorted(change[1] for change in changed),
                     ['end', 'five', 'five/_folded', 'three', 'two'])
    placement = self.ask('item', stage=len(stages) - 1, name='end')['placement']
    self.assertEqual((placement['placer'], placement['reason']), ('simple', 'asked for'))

  def test_a_board_shows_them(self):
    metadata = self.record(self.serve())
    devices = {node.device for graph in metadata.partition_graphs for node in graph.node}
    self.assertEqual(devices, {PS, WORKER})
    self.expect_board(metadata)

  def test_of_a_session_that_measures(self):
    self.expect_board(self.record(self.serve(), build_cost_model=1))


if __name__ == '__main__':
  unittest.main()
