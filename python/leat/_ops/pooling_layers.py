"""tf.layers: the largest or the mean of each window, as objects and as functions."""
from __future__ import annotations

from leat._graph.apply import apply_op
from leat._ops import array
from leat._ops.layers import InputSpec, Layer, _data_format, _format, _function, _padding, _tuple


class _Pool(Layer):
  """The largest or the mean of each window, of one to three dimensions."""

  def __init__(self, rank, op, pool_size, strides, padding='valid', data_format='channels_last',
               name=None, **kwargs):
    super().__init__(name=name, **kwargs)
    self.rank, self._op = rank, op
    self.pool_size = _tuple(pool_size, rank, 'pool_size')
    self.strides = _tuple(strides, rank, 'strides')
    self.padding, self.data_format = _padding(padding), _data_format(data_format)
    self.input_spec = InputSpec(ndim=rank + 2)

  def call(self, inputs):
    first = self.data_format == 'channels_first'
    size, strides = self.pool_size, self.strides
    if self.rank == 1:
      axis = 3 if first else 2
      inputs = array.expand_dims(inputs, axis)
      size, strides = size + (1,), strides + (1,)
    full = lambda v: [1, 1] + list(v) if first else [1] + list(v) + [1]
    key = 'value' if self._op == 'AvgPool' and self.rank < 3 else 'input'
    outputs = apply_op(self._op + ('3D' if self.rank == 3 else ''), ksize=full(size),
                       strides=full(strides), padding=self.padding,
                       data_format=_format(max(self.rank, 2), self.data_format), **{key: inputs})
    return array.squeeze(outputs, [axis]) if self.rank == 1 else outputs


_SPACE = {1: 'steps, ', 2: 'height, width, ', 3: 'depth, height, width, '}


def _pool_class(name, rank, op):
  def initialize(self, pool_size, strides, padding='valid', data_format='channels_last', name=None,
                 **kwargs):
    _Pool.__init__(self, rank, op, pool_size, strides, padding, data_format, name, **kwargs)
  note = ('A layer: the %s of each window of pool_size in the inputs [batch, %schannels], with '
          'steps of `strides`.' % ('largest' if op == 'MaxPool' else 'mean', _SPACE[rank]))
  return type(name, (_Pool,), {'__init__': initialize, '__module__': 'leat.layers',
                               '__doc__': note})


MaxPooling1D, AveragePooling1D = (_pool_class(n + 'Pooling1D', 1, o) for n, o in (
    ('Max', 'MaxPool'), ('Average', 'AvgPool')))
MaxPooling2D, AveragePooling2D = (_pool_class(n + 'Pooling2D', 2, o) for n, o in (
    ('Max', 'MaxPool'), ('Average', 'AvgPool')))
MaxPooling3D, AveragePooling3D = (_pool_class(n + 'Pooling3D', 3, o) for n, o in (
    ('Max', 'MaxPool'), ('Average', 'AvgPool')))


_POOL = 'pool_size strides padding data_format name'.split()
max_pooling1d, average_pooling1d = (_function(c, _POOL) for c in (MaxPooling1D, AveragePooling1D))
max_pooling2d, average_pooling2d = (_function(c, _POOL) for c in (MaxPooling2D, AveragePooling2D))
max_pooling3d, average_pooling3d = (_function(c, _POOL) for c in (MaxPooling3D, AveragePooling3D))
EXPORTS = {'layers.' + n: n for n in (
    'max_pooling1d', 'average_pooling1d', 'max_pooling2d', 'average_pooling2d', 'max_pooling3d',
    'average_pooling3d', 'MaxPooling1D', 'AveragePooling1D', 'MaxPooling2D', 'AveragePooling2D',
    'MaxPooling3D', 'AveragePooling3D')}
