"""tf.gfile: files and folders, also those of plug-ins' file systems."""
from __future__ import annotations

import os

from leat import _leat
from leat._export import export
from leat._graph import errors
from leat._platform import paths


def local(path):
  """A path as a text, without the 'file://' and the host that it may begin with."""
  path = os.fspath(path)
  path = path.decode() if isinstance(path, bytes) else path
  if path.startswith('file://'):
    return '/' + path[len('file://'):].partition('/')[2]
  return path


class _translated:
  """OSError as the public error of its kind."""

  def __init__(self, path):
    self._path = path

  def __enter__(self):
    return self

  def __exit__(self, kind, value, traceback):
    if not isinstance(value, OSError):
      return False
    if isinstance(value.__cause__, _leat.StatusError):
      raise errors.of_status(value.__cause__) from None
    text = '%s; %s' % (self._path, value.strerror or value)
    if isinstance(value, FileNotFoundError):
      raise errors.NotFoundError(None, None, text) from None
    if isinstance(value, FileExistsError):
      raise errors.AlreadyExistsError(None, None, text) from None
    if isinstance(value, PermissionError):
      raise errors.PermissionDeniedError(None, None, text) from None
    raise errors.FailedPreconditionError(None, None, text) from None


_MODES = frozenset(kind + more for kind in 'rwa' for more in ('', '+', 'b', '+b', 'b+'))


@export('gfile.GFile', 'gfile.Open', 'gfile.FastGFile', 'io.gfile.GFile')
class GFile:
  """A file that is opened when it is first used. It is read from the beginning, whatever was
  written: reading and writing have streams of their own. Writing begins with an empty file, but for
  the modes with 'a'."""

  def __init__(self, name, mode='r'):
    self._name, self._mode = local(name), mode
    self._reader = self._writer = None
    if mode not in _MODES:
      raise errors.InvalidArgumentError(None, None, "mode is not 'r' or 'w' or 'a': %s" % mode)

  name = property(lambda self: self._name)
  mode = property(lambda self: self._mode)

  def _reads(self):
    return 'r' in self._mode or '+' in self._mode

  def _opened(self):
    """The stream that is read."""
    if not self._reads():
      raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
    if self._reader is None:
      with _translated(self._name):
        self._reader = paths.open_bytes(self._name, 'rb')
    return self._reader

  def _opened_for_writing(self):
    if self._mode.startswith('r') and '+' not in self._mode:
      raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
    if self._writer is None:
      with _translated(self._name):
        self._writer = paths.open_bytes(self._name, 'ab' if self._mode.startswith('a') else 'wb')
    return self._writer

  def _result(self, data):
    return data if 'b' in self._mode else data.decode('utf-8')

  def read(self, n=-1):
    """The next n bytes or letters, or all that is left."""
    return self._result(self._opened().read(n))

  def readline(self):
    """The next line with its end; empty at the file's end."""
    return self._result(self._opened().readline())

  def readlines(self):
    """All lines that are left, as a list."""
    return [self._result(line) for line in self._opened().readlines()]

  def write(self, file_content):
    """Appends text or bytes."""
    self._opened_for_writing().write(
        file_content.encode() if isinstance(file_content, str) else bytes(file_content))

  def seek(self, offset=None, whence=0, position=None):
    """Goes to a place in the file."""
    if offset is None and position is None:
      raise TypeError('seek(): offset argument required')
    if offset is not None and position is not None:
      raise TypeError('seek(): offset and position may not be set simultaneously.')
    if whence not in (0, 1, 2):
      raise errors.InvalidArgumentError(None, None, 'Invalid whence argument: %d. Valid values are '
                                        '0, 1, or 2.' % whence)
    offset, reader = position if offset is None else offset, self._opened()
    size = paths.getsize(self._name)
    target = offset + {0: 0, 1: reader.tell() if whence == 1 else 0, 2: size}[whence]
    if target < 0 or target > size:
      raise errors.InvalidArgumentError(None, None, 'offset is out of the file')
    reader.seek(target)

  def tell(self):
    """The place where reading goes on."""
    return (self._opened() if self._reads() else self._opened_for_writing()).tell()

  def size(self):
    """The size of the file in bytes."""
    with _translated(self._name):
      return paths.getsize(self._name)

  def flush(self):
    """Hands what was written to the operating system."""
    if self._writer is not None:
      paths.flush(self._writer)

  def seekable(self):
    """Whether seek() works: True."""
    return True

  def close(self):
    """Closes the file. Nothing happens where it is closed."""
    for stream in (self._reader, self._writer):
      if stream is not None:
        stream.close()
    self._reader = self._writer = None

  def __enter__(self):
    return self

  def __exit__(self, *unused):
    self.close()

  def __iter__(self):
    return self

  def __next__(self):
    line = self.readline()
    if not line:
      raise StopIteration
    return line

  next = __next__


@export('gfile.Exists', 'io.gfile.exists')
def Exists(filename):
  """Whether there is a file or a folder of that name."""
  return paths.exists(local(filename))


@export('gfile.IsDirectory', 'io.gfile.isdir')
def IsDirectory(dirname):
  """Whether there is a folder of that name."""
  return paths.isdir(local(dirname))


@export('gfile.ListDirectory', 'io.gfile.listdir')
def ListDirectory(dirname):
  """The names of what is in a folder, without the folder's, in no order. NotFoundError where there
  is none."""
  with _translated(dirname):
    if not paths.isdir(local(dirname)):
      raise FileNotFoundError(2, 'Could not find directory')
    return paths.listdir(local(dirname))


@export('gfile.MkDir', 'io.gfile.mkdir')
def MkDir(dirname):
  """Makes a folder, whose parent must be there. AlreadyExistsError where there is one."""
  with _translated(dirname):
    paths.mkdir(local(dirname))


@export('gfile.MakeDirs', 'io.gfile.makedirs')
def MakeDirs(dirname):
  """Makes a folder, and those above it that are missing; one that is there is no error."""
  with _translated(dirname):
    if paths.isfile(local(dirname)):
      raise NotADirectoryError(20, 'Not a directory')
    paths.makedirs(local(dirname), exist_ok=True)


@export('gfile.Remove', 'io.gfile.remove')
def Remove(filename):
  """Deletes a file. NotFoundError where there is none."""
  with _translated(filename):
    paths.remove(local(filename))


@export('gfile.DeleteRecursively', 'io.gfile.rmtree')
def DeleteRecursively(dirname):
  """Deletes a folder with all that is in it. NotFoundError where there is none."""
  with _translated(dirname):
    if paths.isdir(local(dirname)):
      paths.rmtree(local(dirname))
    else:
      paths.remove(local(dirname))


@export('gfile.Rename', 'io.gfile.rename')
def Rename(oldname, newname, overwrite=False):
  """Gives a file or folder another name. AlreadyExistsError where that is taken, unless
  `overwrite`."""
  with _translated(oldname):
    if paths.exists(local(newname)) and not overwrite:
      raise FileExistsError(17, 'file already exists')
    paths.replace(local(oldname), local(newname))


@export('gfile.Copy', 'io.gfile.copy')
def Copy(oldpath, newpath, overwrite=False):
  """Copies a file. AlreadyExistsError where the new name is taken, unless `overwrite`."""
  with _translated(oldpath):
    if paths.exists(local(newpath)) and not overwrite:
      raise FileExistsError(17, 'file already exists')
    paths.copyfile(local(oldpath), local(newpath))


@export('gfile.Glob', 'io.gfile.glob')
def Glob(filename):
  """The names of files that match a pattern with *, ? and [...], or each of a list of patterns,
  in no order."""
  names = [filename] if isinstance(filename, (str, bytes)) or hasattr(
      filename, '__fspath__') else filename
  return [n for name in names for n in paths.glob(local(name))]


@export('gfile.Walk')
def Walk(top, in_order=True):
  """Gives (folder, names of folders in it, names of files in it) for a folder and all below it; the
  upper ones first, or last where in_order is False."""
  yield from paths.walk(local(top), topdown=in_order)


@export('gfile.Stat', 'io.gfile.stat')
def Stat(filename):
  """length, mtime_nsec and is_directory of a file."""
  with _translated(filename):
    length, mtime_nsec, is_directory = paths.stat(local(filename))
  return type('FileStatistics', (), {
      'length': length, 'mtime_nsec': mtime_nsec, 'is_directory': is_directory})()


def replace(path, data):
  """Writes a file so that others see the old one or all of the new one. Several threads may do so
  at the same time: each writes a file of its own, which takes the name then."""
  import threading
  temporary = '%s.tmp%d_%d' % (path, os.getpid(), threading.get_ident())
  try:
    with paths.open_bytes(temporary, 'wb') as f:
      f.write(data)
    paths.replace(temporary, path)
  except BaseException:
    if paths.exists(temporary):
      paths.remove(temporary)
    raise


@export('io.gfile.walk')
def walk(top, topdown=True, onerror=None):
  """(folder, folders in it, files in it) of all folders below."""
  yield from paths.walk(local(top), topdown=topdown, onerror=onerror)


@export('python.lib.io.file_io.read_file_to_string')
def read_file_to_string(filename, binary_mode=False):
  """All of a file, as a text or as bytes."""
  with GFile(filename, 'rb' if binary_mode else 'r') as f:
    return f.read()


@export('python.lib.io.file_io.write_string_to_file')
def write_string_to_file(filename, file_content):
  """Makes the file hold this alone."""
  with GFile(filename, 'w') as f:
    f.write(file_content)
