"""Writes a recording of threads by hand, as Perfetto's packets, for tests of the board."""
from event_log import MARKUP, number, text

PROCESS, MAIN, FEEDER, POOL, ASYNCHRONOUS = 7, 100, 101, 102, 0


def packet(body):
  return text(1, body + number(10, 1) + number(58, 3))


def row(uuid, thread, name):
  if thread:
    inside = text(4, number(1, PROCESS) + number(2, thread) + text(5, name))
  else:
    inside = text(2, name) + number(5, PROCESS << 32)
  return packet(text(60, number(1, PROCESS << 32 | uuid) + inside))


def event(uuid, time_us, kind, inside=b''):
  body = inside + number(9, kind) + number(11, PROCESS << 32 | uuid)
  return packet(number(8, 1000000 + int(time_us * 1000)) + text(11, body))


def graph_node(graph, node, device='', outputs='', source='', flops=None):
  """What is known of a node of a graph that ran."""
  inside = (number(1, graph) + text(2, node) + text(4, device) + text(5, outputs) +
            text(6, source) + number(7, 0 if flops is None else flops + 1))
  return packet(text(11, number(11, PROCESS << 32) + text(9900, inside)))


def span(uuid, begin_us, end_us, category, op='', node='', value=0, by=0, within=b'', graph=0):
  """A slice; those within it lie between its beginning and its end."""
  notes = text(4, text(6, node) + text(10, 'node')) if node else b''
  notes += text(4, number(4, value) + text(10, 'number'))
  notes += text(4, number(4, by) + text(10, 'by')) if by else b''
  notes += text(4, number(4, graph) + text(10, 'graph')) if graph else b''
  return (event(uuid, begin_us, 1, notes + text(22, category) + text(23, op or category)) + within +
          event(uuid, end_us, 2))


def write_recording(path):
  """Three steps of a caller. In the second its dequeue waits 3 ms for a feeder, which decodes. A
  kernel's name is markup, and between two steps there are 4,000 kernels of 400 ns. Behind the last
  step the feeder loses its core to another program."""
  steps, feeds, dequeues = b'', b'', b''
  for i, wait in enumerate((100, 3100, 100)):
    at = i * 10000
    inside = span(1, at + 20, at + 40 + wait, 'wait')
    inside += span(1, at + 50 + wait, at + 900 + wait, 'kernel', 'Conv2D', 'conv1', 65536)
    inside += span(1, at + 910 + wait, at + 950 + wait, 'kernel', MARKUP, 'a/' + MARKUP)
    steps += span(1, at, at + 1000 + wait, 'step', value=i + 1, within=inside)
    decode = span(2, at - 90, at + wait - 10, 'kernel', 'DecodePng', 'decode')
    feeds += span(2, at - 100, at + wait + 10, 'step', value=100 + i, within=decode)
    dequeues += span(3, at + 10, at + 10 + wait, 'asynchronous kernel', 'QueueDequeueV2', 'next',
                     by=FEEDER)
  feeds += span(2, 21000, 21090, 'off core', 'preempted by', 'ninja', 1, 4711)
  short = b''.join(span(4, 5000 + i, 5000.4 + i, 'kernel', 'Add', 'short') for i in range(4000))
  with open(path, 'wb') as f:
    f.write(row(1, MAIN, 'main') + steps + row(2, FEEDER, 'feeder') + feeds +
            row(4, POOL, 'leat_pool') + short + row(3, ASYNCHRONOUS, 'asynchronous kernels 1') +
            dequeues)


def write_steps(path, waits, node):
  """Steps with a kernel of |node|, of whose graph all is known, that waits so many microseconds for
  a lock which another thread holds; and a copy on a stream."""
  steps, locked = b'', b''
  for i, wait in enumerate(waits):
    at = i * 10000
    lock = span(1, at + 100, at + 100 + wait, 'lock', by=FEEDER) if wait else b''
    kernel = span(1, at + 50, at + 1050 + wait, 'kernel', 'MatMul', node, 2048, within=lock,
                  graph=1)
    steps += span(1, at, at + 1100 + wait, 'step', value=i + 1, within=kernel)
    locked += span(2, at + 60, at + 110 + wait, 'task', value=0)
  with open(path, 'wb') as f:
    f.write(row(9, 0, 'core 3') + span(9, 0, 1500, 'on core', 'main', by=MAIN) +
            graph_node(1, node, '/job:w/device:CPU:0', 'float [16,32], int32 []', 'model.py:12',
                       64000) +
            row(1, MAIN, 'main') + steps + row(2, FEEDER, 'holder') + locked +
            row(5, 105, 'SIM:0 stream 0') + span(5, 10, 20, 'stream copy', 'copy', 'out') +
            row(6, 0, 'loops 1') +
            span(6, 20, 90, 'loop', node='while_context', value=4,
                 within=span(6, 20, 50, 'iteration', node='while_context', value=0)) +
            row(7, 0, 'memory 1') + span(7, 0, 900, 'memory held', '1.5 MiB', value=1572864))


GREAT_STEP = 2**53 + 1  # which no double is equal to


def write_long_recording(path):
  """Two steps with great numbers, the second an hour after the first, and in it a short kernel."""
  hour = 3600000000
  kernel = span(1, hour + 100, hour + 100.2, 'kernel', 'Add', 'late')
  with open(path, 'wb') as f:
    f.write(row(1, MAIN, 'main') + span(1, 0, 1000, 'step', value=GREAT_STEP) +
            span(1, hour, hour + 2000, 'step', value=GREAT_STEP + 2, within=kernel))
