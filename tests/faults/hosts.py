"""Hosts that are joined by a network with faults, all within this machine.

A host is a network namespace whose only way out is a TUN device. A thread of this process, the
switch, reads the packets that leave the hosts and brings each to its destination, as the rule of
that way says: late, never, in another order, at a limited rate. Linux's netem does the same, but
many kernels lack it, and here a seed decides which packets are lost.

isolate() first moves the whole program into namespaces of its own: for processes, so that all that
it started end with it, for mounts and for networks, so that nothing of it is seen outside.
"""
import contextlib
import ctypes
import dataclasses
import fcntl
import heapq
import itertools
import os
import random
import selectors
import struct
import subprocess
import sys
import threading
import time

_INSIDE = 'LEAT_FAULTS_INSIDE'  # set in the environment of the program that isolate() started
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454ca, 0x0001, 0x1000
_MTU = 9000
_ADDRESS = '10.77.0.%d'
_LARGEST_PACKET = 65536


def is_isolated():
  return bool(os.environ.get(_INSIDE))


def isolate():
  """Starts the program once more in namespaces of its own. Returns in that one, with None; where
  the machine allows no namespaces, returns the reason."""
  if is_isolated():
    # The names of network namespaces are files of /run. Processes on a host have mounts of their
    # own, which follow these.
    subprocess.run(['mount', '--make-rshared', '/'], check=True)
    subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', '/run'], check=True)
    return None
  unshare = ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  if os.geteuid() != 0:
    unshare += ['--user', '--map-root-user']
  attempt = 'mount -t tmpfs tmpfs /run && ip netns add a && ip -n a tuntap add dev t mode tun'
  try:
    tried = subprocess.run([*unshare, 'sh', '-c', attempt], capture_output=True, text=True,
                           check=False)
  except FileNotFoundError as error:
    return str(error)
  if tried.returncode != 0:
    return tried.stderr.strip().splitlines()[-1] if tried.stderr.strip() else 'unshare failed'
  os.environ[_INSIDE] = '1'
  os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])


@contextlib.contextmanager
def _network_of(path):
  """The calling thread is in the network namespace |path| within the block."""
  libc = ctypes.CDLL(None, use_errno=True)

  def enter(fd):
    if libc.setns(fd, _CLONE_NEWNET):
      raise OSError(ctypes.get_errno(), 'setns')

  with open('/proc/thread-self/ns/net') as before, open(path) as there:
    enter(there.fileno())
    try:
      yield
    finally:
      enter(before.fileno())


@dataclasses.dataclass
class Way:
  """What happens to packets from one host to another."""
  is_open: bool = True
  loss: float = 0.0          # the chance that one is lost
  delay_s: float = 0.0
  jitter_s: float = 0.0      # up to so much more, drawn for each: they overtake each other
  bytes_per_s: float = 0.0   # 0: as fast as may be
  free_at: float = 0.0       # of a limited rate: when what was sent before has passed


class Host:

  def __init__(self, name, number):
    self.name, self.number = name, number
    self.address = _ADDRESS % number
    subprocess.run(['ip', 'netns', 'add', name], check=True)
    with self.inside():
      self.fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
      fcntl.ioctl(self.fd, _TUNSETIFF, struct.pack('16sH', b'tun0', _IFF_TUN | _IFF_NO_PI))
    for command in ('link set lo up', 'addr add %s/24 dev tun0' % self.address,
                    'link set tun0 mtu %d up' % _MTU):
      subprocess.run(['ip', '-n', name, *command.split()], check=True)

  def inside(self):
    """Sockets that are made in the block of `with host.inside():` belong to the host."""
    return _network_of('/run/netns/' + self.name)

  def start(self, command, **how):
    """Starts a process on the host; `how` is Popen's."""
    return subprocess.Popen(['ip', 'netns', 'exec', self.name, *command], **how)


class Network:
  """The switch and the hosts that it joins."""

  def __init__(self, names, seed):
    self.hosts = {name: Host(name, i + 1) for i, name in enumerate(names)}
    self._random = random.Random(seed)
    self._ways = {}
    self._queue = []  # (when due, number, destination, packet)
    self._numbers = itertools.count()
    self.heal()
    threading.Thread(target=self._switch, daemon=True).start()

  def heal(self):
    """All ways are as at the beginning. What is on its way still comes late."""
    self._ways = {(a, b): Way() for a in self.hosts for b in self.hosts if a != b}

  def set(self, source=None, destination=None, **rule):
    """Sets fields of the ways from |source| to |destination|; None stands for all hosts."""
    for (a, b), way in self._ways.items():
      if source in (None, a) and destination in (None, b):
        for field, value in rule.items():
          setattr(way, field, value)

  def cut(self, host):
    """Nothing comes to the host or from it any more, and nobody is told."""
    self.set(source=host, is_open=False)
    self.set(destination=host, is_open=False)

  def _take(self, source, packet, by_number):
    if packet[0] >> 4 != 4:  # IPv6's own talk
      return
    destination = by_number.get(packet[19])
    way = self._ways.get((source, destination and destination.name))
    if not way or not way.is_open or self._random.random() < way.loss:
      return
    now = time.monotonic()
    due = now + way.delay_s + self._random.random() * way.jitter_s
    if way.bytes_per_s:
      way.free_at = max(way.free_at, now) + len(packet) / way.bytes_per_s
      due += way.free_at - now
    if due <= now:
      self._put(destination.fd, packet)
    else:
      heapq.heappush(self._queue, (due, next(self._numbers), destination.fd, packet))

  @staticmethod
  def _put(fd, packet):
    with contextlib.suppress(OSError):  # a full device loses packets as a real one does
      os.write(fd, packet)

  def _switch(self):
    by_number = {host.number: host for host in self.hosts.values()}
    selector = selectors.DefaultSelector()
    for host in self.hosts.values():
      selector.register(host.fd, selectors.EVENT_READ, host.name)
    while True:
      wait = max(0.0, self._queue[0][0] - time.monotonic()) if self._queue else None
      for key, _ in selector.select(wait):
        with contextlib.suppress(BlockingIOError):
          for _ in range(64):
            self._take(key.data, os.read(key.fd, _LARGEST_PACKET), by_number)
      while self._queue and self._queue[0][0] <= time.monotonic():
        _, _, fd, packet = heapq.heappop(self._queue)
        self._put(fd, packet)
