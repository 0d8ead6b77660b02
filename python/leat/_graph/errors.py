"""tf.errors: a class for each code of the library's errors."""
from __future__ import annotations

import re

from leat._export import export


@export('errors.OpError', 'OpError')
class OpError(Exception):
  """An error of a step; its classes are in tf.errors. `op` is the operation that failed, where it
  is known, and the text ends with the line of the program that built it."""

  def __init__(self, node_def, op, message, error_code=2):
    super().__init__()
    self._node_def, self._op = node_def, op
    self._message, self._error_code = message, error_code

  @property
  def message(self):
    """The text of the error."""
    return self._message

  @property
  def op(self):
    """The operation that failed, or None where it is not known."""
    return self._op

  @property
  def error_code(self):
    """The number of the code, tf.errors.NOT_FOUND say."""
    return self._error_code

  @property
  def node_def(self):
    """The NodeDef of the operation that failed, or None."""
    return self._node_def

  def __str__(self):
    text = self._message
    if self._op is not None:
      where = self._op._where()
      if where:
        text += "\n\n'%s' (%s) was built at %s" % (self._op.name, self._op.type, where)
    return text

  def __reduce__(self):
    return type(self), (None, None, self._message)


def _error(name, code, docstring):
  def initialize(self, node_def, op, message):
    OpError.__init__(self, node_def, op, message, code)
  return type(name, (OpError,), {'__init__': initialize, '__doc__': docstring,
                                 '__module__': 'leat.errors'})


def _unknown(self, node_def, op, message, error_code=2):
  OpError.__init__(self, node_def, op, message, error_code)


CancelledError = _error('CancelledError', 1, 'The step was stopped: its session or a queue closed.')
UnknownError = type('UnknownError', (OpError,), {
    '__init__': _unknown, '__module__': 'leat.errors',
    '__doc__': 'An error of another system, or one that tells no more.'})
InvalidArgumentError = _error(
    'InvalidArgumentError', 3,
    'An argument is wrong, whatever the state: a shape, say, that an operation does not take.')
DeadlineExceededError = _error('DeadlineExceededError', 4, 'The step took longer than it may.')
NotFoundError = _error('NotFoundError', 5, 'There is no such file, variable, ...')
AlreadyExistsError = _error('AlreadyExistsError', 6, 'What shall be made is there already.')
PermissionDeniedError = _error('PermissionDeniedError', 7, 'The caller is not allowed to do that.')
ResourceExhaustedError = _error('ResourceExhaustedError', 8, 'Memory or disk is used up.')
FailedPreconditionError = _error(
    'FailedPreconditionError', 9, 'The state is wrong: an uninitialized variable, say.')
AbortedError = _error(
    'AbortedError', 10, 'The step gave way to another; running it again may help.')
OutOfRangeError = _error(
    'OutOfRangeError', 11,
    'Past the end of an input: of a data set, or of a queue that is closed. Loops end with it.')
UnimplementedError = _error(
    'UnimplementedError', 12, 'There is no such operation for these types or on this device.')
InternalError = _error('InternalError', 13, 'The library broke a promise: it has an error.')
UnavailableError = _error('UnavailableError', 14, 'A peer cannot be reached.')
DataLossError = _error('DataLossError', 15, 'Bytes are damaged.')
UnauthenticatedError = _error('UnauthenticatedError', 16, 'Who the caller is is not known.')
_CODES = ['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND',
          'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION',
          'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS',
          'UNAUTHENTICATED']
(OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS,
 PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED,
 INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED) = range(17)
_CLASSES = [None, CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError,
            NotFoundError, AlreadyExistsError, PermissionDeniedError, ResourceExhaustedError,
            FailedPreconditionError, AbortedError, OutOfRangeError, UnimplementedError,
            InternalError, UnavailableError, DataLossError, UnauthenticatedError]
EXPORTS = {'errors.' + c: c for c in (
    'CancelledError', 'UnknownError', 'InvalidArgumentError', 'DeadlineExceededError',
    'NotFoundError', 'AlreadyExistsError', 'PermissionDeniedError', 'ResourceExhaustedError',
    'FailedPreconditionError', 'AbortedError', 'OutOfRangeError', 'UnimplementedError',
    'InternalError', 'UnavailableError', 'DataLossError', 'UnauthenticatedError', 'OK',
    'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND',
    'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED',
    'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED')}


@export('errors.exception_type_from_error_code')
def exception_type_from_error_code(error_code):
  """The class of tf.errors for the number of a code."""
  return _CLASSES[error_code]


@export('errors.error_code_from_exception_type')
def error_code_from_exception_type(cls):
  """The number of the code (`tf.errors.NOT_FOUND`, say) for a class of tf.errors."""
  return _CLASSES.index(cls)


_NODE = re.compile(r"node '([^']+)'")


def of_status(error, graph=None):
  """The public error for a StatusError; its text names the node where one failed."""
  code, message = error.args
  op = None
  found = _NODE.search(message) if graph is not None else None
  if found:
    op = graph.operation(found.group(1))
  cls = _CLASSES[code] if 0 < code < len(_CLASSES) else UnknownError
  return cls(op.node_def if op is not None else None, op, message)


@export('errors.raise_exception_on_not_ok_status')
class raise_exception_on_not_ok_status:
  """Turns errors of the library into those of this module."""

  def __enter__(self):
    return self

  def __exit__(self, kind, value, traceback):
    from leat import _leat
    if isinstance(value, _leat.StatusError):
      raise of_status(value) from None
    return False
