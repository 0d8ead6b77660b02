"""contrib.learn.preprocessing: categories and words as numbers."""
from __future__ import annotations

import collections
import math
import pickle
import re

from leat._export import export

_TOKENS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


@export('contrib.learn.preprocessing.tokenizer')
def tokenizer(iterator):
  """The words of each text, a list."""
  for value in iterator:
    yield _TOKENS.findall(value)


@export('contrib.learn.preprocessing.CategoricalVocabulary')
class CategoricalVocabulary:
  """Numbers of categories in the order in which they come; 0 is for unknown ones. Until it is
  frozen, a category that is asked for is added."""

  def __init__(self, unknown_token='<UNK>', support_reverse=True):
    self._unknown_token, self._support_reverse = unknown_token, support_reverse
    self._mapping = {unknown_token: 0}
    self._reverse_mapping = [unknown_token] if support_reverse else None
    self._freq = collections.defaultdict(int)
    self._freeze = False

  def __len__(self):
    return len(self._mapping)

  def freeze(self, freeze=True):
    self._freeze = freeze

  def get(self, category):
    """The number of a category."""
    if category not in self._mapping:
      if self._freeze:
        return 0
      self._mapping[category] = len(self._mapping)
      if self._support_reverse:
        self._reverse_mapping.append(category)
    return self._mapping[category]

  def add(self, category, count=1):
    """Counts a category, so often."""
    if self.get(category) > 0:
      self._freq[category] += count

  def trim(self, min_frequency, max_frequency=-1):
    """Keeps those that were counted more than min_frequency times, and less than max_frequency
    where that is positive; the most frequent one has the number 1."""
    kept = [c for c, n in sorted(sorted(self._freq.items(), key=_order), key=lambda item: -item[1])
            if n > min_frequency and (max_frequency <= 0 or n < max_frequency)]
    self._freq = collections.defaultdict(int, {c: self._freq[c] for c in kept})
    self._mapping = {self._unknown_token: 0}
    self._mapping.update({c: n for n, c in enumerate(kept, 1)})
    if self._support_reverse:
      self._reverse_mapping = [self._unknown_token] + kept

  def reverse(self, class_id):
    """The category with a number."""
    if not self._support_reverse:
      raise ValueError('This vocabulary wasn\'t initialized with support_reverse to support '
                       'reverse() function.')
    return self._reverse_mapping[class_id]


def _order(item):
  """Numbers before texts, each by their size."""
  return isinstance(item[0], str), item[0]


@export('contrib.learn.preprocessing.VocabularyProcessor')
class VocabularyProcessor:
  """Texts as the numbers of their words, each int64 [max_document_length], zeros at the end."""

  def __init__(self, max_document_length, min_frequency=0, vocabulary=None, tokenizer_fn=None):
    self.max_document_length, self.min_frequency = max_document_length, min_frequency
    self.vocabulary_ = vocabulary or CategoricalVocabulary()
    self._tokenizer = tokenizer_fn or tokenizer

  def fit(self, raw_documents, unused_y=None):
    """Learns the words of texts."""
    for tokens in self._tokenizer(raw_documents):
      for token in tokens:
        self.vocabulary_.add(token)
    if self.min_frequency > 0:
      self.vocabulary_.trim(self.min_frequency)
    self.vocabulary_.freeze()
    return self

  def fit_transform(self, raw_documents, unused_y=None):
    self.fit(raw_documents)
    return self.transform(raw_documents)

  def transform(self, raw_documents):
    """Yields the numbers of each text."""
    import numpy as np
    for tokens in self._tokenizer(raw_documents):
      ids = np.zeros(self.max_document_length, np.int64)
      for n, token in enumerate(tokens):
        if n >= self.max_document_length:
          break
        ids[n] = self.vocabulary_.get(token)
      yield ids

  def reverse(self, documents):
    """Yields the words of each row of numbers as a text."""
    for ids in documents:
      yield ' '.join(self.vocabulary_.reverse(n) for n in ids)

  def save(self, filename):
    with open(filename, 'wb') as f:
      f.write(pickle.dumps(self))

  @classmethod
  def restore(cls, filename):
    """What save() wrote. The file is a pickle: only one that is trusted may be read."""
    with open(filename, 'rb') as f:
      return pickle.loads(f.read())


@export('contrib.learn.preprocessing.ByteProcessor')
class ByteProcessor:
  """Texts as their bytes, uint8 [max_document_length]."""

  def __init__(self, max_document_length):
    self.max_document_length = max_document_length

  def fit(self, x):
    del x
    return self

  def fit_transform(self, x):
    return self.transform(x)

  def transform(self, x):
    import numpy as np
    for document in x:
      data = document.encode('utf-8') if isinstance(document, str) else bytes(document)
      found = np.frombuffer(data[:self.max_document_length], np.uint8)
      yield np.pad(found, (0, self.max_document_length - len(found)), 'constant')

  def reverse(self, x):
    """Yields the text of each row of bytes."""
    for data in x:
      yield bytes(bytearray(b for b in data if b)).decode('utf-8')


@export('contrib.learn.preprocessing.CategoricalProcessor')
class CategoricalProcessor:
  """Columns of categories as columns of numbers; a number that is not one (nan) is unknown."""

  def __init__(self, min_frequency=0, share=False, vocabularies=None):
    self.min_frequency, self.share, self.vocabularies_ = min_frequency, share, vocabularies

  def freeze(self, freeze=True):
    for vocabulary in self.vocabularies_ or ():
      vocabulary.freeze(freeze)

  def fit(self, x, unused_y=None):
    x = list(x)
    for row in x:
      if self.vocabularies_ is None:
        shared = CategoricalVocabulary()
        self.vocabularies_ = [shared if self.share else CategoricalVocabulary() for _ in row]
      for vocabulary, value in zip(self.vocabularies_, row):
        if not _is_nan(value):
          vocabulary.add(value)
    if self.min_frequency > 0:
      for vocabulary in self.vocabularies_:
        vocabulary.trim(self.min_frequency)
    self.freeze()
    return self

  def fit_transform(self, x, unused_y=None):
    self.fit(x)
    return self.transform(x)

  def transform(self, x):
    """Yields the numbers of each row."""
    import numpy as np
    self.freeze()
    for row in x:
      yield np.array([0 if _is_nan(value) else vocabulary.get(value)
                      for vocabulary, value in zip(self.vocabularies_, row)], np.int64)


def _is_nan(value):
  return isinstance(value, float) and math.isnan(value)
