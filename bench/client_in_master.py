"""A program that is worker 0 of a cluster, the master, and its own client, all in one process:
  client_in_master.py LIBRARY SERVER_DEF GRAPH_DEF CONFIG
LIBRARY has TensorFlow's C API: Leat's, or TensorFlow's own. The messages are files. Requests are
lines of JSON on the standard input, [what, names of ops, how often], and each is answered by a line
with the seconds of each time: "step" runs the ops, and "life" also makes a session for that and
ends it."""
import ctypes
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                'tests', 'oracle'))
import capi  # noqa: E402

SERVER_SIGNATURES = {'TF_NewServer': (capi.P, capi.P, ctypes.c_size_t, capi.P),
                     'TF_ServerStart': (None, capi.P, capi.P),
                     'TF_ServerTarget': (ctypes.c_char_p, capi.P),
                     'TF_SetTarget': (None, capi.P, ctypes.c_char_p)}


class Client:
  def __init__(self, library, target, graph_def, config):
    self.library = library
    self.graph = library.TF_NewGraph()
    options, buffer = library.TF_NewImportGraphDefOptions(), library.buffer(graph_def)
    library.TF_GraphImportGraphDef(self.graph, buffer, options, library.status)
    library.check()
    self.options = library.TF_NewSessionOptions()
    library.TF_SetTarget(self.options, target)
    library.TF_SetConfig(self.options, config, len(config), library.status)
    library.check()
    self.session = self.open()

  def open(self):
    session = self.library.TF_NewSession(self.graph, self.options, self.library.status)
    self.library.check()
    return session

  def close(self, session):
    self.library.TF_CloseSession(session, self.library.status)
    self.library.TF_DeleteSession(session, self.library.status)
    self.library.check()

  def prepare(self, names):
    """-> a function that runs the ops in a session"""
    library = self.library
    ops = [library.TF_GraphOperationByName(self.graph, name.encode()) for name in names]
    assert all(ops), names
    targets, run, status = (capi.P * len(ops))(*ops), library.TF_SessionRun, library.status

    def step(session):
      run(session, None, None, None, 0, None, None, 0, targets, len(ops), None, status)
      library.check()
    return step

  def time_once(self, what, step):
    start = time.perf_counter()
    session = self.open() if what == 'life' else self.session
    step(session)
    if what == 'life':
      self.close(session)
    return time.perf_counter() - start


def main():
  path, *files = sys.argv[1:]
  server_def, graph_def, config = (open(name, 'rb').read() for name in files)
  library = capi.Library(path)
  for name, (result, *arguments) in SERVER_SIGNATURES.items():
    function = getattr(library.handle, name)
    function.restype, function.argtypes = result, arguments
    setattr(library, name, function)
  server = library.TF_NewServer(server_def, len(server_def), library.status)
  library.check()
  library.TF_ServerStart(server, library.status)
  library.check()
  client = Client(library, library.TF_ServerTarget(server), graph_def, config)
  for line in sys.stdin:
    what, names, times = json.loads(line)
    step = client.prepare(names)
    print(json.dumps([client.time_once(what, step) for _ in range(times)]), flush=True)
  os._exit(0)


if __name__ == '__main__':
  main()
