"""The processes of a cluster of which a test ends some: servers, clients and trainings, each on a
host of hosts.py. What they print is read as one JSON object a line, and waited for; a wait of a
minute is a hang, and fails.
"""
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
HANG_SECONDS = 60
HEARTBEAT_MS = 3000
PORT, STATUS_PORT = 2222, 9090
JOBS = ('ps', 'worker')


class Hang(Exception):
  """Something that had to come did not."""


class Process:
  """A process whose lines of output are kept in |lines|."""

  def __init__(self, host, command, **environment):
    self.host, self.command = host, command
    self.lines = []
    self._says_no_more = False
    self._changed = threading.Condition()
    self._process = host.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, **environment))
    self._reader = threading.Thread(target=self._read, daemon=True)
    self._reader.start()

  def _read(self):
    for line in self._process.stdout:
      with self._changed:
        if line.startswith('{'):
          self.lines.append(json.loads(line))
        self._changed.notify_all()
    with self._changed:
      self._says_no_more = True
      self._changed.notify_all()

  def wait_for(self, what, after=0, seconds=HANG_SECONDS):
    """The first line from number |after| for which what(line) is true."""
    found = []

    def is_there():
      found[:] = [line for line in self.lines[after:] if what(line)]
      return found or self._says_no_more

    with self._changed:
      if not self._changed.wait_for(is_there, seconds) or not found:
        raise Hang('%s said only %s' % (self.command, self.lines[-3:]))
    return found[0]

  def send(self, line):
    self._process.stdin.write(line + '\n')
    self._process.stdin.flush()

  def signal(self, number):
    self._process.send_signal(number)

  def is_running(self):
    return self._process.poll() is None

  def kill(self):
    if self.is_running():
      # A stopped process dies of this too.
      self.signal(signal.SIGKILL)
    self.end()

  def end(self):
    """Waits for the end. Returns the exit code."""
    try:
      code = self._process.wait(HANG_SECONDS)
    except subprocess.TimeoutExpired:
      raise Hang('%s did not end' % self.command) from None
    self._reader.join(HANG_SECONDS)
    self._process.stdin.close()
    return code

  def usage(self):
    """-> the numbers of open files and of threads, and the resident memory in MB."""
    folder = '/proc/%d/' % self._process.pid
    with open(folder + 'status') as f:
      fields = dict(line.split(':', 1) for line in f)
    return (len(os.listdir(folder + 'fd')), int(fields['Threads']),
            int(fields['VmRSS'].split()[0]) / 1024)


class Cluster:
  """A ps and a worker on the hosts of their names, and clients on the host `client`."""

  def __init__(self, network, build):
    self.network, self.build = network, build
    self.target = 'grpc://%s:%d' % (network.hosts['worker'].address, PORT)
    self.processes = {}
    self._programs = []
    for job in JOBS:
      self.start(job)

  def start(self, job):
    """Starts the server of the job, and waits until it serves."""
    spec = ';'.join('%s=%s:%d' % (j, self.network.hosts[j].address, PORT) for j in JOBS)
    server = Process(self.network.hosts[job],
                     [os.path.join(self.build, 'bin', 'leat'), 'server', '--cluster', spec,
                      '--job', job, '--task', '0', '--allow-insecure', '--json', '--heartbeat',
                      str(HEARTBEAT_MS), '--status-port', str(STATUS_PORT)])
    self.processes[job] = server
    server.wait_for(lambda line: line.get('event') == 'serving')
    return server

  def client(self):
    return Client(self)

  def python(self, host, *command):
    """A Python program of this folder, with the package of the build."""
    program = Process(self.network.hosts[host],
                      [sys.executable, os.path.join(HERE, command[0]), *command[1:]],
                      PYTHONPATH=os.path.join(self.build, 'python'))
    self._programs.append(program)
    return program

  def figures(self, job):
    """The figures of the server, by their names."""
    with self.network.hosts[job].inside():  # to which the socket belongs from then on
      connection = socket.create_connection(('127.0.0.1', STATUS_PORT), HANG_SECONDS)
    with connection, connection.makefile() as answer:
      connection.sendall(b'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      text = answer.read().split('\n\n', 1)[1]
    lines = (line.rsplit(' ', 1) for line in text.splitlines() if not line.startswith('#'))
    return {name: float(value) for name, value in lines}

  def close(self):
    """Kills all that runs."""
    for process in [*self._programs, *self.processes.values()]:
      process.kill()


class Client:
  """A process of client.py. What a step came to is a dictionary with "code"."""

  def __init__(self, cluster):
    self.process = cluster.python('client', 'client.py', cluster.target)
    self._ids = itertools.count(1)
    self.process.wait_for(lambda line: line['id'] == 0)

  def begin(self, do, session='s', timeout_ms=HANG_SECONDS * 1000, **command):
    """Returns the number of the command, for end()."""
    number = next(self._ids)
    self.process.send(json.dumps(dict(command, do=do, session=session, timeout_ms=timeout_ms,
                                      id=number)))
    return number

  def end(self, number):
    return self.process.wait_for(lambda line: line['id'] == number)

  def has_ended(self, number):
    return any(line['id'] == number for line in self.process.lines)

  def do(self, do, **command):
    return self.end(self.begin(do, **command))

  def run(self, step, **command):
    return self.do('run', step=step, **command)

  def kill(self):
    self.process.kill()
