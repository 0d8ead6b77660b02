"""Files and folders wherever a path leads: the operating system's by Python, and those behind a
scheme, "gs://bucket/name", by the file system that a plug-in registered for it with the library.
The functions have the names and the errors of `os`, `os.path`, `shutil`, `glob` and `open`."""
from __future__ import annotations

import errno
import glob as local_glob
import io
import os
import re
import shutil

from leat import _leat

_REMOTE = re.compile(r'(?!file:)[A-Za-z][A-Za-z0-9.]+://')
_NOT_FOUND, _ALREADY_EXISTS, _PERMISSION_DENIED = 5, 6, 7
_ERRNO = {_NOT_FOUND: errno.ENOENT, _ALREADY_EXISTS: errno.EEXIST,
          _PERMISSION_DENIED: errno.EACCES}
_BUFFER = 1 << 20   # what is asked of a distant file at once


def is_remote(path):
  """Whether a plug-in's file system has the path."""
  return isinstance(path, str) and _REMOTE.match(path) is not None


def _call(path, function, *arguments):
  """Calls the library; its error becomes the OSError of its kind, and stays that one's cause."""
  try:
    return function(*arguments)
  except _leat.StatusError as error:
    code, text = error.args
    raise OSError(_ERRNO.get(code, errno.EIO), text, path) from error


def _ask(function, path, *arguments):
  """Calls a function of the library that takes a path first."""
  return _call(path, function, path, *arguments)


# ---- Files -------------------------------------------------------------------------------------
class _Reading(io.RawIOBase):
  """A file that the library reads."""

  def __init__(self, path):
    super().__init__()
    self._path, self._place = path, 0
    self._file = _ask(_leat.ReadableFile, path)

  def readable(self):
    return True

  def seekable(self):
    return True

  def tell(self):
    return self._place

  def seek(self, offset, whence=io.SEEK_SET):
    start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place}
    self._place = offset + (start[whence] if whence in start else getsize(self._path))
    return self._place

  def readinto(self, buffer):
    count = _call(self._path, self._file.read_into, self._place, buffer)
    self._place += count
    return count


class _Writing(io.RawIOBase):
  """A file that the library writes, from its beginning or behind what it holds."""

  def __init__(self, path, appends):
    super().__init__()
    self._path = path
    self._place = (_stat(path) or (0,))[0] if appends else 0
    self._file = _ask(_leat.WritableFile, path, appends)

  def writable(self):
    return True

  def tell(self):
    return self._place

  def write(self, data):
    _call(self._path, self._file.write, data)
    self._place += len(data)
    return len(data)

  def show(self):
    """Makes what was written visible. Not flush(), which closing calls too: some file systems send
    the whole file for it."""
    _call(self._path, self._file.flush)

  def close(self):
    if not self.closed:
      super().close()
      _call(self._path, self._file.close)


def open_bytes(path, mode):
  """The stream of a file: 'rb', 'wb' or 'ab'."""
  if not is_remote(path):
    return open(path, mode)
  if mode == 'rb':
    return io.BufferedReader(_Reading(path), _BUFFER)
  return io.BufferedWriter(_Writing(path, mode == 'ab'), _BUFFER)


def flush(stream):
  """Lets readers of the file see what was written to the stream."""
  stream.flush()
  if isinstance(stream.raw, _Writing):
    stream.raw.show()


def read(path):
  """All bytes of a file."""
  with open_bytes(path, 'rb') as f:
    return f.read()


# ---- What a path leads to ----------------------------------------------------------------------
def _stat(path):
  """stat() of a path behind a scheme; None where nothing can be seen."""
  try:
    return _ask(_leat.file_stat, path)
  except OSError:
    return None


def exists(path):
  return _stat(path) is not None if is_remote(path) else os.path.exists(path)


def isdir(path):
  return bool((_stat(path) or (0, 0, False))[2]) if is_remote(path) else os.path.isdir(path)


def isfile(path):
  return not (_stat(path) or (0, 0, True))[2] if is_remote(path) else os.path.isfile(path)


def getsize(path):
  return _ask(_leat.file_stat, path)[0] if is_remote(path) else os.path.getsize(path)


def stat(path):
  """(size, time of change in ns, whether it is a folder)"""
  if is_remote(path):
    return _ask(_leat.file_stat, path)
  found = os.stat(path)
  return found.st_size, found.st_mtime_ns, os.path.isdir(path)


def getmtime_ns(path):
  return stat(path)[1]


def abspath(path):
  return path if is_remote(path) else os.path.abspath(path)


# ---- Folders -----------------------------------------------------------------------------------
def listdir(path):
  """The names in a folder; some file systems give those of folders a slash, which is cut off."""
  if not is_remote(path):
    return os.listdir(path)
  return [name.rstrip('/') for name in _ask(_leat.file_list, path)]


def mkdir(path):
  if is_remote(path):
    _ask(_leat.file_make_directory, path)
  else:
    os.mkdir(path)


def makedirs(path, exist_ok=False):
  if not is_remote(path):
    return os.makedirs(path, exist_ok=exist_ok)
  if isdir(path):
    if exist_ok:
      return
    raise FileExistsError(errno.EEXIST, 'File exists', path)
  above = path.rstrip('/').rpartition('/')[0]
  if is_remote(above + '/') and not above.endswith('/'):  # "gs://bucket" has none
    makedirs(above, exist_ok=True)
  try:
    mkdir(path)
  except FileExistsError:
    if not isdir(path):
      raise


def walk(top, topdown=True, onerror=None):
  if not is_remote(top):
    yield from os.walk(top, topdown=topdown, onerror=onerror)
    return
  try:
    names = listdir(top)
  except OSError as error:
    if onerror is not None:
      onerror(error)
    return
  is_folder = {name: isdir(os.path.join(top, name)) for name in names}
  folders = [name for name in names if is_folder[name]]
  here = top, folders, [name for name in names if not is_folder[name]]
  if topdown:
    yield here
  for name in folders:
    yield from walk(os.path.join(top, name), topdown, onerror)
  if not topdown:
    yield here


def glob(pattern):
  """The paths that match, in no order."""
  return _ask(_leat.file_match, pattern) if is_remote(pattern) else local_glob.glob(pattern)


# ---- Changes -----------------------------------------------------------------------------------
def remove(path):
  if is_remote(path):
    _ask(_leat.file_remove, path)
  else:
    os.remove(path)


def rmtree(path):
  if is_remote(path):
    _ask(_leat.file_remove_tree, path)
  else:
    shutil.rmtree(path)


def replace(source, target):
  """Gives a file or folder a name; what has it goes."""
  if is_remote(source) or is_remote(target):
    _ask(_leat.file_rename, source, target)
  else:
    os.replace(source, target)


def copyfile(source, target):
  if not is_remote(source) and not is_remote(target):
    shutil.copyfile(source, target)
    return
  with open_bytes(source, 'rb') as f, open_bytes(target, 'wb') as g:
    shutil.copyfileobj(f, g, _BUFFER)
