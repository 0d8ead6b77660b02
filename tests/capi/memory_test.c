// Memory that runs out at the n-th allocation, for every n: building, exporting, importing,
// differentiating and running say RESOURCE_EXHAUSTED and never end the process. An observer of the
// allocator lets n allocations pass and refuses the rest, until the first n with which the whole
// sequence succeeds. A constructor that has no status returns NULL, and the sequence then goes no
// further. Everything that was made is deleted after every attempt, and under ASan nothing may be
// lost on the way.
#include "capi/kit.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/observer.h"

static _Atomic int64_t left;  // allocations that still succeed

static leat_status_t on_allocation(void* data, size_t size_bytes) {
  if (atomic_fetch_sub(&left, 1) > 0) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory ran out (as the test wants it)");
}

static const leat_observer_t observer = {.on_allocation = on_allocation};

typedef struct attempt_s {
  TF_Status* status;
  TF_Graph* graph;
  TF_Graph* copy;
  TF_Session* session;
  TF_Output x, sum;
} attempt_t;

// Goes on only after success; a failure must be for want of memory.
static bool went_well(const attempt_t* a) {
  if (TF_GetCode(a->status) == TF_OK) return true;
  if (TF_GetCode(a->status) != TF_RESOURCE_EXHAUSTED) {
    leat_observer_install(NULL);
    fail_msg("code %d: %s", TF_GetCode(a->status), TF_Message(a->status));
  }
  return false;
}

static bool build(attempt_t* a) {
  a->graph = TF_NewGraph();
  TF_Tensor* value = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4);
  bool done = a->graph && value;
  if (value) *(float*)TF_TensorData(value) = 2;
  if (done) {
    TF_OperationDescription* desc = TF_NewOperation(a->graph, "Placeholder", "x");
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    a->x = (TF_Output){TF_FinishOperation(desc, a->status), 0};
    done = went_well(a);
  }
  TF_Output two = {NULL, 0};
  if (done) {
    TF_OperationDescription* desc = TF_NewOperation(a->graph, "Const", "two");
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_SetAttrTensor(desc, "value", value, a->status);
    bool set = went_well(a);
    TF_SetAttrStringList(desc, "_names", (const void* const[]){"a"}, (const size_t[]){1}, 1);
    two.oper = TF_FinishOperation(desc, a->status);
    // Without its value the constant is incomplete, which is another code.
    done = set && went_well(a);
  }
  if (done) {
    TF_OperationDescription* desc = TF_NewOperation(a->graph, "AddV2", "sum");
    TF_AddInput(desc, a->x);
    TF_AddInput(desc, two);
    TF_AddControlInput(desc, two.oper);
    TF_ColocateWith(desc, two.oper);
    a->sum = (TF_Output){TF_FinishOperation(desc, a->status), 0};
    done = went_well(a);
  }
  TF_DeleteTensor(value);
  return done;
}

static bool copy(attempt_t* a) {
  TF_Buffer* def = TF_NewBuffer();
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  a->copy = TF_NewGraph();
  bool done = def && options && a->copy;
  if (done) {
    TF_GraphToGraphDef(a->graph, def, a->status);
    done = went_well(a);
  }
  if (done) {
    TF_ImportGraphDefOptionsSetPrefix(options, "copy");
    TF_ImportGraphDefOptionsAddReturnOutput(options, "sum", 0);
    TF_ImportGraphDefOptionsAddReturnOperation(options, "x");
    TF_ImportGraphDefResults* results =
        TF_GraphImportGraphDefWithResults(a->copy, def, options, a->status);
    done = went_well(a);
    if (!done) assert_int_equal(kit_count(a->copy), 0);
    TF_DeleteImportGraphDefResults(results);
  }
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(def);
  return done;
}

static bool run(attempt_t* a) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Tensor* fed = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4);
  TF_Buffer* metadata = TF_NewBuffer();
  bool done = options && fed && metadata;
  if (done) {
    *(float*)TF_TensorData(fed) = 3;
    a->session = TF_NewSession(a->graph, options, a->status);
    done = went_well(a);
  }
  for (int i = 0; done && i < 2; ++i) {
    TF_Tensor* result = NULL;
    TF_SessionRun(a->session, NULL, &a->x, &fed, 1, &a->sum, &result, 1, NULL, 0,
                  i ? metadata : NULL, a->status);
    done = went_well(a);
    if (done) assert_true(kit_float_of(result) == 5);
    TF_DeleteTensor(result);
  }
  TF_DeleteBuffer(metadata);
  TF_DeleteTensor(fed);
  TF_DeleteSessionOptions(options);
  return done;
}

static bool attempt(void) {
  attempt_t a = {.status = TF_NewStatus()};
  bool done = a.status && build(&a) && copy(&a) && run(&a);
  if (a.session) TF_DeleteSession(a.session, a.status);
  TF_DeleteGraph(a.graph);
  TF_DeleteGraph(a.copy);
  TF_DeleteStatus(a.status);
  return done;
}

static void test_every_allocation_may_fail(void** state) {
  int64_t n = 0;
  for (bool done = false; !done; ++n) {
    atomic_store(&left, n);
    leat_observer_install(&observer);
    done = attempt();
    leat_observer_install(NULL);
    if (n > 100000) fail_msg("never enough");
  }
  print_message("%lld allocations\n", (long long)n);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
