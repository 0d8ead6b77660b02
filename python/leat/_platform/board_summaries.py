"""What the board shows and TensorFlow has no function for: curves of precision and recall, layouts
of charts, hyper-parameters.

Each function writes one summary with a `tf.summary.FileWriter`. The library makes it, checks it
included (include/leat/summary.h), so that programs in C write the same. TensorBoard shows these
files too.
"""
from __future__ import annotations

from array import array

from leat import _leat
from leat._export import export
from leat._graph import errors

_TEXT, _BOOL, _NUMBER = 1, 2, 3
_STATUSES = {'unknown': 0, 'success': 1, 'failure': 2, 'running': 3}


def _write(writer, step, make, *args):
  try:
    summary = make(*args)
  except _leat.StatusError as error:
    raise errors.of_status(error) from None
  writer.add_summary(summary, step)


def _floats(values):
  """Numbers, in lists or arrays of any shape, as the bytes of floats."""
  flat = array('f')

  def add(item):
    if hasattr(item, 'tolist'):
      item = item.tolist()
    if isinstance(item, (list, tuple)):
      for one in item:
        add(one)
    else:
      flat.append(float(item))

  add(values)
  return flat.tobytes()


@export('board.pr_curve')
def pr_curve(writer, tag, labels, predictions, step=None, weights=None, num_thresholds=201):
  """Writes a curve of precision and recall, which the board draws.

  >>> writer = tf.summary.FileWriter('logs')
  >>> tf.board.pr_curve(writer, 'digits', labels=[1, 0, 1], predictions=[0.9, 0.2, 0.4], step=100)
  >>> writer.close()

  Args:
    writer: A `tf.summary.FileWriter`.
    tag: Of the curve.
    labels: 0, 1, False or True each, in a list or an array of any shape.
    predictions: As many numbers from 0 to 1. One counts as positive at each threshold that it
      reaches.
    step: Of training.
    weights: As many numbers of at least 0, that examples count; None: all count 1.
    num_thresholds: Of thresholds that are spaced evenly from 0 to 1.

  Raises:
    ValueError: where the lists are not of one length.
    InvalidArgumentError: names the label, prediction or weight that is not as it must be.
  """
  data = [_floats(labels), _floats(predictions), None if weights is None else _floats(weights)]
  counts = [len(item) // 4 for item in data if item is not None]
  if len(set(counts)) > 1:
    raise ValueError('labels, predictions and weights have %s elements, must have equally many' %
                     ', '.join(map(str, counts)))
  _write(writer, step, _leat.summary_pr_curve, tag, *data, num_thresholds)


@export('board.layout')
def layout(writer, categories, closed=()):
  """Writes which scalars the page "Custom scalars" shows together. The newest layout counts.

  >>> writer = tf.summary.FileWriter('logs')
  >>> tf.board.layout(writer, {
  ...     'training': {'losses': ['loss', 'eval/.*loss'],
  ...                  'accuracy': [('accuracy', 'accuracy_low', 'accuracy_high')]},
  ...     'details': {'rates': ['learning_rate']}}, closed=['details'])
  >>> writer.close()

  Args:
    writer: A `tf.summary.FileWriter`.
    categories: A dictionary of dictionaries: by the title of a category, by the title of a chart,
      a list of either regular expressions of tags, which match from the beginning, or triples of
      tags: a line and the two scalars of the band around it.
    closed: Titles of categories of which the page shows the titles alone at first.

  Raises:
    ValueError: where `closed` has a title that is none of a category.
    InvalidArgumentError: where a chart is empty, or has tags and triples.
  """
  unknown = sorted(set(closed) - set(categories))
  if unknown:
    raise ValueError('closed has %r, must be titles of categories' % unknown[0])

  def chart(title, lines):
    return (title, [line for line in lines if isinstance(line, str)],
            [tuple(line) for line in lines if not isinstance(line, str)])

  _write(writer, None, _leat.summary_layout, [
      (title, title in closed, [chart(name, lines) for name, lines in charts.items()])
      for title, charts in categories.items()])


@export('board.hparams')
def hparams(writer, values, group=None):
  """Writes with which hyper-parameters a run began; each run is a row of the board's table.

  >>> writer = tf.summary.FileWriter('logs/first')
  >>> tf.board.hparams(writer, {'learning_rate': 0.1, 'optimizer': 'adam', 'dropout': True})
  >>> tf.board.session_end(writer)
  >>> writer.close()

  Args:
    writer: A `tf.summary.FileWriter`, of the run.
    values: A dictionary of numbers, texts and bools by their names.
    group: Runs of one group are one row of the table; None: the run has its own.

  Raises:
    TypeError: for a value of another type.
    InvalidArgumentError: for a number that is not finite.
  """
  items = [(name, value.item() if hasattr(value, 'item') else value)
           for name, value in values.items()]
  _write(writer, None, _leat.summary_session_start, items, group)


@export('board.session_end')
def session_end(writer, status='success'):
  """Writes how a run ended that began with `tf.board.hparams`: 'success', 'failure', 'running' or
  'unknown'. ValueError for any other status."""
  if status not in _STATUSES:
    raise ValueError('status is %r, must be one of %s' % (status, ', '.join(sorted(_STATUSES))))
  _write(writer, None, _leat.summary_session_end, _STATUSES[status])


def _info(name, domain):
  if domain in (bool, str, float):
    return name, None, {bool: _BOOL, str: _TEXT, float: _NUMBER}[domain], 0., 0., []
  if isinstance(domain, tuple):
    low, high = domain
    return name, None, _NUMBER, float(low), float(high), []
  return name, None, _TEXT, 0., 0., list(domain)


@export('board.experiment')
def experiment(writer, hparams, metrics, description=None):
  """Writes what the table of hyper-parameters shows of all runs of a log directory. Without it the
  table has all that any run wrote.

  >>> writer = tf.summary.FileWriter('logs')
  >>> tf.board.experiment(writer, {'learning_rate': (0.001, 1), 'optimizer': ['adam', 'sgd'],
  ...                              'dropout': bool}, metrics=['loss', ('accuracy', 'eval')])
  >>> writer.close()

  Args:
    writer: A `tf.summary.FileWriter` of the log directory itself.
    hparams: A dictionary of what values each hyper-parameter may have: (low, high), a list of
      texts, or one of the types float, str and bool.
    metrics: Tags of scalars, or (tag, group) where the scalar is of the run `group` below.
    description: Markdown.

  Raises:
    InvalidArgumentError: where low is above high, or a metric comes twice.
  """
  _write(writer, None, _leat.summary_experiment, description,
         [_info(name, domain) for name, domain in hparams.items()],
         [(m, None, None) if isinstance(m, str) else (*m, None) for m in metrics])
