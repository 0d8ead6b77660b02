"""Input producers: queues of names, numbers or rows that runners fill for so many epochs."""
from __future__ import annotations

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys, control_dependencies, name_scope
from leat._ops import array, control_flow, math, queues, random
from leat._train import coordinator, summary


@export('train.match_filenames_once')
def match_filenames_once(pattern, name=None):
  """A local variable with the names of the files that match."""
  from leat._graph.apply import apply_op
  from leat._ops import variables
  with name_scope(name, 'matching_filenames', [pattern]) as scope:
    return variables.Variable(apply_op('MatchingFiles', pattern=pattern), trainable=False,
                              name=scope, validate_shape=False,
                              collections=[GraphKeys.LOCAL_VARIABLES])


@export('train.limit_epochs')
def limit_epochs(tensor, num_epochs=None, name=None):
  """The tensor num_epochs times, then OutOfRangeError."""
  from leat._graph.scope import colocate_with
  from leat._ops import variables
  if num_epochs is None:
    return tensor
  if num_epochs <= 0:
    raise ValueError('num_epochs must be > 0 not %d.' % num_epochs)
  with name_scope(name, 'limit_epochs', [tensor]) as scope:
    zero = conversion.constant_of(0, dtypes.int64)
    epochs = variables.Variable(zero, name='epochs', trainable=False,
                                collections=[GraphKeys.LOCAL_VARIABLES])
    counter = epochs.count_up_to(num_epochs)
    with control_dependencies([counter]), colocate_with(epochs.op):
      return array.identity(tensor, name=scope)


@export('train.input_producer')
def input_producer(input_tensor, element_shape=None, num_epochs=None, shuffle=True, seed=None,
                   capacity=32, shared_name=None, summary_name=None, name=None, cancel_op=None):
  """A queue with the rows of a tensor, num_epochs times, in a new order each time where `shuffle`.
  OutOfRangeError ends it. A summary `summary_name` tells how full it is."""
  with name_scope(name, 'input_producer', [input_tensor]):
    input_tensor = convert(input_tensor, name='input_tensor')
    element_shape = input_tensor.get_shape()[1:].merge_with(element_shape)
    if not element_shape.is_fully_defined():
      raise ValueError('Either `input_tensor` must have a fully defined shape or `element_shape` '
                       'must be specified')
    if shuffle:
      input_tensor = random.random_shuffle(input_tensor, seed=seed)
    input_tensor = limit_epochs(input_tensor, num_epochs)
    queue = queues.FIFOQueue(capacity, [input_tensor.dtype.base_dtype], [element_shape],
                             shared_name=shared_name, name=name)
    coordinator.add_queue_runner(coordinator.QueueRunner(
        queue, [queue.enqueue_many([input_tensor])], cancel_op=cancel_op))
    if summary_name is not None:
      summary.scalar(summary_name, math.cast(queue.size(), dtypes.float32) * (1. / capacity))
    return queue


@export('train.string_input_producer')
def string_input_producer(string_tensor, num_epochs=None, shuffle=True, seed=None, capacity=32,
                          shared_name=None, name=None, cancel_op=None):
  """A queue of texts, names of files most often, in a random order that is new in each epoch. After
  num_epochs (None for no end), which needs tf.local_variables_initializer(), it is closed. Its
  threads begin with tf.train.start_queue_runners."""
  message = 'string_input_producer requires a non-null input tensor'
  if not hasattr(string_tensor, 'dtype') and not string_tensor:
    raise ValueError(message)
  with name_scope(name, 'input_producer', [string_tensor]) as scope:
    string_tensor = convert(string_tensor, dtypes.string)
    check = control_flow.Assert(array.size(string_tensor) > 0, [message])
    with control_dependencies([check]):
      string_tensor = array.identity(string_tensor)
    return input_producer(string_tensor, [], num_epochs, shuffle, seed, capacity, shared_name,
                          'fraction_of_%d_full' % capacity, scope, cancel_op)


@export('train.range_input_producer')
def range_input_producer(limit, num_epochs=None, shuffle=True, seed=None, capacity=32,
                         shared_name=None, name=None):
  """The same for the numbers below limit."""
  with name_scope(name, 'input_producer', [limit]) as scope:
    return input_producer(math.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name,
                          'fraction_of_%d_full' % capacity, scope)


@export('train.slice_input_producer')
def slice_input_producer(tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32,
                         shared_name=None, name=None):
  """A row of each tensor of a list at a time, by a queue of row numbers in a random order that is
  new in each epoch. After num_epochs, which needs tf.local_variables_initializer(), it is closed.
  """
  with name_scope(name, 'input_producer', tensor_list):
    tensor_list = [conversion.convert_to_tensor_or_indexed_slices(t) for t in tensor_list]
    if not tensor_list:
      raise ValueError('Expected at least one tensor in slice_input_producer().')
    size = array.shape(tensor_list[0])[0]
    index = range_input_producer(size, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
    return [array.gather(t, index) for t in tensor_list]
