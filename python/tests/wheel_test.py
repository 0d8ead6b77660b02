"""The wheel: what is in it, that its tag is true, that equal builds are equal files, and that it
works where it is installed without a network."""
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import urllib.request
import zipfile

import leat

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(HERE)
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(leat.__file__))))
sys.path.append(SOURCES)

import build_backend  # noqa: E402
import elf            # noqa: E402
import wheel_tag      # noqa: E402

PROGRAM = '''
import os, numpy as np, leat as tf
assert 'site-packages' in tf.__file__, tf.__file__
x = tf.placeholder(tf.float32, [None, 3])
w = tf.Variable(tf.ones([3, 2]))
y = tf.reduce_sum(tf.nn.relu(tf.matmul(x, w)))
with tf.Session() as s:
  s.run(tf.global_variables_initializer())
  print(s.run([y, tf.gradients(y, w)[0]], {x: np.ones((4, 3))})[0])
'''


class WheelTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.folder = folder.name
    cls.wheel = os.path.join(cls.folder, build_backend.write_wheel(cls.folder, BUILD, True))

  def test_it_keeps_what_its_tag_says(self):
    self.assertEqual(wheel_tag.problems(self.wheel), [])

  def renamed(self, tag):
    """The wheel with another platform in its name and in WHEEL."""
    own = re.search(r'abi3-(\w+)\.whl$', self.wheel).group(1)
    path = self.wheel.replace(own, tag)
    with zipfile.ZipFile(self.wheel) as old, zipfile.ZipFile(path, 'w') as new:
      for name in old.namelist():
        data = old.read(name)
        new.writestr(name, data.replace(own.encode(), tag.encode())
                     if name.endswith('/WHEEL') else data)
    return path

  def test_a_tag_that_lies_is_found(self):
    own = re.search(r'manylinux_2_(\d+)_(\w+)\.whl$', self.wheel)
    found = wheel_tag.problems(self.renamed('manylinux_2_%d_%s' % (int(own.group(1)) - 1,
                                                                   own.group(2))))
    self.assertTrue([f for f in found if 'needs glibc' in f], found)
    self.assertTrue([f for f in found if f.startswith('RECORD says')], found)  # WHEEL has changed

  def test_the_versions_are_those_that_readelf_sees(self):
    for name in ('lib/libleat.so.0', 'bin/leat', 'python/leat/_leat.abi3.so'):
      path = os.path.join(BUILD, name)
      said = subprocess.run(['readelf', '-W', '-V', '-d', path], capture_output=True, text=True,
                            check=True, env=dict(os.environ, LC_ALL='C')).stdout
      with open(path, 'rb') as f:
        file = elf.Elf(f.read())
      self.assertEqual(set(re.findall(r'Name: (GLIBC\S+)', said)),
                       {v for vs in file.versions.values() for v in vs if 'GLIBC' in v}, name)
      self.assertEqual(re.findall(r'\(NEEDED\).*\[(.*)\]', said), file.needed, name)

  def test_two_wheels_are_equal(self):
    with tempfile.TemporaryDirectory() as folder:
      again = os.path.join(folder, build_backend.write_wheel(folder, BUILD, True))
      with open(again, 'rb') as a, open(self.wheel, 'rb') as b:
        self.assertTrue(a.read() == b.read())

  def test_no_file_names_the_folder_where_it_was_built(self):
    with zipfile.ZipFile(self.wheel) as wheel:
      for name in wheel.namelist():
        self.assertNotIn(BUILD.encode(), wheel.read(name), name)

  def test_installed(self):
    """Without a network, in a fresh environment that sees this one's numpy: a program, the tool,
    the board."""
    venv = os.path.join(self.folder, 'venv')
    subprocess.check_call([sys.executable, '-m', 'venv', '--without-pip', venv])
    python = os.path.join(venv, 'bin', 'python')
    purelib = subprocess.check_output(
        [python, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], text=True).strip()
    environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
    subprocess.check_call([sys.executable, '-m', 'pip', '--python', python, 'install', '-q',
                           '--no-index', '--disable-pip-version-check', self.wheel],
                          env=environment)
    with open(os.path.join(purelib, 'numpy.pth'), 'w', encoding='utf-8') as f:
      f.write(sysconfig.get_path('purelib') + '\n')
    said = subprocess.check_output([python, '-c', PROGRAM], text=True, env=environment)
    self.assertEqual(float(said), 24.0)
    tool = os.path.join(venv, 'bin', 'leat')
    self.assertIn('board', subprocess.check_output([tool, '--help'], text=True, env=environment))
    self.board(tool, environment)
    program = os.path.join(HERE, 'typed', 'figure_1.py')
    subprocess.check_call([sys.executable, '-m', 'mypy', '--python-executable', python,
                           '--cache-dir', os.devnull, program], env=environment, cwd=self.folder,
                          stdout=subprocess.DEVNULL)

  def board(self, tool, environment):
    logs = os.path.join(self.folder, 'logs')
    os.mkdir(logs)
    with subprocess.Popen([tool, 'board', '--logdir', logs, '--port', '0'], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment) as process:
      try:
        address = re.search(r'http://\S+', process.stdout.readline()).group(0)
        with urllib.request.urlopen(address.rstrip('/') + '/data/runs', timeout=60) as answer:
          self.assertEqual(answer.read().strip(), b'[]')
      finally:
        process.terminate()


if __name__ == '__main__':
  unittest.main()
