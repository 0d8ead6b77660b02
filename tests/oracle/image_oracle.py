"""Files of images through both libraries: the pixels that each op decodes must be the same, and so
must the bytes of the files that it encodes, and whether it fails. The files are made here (all
kinds of PNG from their chunks, GIF by a small encoder, BMP by its head, JPEG by TensorFlow), and
the pictures of $LEAT_DATA_DIR come on top. Files that were cut off or damaged are among them."""
import glob
import os
import struct
import warnings
import zlib

warnings.filterwarnings('ignore')

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

import capi  # noqa: E402
from outcome import report  # noqa: E402

LEAT = capi.Library()
HEIGHT, WIDTH = 45, 61
Y, X = np.mgrid[0:HEIGHT, 0:WIDTH]
RGB = np.stack([X * 4 % 256, Y * 5 % 256, (X + Y) * 3 % 256], 2).astype(np.uint8)
RGB[5:20, 10:40] = np.random.RandomState(1).randint(0, 256, (15, 30, 3))


# ---- Files ---------------------------------------------------------------------------------------
def png(color_type, depth, rows, palette=None, transparency=None, interlaced=False):
  """rows: the bytes of each row of the image (or of each pass)."""
  def chunk(name, data):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
  parts = [chunk(b'IHDR', struct.pack('>IIBBBBB', WIDTH, HEIGHT, depth, color_type, 0, 0,
                                      interlaced))]
  if palette is not None:
    parts.append(chunk(b'PLTE', palette))
  if transparency is not None:
    parts.append(chunk(b'tRNS', transparency))
  parts += [chunk(b'IDAT', zlib.compress(b''.join(b'\0' + r for r in rows))), chunk(b'IEND', b'')]
  return b'\x89PNG\r\n\x1a\n' + b''.join(parts)


def adam7(pixels):
  """The rows of the seven passes over an interlaced image."""
  for y, x, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2),
                       (0, 1, 2, 2), (1, 0, 2, 1)):
    yield from (row.tobytes() for row in pixels[y::dy, x::dx])


def png_files():
  gray, wide = RGB[:, :, 0], RGB.astype('>u2') * 257
  alpha = (X * Y % 256).astype(np.uint8)[:, :, None]
  packed = {d: np.packbits(np.unpackbits((gray >> (8 - d))[:, :, None], 2)[:, :, 8 - d:].reshape(
      HEIGHT, -1), 1) for d in (1, 2, 4)}
  colours = bytes(range(0, 240, 5))
  rows = lambda pixels: [r.tobytes() for r in pixels]  # noqa: E731
  files = {'rgb': png(2, 8, rows(RGB)), 'gray': png(0, 8, rows(gray)),
           'rgba': png(6, 8, rows(np.concatenate([RGB, alpha], 2))),
           'gray_alpha': png(4, 8, rows(np.concatenate([gray[:, :, None], alpha], 2))),
           'rgb16': png(2, 16, rows(wide)), 'gray16': png(0, 16, rows(wide[:, :, 0])),
           'palette': png(3, 8, rows(gray % 16), colours),
           'palette_clear': png(3, 8, rows(gray % 16), colours, bytes([0, 100, 200])),
           'palette4': png(3, 4, rows(packed[4]), colours),
           'gray_clear': png(0, 8, rows(gray), None, struct.pack('>H', 100)),
           'rgb_clear': png(2, 8, rows(RGB), None, struct.pack('>HHH', 4, 5, 6)),
           'interlaced': png(2, 8, adam7(RGB), interlaced=True)}
  files.update(('gray%d' % d, png(0, d, rows(packed[d]))) for d in packed)
  files['cut'] = files['rgb'][:-300]
  files['bad_crc'] = files['rgb'][:100] + b'xx' + files['rgb'][102:]
  files['no_head'] = files['rgb'][:20]
  return {'png_' + k: v for k, v in files.items()}


def lzw(indices):
  """LZW codes of 9 bits that never grow: the table is cleared before it is full."""
  bits = []
  for i, index in enumerate(indices):
    if i % 200 == 0:
      bits.append(256)
    bits.append(int(index))
  bits.append(257)
  data = np.packbits(np.array([[b >> k & 1 for k in range(9)] for b in bits], np.uint8).ravel(),
                     bitorder='little').tobytes()
  return b'\x08' + b''.join(bytes([len(data[i:i + 255])]) + data[i:i + 255]
                            for i in range(0, len(data), 255)) + b'\0'


def gif(*frames):
  """frames: (left, top, indices, the transparent index or None)."""
  parts = [b'GIF89a', struct.pack('<HHBBB', WIDTH, HEIGHT, 0xf7, 0, 0),
           bytes(i * 7 % 256 for i in range(768))]
  for left, top, indices, transparent in frames:
    if transparent is not None:
      parts.append(b'!\xf9\x04\x01\0\0' + bytes([transparent]) + b'\0')
    parts.append(b',' + struct.pack('<HHHHB', left, top, indices.shape[1], indices.shape[0], 0))
    parts.append(lzw(indices.ravel()))
  return b''.join(parts) + b';'


def gif_files():
  one, two = RGB[:, :, 0], RGB[::-1, :, 1]
  files = {'one': gif((0, 0, one, None)), 'two': gif((0, 0, one, None), (0, 0, two, None)),
           'part': gif((0, 0, one, 4), (10, 7, two[:20, :30], 3), (50, 40, two, None))}
  files['cut'] = files['two'][:-500]
  files['cut_in_first'] = files['two'][:1500]
  files['no_head'] = b'GIF89a'
  return {'gif_' + k: v for k, v in files.items()}


def bmp_files():
  def bmp(depth, pixels, height=HEIGHT):
    padding = b'\0' * (-pixels.shape[1] * (depth // 8) % 4)
    head = struct.pack('<IHHI', 0, 0, 0, 54) + struct.pack(
        '<IiiHHIIiiII', 40, WIDTH, height, 1, depth, 0, 0, 0, 0, 0, 0)
    return b'BM' + head + b''.join(r.tobytes() + padding for r in pixels)
  rgba = np.concatenate([RGB, RGB[:, :, :1]], 2)
  files = {'24': bmp(24, RGB), '8': bmp(8, RGB[:, :, 0]), '32': bmp(32, rgba),
           'from_top': bmp(24, RGB, -HEIGHT), '16': bmp(16, RGB[:, :, :2])}
  files['cut'] = files['24'][:-1]
  files['no_head'] = files['24'][:20]
  return {'bmp_' + k: v for k, v in files.items()}


def jpeg_files():
  def jpeg(image=RGB, **attributes):
    return in_tensorflow('EncodeJpeg', {'image': image}, attributes)
  files = {'rgb': jpeg(), 'gray': jpeg(RGB[:, :, :1]), 'progressive': jpeg(progressive=True),
           'whole_colours': jpeg(chroma_downsampling=False), 'coarse': jpeg(quality=10)}
  files['no_end'] = files['rgb'][:-2]
  files['with_tail'] = files['rgb'] + b'junk' * 10
  files['head'] = files['rgb'][:200]
  files['damaged'] = files['rgb'][:900] + b'\xff\xfe\x00' + files['rgb'][903:]
  data = os.environ.get('LEAT_DATA_DIR')
  for path in sorted(glob.glob(os.path.join(data or '', 'images/imagenet_sample/*')))[:8]:
    with open(path, 'rb') as f:
      files[os.path.basename(path)] = f.read()
  return {'jpeg_' + k: v for k, v in files.items()}


# ---- Runs ----------------------------------------------------------------------------------------
def graph_of(op, inputs, attributes):
  with tf.Graph().as_default() as graph:
    fed = {k: tf.placeholder(tf.as_dtype(v.dtype) if isinstance(v, np.ndarray) else tf.string,
                             name=k) for k, v in inputs.items()}
    output = getattr(tf.raw_ops, op)(**fed, **attributes)
  return graph, output.name


def in_tensorflow(op, inputs, attributes):
  graph, name = graph_of(op, inputs, attributes)
  with tf.Session(graph=graph) as session:
    return session.run(name, {k + ':0': v for k, v in inputs.items()})


def in_leat(op, inputs, attributes):
  graph, name = graph_of(op, inputs, attributes)
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  try:
    value = session.run([name], inputs)[0]
  finally:
    session.close()
  return value.item() if value.dtype == object and value.ndim == 0 else value


def compare(op, inputs, attributes):
  try:
    expected = in_tensorflow(op, inputs, attributes)
  except tf.errors.OpError as error:
    expected = error.error_code
  try:
    found = in_leat(op, inputs, attributes)
  except capi.Error as error:
    found = error.code
  if isinstance(expected, np.ndarray) and isinstance(found, np.ndarray):
    if expected.shape != found.shape:
      return 'shape %s, not %s' % (found.shape, expected.shape)
    wrong = int((expected != found).sum())
    return '%d of %d values differ' % (wrong, found.size) if wrong else None
  if type(expected) is not type(found) or expected != found:
    return '%.60r, not %.60r' % (found, expected)
  return None


def all_of(calls):
  """The first difference among several calls."""
  for op, inputs, attributes in calls:
    why = compare(op, inputs, attributes)
    if why:
      return '%s(%s): %s' % (op, attributes, why)
  return None


def decodings(contents, is_bmp):
  contents = np.array(contents, object)
  for op in ('DecodePng', 'DecodeJpeg', 'DecodeBmp', 'DecodeImage'):
    for channels in (0, 1, 3, 4):
      yield op, {'contents': contents}, {'channels': channels}
  yield 'DecodeGif', {'contents': contents}, {}
  yield 'DecodeImage', {'contents': contents}, {'expand_animations': False}
  yield 'ExtractJpegShape', {'contents': contents}, {'output_type': tf.int64}
  if not is_bmp:  # TensorFlow dies of some
    yield 'DecodeImage', {'contents': contents}, {'dtype': tf.float32}
    yield 'DecodeImage', {'contents': contents}, {'dtype': tf.uint16}


def jpeg_decodings(contents):
  contents = np.array(contents, object)
  for attributes in ({'ratio': 2}, {'ratio': 8}, {'dct_method': 'INTEGER_ACCURATE'},
                     {'fancy_upscaling': False}, {'acceptable_fraction': 0.3},
                     {'try_recover_truncated': True}):
    yield 'DecodeJpeg', {'contents': contents}, attributes
  for window in ([0, 0, 10, 12], [7, 9, 20, 33], [3, 50, 1, 1], [0, 0, 10000, 10000]):
    for ratio in (1, 2):
      yield ('DecodeAndCropJpeg',
             {'contents': contents, 'crop_window': np.array(window, np.int32)}, {'ratio': ratio})


def encodings():
  wide = RGB.astype(np.uint16) * 200
  for image in (RGB, RGB[:, :, :1], RGB[:, :, :2], wide, np.stack([RGB, RGB[::-1]])):
    for compression in (-1, 0, 9):
      yield 'EncodePng', {'image': image}, {'compression': compression}
  for image in (RGB, RGB[:, :, :1], RGB[:, :, :2]):
    for attributes in ({}, {'progressive': True}, {'optimize_size': True}, {'quality': 0},
                       {'chroma_downsampling': False}, {'format': 'grayscale'}, {'format': 'rgb'},
                       {'density_unit': 'cm', 'x_density': 7, 'y_density': 9},
                       {'xmp_metadata': '<x/>'}):
      yield 'EncodeJpeg', {'image': image}, attributes
  yield ('EncodeJpegVariableQuality', {'images': RGB, 'quality': np.array(40, np.int32)}, {})


def main():
  files = {'empty': b'', 'text': b'hello world'}
  for made in (png_files, gif_files, bmp_files, jpeg_files):
    files.update(made())
  for name, contents in files.items():
    report('decode_' + name, all_of, decodings(contents, name.startswith('bmp')))
    if name.startswith('jpeg'):
      report('decode_options_' + name, all_of, jpeg_decodings(contents))
  report('encode', all_of, encodings())


main()
