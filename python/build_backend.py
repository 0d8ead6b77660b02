"""Builds the Python package's wheel and source archive: a PEP 517 backend without requirements.

    python3 python/build_backend.py wheel FOLDER [BUILD]     a wheel for other machines too
    python3 python/build_backend.py sdist FOLDER

The work is CMake's: the wheel is what lies in build/python, with the library, its modules and the
tool, stripped, in a zip of Python's own zipfile. Equal trees give equal files: names are sorted,
times are fixed, and no file knows in which folder it was built.

`pip install .` builds a wheel for this machine, which uses its libraries. The command above brings
the libraries that the tool needs and other machines may lack (an HTTP server for `leat board`), and
gives the wheel the tag of the oldest system that has the rest (wheel_tag.py).
"""
import base64
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import elf
import wheel_tag

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
EPOCH = (1980, 1, 1, 0, 0, 0)


def version():
  with open(os.path.join(ROOT, 'CMakeLists.txt'), encoding='utf-8') as f:
    return re.search(r'project\(Leat VERSION ([\d.]+)', f.read()).group(1)



# ---- What a wheel has in it ---------------------------------------------------------------------


def compiled(build):
  """Runs CMake and its builder for the package; `build` may be there already."""
  if not os.path.exists(os.path.join(build, 'CMakeCache.txt')):
    ninja = ['-G', 'Ninja'] if shutil.which('ninja') else []
    subprocess.check_call(['cmake', *ninja, '-S', ROOT, '-B', build,
                           '-DPython3_EXECUTABLE=' + sys.executable])
  subprocess.check_call(['cmake', '--build', build, '--parallel', str(os.cpu_count() or 2),
                         '--target', 'all'])
  if not os.path.exists(os.path.join(build, 'python/leat/_leat.abi3.so')):
    raise SystemExit('leat: the package was not built; is Python.h there?')


def package_files(build):
  """{name in the wheel: path}."""
  root = os.path.join(build, 'python')
  found = {}
  for package, endings in (('leat', ('.py', '.typed', '.so')), ('leat-stubs', ('.pyi',))):
    for folder, folders, files in os.walk(os.path.join(root, package)):
      folders[:] = [f for f in folders if f != '__pycache__']
      for name in files:
        if name.endswith(endings):
          path = os.path.join(folder, name)
          found[os.path.relpath(path, root)] = path
  for name in sorted(os.listdir(os.path.join(build, 'lib'))):
    if name == 'libleat.so.' + version().partition('.')[0] or \
        re.match(r'leat_module_\w+\.so$', name):
      found['leat/lib/' + name] = os.path.join(build, 'lib', name)
  found['leat/bin/leat'] = os.path.join(build, 'bin/leat')
  return found


def brought(tool):
  """{name in the wheel: path} of the libraries that the tool and they themselves need, and that are
  not on every system; with what their packages say of their licences."""
  said = subprocess.run(['ldd', tool], capture_output=True, text=True, check=True).stdout
  found = {}
  for name, path in re.findall(r'^\s*(\S+) => (/\S+)', said, re.MULTILINE):
    if name in wheel_tag.ALLOWED or name.startswith('libleat.so'):
      continue
    found['leat/lib/' + name] = path
    package = subprocess.run(['dpkg-query', '-S', os.path.realpath(path)], capture_output=True,
                             text=True, check=False).stdout.partition(':')[0]
    notice = '/usr/share/doc/%s/copyright' % package
    if package and os.path.exists(notice):
      found['leat/lib/licenses/' + package] = notice
  return found


# Where programs and libraries look for others, in a wheel.
PATHS = {'leat/_leat.abi3.so': '$ORIGIN/lib', 'leat/bin/leat': '$ORIGIN/../lib'}


def content(name, path, scratch):
  """The bytes of a file; programs and libraries without their symbol tables."""
  with open(path, 'rb') as f:
    data = f.read()
  if not elf.is_elf(data):
    return data
  if shutil.which('strip'):
    copy = os.path.join(scratch, 'stripped')
    shutil.copyfile(os.path.realpath(path), copy)
    subprocess.check_call(['strip', '--strip-unneeded', copy])
    with open(copy, 'rb') as f:
      data = f.read()
  file = elf.Elf(data)
  if name in PATHS:
    file.set_rpath(PATHS[name], for_all=name == 'leat/bin/leat')
  return bytes(file.data)


def metadata():
  return ('Metadata-Version: 2.1\nName: leat\nVersion: %s\n'
          "Summary: TensorFlow 1's Python API over the graph runtime in C\n"
          'License: Apache-2.0\nRequires-Python: >=3.11\n' % version())


def write_wheel(folder, build, portable):
  """The name of the wheel; `portable`: for other machines than this one too."""
  paths = package_files(build)
  if portable:
    paths.update(brought(paths['leat/bin/leat']))
  with tempfile.TemporaryDirectory() as scratch:
    files = {n: (content(n, p, scratch), n.startswith('leat/bin/')) for n, p in paths.items()}
  programs = [elf.Elf(data) for data, _ in files.values() if elf.is_elf(data)]
  platform = wheel_tag.platform_tag(programs) if portable else wheel_tag.host_tag()
  tag = 'cp311-abi3-' + platform
  name = 'leat-%s-%s.whl' % (version(), tag)
  info = 'leat-%s.dist-info/' % version()
  with open(os.path.join(ROOT, 'LICENSE'), 'rb') as f:
    files[info + 'LICENSE'] = f.read(), False
  files[info + 'METADATA'] = metadata().encode(), False
  files[info + 'WHEEL'] = ('Wheel-Version: 1.0\nGenerator: leat\nRoot-Is-Purelib: false\n'
                           'Tag: %s\n' % tag).encode(), False
  files[info + 'entry_points.txt'] = b'[console_scripts]\nleat = leat._tool:main\n', False
  record = []
  path = os.path.join(folder, name)
  with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
    for item in sorted(files):
      data, executable = files[item]
      digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
      record.append('%s,sha256=%s,%d' % (item, digest, len(data)))
      _add(wheel, item, data, executable)
    record.append(info + 'RECORD,,')
    _add(wheel, info + 'RECORD', ('\n'.join(record) + '\n').encode(), False)
  return name


def _add(wheel, name, data, executable):
  entry = zipfile.ZipInfo(name, EPOCH)
  entry.compress_type = zipfile.ZIP_DEFLATED
  mode = 0o755 if executable or name.endswith('.so') else 0o644
  entry.external_attr = (0o100000 | mode) << 16  # a plain file; pip keeps the bit of programs then
  wheel.writestr(entry, data)


# ---- PEP 517 ------------------------------------------------------------------------------------


def get_requires_for_build_wheel(config_settings=None):
  return []


def get_requires_for_build_sdist(config_settings=None):
  return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
  """What the wheel will say of itself; without it, installers build the wheel to find that out."""
  name = 'leat-%s.dist-info' % version()
  os.makedirs(os.path.join(metadata_directory, name), exist_ok=True)
  with open(os.path.join(metadata_directory, name, 'METADATA'), 'w', encoding='utf-8') as f:
    f.write(metadata())
  return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
  """Builds in the folder that the setting `build` names, else in a fresh one; the setting
  `portable` asks for a wheel for other machines too."""
  chosen = (config_settings or {}).get('build')
  portable = bool((config_settings or {}).get('portable'))
  if chosen:
    compiled(chosen)
    return write_wheel(wheel_directory, chosen, portable)
  with tempfile.TemporaryDirectory() as build:
    compiled(build)
    return write_wheel(wheel_directory, build, portable)


def source_files():
  """Names of the files of the tree: those that git knows, or all where there is no git."""
  if os.path.exists(os.path.join(ROOT, '.git')):
    said = subprocess.check_output(['git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others',
                                    '--exclude-standard'], text=True)
    return sorted(n for n in said.split('\0') if n and os.path.lexists(os.path.join(ROOT, n)))
  found = []
  for folder, folders, files in os.walk(ROOT):
    folders[:] = [f for f in folders if f != '__pycache__' and not (
        folder == ROOT and f.startswith(('build', '.venv')))]
    found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
  return sorted(set(found) - {'PKG-INFO'})


def build_sdist(sdist_directory, config_settings=None):
  """All files of the tree; equal trees give equal archives."""
  base = 'leat-' + version()
  path = os.path.join(sdist_directory, base + '.tar.gz')

  def plain(entry):
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ''
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry

  with open(path, 'wb') as raw, gzip.GzipFile('', 'wb', fileobj=raw, mtime=0) as packed, \
      tarfile.open(fileobj=packed, mode='w', format=tarfile.PAX_FORMAT) as archive:
    for name in source_files():
      archive.add(os.path.join(ROOT, name), base + '/' + name, recursive=False, filter=plain)
    entry = tarfile.TarInfo(base + '/PKG-INFO')
    entry.size = len(metadata().encode())
    archive.addfile(entry, io.BytesIO(metadata().encode()))
  return os.path.basename(path)


def main():
  command, folder, *build = sys.argv[1:]
  os.makedirs(folder, exist_ok=True)
  if command == 'sdist':
    print(os.path.join(folder, build_sdist(folder)))
    return 0
  if command != 'wheel':
    raise SystemExit(__doc__)
  settings = {'portable': '1', 'build': build[0] if build else None}
  path = os.path.join(folder, build_wheel(folder, settings))
  print(path)
  found = wheel_tag.problems(path)
  for line in found:
    print('%s: %s' % (path, line), file=sys.stderr)
  return 1 if found else 0


if __name__ == '__main__':
  sys.exit(main())
