/* Attributes of operations, from Python and to Python, as (kind, value) with the kinds that
 * module.h lists. A kind is given with each value because Python's types do not tell: 1 may be
 * an int, a float, a bool or a type. Whether a value suits the op is asked of the library, when
 * the operation is finished. Each kind has a pair of functions here, and a list is read by the
 * function of its elements. An error leaves a Python exception and nothing allocated. */
#include "module.h"

/* ---- Shapes ----------------------------------------------------------------------------------*/
int leat_py_shape_read(PyObject* shape, int64_t** out_dims) {
  *out_dims = NULL;
  if (shape == Py_None) return -1;
  Py_ssize_t rank = PySequence_Size(shape);
  if (rank < 0) return -2;
  int64_t* dims = PyMem_Malloc((size_t)(rank + 1) * sizeof *dims);
  if (!dims) {
    PyErr_NoMemory();
    return -2;
  }
  for (Py_ssize_t i = 0; i < rank; ++i) {
    PyObject* item = PySequence_GetItem(shape, i);
    dims[i] = item ? PyLong_AsLongLong(item) : -1;
    Py_XDECREF(item);
    if (PyErr_Occurred()) {
      PyMem_Free(dims);
      return -2;
    }
  }
  *out_dims = dims;
  return (int)rank;
}

PyObject* leat_py_shape_make(const int64_t* dims, int rank) {
  if (rank < 0) Py_RETURN_NONE;
  PyObject* shape = PyTuple_New(rank);
  for (int i = 0; shape && i < rank; ++i) {
    PyObject* item = PyLong_FromLongLong(dims[i]);
    if (!item) Py_CLEAR(shape);
    else PyTuple_SetItem(shape, i, item);
  }
  return shape;
}

/* ---- From Python -----------------------------------------------------------------------------*/
/* Fills |out| with the integers of |list|: int64_t, TF_DataType or one byte each, by |size|. */
static void* integers_read(PyObject* list, size_t size, int* out_count) {
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return NULL;
  char* out = PyMem_Malloc((size_t)(count + 1) * size);
  if (!out) PyErr_NoMemory();
  for (Py_ssize_t i = 0; out && i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    long long value = item ? PyLong_AsLongLong(item) : -1;
    Py_XDECREF(item);
    if (PyErr_Occurred()) {
      PyMem_Free(out);
      return NULL;
    }
    if (size == sizeof(int64_t)) ((int64_t*)(void*)out)[i] = value;
    else if (size == 1) out[i] = value != 0;
    else ((TF_DataType*)(void*)out)[i] = (TF_DataType)value;
  }
  *out_count = (int)count;
  return out;
}

static float* floats_read(PyObject* list, int* out_count) {
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return NULL;
  float* out = PyMem_Malloc((size_t)(count + 1) * sizeof *out);
  if (!out) PyErr_NoMemory();
  for (Py_ssize_t i = 0; out && i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    out[i] = item ? (float)PyFloat_AsDouble(item) : 0;
    Py_XDECREF(item);
    if (PyErr_Occurred()) {
      PyMem_Free(out);
      return NULL;
    }
  }
  *out_count = (int)count;
  return out;
}

/* Strings are borrowed from |list|, which must be a list or tuple of bytes. */
static int strings_set(TF_OperationDescription* description, const char* name, PyObject* list) {
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return 0;
  const void** values = PyMem_Malloc((size_t)(count + 1) * sizeof *values);
  size_t* lengths = PyMem_Malloc((size_t)(count + 1) * sizeof *lengths);
  int ok = values && lengths;
  if (!ok) PyErr_NoMemory();
  for (Py_ssize_t i = 0; ok && i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    char* text = NULL;
    Py_ssize_t length = 0;
    ok = item && !PyBytes_AsStringAndSize(item, &text, &length);
    Py_XDECREF(item);
    if (ok) values[i] = text, lengths[i] = (size_t)length;
  }
  if (ok) TF_SetAttrStringList(description, name, values, lengths, (int)count);
  PyMem_Free((void*)values);
  PyMem_Free(lengths);
  return ok;
}

static int shapes_set(TF_OperationDescription* description, const char* name, PyObject* list) {
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return 0;
  int64_t** dims = PyMem_Calloc((size_t)(count + 1), sizeof *dims);
  int* ranks = PyMem_Calloc((size_t)(count + 1), sizeof *ranks);
  int ok = dims && ranks;
  if (!ok) PyErr_NoMemory();
  for (Py_ssize_t i = 0; ok && i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    ranks[i] = item ? leat_py_shape_read(item, &dims[i]) : -2;
    Py_XDECREF(item);
    ok = ranks[i] >= -1;
  }
  if (ok) TF_SetAttrShapeList(description, name, (const int64_t* const*)dims, ranks, (int)count);
  for (Py_ssize_t i = 0; dims && i < count; ++i) PyMem_Free(dims[i]);
  PyMem_Free(dims);
  PyMem_Free(ranks);
  return ok;
}

static int tensors_set(TF_OperationDescription* description, const char* name, PyObject* list) {
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return 0;
  TF_Tensor** tensors = PyMem_Calloc((size_t)(count + 1), sizeof *tensors);
  int ok = tensors != NULL;
  if (!ok) PyErr_NoMemory();
  for (Py_ssize_t i = 0; ok && i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    ok = item && PyObject_TypeCheck(item, leat_py_types.value);
    if (ok) tensors[i] = ((leat_py_value_t*)item)->tensor;
    else if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%R is no Value", item);
    Py_XDECREF(item);
  }
  if (ok) {
    TF_Status* status = TF_NewStatus();
    if (status) TF_SetAttrTensorList(description, name, tensors, (int)count, status);
    ok = leat_py_status_end(status);
  }
  PyMem_Free(tensors);
  return ok;
}

static int list_set(TF_OperationDescription* description, const char* name, char kind,
                    PyObject* value) {
  int count = 0;
  void* list = NULL;
  switch (kind) {
    case 's': return strings_set(description, name, value);
    case 'h': return shapes_set(description, name, value);
    case 'v': return tensors_set(description, name, value);
    case 'i':
      list = integers_read(value, sizeof(int64_t), &count);
      if (list) TF_SetAttrIntList(description, name, list, count);
      break;
    case 't':
      list = integers_read(value, sizeof(TF_DataType), &count);
      if (list) TF_SetAttrTypeList(description, name, list, count);
      break;
    case 'b':
      list = integers_read(value, 1, &count);
      if (list) TF_SetAttrBoolList(description, name, list, count);
      break;
    case 'f':
      list = floats_read(value, &count);
      if (list) TF_SetAttrFloatList(description, name, list, count);
      break;
    default: PyErr_Format(PyExc_ValueError, "attribute %s: kind l%c is unknown", name, kind);
  }
  PyMem_Free(list);
  return !PyErr_Occurred();
}

int leat_py_attribute_set(TF_OperationDescription* description, const char* name, const char* kind,
                          PyObject* value) {
  char* text = NULL;
  Py_ssize_t size = 0;
  if (kind[0] == 'l') return list_set(description, name, kind[1], value);
  if (strchr("snpP", kind[0]) && PyBytes_AsStringAndSize(value, &text, &size)) return 0;
  TF_Status* status = NULL;
  switch (kind[0]) {
    case 's': TF_SetAttrString(description, name, text, (size_t)size); break;
    case 'n': TF_SetAttrFuncName(description, name, text, (size_t)size); break;
    case 'p': TF_SetAttrPlaceholder(description, name, text); break;
    case 'i': {
      long long integer = PyLong_AsLongLong(value);
      if (!PyErr_Occurred()) TF_SetAttrInt(description, name, integer);
      break;
    }
    case 't': {
      long type = PyLong_AsLong(value);
      if (!PyErr_Occurred()) TF_SetAttrType(description, name, (TF_DataType)type);
      break;
    }
    case 'f': {
      double real = PyFloat_AsDouble(value);
      if (!PyErr_Occurred()) TF_SetAttrFloat(description, name, (float)real);
      break;
    }
    case 'b': {
      int truth = PyObject_IsTrue(value);
      if (truth >= 0) TF_SetAttrBool(description, name, (unsigned char)truth);
      break;
    }
    case 'h': {
      int64_t* dims;
      int rank = leat_py_shape_read(value, &dims);
      if (rank >= -1) TF_SetAttrShape(description, name, dims, rank);
      PyMem_Free(dims);
      break;
    }
    case 'v':
      if (!PyObject_TypeCheck(value, leat_py_types.value)) {
        PyErr_Format(PyExc_TypeError, "%R is no Value", value);
        return 0;
      }
      status = TF_NewStatus();
      if (status) {
        TF_SetAttrTensor(description, name, ((leat_py_value_t*)value)->tensor, status);
      }
      return leat_py_status_end(status);
    case 'P':
      status = TF_NewStatus();
      if (status) TF_SetAttrValueProto(description, name, text, (size_t)size, status);
      return leat_py_status_end(status);
    default: PyErr_Format(PyExc_ValueError, "attribute %s: kind %s is unknown", name, kind);
  }
  return !PyErr_Occurred();
}

/* ---- To Python -------------------------------------------------------------------------------*/
static PyObject* message_get(TF_Operation* operation, const char* name, TF_Status* status) {
  TF_Buffer* buffer = TF_NewBuffer();
  if (buffer) TF_OperationGetAttrValueProto(operation, name, buffer, status);
  if (TF_GetCode(status) == TF_OK) return leat_py_buffer_take(buffer);
  TF_DeleteBuffer(buffer);
  return NULL;
}

static PyObject* shape_get(TF_Operation* operation, const char* name, int64_t rank,
                           TF_Status* status) {
  int64_t* dims = PyMem_Calloc(rank > 0 ? (size_t)rank : 1, sizeof *dims);
  if (!dims) return PyErr_NoMemory();
  TF_OperationGetAttrShape(operation, name, dims, (int)rank, status);
  PyObject* shape = leat_py_shape_make(dims, (int)rank);
  PyMem_Free(dims);
  return shape;
}

static PyObject* string_get(TF_Operation* operation, const char* name, int64_t size,
                            TF_Status* status) {
  char* text = PyMem_Malloc(size > 0 ? (size_t)size : 1);
  if (!text) return PyErr_NoMemory();
  TF_OperationGetAttrString(operation, name, text, (size_t)size, status);
  PyObject* bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
  PyMem_Free(text);
  return bytes;
}

static PyObject* scalar_get(TF_Operation* operation, const char* name, TF_AttrMetadata metadata,
                            const char** out_kind, TF_Status* status) {
  switch (metadata.type) {
    case TF_ATTR_STRING:
      *out_kind = "s";
      return string_get(operation, name, metadata.total_size, status);
    case TF_ATTR_INT: {
      int64_t value = 0;
      *out_kind = "i";
      TF_OperationGetAttrInt(operation, name, &value, status);
      return PyLong_FromLongLong(value);
    }
    case TF_ATTR_FLOAT: {
      float value = 0;
      *out_kind = "f";
      TF_OperationGetAttrFloat(operation, name, &value, status);
      return PyFloat_FromDouble(value);
    }
    case TF_ATTR_BOOL: {
      unsigned char value = 0;
      *out_kind = "b";
      TF_OperationGetAttrBool(operation, name, &value, status);
      return PyBool_FromLong(value);
    }
    case TF_ATTR_TYPE: {
      TF_DataType value = 0;
      *out_kind = "t";
      TF_OperationGetAttrType(operation, name, &value, status);
      return PyLong_FromLong(value);
    }
    case TF_ATTR_SHAPE:
      *out_kind = "h";
      return shape_get(operation, name, metadata.total_size, status);
    case TF_ATTR_TENSOR: {
      TF_Tensor* value = NULL;
      *out_kind = "v";
      TF_OperationGetAttrTensor(operation, name, &value, status);
      return value ? leat_py_value_wrap(value) : NULL;
    }
    case TF_ATTR_PLACEHOLDER:
    case TF_ATTR_FUNC: break;
  }
  *out_kind = "P";
  return message_get(operation, name, status);
}

static PyObject* strings_get(TF_Operation* operation, const char* name, TF_AttrMetadata metadata,
                             TF_Status* status) {
  const int count = (int)metadata.list_size;
  const size_t size = (size_t)metadata.total_size;
  void** values = PyMem_Calloc((size_t)count + 1, sizeof *values);
  size_t* lengths = PyMem_Calloc((size_t)count + 1, sizeof *lengths);
  char* storage = PyMem_Malloc(size + 1);
  PyObject* list = values && lengths && storage ? PyList_New(0) : PyErr_NoMemory();
  if (list) {
    TF_OperationGetAttrStringList(operation, name, values, lengths, count, storage, size, status);
  }
  for (int i = 0; list && TF_GetCode(status) == TF_OK && i < count; ++i) {
    PyObject* item = PyBytes_FromStringAndSize(values[i], (Py_ssize_t)lengths[i]);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  PyMem_Free(values);
  PyMem_Free(lengths);
  PyMem_Free(storage);
  return list;
}

/* Lists of numbers. Shapes and all else of a list come as the message, which Python reads. */
static PyObject* list_get(TF_Operation* operation, const char* name, TF_AttrMetadata metadata,
                          const char** out_kind, TF_Status* status) {
  int count = (int)metadata.list_size;
  void* values = PyMem_Calloc((size_t)count + 1, sizeof(int64_t));
  PyObject* list = values ? PyList_New(0) : PyErr_NoMemory();
  if (!list) return NULL;
  if (metadata.type == TF_ATTR_INT) {
    *out_kind = "li";
    TF_OperationGetAttrIntList(operation, name, values, count, status);
  } else if (metadata.type == TF_ATTR_TYPE) {
    *out_kind = "lt";
    TF_OperationGetAttrTypeList(operation, name, values, count, status);
  } else if (metadata.type == TF_ATTR_BOOL) {
    *out_kind = "lb";
    TF_OperationGetAttrBoolList(operation, name, values, count, status);
  } else {
    *out_kind = "lf";
    TF_OperationGetAttrFloatList(operation, name, values, count, status);
  }
  for (int i = 0; list && i < count; ++i) {
    PyObject* item = metadata.type == TF_ATTR_INT    ? PyLong_FromLongLong(((int64_t*)values)[i])
                     : metadata.type == TF_ATTR_TYPE ? PyLong_FromLong(((TF_DataType*)values)[i])
                     : metadata.type == TF_ATTR_BOOL
                         ? PyBool_FromLong(((unsigned char*)values)[i])
                         : PyFloat_FromDouble(((float*)values)[i]);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  PyMem_Free(values);
  return list;
}

PyObject* leat_py_attribute_get(TF_Operation* operation, const char* name) {
  TF_Status* status = TF_NewStatus();
  if (!status) return PyErr_NoMemory();
  const char* kind = "P";
  PyObject* value = NULL;
  TF_AttrMetadata metadata = TF_OperationGetAttrMetadata(operation, name, status);
  if (TF_GetCode(status) != TF_OK) {
    TF_DeleteStatus(status);
    Py_RETURN_NONE;
  }
  if (!metadata.is_list) {
    value = scalar_get(operation, name, metadata, &kind, status);
  } else {
    int numbers = metadata.type == TF_ATTR_INT || metadata.type == TF_ATTR_FLOAT ||
                  metadata.type == TF_ATTR_BOOL || metadata.type == TF_ATTR_TYPE;
    if (numbers) {
      value = list_get(operation, name, metadata, &kind, status);
    } else if (metadata.type == TF_ATTR_STRING) {
      kind = "ls";
      value = strings_get(operation, name, metadata, status);
    } else {
      value = message_get(operation, name, status);
    }
  }
  if (!leat_py_status_end(status)) {
    Py_XDECREF(value);
    return NULL;
  }
  return value ? Py_BuildValue("(sN)", kind, value) : NULL;
}
