"""The TensorFlow C API, and Leat's own beside it, through ctypes: just what the oracle
scripts need."""
import ctypes
import os
import threading

import ml_dtypes
import numpy as np

FLOAT, DOUBLE, INT32, STRING, INT64 = 1, 2, 3, 7, 9
NUMPY = {1: 'f4', 2: 'f8', 3: 'i4', 4: 'u1', 5: 'i2', 6: 'i1', 8: 'c8', 9: 'i8', 10: '?',
         14: ml_dtypes.bfloat16, 17: 'u2', 18: 'c16', 19: 'f2', 22: 'u4', 23: 'u8',
         11: 'i1', 12: 'u1', 13: 'i4', 15: 'i2', 16: 'u2'}  # arrays become the first that fits
P = ctypes.c_void_p
TSTRING_SIZE = 24


class Output(ctypes.Structure):
  _fields_ = [('oper', P), ('index', ctypes.c_int)]


class Buffer(ctypes.Structure):
  _fields_ = [('data', P), ('length', ctypes.c_size_t), ('deallocator', P)]


SIGNATURES = {
    'TF_NewStatus': (P,), 'TF_DeleteStatus': (None, P), 'TF_GetCode': (ctypes.c_int, P),
    'TF_Message': (ctypes.c_char_p, P), 'TF_NewGraph': (P,), 'TF_DeleteGraph': (None, P),
    'TF_NewImportGraphDefOptions': (P,), 'TF_DeleteImportGraphDefOptions': (None, P),
    'TF_NewBufferFromString': (ctypes.POINTER(Buffer), P, ctypes.c_size_t),
    'TF_NewBuffer': (ctypes.POINTER(Buffer),), 'TF_DeleteBuffer': (None, P),
    'TF_GraphImportGraphDef': (None, P, P, P, P), 'TF_GraphToGraphDef': (None, P, P, P),
    'TF_GraphOperationByName': (P, P, ctypes.c_char_p), 'TF_NewSessionOptions': (P,),
    'TF_DeleteSessionOptions': (None, P), 'TF_NewSession': (P, P, P, P),
    'TF_CloseSession': (None, P, P), 'TF_DeleteSession': (None, P, P),
    'TF_SessionRun': (None, P, P, P, P, ctypes.c_int, P, P, ctypes.c_int, P, ctypes.c_int, P, P),
    'TF_AllocateTensor': (P, ctypes.c_int, P, ctypes.c_int, ctypes.c_size_t),
    'TF_TensorData': (P, P), 'TF_TensorType': (ctypes.c_int, P), 'TF_NumDims': (ctypes.c_int, P),
    'TF_Dim': (ctypes.c_int64, P, ctypes.c_int), 'TF_TensorByteSize': (ctypes.c_size_t, P),
    'TF_DeleteTensor': (None, P), 'TF_GetAllOpList': (ctypes.POINTER(Buffer),),
    'TF_AddGradients': (None, P, P, ctypes.c_int, P, ctypes.c_int, P, P, P),
    'TF_OperationName': (ctypes.c_char_p, P),
    'TF_SetConfig': (None, P, P, ctypes.c_size_t, P), 'TF_StringInit': (None, P),
    'TF_StringCopy': (None, P, ctypes.c_char_p, ctypes.c_size_t),
    'TF_StringGetDataPointer': (P, P), 'TF_StringGetSize': (ctypes.c_size_t, P),
    'TF_LoadLibrary': (P, ctypes.c_char_p, P),
    'TF_NewServer': (P, P, ctypes.c_size_t, P), 'TF_ServerStart': (None, P, P),
    'TF_ServerTarget': (ctypes.c_char_p, P), 'TF_SetTarget': (None, P, ctypes.c_char_p),
}
# What only Leat has (include/leat/).
LEAT_SIGNATURES = {
    'leat_message_to_text': (ctypes.POINTER(Buffer), ctypes.c_char_p, P, P),
    'leat_message_from_text': (ctypes.POINTER(Buffer), ctypes.c_char_p, P, P),
    'leat_events_open': (P, ctypes.c_char_p, P), 'leat_events_close': (None, P, P),
    'leat_events_add_scalar': (None, P, ctypes.c_int64, ctypes.c_char_p, ctypes.c_double, P),
    'leat_events_add_histogram': (None, P, ctypes.c_int64, ctypes.c_char_p, P, ctypes.c_size_t, P),
    'leat_events_add_graph': (None, P, P, P),
    'leat_events_add_summary': (None, P, ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t, P),
    'leat_checkpoint_open': (P, ctypes.c_char_p, P), 'leat_checkpoint_close': (None, P),
    'leat_checkpoint_count': (ctypes.c_size_t, P),
    'leat_checkpoint_name': (ctypes.c_char_p, P, ctypes.c_size_t),
    'leat_checkpoint_shape': (ctypes.c_int, P, ctypes.c_size_t, P, P, ctypes.c_int),
    'leat_checkpoint_read': (P, P, ctypes.c_char_p, P),
    'leat_records_open': (P, ctypes.c_char_p, P), 'leat_records_close': (None, P),
    'leat_records_next': (P, P, P, P), 'leat_records_create': (P, ctypes.c_char_p, P),
    'leat_records_open_compressed': (P, ctypes.c_char_p, ctypes.c_char_p, P),
    'leat_records_create_compressed': (P, ctypes.c_char_p, ctypes.c_char_p, P),
    'leat_records_write': (None, P, ctypes.c_char_p, ctypes.c_size_t, P),
    'leat_records_finish': (None, P, P),
}


class Error(Exception):
  def __init__(self, code, message):
    super().__init__('code %d: %s' % (code, message))
    self.code = code


class Library:
  """Functions of the C API as attributes; a status argument is appended and checked by check().
  Each thread has a status of its own, since one belongs to one call at a time."""

  def __init__(self, path=None):
    self.handle = ctypes.CDLL(path or os.environ['LEAT_LIBRARY'])
    for name, (result, *arguments) in list(SIGNATURES.items()) + list(LEAT_SIGNATURES.items()):
      function = getattr(self.handle, name, None)
      if function is None:
        continue  # a caller of it will say so
      function.restype, function.argtypes = result, arguments
      setattr(self, name, function)
    self._of_thread = threading.local()

  @property
  def status(self):
    if not hasattr(self._of_thread, 'status'):
      self._of_thread.status = self.TF_NewStatus()
    return self._of_thread.status

  def check(self):
    if self.TF_GetCode(self.status):
      raise Error(self.TF_GetCode(self.status),
                  self.TF_Message(self.status).decode('utf8', 'replace'))

  def bytes_of(self, buffer):
    value = ctypes.string_at(buffer.contents.data, buffer.contents.length)
    self.TF_DeleteBuffer(buffer)
    return value

  def op_list(self):
    return self.bytes_of(self.TF_GetAllOpList())

  def buffer(self, data):
    return self.TF_NewBufferFromString(data, len(data))

  def tensor(self, array):
    """Arrays of objects and of bytes become strings."""
    array = np.asarray(array, order='C')
    dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    if array.dtype.kind in 'OSU':
      tensor = self.TF_AllocateTensor(STRING, dims, array.ndim, array.size * TSTRING_SIZE)
      for i, value in enumerate(array.ravel().tolist()):
        place = self.TF_TensorData(tensor) + i * TSTRING_SIZE
        value = value.encode() if isinstance(value, str) else value
        self.TF_StringInit(place)
        self.TF_StringCopy(place, value, len(value))
      return tensor
    dtype = next(k for k, v in NUMPY.items() if np.dtype(v) == array.dtype)
    tensor = self.TF_AllocateTensor(dtype, dims, array.ndim, array.nbytes)
    ctypes.memmove(self.TF_TensorData(tensor), array.ctypes.data, array.nbytes)
    return tensor

  def array(self, tensor):
    shape = [self.TF_Dim(tensor, i) for i in range(self.TF_NumDims(tensor))]
    data, dtype = self.TF_TensorData(tensor), self.TF_TensorType(tensor)
    if dtype == STRING:
      strings = np.empty(int(np.prod(shape)), object)
      for i in range(strings.size):
        place = data + i * TSTRING_SIZE
        strings[i] = ctypes.string_at(self.TF_StringGetDataPointer(place),
                                      self.TF_StringGetSize(place))
      return strings.reshape(shape)
    raw = ctypes.string_at(data, self.TF_TensorByteSize(tensor))
    return np.frombuffer(raw, NUMPY[dtype]).reshape(shape).copy()


class Session:
  """A graph (one imported from a GraphDef's bytes, or the one given), and a session on it."""

  def __init__(self, library, graph_def=b'', config=b'', graph=None, target=b''):
    self.library, self.graph = library, graph or library.TF_NewGraph()
    self.config, self.target = config, target
    self.import_graph_def(graph_def)
    self.session = self.open()

  def open(self):
    """-> a session on the graph, for the caller to delete"""
    library, options = self.library, self.library.TF_NewSessionOptions()
    if self.target:
      library.TF_SetTarget(options, self.target)
    library.TF_SetConfig(options, self.config, len(self.config), library.status)
    library.check()
    session = library.TF_NewSession(self.graph, options, library.status)
    library.TF_DeleteSessionOptions(options)
    library.check()
    return session

  def import_graph_def(self, graph_def):
    library, options = self.library, self.library.TF_NewImportGraphDefOptions()
    buffer = library.buffer(graph_def)
    library.TF_GraphImportGraphDef(self.graph, buffer, options, library.status)
    library.TF_DeleteBuffer(buffer)
    library.TF_DeleteImportGraphDefOptions(options)
    library.check()

  def close(self):
    self.library.TF_DeleteSession(self.session, self.library.status)
    self.library.TF_DeleteGraph(self.graph)

  def output(self, name):
    node, _, index = name.partition(':')
    operation = self.library.TF_GraphOperationByName(self.graph, node.encode())
    assert operation, name
    return Output(operation, int(index or 0))

  def graph_def(self):
    buffer = self.library.TF_NewBuffer()
    self.library.TF_GraphToGraphDef(self.graph, buffer, self.library.status)
    self.library.check()
    return self.library.bytes_of(buffer)

  def run(self, fetches=(), feeds=None, targets=(), run_options=None):
    """fetches: names or Outputs -> their values; with |run_options| (bytes) the RunMetadata's bytes
    stay in self.run_metadata."""
    library, feeds = self.library, feeds or {}
    outputs = [f if isinstance(f, Output) else self.output(f) for f in fetches]
    fetch_array = (Output * max(len(outputs), 1))(*outputs)
    feed_array = (Output * max(len(feeds), 1))(*[self.output(n) for n in feeds])
    values = (P * max(len(feeds), 1))(*[library.tensor(v) for v in feeds.values()])
    results = (P * max(len(outputs), 1))()
    target_array = (P * max(len(targets), 1))(*[self.output(t).oper for t in targets])
    options = metadata = None
    if run_options is not None:
      options, metadata = library.buffer(run_options), library.TF_NewBuffer()
    library.TF_SessionRun(self.session, options, feed_array, values, len(feeds), fetch_array,
                          results, len(outputs), target_array, len(targets), metadata,
                          library.status)
    for i in range(len(feeds)):
      library.TF_DeleteTensor(values[i])
    if options:
      library.TF_DeleteBuffer(options)
      self.run_metadata = library.bytes_of(metadata)
    library.check()
    arrays = [library.array(results[i]) for i in range(len(outputs))]
    for i in range(len(outputs)):
      library.TF_DeleteTensor(results[i])
    return arrays

  def gradients(self, ys, xs):
    """Adds them with TF_AddGradients (ys: names or Outputs); an Output for each x, None where
    there is none."""
    library = self.library
    y = (Output * len(ys))(*[n if isinstance(n, Output) else self.output(n) for n in ys])
    x = (Output * len(xs))(*[self.output(n) for n in xs])
    dx = (Output * len(xs))()
    library.TF_AddGradients(self.graph, y, len(ys), x, len(xs), None, library.status, dx)
    library.check()
    return [Output(d.oper, d.index) if d.oper else None for d in dx]
