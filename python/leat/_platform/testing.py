"""tf.test: a test case that knows tensors, and gradients compared with finite differences."""
from __future__ import annotations

import contextlib
import os
import random
import re
import tempfile
import unittest

from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs

_SEED = 87654321


@export('test.get_temp_dir')
def get_temp_dir():
  """A folder for the files of tests; TEST_TMPDIR says where."""
  folder = os.environ.get('TEST_TMPDIR') or os.path.join(tempfile.gettempdir(), 'leat_test')
  os.makedirs(folder, exist_ok=True)
  return folder


@export('test.main')
def main(argv=None):
  """Runs the tests of the main module."""
  unittest.main(argv=argv)


@export('test.gpu_device_name')
def gpu_device_name():
  """The name of the first GPU, '' without one."""
  from leat._session.session import Session
  with graphs.Graph().as_default() as graph, Session(graph=graph) as session:
    found = [d.name for d in session.list_devices() if d.device_type == 'GPU']
  return '/device:GPU:' + found[0].rpartition(':')[2] if found else ''


@export('test.is_gpu_available')
def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
  """Whether this process has a GPU."""
  del cuda_only, min_cuda_compute_capability  # every GPU of the library has CUDA, of 7.0 or later
  return bool(gpu_device_name())


def _words(message):
  """The text of a message, or text itself, without the spaces that mean nothing."""
  return re.sub(r'\s*([{}:])\s*', r' \1 ', str(message)).split()


@export('test.TestCase')
class TestCase(unittest.TestCase):
  """A test case with a new default graph and fixed seeds for each test."""

  def setUp(self):
    import numpy
    self._cached = None
    random.seed(_SEED)
    numpy.random.seed(_SEED)
    graphs.reset_default_graph()
    graphs.get_default_graph().seed = _SEED

  def tearDown(self):
    if getattr(self, '_cached', None) is not None:
      self._cached.close()
      self._cached = None

  def get_temp_dir(self):
    """A new folder for this test."""
    if not hasattr(self, '_folder'):
      self._folder = tempfile.mkdtemp(dir=get_temp_dir())
    return self._folder

  # Sessions -----------------------------------------------------------------------------------

  @contextlib.contextmanager
  def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
    """A session that is the default one inside, and is closed afterwards."""
    del use_gpu, force_gpu  # the library places operations where they can run
    from leat._session.session import Session
    with Session(graph=graph, config=config) as made:
      yield made

  @contextlib.contextmanager
  def cached_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
    """The same, but one session for the whole test."""
    del use_gpu, force_gpu
    from leat._session.session import Session
    if self._cached is None:
      self._cached = Session(graph=graph, config=config)
    with self._cached.graph.as_default(), self._cached.as_default():
      yield self._cached

  def test_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
    """cached_session, or a session of its own for another graph."""
    if self._testMethodName == 'test_session':
      self.skipTest('This is no test: its name only looks so.')
    make = self.cached_session if graph is None else self.session
    return make(graph, config, use_gpu, force_gpu)

  def evaluate(self, tensors):
    """The values of a structure of tensors, in the default session."""
    from leat._session import session as sessions
    return sessions.get_default_session().run(tensors)

  def _array(self, value):
    import numpy
    if hasattr(value, 'get_shape') or hasattr(value, 'op'):
      value = self.evaluate(value)
    return numpy.asarray(value)

  # Values -------------------------------------------------------------------------------------

  def assertNear(self, f1, f2, err, msg=None):
    """|f1 - f2| <= err."""
    self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, '%r != %r +/- %r%s' % (
        f1, f2, err, ' (%s)' % msg if msg else ''))

  def assertArrayNear(self, farray1, farray2, err, msg=None):
    """assertNear of each pair."""
    self.assertEqual(len(farray1), len(farray2), msg)
    for f1, f2 in zip(farray1, farray2):
      self.assertNear(float(f1), float(f2), err, msg)

  def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):
    """The norm of the difference is below err."""
    import numpy
    self.assertLess(numpy.linalg.norm(self._array(ndarray1) - self._array(ndarray2)), err, msg)

  def assertAllEqual(self, a, b, msg=None):
    """Both have one shape and equal elements; NaN is equal to NaN."""
    import numpy
    numpy.testing.assert_array_equal(self._array(a), self._array(b), msg or '')

  def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
    """|a - b| <= atol + rtol * |b| for all elements, of arrays, lists and dicts."""
    import numpy
    if isinstance(a, dict):
      self.assertCountEqual(a, b, msg)
      for key in a:
        self.assertAllClose(a[key], b[key], rtol, atol, msg)
    elif isinstance(a, (list, tuple)) and len({numpy.shape(x) for x in a}) > 1:
      self.assertEqual(len(a), len(b), msg)
      for x, y in zip(a, b):
        self.assertAllClose(x, y, rtol, atol, msg)
    else:
      a, b = self._array(a), self._array(b)
      self.assertEqual(a.shape, b.shape, msg)
      numpy.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or '')

  def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6,
                                    float_atol=1e-6, half_rtol=1e-3, half_atol=1e-3, msg=None):
    """assertAllClose with the tolerances of the less exact type of the two."""
    a, b = self._array(a), self._array(b)
    sizes = [x.dtype.itemsize // (2 if x.dtype.kind == 'c' else 1) for x in (a, b)
             if x.dtype.kind in 'fc']
    if sizes and min(sizes) <= 4:
      rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
    if sizes and min(sizes) <= 2:
      rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
    self.assertAllClose(a, b, rtol, atol, msg)

  def assertNotAllClose(self, a, b, **kwargs):
    """assertAllClose fails."""
    try:
      self.assertAllClose(a, b, **kwargs)
    except AssertionError:
      return
    raise AssertionError('The two values are close at all elements')

  def assertAllGreater(self, a, comparison_target):
    self.assertTrue((self._array(a) > comparison_target).all(), '%s > %s' % (a, comparison_target))

  def assertAllLess(self, a, comparison_target):
    self.assertTrue((self._array(a) < comparison_target).all(), '%s < %s' % (a, comparison_target))

  def assertAllInSet(self, target, expected_set):
    """All elements are in the set."""
    self.assertLessEqual(set(self._array(target).ravel().tolist()), set(expected_set))

  def assertShapeEqual(self, np_array, tf_tensor, msg=None):
    """The array has the shape that is known of the tensor."""
    self.assertEqual(list(np_array.shape), tf_tensor.get_shape().as_list(), msg)

  def assertDeviceEqual(self, device1, device2):
    """Both are names, in any form, of one device."""
    from leat._graph.device import DeviceSpec
    self.assertEqual(*[DeviceSpec.from_string(d or '').to_string() for d in (device1, device2)])

  def assertProtoEquals(self, expected_message_maybe_ascii, message):
    """Both messages are equal; the expected one may be text, with the fields in order."""
    self.assertEqual(_words(expected_message_maybe_ascii), _words(message))

  # Errors -------------------------------------------------------------------------------------

  @contextlib.contextmanager
  def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
    """An error of the type is raised whose text has the pattern, or that a function accepts."""
    fits = expected_err_re_or_predicate if callable(expected_err_re_or_predicate) else \
        lambda error: re.search(expected_err_re_or_predicate, str(error))
    try:
      yield
    except exception_type as error:
      if not fits(error):
        raise AssertionError('Exception of type %s: %s' % (type(error).__name__, error)) from error
    else:
      self.fail('%s not raised' % exception_type.__name__)

  def assertRaisesOpError(self, expected_err_re_or_predicate):
    """The same of errors of operations."""
    return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


# ---- Gradients ----------------------------------------------------------------------------------


@export('test.compute_gradient')
def compute_gradient(x, x_shape, y, y_shape, x_init_value=None, delta=0.001, init_targets=None,
                     extra_feed_dict=None):
  """(the derivatives of y by x that tf.gradients gives, those of differences of 2 * delta), as
  matrices [elements of x, elements of y], in the default session. x and y are tensors of floating
  point, or lists of x with lists of pairs as the result."""
  if isinstance(x, (list, tuple)):
    starts = x_init_value if x_init_value is not None else [None] * len(x)
    return [compute_gradient(x[i], x_shape[i], y, y_shape, starts[i], delta,
                             init_targets if i == 0 else None, extra_feed_dict)
            for i in range(len(x))]
  import numpy
  from leat._graph import gradients
  from leat._ops import array
  from leat._session import session as sessions
  session, feed = sessions.get_default_session(), dict(extra_feed_dict or {})
  if init_targets is not None:
    session.run(init_targets)
  kind = x.dtype.as_numpy_dtype
  start = numpy.random.random_sample(x_shape) if x_init_value is None else x_init_value
  start = numpy.asarray(start, kind).reshape(x_shape)
  size, out = int(numpy.prod(x_shape)), int(numpy.prod(y_shape))
  direction = array.placeholder(y.dtype.base_dtype, y_shape)
  gradient = gradients.gradients(y, x, direction)[0]
  symbolic = numpy.zeros((size, out), kind)
  for j in range(out):
    ones = numpy.zeros(out, kind)
    ones[j] = 1
    symbolic[:, j] = _flat(session.run(gradient, {x: start, direction: ones.reshape(y_shape),
                                                  **feed}), size) if gradient is not None else 0
  numeric = numpy.zeros((size, out), kind)
  for i in range(size):
    ends = []
    for step in (-delta, delta):
      moved = start.ravel().copy()
      moved[i] += step
      ends.append(session.run(y, {x: moved.reshape(x_shape), **feed}).ravel())
    numeric[i] = (ends[1] - ends[0]) / (2 * delta)
  return symbolic, numeric


def _flat(gradient, size):
  """The gradient as a vector; of slices, each added to its row."""
  import numpy
  if not hasattr(gradient, 'indices'):
    return gradient.ravel()
  values = numpy.asarray(gradient.values)
  rows = numpy.zeros((size // int(numpy.prod(values.shape[1:])),) + values.shape[1:], values.dtype)
  numpy.add.at(rows, gradient.indices, values)
  return rows.ravel()


@export('test.compute_gradient_error')
def compute_gradient_error(x, x_shape, y, y_shape, x_init_value=None, delta=0.001,
                           init_targets=None, extra_feed_dict=None):
  """The largest difference between the two results of compute_gradient."""
  import numpy
  found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets,
                           extra_feed_dict)
  pairs = found if isinstance(found, list) else [found]
  return max([float(numpy.abs(a - b).max()) for a, b in pairs if a.size] or [0.0])
