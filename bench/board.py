#!/usr/bin/env python3
"""How fast and how small `leat board` is, beside TensorBoard on the same logs: make bench-board

  speed     one file of scalars, read by one thread: gigabytes a second of processor time, the best
            of three; for events of 100 tags, for events of one tag each, of which 100 take turns,
            and for these in the form of TensorFlow 2, tensors with metadata
  graphs    levels of large graphs (board_graph.py)
  start     runs x tags x steps: the time from the start of the program until all is loaded and the
            first answer is there, and the memory that it has then; at first without an index
            file, then with it (leat), with either loader (TensorBoard)
  paint     the same log, and when a browser shows its first charts (board_paint.py)

usage: bench/board.py [--runs N] [--tags N] [--steps N] [--file-mb N] [--no-graphs]
                      [--no-tensorboard] [--tensorboard-runs N] [--build DIR]

TensorBoard comes from the oracle's environment (dev/oracle_venv.py). It gets a smaller log, 100
runs, since the default of 1,000 takes it many minutes, and `leat board` is measured on that too.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'dev'))
import board_paint


# ---- logs ---------------------------------------------------------------------------------------
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


def varint(n):
  out = bytearray()
  while n > 127:
    out.append(n & 127 | 128)
    n >>= 7
  out.append(n)
  return bytes(out)


def record(data):
  size = struct.pack('<Q', len(data))
  return size + struct.pack('<I', masked_crc(size)) + data + struct.pack('<I', masked_crc(data))


def event(step, tags):
  """An Event with a simple_value for each tag."""
  values = b''
  for i, tag in enumerate(tags):
    value = b'\x0a' + varint(len(tag)) + tag + b'\x15' + struct.pack('<f', (step * 31 + i) / 7)
    values += b'\x0a' + varint(len(value)) + value
  return record(b'\x09' + struct.pack('<d', 1.7e9 + step) + b'\x10' + varint(step) +
                b'\x2a' + varint(len(values)) + values)


def tensor_event(step, tag, number):
  """An Event with a tensor of one float and its metadata, as TensorFlow 2 writes it."""
  value = (b'\x0a' + varint(len(tag)) + tag + b'\x42\x0a\x08\x01\x12\x00\x22\x04' +
           struct.pack('<f', number) + b'\x4a\x0b\x0a\x09\x0a\x07scalars')
  return record(b'\x09' + struct.pack('<d', 1.7e9 + step) + b'\x10' + varint(step) +
                b'\x2a' + varint(len(value) + 2) + b'\x0a' + varint(len(value)) + value)


VERSION = record(b'\x09' + struct.pack('<d', 1.7e9) + b'\x1a\x0dbrain.Event:2')


def names_of(tags):
  return [b'model/layer_%d/loss' % i for i in range(tags)]


def log_of(steps, tags):
  names = names_of(tags)
  return b''.join(event(step, names) for step in range(steps))


# Pieces of logs of 100 tags and 200 steps, by what an event has.
SHAPES = {
    '100 tags an event': lambda: log_of(200, 100),
    '1 tag an event': lambda: b''.join(
        event(step, [name]) for step in range(200) for name in names_of(100)),
    '1 tag an event, as TensorFlow 2 writes it': lambda: b''.join(
        tensor_event(step, name, step / 7) for step in range(200) for name in names_of(100)),
}


def make_runs(folder, runs, log):
  for i in range(runs):
    os.makedirs(os.path.join(folder, 'run_%04d' % i))
    with open(os.path.join(folder, 'run_%04d' % i, 'events.out.tfevents.1.host'), 'wb') as f:
      f.write(log)


# ---- servers ------------------------------------------------------------------------------------
def free_port():
  with socket.socket() as s:
    s.bind(('127.0.0.1', 0))
    return s.getsockname()[1]


def fetch(port, path):
  try:
    with urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path), timeout=600) as reply:
      return json.load(reply)
  except (urllib.error.URLError, ConnectionError):
    return None


def family(pid):
  """The process and those that it started."""
  out = [pid]
  for name in filter(str.isdigit, os.listdir('/proc')):
    try:
      if int(open('/proc/%s/stat' % name).read().rsplit(')', 1)[1].split()[1]) == pid:
        out += family(int(name))
    except OSError:
      pass
  return out


def memory_mb(pid):
  """(what is the process's own, all that is resident), its children's too."""
  own = resident = 0
  for one in family(pid):
    for line in open('/proc/%d/status' % one):
      if line.startswith('RssAnon:'):
        own += int(line.split()[1])
      elif line.startswith('VmRSS:'):
        resident += int(line.split()[1])
  return own / 1024, resident / 1024


def processor_s(pid):
  ticks = 0
  for one in family(pid):
    fields = open('/proc/%d/stat' % one).read().rsplit(')', 1)[1].split()
    ticks += int(fields[11]) + int(fields[12])
  return ticks / os.sysconf('SC_CLK_TCK')


def measure(name, command, port, is_loaded, environment=None):
  """Starts, waits until all is loaded, says what it took."""
  begin = time.time()
  process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=dict(os.environ, **(environment or {})))
  first = None
  while not is_loaded(port):
    if process.poll() is not None:
      raise SystemExit('%s ended with %d' % (name, process.returncode))
    if first is None and fetch(port, '/data/runs'):
      first = time.time() - begin
    time.sleep(0.01)
  seconds = time.time() - begin
  processor, (own, resident) = processor_s(process.pid), memory_mb(process.pid)
  process.send_signal(signal.SIGTERM)
  try:
    process.wait(30)
  except subprocess.TimeoutExpired:
    process.kill()
  print('  %-34s %8.2f s  %8.2f s of processor  %7.0f MB own, %7.0f MB resident' % (
      name, seconds, processor, own, resident), flush=True)
  return seconds, processor


def leat(build, folder, port, cache=None, cpus=None):
  command = ['taskset', '-c', '0'] if cpus == 1 else []
  command += [os.path.join(build, 'bin', 'leat'), 'board', '--logdir', folder, '--port', str(port)]
  return command + (['--cache_dir', cache] if cache else ['--no_cache'])


def leat_is_loaded(port):
  status = fetch(port, '/data/leat/status')
  return status and status['loaded']


def tensorboard_loads(runs, tags, last):
  """TensorBoard does not say when it is done: the last run must have all of its tags and steps."""
  def check(port):
    index = fetch(port, '/data/plugin/scalars/tags')
    if not index or len(index) < runs or any(len(t) < tags for t in index.values()):
      return False
    for run in sorted(index)[-1:]:
      tag = sorted(index[run])[-1]
      points = fetch(port, '/data/plugin/scalars/scalars?run=%s&tag=%s' % (run, tag))
      if not points or points[-1][1] != last:
        return False
    return True
  return check


def measure_speed(build, folder, label, piece, file_mb):
  os.makedirs(folder)
  with open(os.path.join(folder, 'events.out.tfevents.1.host'), 'wb') as f:
    f.write(VERSION)
    while f.tell() < file_mb << 20:
      f.write(piece)
    size = f.tell()
  print('one file of %.0f MB, %s, one processor' % (size / 1e6, label))
  best = None
  for _ in range(3):
    port = free_port()
    _, processor = measure('leat board', leat(build, folder, port, cpus=1), port, leat_is_loaded)
    best = min(best or processor, processor)
  print('  %.2f GB a second of processor time' % (size / 1e9 / best))
  shutil.rmtree(folder)


def measure_starts(build, runs, cache):
  for label, place in (('leat board, no index files', None),
                       ('leat board, writes index files', cache),
                       ('leat board, reads index files', cache)):
    port = free_port()
    measure(label, leat(build, runs, port, place), port, leat_is_loaded)


def measure_paint(build, runs, cache):
  for label in ('leat board, writes index files', 'leat board, reads index files'):
    command = leat(build, runs, free_port(), cache)
    board_paint.tell(label, board_paint.first_paint(command, leat_is_loaded))


def measure_tensorboard(runs, count, tags, steps):
  import oracle_venv
  for fast in ('true', 'false'):
    port = free_port()
    measure('TensorBoard, --load_fast=' + fast,
            [oracle_venv.python(), '-m', 'tensorboard.main', '--logdir', runs, '--port',
             str(port), '--load_fast=' + fast], port, tensorboard_loads(count, tags, steps - 1))


def main():
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('--runs', type=int, default=1000)
  parser.add_argument('--tags', type=int, default=100)
  parser.add_argument('--steps', type=int, default=1000)
  parser.add_argument('--file-mb', type=int, default=1000)
  parser.add_argument('--no-graphs', action='store_true')
  parser.add_argument('--no-tensorboard', action='store_true')
  parser.add_argument('--tensorboard-runs', type=int, default=100)
  parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
  options = parser.parse_args()
  if not options.no_graphs:
    subprocess.check_call([sys.executable, os.path.join(ROOT, 'bench', 'board_graph.py'),
                           '--build', options.build])
  folder = tempfile.mkdtemp(prefix='leat-bench-board')
  try:
    big, runs, fewer, caches = (os.path.join(folder, n) for n in ('big', 'runs', 'fewer', 'cache'))
    for label, make in SHAPES.items():
      measure_speed(options.build, big, label, make(), options.file_mb)
    log = VERSION + log_of(options.steps, options.tags)
    sizes = '%d runs x %d tags x %d steps, %.0f MB'
    print(sizes % (options.runs, options.tags, options.steps, len(log) * options.runs / 1e6))
    make_runs(runs, options.runs, log)
    measure_starts(options.build, runs, caches + '1')
    measure_paint(options.build, runs, caches + '2')
    if not options.no_tensorboard:
      count = min(options.runs, options.tensorboard_runs)
      print(sizes % (count, options.tags, options.steps, len(log) * count / 1e6))
      make_runs(fewer, count, log)
      measure_starts(options.build, fewer, caches + '3')
      measure_tensorboard(fewer, count, options.tags, options.steps)
  finally:
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
  main()
