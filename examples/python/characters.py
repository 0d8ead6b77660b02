"""Text as ids of characters, for the models of language: a file, or made sentences without one."""
import os

import numpy as np

_SUBJECTS = 'the king', 'a fool', 'my lady', 'the ghost', 'our captain', 'this merchant'
_VERBS = 'sees', 'praises', 'mocks', 'follows', 'forgets', 'betrays'


def default_path():
  """tinyshakespeare.txt in $LEAT_DATA_DIR/text, which need not be there."""
  return os.path.join(os.environ.get('LEAT_DATA_DIR', ''), 'text', 'tinyshakespeare.txt')


def _made(sentences=2000):
  random = np.random.RandomState(0)
  pick = lambda words: words[random.randint(len(words))]
  return ''.join('%s %s %s.\n' % (pick(_SUBJECTS), pick(_VERBS), pick(_SUBJECTS))
                 for _ in range(sentences))


class Characters:
  """The text of a file: |training| and |validation|, its last tenth, are int32 arrays of ids."""

  def __init__(self, path):
    if os.path.exists(path):
      with open(path, encoding='utf-8') as f:
        text = f.read()
    else:
      print('No file %s: the text is made.' % path)
      text = _made()
    self.alphabet = sorted(set(text))
    ids = self.encode(text)
    cut = len(ids) * 9 // 10
    self.training, self.validation = ids[:cut], ids[cut:]

  def encode(self, text):
    """An int32 array. A character that the file lacks is a KeyError."""
    place = {character: i for i, character in enumerate(self.alphabet)}
    return np.array([place[character] for character in text], np.int32)

  def decode(self, ids):
    return ''.join(self.alphabet[i] for i in ids)
