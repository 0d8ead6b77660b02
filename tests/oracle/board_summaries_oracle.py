"""The summaries of leat/summary.h are those that TensorBoard's own functions make of the same
arguments, and TensorBoard's server shows our files as `leat board` does: texts, images, sound,
RunMetadata, curves of precision and recall, layouts, and hyper-parameters.

What is different on purpose stands where it is compared: the tag of a curve is the program's, with
no `/pr_curves` behind it, and all values say that they are tensors (data_class), which TensorBoard
says of them when it reads them.
"""
import ctypes
import json
import os
import tempfile

import numpy as np
from tensorboard.compat.proto import config_pb2
from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom_summary
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.hparams import summary as hparams_summary
from tensorboard.plugins.pr_curve import summary as pr_curve_summary
from tensorboard.util import tensor_util

from board_oracle import PNG, both, difference, same
from board_plugins_oracle import post
import capi
from outcome import report

P, TEXT, INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
LEAT = capi.Library()


def structure(name, *fields):
  return type(name, (ctypes.Structure,), {'_fields_': list(fields)})


Curve = structure('Curve', ('labels', P), ('predictions', P), ('weights', P),
                  ('count', ctypes.c_size_t), ('threshold_count', INT))
Margin = structure('Margin', ('value', TEXT), ('lower', TEXT), ('upper', TEXT))
Chart = structure('Chart', ('title', TEXT), ('tags', ctypes.POINTER(TEXT)), ('tag_count', INT),
                  ('margins', ctypes.POINTER(Margin)), ('margin_count', INT))
Category = structure('Category', ('title', TEXT), ('charts', ctypes.POINTER(Chart)),
                     ('chart_count', INT), ('is_closed', INT))
Hparam = structure('Hparam', ('name', TEXT), ('kind', INT), ('number', ctypes.c_double),
                   ('text', TEXT), ('truth', INT))
Start = structure('Start', ('hparams', ctypes.POINTER(Hparam)), ('hparam_count', INT),
                  ('group', TEXT))
Info = structure('Info', ('name', TEXT), ('title', TEXT), ('kind', INT), ('low', ctypes.c_double),
                 ('high', ctypes.c_double), ('texts', ctypes.POINTER(TEXT)), ('text_count', INT))
Metric = structure('Metric', ('tag', TEXT), ('group', TEXT), ('title', TEXT))
Experiment = structure('Experiment', ('description', TEXT), ('hparams', ctypes.POINTER(Info)),
                       ('hparam_count', INT), ('metrics', ctypes.POINTER(Metric)),
                       ('metric_count', INT))


def call(name, *arguments, result=None):
  function = getattr(LEAT.handle, name)
  function.restype = result
  function.argtypes = [P if isinstance(a, ctypes.Structure) else type(a) for a in arguments] + [P]
  got = function(*[ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments],
                 LEAT.status)
  LEAT.check()
  return got


def made(name, *arguments):
  """The only value of a summary that a function made, and its metadata without the data class."""
  buffer = call(name, *arguments, result=ctypes.POINTER(capi.Buffer)).contents
  value, = summary_pb2.Summary.FromString(ctypes.string_at(buffer.data, buffer.length)).value
  if value.metadata.data_class != summary_pb2.DATA_CLASS_TENSOR:
    raise ValueError('the data class is %d' % value.metadata.data_class)
  value.metadata.ClearField('data_class')
  return value


def array(kind, items):
  return (kind * max(len(items), 1))(*items)


# ---- values beside those of TensorBoard's functions ----------------------------------------------
def curve_of(labels, predictions, weights, thresholds):
  """The arrays must outlive the structure, and so are returned beside it."""
  kept = [np.asarray(x, np.float32) for x in (labels, predictions)]
  kept.append(None if weights is None else np.asarray(weights, np.float32))
  return Curve(*[None if x is None else x.ctypes.data for x in kept], len(labels), thresholds), kept


def curves():
  rng = np.random.RandomState(5)
  for count, thresholds, weighted in ((0, 2, False), (1, 2, False), (7, 3, True), (1000, 201, True),
                                      (5000, 127, False), (300, 70000, True), (999, 11, False)):
    labels = rng.rand(count) < 0.4
    # Rounded ones fall upon thresholds.
    predictions = np.float32(np.round(rng.rand(count), 1 if thresholds == 11 else 4))
    weights = np.float32(rng.rand(count) * 3) if weighted else None
    curve, _ = curve_of(labels, predictions, weights, thresholds)
    ours = made('leat_summary_pr_curve', TEXT(b'c'), curve)
    theirs, = pr_curve_summary.pb('c', labels, predictions, thresholds, weights).value
    theirs = summary_pb2.Summary.Value.FromString(theirs.SerializeToString())
    if theirs.tag != 'c/pr_curves' or ours.tag != 'c' or ours.metadata != theirs.metadata:
      return 'the metadata are %s, must be %s' % (ours.metadata, theirs.metadata)
    a, b = (tensor_util.make_ndarray(v.tensor) for v in (ours, theirs))
    if a.dtype != b.dtype or a.shape != b.shape or not np.allclose(a, b, rtol=2e-7, atol=1e-4):
      return '%d at %d thresholds: differs' % (count, thresholds)
    if not weighted and not np.array_equal(a[:4], b[:4]):
      return '%d at %d thresholds: counts differ' % (count, thresholds)
  return ''


def layout_value():
  lines = Chart(b'c', array(TEXT, [b'lo.s', 'é'.encode()]), 2, None, 0)
  bands = Chart(b'm', None, 0, array(Margin, [Margin(b'v', b'l', b'u')]), 1)
  return array(Category, [Category(b'A', array(Chart, [lines, bands]), 2, 1),
                          Category(b'B', None, 0, 0)])


def layouts():
  function = LEAT.handle.leat_summary_layout
  function.restype, function.argtypes = ctypes.POINTER(capi.Buffer), [P, INT, P]
  buffer = function(layout_value(), 2, LEAT.status)
  LEAT.check()
  ours, = summary_pb2.Summary.FromString(
      ctypes.string_at(buffer.contents.data, buffer.contents.length)).value
  ours.metadata.ClearField('data_class')
  series = layout_pb2.MarginChartContent.Series(value='v', lower='l', upper='u')
  layout = layout_pb2.Layout(category=[
      layout_pb2.Category(title='A', closed=True, chart=[
          layout_pb2.Chart(title='c', multiline=layout_pb2.MultilineChartContent(
              tag=['lo.s', 'é'])),
          layout_pb2.Chart(title='m', margin=layout_pb2.MarginChartContent(series=[series]))]),
      layout_pb2.Category(title='B')])
  theirs, = custom_summary.pb(layout).value
  theirs = summary_pb2.Summary.Value.FromString(theirs.SerializeToString())
  if ours.tag != theirs.tag or ours.metadata != theirs.metadata:
    return 'is %s, must be %s' % (ours, theirs)
  read = layout_pb2.Layout.FromString(tensor_util.make_ndarray(ours.tensor).item())
  return '' if read == layout and not ours.tensor.tensor_shape.dim else 'has %s' % read


HPARAMS = [Hparam(b'lr', 3, 0.25, None, 0), Hparam(b'opt', 1, 0, 'é'.encode(), 0),
           Hparam(b'big', 2, 0, None, 7), Hparam(b'empty', 1, 0, b'', 0)]
INFOS = [Info(b'lr', b'rate', 3, 0.5, 2, None, 0),
         Info(b'opt', None, 1, 0, 0, array(TEXT, [b'sgd', b'adam']), 2),
         Info(b'big', None, 2, 0, 0, None, 0), Info(b'any', None, 3, 0, 0, None, 0)]
METRICS = [Metric(b'loss', None, None), Metric(b'acc', b'eval', b'Accuracy')]


def start_of(group):
  return Start(array(Hparam, HPARAMS), len(HPARAMS), group)


def experiment_of():
  return Experiment(b'D *x*', array(Info, INFOS), len(INFOS), array(Metric, METRICS), len(METRICS))


def hparams_pairs():
  """(ours, theirs) of each kind."""
  values = {'lr': 0.25, 'opt': 'é', 'big': True, 'empty': ''}
  yield (made('leat_summary_session_start', start_of(b'G')),
         hparams_summary.session_start_pb(values, group_name='G'))
  for status in range(4):
    yield made('leat_summary_session_end', INT(status)), hparams_summary.session_end_pb(status)
  lr = api_pb2.HParamInfo(name='lr', display_name='rate', type=3)
  lr.domain_interval.min_value, lr.domain_interval.max_value = 0.5, 2
  opt, big = api_pb2.HParamInfo(name='opt', type=1), api_pb2.HParamInfo(name='big', type=2)
  for value in ('sgd', 'adam'):
    opt.domain_discrete.values.add().string_value = value
  for value in (False, True):
    big.domain_discrete.values.add().bool_value = value
  metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag='loss')),
             api_pb2.MetricInfo(name=api_pb2.MetricName(tag='acc', group='eval'),
                                display_name='Accuracy')]
  yield (made('leat_summary_experiment', experiment_of()), hparams_summary.experiment_pb(
      [lr, opt, big, api_pb2.HParamInfo(name='any', type=3)], metrics, description='D *x*'))


def hparams():
  for ours, summary in hparams_pairs():
    theirs, = summary_pb2.Summary.FromString(summary.SerializeToString()).value
    data = []
    for value in (ours, theirs):
      one = plugin_data_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)
      kind = one.WhichOneof('data')
      seconds = {'session_start_info': 'start_time_secs', 'session_end_info': 'end_time_secs',
                 'experiment': 'time_created_secs'}[kind]
      if not 1e9 < getattr(getattr(one, kind), seconds) < 1e11:
        return 'the time of %s is %s' % (kind, one)
      setattr(getattr(one, kind), seconds, 0)
      data.append(one)
      value.metadata.plugin_data.ClearField('content')
    if data[0] != data[1]:
      return 'the data are %s, must be %s' % tuple(data)
    if ours != theirs:
      return 'is %s, must be %s' % (ours, theirs)
  return ''


# ---- the servers beside each other ---------------------------------------------------------------
def wav():
  return (b'RIFF' + (40).to_bytes(4, 'little') + b'WAVEfmt ' + (16).to_bytes(4, 'little') +
          b'\1\0\2\0' + (8000).to_bytes(4, 'little') + (32000).to_bytes(4, 'little') +
          b'\4\0\x10\0data' + (4).to_bytes(4, 'little') + b'\1\0\2\0')


def write(folder):
  """The experiment and the layout above, and one run with all the rest."""
  step, size = ctypes.c_int64, ctypes.c_size_t
  top = P(LEAT.leat_events_open(folder.encode(), LEAT.status))
  LEAT.check()
  call('leat_events_add_experiment', top, experiment_of())
  function = LEAT.handle.leat_events_add_layout
  function.restype, function.argtypes = None, [P, P, INT, P]
  function(top, layout_value(), 2, LEAT.status)
  LEAT.check()
  call('leat_events_close', top)
  run = P(LEAT.leat_events_open(os.path.join(folder, 'run').encode(), LEAT.status))
  LEAT.check()
  call('leat_events_add_session_start', run, start_of(None))
  metadata = config_pb2.RunMetadata()
  metadata.step_stats.dev_stats.add(device='/cpu:0').node_stats.add(node_name='n')
  data = metadata.SerializeToString()
  buffer = LEAT.TF_NewBufferFromString(data, len(data))
  call('leat_events_add_run_metadata', run, step(9), TEXT(b'step 9'), buffer)
  rng = np.random.RandomState(6)
  for at in range(3):
    LEAT.leat_events_add_scalar(run, at, b'loss', at / 2, LEAT.status)
    call('leat_events_add_text', run, step(at), TEXT(b'notes'), TEXT(('a b é %d' % at).encode()))
    call('leat_events_add_image', run, step(at), TEXT(b'cat'), TEXT(PNG), size(len(PNG)), INT(7),
         INT(5))
    call('leat_events_add_audio', run, step(at), TEXT(b'sound'), TEXT(wav()), size(len(wav())))
    curve, _ = curve_of(rng.rand(50) < 0.5, rng.rand(50), None, 21)
    call('leat_events_add_pr_curve', run, step(at), TEXT(b'curve'), curve)
  call('leat_events_add_session_end', run, INT(2))
  call('leat_events_close', run)


def shown(servers):
  ours, _ = servers
  questions = [('/data/runs', {})]
  for plugin in ('scalars', 'images', 'audio', 'text', 'pr_curves'):
    questions.append(('/data/plugin/%s/tags' % plugin, {}))
    if not ours.json(questions[-1][0]).get('run'):
      return '%s has nothing' % plugin
  questions += [('/data/plugin/graphs/info', {}),
                ('/data/plugin/pr_curves/pr_curves', dict(run='run', tag='curve')),
                ('/data/plugin/custom_scalars/layout', {}),
                ('/data/plugin/images/images', dict(run='run', tag='cat', sample=0)),
                ('/data/plugin/text/text', dict(run='run', tag='notes'))]
  for path, query in questions:
    answers = [s.json(path, **query) for s in servers]
    if path.endswith('images/images'):
      for answer in answers:
        for item in answer:
          item.pop('query', None)  # names the blob in a way of its server's own
    found = difference(*answers, path)
    if found:
      return found
  return ''


def blobs(servers):
  for plugin, data, tag in (('images', 'individualImage', 'cat'),
                            ('audio', 'individualAudio', 'sound')):
    bodies = []
    for server in servers:
      item = server.json('/data/plugin/%s/%s' % (plugin, plugin), run='run', tag=tag, sample=0)[-1]
      bodies.append(server.get('/data/plugin/%s/%s?%s' % (plugin, data, item['query'])))
    # The servers tell the type of an image in ways of their own.
    if bodies[0][::2] != bodies[1][::2] or bodies[0][0] != 200:
      return '%s: %s, must be %s' % (tag, *bodies)
  metadata = [s.get('/data/plugin/graphs/run_metadata', run='run', tag='step 9') for s in servers]
  return '' if metadata[0][2].split() == metadata[1][2].split() else 'metadata: %s, %s' % tuple(
      metadata)


def table(servers):
  everything = dict(allowedStatuses=[0, 1, 2, 3], startIndex=0, sliceSize=100)
  for path, body in (('experiment', {}), ('session_groups', everything),
                     ('metric_evals', dict(sessionName='run', metricName=dict(tag='loss')))):
    answers = [post(s, path, body) for s in servers]
    if isinstance(answers[0], int) or 'run' not in json.dumps(answers[0]) and path[0] == 's':
      return '%s gives %s' % (path, answers[0])
    found = difference(*answers, path)
    if found:
      return found
  return same(servers, '/data/plugins_listing')


def main():
  report('board summaries: curves as TensorBoard makes them', curves)
  report('board summaries: a layout as TensorBoard makes it', layouts)
  report('board summaries: hyper-parameters as TensorBoard makes them', hparams)
  with tempfile.TemporaryDirectory(prefix='leat-board') as folder:
    write(folder)
    with both(folder) as servers:
      report('board summaries: TensorBoard shows ours', shown, servers)
      report('board summaries: TensorBoard has the files and RunMetadata', blobs, servers)
      report('board summaries: TensorBoard has the table', table, servers)


if __name__ == '__main__':
  main()
