"""A small Google Cloud Storage in memory: what the file system of tensorflow-io asks for.

Objects are read, listed, written whole or in pieces, copied and deleted, by the JSON API for most
of it and by the XML API where the client prefers that."""
import http.server
import json
import re
import threading
import urllib.parse

OBJECT = re.compile(r'/storage/v1/b/([^/]+)/o/([^/]+)$')


class Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = 'HTTP/1.1'

  def log_message(self, *_):
    pass

  def reply(self, code, body=b'', **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    self.send_response(code)
    for name, value in dict(headers, Content_Length=len(body)).items():
      self.send_header(name.replace('_', '-'), str(value))
    self.end_headers()
    self.wfile.write(body)

  def split(self):
    """The path, and its parameters."""
    url = urllib.parse.urlparse(self.path)
    return url.path, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))

  def content(self):
    return self.rfile.read(int(self.headers.get('Content-Length', 0)))

  def describe(self, name):
    return {'name': name, 'bucket': self.server.bucket, 'generation': '1',
            'size': str(len(self.server.objects[name])),
            'timeStorageClassUpdated': '2026-01-01T00:00:00Z'}

  def do_GET(self):
    path, parameters = self.split()
    if path == '/storage/v1/b/%s/o' % self.server.bucket:
      return self.list(parameters)
    match = OBJECT.match(path)
    name = urllib.parse.unquote(match.group(2) if match else path.split('/', 2)[2])
    if name not in self.server.objects:
      return self.reply(404, {'error': {'code': 404, 'message': 'Not Found'}})
    if match and parameters.get('alt') != 'media':
      return self.reply(200, self.describe(name))
    self.send_part(self.server.objects[name])

  def send_part(self, data):
    part = re.match(r'bytes=(\d+)-(\d*)', self.headers.get('Range', ''))
    if not part:
      return self.reply(200, data)
    begin, end = int(part.group(1)), int(part.group(2) or len(data) - 1) + 1
    if begin >= len(data):
      return self.reply(416)
    self.reply(206, data[begin:end], Content_Range='bytes %d-%d/%d' % (
        begin, min(end, len(data)) - 1, len(data)))

  def list(self, parameters):
    prefix, delimiter = parameters.get('prefix', ''), parameters.get('delimiter', '')
    items, prefixes = [], set()
    for name in sorted(n for n in self.server.objects if n.startswith(prefix)):
      inner = name.find(delimiter, len(prefix)) if delimiter else -1
      if inner < 0:
        items.append(self.describe(name))
      else:
        prefixes.add(name[:inner + 1])
    self.reply(200, {'items': items, 'prefixes': sorted(prefixes)})

  def do_PUT(self):
    path, parameters = self.split()
    if 'session' not in parameters:  # the whole object
      name = urllib.parse.unquote(path.split('/', 2)[2])
      self.server.objects[name] = self.content()
      return self.reply(200)
    name = parameters['session']
    self.server.pieces[name] = self.server.pieces.get(name, b'') + self.content()
    if self.headers['Content-Range'].endswith('*'):  # more will come
      return self.reply(308, Range='bytes=0-%d' % (len(self.server.pieces[name]) - 1))
    self.server.objects[name] = self.server.pieces.pop(name)
    self.reply(200, self.describe(name))

  def do_POST(self):
    path, parameters = self.split()
    body = self.content()
    copy = re.match(r'/storage/v1/b/[^/]+/o/([^/]+)/(?:rewriteTo|copyTo)/b/[^/]+/o/([^/]+)$', path)
    if copy:
      source, target = map(urllib.parse.unquote, copy.groups())
      self.server.objects[target] = self.server.objects[source]
      size = str(len(self.server.objects[target]))
      return self.reply(200, {'done': True, 'objectSize': size, 'totalBytesRewritten': size,
                              'resource': self.describe(target)})
    name = parameters.get('name')
    if parameters['uploadType'] == 'resumable':
      session = urllib.parse.urlencode({'session': name or json.loads(body)['name']})
      return self.reply(200, Location='http://%s/upload?%s' % (self.headers['Host'], session))
    if parameters['uploadType'] == 'multipart':
      boundary = re.search('boundary=(.*)$', self.headers['Content-Type']).group(1)
      _, about, data = body.split(b'--' + boundary.encode())[:3]
      name = name or json.loads(about.split(b'\r\n\r\n', 1)[1])['name']
      body = data.split(b'\r\n\r\n', 1)[1][:-2]
    self.server.objects[name] = body
    self.reply(200, self.describe(name))

  def do_DELETE(self):
    name = urllib.parse.unquote(OBJECT.match(self.split()[0]).group(2))
    self.reply(204 if self.server.objects.pop(name, None) is not None else 404)


def serve(bucket):
  """A running server with |objects|, by name; its address is 127.0.0.1:|server_port|."""
  server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
  server.bucket, server.objects, server.pieces = bucket, {}, {}
  threading.Thread(target=server.serve_forever, daemon=True).start()
  return server
