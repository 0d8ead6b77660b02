#!/usr/bin/env python3
"""What a cluster makes of a bad network and of processes that die, on real sockets.

usage: faults.py [--build DIR] [--only REGEX] [--kills N] [--cycles N] [--connections N]
                 [--seed N] [--short]

A ps, a worker, which is the master, and clients run on hosts of their own (hosts.py), through the
front doors: `leat server` and the Python package. Each scenario below does something to the network
or to a process; every step must then end, well or with one of the statuses that the table names,
and the cluster must work again when the fault is over. Trainings that were interrupted must have
the losses of one that was not, bit for bit.

Needs namespaces and TUN devices, as root has them; where there are none, it prints SKIP and why.
--short leaves out what waits for long, and has --kills 6 and the like, for CI.
"""
import argparse
import contextlib
import dataclasses
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Callable

import hosts
import processes
from processes import Cluster, Hang, Process

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANY = '1000000000'  # steps of a training that is killed in the end
LARGE_SUM = 1_000_000  # about; of the 2 million numbers of client.py's step `large`


class Wrong(Exception):
  """The cluster did something else than it must."""


def expect(is_right, *what):
  if not is_right:
    raise Wrong(*what)


def expect_code(result, *codes, says=''):
  expect(result['code'] in codes and says in result.get('message', ''), result, 'must be', codes,
         says)


@dataclasses.dataclass
class Scene:
  """What a scenario has: the cluster, a client with an open session `s`, and the arguments."""
  cluster: Cluster
  client: processes.Client
  arguments: argparse.Namespace
  random: random.Random
  folder: str

  @property
  def network(self):
    return self.cluster.network

  def new_folder(self):
    return tempfile.mkdtemp(dir=self.folder)

  def works_again(self, client=None, session='again'):
    """A new session works."""
    client = client or self.client
    expect_code(client.do('open', session=session), 'OK')
    expect_code(client.run('init', session=session), 'OK')
    expect_code(client.run('sum', session=session), 'OK')
    expect_code(client.do('close', session=session), 'OK')

  def old_session_works(self):
    """The session of before goes on. What was under way may still end a step of it first."""
    end = time.monotonic() + processes.HANG_SECONDS
    while True:
      result = self.client.run('count')
      if result['code'] == 'OK':
        return
      expect_code(result, 'UNAVAILABLE')
      if time.monotonic() > end:
        raise Wrong('the session does not recover', result)
      time.sleep(0.05)

  def counts(self, steps):
    """Steps each of which adds one to the counter, and no more."""
    first = self.client.run('count')['value']
    for i in range(1, steps):
      result = self.client.run('count')
      expect_code(result, 'OK')
      expect(result['value'] == first + i, result, first, i)


# ---- Networks that lose, delay and reorder -------------------------------------------------------
def loss(scene):
  scene.network.set(loss=0.01)
  scene.counts(20 if scene.arguments.short else 300)
  expect_code(scene.client.run('sum'), 'OK')


def delay(scene):
  scene.network.set(delay_s=0.1)  # 200 ms there and back
  scene.counts(3)


def reordering(scene):
  scene.network.set(jitter_s=0.004)
  scene.counts(20)
  expect_code(scene.client.run('sum'), 'OK')


def slow_reader(scene):
  scene.network.set('worker', 'client', bytes_per_s=4e6)
  waiting = scene.client.begin('run', step='large')
  other = scene.cluster.client()  # is not held up by the one that reads slowly
  expect_code(other.do('open'), 'OK')
  scene.network.set('worker', 'client', bytes_per_s=0)
  expect_code(other.run('own'), 'OK')
  result = scene.client.end(waiting)
  expect_code(result, 'OK')
  expect(abs(result['value'] - LARGE_SUM) < 5000, result)
  other.kill()


# ---- Networks that say nothing -------------------------------------------------------------------
def blackhole(scene):
  """The ps is cut off while a step waits for it, and a step begins without it."""
  waiting = scene.client.begin('run', step='wait')
  expect_code(scene.client.run('count'), 'OK')
  scene.network.cut('ps')
  expect_code(scene.client.end(waiting), 'UNAVAILABLE', says='/job:ps/replica:0/task:0')
  expect_code(scene.client.run('count'), 'UNAVAILABLE', says='/job:ps/replica:0/task:0')
  expect_code(scene.client.run('own'), 'OK')
  scene.network.heal()
  scene.old_session_works()


def half_open(scene):
  """What the ps says does not arrive; it still hears all."""
  waiting = scene.client.begin('run', step='wait')
  expect_code(scene.client.run('count'), 'OK')
  scene.network.set(source='ps', is_open=False)
  expect_code(scene.client.end(waiting), 'UNAVAILABLE', says='/job:ps/replica:0/task:0')
  scene.network.heal()
  scene.old_session_works()


def restart_behind_a_blackhole(scene):
  """The ps dies and comes back without the master's seeing it; its old connections lead nowhere."""
  waiting = scene.client.begin('run', step='wait')
  expect_code(scene.client.run('count'), 'OK')
  scene.network.cut('ps')
  scene.cluster.processes['ps'].kill()
  scene.cluster.start('ps')
  scene.network.heal()
  expect_code(scene.client.end(waiting), 'UNAVAILABLE', 'ABORTED')
  expect_code(scene.client.run('count'), 'UNAVAILABLE', 'ABORTED')
  scene.works_again()


def master_is_cut_off(scene):
  """A step of a client with a deadline ends by it; one without by the keepalive of gRPC."""
  waiting = scene.client.begin('run', step='wait', timeout_ms=0)
  timed = scene.client.begin('run', step='wait', timeout_ms=500)
  scene.network.cut('client')
  expect_code(scene.client.end(timed), 'DEADLINE_EXCEEDED')
  expect_code(scene.client.end(waiting), 'UNAVAILABLE')
  scene.network.heal()
  scene.works_again()


# ---- Peers that misbehave ------------------------------------------------------------------------
def frame(kind, flags, stream, payload):
  return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + \
      payload


def grpc_call(method, message, declared=None):
  """The bytes of an HTTP/2 connection with one call. |declared| is the message's length as its
  prefix tells it."""
  def header(name, value):
    return b'\0' + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
  headers = b''.join(header(*h) for h in (
      (':method', 'POST'), (':scheme', 'http'), (':path', method), (':authority', 'x'),
      ('te', 'trailers'), ('content-type', 'application/grpc')))
  length = len(message) if declared is None else declared
  return (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0, b'') + frame(1, 4, 1, headers) +
          frame(0, 1, 1, b'\0' + struct.pack('>I', length) + message))


def connect(scene, job):
  with scene.network.hosts['client'].inside():
    return socket.create_connection((scene.network.hosts[job].address, processes.PORT),
                                    processes.HANG_SECONDS)


def garbage(scene):
  """Bytes that are no HTTP/2, calls whose messages do not parse, and all of them cut short."""
  methods = ['/tensorflow.MasterService/' + m for m in ('CreateSession', 'RunStep')]
  methods += ['/tensorflow.WorkerService/' + m
              for m in ('GetStatus', 'RegisterGraph', 'RunGraph', 'RecvTensor', 'CleanupGraph')]
  texts = [scene.random.randbytes(n) for n in (1, 9, 300, 70000)]
  for method in methods + ['/nobody/serves']:
    message = scene.random.randbytes(40)
    texts += [grpc_call(method, message), grpc_call(method, message, 4000),
              grpc_call(method, message, 0xffffffff), grpc_call(method, b'')]
  for text in texts:
    for end in (len(text), scene.random.randrange(len(text))):
      for job in processes.JOBS:
        with connect(scene, job) as connection:
          connection.sendall(text[:end])
  scene.old_session_works()


def other_versions(scene):
  """A client of another version: its graph wants consumers that are newer than this one."""
  # CreateSessionRequest{graph_def{versions{producer: 2000, min_consumer: 99999}}}
  versions = b'\x08\xd0\x0f\x10\x9f\x8d\x06'
  graph = b'\x22' + bytes([len(versions)]) + versions
  request = b'\x0a' + bytes([len(graph)]) + graph
  worker = scene.cluster.processes['worker']
  seen = len(worker.lines)
  with connect(scene, 'worker') as connection:
    connection.sendall(grpc_call('/tensorflow.MasterService/CreateSession', request))
    line = worker.wait_for(lambda line: line.get('event') == 'session_refused', after=seen)
  expect('min consumer' in line['message'].lower().replace('_', ' '), line)
  scene.old_session_works()


def many_connections(scene):
  """Connections that say nothing, as many as the limits allow; they leave nothing behind."""
  limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
  count = min(scene.arguments.connections, limit - 1000)
  worker = scene.cluster.processes['worker']
  before = worker.usage()
  connections = [connect(scene, 'worker') for _ in range(count)]
  scene.works_again()
  for connection in connections:
    connection.close()
  until(lambda: worker.usage()[0] <= before[0] + 8, lambda: (before, worker.usage()))
  scene.old_session_works()
  return '%d connections' % count


def a_client_never_reads(scene):
  """A client asks for much and is stopped; others are served, and when it is gone, all of it is."""
  mute = scene.cluster.client()
  expect_code(mute.do('open'), 'OK')
  for _ in range(4):
    mute.begin('run', step='large')
  mute.process.signal(signal.SIGSTOP)
  for _ in range(3):
    expect_code(scene.client.run('own'), 'OK')
    expect_code(scene.client.run('sum'), 'OK')
  mute.kill()
  until(lambda: scene.cluster.figures('worker')['leat_rendezvous_steps'] == 0,
        lambda: scene.cluster.figures('worker'))
  scene.old_session_works()


def until(is_so, describe):
  """Waits for something that comes in time of its own."""
  deadline = time.monotonic() + processes.HANG_SECONDS
  while not is_so():
    if time.monotonic() > deadline:
      raise Hang(describe())
    time.sleep(0.05)


def sessions_leave_nothing(scene):
  """Many sessions, one after the other; no file, thread or session stays."""
  cycle = 10
  rounds = max(2, scene.arguments.cycles // cycle)
  sizes = []
  for number in range(rounds):
    for i in range(cycle):
      expect_code(scene.client.do('open', session='c'), 'OK')
      expect_code(scene.client.run('sum', session='c'), 'OK')
      expect_code(scene.client.do('close', session='c'), 'OK')
    if number == rounds // 2:
      sizes = [scene.cluster.processes[job].usage() for job in processes.JOBS]
  for job, size in zip(processes.JOBS, sizes):
    def is_flat():  # soon: gRPC keeps threads for a while that it needed on a busy machine
      after = scene.cluster.processes[job].usage()
      return after[0] <= size[0] + 8 and after[1] <= size[1] + 4 and after[2] <= size[2] + 24
    until(is_flat, lambda: (job, size, scene.cluster.processes[job].usage()))
    figure = 'leat_worker_sessions' if job == 'ps' else 'leat_sessions'
    until(lambda: scene.cluster.figures(job)[figure] == 1,
          lambda: (figure, 'must be 1: that of the client'))
  return '%d sessions' % (rounds * cycle)


# ---- Trainings that are interrupted --------------------------------------------------------------
class Losses:
  """The losses that a training without faults has, from one in a single process."""

  def __init__(self, scene):
    self._process = scene.cluster.python('client', 'train.py', '', scene.new_folder(), MANY, '0')
    self._process.wait_for(lambda line: line.get('step') == 0)

  def check(self, lines):
    for line in lines:
      expect('step' in line, line)
      right = self._process.wait_for(lambda _: True, after=line['step'])
      expect(line == right, 'the loss is', line, 'must be', right)



def train(scene, folder, steps=MANY):
  return scene.cluster.python('client', 'train.py', scene.cluster.target, folder, steps, '5')


def kills(scene):
  """Each role in turn is killed at a random moment of a training, and started anew."""
  folder = scene.new_folder()
  losses = Losses(scene)
  training = train(scene, folder)
  for number in range(scene.arguments.kills):
    role = ('ps', 'worker', 'client')[number % 3]
    seen = len(training.lines)
    training.wait_for(lambda line: True, after=seen)
    time.sleep(scene.random.random() * 0.3)
    if role == 'client':
      training.kill()
      losses.check(training.lines)
      training = train(scene, folder)
    else:
      scene.cluster.processes[role].kill()
      time.sleep(scene.random.random() * 0.1)
      scene.cluster.start(role)
    expect(training.is_running(), number, role, training.lines[-1:])
  training.wait_for(lambda line: True, after=len(training.lines))
  training.kill()
  losses.check(training.lines)
  return '%d kills, up to step %d' % (scene.arguments.kills, training.lines[-1]['step'])


def full_disk(scene):
  """A checkpoint does not fit; the training says so, and the one before it is whole."""
  folder = scene.new_folder()
  subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], check=True)
  losses = Losses(scene)
  training = train(scene, folder)
  training.wait_for(lambda line: line.get('step') == 25)
  fill(os.path.join(folder, 'filler'))
  line = training.wait_for(lambda line: 'code' in line)
  expect(training.end() != 0 and 'space' in line['message'], line)
  losses.check(training.lines[:-1])
  os.remove(os.path.join(folder, 'filler'))
  again = train(scene, folder, '100')
  expect(again.end() == 0, again.lines[-1:])
  expect(again.lines[0]['step'] > 0 and again.lines[-1]['step'] == 99, again.lines[:1])
  losses.check(again.lines)
  subprocess.run(['umount', folder], check=True)
  return '%s at step %d, goes on from %d' % (line['code'], training.lines[-2]['step'],
                                             again.lines[0]['step'])


def fill(path):
  """Makes a file of all the room that there is."""
  with open(path, 'wb', buffering=0) as f, contextlib.suppress(OSError):
    while True:
      f.write(bytes(4096))


# ---- The table -----------------------------------------------------------------------------------
@dataclasses.dataclass
class Scenario:
  function: Callable
  fault: str
  right: str
  is_long: bool = False  # is left out of the short form


SCENARIOS = [
    Scenario(loss, '1 % of all packets are lost', 'OK; a variable changes once a step'),
    Scenario(delay, '200 ms there and back', 'OK'),
    Scenario(reordering, 'packets overtake each other', 'OK'),
    Scenario(slow_reader, '4 MB/s to a client that fetches 8 MB', 'OK; others are served'),
    Scenario(blackhole, 'nothing from or to the ps, no reset', 'UNAVAILABLE, names the task'),
    Scenario(half_open, 'nothing from the ps', 'UNAVAILABLE, names the task', True),
    Scenario(restart_behind_a_blackhole, 'the ps restarts unseen', 'UNAVAILABLE, ABORTED', True),
    Scenario(master_is_cut_off, 'nothing from or to the client',
             'DEADLINE_EXCEEDED; UNAVAILABLE', True),
    Scenario(garbage, 'garbage and truncated bytes on the ports', 'sessions go on'),
    Scenario(other_versions, 'a graph for newer versions', 'refused; sessions go on'),
    Scenario(many_connections, 'many idle connections', 'OK; all files are closed'),
    Scenario(a_client_never_reads, 'a client is stopped amid 32 MB', 'OK for others'),
    Scenario(sessions_leave_nothing, 'many sessions', 'OK; files, threads, memory as before'),
    Scenario(full_disk, 'a full disk at a checkpoint',
             'ResourceExhaustedError, OSError; the same losses'),
    Scenario(kills, 'kill -9 of each role', 'the same losses'),
]


def play(scenario, network, arguments, folder):
  """-> whether it went well; prints what became of it."""
  name = scenario.function.__name__
  begin = time.monotonic()
  cluster = None
  try:
    network.heal()
    cluster = Cluster(network, arguments.build)
    scene = Scene(cluster, cluster.client(), arguments,
                  random.Random('%d %s' % (arguments.seed, name)), folder)
    expect_code(scene.client.do('open'), 'OK')
    expect_code(scene.client.run('init'), 'OK')
    remark = scenario.function(scene)
  except (Wrong, Hang, OSError, subprocess.SubprocessError) as error:
    place = traceback.extract_tb(error.__traceback__)[-2:]
    print('%s: FAIL after %.1f s, %s: %s: %s\n  fault: %s; right: %s' % (
        name, time.monotonic() - begin, ' < '.join('line %d' % frame.lineno for frame in place),
        type(error).__name__, error, scenario.fault, scenario.right), flush=True)
    return False
  finally:
    if cluster:
      cluster.close()
  print('%s: ok, %.1f s%s' % (name, time.monotonic() - begin, ', ' + remark if remark else ''),
        flush=True)
  return True


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
  parser.add_argument('--only', default='')
  parser.add_argument('--kills', type=int)
  parser.add_argument('--cycles', type=int)
  parser.add_argument('--connections', type=int)
  parser.add_argument('--seed', type=int, default=1)
  parser.add_argument('--short', action='store_true')
  arguments = parser.parse_args()
  for name, few, many in (('kills', 6, 100), ('cycles', 20, 300), ('connections', 500, 10000)):
    if getattr(arguments, name) is None:
      setattr(arguments, name, few if arguments.short else many)
  arguments.build = os.path.abspath(arguments.build)
  reason = hosts.isolate()
  if reason:
    print('SKIP faults: this machine gives no network namespaces: ' + reason)
    return 0
  network = hosts.Network(('ps', 'worker', 'client'), arguments.seed)
  chosen = [s for s in SCENARIOS if re.search(arguments.only, s.function.__name__) and
            not (s.is_long and arguments.short)]
  folder = tempfile.mkdtemp(prefix='leat-faults-')
  try:
    failed = [s for s in chosen if not play(s, network, arguments, folder)]
  finally:
    shutil.rmtree(folder, ignore_errors=True)
  print('faults: %d passed, %d failed' % (len(chosen) - len(failed), len(failed)))
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
