"""Writes files with one library, or reads what both have written; python_oracle.py runs it.

usage: exchange.py MODULE write|read FOLDER OUT

A case is a pair of functions of the module `tf` and a folder. What `write` gives is kept beside the
files only to show errors; what `read` gives is compared between the libraries. Names of folders are
<writer>/<case>. OUT gets a line of JSON for each case.
"""
import importlib
import json
import os
import sys

import snippets

MODULES = ('exchange_checkpoints', 'exchange_graphs', 'exchange_records')


def cases():
  """{name: (write, read)} of all modules."""
  found = {}
  for name in MODULES:
    found.update(importlib.import_module(name).CASES)
  return found


def call(tf, function, folder):
  """What the function gave as plain values, or its error."""
  np = importlib.import_module('numpy')
  tf.reset_default_graph()
  os.makedirs(folder, exist_ok=True)
  os.chdir(folder)
  try:
    return {'value': snippets.Recorder(tf, np).plain(function(tf, folder))}
  except Exception as error:
    place = error.__traceback__
    lines = []
    while place:
      lines.append('%s:%d' % (os.path.basename(place.tb_frame.f_code.co_filename), place.tb_lineno))
      place = place.tb_next
    return {'error': '%s: %s (%s)' % (type(error).__name__, ' '.join(str(error).split())[:400],
                                      ' '.join(lines[1:4]))}


def main():
  module, what, root, out = sys.argv[1:]
  tf = snippets.load(module)
  with open(out, 'w', buffering=1) as results:
    for name, (write, read) in cases().items():
      for writer in (['leat', 'tensorflow'] if what == 'read' else [module]):
        folder = os.path.join(root, writer, name.replace(' ', '_'))
        result = call(tf, read if what == 'read' else write, folder)
        results.write(json.dumps(dict(result, name=name, writer=writer)) + '\n')


if __name__ == '__main__':
  main()
