// eager/c_api_experimental.h: metrics, cancelling, executors, handles. Counters, gauges and
// samplers are written, by several threads where it matters, and read back; a sampler's value is
// compared byte by byte with its protocol buffer. An op that waits is cancelled from another
// thread. Ops as such are tested in eager_test.c.
#include <pthread.h>

#include "base/log.h"
#include "capi/eager_kit.h"
#include "capi/plugin_kit.h"
#include "tensorflow/c/eager/c_api_experimental_reader.h"

static void* count_up(void* cell) {
  for (int i = 0; i < 1000; ++i) TFE_MonitoringCounterCellIncrementBy(cell, 2);
  return NULL;
}

static void test_counters(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_MonitoringCounter2* counter =
      TFE_MonitoringNewCounter2("/test/count", s, "what it counts", "model", "phase");
  kit_ok(s);
  assert_null(TFE_MonitoringNewIntGauge0("/test/count", s, "again"));
  kit_expect(s, TF_ALREADY_EXISTS);
  assert_null(TFE_MonitoringNewCounter0(NULL, s, NULL));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_MonitoringCounterCell* cell = TFE_MonitoringGetCellCounter2(counter, "a", "train");
  assert_ptr_equal(TFE_MonitoringGetCellCounter2(counter, "a", "train"), cell);
  assert_ptr_not_equal(TFE_MonitoringGetCellCounter2(counter, "at", "rain"), cell);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, count_up, cell);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(TFE_MonitoringCounterCellValue(cell), 8000);
  assert_int_equal(
      TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter2(counter, "b", NULL)), 0);
  TFE_MonitoringDeleteCounter2(counter);
  TFE_MonitoringDeleteCounter2(NULL);
  assert_null(TFE_MonitoringGetCellCounter0(NULL));
  TF_DeleteStatus(s);
}

static void test_gauges(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_MonitoringIntGauge0* number = TFE_MonitoringNewIntGauge0("n", s, "");
  TFE_MonitoringIntGaugeCell* number_cell = TFE_MonitoringGetCellIntGauge0(number);
  TFE_MonitoringIntGaugeCellSet(number_cell, -5);
  assert_int_equal(TFE_MonitoringIntGaugeCellValue(number_cell), -5);
  TFE_MonitoringBoolGauge1* truth = TFE_MonitoringNewBoolGauge1("t", s, "", "l");
  TFE_MonitoringBoolGaugeCell* truth_cell = TFE_MonitoringGetCellBoolGauge1(truth, "x");
  assert_false(TFE_MonitoringBoolGaugeCellValue(truth_cell));
  TFE_MonitoringBoolGaugeCellSet(truth_cell, true);
  assert_true(TFE_MonitoringBoolGaugeCellValue(truth_cell));
  TFE_MonitoringStringGauge4* text =
      TFE_MonitoringNewStringGauge4("s", s, "", "a", "b", "c", "d");
  kit_ok(s);
  TFE_MonitoringStringGaugeCell* text_cell =
      TFE_MonitoringGetCellStringGauge4(text, "1", "2", "3", "4");
  TFE_MonitoringStringGaugeCellSet(text_cell, "first");
  TFE_MonitoringStringGaugeCellSet(text_cell, "second");
  TF_Buffer* value = TF_NewBuffer();
  TFE_MonitoringStringGaugeCellValue(text_cell, value);
  assert_int_equal(value->length, 6);
  assert_memory_equal(value->data, "second", 6);
  TF_DeleteBuffer(value);
  TFE_MonitoringDeleteStringGauge4(text);
  TFE_MonitoringDeleteBoolGauge1(truth);
  TFE_MonitoringDeleteIntGauge0(number);
  TF_DeleteStatus(s);
}

static void test_samplers(void** state) {
  TF_Status* s = TF_NewStatus();
  assert_null(TFE_MonitoringNewExponentialBuckets(1, 2, 0));
  TFE_MonitoringBuckets* buckets = TFE_MonitoringNewExponentialBuckets(1, 2, 2);
  TFE_MonitoringSampler1* sampler =
      TFE_MonitoringNewSampler1("sampler", buckets, s, "sizes", "kind");
  kit_ok(s);
  TFE_MonitoringDeleteBuckets(buckets);
  TFE_MonitoringSamplerCell* cell = TFE_MonitoringGetCellSampler1(sampler, "x");
  TFE_MonitoringSamplerCellAdd(cell, 1.5);
  TFE_MonitoringSamplerCellAdd(cell, 1.5);
  TFE_MonitoringSamplerCellAdd(cell, 100);
  TF_Buffer* value = TF_NewBuffer();
  TFE_MonitoringSamplerCellValue(cell, value);
  // min, max, num = 3, sum = 103; three limits; counts 0, 2, 1.
  assert_true(holds(value->data, value->length, "\x19\x00\x00\x00\x00\x00\x00\x08\x40"));
  double counts[3] = {0};
  assert_true(value->length > sizeof counts);
  memcpy(counts, (const char*)value->data + value->length - sizeof counts, sizeof counts);
  assert_true(counts[0] == 0 && counts[1] == 2 && counts[2] == 1);
  TF_DeleteBuffer(value);
  TFE_MonitoringDeleteSampler1(sampler);
  TF_DeleteStatus(s);
}

static void set_flag(void* flag) { ++*(int*)flag; }

static void test_cancelling(void** state) {
  int first = 0, second = 0;
  TFE_CancellationManager* manager = TFE_NewCancellationManager();
  TFE_CancellationToken a = TFE_CancellationManagerGetToken(manager);
  TFE_CancellationToken b = TFE_CancellationManagerGetToken(manager);
  assert_true(a != b);
  assert_true(TFE_CancellationManagerRegisterCallback(
      manager, a, &(TFE_CancelCallback){set_flag, &first}, "first"));
  assert_true(TFE_CancellationManagerRegisterCallback(
      manager, b, &(TFE_CancelCallback){set_flag, &second}, "second"));
  assert_false(TFE_CancellationManagerRegisterCallback(manager, b, NULL, ""));
  assert_true(TFE_CancellationManagerDeregisterCallback(manager, b));
  assert_false(TFE_CancellationManagerTryDeregisterCallback(manager, 99));
  assert_false(TFE_CancellationManagerIsCancelled(manager));
  TFE_CancellationManagerStartCancel(manager);
  TFE_CancellationManagerStartCancel(manager);
  assert_true(TFE_CancellationManagerIsCancelled(manager));
  assert_false(TFE_CancellationManagerIsCancelling(manager));
  assert_true(first == 1 && second == 0);
  assert_false(TFE_CancellationManagerRegisterCallback(
      manager, a, &(TFE_CancelCallback){set_flag, &first}, "late"));
  TFE_DeleteCancellationManager(manager);
  TFE_DeleteCancellationManager(NULL);
}

static void* cancel_soon(void* manager) {
  TFE_CancellationManagerStartCancel(manager);
  return NULL;
}

// A dequeue of an empty queue ends when it is cancelled.
static void test_cancelled_op(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_ContextOptionsSetTfrt(options, false);
  TFE_Context* context = TFE_NewContext(options, s);
  TFE_DeleteContextOptions(options);
  kit_ok(s);
  assert_true(TFE_GetContextId(context) > 0);
  TFE_ContextAsyncWait(context, s);
  TFE_ContextSetSoftDevicePlacement(context, 1, s);
  kit_ok(s);
  const TF_DataType type = TF_INT32;
  TFE_Op* op = TFE_NewOp(context, "Neg", s);
  TFE_OpReset(op, "NoSuchOp", NULL, s);
  kit_expect(s, TF_NOT_FOUND);
  TFE_OpReset(op, "FIFOQueueV2", "/device:CPU:0", s);
  kit_ok(s);
  assert_string_equal(TFE_OpGetName(op, s), "FIFOQueueV2");
  TFE_OpSetAttrTypeList(op, "component_types", &type, 1);
  TFE_TensorHandle *queue = NULL, *value = NULL;
  int count = 1;
  TFE_Execute(op, &queue, &count, s);
  kit_ok(s);
  TFE_OpReset(op, "QueueDequeueV2", NULL, s);
  TFE_OpAddInput(op, queue, s);
  // component_types: list(type) of one int32
  TFE_OpSetAttrValueProto(op, "component_types", "\x0a\x03\x32\x01\x03", 5, s);
  kit_ok(s);
  TFE_CancellationManager* manager = TFE_NewCancellationManager();
  TFE_OpSetCancellationManager(op, manager, s);
  pthread_t thread;
  pthread_create(&thread, NULL, cancel_soon, manager);
  TFE_Execute(op, &value, &count, s);
  kit_expect(s, TF_CANCELLED);
  pthread_join(thread, NULL);
  TFE_DeleteOp(op);
  TFE_DeleteCancellationManager(manager);
  TFE_DeleteTensorHandle(queue);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void test_executors_and_handles(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Executor* executor = TFE_NewExecutor(true, false, 0);
  assert_true(TFE_ExecutorIsAsync(executor));
  TFE_ExecutorWaitForAllPendingNodes(executor, s);
  kit_ok(s);
  TFE_ExecutorClearError(executor);
  TFE_DeleteExecutor(executor);
  const int64_t dims[] = {2, 3}, negative = -1;
  TF_Tensor* tensor = TFE_AllocateHostTensor(NULL, TF_FLOAT, dims, 2, s);
  kit_ok(s);
  assert_int_equal(TF_TensorByteSize(tensor), 24);
  assert_null(TFE_AllocateHostTensor(NULL, TF_FLOAT, &negative, 1, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_TensorHandle* handle = TFE_NewTensorHandleFromTensor(NULL, tensor, s);
  kit_ok(s);
  assert_ptr_equal(TFE_TensorHandleDevicePointer(handle, s), TF_TensorData(tensor));
  assert_int_equal(TFE_TensorHandleDeviceMemorySize(handle, s), 24);
  assert_string_equal(TFE_TensorHandleDeviceType(handle, s), "CPU");
  assert_int_equal(TFE_TensorHandleDeviceID(handle, s), 0);
  TFE_TensorHandleGetStatus(handle, s);
  kit_ok(s);
  TFE_TensorHandleGetStatus(NULL, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_DeleteTensorHandle(handle);
  TF_DeleteTensor(tensor);
  static float block[4] = {1, 2, 3, 4};
  const int64_t four = 4;
  handle = TFE_NewTensorHandleFromDeviceMemory(NULL, "CPU:0", TF_FLOAT, &four, 1, block,
                                               sizeof block, NULL, NULL, s);
  kit_ok(s);
  assert_int_equal(TFE_TensorHandleNumElements(handle, s), 4);
  TFE_DeleteTensorHandle(handle);
  TF_Buffer* space = TF_NewBuffer();
  TFE_HostAddressSpace(NULL, space);
  assert_true(holds(space->data, space->length, "task:0"));
  TF_DeleteBuffer(space);
  TF_DeleteStatus(s);
}

static void test_counter_reader(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_MonitoringCounterReader* early = TFE_MonitoringNewCounterReader("/test/read");
  assert_int_equal(TFE_MonitoringReadCounter1(early, "a"), 0);
  TFE_MonitoringCounter1* counter = TFE_MonitoringNewCounter1("/test/read", s, "", "label");
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter1(counter, "a"), 3);
  TFE_MonitoringCounterReader* late = TFE_MonitoringNewCounterReader("/test/read");
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter1(counter, "a"), 4);
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter1(counter, "b"), 1);
  assert_int_equal(TFE_MonitoringReadCounter1(early, "a"), 7);
  assert_int_equal(TFE_MonitoringReadCounter1(late, "a"), 4);
  assert_int_equal(TFE_MonitoringReadCounter1(late, "b"), 1);
  assert_int_equal(TFE_MonitoringReadCounter0(late), 0);
  TFE_MonitoringDeleteCounter1(counter);
  TFE_MonitoringCounter0* plain = TFE_MonitoringNewCounter0("/test/plain", s, "");
  TFE_MonitoringCounterReader* reader = TFE_MonitoringNewCounterReader("/test/plain");
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter0(plain), 5);
  assert_int_equal(TFE_MonitoringReadCounter0(reader), 5);
  TFE_MonitoringDeleteCounter0(plain);
  TF_DeleteStatus(s);
}

// An op of an asynchronous executor: its failure is in its handles, and the executor keeps it and
// refuses further ops until it is cleared. What has no tensor cannot be an input either.
static void test_late_errors(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_ContextOptionsSetAsync(options, 1);
  TFE_Context* context = TFE_NewContext(options, s);
  kit_ok(s);
  TFE_DeleteContextOptions(options);
  const int64_t square[] = {2, 2}, tall[] = {3, 2};
  const float values[6] = {1, 2, 3, 4, 5, 6};
  TFE_TensorHandle* a = eager_handle(kit_tensor(TF_FLOAT, 2, square, values, 16));
  TFE_TensorHandle* b = eager_handle(kit_tensor(TF_FLOAT, 2, tall, values, 24));
  TFE_TensorHandle *failed = NULL, *good = NULL;
  int count = 1;
  TFE_Op* bad = eager_op(context, "MatMul", a, b);
  TFE_Execute(bad, &failed, &count, s);
  kit_ok(s);
  TFE_DeleteOp(bad);
  assert_int_equal(TFE_TensorHandleDataType(failed), TF_FLOAT);
  assert_null(TFE_TensorHandleResolve(failed, s));
  kit_expect_text(s, TF_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: [2,2], In[1]: [3,2]");
  TFE_TensorHandleNumDims(failed, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_TensorHandleGetStatus(failed, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TFE_TensorHandleCopySharingTensor(failed, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_Executor* executor = TFE_ContextGetExecutorForThread(context);
  TFE_ExecutorWaitForAllPendingNodes(executor, s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "Matrix size-incompatible");
  TFE_ContextAsyncWait(context, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_Op* op = eager_op(context, "MatMul", a, a);
  TFE_Execute(op, &good, &count, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_ExecutorClearError(executor);
  TFE_ExecutorWaitForAllPendingNodes(executor, s);
  kit_ok(s);
  TFE_DeleteTensorHandle(eager_result(op));
  eager_expect(eager_op(context, "Neg", failed, NULL), TF_INVALID_ARGUMENT);
  TFE_ExecutorWaitForAllPendingNodes(executor, s);
  kit_ok(s);  // that op was never executed
  // A thread whose executor is synchronous hears of it at once.
  TFE_Executor* own = TFE_NewExecutor(false, false, 0);
  TFE_ContextSetExecutorForThread(context, own);
  eager_expect(eager_op(context, "MatMul", a, b), TF_INVALID_ARGUMENT);
  TFE_ExecutorWaitForAllPendingNodes(own, s);
  kit_ok(s);
  TFE_DeleteExecutor(own);
  TFE_DeleteExecutor(executor);
  TFE_DeleteTensorHandle(failed);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void* ask_for_executor(void* context) {
  TFE_Executor* executor = TFE_ContextGetExecutorForThread(context);
  bool is_async = TFE_ExecutorIsAsync(executor);
  TFE_DeleteExecutor(executor);
  return is_async ? context : NULL;
}

// Each thread has an executor of its own in a context.
static void test_executors_of_threads(void** state) {
  TFE_Context* context = eager_open();
  TFE_Executor* own = TFE_NewExecutor(true, false, 0);
  assert_null(ask_for_executor(context));
  TFE_ContextSetExecutorForThread(context, own);
  TFE_DeleteExecutor(own);  // the context keeps it
  assert_non_null(ask_for_executor(context));
  pthread_t thread;
  void* other_is_async = context;
  pthread_create(&thread, NULL, ask_for_executor, context);
  pthread_join(thread, &other_is_async);
  assert_null(other_is_async);
  own = TFE_NewExecutor(false, false, 0);
  TFE_ContextSetExecutorForThread(context, own);
  assert_null(ask_for_executor(context));
  TFE_DeleteExecutor(own);
  TFE_DeleteContext(context);
}

// Whether the RunMetadata of what |context| has done since the last time names |op|.
static bool has_run(TFE_Context* context, const char* op) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* metadata = TF_NewBuffer();
  TFE_ContextExportRunMetadata(context, metadata, s);
  kit_ok(s);
  bool has = holds(metadata->data, metadata->length, op);
  TF_DeleteBuffer(metadata);
  TF_DeleteStatus(s);
  return has;
}

static void test_run_metadata(void** state) {
  TFE_Context* context = eager_open();
  TFE_TensorHandle* one = eager_handle(kit_int32(1));
  TFE_DeleteTensorHandle(eager_result(eager_op(context, "Neg", one, NULL)));
  assert_false(has_run(context, "Neg"));  // nobody has asked for it
  TFE_ContextEnableRunMetadata(context);
  TFE_DeleteTensorHandle(eager_result(eager_op(context, "Neg", one, NULL)));
  TFE_DeleteTensorHandle(eager_result(eager_op(context, "AddV2", one, one)));
  TFE_ContextEnableRunMetadata(context);  // again, which forgets nothing
  assert_true(has_run(context, "Neg"));
  assert_false(has_run(context, "Neg"));  // told once
  eager_expect(eager_op(context, "MatMul", one, one), TF_INVALID_ARGUMENT);
  TFE_DeleteTensorHandle(eager_result(eager_op(context, "Neg", one, NULL)));
  TFE_ContextDisableRunMetadata(context);
  assert_false(has_run(context, "Neg"));
  TFE_DeleteTensorHandle(one);
  TFE_DeleteContext(context);
}

static int placement_lines;

static void count_placements(leat_log_level_t level, const char* line) {
  if (strstr(line, "Executing op Neg in device")) ++placement_lines;
}

static void test_settings(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TFE_TensorHandle* one = eager_handle(kit_int32(1));
  leat_log_set_sink(count_placements);
  TFE_ContextSetLogDevicePlacement(context, 1, s);
  kit_ok(s);
  TFE_DeleteTensorHandle(eager_result(eager_op(context, "Neg", one, NULL)));
  TFE_ContextSetLogDevicePlacement(context, 0, s);
  TFE_DeleteTensorHandle(eager_result(eager_op(context, "Neg", one, NULL)));
  leat_log_set_sink(NULL);
  assert_int_equal(placement_lines, 1);
  TFE_ContextSetRunEagerOpAsFunction(context, 1, s);
  kit_ok(s);
  TFE_ContextSetJitCompileRewrite(context, 1, s);
  kit_ok(s);
  TFE_DeleteTensorHandle(one);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void test_coordination(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TF_Buffer* value = TF_NewBuffer();
  TFE_InsertConfigKeyValue(context, "k", "v", s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TFE_GetConfigKeyValue(context, "k", 10, value, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TFE_DeleteConfigKeyValue(context, "k", s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TFE_ReportErrorToCluster(context, 3, "m", s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TFE_GetTaskStates(context, value, NULL, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TFE_WaitAtBarrier(context, "b", 10, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_DeleteBuffer(value);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counter_reader), cmocka_unit_test(test_executors_of_threads),
      cmocka_unit_test(test_run_metadata),   cmocka_unit_test(test_settings),
      cmocka_unit_test(test_coordination),
      cmocka_unit_test(test_counters),     cmocka_unit_test(test_gauges),
      cmocka_unit_test(test_samplers),     cmocka_unit_test(test_cancelling),
      cmocka_unit_test(test_cancelled_op), cmocka_unit_test(test_late_errors),
      cmocka_unit_test(test_executors_and_handles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
