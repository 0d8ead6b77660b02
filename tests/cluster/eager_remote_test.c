// Eager ops on other tasks, through the C API: a context of this process is the task "client" of a
// cluster with the two servers of the scene, "worker" and "ps". Values tell where an op ran only
// through the names of devices, so these are looked at too.
#include "base/clock.h"
#include "base/thread.h"
#include "cluster/eager_context.h"
#include "cluster/eager_scene.h"

static int set_up_process(void** state) {
  return eager_scene_open(state, &(cluster_options_t){.ps_is_a_process = true});
}

// The servers do not beat by themselves.
static int set_up_by_hand(void** state) {
  return eager_scene_open(state, &(cluster_options_t){.heartbeat_timeout_ms = 2 * 3600 * 1000});
}

// The first context of a task, or the one with the number |id|, unless that is 0.
static leat_eager_context_t* context_of(eager_scene_t* scene, int task, uint64_t id) {
  leat_task_t* own = cluster_task(scene->cluster, task);
  leat_mutex_lock(&own->mutex);
  leat_eager_context_t* context = own->eager_contexts;
  while (id && context && context->id != id) context = context->next;
  leat_mutex_unlock(&own->mutex);
  return context;
}

// Waits until the task keeps the outputs of |count| ops for the client.
static void wait_for_outputs(eager_scene_t* scene, int task, size_t count) {
  leat_eager_context_t* context = context_of(scene, task, 0);
  const int64_t begin_ns = leat_clock_now_ns();
  for (bool is_reached = false; !is_reached;) {
    leat_mutex_lock(&context->mutex);
    is_reached = context->outputs.count == count;
    leat_mutex_unlock(&context->mutex);
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(1000000);
  }
}

static void wait_for_contexts(eager_scene_t* scene, int task, size_t count) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (leat_eager_contexts_count(cluster_task(scene->cluster, task)) != count) {
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(1000000);
  }
}

// ---- Ops and tensors ----------------------------------------------------------------------------

static void test_devices(void** state) {
  eager_scene_t* scene = *state;
  static const char* const kNames[] = {CLIENT_CPU, CLUSTER_PS_CPU, CLUSTER_WORKER_CPU};
  eager_scene_join(scene, 60);
  TF_DeviceList* list = TFE_ContextListDevices(scene->context, scene->s);
  kit_ok(scene->s);
  assert_int_equal(TF_DeviceListCount(list), 3);
  for (int i = 0; i < 3; ++i) {
    assert_string_equal(TF_DeviceListName(list, i, scene->s), kNames[i]);
    assert_string_equal(TF_DeviceListType(list, i, scene->s), "CPU");
  }
  assert_int_equal(TF_DeviceListIncarnation(list, 1, scene->s),
                   cluster_incarnation(scene->cluster, CLUSTER_PS));
  TF_DeleteDeviceList(list);
  TFE_Op* op = eager_op(scene->context, "Neg", NULL, NULL);
  TFE_OpSetDevice(op, "/job:ps/task:3/cpu:0", scene->s);
  kit_expect_text(scene->s, TF_INVALID_ARGUMENT, "/job:ps/task:3/cpu:0 unknown device");
  TFE_OpSetDevice(op, "/job:ps/cpu:0", scene->s);
  assert_string_equal(TFE_OpGetDevice(op, scene->s), CLUSTER_PS_CPU);
  TFE_OpSetDevice(op, "/job:localhost/replica:0/task:0/device:CPU:0", scene->s);
  assert_string_equal(TFE_OpGetDevice(op, scene->s), CLIENT_CPU);
  TFE_DeleteOp(op);
}

// x on the client, y = -x on the ps, z = y + y on the worker, w = z + x on the client.
static void test_ops(void** state) {
  eager_scene_t* scene = *state;
  eager_scene_join(scene, 60);
  const float values[] = {1, -2, 3};
  TFE_TensorHandle* x = eager_handle(kit_floats(3, values));
  TFE_TensorHandle* y = eager_result(eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x, NULL));
  eager_scene_expect_device(scene, y, CLUSTER_PS_CPU);
  assert_int_equal(TFE_TensorHandleDataType(y), TF_FLOAT);
  assert_int_equal(TFE_TensorHandleNumDims(y, scene->s), 1);
  assert_int_equal(TFE_TensorHandleDim(y, 0, scene->s), 3);
  assert_null(TFE_TensorHandleDevicePointer(y, scene->s));
  kit_expect(scene->s, TF_INVALID_ARGUMENT);
  TFE_TensorHandle* z = eager_result(eager_scene_op(scene, CLUSTER_WORKER_CPU, "AddV2", y, y));
  eager_scene_expect_device(scene, z, CLUSTER_WORKER_CPU);
  TFE_TensorHandle* w = eager_result(eager_op(scene->context, "AddV2", z, x));
  eager_scene_expect_device(scene, w, CLIENT_CPU);
  TF_Tensor* tensor = TFE_TensorHandleResolve(w, scene->s);
  kit_ok(scene->s);
  for (int i = 0; i < 3; ++i) assert_true(((float*)TF_TensorData(tensor))[i] == -values[i]);
  TF_DeleteTensor(tensor);
  wait_for_outputs(scene, CLUSTER_PS, 1);
  TFE_DeleteTensorHandle(w);
  TFE_DeleteTensorHandle(z);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(x);
  wait_for_outputs(scene, CLUSTER_PS, 0);
  wait_for_outputs(scene, CLUSTER_WORKER, 0);
}

static void test_copies(void** state) {
  eager_scene_t* scene = *state;
  eager_scene_join(scene, 60);
  TFE_TensorHandle* x = eager_handle(kit_string("a text"));
  TFE_TensorHandle* y = TFE_TensorHandleCopyToDevice(x, scene->context, CLUSTER_PS_CPU, scene->s);
  kit_ok(scene->s);
  eager_scene_expect_device(scene, y, CLUSTER_PS_CPU);
  TFE_TensorHandle* z =
      TFE_TensorHandleCopyToDevice(y, scene->context, CLUSTER_WORKER_CPU, scene->s);
  kit_ok(scene->s);
  eager_scene_expect_device(scene, z, CLUSTER_WORKER_CPU);
  TFE_TensorHandle* same = TFE_TensorHandleCopySharingTensor(z, scene->s);
  TFE_DeleteTensorHandle(z);
  TFE_TensorHandle* here = TFE_TensorHandleCopyToDevice(same, scene->context, "CPU:0", scene->s);
  kit_ok(scene->s);
  eager_scene_expect_device(scene, here, CLIENT_CPU);
  TF_Tensor* tensor = TFE_TensorHandleResolve(here, scene->s);
  const TF_TString* text = TF_TensorData(tensor);
  assert_int_equal(TF_StringGetSize(text), 6);
  assert_memory_equal(TF_StringGetDataPointer(text), "a text", 6);
  TF_DeleteTensor(tensor);
  assert_null(TFE_TensorHandleCopyToDevice(x, scene->context, "/job:other/cpu:0", scene->s));
  kit_expect(scene->s, TF_INVALID_ARGUMENT);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(same);
  TFE_DeleteTensorHandle(here);
}

// ---- State --------------------------------------------------------------------------------------

static float read_variable(eager_scene_t* scene, TFE_TensorHandle* variable) {
  TFE_Op* op = eager_op(scene->context, "ReadVariableOp", variable, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  return eager_float(eager_result(op));
}

// Ops on a resource run where it is, whatever the client asks for.
static void test_variables(void** state) {
  eager_scene_t* scene = *state;
  eager_scene_join(scene, 60);
  TFE_TensorHandle* there = eager_scene_variable(scene, CLUSTER_PS_CPU, "v");
  TFE_TensorHandle* here = eager_scene_variable(scene, "", "v");
  eager_scene_expect_device(scene, there, CLUSTER_PS_CPU);
  TFE_TensorHandle* two = eager_handle(kit_float(2));
  TFE_TensorHandle* three = eager_handle(kit_float(3));
  eager_scene_run(eager_op(scene->context, "AssignVariableOp", there, two));
  eager_scene_run(eager_scene_op(scene, CLUSTER_PS_CPU, "AssignVariableOp", here, three));
  eager_scene_run(eager_scene_op(scene, CLUSTER_WORKER_CPU, "AssignAddVariableOp", there, two));
  assert_true(read_variable(scene, there) == 4);
  assert_true(read_variable(scene, here) == 3);
  TFE_TensorHandle* again = eager_scene_variable(scene, CLUSTER_PS_CPU, "v");
  assert_true(read_variable(scene, again) == 4);
  TFE_TensorHandle* other = eager_scene_variable(scene, CLUSTER_PS_CPU, "other");
  TFE_Op* op = eager_op(scene->context, "ReadVariableOp", other, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  eager_expect(op, TF_FAILED_PRECONDITION);
  TFE_TensorHandle* const handles[] = {there, here, two, three, again, other};
  for (size_t i = 0; i < sizeof handles / sizeof handles[0]; ++i) {
    TFE_DeleteTensorHandle(handles[i]);
  }
}

static TFE_TensorHandle* nameless_queue(eager_scene_t* scene) {
  const TF_DataType type = TF_FLOAT;
  TFE_Op* op = eager_scene_op(scene, CLUSTER_PS_CPU, "FIFOQueueV2", NULL, NULL);
  TFE_OpSetAttrTypeList(op, "component_types", &type, 1);
  return eager_result(op);
}

static TFE_Op* enqueue_op(eager_scene_t* scene, TFE_TensorHandle* queue, TFE_TensorHandle* x) {
  TFE_Op* op = eager_op(scene->context, "QueueEnqueueV2", queue, NULL);
  TFE_OpAddInputList(op, &x, 1, scene->s);
  kit_ok(scene->s);
  return op;
}

static TFE_Op* dequeue_op(eager_scene_t* scene, TFE_TensorHandle* queue) {
  const TF_DataType type = TF_FLOAT;
  TFE_Op* op = eager_op(scene->context, "QueueDequeueV2", queue, NULL);
  TFE_OpSetAttrTypeList(op, "component_types", &type, 1);
  return op;
}

// A queue without a shared name is another one for each op, and ends with the context.
static void test_queues(void** state) {
  eager_scene_t* scene = *state;
  eager_scene_join(scene, 60);
  TFE_TensorHandle *first = nameless_queue(scene), *second = nameless_queue(scene);
  TFE_TensorHandle* x = eager_handle(kit_float(7));
  eager_scene_run(enqueue_op(scene, first, x));
  assert_true(eager_float(eager_result(dequeue_op(scene, first))) == 7);
  TFE_TensorHandle* size = eager_result(eager_op(scene->context, "QueueSizeV2", second, NULL));
  assert_int_equal(eager_int32(size), 0);
  TFE_DeleteTensorHandle(first);
  TFE_DeleteTensorHandle(second);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(scene->context);
  wait_for_contexts(scene, CLUSTER_PS, 0);
  scene->context = eager_open();
}

// A queue without a name is each client's own, though the task's containers hold those of all, and
// ends with its context. A variable with a name is all clients', and stays.
static void test_two_clients(void** state) {
  eager_scene_t *scene = *state, other = *scene;
  other.port = rpc_scene_free_port();
  other.context = eager_open();
  eager_scene_join(scene, 60);
  eager_scene_join(&other, 60);
  TFE_TensorHandle *mine = nameless_queue(scene), *theirs = nameless_queue(&other);
  TFE_TensorHandle* named = eager_scene_variable(&other, CLUSTER_PS_CPU, "shared");
  TFE_TensorHandle* three = eager_handle(kit_float(3));
  eager_scene_run(enqueue_op(&other, theirs, three));
  eager_scene_run(eager_op(other.context, "AssignVariableOp", named, three));
  TFE_TensorHandle* size = eager_result(eager_op(scene->context, "QueueSizeV2", mine, NULL));
  assert_int_equal(eager_int32(size), 0);
  // The name of their queue, by which it can be found as long as it is there.
  TF_Tensor* tensor = TFE_TensorHandleResolve(theirs, other.s);
  kit_ok(other.s);
  TFE_TensorHandle* stolen = eager_handle(tensor);
  TFE_TensorHandle* at_ps =
      TFE_TensorHandleCopyToDevice(stolen, scene->context, CLUSTER_PS_CPU, scene->s);
  kit_ok(scene->s);
  size = eager_result(eager_op(scene->context, "QueueSizeV2", at_ps, NULL));
  assert_int_equal(eager_int32(size), 1);
  TFE_DeleteContext(other.context);
  wait_for_contexts(scene, CLUSTER_PS, 1);
  eager_expect(eager_op(scene->context, "QueueSizeV2", at_ps, NULL), TF_NOT_FOUND);
  TFE_TensorHandle* shared = eager_scene_variable(scene, CLUSTER_PS_CPU, "shared");
  assert_true(read_variable(scene, shared) == 3);
  TFE_TensorHandle* const handles[] = {mine, theirs, named, three, stolen, at_ps, shared};
  for (size_t i = 0; i < sizeof handles / sizeof handles[0]; ++i) {
    TFE_DeleteTensorHandle(handles[i]);
  }
}

// ---- Failures -----------------------------------------------------------------------------------

// The code and the text of an op's failure on the ps.
static void expect_failure(eager_scene_t* scene, TFE_Op* op, TF_Code code, const char* text) {
  TFE_TensorHandle* results[4];
  int count = 4;
  TFE_Execute(op, results, &count, scene->s);
  kit_expect_text(scene->s, code, text);
  kit_expect_text(scene->s, code, "From /job:ps/replica:0/task:0");
  TFE_DeleteOp(op);
}

static void test_failures(void** state) {
  eager_scene_t* scene = *state;
  eager_scene_join(scene, 60);
  const float values[] = {1, 2, 3};
  TFE_TensorHandle* x = eager_handle(kit_floats(3, values));
  TFE_TensorHandle* y = eager_handle(kit_floats(2, values));
  expect_failure(scene, eager_scene_op(scene, CLUSTER_PS_CPU, "AddV2", x, y), TF_INVALID_ARGUMENT,
                 "");
  // A function that the task has lost.
  eager_add_function(scene->context, eager_self_binary("twice", "AddV2", TF_FLOAT));
  LEAT_EXPECT_OK(leat_eager_context_remove_function(context_of(scene, CLUSTER_PS, 0),
                                                    LEAT_SV("twice")));
  expect_failure(scene, eager_scene_op(scene, CLUSTER_PS_CPU, "twice", x, NULL), TF_NOT_FOUND,
                 "'twice'");
  // A tensor that the task has lost: the first op of this context.
  TFE_TensorHandle* z = eager_result(eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x, NULL));
  leat_eager_context_t* context = context_of(scene, CLUSTER_PS, 0);
  uint64_t op_id = 0;
  leat_mutex_lock(&context->mutex);
  for (size_t i = 0; i < context->outputs.capacity; ++i) {
    if (context->outputs.used[i]) op_id = context->outputs.keys[i];
  }
  leat_mutex_unlock(&context->mutex);
  LEAT_EXPECT_OK(leat_eager_context_drop(context, (int64_t)op_id, 0));
  expect_failure(scene, eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", z, NULL), TF_INVALID_ARGUMENT,
                 "Unable to find the relevant tensor");
  assert_null(TFE_TensorHandleResolve(z, scene->s));
  kit_expect_text(scene->s, TF_INVALID_ARGUMENT, "Unable to find the relevant tensor");
  // The context itself is gone, as after a restart.
  leat_eager_contexts_close(cluster_task(scene->cluster, CLUSTER_PS));
  expect_failure(scene, eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x, NULL), TF_ABORTED,
                 "Unable to find a context_id");
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(z);
}

typedef struct waiter_s {
  TFE_Op* op;
  TF_Status* status;
} waiter_t;

static void execute(void* data) {
  waiter_t* waiter = data;
  TFE_TensorHandle* result = NULL;
  int count = 1;
  TFE_Execute(waiter->op, &result, &count, waiter->status);
}

// A dequeue that waits on the ps, on a thread of its own.
static leat_thread_t start_waiting(eager_scene_t* scene, TFE_TensorHandle* queue,
                                   TFE_CancellationManager* manager, waiter_t* out_waiter) {
  leat_thread_t thread;
  *out_waiter = (waiter_t){dequeue_op(scene, queue), TF_NewStatus()};
  if (manager) TFE_OpSetCancellationManager(out_waiter->op, manager, scene->s);
  LEAT_EXPECT_OK(leat_thread_start("waiter", execute, out_waiter, &thread));
  cluster_let_wait();
  return thread;
}

static void end_waiting(leat_thread_t thread, waiter_t* waiter, TF_Code code) {
  leat_thread_join(thread);
  kit_expect(waiter->status, code);
  TFE_DeleteOp(waiter->op);
  TF_DeleteStatus(waiter->status);
}

static void test_cancellation(void** state) {
  eager_scene_t* scene = *state;
  const int64_t begin_ns = leat_clock_now_ns();
  waiter_t waiter;
  eager_scene_join(scene, 60);
  TFE_TensorHandle* queue = nameless_queue(scene);
  TFE_CancellationManager* manager = TFE_NewCancellationManager();
  leat_thread_t thread = start_waiting(scene, queue, manager, &waiter);
  TFE_CancellationManagerStartCancel(manager);
  end_waiting(thread, &waiter, TF_CANCELLED);
  TFE_DeleteCancellationManager(manager);
  // The task has given up too: an element that comes now stays.
  leat_eager_context_wait(context_of(scene, CLUSTER_PS, 0));
  TFE_TensorHandle* x = eager_handle(kit_float(1));
  eager_scene_run(enqueue_op(scene, queue, x));
  TFE_TensorHandle* size = eager_result(eager_op(scene->context, "QueueSizeV2", queue, NULL));
  assert_int_equal(eager_int32(size), 1);
  assert_true(eager_float(eager_result(dequeue_op(scene, queue))) == 1);
  // The server stops under an op.
  thread = start_waiting(scene, queue, NULL, &waiter);
  cluster_stop(scene->cluster, CLUSTER_PS);
  leat_thread_join(thread);
  assert_true(TF_GetCode(waiter.status) == TF_CANCELLED ||
              TF_GetCode(waiter.status) == TF_UNAVAILABLE);
  TFE_DeleteOp(waiter.op);
  TF_DeleteStatus(waiter.status);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(queue);
  cluster_expect_no_hang(begin_ns);
}

// A process that is killed under an op, and a new one in its place.
static void test_death(void** state) {
  eager_scene_t* scene = *state;
  const int64_t begin_ns = leat_clock_now_ns();
  waiter_t waiter;
  eager_scene_join(scene, 60);
  assert_true(TFE_ContextCheckAlive(scene->context, "/job:ps/replica:0/task:0", scene->s));
  kit_ok(scene->s);
  TFE_ContextCheckAlive(scene->context, "/job:ps/replica:0/task:1", scene->s);
  kit_expect(scene->s, TF_INVALID_ARGUMENT);
  TFE_TensorHandle* queue = nameless_queue(scene);
  leat_thread_t thread = start_waiting(scene, queue, NULL, &waiter);
  cluster_kill_ps(scene->cluster);
  end_waiting(thread, &waiter, TF_UNAVAILABLE);
  assert_false(TFE_ContextCheckAlive(scene->context, "/job:ps/replica:0/task:0", scene->s));
  kit_ok(scene->s);
  TFE_DeleteTensorHandle(queue);
  TFE_TensorHandle* x = eager_handle(kit_float(1));
  eager_expect(eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x, NULL), TF_UNAVAILABLE);
  // The other task serves on.
  assert_true(eager_float(eager_result(eager_scene_op(scene, CLUSTER_WORKER_CPU, "Neg", x,
                                                      NULL))) == -1);
  cluster_start_ps(scene->cluster);
  TF_Buffer* def = eager_scene_describe(scene, true);
  TFE_ContextUpdateServerDefWithTimeout(scene->context, 60, def->data, def->length, 60000,
                                        scene->s);
  kit_ok(scene->s);
  TF_DeleteBuffer(def);
  assert_true(eager_float(eager_result(eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x,
                                                      NULL))) == -1);
  TFE_DeleteTensorHandle(x);
  cluster_expect_no_hang(begin_ns);
}

// ---- Clusters -----------------------------------------------------------------------------------

// The ps goes and comes back; what is on the worker stays.
static void test_update(void** state) {
  eager_scene_t* scene = *state;
  TF_Buffer* without = eager_scene_describe(scene, false);
  TF_Buffer* with = eager_scene_describe(scene, true);
  TFE_ContextUpdateServerDef(scene->context, 60, with->data, with->length, scene->s);
  kit_expect(scene->s, TF_INVALID_ARGUMENT);  // there is no cluster yet
  eager_scene_join(scene, 60);
  TFE_TensorHandle* x = eager_handle(kit_float(1));
  TFE_TensorHandle* y = eager_result(eager_scene_op(scene, CLUSTER_WORKER_CPU, "Neg", x, NULL));
  TFE_TensorHandle* z = eager_result(eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x, NULL));
  TFE_Op* op = eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x, NULL);
  TFE_ContextUpdateServerDef(scene->context, 60, without->data, without->length, scene->s);
  kit_ok(scene->s);
  wait_for_contexts(scene, CLUSTER_PS, 0);
  wait_for_contexts(scene, CLUSTER_WORKER, 1);
  assert_int_equal(leat_eager_context_view(context_of(scene, CLUSTER_WORKER, 0)), 1);
  eager_expect(op, TF_INVALID_ARGUMENT);
  assert_null(TFE_TensorHandleResolve(z, scene->s));
  kit_expect(scene->s, TF_ABORTED);
  TF_DeviceList* list = TFE_ContextListDevices(scene->context, scene->s);
  assert_int_equal(TF_DeviceListCount(list), 2);
  TF_DeleteDeviceList(list);
  TFE_ContextUpdateServerDef(scene->context, 60, with->data, with->length, scene->s);
  kit_ok(scene->s);
  assert_int_equal(leat_eager_context_view(context_of(scene, CLUSTER_PS, 0)), 2);
  assert_true(eager_float(eager_result(eager_scene_op(scene, CLUSTER_PS_CPU, "AddV2", y, x))) == 0);
  assert_true(eager_float(eager_result(eager_scene_op(scene, CLUSTER_WORKER_CPU, "Neg", y,
                                                      NULL))) == 1);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(z);
  TF_DeleteBuffer(with);
  TF_DeleteBuffer(without);
}

// Handles may outlive the context.
static void test_end(void** state) {
  eager_scene_t* scene = *state;
  eager_scene_join(scene, 60);
  TFE_TensorHandle* x = eager_handle(kit_float(1));
  TFE_TensorHandle* y = eager_result(eager_scene_op(scene, CLUSTER_PS_CPU, "Neg", x, NULL));
  wait_for_contexts(scene, CLUSTER_PS, 1);
  TFE_DeleteContext(scene->context);
  wait_for_contexts(scene, CLUSTER_PS, 0);
  wait_for_contexts(scene, CLUSTER_WORKER, 0);
  assert_null(TFE_TensorHandleResolve(y, scene->s));
  kit_expect(scene->s, TF_FAILED_PRECONDITION);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
  scene->context = eager_open();
  TFE_ContextSetServerDef(scene->context, 60, "\xff", 1, scene->s);
  kit_expect(scene->s, TF_INVALID_ARGUMENT);
}

// A client that says nothing more loses its context; one that is there keeps it, since it calls
// every half second. The beat comes when the time of the first one is just over, by what the beat
// is told, and after a later call of the second one.
static void test_keep_alive(void** state) {
  eager_scene_t* scene = *state;
  leat_task_t* task = cluster_task(scene->cluster, CLUSTER_PS);
  eager_scene_join(scene, 1);
  leat_eager_context_t* kept = context_of(scene, CLUSTER_PS, 0);
  const leat_pb_create_context_request_t request = {.context_id = 7, .keep_alive_secs = 1};
  cluster_call(scene->cluster, CLUSTER_PS, "/tensorflow.eager.EagerService/CreateContext",
               &leat_pb_create_context_request_descriptor, &request, LEAT_OK, "");
  const int64_t silent_ns = atomic_load(&context_of(scene, CLUSTER_PS, 7)->last_use_ns);
  while (atomic_load(&kept->last_use_ns) <= silent_ns) leat_clock_sleep_ns(1000000);
  leat_heartbeat_beat(task->heartbeat, silent_ns + 1000000000);
  assert_int_equal(leat_eager_contexts_count(task), 2);
  // The server may note the end of a call after its answer has come.
  while (context_of(scene, CLUSTER_PS, 7)) {
    leat_heartbeat_beat(task->heartbeat, silent_ns + 1000000001);
  }
  assert_int_equal(leat_eager_contexts_count(task), 1);
  assert_ptr_equal(context_of(scene, CLUSTER_PS, 0), kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_devices, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_ops, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_copies, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_variables, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_queues, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_two_clients, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_failures, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_cancellation, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_death, set_up_process, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_update, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_end, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_keep_alive, set_up_by_hand, eager_scene_tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
