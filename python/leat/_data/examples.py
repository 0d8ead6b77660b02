"""Datasets of Example messages, as dicts of tensors."""
from __future__ import annotations

from leat._data import element as elements
from leat._data import files
from leat._data.readers import TFRecordDataset
from leat._export import export
from leat._graph import dtype as dtypes


@export('data.experimental.parse_example_dataset')
def parse_example_dataset(features, num_parallel_calls=1):
  """For Dataset.apply: vectors of serialized Examples become dicts of what tf.parse_example gives
  for the features."""
  from leat._ops import parsing
  if features is None:
    raise ValueError('Argument `features` is required, but not specified.')

  def apply(dataset):
    if not elements.is_compatible(elements.TensorSpec([None], dtypes.string), dataset._element):
      raise TypeError('Input dataset should be a dataset of vectors of strings, got %s.' % (
          dataset._element,))
    return dataset.map(lambda serialized: parsing.parse_example(serialized, features),
                       num_parallel_calls)
  return apply


@export('data.experimental.make_batched_features_dataset')
def make_batched_features_dataset(file_pattern, batch_size, features, reader=TFRecordDataset,
                                  label_key=None, reader_args=None, num_epochs=None, shuffle=True,
                                  shuffle_buffer_size=10000, shuffle_seed=None,
                                  prefetch_buffer_size=1, reader_num_threads=1,
                                  parser_num_threads=2, sloppy_ordering=False,
                                  drop_final_batch=False):
  """Batches of the Examples in files, as dicts of their features, or pairs of that and the feature
  `label_key`.

  Args:
    file_pattern: the pattern of the files' names, or a list of such.
    features: {key: FixedLenFeature, VarLenFeature, ...}, as for tf.parse_example.
    reader: gives a dataset of serialized Examples for a file's name and *reader_args.
    num_epochs: how often the Examples are read; None: without end, in batches of one size.
    shuffle: whether they come in a random order, among shuffle_buffer_size that wait.
    reader_num_threads, parser_num_threads: files read and batches parsed at once.
    sloppy_ordering: whether Examples may come in another order where that is faster.
    drop_final_batch: whether a smaller batch at the end is left out.

  Raises:
    ValueError: where no file matches, or label_key is no key of `features`.
  """
  if label_key is not None and label_key not in features:
    raise ValueError('The `label_key` provided (%r) must be one of the `features` keys: %s.' % (
        label_key, sorted(features)))
  arguments = list(reader_args or ())
  names = files.matching(file_pattern)
  dataset = files.examples_in(names, lambda name: reader(name, *arguments), shuffle, shuffle_seed,
                              reader_num_threads, sloppy_ordering)
  if dataset.output_types == (dtypes.string, dtypes.string):
    dataset = dataset.map(lambda unused_key, value: value)
  dataset = files.epochs_of(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
  dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
  dataset = dataset.apply(parse_example_dataset(features, parser_num_threads))
  if label_key is not None:
    dataset = dataset.map(lambda parsed: (parsed, parsed.pop(label_key)))
  return dataset.prefetch(prefetch_buffer_size)
