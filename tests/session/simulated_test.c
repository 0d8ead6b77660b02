// Sessions over the CPU and simulated accelerators: every edge between two memories is a copy, and
// the numbers are the same. The device "SIM" computes as the CPU does but has memory of its own,
// and takes as long as LEAT_SIMULATED says. Graphs are placed by hand across devices, run, and
// compared with the values that the CPU alone gives, up to a training of 60 steps with both
// placers. How long a simulated device takes is not compared with anything, except that a time
// limit ends it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "gradient/gradient.h"
#include "session/scene.h"

static void open_devices(scene_t* s, int simulated) {
  scene_open(s);
  s->options.device_counts[0].count = simulated;
  memcpy(s->options.device_counts[0].type, "SIM", 4);
  s->options.allow_soft_placement = true;
}

static leat_output_t on(scene_t* s, const char* device, const char* op, leat_output_t x) {
  return scene_output(s, op, "", device, LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

static leat_output_t both(scene_t* s, const char* device, const char* op, leat_output_t x,
                          leat_output_t y) {
  return scene_output(s, op, "", device, LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}

static const char* sim(int index) { return index ? "/device:SIM:1" : "/device:SIM:0"; }

static void there_and_back(void** state) {
  for (int way = 0; way < 4; ++way) {
    scene_t s;
    open_devices(&s, 1 + way % 2);
    s.options.intra_op_threads = way & 2 ? 4 : 1;
    leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
    leat_output_t a = on(&s, sim(0), "Neg", x);
    leat_output_t b = both(&s, "/cpu:0", "AddV2", a, scene_float(&s, 10));
    leat_output_t c = both(&s, sim(way % 2), "Mul", b, a);
    leat_output_t d = both(&s, sim(0), "Sub", c, b);
    assert_int_equal(leat_session_device_count(scene_session(&s)), 2 + way % 2);
    for (int step = 0; step < 3; ++step) {
      leat_tensor_t fed = scene_value(2), got[4];
      LEAT_EXPECT_OK(scene_run(&s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(a, b, c, d), got, NULL, 0));
      const float expected[] = {-2, 8, -16, -24};
      for (int i = 0; i < 4; ++i) {
        assert_true(leat_tensor_data(&got[i], const float)[0] == expected[i]);
        leat_tensor_release(&got[i]);
      }
    }
    scene_close(&s);
  }
}

// Shapes, axes and handles lie with the host, what they are about in the device; a value may be
// wanted in both.
static void host_arguments(void** state) {
  scene_t s;
  open_devices(&s, 1);
  const float values[] = {1, 2, 3, 4, 5, 6};
  leat_output_t x = on(&s, sim(0), "Neg", scene_floats(&s, 6, values));
  const int32_t dims[] = {2, 3}, axes[] = {1};
  leat_output_t matrix = both(&s, sim(0), "Reshape", x, leat_build_int32_vector(&s.b, dims, 2));
  leat_output_t sums = both(&s, sim(0), "Sum", matrix, leat_build_int32_vector(&s.b, axes, 1));
  leat_output_t shape = on(&s, sim(0), "Shape", matrix);
  // A shape computed in the device's memory and used as an argument in the host's.
  leat_output_t there = both(&s, sim(0), "Maximum", shape, shape);
  leat_output_t again = both(&s, sim(0), "Reshape", x, there);
  leat_tensor_t got[3];
  LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(sums, shape, again), got, NULL,
                           0));
  assert_true(leat_tensor_data(&got[0], const float)[0] == -6);
  assert_true(leat_tensor_data(&got[0], const float)[1] == -15);
  assert_int_equal(leat_tensor_data(&got[1], const int32_t)[1], 3);
  assert_int_equal(leat_shape_dim(&got[2].shape, 0), 2);
  assert_true(leat_tensor_data(&got[2], const float)[5] == -6);
  for (int i = 0; i < 3; ++i) leat_tensor_release(&got[i]);
  scene_close(&s);
}

// A value of the host's that one device wants twice, as an argument in the host's memory and as a
// value in its own: it is sent once for each memory, whichever reader comes first.
static void a_value_wanted_in_both_memories(void** state) {
  for (int way = 0; way < 2; ++way) {
    scene_t s;
    open_devices(&s, 1);
    const float values[] = {1, 2, 3, 4, 5, 6};
    const int32_t minus_dims[] = {-2, -3};
    leat_output_t x = on(&s, sim(0), "Neg", scene_floats(&s, 6, values));
    leat_output_t dims = on(&s, "/cpu:0", "Neg", leat_build_int32_vector(&s.b, minus_dims, 2));
    leat_output_t fetches[2];
    for (int i = 0; i < 2; ++i) {
      bool as_argument = i == way;
      fetches[as_argument] = as_argument ? both(&s, sim(0), "Reshape", x, dims)
                                         : both(&s, sim(0), "Maximum", dims, dims);
    }
    leat_tensor_t got[2];
    LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL, (leat_outputs_t){fetches, 2}, got, NULL, 0));
    assert_int_equal(leat_tensor_data(&got[0], const int32_t)[0], 2);
    assert_int_equal(leat_tensor_data(&got[0], const int32_t)[1], 3);
    assert_int_equal(leat_shape_dim(&got[1].shape, 1), 3);
    assert_true(leat_tensor_data(&got[1], const float)[5] == -6);
    for (int i = 0; i < 2; ++i) leat_tensor_release(&got[i]);
    scene_close(&s);
  }
}

static void variables_live_there(void** state) {
  scene_t s;
  open_devices(&s, 1);
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t old = scene_output(&s, "VariableV2", "old", sim(0), LEAT_NO_INPUTS,
                                   (leat_attrs_t){attrs, 2});
  leat_output_t handle = scene_output(&s, "VarHandleOp", "new", sim(0), LEAT_NO_INPUTS,
                                      (leat_attrs_t){attrs, 2});
  leat_attrs_t dtype = {attrs, 1};
  int32_t start[2];
  start[0] = both(&s, "", "Assign", old, scene_float(&s, 5)).node;
  start[1] = scene_node(&s, "AssignVariableOp", "", "", LEAT_INPUTS(handle, scene_float(&s, 7)),
                        dtype);
  int32_t add = scene_node(&s, "AssignAddVariableOp", "", "",
                           LEAT_INPUTS(handle, on(&s, "/cpu:0", "Neg", old)), dtype);
  leat_output_t read = scene_output(&s, "ReadVariableOp", "", "", LEAT_INPUTS(handle), dtype);
  leat_output_t sum = both(&s, "/cpu:0", "AddV2", read, old);
  scene_expect(scene_target(&s, add), LEAT_FAILED_PRECONDITION, "");
  LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL, LEAT_NO_INPUTS, NULL, start, 2));
  assert_true(scene_get(&s, sum) == 12);
  LEAT_EXPECT_OK(scene_target(&s, add));
  assert_true(scene_get(&s, read) == 2);
  assert_true(scene_get(&s, old) == 5);
  assert_true(scene_get(&s, sum) == 7);
  scene_close(&s);
}

static void memory_limit(void** state) {
  setenv("LEAT_SIMULATED", "memory=1 virtual=1", 1);
  scene_t s;
  open_devices(&s, 1);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t small = on(&s, sim(0), "Neg", x);
  const int32_t many[] = {1 << 19};
  leat_output_t large = both(&s, sim(0), "Tile", small, leat_build_int32_vector(&s.b, many, 1));
  float one[] = {1};
  leat_tensor_t fed, got;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, one, 1, &fed));
  scene_expect(scene_run(&s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(large), &got, NULL, 0),
               LEAT_RESOURCE_EXHAUSTED, "OOM");
  assert_true(scene_get_fed(&s, x, 3, small) == -3);  // the session goes on
  scene_close(&s);
  unsetenv("LEAT_SIMULATED");
}

static void an_op_without_kernel_runs_beside(void** state) {
  scene_t s;
  open_devices(&s, 1);
  leat_output_t x = scene_pass(&s, 1, -1, on(&s, "", "Neg", scene_float(&s, 3)));
  assert_true(scene_get(&s, on(&s, "", "Neg", x)) == 3);
  scene_expect(scene_target(&s, scene_node(&s, "ProbeFail", "", "",
                                           LEAT_INPUTS(on(&s, sim(0), "Neg", x)),
                                           LEAT_ATTRS(LEAT_INT("code", LEAT_ABORTED)))),
               LEAT_ABORTED, "");
  scene_close(&s);
}

typedef struct steps_s {
  scene_t* scene;
  leat_output_t x, y;
} steps_t;

static void run_steps(void* data) {
  steps_t* steps = data;
  for (int i = 0; i < 30; ++i) {
    assert_true(scene_get_fed(steps->scene, steps->x, (float)i, steps->y) == (float)(-i * i));
  }
}

static void many_steps_at_once(void** state) {
  scene_t s;
  open_devices(&s, 2);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t a = both(&s, sim(0), "Mul", x, x);
  leat_output_t y = on(&s, sim(1), "Neg", on(&s, "/cpu:0", "Identity", a));
  steps_t steps = {&s, x, y};
  leat_thread_t threads[4];
  scene_session(&s);
  for (int i = 0; i < 4; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("steps", run_steps, &steps, &threads[i]));
  }
  for (int i = 0; i < 4; ++i) leat_thread_join(threads[i]);
  scene_close(&s);
}

// A kernel that takes longer than the step may: the status says so, and the next step runs.
static void a_slow_device(void** state) {
  setenv("LEAT_SIMULATED", "memory=1 start_us=40000", 1);
  scene_t s;
  open_devices(&s, 1);
  leat_output_t x = scene_float(&s, 3), y = on(&s, sim(0), "Neg", on(&s, sim(0), "Neg", x));
  leat_output_t z = both(&s, sim(0), "AddV2", y, on(&s, sim(0), "Neg", y));
  leat_tensor_t value;
  leat_run_t run = {.fetches = &z, .fetch_values = &value, .fetch_count = 1, .timeout_ms = 20};
  scene_expect(leat_session_run(scene_session(&s), &run), LEAT_DEADLINE_EXCEEDED, "");
  assert_true(scene_get(&s, z) == 0);
  scene_close(&s);
  unsetenv("LEAT_SIMULATED");
}

// ---- Training -----------------------------------------------------------------------------------

enum { ROWS = 16, INPUTS = 8, HIDDEN = 12, CLASSES = 4, STEPS = 60 };

static leat_output_t filled(scene_t* s, const char* device, int rows, int columns, float phase) {
  leat_tensor_t tensor;
  int64_t dims[] = {rows, columns};
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int i = 0; i < rows * columns; ++i) {
    double x = 43758.5 * sin(12.9898 * i + (double)phase);
    leat_tensor_data(&tensor, float)[i] = (float)(x - floor(x)) - 0.5f;
  }
  leat_attr_t attrs[] = {LEAT_TENSOR("value", &tensor), LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)};
  static int number;
  char name[32];
  snprintf(name, sizeof name, "filled%d", number++);
  leat_output_t output =
      scene_output(s, "Const", name, device, LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  leat_tensor_release(&tensor);
  return output;
}

typedef struct layer_s {
  leat_output_t handle, weights;  // read once a step: updates do not show in it
  int32_t start;
} layer_t;

static layer_t make_layer(scene_t* s, const char* name, const char* device, int rows,
                          int columns) {
  int64_t dims[] = {rows, columns};
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims})),
                         LEAT_STRING("shared_name", leat_string_view_from(name))};
  layer_t layer;
  layer.handle = scene_output(s, "VarHandleOp", name, device, LEAT_NO_INPUTS,
                              (leat_attrs_t){attrs, 3});
  layer.start = scene_node(s, "AssignVariableOp", "", "",
                           LEAT_INPUTS(layer.handle, filled(s, "", rows, columns, 1)),
                           (leat_attrs_t){attrs, 1});
  layer.weights = scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(layer.handle),
                               (leat_attrs_t){attrs, 1});
  return layer;
}

// The losses of |STEPS| steps of a network whose layers lie on |first| and |second|.
static void train(int simulated, const char* first, const char* second,
                  leat_placer_kind_t placer, float losses[STEPS]) {
  scene_t s;
  open_devices(&s, simulated);
  s.options.placer = placer;
  layer_t hidden = make_layer(&s, "hidden", first, INPUTS, HIDDEN);
  layer_t output = make_layer(&s, "output", second, HIDDEN, CLASSES);
  leat_output_t x = filled(&s, "/cpu:0", ROWS, INPUTS, 2);
  leat_output_t target = filled(&s, "", ROWS, CLASSES, 3);
  leat_output_t h = on(&s, first, "Tanh", both(&s, first, "MatMul", x, hidden.weights));
  leat_output_t y = both(&s, second, "MatMul", h, output.weights);
  leat_output_t error = on(&s, second, "Square", both(&s, second, "Sub", y, target));
  const int32_t axes[] = {0, 1};
  leat_output_t loss = both(&s, second, "Mean", error, leat_build_int32_vector(&s.b, axes, 2));
  leat_output_t xs[] = {hidden.weights, output.weights};
  leat_gradient_value_t gradients[2];
  leat_gradient_spec_t spec = {.ys = &loss, .y_count = 1, .xs = xs, .x_count = 2,
                               .prefix = LEAT_SV("gradients")};
  LEAT_EXPECT_OK(leat_add_gradients(s.graph, &spec, gradients));
  int32_t updates[2], starts[] = {hidden.start, output.start};
  for (int i = 0; i < 2; ++i) {
    updates[i] = scene_node(&s, "ResourceApplyGradientDescent", "", "",
                            LEAT_INPUTS(i ? output.handle : hidden.handle, scene_float(&s, 1),
                                        gradients[i].dense), LEAT_NO_ATTRS);
  }
  LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL, LEAT_NO_INPUTS, NULL, starts, 2));
  for (int i = 0; i < STEPS; ++i) {
    leat_tensor_t got;
    LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(loss), &got, updates, 2));
    losses[i] = leat_tensor_data(&got, const float)[0];
    leat_tensor_release(&got);
  }
  scene_close(&s);
}

static void the_same_numbers(void** state) {
  float expected[STEPS], losses[STEPS];
  train(0, "/cpu:0", "/cpu:0", LEAT_PLACER_SIMPLE, expected);
  print_message("loss %g -> %g\n", (double)expected[0], (double)expected[STEPS - 1]);
  assert_true(expected[STEPS - 1] < expected[0] / 2);
  static const struct {
    int simulated;
    const char *first, *second;
    leat_placer_kind_t placer;
  } ways[] = {{1, "/device:SIM:0", "/device:SIM:0", LEAT_PLACER_SIMPLE},
              {1, "/cpu:0", "/device:SIM:0", LEAT_PLACER_SIMPLE},
              {1, "/device:SIM:0", "/cpu:0", LEAT_PLACER_SIMPLE},
              {2, "/device:SIM:0", "/device:SIM:1", LEAT_PLACER_SIMPLE},
              {2, "", "", LEAT_PLACER_SIMPLE},
              {2, "", "", LEAT_PLACER_GREEDY}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(ways); ++i) {
    train(ways[i].simulated, ways[i].first, ways[i].second, ways[i].placer, losses);
    assert_memory_equal(losses, expected, sizeof losses);
  }
}

int main(void) {
  setenv("LEAT_SIMULATED", "memory=16 start_us=1 transfer_us=2", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(host_arguments),
      cmocka_unit_test(a_value_wanted_in_both_memories),
      cmocka_unit_test(variables_live_there),
      cmocka_unit_test(memory_limit),
      cmocka_unit_test(an_op_without_kernel_runs_beside),
      cmocka_unit_test(many_steps_at_once),
      cmocka_unit_test(a_slow_device),
      cmocka_unit_test(the_same_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
