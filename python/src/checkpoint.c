/* CheckpointReader: the tensors of a checkpoint of either version (leat/files.h). The file is
 * read where it is asked, so the GIL is given up. A reader belongs to one thread at a time.
 * Names, types and shapes come from the index, which is read when the reader is made; a tensor
 * is read from its file only when its value is asked for. */
#include "leat/files.h"
#include "module.h"

typedef struct checkpoint_t {
  PyObject_HEAD
  leat_checkpoint_t* checkpoint;
} checkpoint_t;

static PyObject* checkpoint_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  const char* prefix;
  if (!PyArg_ParseTuple(args, "s", &prefix)) return NULL;
  checkpoint_t* self = (checkpoint_t*)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  TF_Status* status = TF_NewStatus();
  Py_BEGIN_ALLOW_THREADS
  if (status) self->checkpoint = leat_checkpoint_open(prefix, status);
  Py_END_ALLOW_THREADS
  if (!leat_py_status_end(status)) Py_CLEAR(self);
  return (PyObject*)self;
}

static void checkpoint_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  leat_checkpoint_close(((checkpoint_t*)object)->checkpoint);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/* (name, DataType, shape) of tensor |index|. */
static PyObject* entry_of(const leat_checkpoint_t* checkpoint, size_t index) {
  TF_DataType dtype = (TF_DataType)0;
  int rank = leat_checkpoint_shape(checkpoint, index, &dtype, NULL, 0);
  int64_t* dims = PyMem_Malloc(sizeof(int64_t) * (size_t)(rank + 1));
  if (!dims) return PyErr_NoMemory();
  leat_checkpoint_shape(checkpoint, index, &dtype, dims, rank);
  PyObject* shape = leat_py_shape_make(dims, rank);
  PyMem_Free(dims);
  return shape ? Py_BuildValue("siN", leat_checkpoint_name(checkpoint, index), (int)dtype, shape)
               : NULL;
}

static PyObject* checkpoint_entries(PyObject* object, PyObject* unused) {
  (void)unused;
  const leat_checkpoint_t* checkpoint = ((checkpoint_t*)object)->checkpoint;
  Py_ssize_t count = (Py_ssize_t)leat_checkpoint_count(checkpoint);
  PyObject* entries = PyList_New(count);
  for (Py_ssize_t i = 0; entries && i < count; ++i) {
    PyObject* entry = entry_of(checkpoint, (size_t)i);
    if (!entry) Py_CLEAR(entries);
    else PyList_SetItem(entries, i, entry);
  }
  return entries;
}

static PyObject* checkpoint_read(PyObject* object, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  leat_checkpoint_t* checkpoint = ((checkpoint_t*)object)->checkpoint;
  TF_Status* status = TF_NewStatus();
  TF_Tensor* tensor = NULL;
  Py_BEGIN_ALLOW_THREADS
  if (status) tensor = leat_checkpoint_read(checkpoint, text, status);
  Py_END_ALLOW_THREADS
  if (!leat_py_status_end(status)) return NULL;
  return leat_py_value_wrap_fetched(tensor);
}

static PyMethodDef methods[] = {
    {"entries", checkpoint_entries, METH_NOARGS, "entries(): [(name, DataType, shape)], by name."},
    {"read", checkpoint_read, METH_O, "read(name): the Value of a whole tensor."},
    {0}};
static PyType_Slot slots[] = {{Py_tp_doc, "CheckpointReader(prefix)."},
                              {Py_tp_new, checkpoint_new},
                              {Py_tp_dealloc, checkpoint_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};
static PyType_Spec spec = {"leat._leat.CheckpointReader", sizeof(checkpoint_t), 0,
                           Py_TPFLAGS_DEFAULT, slots};

int leat_py_checkpoint_register(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, NULL);
  int failed = !type || PyModule_AddObjectRef(module, "CheckpointReader", type);
  Py_XDECREF(type);
  return failed ? -1 : 0;
}
