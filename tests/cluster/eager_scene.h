// An eager context of this process that is the task "client" of a cluster with the two servers of
// the scene, "worker" and "ps", for tests of ops and functions on other tasks through the C API.
#ifndef LEAT_TESTS_CLUSTER_EAGER_SCENE_H_
#define LEAT_TESTS_CLUSTER_EAGER_SCENE_H_

#include <stdlib.h>
#include <string.h>

#include "capi/eager_kit.h"
#include "cluster/cluster_scene.h"
#include "tensorflow/c/c_api_experimental.h"

#define CLIENT_CPU "/job:client/replica:0/task:0/device:CPU:0"

typedef struct eager_scene_s {
  cluster_scene_t* cluster;
  TFE_Context* context;
  TF_Status* s;
  int port;  // of the context's own server
} eager_scene_t;

// The ServerDef of the client in a cluster with the worker and, unless |has_ps| is false, the ps.
static inline TF_Buffer* eager_scene_describe(eager_scene_t* scene, bool has_ps) {
  char text[512], ps[128] = "";
  snprintf(ps, sizeof ps, "job { name: 'ps' tasks { key: 0 value: '%s' } }",
           scene->cluster->addresses[CLUSTER_PS]);
  snprintf(text, sizeof text,
           "cluster { job { name: 'client' tasks { key: 0 value: '127.0.0.1:%d' } } "
           "job { name: 'worker' tasks { key: 0 value: '%s' } } %s } "
           "job_name: 'client' task_index: 0 protocol: 'grpc' default_session_config { "
           "experimental { coordination_config { heartbeat_timeout_in_ms: 1000 } } }",
           scene->port, scene->cluster->addresses[CLUSTER_WORKER], has_ps ? ps : "");
  TF_Buffer* buffer = TFE_GetServerDef(text, scene->s);
  kit_ok(scene->s);
  return buffer;
}

static inline void eager_scene_join(eager_scene_t* scene, int keep_alive_secs) {
  TF_Buffer* def = eager_scene_describe(scene, true);
  TFE_ContextSetServerDefWithTimeout(scene->context, keep_alive_secs, def->data, def->length,
                                     60000, scene->s, false);
  kit_ok(scene->s);
  TF_DeleteBuffer(def);
}

static inline int eager_scene_open(void** state, const cluster_options_t* options) {
  eager_scene_t* scene = calloc(1, sizeof *scene);
  void* cluster = NULL;
  cluster_scene_set_up_with(&cluster, options);
  scene->cluster = cluster;
  scene->s = TF_NewStatus();
  scene->port = rpc_scene_free_port();
  scene->context = eager_open();
  *state = scene;
  return 0;
}

static inline int eager_scene_set_up(void** state) {
  return eager_scene_open(state, &(cluster_options_t){0});
}

static inline int eager_scene_tear_down(void** state) {
  eager_scene_t* scene = *state;
  void* cluster = scene->cluster;
  TFE_DeleteContext(scene->context);
  cluster_scene_tear_down(&cluster);
  TF_DeleteStatus(scene->s);
  free(scene);
  return 0;
}

// An op that the client wants on |device|.
static inline TFE_Op* eager_scene_op(eager_scene_t* scene, const char* device, const char* name,
                                     TFE_TensorHandle* a, TFE_TensorHandle* b) {
  TFE_Op* op = eager_op(scene->context, name, a, b);
  TFE_OpSetDevice(op, device, scene->s);
  kit_ok(scene->s);
  return op;
}

static inline void eager_scene_expect_device(eager_scene_t* scene, TFE_TensorHandle* handle,
                                             const char* device) {
  assert_string_equal(TFE_TensorHandleDeviceName(handle, scene->s), device);
  kit_ok(scene->s);
}

// A variable of the task, by its name.
static inline TFE_TensorHandle* eager_scene_variable(eager_scene_t* scene, const char* device,
                                                     const char* name) {
  TFE_Op* op = eager_scene_op(scene, device, "VarHandleOp", NULL, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, scene->s);
  TFE_OpSetAttrString(op, "shared_name", name, strlen(name));
  kit_ok(scene->s);
  return eager_result(op);
}

// Executes and deletes an op without outputs.
static inline void eager_scene_run(TFE_Op* op) {
  TF_Status* s = TF_NewStatus();
  int count = 0;
  TFE_Execute(op, NULL, &count, s);
  kit_ok(s);
  TFE_DeleteOp(op);
  TF_DeleteStatus(s);
}

#endif  // LEAT_TESTS_CLUSTER_EAGER_SCENE_H_
