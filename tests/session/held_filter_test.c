// Convolutions whose filter is a variable, a constant or fed, run again and again: a kernel holds a
// filter that stays the same (ops/nn/convolution_cache_cpu.c), and whatever changes the filter
// between two steps is seen by the next step. The images are of ones, so that a result is the sum
// of the weights for its channel, which the test adds up itself from the variable's value.
//
// Whether a filter is held shows in the number of references to the variable's buffer. Where a
// transport lies between the client and the device, the client gets a copy, and only the values are
// checked.
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "device/cpu/module.h"
#include "session/scene.h"

enum { kChannels = 16, kTaps = 9 * kChannels, kWeights = kTaps * kChannels, kSize = 6 };

static bool shows_references(void) {
  return leat_cpu_onednn() != NULL && !getenv("LEAT_SESSION_TARGET");
}

static void need_onednn(void) {
#ifdef LEAT_HAVE_ONEDNN
  assert_non_null(leat_cpu_onednn());
#else
  if (!leat_cpu_onednn()) skip();
#endif
}

// A tensor of |dims|, all |value|.
static leat_output_t fill(scene_t* s, const int32_t* dims, int rank, float value) {
  return scene_binary(s, "Fill", -1, leat_build_int32_vector(&s->b, dims, rank),
                      scene_float(s, value));
}

static leat_output_t fill_filter(scene_t* s, float value) {
  return fill(s, (const int32_t[]){3, 3, kChannels, kChannels}, 4, value);
}

static leat_output_t cast(scene_t* s, leat_output_t x, int from, int to) {
  if (from == to) return x;
  return scene_output(s, "Cast", "", "", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", to)));
}

// The convolution of an image of ones, in floats.
static leat_output_t convolve(scene_t* s, leat_output_t filter, int dtype) {
  static const int64_t kStrides[] = {1, 1, 1, 1};
  const leat_output_t ones = fill(s, (const int32_t[]){1, kSize, kSize, kChannels}, 4, 1);
  const leat_output_t image = cast(s, ones, LEAT_DTYPE_FLOAT, dtype);
  const leat_output_t y = scene_output(
      s, "Conv2D", "", "", LEAT_INPUTS(image, filter),
      LEAT_ATTRS(LEAT_LIST("strides", INT, 4, ints, kStrides), LEAT_STR("padding", "VALID")));
  return cast(s, y, dtype, LEAT_DTYPE_FLOAT);
}

typedef struct variable_s {
  leat_output_t handle, read;  // |read| is the value, in |dtype|
  bool is_resource;
  int dtype;
} variable_t;

static variable_t make_variable(scene_t* s, bool is_resource, int dtype) {
  const int64_t dims[] = {3, 3, kChannels, kChannels};
  const leat_attrs_t attrs =
      LEAT_ATTRS(LEAT_TYPE("dtype", dtype), LEAT_SHAPE("shape", ((leat_partial_shape_t){4, dims})));
  variable_t v = {.is_resource = is_resource, .dtype = dtype};
  v.handle =
      scene_output(s, is_resource ? "VarHandleOp" : "VariableV2", "v", "", LEAT_NO_INPUTS, attrs);
  v.read = v.handle;
  if (is_resource) {
    v.read = scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(v.handle),
                          LEAT_ATTRS(LEAT_TYPE("dtype", dtype)));
  }
  return v;
}

static int32_t assign(scene_t* s, const variable_t* v, float value) {
  const leat_output_t x = cast(s, fill_filter(s, value), LEAT_DTYPE_FLOAT, v->dtype);
  return scene_node(s, v->is_resource ? "AssignVariableOp" : "Assign", "", "",
                    LEAT_INPUTS(v->handle, x), LEAT_NO_ATTRS);
}

// What changes a variable. Letters are inputs: v the variable, w a filter of twos, s a scalar, i
// the index of a row, r one row of that filter, b e and p the begin, end and strides of a part, x
// what is assigned to that part.
static const struct {
  const char *op, *inputs;
} kUpdates[] = {
    {"Assign", "vw"},
    {"AssignAdd", "vw"},
    {"ApplyGradientDescent", "vsw"},
    {"ScatterUpdate", "vir"},
    {"StridedSliceAssign", "vbepx"},
    {"AssignVariableOp", "vw"},
    {"AssignAddVariableOp", "vw"},
    {"ResourceApplyGradientDescent", "vsw"},
    {"ResourceScatterUpdate", "vir"},
    {"ResourceStridedSliceAssign", "vbepx"},
};

static int32_t make_update(scene_t* s, int which, const variable_t* v) {
  leat_output_t inputs[8];
  int count = 0;
  for (const char* c = kUpdates[which].inputs; *c; ++c) {
    leat_output_t x = v->handle;
    if (*c == 'w') x = fill_filter(s, 2);
    if (*c == 's') x = scene_float(s, 0.5f);
    if (*c == 'i') x = leat_build_int32_vector(&s->b, (const int32_t[]){1}, 1);
    if (*c == 'r') x = fill(s, (const int32_t[]){1, 3, kChannels, kChannels}, 4, 5);
    if (*c == 'b') x = leat_build_int32_vector(&s->b, (const int32_t[]){0, 2}, 2);
    if (*c == 'e') x = leat_build_int32_vector(&s->b, (const int32_t[]){1, 3}, 2);
    if (*c == 'p') x = leat_build_int32_vector(&s->b, (const int32_t[]){1, 1}, 2);
    if (*c == 'x') x = fill(s, (const int32_t[]){1, 1, kChannels, kChannels}, 4, 7);
    inputs[count++] = x;
  }
  return scene_node(s, kUpdates[which].op, "", "", (leat_outputs_t){inputs, count}, LEAT_NO_ATTRS);
}

// Checks that every result of |y| is the sum of the weights for its channel.
static void expect_sums(const float* y, const float* weights, const char* what) {
  for (int i = 0; i < (kSize - 2) * (kSize - 2) * kChannels; ++i) {
    double sum = 0;
    for (int t = 0; t < kTaps; ++t) sum += (double)weights[t * kChannels + i % kChannels];
    if ((double)y[i] != sum) fail_msg("%s: %g at %d, must be %g", what, (double)y[i], i, sum);
  }
}

// Runs a step and checks it against the variable's value. Returns whether the kernel holds it.
static bool step(scene_t* s, leat_output_t y, leat_output_t weights, leat_output_t read,
                 const char* what) {
  leat_tensor_t result, value;
  LEAT_EXPECT_OK(scene_fetch(s, y, &result));
  LEAT_EXPECT_OK(scene_fetch(s, weights, &value));
  expect_sums(leat_tensor_data(&result, const float), leat_tensor_data(&value, const float), what);
  leat_tensor_release(&result);
  leat_tensor_release(&value);
  LEAT_EXPECT_OK(scene_fetch(s, read, &value));
  const unsigned references = atomic_load(&value.buffer->references);
  leat_tensor_release(&value);
  return references > 2;  // the variable's and the one here
}

static void check_update(int which, const char* op, bool is_resource, int dtype) {
  scene_t s;
  scene_open(&s);
  const variable_t v = make_variable(&s, is_resource, dtype);
  const leat_output_t y = convolve(&s, v.read, dtype);
  const leat_output_t weights = cast(&s, v.read, dtype, LEAT_DTYPE_FLOAT);
  const int32_t start = assign(&s, &v, 1);
  const int32_t update = which < 0 ? assign(&s, &v, 3) : make_update(&s, which, &v);
  LEAT_EXPECT_OK(scene_target(&s, start));
  for (int round = 0; round < 3; ++round) {
    bool held = false;
    for (int i = 0; i < 12; ++i) held = step(&s, y, weights, v.read, op);
    if (shows_references()) assert_true(held);
    LEAT_EXPECT_OK(scene_target(&s, update));
    held = step(&s, y, weights, v.read, op);
    if (shows_references()) assert_false(held);
  }
  scene_close(&s);
}

static void every_update_is_seen(void** state) {
  (void)state;
  need_onednn();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kUpdates); ++i) {
    const char* op = kUpdates[i].op;
    check_update((int)i, op, strstr(op, "Resource") || strstr(op, "Variable"), LEAT_DTYPE_FLOAT);
  }
  check_update(-1, "half", false, LEAT_DTYPE_HALF);
  check_update(-1, "half", true, LEAT_DTYPE_HALF);
}

// Training: a filter is updated in every step. Its kernel tries to hold it less and less often.
static void training_is_left_alone(void** state) {
  (void)state;
  need_onednn();
  scene_t s;
  scene_open(&s);
  const variable_t v = make_variable(&s, true, LEAT_DTYPE_FLOAT);
  const leat_output_t y = convolve(&s, v.read, LEAT_DTYPE_FLOAT);
  const int32_t start = assign(&s, &v, 1);
  const int32_t update =
      scene_node(&s, "ResourceApplyGradientDescent", "", "",
                 LEAT_INPUTS(v.handle, scene_float(&s, -1), fill_filter(&s, 1)), LEAT_NO_ATTRS);
  LEAT_EXPECT_OK(scene_target(&s, start));
  int held = 0;
  for (int i = 0; i < 300; ++i) {
    held += step(&s, y, v.read, v.read, "training");
    LEAT_EXPECT_OK(scene_target(&s, update));
  }
  if (shows_references()) assert_int_equal(held, 7);
  scene_close(&s);
}

static void a_constant_is_held(void** state) {
  (void)state;
  need_onednn();
  const int64_t dims[] = {3, 3, kChannels, kChannels};
  leat_shape_t shape;
  leat_tensor_t weights;
  LEAT_EXPECT_OK(leat_shape_create(4, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &weights));
  for (int i = 0; i < kWeights; ++i) leat_tensor_data(&weights, float)[i] = (float)(i % 7 - 3);
  scene_t s;
  scene_open(&s);
  const leat_attrs_t attrs =
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT), LEAT_TENSOR("value", &weights));
  const leat_output_t constant = scene_output(&s, "Const", "", "", LEAT_NO_INPUTS, attrs);
  const leat_output_t y = convolve(&s, constant, LEAT_DTYPE_FLOAT);
  for (int i = 0; i < 5; ++i) {
    leat_tensor_t result;
    LEAT_EXPECT_OK(scene_fetch(&s, y, &result));
    expect_sums(leat_tensor_data(&result, const float), leat_tensor_data(&weights, const float),
                "Const");
    leat_tensor_release(&result);
  }
  scene_close(&s);
  leat_tensor_release(&weights);
  leat_shape_release(&shape);
}

// A client may write a tensor that it feeds between two runs, and feed the same one again.
static void a_fed_filter_may_be_written_between_steps(void** state) {
  (void)state;
  need_onednn();
  const int64_t dims[] = {3, 3, kChannels, kChannels};
  leat_shape_t shape;
  leat_tensor_t weights;
  LEAT_EXPECT_OK(leat_shape_create(4, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &weights));
  scene_t s;
  scene_open(&s);
  const leat_output_t filter = scene_placeholder(&s, "filter", LEAT_DTYPE_FLOAT);
  const leat_output_t y =
      convolve(&s, scene_unary(&s, "Identity", -1, filter), LEAT_DTYPE_FLOAT);
  for (int i = 0; i < 8; ++i) {
    for (int w = 0; w < kWeights; ++w) leat_tensor_data(&weights, float)[w] = (float)(i + w % 3);
    leat_tensor_t fed = leat_tensor_share(&weights), result;
    LEAT_EXPECT_OK(scene_run(&s, LEAT_INPUTS(filter), &fed, LEAT_INPUTS(y), &result, NULL, 0));
    expect_sums(leat_tensor_data(&result, const float), leat_tensor_data(&weights, const float),
                "feed");
    leat_tensor_release(&result);
  }
  scene_close(&s);
  leat_tensor_release(&weights);
  leat_shape_release(&shape);
}

// Steps on several threads while another one replaces the filter: the results of a step all come
// from one value of the variable.
typedef struct runner_s {
  scene_t* scene;
  leat_output_t y;
  _Atomic(int)* running;
  int wrong;
  leat_status_t status;
  leat_thread_t thread;
} runner_t;

static void run_steps(void* data) {
  runner_t* r = data;
  for (int i = 0; i < 100 && !r->status; ++i) {
    leat_tensor_t result;
    r->status = scene_fetch(r->scene, r->y, &result);
    if (r->status) break;
    const float* y = leat_tensor_data(&result, const float);
    for (int k = 0; k < (kSize - 2) * (kSize - 2) * kChannels; ++k) r->wrong += y[k] != y[0];
    const float weight = y[0] / kTaps;
    r->wrong += weight != 1 && weight != 2 && weight != 3;
    leat_tensor_release(&result);
  }
  --*r->running;
}

static void steps_may_run_at_once(void** state) {
  (void)state;
  need_onednn();
  for (int is_resource = 0; is_resource < 2; ++is_resource) {
    scene_t s;
    scene_open(&s);
    const variable_t v = make_variable(&s, is_resource, LEAT_DTYPE_FLOAT);
    const leat_output_t y = convolve(&s, v.read, LEAT_DTYPE_FLOAT);
    int32_t values[3];
    for (int i = 0; i < 3; ++i) values[i] = assign(&s, &v, (float)(i + 1));
    LEAT_EXPECT_OK(scene_target(&s, values[0]));
    runner_t runners[3];
    _Atomic(int) running = 3;
    for (int i = 0; i < 3; ++i) {
      runners[i] = (runner_t){.scene = &s, .y = y, .running = &running};
      LEAT_EXPECT_OK(leat_thread_start("step", run_steps, &runners[i], &runners[i].thread));
    }
    leat_status_t status = leat_ok_status();
    for (int i = 1; running > 0 && !status; ++i) {
      status = scene_target(&s, values[i % 3]);
      for (int k = 0; k < 20000 && running > 0; ++k) leat_cpu_relax();
    }
    for (int i = 0; i < 3; ++i) leat_thread_join(runners[i].thread);
    LEAT_EXPECT_OK(status);
    for (int i = 0; i < 3; ++i) {
      LEAT_EXPECT_OK(runners[i].status);
      assert_int_equal(runners[i].wrong, 0);
    }
    scene_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_update_is_seen),
      cmocka_unit_test(training_is_left_alone),
      cmocka_unit_test(a_constant_is_held),
      cmocka_unit_test(a_fed_filter_may_be_written_between_steps),
      cmocka_unit_test(steps_may_run_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
