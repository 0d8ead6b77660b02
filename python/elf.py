"""What the dynamic section of an ELF file says: the libraries that it needs, the versions of their
symbols, where it looks for them. For 64-bit little-endian files, as all machines of the package
have.
"""
import struct

NEEDED, STRTAB, SONAME, RPATH, RUNPATH = 1, 5, 14, 15, 29
VERNEED, VERNEEDNUM = 0x6ffffffe, 0x6fffffff
LOAD, DYNAMIC = 1, 2
MACHINES = {62: 'x86_64', 183: 'aarch64', 243: 'riscv64', 21: 'ppc64le'}


def is_elf(data):
  return data[:6] == b'\x7fELF\x02\x01'


class Elf:
  """needed: list of names; versions: {library: {symbol version}}; rpath: text, '' without one."""

  def __init__(self, data):
    self.data = bytearray(data)
    self.machine = MACHINES.get(struct.unpack_from('<H', data, 18)[0])
    offset, = struct.unpack_from('<Q', data, 32)
    size, count = struct.unpack_from('<HH', data, 54)
    self._loaded, self._entries = [], []  # (address, file offset, bytes), (file offset, tag, value)
    for n in range(count):
      kind, _, at, address, _, length = struct.unpack_from('<IIQQQQ', data, offset + n * size)
      if kind == LOAD:
        self._loaded.append((address, at, length))
      elif kind == DYNAMIC:
        self._read_entries(at, length)
    strings = self._values(STRTAB)
    self._strings = self._offset(strings[0]) if strings else 0
    self.needed = [self._text(v) for v in self._values(NEEDED)]
    self.soname = ''.join(self._text(v) for v in self._values(SONAME))
    self.rpath = ''.join(self._text(v) for v in self._values(RUNPATH) or self._values(RPATH))
    self.versions = self._read_versions()

  def _read_entries(self, at, length):
    for place in range(at, at + length, 16):
      tag, value = struct.unpack_from('<QQ', self.data, place)
      if tag == 0:
        return
      self._entries.append((place, tag, value))

  def _values(self, tag):
    return [value for _, t, value in self._entries if t == tag]

  def _offset(self, address):
    return next(at + address - start for start, at, length in self._loaded
                if start <= address < start + length)

  def _text(self, index):
    start = self._strings + index
    return self.data[start:self.data.index(0, start)].decode()

  def _read_versions(self):
    found = {}
    if not self._values(VERNEED):
      return found
    at = self._offset(self._values(VERNEED)[0])
    for _ in range(self._values(VERNEEDNUM)[0]):
      _, count, file, inner, following = struct.unpack_from('<HHIII', self.data, at)
      names = found.setdefault(self._text(file), set())
      place = at + inner
      for _ in range(count):
        _, _, _, name, step = struct.unpack_from('<IHHII', self.data, place)
        names.add(self._text(name))
        place += step
      at += following
    return found

  def set_rpath(self, text, for_all=False):
    """Puts `text` in the place of the path, which must be as long at least. With `for_all` it is
    searched for the libraries of libraries too (RPATH instead of RUNPATH)."""
    if text == self.rpath and not for_all:
      return
    place, _, value = next(e for e in self._entries if e[1] in (RPATH, RUNPATH))
    if len(text) > len(self.rpath):
      raise ValueError('no room for the path %s in %d bytes' % (text, len(self.rpath)))
    start = self._strings + value
    self.data[start:start + len(self.rpath)] = text.encode().ljust(len(self.rpath), b'\0')
    struct.pack_into('<Q', self.data, place, RPATH if for_all else RUNPATH)
    self.rpath = text
