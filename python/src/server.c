/* Server: a task of a cluster in this process (tensorflow/c/c_api_server.h), and resolve_cluster:
 * which cluster that is (leat/cluster.h). The GIL is given up
 * while a call waits: for the port, or for the server's end. Without that, a program whose main
 * thread joins its server could not run the Python of any other thread. The package makes the
 * ServerDef that a server is created from; here it is bytes. Deleting the object stops the
 * server. */
#include "module.h"

static PyObject* server_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"server_def", NULL};
  const char* bytes;
  Py_ssize_t size;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y#", names, &bytes, &size)) return NULL;
  leat_py_server_t* self = (leat_py_server_t*)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  TF_Status* status = TF_NewStatus();
  if (status) self->server = TF_NewServer(bytes, (size_t)size, status);
  if (!leat_py_status_end(status)) Py_CLEAR(self);
  return (PyObject*)self;
}

/* Deleting a server stops it, and waits for the calls that it answers. */
static void server_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  TF_Server* server = ((leat_py_server_t*)object)->server;
  Py_BEGIN_ALLOW_THREADS
  TF_DeleteServer(server);
  Py_END_ALLOW_THREADS
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/* Calls |function| without the GIL. The object is held by the caller meanwhile. */
static PyObject* call(PyObject* object, void (*function)(TF_Server*, TF_Status*)) {
  TF_Server* server = ((leat_py_server_t*)object)->server;
  TF_Status* status = TF_NewStatus();
  Py_BEGIN_ALLOW_THREADS
  if (status) function(server, status);
  Py_END_ALLOW_THREADS
  if (!leat_py_status_end(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* server_start(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, TF_ServerStart);
}

static PyObject* server_stop(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, TF_ServerStop);
}

static PyObject* server_join(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, TF_ServerJoin);
}

static PyObject* server_target(PyObject* self, void* unused) {
  (void)unused;
  return PyUnicode_FromString(TF_ServerTarget(((leat_py_server_t*)self)->server));
}

/* Other processes may be waited for, so the GIL is given up. */
static PyObject* resolve_cluster(PyObject* module, PyObject* args) {
  const char* source;
  char job[256];
  int task = 0;
  (void)module;
  if (!PyArg_ParseTuple(args, "s", &source)) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* cluster = NULL;
  Py_BEGIN_ALLOW_THREADS
  if (status) cluster = leat_cluster_resolve(source, job, sizeof job, &task, status);
  Py_END_ALLOW_THREADS
  PyObject* result = NULL;
  if (leat_py_status_end(status)) {
    result = Py_BuildValue("y#si", cluster->data ? (const char*)cluster->data : "",
                           (Py_ssize_t)cluster->length, job, task);
  }
  TF_DeleteBuffer(cluster);
  return result;
}

static PyMethodDef functions[] = {
    {"resolve_cluster", resolve_cluster, METH_VARARGS,
     "resolve_cluster(source) -> (ClusterDef, job, task). StatusError."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef methods[] = {
    {"start", server_start, METH_NOARGS, "Listens. StatusError where the port is taken."},
    {"stop", server_stop, METH_NOARGS, "Ends it for good."},
    {"join", server_join, METH_NOARGS, "Waits for its end."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {{"target", server_target, NULL, "grpc://host:port", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {{Py_tp_new, server_new},
                              {Py_tp_dealloc, server_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {0, NULL}};
static PyType_Spec spec = {"leat._leat.Server", sizeof(leat_py_server_t), 0, Py_TPFLAGS_DEFAULT,
                           slots};

int leat_py_server_register(PyObject* module) {
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) return -1;
  if (PyModule_AddFunctions(module, functions)) {
    Py_DECREF(type);
    return -1;
  }
  const int result = PyModule_AddObjectRef(module, "Server", type);
  Py_DECREF(type);
  return result;
}
