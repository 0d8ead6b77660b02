// What follows from a pattern of shapes (graph/op/shape_pattern.h). A node's outputs have the
// shapes that names and groups give, also of what is known only in part. And the check before a run
// says the same as the shape function: random shapes for random patterns are refused by both or by
// neither, with a code that is the same.
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "graph/inference/inference.h"
#include "graph/op/shape_pattern.h"
#include "kernel/kernel.h"
#include "toy_graph/toy_ops.h"

#define U LEAT_DIM_UNKNOWN
#define DEVICE "/job:localhost/replica:0/task:0/device:CPU:0"

enum { MOST_INPUTS = 3, MOST_DIMS = 8 };

static leat_device_t* device;

static int make_device(void** state) {
  leat_thread_pool_t* pool = NULL;
  leat_status_t status = leat_thread_pool_create(1, leat_allocator_system(), &pool);
  if (!status) {
    status = leat_cpu_device_create(LEAT_SV(DEVICE), pool, leat_allocator_system(), &device);
  }
  leat_thread_pool_release(pool);
  leat_status_free(status);
  return device == NULL;
}
static int end_device(void** state) {
  leat_device_release(device);
  return 0;
}

typedef struct shape_s {
  int rank;  // -1: unknown
  int64_t dims[MOST_DIMS];
} shape_t;

static const leat_op_t* parse(leat_arena_t* arena, const char* inputs, const char* shapes,
                              const char* misfits) {
  const leat_op_row_t row = {.name = "Op", .attrs = "T: {float}; N: int >= 0", .inputs = inputs,
                             .outputs = "c: T; d: T", .shapes = shapes, .misfits = misfits};
  leat_op_row_t* kept;
  leat_op_t* op = NULL;
  LEAT_EXPECT_OK(LEAT_NEW(arena, 1, &kept));
  *kept = row;
  LEAT_EXPECT_OK(leat_op_parse(kept, arena, &op));
  return op;
}

// ---- Inference ----------------------------------------------------------------------------------

// Infers the shapes of the two outputs of |op| over placeholders of |shapes|.
static leat_status_t infer(const leat_op_t* op, const shape_t* shapes, int count,
                           leat_partial_shape_t* out_shapes, toy_t* toy) {
  static const uint8_t kTypes[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT};
  leat_output_t inputs[MOST_INPUTS];
  toy_open(toy);
  for (int i = 0; i < count; ++i) {
    char name[16];
    snprintf(name, sizeof name, "x%d", i);
    inputs[i] = toy_placeholder(toy, name, LEAT_DTYPE_FLOAT, shapes[i].rank, shapes[i].dims);
  }
  leat_node_t node = {.op = op, .name = LEAT_SV("n"), .inputs = inputs, .input_count = count,
                      .output_count = 2, .output_types = kTypes};
  return leat_inference_run(toy->graph, &node, out_shapes, NULL);
}

static void expect_outputs(const char* inputs, const char* pattern, const shape_t* shapes,
                           int count, const char* c, const char* d) {
  leat_arena_t arena;
  leat_partial_shape_t found[2];
  toy_t toy;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(infer(parse(&arena, inputs, pattern, NULL), shapes, count, found, &toy));
  assert_string_equal(LEAT_PARTIAL_SHAPE_TEXT(found[0]), c);
  assert_string_equal(LEAT_PARTIAL_SHAPE_TEXT(found[1]), d);
  toy_close(&toy);
  leat_arena_deinitialize(&arena);
}

#define SHAPES(...) \
  ((const shape_t[]){__VA_ARGS__}), sizeof((shape_t[]){__VA_ARGS__}) / sizeof(shape_t)

static void outputs_follow_from_inputs(void** state) {
  static const char kPair[] = "a: T; b: T";
  static const char kProduct[] = "a[..., m, k] b[..., k, n] -> c[..., m, n] d[...]";
  expect_outputs(kPair, kProduct, SHAPES({4, {7, 5, 2, 3}}, {4, {7, 5, 3, 4}}), "[7,5,2,4]",
                 "[7,5]");
  expect_outputs(kPair, kProduct, SHAPES({2, {2, 3}}, {2, {3, 4}}), "[2,4]", "[]");
  // What one input does not tell the other may.
  expect_outputs(kPair, kProduct, SHAPES({3, {U, 2, 3}}, {3, {7, 3, U}}), "[7,2,?]", "[7]");
  expect_outputs(kPair, kProduct, SHAPES({-1, {0}}, {3, {7, 3, 4}}), "[7,?,4]", "[7]");
  expect_outputs(kPair, kProduct, SHAPES({-1, {0}}, {-1, {0}}), "<unknown>", "<unknown>");
  expect_outputs(kPair, "a[n, n] -> c[n, 3, _]", SHAPES({2, {U, 5}}, {1, {9}}), "[5,3,?]",
                 "<unknown>");
  expect_outputs("a: T; b: N * T", "a[] b[..., k] -> c[...] d[k, ...]",
                 SHAPES({0, {0}}, {2, {U, 3}}, {2, {2, U}}), "[2]", "[3,2]");
}

static void inputs_that_do_not_fit_are_refused(void** state) {
  static const struct { const char *inputs, *shapes; shape_t a, b; const char* words; } kCases[] = {
      {"a: T; b: T", "a[]", {1, {3}}, {0}, "Shape must be rank 0 but is rank 1"},
      {"a: T; b: T", "a[..., _, _]", {1, {3}}, {0}, "Shape must be at least rank 2"},
      {"a: T; b: T", "a[m] b[m]", {1, {3}}, {1, {4}}, "Dimensions must be equal, but are 3 and 4"},
      {"a: T; b: T", "a[2]", {1, {3}}, {0}, "Dimension must be 2 but is 3"},
      {"a: T; b: T", "a[...] b[...]", {1, {3}}, {2, {3, 1}}, "Shapes must be equal rank"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    leat_arena_t arena;
    leat_partial_shape_t found[2];
    toy_t toy;
    const shape_t shapes[] = {kCases[i].a, kCases[i].b};
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    const leat_op_t* op = parse(&arena, kCases[i].inputs, kCases[i].shapes, NULL);
    toy_fails(infer(op, shapes, 2, found, &toy), LEAT_INVALID_ARGUMENT, kCases[i].words);
    toy_close(&toy);
    leat_arena_deinitialize(&arena);
  }
}

// ---- Both ---------------------------------------------------------------------------------------

static leat_status_t nothing(leat_kernel_context_t* c) { return leat_ok_status(); }

static leat_status_t run(const leat_op_t* op, const shape_t* shapes, int count) {
  static const uint8_t kTypes[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT};
  const leat_kernel_row_t row = {.op = "Op", .device_type = "CPU", .compute = nothing};
  leat_kernel_t* kernel = NULL;
  leat_tensor_t inputs[MOST_INPUTS];
  LEAT_EXPECT_OK(leat_kernel_create(
      &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"),
          .input_types = kTypes, .input_count = count, .device = device,
          .allocator = leat_allocator_system()}, &kernel));
  for (int i = 0; i < count; ++i) {
    leat_shape_t shape;
    LEAT_EXPECT_OK(leat_shape_create(shapes[i].rank, shapes[i].dims, &shape));
    LEAT_EXPECT_OK(leat_tensor_allocate(device->memory, LEAT_DTYPE_FLOAT, &shape, &inputs[i]));
  }
  leat_status_t status = leat_kernel_invoke(kernel, NULL, inputs, NULL);
  for (int i = 0; i < count; ++i) leat_tensor_release(&inputs[i]);
  leat_kernel_free(kernel);
  return status;
}

// A number below |limit|.
static uint64_t below(uint64_t* random, uint64_t limit) {
  *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (*random >> 33) % limit;
}

static const char* random_pattern(uint64_t* random) {
  static const char* const kDims[] = {"m", "n", "2", "_", "1", "m"};
  static char text[256];
  size_t at = 0;
  for (int i = 0; i < MOST_INPUTS; ++i) {
    const int count = (int)below(random, 4);
    const int group = (int)below(random, 3) ? (int)below(random, 4) : -1;
    at += (size_t)snprintf(text + at, sizeof text - at, "%c[", 'a' + i);
    for (int k = 0, items = 0; k <= count; ++k) {
      if (k == group) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s...%s", items++ ? ", " : "",
                               below(random, 2) ? "x" : "");
      }
      if (k == count) break;
      at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", items++ ? ", " : "",
                             kDims[below(random, LEAT_ARRAY_SIZE(kDims))]);
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "] ");
  }
  return text;
}

static void a_run_is_refused_where_the_node_is(void** state) {
  uint64_t random = 17;
  int fits = 0, misfits = 0;
  for (int round = 0; round < 20000; ++round) {
    leat_arena_t arena;
    leat_partial_shape_t found[2];
    toy_t toy;
    shape_t shapes[MOST_INPUTS];
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    const leat_op_t* op = parse(&arena, "a: T; b: T; c: T", random_pattern(&random), NULL);
    for (int i = 0; i < MOST_INPUTS; ++i) {
      const leat_shape_item_t* item = &op->shapes->inputs[i];
      const int rank = item->dim_count + (item->group_at >= 0 ? (int)below(&random, 3) : 0);
      shapes[i].rank = below(&random, 8) ? rank : (int)below(&random, 4);  // most may fit
      for (int d = 0; d < MOST_DIMS; ++d) {
        shapes[i].dims[d] = 1 + (int64_t)below(&random, 2);
      }
    }
    leat_status_t inferred = infer(op, shapes, MOST_INPUTS, found, &toy);
    leat_status_t ran = run(op, shapes, MOST_INPUTS);
    if (leat_status_code(inferred) != leat_status_code(ran)) {
      fail_msg("'%s': the shape function says %s, the run %s", op->row->shapes,
               inferred ? leat_status_message(inferred) : "OK",
               ran ? leat_status_message(ran) : "OK");
    }
    ++*(ran ? &misfits : &fits);
    leat_status_free(inferred);
    leat_status_free(ran);
    toy_close(&toy);
    leat_arena_deinitialize(&arena);
  }
  assert_true(fits > 500 && misfits > 500);
}

static void a_refused_run_says_why(void** state) {
  static const struct {
    const char *pattern, *misfits;
    shape_t shapes[2];
    const char* message;
  } kCases[] = {
      {"a[m, k] b[k, n] -> c[m, n]", NULL, {{2, {2, 3}}, {2, {4, 5}}},
       "node 'n' (Op): input b does not fit, it has shape [4,5]; the shapes must be "
       "a[m, k] b[k, n] -> c[m, n], those of the inputs are [2,3], [4,5]"},
      {"a[]", NULL, {{1, {1}}, {0, {0}}}, "input a must be a scalar, has shape [1]; the shapes"},
      {"b[_, 2]", NULL, {{1, {1}}, {1, {2}}}, "input b must be a matrix, has shape [2]; the"},
      {"a[..., m, n]", NULL, {{1, {4}}, {0, {0}}}, "Input tensor 0 must have rank >= 2, got 1;"},
      {"a[..., m] b[..., m]", NULL, {{2, {2, 3}}, {3, {1, 2, 3}}},
       "All input tensors must have the same rank.;"},
      {"a[..., m] b[..., m]", NULL, {{2, {2, 3}}, {2, {4, 3}}},
       "All input tensors must have the same outer dimensions.;"},
      {"b[..., n, n]", NULL, {{0, {0}}, {3, {1, 2, 3}}}, "Input matrix must be square.;"},
      {"a[n] b[n]", "b: no vector: % of rank %r", {{1, {2}}, {2, {2, 3}}},
       "(Op): no vector: [2,3] of rank 2; the shapes must be a[n] b[n],"},
      {"a[n] b[n]", "b: no vector", {{1, {2}}, {1, {3}}}, "input b does not fit, it has shape [3]"},
      {"a[n] b[n]", "b: no vector | no such length", {{1, {2}}, {1, {3}}}, "(Op): no such length;"},
      {"a[...] b[...]", "b: | unequal", {{1, {2}}, {0, {0}}}, "(Op): unequal; the shapes"},
      {"a[..., n] b[..., n]", "b: few % | unequal", {{2, {2, 3}}, {2, {2, 4}}}, "(Op): unequal;"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    leat_arena_t arena;
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    toy_fails(run(parse(&arena, "a: T; b: T", kCases[i].pattern, kCases[i].misfits),
                  kCases[i].shapes, 2),
              LEAT_INVALID_ARGUMENT, kCases[i].message);
    leat_arena_deinitialize(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outputs_follow_from_inputs),
      cmocka_unit_test(inputs_that_do_not_fit_are_refused),
      cmocka_unit_test(a_run_is_refused_where_the_node_is),
      cmocka_unit_test(a_refused_run_says_why),
  };
  return cmocka_run_group_tests(tests, make_device, end_device);
}
