"""A headless Chromium, driven over its DevTools protocol through a pipe; the standard library is
enough for that. Messages are JSON, each with a zero byte behind it."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')


def find():
  """The path of a browser, or None. $LEAT_CHROMIUM names another."""
  given = os.environ.get('LEAT_CHROMIUM')
  return given or next(filter(None, map(shutil.which, NAMES)), None)


class Failure(Exception):
  pass


class Browser:
  """One window. |errors| has what its console said was wrong."""

  def __init__(self, path, width=1280, height=860):
    self.errors, self.results, self.next_id, self.pending = [], {}, 0, b''
    self.profile = tempfile.mkdtemp(prefix='leat-test-board')
    to_read, self.out = os.pipe()
    self.into, to_write = os.pipe()
    # The browser reads from 3 and writes to 4.
    command = 'exec "$@" 3<&%d 4>&%d' % (to_read, to_write)
    arguments = [path, '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
                 '--user-data-dir=' + self.profile, '--no-first-run', '--disable-extensions',
                 '--disable-dev-shm-usage', '--hide-scrollbars', '--mute-audio',
                 '--force-color-profile=srgb',
                 '--window-size=%d,%d' % (width, height), 'about:blank']
    self.process = subprocess.Popen(['bash', '-c', command, 'bash'] + arguments,
                                    pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
    os.close(to_read)
    os.close(to_write)
    self.session = None
    pages = self.call('Target.getTargets')['targetInfos']
    page = next(p['targetId'] for p in pages if p['type'] == 'page')
    self.session = self.call('Target.attachToTarget', targetId=page, flatten=True)['sessionId']
    for domain in ('Page', 'Runtime', 'Log'):
      self.call(domain + '.enable')
    self.resize(width, height)

  def close(self):
    for end in (self.out, self.into):
      os.close(end)
    try:
      self.process.wait(10)
    except subprocess.TimeoutExpired:
      self.process.kill()
      self.process.wait()
    shutil.rmtree(self.profile, ignore_errors=True)

  # ---- messages -------------------------------------------------------------------------------
  def read(self, seconds):
    """Takes the next message; False when none came."""
    while b'\0' not in self.pending:
      if not select.select([self.into], [], [], seconds)[0]:
        return False
      data = os.read(self.into, 1 << 16)
      if not data:
        raise Failure('the browser ended')
      self.pending += data
    message, self.pending = self.pending.split(b'\0', 1)
    self.take(json.loads(message))
    return True

  def take(self, message):
    method, given = message.get('method'), message.get('params', {})
    if 'id' in message:
      self.results[message['id']] = message
    elif method == 'Runtime.exceptionThrown':
      details = given['exceptionDetails']
      self.errors.append(details.get('exception', {}).get('description') or details['text'])
    elif method == 'Log.entryAdded' and given['entry']['level'] == 'error':
      self.errors.append('%s %s' % (given['entry']['text'], given['entry'].get('url', '')))

  def call(self, method, **parameters):
    self.next_id += 1
    message = {'id': self.next_id, 'method': method, 'params': parameters}
    if self.session:
      message['sessionId'] = self.session
    os.write(self.out, json.dumps(message).encode() + b'\0')
    end = time.time() + 60
    while self.next_id not in self.results:
      if not self.read(max(0.0, end - time.time())) and time.time() > end:
        raise Failure('%s was not answered' % method)
    answer = self.results.pop(self.next_id)
    if 'error' in answer:
      raise Failure('%s: %s' % (method, answer['error']['message']))
    return answer['result']

  # ---- what a test does -----------------------------------------------------------------------
  def open(self, url):
    # Another part behind '#' alone would load nothing.
    self.call('Page.navigate', url='about:blank')
    self.call('Page.navigate', url=url)

  def evaluate(self, expression):
    result = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                       awaitPromise=True, userGesture=True)
    if 'exceptionDetails' in result:
      details = result['exceptionDetails']
      raise Failure(details.get('exception', {}).get('description') or details['text'])
    return result['result'].get('value')

  def wait(self, expression, seconds=60):
    """Waits until the expression is true."""
    end = time.time() + seconds
    while True:
      try:
        value = self.evaluate(expression)
        if value:
          return value
      except Failure as failure:
        if time.time() > end:
          raise failure
      if time.time() > end:
        raise Failure('never true: ' + expression)
      self.read(0.05)

  KEYS = {'Enter': (13, '\r'), 'Tab': (9, ''), 'Escape': (27, ''), 'ArrowLeft': (37, ''),
          'ArrowUp': (38, ''), 'ArrowRight': (39, ''), 'ArrowDown': (40, ''), 'Home': (36, ''),
          'End': (35, ''), 'PageDown': (34, ''), ' ': (32, ' ')}

  def press(self, *keys):
    for key in keys:
      code, text = self.KEYS.get(key, (ord(key[0].upper()), key))
      extra = {'text': text} if text else {}
      self.call('Input.dispatchKeyEvent', type='keyDown' if text else 'rawKeyDown', key=key,
                windowsVirtualKeyCode=code, **extra)
      self.call('Input.dispatchKeyEvent', type='keyUp', key=key, windowsVirtualKeyCode=code)

  def click(self, x, y, count=1):
    for n in range(1, count + 1):
      for kind in ('mousePressed', 'mouseReleased'):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=n)

  def resize(self, width, height):
    self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
              mobile=False)

  def has_frame(self, url):
    """Whether a frame of the page shows |url|, and no complaint of the browser instead."""
    frames = self.call('Page.getFrameTree')['frameTree'].get('childFrames', [])
    return any(frame['frame']['url'].startswith(url) for frame in frames)

  def screenshot(self, path, whole=False):
    data = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=whole)['data']
    with open(path, 'wb') as f:
      f.write(base64.b64decode(data))
