"""A program that is worker 0 of a cluster, the master, and its own client, all in one process:
  client_in_master.py LIBRARY SERVER_DEF GRAPH_DEF CONFIG
LIBRARY has TensorFlow's C API: Leat's, or TensorFlow's own. The messages are files. Requests are
lines of JSON on the standard input, [what, names of ops, how often], and each is answered by a line
with the seconds of each time: "step" runs the ops, and "life" also makes a session for that and
ends it."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                'tests', 'oracle'))
import capi  # noqa: E402


def prepare(client, names):
  """-> a function that runs the ops in a session of the client's graph"""
  library = client.library
  ops = [client.output(name).oper for name in names]
  targets, run, status = (capi.P * len(ops))(*ops), library.TF_SessionRun, library.status

  def step(session):
    run(session, None, None, None, 0, None, None, 0, targets, len(ops), None, status)
    library.check()
  return step


def live(client, step):
  """A session is made, runs a step, and ends."""
  session = client.open()
  step(session)
  client.library.TF_CloseSession(session, client.library.status)
  client.library.TF_DeleteSession(session, client.library.status)
  client.library.check()


def time_once(client, what, step):
  start = time.perf_counter()
  if what == 'life':
    live(client, step)
  else:
    step(client.session)
  return time.perf_counter() - start


def main():
  path, *files = sys.argv[1:]
  server_def, graph_def, config = (open(name, 'rb').read() for name in files)
  library = capi.Library(path)
  server = library.TF_NewServer(server_def, len(server_def), library.status)
  library.check()
  library.TF_ServerStart(server, library.status)
  library.check()
  client = capi.Session(library, graph_def, config, target=library.TF_ServerTarget(server))
  for line in sys.stdin:
    what, names, times = json.loads(line)
    step = prepare(client, names)
    print(json.dumps([time_once(client, what, step) for _ in range(times)]), flush=True)
  os._exit(0)


if __name__ == '__main__':
  main()
