/* Binds leat/control_flow.h: where a loop or a branch begins and ends. Between the two, operations
 * are added as always, and the library puts them into the open context, so that neither this file
 * nor the Python above it keeps anything of contexts.
 *
 * A context crosses as a capsule. The context belongs to its TF_Graph and lives as long, so that a
 * capsule refers to the Graph. */
#include "leat/control_flow.h"

#include "module.h"

#define CONTEXT "leat._leat.flow"

/* ---- Arguments and results -------------------------------------------------------------------*/
static void capsule_free(PyObject* capsule) {
  PyObject* graph = PyCapsule_GetContext(capsule);
  Py_XDECREF(graph);
}

static PyObject* wrap_context(leat_py_graph_t* graph, leat_flow_context_t* context) {
  if (!context) Py_RETURN_NONE;
  PyObject* capsule = PyCapsule_New(context, CONTEXT, capsule_free);
  if (capsule) PyCapsule_SetContext(capsule, Py_NewRef((PyObject*)graph));
  return capsule;
}

/* 0 with an exception. The graph is the capsule's. */
static int read_context(PyObject* object, leat_py_graph_t** out_graph,
                        leat_flow_context_t** out_context) {
  *out_context = PyCapsule_GetPointer(object, CONTEXT);
  if (!*out_context) return 0;
  *out_graph = PyCapsule_GetContext(object);
  return *out_graph != NULL;
}

static int read_graph(PyObject* object, leat_py_graph_t** out_graph) {
  if (!PyObject_TypeCheck(object, leat_py_types.graph)) {
    PyErr_Format(PyExc_TypeError, "%R is no Graph", object);
    return 0;
  }
  *out_graph = (leat_py_graph_t*)object;
  return 1;
}

static PyObject* wrap_outputs(leat_py_graph_t* graph, const TF_Output* outputs, int count) {
  PyObject* list = PyList_New(0);
  for (int i = 0; list && i < count; ++i) {
    PyObject* item = leat_py_output_wrap(graph, outputs[i]);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* The results of a branch: an Operation stands for itself, as an output of index -1. */
static TF_Output* read_results(PyObject* sequence, int* out_count) {
  Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return NULL;
  TF_Output* list = PyMem_Malloc((size_t)(count + 1) * sizeof *list);
  if (!list) PyErr_NoMemory();
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    int ok = item != NULL;
    if (ok && PyObject_TypeCheck(item, leat_py_types.operation)) {
      list[i].index = -1;
      ok = leat_py_operation_read(item, &list[i].oper);
    } else if (ok) {
      ok = leat_py_output_read(item, &list[i]);
    }
    Py_XDECREF(item);
    if (!ok) {
      PyMem_Free(list);
      list = NULL;
    }
  }
  *out_count = (int)count;
  return list;
}

/* Shape invariants: a shape (None or a tuple) for each variable. */
static int read_shapes(PyObject* shapes, int count, int** out_ranks, int64_t** out_dims) {
  if (PySequence_Size(shapes) != count) {
    PyErr_SetString(PyExc_ValueError, "there must be one shape for each variable");
    return 0;
  }
  int* ranks = PyMem_Malloc((size_t)(count + 1) * sizeof *ranks);
  int64_t* dims = NULL;
  size_t total = 0;
  int ok = ranks != NULL;
  if (!ok) PyErr_NoMemory();
  for (int i = 0; ok && i < count; ++i) {
    PyObject* shape = PySequence_GetItem(shapes, i);
    int64_t* sizes = NULL;
    ranks[i] = shape ? leat_py_shape_read(shape, &sizes) : -2;
    Py_XDECREF(shape);
    ok = ranks[i] >= -1;
    size_t rank = ok && ranks[i] > 0 ? (size_t)ranks[i] : 0;
    int64_t* grown = ok ? PyMem_Realloc(dims, (total + rank + 1) * sizeof *dims) : NULL;
    if (ok && !grown) {
      PyErr_NoMemory();
      ok = 0;
    }
    if (grown) dims = grown;
    for (size_t d = 0; ok && d < rank; ++d) dims[total + d] = sizes[d];
    total += rank;
    PyMem_Free(sizes);
  }
  if (!ok) {
    PyMem_Free(ranks);
    PyMem_Free(dims);
    return 0;
  }
  *out_ranks = ranks;
  *out_dims = dims;
  return 1;
}

/* ---- Loops -----------------------------------------------------------------------------------*/
PyDoc_STRVAR(while_begin_doc,
             "while_begin(graph, name, inputs, shapes, device, control_inputs,\n"
             "            parallel_iterations, maximum_iterations): (context, variables).\n\n"
             "shapes is None or a shape for each input; maximum_iterations an Output or None.");
static PyObject* while_begin(PyObject* module, PyObject* args) {
  (void)module;
  const char *name, *device;
  PyObject *graph_object, *input_list, *shapes, *controls, *maximum, *result = NULL;
  leat_py_graph_t* graph;
  leat_flow_options_t options = {0};
  if (!PyArg_ParseTuple(args, "OsOOzOiO", &graph_object, &name, &input_list, &shapes, &device,
                        &controls, &options.parallel_iterations, &maximum) ||
      !read_graph(graph_object, &graph) ||
      (maximum != Py_None && !leat_py_output_read(maximum, &options.maximum_iterations))) {
    return NULL;
  }
  int count = 0, *ranks = NULL;
  int64_t* dims = NULL;
  TF_Output *inputs = NULL, *variables = NULL;
  TF_Operation** after = leat_py_operations_read(controls, &options.control_input_count);
  if (!after) goto done;
  inputs = leat_py_outputs_read(input_list, &count);
  if (!inputs || (shapes != Py_None && !read_shapes(shapes, count, &ranks, &dims))) goto done;
  variables = PyMem_Malloc((size_t)(count + 1) * sizeof *variables);
  if (!variables) {
    PyErr_NoMemory();
    goto done;
  }
  options.device = device;
  options.control_inputs = after;
  options.ranks = ranks;
  options.dims = dims;
  TF_Status* status = TF_NewStatus();
  leat_flow_context_t* loop = NULL;
  if (status) {
    loop = leat_while_begin(graph->graph, name, inputs, count, &options, variables, status);
  }
  if (!leat_py_status_end(status)) goto done;
  PyObject* list = wrap_outputs(graph, variables, count);
  PyObject* context = list ? wrap_context(graph, loop) : NULL;
  if (context) result = PyTuple_Pack(2, context, list);
  if (!result) leat_flow_abandon(loop);
  Py_XDECREF(context);
  Py_XDECREF(list);
done:
  PyMem_Free(variables);
  PyMem_Free(inputs);
  PyMem_Free(after);
  PyMem_Free(ranks);
  PyMem_Free(dims);
  return result;
}

PyDoc_STRVAR(while_body_doc, "while_body(context, condition, count): the variables.");
static PyObject* while_body(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *context_object, *condition_object;
  leat_py_graph_t* graph;
  leat_flow_context_t* loop;
  TF_Output condition;
  int count;
  if (!PyArg_ParseTuple(args, "OOi", &context_object, &condition_object, &count) ||
      !read_context(context_object, &graph, &loop) ||
      !leat_py_output_read(condition_object, &condition)) {
    return NULL;
  }
  TF_Output* variables = PyMem_Malloc((size_t)(count + 1) * sizeof *variables);
  if (!variables) return PyErr_NoMemory();
  TF_Status* status = TF_NewStatus();
  if (status) leat_while_body(loop, condition, variables, status);
  PyObject* result = leat_py_status_end(status) ? wrap_outputs(graph, variables, count) : NULL;
  PyMem_Free(variables);
  return result;
}

/* What leat_while_end and leat_cond_end have in common. */
typedef void (*end_t)(leat_flow_context_t*, const TF_Output*, int, TF_Output*, TF_Status*);
static PyObject* end_construct(PyObject* args, end_t end) {
  PyObject *context_object, *sequence, *result = NULL;
  leat_py_graph_t* graph;
  leat_flow_context_t* context;
  int count;
  if (!PyArg_ParseTuple(args, "OO", &context_object, &sequence) ||
      !read_context(context_object, &graph, &context)) {
    return NULL;
  }
  TF_Output* outputs = read_results(sequence, &count);
  if (!outputs) return NULL;
  TF_Status* status = TF_NewStatus();
  if (status) end(context, outputs, count, outputs, status);
  if (leat_py_status_end(status)) result = wrap_outputs(graph, outputs, count);
  PyMem_Free(outputs);
  return result;
}

PyDoc_STRVAR(while_end_doc, "while_end(context, results): the last values.");
static PyObject* while_end(PyObject* module, PyObject* args) {
  (void)module;
  return end_construct(args, leat_while_end);
}

/* ---- Conditionals ----------------------------------------------------------------------------*/
PyDoc_STRVAR(cond_begin_doc,
             "cond_begin(graph, name, predicate, device, control_inputs): the context of the true\n"
             "branch.");
static PyObject* cond_begin(PyObject* module, PyObject* args) {
  (void)module;
  const char *name, *device;
  PyObject *graph_object, *predicate_object, *controls;
  leat_py_graph_t* graph;
  leat_flow_options_t options = {0};
  TF_Output predicate;
  if (!PyArg_ParseTuple(args, "OsOzO", &graph_object, &name, &predicate_object, &device,
                        &controls) ||
      !read_graph(graph_object, &graph) || !leat_py_output_read(predicate_object, &predicate)) {
    return NULL;
  }
  TF_Operation** after = leat_py_operations_read(controls, &options.control_input_count);
  if (!after) return NULL;
  options.device = device;
  options.control_inputs = after;
  TF_Status* status = TF_NewStatus();
  leat_flow_context_t* branch = NULL;
  if (status) branch = leat_cond_begin(graph->graph, name, predicate, &options, status);
  PyMem_Free(after);
  return leat_py_status_end(status) ? wrap_context(graph, branch) : NULL;
}

PyDoc_STRVAR(cond_else_doc,
             "cond_else(context, results): the context of the false branch. A result is an Output\n"
             "or an Operation that runs in the branch.");
static PyObject* cond_else(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *context_object, *sequence;
  leat_py_graph_t* graph;
  leat_flow_context_t* branch;
  int count;
  if (!PyArg_ParseTuple(args, "OO", &context_object, &sequence) ||
      !read_context(context_object, &graph, &branch)) {
    return NULL;
  }
  TF_Output* results = read_results(sequence, &count);
  if (!results) return NULL;
  TF_Status* status = TF_NewStatus();
  if (status) branch = leat_cond_else(branch, results, count, status);
  PyMem_Free(results);
  return leat_py_status_end(status) ? wrap_context(graph, branch) : NULL;
}

PyDoc_STRVAR(cond_end_doc, "cond_end(context, results): the merged values.");
static PyObject* cond_end(PyObject* module, PyObject* args) {
  (void)module;
  return end_construct(args, leat_cond_end);
}

/* ---- Contexts --------------------------------------------------------------------------------*/
PyDoc_STRVAR(flow_abandon_doc, "flow_abandon(context): leaves an open construct unfinished.");
static PyObject* flow_abandon(PyObject* module, PyObject* object) {
  (void)module;
  leat_py_graph_t* graph;
  leat_flow_context_t* context;
  if (!read_context(object, &graph, &context)) return NULL;
  leat_flow_abandon(context);
  Py_RETURN_NONE;
}

PyDoc_STRVAR(flow_outside_doc, "flow_outside(graph): outside all contexts until flow_leave.");
static PyObject* flow_outside(PyObject* module, PyObject* object) {
  (void)module;
  leat_py_graph_t* graph;
  if (!read_graph(object, &graph)) return NULL;
  TF_Status* status = TF_NewStatus();
  if (status) leat_flow_enter(graph->graph, NULL, status);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

PyDoc_STRVAR(flow_leave_doc, "flow_leave(graph): back to where flow_outside was called.");
static PyObject* flow_leave(PyObject* module, PyObject* object) {
  (void)module;
  leat_py_graph_t* graph;
  if (!read_graph(object, &graph)) return NULL;
  leat_flow_leave(graph->graph);
  Py_RETURN_NONE;
}

PyDoc_STRVAR(flow_of_doc, "flow_of(operation): the context that it is in, or None.");
static PyObject* flow_of(PyObject* module, PyObject* object) {
  (void)module;
  TF_Operation* operation;
  if (!leat_py_operation_read(object, &operation)) return NULL;
  leat_py_graph_t* graph = (leat_py_graph_t*)((leat_py_operation_t*)object)->graph;
  return wrap_context(graph, leat_flow_of(operation));
}

static PyMethodDef functions[] = {
    {"while_begin", while_begin, METH_VARARGS, while_begin_doc},
    {"while_body", while_body, METH_VARARGS, while_body_doc},
    {"while_end", while_end, METH_VARARGS, while_end_doc},
    {"cond_begin", cond_begin, METH_VARARGS, cond_begin_doc},
    {"cond_else", cond_else, METH_VARARGS, cond_else_doc},
    {"cond_end", cond_end, METH_VARARGS, cond_end_doc},
    {"flow_abandon", flow_abandon, METH_O, flow_abandon_doc},
    {"flow_outside", flow_outside, METH_O, flow_outside_doc},
    {"flow_leave", flow_leave, METH_O, flow_leave_doc},
    {"flow_of", flow_of, METH_O, flow_of_doc},
    {0}};

int leat_py_control_flow_register(PyObject* module) {
  return PyModule_AddFunctions(module, functions);
}
