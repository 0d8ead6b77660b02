"""CreateSummaryDbWriter in both libraries: each runs the same graph, and Python's sqlite3 reads
what it has written. Rows are compared column by column but for times; identifiers are replaced by
the order in which they were given, and the places that are reserved for tensors are left out. The
tables themselves, with the types of their columns and their indices, are compared too."""
import os
import sqlite3
import tempfile

from dataset_kit import LEAT, raw, tf
import numpy as np

import capi
from outcome import report

TIMES = {'inserted_time', 'started_time', 'finished_time', 'computed_time'}
IDS = {'id', 'tag_id', 'run_id', 'experiment_id', 'user_id', 'graph_id', 'series'}
MESSAGES = {'node_def': tf.NodeDef, 'graph_def': tf.GraphDef}
CASES = {}


def case(build):
  """Registers a function that gives the ops which write to a writer, in order."""
  CASES[build.__name__.replace('_', ' ')] = build
  return build


# ---- Both libraries ------------------------------------------------------------------------------
def graph_of(build, path, names):
  graph = tf.Graph()
  with graph.as_default():
    writer = raw.SummaryWriter(shared_name='writer')
    steps = [raw.CreateSummaryDbWriter(writer=writer, db_uri=path, **names)]
    steps += build(writer)
    steps.append(raw.CloseSummaryWriter(writer=writer))
  return graph, [step.name for step in steps]


def write_with_tensorflow(graph, steps):
  codes = []
  with tf.Session(graph=graph) as session:
    for step in steps:
      try:
        session.run(step)
        codes.append(0)
      except tf.errors.OpError as error:
        codes.append(error.error_code)
  return codes


def write_with_leat(graph, steps):
  session, codes = capi.Session(LEAT, graph.as_graph_def().SerializeToString()), []
  for step in steps:
    try:
      session.run([], targets=[step])
      codes.append(0)
    except capi.Error as error:
      codes.append(error.code)
  session.close()
  return codes


# ---- What is in a database -----------------------------------------------------------------------
def value_of(column, value, ids):
  """A value as it is compared: an identifier as its place in the order of those seen."""
  if column in TIMES:
    return value is not None
  if column in IDS and value is not None:
    return ids.setdefault(value, len(ids))
  if column in MESSAGES:
    return str(MESSAGES[column].FromString(value))
  return value


def condition_of(database, index):
  """Which rows the index has."""
  sql, = database.execute('SELECT sql FROM sqlite_master WHERE name = ?', (index,)).fetchone()
  return ' '.join(sql.split()).partition(' WHERE ')[2]


def contents(path):
  """-> for each table its columns, its indices and its rows."""
  database, ids, found = sqlite3.connect(path), {}, {}
  tables = [name for name, in database.execute(
      "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
  rows_of_tensors = {row: (series, step) for row, series, step in database.execute(
      'SELECT rowid, series, step FROM Tensors WHERE dtype IS NOT NULL')}
  for name in ['Users', 'Experiments', 'Runs', 'Tags', 'Graphs'] + tables:
    columns = database.execute('PRAGMA table_info(%s)' % name).fetchall()
    indices = sorted(
        (index[1:], database.execute('PRAGMA index_info(%s)' % index[1]).fetchall(),
         condition_of(database, index[1]))
        for index in database.execute('PRAGMA index_list(%s)' % name))
    rows = []
    for row in database.execute('SELECT * FROM %s %s' % (
        name, 'WHERE dtype IS NOT NULL' if name == 'Tensors' else '')):
      row = dict(zip([column[1] for column in columns], row))
      if name == 'Tensors':
        row.pop('rowid')  # both libraries reserve places
      if name == 'TensorStrings':
        series, step = rows_of_tensors.get(row['tensor_rowid'], (None, None))
        row['tensor_rowid'] = ids.get(series), step  # None: of a tensor that was replaced
      rows.append({column: value_of(column, value, ids) for column, value in row.items()})
    if name == 'Ids':  # random, so that their order says nothing
      rows.sort(key=lambda row: row['id'])
    if name in ('Descriptions', 'Tensors'):
      rows.sort(key=lambda row: (row.get('id', row.get('series')), row.get('step', 0)))
    found[name] = columns, indices, rows
  database.close()
  return found


def compare(build, **names):
  names = dict(dict(experiment_name='experiment', run_name='run', user_name='user'), **names)
  results = []
  with tempfile.TemporaryDirectory(prefix='leat-summaries') as folder:
    path = os.path.join(folder, 'summaries.db')
    for write in write_with_tensorflow, write_with_leat:
      graph, steps = graph_of(build, path, names)
      codes = write(graph, steps)
      results.append((codes, contents(path)))
      os.remove(path)
  (want_codes, want), (got_codes, got) = results
  if got_codes != want_codes:
    return 'codes %s, must be %s' % (got_codes, want_codes)
  if list(got) != list(want):
    return 'tables %s, must be %s' % (list(got), list(want))
  for table in want:
    for what, a, b in zip(('columns', 'indices', 'rows'), got[table], want[table]):
      if a != b:
        return '%s of %s: %s, must be %s' % (what, table, *first_difference(a, b))
  return ''


def first_difference(a, b):
  pairs = [(x, y) for x, y in zip(a, b) if x != y]
  return pairs[0] if pairs else (a[len(b):], b[len(a):])


# ---- Cases ---------------------------------------------------------------------------------------
def scalar(writer, step, tag, value):
  return raw.WriteScalarSummary(writer=writer, step=step, tag=tag, value=value)


def tensor(writer, step, tag, value, metadata=b''):
  return raw.WriteSummary(writer=writer, step=step, tag=tag, tensor=value,
                          summary_metadata=metadata)


def metadata(plugin='', content=b'', name='', description=''):
  message = tf.SummaryMetadata(display_name=name, summary_description=description)
  message.plugin_data.plugin_name = plugin
  message.plugin_data.content = content
  return message.SerializeToString()


@case
def numbers_of_each_type(w):
  types = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.int64, tf.bfloat16,
           tf.uint16, tf.half, tf.uint32, tf.uint64]
  return [scalar(w, 7, dtype.name, tf.constant(3, dtype)) for dtype in types]


@case
def a_series(w):
  return [scalar(w, step, tag, float(step)) for step in range(5) for tag in ('a', 'b')]


@case
def a_step_that_is_written_twice(w):
  return [scalar(w, 1, 'a', 1.), scalar(w, 2, 'a', 2.), scalar(w, 1, 'a', 3.),
          tensor(w, -5, 's', ['a', 'b']), tensor(w, -5, 's', ['c'])]


@case
def tensors(w):
  values = [tf.constant([[1, 2], [3, 4]], tf.int64), tf.constant(b'text \0 text'),
            tf.constant(['a', '', 'c\0']), tf.constant([[b'x'], [b'y']]), tf.zeros([0, 3]),
            tf.constant([], tf.string), tf.constant(''), tf.constant([1 + 2j]),
            tf.constant([.5, 1.5], tf.half), tf.constant(True), tf.constant([1.], tf.bfloat16),
            tf.constant([1, 2, 3, 4, 5], tf.float64), tf.zeros([2000])]
  return [tensor(w, i, 'tensor%d' % i, value) for i, value in enumerate(values)]


@case
def what_plugins_are_told(w):
  return [tensor(w, 1, 'a', 1., metadata('mine', b'\0\1', 'A', 'What *a* is.')),
          tensor(w, 2, 'a', 2., metadata('other', b'', 'B', 'ignored')),
          tensor(w, 1, 'b', 1., metadata()), tensor(w, 1, 'c', 1., b'\xff\xff'),
          tensor(w, 1, '', 1., metadata('x'))]


@case
def histograms(w):
  values = [np.array([1., 2., 3.]), np.array([-1., 0., 1e9]), np.zeros(0), np.full(9, 7.)]
  return [raw.WriteHistogramSummary(writer=w, step=3, tag='h%d' % i, values=value)
          for i, value in enumerate(values)] + [
      raw.WriteHistogramSummary(writer=w, step=3, tag='bad', values=[float('nan')])]


@case
def images_and_sounds(w):
  pixels = (np.arange(2 * 3 * 4 * 3).reshape(2, 3, 4, 3) * 3).astype('u1')
  sounds = np.sin(np.arange(60.)).reshape(2, 15, 2).astype('f4')
  bad = np.array([255, 0, 0, 255], 'u1')
  return [raw.WriteImageSummary(writer=w, step=1, tag='i', tensor=pixels, bad_color=bad),
          raw.WriteImageSummary(writer=w, step=1, tag='one', tensor=pixels, bad_color=bad,
                                max_images=1),
          raw.WriteAudioSummary(writer=w, step=1, tag='a', tensor=sounds, sample_rate=8000.)]


def some_graph():
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [None, 2], 'x')
    with tf.device('/cpu:0'):
      parts = tf.split(x, 2, 1, name='parts')
    with tf.control_dependencies([parts[0]]):
      tf.add(parts[1], parts[0], name='sum')
  return graph.as_graph_def()


@case
def a_graph(w):
  return [raw.WriteGraphSummary(writer=w, step=0, tensor=some_graph().SerializeToString()),
          scalar(w, 1, 'a', 1.)]


@case
def a_second_graph(w):
  graph = some_graph()
  other = tf.GraphDef()
  other.node.add(name='n', op='NoOp', device='/gpu:7')
  other.library.function.add().signature.name = 'F'
  return [raw.WriteGraphSummary(writer=w, step=i, tensor=g.SerializeToString())
          for i, g in enumerate((graph, other))]


@case
def graphs_that_are_none(w):
  steps = []
  for inputs in ['missing'], ['^missing'], ['n:x'], ['n:'], ['n:-3', '^n:2', 'n:0:1'], ['n', '^n']:
    graph = tf.GraphDef()
    graph.node.add(name='n', op='NoOp').input.extend(inputs)
    steps.append(raw.WriteGraphSummary(writer=w, step=0, tensor=graph.SerializeToString()))
  twice = tf.GraphDef()
  twice.node.add(name='n')
  twice.node.add(name='n')
  steps.append(raw.WriteGraphSummary(writer=w, step=0, tensor=twice.SerializeToString()))
  steps.append(raw.WriteGraphSummary(writer=w, step=0, tensor=b'\xff'))
  return steps


def event(**fields):
  return tf.Event(**fields).SerializeToString()


def summary(*values):
  return tf.Summary(value=[tf.Summary.Value(**value) for value in values])


@case
def imported_events(w):
  histogram = tf.HistogramProto(bucket_limit=[1, 2], bucket=[3, 4])
  events = [
      event(wall_time=5., step=2, summary=summary(dict(tag='a', simple_value=1.5))),
      event(wall_time=3., step=1, summary=summary(
          dict(tag='a', simple_value=2.5), dict(tag='b', histo=histogram),
          dict(tag='c', image=tf.Summary.Image(width=-2, height=9, encoded_image_string=b'png')),
          dict(tag='d', audio=tf.Summary.Audio(encoded_audio_string=b'wav')),
          dict(tag='e', tensor=tf.make_tensor_proto([[1, 2]])), dict(tag='nothing'))),
      event(step=4, graph_def=some_graph().SerializeToString()),
      event(step=4, file_version='brain.Event:2'), b'\xff',
      event(step=9, summary=summary(
          dict(tag='f', simple_value=1), dict(tag='g', histo=tf.HistogramProto(bucket=[1])),
          dict(tag='not written', simple_value=1))),
      event(step=9, summary=summary(dict(tag='h', tensor=tf.make_tensor_proto([True])))),
      event(step=9, graph_def=b'\xff')]
  return [raw.ImportEvent(writer=w, event=e) for e in events]


@case
def encoded_summaries(w):
  data = summary(dict(tag='a', simple_value=1.5), dict(tag='b', simple_value=-1))
  return [raw.WriteRawProtoSummary(writer=w, step=4, tensor=data.SerializeToString()),
          raw.WriteRawProtoSummary(writer=w, step=4, tensor=b'\xff')]


@case
def flushes(w):
  return [scalar(w, 1, 'a', 1.), raw.FlushSummaryWriter(writer=w), scalar(w, 2, 'a', 1.)]


@case
def nothing(w):
  return []


def later_writers(path, write):
  """Another run of the experiment, the first run again, and one of another user."""
  for run, user in ('first', 'ada'), ('second', 'ada'), ('first', 'ada'), ('first', 'carl'):
    names = dict(experiment_name='experiment', run_name=run, user_name=user)
    write(*graph_of(lambda w: [scalar(w, 1, 'a', 1.), tensor(w, 2, 't', ['x', 'y'])], path, names))


def compare_later_writers(first, second):
  """Two libraries in turn, or one of them, write into one database."""
  with tempfile.TemporaryDirectory(prefix='leat-summaries') as folder:
    path = os.path.join(folder, 'summaries.db')
    later_writers(path, first)
    later_writers(path, second)
    return contents(path)


def mixed():
  want = compare_later_writers(write_with_tensorflow, write_with_tensorflow)
  for pair in ((write_with_leat, write_with_leat), (write_with_leat, write_with_tensorflow),
               (write_with_tensorflow, write_with_leat)):
    got = compare_later_writers(*pair)
    for table, (_, _, rows) in want.items():
      if got[table][2] != rows:
        return '%s after %s: %s, must be %s' % (
            table, pair, *first_difference(got[table][2], rows))
  return ''


def no_places_are_left():
  with tempfile.TemporaryDirectory(prefix='leat-summaries') as folder:
    path = os.path.join(folder, 'summaries.db')
    later_writers(path, write_with_leat)
    database = sqlite3.connect(path)
    left, = database.execute('SELECT count(*) FROM Tensors WHERE dtype IS NULL').fetchone()
    database.close()
    return '%d are' % left if left else ''


for name, build in CASES.items():
  report('a database of ' + name, compare, build)
for title, names in {'without an experiment': dict(experiment_name=''),
                     'without a user': dict(user_name=''), 'without a run': dict(run_name=''),
                     'without names': dict(experiment_name='', run_name='', user_name='')}.items():
  report('a database ' + title, lambda: compare(a_series, **names))
  report('a database with a graph ' + title, lambda: compare(a_graph, **names))
report('a database of several writers', mixed)
report('a database without places that are left', no_places_are_left)
