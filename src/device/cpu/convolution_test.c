// Three implementations of the convolution (the portable one, oneDNN's, and the plans that choose
// and cut the work) against seven nested loops in double. Each runs in three directions: forward,
// gradient of the input, gradient of the filter. The shapes in |small_shapes| each have one thing
// that is easily wrong: strides, dilations, uneven padding, groups, windows that leave the input,
// empty batches. With a pool the results must have the same bits as without one, and a primitive
// that one thread made is run by two others at once. The element types share one set of tests,
// convolution_test_types.inc, which is included for each type with the error that its rounding
// allows.
#include "device/cpu/convolution.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/test.h"
#include "device/cpu/convolution_plan.h"
#include "device/cpu/half.h"
#include "device/cpu/module.h"
#include "device/cpu/pool_test.h"

typedef struct small_shape_s {
  int batch, in_height, in_width, in_channels, filter_height, filter_width, out_channels;
  int stride_height, stride_width, dilation_height, dilation_width;
  int pad_top, pad_bottom, pad_left, pad_right, groups;
} small_shape_t;

static const small_shape_t small_shapes[] = {
    {2, 7, 9, 3, 3, 3, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1},     // same
    {1, 8, 8, 1, 5, 5, 32, 1, 1, 1, 1, 2, 2, 2, 2, 1},    // one channel
    {2, 8, 7, 4, 3, 2, 6, 2, 1, 1, 1, 0, 0, 0, 0, 1},     // valid, stride
    {3, 9, 9, 2, 3, 3, 4, 2, 2, 1, 1, 0, 1, 0, 1, 1},     // uneven padding
    {1, 12, 11, 5, 3, 3, 7, 1, 1, 2, 3, 2, 2, 3, 3, 1},   // dilation
    {2, 6, 6, 16, 1, 1, 24, 1, 1, 1, 1, 0, 0, 0, 0, 1},   // pointwise
    {2, 6, 6, 16, 1, 1, 24, 2, 2, 1, 1, 0, 0, 0, 0, 1},   // pointwise, stride
    {1, 10, 10, 64, 3, 3, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, // winograd where there is one
    {2, 9, 8, 8, 3, 3, 12, 1, 1, 1, 1, 1, 1, 1, 1, 4},    // groups
    {2, 9, 8, 6, 3, 3, 12, 2, 2, 1, 1, 1, 1, 1, 1, 6},    // depthwise, multiplier 2
    {1, 4, 4, 2, 6, 6, 3, 1, 1, 1, 1, 3, 3, 3, 3, 1},     // filter larger than the input
    {1, 3, 3, 2, 1, 1, 3, 1, 1, 1, 1, 4, 2, 0, 5, 1},     // windows of padding only
    {1, 5, 1, 1, 5, 1, 1, 1, 1, 1, 1, 2, 2, 0, 0, 1},     // a column
    {0, 5, 5, 2, 3, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1},     // no images
    {1, 40, 40, 3, 7, 7, 16, 2, 2, 1, 1, 3, 3, 3, 3, 1},  // many tiles
    {1, 32, 32, 16, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1},  // bands of rows
    {1, 33, 30, 16, 5, 3, 32, 2, 1, 2, 1, 4, 4, 1, 1, 1},  // bands, stride and dilation
    {5, 16, 16, 16, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1},  // uneven shares of images
};

static int64_t out_size(int in, int filter, int stride, int dilation, int before, int after) {
  return (in + before + after - ((filter - 1) * dilation + 1)) / stride + 1;
}

static leat_convolution_shape_t make_shape(const small_shape_t* s) {
  const leat_convolution_shape_t shape = {
      .batch = s->batch,
      .in_height = s->in_height,
      .in_width = s->in_width,
      .in_channels = s->in_channels,
      .filter_height = s->filter_height,
      .filter_width = s->filter_width,
      .out_height = out_size(s->in_height, s->filter_height, s->stride_height, s->dilation_height,
                             s->pad_top, s->pad_bottom),
      .out_width = out_size(s->in_width, s->filter_width, s->stride_width, s->dilation_width,
                            s->pad_left, s->pad_right),
      .out_channels = s->out_channels,
      .stride_height = s->stride_height,
      .stride_width = s->stride_width,
      .dilation_height = s->dilation_height,
      .dilation_width = s->dilation_width,
      .pad_top = s->pad_top,
      .pad_left = s->pad_left,
      .groups = s->groups,
  };
  return shape;
}

// Input, filter and output by number.
typedef struct arrays_s {
  leat_convolution_shape_t shape;
  int64_t counts[3];
  double* exact[3];  // what the direction computes from the two others
  double* given[3];
} arrays_t;

// One product of the sum, in whatever direction.
static void add_product(arrays_t* a, int64_t in, int64_t filter, int64_t out) {
  a->exact[2][out] += a->given[0][in] * a->given[1][filter];
  a->exact[0][in] += a->given[2][out] * a->given[1][filter];
  a->exact[1][filter] += a->given[0][in] * a->given[2][out];
}

static void add_window(arrays_t* a, int64_t b, int64_t y, int64_t x) {
  const leat_convolution_shape_t* s = &a->shape;
  const int64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups;
  for (int64_t h = 0; h < s->filter_height; ++h) {
    const int64_t iy = y * s->stride_height + h * s->dilation_height - s->pad_top;
    for (int64_t w = 0; w < s->filter_width; ++w) {
      const int64_t ix = x * s->stride_width + w * s->dilation_width - s->pad_left;
      if (iy < 0 || iy >= s->in_height || ix < 0 || ix >= s->in_width) continue;
      for (int64_t o = 0; o < s->out_channels; ++o) {
        for (int64_t i = 0; i < in; ++i) {
          add_product(a, ((b * s->in_height + iy) * s->in_width + ix) * s->in_channels +
                             o / out * in + i,
                      ((h * s->filter_width + w) * in + i) * s->out_channels + o,
                      ((b * s->out_height + y) * s->out_width + x) * s->out_channels + o);
        }
      }
    }
  }
}

// Values are small integers over |scale|, so that every type holds them exactly.
static arrays_t make_arrays(const small_shape_t* small, int range, double scale) {
  arrays_t a = {.shape = make_shape(small)};
  assert_true(leat_convolution_is_valid(&a.shape));
  a.counts[0] = leat_convolution_input_count(&a.shape);
  a.counts[1] = leat_convolution_filter_count(&a.shape);
  a.counts[2] = leat_convolution_output_count(&a.shape);
  for (int i = 0; i < 3; ++i) {
    a.exact[i] = calloc((size_t)a.counts[i] + 1, sizeof(double));
    a.given[i] = calloc((size_t)a.counts[i] + 1, sizeof(double));
    for (int64_t t = 0; t < a.counts[i]; ++t) {
      a.given[i][t] = (double)(lrand48() % (2 * range + 1) - range) / scale;
    }
  }
  for (int64_t b = 0; b < a.shape.batch; ++b) {
    for (int64_t y = 0; y < a.shape.out_height; ++y) {
      for (int64_t x = 0; x < a.shape.out_width; ++x) add_window(&a, b, y, x);
    }
  }
  return a;
}

static void free_arrays(arrays_t* a) {
  for (int i = 0; i < 3; ++i) {
    free(a->exact[i]);
    free(a->given[i]);
  }
}

// Numbers of first, second and result by direction.
static const int roles[3][3] = {{0, 1, 2}, {1, 2, 0}, {0, 2, 1}};

static void* allocate(size_t bytes) {
  void* memory = NULL;
  assert_int_equal(posix_memalign(&memory, 64, bytes + 64), 0);
  memset(memory, 0x7f, bytes + 64);
  return memory;
}

#define PLAIN(x) (x)

#define TYPE float
#define SUFFIX(name) name##_f32
#define WORKSPACE_BYTES leat_convolution_f32_workspace_bytes
#define RANGE 100
#define SCALE 64.0
#define FROM PLAIN
#define TO PLAIN
#define RELATIVE 1e-5
#define ABSOLUTE 1e-3
#include "device/cpu/convolution_test_types.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#define WORKSPACE_BYTES leat_convolution_f64_workspace_bytes
#define RANGE 100
#define SCALE 64.0
#define FROM PLAIN
#define TO PLAIN
#define RELATIVE 1e-13
#define ABSOLUTE 1e-13
#include "device/cpu/convolution_test_types.inc"

#define TYPE int32_t
#define SUFFIX(name) name##_i32
#define WORKSPACE_BYTES leat_convolution_i32_workspace_bytes
#define RANGE 1000
#define SCALE 1.0
#define FROM (int32_t)
#define TO PLAIN
#define RELATIVE 0
#define ABSOLUTE 0
#include "device/cpu/convolution_test_types.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_f16
#define WORKSPACE_BYTES leat_convolution_f16_workspace_bytes
#define RANGE 20
#define SCALE 16.0
#define FROM leat_half_from_float
#define TO leat_half_to_float
#define RELATIVE 0x1p-11
#define ABSOLUTE 1e-3
#include "device/cpu/convolution_test_types.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_bf16
#define WORKSPACE_BYTES leat_convolution_bf16_workspace_bytes
#define RANGE 20
#define SCALE 16.0
#define FROM leat_bfloat16_from_float
#define TO leat_bfloat16_to_float
#define RELATIVE 0x1p-8
#define ABSOLUTE 1e-3
#include "device/cpu/convolution_test_types.inc"

static void test_validity(void** state) {
  (void)state;
  const leat_convolution_shape_t good = make_shape(&small_shapes[0]);
  assert_true(leat_convolution_is_valid(&good));
  leat_convolution_shape_t s = good;
  s.groups = 2;
  assert_false(leat_convolution_is_valid(&s));
  s = good;
  s.stride_width = 0;
  assert_false(leat_convolution_is_valid(&s));
  s = good;
  s.batch = INT64_MAX / 4;
  assert_false(leat_convolution_is_valid(&s));
  s = good;
  s.pad_left = -1;
  assert_false(leat_convolution_is_valid(&s));
  s = good;
  s.stride_height = INT64_MAX / 2;
  assert_false(leat_convolution_is_valid(&s));
}

// A module that was built must load; its tests are skipped only where it was left out.
static const leat_onednn_module_t* need_onednn(void) {
  const leat_onednn_module_t* module = leat_cpu_onednn();
#ifdef LEAT_HAVE_ONEDNN
  assert_non_null(module);
#else
  if (!module) skip();
#endif
  return module;
}

static void check_onednn(const leat_onednn_module_t* module, const small_shape_t* small, int d,
                         int* inout_served) {
  arrays_t a = make_arrays(small, 100, 64.0);
  leat_onednn_convolution_t* convolution = NULL;
  const int code = module->convolution_create(d, &a.shape, 0, &convolution);
  if (code == LEAT_OK) {
    ++*inout_served;
    float* data[3];
    for (int r = 0; r < 3; ++r) {
      data[r] = allocate((size_t)a.counts[roles[d][r]] * sizeof(float));
      for (int64_t t = 0; t < a.counts[roles[d][r]]; ++t) {
        data[r][t] = (float)a.given[roles[d][r]][t];
      }
    }
    void* scratch = allocate(module->convolution_scratch_bytes(convolution));
    assert_int_equal(
        module->convolution_execute(convolution, data[0], data[1], NULL, data[2], scratch), 0);
    for (int64_t t = 0; t < a.counts[roles[d][2]]; ++t) {
      const double exact = a.exact[roles[d][2]][t];
      if (!(fabs(data[2][t] - exact) <= 1e-5 * fabs(exact) + 1e-3)) {
        fail_msg("%s, direction %d at %ld: %g, must be %g", module->convolution_name(convolution),
                 d, (long)t, (double)data[2][t], exact);
      }
    }
    free(scratch);
    for (int r = 0; r < 3; ++r) free(data[r]);
  } else {
    assert_int_equal(code, LEAT_UNIMPLEMENTED);
  }
  module->convolution_destroy(convolution);
  free_arrays(&a);
}

static void test_onednn(void** state) {
  (void)state;
  const leat_onednn_module_t* module = need_onednn();
  int served = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(small_shapes); ++i) {
    if (small_shapes[i].batch == 0) continue;
    for (int d = 0; d < 3; ++d) check_onednn(module, &small_shapes[i], d, &served);
  }
  printf("oneDNN %s serves %d of %zu\n", module->version, served,
         3 * (LEAT_ARRAY_SIZE(small_shapes) - 1));
  assert_true(served > 0);
}

// Bias, and a filter laid out once.
static void test_onednn_epilogue(void** state) {
  (void)state;
  const leat_onednn_module_t* module = need_onednn();
  arrays_t a = make_arrays(&small_shapes[7], 100, 64.0);
  leat_onednn_convolution_t* convolution = NULL;
  assert_int_equal(module->convolution_create(0, &a.shape, LEAT_ONEDNN_BIAS, &convolution),
                   LEAT_OK);
  float* data[3];
  for (int r = 0; r < 3; ++r) {
    data[r] = allocate((size_t)a.counts[r] * sizeof(float));
    for (int64_t t = 0; t < a.counts[r]; ++t) data[r][t] = (float)a.given[r][t];
  }
  float bias[64];
  for (int o = 0; o < 64; ++o) bias[o] = (float)o - 30;
  void* scratch = allocate(module->convolution_scratch_bytes(convolution));
  for (int packed = 0; packed < 2; ++packed) {
    const size_t bytes = module->convolution_packed_filter_bytes(convolution);
    if (packed && bytes == 0) break;
    void* filter = allocate(bytes);
    if (packed) {
      assert_int_equal(module->convolution_pack_filter(convolution, data[1], filter, scratch), 0);
      assert_int_equal(module->convolution_execute_packed(convolution, data[0], filter, bias,
                                                          data[2], scratch), LEAT_OK);
    } else {
      assert_int_equal(module->convolution_execute(convolution, data[0], data[1], bias, data[2],
                                                   scratch), LEAT_OK);
    }
    for (int64_t t = 0; t < a.counts[2]; ++t) {
      const double sum = a.exact[2][t] + bias[t % 64];
      assert_true(fabs(data[2][t] - sum) <= 1e-5 * fabs(sum) + 1e-3);
    }
    free(filter);
  }
  free(scratch);
  for (int r = 0; r < 3; ++r) free(data[r]);
  module->convolution_destroy(convolution);
  free_arrays(&a);
}

typedef struct runner_s {
  const leat_onednn_module_t* module;
  leat_onednn_convolution_t* convolution;
  const arrays_t* arrays;
  const float* input;
  const float* filter;
  bool is_right;
} runner_t;

static void* run_on_thread(void* data) {
  runner_t* runner = data;
  const arrays_t* a = runner->arrays;
  float* output = allocate((size_t)a->counts[2] * sizeof(float));
  void* scratch = allocate(runner->module->convolution_scratch_bytes(runner->convolution));
  runner->is_right = true;
  for (int i = 0; i < 200; ++i) {
    memset(output, 0, (size_t)a->counts[2] * sizeof(float));
    const int code = runner->module->convolution_execute(
        runner->convolution, runner->input, runner->filter, NULL, output, scratch);
    if (code != LEAT_OK) runner->is_right = false;
    for (int64_t t = 0; t < a->counts[2]; t += 17) {
      const double exact = a->exact[2][t];
      if (!(fabs(output[t] - exact) <= 1e-5 * fabs(exact) + 1e-3)) runner->is_right = false;
    }
  }
  free(scratch);
  free(output);
  return NULL;
}

static int count_threads(void) {
  char* text = NULL;
  size_t size = 0;
  leat_status_t status = leat_file_read_all(leat_file_system_posix(), "/proc/self/status",
                                            leat_allocator_system(), &text, &size);
  assert_true(leat_status_is_ok(status));
  const char* line = strstr(text, "Threads:");
  const int count = line ? atoi(line + 8) : -1;
  leat_allocator_free(leat_allocator_system(), text);
  return count;
}

// Waits, a minute at most: a thread that was joined still takes a moment to vanish.
static void expect_threads_at_most(int count) {
  for (int i = 0; count_threads() > count && i < 60000; ++i) leat_clock_sleep_ns(1000000);
  assert_true(count_threads() <= count);
}

// Made here, run on two other threads at once; oneDNN's own threads, which would stay, never come.
static void test_onednn_threads(void** state) {
  (void)state;
  const leat_onednn_module_t* module = need_onednn();
  const int before = count_threads();
  for (int which = 7; which <= 14; which += 7) {
    arrays_t a = make_arrays(&small_shapes[which], 100, 64.0);
    float* data[2];
    for (int r = 0; r < 2; ++r) {
      data[r] = allocate((size_t)a.counts[r] * sizeof(float));
      for (int64_t t = 0; t < a.counts[r]; ++t) data[r][t] = (float)a.given[r][t];
    }
    leat_onednn_convolution_t* convolution = NULL;
    assert_int_equal(module->convolution_create(0, &a.shape, 0, &convolution), LEAT_OK);
    runner_t runners[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
      runners[i] = (runner_t){module, convolution, &a, data[0], data[1], false};
      assert_int_equal(pthread_create(&threads[i], NULL, run_on_thread, &runners[i]), 0);
    }
    expect_threads_at_most(before + 2);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    assert_true(runners[0].is_right && runners[1].is_right);
    module->convolution_destroy(convolution);
    for (int r = 0; r < 2; ++r) free(data[r]);
    free_arrays(&a);
  }
  expect_threads_at_most(before);
}

// What a step is told of: it adds a bias unless that was done, makes negative numbers 0 and adds a
// number that differs from row to row.
typedef struct recorder_s {
  leat_row_step_t step;
  int64_t channels;
  const float* bias;
  bool more;  // there is more to do than the bias
  _Atomic int* calls;  // for each row
} recorder_t;

static float after(float x, bool more, int64_t row) {
  return more ? (x < 0 ? 0 : x) + (float)(row % 5) : x;
}

static void record(void* data, void* rows, int64_t first, int64_t count, bool has_bias) {
  recorder_t* r = data;
  float* x = rows;
  for (int64_t row = 0; row < count; ++row) {
    ++r->calls[first + row];
    for (int64_t o = 0; o < r->channels; ++o, ++x) {
      *x = after(has_bias ? *x : *x + r->bias[o], r->more, first + row);
    }
  }
}

static void check_values(const arrays_t* a, int d, int flags, const recorder_t* r,
                         const float* result, const char* plan) {
  const int64_t channels = a->shape.out_channels;
  double largest = 0, error = 0;
  for (int64_t t = 0; t < a->counts[roles[d][2]]; ++t) {
    double exact = a->exact[roles[d][2]][t];
    if (flags & (LEAT_CONVOLUTION_BIAS | LEAT_CONVOLUTION_STEP)) {
      exact += r->bias[t % channels];
      if (r->more) exact = (exact < 0 ? 0 : exact) + (double)(t / channels % 5);
      const int calls = r->calls[t / channels];
      const bool by_onednn = !r->more && !strncmp(plan, "oneDNN", 6);
      if (calls != !by_onednn) fail_msg("%s: %d calls for row %ld", plan, calls,
                                        (long)(t / channels));
    }
    largest = fmax(largest, fabs(exact));
    error = isnan(result[t]) ? INFINITY : fmax(error, fabs(result[t] - exact));
  }
  // A few roundings of the largest result: what Winograd's algorithm and long sums need.
  if (error > 3e-6 * largest) {
    fail_msg("%s, direction %d flags %d: an error of %g beside %g", plan, d, flags, error, largest);
  }
}

// Runs a plan twice: the first run packs the filter where the plan wants it packed, the second has
// it packed before and must give the same bits without a look at the plain one. Returns the plan's
// name.
static const char* check_plan(const arrays_t* a, int d, int flags, int width,
                              leat_thread_pool_t* pool) {
  static char name[80];
  leat_convolution_plan_t* plan = NULL;
  leat_status_t status =
      leat_convolution_plan_create(d, &a->shape, flags, width, leat_allocator_system(), &plan);
  assert_true(leat_status_is_ok(status));
  float* data[3];
  for (int r = 0; r < 3; ++r) {
    data[r] = allocate((size_t)a->counts[roles[d][r]] * sizeof(float));
    for (int64_t t = 0; t < a->counts[roles[d][r]]; ++t) {
      data[r][t] = (float)a->given[roles[d][r]][t];
    }
  }
  float bias[64];
  for (int o = 0; o < 64; ++o) bias[o] = (float)o - 10;
  const size_t rows = (size_t)(a->counts[2] / a->shape.out_channels);
  const size_t bytes = leat_convolution_plan_workspace_bytes(plan);
  char* workspace = allocate(bytes);
  const size_t packed_bytes = leat_convolution_plan_packed_bytes(plan);
  char* packed = allocate(packed_bytes);
  float* result = allocate((size_t)a->counts[roles[d][2]] * sizeof(float));
  for (int step = 0; step < 2; ++step) {
    float* filter = data[roles[d][0] == 1 ? 0 : 1];
    if (step == 1 && packed_bytes > 0) {
      assert_int_not_equal(roles[d][2], 1);
      status = leat_convolution_plan_pack(plan, filter, workspace, packed);
      assert_true(leat_status_is_ok(status));
      memset(filter, 0xff, (size_t)a->counts[1] * sizeof(float));
    }
    recorder_t r = {.channels = a->shape.out_channels,
                    .bias = bias,
                    .more = flags & LEAT_CONVOLUTION_STEP,
                    .calls = calloc(rows + 1, sizeof *r.calls)};
    r.step = (leat_row_step_t){record, &r, flags & LEAT_CONVOLUTION_BIAS ? bias : NULL, !r.more};
    const bool has_step = flags & (LEAT_CONVOLUTION_BIAS | LEAT_CONVOLUTION_STEP);
    status = leat_convolution_plan_run(plan, data[0], data[1],
                                       step == 1 && packed_bytes > 0 ? packed : NULL,
                                       has_step ? &r.step : NULL, data[2], workspace, pool);
    assert_true(leat_status_is_ok(status));
    check_values(a, d, flags, &r, data[2], leat_convolution_plan_name(plan));
    const size_t result_bytes = (size_t)a->counts[roles[d][2]] * sizeof(float);
    if (step == 1) assert_memory_equal(result, data[2], result_bytes);
    memcpy(result, data[2], result_bytes);
    free(r.calls);
  }
  for (int t = 0; t < 64; ++t) {
    assert_int_equal(workspace[bytes + (size_t)t], 0x7f);
    assert_int_equal(packed[packed_bytes + (size_t)t], 0x7f);
  }
  free(workspace);
  free(packed);
  free(result);
  for (int r = 0; r < 3; ++r) free(data[r]);
  snprintf(name, sizeof name, "%s", leat_convolution_plan_name(plan));
  leat_convolution_plan_destroy(plan);
  return name;
}

static void test_plan(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(small_shapes); ++i) {
    arrays_t a = make_arrays(&small_shapes[i], 100, 64.0);
    for (int d = 0; d < 3; ++d) {
      check_plan(&a, d, 0, 1, NULL);
      check_plan(&a, d, 0, 4, *state);
      check_plan(&a, d, LEAT_CONVOLUTION_DETERMINISTIC, 4, *state);
    }
    for (int steps = LEAT_CONVOLUTION_BIAS;
         steps <= (LEAT_CONVOLUTION_BIAS | LEAT_CONVOLUTION_STEP); ++steps) {
      check_plan(&a, 0, steps, 1, NULL);
      check_plan(&a, 0, steps, 4, *state);
      check_plan(&a, 0, steps | LEAT_CONVOLUTION_DETERMINISTIC, 4, *state);
    }
    free_arrays(&a);
  }
}

// Outputs that are cut into images, and into bands of rows, so that a step finds them in the cache.
static void test_large_steps(void** state) {
  static const small_shape_t large_shapes[] = {
      {5, 66, 66, 2, 3, 3, 64, 1, 1, 1, 1, 0, 0, 0, 0, 1},     // an image has 1 MiB
      {2, 150, 150, 2, 3, 3, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1},   // an image has 5.5 MiB
      {1, 150, 150, 2, 3, 3, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1},   // a single one, several threads
      {2, 66, 66, 32, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1},    // winograd where there is one
      {1, 181, 181, 32, 3, 3, 33, 1, 1, 1, 1, 1, 1, 1, 1, 1},  // the same in bands
      {2, 200, 200, 16, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 16}, // depthwise
      {6, 80, 80, 16, 1, 1, 40, 1, 1, 1, 1, 0, 0, 0, 0, 1},    // a matrix product
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(large_shapes); ++i) {
    arrays_t a = make_arrays(&large_shapes[i], 100, 64.0);
    const int both = LEAT_CONVOLUTION_BIAS | LEAT_CONVOLUTION_STEP;
    check_plan(&a, 0, LEAT_CONVOLUTION_STEP, 1, NULL);
    check_plan(&a, 0, both, 4, *state);
    check_plan(&a, 0, both, 1, NULL);
    check_plan(&a, 0, LEAT_CONVOLUTION_STEP | LEAT_CONVOLUTION_DETERMINISTIC, 4, *state);
    free_arrays(&a);
  }
}

// Winograd's algorithm at every kind of edge: images of all sizes from whole tiles to one value
// more, without padding, with as much as the filter reaches, and with padding on one side; blocks
// that go on in the next image; fewer rows of tiles than threads.
static void test_winograd(void** state) {
  static const small_shape_t shapes[] = {
      {3, 16, 16, 32, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {3, 17, 16, 32, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {3, 18, 15, 32, 3, 3, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {4, 15, 18, 64, 3, 3, 32, 1, 1, 1, 1, 0, 0, 0, 0, 1},
      {3, 14, 13, 32, 3, 3, 32, 1, 1, 1, 1, 2, 2, 2, 2, 1},
      {3, 15, 16, 32, 3, 3, 32, 1, 1, 1, 1, 0, 2, 2, 0, 1},
      {1, 1, 520, 32, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 3, 300, 32, 3, 3, 32, 1, 1, 1, 1, 2, 0, 0, 1, 1},
      {130, 2, 2, 32, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {20, 7, 7, 64, 3, 3, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1},
  };
  const int both = LEAT_CONVOLUTION_BIAS | LEAT_CONVOLUTION_STEP;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(shapes); ++i) {
    arrays_t a = make_arrays(&shapes[i], 100, 64.0);
    for (int d = LEAT_CONVOLUTION_FORWARD; d <= LEAT_CONVOLUTION_BACKWARD_INPUT; ++d) {
      assert_string_equal(check_plan(&a, d, 0, 1, NULL), "winograd");
      check_plan(&a, d, 0, 4, *state);
    }
    check_plan(&a, LEAT_CONVOLUTION_FORWARD, both, 4, *state);
    free_arrays(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32),    cmocka_unit_test(test_f64),
      cmocka_unit_test(test_i32),    cmocka_unit_test(test_f16),
      cmocka_unit_test(test_bf16),   cmocka_unit_test(test_validity),
      cmocka_unit_test(test_onednn), cmocka_unit_test(test_onednn_epilogue),
      cmocka_unit_test(test_onednn_threads),
      cmocka_unit_test(test_plan),   cmocka_unit_test(test_large_steps),
      cmocka_unit_test(test_winograd),
  };
  return cmocka_run_group_tests(tests, pool_test_set_up, pool_test_tear_down);
}
