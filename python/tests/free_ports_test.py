"""The ports that tests give their servers: nobody else gets one."""
import os
import socket
import subprocess
import sys
import unittest
from unittest import mock

import free_ports

_OTHER = """
import free_ports
free_ports.FIRST, free_ports.LAST = map(int, input().split())
try:
  print(free_ports.free_port())
except OSError:
  print('none')
"""


class FreePortsTest(unittest.TestCase):

  def other(self, first, last):
    """What a process of its own gets of these ports."""
    path = os.path.dirname(os.path.abspath(free_ports.__file__))
    said = subprocess.run([sys.executable, '-c', _OTHER], input='%d %d' % (first, last), text=True,
                          env=dict(os.environ, PYTHONPATH=path), stdout=subprocess.PIPE, check=True)
    return said.stdout.strip()

  def test_another_process_gets_another_port(self):
    port = free_ports.free_port()
    self.assertEqual(self.other(port, port), 'none')
    ports = free_ports.free_ports(50)
    self.assertEqual(len({port, *ports}), 51)

  def test_a_port_with_a_server_is_not_free(self):
    with socket.create_server(('127.0.0.1', 0)) as server:
      port = server.getsockname()[1]
      with mock.patch.multiple(free_ports, FIRST=port, LAST=port), self.assertRaises(OSError):
        free_ports.free_port()

  def test_a_port_is_free_again_when_its_process_has_ended(self):
    port = int(self.other(9000, 9999))
    self.assertEqual(self.other(port, port), str(port))


if __name__ == '__main__':
  unittest.main()
