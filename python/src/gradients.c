/* Binds leat/gradients.h: Graph.gradients_. A derivative crosses as None, as an Output, or as a
 * tuple (values, indices, dense_shape) of Outputs, which is rows of a tensor.
 *
 * The library calls gradient functions of Python while it walks over the graph. An exception in one
 * ends the walk: it is kept here, and raised again when the library has returned. */
#include "leat/gradients.h"

#include "module.h"

/* Of one call of Graph.gradients_. */
typedef struct walk_t {
  leat_py_graph_t* graph;
  PyObject* functions; /* borrowed: a dict whose keys are the entries that Python differentiates */
  PyObject* build;     /* borrowed */
  PyObject *type, *value, *traceback; /* of the exception, or NULL */
} walk_t;

static void keep_exception(walk_t* walk) {
  if (!walk->type) PyErr_Fetch(&walk->type, &walk->value, &walk->traceback);
}

/* ---- Derivatives -----------------------------------------------------------------------------*/
static PyObject* wrap_or_none(leat_py_graph_t* graph, TF_Output output) {
  return output.oper ? leat_py_output_wrap(graph, output) : Py_NewRef(Py_None);
}

static PyObject* wrap_derivative(leat_py_graph_t* graph, const leat_derivative_t* derivative) {
  if (!derivative->indices.oper) return wrap_or_none(graph, derivative->values);
  PyObject* values = wrap_or_none(graph, derivative->values);
  PyObject* indices = wrap_or_none(graph, derivative->indices);
  PyObject* shape = wrap_or_none(graph, derivative->dense_shape);
  PyObject* rows = values && indices && shape ? PyTuple_Pack(3, values, indices, shape) : NULL;
  Py_XDECREF(values);
  Py_XDECREF(indices);
  Py_XDECREF(shape);
  return rows;
}

static PyObject* wrap_derivatives(leat_py_graph_t* graph, const leat_derivative_t* derivatives,
                                  int count) {
  PyObject* list = PyList_New(0);
  for (int i = 0; list && i < count; ++i) {
    PyObject* item = wrap_derivative(graph, &derivatives[i]);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* 0 with an exception. */
static int read_derivative(PyObject* object, leat_derivative_t* out) {
  PyObject *values, *indices, *shape;
  if (object == Py_None) return 1;
  if (!PyTuple_Check(object)) return leat_py_output_read(object, &out->values);
  return PyArg_ParseTuple(object, "OOO", &values, &indices, &shape) &&
         leat_py_output_read(values, &out->values) &&
         leat_py_output_read(indices, &out->indices) &&
         leat_py_output_read(shape, &out->dense_shape);
}

/* ---- What the library calls ------------------------------------------------------------------*/
/* Runs no Python: the graph is locked, and a thread that waits for it with the interpreter's lock
 * would never get on. */
static int has_gradient(void* data, const char* entry) {
  walk_t* walk = data;
  PyObject* key = PyUnicode_FromString(entry);
  const int has = key ? PyDict_Contains(walk->functions, key) : -1;
  Py_XDECREF(key);
  if (has < 0) keep_exception(walk);
  return has > 0;
}

static int build_gradient(walk_t* walk, const leat_gradient_node_t* node,
                          leat_derivative_t* of_inputs) {
  PyObject* operation = leat_py_operation_wrap(walk->graph, node->operation);
  PyObject* of_outputs = wrap_derivatives(walk->graph, node->of_outputs,
                                          TF_OperationNumOutputs(node->operation));
  PyObject* results = NULL;
  if (operation && of_outputs) {
    results = PyObject_CallFunction(walk->build, "OssO", operation, node->entry, node->name,
                                    of_outputs);
  }
  Py_XDECREF(operation);
  Py_XDECREF(of_outputs);
  Py_ssize_t count = results ? PySequence_Size(results) : -1;
  int ok = count == TF_OperationNumInputs(node->operation);
  if (!ok && count >= 0) {
    PyErr_Format(PyExc_ValueError, "%zd derivatives for the %d inputs of %s", count,
                 TF_OperationNumInputs(node->operation), TF_OperationName(node->operation));
  }
  for (Py_ssize_t i = 0; ok && i < count; ++i) {
    PyObject* item = PySequence_GetItem(results, i);
    ok = item && read_derivative(item, &of_inputs[i]);
    Py_XDECREF(item);
  }
  Py_XDECREF(results);
  return ok;
}

static void gradient(void* data, const leat_gradient_node_t* node, leat_derivative_t* of_inputs,
                     TF_Status* status) {
  walk_t* walk = data;
  if (!walk->type && build_gradient(walk, node, of_inputs)) return;
  keep_exception(walk);
  TF_SetStatus(status, TF_CANCELLED, "a gradient function of Python failed");
}

/* ---- The call --------------------------------------------------------------------------------*/
/* The arguments in C; arrays are for PyMem_Free. */
typedef struct arguments_t {
  TF_Output *ys, *xs, *starts, *stops;
  int y_count, x_count, start_count, stop_count;
} arguments_t;

/* 0 with an exception. */
static int read_arguments(PyObject* ys, PyObject* xs, PyObject* grad_ys, PyObject* stops,
                          arguments_t* out) {
  out->ys = leat_py_outputs_read(ys, &out->y_count);
  out->xs = out->ys ? leat_py_outputs_read(xs, &out->x_count) : NULL;
  out->stops = out->xs ? leat_py_outputs_read(stops, &out->stop_count) : NULL;
  if (!out->stops || grad_ys == Py_None) return out->stops != NULL;
  out->starts = leat_py_outputs_read(grad_ys, &out->start_count);
  if (!out->starts || out->start_count == out->y_count) return out->starts != NULL;
  PyErr_SetString(PyExc_ValueError, "grad_ys must have one Output for each of ys");
  return 0;
}

/* Raises what a gradient function raised, rather than the status with which the walk then ended. */
static int end_walk(walk_t* walk, TF_Status* status) {
  if (!walk->type) return leat_py_status_end(status);
  TF_DeleteStatus(status);
  PyErr_Restore(walk->type, walk->value, walk->traceback);
  return 0;
}

PyObject* leat_py_graph_gradients(PyObject* object, PyObject* args) {
  walk_t walk = {.graph = (leat_py_graph_t*)object};
  const char* prefix;
  int colocate;
  PyObject *ys, *xs, *grad_ys, *stops, *result = NULL;
  if (!PyArg_ParseTuple(args, "zOOOOpO!O", &prefix, &ys, &xs, &grad_ys, &stops, &colocate,
                        &PyDict_Type, &walk.functions, &walk.build)) {
    return NULL;
  }
  arguments_t a = {0};
  leat_derivative_t* derivatives = NULL;
  if (read_arguments(ys, xs, grad_ys, stops, &a)) {
    derivatives = PyMem_Calloc((size_t)a.x_count + 1, sizeof *derivatives);
    if (!derivatives) PyErr_NoMemory();
  }
  if (derivatives) {
    leat_gradients_options_t options = {.prefix = prefix,
                                        .grad_ys = a.starts,
                                        .stop_gradients = a.stops,
                                        .stop_gradient_count = a.stop_count,
                                        .colocate = colocate,
                                        .has_gradient = has_gradient,
                                        .gradient = gradient,
                                        .data = &walk};
    TF_Status* status = TF_NewStatus();
    if (status) {
      leat_gradients(walk.graph->graph, a.ys, a.y_count, a.xs, a.x_count, &options, derivatives,
                     status);
    }
    if (end_walk(&walk, status)) result = wrap_derivatives(walk.graph, derivatives, a.x_count);
  }
  PyMem_Free(derivatives);
  PyMem_Free(a.starts);
  PyMem_Free(a.stops);
  PyMem_Free(a.xs);
  PyMem_Free(a.ys);
  return result;
}
