/* ReadableFile and WritableFile, and the functions on paths that begin with a scheme: files of the
 * file systems of plug-ins (tensorflow/c/env.h, leat/files.h). Python has the operating system's by
 * itself (leat/_platform/paths.py). Such files may lie far away, so the GIL is given up. A file
 * belongs to one thread at a time. */
#include "leat/files.h"
#include "module.h"

/* Without the GIL. */
#define CALL(call)       \
  Py_BEGIN_ALLOW_THREADS \
  if (status) call;      \
  Py_END_ALLOW_THREADS

/* ---- Files that are read ---------------------------------------------------------------------*/
typedef struct readable_t {
  PyObject_HEAD
  leat_readable_file_t* file;
} readable_t;

static PyObject* readable_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  const char* path;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  readable_t* self = (readable_t*)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(self->file = leat_readable_file_open(path, status))
  if (!leat_py_status_end(status)) Py_CLEAR(self);
  return (PyObject*)self;
}

static PyObject* readable_read(PyObject* object, PyObject* args) {
  unsigned long long offset;
  Py_buffer into;
  if (!PyArg_ParseTuple(args, "Kw*", &offset, &into)) return NULL;
  leat_readable_file_t* file = ((readable_t*)object)->file;
  size_t count = 0;
  TF_Status* status = TF_NewStatus();
  CALL(count = leat_readable_file_read(file, offset, into.buf, (size_t)into.len, status))
  PyBuffer_Release(&into);
  return leat_py_status_end(status) ? PyLong_FromSize_t(count) : NULL;
}

static void readable_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  leat_readable_file_close(((readable_t*)object)->file);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef readable_methods[] = {
    {"read_into", readable_read, METH_VARARGS,
     "read_into(offset, buffer): fills it, less only at the file's end; how many bytes."},
    {0}};
static PyType_Slot readable_slots[] = {{Py_tp_doc, "ReadableFile(path)."},
                                       {Py_tp_new, readable_new},
                                       {Py_tp_dealloc, readable_dealloc},
                                       {Py_tp_methods, readable_methods},
                                       {0, NULL}};
static PyType_Spec readable_spec = {"leat._leat.ReadableFile", sizeof(readable_t), 0,
                                    Py_TPFLAGS_DEFAULT, readable_slots};

/* ---- Files that are written ------------------------------------------------------------------*/
typedef struct writable_t {
  PyObject_HEAD
  TF_WritableFileHandle* file; /* NULL once it is closed */
} writable_t;

static PyObject* writable_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  const char* path;
  int appends = 0;
  if (!PyArg_ParseTuple(args, "s|p", &path, &appends)) return NULL;
  writable_t* self = (writable_t*)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  TF_Status* status = TF_NewStatus();
  if (appends) {
    CALL(self->file = leat_writable_file_append(path, status))
  } else {
    CALL(TF_NewWritableFile(path, &self->file, status))
  }
  if (!leat_py_status_end(status)) Py_CLEAR(self);
  return (PyObject*)self;
}

/* The file, or NULL with ValueError. */
static TF_WritableFileHandle* opened(PyObject* object) {
  TF_WritableFileHandle* file = ((writable_t*)object)->file;
  if (!file) PyErr_SetString(PyExc_ValueError, "I/O operation on closed file.");
  return file;
}

static PyObject* writable_write(PyObject* object, PyObject* args) {
  Py_buffer data;
  TF_WritableFileHandle* file = opened(object);
  if (!file || !PyArg_ParseTuple(args, "y*", &data)) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(TF_AppendWritableFile(file, data.buf, (size_t)data.len, status))
  PyBuffer_Release(&data);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* writable_flush(PyObject* object, PyObject* unused) {
  (void)unused;
  TF_WritableFileHandle* file = opened(object);
  if (!file) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(TF_FlushWritableFile(file, status))
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* writable_close(PyObject* object, PyObject* unused) {
  (void)unused;
  TF_WritableFileHandle* file = ((writable_t*)object)->file;
  if (!file) Py_RETURN_NONE;
  ((writable_t*)object)->file = NULL;
  TF_Status* status = TF_NewStatus();
  CALL(TF_CloseWritableFile(file, status))
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static void writable_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  TF_WritableFileHandle* file = ((writable_t*)object)->file;
  TF_Status* status = TF_NewStatus();
  if (file && status) TF_CloseWritableFile(file, status);
  TF_DeleteStatus(status);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef writable_methods[] = {
    {"write", writable_write, METH_VARARGS, "write(bytes): behind what is there."},
    {"flush", writable_flush, METH_NOARGS, "flush(): what was written can be read then."},
    {"close", writable_close, METH_NOARGS, "close(): what was written is stored then."},
    {0}};
static PyType_Slot writable_slots[] = {{Py_tp_doc, "WritableFile(path, appends=False)."},
                                       {Py_tp_new, writable_new},
                                       {Py_tp_dealloc, writable_dealloc},
                                       {Py_tp_methods, writable_methods},
                                       {0, NULL}};
static PyType_Spec writable_spec = {"leat._leat.WritableFile", sizeof(writable_t), 0,
                                    Py_TPFLAGS_DEFAULT, writable_slots};

/* ---- Functions of the module -----------------------------------------------------------------*/
static PyObject* file_stat(PyObject* module, PyObject* args) {
  (void)module;
  const char* path;
  TF_FileStatistics found = {0};
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(TF_FileStat(path, &found, status))
  if (!leat_py_status_end(status)) return NULL;
  return Py_BuildValue("LLN", (long long)found.length, (long long)found.mtime_nsec,
                       PyBool_FromLong(found.is_directory));
}

static PyObject* file_make_directory(PyObject* module, PyObject* args) {
  (void)module;
  const char* path;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(TF_CreateDir(path, status))
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* file_remove(PyObject* module, PyObject* args) {
  (void)module;
  const char* path;
  int is_directory = 0;
  if (!PyArg_ParseTuple(args, "s|p", &path, &is_directory)) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL((is_directory ? TF_DeleteDir : TF_DeleteFile)(path, status))
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* file_remove_tree(PyObject* module, PyObject* args) {
  (void)module;
  const char* path;
  int64_t files = 0, directories = 0;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(TF_DeleteRecursively(path, &files, &directories, status))
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* file_rename(PyObject* module, PyObject* args) {
  (void)module;
  const char *from, *to;
  if (!PyArg_ParseTuple(args, "ss", &from, &to)) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(leat_path_rename(from, to, status))
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

/* A list of the names that |find| gives for the path in |args|. */
static PyObject* list_of(PyObject* args, TF_StringStream* (*find)(const char*, TF_Status*)) {
  const char *path, *name;
  TF_StringStream* stream = NULL;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  TF_Status* status = TF_NewStatus();
  CALL(stream = find(path, status))
  if (!leat_py_status_end(status)) return NULL;
  PyObject* list = PyList_New(0);
  while (list && TF_StringStreamNext(stream, &name)) {
    PyObject* text = PyUnicode_DecodeFSDefault(name);
    if (!text || PyList_Append(list, text)) Py_CLEAR(list);
    Py_XDECREF(text);
  }
  TF_StringStreamDone(stream);
  return list;
}

static PyObject* file_list(PyObject* module, PyObject* args) {
  (void)module;
  return list_of(args, TF_GetChildren);
}

static PyObject* file_match(PyObject* module, PyObject* args) {
  (void)module;
  return list_of(args, leat_path_match);
}

static PyMethodDef functions[] = {
    {"file_stat", file_stat, METH_VARARGS, "file_stat(path): (size, mtime in ns, is a directory)."},
    {"file_make_directory", file_make_directory, METH_VARARGS, "file_make_directory(path)."},
    {"file_remove", file_remove, METH_VARARGS, "file_remove(path, is_directory=False)."},
    {"file_remove_tree", file_remove_tree, METH_VARARGS, "file_remove_tree(path)."},
    {"file_rename", file_rename, METH_VARARGS, "file_rename(path, path): replaces the second."},
    {"file_list", file_list, METH_VARARGS, "file_list(path): names without their directory."},
    {"file_match", file_match, METH_VARARGS, "file_match(pattern): the paths that match it."},
    {0}};

int leat_py_files_register(PyObject* module) {
  PyObject* readable = PyType_FromModuleAndSpec(module, &readable_spec, NULL);
  PyObject* writable = PyType_FromModuleAndSpec(module, &writable_spec, NULL);
  int failed = !readable || !writable || PyModule_AddFunctions(module, functions) ||
               PyModule_AddObjectRef(module, "ReadableFile", readable) ||
               PyModule_AddObjectRef(module, "WritableFile", writable);
  Py_XDECREF(readable);
  Py_XDECREF(writable);
  return failed ? -1 : 0;
}
