"""`leat diff` compares a step of Leat with what TensorFlow recorded of the same graph: layers with
dropout, a loop and gradients, all random numbers from seeds. All tensors are equal; and where a
constant of the graph is changed afterwards, that is what is found."""
import json
import os
import subprocess
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from outcome import report

LEAT = os.path.join(os.environ['LEAT_BUILD_DIR'], 'bin', 'leat')
FEEDS = {'x:0': np.random.RandomState(0).randn(8, 16).astype('f4'),
         't:0': np.arange(8, dtype='i4') % 5}


def build():
  """The GraphDef of a model in training."""
  with tf.Graph().as_default() as graph:
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [None, 16], name='x')
    labels = tf.placeholder(tf.int32, [None], name='t')
    first = tf.get_variable('first', [16, 16], initializer=tf.glorot_uniform_initializer())
    second = tf.get_variable('second', [16, 5], initializer=tf.glorot_uniform_initializer())
    hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(x, first)), rate=0.3)
    _, state = tf.while_loop(
        lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, first) * 0.5)), [0, hidden])
    logits = tf.matmul(state, second, name='logits')
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits * tf.constant(1.25, name='scale')), name='loss')
    for place, gradient in enumerate(tf.gradients(loss, [first, second])):
      tf.identity(gradient, name='gradient%d' % place)
    tf.global_variables_initializer()
  return graph.as_graph_def()


def record(graph_def, names, path):
  """Runs a step of TensorFlow and writes the values to an .npz."""
  fetched = [name for name in names if name not in FEEDS]
  with tf.Graph().as_default(), tf.Session() as session:
    tf.import_graph_def(graph_def, name='')
    session.run('init')
    np.savez_compressed(path, **dict(zip(fetched, session.run(fetched, FEEDS))), **FEEDS)


def run(*arguments):
  return subprocess.run([LEAT, 'diff', *arguments], capture_output=True, text=True, check=False)


def write(graph_def, path):
  with open(path, 'wb') as f:
    f.write(graph_def.SerializeToString())


def equal(model, recorded):
  """All tensors are."""
  found = run(model, recorded, '--init', 'init')
  return '' if found.returncode == 0 else found.stdout + found.stderr


def changed(graph_def, model, recorded):
  """The constant that is changed is what is found."""
  scale, = [n for n in graph_def.node if n.name == 'scale']
  scale.attr['value'].tensor.float_val[:] = [1.5]
  write(graph_def, model)
  first = json.loads(run(model, recorded, '--init', 'init', '--json').stdout)['first'] or {}
  return '' if (first.get('name'), first.get('largest')) == ('scale', 0.25) else str(first)


def main():
  tf.disable_v2_behavior()
  graph_def = build()
  with tempfile.TemporaryDirectory() as folder:
    model, recorded = os.path.join(folder, 'model.pb'), os.path.join(folder, 'recorded.npz')
    write(graph_def, model)
    record(graph_def, run(model, '--list').stdout.split(), recorded)
    report('diff/equal', equal, model, recorded)
    report('diff/changed', changed, graph_def, model, recorded)


main()
