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
  PyGILState_STATE state;
  if (!leat_py_enter(&state)) return;
  Py_buffer* view = argument;
  PyBuffer_Release(view);
  PyMem_Free(view);
  PyGILState_Release(state);
}

/* For a small block a copy costs less than to hold the buffer. */
#define COPIED_BYTES 4096

/* A Value over the bytes of |view|, which is taken, also when that fails. */
static PyObject* value_of_view(Py_buffer* view, TF_DataType dtype, const int64_t* dims, int rank) {
  const size_t size = (size_t)view->len;
  TF_Tensor* tensor;
  if (size <= COPIED_BYTES) {
    tensor = TF_AllocateTensor(dtype, dims, rank, size);
    if (tensor && (size_t)TF_TensorElementCount(tensor) * element_size(dtype) != size) {
      TF_DeleteTensor(tensor);
      tensor = NULL;
    }
    if (tensor && size) memcpy(TF_TensorData(tensor), view->buf, size);
    PyBuffer_Release(view);
    PyMem_Free(view);
  } else {
    tensor = TF_NewTensor(dtype, dims, rank, view->buf, size, release_view, view);
  }
  if (tensor) return value_allocate(tensor, 0);
  PyErr_Format(PyExc_ValueError, "a buffer of %zu bytes does not suit the shape", size);
  return NULL;
}

/* The buffer of |object|, which the caller takes; NULL with an exception. */
static Py_buffer* view_of(PyObject* object, int flags) {
  Py_buffer* view = PyMem_Malloc(sizeof *view);
  if (!view) {
    PyErr_NoMemory();
  } else if (PyObject_GetBuffer(object, view, flags)) {
    PyMem_Free(view);
    view = NULL;
  }
  return view;
}

PyDoc_STRVAR(from_buffer_doc,
             "from_buffer(buffer, dtype, shape): a Value over the bytes of |buffer|,\n"
             "without a copy where they are aligned.");
static PyObject* value_from_buffer(PyObject* unused, PyObject* args) {
  (void)unused;
  PyObject *object, *shape, *value = NULL;
  int dtype;
  int64_t* dims = NULL;
  if (!PyArg_ParseTuple(args, "OiO", &object, &dtype, &shape)) return NULL;
  int rank = leat_py_shape_read(shape, &dims);
  if (rank < 0 || !element_size((TF_DataType)dtype)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "shape or dtype has no fixed size");
  } else {
    Py_buffer* view = view_of(object, PyBUF_C_CONTIGUOUS);
    if (view) value = value_of_view(view, (TF_DataType)dtype, dims, rank);
  }
  PyMem_Free(dims);
  return value;
}

/* ---- Feeds -----------------------------------------------------------------------------------*/
static const char* format_of(TF_DataType dtype, size_t size);

/* Whether a buffer's elements, as it describes them, are of the type. */
static int has_type(const Py_buffer* view, TF_DataType dtype) {
  const char* format = view->format;
  if (!format || (size_t)view->itemsize != element_size(dtype)) return 0;
  /* numpy calls the 64-bit integers long, which they are on these machines. */
  if (dtype == TF_INT64 && !strcmp(format, "l")) return 1;
  if (dtype == TF_UINT64 && !strcmp(format, "L")) return 1;
  return !strcmp(format, format_of(dtype, (size_t)view->itemsize));
}

#define MOST_DIMS 32

/* Whether a buffer's shape, which |dims| becomes, fits what is known of the output's. */
static int has_shape(const Py_buffer* view, TF_Graph* graph, TF_Output output, int64_t* dims) {
  int64_t known[MOST_DIMS];
  if (view->ndim > MOST_DIMS) return 0;
  for (int i = 0; i < view->ndim; ++i) dims[i] = view->shape[i];
  TF_Status* status = TF_NewStatus();
  if (!status) return 0;
  const int rank = TF_GraphGetTensorNumDims(graph, output, status);
  int fits = TF_GetCode(status) == TF_OK && (rank < 0 || rank == view->ndim);
  if (fits && rank > 0) TF_GraphGetTensorShape(graph, output, known, rank, status);
  fits &= TF_GetCode(status) == TF_OK;
  for (int i = 0; fits && i < rank; ++i) fits = known[i] < 0 || known[i] == dims[i];
  TF_DeleteStatus(status);
  return fits;
}

PyDoc_STRVAR(fed_doc, "fed(output, array): the array as a Value to be fed to the Output; None\n"
                      "where its type or shape does not fit, or its elements are not in order.");
static PyObject* value_fed(PyObject* unused, PyObject* args) {
  (void)unused;
  PyObject *of_output, *array;
  TF_Output output;
  int64_t dims[MOST_DIMS];
  if (!PyArg_ParseTuple(args, "OO", &of_output, &array) ||
      !leat_py_output_read(of_output, &output)) {
    return NULL;
  }
  const int dtype = TF_OperationOutputType(output) % 100; /* of a reference: what it refers to */
  const PyObject* operation = ((leat_py_output_t*)of_output)->operation;
  const PyObject* graph = ((const leat_py_operation_t*)operation)->graph;
  Py_buffer* view = view_of(array, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  if (!view) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  if (has_type(view, (TF_DataType)dtype) &&
      has_shape(view, ((const leat_py_graph_t*)graph)->graph, output, dims)) {
    return value_of_view(view, (TF_DataType)dtype, dims, view->ndim);
  }
  PyBuffer_Release(view);
  PyMem_Free(view);
  Py_RETURN_NONE;
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

/* What numpy has for the elements of a type. A number is made by writing it into |memory|, over
 * which |cell| is an array of shape (), and asking for cell[()], which copies it: calling the class
 * would take seven times as long. The GIL is held from the one to the other. */
typedef struct element_t {
  PyObject* element_class; /* NULL: the type has none, or numpy is not loaded */
  PyObject* cell;          /* NULL before the first number */
  double memory[2];
} element_t;

#define ELEMENT_TYPES 100 /* a TF_DataType is below */
static element_t elements[ELEMENT_TYPES];
static PyObject* no_index; /* () */

/* NULL where an array of such elements is no array of numpy's. */
static element_t* element_of(const TF_Tensor* tensor) {
  const int dtype = TF_TensorType(tensor);
  return dtype < ELEMENT_TYPES && elements[dtype].element_class ? &elements[dtype] : NULL;
}

/* An array over the memory of |buffer|. */
static PyObject* array_over(PyObject* buffer, PyObject* shape, const element_t* element) {
  return PyObject_CallFunctionObjArgs(leat_py_types.array_class, shape, element->element_class,
                                      buffer, NULL);
}

static PyObject* number_of(const TF_Tensor* tensor, element_t* element) {
  if (!element->cell) {
    PyObject* memory = PyMemoryView_FromMemory(
        (char*)element->memory, (Py_ssize_t)element_size(TF_TensorType(tensor)), PyBUF_WRITE);
    if (memory) element->cell = array_over(memory, no_index, element);
    Py_XDECREF(memory);
    if (!element->cell) return NULL;
  }
  memcpy(element->memory, TF_TensorData(tensor), element_size(TF_TensorType(tensor)));
  return PyObject_GetItem(element->cell, no_index);
}

/* numpy's array over the Value's memory; of a scalar, numpy's number. */
static PyObject* array_of(PyObject* value, element_t* element) {
  if (TF_NumDims(TENSOR(value)) == 0) return number_of(TENSOR(value), element);
  PyObject* shape = value_shape(value, NULL);
  PyObject* array = shape ? array_over(value, shape, element) : NULL;
  Py_XDECREF(shape);
  return array;
}

/* The array of |value|, which is taken; |value| where numpy has none, and NULL for NULL. */
static PyObject* array_take(PyObject* value) {
  element_t* element = value ? element_of(TENSOR(value)) : NULL;
  if (!element) return value;
  PyObject* array = array_of(value, element);
  Py_DECREF(value);
  return array;
}

PyObject* leat_py_value_fetched(TF_Tensor* tensor) {
  element_t* element = element_of(tensor);
  if (!element || TF_NumDims(tensor) != 0) return array_take(leat_py_value_wrap_fetched(tensor));
  PyObject* number = number_of(tensor, element);
  TF_DeleteTensor(tensor);
  return number;
}

PyDoc_STRVAR(array_doc, "array(): numpy's array over its memory, of a scalar numpy's number; the\n"
                        "Value itself where set_arrays has no class for its elements.");
static PyObject* value_array(PyObject* self, PyObject* unused) {
  (void)unused;
  return array_take(Py_NewRef(self));
}

PyObject* leat_py_set_arrays(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *array_class, *element_classes;
  if (!PyArg_ParseTuple(args, "OO!", &array_class, &PyDict_Type, &element_classes)) return NULL;
  if (!no_index && !(no_index = PyTuple_New(0))) return NULL;
  Py_XDECREF(leat_py_types.array_class);
  leat_py_types.array_class = Py_NewRef(array_class);
  PyObject *key, *element_class;
  for (Py_ssize_t place = 0; PyDict_Next(element_classes, &place, &key, &element_class);) {
    const long dtype = PyLong_AsLong(key);
    if (dtype == -1 && PyErr_Occurred()) return NULL;
    if (dtype < 0 || dtype >= ELEMENT_TYPES ||
        element_size((TF_DataType)dtype) > sizeof elements->memory) {
      return PyErr_Format(PyExc_ValueError, "%ld is no type of elements", dtype);
    }
    Py_XDECREF(elements[dtype].element_class);
    Py_CLEAR(elements[dtype].cell);
    elements[dtype].element_class = Py_NewRef(element_class);
  }
  Py_RETURN_NONE;
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
    {"fed", value_fed, METH_VARARGS | METH_STATIC, fed_doc},
    {"from_strings", value_from_strings, METH_VARARGS | METH_STATIC, from_strings_doc},
    {"array", value_array, METH_NOARGS, array_doc},
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
