"""The devices of this machine, without a session of the program's own."""
from __future__ import annotations

from leat._export import export
from leat._graph import graph as graphs
from leat._graph import message


@export('python.client.device_lib.list_local_devices')
def list_local_devices(session_config=None):
  """[DeviceAttributes message] of the devices that sessions of this process have, the CPU first."""
  from leat._session import session as sessions
  with sessions.Session(graph=graphs.Graph(), config=session_config) as session:
    devices = session.list_devices()
  make = message.of('DeviceAttributes')
  return [make(name='/device:' + d.name.rpartition('/device:')[2], device_type=d.device_type,
               memory_limit=d.memory_limit_bytes, incarnation=d.incarnation) for d in devices]
