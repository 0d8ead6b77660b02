/* Graph.import_: a serialised GraphDef into a graph. Which names are mapped, and how an error
 * reads, is the package's; this fills TF_ImportGraphDefOptions and reads the results. In the
 * lists of mappings and of what is to be returned an index below 0 means the operation and not
 * one of its outputs. Mappings that came to nothing are returned as well, because the package
 * has to complain of them in TensorFlow's words. */
#include "module.h"

static int add_mappings(TF_ImportGraphDefOptions* options, PyObject* mappings) {
  Py_ssize_t count = PySequence_Size(mappings);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(mappings, i);
    const char* name;
    int index;
    PyObject* target;
    int ok = item && PyArg_ParseTuple(item, "siO", &name, &index, &target);
    if (ok && index < 0) {
      TF_Operation* operation;
      ok = leat_py_operation_read(target, &operation);
      if (ok) TF_ImportGraphDefOptionsRemapControlDependency(options, name, operation);
    } else if (ok) {
      TF_Output output;
      ok = leat_py_output_read(target, &output);
      if (ok) TF_ImportGraphDefOptionsAddInputMapping(options, name, index, output);
    }
    Py_XDECREF(item);
    if (!ok) return 0;
  }
  return count >= 0;
}

static int add_returns(TF_ImportGraphDefOptions* options, PyObject* returns) {
  Py_ssize_t count = PySequence_Size(returns);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(returns, i);
    const char* name;
    int index;
    int ok = item && PyArg_ParseTuple(item, "si", &name, &index);
    if (ok && index < 0) TF_ImportGraphDefOptionsAddReturnOperation(options, name);
    else if (ok) TF_ImportGraphDefOptionsAddReturnOutput(options, name, index);
    Py_XDECREF(item);
    if (!ok) return 0;
  }
  return count >= 0;
}

static int add_control_inputs(TF_ImportGraphDefOptions* options, PyObject* operations) {
  int count;
  TF_Operation** list = leat_py_operations_read(operations, &count);
  if (!list) return 0;
  for (int i = 0; i < count; ++i) TF_ImportGraphDefOptionsAddControlDependency(options, list[i]);
  PyMem_Free(list);
  return 1;
}

/* (outputs, operations, mappings that came to nothing as (name, index)) */
static PyObject* results_read(leat_py_graph_t* graph, TF_ImportGraphDefResults* results) {
  int output_count, operation_count, missing_count;
  TF_Output* outputs;
  TF_Operation** operations;
  const char** names;
  int* indexes;
  TF_ImportGraphDefResultsReturnOutputs(results, &output_count, &outputs);
  TF_ImportGraphDefResultsReturnOperations(results, &operation_count, &operations);
  TF_ImportGraphDefResultsMissingUnusedInputMappings(results, &missing_count, &names, &indexes);
  PyObject *lists[3] = {PyList_New(0), PyList_New(0), PyList_New(0)};
  int counts[3] = {output_count, operation_count, missing_count};
  for (int kind = 0; kind < 3; ++kind) {
    for (int i = 0; lists[kind] && i < counts[kind]; ++i) {
      PyObject* item = kind == 0   ? leat_py_output_wrap(graph, outputs[i])
                       : kind == 1 ? leat_py_operation_wrap(graph, operations[i])
                                   : Py_BuildValue("(si)", names[i], indexes[i]);
      if (!item || PyList_Append(lists[kind], item)) Py_CLEAR(lists[kind]);
      Py_XDECREF(item);
    }
  }
  PyObject* result = NULL;
  if (lists[0] && lists[1] && lists[2]) result = PyTuple_Pack(3, lists[0], lists[1], lists[2]);
  for (int kind = 0; kind < 3; ++kind) Py_XDECREF(lists[kind]);
  return result;
}

PyObject* leat_py_graph_import(PyObject* object, PyObject* args, PyObject* kwargs) {
  leat_py_graph_t* self = (leat_py_graph_t*)object;
  static char* names[] = {"graph_def", "prefix", "mappings", "returns", "control_inputs", "device",
                          "uniquify", NULL};
  const char *bytes, *prefix = "", *device = "";
  Py_ssize_t size;
  PyObject *mappings = NULL, *returns = NULL, *control_inputs = NULL;
  int uniquify = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y#|sOOOsp", names, &bytes, &size, &prefix,
                                   &mappings, &returns, &control_inputs, &device, &uniquify)) {
    return NULL;
  }
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  if (!options) return PyErr_NoMemory();
  PyObject* result = NULL;
  TF_ImportGraphDefOptionsSetPrefix(options, prefix);
  TF_ImportGraphDefOptionsSetUniquifyNames(options, (unsigned char)uniquify);
  if (device[0]) TF_ImportGraphDefOptionsSetDefaultDevice(options, device);
  if ((!mappings || add_mappings(options, mappings)) &&
      (!returns || add_returns(options, returns)) &&
      (!control_inputs || add_control_inputs(options, control_inputs))) {
    TF_Status* status = TF_NewStatus();
    TF_Buffer* buffer = TF_NewBufferFromString(bytes, (size_t)size);
    TF_ImportGraphDefResults* results = NULL;
    if (status && buffer) {
      results = TF_GraphImportGraphDefWithResults(self->graph, buffer, options, status);
    }
    TF_DeleteBuffer(buffer);
    if (leat_py_status_end(status) && results) result = results_read(self, results);
    if (results) TF_DeleteImportGraphDefResults(results);
  }
  TF_DeleteImportGraphDefOptions(options);
  return result;
}
