"""A library in a process of its own, which a graph may end or hang: graphs go to it and values come
back through pipes. Both libraries are used through the same C API (capi.py)."""
import ctypes
import importlib.util
import os
import pickle
import resource
import select
import subprocess
import sys

import capi

OURS, THEIRS = 'leat', 'tensorflow'
MOST_BYTES = 32 << 30  # of addresses of a library's process
SECONDS = 300  # for one graph, of which each takes milliseconds: then it hangs
PLAIN = b'\x10\x01\x28\x02'  # a ConfigProto: one thread in an operation, two between them
WITHOUT_OPTIMIZER = PLAIN + b'\x52\x05\x52\x03\x98\x01\x01'  # disable_meta_optimizer


class Library:
  """The process of one library, started anew when a graph has ended it. It loads |plugins|, the
  paths of libraries of ops."""

  def __init__(self, which, plugins=()):
    self.which, self.plugins, self.process = which, list(plugins), None

  def ask(self, question):
    if not self.process:
      environment = dict(os.environ, TF_ENABLE_ONEDNN_OPTS='0', TF_CPP_MIN_LOG_LEVEL='3')
      self.process = subprocess.Popen(
          [sys.executable, os.path.abspath(__file__), self.which] + self.plugins, env=environment,
          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pickle.dump(question, self.process.stdin)
    self.process.stdin.flush()

  def answer(self):
    try:
      if not select.select([self.process.stdout], [], [], SECONDS)[0]:
        raise EOFError
      return pickle.load(self.process.stdout)
    except (EOFError, pickle.UnpicklingError):
      self.process.kill()
      code = self.process.wait()
      self.process = None
      return 'ended', 'ended with %d, or gave no answer in %d s' % (code, SECONDS)

  def close(self):
    if self.process:
      self.process.stdin.close()
      self.process.wait()


def load(which, plugins=()):
  """Plug-ins find the functions of the library among those that all of the process sees."""
  if which == OURS:
    if plugins:
      ctypes.CDLL(os.environ['LEAT_LIBRARY'], ctypes.RTLD_GLOBAL)
    library = capi.Library()
  else:
    folder = os.path.dirname(importlib.util.find_spec('tensorflow').origin)
    ctypes.CDLL(os.path.join(folder, 'libtensorflow_framework.so.2'), ctypes.RTLD_GLOBAL)
    library = capi.Library(os.path.join(folder, 'libtensorflow_cc.so.2'))
  for path in plugins:
    library.TF_LoadLibrary(path.encode(), library.status)
    library.check()
  return library


def outcome(library, config, graph_def, feeds, fetches, first=()):
  """-> (0, the values), or (a status code, its message). The operations |first| run before."""
  session = None
  try:
    session = capi.Session(library, graph_def, config)
    if first:
      session.run(targets=first)
    return 0, session.run(fetches, feeds)
  except capi.Error as error:
    return error.code, str(error)
  finally:
    if session:
      session.close()


def answer_all(which, plugins):
  """Answers the questions that come through the pipe of a Judge."""
  # Where the system promises any amount of memory (vm.overcommit_memory is 1), a graph that asks
  # for too much would be killed for using it. A sanitizer needs all addresses for itself.
  if 'LD_PRELOAD' not in os.environ:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
  answers = os.fdopen(os.dup(1), 'wb')
  os.dup2(2, 1)
  library = load(which, plugins)
  while True:
    try:
      question = pickle.load(sys.stdin.buffer)
    except EOFError:
      return
    pickle.dump(outcome(library, PLAIN if which == OURS else WITHOUT_OPTIMIZER, *question), answers)
    answers.flush()




if __name__ == '__main__':
  answer_all(sys.argv[1], sys.argv[2:])
