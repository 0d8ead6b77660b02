"""What parse_example reads for a canned model: its feature columns, its label and its weights."""
from __future__ import annotations

from leat._export import export
from leat._feature.column import make_parse_example_spec
from leat._feature.numeric import NumericColumn
from leat._graph import dtype as dtypes
from leat._ops import parsing


def _with_label(feature_columns, label_key, label, weight_column):
  spec = make_parse_example_spec(feature_columns)
  if label_key in spec:
    raise ValueError('label should not be used as feature. label_key: %s, features: %s' % (
        label_key, sorted(spec)))
  spec[label_key] = label
  if weight_column is None:
    return spec
  if isinstance(weight_column, str):
    key, weight = weight_column, parsing.FixedLenFeature((1,), dtypes.float32)
  elif isinstance(weight_column, NumericColumn):
    (key, weight), = weight_column.parse_example_spec.items()
  else:
    raise ValueError('weight_column should be a string or a numeric column, is %s' % (
        weight_column,))
  if key in spec:
    raise ValueError('weight_column should not be used as feature or label. weight_column: %s, '
                     'features: %s' % (key, sorted(spec)))
  spec[key] = weight
  return spec


@export('estimator.classifier_parse_example_spec')
def classifier_parse_example_spec(feature_columns, label_key, label_dtype=dtypes.int64,
                                  label_default=None, weight_column=None):
  """{key: feature} of a classifier's examples, each with one label."""
  label = parsing.FixedLenFeature((1,), label_dtype, label_default)
  return _with_label(feature_columns, label_key, label, weight_column)


@export('estimator.regressor_parse_example_spec')
def regressor_parse_example_spec(feature_columns, label_key, label_dtype=dtypes.float32,
                                 label_default=None, label_dimension=1, weight_column=None):
  """{key: feature} of a regressor's examples, each with label_dimension values."""
  label = parsing.FixedLenFeature((label_dimension,), label_dtype, label_default)
  return _with_label(feature_columns, label_key, label, weight_column)
