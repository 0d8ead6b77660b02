/* Binds functions of a graph's library: a graph becomes the body of a function of another one,
 * and the library of one graph is made known to another. The body's own library goes along,
 * since its nodes may call functions too. The package decides names, inputs and outputs; this
 * file reads them into arrays for TF_GraphToFunction and turns its status into an exception. A
 * function that is there already stays as it is. */
#include "module.h"

/* Puts all functions of |from| into the library of |to|; those that are there already stay. */
static void copy_all(TF_Graph* from, TF_Graph* to, TF_Status* status) {
  const int count = TF_GraphNumFunctions(from);
  TF_Function** functions = PyMem_Calloc((size_t)count + 1, sizeof *functions);
  if (!functions) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "Memory for a list of functions ran out");
    return;
  }
  const int found = TF_GraphGetFunctions(from, functions, count, status);
  for (int i = 0; i < found; ++i) {
    if (TF_GetCode(status) == TF_OK) TF_GraphCopyFunction(to, functions[i], NULL, status);
    TF_DeleteFunction(functions[i]);
  }
  PyMem_Free(functions);
}

/* A copy of the function of that name, NULL without one; for TF_DeleteFunction. */
static TF_Function* find_function(TF_Graph* graph, const char* name, TF_Status* status) {
  const int count = TF_GraphNumFunctions(graph);
  TF_Function* found = NULL;
  TF_Function** functions = PyMem_Calloc((size_t)count + 1, sizeof *functions);
  const int given = functions ? TF_GraphGetFunctions(graph, functions, count, status) : 0;
  for (int i = 0; i < given; ++i) {
    if (!found && !strcmp(TF_FunctionName(functions[i]), name)) {
      found = functions[i];
    } else {
      TF_DeleteFunction(functions[i]);
    }
  }
  PyMem_Free(functions);
  if (!found && TF_GetCode(status) == TF_OK) {
    TF_SetStatus(status, TF_NOT_FOUND, "the graph has no function of that name");
  }
  return found;
}

/* Names of outputs as an array for PyMem_Free, whose texts are borrowed; NULL for None (|out_count|
 * is then 0) and with an exception (-1). */
static const char** read_names(PyObject* sequence, int* out_count) {
  *out_count = 0;
  if (sequence == Py_None) return NULL;
  const Py_ssize_t count = PySequence_Size(sequence);
  const char** names = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *names);
  *out_count = names ? (int)count : -1;
  for (Py_ssize_t i = 0; names && i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    names[i] = item ? PyUnicode_AsUTF8AndSize(item, NULL) : NULL;
    Py_XDECREF(item); /* the sequence holds it */
    if (names[i]) continue;
    PyMem_Free(names);
    *out_count = -1;
    return NULL;
  }
  return names;
}

/* Sets attributes, (name, serialised AttrValue) pairs; 0 with an exception. */
static int set_attributes(TF_Function* function, PyObject* pairs, TF_Status* status) {
  const Py_ssize_t count = PySequence_Size(pairs);
  if (count < 0) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const char *name, *bytes;
    Py_ssize_t size;
    PyObject* item = PySequence_GetItem(pairs, i);
    int ok = item && PyArg_ParseTuple(item, "sy#", &name, &bytes, &size);
    if (ok && TF_GetCode(status) == TF_OK) {
      TF_FunctionSetAttrValueProto(function, name, bytes, (size_t)size, status);
    }
    Py_XDECREF(item);
    if (!ok) return 0;
  }
  return 1;
}

typedef struct definition_t {
  TF_Operation **operations, **controls;
  TF_Output *inputs, *outputs;
  const char** names;
  int operation_count, control_count, input_count, output_count, name_count;
} definition_t;

static void definition_free(definition_t* d) {
  PyMem_Free(d->operations);
  PyMem_Free(d->controls);
  PyMem_Free(d->inputs);
  PyMem_Free(d->outputs);
  PyMem_Free(d->names);
}

static int definition_read(definition_t* d, PyObject* operations, PyObject* inputs,
                           PyObject* outputs, PyObject* names, PyObject* controls) {
  d->operations = leat_py_operations_read(operations, &d->operation_count);
  d->inputs = d->operations ? leat_py_outputs_read(inputs, &d->input_count) : NULL;
  d->outputs = d->inputs ? leat_py_outputs_read(outputs, &d->output_count) : NULL;
  d->controls = d->outputs ? leat_py_operations_read(controls, &d->control_count) : NULL;
  if (!d->controls) return 0;
  d->names = read_names(names, &d->name_count);
  if (d->names && d->name_count != d->output_count) {
    PyErr_Format(PyExc_ValueError, "%d output names for %d outputs", d->name_count,
                 d->output_count);
    return 0;
  }
  return d->name_count >= 0;
}

PyObject* leat_py_graph_define(PyObject* object, PyObject* args) {
  leat_py_graph_t* self = (leat_py_graph_t*)object;
  const char *name, *gradient_name, *description;
  PyObject *body, *operations, *inputs, *outputs, *names, *controls, *attributes;
  PyObject* result = NULL;
  if (!PyArg_ParseTuple(args, "O!sOOOOOOzz", leat_py_types.graph, &body, &name, &operations,
                        &inputs, &outputs, &names, &controls, &attributes, &gradient_name,
                        &description)) {
    return NULL;
  }
  definition_t d = {0};
  if (!definition_read(&d, operations, inputs, outputs, names, controls)) {
    definition_free(&d);
    return NULL;
  }
  TF_Status* status = TF_NewStatus();
  TF_Function *function = NULL, *gradient = NULL;
  TF_Graph* from = ((leat_py_graph_t*)body)->graph;
  if (status) {
    function = TF_GraphToFunctionWithControlOutputs(
        from, name, 0, d.operation_count, (const TF_Operation* const*)d.operations, d.input_count,
        d.inputs, d.output_count, d.outputs, d.names, d.control_count,
        (const TF_Operation* const*)d.controls, NULL, NULL, description, status);
  }
  int ok = !function || set_attributes(function, attributes, status);
  if (ok && function) copy_all(from, self->graph, status);
  if (ok && function && gradient_name && TF_GetCode(status) == TF_OK) {
    gradient = find_function(self->graph, gradient_name, status);
  }
  if (ok && function && TF_GetCode(status) == TF_OK) {
    TF_GraphCopyFunction(self->graph, function, gradient, status);
  }
  if (!ok) {
    TF_DeleteStatus(status);
  } else if (leat_py_status_end(status)) {
    result = PyUnicode_FromString(TF_FunctionName(function));
  }
  TF_DeleteFunction(function);
  TF_DeleteFunction(gradient);
  definition_free(&d);
  return result;
}

PyObject* leat_py_graph_copy_functions(PyObject* self, PyObject* other) {
  if (!PyObject_TypeCheck(other, leat_py_types.graph)) {
    return PyErr_Format(PyExc_TypeError, "%R is no Graph", other);
  }
  TF_Status* status = TF_NewStatus();
  if (status) {
    copy_all(((leat_py_graph_t*)other)->graph, ((leat_py_graph_t*)self)->graph, status);
  }
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}
