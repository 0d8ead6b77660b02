"""Outputs of a model as signatures of a SavedModel: classes, values, or any tensors by name."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._ops.variables import Variable

DEFAULT_SIGNATURE = 'serving_default'


def is_tensor(value):
  """Whether it is a tensor or a variable."""
  return isinstance(value, (_leat.Output, Variable))


def _single_example(receiver_tensors, what):
  """The only receiver tensor, of type string; ValueError where there is another."""
  if len(receiver_tensors) != 1:
    raise ValueError('%s input must be a single string Tensor; got %s' % (what, receiver_tensors))
  tensor, = receiver_tensors.values()
  if tensor.dtype.base_dtype != dtypes.string:
    raise ValueError('%s input must be a single string Tensor; got %s' % (what, receiver_tensors))
  return tensor


@export('estimator.export.ExportOutput')
class ExportOutput:
  """The base of outputs."""

  def as_signature_def(self, receiver_tensors):
    """The SignatureDef from these inputs, {name: tensor}, to the output."""
    raise NotImplementedError


@export('estimator.export.ClassificationOutput')
class ClassificationOutput(ExportOutput):
  """Scores [batch, classes] float and classes [batch, classes] string; one of them may be None."""

  def __init__(self, scores=None, classes=None):
    if scores is not None and not (is_tensor(scores) and scores.dtype.is_floating):
      raise ValueError('Classification scores must be a float32 Tensor; got %s' % (scores,))
    if classes is not None and not (is_tensor(classes) and
                                    classes.dtype.base_dtype == dtypes.string):
      raise ValueError('Classification classes must be a string Tensor; got %s' % (classes,))
    if scores is None and classes is None:
      raise ValueError('At least one of scores and classes must be set.')
    self._scores, self._classes = scores, classes

  scores = property(lambda self: self._scores)
  classes = property(lambda self: self._classes)

  def as_signature_def(self, receiver_tensors):
    from leat import saved_model
    return saved_model.signature_def_utils.classification_signature_def(
        _single_example(receiver_tensors, 'Classification'), self._classes, self._scores)


@export('estimator.export.RegressionOutput')
class RegressionOutput(ExportOutput):
  """A value [batch, ...] float."""

  def __init__(self, value):
    if not (is_tensor(value) and value.dtype.is_floating):
      raise ValueError('Regression output value must be a float32 Tensor; got %s' % (value,))
    self._value = value

  value = property(lambda self: self._value)

  def as_signature_def(self, receiver_tensors):
    from leat import saved_model
    return saved_model.signature_def_utils.regression_signature_def(
        _single_example(receiver_tensors, 'Regression'), self._value)


@export('estimator.export.PredictOutput')
class PredictOutput(ExportOutput):
  """Tensors by name; a single one has the name 'output'."""

  def __init__(self, outputs):
    outputs = outputs if isinstance(outputs, dict) else {'output': outputs}
    for name, value in outputs.items():
      if not isinstance(name, str):
        raise ValueError('Prediction output key must be a string, was %s' % (name,))
      if not is_tensor(value):
        raise ValueError('Prediction output value must be a Tensor, was %s' % (value,))
    self._outputs = dict(outputs)

  outputs = property(lambda self: self._outputs)

  def as_signature_def(self, receiver_tensors):
    from leat import saved_model
    return saved_model.signature_def_utils.predict_signature_def(receiver_tensors, self._outputs)
