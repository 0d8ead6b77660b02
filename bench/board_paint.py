#!/usr/bin/env python3
"""When a user of `leat board` sees the first charts: called by bench/board.py

The board is started on a log, and a headless Chromium, which runs already, is sent to its page.
The page itself tells, at each frame that is painted, whether runs are listed and how many of the
cards in view show lines. Times count from the start of the server's process, which the page's
clock is compared with; the browser is sent there as soon as the server has said its address.
"""
import json
import os
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'board'))
import browser

# Notes when the list of runs, the first chart and all charts in view have been painted: a frame
# that finds them in the document was painted before the next one begins.
WATCH = '''
window.seen = {};
(function look() {
  const now = performance.timeOrigin + performance.now();
  const inView = [...document.querySelectorAll('article.card')].filter(card => {
    const box = card.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight;
  });
  const drawn = inView.filter(card => /[0-9]/.test(card.querySelector('.sentence').textContent));
  const state = {runs: document.querySelectorAll('#runs li').length > 0, chart: drawn.length > 0,
                 charts: drawn.length > 0 && drawn.length === inView.length};
  for (const name of window.found || []) window.seen[name] ??= now;
  window.found = Object.keys(state).filter(name => state[name]);
  requestAnimationFrame(look);
})();
'''


class Peak(threading.Thread):
  """The most memory that a process has, looked at every few milliseconds."""

  def __init__(self, pid):
    super().__init__(daemon=True)
    self.pid, self.own_mb, self.resident_mb, self.ends = pid, 0, 0, False
    self.start()

  def run(self):
    while not self.ends:
      try:
        lines = dict(line.split(':', 1) for line in open('/proc/%d/status' % self.pid))
      except OSError:
        return
      if 'RssAnon' in lines:
        self.own_mb = max(self.own_mb, int(lines['RssAnon'].split()[0]) / 1024)
        self.resident_mb = max(self.resident_mb, int(lines['VmRSS'].split()[0]) / 1024)
      time.sleep(0.005)


def settle(pid, seconds=30):
  """Waits until a browser that was just started has nothing to do: it makes parts of its own window
  for some seconds, which would count as the page's time."""
  ticks = os.sysconf('SC_CLK_TCK')
  before = None
  for _ in range(seconds):
    used = processor_ticks(pid)
    if before is not None and used - before < 0.03 * ticks:
      return
    before = used
    time.sleep(1)


def processor_ticks(pid):
  """The processor time of a process and of those that it started, and of theirs."""
  total, wanted = 0, [pid]
  while wanted:
    pid = wanted.pop()
    try:
      with open('/proc/%d/stat' % pid) as f:
        total += sum(map(int, f.read().rsplit(')', 1)[1].split()[11:13]))
      for thread in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/children' % (pid, thread)) as f:
          wanted += map(int, f.read().split())
    except OSError:
      pass
  return total


def first_paint(command, is_loaded, seconds=120):
  """Starts the board and a page of it. Returns what took how long, in seconds, and its memory.
  |is_loaded| is asked with the port until it says so. None without a browser."""
  path = browser.find()
  if not path:
    return None
  page = browser.Browser(path)
  try:
    page.call('Page.addScriptToEvaluateOnNewDocument', source=WATCH)
    settle(page.process.pid)
    begin = time.time()
    server = subprocess.Popen(command + ['--json'], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    peak = Peak(server.pid)
    said = json.loads(server.stdout.readline())
    navigated = time.time()
    page.call('Page.navigate', url=said['url'])
    page.wait('window.seen && window.seen.charts', seconds)
    seen = page.evaluate('window.seen')
    while not is_loaded(said['port']):
      time.sleep(0.02)
    loaded = time.time()
    peak.ends = True
    server.terminate()
    server.wait()
    server.stdout.close()
    times = {name: seen[name] / 1000 - begin for name in ('runs', 'chart', 'charts')}
    return dict(times, listens=navigated - begin, loaded=loaded - begin, own_mb=peak.own_mb,
                resident_mb=peak.resident_mb)
  finally:
    page.close()


def tell(label, figures):
  if figures is None:
    print('  SKIP first paint: there is no Chromium', flush=True)
    return
  print('  %-34s listens %.2f s, runs %.2f s, first chart %.2f s, all charts in view %.2f s '
        '(%.2f s after the page was asked for), all loaded %.2f s; at most %.0f MB own, '
        '%.0f MB resident' % (
            label, figures['listens'], figures['runs'], figures['chart'], figures['charts'],
            figures['charts'] - figures['listens'], figures['loaded'], figures['own_mb'],
            figures['resident_mb']), flush=True)
