"""`leat board` answers as TensorBoard's own server does for the plugins whose data are messages of
their own: layouts of custom scalars and the scalars that they name, hyper-parameters, meshes, and
the files of the projector. The servers and the way answers are compared are board_oracle's.
"""
import json
import os
import tempfile
import urllib.error
import urllib.request

from google.protobuf import struct_pb2
import numpy as np
from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as custom_metadata
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.mesh import summary as mesh_summary
import tensorflow.compat.v1 as tf

from board_oracle import Log, both, difference, same, settled
from outcome import report


def first_difference(servers, requests):
  """Of answers to (path, query) in JSON, or of the status of what fails."""
  return next(filter(None, (same(servers, path, **query) for path, query in requests)), '')


# ---- custom scalars -----------------------------------------------------------------------------
def chart(title, *tags):
  return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))


def margin(title, *names):
  series = layout_pb2.MarginChartContent.Series(**dict(zip(('value', 'lower', 'upper'), names)))
  return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))


def layout(*categories, version=0):
  return layout_pb2.Layout(version=version, category=[
      layout_pb2.Category(title=title, chart=charts, closed=closed)
      for title, closed, *charts in categories])


# TensorBoard loses charts that a third run adds to a category of the second run; here only
# categories of the first run are added to.
LAYOUTS = {
    'b': [layout(('A', True, chart('c1', 'loss', 'ac.*'), chart('c3', 'x')),
                 ('B', True, chart('c2', 'loss_.')))],
    'a': [layout(('A', False, chart('c3', 'x')),
                 ('C', False, margin('m', 'v', 'l', 'u'), layout_pb2.Chart(title='empty')),
                 version=3)],
    'c': [layout(('gone', False, chart('c4', 'q'))), layout(('newest', False))],
    'd': [layout(('C', False, chart('<b>&"é', 'q')), ('A', False, chart('z'), chart('z')))],
    'e': []}


def write_custom_scalars(folder):
  for run, layouts in LAYOUTS.items():
    log = Log(os.path.join(folder, run))
    for step in range(30):
      log.simple(step, **{'loss': step / 3, 'loss_2': 1.5, 'acc': step, 'x(1)': 2, 'a/loss': 1})
    for step, one in enumerate(layouts):
      log.tensor(step, 'custom_scalars__config__', one.SerializeToString(),
                 custom_metadata.create_summary_metadata())
    log.close()


PATTERNS = ['loss', 'los', 'oss', 'ac.*', '(?i)LOSS', r'x\(1\)', '[', '', 'loss$', '.*', '^loss',
            'loss|acc', 'a/', r'\w+_\d', '(', 'x*']


def custom_scalars(servers):
  path = '/data/plugin/custom_scalars/'
  found = first_difference(servers, [(path + 'layout', {})] + [
      (path + 'scalars', dict(run=run, tag=tag)) for run in ('a', 'none') for tag in PATTERNS] + [
      (path + 'scalars', dict(run='a')), (path + 'download_data', dict(run='a', tag='none')),
      (path + 'download_data', dict(run='none', tag='loss')),
      ('/data/plugins_listing', {})])
  for query in ({}, dict(format='json'), dict(format='csv'), dict(format='other')):
    answers = [s.get(path + 'download_data', run='b', tag='loss', **query) for s in servers]
    texts = [text if kind == 'text/csv' else text.replace(b', ', b',')
             for _, kind, text in answers]
    if answers[0][:2] != answers[1][:2] or texts[0] != texts[1]:
      found = found or 'download %s gives %s, must give %s' % (query, answers[0], answers[1])
  return found


# ---- hyper-parameters ---------------------------------------------------------------------------
def hparams_content(log, tag, **data):
  log.values(0, summary_pb2.Summary.Value(
      tag=tag, tensor=hparams_metadata.NULL_TENSOR,
      metadata=hparams_metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(**data))))


def hparams_value(x):
  kind = ('bool_value' if isinstance(x, bool) else 'string_value' if isinstance(x, str)
          else 'number_value')
  return struct_pb2.Value(**{kind: x})


def write_session(folder, run, hparams, scalars, status=None, group='', below=(), **start):
  """One run, and runs |below| it that have scalars alone."""
  log = Log(os.path.join(folder, run))
  info = plugin_data_pb2.SessionStartInfo(group_name=group, start_time_secs=100.5, **start)
  for name, value in hparams.items():
    info.hparams[name].CopyFrom(hparams_value(value))
  hparams_content(log, '_hparams_/session_start_info', session_start_info=info)
  for step in range(3):
    log.simple(step, **{tag: x + step for tag, x in scalars.items()})
  if status is not None:
    end = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=200)
    hparams_content(log, '_hparams_/session_end_info', session_end_info=end)
  log.close()
  for name, others in dict(below).items():
    log = Log(os.path.join(folder, run, name))
    for step in range(4):
      log.simple(step, **{tag: x * (step + 1) for tag, x in others.items()})
    log.close()


def write_hparams(folder):
  write_session(folder, 'r1', dict(lr=0.1, opt='adam', flag=True, n=5.), dict(loss=1, acc=0.5), 1,
                below={'eval': dict(loss=7)})
  write_session(folder, 'r2', dict(lr=0.2, opt='sgd', flag=False, n=5.), dict(loss=2), 2,
                monitor_url='http://m', model_uri='there')
  write_session(folder, 'r3', dict(lr=0.1, opt='adam', flag=True, n=5., zero=0.),
                dict(loss=3, acc=0.1))
  # Of a group whose sessions differ TensorBoard takes the hyper-parameters of any.
  for run, status, scalars in (('g1', 3, dict(loss=4)), ('g2', 1, dict(loss=6, acc=2)),
                               ('g3', 1, dict(loss=5, acc=9))):
    write_session(folder, run, dict(lr=0.3, opt='x_%&é', n=5., tiny=3e-10), scalars, status, 'G',
                  monitor_url='m')
  write_session(folder, 'r1/deep', dict(lr=0.7, opt='"quoted" \\ text', mixed=2.),
                dict(loss=100, acc=1e8), 1, below={'x/y': dict(loss=8)})
  write_session(folder, 'last', dict(mixed='a', wide=1e22), {})
  Log(os.path.join(folder, 'no session')).close()


def write_experiment(folder):
  write_hparams(folder)
  experiment = api_pb2.Experiment(name='N', description='D *x*', user='U', time_created_secs=12.5)
  info = experiment.hparam_infos.add(name='lr', display_name='LR', description='<b>', type=3)
  info.domain_interval.max_value = 0.9
  info = experiment.hparam_infos.add(name='opt', type=1)
  info.domain_discrete.values.add().string_value = '"adam'
  info.domain_discrete.values.add().bool_value = True
  experiment.hparam_infos.add(name='unused', type=2)
  loss = api_pb2.MetricName(tag='loss')
  experiment.metric_infos.add(name=loss, display_name='Loss', description='said', dataset_type=2)
  experiment.metric_infos.add(name=api_pb2.MetricName(tag='none', group='g'))
  log = Log(folder)
  hparams_content(log, '_hparams_/experiment', experiment=experiment)
  log.close()


def post(server, path, body):
  """-> the answer, or its status where there is none; lists without an order are sorted."""
  request = urllib.request.Request(server.url + '/data/plugin/hparams/' + path,
                                   json.dumps(body).encode(), {'Content-Type': 'application/json'})
  try:
    with urllib.request.urlopen(request, timeout=60) as reply:
      answer = json.loads(reply.read())
  except urllib.error.HTTPError as error:
    return error.code
  for info in answer.get('hparamInfos', ()) if path == 'experiment' else ():
    if not answer['name'] and info['type'] == 'DATA_TYPE_STRING':
      info['domainDiscrete'].sort()
  return answer


LOSS, ACC = dict(tag='loss', group=''), dict(tag='acc', group='')
INTERVAL = dict(minValue=0.1, maxValue=0.2)
COLUMNS = [dict(hparam='zero', order=order, missingValuesFirst=first)
           for order in ('ORDER_ASC', 'ORDER_DESC', 0) for first in (False, True)] + [
    dict(hparam='lr', order='ORDER_ASC'), dict(hparam='lr', order=2), dict(hparam='opt', order=1),
    dict(hparam='flag', order=2), dict(hparam='nosuch', order=2), dict(metric=LOSS, order=1),
    dict(metric=dict(tag='loss', group='eval'), order=1), dict(metric=dict(tag='nosuch'), order=1),
    dict(hparam='opt', filterRegexp='da'), dict(hparam='opt', filter_regexp='^x|sg'),
    dict(hparam='lr', filterRegexp='0.1'), dict(hparam='flag', filterRegexp='r'),
    dict(hparam='lr', filterInterval=INTERVAL), dict(hparam='opt', filterInterval=INTERVAL),
    dict(hparam='lr', filterInterval=dict(minValue=0.15)),
    dict(hparam='lr', filterInterval=dict(minValue='-Infinity', maxValue='Infinity')),
    dict(hparam='flag', filterInterval=dict(minValue=1, maxValue=2)),
    dict(hparam='opt', filterDiscrete=['adam', 'x']), dict(hparam='n', filterDiscrete=[]),
    dict(hparam='lr', filterDiscrete=[0.1, 'adam', True]), dict(hparam='flag', filterDiscrete=[1]),
    dict(hparam='flag', filterDiscrete=[True]), dict(hparam='zero', excludeMissingValues=True),
    dict(hparam='zero', filterInterval=dict(minValue=-1, maxValue=1)),
    dict(hparam='zero', filterInterval=dict(minValue=1), exclude_missing_values=True),
    dict(metric=ACC, filterInterval=dict(minValue=2, maxValue=3)),
    dict(metric=ACC, excludeMissingValues=True), dict(excludeMissingValues=True),
    dict(metric=ACC, filterRegexp='2'), dict(hparam='lr', includeInResult=False),
    dict(hparam='lr', includeInResult=True), dict(metric=LOSS, includeInResult=False),
    dict(hparam='lr'), dict(nosuch=1), dict(hparam=5)]


def hparams(servers):
  everything = dict(allowedStatuses=[0, 1, 2, 3], startIndex=0, sliceSize=100)
  requests = [('experiment', body) for body in (
      {}, dict(experimentName=''), dict(includeMetrics=False), dict(hparamsLimit=2), dict(x=1),
      [1])]
  requests += [('session_groups', {**everything, **body}) for body in [
      {}, dict(allowedStatuses=[]), dict(allowedStatuses=[1]), dict(sliceSize=0), dict(x=1),
      dict(allowedStatuses=['STATUS_RUNNING', 'STATUS_UNKNOWN']), dict(startIndex=1, sliceSize=2),
      dict(startIndex=100), dict(startIndex=-1, sliceSize=2), dict(includeMetrics=False),
      dict(allowedStatuses=['NONE']), dict(colParams=1), dict(sliceSize='3'),
      dict(colParams=[dict(hparam='opt', order=1), dict(metric=LOSS, order=2)])] + [
          dict(colParams=[column]) for column in COLUMNS] + [
          dict(aggregationType=kind, **metric) for kind in range(2)
          for metric in ({}, dict(aggregationMetric=ACC))]]
  requests += [('metric_evals', dict(sessionName=run, metricName=dict(tag=tag, group=group)))
               for run, group, tag in (('r1', '', 'loss'), ('r1', 'eval', 'loss'),
                                       ('r1', 'eval', 'none'), ('', 'r1/eval', 'loss'),
                                       ('r1/deep', 'x/y', 'loss'), ('none', '', 'loss'))]
  requests += [('metric_evals', {})]
  for path, body in requests:
    found = difference(*(post(s, path, body) for s in servers), '%s %s' % (path, body))
    if found:
      return found
  # TensorBoard fails where a session of any group lacks the metric.
  for kind in ('AGGREGATION_MEDIAN', 'AGGREGATION_MIN', 'AGGREGATION_MAX'):
    body = {**everything, 'allowedStatuses': [1, 3], 'aggregationType': kind,
            'aggregationMetric': LOSS}
    found = difference(*(post(s, 'session_groups', body) for s in servers), kind)
    if found:
      return found
  for form in ('csv', 'json', 'latex', 'none'):
    for visible in ([True] * 30, [True, False, True], []):
      answers = [s.get('/data/plugin/hparams/download_data', request=json.dumps(everything),
                       format=form, columnsVisibility=json.dumps(visible)) for s in servers]
      if form == 'json':
        answers = [(code, kind, json.loads(text)) for code, kind, text in answers]
      if form == 'none':
        answers = [(code,) for code, _, _ in answers]
      if answers[0] != answers[1]:
        return 'download as %s: %s, must be %s' % (form, *answers)
  return ''


# ---- the projector ------------------------------------------------------------------------------
def write_checkpoint(folder, **variables):
  """The newest checkpoint of |folder|, which gets events too, so that it is a run."""
  Log(folder).close()
  graph = tf.Graph()
  with graph.as_default(), tf.Session() as session:
    for name, value in variables.items():
      tf.Variable(value, name=name)
    session.run(tf.global_variables_initializer())
    tf.train.Saver().save(session, os.path.join(folder, 'model.ckpt'), global_step=3)


CONFIG = '''
embeddings { tensor_name: "emb:0" metadata_path: "meta.tsv" bookmarks_path: "b.json"
  sprite { image_path: "s.png" single_image_dim: 8 single_image_dim: 4 } }
embeddings { tensor_name: "table" tensor_path: "t.tsv" metadata_path: "no such file" }
embeddings { tensor_name: "bytes" tensor_path: "t.bytes" tensor_shape: 5 tensor_shape: 2 }
embeddings { tensor_name: "nosuch" }
'''


def write_projector(folder):
  rng = np.random.RandomState(0)
  one = os.path.join(folder, 'one')
  write_checkpoint(one, emb=rng.randn(30, 5).astype('f'), double=rng.randn(3, 4),
                   vector=rng.randn(7).astype('f'), cube=rng.randn(3, 4, 5).astype('f'),
                   whole=rng.randint(-9, 9, (6, 3)))
  write_checkpoint(os.path.join(folder, 'plain'), w=rng.randn(12, 4).astype('f'),
                   row=rng.randn(1, 9).astype('f'), truth=rng.rand(4, 2) > 0.5)
  Log(os.path.join(folder, 'nothing')).close()
  outside = os.path.join(folder, 'outside')
  Log(outside).close()
  np.savetxt(os.path.join(one, 't.tsv'), rng.randn(8, 3), delimiter='\t')
  rng.randn(5, 2).astype('f').tofile(os.path.join(one, 't.bytes'))
  for name, text in (('meta.tsv', 'name\tlabel\n' + ''.join('n%dé\t%d\n' % (i, i % 3)
                                                          for i in range(30))),
                     ('b.json', '[{"a": 1}]'), ('s.png', 'a picture'),
                     ('projector_config.pbtxt', CONFIG)):
    with open(os.path.join(one, name), 'w', encoding='utf-8') as f:
      f.write(text)
  with open(os.path.join(outside, 'projector_config.pbtxt'), 'w', encoding='utf-8') as f:
    f.write('embeddings { tensor_name: "x" tensor_path: "../one/t.tsv"'
            ' metadata_path: "/etc/passwd" }')


def projector_info(server, run):
  """What is known of |run|; matrices that only the checkpoint names come in any order."""
  info = server.json('/data/plugin/projector/info', run=run)
  if isinstance(info, dict):
    info['embeddings'].sort(key=lambda e: e['tensorName'])
  return info


def projector(servers):
  path, runs = '/data/plugin/projector/', ['one', 'plain', 'nothing', 'outside', 'nosuch']
  found = difference(*(sorted(s.json(path + 'runs')) for s in servers), 'runs')
  for run in runs:
    found = found or difference(*(projector_info(s, run) for s in servers), run)
  names = ['emb', 'emb:0', 'table', 'bytes', 'nosuch', 'vector', 'cube', 'double', 'whole', 'w',
           'row', 'truth', 'x']
  for what in ('tensor', 'metadata', 'bookmarks', 'sprite_image'):
    for query in [dict(run=run, name=name, **more) for run in runs for name in names
                  for more in ({}, dict(num_rows=3))] + [
                      dict(run='one'), dict(name='emb'), dict(run='one', name='emb', num_rows=0),
                      dict(run='one', name='emb', num_rows='x')]:
      ours, theirs = (s.get(path + what, **query) for s in servers)
      if ours[0] != theirs[0] or (ours[0] == 200 and ours != theirs):
        found = found or '%s %s: %s, must be %s' % (what, query, ours, theirs)
  return found


# ---- meshes -------------------------------------------------------------------------------------
def write_meshes(folder):
  log, rng = Log(folder), np.random.RandomState(1)
  vertices, faces = rng.randn(2, 5, 3).astype('f'), rng.randint(0, 5, (2, 4, 3))
  colours = rng.randint(0, 255, (2, 5, 3)).astype('uint8')

  def put(step, name, **parts):
    summary = mesh_summary.pb(name, **parts).SerializeToString()
    log.values(step, *summary_pb2.Summary.FromString(summary).value)

  for step in range(4):
    put(step, 'full', vertices=vertices + step, faces=faces, colors=colours,
        config_dict={'camera': {'cls': 'PerspectiveCamera', 'fov': 75}})
  put(0, 'points é', vertices=vertices[:1])
  put(3, 'points é', vertices=vertices[:1] * 2)
  put(1, 'colours', vertices=vertices, colors=colours, display_name='Shown', description='<b>')
  log.close()


def meshes(servers):
  path = '/data/plugin/mesh/'
  found = first_difference(servers, [(path + 'tags', {})] + [
      (path + 'meshes', dict(run=run, tag=tag, sample=0))
      for run in ('a', 'none') for tag in ('full', 'points é', 'colours', 'none', 'full_VERTEX')])
  for query in [dict(run=run, tag=tag, content_type=kind, step=step, sample=sample)
                for run in ('a', 'none') for tag in ('full', 'points é', 'colours', 'none')
                for kind in ('VERTEX', 'FACE', 'COLOR', 'X') for step in (0, 3, 7)
                for sample in (0, -1)] + [
                    dict(run='a', tag='full', content_type='VERTEX'), dict(run='a', tag='full')]:
    ours, theirs = (s.get(path + 'data', **query) for s in servers)
    if ours[0] != theirs[0] or (ours[0] == 200 and ours[2] != theirs[2]):
      found = found or 'data of %s: %s, must be %s' % (query, ours, theirs)
  return found


def main():
  with tempfile.TemporaryDirectory(prefix='leat-board') as folder:
    report('board custom scalars: none', without_layouts, os.path.join(folder, 'none'))
    folder = os.path.join(folder, 'all')
    write_custom_scalars(folder)
    with both(folder) as servers:
      report('board custom scalars: layout, scalars by patterns', settled, servers, custom_scalars)
    for name, write in (('sessions', write_hparams), ('an experiment', write_experiment)):
      write(os.path.join(folder, name))
      with both(os.path.join(folder, name)) as servers:
        report('board hparams: %s' % name, settled, servers, hparams)
    write_projector(os.path.join(folder, 'projector'))
    with both(os.path.join(folder, 'projector')) as servers:
      report('board projector: files and tensors', settled, servers, projector)
    write_meshes(os.path.join(folder, 'meshes', 'a'))
    with both(os.path.join(folder, 'meshes')) as servers:
      report('board mesh', settled, servers, meshes)


def without_layouts(folder):
  Log(os.path.join(folder, 'a')).close()
  with both(folder) as servers:
    return settled(servers, same, '/data/plugin/custom_scalars/layout')


if __name__ == '__main__':
  main()
