"""The board in a notebook: `leat board` as a process of its own, and a frame that shows it.

The process ends with this one. The frame's pages come from the process itself, at a port of this
machine, so the browser must run on this machine or reach its ports; for a notebook behind a proxy
`path_prefix` says where the proxy has the port.
"""
from __future__ import annotations

import atexit
import json
import os
import subprocess
from html import escape

from leat import _tool
from leat._export import export

_boards = {}  # by what they were started with: those that run


class Board:
  """A board that runs: `url` is its address. A notebook shows it in a frame."""

  def __init__(self, process, url, frame_url, height):
    self.url = url
    self._process = process
    self._frame_url = frame_url
    self._height = height

  def _repr_html_(self):
    return ('<iframe src="%s" title="Leat board" width="100%%" height="%d" '
            'style="border: 1px solid gray"></iframe>' % (escape(self._frame_url), self._height))

  def __repr__(self):
    return 'Board(%r)' % self.url

  def close(self):
    """Ends the board. A second call does nothing."""
    self._process.terminate()
    self._process.wait()
    self._process.stdout.close()


def _close_all():
  for board in _boards.values():
    board.close()
  _boards.clear()


@export('board.show')
def show(logdir, height=800, port=0, path_prefix=''):
  """Shows the logs of training runs in a notebook, as `leat board` does in a browser.

  As the last line of a cell it draws the board below the cell. A second call with the same logs
  shows the board that runs already.

  Args:
    logdir: A directory; event files lie in it and in the directories below, each a run.
    height: Of the frame, in pixels.
    port: Where the board listens on this machine; 0 takes any that is free.
    path_prefix: What all addresses of the board begin with. Behind a proxy it is the path of the
      proxy that leads to `port`, such as '/proxy/absolute/6006'.

  Returns:
    A `Board` with `url` and `close()`.

  Raises:
    ValueError: where `path_prefix` does not begin with '/'.
    RuntimeError: where the board could not begin; the message says why.
  """
  if path_prefix and not path_prefix.startswith('/'):
    raise ValueError("path_prefix is %r, must begin with '/'" % path_prefix)
  logdir = os.path.abspath(os.fspath(logdir))
  key = logdir, port, path_prefix
  running = _boards.get(key)
  if running is None or running._process.poll() is not None:
    running = _boards[key] = _start(logdir, height, port, path_prefix)
  running._height = height
  return running


def _start(logdir, height, port, path_prefix):
  command = [_tool.path(), 'board', '--logdir', logdir, '--port', str(port), '--json', '--notebook']
  if path_prefix:
    command += ['--path_prefix', path_prefix]
  # A session of its own: an interrupt of the notebook is not one of the board.
  process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
  line = process.stdout.readline()
  if not line:
    _, complaint = process.communicate()
    raise RuntimeError('The board could not begin: ' + complaint.decode(errors='replace').strip())
  process.stderr.close()
  if not _boards:
    atexit.register(_close_all)
  url = json.loads(line)['url']
  return Board(process, url, path_prefix.rstrip('/') + '/' if path_prefix else url, height)
