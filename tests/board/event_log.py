"""Writes event files by hand, with values of every kind that the board shows.

Messages are put together byte by byte, so that a test of the board needs neither Leat's Python
package nor TensorFlow's. Field numbers are those of the formats' .proto files.
"""
import math
import os
import struct
import zlib


def make_table():
  table = []
  for i in range(256):
    crc = i
    for _ in range(8):
      crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    table.append(crc)
  return table


TABLE = make_table()


def masked_crc(data):
  crc = 0xffffffff
  for byte in data:
    crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
  crc ^= 0xffffffff
  return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def record(data):
  size = struct.pack('<Q', len(data))
  return size + struct.pack('<I', masked_crc(size)) + data + struct.pack('<I', masked_crc(data))


# ---- messages -----------------------------------------------------------------------------------
def varint(n):
  out = bytearray()
  n &= (1 << 64) - 1
  while n > 127:
    out.append(n & 127 | 128)
    n >>= 7
  out.append(n)
  return bytes(out)


def number(field, n):
  return varint(field << 3) + varint(n)


def text(field, data):
  data = data.encode() if isinstance(data, str) else data
  return varint(field << 3 | 2) + varint(len(data)) + data


def double(field, x):
  return varint(field << 3 | 1) + struct.pack('<d', x)


def single(field, x):
  return varint(field << 3 | 5) + struct.pack('<f', x)


def doubles(field, values):
  return text(field, struct.pack('<%dd' % len(values), *values))


def metadata(plugin, content=b'', data_class=2, description=''):
  return text(9, text(1, text(1, plugin) + text(2, content)) + text(3, description) +
              number(4, data_class))


def tensor(dtype, dims, rest):
  shape = text(2, b''.join(text(2, number(1, d)) for d in dims))
  return text(8, number(1, dtype) + shape + rest)


# ---- values -------------------------------------------------------------------------------------
def scalar(tag, x):
  return text(1, tag) + single(2, x)


def histogram(tag, values):
  """Of a sorted list of numbers, in 30 buckets."""
  low, high = values[0], values[-1]
  limits = [low + (high - low) * (i + 1) / 30 for i in range(30)]
  counts, at = [], 0
  for limit in limits:
    end = at
    while end < len(values) and values[end] <= limit + 1e-12:
      end += 1
    counts.append(float(end - at))
    at = end
  return text(1, tag) + text(5, double(1, low) + double(2, high) + double(3, len(values)) + double(
      4, sum(values)) + double(5, sum(v * v for v in values)) + doubles(6, limits) +
                             doubles(7, counts))


def buckets(tag, limits, counts):
  return text(1, tag) + text(5, double(1, 0) + double(2, limits[-1]) + double(3, sum(counts)) +
                             doubles(6, limits) + doubles(7, counts))


def png(width, height, pixel):
  """A grey picture; |pixel| gives the value at x, y."""
  return png_bytes(width, height, 8, b''.join(
      b'\0' + bytes(pixel(x, y) for x in range(width)) for y in range(height)))


def png_bytes(width, height, depth, rows):
  def chunk(kind, data):
    return (struct.pack('>I', len(data)) + kind + data +
            struct.pack('>I', zlib.crc32(kind + data)))
  head = struct.pack('>IIBBBBB', width, height, depth, 0, 0, 0, 0)
  return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) +
          chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def image(tag, width, height, pixel):
  return text(1, tag) + text(4, number(1, height) + number(2, width) + number(3, 1) +
                             text(4, png(width, height, pixel)))


def wav(samples, rate):
  data = struct.pack('<%dh' % len(samples), *samples)
  return (b'RIFF' + struct.pack('<I', 36 + len(data)) + b'WAVEfmt ' +
          struct.pack('<IHHIIHH', 16, 1, 1, rate, rate * 2, 2, 16) + b'data' +
          struct.pack('<I', len(data)) + data)


def audio(tag, samples, rate=8000):
  return text(1, tag) + text(6, single(1, rate) + number(2, 1) + number(3, len(samples)) +
                             text(4, wav(samples, rate)) + text(5, 'audio/wav'))


def words(tag, *rows):
  """A text; several make a list."""
  dims = [] if len(rows) == 1 else [len(rows)]
  return (text(1, tag) + tensor(7, dims, b''.join(text(8, row) for row in rows)) +
          metadata('text'))


def pr_curve(tag, quality, thresholds=51):
  rows = [[] for _ in range(6)]
  for i in range(thresholds):
    t = i / (thresholds - 1)
    recall, fall_out = (1 - t) ** (1 / quality), (1 - t) ** quality
    tp, fp = 100 * recall, 100 * fall_out
    row = (tp, fp, 100 - fp, 100 - tp, tp / (tp + fp) if tp + fp else 1.0, recall)
    for column, x in zip(rows, row):
      column.append(x)
  data = struct.pack('<%df' % (6 * thresholds), *[x for row in rows for x in row])
  return (text(1, tag) + tensor(1, [6, thresholds], text(4, data)) +
          metadata('pr_curves', number(2, thresholds)))


def mesh(name, vertices, faces=(), colours=()):
  """One mesh, as a value for each of its parts."""
  parts = [(1, 'VERTEX', 1, 'f', vertices), (2, 'FACE', 3, 'i', faces),
           (3, 'COLOR', 4, 'B', colours)]
  present = [part for part in parts if part[4]]
  components = sum(1 << part[0] for part in present)
  out = []
  for kind, suffix, dtype, form, rows in present:
    content = (text(2, name) + number(3, kind) + text(5, '{}') +
               text(6, varint(1) + varint(len(rows)) + varint(3)) + number(7, components))
    data = struct.pack('<%d%s' % (3 * len(rows), form), *[x for row in rows for x in row])
    out.append(text(1, '%s_%s' % (name, suffix)) + tensor(dtype, [1, len(rows), 3], text(4, data)) +
               metadata('mesh', content))
  return out


def torus(around=24, across=12):
  """Vertices, faces and colours of a ring."""
  vertices, faces, colours = [], [], []
  for i in range(around):
    for k in range(across):
      a, b = 2 * math.pi * i / around, 2 * math.pi * k / across
      r = 2 + 0.8 * math.cos(b)
      vertices.append((r * math.cos(a), 0.8 * math.sin(b), r * math.sin(a)))
      colours.append((int(127 + 120 * math.cos(a)), int(127 + 120 * math.sin(a)), 160))
      here, right = i * across + k, i * across + (k + 1) % across
      up, diagonal = (here + across) % (around * across), (right + across) % (around * across)
      faces += [(here, right, up), (right, diagonal, up)]
  return vertices, faces, colours


def hparams_value(x):
  if isinstance(x, bool):
    return number(4, x)
  return text(3, x) if isinstance(x, str) else double(2, x)


def hparams_session(values, group=''):
  fields = b''.join(text(1, text(1, name) + text(2, hparams_value(x)))
                    for name, x in values.items())
  content = text(3, fields + text(4, group) + double(5, 1.7e9))
  return (text(1, '_hparams_/session_start_info') + tensor(1, [], single(5, 0)) +
          metadata('hparams', content))


def hparams_end(status):
  return (text(1, '_hparams_/session_end_info') + tensor(1, [], single(5, 0)) +
          metadata('hparams', text(4, number(1, status) + double(2, 1.7e9))))


def layout(*categories):
  """Of custom scalars: each category is a title and charts, a chart a title and patterns of tags,
  or a title and the three tags of a line with a band."""
  def content(what):
    if isinstance(what, tuple):
      return text(3, text(1, b''.join(text(i + 1, tag) for i, tag in enumerate(what))))
    return text(2, b''.join(text(1, pattern) for pattern in what))
  message = b''.join(
      text(2, text(1, title) + b''.join(text(2, text(1, name) + content(what))
                                        for name, what in charts.items()))
      for title, charts in categories)
  return (text(1, 'custom_scalars__config__') + tensor(7, [], text(8, message)) +
          metadata('custom_scalars'))


def event(step, *values):
  summary = b''.join(text(1, value) for value in values)
  return record(double(1, 1.7e9 + step) + number(2, step) + text(5, summary))


def graph_event(graph):
  return record(double(1, 1.7e9) + text(4, graph))


def step_event(tag, times, device='/job:localhost/device:CPU:0', graphs=(), more=b''):
  """A recorded step: |times| gives microseconds by the names of nodes, |graphs| are those that the
  devices ran, and |more| are further fields of its RunMetadata."""
  nodes = b''.join(text(2, text(1, name) + number(5, micros) + text(6, number(2, 1024 * micros)))
                   for name, micros in times.items())
  stats = text(1, text(1, device) + nodes)
  return record(double(1, 1.7e9) + number(2, 1) + text(8, text(1, tag) + text(
      2, text(1, stats) + b''.join(text(3, graph) for graph in graphs) + more)))


VERSION = record(double(1, 1.7e9) + text(3, 'brain.Event:2'))


# ---- a graph ------------------------------------------------------------------------------------
def shape_attribute(*dims):
  shape = b''.join(text(2, number(1, d)) for d in dims)
  return text(5, text(1, '_output_shapes') + text(2, text(1, text(7, shape))))


def node_def(name, op, inputs=(), device='', rest=b''):
  return (text(1, name) + text(2, op) + b''.join(text(3, i) for i in inputs) + text(4, device) +
          rest)


def node(*what, **more):
  """The same as a field of a graph."""
  return text(1, node_def(*what, **more))


def stage(name, doc, nodes=(), removed=()):
  """What a stage of compiling has changed, as a field of RunMetadata."""
  return text(1001, text(1, name) + text(2, doc) + b''.join(text(3, n) for n in nodes) +
              b''.join(text(4, n) for n in removed))


def placement(placer, devices, nodes):
  """Reasons by the names of nodes: (reason, beside, microseconds on each device, end)."""
  return text(1002, text(1, placer) + b''.join(text(2, d) for d in devices) + b''.join(
      text(3, text(1, name) + text(2, reason) + text(3, beside) + doubles(4, times) +
           double(5, end)) for name, (reason, beside, times, end) in nodes.items()))


def write_npy(path, values):
  """A list of floats, as numpy writes it."""
  head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }\n" % len(values)
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with open(path, 'wb') as f:
    f.write(b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() +
            struct.pack('<%df' % len(values), *values))


def network(layers=6):
  """A small training graph: layers that are alike, their gradients, a loop and a function."""
  gpu = '/job:localhost/device:GPU:0'
  out = [node('x', 'Placeholder', rest=shape_attribute(-1, 784)),
         node('global_step', 'VariableV2')]
  last = 'x'
  for i in range(layers):
    scope = 'layer_%d/' % i if i else 'input_layer/'
    out += [node(scope + 'weights', 'VariableV2', device=gpu, rest=shape_attribute(784, 784)),
            node(scope + 'MatMul', 'MatMul', [last, scope + 'weights'], gpu,
                 shape_attribute(-1, 784)),
            node(scope + 'bias', 'VariableV2', device=gpu),
            node(scope + 'BiasAdd', 'BiasAdd', [scope + 'MatMul', scope + 'bias'], gpu,
                 shape_attribute(-1, 784)),
            node(scope + 'Relu', 'Relu', [scope + 'BiasAdd'], gpu, shape_attribute(-1, 784))]
    last = scope + 'Relu'
  out += [node('loss/labels', 'Placeholder'),
          node('loss/xent', 'SoftmaxXent', [last, 'loss/labels']),
          node('loss/Mean', 'Mean', ['loss/xent']),
          node('while/Enter', 'Enter', ['global_step']),
          node('while/Merge', 'Merge', ['while/Enter', 'while/Next']),
          node('while/Switch', 'Switch', ['while/Merge']),
          node('while/Add', 'twice', ['while/Switch:1']),
          node('while/Next', 'NextIteration', ['while/Add']),
          node('while/Exit', 'Exit', ['while/Switch'])]
  for i in range(layers):
    scope = 'layer_%d/' % i if i else 'input_layer/'
    out += [node('gradients/%sMatMul_grad' % scope, 'MatMul', ['loss/Mean', scope + 'weights']),
            node('train/update_%d' % i, 'ApplyGradientDescent',
                 [scope + 'weights', 'gradients/%sMatMul_grad' % scope, 'global_step'])]
  for i in range(12):
    out.append(node('summary/value_%d' % i, 'ScalarSummary', ['loss/Mean']))
  signature = text(1, 'twice') + text(2, text(1, 'a'))
  function = (text(1, signature) + text(3, text(1, 'sum') + text(2, 'Add') + text(3, 'a') +
                                        text(3, 'a')) +
              text(4, text(1, 'b') + text(2, 'sum:z:0')))
  return b''.join(out) + text(2, text(1, function))


# ---- a directory of logs ------------------------------------------------------------------------
def normal(count, mean, deviation, seed):
  """Numbers that are about normally distributed, sorted; the same each time."""
  out, state = [], seed * 7919 + 1
  for _ in range(count):
    total = 0
    for _ in range(12):
      state = (state * 1103515245 + 12345) & 0x7fffffff
      total += state / 0x7fffffff
    out.append(mean + deviation * (total - 6))
  return sorted(out)


MARKDOWN = '''# Configuration

A run with **bold** and *slanted* words, `code`, and a [link](https://example.com/).

| name | value |
|------|------:|
| rate | 0.01 |
| <b>batch</b> | 64 |

- first
- second
  - inner

1. one
2. two

> A quotation
> of two lines

```
for x in range(3):  # <not markup>
  print(x)
```
<script>window.broken = 1</script> [bad](javascript:alert(1)) <img src=x onerror="window.broken=1">
'''


def stages(cpu, gpu):
  """What became of the step's part of network(): a constant is folded, a product takes its bias."""
  wanted = [('input_layer/Relu', 'Relu', ['x'], ''), ('x', 'Placeholder', [], ''),
            ('layer_1/weights', 'VariableV2', [], gpu),
            ('layer_1/MatMul', 'MatMul', ['input_layer/Relu', 'layer_1/weights'], gpu),
            ('layer_1/bias', 'VariableV2', [], gpu),
            ('layer_1/BiasAdd', 'BiasAdd', ['layer_1/MatMul', 'layer_1/bias'], gpu),
            ('layer_1/Relu', 'Relu', ['layer_1/BiasAdd'], gpu),
            ('loss/labels', 'Placeholder', [], ''),
            ('loss/xent', 'SoftmaxXent', ['layer_1/Relu', 'loss/labels'], '')]
  nodes = [node_def(*what) for what in wanted]
  fused = 'layer_1/BiasAdd/_fused'
  return (stage('prune', 'leaves out what the step does not need', nodes) +
          stage('fold', 'computes what is constant before the first step',
                [node_def('loss/labels/_folded', 'Const'),
                 node_def('loss/xent', 'SoftmaxXent', ['layer_1/Relu', 'loss/labels/_folded'])],
                ['loss/labels']) +
          stage('cse', 'one node for equal computations') +
          stage('place', 'gives each node a device', [node_def('x', 'Placeholder', device=cpu)]) +
          stage('rules', 'a product and what follows it become one node',
                [node_def(fused, '_FusedMatMul', ['input_layer/Relu', 'layer_1/weights',
                                                  'layer_1/bias'], gpu),
                 node_def('layer_1/Relu', 'Relu', [fused], gpu)],
                ['layer_1/MatMul', 'layer_1/BiasAdd']) +
          placement('greedy', [cpu, gpu], {
              'x': ('only kernel', '', [1, -1], 1),
              'layer_1/bias': ('with its group', 'layer_1/weights', [0, 0], 3),
              'layer_1/Relu': ('earliest end', '', [250, 40], 1200)}))


def write_run(folder, name, rate, steps=60):
  """One run with all there is. Returns the path of its file."""
  out = [VERSION]
  if name == 'train':
    out.append(graph_event(network()))
    cpu, gpu = '/job:localhost/device:CPU:0', '/job:localhost/device:GPU:0'
    out.append(step_event('step 1', {'layer_%d/MatMul' % i: 400 * i for i in range(1, 6)} |
                          {'loss/xent': 90, 'input_layer/MatMul': 1200}, graphs=[
        node('x', 'Placeholder', device=cpu) + node('x/_0', '_Send', ['x'], cpu),
        node('x/_1', '_Recv', device=gpu) +
        node('input_layer/MatMul', '_FusedMatMul', ['x/_1'], gpu)], more=stages(cpu, gpu)))
    dump = os.path.join(folder, name, 'debug', 'run_1')
    write_npy(os.path.join(dump, 'layer_1', 'Relu_0.npy'), [0, 0.5, 2, math.nan, math.inf, 1])
    write_npy(os.path.join(dump, 'layer_2', 'Relu_0.npy'), [0, 0.25, 0.5])
  out.append(event(0, hparams_session({'rate': rate, 'optimizer': 'adam' if rate < 0.05 else 'sgd',
                                       'shuffle': rate < 0.05})))
  out.append(event(0, layout(('Together', {'losses': ['loss/'], 'accuracy': ['acc.*y$']}),
                             ('Bands', {'total': ('loss/total', 'low', 'high')}))))
  for step in range(steps):
    fall = math.exp(-step * rate)
    total = 0.2 + 2 * fall + 0.05 * math.sin(step * 1.7)
    values = [scalar('loss/total', total), scalar('low', total * 0.8), scalar('high', total * 1.3),
              scalar('loss/regularisation', 0.1 * fall + 0.01), scalar('accuracy', 1 - 0.9 * fall)]
    if step % 6 == 0:
      values += [histogram('layer_1/weights', normal(400, fall, 0.3 + 0.5 * (1 - fall), step)),
                 histogram('layer_2/bias', normal(200, 0, 0.1 + fall, step + 1))]
    if step % 15 == 0:
      wide = 4 + step // 3
      values += [image('input/picture', 32, 24,
                       lambda x, y, w=wide: 255 if (x // w + y // w) % 2 else 40 + 4 * x),
                 audio('tone', [int(12000 * math.sin(i * (0.1 + step / 400)))
                                for i in range(4000)]),
                 words('config', MARKDOWN.replace('0.01', str(rate))),
                 words('samples', 'the first sample', 'the <i>second</i> sample'),
                 pr_curve('class_a', 1.2 + step / 20), pr_curve('class_b', 1.5)]
    if step % 20 == 0 and name == 'train':
      ring = torus()
      values += mesh('ring', *ring) + mesh('cloud', [(x * (1 + step / 20), y, z)
                                                     for x, y, z in ring[0]])
    out.append(event(step, *values))
  out.append(event(steps, hparams_end(1)))
  os.makedirs(os.path.join(folder, name), exist_ok=True)
  path = os.path.join(folder, name, 'events.out.tfevents.1.host')
  with open(path, 'wb') as f:
    f.write(b''.join(out))
  return path


MARKUP = '<img src=x onerror="window.broken=1">'


def write_hostile_run(folder):
  """Names with markup, numbers that are none, wrong sizes, a record that breaks off."""
  name = '">' + MARKUP
  nodes = [node(MARKUP + '/' + MARKUP, MARKUP, [MARKUP, '^' + MARKUP, '', ':', '^'], MARKUP),
           node('', ''), node('/', '/', ['/']), node('a/' * 500, 'Deep', ['a/' * 500])]
  nodes += [node('many/%s%d' % (MARKUP, i), 'Op%d' % (i % 3)) for i in range(3000)]
  image_of = text(1, 'picture') + text(4, number(1, 1 << 30) + number(2, -1) + text(4, b'no PNG'))
  # A picture of 400 million points in 50 kB, one that ends early, and lists of other lengths than
  # they must have.
  huge = text(1, 'huge') + text(4, number(1, 20000) + number(2, 20000) + number(3, 1) + text(
      4, png_bytes(20000, 20000, 1, (b'\0' + b'\xaa' * 2500) * 20000)))
  cut = text(1, 'cut') + text(4, number(1, 8) + number(2, 8) + text(4, png(8, 8, max)[:40]))
  buckets = text(1, 'buckets') + text(5, double(1, 0) + double(2, 1) + double(3, 5) + double(4, 1) +
                                      doubles(6, [0, 1, 2]) + doubles(7, [1, 2, 3, 4, 5]))
  short = text(1, 'short') + tensor(1, [6, 51], text(4, b'\0' * 12)) + metadata('pr_curves')
  sound = text(1, 'sound') + text(6, text(4, b'no WAV') + text(5, 'text/html'))
  values = [scalar(MARKUP + '/' + MARKUP, float(x)) for x in ('nan', 'inf', '-inf', 1e38)]
  values += [scalar('many/%d' % i, i) for i in range(300)] + [image_of, sound,
             huge, cut, buckets, short, scalar('long/' + 'x' * 5000, 1),
             histogram(MARKUP, [0.0, 0.0]), histogram('empty', [float('nan')] * 3),
             words('text' + MARKUP, MARKUP, '[x](javascript:window.broken=1)', '![x](data:,x)'),
             *mesh(MARKUP, [(float('nan'), 1e38, float('inf')), (1, 2, 3)],
                   [(0, 1, 7), (-1, 0, 1), (0, 0, 0)], [(1, 2, 3)]),
             words('deep', '>' * 5000 + '*' * 5000 + '[' * 5000), pr_curve('pr' + MARKUP, 1.0, 2)]
  os.makedirs(os.path.join(folder, name))
  with open(os.path.join(folder, name, 'projector_config.pbtxt'), 'w') as f:
    f.write("embeddings { tensor_name: '%s' tensor_path: 'rows.tsv' metadata_path: 'labels.tsv' }"
            'embeddings { tensor_name: "out" tensor_path: "/etc/hostname" }' % MARKUP)
  with open(os.path.join(folder, name, 'rows.tsv'), 'w') as f:
    f.write('1\tnan\n1e30\tinf\n0\t-1e38\n')
  with open(os.path.join(folder, name, 'labels.tsv'), 'w') as f:
    f.write('%s\t%s\n%s\n' % (MARKUP, MARKUP, MARKUP))
  with open(os.path.join(folder, name, 'events.out.tfevents.1.host'), 'wb') as f:
    f.write(record(double(1, 1.8e9) + text(3, 'brain.Event:2')) + graph_event(b''.join(nodes)))
    f.write(event(0, hparams_session({MARKUP: MARKUP}),
                  layout((MARKUP, {MARKUP: ['many/.*', MARKUP], 'broken': ['('], 'none': []}),
                         (MARKUP, {'band': (MARKUP, MARKUP, '')}))))
    for step, value in enumerate(values):
      f.write(event(step % 7, value))
    f.write(struct.pack('<Q', 1 << 62) + b'\0' * 20)  # a record of 4 EiB
    f.write(event(9, scalar('last', 1))[:-5])


def write_many_runs(folder, count):
  """Runs with one scalar each, of two steps."""
  for i in range(count):
    name = os.path.join(folder, 'run_%04d' % i)
    os.makedirs(name)
    with open(os.path.join(name, 'events.out.tfevents.1.host'), 'wb') as f:
      f.write(VERSION + event(0, scalar('loss', 1)) + event(10, scalar('loss', i / 1000)))


def write_narrow_buckets(folder):
  """A tenth of the numbers is nearly 0, in one bucket; the others are anywhere up to 1."""
  os.makedirs(folder, exist_ok=True)
  with open(os.path.join(folder, 'events.out.tfevents.1.host'), 'wb') as f:
    for step in range(3):
      f.write(event(step, buckets('shares', [1e-6] + [(i + 1) / 30 for i in range(30)],
                                  [10.0] + [3.0] * 30)))


def write_many_sessions(folder, count):
  """Runs with a hyper-parameter each, and no more."""
  for i in range(count):
    name = os.path.join(folder, 'run_%04d' % i)
    os.makedirs(name)
    with open(os.path.join(name, 'events.out.tfevents.1.host'), 'wb') as f:
      f.write(VERSION + event(0, hparams_session({'rate': i / 1000})))


def write_embedding(folder):
  """A table of 60 rows for the projector: three groups around three corners, with labels."""
  corners = [(9, 0, 0, 1), (0, 9, 0, 2), (0, 0, 9, 3)]
  noise = normal(240, 0, 0.5, 5)
  with open(os.path.join(folder, 'rows.tsv'), 'w') as f:
    for i in range(60):
      f.write('\t'.join('%.4f' % (x + noise[(i * 37 + k * 61) % 240])
                        for k, x in enumerate(corners[i % 3])) + '\n')
  with open(os.path.join(folder, 'labels.tsv'), 'w') as f:
    f.write('word\tgroup\n' + ''.join('word %d\tgroup %s\n' % (i, 'abc'[i % 3])
                                      for i in range(60)))
  with open(os.path.join(folder, 'sprite.png'), 'wb') as f:
    f.write(png(64, 64, lambda x, y: (x // 8 * 30 + y // 8 * 8) % 256))
  with open(os.path.join(folder, 'projector_config.pbtxt'), 'w') as f:
    f.write('embeddings { tensor_name: "words" tensor_path: "rows.tsv" metadata_path: "labels.tsv"'
            ' sprite { image_path: "sprite.png" single_image_dim: 8 single_image_dim: 8 } }')


def write_logs(folder):
  write_run(folder, 'train', 0.1)
  write_embedding(os.path.join(folder, 'train'))
  write_run(folder, 'eval', 0.03)


if __name__ == '__main__':
  import sys
  write_logs(sys.argv[1])
