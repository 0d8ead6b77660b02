// A fused program is planned for the shapes of its inputs, and plans are kept. Over shapes that
// come again, change with every run, or differ between threads that run it at once, the program
// computes what its steps say; and where a shape comes again, it takes no memory for a plan. There
// are more shapes than plans are kept, so that plans are replaced, and one has no elements. That no
// plan is made is seen by an observer of allocations: a plan is far larger than anything else in so
// small a step.
#include <string.h>

#include "base/observer.h"
#include "base/thread.h"
#include "ops/math/broadcast_plan_cpu.h"
#include "session/scene.h"

enum { SHAPES = 6, THREADS = 4, ROUNDS = 60 };

// More shapes than plans are kept. The last has no elements.
static const int64_t kShapes[SHAPES][2] = {{2, 3}, {5, 3}, {300, 17}, {1, 4}, {3, 4000}, {0, 5}};

typedef struct program_s {
  scene_t scene;
  leat_output_t x, y, sum_times_y;
  _Atomic(int) failures;
} program_t;

static leat_output_t floats(scene_t* s, const char* name, int rank) {
  return scene_output(s, "Placeholder", name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){
                                                         rank, (const int64_t[]){-1, -1}}))));
}

#define LIST(attr, item_kind, field, ...)                                             \
  {LEAT_SV(attr),                                                                     \
   {.kind = item_kind, .is_list = true, .field = (__VA_ARGS__),                       \
    .count = sizeof(__VA_ARGS__) / sizeof((__VA_ARGS__)[0])}}

// (x [m, n] + y [n]) * y
static void open_program(program_t* p) {
  memset(p, 0, sizeof *p);
  scene_open(&p->scene);
  const leat_attr_t attrs[] = {
      LIST("Tin", LEAT_ATTR_TYPE, types, (const int32_t[]){LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT}),
      LIST("Tout", LEAT_ATTR_TYPE, types, (const int32_t[]){LEAT_DTYPE_FLOAT}),
      LIST("steps", LEAT_ATTR_STRING, strings,
           (const leat_string_view_t[]){LEAT_SV("AddV2"), LEAT_SV("Mul")}),
      LIST("names", LEAT_ATTR_STRING, strings,
           (const leat_string_view_t[]){LEAT_SV("sum"), LEAT_SV("product")}),
      LIST("types", LEAT_ATTR_TYPE, types, (const int32_t[]){LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT}),
      LIST("arities", LEAT_ATTR_INT, ints, (const int64_t[]){2, 2}),
      LIST("operands", LEAT_ATTR_INT, ints, (const int64_t[]){0, 1, 2, 1}),
      LIST("results", LEAT_ATTR_INT, ints, (const int64_t[]){1}),
  };
  p->x = floats(&p->scene, "x", 2);
  p->y = floats(&p->scene, "y", 1);
  p->sum_times_y = scene_output(&p->scene, "_FusedElementwise", "", "", LEAT_INPUTS(p->x, p->y),
                                (leat_attrs_t){attrs, LEAT_ARRAY_SIZE(attrs)});
}

static leat_status_t make_input(int rank, const int64_t* dims, leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape,
                                            out_tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    leat_tensor_data(out_tensor, float)[i] = (float)(i % 251 - 100) / 4;
  }
  return leat_ok_status();
}

static bool is_right(const leat_tensor_t* got, int64_t rows, int64_t columns) {
  if (got->shape.element_count != rows * columns) return false;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float x = (float)(i % 251 - 100) / 4, y = (float)(i % columns % 251 - 100) / 4;
    if (leat_tensor_data(got, const float)[i] != (x + y) * y) return false;
  }
  return true;
}

static leat_status_t run_shape(program_t* p, const int64_t* shape, bool* out_right) {
  leat_tensor_t fed[2], got;
  LEAT_RETURN_IF_ERROR(make_input(2, shape, &fed[0]));
  LEAT_RETURN_IF_ERROR(make_input(1, shape + 1, &fed[1]));
  LEAT_RETURN_IF_ERROR(scene_run(&p->scene, LEAT_INPUTS(p->x, p->y), fed,
                                 LEAT_INPUTS(p->sum_times_y), &got, NULL, 0));
  *out_right = is_right(&got, shape[0], shape[1]);
  leat_tensor_release(&got);
  return leat_ok_status();
}

static void expect_right(program_t* p, int shape) {
  bool right = false;
  LEAT_EXPECT_OK(run_shape(p, kShapes[shape], &right));
  assert_true(right);
}

static void shapes_that_change_and_come_again(void** state) {
  program_t p;
  open_program(&p);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < SHAPES; ++i) expect_right(&p, i);
    for (int i = 0; i < SHAPES; ++i) expect_right(&p, i % 2);
  }
  scene_close(&p.scene);
}

static leat_status_t note_largest(void* data, size_t size_bytes) {
  size_t* largest = data;
  if (size_bytes > *largest) *largest = size_bytes;
  return leat_ok_status();
}

// What the plan of a repeated operand takes is far more than all else of so small a step.
static void a_shape_that_comes_again_is_not_planned_again(void** state) {
  program_t p;
  open_program(&p);
  for (int i = 0; i < 3; ++i) expect_right(&p, 0);
  size_t largest_bytes = 0;
  leat_observer_t observer = {.data = &largest_bytes, .on_allocation = note_largest};
  leat_observer_install(&observer);
  for (int i = 0; i < 3; ++i) expect_right(&p, 0);
  leat_observer_install(NULL);
  assert_true(largest_bytes < sizeof(leat_broadcast_t));
  scene_close(&p.scene);
}

static void run_rounds(void* data) {
  program_t* p = data;
  for (int i = 0; i < ROUNDS; ++i) {
    bool right = false;
    leat_status_t status = run_shape(p, kShapes[i % SHAPES], &right);
    if (status || !right) atomic_fetch_add_explicit(&p->failures, 1, memory_order_relaxed);
    leat_status_free(status);
  }
}

static void threads_share_the_plans(void** state) {
  program_t p;
  leat_thread_t threads[THREADS];
  open_program(&p);
  expect_right(&p, 0);  // makes the session
  for (int i = 0; i < THREADS; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("rounds", run_rounds, &p, &threads[i]));
  }
  for (int i = 0; i < THREADS; ++i) leat_thread_join(threads[i]);
  assert_int_equal(atomic_load_explicit(&p.failures, memory_order_relaxed), 0);
  scene_close(&p.scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_that_change_and_come_again),
      cmocka_unit_test(a_shape_that_comes_again_is_not_planned_again),
      cmocka_unit_test(threads_share_the_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
