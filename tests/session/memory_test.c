// The passes that trade memory for work or transfers (white paper, section 5.2), and what a step
// that fails leaves in a device's memory. A network of twelve layers with its gradients runs on a
// device of counted, limited memory (session/memory.h). With each pass the peak must be below a
// stated number of values and the results must have the same bits; with the limit at two thirds the
// network must fail without the passes and run with them. Peaks are the least of several steps,
// because a transfer that is late for no reason but the machine's load holds its value longer. Then
// each executor must let go of a value with its last reader. The second half makes fetches, another
// device or an asynchronous kernel fail and expects the used memory back at its old level.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/thread.h"
#include "gradient/gradient.h"
#include "session/memory.h"

enum { kLayers = 12, kBatch = 1024, kSize = 64, kSteps = 20 };
static const size_t kBytes = kBatch * kSize * sizeof(float);

typedef struct network_s {
  scene_t s;
  leat_output_t x, loss, sum;  // |sum| of all gradients' elements
  int device;                  // where all of it runs
} network_t;

static leat_output_t sum_of(scene_t* s, leat_output_t x) {
  const int32_t axes[] = {0, 1};
  return scene_binary(s, "Sum", -1, x, leat_build_int32_vector(&s->b, axes, 2));
}

static leat_tensor_t weights_tensor(uint32_t seed) {
  leat_tensor_t tensor;
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (int64_t[]){kSize, kSize}, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape,
                                      &tensor));
  for (int i = 0; i < kSize * kSize; ++i) {
    seed = seed * 1664525 + 1013904223;
    leat_tensor_data(&tensor, float)[i] = ((float)(seed >> 8) / (1 << 24) - 0.5f) / 8;
  }
  return tensor;
}

static leat_output_t weights(scene_t* s, uint32_t seed) {
  leat_tensor_t tensor = weights_tensor(seed);
  leat_output_t output = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

// x sigmoid(x) after each product, whose gradient reads both factors.
static void build(network_t* n, bool hint, const char* prefix) {
  scene_t* s = &n->s;
  leat_output_t ws[kLayers], sums[kLayers];
  leat_gradient_value_t gradients[kLayers];
  const int64_t dims[] = {kBatch, kSize};
  n->x = scene_output(s, "Placeholder", "x", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
  leat_output_t y = n->x;
  for (int i = 0; i < kLayers; ++i) {
    ws[i] = weights(s, (uint32_t)i);
    // Names do not tell what is a gradient: where gradients have another prefix, the forward pass
    // has the usual one.
    char name[24];
    snprintf(name, sizeof name, "%s/h%d", strcmp(prefix, "gradients") ? "gradients" : "layer", i);
    leat_output_t h = scene_output(s, "MatMul", name, "", LEAT_INPUTS(y, ws[i]), LEAT_NO_ATTRS);
    leat_output_t gate = scene_unary(s, "Sigmoid", -1, h);
    y = scene_binary(s, "Mul", -1, h, gate);
    leat_attr_t attr = LEAT_BOOL("_recompute_hint", true);
    if (hint) LEAT_EXPECT_OK(leat_graph_set_attr(s->graph, gate.node, &attr));
    if (hint) LEAT_EXPECT_OK(leat_graph_set_attr(s->graph, y.node, &attr));
  }
  n->loss = sum_of(s, y);
  leat_gradient_spec_t spec = {.ys = &n->loss, .y_count = 1, .xs = ws, .x_count = kLayers,
                               .prefix = leat_string_view_from(prefix)};
  LEAT_EXPECT_OK(leat_add_gradients(s->graph, &spec, gradients));
  for (int i = 0; i < kLayers; ++i) sums[i] = sum_of(s, gradients[i].dense);
  n->sum = scene_output(s, "AddN", "", "", (leat_outputs_t){sums, kLayers}, LEAT_NO_ATTRS);
}

static void open_network(network_t* n, uint32_t passes, bool hint, const char* prefix) {
  memset(n, 0, sizeof *n);
  scene_open(&n->s);
  memory_open(&n->s);
  n->s.options.intra_op_threads = 1;
  n->s.options.optimize = true;
  n->s.options.optimizer.passes = leat_passes_of_option(NULL) | passes;
  n->s.options.optimizer.memory_by_hand = hint;
  n->s.options.optimizer.swap_limit_bytes = (int64_t)kBytes / 2;
  build(n, hint, prefix);
  if (!(passes & LEAT_PASS_BIT_SWAP)) return;
  n->s.options.cpu_device_count = 2;
  n->s.options.swap_device = 0;
  n->device = 1;
  for (size_t i = 0; i < n->s.graph->node_count; ++i) {
    n->s.graph->nodes[i].device = LEAT_SV("/device:CPU:1");
  }
}

static leat_status_t run(network_t* n, float out_values[2]) {
  leat_tensor_t fed, got[2] = {{0}};
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (int64_t[]){kBatch, kSize}, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &fed));
  for (int i = 0; i < kBatch * kSize; ++i) {
    leat_tensor_data(&fed, float)[i] = (float)(i % 37) / 37 - 0.3f;
  }
  LEAT_RETURN_IF_ERROR(scene_run(&n->s, LEAT_INPUTS(n->x), &fed, LEAT_INPUTS(n->loss, n->sum),
                                 got, NULL, 0));
  for (int i = 0; i < 2; ++i) {
    out_values[i] = leat_tensor_data(&got[i], const float)[0];
    leat_tensor_release(&got[i]);
  }
  return leat_ok_status();
}

// The least of several steps: where the other device is slow to take a value, which nothing but the
// machine's load decides, it is held for longer.
static size_t peak_with(uint32_t passes, bool hint, const char* prefix, float out_values[2]) {
  network_t n;
  size_t least = SIZE_MAX;
  open_network(&n, passes, hint, prefix);
  LEAT_EXPECT_OK(run(&n, out_values));
  memory_peak(n.device);
  for (int i = 0; i < kSteps; ++i) {
    LEAT_EXPECT_OK(run(&n, out_values));
    const size_t peak = memory_peak(n.device);
    least = LEAT_MIN(least, peak);
  }
  scene_close(&n.s);
  return least;
}

static void less_memory_same_bits(void** state) {
  static const struct {
    const char* name;
    uint32_t passes;
    bool hint;
    const char* prefix;  // of the names of gradients, which need not say what they are
    size_t most;         // values at once
  } kWays[] = {
      {"plain", 0, false, "gradients", 3 * kLayers + 4},
      {"recompute", LEAT_PASS_BIT_RECOMPUTE, false, "gradients", kLayers + 7},
      {"recompute by hand", LEAT_PASS_BIT_RECOMPUTE, true, "gradients", kLayers + 7},
      {"recompute, named", LEAT_PASS_BIT_RECOMPUTE, false, "backprop", kLayers + 7},
      {"swap", LEAT_PASS_BIT_SWAP, false, "gradients", 20},
      {"swap, named", LEAT_PASS_BIT_SWAP, false, "backprop", 20},
      {"both", LEAT_PASS_BIT_RECOMPUTE | LEAT_PASS_BIT_SWAP, false, "gradients", 12},
  };
  float values[LEAT_ARRAY_SIZE(kWays)][2];
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWays); ++i) {
    size_t peak = peak_with(kWays[i].passes, kWays[i].hint, kWays[i].prefix, values[i]);
    print_message("%-18s peak %5zu KiB, %4.1f activations\n", kWays[i].name, peak >> 10,
                  (double)peak / (double)kBytes);
    assert_memory_equal(values[i], values[0], sizeof values[0]);
    assert_true(peak <= kWays[i].most * kBytes);
    if (i == 0) assert_true(peak >= 3 * (kLayers - 1) * kBytes);
  }
}

// Room for two thirds of what the plain network holds: it fails, then fits.
static void fits_only_with_passes(void** state) {
  static const uint32_t kPasses[] = {0, LEAT_PASS_BIT_RECOMPUTE, LEAT_PASS_BIT_SWAP};
  float plain[2], values[2];
  peak_with(0, false, "gradients", plain);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kPasses); ++i) {
    network_t n;
    open_network(&n, kPasses[i], false, "gradients");
    memory_limit(n.device, 2 * kLayers * kBytes);
    leat_status_t status = run(&n, values);
    if (kPasses[i]) {
      for (int step = 1; status && step < kSteps; ++step) {  // see peak_with
        scene_expect(status, LEAT_RESOURCE_EXHAUSTED, "the device has no");
        status = run(&n, values);
      }
      LEAT_EXPECT_OK(status);
      assert_memory_equal(values, plain, sizeof plain);
    } else {
      scene_expect(status, LEAT_RESOURCE_EXHAUSTED, "the device has no");
    }
    scene_close(&n.s);
  }
}

// The same on an accelerator with memory of its own, whose values wait with the host.
static void fits_an_accelerator(void** state) {
  float plain[2], values[2];
  peak_with(0, false, "gradients", plain);
  setenv("LEAT_SIMULATED", "memory=6 virtual=1 streams=1", 1);
  for (int swaps = 0; swaps < 2; ++swaps) {
    network_t n = {0};
    scene_open(&n.s);
    memcpy(n.s.options.device_counts[0].type, "SIM", 4);
    n.s.options.device_counts[0].count = 1;
    n.s.options.allow_soft_placement = n.s.options.optimize = true;
    n.s.options.optimizer.swap_limit_bytes = (int64_t)kBytes / 2;
    if (swaps) n.s.options.optimizer.passes |= LEAT_PASS_BIT_SWAP;
    build(&n, false, "gradients");
    for (size_t i = 0; i < n.s.graph->node_count; ++i) {
      n.s.graph->nodes[i].device = LEAT_SV("/device:SIM:0");
    }
    leat_status_t status = run(&n, values);
    if (swaps) {
      LEAT_EXPECT_OK(status);
      assert_memory_equal(values, plain, sizeof plain);
    } else {
      scene_expect(status, LEAT_RESOURCE_EXHAUSTED, "OOM");
    }
    scene_close(&n.s);
  }
  unsetenv("LEAT_SIMULATED");
}

// ---- Last readers -------------------------------------------------------------------------------

// A value goes when its last reader has run, on each executor, and also where one thread has a
// dataflow step for itself. No product may overwrite what it reads, so of a chain of twelve there
// are the input and two more values at a time, and not twelve.
static void values_go_with_their_last_reader(void** state) {
  static const struct {
    leat_executor_kind_t executor;
    int threads;  // that run nodes; -1: the caller's
  } kWays[] = {{LEAT_EXECUTOR_SEQUENCE, 1}, {LEAT_EXECUTOR_DATAFLOW, -1},
               {LEAT_EXECUTOR_DATAFLOW, 2}};
  for (size_t way = 0; way < LEAT_ARRAY_SIZE(kWays); ++way) {
    network_t n = {0};
    leat_tensor_t got;
    scene_open(&n.s);
    memory_open(&n.s);
    n.s.options.executor = kWays[way].executor;
    n.s.options.inter_op_threads = kWays[way].threads;
    leat_output_t dims = leat_build_int32_vector(&n.s.b, (int32_t[]){kBatch, kSize}, 2);
    leat_output_t y = scene_binary(&n.s, "Fill", -1, dims, scene_float(&n.s, 0.5f));
    for (int i = 0; i < kLayers; ++i) {
      y = scene_binary(&n.s, "MatMul", -1, y, weights(&n.s, (uint32_t)i));
    }
    leat_output_t sum = sum_of(&n.s, y);
    for (int step = 0; step < 2; ++step) {
      memory_peak(0);
      LEAT_EXPECT_OK(scene_fetch(&n.s, sum, &got));
      leat_tensor_release(&got);
      assert_in_range(memory_peak(0), 2 * kBytes, 7 * kBytes / 2);
    }
    scene_close(&n.s);
    assert_int_equal(memory_used(0), 0);
  }
}

// ---- Failing fetches ----------------------------------------------------------------------------

// A step that computes everything may still fail when its fetches are taken: one is dead, or a
// variable without a value. What was taken before it, moved out of its slot or shared with others,
// goes back to the device, whichever fetch it is.
static void failed_fetches_leave_nothing(void** state) {
  for (int way = 0; way < 4; ++way) {
    scene_t s;
    scene_open(&s);
    memory_open(&s);
    s.options.executor = way & 1 ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_SEQUENCE;
    s.options.optimize = way & 2;
    leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
    leat_output_t p = scene_placeholder(&s, "p", LEAT_DTYPE_BOOL);
    leat_output_t dims = leat_build_int32_vector(&s.b, &(int32_t){1000}, 1);
    leat_output_t large = scene_binary(&s, "Fill", 0, dims, scene_unary(&s, "Neg", 0, x));
    leat_output_t moved = scene_unary(&s, "Exp", 0, large);   // only the fetch reads it
    leat_output_t shared = scene_unary(&s, "Tanh", 0, large);  // another node reads it too
    leat_output_t other = scene_unary(&s, "Log", 0, shared);
    int32_t branch = scene_node(&s, "Switch", "", "/device:CPU:0", LEAT_INPUTS(x, p),
                                LEAT_NO_ATTRS);
    leat_output_t sides[] = {leat_node_output(branch, 0), leat_node_output(branch, 1)};
    leat_output_t missing = scene_output(
        &s, "VariableV2", "v", "/device:CPU:0", LEAT_NO_INPUTS,
        LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                   LEAT_SHAPE("shape", leat_partial_shape_scalar())));
    // The failing fetch stands at every place.
    for (int kind = 0; kind < 2; ++kind) {
      size_t used = 0;
      for (int step = 0; step < 12; ++step) {
        leat_output_t fetches[] = {moved, shared, other, moved};
        fetches[step % 4] = kind ? missing : sides[0];
        leat_tensor_t fed[] = {scene_value(2), {0}}, values[4];
        LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_BOOL, &(bool){true}, &fed[1]));
        scene_expect(scene_run(&s, LEAT_INPUTS(x, p), fed, (leat_outputs_t){fetches, 4}, values,
                               NULL, 0),
                     kind ? LEAT_FAILED_PRECONDITION : LEAT_INVALID_ARGUMENT,
                     kind ? "ninitialized" : "dead tensor");
        if (step == 3) used = memory_used(0);  // all four signatures have been made
        if (step > 3) assert_int_equal(memory_used(0), used);
      }
    }
    scene_close(&s);
    assert_int_equal(memory_used(0), 0);
  }
}

// A step on two devices of which one fails: what the other one had already made for a fetch goes
// back to its device.
static void a_failure_elsewhere_leaves_nothing(void** state) {
  scene_t s;
  scene_open(&s);
  memory_open(&s);
  s.options.cpu_device_count = 2;
  leat_output_t x = scene_matrix(&s, "x", -1, -1);
  leat_output_t made = scene_unary(&s, "Neg", 0, x);
  leat_output_t fails = scene_fail(&s, LEAT_DATA_LOSS, 1, x);
  for (int step = 0; step < 3; ++step) {
    leat_tensor_t fed = weights_tensor(7), got[2];
    scene_expect(
        scene_run(&s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(made, fails), got, NULL, 0),
        LEAT_DATA_LOSS, "the probe fails");
    assert_int_equal(memory_used(0), 0);
  }
  scene_close(&s);
}

static void open_when_waited(void* data) {
  while (!probe_waiting(1)) leat_cpu_relax();
  probe_open(1);
}

// An asynchronous kernel suspends its step. When it has ended, its inputs go as those of any other
// kernel do, although another thread may go on with the step.
static void a_suspended_step_leaves_nothing(void** state) {
  for (int way = 0; way < 2; ++way) {
    scene_t s;
    scene_open(&s);
    memory_open(&s);
    s.options.executor = way ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_SEQUENCE;
    leat_output_t x = scene_matrix(&s, "x", -1, -1);
    leat_output_t waits = scene_wait(&s, 1, -1, scene_unary(&s, "Neg", -1, x));
    leat_output_t y = scene_unary(&s, "Shape", -1, waits);
    for (int step = 0; step < 3; ++step) {
      leat_tensor_t fed = weights_tensor(7), got;
      leat_thread_t thread;
      probe_reset();
      LEAT_EXPECT_OK(leat_thread_start("opener", open_when_waited, NULL, &thread));
      LEAT_EXPECT_OK(scene_run(&s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(y), &got, NULL, 0));
      leat_thread_join(thread);
      leat_tensor_release(&got);
      assert_int_equal(memory_used(0), 0);
    }
    scene_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(less_memory_same_bits),
      cmocka_unit_test(fits_only_with_passes),
      cmocka_unit_test(fits_an_accelerator),
      cmocka_unit_test(values_go_with_their_last_reader),
      cmocka_unit_test(failed_fetches_leave_nothing),
      cmocka_unit_test(a_failure_elsewhere_leaves_nothing),
      cmocka_unit_test(a_suspended_step_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
