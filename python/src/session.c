/* Session: steps of a graph, whole and in parts. The GIL is given up while a step runs, so that
 * other threads of Python run meanwhile, and feed or drain the queues that the step waits for. A
 * session that is closed while steps run is freed by the last of them.
 *
 * Ctrl-C ends the steps of the main thread (interrupt.c). They fail with CANCELLED then, and
 * Python's handler of the signal raises what the program sees. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "leat/callable.h"
#include "module.h"

static leat_py_session_t* sessions; /* all that have a TF_Session; needs the GIL */

static void list_add(leat_py_session_t* session) {
  session->next = sessions;
  if (sessions) sessions->before = session;
  sessions = session;
}
static void list_remove(leat_py_session_t* session) {
  if (session->next) session->next->before = session->before;
  if (session->before) session->before->next = session->next;
  else sessions = session->next;
  session->next = session->before = NULL;
}

static PyObject* session_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"graph", "target", "config", NULL};
  PyObject* graph;
  const char *target = "", *config = NULL;
  Py_ssize_t config_size = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|sz#", names, &graph, &target, &config,
                                   &config_size)) {
    return NULL;
  }
  if (!PyObject_TypeCheck(graph, leat_py_types.graph)) {
    return PyErr_Format(PyExc_TypeError, "%R is no Graph", graph);
  }
  leat_py_session_t* self = (leat_py_session_t*)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (status && options) {
    if (target[0]) TF_SetTarget(options, target);
    if (config) TF_SetConfig(options, config, (size_t)config_size, status);
    if (TF_GetCode(status) == TF_OK) {
      /* A master elsewhere may be long in coming. */
      TF_Graph* of_session = ((leat_py_graph_t*)graph)->graph;
      Py_BEGIN_ALLOW_THREADS
      self->session = TF_NewSession(of_session, options, status);
      Py_END_ALLOW_THREADS
    }
  }
  TF_DeleteSessionOptions(options);
  if (self->session) {
    self->is_local = !target[0];
    list_add(self);
  }
  if (!leat_py_status_end(status)) Py_CLEAR(self);
  return (PyObject*)self;
}

/* Frees the TF_Session unless a step of it runs. That waits for kernels, which at the end of the
 * interpreter may be in a function of Python that never ends. */
static void session_free(leat_py_session_t* self) {
  TF_Session* session = self->session;
  if (!session || self->runs || leat_py_function_is_stuck()) return;
  self->session = NULL;
  list_remove(self);
  TF_Status* status = TF_NewStatus();
  Py_BEGIN_ALLOW_THREADS
  if (status) TF_DeleteSession(session, status);
  Py_END_ALLOW_THREADS
  TF_DeleteStatus(status);
}

static void session_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  leat_py_session_t* self = (leat_py_session_t*)object;
  session_free(self);
  if (self->session) list_remove(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject* session_close(PyObject* object, PyObject* unused) {
  (void)unused;
  leat_py_session_t* self = (leat_py_session_t*)object;
  if (self->closed) Py_RETURN_NONE;
  self->closed = 1;
  TF_Status* status = TF_NewStatus();
  self->runs += 1; /* so that the last step, which ends now, does not free it meanwhile */
  Py_BEGIN_ALLOW_THREADS
  if (status) TF_CloseSession(self->session, status);
  Py_END_ALLOW_THREADS
  self->runs -= 1;
  session_free(self);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

/* ---- The end of the interpreter --------------------------------------------------------------*/
/* Threads that Python does not wait for may run steps then. These must end before the process calls
 * the destructors of libraries of C++ that kernels are in. */
#define LONGEST_WAIT_MS 5000

static int has_ended;
static pthread_t ending_thread;

/* Needs the GIL. Once the interpreter has ended its other threads stay here, as they would at the
 * GIL. */
static void stop_if_ended(void) {
  if (!has_ended || pthread_equal(pthread_self(), ending_thread)) return;
  PyEval_SaveThread();
  for (;;) pause();
}

/* How many steps run here, but for those that may be in a function of Python. */
static int steps_running(void) {
  int count = -leat_py_functions_running();
  for (leat_py_session_t* s = sessions; s; s = s->next) count += s->is_local ? s->runs : 0;
  return count;
}

static void cancel_steps(leat_py_session_t* session) {
  TF_Status* status = TF_NewStatus();
  if (!status) return;
  session->runs += 1; /* so that it is not freed meanwhile */
  Py_BEGIN_ALLOW_THREADS
  TF_CloseSession(session->session, status);
  Py_END_ALLOW_THREADS
  session->runs -= 1;
  TF_DeleteStatus(status);
}

void leat_py_sessions_end(void) {
  has_ended = 1;
  ending_thread = pthread_self();
  for (leat_py_session_t *s = sessions, *next; s; s = next) {
    Py_INCREF((PyObject*)s);
    if (s->is_local && s->runs) cancel_steps(s);
    next = s->next;
    Py_DECREF((PyObject*)s);
  }
  for (int waited_ms = 0; steps_running() > 0 && waited_ms < LONGEST_WAIT_MS; ++waited_ms) {
    Py_BEGIN_ALLOW_THREADS
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    Py_END_ALLOW_THREADS
  }
}

/* ---- The calls under way ---------------------------------------------------------------------*/
static int session_enter(leat_py_session_t* self) {
  stop_if_ended();
  if (self->closed || !self->session) {
    PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session.");
    return 0;
  }
  self->runs += 1;
  return 1;
}
static void session_leave(leat_py_session_t* self) {
  self->runs -= 1;
  stop_if_ended();
  if (self->closed) session_free(self);
}

/* ---- Arguments of a step ---------------------------------------------------------------------*/
typedef struct step_t {
  TF_Output *feeds, *fetches;
  TF_Tensor **values, **results;
  TF_Operation** targets;
  int feed_count, fetch_count, target_count;
} step_t;

static void step_free(step_t* step) {
  PyMem_Free(step->feeds);
  PyMem_Free(step->fetches);
  PyMem_Free(step->values);
  PyMem_Free(step->results);
  PyMem_Free(step->targets);
}

static TF_Tensor** values_read(PyObject* list, int wanted) {
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return NULL;
  if (count != wanted) {
    PyErr_Format(PyExc_ValueError, "%zd values for %d feeds", count, wanted);
    return NULL;
  }
  TF_Tensor** values = PyMem_Calloc((size_t)count + 1, sizeof *values);
  if (!values) PyErr_NoMemory();
  for (Py_ssize_t i = 0; values && i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    if (item && PyObject_TypeCheck(item, leat_py_types.value)) {
      values[i] = ((leat_py_value_t*)item)->tensor;
    } else {
      if (item) PyErr_Format(PyExc_TypeError, "%R is no Value", item);
      PyMem_Free(values);
      values = NULL;
    }
    Py_XDECREF(item);
  }
  return values;
}

/* |values| is NULL where the step is only set up. */
static int step_read(step_t* step, PyObject* feeds, PyObject* values, PyObject* fetches,
                     PyObject* targets) {
  step->feeds = leat_py_outputs_read(feeds, &step->feed_count);
  if (!step->feeds) return 0;
  if (values && !(step->values = values_read(values, step->feed_count))) return 0;
  step->fetches = leat_py_outputs_read(fetches, &step->fetch_count);
  if (!step->fetches) return 0;
  step->targets = leat_py_operations_read(targets, &step->target_count);
  if (!step->targets) return 0;
  step->results = PyMem_Calloc((size_t)step->fetch_count + 1, sizeof *step->results);
  if (!step->results) PyErr_NoMemory();
  return step->results != NULL;
}

/* The fetched tensors as the package gives them; all are taken, also after an error. */
static PyObject* results_take(TF_Tensor** results, int count) {
  PyObject* list = PyList_New(count);
  for (int i = 0; i < count; ++i) {
    PyObject* item = list ? leat_py_value_fetched(results[i]) : NULL;
    if (!list) TF_DeleteTensor(results[i]);
    else if (item) PyList_SetItem(list, i, item);
    else Py_CLEAR(list);
  }
  return list;
}

/* As leat_py_status_end; where a signal ended the step, the exception of its handler is raised. */
static int step_status_end(TF_Status* status) {
  if (status && TF_GetCode(status) != TF_OK && PyErr_CheckSignals()) {
    TF_DeleteStatus(status);
    return 0;
  }
  return leat_py_status_end(status);
}

/* ---- Steps -----------------------------------------------------------------------------------*/
PyDoc_STRVAR(run_doc, "run(feeds, values, fetches, targets, options=None, metadata=False):\n"
                      "(arrays and Values, RunMetadata's bytes or None). feeds and fetches are\n"
                      "Outputs, targets Operations, options a serialised RunOptions.");
static PyObject* session_run(PyObject* object, PyObject* args) {
  leat_py_session_t* self = (leat_py_session_t*)object;
  PyObject *feeds, *values, *fetches, *targets;
  const char* options = NULL;
  Py_ssize_t options_size = 0;
  int wants_metadata = 0;
  if (!PyArg_ParseTuple(args, "OOOO|z#p", &feeds, &values, &fetches, &targets, &options,
                        &options_size, &wants_metadata)) {
    return NULL;
  }
  step_t step = {0};
  PyObject* result = NULL;
  if (!step_read(&step, feeds, values, fetches, targets) || !session_enter(self)) {
    step_free(&step);
    return NULL;
  }
  TF_Status* status = TF_NewStatus();
  TF_Buffer* run_options = options ? TF_NewBufferFromString(options, (size_t)options_size) : NULL;
  TF_Buffer* metadata = wants_metadata ? TF_NewBuffer() : NULL;
  const unsigned long long watched = leat_py_interrupt_begin();
  Py_BEGIN_ALLOW_THREADS
  if (status) {
    TF_SessionRun(self->session, run_options, step.feeds, step.values, step.feed_count,
                  step.fetches, step.results, step.fetch_count,
                  (const TF_Operation* const*)step.targets, step.target_count, metadata, status);
  }
  Py_END_ALLOW_THREADS
  leat_py_interrupt_end(watched);
  session_leave(self);
  TF_DeleteBuffer(run_options);
  if (step_status_end(status)) {
    PyObject* list = results_take(step.results, step.fetch_count);
    if (list && metadata) {
      result = Py_BuildValue("(Ny#)", list, metadata->data ? metadata->data : "",
                             (Py_ssize_t)metadata->length);
    } else if (list) {
      result = Py_BuildValue("(NO)", list, Py_None);
    }
  }
  TF_DeleteBuffer(metadata);
  step_free(&step);
  return result;
}

PyDoc_STRVAR(partial_run_setup_doc, "partial_run_setup(feeds, fetches, targets): a handle.");
static PyObject* session_partial_run_setup(PyObject* object, PyObject* args) {
  leat_py_session_t* self = (leat_py_session_t*)object;
  PyObject *feeds, *fetches, *targets;
  if (!PyArg_ParseTuple(args, "OOO", &feeds, &fetches, &targets)) return NULL;
  step_t step = {0};
  const char* handle = NULL;
  if (!step_read(&step, feeds, NULL, fetches, targets) || !session_enter(self)) {
    step_free(&step);
    return NULL;
  }
  TF_Status* status = TF_NewStatus();
  Py_BEGIN_ALLOW_THREADS
  if (status) {
    TF_SessionPRunSetup(self->session, step.feeds, step.feed_count, step.fetches, step.fetch_count,
                        (const TF_Operation* const*)step.targets, step.target_count, &handle,
                        status);
  }
  Py_END_ALLOW_THREADS
  session_leave(self);
  step_free(&step);
  PyObject* text = leat_py_status_end(status) ? PyBytes_FromString(handle) : NULL;
  TF_DeletePRunHandle(handle);
  return text;
}

PyDoc_STRVAR(partial_run_doc,
             "partial_run(handle, feeds, values, fetches, targets): arrays and Values.");
static PyObject* session_partial_run(PyObject* object, PyObject* args) {
  leat_py_session_t* self = (leat_py_session_t*)object;
  PyObject *feeds, *values, *fetches, *targets, *result = NULL;
  const char* handle;
  if (!PyArg_ParseTuple(args, "yOOOO", &handle, &feeds, &values, &fetches, &targets)) return NULL;
  step_t step = {0};
  if (!step_read(&step, feeds, values, fetches, targets) || !session_enter(self)) {
    step_free(&step);
    return NULL;
  }
  TF_Status* status = TF_NewStatus();
  const unsigned long long watched = leat_py_interrupt_begin();
  Py_BEGIN_ALLOW_THREADS
  if (status) {
    TF_SessionPRun(self->session, handle, step.feeds, step.values, step.feed_count, step.fetches,
                   step.results, step.fetch_count, (const TF_Operation* const*)step.targets,
                   step.target_count, status);
  }
  Py_END_ALLOW_THREADS
  leat_py_interrupt_end(watched);
  session_leave(self);
  if (step_status_end(status)) result = results_take(step.results, step.fetch_count);
  step_free(&step);
  return result;
}

PyDoc_STRVAR(list_devices_doc,
             "list_devices_(): (name, type, bytes of memory, incarnation) of each.");
static PyObject* session_list_devices(PyObject* object, PyObject* unused) {
  (void)unused;
  leat_py_session_t* self = (leat_py_session_t*)object;
  if (!session_enter(self)) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_DeviceList* devices = status ? TF_SessionListDevices(self->session, status) : NULL;
  session_leave(self);
  PyObject* list = leat_py_status_end(status) ? PyList_New(0) : NULL;
  int count = list ? TF_DeviceListCount(devices) : 0;
  for (int i = 0; list && i < count; ++i) {
    /* What is asked of an index in range does not fail. */
    status = TF_NewStatus();
    PyObject* item =
        status ? Py_BuildValue("ssLK", TF_DeviceListName(devices, i, status),
                               TF_DeviceListType(devices, i, status),
                               (long long)TF_DeviceListMemoryBytes(devices, i, status),
                               (unsigned long long)TF_DeviceListIncarnation(devices, i, status))
               : PyErr_NoMemory();
    TF_DeleteStatus(status);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  if (devices) TF_DeleteDeviceList(devices);
  return list;
}

/* The names of a sequence of str, each borrowed from its item: an array for PyMem_Free. */
static const char** names_read(PyObject* sequence, int* out_count) {
  Py_ssize_t count = PySequence_Size(sequence);
  const char** names = count < 0 ? NULL : PyMem_Malloc(sizeof(char*) * (size_t)(count + 1));
  if (!names) return count < 0 ? NULL : (const char**)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    names[i] = item ? PyUnicode_AsUTF8AndSize(item, NULL) : NULL;
    Py_XDECREF(item); /* the sequence has it */
    if (!names[i]) {
      PyMem_Free(names);
      return NULL;
    }
  }
  *out_count = (int)count;
  return names;
}

PyObject* leat_py_session_reset(PyObject* module, PyObject* args) {
  (void)module;
  const char *target, *config = NULL;
  PyObject* containers;
  Py_ssize_t config_size = 0;
  int count = 0;
  if (!PyArg_ParseTuple(args, "sO!z#", &target, &PyTuple_Type, &containers, &config,
                        &config_size)) {
    return NULL;
  }
  const char** names = names_read(containers, &count);
  if (!names) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (status && options) {
    TF_SetTarget(options, target);
    if (config) TF_SetConfig(options, config, (size_t)config_size, status);
    if (TF_GetCode(status) == TF_OK) {
      Py_BEGIN_ALLOW_THREADS
      TF_Reset(options, names, count, status);
      Py_END_ALLOW_THREADS
    }
  }
  TF_DeleteSessionOptions(options);
  PyMem_Free(names);
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef session_methods[] = {
    {"list_devices_", session_list_devices, METH_NOARGS, list_devices_doc},
    {"close_", session_close, METH_NOARGS, "close_(): cancels what runs and frees the state."},
    {"run_", session_run, METH_VARARGS, run_doc},
    {"partial_run_setup_", session_partial_run_setup, METH_VARARGS, partial_run_setup_doc},
    {"partial_run_", session_partial_run, METH_VARARGS, partial_run_doc},
    {0}};
static PyObject* session_runs(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(((leat_py_session_t*)self)->runs);
}
static PyGetSetDef session_members[] = {
    {"runs_", session_runs, NULL, "How many calls are under way.", NULL}, {0}};
static PyType_Slot session_slots[] = {{Py_tp_doc, "A graph being run."},
                                      {Py_tp_new, session_new},
                                      {Py_tp_dealloc, session_dealloc},
                                      {Py_tp_methods, session_methods},
                                      {Py_tp_getset, session_members},
                                      {0, NULL}};
static PyType_Spec session_spec = {"leat._leat.Session", sizeof(leat_py_session_t), 0,
                                   Py_TPFLAGS_DEFAULT, session_slots};

/* ---- Callable --------------------------------------------------------------------------------*/
/* A signature that was resolved once. It holds its Session, which therefore lives longer. */
typedef struct callable_t {
  PyObject_HEAD
  leat_callable_t* callable;
  PyObject* session;
  int feed_count, fetch_count;
} callable_t;

static PyObject* callable_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject *session, *feeds, *fetches, *targets;
  if (!PyArg_ParseTuple(args, "O!OOO", leat_py_types.session, &session, &feeds, &fetches,
                        &targets)) {
    return NULL;
  }
  step_t step = {0};
  callable_t* self = NULL;
  if (step_read(&step, feeds, NULL, fetches, targets) &&
      session_enter((leat_py_session_t*)session)) {
    self = (callable_t*)PyType_GenericAlloc(type, 0);
    TF_Status* status = TF_NewStatus();
    if (self && status) {
      self->session = Py_NewRef(session);
      self->feed_count = step.feed_count;
      self->fetch_count = step.fetch_count;
      TF_Session* of_session = ((leat_py_session_t*)session)->session;
      Py_BEGIN_ALLOW_THREADS
      self->callable = leat_callable_create(of_session, step.feeds, step.feed_count, step.fetches,
                                            step.fetch_count,
                                            (const TF_Operation* const*)step.targets,
                                            step.target_count, status);
      Py_END_ALLOW_THREADS
    }
    session_leave((leat_py_session_t*)session);
    if (!leat_py_status_end(status)) Py_CLEAR(self);
  }
  step_free(&step);
  return (PyObject*)self;
}

static void callable_dealloc(PyObject* object) {
  callable_t* self = (callable_t*)object;
  PyTypeObject* type = Py_TYPE(object);
  leat_callable_free(self->callable);
  Py_XDECREF(self->session);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject* callable_run(PyObject* object, PyObject* list) {
  callable_t* self = (callable_t*)object;
  leat_py_session_t* session = (leat_py_session_t*)self->session;
  TF_Tensor** values = values_read(list, self->feed_count);
  TF_Tensor** results = PyMem_Calloc((size_t)self->fetch_count + 1, sizeof *results);
  PyObject* result = NULL;
  if (values && results && session_enter(session)) {
    TF_Status* status = TF_NewStatus();
    const unsigned long long watched = leat_py_interrupt_begin();
    Py_BEGIN_ALLOW_THREADS
    if (status) leat_callable_run_tensors(self->callable, values, results, status);
    Py_END_ALLOW_THREADS
    leat_py_interrupt_end(watched);
    session_leave(session);
    if (step_status_end(status)) result = results_take(results, self->fetch_count);
  }
  PyMem_Free(values);
  PyMem_Free(results);
  return result;
}

static PyMethodDef callable_methods[] = {
    {"run", callable_run, METH_O, "run(values): arrays and Values."}, {0}};
static PyType_Slot callable_slots[] = {{Py_tp_doc, "A signature of a session, resolved once."},
                                       {Py_tp_new, callable_new},
                                       {Py_tp_dealloc, callable_dealloc},
                                       {Py_tp_methods, callable_methods},
                                       {0, NULL}};
static PyType_Spec callable_spec = {"leat._leat.Callable", sizeof(callable_t), 0,
                                    Py_TPFLAGS_DEFAULT, callable_slots};

int leat_py_session_register(PyObject* module) {
  leat_py_types.session = (PyTypeObject*)PyType_FromModuleAndSpec(module, &session_spec, NULL);
  PyObject* callable = PyType_FromModuleAndSpec(module, &callable_spec, NULL);
  if (!leat_py_types.session || !callable) return -1;
  if (PyModule_AddObjectRef(module, "Callable", callable)) return -1;
  return PyModule_AddObjectRef(module, "Session", (PyObject*)leat_py_types.session);
}
