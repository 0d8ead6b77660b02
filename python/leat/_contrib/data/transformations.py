"""Functions for Dataset.apply that only tf.contrib.data has."""
from __future__ import annotations

from leat._data import element as elements
from leat._data import nest
from leat._data.dataset import Dataset
from leat._data.spec import TensorSpec
from leat._data.transformations import parallel_interleave
from leat._export import export
from leat._graph.shape import as_shape


@export('contrib.data.batch_and_drop_remainder')
def batch_and_drop_remainder(batch_size):
  """batch without a smaller batch at the end."""
  return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


@export('contrib.data.padded_batch_and_drop_remainder')
def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
  """padded_batch without a smaller batch at the end."""
  return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, True)


@export('contrib.data.sloppy_interleave')
def sloppy_interleave(map_func, cycle_length, block_length=1):
  """parallel_interleave that may give elements in another order."""
  return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


@export('contrib.data.sliding_window_batch')
def sliding_window_batch(window_size, stride=None, window_shift=None, window_stride=1):
  """Batches of window_size elements, which are window_stride apart; the next batch begins
  window_shift (by its older name: stride) elements later. Where too few elements are left, there
  is no batch."""
  if stride is not None and window_shift is not None:
    raise ValueError('Cannot specify both `window_shift` and `stride`.')
  shift = next((s for s in (stride, window_shift) if s is not None), 1)

  def batch(*windows):
    flat = nest.flatten(windows[0] if len(windows) == 1 else windows)
    batches = [w.batch(window_size) for w in flat]
    return batches[0] if len(batches) == 1 else Dataset.zip(tuple(batches))

  def apply(dataset):
    found = dataset.window(window_size, shift, window_stride, True).flat_map(batch)
    return Dataset(found._variant, elements.batched(dataset._element, None), (dataset,))
  return apply


@export('contrib.data.assert_element_shape')
def assert_element_shape(expected_shapes):
  """Says which shapes the components have; a step fails with InvalidArgumentError where one has
  another. ValueError where a static shape differs."""
  from leat._ops import array
  from leat._ops.checks import assert_equal
  from leat._graph.scope import control_dependencies

  def checked(tensor, shape):
    if shape.ndims is None:
      return tensor
    found = array.shape(tensor)
    wanted = [d for d in range(shape.ndims) if shape[d].value is not None]
    checks = [assert_equal(array.rank(tensor), shape.ndims)]
    with control_dependencies(checks):
      found = array.identity(found)
    checks = [assert_equal(found[d], shape[d].value) for d in wanted]
    with control_dependencies(checks):
      tensor = array.identity(tensor)
    tensor.set_shape(shape)
    return tensor

  def apply(dataset):
    shapes = [as_shape(s) for s in nest.flatten_up_to(dataset._element, expected_shapes)]
    for spec, shape in zip(nest.flatten(dataset._element), shapes):
      if not isinstance(spec, TensorSpec):
        raise TypeError('assert_element_shape is for tensors; a component is a %s.' % (spec,))
      if not spec.shape.is_compatible_with(shape):
        raise ValueError('Expected shape %s, got the shape %s of a component.' % (
            shape, spec.shape))

    def check(*components):
      value = components if type(dataset._element) is tuple else components[0]
      return nest.pack_sequence_as(dataset._element, [
          checked(t, s) for t, s in zip(nest.flatten(value), shapes)])
    return dataset.map(check)
  return apply


@export('contrib.data.read_batch_features')
def read_batch_features(file_pattern, batch_size, features, reader, reader_args=None,
                        randomize_input=True, num_epochs=None, capacity=10000):
  """The tensors of the next batch of Examples in files, a dict: make_batched_features_dataset with
  an iterator."""
  from leat._data.examples import make_batched_features_dataset
  dataset = make_batched_features_dataset(
      file_pattern, batch_size, features, reader=reader, reader_args=reader_args,
      shuffle=randomize_input, num_epochs=num_epochs, shuffle_buffer_size=capacity)
  return dataset.make_one_shot_iterator().get_next()
