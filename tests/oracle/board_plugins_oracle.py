"""`leat board` answers as TensorBoard's own server does for the plugins whose data are messages of
their own: layouts of custom scalars and the scalars that they name, hyper-parameters, meshes, and
the files of the projector. The servers and the way answers are compared are board_oracle's.
"""
import os
import tempfile

from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as custom_metadata

from board_oracle import Log, both, same
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


def main():
  with tempfile.TemporaryDirectory(prefix='leat-board') as folder:
    report('board custom scalars: none', without_layouts, os.path.join(folder, 'none'))
    folder = os.path.join(folder, 'all')
    write_custom_scalars(folder)
    with both(folder) as servers:
      report('board custom scalars: layout, scalars by patterns', custom_scalars, servers)


def without_layouts(folder):
  Log(os.path.join(folder, 'a')).close()
  with both(folder) as servers:
    return same(servers, '/data/plugin/custom_scalars/layout')


if __name__ == '__main__':
  main()
