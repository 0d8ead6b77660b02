/* Functions of the module that need no graph: the text form of messages, what the fields of
 * messages are, the list of ops, versions, libraries of plugins. Most of them answer with bytes
 * that the package parses, JSON or a serialised message, so that this file has no second
 * description of either. set_classes() and set_arrays() are called once by the package, to say
 * which of its classes handles and fetched values become. This file's table of functions is a
 * part of the module's (module.c). */
#define _GNU_SOURCE  // dladdr
#include "module.h"

#include <dlfcn.h>

#include "tensorflow/c/c_api_experimental.h"

static PyObject* buffer_return(TF_Buffer* buffer, TF_Status* status) {
  if (!leat_py_status_end(status)) {
    TF_DeleteBuffer(buffer);
    return NULL;
  }
  return leat_py_buffer_take(buffer);
}

typedef TF_Buffer* (*convert_t)(const char*, const TF_Buffer*, TF_Status*);
static PyObject* convert(PyObject* args, convert_t function) {
  const char *type, *bytes;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "sy#", &type, &bytes, &size)) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* in = TF_NewBufferFromString(bytes, (size_t)size);
  TF_Buffer* out = status && in ? function(type, in, status) : NULL;
  TF_DeleteBuffer(in);
  return buffer_return(out, status);
}
static PyObject* message_to_text(PyObject* module, PyObject* args) {
  (void)module;
  return convert(args, leat_message_to_text);
}
static PyObject* message_from_text(PyObject* module, PyObject* args) {
  (void)module;
  return convert(args, leat_message_from_text);
}

static PyObject* messages_json(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  TF_Status* status = TF_NewStatus();
  return buffer_return(status ? leat_messages_json(status) : NULL, status);
}

static PyObject* ops_json(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  TF_Status* status = TF_NewStatus();
  return buffer_return(status ? leat_ops_json(status) : NULL, status);
}

static PyObject* version(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return Py_BuildValue("(ss)", leat_version(), TF_Version());
}

static PyObject* set_classes(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *operation, *output;
  if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &operation, &PyType_Type, &output)) return NULL;
  if (!PyType_IsSubtype((PyTypeObject*)operation, leat_py_types.operation) ||
      !PyType_IsSubtype((PyTypeObject*)output, leat_py_types.output)) {
    PyErr_SetString(PyExc_TypeError, "the classes must be subclasses of Operation and Output");
    return NULL;
  }
  Py_XDECREF((PyObject*)leat_py_types.operation_class);
  Py_XDECREF((PyObject*)leat_py_types.output_class);
  leat_py_types.operation_class = (PyTypeObject*)Py_NewRef(operation);
  leat_py_types.output_class = (PyTypeObject*)Py_NewRef(output);
  Py_RETURN_NONE;
}

/* Lets libraries that are loaded afterwards see the functions of ours, since many plugins do not
 * say that they need it, and CPython loads extensions with what they need for themselves alone. */
static void show_symbols(void) {
  Dl_info info;
  if (dladdr((void*)(intptr_t)TF_LoadLibrary, &info) && info.dli_fname) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
  }
}

static PyObject* load_library(PyObject* module, PyObject* path) {
  (void)module;
  const char* text = PyUnicode_AsUTF8AndSize(path, NULL);
  if (!text) return NULL;
  show_symbols();
  TF_Status* status = TF_NewStatus();
  TF_Library* library = status ? TF_LoadLibrary(text, status) : NULL;
  if (!leat_py_status_end(status)) return NULL;
  TF_Buffer ops = TF_GetOpList(library);
  PyObject* bytes = PyBytes_FromStringAndSize(ops.data, (Py_ssize_t)ops.length);
  TF_DeleteLibraryHandle(library);
  return bytes;
}

/* Calls what a library has of TF_InitKernel, SE_InitPlugin, TF_InitGraph and TF_InitProfiler. */
static PyObject* load_pluggable_device_library(PyObject* module, PyObject* path) {
  (void)module;
  const char* text = PyUnicode_AsUTF8AndSize(path, NULL);
  if (!text) return NULL;
  show_symbols();
  TF_Status* status = TF_NewStatus();
  if (status) TF_DeletePluggableDeviceLibraryHandle(TF_LoadPluggableDeviceLibrary(text, status));
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* load_file_system(PyObject* module, PyObject* path) {
  (void)module;
  const char* text = PyUnicode_AsUTF8AndSize(path, NULL);
  if (!text) return NULL;
  show_symbols();
  TF_Status* status = TF_NewStatus();
  if (status) TF_RegisterFilesystemPlugin(text, status);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

PyDoc_STRVAR(set_classes_doc, "set_classes(operation, output): what handles are made of.");
PyMethodDef leat_py_message_functions[] = {
    {"message_to_text", message_to_text, METH_VARARGS, "message_to_text(type, bytes): text bytes."},
    {"message_from_text", message_from_text, METH_VARARGS, "message_from_text(type, text): bytes."},
    {"messages_json", messages_json, METH_NOARGS, "messages_json(): the fields of all messages."},
    {"ops_json", ops_json, METH_NOARGS, "ops_json(): what the registered ops are."},
    {"version", version, METH_NOARGS, "version(): (Leat's, TensorFlow's)."},
    {"set_classes", set_classes, METH_VARARGS, set_classes_doc},
    {"set_arrays", leat_py_set_arrays, METH_VARARGS,
     "set_arrays(ndarray, {DataType: class}): what fetched Values become."},
    {"reset", leat_py_session_reset, METH_VARARGS,
     "reset(target, containers, config): forgets variables and queues, closes the sessions."},
    {"load_library", load_library, METH_O, "load_library(path): a serialised OpList."},
    {"load_pluggable_device_library", load_pluggable_device_library, METH_O,
     "load_pluggable_device_library(path): devices, kernels, optimizers and profilers."},
    {"load_file_system", load_file_system, METH_O, "load_file_system(path): a plug-in's."},
    {0}};
