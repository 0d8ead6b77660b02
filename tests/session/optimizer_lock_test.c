// Steps that train the same variables at once: an optimizer's kernel reads, computes and writes
// under the locks of its variables, so that no update is lost. Threads run the same step again and
// again; each op of the list adds exactly 1 to every element of one of its variables, whole numbers
// that floats hold exactly, so that in the end the variable says how many updates it has seen. The
// variables are long, so that without the lock two updates overlap nearly always; under TSan a
// missing lock is a data race besides. Two ops that take the same variables in opposite order show
// that locks are taken in one order: else the threads may wait for each other for ever, and TSan
// reports the two orders even where they do not.
#include <string.h>

#include "base/thread.h"
#include "session/scene.h"

enum { kLength = 20000, kThreads = 4, kSteps = 60, kMaxInputs = 8 };

static leat_output_t fill(scene_t* s, float value) {
  leat_output_t dims = leat_build_int32_vector(&s->b, &(int32_t){kLength}, 1);
  return scene_binary(s, "Fill", -1, dims, scene_float(s, value));
}

typedef struct variable_s {
  leat_output_t handle, read;
  int32_t start;
} variable_t;

// A variable that starts as all zeros: a reference or a resource.
static variable_t make_variable(scene_t* s, bool is_resource, const char* name) {
  const int64_t dims[] = {kLength};
  const leat_attrs_t attrs = LEAT_ATTRS(
      LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT), LEAT_SHAPE("shape", ((leat_partial_shape_t){1, dims})),
      LEAT_STRING("shared_name", leat_string_view_from(name)));
  variable_t v;
  v.handle = scene_output(s, is_resource ? "VarHandleOp" : "VariableV2", name, "", LEAT_NO_INPUTS,
                          attrs);
  v.start = scene_node(s, is_resource ? "AssignVariableOp" : "Assign", "", "",
                       LEAT_INPUTS(v.handle, fill(s, 0)), LEAT_NO_ATTRS);
  v.read = v.handle;
  if (is_resource) {
    v.read = scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(v.handle),
                          LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  }
  return v;
}

// Letters are inputs: a and b the variables, 0 and 1 scalars, g ones of the variable's length, m
// such of minus one, i the indices of all rows.
static const struct {
  const char *op, *inputs;
  char counts;  // the variable that counts the steps
} kOps[] = {
    {"ApplyGradientDescent", "a1m", 'a'},            // var -= alpha delta
    {"ResourceApplyGradientDescent", "a1m", 'a'},
    {"ApplyMomentum", "ab0g1", 'b'},                 // accum = momentum accum + grad
    {"ResourceApplyMomentum", "ab0g1", 'b'},
    {"ResourceApplyMomentum", "ba0g1", 'a'},
    {"ResourceApplyAdagrad", "ab0g", 'b'},           // accum += grad^2
    {"ResourceSparseApplyMomentum", "ab0gi1", 'b'},
    {"ResourceSparseApplyAdagrad", "ab0gi", 'b'},
    {"SparseApplyAdagrad", "ab0gi", 'b'},
};

static int32_t make_step(scene_t* s, int which, const variable_t* a, const variable_t* b) {
  leat_output_t inputs[kMaxInputs];
  int count = 0;
  for (const char* c = kOps[which].inputs; *c; ++c) {
    leat_output_t x = LEAT_OUTPUT_NONE;
    if (*c == 'a') x = a->handle;
    if (*c == 'b') x = b->handle;
    if (*c == '0' || *c == '1') x = scene_float(s, (float)(*c - '0'));
    if (*c == 'g' || *c == 'm') x = fill(s, *c == 'g' ? 1 : -1);
    if (*c == 'i') {
      x = leat_build(&s->b, "Range",
                     LEAT_INPUTS(leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 0),
                                 leat_build_scalar(&s->b, LEAT_DTYPE_INT32, kLength),
                                 leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 1)),
                     LEAT_NO_ATTRS);
    }
    inputs[count++] = x;
  }
  return scene_node(s, kOps[which].op, "", "", (leat_outputs_t){inputs, count},
                    LEAT_ATTRS(LEAT_BOOL("use_locking", true)));
}

typedef struct worker_s {
  scene_t* scene;
  int32_t target;
  leat_status_t status;
  leat_thread_t thread;
} worker_t;

static void run_steps(void* data) {
  worker_t* worker = data;
  for (int i = 0; i < kSteps && !worker->status; ++i) {
    worker->status = scene_target(worker->scene, worker->target);
  }
}

// Every thread runs one of |targets| in turn.
static void run_all(scene_t* s, const int32_t* targets, int target_count) {
  worker_t workers[kThreads];
  scene_session(s);
  for (int i = 0; i < kThreads; ++i) {
    workers[i] = (worker_t){.scene = s, .target = targets[i % target_count]};
    LEAT_EXPECT_OK(leat_thread_start("step", run_steps, &workers[i], &workers[i].thread));
  }
  for (int i = 0; i < kThreads; ++i) leat_thread_join(workers[i].thread);
  for (int i = 0; i < kThreads; ++i) LEAT_EXPECT_OK(workers[i].status);
}

static void expect_count(scene_t* s, leat_output_t read, int wanted, const char* op) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(scene_fetch(s, read, &value));
  for (int i = 0; i < kLength; ++i) {
    const float seen = leat_tensor_data(&value, const float)[i];
    if (seen != (float)wanted) fail_msg("%s: element %d saw %g of %d", op, i, (double)seen, wanted);
  }
  leat_tensor_release(&value);
}

static void no_update_is_lost(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOps); ++i) {
    scene_t s;
    scene_open(&s);
    const bool is_resource = strstr(kOps[i].op, "Resource") != NULL;
    const variable_t a = make_variable(&s, is_resource, "a");
    const variable_t b = make_variable(&s, is_resource, "b");
    const int32_t step = make_step(&s, (int)i, &a, &b);
    LEAT_EXPECT_OK(scene_target(&s, a.start));
    LEAT_EXPECT_OK(scene_target(&s, b.start));
    run_all(&s, &step, 1);
    expect_count(&s, kOps[i].counts == 'a' ? a.read : b.read, kThreads * kSteps, kOps[i].op);
    scene_close(&s);
  }
}

static void locks_are_taken_in_one_order(void** state) {
  scene_t s;
  scene_open(&s);
  const variable_t a = make_variable(&s, true, "a"), b = make_variable(&s, true, "b");
  int32_t steps[2];
  int count = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOps); ++i) {
    if (strcmp(kOps[i].op, "ResourceApplyMomentum")) continue;
    steps[count++] = make_step(&s, (int)i, &a, &b);
  }
  assert_int_equal(count, 2);
  LEAT_EXPECT_OK(scene_target(&s, a.start));
  LEAT_EXPECT_OK(scene_target(&s, b.start));
  run_all(&s, steps, 2);
  expect_count(&s, a.read, kThreads / 2 * kSteps, "b, a");
  expect_count(&s, b.read, kThreads / 2 * kSteps, "a, b");
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_update_is_lost),
      cmocka_unit_test(locks_are_taken_in_one_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
