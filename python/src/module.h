/* The types of the extension leat._leat, and what its sources share.
 *
 * The extension binds Leat's C API to Python and nothing else: what an argument means, which text
 * an error has, how names are made unique is decided by the library or by the Python above. It
 * uses CPython's limited API, so that one file serves 3.11 and all later versions.
 *
 * Ownership: a Graph owns a TF_Graph. It remembers the Operation objects that were made for its
 * operations, so that asking twice gives the same object; an Operation refers to its Graph and
 * remembers the objects of its outputs. These cycles are Python's garbage collector's to break. A
 * Session owns a TF_Session, which keeps the TF_Graph alive by itself.
 *
 * Threads: all functions are called with the GIL held. Those that run steps give it up. Threads of
 * the library take it through leat_py_enter. */
#ifndef LEAT_PYTHON_MODULE_H_
#define LEAT_PYTHON_MODULE_H_

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "leat/cluster.h"
#include "leat/inspect.h"
#include "leat/names.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_server.h"
#include "tensorflow/c/tf_tstring.h"

/* ---- Objects ---------------------------------------------------------------------------------*/
typedef struct leat_py_graph_t {
  PyObject_HEAD
  TF_Graph* graph;
  PyObject* operations; /* dict: address of a TF_Operation -> its object */
  size_t seen;          /* where TF_GraphNextOperation goes on, and how many it has */
  Py_ssize_t count;     /* given so far */
} leat_py_graph_t;

typedef struct leat_py_operation_t {
  PyObject_HEAD
  TF_Operation* operation;
  PyObject* graph;   /* the Graph */
  PyObject* outputs; /* tuple, made when it is first asked for, or NULL */
} leat_py_operation_t;

typedef struct leat_py_output_t {
  PyObject_HEAD
  TF_Output output;
  PyObject* operation; /* the Operation */
} leat_py_output_t;

/* A TF_Tensor. Its buffer is writable where nobody else holds the elements. */
typedef struct leat_py_value_t {
  PyObject_HEAD
  TF_Tensor* tensor;
  int writable;
  Py_ssize_t* shape; /* then strides; made for the first buffer, NULL before */
} leat_py_value_t;

typedef struct leat_py_session_t {
  PyObject_HEAD
  TF_Session* session;
  int runs; /* calls under way; the session is freed after the last */
  int closed;
  int is_local; /* its steps run in this process */
  struct leat_py_session_t *next, *before; /* in the list of all sessions */
} leat_py_session_t;

typedef struct leat_py_server_t {
  PyObject_HEAD
  TF_Server* server;
} leat_py_server_t;

/* What the module made when it was imported; one interpreter has it. The two classes are those that
 * handles are made of: subclasses that the package above sets. */
typedef struct leat_py_types_t {
  PyTypeObject *graph, *operation, *output, *value, *session;
  PyTypeObject *operation_class, *output_class;
  PyObject* status_error; /* StatusError(code, message) */
  PyObject* array_class; /* numpy.ndarray; NULL before numpy is loaded */
} leat_py_types_t;
extern leat_py_types_t leat_py_types;

/* ---- Status ----------------------------------------------------------------------------------*/
/* Frees |status|; where it is an error raises StatusError and returns 0, else 1. NULL (no memory)
 * raises MemoryError. */
int leat_py_status_end(TF_Status* status);

/* ---- Handles (each returns a new reference, or NULL with an exception) -----------------------*/
PyObject* leat_py_operation_wrap(leat_py_graph_t* graph, TF_Operation* operation);
PyObject* leat_py_output_wrap(leat_py_graph_t* graph, TF_Output output);
/* The output that |object| stands for; 0 with TypeError where it is no Output. */
int leat_py_output_read(PyObject* object, TF_Output* out_output);
int leat_py_operation_read(PyObject* object, TF_Operation** out_operation);
/* Arrays from sequences, for PyMem_Free; |out_count| is set. NULL with an exception. */
TF_Output* leat_py_outputs_read(PyObject* sequence, int* out_count);
TF_Operation** leat_py_operations_read(PyObject* sequence, int* out_count);
/* Takes |tensor|, also when it fails; NULL raises MemoryError. */
PyObject* leat_py_value_wrap(TF_Tensor* tensor);
/* Takes a fetched tensor: the elements are the object's own afterwards. */
PyObject* leat_py_value_wrap_fetched(TF_Tensor* tensor);
/* What the package gives for a fetched tensor, which is taken: numpy's array or number, or a Value
 * where set_arrays has named no class for its elements. */
PyObject* leat_py_value_fetched(TF_Tensor* tensor);
PyObject* leat_py_set_arrays(PyObject* module, PyObject* args);
/* Takes |buffer|; bytes. NULL buffer with a clean |status| is None. */
PyObject* leat_py_buffer_take(TF_Buffer* buffer);

/* ---- Threads of the library (py_func.c) -------------------------------------------------------*/
/* Takes the GIL, for PyGILState_Release; 0 where the interpreter has ended. */
int leat_py_enter(PyGILState_STATE* out_state);
/* Whether a kernel is in a function of Python that may never end, since the interpreter has. */
int leat_py_function_is_stuck(void);
/* How many functions of Python kernels are in. */
int leat_py_functions_running(void);
/* Ends, with CANCELLED, the kernels that are in functions of Python, whose results are dropped. */
void leat_py_functions_give_up(void);
/* Called with the GIL when the interpreter ends: ends the steps of all threads (session.c). */
void leat_py_sessions_end(void);

/* ---- Ctrl-C (interrupt.c) --------------------------------------------------------------------*/
/* Around what runs steps, on any thread: between them Ctrl-C ends the steps of the main thread. The
 * first returns what the second takes. */
unsigned long long leat_py_interrupt_begin(void);
void leat_py_interrupt_end(unsigned long long step);

/* ---- Attributes ------------------------------------------------------------------------------*/
/* A value crosses as a tuple (kind, value). Kinds: s bytes, i int, f float, b bool, t DataType,
 * h shape (None or a tuple of sizes, -1 for unknown), v Value, n name of a function, p placeholder,
 * P serialised AttrValue; ls, li, lf, lb, lt, lh, lv are lists. */
int leat_py_attribute_set(TF_OperationDescription* description, const char* name, const char* kind,
                          PyObject* value);
/* A new tuple, or None where the operation has no such attribute. */
PyObject* leat_py_attribute_get(TF_Operation* operation, const char* name);
/* The sizes of a shape; the rank, or -1 for None, or -2 with an exception. For PyMem_Free. */
int leat_py_shape_read(PyObject* shape, int64_t** out_dims);
PyObject* leat_py_shape_make(const int64_t* dims, int rank);

/* ---- Registration: each returns 0, or -1 with an exception ------------------------------------*/
int leat_py_status_register(PyObject* module);
int leat_py_graph_register(PyObject* module);
int leat_py_operation_register(PyObject* module);
int leat_py_value_register(PyObject* module);
int leat_py_session_register(PyObject* module);
int leat_py_files_register(PyObject* module);
int leat_py_records_register(PyObject* module);
int leat_py_checkpoint_register(PyObject* module);
int leat_py_control_flow_register(PyObject* module);
int leat_py_server_register(PyObject* module);
int leat_py_py_func_register(PyObject* module);
int leat_py_summary_register(PyObject* module);
/* Methods of Graph that stand in files of their own, and the functions of the module. */
PyObject* leat_py_graph_import(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* leat_py_graph_define(PyObject* self, PyObject* args);
PyObject* leat_py_graph_copy_functions(PyObject* self, PyObject* other);
PyObject* leat_py_graph_gradients(PyObject* self, PyObject* args);
PyObject* leat_py_op_definition(PyObject* self, PyObject* name);
PyObject* leat_py_session_reset(PyObject* module, PyObject* args);
extern PyMethodDef leat_py_message_functions[];

#endif /* LEAT_PYTHON_MODULE_H_ */
