// White paper, section 5.3: asynchronous kernels. The claim is about threads, so the tests count
// them in /proc while a step has a thousand nodes that all wait: dequeues of an empty queue, and
// receives of values that do not come. A kernel that blocked would need a thread for each. The
// elements are given afterwards and the step must end with the right sum, because kernels that wait
// cheaply and never continue would pass the count. The allowance of a few threads is for the
// client's own and for those that a pool starts late.
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "capi/function_kit.h"

enum { kWaiting = 1000 };

static functions_t f;

static int set_up(void** state) {
  f = functions_open_on(
      NODE("q", "FIFOQueueV2", "", TYPES("component_types", "DT_FLOAT")
           " attr { key: 'shapes' value { list { shape {} } } }")
      NODE("x", "Placeholder", "", TYPE("dtype", "FLOAT"))
      NODE("put", "QueueEnqueueManyV2", IN("q") IN("x"), TYPES("Tcomponents", "DT_FLOAT"))
      NODE("size", "QueueSizeV2", IN("q"), ""), 2);
  TF_DeleteTensor(functions_run(&f, "size", 0, NULL, NULL));  // the session's threads are there
  return 0;
}

static int tear_down(void** state) {
  functions_close(&f);
  return 0;
}

static int count_threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static TF_Operation* add_sum(const TF_Output* slices) {
  TF_OperationDescription* desc = TF_NewOperation(f.graph, "AddN", "sum");
  TF_AddInputList(desc, slices, kWaiting);
  return kit_finish(desc);
}

static TF_Output add_dequeue(int i) {
  char name[20];
  const TF_DataType type = TF_FLOAT;
  snprintf(name, sizeof name, "take%d", i);
  TF_OperationDescription* desc = TF_NewOperation(f.graph, "QueueDequeueV2", name);
  TF_AddInput(desc, functions_output(&f, "q", 0));
  TF_SetAttrTypeList(desc, "component_types", &type, 1);
  TF_SetDevice(desc, "/device:CPU:0");
  return kit_out(kit_finish(desc), 0);
}

static void* fetch_sum(void* data) {
  TF_Status* status = TF_NewStatus();
  TF_Output sum = {TF_GraphOperationByName(f.graph, "sum"), 0};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, &sum, data, 1, NULL, 0, NULL, status);
  TF_DeleteStatus(status);
  return NULL;
}

// A step whose nodes all wait, until they are given a one each: how many threads that took.
static int threads_while_waiting(void) {
  static float ones[kWaiting];
  int before = count_threads();
  pthread_t step;
  TF_Tensor* result = NULL;
  pthread_create(&step, NULL, fetch_sum, &result);
  usleep(100000);
  int threads = count_threads() - before;
  for (int i = 0; i < kWaiting; ++i) ones[i] = 1;
  TF_Tensor* values = kit_floats(kWaiting, ones);
  TF_Output x = functions_output(&f, "x", 0);
  const TF_Operation* put = functions_output(&f, "put", 0).oper;
  TF_SessionRun(f.session, NULL, &x, &values, 1, NULL, NULL, 0, &put, 1, NULL, f.status);
  kit_ok(f.status);
  pthread_join(step, NULL);
  assert_non_null(result);
  assert_true(kit_float_of(result) == kWaiting);
  TF_DeleteTensor(result);
  TF_DeleteTensor(values);
  return threads;
}

// "... non-blocking kernels, supported by an interface whereby the Compute method is passed a
// continuation that should be invoked when the kernel's execution is complete. This is an
// optimization for environments where having many active threads is relatively expensive."
static void paper_5_3__a_thousand_waiting_dequeues_take_no_thread(void** state) {
  TF_Output slices[kWaiting];
  for (int i = 0; i < kWaiting; ++i) slices[i] = add_dequeue(i);
  add_sum(slices);
  assert_in_range(threads_while_waiting(), 0, 1 + 8);  // the client's, and late ones of the pool
}

// "Examples of asynchronous kernels include the Receive kernel, and the Enqueue and Dequeue
// kernels."
static void paper_5_3__a_thousand_waiting_receives_take_no_thread(void** state) {
  TF_Output slices[kWaiting];
  for (int i = 0; i < kWaiting; ++i) {
    char name[20];
    snprintf(name, sizeof name, "abs%d", i);
    TF_OperationDescription* desc = TF_NewOperation(f.graph, "Abs", name);
    TF_AddInput(desc, add_dequeue(i));
    TF_SetDevice(desc, "/device:CPU:1");
    slices[i] = kit_out(kit_finish(desc), 0);
  }
  add_sum(slices);
  assert_in_range(threads_while_waiting(), 0, 1 + 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_5_3__a_thousand_waiting_dequeues_take_no_thread),
      TEST(paper_5_3__a_thousand_waiting_receives_take_no_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
