"""`leat board` answers as TensorBoard's own server does, on the recorded event files and on ones
that are made here: scalars, histograms, distributions, images, audio, texts, graphs, PR curves of
both generations of summaries; long series, restarts, numbers that JSON has no word for.

TensorBoard runs with --load_fast=false: its other loader samples long series with other random
numbers. Where the two differ on purpose (docs/board.md) the difference is stated here.
"""
import contextlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from google.protobuf import text_format
import numpy as np
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto import graph_pb2
from tensorboard.compat.proto import summary_pb2
from tensorboard.compat.proto import types_pb2
from tensorboard.plugins.audio import metadata as audio_metadata
from tensorboard.plugins.histogram import metadata as histogram_metadata
from tensorboard.plugins.image import metadata as image_metadata
from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
from tensorboard.plugins.scalar import metadata as scalar_metadata
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer import record_writer
from tensorboard.util import tensor_util

from outcome import report

sys.path.insert(0, os.path.join(os.environ['LEAT_SOURCE_DIR'], 'python', 'tests'))
from free_ports import free_port  # noqa: E402

BUILD = os.environ.get('LEAT_BUILD_DIR', 'build')
SETTLE_SECONDS = 60
PNG = b'\x89PNG\r\n\x1a\n' + bytes(range(40))


# ---- servers ------------------------------------------------------------------------------------
class Server:
  def __init__(self, command, url=None):
    self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    text=True)
    self.url = url or json.loads(self.process.stdout.readline())['url'].rstrip('/')

  def get(self, path, form=None, **query):
    """-> status, content type, body."""
    url = self.url + path + ('?' + urllib.parse.urlencode(query, doseq=True) if query else '')
    data = urllib.parse.urlencode(form, doseq=True).encode() if form is not None else None
    try:
      with urllib.request.urlopen(url, data, timeout=60) as reply:
        return reply.status, reply.headers.get_content_type(), reply.read()
    except urllib.error.HTTPError as error:
      return error.code, error.headers.get_content_type(), error.read()

  def json(self, path, **query):
    status, _, body = self.get(path, **query)
    return json.loads(body) if status == 200 else status

  def stop(self):
    self.process.send_signal(signal.SIGTERM)
    return self.process.wait(120)


def wait_for(what, seconds=180):
  deadline = time.time() + seconds
  while time.time() < deadline:
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
      if what():
        return
    time.sleep(0.1)
  raise RuntimeError('a server is not ready after %d seconds' % seconds)


@contextlib.contextmanager
def both(logdir):
  """The two servers on |logdir|, with all of it loaded."""
  port = free_port()
  theirs = Server([sys.executable, '-m', 'tensorboard.main', '--logdir', logdir, '--port',
                   str(port), '--load_fast=false', '--host', '127.0.0.1', '--window_title', ''],
                  'http://127.0.0.1:%d' % port)
  ours = Server([os.path.join(BUILD, 'bin', 'leat'), 'board', '--logdir', logdir, '--port', '0',
                 '--no_cache', '--json'])
  try:
    wait_for(lambda: ours.json('/data/leat/status')['loaded'])
    wait_for(lambda: theirs.json('/data/runs') is not None)  # it answers
    theirs.settles_by = time.monotonic() + SETTLE_SECONDS
    yield ours, theirs
  finally:
    theirs.stop()
    code = ours.stop()
    if code:
      raise RuntimeError('leat board ended with %d' % code)


def settled(servers, compare, *arguments):
  """What compare(servers, ...) finds. TensorBoard loads one run after the other and does not say
  when it is done, so a difference counts that is still there when it has had its time."""
  while True:
    is_last = time.monotonic() > servers[1].settles_by
    found = compare(servers, *arguments)
    if not found or is_last:
      return found
    time.sleep(0.2)


# ---- comparison ---------------------------------------------------------------------------------
def difference(ours, theirs, where=''):
  """Where two answers differ first, or ''."""
  if isinstance(ours, dict) and isinstance(theirs, dict):
    if set(ours) != set(theirs):
      return '%s has %s, must have %s' % (where, sorted(ours)[:8], sorted(theirs)[:8])
    return next(filter(None, (difference(ours[k], theirs[k], '%s/%s' % (where, k)) for k in ours)),
                '')
  if isinstance(ours, list) and isinstance(theirs, list):
    if len(ours) != len(theirs):
      return '%s has %d items, must have %d' % (where, len(ours), len(theirs))
    return next(filter(None, (difference(a, b, '%s[%d]' % (where, i))
                              for i, (a, b) in enumerate(zip(ours, theirs)))), '')
  # repr: 1.0 and 1, and floats that differ in the last digit, are not the same.
  return '' if repr(ours) == repr(theirs) else '%s is %r, must be %r' % (where, ours, theirs)


def same(servers, path, **query):
  ours, theirs = (s.json(path, **query) for s in servers)
  return difference(ours, theirs, path + ('?' + urllib.parse.urlencode(query) if query else ''))


def compare_core(servers):
  ours, theirs = servers
  for path in ('/data/runs', '/data/plugins_listing', '/data/logdir', '/data/window_properties',
               '/data/experiments'):
    found = same(servers, path)
    if found:
      return found
  mine, other = (s.json('/data/environment') for s in servers)
  for answer in (mine, other):
    answer.pop('version')
    answer.pop('debug', None)
  return difference(mine, other, '/data/environment')


def compare_plugin(servers, plugin, data, minimum):
  """The index, and the data of every series; at least |minimum| of them."""
  found = same(servers, '/data/plugin/%s/tags' % plugin)
  if found:
    return found
  count = 0
  for run, tags in servers[0].json('/data/plugin/%s/tags' % plugin).items():
    for tag in tags:
      count += 1
      found = data(servers, plugin, run, tag)
      if found:
        return found
  return '' if count >= minimum else '%d series, must be %d' % (count, minimum)


def plain(servers, plugin, run, tag):
  return same(servers, '/data/plugin/%s/%s' % (plugin, plugin), run=run, tag=tag)


def scalars(servers, plugin, run, tag):
  query = {'run': run, 'tag': tag}
  csv = [s.get('/data/plugin/scalars/scalars', format='csv', **query) for s in servers]
  if csv[0] != csv[1]:
    a, b = (x[2].decode().split('\r\n') for x in csv)
    line = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), -1)
    return 'csv of %s: line %d is %s, must be %s' % (query, line, a[line], b[line])
  return plain(servers, plugin, run, tag)


def multirun(servers):
  runs, tags = servers[0].json('/data/runs'), set()
  for found in servers[0].json('/data/plugin/scalars/tags').values():
    tags.update(found)
  for tag in sorted(tags)[:40]:
    form = {'runs': runs + ['no such run'], 'tag': tag}
    ours, theirs = (json.loads(s.get('/data/plugin/scalars/scalars_multirun', form)[2])
                    for s in servers)
    found = difference(ours, theirs, tag)
    if found:
      return found
  return ''


def blobs(servers, plugin, run, tag):
  """The list of each sample, and every image or sound in it."""
  single = {'images': 'individualImage', 'audio': 'individualAudio'}[plugin]
  samples = servers[0].json('/data/plugin/%s/tags' % plugin)[run][tag]['samples']
  for sample in range(samples):
    path, query = '/data/plugin/%s/%s' % (plugin, plugin), dict(run=run, tag=tag, sample=sample)
    if plugin == 'audio' and any(
        s.get(path, **query)[0] == 500 for s in servers):  # TensorBoard's bound is one too high
      continue
    found = same(servers, path, **query)
    if found:
      return found
    for item in servers[0].json(path, **query):
      ours, theirs = (s.get('/data/plugin/%s/%s?%s' % (plugin, single, item['query']))
                      for s in servers)
      # TensorBoard asks an image library for the type, which wants more than the first bytes.
      if ours[2] != theirs[2] or (plugin == 'audio' and ours != theirs):
        return '%s differs: %s, must be %s' % (item, ours, theirs)
  return ''


def text_difference(ours, theirs):
  """TensorBoard prints the entries of a map in any order and a float with nine digits, Leat by key
  and with as many digits as are needed: the messages are the same."""
  messages = [text_format.Parse(x, graph_pb2.GraphDef()) for x in (ours, theirs)]
  return '' if messages[0] == messages[1] else 'the graphs differ'


def graphs(servers):
  found = same(servers, '/data/plugin/graphs/info')
  if found:
    return found
  for run, info in servers[0].json('/data/plugin/graphs/info').items():
    queries = [{}, dict(limit_attr_size=1024, large_attrs_key='_too_large_attrs')]
    for query in queries if info['run_graph'] else []:
      ours, theirs = (s.get('/data/plugin/graphs/graph', run=run, **query) for s in servers)
      if ours[:2] != theirs[:2]:
        return '%s: %s, must be %s' % (run, ours[:2], theirs[:2])
      found = text_difference(ours[2], theirs[2])
      if found:
        return '%s: %s' % (run, found)
    for tag, item in info['tags'].items():
      if not item['profile']:
        continue
      ours, theirs = (s.get('/data/plugin/graphs/run_metadata', run=run, tag=tag)
                      for s in servers)
      if ours != theirs:
        return 'run metadata of %s, %s differs' % (run, tag)
  return ''


def errors(servers):
  """What is not there, or not asked properly, has the same status."""
  run = servers[0].json('/data/runs')[0]
  for path, query in [
      ('/data/plugin/scalars/scalars', dict(run='none', tag='none')),
      ('/data/plugin/scalars/scalars', dict(run=run)),
      ('/data/plugin/scalars/scalars', {}),
      ('/data/plugin/scalars/scalars_multirun', dict(tag='a')),
      ('/data/plugin/histograms/histograms', dict(run=run, tag='none')),
      ('/data/plugin/distributions/distributions', dict(run=run, tag='none')),
      ('/data/plugin/images/images', dict(run=run, tag='none')),
      ('/data/plugin/audio/audio', dict(run=run, tag='none')),
      ('/data/plugin/text/text', dict(run=run, tag='none')),
      ('/data/plugin/pr_curves/pr_curves', dict(run=run, tag='none')),
      ('/data/plugin/graphs/graph', dict(run='none')),
      ('/data/plugin/graphs/graph', {}),
      ('/data/plugin/graphs/run_metadata', dict(run=run)),
      ('/data/no/such/address', {})]:
    ours, theirs = (s.get(path, **query)[0] for s in servers)
    if ours != theirs:
      return '%s %s gives %d, must give %d' % (path, query, ours, theirs)
  return ''


# ---- logs made here -----------------------------------------------------------------------------
class Log:
  """An event file, written by TensorBoard's own writer of records."""

  def __init__(self, folder, name='1', version='brain.Event:2'):
    os.makedirs(folder, exist_ok=True)
    self.file = open(os.path.join(folder, 'events.out.tfevents.%s.host' % name), 'wb')
    self.writer, self.clock = record_writer.RecordWriter(self.file), 1700000000.25
    if version:
      self.event(file_version=version)

  def event(self, step=0, **fields):
    self.clock += 0.1
    self.writer.write(event_pb2.Event(wall_time=self.clock, step=step, **fields)
                      .SerializeToString())

  def values(self, step, *values):
    self.event(step, summary=summary_pb2.Summary(value=values))

  def tensor(self, step, tag, data, metadata=None, dtype=None):
    self.values(step, summary_pb2.Summary.Value(
        tag=tag, metadata=metadata, tensor=tensor_util.make_tensor_proto(data, dtype=dtype)))

  def simple(self, step, **values):
    self.values(step, *[summary_pb2.Summary.Value(tag=t, simple_value=v)
                        for t, v in values.items()])

  def close(self):
    self.file.close()


def older_histogram(values, bounds):
  counts, _ = np.histogram(values, [-1.8e308] + list(bounds) + [1.8e308])
  return summary_pb2.HistogramProto(
      min=min(values), max=max(values), num=len(values), sum=sum(values),
      sum_squares=sum(v * v for v in values), bucket_limit=list(bounds) + [1.7976931348623157e308],
      bucket=[float(c) for c in counts])


def make_numbers(folder):
  """Scalars of both generations: every way to store one, and numbers of all sizes."""
  log = Log(folder)
  noise = random.Random(7)
  bits = [struct.unpack('<f', struct.pack('<I', noise.getrandbits(32)))[0] for _ in range(300)]
  for step, value in enumerate(bits + [0., -0., 1., 1e16, 1e-5, 0.1, float('inf'), float('-inf'),
                                       float('nan'), 1e22, 123456789., 2.**-149]):
    log.simple(step * 3 - 5, **{'older': value, 'a/b c&d?=%"<é\u2028': value})
  describe = scalar_metadata.create_summary_metadata
  doubles = [noise.uniform(-1, 1) * 10 ** noise.randint(-300, 300) for _ in range(300)]
  for step, value in enumerate(doubles + [2.**n for n in range(-1074, 1000, 37)]):
    log.tensor(step, 'newer', np.float32(step), describe('shown', 'said') if not step else None)
    log.tensor(step, 'double', np.float64(value), describe('', '') if not step else None)
    for kind in (np.float16, np.int32, np.int64, np.uint8, np.bool_):
      tag = np.dtype(kind).name
      proto = tensor_util.make_tensor_proto(kind(step % 100))
      if step % 2 and kind is not np.bool_:  # the same number as bytes
        proto.ClearField('half_val')
        proto.ClearField('int_val')
        proto.ClearField('int64_val')
        proto.tensor_content = kind(step % 100).tobytes()
      log.values(step, summary_pb2.Summary.Value(
          tag=tag, tensor=proto, metadata=describe(tag, '') if not step else None))
  log.tensor(1, 'ownerless', np.float32(3))
  log.close()


def make_long(folder):
  """More points than are kept, of each plugin whose series are thinned."""
  log, histogram = Log(folder), histogram_metadata.create_summary_metadata('h', '')
  for step in range(5300):
    log.simple(step, long=step / 7, **({'late': step} if step > 3000 else {}))
    if step < 1800:
      row = [[step, step + 1.5, 2.], [step + 1.5, step + 2, step % 5]]
      log.tensor(step, 'histogram', np.array(row), histogram if not step else None)
  log.close()


def make_media(folder):
  log = Log(folder)
  value = summary_pb2.Summary.Value
  rng = np.random.RandomState(3)
  text = text_metadata.create_summary_metadata('', '')
  for step in range(25):
    log.values(step, value(tag='older image', image=summary_pb2.Summary.Image(
        width=3, height=2, encoded_image_string=PNG + bytes([step]))))
    log.tensor(step // 2, 'images',
               [b'3', b'2'] + [PNG + bytes([step, i]) for i in range(1 + step % 3)],
               image_metadata.create_summary_metadata('I', 'of images') if not step else None)
    log.values(step, value(tag='older audio', audio=summary_pb2.Summary.Audio(
        sample_rate=44100, num_channels=1, length_frames=2, content_type='audio/wav',
        encoded_audio_string=b'RIFF' + bytes([step]))))
    log.tensor(step, 'audio', [[b'RIFF%d' % step, b'label'], [b'second', b'label']],
               audio_metadata.create_summary_metadata('', '', audio_metadata.Encoding.Value('WAV'))
               if not step else None)
    log.tensor(step, 'text', 'step %d\n\nhas < & > "two" paragraphs é' % step, text)
    log.tensor(step, 'texts', [['a', 'b'], ['c%d' % step, '']], text)
    log.tensor(step, 'list of texts', ['a', 'b & c'], text)
    log.values(step, value(tag='older histogram', histo=older_histogram(
        list(rng.randn(50) * 10 ** rng.randint(-3, 3)), np.linspace(-100, 100, 41))))
    log.tensor(step, 'empty histogram', np.zeros((0, 3)),
               histogram_metadata.create_summary_metadata('', ''))
    edges = np.sort(rng.randn(31))
    log.tensor(step, 'newer histogram', np.stack(
        [edges[:-1], edges[1:], rng.randint(0, 9, 30) * (rng.rand(30) > .3)], 1),
        histogram_metadata.create_summary_metadata('', 'a *description*'.replace('*', '')))
    curve = np.stack([rng.randint(0, 9, 5) for _ in range(4)] + [rng.rand(5), rng.rand(5)])
    curve[:2, 3:] = 0
    log.tensor(step, 'curve', curve.astype(np.float32),
               pr_curve_metadata.create_summary_metadata('PR', '', 5))
  log.values(30, value(tag='older histogram', histo=summary_pb2.HistogramProto(
      min=1.7976931348623157e308, max=-1.7976931348623157e308, bucket_limit=[1.], bucket=[0.])))
  log.close()


def make_restarts(folder):
  """Three starts of one run; and a file of before the session log existed."""
  start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
  for name, first, last in (('1', 0, 1600), ('2', 1500, 1700), ('3', 30, 40)):
    log = Log(os.path.join(folder, 'sessions'), name)
    log.event(first, session_log=start)
    for step in range(first, last):
      log.simple(step, loss=step + int(name) / 10, other=1)
    log.close()
  log = Log(os.path.join(folder, 'old'), version=None)
  for step in list(range(0, 50)) + list(range(20, 30)):
    log.simple(step, a=step)
    if step < 40:
      log.simple(step, b=step)
  log.close()


def make_graphs(folder):
  log = Log(folder)
  graph = graph_pb2.GraphDef()
  for i in range(40):
    node = graph.node.add(name='scope/n%d' % i, op='Const', device='/cpu:0')
    node.input.extend(['a', '^b'][:i % 3])
    node.attr['dtype'].type = types_pb2.DT_FLOAT
    node.attr['f'].f = 10 ** (i - 20) / 3
    node.attr['value'].tensor.CopyFrom(tensor_util.make_tensor_proto(
        np.arange(i * 40, dtype=np.float32) / 3))
    node.attr['text'].s = b'\x00\xff"\\\n' + 'é'.encode()
    node.attr['list'].list.i.extend(range(i))
    node.attr['shape'].shape.dim.add(size=-1)
  graph.versions.producer = 27
  log.event(0, graph_def=graph.SerializeToString())
  log.event(3, graph_def=graph.SerializeToString()[:0])
  log.event(2, graph_def=graph.SerializeToString())
  log.close()
  log = Log(folder + '2')
  log.event(7, graph_def=graph.SerializeToString())
  log.event(7, tagged_run_metadata=event_pb2.TaggedRunMetadata(tag='step 7', run_metadata=b''))
  log.close()


# ---- the cases ----------------------------------------------------------------------------------
PLUGINS = [('scalars', scalars), ('histograms', plain), ('distributions', plain),
           ('images', blobs), ('audio', blobs), ('pr_curves', plain), ('text', plain)]


def compare_all(name, logdir, minimum):
  with both(logdir) as servers:
    report('board %s: runs, plugins, environment' % name, settled, servers, compare_core)
    for plugin, data in PLUGINS:
      report('board %s: %s' % (name, plugin), settled, servers, compare_plugin, plugin, data,
             minimum.get(plugin, 0))
    report('board %s: scalars of many runs' % name, settled, servers, multirun)
    report('board %s: graphs' % name, settled, servers, graphs)
    report('board %s: errors' % name, settled, servers, errors)


def main():
  data = os.path.join(os.environ.get('LEAT_DATA_DIR', '/none'), 'models', 'tfevents')
  if os.path.isdir(data):
    compare_all('recorded', data, dict(scalars=20, histograms=6))
  else:
    print('SKIP board recorded: LEAT_DATA_DIR has no models/tfevents')
  with tempfile.TemporaryDirectory(prefix='leat-board') as folder:
    make_numbers(os.path.join(folder, 'numbers'))
    make_long(os.path.join(folder, 'long', 'run'))
    make_media(os.path.join(folder, 'media'))
    make_restarts(os.path.join(folder, 'restarts'))
    make_graphs(os.path.join(folder, 'graphs'))
    make_numbers(folder)  # the run "."
    compare_all('made', folder, dict(scalars=20, histograms=4, distributions=4, images=2, audio=2,
                                     pr_curves=1, text=3))


if __name__ == '__main__':
  main()
