"""Reads in the installed files that they were built hardened: hardening.py PREFIX CMAKE_CACHE

Of each shared library: what the loader relocates is read-only afterwards, the stack is not
executable. Of the tool: it may be loaded anywhere (PIE), and all its functions are bound at start.
Of the library and the tool: stack protectors and checked C functions are in use, and each of our
compile units was compiled with every option that the compiler knows (it says so in the debug
information; a build without that, or with a compiler that does not record options, has only the
rest checked)."""
import glob
import os
import re
import subprocess
import sys

OPTIONS = ['-fstack-protector-strong', '-fstack-clash-protection', '-fcf-protection']
failures = []


def expect(path, what, holds):
  if not holds:
    failures.append('%s: %s' % (os.path.basename(path), what))


def readelf(path, *options):
  return subprocess.check_output(['readelf', '-W', *options, path], text=True, errors='replace')


def check_segments(path):
  segments = readelf(path, '-l')
  expect(path, 'no RELRO segment', 'GNU_RELRO' in segments)
  stack = re.search(r'GNU_STACK.*', segments)
  expect(path, 'the stack is executable', stack and 'E' not in stack.group(0).split()[-2])


def check_program(path):
  dynamic = readelf(path, '-d')
  expect(path, 'not position independent', 'Type:' in readelf(path, '-h') and re.search(
      r'Type:\s+DYN', readelf(path, '-h')) and re.search(r'FLAGS_1.*\bPIE\b', dynamic))
  expect(path, 'functions are not bound at start', re.search(r'FLAGS_1.*\bNOW\b', dynamic))


def check_code(path, known):
  symbols = readelf(path, '--dyn-syms')
  if '-fstack-protector-strong' in known:
    expect(path, 'no stack protector', '__stack_chk_fail' in symbols)
  expect(path, 'no checked C functions', re.search(r'\b__\w+_chk\b(?!_fail)', symbols))
  units = set(re.findall(rb'GNU C\d* [^\0]*', open(path, 'rb').read()))
  for unit in units:
    words = unit.decode(errors='replace').split()
    for option in known:
      expect(path, 'a unit was compiled without %s: %s' % (option, ' '.join(words)[:300]),
             any(w.split('=')[0] == option for w in words))
  return len(units)


def check_indirect_branches(path):
  """Functions that may be called through a pointer begin with endbr64. (The linker marks a file for
  it only where the compiler's own start files have the mark, which not every system's do.)"""
  if 'X86-64' in readelf(path, '-h'):
    expect(path, 'no targets of indirect branches',
           b'\xf3\x0f\x1e\xfa' in open(path, 'rb').read())


def main():
  prefix, cache = sys.argv[1], open(sys.argv[2]).read()
  known = [o for o in OPTIONS if re.search(
      r'^LEAT_KNOWS%s:\w+=(1|ON|TRUE)$' % o.replace('-', '_'), cache, re.M)]
  shared = [p for p in glob.glob(prefix + '/**/*.so*', recursive=True) if not os.path.islink(p)]
  programs = [os.path.join(prefix, 'bin', 'leat')]
  library = [p for p in shared if os.path.basename(p).startswith('libleat.so')]
  expect(prefix, 'no library is installed', len(library) == 1)
  units = 0
  for path in shared + programs:
    check_segments(path)
    if '-fcf-protection' in known:
      check_indirect_branches(path)
  for path in programs:
    check_program(path)
  for path in library + programs:
    units += check_code(path, known)
  print('\n'.join(failures) or '%d files, options %s, recorded in %d ways' % (
      len(shared + programs), ' '.join(known), units))
  return 1 if failures else 0


if __name__ == '__main__':
  sys.exit(main())
