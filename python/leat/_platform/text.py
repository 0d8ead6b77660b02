"""tf.compat: texts and bytes."""
from __future__ import annotations

import contextlib
import datetime

from leat._export import export


@export('compat.as_bytes')
def as_bytes(bytes_or_text, encoding='utf-8'):
  """A text as bytes, in UTF-8 or the encoding; bytes are given back. TypeError for anything else.
  """
  if isinstance(bytes_or_text, bytearray):
    return bytes(bytes_or_text)
  if isinstance(bytes_or_text, str):
    return bytes_or_text.encode(encoding)
  if isinstance(bytes_or_text, bytes):
    return bytes_or_text
  raise TypeError('Expected binary or unicode string, got %r' % (bytes_or_text,))


@export('compat.as_text', 'compat.as_str')
def as_text(bytes_or_text, encoding='utf-8'):
  """A text of bytes or a text."""
  if isinstance(bytes_or_text, str):
    return bytes_or_text
  if isinstance(bytes_or_text, bytes):
    return bytes_or_text.decode(encoding)
  raise TypeError('Expected binary or unicode string, got %r' % (bytes_or_text,))


@export('compat.as_str_any')
def as_str_any(value, encoding='utf-8'):
  """A text of anything."""
  return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@export('compat.path_to_str')
def path_to_str(path):
  """A path of pathlib as str; anything else is given back."""
  return as_str_any(path.__fspath__()) if hasattr(path, '__fspath__') else path


EXPORTS = {'compat.integral_types': 'integral_types', 'compat.real_types': 'real_types',
           'compat.complex_types': 'complex_types',
           'compat.bytes_or_text_types': 'bytes_or_text_types'}
import numbers as _numbers  # noqa: E402
integral_types = (_numbers.Integral,)
real_types = (_numbers.Real,)
complex_types = (_numbers.Complex,)
bytes_or_text_types = (bytes, str)


# The date up to which the programs that read graphs are taken to know all ops.
_horizon = datetime.date.max


@export('compat.forward_compatible')
def forward_compatible(year, month, day):
  """Whether graphs may have what came at that date; false only inside of a horizon before it."""
  return _horizon > datetime.date(year, month, day)


@export('compat.forward_compatibility_horizon')
@contextlib.contextmanager
def forward_compatibility_horizon(year, month, day):
  """Inside, forward_compatible is true of earlier dates only."""
  global _horizon
  before, _horizon = _horizon, datetime.date(year, month, day)
  try:
    yield
  finally:
    _horizon = before
