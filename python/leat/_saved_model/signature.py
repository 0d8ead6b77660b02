"""Signatures: which tensors of a graph are the inputs and outputs of a way to use it."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.conversion import convert
from leat._saved_model import constants


@export('saved_model.utils.build_tensor_info', 'saved_model.build_tensor_info')
def build_tensor_info(tensor):
  """The TensorInfo of a tensor or sparse tensor: its name or names, type and shape."""
  info = message.of('TensorInfo')(dtype=dtypes.as_dtype(tensor.dtype).as_datatype_enum,
                                  tensor_shape=tensor.get_shape().as_proto())
  if type(tensor).__name__ == 'SparseTensor':
    info.coo_sparse.values_tensor_name = tensor.values.name
    info.coo_sparse.indices_tensor_name = tensor.indices.name
    info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
  else:
    info.name = tensor.name
  return info


@export('saved_model.utils.get_tensor_from_tensor_info', 'saved_model.get_tensor_from_tensor_info')
def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
  """The tensor or sparse tensor that a TensorInfo names in a graph."""
  from leat._ops.sparse import SparseTensor
  graph = graph or graphs.get_default_graph()
  find = lambda name: graph.get_tensor_by_name(
      '%s/%s' % (import_scope, name) if import_scope else name)
  encoding = tensor_info.WhichOneof('encoding')
  if encoding == 'name':
    return find(tensor_info.name)
  if encoding == 'coo_sparse':
    names = tensor_info.coo_sparse
    return SparseTensor(find(names.indices_tensor_name), find(names.values_tensor_name),
                        find(names.dense_shape_tensor_name))
  raise ValueError('Invalid TensorInfo.encoding: %s' % encoding)


@export('saved_model.signature_def_utils.build_signature_def', 'saved_model.build_signature_def')
def build_signature_def(inputs=None, outputs=None, method_name=None):
  """A SignatureDef of {name: TensorInfo}."""
  signature = message.of('SignatureDef')()
  for name, info in (inputs or {}).items():
    signature.inputs[name].CopyFrom(info)
  for name, info in (outputs or {}).items():
    signature.outputs[name].CopyFrom(info)
  if method_name is not None:
    signature.method_name = method_name
  return signature


def _info_of(value, dtype, what):
  """The TensorInfo of a tensor, which must be of the type."""
  value = convert(value) if not isinstance(value, _leat.Output) and not hasattr(
      value, 'indices') else value
  info = build_tensor_info(value)
  if info.dtype != dtype.as_datatype_enum:
    raise ValueError('%s tensors must be of type %s. Found tensor with dtype %s' % (
        what, 'string' if dtype is dtypes.string else 'float', dtypes.as_dtype(info.dtype).name))
  return info


@export('saved_model.signature_def_utils.regression_signature_def',
        'saved_model.regression_signature_def')
def regression_signature_def(examples, predictions):
  """The signature of a regression: examples as strings, predictions as floats."""
  if examples is None:
    raise ValueError('Regression `examples` cannot be None.')
  if predictions is None:
    raise ValueError('Regression `predictions` cannot be None.')
  return build_signature_def(
      {constants.REGRESS_INPUTS: _info_of(examples, dtypes.string, 'Regression input')},
      {constants.REGRESS_OUTPUTS: _info_of(predictions, dtypes.float32, 'Regression output')},
      constants.REGRESS_METHOD_NAME)


@export('saved_model.signature_def_utils.classification_signature_def',
        'saved_model.classification_signature_def')
def classification_signature_def(examples, classes, scores):
  """The signature of a classification: examples and classes as strings, scores as floats; one of
  the outputs may be None."""
  if examples is None:
    raise ValueError('Classification `examples` cannot be None.')
  if classes is None and scores is None:
    raise ValueError('Classification `classes` and `scores` cannot both be None.')
  outputs = {}
  if classes is not None:
    outputs[constants.CLASSIFY_OUTPUT_CLASSES] = _info_of(classes, dtypes.string,
                                                          'Classification classes')
  if scores is not None:
    outputs[constants.CLASSIFY_OUTPUT_SCORES] = _info_of(scores, dtypes.float32,
                                                         'Classification scores')
  return build_signature_def(
      {constants.CLASSIFY_INPUTS: _info_of(examples, dtypes.string, 'Classification input')},
      outputs, constants.CLASSIFY_METHOD_NAME)


@export('saved_model.signature_def_utils.predict_signature_def',
        'saved_model.predict_signature_def')
def predict_signature_def(inputs, outputs):
  """The signature of {name: tensor} to {name: tensor}."""
  if inputs is None or not inputs:
    raise ValueError('Prediction `inputs` cannot be None or empty.')
  if outputs is None or not outputs:
    raise ValueError('Prediction `outputs` cannot be None or empty.')
  return build_signature_def({k: build_tensor_info(t) for k, t in inputs.items()},
                             {k: build_tensor_info(t) for k, t in outputs.items()},
                             constants.PREDICT_METHOD_NAME)


@export('saved_model.signature_def_utils.is_valid_signature', 'saved_model.is_valid_signature')
def is_valid_signature(signature_def):
  """Whether the inputs and outputs are those of the method that the signature names."""
  if signature_def is None:
    return False
  inputs, outputs = dict(signature_def.inputs), dict(signature_def.outputs)
  is_a = lambda info, dtype: info.dtype == dtype.as_datatype_enum
  if signature_def.method_name == constants.PREDICT_METHOD_NAME:
    return bool(inputs) and bool(outputs)
  if signature_def.method_name == constants.REGRESS_METHOD_NAME:
    return set(inputs) == {constants.REGRESS_INPUTS} and is_a(
        inputs[constants.REGRESS_INPUTS], dtypes.string) and set(outputs) == {
            constants.REGRESS_OUTPUTS} and is_a(outputs[constants.REGRESS_OUTPUTS],
                                                dtypes.float32)
  if signature_def.method_name != constants.CLASSIFY_METHOD_NAME:
    return False
  kinds = {constants.CLASSIFY_OUTPUT_CLASSES: dtypes.string,
           constants.CLASSIFY_OUTPUT_SCORES: dtypes.float32}
  return set(inputs) == {constants.CLASSIFY_INPUTS} and is_a(
      inputs[constants.CLASSIFY_INPUTS], dtypes.string) and bool(outputs) and all(
          name in kinds and is_a(info, kinds[name]) for name, info in outputs.items())
