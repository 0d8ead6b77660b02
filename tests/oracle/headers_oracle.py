"""Our headers beside those of the TensorFlow package: every function that both declare has the same
type, every enumerator the same value, every struct the same size. The compiler does the comparing:
TensorFlow's prototypes are declared once more behind ours."""
import glob
import os
import re
import subprocess
import tempfile

import tensorflow

OURS = os.path.join(os.environ['LEAT_SOURCE_DIR'], 'include')
THEIRS = os.path.join(os.path.dirname(tensorflow.__file__), 'include')
CC = os.environ.get('CC', 'cc')
SHIMS = tempfile.TemporaryDirectory()  # headers of C++ that one of TensorFlow's includes


def preprocessed(header, folder, *flags):
  folders = ['-I' + folder, '-I' + SHIMS.name]
  return subprocess.run([CC, '-std=gnu11', '-E', '-P', *flags, *folders, '-'], text=True,
                        input='#include "%s"\n' % header, capture_output=True, check=True).stdout


def statements(text):
  """Top-level statements without attributes; bodies in braces kept, but those of namespaces."""
  text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\b__extension__\b', ' ', text)
  text = re.sub(r'\bnamespace \w+ \{', ' ', text)  # its end is then a brace too many
  depth, current = 0, ''
  for c in text:
    if c == '}' and depth == 0:
      continue
    current += c
    depth += (c == '{') - (c == '}')
    if depth == 0 and (c == ';' or c == '}' and re.search(r'\)\s*\{', current)):
      yield ' '.join(current.split())
      current = ''


def prototypes(header, folder):
  found = {}
  for statement in statements(preprocessed(header, folder)):
    match = re.match(r'(?:extern )?([^(){}=]*?\b(TFE?_\w+)\s*\(.*\));$', statement)
    if match and not statement.startswith(('typedef', 'static')):
      # Some of TensorFlow's take references, which C++ passes as pointers.
      found[match.group(2)] = match.group(1).replace('&', '*') + ';'
  return found


def constants(header, folder):
  """Names of enumerators and of macros that may stand for some."""
  found = re.findall(r'^#define (TF_\w+) \S', preprocessed(header, folder, '-dM'), re.M)
  for statement in statements(preprocessed(header, folder)):
    match = re.search(r'\benum\b[^{]*\{(.*)\}', statement)
    found += re.findall(r'\b(TF_\w+)\s*(?:=[^,]*)?(?:,|$)', match.group(1)) if match else []
  return found


def printed(header, folder, expressions, scratch):
  """{expression: value} by a program that includes |header|; what does not compile is absent."""
  known = {}
  source, binary = os.path.join(scratch, 'x.c'), os.path.join(scratch, 'x')
  body = ''.join('printf("%%s=%%lld\\n", "%s", (long long)(%s));\n' % (e, e) for e in expressions)
  with open(source, 'w') as f:
    f.write('#include <stdio.h>\n#include "%s"\nint main(void) {\n%s}\n' % (header, body))
  run = subprocess.run([CC, '-w', '-I' + folder, source, '-o', binary], capture_output=True,
                       text=True)
  if run.returncode:
    half = len(expressions) // 2
    if half:
      known.update(printed(header, folder, expressions[:half], scratch))
      known.update(printed(header, folder, expressions[half:], scratch))
    return known
  for line in subprocess.check_output([binary], text=True).split('\n'):
    if line:
      name, value = line.rsplit('=', 1)
      known[name] = int(value)
  return known


def conflict(header, prototype, scratch):
  source = os.path.join(scratch, 'y.c')
  with open(source, 'w') as f:
    f.write('#include "%s"\n%s\n' % (header, prototype))
  run = subprocess.run([CC, '-std=gnu11', '-w', '-I' + OURS, '-fsyntax-only', source],
                       capture_output=True, text=True)
  error = re.search(r'error: .*', run.stderr)
  return (error.group(0) if error else run.stderr) if run.returncode else None


def compare(header, scratch):
  """Complaints about one header, and how many things were compared."""
  ours, theirs = prototypes(header, OURS), prototypes(header, THEIRS)
  complaints = ['%s is not TensorFlow\'s' % n for n in sorted(set(ours) - set(theirs))]
  common = sorted(set(ours) & set(theirs))
  if conflict(header, '\n'.join(theirs[n] for n in common), scratch):
    complaints += ['%s: %s' % (n, conflict(header, theirs[n], scratch)) for n in common
                   if conflict(header, theirs[n], scratch)]
  structs = re.findall(r'\btypedef struct \w+ \{.*?\} (TF_\w+);',
                       '\n'.join(statements(preprocessed(header, THEIRS))))
  expressions = sorted(set(constants(header, THEIRS))) + ['sizeof(%s)' % s for s in structs]
  left = printed(header, OURS, expressions, scratch)
  right = printed(header, THEIRS, expressions, scratch)
  complaints += ['%s is %s, TensorFlow\'s %s' % (e, left.get(e), right[e]) for e in expressions
                 if e in right and left.get(e) != right[e]]
  return complaints, len(common) + len(right)


def main():
  with open(os.path.join(SHIMS.name, 'cstdint'), 'w') as f:
    f.write('#include <stdint.h>\n')
  with tempfile.TemporaryDirectory() as scratch:
    for path in sorted(glob.glob(os.path.join(OURS, 'tensorflow/c/**/*.h'), recursive=True)):
      header = os.path.relpath(path, OURS)
      if not os.path.exists(os.path.join(THEIRS, header)):
        continue  # a part of c_api.h, which is compared as a whole
      complaints, count = compare(header, scratch)
      print('%s: %s %s' % (header, 'FAIL' if complaints else 'ok',
                           '; '.join(complaints[:8]) if complaints else '%d equal' % count))


if __name__ == '__main__':
  main()
