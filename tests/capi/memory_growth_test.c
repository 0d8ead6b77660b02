// Whatever a program may repeat for weeks must not take memory that grows: partial runs, failing
// steps, ops that run one by one. Each case does its round N times, reads how much memory the
// process has allocated, and does the round 9 N times more. The first N rounds fill what is allowed
// to stay (pools of buffers, signatures that are compiled once, a thread's own lists). What grows
// by design is the number of READY signatures of a session: one for each combination of feeds,
// fetches and targets that could be compiled, as in TensorFlow (SECURITY.md). Here those that
// succeed differ in a bounded number of ways.
#include <malloc.h>
#include <stdio.h>

#include "capi/function_kit.h"
#include "tensorflow/c/eager/c_api.h"

// Under a sanitizer malloc is the sanitizer's.
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

enum { MOST_GROWTH = 64 << 10 };

static bool is_sanitized(void) { return __sanitizer_get_current_allocated_bytes != NULL; }

static size_t allocated(void) {
  if (is_sanitized()) return __sanitizer_get_current_allocated_bytes();
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

typedef void (*round_t)(void* data, int number);

static void expect_flat(const char* what, round_t round, void* data) {
  const int rounds = is_sanitized() ? 40 : 2000;
  int number = 0;
  for (; number < rounds; ++number) round(data, number);
  size_t before = allocated();
  for (; number < 10 * rounds; ++number) round(data, number);
  size_t after = allocated();
  if (after > before + MOST_GROWTH) {
    fail_msg("%s: %zu bytes after %d rounds, %zu after %d: %zu a round", what, before, rounds,
             after, number, (after - before) / (size_t)(number - rounds));
  }
}

// ---- Partial runs -------------------------------------------------------------------------------

// c = a + b, d = c * b; a and b are fed.
typedef struct model_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Output a, b, c, d;
  TF_Status* status;
} model_t;

static void open_model(model_t* m) {
  m->graph = TF_NewGraph();
  m->status = TF_NewStatus();
  TF_Operation* a = kit_placeholder(m->graph, "a", TF_FLOAT);
  TF_Operation* b = kit_placeholder(m->graph, "b", TF_FLOAT);
  TF_Operation* c = kit_binary(m->graph, "AddV2", "c", a, b);
  m->a = kit_out(a, 0);
  m->b = kit_out(b, 0);
  m->c = kit_out(c, 0);
  m->d = kit_out(kit_binary(m->graph, "Mul", "d", c, b), 0);
  m->session = kit_session(m->graph);
}

static void close_model(model_t* m) {
  kit_close(m->session);
  TF_DeleteGraph(m->graph);
  TF_DeleteStatus(m->status);
}

// A whole partial run: a, then b and |fetch|.
static void run_in_parts(model_t* m, const TF_Output* feeds, const TF_Output* fetch,
                         float expected) {
  const char* handle;
  TF_SessionPRunSetup(m->session, feeds, 2, fetch, 1, NULL, 0, &handle, m->status);
  kit_ok(m->status);
  TF_Tensor* values[] = {kit_float(2), kit_float(3)};
  TF_Tensor* fetched = NULL;
  TF_SessionPRun(m->session, handle, &m->a, values, 1, NULL, NULL, 0, NULL, 0, m->status);
  kit_ok(m->status);
  TF_SessionPRun(m->session, handle, &m->b, &values[1], 1, fetch, &fetched, 1, NULL, 0, m->status);
  kit_ok(m->status);
  assert_true(kit_float_of(fetched) == expected);
  TF_DeleteTensor(fetched);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeletePRunHandle(handle);
}

static void same_partial_run(void* data, int number) {
  model_t* m = data;
  run_in_parts(m, (const TF_Output[]){m->a, m->b}, &m->d, 15);
}

static void different_partial_runs(void* data, int number) {
  model_t* m = data;
  const TF_Output feeds[2][2] = {{m->a, m->b}, {m->b, m->a}};
  run_in_parts(m, feeds[number % 2], number % 4 < 2 ? &m->c : &m->d, number % 4 < 2 ? 5 : 15);
}

// What fails: a feed that there is not, nothing to fetch, a feed given twice.
static void failing_setup(void* data, int number) {
  model_t* m = data;
  const char* handle = NULL;
  const TF_Output bad = {m->a.oper, 7 + number}, twice[] = {m->a, m->a};
  const TF_Output* feeds = number % 3 == 0 ? &bad : number % 3 == 1 ? &m->a : twice;
  TF_SessionPRunSetup(m->session, feeds, number % 3 == 2 ? 2 : 1, &m->c, number % 3 != 1, NULL, 0,
                      &handle, m->status);
  assert_int_not_equal(TF_GetCode(m->status), TF_OK);
  assert_null(handle);
}

static void of_partial_runs(void** state) {
  model_t m;
  open_model(&m);
  expect_flat("partial runs of one signature", same_partial_run, &m);
  expect_flat("partial runs of several signatures", different_partial_runs, &m);
  expect_flat("partial runs that cannot be set up", failing_setup, &m);
  close_model(&m);
}

// ---- Steps that fail ----------------------------------------------------------------------------

// Six ways in which a step fails, with a signature of its own each time where that is possible.
static void failing_step(void* data, int number) {
  model_t* m = data;
  const int way = number % 6;
  const int32_t integer = 1;
  TF_Output feeds[] = {m->a, m->b}, fetch = m->d;
  TF_Tensor* values[] = {kit_float(1), kit_float(2)};
  TF_Tensor* fetched = NULL;
  int count = 2;
  if (way == 0) fetch.index = 1 + number;                 // no such output
  if (way == 1) count = 1;                                // |b| is not fed
  if (way == 2) feeds[1] = m->a;                          // fed twice
  if (way == 3) fetch = m->a;                             // fed and fetched
  if (way == 4) {                                         // a feed of another type
    TF_DeleteTensor(values[0]);
    values[0] = kit_int32(integer);
  }
  if (way == 5) {                                         // the kernel fails
    const int64_t dims[] = {1 + number % 50};
    const float many[50] = {0};
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
    values[0] = kit_tensor(TF_FLOAT, 1, dims, many, (size_t)dims[0] * sizeof(float));
    values[1] = kit_floats(51, (const float[51]){0});
    if (dims[0] == 1) fetch.index = 9;  // a length of 1 is broadcast
  }
  TF_SessionRun(m->session, NULL, feeds, values, count, &fetch, &fetched, 1, NULL, 0, NULL,
                m->status);
  if (TF_GetCode(m->status) == TF_OK) fail_msg("way %d did not fail", way);
  assert_null(fetched);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
}

static void of_failing_steps(void** state) {
  model_t m;
  open_model(&m);
  expect_flat("steps that fail", failing_step, &m);
  close_model(&m);
}

#define CALL(name, function)                              \
  NODE(name, "If", IN("y") IN("x"), TYPE("Tcond", "BOOL") \
       TYPES("Tin", "DT_FLOAT") TYPES("Tout", "DT_FLOAT") \
       FUNC("then_branch", function) FUNC("else_branch", function))

// A step whose function cannot be compiled, since its body calls one that is not defined.
static void failing_call(void* data, int number) {
  const unsigned char yes = 1;
  functions_t* f = data;
  TF_Output feeds[] = {functions_output(f, "x", 0), functions_output(f, "y", 0)};
  TF_Output fetch = functions_output(f, "call", 0);
  TF_Tensor* values[] = {kit_float(7), kit_tensor(TF_BOOL, 0, NULL, &yes, 1)};
  TF_Tensor* result = NULL;
  TF_SessionRun(f->session, NULL, feeds, values, 2, &fetch, &result, 1, NULL, 0, NULL, f->status);
  assert_int_not_equal(TF_GetCode(f->status), TF_OK);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
}

static void of_failing_functions(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Broken", ARG("x", "FLOAT") OUT("y", "FLOAT"),
                       DEF("g", "NobodyDefinesThis", IN("x"), "") RET("y", "g:y:0")) END
      NODE("x", "Placeholder", "", TYPE("dtype", "FLOAT"))
      NODE("y", "Placeholder", "", TYPE("dtype", "BOOL")) CALL("call", "Broken"));
  expect_flat("calls of a function that cannot be compiled", failing_call, &f);
  functions_close(&f);
}

// ---- Eager --------------------------------------------------------------------------------------

typedef struct eager_s {
  TFE_Context* context;
  TF_Status* status;
} eager_t;

static TFE_TensorHandle* vector(eager_t* e, int64_t length) {
  static const float zeros[500] = {0};
  TF_Tensor* tensor = kit_floats(length, zeros);
  TFE_TensorHandle* handle = TFE_NewTensorHandle(tensor, e->status);
  kit_ok(e->status);
  TF_DeleteTensor(tensor);
  return handle;
}

static void execute(eager_t* e, TFE_Op* op, bool succeeds) {
  TFE_TensorHandle* result = NULL;
  int count = 1;
  TFE_Execute(op, &result, &count, e->status);
  assert_int_equal(TF_GetCode(e->status) == TF_OK, succeeds);
  if (succeeds) TFE_DeleteTensorHandle(result);
  TFE_DeleteOp(op);
}

static void changing_shapes(void* data, int number) {
  eager_t* e = data;
  TFE_TensorHandle *x = vector(e, 1 + number % 499), *y = vector(e, 1 + number % 499);
  TFE_Op* op = TFE_NewOp(e->context, "AddV2", e->status);
  TFE_OpAddInput(op, x, e->status);
  TFE_OpAddInput(op, y, e->status);
  execute(e, op, true);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
}

// Each number needs a kernel of its own, of which a context keeps at most 1024. With a sanitizer
// there are not enough rounds to reach that, and what is kept is given back now and then.
static void changing_attributes(void* data, int number) {
  eager_t* e = data;
  if (is_sanitized() && number % 20 == 0) TFE_ContextClearCaches(e->context);
  TFE_TensorHandle* x = vector(e, 3);
  TFE_Op* op = TFE_NewOp(e->context, "LeakyRelu", e->status);
  TFE_OpAddInput(op, x, e->status);
  TFE_OpSetAttrFloat(op, "alpha", (float)number / 100000.0f);
  execute(e, op, true);
  TFE_DeleteTensorHandle(x);
}

static void failing_ops(void* data, int number) {
  eager_t* e = data;
  TFE_TensorHandle *x = vector(e, 2 + number % 99), *y = vector(e, 200);
  TFE_Op* op = TFE_NewOp(e->context, "AddV2", e->status);
  TFE_OpAddInput(op, x, e->status);
  TFE_OpAddInput(op, y, e->status);
  execute(e, op, false);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
}

static void of_eager_ops(void** state) {
  eager_t e = {NULL, TF_NewStatus()};
  TFE_ContextOptions* options = TFE_NewContextOptions();
  e.context = TFE_NewContext(options, e.status);
  kit_ok(e.status);
  TFE_DeleteContextOptions(options);
  expect_flat("eager ops of changing shapes", changing_shapes, &e);
  expect_flat("eager ops of changing attributes", changing_attributes, &e);
  expect_flat("eager ops that fail", failing_ops, &e);
  TFE_DeleteContext(e.context);
  TF_DeleteStatus(e.status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_partial_runs),
      cmocka_unit_test(of_failing_steps),
      cmocka_unit_test(of_failing_functions),
      cmocka_unit_test(of_eager_ops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
