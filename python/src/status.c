/* TF_Status as an exception. The library says code and message; leat.errors has a class for each
 * code and makes one of the other where a user sees it. */
#include "module.h"

int leat_py_status_end(TF_Status* status) {
  if (!status) {
    PyErr_NoMemory();
    return 0;
  }
  TF_Code code = TF_GetCode(status);
  if (code != TF_OK) {
    const char* message = TF_Message(status);
    PyObject* text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject* arguments = text ? Py_BuildValue("(iN)", (int)code, text) : NULL;
    if (arguments) PyErr_SetObject(leat_py_types.status_error, arguments);
    Py_XDECREF(arguments);
  }
  TF_DeleteStatus(status);
  return code == TF_OK;
}

PyObject* leat_py_buffer_take(TF_Buffer* buffer) {
  if (!buffer) Py_RETURN_NONE;
  PyObject* bytes = PyBytes_FromStringAndSize(buffer->data, (Py_ssize_t)buffer->length);
  TF_DeleteBuffer(buffer);
  return bytes;
}

int leat_py_status_register(PyObject* module) {
  leat_py_types.status_error = PyErr_NewExceptionWithDoc(
      "leat._leat.StatusError", "An error of the library: args are (code, message).", NULL, NULL);
  if (!leat_py_types.status_error) return -1;
  return PyModule_AddObjectRef(module, "StatusError", leat_py_types.status_error);
}
