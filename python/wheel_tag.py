"""The platform tag of a wheel, and whether a wheel keeps what its tag says.

A tag manylinux_2_X says that every file runs with glibc 2.X and with no other library of the system
than those of the list ALLOWED (PEP 600). X is the highest version that a file's symbols ask for.
The modules of the library are exceptions: each is loaded by the first op that needs it, and where
its foreign library is missing that op fails with an error, and nothing else does.

    python3 python/wheel_tag.py WHEEL     says what is wrong with it, and fails where something is
"""
import base64
import csv
import hashlib
import os
import platform
import re
import subprocess
import sys
import sysconfig
import zipfile

import elf

# Libraries that every system with glibc has; their symbols have versions.
ALLOWED = {'libc.so.6', 'libm.so.6', 'libdl.so.2', 'librt.so.1', 'libpthread.so.0', 'libutil.so.1',
           'libgcc_s.so.1', 'libz.so.1', 'ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'}
MUSL = re.compile(r'^(ld-musl-\w+\.so\.1|libc\.musl-\w+\.so\.1|libc\.so)$')
# Marks of glibc that are no number, and the version that brought them.
MARKS = {'GLIBC_ABI_DT_RELR': (2, 36), 'GLIBC_ABI_DT_X86_64_PLT': (2, 36)}
MODULE = re.compile(r'(^|/)leat_module_\w+\.so$')
MOST_BYTES = 10 << 20
PRIVATE = (99, 99)  # of symbols that no version promises


def needed_glibc(file):
  """The lowest version of glibc, as (2, X), that has all symbols of an Elf."""
  found = [(2, 5)]
  for library, versions in file.versions.items():
    for version in versions if library in ALLOWED else ():
      number = re.fullmatch(r'GLIBC_(\d+)\.(\d+)(\.\d+)?', version)
      if number:
        found.append((int(number.group(1)), int(number.group(2))))
      elif version.startswith('GLIBC_'):
        found.append(MARKS.get(version, PRIVATE))
  return max(found)


def foreign(file, names):
  """Libraries that an Elf needs and that are neither every system's nor in `names`."""
  return [n for n in file.needed if n not in ALLOWED and n not in names and not MUSL.match(n)]


def platform_tag(files):
  """The tag for these Elf files of the wheel: the oldest system that has what they need."""
  machine = platform.machine()
  if any(MUSL.match(n) for f in files for n in f.needed):
    return 'musllinux_%s_%s' % (musl_version(), machine)
  return 'manylinux_%d_%d_%s' % (*max(needed_glibc(f) for f in files), machine)


def musl_version():
  """'1_2', which musl's loader says when it is called without a program."""
  loader = '/lib/ld-musl-%s.so.1' % platform.machine()
  said = subprocess.run([loader], capture_output=True, text=True, check=False).stderr
  return '_'.join(re.search(r'Version (\d+)\.(\d+)', said).groups())


def host_tag():
  """The tag of a wheel for this machine alone."""
  return sysconfig.get_platform().replace('-', '_').replace('.', '_')


# ---- Checks -------------------------------------------------------------------------------------


def _check_file(name, file, names, tag):
  glibc = re.fullmatch(r'manylinux_(\d+)_(\d+)_(\w+)', tag)
  if file.rpath and any(p and not p.startswith('$ORIGIN') for p in file.rpath.split(':')):
    yield '%s searches %s, a folder of the machine that built it' % (name, file.rpath)
  if not tag.endswith('_' + (file.machine or '?')):
    yield '%s is for %s, the tag says %s' % (name, file.machine, tag)
  if not glibc:
    return
  needed = needed_glibc(file)
  if needed > (int(glibc.group(1)), int(glibc.group(2))):
    yield '%s needs glibc %d.%d, the tag says %s' % (name, *needed, tag)
  for library in foreign(file, names) if not MODULE.search(name) else ():
    yield '%s needs %s, which systems of %s may lack' % (name, library, tag)


def _check_record(wheel, info):
  rows = {row[0]: row[1:] for row in csv.reader(
      wheel.read(info + 'RECORD').decode().splitlines())}
  for name in sorted(set(wheel.namelist()) ^ set(rows)):
    yield '%s is not both in the archive and in RECORD' % name
  for name in set(wheel.namelist()) & set(rows) - {info + 'RECORD'}:
    data = wheel.read(name)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
    if rows[name] != ['sha256=' + digest, str(len(data))]:
      yield 'RECORD says %s of %s, it is %s,%d' % (','.join(rows[name]), name, digest, len(data))


def problems(path):
  """What is wrong with a wheel: a list of sentences."""
  name, version, _, _, tag = os.path.basename(path)[:-len('.whl')].split('-')
  info = '%s-%s.dist-info/' % (name, version)
  found = []
  with zipfile.ZipFile(path) as wheel:
    inside = wheel.namelist()
    found += _check_record(wheel, info)
    if 'Tag: cp311-abi3-%s\n' % tag not in wheel.read(info + 'WHEEL').decode():
      found.append('WHEEL has another tag than the name of the file')
    files = {n: elf.Elf(wheel.read(n)) for n in inside if elf.is_elf(wheel.read(n))}
    for wanted in ('leat/__init__.py', 'leat/_leat.abi3.so', 'leat/bin/leat', 'leat/py.typed',
                   'leat-stubs/__init__.pyi', info + 'METADATA', info + 'entry_points.txt'):
      if wanted not in inside:
        found.append('%s is missing' % wanted)
  names = {n.rpartition('/')[2] for n in files} | {f.soname for f in files.values()}
  for item, file in sorted(files.items()):
    found += _check_file(item, file, names, tag)
  if os.path.getsize(path) > MOST_BYTES:
    found.append('%d bytes, at most %d are wanted' % (os.path.getsize(path), MOST_BYTES))
  return found


def main():
  found = problems(sys.argv[1])
  for line in found:
    print('%s: %s' % (sys.argv[1], line), file=sys.stderr)
  return 1 if found else 0


if __name__ == '__main__':
  sys.exit(main())
