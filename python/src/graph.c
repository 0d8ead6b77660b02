/* Graph: the TF_Graph, the objects of its operations, and adding operations. An operation's
 * object is made when it is first asked for and kept for the life of the graph, so that `is`
 * compares operations. All operations that Python adds come through add(); what a front end must
 * do for every operation (control inputs, devices, the source line) is done where the package
 * calls it. The graph's library has a lock of its own, so that threads may add operations
 * without a lock here beside the GIL. */
#include "module.h"

static PyObject* graph_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)args, (void)kwargs;
  leat_py_graph_t* self = (leat_py_graph_t*)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  self->operations = PyDict_New();
  self->graph = self->operations ? TF_NewGraph() : NULL;
  if (!self->graph) {
    Py_DECREF(self);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  return (PyObject*)self;
}

static int graph_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(((leat_py_graph_t*)object)->operations);
  return 0;
}

static int graph_clear(PyObject* object) {
  Py_CLEAR(((leat_py_graph_t*)object)->operations);
  return 0;
}

static void graph_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  graph_clear(object);
  TF_DeleteGraph(((leat_py_graph_t*)object)->graph);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/* ---- Finding ---------------------------------------------------------------------------------*/
PyDoc_STRVAR(operation_doc, "operation(name): the Operation of that name, or None.");
static PyObject* graph_operation(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  TF_Operation* operation = TF_GraphOperationByName(((leat_py_graph_t*)self)->graph, text);
  if (!operation) Py_RETURN_NONE;
  return leat_py_operation_wrap((leat_py_graph_t*)self, operation);
}

PyDoc_STRVAR(operations_doc,
             "operations(start=0): the Operations from that one on, in the order of their adding.");
static PyObject* graph_operations(PyObject* self, PyObject* args) {
  Py_ssize_t start = 0;
  if (!PyArg_ParseTuple(args, "|n", &start)) return NULL;
  PyObject* list = PyList_New(0);
  size_t position = 0;
  TF_Operation* operation;
  while (list && (operation = TF_GraphNextOperation(((leat_py_graph_t*)self)->graph, &position))) {
    if (start-- > 0) continue;
    PyObject* object = leat_py_operation_wrap((leat_py_graph_t*)self, operation);
    if (!object || PyList_Append(list, object)) Py_CLEAR(list);
    Py_XDECREF(object);
  }
  return list;
}

PyDoc_STRVAR(count_doc, "count(): how many operations there are. Only new ones are walked over.");
static PyObject* graph_count(PyObject* object, PyObject* unused) {
  (void)unused;
  leat_py_graph_t* self = (leat_py_graph_t*)object;
  while (TF_GraphNextOperation(self->graph, &self->seen)) ++self->count;
  return PyLong_FromSsize_t(self->count);
}

PyDoc_STRVAR(unique_name_doc,
             "unique_name(name, mark=True): a name that no operation and no scope has.");
static PyObject* graph_unique_name(PyObject* self, PyObject* args) {
  const char* name;
  int mark = 1;
  if (!PyArg_ParseTuple(args, "s|p", &name, &mark)) return NULL;
  TF_Status* status = TF_NewStatus();
  char* text = leat_unique_name(((leat_py_graph_t*)self)->graph, name, mark, status);
  PyObject* result = leat_py_status_end(status) ? PyUnicode_FromString(text) : NULL;
  free(text);
  return result;
}

/* ---- Adding ----------------------------------------------------------------------------------*/
static int add_inputs(TF_OperationDescription* description, PyObject* inputs) {
  Py_ssize_t count = PySequence_Size(inputs);
  if (count < 0) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(inputs, i);
    if (!item) return 0;
    int ok = 1;
    if (PyList_Check(item)) {
      int length;
      TF_Output* list = leat_py_outputs_read(item, &length);
      if (list) TF_AddInputList(description, list, length);
      ok = list != NULL;
      PyMem_Free(list);
    } else {
      TF_Output output;
      ok = leat_py_output_read(item, &output);
      if (ok) TF_AddInput(description, output);
    }
    Py_DECREF(item);
    if (!ok) return 0;
  }
  return 1;
}

static int add_attributes(TF_OperationDescription* description, PyObject* attributes) {
  Py_ssize_t count = PySequence_Size(attributes);
  if (count < 0) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(attributes, i);
    const char *name, *kind;
    PyObject* value;
    int ok = item && PyArg_ParseTuple(item, "ssO", &name, &kind, &value) &&
             leat_py_attribute_set(description, name, kind, value);
    Py_XDECREF(item);
    if (!ok) return 0;
  }
  return 1;
}

static int add_control_inputs(TF_OperationDescription* description, PyObject* operations) {
  int count;
  TF_Operation** list = leat_py_operations_read(operations, &count);
  if (!list) return 0;
  for (int i = 0; i < count; ++i) TF_AddControlInput(description, list[i]);
  PyMem_Free(list);
  return 1;
}

PyDoc_STRVAR(add_doc,
             "add(op, name, inputs, attributes=(), control_inputs=(), device=''): an Operation.\n\n"
             "inputs: an Output, or a list of them, for each input of the op's definition;\n"
             "attributes: (name, kind, value) tuples.");
static PyObject* graph_add(PyObject* object, PyObject* args) {
  leat_py_graph_t* self = (leat_py_graph_t*)object;
  const char *op, *name, *device = "";
  PyObject *inputs, *attributes = NULL, *control_inputs = NULL;
  if (!PyArg_ParseTuple(args, "ssO|OOs", &op, &name, &inputs, &attributes, &control_inputs,
                        &device)) {
    return NULL;
  }
  TF_Status* status = TF_NewStatus();
  TF_OperationDescription* description = TF_NewOperation(self->graph, op, name);
  if (!description || !status) {
    TF_DeleteStatus(status);
    return PyErr_NoMemory();
  }
  int ok = add_inputs(description, inputs) &&
           (!attributes || add_attributes(description, attributes)) &&
           (!control_inputs || add_control_inputs(description, control_inputs));
  if (!ok) {
    /* A description can only be ended by finishing it. An attribute that no op has makes that fail,
     * so that the graph stays as it was. */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    TF_SetAttrInt(description, "_leat_abandoned", 0);
    TF_SetAttrInt(description, "_leat_abandoned", 1);
    TF_FinishOperation(description, status);
    TF_DeleteStatus(status);
    PyErr_Restore(type, value, traceback);
    return NULL;
  }
  if (device[0]) TF_SetDevice(description, device);
  TF_Operation* operation = TF_FinishOperation(description, status);
  if (!leat_py_status_end(status)) return NULL;
  return leat_py_operation_wrap(self, operation);
}

PyDoc_STRVAR(gradients_doc,
             "gradients_(prefix, ys, xs, grad_ys, stop_gradients, colocate, functions, build):\n"
             "the derivatives of the sum of ys by each x, each None, an Output or, for rows, a\n"
             "tuple (values, indices, dense_shape). grad_ys is None or an Output for each y.\n\n"
             "Operations whose entry (op, or _gradient_op_type) is a key of the dict functions\n"
             "are differentiated by build(operation, entry, name, of_outputs).");

/* ---- Messages and functions ------------------------------------------------------------------*/
typedef void (*write_t)(TF_Graph*, TF_Buffer*, TF_Status*);
static PyObject* write_message(PyObject* self, write_t write) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* buffer = TF_NewBuffer();
  if (status && buffer) write(((leat_py_graph_t*)self)->graph, buffer, status);
  if (!leat_py_status_end(status)) {
    TF_DeleteBuffer(buffer);
    return NULL;
  }
  return leat_py_buffer_take(buffer);
}
static PyObject* graph_graph_def(PyObject* self, PyObject* unused) {
  (void)unused;
  return write_message(self, TF_GraphToGraphDef);
}
static PyObject* graph_versions(PyObject* self, PyObject* unused) {
  (void)unused;
  return write_message(self, TF_GraphVersions);
}

static PyObject* graph_op_def(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* buffer = TF_NewBuffer();
  if (status && buffer) {
    TF_GraphGetOpDef(((leat_py_graph_t*)self)->graph, text, buffer, status);
  }
  if (!leat_py_status_end(status)) {
    TF_DeleteBuffer(buffer);
    return NULL;
  }
  return leat_py_buffer_take(buffer);
}

PyDoc_STRVAR(add_function_doc, "add_function_(function_def, gradient_def=None): to the library.");
static PyObject* graph_add_function(PyObject* self, PyObject* args) {
  const char *bytes, *gradient_bytes = NULL;
  Py_ssize_t size, gradient_size = 0;
  if (!PyArg_ParseTuple(args, "y#|z#", &bytes, &size, &gradient_bytes, &gradient_size)) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Function *function = NULL, *gradient = NULL;
  if (status) function = TF_FunctionImportFunctionDef(bytes, (size_t)size, status);
  if (function && gradient_bytes) {
    gradient = TF_FunctionImportFunctionDef(gradient_bytes, (size_t)gradient_size, status);
  }
  if (function && (gradient || !gradient_bytes)) {
    TF_GraphCopyFunction(((leat_py_graph_t*)self)->graph, function, gradient, status);
  }
  TF_DeleteFunction(function);
  TF_DeleteFunction(gradient);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

PyDoc_STRVAR(define_doc,
             "define_(body, name, operations, inputs, outputs, output_names, control_outputs,\n"
             "attributes, gradient, description): makes the operations of the Graph body a\n"
             "function of this one's library, with the functions that body knows; its name.\n\n"
             "inputs and outputs are Outputs of body, output_names None or their names,\n"
             "attributes (name, serialised AttrValue) pairs, gradient None or the name of the\n"
             "function that is its derivative, description None or a text.");

static PyMethodDef graph_methods[] = {
    {"operation", graph_operation, METH_O, operation_doc},
    {"operations", graph_operations, METH_VARARGS, operations_doc},
    {"count", graph_count, METH_NOARGS, count_doc},
    {"unique_name_", graph_unique_name, METH_VARARGS, unique_name_doc},
    {"add", graph_add, METH_VARARGS, add_doc},
    {"define_", leat_py_graph_define, METH_VARARGS, define_doc},
    {"copy_functions_", leat_py_graph_copy_functions, METH_O,
     "copy_functions_(other): makes the functions of another graph known in this one."},
    {"gradients_", leat_py_graph_gradients, METH_VARARGS, gradients_doc},
    {"graph_def_", graph_graph_def, METH_NOARGS, "graph_def_(): a serialised GraphDef."},
    {"versions_", graph_versions, METH_NOARGS, "versions_(): a serialised VersionDef."},
    {"op_def_", graph_op_def, METH_O, "op_def_(name): a serialised OpDef."},
    {"add_function_", graph_add_function, METH_VARARGS, add_function_doc},
    {"op_definition", leat_py_op_definition, METH_O,
     "op_definition(name): (inputs, outputs, attributes, stateful) of an op or function."},
    {"import_", (PyCFunction)(void (*)(void))leat_py_graph_import, METH_VARARGS | METH_KEYWORDS,
     "import_(graph_def, ...): adds a serialised GraphDef."},
    {0}};
static PyType_Slot graph_slots[] = {
    {Py_tp_doc, "A dataflow graph."},  {Py_tp_new, graph_new},
    {Py_tp_dealloc, graph_dealloc},    {Py_tp_traverse, graph_traverse},
    {Py_tp_clear, graph_clear},        {Py_tp_methods, graph_methods},
    {0, NULL}};
static PyType_Spec graph_spec = {"leat._leat.Graph", sizeof(leat_py_graph_t), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                 graph_slots};

int leat_py_graph_register(PyObject* module) {
  leat_py_types.graph = (PyTypeObject*)PyType_FromModuleAndSpec(module, &graph_spec, NULL);
  if (!leat_py_types.graph) return -1;
  return PyModule_AddObjectRef(module, "Graph", (PyObject*)leat_py_types.graph);
}
