/* Summaries of leat/summary.h as bytes, for the package's own writer of events: summary_pr_curve,
 * summary_layout, summary_session_start, summary_session_end and summary_experiment give a
 * serialised Summary each. The package turns what a program passes into tuples and lists of the one
 * form that is read here; what is allowed in them the library decides. Texts and lists that the
 * library borrows stay alive because the arguments do. Memory for the arrays of one call is a list
 * of blocks, which are all freed when the call ends, so that no path of an error frees alone. */
#include "leat/summary.h"

#include "module.h"

typedef struct block_t {
  struct block_t* next;
  long long data[]; /* aligned for what the arrays hold */
} block_t;

/* An array of |count| items, of zeros; NULL with MemoryError. */
static void* take(block_t** blocks, Py_ssize_t count, size_t item_bytes) {
  if (count < 0 || (size_t)count > (PY_SSIZE_T_MAX - sizeof(block_t)) / item_bytes) {
    return PyErr_NoMemory();
  }
  block_t* block = PyMem_Calloc(1, sizeof(block_t) + ((size_t)count + !count) * item_bytes);
  if (!block) return PyErr_NoMemory();
  block->next = *blocks;
  *blocks = block;
  return block->data;
}

/* Frees all blocks and gives the bytes of |buffer|; an exception that is set is kept. */
static PyObject* finish(block_t* blocks, TF_Buffer* buffer, TF_Status* status) {
  while (blocks) {
    block_t* next = blocks->next;
    PyMem_Free(blocks);
    blocks = next;
  }
  if (PyErr_Occurred()) {
    TF_DeleteStatus(status);
    return NULL;
  }
  if (!leat_py_status_end(status)) return NULL;
  return leat_py_buffer_take(buffer);
}

/* How many items |list| has, as an int; -1 with an exception. */
static int count_of(PyObject* list) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "a list is needed");
    return -1;
  }
  Py_ssize_t count = PyList_Size(list);
  if (count <= INT_MAX) return (int)count;
  PyErr_SetString(PyExc_OverflowError, "a list is too long");
  return -1;
}

/* The texts of |list|, which borrow from it; NULL with an exception. */
static const char** texts_of(block_t** blocks, PyObject* list, int* out_count) {
  *out_count = count_of(list);
  const char** texts = *out_count < 0 ? NULL : take(blocks, *out_count, sizeof *texts);
  for (int i = 0; texts && i < *out_count; ++i) {
    if (!PyArg_Parse(PyList_GetItem(list, i), "s", &texts[i])) return NULL;
  }
  return texts;
}

static PyObject* pr_curve(PyObject* module, PyObject* args) {
  (void)module;
  const char *tag, *labels, *predictions, *weights;
  Py_ssize_t label_bytes, prediction_bytes, weight_bytes;
  leat_pr_curve_t curve = {0};
  if (!PyArg_ParseTuple(args, "sy#y#z#i", &tag, &labels, &label_bytes, &predictions,
                        &prediction_bytes, &weights, &weight_bytes, &curve.threshold_count)) {
    return NULL;
  }
  if (label_bytes != prediction_bytes || (weights && label_bytes != weight_bytes)) {
    PyErr_SetString(PyExc_ValueError, "the lists must be of one length");
    return NULL;
  }
  curve.count = (size_t)label_bytes / sizeof(float);
  /* Bytes objects align their data for any type. */
  curve.labels = (const void*)labels;
  curve.predictions = (const void*)predictions;
  curve.weights = (const void*)weights;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* buffer = status ? leat_summary_pr_curve(tag, &curve, status) : NULL;
  return finish(NULL, buffer, status);
}

/* ---- Layouts ---------------------------------------------------------------------------------*/
/* (title, [tag], [(value, lower, upper)]) */
static int read_chart(block_t** blocks, PyObject* item, leat_chart_t* out_chart) {
  PyObject *tags, *margins;
  if (!PyArg_ParseTuple(item, "sOO", &out_chart->title, &tags, &margins)) return 0;
  out_chart->tags = texts_of(blocks, tags, &out_chart->tag_count);
  out_chart->margin_count = out_chart->tags ? count_of(margins) : -1;
  leat_margin_t* read =
      out_chart->margin_count < 0 ? NULL : take(blocks, out_chart->margin_count, sizeof *read);
  for (int i = 0; read && i < out_chart->margin_count; ++i) {
    if (!PyArg_ParseTuple(PyList_GetItem(margins, i), "sss", &read[i].value, &read[i].lower,
                          &read[i].upper)) {
      return 0;
    }
  }
  out_chart->margins = read;
  return read != NULL;
}

/* (title, is_closed, [chart]) */
static int read_category(block_t** blocks, PyObject* item, leat_chart_category_t* out_category) {
  PyObject* charts;
  if (!PyArg_ParseTuple(item, "spO", &out_category->title, &out_category->is_closed, &charts)) {
    return 0;
  }
  out_category->chart_count = count_of(charts);
  leat_chart_t* read =
      out_category->chart_count < 0 ? NULL : take(blocks, out_category->chart_count, sizeof *read);
  for (int i = 0; read && i < out_category->chart_count; ++i) {
    if (!read_chart(blocks, PyList_GetItem(charts, i), &read[i])) return 0;
  }
  out_category->charts = read;
  return read != NULL;
}

static PyObject* layout(PyObject* module, PyObject* list) {
  (void)module;
  block_t* blocks = NULL;
  TF_Buffer* buffer = NULL;
  int count = count_of(list);
  leat_chart_category_t* categories =
      count < 0 ? NULL : take(&blocks, count, sizeof *categories);
  for (int i = 0; categories && i < count; ++i) {
    if (!read_category(&blocks, PyList_GetItem(list, i), &categories[i])) categories = NULL;
  }
  TF_Status* status = TF_NewStatus();
  if (status && categories) buffer = leat_summary_layout(categories, count, status);
  return finish(blocks, buffer, status);
}

/* ---- Hyper-parameters ------------------------------------------------------------------------*/
/* (name, bool, number or text) */
static int read_hparam(PyObject* item, leat_hparam_t* out_hparam) {
  const char *name, *text;
  PyObject* value;
  if (!PyArg_ParseTuple(item, "sO", &name, &value)) return 0;
  if (PyBool_Check(value)) {
    *out_hparam = leat_hparam_bool(name, value == Py_True);
    return 1;
  }
  if (PyUnicode_Check(value)) {
    if (!PyArg_Parse(value, "s", &text)) return 0;
    *out_hparam = leat_hparam_text(name, text);
    return 1;
  }
  *out_hparam = leat_hparam_number(name, PyFloat_AsDouble(value));
  return !PyErr_Occurred();
}

static PyObject* session_start(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* list;
  block_t* blocks = NULL;
  TF_Buffer* buffer = NULL;
  leat_session_start_t start = {0};
  if (!PyArg_ParseTuple(args, "Oz", &list, &start.group)) return NULL;
  start.hparam_count = count_of(list);
  leat_hparam_t* hparams =
      start.hparam_count < 0 ? NULL : take(&blocks, start.hparam_count, sizeof *hparams);
  for (int i = 0; hparams && i < start.hparam_count; ++i) {
    if (!read_hparam(PyList_GetItem(list, i), &hparams[i])) hparams = NULL;
  }
  start.hparams = hparams;
  TF_Status* status = TF_NewStatus();
  if (status && hparams) buffer = leat_summary_session_start(&start, status);
  return finish(blocks, buffer, status);
}

static PyObject* session_end(PyObject* module, PyObject* number) {
  (void)module;
  int session_status;
  if (!PyArg_Parse(number, "i", &session_status)) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* buffer =
      status ? leat_summary_session_end((leat_session_status_t)session_status, status) : NULL;
  return finish(NULL, buffer, status);
}

/* [(name, title or None, kind, low, high, [text])] */
static leat_hparam_info_t* infos_of(block_t** blocks, PyObject* list, int* out_count) {
  *out_count = count_of(list);
  leat_hparam_info_t* infos = *out_count < 0 ? NULL : take(blocks, *out_count, sizeof *infos);
  for (int i = 0; infos && i < *out_count; ++i) {
    int kind;
    PyObject* texts;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sziddO", &infos[i].name, &infos[i].title,
                          &kind, &infos[i].low, &infos[i].high, &texts)) {
      return NULL;
    }
    infos[i].kind = (leat_hparam_kind_t)kind;
    infos[i].texts = texts_of(blocks, texts, &infos[i].text_count);
    if (!infos[i].texts) return NULL;
  }
  return infos;
}

/* [(tag, group or None, title or None)] */
static leat_hparam_metric_t* metrics_of(block_t** blocks, PyObject* list, int* out_count) {
  *out_count = count_of(list);
  leat_hparam_metric_t* metrics = *out_count < 0 ? NULL : take(blocks, *out_count, sizeof *metrics);
  for (int i = 0; metrics && i < *out_count; ++i) {
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "szz", &metrics[i].tag, &metrics[i].group,
                          &metrics[i].title)) {
      return NULL;
    }
  }
  return metrics;
}

static PyObject* experiment(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *infos, *metrics;
  block_t* blocks = NULL;
  TF_Buffer* buffer = NULL;
  leat_experiment_t all = {0};
  if (!PyArg_ParseTuple(args, "zOO", &all.description, &infos, &metrics)) return NULL;
  all.hparams = infos_of(&blocks, infos, &all.hparam_count);
  all.metrics = all.hparams ? metrics_of(&blocks, metrics, &all.metric_count) : NULL;
  TF_Status* status = TF_NewStatus();
  if (status && all.metrics) buffer = leat_summary_experiment(&all, status);
  return finish(blocks, buffer, status);
}

static PyMethodDef functions[] = {
    {"summary_pr_curve", pr_curve, METH_VARARGS,
     "summary_pr_curve(tag, labels, predictions, weights or None, thresholds): floats as bytes."},
    {"summary_layout", layout, METH_O,
     "summary_layout([(title, is_closed, [(title, [tag], [(value, lower, upper)])])])."},
    {"summary_session_start", session_start, METH_VARARGS,
     "summary_session_start([(name, value)], group or None)."},
    {"summary_session_end", session_end, METH_O, "summary_session_end(status)."},
    {"summary_experiment", experiment, METH_VARARGS,
     "summary_experiment(description, [(name, title, kind, low, high, [text])], "
     "[(tag, group, title)])."},
    {0}};

int leat_py_summary_register(PyObject* module) { return PyModule_AddFunctions(module, functions); }
