"""Evaluates snippets of TensorFlow 1 programs with one library, and writes what they did.

usage: snippets.py MODULE OUT FILE...

A file of snippets has lines `== title`, each followed by the source of a snippet. Every snippet
begins with a graph of its own and these names:

    tf, np           the library, numpy
    show(values)     records values: tensors by name, shape and type, arrays by their elements
    run(fetches)     initializes all variables and tables on the first call -> the values fetched
    fails(function)  records the class of the error that |function| raises, and its first line

When a snippet has ended, its graph, the shapes of all tensors and the collections are recorded too.
OUT gets a line of JSON for each snippet.
"""
import importlib
import json
import os
import sys
import tempfile
import warnings


def parse(path):
  """[(title, source, number of the first line)] of a file of snippets."""
  found = []
  for number, line in enumerate(open(path, encoding='utf-8'), 1):
    if line.startswith('== '):
      found.append((line[3:].strip(), [], number + 1))
    elif found:
      found[-1][1].append(line)
  return [(title, ''.join(lines), first) for title, lines, first in found]


def load(module):
  """tf: TensorFlow with version 1's behavior, or the module of that name."""
  warnings.simplefilter('ignore')
  if module != 'tensorflow':
    return importlib.import_module(module)
  tf = importlib.import_module('tensorflow.compat.v1')
  tf.disable_eager_execution()
  tf.disable_v2_behavior()
  tf.logging.set_verbosity(tf.logging.ERROR)
  return tf


class Recorder:
  """What one snippet sees beside tf and np, and what it did."""

  def __init__(self, tf, np):
    self.tf, self.np, self.shown, self.session = tf, np, [], None

  def show(self, *values):
    self.shown += [self.plain(value) for value in values]

  def run(self, fetches, feed_dict=None):
    tf = self.tf
    if self.session is None or self.session.graph is not tf.get_default_graph():
      self.session = tf.Session(config=tf.ConfigProto(
          intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))
      self.session.run([tf.global_variables_initializer(), tf.local_variables_initializer(),
                        tf.tables_initializer()])
    return self.session.run(fetches, feed_dict)

  def fails(self, function):
    try:
      self.shown.append(['no error', self.plain(function())])
    except Exception as error:
      name = type(error).__name__.replace('OperatorNotAllowedInGraphError', 'TypeError')
      self.shown.append(['error', name, (str(error) or '?').split('\n')[0]])

  def plain(self, value):
    """A value as lists, numbers and texts."""
    tf, np = self.tf, self.np
    if isinstance(value, (np.ndarray, np.generic)):
      elements = value.ravel().tolist()
      return ['array', str(value.dtype), list(value.shape), [self.plain(e) for e in elements]]
    if isinstance(value, (bool, int, float, str, type(None))):
      return value
    if isinstance(value, complex):
      return [value.real, value.imag]
    if isinstance(value, bytes):
      return 'bytes ' + repr(value)
    if isinstance(value, tf.Tensor):
      return '%s %s %s' % (value.name, value.shape, value.dtype.name)
    if isinstance(value, (tf.Variable, tf.Operation)):
      return '%s %s' % (type(value).__name__.replace('RefVariable', 'Variable'), value.name)
    if isinstance(value, dict):
      return [[self.plain(k), self.plain(v)] for k, v in sorted(value.items(), key=str)]
    if isinstance(value, (list, tuple)):
      return [self.plain(v) for v in value]
    if isinstance(value, (tf.DType, tf.TensorShape)):
      return str(value)
    return type(value).__name__

  def graph(self):
    """Nodes and shapes, and the names of what is in the collections."""
    graph = self.tf.get_default_graph()
    shapes = {o.name: [str(t.shape) for t in o.outputs] for o in graph.get_operations()}
    collections = {str(key): [getattr(item, 'name', None) or type(item).__name__
                              for item in graph.get_collection(key)]
                   for key in graph.get_all_collection_keys()}
    return {'nodes': graph.as_graph_def().SerializeToString().hex(), 'shapes': shapes,
            'collections': collections}

  def close(self):
    if self.session is not None:
      self.session.close()


def evaluate(tf, np, path, title, source, line):
  """What a snippet showed and left behind."""
  tf.reset_default_graph()
  recorder = Recorder(tf, np)
  names = {'tf': tf, 'np': np, 'show': recorder.show, 'run': recorder.run,
           'fails': recorder.fails}
  result = {'title': title}
  try:
    exec(compile('\n' * (line - 1) + source, path, 'exec'), names)
  except Exception as error:
    place = error.__traceback__
    while place.tb_next and place.tb_frame.f_code.co_filename != path:
      place = place.tb_next
    result['error'] = 'line %d: %s: %s' % (
        place.tb_lineno, type(error).__name__, (str(error) or '?').split('\n')[0])
  result['shown'] = recorder.shown
  result.update(recorder.graph())
  recorder.close()
  return result


def main():
  module, out, *paths = sys.argv[1:]
  paths = [os.path.abspath(path) for path in paths]
  with open(out, 'w', buffering=1) as results, tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    tf, np = load(module), importlib.import_module('numpy')
    for path in paths:
      for title, source, line in parse(path):
        result = evaluate(tf, np, path, title, source, line)
        result['file'] = os.path.basename(path)
        results.write(json.dumps(result) + '\n')


if __name__ == '__main__':
  main()
