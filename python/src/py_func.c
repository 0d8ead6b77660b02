/* PyFunc, PyFuncStateless and EagerPyFunc: ops whose kernel calls a function of Python. They are
 * registered as a plugin registers its own, so that the library knows nothing of Python, and when
 * they are first needed, which keeps the import of the package short.
 *
 *   PyFunc(input: Tin, token: string) -> output: Tout
 *
 * The attribute token says which function. What it is the token of, how arrays become results of
 * the types Tout and what an exception means is Python's to say: the kernel gives token, inputs and
 * types to one callable, the caller that the package has set, and gets Values, or the code and the
 * message of an error.
 *
 * When the interpreter ends nobody can have the GIL any more. A thread that waits for it then would
 * wait for ever, and so would whoever waits for that thread. Threads of the library therefore enter
 * Python through leat_py_enter, which refuses after the interpreter's atexit functions have run.
 * The last of them waits until the threads that were let in before have the GIL. A function that
 * sleeps then, or waits for something, is left alone: by leat_py_function_is_stuck a session knows
 * that it must not wait for the function's step. */
#include <pthread.h>
#include <stdlib.h>

#include "module.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

/* ---- The GIL on other threads than Python's --------------------------------------------------*/
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t entered = PTHREAD_COND_INITIALIZER;
static int waiting; /* threads that wait for the GIL */
static int running; /* functions that have begun and not ended */
static int ended;   /* no thread may wait for the GIL any more */

int leat_py_enter(PyGILState_STATE* out_state) {
  pthread_mutex_lock(&lock);
  const int refused = ended;
  waiting += !refused;
  pthread_mutex_unlock(&lock);
  if (refused) return 0;
  *out_state = PyGILState_Ensure();
  pthread_mutex_lock(&lock);
  waiting -= 1;
  pthread_cond_broadcast(&entered);
  pthread_mutex_unlock(&lock);
  return 1;
}

static PyObject* end_entering(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  leat_py_sessions_end();
  Py_BEGIN_ALLOW_THREADS
  pthread_mutex_lock(&lock);
  ended = 1;
  while (waiting) pthread_cond_wait(&entered, &lock);
  pthread_mutex_unlock(&lock);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

int leat_py_function_is_stuck(void) {
  pthread_mutex_lock(&lock);
  const int stuck = ended && running > 0;
  pthread_mutex_unlock(&lock);
  return stuck;
}

int leat_py_functions_running(void) {
  pthread_mutex_lock(&lock);
  const int count = running;
  pthread_mutex_unlock(&lock);
  return count;
}

/* ---- The call ---------------------------------------------------------------------------------*/
/* A kernel that runs, or is about to. Once its function is given up, the step has ended for it:
 * nothing of the step may be touched any more. */
typedef struct call_t {
  struct call_t* next; /* of those that wait for a thread, or of those that run */
  const char* token;
  TF_OpKernelContext* context;
  TF_AsyncOpKernelDoneCallback* done;
  int is_in_function, is_given_up;
} call_t;

static call_t* under_way; /* calls that threads run */

static void function_begin(call_t* call) {
  pthread_mutex_lock(&lock);
  call->is_in_function = 1;
  pthread_mutex_unlock(&lock);
}

/* Whether the call is not given up. */
static int function_end(call_t* call) {
  pthread_mutex_lock(&lock);
  call->is_in_function = 0;
  const int goes_on = !call->is_given_up;
  pthread_mutex_unlock(&lock);
  return goes_on;
}

/* Takes one call that is in a function out of its step; 0 where there is none. */
static int call_give_up(call_t* out_call) {
  pthread_mutex_lock(&lock);
  call_t* call = under_way;
  while (call && (!call->is_in_function || call->is_given_up)) call = call->next;
  if (call) {
    call->is_given_up = 1;
    running -= 1;
    *out_call = *call;
  }
  pthread_mutex_unlock(&lock);
  return call != NULL;
}

void leat_py_functions_give_up(void) {
  TF_Status* status = TF_NewStatus();
  if (!status) return;
  TF_SetStatus(status, TF_CANCELLED, "a function of Python was given up");
  for (call_t call; call_give_up(&call);) {
    TF_OpKernelContext_Failure(call.context, status);
    TF_RunAsyncOpKernelDoneCallback(call.done);
  }
  TF_DeleteStatus(status);
}

static PyObject* caller; /* caller(token, inputs, types of the outputs); set with the ops */

/* Values of the inputs, whose elements a function may write. */
static PyObject* inputs_list(TF_OpKernelContext* context, TF_Status* status) {
  const int count = TF_NumInputs(context);
  PyObject* list = PyList_New(count);
  for (int i = 0; list && i < count; ++i) {
    TF_Tensor* tensor = NULL;
    TF_GetInput(context, i, &tensor, status);
    PyObject* item = tensor ? leat_py_value_wrap_fetched(tensor) : NULL;
    if (item) PyList_SetItem(list, i, item);
    else Py_CLEAR(list);
  }
  return list;
}

static PyObject* types_list(TF_OpKernelContext* context) {
  const int count = TF_NumOutputs(context);
  PyObject* list = PyList_New(count);
  for (int i = 0; list && i < count; ++i) {
    PyObject* item = PyLong_FromLong(TF_ExpectedOutputDataType(context, i));
    if (item) PyList_SetItem(list, i, item);
    else Py_CLEAR(list);
  }
  return list;
}

/* |result| is a list of Values, one for each output, or a tuple (code, message). */
static void result_read(PyObject* result, TF_OpKernelContext* context, TF_Status* status) {
  int code;
  const char* message;
  if (PyTuple_Check(result)) {
    if (PyArg_ParseTuple(result, "iy", &code, &message)) TF_SetStatus(status, code, message);
    return;
  }
  for (int i = 0; i < TF_NumOutputs(context) && TF_GetCode(status) == TF_OK; ++i) {
    PyObject* item = PySequence_GetItem(result, i);
    if (item && PyObject_TypeCheck(item, leat_py_types.value)) {
      TF_SetOutput(context, i, ((leat_py_value_t*)item)->tensor, status);
    }
    Py_XDECREF(item); /* what is no Value leaves the output without one, which fails the step */
  }
}

/* Needs the GIL. */
static void call_function(call_t* call, TF_Status* status) {
  PyObject* inputs = inputs_list(call->context, status);
  PyObject* types = inputs ? types_list(call->context) : NULL;
  PyObject* result = NULL;
  int goes_on = 1;
  if (types) {
    function_begin(call);
    result = PyObject_CallFunction(caller, "sOO", call->token, inputs, types);
    goes_on = function_end(call);
  }
  Py_XDECREF(types);
  Py_XDECREF(inputs);
  if (result && goes_on) result_read(result, call->context, status);
  Py_XDECREF(result);
  if (PyErr_Occurred()) {
    PyErr_WriteUnraisable(caller);
    if (TF_GetCode(status) == TF_OK) TF_SetStatus(status, TF_INTERNAL, "calling Python failed");
  }
}

/* ---- The kernel -------------------------------------------------------------------------------*/
static void* kernel_create(TF_OpKernelConstruction* construction) {
  TF_Status* status = TF_NewStatus();
  if (!status) return NULL;
  int32_t list_size, size;
  char* token = NULL;
  TF_OpKernelConstruction_GetAttrSize(construction, "token", &list_size, &size, status);
  if (TF_GetCode(status) == TF_OK) {
    token = calloc((size_t)size + 1, 1);
    if (token) {
      TF_OpKernelConstruction_GetAttrString(construction, "token", token, (size_t)size, status);
    } else {
      TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the token of a function");
    }
  }
  if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
  TF_DeleteStatus(status);
  return token;
}

static void compute(call_t* call) {
  TF_Status* status = TF_NewStatus();
  if (!status) return; /* the outputs are missing, which fails the step */
  PyGILState_STATE state;
  if (leat_py_enter(&state)) {
    call_function(call, status);
    PyGILState_Release(state);
  } else {
    TF_SetStatus(status, TF_CANCELLED, "the interpreter has ended");
  }
  if (!call->is_given_up && TF_GetCode(status) != TF_OK) {
    TF_OpKernelContext_Failure(call->context, status);
  }
  TF_DeleteStatus(status);
}

/* ---- Threads ----------------------------------------------------------------------------------*/
/* A function may wait for another one, which may be in the same step. Each therefore runs on a
 * thread that runs nothing else meanwhile, and not on one of the library's few. Threads wait for
 * the next call; a new one is made when none does. */
#define MOST_IDLE 8

static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static call_t* calls;  /* that no thread has taken yet; in any order */
static int call_count; /* how many these are */
static int idle;       /* threads that wait for a call */

/* Takes |taken|. */
static void call_run(call_t* taken) {
  pthread_mutex_lock(&lock);
  taken->next = under_way;
  under_way = taken;
  running += 1;
  pthread_mutex_unlock(&lock);
  compute(taken);
  pthread_mutex_lock(&lock);
  call_t** place = &under_way;
  while (*place && *place != taken) place = &(*place)->next;
  if (*place) *place = taken->next; /* a function that forks returns in the child too */
  running -= !taken->is_given_up;
  pthread_mutex_unlock(&lock);
  if (!taken->is_given_up) TF_RunAsyncOpKernelDoneCallback(taken->done);
  free(taken);
}

static void* thread_run(void* first) {
  for (call_t* next = first; next;) {
    call_run(next);
    pthread_mutex_lock(&lock);
    next = NULL;
    if (idle < MOST_IDLE) {
      idle += 1;
      while (!calls) pthread_cond_wait(&called, &lock);
      idle -= 1;
      next = calls;
      calls = next->next;
      call_count -= 1;
    }
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

/* Leaves the call to an idle thread that no other call is meant for; 0 where there is none. */
static int call_leave(call_t* left) {
  pthread_mutex_lock(&lock);
  const int is_left = idle > call_count;
  if (is_left) {
    left->next = calls;
    calls = left;
    call_count += 1;
    pthread_cond_signal(&called);
  }
  pthread_mutex_unlock(&lock);
  return is_left;
}

/* A process that was forked has none of these threads, and its calls are its parent's. */
static void fork_begin(void) { pthread_mutex_lock(&lock); }
static void fork_end(void) { pthread_mutex_unlock(&lock); }
static void fork_end_in_child(void) {
  calls = under_way = NULL;
  waiting = running = call_count = idle = 0;
  pthread_cond_init(&entered, NULL);
  pthread_cond_init(&called, NULL);
  pthread_mutex_init(&lock, NULL);
}

static void kernel_compute(void* token, TF_OpKernelContext* context,
                           TF_AsyncOpKernelDoneCallback* done) {
  pthread_t thread;
  call_t* made = calloc(1, sizeof *made);
  if (!made) { /* the outputs are missing, which fails the step */
    TF_RunAsyncOpKernelDoneCallback(done);
    return;
  }
  *made = (call_t){.token = token, .context = context, .done = done};
  if (call_leave(made)) return;
  if (pthread_create(&thread, NULL, thread_run, made) == 0) pthread_detach(thread);
  else call_run(made);
}

/* ---- Registration -----------------------------------------------------------------------------*/
static const struct {
  const char* name;
  int is_stateful;
  const char* attribute; /* besides token, Tin and Tout */
} kOps[] = {{"PyFunc", 1, NULL},
            {"PyFuncStateless", 0, NULL},
            {"EagerPyFunc", 1, "is_async: bool = false"}};

static void op_register(size_t i, TF_Status* status) {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(kOps[i].name);
  TF_OpDefinitionBuilderAddInput(op, "input: Tin");
  TF_OpDefinitionBuilderAddOutput(op, "output: Tout");
  TF_OpDefinitionBuilderAddAttr(op, "token: string");
  if (kOps[i].attribute) TF_OpDefinitionBuilderAddAttr(op, kOps[i].attribute);
  TF_OpDefinitionBuilderAddAttr(op, "Tin: list(type) >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "Tout: list(type) >= 0");
  TF_OpDefinitionBuilderSetIsStateful(op, kOps[i].is_stateful);
  TF_RegisterOpDefinition(op, status);
  if (TF_GetCode(status) != TF_OK) return;
  TF_KernelBuilder* kernel =
      TF_NewAsyncKernelBuilder(kOps[i].name, "CPU", kernel_create, kernel_compute, free);
  TF_RegisterKernelBuilder(kOps[i].name, kernel, status);
}

PyDoc_STRVAR(register_py_func_doc,
             "register_py_func(caller): registers the ops, once. Their kernel calls caller(token,\n"
             "inputs as Values, DataTypes of the outputs), which returns a list of Values, or the\n"
             "(code, message as bytes) of an error.");
static PyObject* register_py_func(PyObject* module, PyObject* callable) {
  (void)module;
  if (caller) Py_RETURN_NONE;
  caller = Py_NewRef(callable);
  pthread_atfork(fork_begin, fork_end, fork_end_in_child);
  for (size_t i = 0; i < sizeof kOps / sizeof *kOps; ++i) {
    TF_Status* status = TF_NewStatus();
    if (status) op_register(i, status);
    if (!leat_py_status_end(status)) return NULL;
  }
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"register_py_func", register_py_func, METH_O, register_py_func_doc},
    {"_end_entering", end_entering, METH_NOARGS, "Called when the interpreter ends."},
    {0}};

int leat_py_py_func_register(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) return -1;
  /* The function that was registered first runs last. */
  PyObject* atexit = PyImport_ImportModule("atexit");
  PyObject* last = PyObject_GetAttrString(module, "_end_entering");
  PyObject* registered = atexit && last ? PyObject_CallMethod(atexit, "register", "O", last) : NULL;
  Py_XDECREF(registered);
  Py_XDECREF(last);
  Py_XDECREF(atexit);
  return registered ? 0 : -1;
}
