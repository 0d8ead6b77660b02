"""contrib.session_bundle.manifest_pb2: the messages that say what an exported model is fed with and
what it gives. The library does not have them."""
from __future__ import annotations

from leat._graph import message, wire

_NAMES = ('TensorBinding', 'RegressionSignature', 'ClassificationSignature', 'GenericSignature',
          'Signature', 'Signatures', 'AssetFile')
EXPORTS = {'contrib.session_bundle.manifest_pb2.TensorBinding': 'TensorBinding',
           'contrib.session_bundle.manifest_pb2.RegressionSignature': 'RegressionSignature',
           'contrib.session_bundle.manifest_pb2.ClassificationSignature':
               'ClassificationSignature',
           'contrib.session_bundle.manifest_pb2.GenericSignature': 'GenericSignature',
           'contrib.session_bundle.manifest_pb2.Signature': 'Signature',
           'contrib.session_bundle.manifest_pb2.Signatures': 'Signatures',
           'contrib.session_bundle.manifest_pb2.AssetFile': 'AssetFile'}
_PACKAGE = 'tensorflow.serving.'


def _define(name, **fields):
  """A message whose fields are messages, or strings where their type is None."""
  wire.define(_PACKAGE + name, [
      [field, number, 'message' if of else 'string', label, of and _PACKAGE + of, oneof]
      for field, (number, of, label, oneof) in fields.items()])


def _one(number, of=None, label='singular', oneof=-1):
  return number, of, label, oneof


def _map(name, number, of):
  """A field that is a map from strings, whose entries are a message of their own."""
  entry = name + '_entry'
  _define(entry, key=_one(1), value=_one(2, of))
  return _one(number, entry, 'map')


_define('TensorBinding', tensor_name=_one(1))
_define('RegressionSignature', input=_one(1, 'TensorBinding'), output=_one(2, 'TensorBinding'))
_define('ClassificationSignature', input=_one(1, 'TensorBinding'),
        classes=_one(2, 'TensorBinding'), scores=_one(3, 'TensorBinding'))
_define('GenericSignature', map=_map('GenericSignature.map', 1, 'TensorBinding'))
_define('Signature', regression_signature=_one(1, 'RegressionSignature', oneof=0),
        classification_signature=_one(2, 'ClassificationSignature', oneof=0),
        generic_signature=_one(3, 'GenericSignature', oneof=0))
_define('Signatures', default_signature=_one(1, 'Signature'),
        named_signatures=_map('Signatures.named_signatures', 2, 'Signature'))
_define('AssetFile', tensor_binding=_one(1, 'TensorBinding'), filename=_one(2))
(TensorBinding, RegressionSignature, ClassificationSignature, GenericSignature, Signature,
 Signatures, AssetFile) = (message.of(_PACKAGE + name) for name in _NAMES)
