// Eight threads of steps over one session, with loops, calls and queues that they share, while some
// of the steps run into their deadline, and at last the session is closed under all of them. Every
// step ends, with the right value or the right code. Steps that put into a queue and steps that
// take from it depend on each other, so a step that was cancelled halfway must leave the queue
// usable for the rest. The deadline comes once from the steps' own options and once from the
// session's. Meant to be run under TSan too.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "capi/function_kit.h"

#define INTS TYPE("T", "INT32")
#define WHILE(name, body, more)                                                     \
  NODE(name, "While", IN("zero") IN("x"), TYPES("T", "DT_INT32, DT_INT32")          \
       FUNC("cond", "is_below") FUNC("body", body) more)
#define QUEUE(name) \
  NODE(name, "FIFOQueueV2", "", TYPES("component_types", "DT_INT32") \
       " attr { key: 'capacity' value { i: 3 } }")
#define TAKE(name, queue) \
  NODE(name, "QueueDequeueV2", IN(queue), TYPES("component_types", "DT_INT32"))
#define ON(device) " device: '/device:CPU:" device "'"

// x; "sum" is 2x, counted by a loop of frames over two devices and by one of calls.
static const char kGraph[] =
    LIBRARY FUNCTION("is_below", ARG("i", "INT32") ARG("n", "INT32") OUT("z", "BOOL"),
                     DEF("less", "Less", IN("i") IN("n"), INTS) RET("z", "less:z:0"))
    FUNCTION("next", ARG("i", "INT32") ARG("n", "INT32") OUT("j", "INT32") OUT("m", "INT32"),
             DEF("one", "Const", "", INT32("1"))
             DEF("add", "AddV2", IN("i") IN("one:output:0"), INTS ON("1"))
             RET("j", "add:z:0") RET("m", "n"))
    FUNCTION("stay", ARG("i", "INT32") ARG("n", "INT32") OUT("j", "INT32") OUT("m", "INT32"),
             DEF("same", "Identity", IN("i"), INTS) RET("j", "same:output:0") RET("m", "n"))
    END NODE("x", "Placeholder", "", TYPE("dtype", "INT32"))
    NODE("zero", "Const", "", INT32("0"))
    WHILE("lowered", "next", LOWER) WHILE("called", "next", "")
    NODE("sum", "AddV2", IN("lowered") IN("called"), INTS)
    WHILE("endless", "stay", LOWER) WHILE("endless_calls", "stay", "")
    QUEUE("shared") TAKE("take", "shared") QUEUE("empty") TAKE("never", "empty")
    NODE("put", "QueueEnqueueV2", IN("shared") IN("sum"), TYPES("Tcomponents", "DT_INT32"));

typedef struct shared_s {
  functions_t f;
  _Atomic int sums, puts, takes, late, failures;
} shared_t;

typedef struct runner_s {
  shared_t* shared;
  const char* name;  // of what it fetches, or runs when that has no output
  int timeout_ms;    // of each step; 0: none
  _Atomic int* done;  // steps that succeeded
} runner_t;

static TF_Code run_step(const runner_t* r, int32_t x, TF_Tensor** result, TF_Status* status) {
  const functions_t* f = &r->shared->f;
  const TF_Operation* target = TF_GraphOperationByName(f->graph, r->name);
  TF_Output feed = {TF_GraphOperationByName(f->graph, "x"), 0};
  TF_Output fetch = {(TF_Operation*)target, 0};
  int fetches = TF_OperationNumOutputs(fetch.oper) > 0;
  const char limit[] = {0x10, (char)r->timeout_ms};
  TF_Buffer* options = r->timeout_ms ? TF_NewBufferFromString(limit, sizeof limit) : NULL;
  TF_Tensor* fed = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof x);
  memcpy(TF_TensorData(fed), &x, sizeof x);
  TF_SessionRun(f->session, options, &feed, &fed, 1, &fetch, result, fetches, &target, !fetches,
                NULL, status);
  TF_DeleteTensor(fed);
  if (options) TF_DeleteBuffer(options);
  return TF_GetCode(status);
}

// Whether a step's value is one that there can be.
static bool is_right(const runner_t* r, int32_t x, const TF_Tensor* result) {
  if (!result) return !strcmp(r->name, "put");
  int32_t value = *(const int32_t*)TF_TensorData(result);
  return strcmp(r->name, "sum") ? value % 2 == 0 : value == 2 * x;
}

// Until the session is closed.
static void* run_steps(void* data) {
  const runner_t* r = data;
  TF_Status* status = TF_NewStatus();
  TF_Code code = TF_OK;
  for (int32_t x = 0; code == TF_OK || code == TF_DEADLINE_EXCEEDED; x = (x + 1) % 20) {
    TF_Tensor* result = NULL;
    code = run_step(r, x + 1, &result, status);
    if (code == TF_OK && !is_right(r, x + 1, result)) ++r->shared->failures;
    if (code == TF_OK) ++*r->done;
    if (code == TF_DEADLINE_EXCEEDED) ++r->shared->late;
    TF_DeleteTensor(result);
  }
  if (code != TF_CANCELLED) ++r->shared->failures;
  TF_DeleteStatus(status);
  return NULL;
}

enum { kRunners = 8, kEach = 12 };

// |step_ms| is the deadline of the steps that cannot end, of RunOptions or the session's.
static void close_under_steps(shared_t* s, int step_ms) {
  _Atomic int none = 0;
  pthread_t threads[kRunners];
  runner_t runners[kRunners] = {
      {s, "sum", 0, &s->sums},          {s, "sum", 0, &s->sums},
      {s, "put", 0, &s->puts},          {s, "put", 4, &s->puts},
      {s, "take", 0, &s->takes},        {s, "never", step_ms, &none},
      {s, "endless", step_ms, &none},   {s, "endless_calls", step_ms, &none},
  };
  for (int i = 0; i < kRunners; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, run_steps, &runners[i]), 0);
  }
  while (s->sums < kEach || s->puts < kEach || s->takes < kEach || s->late < kEach) usleep(500);
  TF_CloseSession(s->f.session, s->f.status);
  kit_ok(s->f.status);
  for (int i = 0; i < kRunners; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(s->failures, 0);
  assert_int_equal(none, 0);
}

// Instead of the session that there is, one on two devices; |timeout_ms| is its
// operation_timeout_in_ms, which ends every step that takes longer (0: none does).
static void reopen(functions_t* f, int timeout_ms) {
  const char config[] = {0x0a, 7, 0x0a, 3, 'C', 'P', 'U', 0x10, 2, 0x58, (char)timeout_ms};
  kit_close(f->session);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, config, sizeof config, f->status);
  kit_ok(f->status);
  f->session = TF_NewSession(f->graph, options, f->status);
  kit_ok(f->status);
  TF_DeleteSessionOptions(options);
}

static void test_steps_with_deadlines(void** state) {
  shared_t s = {.f = functions_open_on(kGraph, 2)};
  close_under_steps(&s, 3);
  reopen(&s.f, 0);  // the graph is none the worse for it
  assert_int_equal(functions_int(&s.f, "sum", 21), 42);
  functions_close(&s.f);
}

static void test_sessions_with_deadlines(void** state) {
  shared_t s = {.f = functions_open_on(kGraph, 2)};
  reopen(&s.f, 120);
  close_under_steps(&s, 0);
  functions_close(&s.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps_with_deadlines),
      cmocka_unit_test(test_sessions_with_deadlines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
