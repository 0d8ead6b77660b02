/* Value: a TF_Tensor, which is what is fed and fetched. It has the buffer protocol, so that numpy
 * and memoryview look at its elements without a copy, and is made of any object with a contiguous
 * buffer, likewise without a copy where the block is aligned. The object whose buffer it is is
 * kept until the library lets go of the block, which may be on any thread.
 *
 * Strings have no buffer: strings() lists them. Types that the buffer protocol has no letter for
 * (bfloat16, the quantized ones, ...) show as unsigned integers of their size; the package knows
 * the type. Resources and variants can be passed on, not looked into. */
#include "module.h"

static size_t element_size(TF_DataType dtype) { return TF_DataTypeSize(dtype); }

static PyObject* value_allocate(TF_Tensor* tensor, int writable) {
  leat_py_value_t* self = (leat_py_value_t*)PyType_GenericAlloc(leat_py_types.value, 0);
  if (!self) {
    TF_DeleteTensor(tensor);
    return NULL;
  }
  self->tensor = tensor;
  self->writable = writable;
  return (PyObject*)self;
}

PyObject* leat_py_value_wrap(TF_Tensor* tensor) {
  return tensor ? value_allocate(tensor, 0) : PyErr_NoMemory();
}

PyObject* leat_py_value_wrap_fetched(TF_Tensor* tensor) {
  TF_DataType dtype = TF_TensorType(tensor);
  if (!element_size(dtype)) return value_allocate(tensor, 0);
  TF_Tensor* own = TF_TensorMaybeMove(tensor);
  if (own) return value_allocate(own, 1);
  /* Someone else holds the elements, a variable or a constant. Whoever writes to what he fetched
   * must not change them. */
  size_t size = (size_t)TF_TensorElementCount(tensor) * element_size(dtype);
  int64_t dims[256];
  int rank = TF_NumDims(tensor);
  for (int i = 0; i < rank && i < 256; ++i) dims[i] = TF_Dim(tensor, i);
  own = TF_AllocateTensor(dtype, dims, rank, size);
  if (own && size) memcpy(TF_TensorData(own), TF_TensorData(tensor), size);
  TF_DeleteTensor(tensor);
  return own ? value_allocate(own, 1) : PyErr_NoMemory();
}

static void value_dealloc(PyObject* object) {
  leat_py_value_t* self = (leat_py_value_t*)object;
  PyTypeObject* type = Py_TYPE(object);
  TF_DeleteTensor(self->tensor);
  PyMem_Free(self->shape);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/* ---- Made of others' memory ------------------------------------------------------------------*/
/* Called by the library when the last user of the block is gone, on any thread; not after the
 * interpreter has ended. */
static void release_view(void* data, size_t size, void* argument) {
  (void)data, (void)size;
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_buffer* view = argument;
  PyBuffer_Release(view);
  PyMem_Free(view);
  PyGILState_Release(state);
}

PyDoc_STRVAR(from_buffer_doc,
             "from_buffer(buffer, dtype, shape): a Value over the bytes of |buffer|,\n"
             "without a copy where they are aligned.");
static PyObject* value_from_buffer(PyObject* unused, PyObject* args) {
  (void)unused;
  PyObject *object, *shape;
  int dtype;
  int64_t* dims = NULL;
  if (!PyArg_ParseTuple(args, "OiO", &object, &dtype, &shape)) return NULL;
  Py_buffer* view = PyMem_Malloc(sizeof *view);
  if (!view) return PyErr_NoMemory();
  if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS)) {
    PyMem_Free(view);
    return NULL;
  }
  int rank = leat_py_shape_read(shape, &dims);
  if (rank < 0 || !element_size((TF_DataType)dtype)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "shape or dtype has no fixed size");
    PyBuffer_Release(view);
    PyMem_Free(view);
    PyMem_Free(dims);
    return NULL;
  }
  TF_Tensor* tensor;
  size_t size = (size_t)view->len;
  if (size <= 4096) {
    /* For a small block a copy costs less than to hold the buffer. */
    tensor = TF_AllocateTensor((TF_DataType)dtype, dims, rank, size);
    size_t wanted = tensor ? (size_t)TF_TensorElementCount(tensor) *
                                 element_size((TF_DataType)dtype) : size;
    if (wanted != size) {
      TF_DeleteTensor(tensor);
      tensor = NULL;
    }
    if (tensor && size) memcpy(TF_TensorData(tensor), view->buf, size);
    PyBuffer_Release(view);
    PyMem_Free(view);
  } else {
    tensor = TF_NewTensor((TF_DataType)dtype, dims, rank, view->buf, size, release_view, view);
  }
  PyMem_Free(dims);
  if (!tensor) {
    PyErr_Format(PyExc_ValueError, "a buffer of %zu bytes does not suit the shape", size);
    return NULL;
  }
  return value_allocate(tensor, 0);
}

PyDoc_STRVAR(from_strings_doc, "from_strings(list of bytes, shape): a Value of type string.");
static PyObject* value_from_strings(PyObject* unused, PyObject* args) {
  (void)unused;
  PyObject *list, *shape;
  int64_t* dims;
  if (!PyArg_ParseTuple(args, "OO", &list, &shape)) return NULL;
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return NULL;
  int rank = leat_py_shape_read(shape, &dims);
  if (rank < -1) return NULL;
  size_t size = (size_t)count * sizeof(TF_TString);
  TF_Tensor* tensor = rank < 0 ? NULL : TF_AllocateTensor(TF_STRING, dims, rank, size);
  PyMem_Free(dims);
  if (!tensor || TF_TensorElementCount(tensor) != count) {
    TF_DeleteTensor(tensor);
    PyErr_Format(PyExc_ValueError, "%zd strings do not suit the shape", count);
    return NULL;
  }
  TF_TString* strings = TF_TensorData(tensor);
  for (Py_ssize_t i = 0; i < count; ++i) TF_StringInit(&strings[i]);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    char* text;
    Py_ssize_t length;
    if (!item || PyBytes_AsStringAndSize(item, &text, &length)) {
      Py_XDECREF(item);
      TF_DeleteTensor(tensor);
      return NULL;
    }
    TF_StringCopy(&strings[i], text, (size_t)length);
    Py_DECREF(item);
  }
  return value_allocate(tensor, 0);
}

/* ---- Looking ---------------------------------------------------------------------------------*/
#define TENSOR(object) (((leat_py_value_t*)(object))->tensor)
static PyObject* value_dtype(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(TF_TensorType(TENSOR(self)));
}
static PyObject* value_shape(PyObject* self, void* unused) {
  (void)unused;
  int rank = TF_NumDims(TENSOR(self));
  PyObject* shape = PyTuple_New(rank);
  for (int i = 0; shape && i < rank; ++i) {
    PyObject* item = PyLong_FromLongLong(TF_Dim(TENSOR(self), i));
    if (!item) Py_CLEAR(shape);
    else PyTuple_SetItem(shape, i, item);
  }
  return shape;
}

static PyObject* value_strings(PyObject* self, PyObject* unused) {
  (void)unused;
  TF_Tensor* tensor = TENSOR(self);
  if (TF_TensorType(tensor) != TF_STRING) {
    PyErr_SetString(PyExc_TypeError, "the value is not of type string");
    return NULL;
  }
  Py_ssize_t count = (Py_ssize_t)TF_TensorElementCount(tensor);
  const TF_TString* strings = TF_TensorData(tensor);
  PyObject* list = PyList_New(count);
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    PyObject* item = PyBytes_FromStringAndSize(TF_StringGetDataPointer(&strings[i]),
                                               (Py_ssize_t)TF_StringGetSize(&strings[i]));
    if (!item) Py_CLEAR(list);
    else PyList_SetItem(list, i, item);
  }
  return list;
}

static const char* format_of(TF_DataType dtype, size_t size) {
  switch (dtype) {
    case TF_FLOAT: return "f";
    case TF_DOUBLE: return "d";
    case TF_HALF: return "e";
    case TF_BOOL: return "?";
    case TF_INT8: return "b";
    case TF_INT16: return "h";
    case TF_INT32: return "i";
    case TF_INT64: return "q";
    case TF_COMPLEX64: return "Zf";
    case TF_COMPLEX128: return "Zd";
    default: return size == 1 ? "B" : size == 2 ? "H" : size == 4 ? "I" : "Q";
  }
}

static int value_get_buffer(PyObject* object, Py_buffer* view, int flags) {
  leat_py_value_t* self = (leat_py_value_t*)object;
  TF_DataType dtype = TF_TensorType(self->tensor);
  size_t size = element_size(dtype);
  if (!size || ((flags & PyBUF_WRITABLE) && !self->writable)) {
    PyErr_SetString(PyExc_BufferError, size ? "the elements are shared; they cannot be written"
                                            : "elements of this type have no buffer");
    view->obj = NULL;
    return -1;
  }
  int rank = TF_NumDims(self->tensor);
  if (!self->shape) {
    self->shape = PyMem_Malloc(2 * (size_t)(rank + 1) * sizeof *self->shape);
    if (!self->shape) {
      PyErr_NoMemory();
      view->obj = NULL;
      return -1;
    }
    Py_ssize_t stride = (Py_ssize_t)size;
    for (int i = rank - 1; i >= 0; --i) {
      self->shape[i] = (Py_ssize_t)TF_Dim(self->tensor, i);
      self->shape[rank + i] = stride;
      stride *= self->shape[i];
    }
  }
  static char nothing[16];
  void* data = TF_TensorData(self->tensor);
  view->obj = Py_NewRef(object);
  view->buf = data ? data : nothing;
  view->len = (Py_ssize_t)TF_TensorElementCount(self->tensor) * (Py_ssize_t)size;
  view->itemsize = (Py_ssize_t)size;
  view->readonly = !self->writable;
  view->ndim = rank;
  view->format = (flags & PyBUF_FORMAT) ? (char*)format_of(dtype, size) : NULL;
  view->shape = (flags & PyBUF_ND) ? self->shape : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->shape + rank : NULL;
  view->suboffsets = NULL;
  view->internal = NULL;
  return 0;
}

static PyMethodDef value_methods[] = {
    {"from_buffer", value_from_buffer, METH_VARARGS | METH_STATIC, from_buffer_doc},
    {"from_strings", value_from_strings, METH_VARARGS | METH_STATIC, from_strings_doc},
    {"strings", value_strings, METH_NOARGS, "strings(): the elements as a flat list of bytes."},
    {0}};
static PyGetSetDef value_members[] = {
    {"dtype_", value_dtype, NULL, "The DataType of the elements.", NULL},
    {"shape", value_shape, NULL, "A tuple of sizes.", NULL},
    {0}};
static PyType_Slot value_slots[] = {{Py_tp_doc, "An array of the library's."},
                                    {Py_tp_dealloc, value_dealloc},
                                    {Py_tp_methods, value_methods},
                                    {Py_tp_getset, value_members},
                                    {Py_bf_getbuffer, value_get_buffer},
                                    {0, NULL}};
static PyType_Spec value_spec = {"leat._leat.Value", sizeof(leat_py_value_t), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 value_slots};

int leat_py_value_register(PyObject* module) {
  leat_py_types.value = (PyTypeObject*)PyType_FromModuleAndSpec(module, &value_spec, NULL);
  if (!leat_py_types.value) return -1;
  return PyModule_AddObjectRef(module, "Value", (PyObject*)leat_py_types.value);
}
