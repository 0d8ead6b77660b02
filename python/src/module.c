/* The module leat._leat. It keeps the types of its handles in one place, and threads of the library
 * enter Python by PyGILState_Ensure, which knows only the main interpreter of a process. Other
 * interpreters therefore cannot import it. */
#include "module.h"

leat_py_types_t leat_py_types;

static int module_exec(PyObject* module) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "leat works in the main interpreter of a process only");
    return -1;
  }
  if (leat_py_types.graph) {
    PyErr_SetString(PyExc_ImportError, "leat._leat was imported before in this process");
    return -1;
  }
  if (leat_py_status_register(module) || leat_py_value_register(module) ||
      leat_py_operation_register(module) || leat_py_graph_register(module) ||
      leat_py_files_register(module) || leat_py_records_register(module) ||
      leat_py_checkpoint_register(module) ||
      leat_py_control_flow_register(module) || leat_py_server_register(module) ||
      leat_py_py_func_register(module) || leat_py_summary_register(module)) {
    return -1;
  }
  return leat_py_session_register(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_leat", "Leat's C API for Python.", 0,
                                 leat_py_message_functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__leat(void);
PyMODINIT_FUNC PyInit__leat(void) { return PyModuleDef_Init(&definition); }
