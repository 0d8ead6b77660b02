"""Finds and decodes the files of the data sets that the examples learn from.

The files are looked for below the folder that the environment variable LEAT_DATA_DIR names, under
the names that their publishers gave them: mnist/, cifar10/, ptb/ and text/. A short trial run
(--smoke) takes made data where the files are absent. Made data have something to learn in them,
so that a loss that falls shows that an example works.
"""
import gzip
import lzma
import os
import struct
import tempfile

import numpy as np

CIFAR10_RECORD = 1 + 3 * 32 * 32    # a byte for the label, then the planes red, green, blue


def path_of(*parts):
  """Path of a file or folder below $LEAT_DATA_DIR. FileNotFoundError where it does not exist."""
  path = os.path.join(os.environ.get('LEAT_DATA_DIR', ''), *parts)
  if not os.environ.get('LEAT_DATA_DIR') or not os.path.exists(path):
    raise FileNotFoundError('%s is not there: LEAT_DATA_DIR must name the folder that has it' %
                            os.path.join(*parts))
  return path


# ---- MNIST --------------------------------------------------------------------------------------

def mnist(part, smoke=False):
  """(images float32 [n, 784] from 0 to 1, labels int64 [n]); |part| is 'train' or 't10k'."""
  try:
    images = _idx(path_of('mnist', part + '-images-idx3-ubyte.gz'))
    labels = _idx(path_of('mnist', part + '-labels-idx1-ubyte.gz'))
  except FileNotFoundError:
    if not smoke:
      raise
    images, labels = _made_pictures(1000, 28 * 28, seed=1 if part == 'train' else 2)
  return images.reshape(len(images), -1).astype(np.float32) / 255, labels.astype(np.int64)


def _idx(path):
  """The array of bytes in a gzipped IDX file: its header is two zeros, the type (8), the rank, and
  the sizes as big-endian numbers of 32 bits."""
  with gzip.open(path) as f:
    data = f.read()
  rank = data[3]
  shape = struct.unpack_from('>%dI' % rank, data, 4)
  return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _made_pictures(count, size, seed):
  """Pictures of ten classes: each class is one pattern of short bars, under noise."""
  patterns = np.random.RandomState(0).randint(0, 256, [10, size // 8]).repeat(8, axis=1)
  random = np.random.RandomState(seed)
  labels = random.randint(0, 10, count)
  noise = random.randint(0, 256, [count, size])
  return ((3 * patterns[labels] + noise) // 4).astype(np.uint8), labels


# ---- CIFAR-10 -----------------------------------------------------------------------------------

def cifar10(part, smoke=False):
  """Paths of plain files of CIFAR-10's records; |part| is 'train' or 'test'.

  Readers of a graph take plain files: compressed ones are unpacked once, into the folder for
  temporary files. A trial run has 200 records of each part.
  """
  name = 'data_batch_%d.bin' if part == 'train' else 'test_batch.bin'
  names = [name % i for i in range(1, 6)] if part == 'train' else [name]
  folder = os.path.join(tempfile.gettempdir(),
                        'leat-cifar10-%d%s' % (os.getuid(), '-smoke' if smoke else ''))
  os.makedirs(folder, exist_ok=True)
  paths = [_cifar10_file(name, folder, smoke) for name in names]
  paths = [path for path in paths if path]
  if not paths and smoke:
    images, labels = _made_pictures(200, CIFAR10_RECORD - 1, seed=1 if part == 'train' else 2)
    records = np.concatenate([labels[:, None].astype(np.uint8), images], 1)
    paths = [_write(os.path.join(folder, 'made_' + names[0]), records.tobytes())]
  if not paths:
    path_of('cifar10', names[0])    # raises an error that says what is missing
  return paths


def _cifar10_file(name, folder, smoke):
  """Path of the plain file; None where there is neither |name| nor |name|.xz."""
  try:
    packed = path_of('cifar10', name + '.xz')
  except FileNotFoundError:
    try:
      return path_of('cifar10', name)
    except FileNotFoundError:
      return None
  plain = os.path.join(folder, name)
  if not os.path.exists(plain):
    with lzma.open(packed) as f:
      _write(plain, f.read(200 * CIFAR10_RECORD if smoke else -1))
  return plain


def _write(path, data):
  """Writes the file at once, so that no other process meets half of it."""
  temporary = '%s.%d' % (path, os.getpid())
  with open(temporary, 'wb') as f:
    f.write(data)
  os.replace(temporary, path)
  return path


# ---- Texts --------------------------------------------------------------------------------------

def ptb(smoke=False):
  """(train, valid, test, vocabulary): arrays of word ids of the Penn Treebank, and the list of
  words that the ids mean, the most frequent first. A trial run has 3,000 words of each part."""
  try:
    texts = [_words(path_of('ptb', 'ptb.%s.txt' % part)) for part in ('train', 'valid', 'test')]
  except FileNotFoundError:
    if not smoke:
      raise
    texts = [_made_text(3000, seed) for seed in (1, 2, 3)]
  if smoke:
    texts = [text[:3000] for text in texts]
  vocabulary = by_frequency(texts[0])
  ids = {word: i for i, word in enumerate(vocabulary)}
  train, valid, test = (np.array([ids[w] for w in text if w in ids], np.int32) for text in texts)
  return train, valid, test, vocabulary


def text8(smoke=False):
  """The words of text8 (or of the part of it that is there). A trial run has 20,000."""
  try:
    with open(path_of('text', 'text8_prefix.txt'), encoding='utf-8') as f:
      words = f.read().split()
  except FileNotFoundError:
    if not smoke:
      raise
    words = _made_text(20000, seed=1)
  return words[:20000] if smoke else words


def analogies():
  """The questions of questions-words.txt, in lower case: a list of (a, b, c, d) where a is to b as
  c is to d. Empty where the file is absent."""
  try:
    with open(path_of('text', 'questions-words.txt'), encoding='utf-8') as f:
      lines = [line.lower().split() for line in f if not line.startswith(':')]
  except FileNotFoundError:
    return []
  return [tuple(line) for line in lines if len(line) == 4]


def by_frequency(words):
  """The different words, the most frequent first, those equally frequent by the alphabet."""
  counts = {}
  for word in words:
    counts[word] = counts.get(word, 0) + 1
  return sorted(counts, key=lambda word: (-counts[word], word))


def _words(path):
  """The words of a text with a sentence a line; <eos> ends each sentence."""
  with open(path, encoding='utf-8') as f:
    return f.read().replace('\n', ' <eos> ').split()


def _made_text(count, seed):
  """A text of 100 words in which each word has four that may follow it."""
  follow = np.random.RandomState(0).randint(0, 100, [100, 4])
  choice = np.random.RandomState(seed).randint(0, 4, count)
  words, word = [], 0
  for k in choice:
    word = follow[word, k]
    words.append('w%02d' % word)
  return words
