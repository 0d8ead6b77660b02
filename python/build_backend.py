"""Builds the Python package's wheel and source archive: a PEP 517 backend without requirements.

    python3 python/build_backend.py wheel FOLDER [BUILD]

The work is CMake's: the wheel is what stands in build/python/leat, with the library, its modules
and the tool beside it, stripped, in a zip of Python's own zipfile. Equal trees give equal files:
names are sorted and times are fixed. In a source archive, which has pyproject.toml at its root, the
hooks find the tree above this file in the same way.
"""
import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
EPOCH = (1980, 1, 1, 0, 0, 0)


def version():
  with open(os.path.join(ROOT, 'CMakeLists.txt'), encoding='utf-8') as f:
    return re.search(r'project\(Leat VERSION ([\d.]+)', f.read()).group(1)


def tag():
  platform = sysconfig.get_platform().replace('-', '_').replace('.', '_')
  return 'cp311-abi3-' + platform


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
  package = os.path.join(build, 'python/leat')
  found = {}
  for folder, folders, files in os.walk(package):
    folders[:] = [f for f in folders if f != '__pycache__']
    for name in files:
      path = os.path.join(folder, name)
      if name.endswith(('.py', '.pyi', '.typed', '.so')):
        found['leat/' + os.path.relpath(path, package)] = path
  for name in sorted(os.listdir(os.path.join(build, 'lib'))):
    if name == 'libleat.so.' + version().partition('.')[0] or \
        re.match(r'leat_module_\w+\.so$', name):
      found['leat/lib/' + name] = os.path.join(build, 'lib', name)
  found['leat/bin/leat'] = os.path.join(build, 'bin/leat')
  return found


def content(path, scratch):
  """The bytes of a file; programs and libraries without their symbol tables."""
  with open(path, 'rb') as f:
    data = f.read()
  if data[:4] == b'\x7fELF' and shutil.which('strip'):
    copy = os.path.join(scratch, 'stripped')
    shutil.copyfile(os.path.realpath(path), copy)
    subprocess.check_call(['strip', '--strip-unneeded', copy])
    with open(copy, 'rb') as f:
      data = f.read()
  return data


def metadata():
  return ('Metadata-Version: 2.1\nName: leat\nVersion: %s\n'
          "Summary: TensorFlow 1's Python API over the graph runtime in C\n"
          'License: Apache-2.0\nRequires-Python: >=3.11\n' % version())


def write_wheel(folder, build):
  name = 'leat-%s-%s.whl' % (version(), tag())
  info = 'leat-%s.dist-info/' % version()
  with tempfile.TemporaryDirectory() as scratch:
    files = {n: (content(p, scratch), n.startswith('leat/bin/'))
             for n, p in package_files(build).items()}
  with open(os.path.join(ROOT, 'LICENSE'), 'rb') as f:
    files[info + 'LICENSE'] = f.read(), False
  files[info + 'METADATA'] = metadata().encode(), False
  files[info + 'WHEEL'] = ('Wheel-Version: 1.0\nGenerator: leat\nRoot-Is-Purelib: false\n'
                           'Tag: %s\n' % tag()).encode(), False
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
  """Builds in the folder that the setting `build` names, else in a fresh one."""
  chosen = (config_settings or {}).get('build')
  if chosen:
    compiled(chosen)
    return write_wheel(wheel_directory, chosen)
  with tempfile.TemporaryDirectory() as build:
    compiled(build)
    return write_wheel(wheel_directory, build)


def build_sdist(sdist_directory, config_settings=None):
  """All files of the tree, with pyproject.toml at its root."""
  base = 'leat-' + version()
  skipped = {'.git', '__pycache__', '.venv', 'out'}
  path = os.path.join(sdist_directory, base + '.tar.gz')
  with tarfile.open(path, 'w:gz', format=tarfile.PAX_FORMAT) as archive:
    for folder, folders, files in os.walk(ROOT):
      folders[:] = sorted(f for f in folders if f not in skipped and not (
          folder == ROOT and f.startswith('build')))
      for name in sorted(files):
        file = os.path.join(folder, name)
        archive.add(file, base + '/' + os.path.relpath(file, ROOT), recursive=False)
    with open(os.path.join(HERE, 'pyproject.toml'), encoding='utf-8') as f:
      text = f.read().replace('backend-path = ["."]', 'backend-path = ["python"]')
    for name, data in (('pyproject.toml', text), ('PKG-INFO', metadata())):
      entry = tarfile.TarInfo(base + '/' + name)
      entry.size = len(data.encode())
      archive.addfile(entry, io.BytesIO(data.encode()))
  return os.path.basename(path)


def main():
  command, folder, *build = sys.argv[1:]
  if command != 'wheel':
    raise SystemExit(__doc__)
  os.makedirs(folder, exist_ok=True)
  print(os.path.join(folder, build_wheel(folder, {'build': build[0]} if build else None)))


if __name__ == '__main__':
  main()
