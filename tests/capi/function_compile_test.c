// Functions are compiled by the first step that calls them. One thread may be known to be compiling
// here, because a kernel of the test's own is held at a gate while it is created: steps that call
// other functions must go on meanwhile, steps that call the same one wait and share the result, and
// a failure is told to all of them and then forgotten. The calls are If nodes that are not lowered,
// which the kernel of If makes through the session's function runtime. Each function's kernel
// counts how often it was created, and that count is what proves that a waiting step compiled
// nothing itself.
#include "base/clock.h"
#include "base/sync.h"
#include "base/thread.h"
#include "capi/function_kit.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

// What happens when the kernel of a node with this number is created.
typedef struct gate_s {
  leat_notification_t begun, gate;
  _Atomic(int) calls;
  _Atomic(bool) waits, fails;
} gate_t;

enum { SLOW, QUICK, GATES };
static gate_t gates[GATES];

// A function's kernels are created while it is compiled: here that is counted, held or made to
// fail, as the gate of the node's number says.
static void* create_gated(TF_OpKernelConstruction* construction) {
  TF_Status* s = TF_NewStatus();
  int32_t number = 0;
  TF_OpKernelConstruction_GetAttrInt32(construction, "number", &number, s);
  kit_ok(s);
  gate_t* gate = &gates[number];
  ++gate->calls;
  if (gate->waits) {
    leat_notification_open(&gate->begun);
    leat_notification_wait(&gate->gate, LEAT_DEADLINE_NEVER);
  }
  if (gate->fails) {
    TF_SetStatus(s, TF_UNAVAILABLE, "nobody creates it");
    TF_OpKernelConstruction_Failure(construction, s);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void compute_gated(void* kernel, TF_OpKernelContext* context) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* x = NULL;
  TF_GetInput(context, 0, &x, s);
  TF_SetOutput(context, 0, x, s);
  TF_DeleteTensor(x);
  TF_DeleteStatus(s);
}

static void register_gated(void) {
  TF_Status* s = TF_NewStatus();
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("Gated");
  TF_OpDefinitionBuilderAddInput(op, "x: float");
  TF_OpDefinitionBuilderAddOutput(op, "y: float");
  TF_OpDefinitionBuilderAddAttr(op, "number: int");
  TF_OpDefinitionBuilderSetIsStateful(op, true);
  TF_RegisterOpDefinition(op, s);
  kit_ok(s);
  TF_RegisterKernelBuilder(
      "Gated", TF_NewKernelBuilder("Gated", "CPU", create_gated, compute_gated, NULL), s);
  kit_ok(s);
  TF_DeleteStatus(s);
}

#define GATED(name, number)                                                                \
  FUNCTION(name, ARG("x", "FLOAT") OUT("y", "FLOAT"),                                      \
           DEF("g", "Gated", IN("x"), " attr { key: 'number' value { i: " number " } }")   \
           RET("y", "g:y:0"))
#define CALL(name, function)                                              \
  NODE(name, "If", IN("y") IN("x"), TYPE("Tcond", "BOOL")                 \
       TYPES("Tin", "DT_FLOAT") TYPES("Tout", "DT_FLOAT")                 \
       FUNC("then_branch", function) FUNC("else_branch", function))
// Two nodes call Slow, so that each of them asks for the function.
static const char kText[] =
    LIBRARY GATED("Slow", "0") GATED("Quick", "1") END
    NODE("x", "Placeholder", "", TYPE("dtype", "FLOAT"))
    NODE("y", "Placeholder", "", TYPE("dtype", "BOOL"))
    CALL("slow", "Slow") CALL("slow_too", "Slow") CALL("quick", "Quick");

static functions_t f;

static int open_scene(void** state) {
  static bool registered;
  if (!registered) register_gated();
  registered = true;
  for (int i = 0; i < GATES; ++i) {
    leat_notification_initialize(&gates[i].begun);
    leat_notification_initialize(&gates[i].gate);
    gates[i].calls = 0;
    gates[i].waits = gates[i].fails = false;
  }
  f = functions_open(kText);
  return 0;
}

static int close_scene(void** state) {
  functions_close(&f);
  for (int i = 0; i < GATES; ++i) {
    leat_notification_deinitialize(&gates[i].begun);
    leat_notification_deinitialize(&gates[i].gate);
  }
  return 0;
}

// A step that fetches one of the calls, on a thread of its own where |thread| is used.
typedef struct step_s {
  const char* name;
  TF_Code code;
  float value;
  _Atomic(bool) ended;
  leat_thread_t thread;
} step_t;

static void run_step(void* data) {
  step_t* step = data;
  const unsigned char yes = 1;
  TF_Status* s = TF_NewStatus();
  TF_Output feeds[] = {functions_output(&f, "x", 0), functions_output(&f, "y", 0)};
  TF_Output fetch = functions_output(&f, step->name, 0);
  TF_Tensor* values[] = {kit_float(7), kit_tensor(TF_BOOL, 0, NULL, &yes, 1)};
  TF_Tensor* result = NULL;
  TF_SessionRun(f.session, NULL, feeds, values, 2, &fetch, &result, 1, NULL, 0, NULL, s);
  step->code = TF_GetCode(s);
  if (result) step->value = kit_float_of(result);
  TF_DeleteTensor(result);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeleteStatus(s);
  step->ended = true;
}

static void start(step_t* step) {
  assert_null(leat_thread_start("step", run_step, step, &step->thread));
}

static void each_is_compiled_once(void** state) {
  const char* names[] = {"slow", "slow_too", "quick", "slow"};
  for (int i = 0; i < 4; ++i) {
    step_t step = {.name = names[i]};
    run_step(&step);
    assert_int_equal(step.code, TF_OK);
    assert_true(step.value == 7);
  }
  assert_int_equal(gates[SLOW].calls, 1);
  assert_int_equal(gates[QUICK].calls, 1);
}

// While a step compiles Slow, one that calls Quick for the first time and one whose function is
// there already end; another one that wants Slow waits, and compiles nothing itself.
static void others_go_on_meanwhile(void** state) {
  gates[SLOW].waits = true;
  step_t a = {.name = "slow"}, b = {.name = "slow_too"};
  start(&a);
  leat_notification_wait(&gates[SLOW].begun, LEAT_DEADLINE_NEVER);
  start(&b);
  for (int i = 0; i < 2; ++i) {
    step_t c = {.name = "quick"};
    start(&c);
    // A step that is held up would never end, which a test must not wait for.
    for (int waits = 0; !c.ended && waits < 60000; ++waits) leat_clock_sleep_ns(1000000);
    const bool held_up = !c.ended;
    if (held_up) leat_notification_open(&gates[SLOW].gate);
    leat_thread_join(c.thread);
    assert_false(held_up);
    assert_int_equal(c.code, TF_OK);
  }
  assert_false(a.ended);
  leat_clock_sleep_ns(20000000);  // gives the second step the time to compile, if it did
  assert_false(b.ended);
  leat_notification_open(&gates[SLOW].gate);
  leat_thread_join(a.thread);
  leat_thread_join(b.thread);
  assert_int_equal(a.code, TF_OK);
  assert_int_equal(b.code, TF_OK);
  assert_true(a.value == 7 && b.value == 7);
  assert_int_equal(gates[SLOW].calls, 1);
  assert_int_equal(gates[QUICK].calls, 1);
}

// Whoever waited gets the failure too; the next step compiles anew.
static void failures_are_forgotten(void** state) {
  gates[SLOW].waits = gates[SLOW].fails = true;
  step_t a = {.name = "slow"}, b = {.name = "slow_too"}, again = {.name = "slow"};
  start(&a);
  leat_notification_wait(&gates[SLOW].begun, LEAT_DEADLINE_NEVER);
  start(&b);
  leat_clock_sleep_ns(20000000);
  leat_notification_open(&gates[SLOW].gate);
  leat_thread_join(a.thread);
  leat_thread_join(b.thread);
  assert_int_equal(a.code, TF_UNAVAILABLE);
  assert_int_equal(b.code, TF_UNAVAILABLE);
  gates[SLOW].waits = false;
  int calls = gates[SLOW].calls;
  assert_in_range(calls, 1, 2);  // the second step may have been so late that it began anew
  for (int i = 0; i < 3; ++i) {
    run_step(&again);
    assert_int_equal(again.code, TF_UNAVAILABLE);
    assert_int_equal(gates[SLOW].calls, ++calls);
  }
  gates[SLOW].fails = false;
  run_step(&again);
  assert_int_equal(again.code, TF_OK);
  assert_true(again.value == 7);
  assert_int_equal(gates[SLOW].calls, calls + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(each_is_compiled_once, open_scene, close_scene),
      cmocka_unit_test_setup_teardown(others_go_on_meanwhile, open_scene, close_scene),
      cmocka_unit_test_setup_teardown(failures_are_forgotten, open_scene, close_scene),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
