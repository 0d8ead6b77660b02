"""Ports for servers of a test that start later, in other processes, or more than once.

The system gives a port that it found for port 0 to others as soon as the socket is closed, so two
tests that run side by side could get the same one. The ports here lie below those that the system
gives away by itself, and each is kept by a lock that ends with this process: a Unix socket of the
abstract namespace, named after the port. tests/cluster/rpc_scene.c and tools/free_port.c take the
same locks.
"""
import random
import socket

FIRST, LAST = 10000, 29999   # from 30000 on lie Kubernetes' node ports, and then the system's own
_locks = []


def _lock(port):
  lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
  try:
    lock.bind('\0leat-port-%d' % port)
    with socket.socket() as tried:
      tried.bind(('', port))
  except OSError:
    lock.close()
    return False
  _locks.append(lock)
  return True


def free_ports(count):
  """|count| ports that nobody else gets as long as this process lives."""
  ports = []
  for port in random.SystemRandom().sample(range(FIRST, LAST + 1), LAST + 1 - FIRST):
    if len(ports) < count and _lock(port):
      ports.append(port)
  if len(ports) < count:
    raise OSError('of %d ports only %d are free' % (count, len(ports)))
  return ports


def free_port():
  return free_ports(1)[0]
