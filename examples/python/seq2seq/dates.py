"""A task that needs no files: dates as people write them, to be written as 2026-11-28.

The source is a text such as 'Saturday, 28 Nov 2026' or '11/28/2026', a row of character ids padded
with 0. The target always has ten characters, so it needs no mark for its end.
"""
import calendar
import datetime

import numpy as np

ALPHABET = ' ,./-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
PAD, GO = 0, 1  # ids that are no character: padding of sources, and the first input of the decoder
VOCABULARY = 2 + len(ALPHABET)
SOURCE_LENGTH = 29  # of the longest source, 'Wednesday, September 30, 2026'
TARGET_LENGTH = 10

_IDS = {character: i for i, character in enumerate(ALPHABET, 2)}
_FIRST, _LAST = datetime.date(1900, 1, 1).toordinal(), datetime.date(2099, 12, 31).toordinal()
_FORMS = ('{d} {month} {y}', '{d} {mon} {y}', '{month} {d}, {y}', '{mon} {d} {y}',
          '{weekday}, {d} {month} {y}', '{weekday}, {month} {d}, {y}', '{wd} {d} {mon} {y}',
          '{d}.{m}.{y}', '{m}/{d}/{y}')


def pair(random):
  """A date as (source, target), both texts, with numbers from the RandomState |random|."""
  date = datetime.date.fromordinal(random.randint(_FIRST, _LAST + 1))
  weekday, month = calendar.day_name[date.weekday()], calendar.month_name[date.month]
  form = _FORMS[random.randint(len(_FORMS))]
  source = form.format(d=date.day, m=date.month, y=date.year, month=month, mon=month[:3],
                       weekday=weekday, wd=weekday[:3])
  return source, date.isoformat()


def encode(texts, length):
  """Texts as ids: an int32 array [texts, length], and an int32 array of their lengths."""
  ids = np.full([len(texts), length], PAD, np.int32)
  for row, text in zip(ids, texts):
    row[:len(text)] = [_IDS[character] for character in text]
  return ids, np.array([len(text) for text in texts], np.int32)


def decode(ids):
  """The text of a row of ids."""
  return ''.join(ALPHABET[i - 2] for i in ids if i >= 2)


def batch(random, size):
  """(sources [size, SOURCE_LENGTH], their lengths [size], targets [size, TARGET_LENGTH])."""
  sources, targets = zip(*(pair(random) for _ in range(size)))
  return (*encode(sources, SOURCE_LENGTH), encode(targets, TARGET_LENGTH)[0])
