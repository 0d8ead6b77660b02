/* RecordWriter and RecordReader: files of records (leat/files.h). Event files and TFRecords are
 * such files. A record is on its way to the file when write() returns; close() reports what failed
 * late. Files may block, so the GIL is given up. A writer or reader belongs to one thread at a
 * time. */
#include "leat/files.h"
#include "module.h"

typedef struct writer_t {
  PyObject_HEAD
  leat_records_writer_t* records;
} writer_t;

static PyObject* writer_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"path",     "compression", "level",       "window_bits", "memory_level",
                          "strategy", "flush_mode",  "input_bytes", NULL};
  const char *path, *compression = "";
  leat_zlib_options_t options = {-1, 0, 0, 0, 0, 0};
  /* the options' defaults follow from the compression, so that the arguments are read twice */
  for (int i = 0; i < 2; ++i) {
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|siiiiiL", names, &path, &compression,
                                     &options.level, &options.window_bits, &options.memory_level,
                                     &options.strategy, &options.flush_mode,
                                     &options.input_bytes)) {
      return NULL;
    }
    if (i == 0) options = leat_zlib_options_default(compression);
  }
  writer_t* self = (writer_t*)PyType_GenericAlloc(type, 0);
  TF_Status* status = TF_NewStatus();
  if (self && status) {
    self->records = leat_records_create_with_options(path, compression, &options, status);
  }
  if (!leat_py_status_end(status)) Py_CLEAR(self);
  return (PyObject*)self;
}

static PyObject* writer_close(PyObject* object, PyObject* unused) {
  (void)unused;
  writer_t* self = (writer_t*)object;
  leat_records_writer_t* records = self->records;
  self->records = NULL;
  TF_Status* status = TF_NewStatus();
  Py_BEGIN_ALLOW_THREADS
  if (status) leat_records_finish(records, status);
  Py_END_ALLOW_THREADS
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* writer_write(PyObject* object, PyObject* record) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(record, &data, &size)) return NULL;
  leat_records_writer_t* records = ((writer_t*)object)->records;
  TF_Status* status = TF_NewStatus();
  Py_BEGIN_ALLOW_THREADS
  if (status) leat_records_write(records, data, (size_t)size, status);
  Py_END_ALLOW_THREADS
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* writer_flush(PyObject* object, PyObject* unused) {
  (void)unused;
  leat_records_writer_t* records = ((writer_t*)object)->records;
  TF_Status* status = TF_NewStatus();
  Py_BEGIN_ALLOW_THREADS
  if (status) leat_records_flush(records, status);
  Py_END_ALLOW_THREADS
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static void writer_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  TF_Status* status = TF_NewStatus();
  if (status) leat_records_finish(((writer_t*)object)->records, status);
  TF_DeleteStatus(status);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef writer_methods[] = {
    {"write", writer_write, METH_O, "write(bytes): adds a record."},
    {"flush", writer_flush, METH_NOARGS, "flush(): what was written can be read then."},
    {"close", writer_close, METH_NOARGS, "close(): what was written is on the disk then."},
    {0}};
static PyType_Slot writer_slots[] = {{Py_tp_doc,
                                      "RecordWriter(path, compression='', [level, window_bits, "
                                      "memory_level, strategy, flush_mode, input_bytes])."},
                                     {Py_tp_new, writer_new},
                                     {Py_tp_dealloc, writer_dealloc},
                                     {Py_tp_methods, writer_methods},
                                     {0, NULL}};
static PyType_Spec writer_spec = {"leat._leat.RecordWriter", sizeof(writer_t), 0,
                                  Py_TPFLAGS_DEFAULT, writer_slots};

/* ---- Reading ---------------------------------------------------------------------------------*/
typedef struct reader_t {
  PyObject_HEAD
  leat_records_t* records;
} reader_t;

static PyObject* reader_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  const char *path, *compression = "";
  if (!PyArg_ParseTuple(args, "s|s", &path, &compression)) return NULL;
  reader_t* self = (reader_t*)PyType_GenericAlloc(type, 0);
  TF_Status* status = TF_NewStatus();
  if (self && status) self->records = leat_records_open_compressed(path, compression, status);
  if (!leat_py_status_end(status)) Py_CLEAR(self);
  return (PyObject*)self;
}

static PyObject* reader_next(PyObject* object) {
  leat_records_t* records = ((reader_t*)object)->records;
  TF_Status* status = TF_NewStatus();
  if (!status) return PyErr_NoMemory();
  size_t size = 0;
  const void* data = NULL;
  Py_BEGIN_ALLOW_THREADS
  data = leat_records_next(records, &size, status);
  Py_END_ALLOW_THREADS
  if (TF_GetCode(status) == TF_OUT_OF_RANGE) {
    TF_DeleteStatus(status);
    return NULL; /* the end of the iteration */
  }
  if (!leat_py_status_end(status)) return NULL;
  return PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
}

static void reader_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  leat_records_close(((reader_t*)object)->records);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyType_Slot reader_slots[] = {{Py_tp_doc, "RecordReader(path, compression=''): iterates."},
                                     {Py_tp_new, reader_new},
                                     {Py_tp_dealloc, reader_dealloc},
                                     {Py_tp_iter, PyObject_SelfIter},
                                     {Py_tp_iternext, reader_next},
                                     {0, NULL}};
static PyType_Spec reader_spec = {"leat._leat.RecordReader", sizeof(reader_t), 0,
                                  Py_TPFLAGS_DEFAULT, reader_slots};

int leat_py_records_register(PyObject* module) {
  PyObject* writer = PyType_FromModuleAndSpec(module, &writer_spec, NULL);
  PyObject* reader = PyType_FromModuleAndSpec(module, &reader_spec, NULL);
  int failed = !writer || !reader || PyModule_AddObjectRef(module, "RecordWriter", writer) ||
               PyModule_AddObjectRef(module, "RecordReader", reader);
  Py_XDECREF(writer);
  Py_XDECREF(reader);
  return failed ? -1 : 0;
}
