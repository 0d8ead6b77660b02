"""What Leat's Python writes TensorFlow reads, and the reverse: checkpoints, MetaGraphs,
SavedModels, frozen graphs, event files, records, messages.

Each case of exchange.py is written by both libraries and then read by both. All that a reader found
must be what TensorFlow found in what it wrote itself.
"""
import json
import os
import subprocess
import sys
import tempfile

from outcome import report
from python_semantics_oracle import environment_of, same, shortened

HERE = os.path.dirname(os.path.abspath(__file__))


def run(module, what, folder):
  """{(case, writer): result} of exchange.py"""
  out = os.path.join(folder, '%s-%s' % (module, what))
  process = subprocess.run([sys.executable, os.path.join(HERE, 'exchange.py'), module, what, folder,
                            out], env=environment_of(module), stderr=subprocess.PIPE, text=True)
  if process.returncode:
    print(process.stderr[-2000:])
  results = [json.loads(line) for line in open(out)] if os.path.exists(out) else []
  return {(r['name'], r['writer']): r for r in results}


def difference(written, got, want):
  if written.get('error'):
    return 'cannot be written: ' + written['error']
  if want.get('error'):
    return 'TensorFlow itself: ' + want['error']
  if got.get('error'):
    return got['error']
  return first_difference(got['value'], want['value'])


def first_difference(got, want, where=''):
  """The place and the values where two plain values differ first."""
  if same(got, want):
    return ''
  if isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
    return next(why for i, (a, b) in enumerate(zip(got, want))
                for why in [first_difference(a, b, '%s[%d]' % (where, i))] if why)
  return 'value%s is %s, not %s' % (where, shortened(got), shortened(want))


def main():
  with tempfile.TemporaryDirectory(prefix='leat-exchange') as folder:
    libraries = ('tensorflow', 'leat')
    written, found = {}, {}
    for module in libraries:
      written.update(run(module, 'write', folder))
    for module in libraries:
      found[module] = run(module, 'read', folder)
  for (name, writer), want in found['tensorflow'].items():
    if writer != 'tensorflow':
      continue
    for reader, by in (('tensorflow', 'leat'), ('leat', 'tensorflow'), ('leat', 'leat')):
      nothing = {'error': 'the process ended before'}
      report('%s: %s reads what %s wrote' % (name, reader, by), difference,
             written.get((name, by), nothing), found[reader].get((name, by), nothing), want)


if __name__ == '__main__':
  main()
