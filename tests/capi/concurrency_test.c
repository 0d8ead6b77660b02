// The C API promises that threads may use one graph and one session at the same time. Four threads
// run steps with values that tell them apart, one adds operations and runs them at once, and one
// walks over all operations while their number grows. A thread that runs a new operation makes the
// session extend its graph in the middle of the other threads' steps. The second test moves tensors
// from the thread that made them to one that deletes them, which crosses the per-thread lists of
// the allocator. The tests are meant to be run under TSan too; without it they find wrong values
// and crashes.
#include "capi/kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kRunners = 4, kSteps = 300, kNodes = 200 };

typedef struct shared_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Output x, sum;
  _Atomic int failures;
} shared_t;

static void* run_steps(void* data) {
  shared_t* shared = data;
  TF_Status* s = TF_NewStatus();
  for (int32_t i = 0; i < kSteps; ++i) {
    TF_Tensor* fed = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof i);
    TF_Tensor* result = NULL;
    *(int32_t*)TF_TensorData(fed) = i;
    TF_SessionRun(shared->session, NULL, &shared->x, &fed, 1, &shared->sum, &result, 1, NULL, 0,
                  NULL, s);
    bool right = TF_GetCode(s) == TF_OK && *(const int32_t*)TF_TensorData(result) == i + 2;
    if (!right) ++shared->failures;
    TF_DeleteTensor(fed);
    TF_DeleteTensor(result);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void* add_nodes(void* data) {
  shared_t* shared = data;
  TF_Status* s = TF_NewStatus();
  for (int i = 0; i < kNodes; ++i) {
    char name[32];
    snprintf(name, sizeof name, "late%d", i);
    TF_OperationDescription* desc = TF_NewOperation(shared->graph, "Neg", name);
    TF_AddInput(desc, shared->sum);
    TF_Operation* added = TF_FinishOperation(desc, s);
    if (!added) ++shared->failures;
    if (i % 16) continue;
    // A signature of its own, on a node that others may not have seen yet.
    TF_Output fetch = {added, 0};
    int32_t one = 1;
    TF_Tensor* fed = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof one);
    TF_Tensor* result = NULL;
    memcpy(TF_TensorData(fed), &one, sizeof one);
    TF_SessionRun(shared->session, NULL, &shared->x, &fed, 1, &fetch, &result, 1, NULL, 0, NULL,
                  s);
    if (TF_GetCode(s) != TF_OK || *(const int32_t*)TF_TensorData(result) != -3) {
      ++shared->failures;
    }
    TF_DeleteTensor(fed);
    TF_DeleteTensor(result);
  }
  TF_DeleteStatus(s);
  return NULL;
}

// Every operation that the walk meets must be found by its name, while others are being added.
static void* look_around(void* data) {
  shared_t* shared = data;
  for (int i = 0; i < 100; ++i) {
    size_t position = 0;
    for (TF_Operation* o; (o = TF_GraphNextOperation(shared->graph, &position)) != NULL;) {
      if (TF_GraphOperationByName(shared->graph, TF_OperationName(o)) != o) ++shared->failures;
    }
    if (TF_OperationOutputNumConsumers(shared->x) != 1) ++shared->failures;
  }
  return NULL;
}

static void test_all_at_once(void** state) {
  shared_t shared = {.graph = TF_NewGraph()};
  TF_Operation* x = kit_placeholder(shared.graph, "x", TF_INT32);
  TF_Operation* two = kit_const_int32(shared.graph, "two", 2);
  shared.x = kit_out(x, 0);
  shared.sum = kit_out(kit_binary(shared.graph, "AddV2", "sum", x, two), 0);
  shared.session = kit_session(shared.graph);
  pthread_t threads[kRunners + 2];
  for (int i = 0; i < kRunners; ++i) pthread_create(&threads[i], NULL, run_steps, &shared);
  pthread_create(&threads[kRunners], NULL, add_nodes, &shared);
  pthread_create(&threads[kRunners + 1], NULL, look_around, &shared);
  for (int i = 0; i < kRunners + 2; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(shared.failures, 0);
  assert_int_equal(kit_count(shared.graph), 3 + kNodes);
  kit_close(shared.session);
  TF_DeleteGraph(shared.graph);
}

// Handles that one thread made and another deletes.
static void* delete_all(void* data) {
  TF_Tensor** tensors = data;
  for (int i = 0; i < 100; ++i) TF_DeleteTensor(tensors[i]);
  return NULL;
}

static void test_handles_move_between_threads(void** state) {
  for (int round = 0; round < 10; ++round) {
    TF_Tensor* tensors[100];
    for (int i = 0; i < 100; ++i) tensors[i] = kit_int32(i);
    pthread_t thread;
    pthread_create(&thread, NULL, delete_all, tensors);
    pthread_join(thread, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_at_once),
      cmocka_unit_test(test_handles_move_between_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
