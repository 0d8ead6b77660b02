"""Text as ids of characters, for models of language."""
import numpy as np

import data_files

_SUBJECTS = 'the king', 'a fool', 'my lady', 'the ghost', 'our captain', 'this merchant'
_VERBS = 'sees', 'praises', 'mocks', 'follows', 'forgets', 'betrays'


def _made(sentences=2000):
  random = np.random.RandomState(0)
  pick = lambda words: words[random.randint(len(words))]
  return ''.join('%s %s %s.\n' % (pick(_SUBJECTS), pick(_VERBS), pick(_SUBJECTS))
                 for _ in range(sentences))


def _text(path, smoke):
  try:
    path = path or data_files.path_of('text', 'tinyshakespeare.txt')
  except FileNotFoundError:
    if not smoke:
      raise
    return _made()
  with open(path, encoding='utf-8') as f:
    return f.read()


class Characters:
  """The text of a file: |training| and |validation|, its last tenth, are int32 arrays of ids.

  Without a path the file is tinyshakespeare.txt. A trial run has made sentences where that is
  absent, and 3,000 characters for validation at most.
  """

  def __init__(self, path, smoke):
    text = _text(path, smoke)
    self.alphabet = sorted(set(text))
    ids = self.encode(text)
    cut = len(ids) * 9 // 10
    self.training, self.validation = ids[:cut], ids[cut:cut + 3000] if smoke else ids[cut:]

  def encode(self, text):
    """An int32 array. A character that the file lacks is a KeyError."""
    place = {character: i for i, character in enumerate(self.alphabet)}
    return np.array([place[character] for character in text], np.int32)

  def decode(self, ids):
    return ''.join(self.alphabet[i] for i in ids)
