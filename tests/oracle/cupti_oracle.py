"""The CUPTI module beside NVIDIA's headers and library (the package nvidia-cuda-cupti-cu12). Where
the fields of records lie and what the constants are is compared by the compiler; records that are
laid out by NVIDIA's structs are walked by NVIDIA's library and read by the module. No GPU is
needed, and none is used: that CUPTI records what it says is not tested here."""
import importlib.util
import os
import re
import subprocess
import sys
import time

from outcome import report

ROOT = os.environ['LEAT_SOURCE_DIR']
MODULE = os.path.join(os.environ['LEAT_BUILD_DIR'], 'lib', 'leat_module_cupti.so')
PROGRAM = os.path.join(ROOT, 'tests', 'oracle', 'cupti_records.c')
LAYOUT = os.path.join(ROOT, 'src', 'modules', 'cupti', 'layout.h')
CC = os.environ.get('CC', 'cc')

# What CUPTI's headers take from CUDA's, of which only sizes matter, and of few.
POINTERS = 'context stream event graph graphExec graphNode module'
NUMBERS = ('result device device_attribute graphNodeType sharedconfig streamAttrID streamAttrValue '
           'clusterSchedulingPolicy')

# kind, correlation: begin to end, thread, device, context and stream, name
EXPECTED = '''begin: 0
0 5: 100 to 110, thread 77, GPU 0 0 0, -
0 5: 101 to 109, thread 78, GPU 0 0 0, -
1 5: 120 to 190, thread 0, GPU 3 4 7, sgemm
1 6: 121 to 191, thread 0, GPU 0 0 0, -
%s4 10: 300 to 310, thread 0, GPU 1 2 15, -
6 11: 400 to 410, thread 0, GPU 1 2 16, -
collect: 0, 42 dropped
''' % ''.join('%d 8: 200 to 210, thread 0, GPU 1 2 14, -\n' % kind
              for kind in [5, 2, 3, 2, 3, 5, 5, 5, 5, 5, 4])


def find_cupti():
  """The folder of the package, or None."""
  try:
    spec = importlib.util.find_spec('nvidia.cuda_cupti')
  except ModuleNotFoundError:
    return None
  return list(spec.submodule_search_locations)[0] if spec else None


def write_cuda_headers():
  """cuda.h as far as CUPTI's headers need it; the folder."""
  os.makedirs('cuda', exist_ok=True)
  with open('cuda/cuda.h', 'w') as f:
    f.write('#pragma once\n#include <stddef.h>\n#include <stdint.h>\n')
    f.write(''.join('typedef void* CU%s;\n' % name for name in POINTERS.split()))
    f.write(''.join('typedef int CU%s;\n' % name for name in NUMBERS.split()))
    f.write('typedef struct { char bytes[16]; } CUuuid;\n'
            'typedef struct { void* base; size_t size; int rest[3]; } CUaccessPolicyWindow;\n')
  with open('cuda/builtin_types.h', 'w') as f:
    f.write('#include "cuda.h"\n')
  return 'cuda'


def compile_program(folder, layout=None):
  """What the compiler says; |layout| replaces the module's."""
  sources = os.path.join(ROOT, 'src')
  first = []
  if layout:
    os.makedirs('changed/modules/cupti', exist_ok=True)
    with open('changed/modules/cupti/layout.h', 'w') as f:
      f.write(layout)
    first = ['-Ichanged']
  run = subprocess.run([CC, '-std=gnu11', '-w', '-I' + write_cuda_headers(),
                        '-I' + os.path.join(folder, 'include'), *first, '-I' + sources,
                        '-I' + os.path.join(ROOT, 'include'), '-o', 'cupti_records', PROGRAM,
                        '-ldl'], capture_output=True, text=True)
  return run.stderr


def run_program(library, what):
  return subprocess.run(['./cupti_records', MODULE, library, what], capture_output=True, text=True,
                        timeout=60).stdout


def compare_layout(folder):
  return ' '.join(compile_program(folder).split())[:300]


def compare_changed(folder):
  """A field that lies elsewhere, or a number that is another one, must be noticed: each of them."""
  layout = open(LAYOUT).read()
  entries = list(re.finditer(r'(?:FIELD|NUMBER)\([A-Z_]+, \w+, (?:\w+, )?(\d+)\)', layout))
  for entry in entries:
    changed = layout[:entry.start(1)] + str(int(entry.group(1)) + 1) + layout[entry.end(1):]
    if 'static assertion failed' not in compile_program(folder, changed):
      return '%s may be changed' % entry.group(0)
  return '' if len(entries) > 40 else 'there are %d entries' % len(entries)


def compare_records(library):
  found = run_program(library, 'records').replace('begin: 0 \n', 'begin: 0\n')
  return '' if found == EXPECTED else 'found\n' + found


def compare_begin(library):
  """CUPTI itself refuses where there is no driver, and where there is one it begins."""
  found = run_program(library, 'begin')
  refused = found == ('begin: 14 cuptiSetThreadIdType failed: CUPTI\'s error 15, '
                      'CUPTI_ERROR_NOT_INITIALIZED\n')
  return '' if refused or found.startswith('begin: 0') else found


def compare_clock(library):
  """Nanoseconds of the wall clock."""
  before = time.time_ns()
  found = int(run_program(library, 'clock'))
  after = time.time_ns()
  return '' if before - 10**6 <= found <= after + 10**6 else '%d is not the time' % found


def main():
  folder = find_cupti()
  if not folder:
    print('SKIP cupti: the package nvidia-cuda-cupti-cu12 is not installed')
    return
  libraries = [name for name in os.listdir(os.path.join(folder, 'lib'))
               if name.startswith('libcupti.so')]
  library = os.path.join(folder, 'lib', libraries[0])
  report('cupti layout', compare_layout, folder)
  report('cupti records', compare_records, library)
  report('cupti begin', compare_begin, library)
  report('cupti clock', compare_clock, library)
  report('cupti layout, changed', compare_changed, folder)


if __name__ == '__main__':
  sys.exit(main())
