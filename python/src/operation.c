/* Operation and Output: borrowed handles of the C API with the Graph that keeps them valid. An
 * Output is one tensor of an operation; the objects of all outputs of an operation are made at
 * once and kept by it, so that `is` compares tensors. Both are base classes: the package sets
 * the subclasses that handles are made of (module.c), which add names of TensorFlow's API.
 * Graph, operations and outputs refer to each other in a circle, which Python's collector may
 * free as a whole; each type therefore visits what it holds. */
#include "module.h"

#include "leat/trace.h"

/* ---- Operation -------------------------------------------------------------------------------*/
PyObject* leat_py_operation_wrap(leat_py_graph_t* graph, TF_Operation* operation) {
  PyObject* key = PyLong_FromVoidPtr(operation);
  if (!key) return NULL;
  PyObject* known = PyDict_GetItemWithError(graph->operations, key);
  if (known || PyErr_Occurred()) {
    Py_DECREF(key);
    return known ? Py_NewRef(known) : NULL;
  }
  PyTypeObject* type = leat_py_types.operation_class;
  leat_py_operation_t* self = (leat_py_operation_t*)PyType_GenericAlloc(type, 0);
  if (self) {
    self->operation = operation;
    self->graph = Py_NewRef((PyObject*)graph);
    if (PyDict_SetItem(graph->operations, key, (PyObject*)self)) Py_CLEAR(self);
  }
  Py_DECREF(key);
  return (PyObject*)self;
}

static int operation_traverse(PyObject* object, visitproc visit, void* arg) {
  leat_py_operation_t* self = (leat_py_operation_t*)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->graph);
  Py_VISIT(self->outputs);
  return 0;
}
/* The graph stays until the object goes, so that the handle is valid as long as anyone can see
 * it. */
static int operation_clear(PyObject* object) {
  Py_CLEAR(((leat_py_operation_t*)object)->outputs);
  return 0;
}
static void operation_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  operation_clear(object);
  Py_XDECREF(((leat_py_operation_t*)object)->graph);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

int leat_py_operation_read(PyObject* object, TF_Operation** out_operation) {
  if (!PyObject_TypeCheck(object, leat_py_types.operation)) {
    PyErr_Format(PyExc_TypeError, "%R is no Operation", object);
    return 0;
  }
  *out_operation = ((leat_py_operation_t*)object)->operation;
  return 1;
}

TF_Operation** leat_py_operations_read(PyObject* sequence, int* out_count) {
  Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return NULL;
  TF_Operation** list = PyMem_Malloc((size_t)(count + 1) * sizeof *list);
  if (!list) PyErr_NoMemory();
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    if (!item || !leat_py_operation_read(item, &list[i])) {
      PyMem_Free(list);
      list = NULL;
    }
    Py_XDECREF(item);
  }
  *out_count = (int)count;
  return list;
}

#define OPERATION(object) (((leat_py_operation_t*)(object))->operation)
static PyObject* operation_name(PyObject* self, void* unused) {
  (void)unused;
  return PyUnicode_FromString(TF_OperationName(OPERATION(self)));
}
static PyObject* operation_type(PyObject* self, void* unused) {
  (void)unused;
  return PyUnicode_FromString(TF_OperationOpType(OPERATION(self)));
}
static PyObject* operation_device(PyObject* self, void* unused) {
  (void)unused;
  return PyUnicode_FromString(TF_OperationDevice(OPERATION(self)));
}
static PyObject* operation_graph(PyObject* self, void* unused) {
  (void)unused;
  return Py_NewRef(((leat_py_operation_t*)self)->graph);
}

static PyObject* operation_outputs(PyObject* object, void* unused) {
  (void)unused;
  leat_py_operation_t* self = (leat_py_operation_t*)object;
  if (!self->outputs) {
    int count = TF_OperationNumOutputs(self->operation);
    PyObject* outputs = PyTuple_New(count);
    for (int i = 0; outputs && i < count; ++i) {
      leat_py_output_t* output =
          (leat_py_output_t*)PyType_GenericAlloc(leat_py_types.output_class, 0);
      if (!output) {
        Py_CLEAR(outputs);
        break;
      }
      output->output = (TF_Output){self->operation, i};
      output->operation = Py_NewRef(object);
      PyTuple_SetItem(outputs, i, (PyObject*)output);
    }
    self->outputs = outputs;
  }
  return Py_XNewRef(self->outputs);
}

static PyObject* operation_inputs(PyObject* object, void* unused) {
  (void)unused;
  leat_py_operation_t* self = (leat_py_operation_t*)object;
  int count = TF_OperationNumInputs(self->operation);
  PyObject* inputs = PyTuple_New(count);
  for (int i = 0; inputs && i < count; ++i) {
    PyObject* item = leat_py_output_wrap((leat_py_graph_t*)self->graph,
                                         TF_OperationInput((TF_Input){self->operation, i}));
    if (!item) Py_CLEAR(inputs);
    else PyTuple_SetItem(inputs, i, item);
  }
  return inputs;
}

static PyObject* operation_input_types(PyObject* self, void* unused) {
  (void)unused;
  int count = TF_OperationNumInputs(OPERATION(self));
  PyObject* types = PyTuple_New(count);
  for (int i = 0; types && i < count; ++i) {
    PyObject* item = PyLong_FromLong(TF_OperationInputType((TF_Input){OPERATION(self), i}));
    if (!item) Py_CLEAR(types);
    else PyTuple_SetItem(types, i, item);
  }
  return types;
}

static PyObject* operations_list(PyObject* object, int count,
                                 int (*get)(TF_Operation*, TF_Operation**, int)) {
  leat_py_operation_t* self = (leat_py_operation_t*)object;
  TF_Operation** found = PyMem_Malloc((size_t)(count + 1) * sizeof *found);
  if (!found) return PyErr_NoMemory();
  int there = get(self->operation, found, count);
  if (there < count) count = there;
  PyObject* list = PyList_New(0);
  for (int i = 0; list && i < count; ++i) {
    PyObject* item = leat_py_operation_wrap((leat_py_graph_t*)self->graph, found[i]);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  PyMem_Free(found);
  return list;
}
static PyObject* operation_control_inputs(PyObject* self, void* unused) {
  (void)unused;
  return operations_list(self, TF_OperationNumControlInputs(OPERATION(self)),
                         TF_OperationGetControlInputs);
}
static PyObject* operation_control_outputs(PyObject* self, void* unused) {
  (void)unused;
  return operations_list(self, TF_OperationNumControlOutputs(OPERATION(self)),
                         TF_OperationGetControlOutputs);
}

static PyObject* operation_attribute(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  return text ? leat_py_attribute_get(OPERATION(self), text) : NULL;
}

static PyObject* operation_attribute_names(PyObject* self, PyObject* unused) {
  (void)unused;
  PyObject* names = PyList_New(0);
  int count = TF_OperationGetNumAttrs(OPERATION(self));
  for (int i = 0; names && i < count; ++i) {
    int length = TF_OperationGetAttrNameLength(OPERATION(self), i);
    char* text = length < 0 ? NULL : PyMem_Malloc((size_t)length + 1);
    TF_Status* status = TF_NewStatus();
    if (text && status) TF_OperationGetAttrName(OPERATION(self), i, text, status);
    PyObject* item = NULL;
    if (leat_py_status_end(status) && text) item = PyUnicode_FromStringAndSize(text, length);
    if (!item || PyList_Append(names, item)) Py_CLEAR(names);
    Py_XDECREF(item);
    PyMem_Free(text);
  }
  return names;
}

static PyObject* operation_node_def(PyObject* self, PyObject* unused) {
  (void)unused;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* buffer = TF_NewBuffer();
  if (status && buffer) TF_OperationToNodeDef(OPERATION(self), buffer, status);
  if (!leat_py_status_end(status)) {
    TF_DeleteBuffer(buffer);
    return NULL;
  }
  return leat_py_buffer_take(buffer);
}

static TF_Graph* graph_of(PyObject* self) {
  return ((leat_py_graph_t*)((leat_py_operation_t*)self)->graph)->graph;
}

PyDoc_STRVAR(set_attribute_doc,
             "set_attribute(name, attr_value): replaces by an AttrValue's bytes;\n"
             "None removes the attribute.");
static PyObject* operation_set_attribute(PyObject* self, PyObject* args) {
  const char *name, *bytes;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "sz#", &name, &bytes, &size)) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* value = bytes ? TF_NewBufferFromString(bytes, (size_t)size) : NULL;
  if (status && value) TF_SetAttr(graph_of(self), OPERATION(self), name, value, status);
  if (status && !bytes) TF_ClearAttr(graph_of(self), OPERATION(self), name, status);
  TF_DeleteBuffer(value);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* operation_set_device(PyObject* self, PyObject* device) {
  const char* text = PyUnicode_AsUTF8AndSize(device, NULL);
  if (!text) return NULL;
  TF_SetRequestedDevice(graph_of(self), OPERATION(self), text);
  Py_RETURN_NONE;
}

/* A file whose name is no UTF-8 is not told: an operation is worth more than its line. */
static PyObject* operation_set_source(PyObject* self, PyObject* args) {
  PyObject* file;
  int line;
  if (!PyArg_ParseTuple(args, "Ui", &file, &line)) return NULL;
  const char* text = PyUnicode_AsUTF8AndSize(file, NULL);
  if (!text) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  TF_Status* status = TF_NewStatus();
  if (status) leat_operation_set_source(OPERATION(self), text, line, status);
  return leat_py_status_end(status) ? Py_NewRef(Py_None) : NULL;
}

static PyObject* operation_add_control_input(PyObject* self, PyObject* other) {
  TF_Operation* input;
  if (!leat_py_operation_read(other, &input)) return NULL;
  TF_AddOperationControlInput(graph_of(self), OPERATION(self), input);
  Py_RETURN_NONE;
}

static PyObject* operation_clear_control_inputs(PyObject* self, PyObject* unused) {
  (void)unused;
  TF_RemoveAllControlInputs(graph_of(self), OPERATION(self));
  Py_RETURN_NONE;
}

static PyObject* operation_set_input(PyObject* self, PyObject* args) {
  int index;
  PyObject* source;
  TF_Output output;
  if (!PyArg_ParseTuple(args, "iO", &index, &source) || !leat_py_output_read(source, &output)) {
    return NULL;
  }
  TF_Status* status = TF_NewStatus();
  if (status) TF_UpdateEdge(graph_of(self), output, (TF_Input){OPERATION(self), index}, status);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

PyDoc_STRVAR(output_length_doc, "output_length(name): how many tensors that output stands for.");
static PyObject* operation_output_length(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  TF_Status* status = TF_NewStatus();
  int length = status ? TF_OperationOutputListLength(OPERATION(self), text, status) : 0;
  return leat_py_status_end(status) ? PyLong_FromLong(length) : NULL;
}

static PyMethodDef operation_methods[] = {
    {"attribute", operation_attribute, METH_O, "attribute(name): (kind, value) or None."},
    {"attribute_names", operation_attribute_names, METH_NOARGS, NULL},
    {"node_def_", operation_node_def, METH_NOARGS, "node_def_(): a serialised NodeDef."},
    {"set_attribute", operation_set_attribute, METH_VARARGS, set_attribute_doc},
    {"set_device_", operation_set_device, METH_O, "set_device_(device)."},
    {"set_source_", operation_set_source, METH_VARARGS, "set_source_(file, line)."},
    {"add_control_input_", operation_add_control_input, METH_O, "add_control_input_(operation)."},
    {"clear_control_inputs", operation_clear_control_inputs, METH_NOARGS, NULL},
    {"set_input", operation_set_input, METH_VARARGS, "set_input(index, output)."},
    {"output_length", operation_output_length, METH_O, output_length_doc},
    {0}};
static PyGetSetDef operation_members[] = {
    {"name", operation_name, NULL, "Its name in the graph.", NULL},
    {"type", operation_type, NULL, "The name of its op.", NULL},
    {"device", operation_device, NULL, "The device asked for, '' for none.", NULL},
    {"graph", operation_graph, NULL, "Its Graph.", NULL},
    {"outputs_", operation_outputs, NULL, "Its Outputs.", NULL},
    {"inputs_", operation_inputs, NULL, "The Outputs that it takes.", NULL},
    {"input_types_", operation_input_types, NULL, "The DataTypes that it takes.", NULL},
    {"control_inputs", operation_control_inputs, NULL, "The Operations that it waits for.", NULL},
    {"control_outputs_", operation_control_outputs, NULL, "Those that wait for it.", NULL},
    {0}};
static PyType_Slot operation_slots[] = {
    {Py_tp_doc, "An operation of a graph."}, {Py_tp_dealloc, operation_dealloc},
    {Py_tp_traverse, operation_traverse},    {Py_tp_clear, operation_clear},
    {Py_tp_methods, operation_methods},      {Py_tp_getset, operation_members},
    {0, NULL}};
#define HANDLE_FLAGS \
  (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | \
   Py_TPFLAGS_DISALLOW_INSTANTIATION)
static PyType_Spec operation_spec = {"leat._leat.Operation", sizeof(leat_py_operation_t), 0,
                                     HANDLE_FLAGS, operation_slots};

/* ---- Output ----------------------------------------------------------------------------------*/
PyObject* leat_py_output_wrap(leat_py_graph_t* graph, TF_Output output) {
  if (!output.oper) {
    PyErr_SetString(PyExc_IndexError, "there is no such output");
    return NULL;
  }
  PyObject* operation = leat_py_operation_wrap(graph, output.oper);
  PyObject* outputs = operation ? operation_outputs(operation, NULL) : NULL;
  PyObject* result = outputs ? Py_XNewRef(PyTuple_GetItem(outputs, output.index)) : NULL;
  Py_XDECREF(outputs);
  Py_XDECREF(operation);
  return result;
}

int leat_py_output_read(PyObject* object, TF_Output* out_output) {
  if (!PyObject_TypeCheck(object, leat_py_types.output)) {
    PyErr_Format(PyExc_TypeError, "%R is no Output", object);
    return 0;
  }
  *out_output = ((leat_py_output_t*)object)->output;
  return 1;
}

TF_Output* leat_py_outputs_read(PyObject* sequence, int* out_count) {
  Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return NULL;
  TF_Output* list = PyMem_Malloc((size_t)(count + 1) * sizeof *list);
  if (!list) PyErr_NoMemory();
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    if (!item || !leat_py_output_read(item, &list[i])) {
      PyMem_Free(list);
      list = NULL;
    }
    Py_XDECREF(item);
  }
  *out_count = (int)count;
  return list;
}

static int output_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(((leat_py_output_t*)object)->operation);
  return 0;
}
static void output_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Py_XDECREF(((leat_py_output_t*)object)->operation);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

#define OUTPUT(object) (((leat_py_output_t*)(object))->output)
static TF_Graph* output_graph(PyObject* self) {
  return graph_of(((leat_py_output_t*)self)->operation);
}
static PyObject* output_op(PyObject* self, void* unused) {
  (void)unused;
  return Py_NewRef(((leat_py_output_t*)self)->operation);
}
static PyObject* output_graph_object(PyObject* self, void* unused) {
  return operation_graph(((leat_py_output_t*)self)->operation, unused);
}
static PyObject* output_index(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(OUTPUT(self).index);
}
static PyObject* output_type(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(TF_OperationOutputType(OUTPUT(self)));
}
static PyObject* output_shape(PyObject* self, void* unused) {
  (void)unused;
  TF_Status* status = TF_NewStatus();
  if (!status) return PyErr_NoMemory();
  int rank = TF_GraphGetTensorNumDims(output_graph(self), OUTPUT(self), status);
  int64_t* dims = rank > 0 ? PyMem_Malloc((size_t)rank * sizeof *dims) : NULL;
  if (rank > 0 && dims) {
    TF_GraphGetTensorShape(output_graph(self), OUTPUT(self), dims, rank, status);
  }
  PyObject* shape = NULL;
  if (leat_py_status_end(status)) {
    shape = rank > 0 && !dims ? PyErr_NoMemory() : leat_py_shape_make(dims, rank);
  }
  PyMem_Free(dims);
  return shape;
}

PyDoc_STRVAR(merge_shape_doc, "merge_shape(shape): adds to what is known of the shape.");
static PyObject* output_merge_shape(PyObject* self, PyObject* shape) {
  int64_t* dims;
  int rank = leat_py_shape_read(shape, &dims);
  if (rank < -1) return NULL;
  TF_Status* status = TF_NewStatus();
  if (status) TF_GraphSetTensorShape(output_graph(self), OUTPUT(self), dims, rank, status);
  PyMem_Free(dims);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* output_consumers(PyObject* self, PyObject* unused) {
  (void)unused;
  int count = TF_OperationOutputNumConsumers(OUTPUT(self));
  TF_Input* inputs = PyMem_Malloc((size_t)(count + 1) * sizeof *inputs);
  if (!inputs) return PyErr_NoMemory();
  int there = TF_OperationOutputConsumers(OUTPUT(self), inputs, count);
  if (there < count) count = there;
  leat_py_operation_t* operation = (leat_py_operation_t*)((leat_py_output_t*)self)->operation;
  PyObject* list = PyList_New(0);
  for (int i = 0; list && i < count; ++i) {
    PyObject* item = leat_py_operation_wrap((leat_py_graph_t*)operation->graph, inputs[i].oper);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  PyMem_Free(inputs);
  return list;
}

PyDoc_STRVAR(constant_doc,
             "constant_value_(): a Value where all that it depends on is constant and\n"
             "cheap, else None.");
static PyObject* output_constant(PyObject* self, PyObject* unused) {
  (void)unused;
  TF_Status* status = TF_NewStatus();
  TF_Tensor* tensor = NULL;
  TF_Graph* graph = output_graph(self);
  const TF_Output output = OUTPUT(self);
  Py_BEGIN_ALLOW_THREADS /* it may run a function of Python on a thread of the library */
  if (status) TF_TryEvaluateConstant(graph, output, &tensor, status);
  Py_END_ALLOW_THREADS
  if (!leat_py_status_end(status)) return NULL;
  if (!tensor) Py_RETURN_NONE;
  return leat_py_value_wrap_fetched(tensor);
}

static PyObject* output_handle_data(PyObject* self, PyObject* unused) {
  (void)unused;
  return leat_py_buffer_take(TF_GetHandleShapeAndType(output_graph(self), OUTPUT(self)));
}

static PyObject* output_set_handle_data(PyObject* self, PyObject* bytes) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size)) return NULL;
  TF_Status* status = TF_NewStatus();
  if (status) {
    TF_SetHandleShapeAndType(output_graph(self), OUTPUT(self), data, (size_t)size, status);
  }
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef output_methods[] = {
    {"merge_shape", output_merge_shape, METH_O, merge_shape_doc},
    {"consumers_", output_consumers, METH_NOARGS, "consumers_(): an Operation for each edge."},
    {"constant_value_", output_constant, METH_NOARGS, constant_doc},
    {"handle_data_", output_handle_data, METH_NOARGS, "handle_data_(): a HandleData or None."},
    {"set_handle_data_", output_set_handle_data, METH_O, "set_handle_data_(HandleData)."},
    {0}};
static PyGetSetDef output_members[] = {
    {"op", output_op, NULL, "The Operation that computes it.", NULL},
    {"graph", output_graph_object, NULL, "The Graph of its Operation.", NULL},
    {"value_index", output_index, NULL, "Which of its outputs it is.", NULL},
    {"dtype_", output_type, NULL, "Its DataType.", NULL},
    {"shape_", output_shape, NULL, "A tuple of sizes, -1 for unknown; None: unknown rank.", NULL},
    {0}};
static PyType_Slot output_slots[] = {
    {Py_tp_doc, "A tensor of a graph."}, {Py_tp_dealloc, output_dealloc},
    {Py_tp_traverse, output_traverse},   {Py_tp_methods, output_methods},
    {Py_tp_getset, output_members},      {0, NULL}};
static PyType_Spec output_spec = {"leat._leat.Output", sizeof(leat_py_output_t), 0, HANDLE_FLAGS,
                                  output_slots};

int leat_py_operation_register(PyObject* module) {
  leat_py_types.operation = (PyTypeObject*)PyType_FromModuleAndSpec(module, &operation_spec, NULL);
  leat_py_types.output = (PyTypeObject*)PyType_FromModuleAndSpec(module, &output_spec, NULL);
  if (!leat_py_types.operation || !leat_py_types.output) return -1;
  leat_py_types.operation_class = (PyTypeObject*)Py_NewRef((PyObject*)leat_py_types.operation);
  leat_py_types.output_class = (PyTypeObject*)Py_NewRef((PyObject*)leat_py_types.output);
  if (PyModule_AddObjectRef(module, "Operation", (PyObject*)leat_py_types.operation)) return -1;
  return PyModule_AddObjectRef(module, "Output", (PyObject*)leat_py_types.output);
}
