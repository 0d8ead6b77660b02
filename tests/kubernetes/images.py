"""The images of the pods, built by the commands of deploy/README.md.

A Docker daemon of our own runs them. It has no network for containers, so that nothing of the
machine's is changed, and what a build fetches goes by the machine's own. The base of the image with
Python is made by debootstrap from the distribution's packages, and kept in the cache folder, since
no registry of images is asked.
"""
import contextlib
import os
import re
import subprocess
import tempfile

from node import run, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASE = 'debian:12-slim'
# What the daemon mounts, and the programs that it starts, end with it.
ISOLATED = ('unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc')
# What holds a pod's namespaces while its containers come and go.
PAUSE_C = '#include <unistd.h>\nint main(void) {\n  for (;;) pause();\n}\n'
PAUSE = 'FROM scratch\nCOPY pause /\nUSER 65534\nENTRYPOINT ["/pause"]\n'


@contextlib.contextmanager
def docker():
  """Yields what runs a command line of Docker's as this daemon's client."""
  with tempfile.TemporaryDirectory(prefix='leat-docker-') as folder:
    host = 'unix://%s/socket' % folder
    with open(os.path.join(folder, 'log'), 'w') as log:
      daemon = subprocess.Popen(
          [*ISOLATED, 'dockerd', '--bridge=none', '--iptables=false', '--host=' + host,
           '--data-root=' + folder + '/data', '--exec-root=' + folder + '/run',
           '--pidfile=' + folder + '/pid'], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def client(command):
      return run(['sh', '-c', command], cwd=ROOT, env=dict(os.environ, DOCKER_HOST=host))

    try:
      wait_for('Docker', lambda: client('docker version'))
      yield client
    finally:
      daemon.kill()  # unshare hears nothing else
      daemon.wait()


def make_base(cache):
  archive = os.path.join(cache, 'debian.tar')
  if not os.path.exists(archive):
    print('  making %s' % BASE, flush=True)
    with tempfile.TemporaryDirectory(prefix='leat-debian-') as folder:
      run(['debootstrap', '--variant=minbase', 'bookworm', folder])
      run(['tar', '-C', folder, '-cf', archive + '.part', '.'])
    os.rename(archive + '.part', archive)
  return archive


def build_commands():
  """{the image: the command of deploy/README.md that builds it}."""
  with open(os.path.join(ROOT, 'deploy', 'README.md'), encoding='utf-8') as f:
    commands = re.findall(r'^    (docker build .*)$', f.read(), re.M)
  return {re.search(r' -t (\S+)', command).group(1): command for command in commands}


def build(cache, products, to):
  """Archives of all images in the folder |to|. |products| is the build folder, which has what
  `ninja leat_image` and `make wheel` make."""
  base = make_base(cache)
  with docker() as client:
    client('docker import %s %s' % (base, BASE))
    for image, command in build_commands().items():
      print('  building %s' % image, flush=True)
      client(command.replace('docker build', 'docker build --network host', 1)
             .replace(' build/', ' %s/' % products))
    with tempfile.TemporaryDirectory() as folder:
      for name, text in (('pause.c', PAUSE_C), ('Dockerfile', PAUSE)):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
          f.write(text)
      run(['cc', '-static', '-O1', '-o', folder + '/pause', folder + '/pause.c'])
      client('docker build -t pause ' + folder)
    for image in ['pause', *build_commands()]:
      client('docker save -o %s/%s.tar %s' % (to, image, image))
