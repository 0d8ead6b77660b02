"""Processes of tf.data's service, for scripts whose client is Leat.

Each dispatcher and each worker is a process of its own, so that a test can kill it; those of
TensorFlow are forked from a server that has loaded TensorFlow and made no session
(multiprocessing's forkserver). All end with this script at the latest."""
import json
import multiprocessing
import os
import subprocess

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0', TF_CPP_MIN_LOG_LEVEL='3')

import tensorflow.compat.v1 as tf  # noqa: E402
from tensorflow.python.data.experimental.service import server_lib  # noqa: E402

SERVICE = tf.data.experimental.service
LEAT = os.path.join(os.environ['LEAT_BUILD_DIR'], 'bin', 'leat')
START_SECONDS, SECONDS = 120, 900
context = multiprocessing.get_context('forkserver')
context.set_forkserver_preload(['tensorflow'])



def quiet():
  with open(os.devnull, 'w') as null:
    os.dup2(null.fileno(), 2)


def wait_for_parent(pipe):
  """Ends the process when the script has ended, which closes its end of the pipe."""
  try:
    pipe.recv()
  finally:
    os._exit(0)


def dispatch(pipe, options):
  """The life of a dispatcher's process."""
  quiet()
  server = server_lib.DispatchServer(server_lib.DispatcherConfig(
      job_gc_check_interval_ms=100, job_gc_timeout_ms=1000, **options))
  pipe.send(server.target.split('://')[1])
  wait_for_parent(pipe)


def work(pipe, dispatcher, options):
  """The life of a worker's process."""
  quiet()
  server = server_lib.WorkerServer(server_lib.WorkerConfig(
      dispatcher_address=dispatcher, heartbeat_interval_ms=100, **options))
  pipe.send(server._address)
  wait_for_parent(pipe)


def register(pipe, address, make, compression):
  """The life of a process that registers a dataset."""
  quiet()
  tf.disable_eager_execution()
  with tf.Graph().as_default(), tf.Session() as session:
    pipe.send(session.run(SERVICE.register_dataset('grpc://' + address, make(),
                                                   compression=compression)))


class Process:
  """A process whose first message is |said|."""

  def __init__(self, life, *arguments):
    mine, theirs = context.Pipe()
    self.process = context.Process(target=life, args=(theirs,) + arguments, daemon=True)
    self.process.start()
    if not mine.poll(START_SECONDS):
      raise TimeoutError('%s says nothing' % life)
    self.said = mine.recv()
    self.pipe = mine

  def kill(self):
    self.process.kill()
    self.process.join()


class Leat:
  """A process of Leat's."""

  def __init__(self, *arguments):
    self.process = subprocess.Popen(
        ['timeout', '-s', 'KILL', str(SECONDS), LEAT, 'data-service', '--json', *arguments],
        stdout=subprocess.PIPE, text=True)
    self.said = json.loads(self.process.stdout.readline())['address']

  def kill(self):
    self.process.terminate()
    self.process.wait()


class Service:
  """A dispatcher and workers of TensorFlow."""

  def __init__(self, workers, **options):
    self.options = options
    self.dispatcher = Process(dispatch, options)
    self.address = self.dispatcher.said
    self.workers = [self.add_worker() for _ in range(workers)]

  def add_worker(self, **options):
    return Process(work, self.address, options)

  def register(self, make, compression='AUTO'):
    process = Process(register, self.address, make, compression)
    process.process.join()
    return process.said

  def stop(self):
    for process in self.workers + [self.dispatcher]:
      process.kill()


class LeatService(Service):
  """A dispatcher and workers of Leat."""

  def __init__(self, workers):
    self.dispatcher = Leat('--dispatcher')
    self.address = self.dispatcher.said
    self.workers = [Leat('--worker', '--dispatcher_address', self.address, '--heartbeat', '100')
                    for _ in range(workers)]
