// The cost model estimates how long a node runs and how long a transfer takes; the placer simulates
// steps with these numbers. Work is derived from shapes by a rule in the op's row, so the cases
// compute floating-point operations and bytes of a few products by hand. The speeds of the machine
// are fixed in |kSpeed|, which is why times can be compared exactly. A time that was measured, here
// by step statistics that the test writes itself, goes before every estimate; measurements with
// negative sizes or times that no number holds are left out.
#include "graph/cost/cost.h"

#include "formats/generated/step_stats.h"
#include "session/scene.h"

static const leat_speed_t kSpeed = {.flops_per_ns = 10, .bytes_per_ns = 2, .start_ns = 100,
                                    .transfer_bytes_per_ns = 4, .transfer_ns = 1000};

static leat_output_t input(scene_t* s, int rank, const int64_t* dims) {
  return scene_output(s, "Placeholder", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){rank, dims}))));
}

static leat_work_t work_of(scene_t* s, leat_output_t output) {
  return leat_cost_work(s->graph, &s->graph->nodes[output.node]);
}

static void work(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t a = input(&s, 2, (int64_t[]){20, 30}), b = input(&s, 2, (int64_t[]){30, 40});
  leat_work_t product = work_of(&s, scene_binary(&s, "MatMul", -1, a, b));
  assert_true(product.flops > 47999 && product.flops < 48001);  // 2 * 20 * 30 * 40
  assert_true(product.bytes == 4 * (20 * 30 + 30 * 40 + 20 * 40));
  leat_output_t c = input(&s, 3, (int64_t[]){5, 20, 30}), d = input(&s, 3, (int64_t[]){5, 30, 40});
  leat_work_t batch = work_of(&s, scene_binary(&s, "BatchMatMulV2", -1, c, d));
  assert_true(batch.flops > 5 * 47999 && batch.flops < 5 * 48001);
  leat_work_t shared = work_of(&s, scene_binary(&s, "BatchMatMulV2", -1, c, b));
  assert_true(shared.flops > 5 * 47999 && shared.flops < 5 * 48001);
  assert_true(shared.bytes == 4 * (5 * 20 * 30 + 30 * 40 + 5 * 20 * 40));
  leat_work_t sum = work_of(&s, scene_binary(&s, "AddV2", -1, a, a));
  assert_true(sum.flops == 600 && sum.bytes == 3 * 2400);
  assert_true(work_of(&s, scene_unary(&s, "Tanh", -1, a)).flops > sum.flops);
  leat_output_t image = input(&s, 4, (int64_t[]){2, 10, 10, 3});
  leat_output_t filter = input(&s, 4, (int64_t[]){3, 3, 3, 8});
  int64_t strides[] = {1, 1, 1, 1};
  leat_attr_t attrs[] = {{LEAT_SV("strides"),
                          {.kind = LEAT_ATTR_INT, .is_list = true, .count = 4, .ints = strides}},
                         LEAT_STRING("padding", LEAT_SV("SAME"))};
  leat_work_t convolution = work_of(
      &s, scene_output(&s, "Conv2D", "", "", LEAT_INPUTS(image, filter), (leat_attrs_t){attrs, 2}));
  assert_true(convolution.flops == 2.0 * (2 * 10 * 10 * 8) * (3 * 3 * 3));
  static const char* const nothing[] = {"Identity", "Shape", "StopGradient"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(nothing); ++i) {
    leat_work_t none = work_of(&s, scene_unary(&s, nothing[i], -1, a));
    assert_true(none.flops == 0 && none.bytes == 0);
    assert_int_equal(leat_cost_time_ns(none, &kSpeed), 0);
  }
  scene_close(&s);
}

static void unknown_sizes(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t a = input(&s, 2, (int64_t[]){LEAT_DIM_UNKNOWN, 30});
  assert_int_equal(leat_cost_output_bytes(NULL, s.graph, a), 4 * 30 * LEAT_COST_UNKNOWN_DIM);
  assert_int_equal(leat_cost_output_bytes(NULL, s.graph, (leat_output_t){a.node, -1}), 0);
  assert_true(work_of(&s, scene_unary(&s, "Neg", -1, a)).flops == 30 * LEAT_COST_UNKNOWN_DIM);
  assert_true(
      work_of(&s, scene_unary(&s, "Neg", -1, scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT))).flops >
      0);
  scene_close(&s);
}

static void times(void** state) {
  assert_int_equal(leat_cost_time_ns((leat_work_t){1000, 10}, &kSpeed), 200);  // computing
  assert_int_equal(leat_cost_time_ns((leat_work_t){10, 1000}, &kSpeed), 600);  // reading
  leat_speed_t other = {.transfer_bytes_per_ns = 1, .transfer_ns = 10};
  assert_int_equal(leat_cost_transfer_ns(4000, &kSpeed, &other), 5000);
  assert_int_equal(leat_cost_transfer_ns(0, &kSpeed, &other), 1000);
  assert_int_equal(leat_cost_transfer_ns(4000, &kSpeed, &kSpeed), 2000);
}

static void measured(void** state) {
  scene_t s;
  leat_costs_t* costs;
  scene_open(&s);
  LEAT_EXPECT_OK(leat_costs_create(leat_allocator_system(), NULL, &costs));
  leat_output_t a = input(&s, 2, (int64_t[]){20, 30});
  leat_output_t y = scene_output(&s, "Neg", "y", "", LEAT_INPUTS(a), LEAT_NO_ATTRS);
  const leat_node_t* node = &s.graph->nodes[y.node];
  int64_t estimate = leat_cost_node_ns(costs, s.graph, node, LEAT_SV("CPU"), &kSpeed);
  assert_int_equal(estimate, leat_cost_time_ns(leat_cost_work(s.graph, node), &kSpeed));
  leat_pb_allocation_description_t allocation = {.requested_bytes = 77};
  leat_pb_tensor_description_t tensor = {.allocation_description = &allocation};
  leat_pb_node_output_t output = {.tensor_description = &tensor};
  leat_pb_node_exec_stats_t stats = {.node_name = LEAT_SV("y"), .op_end_rel_nanos = 5000};
  stats.output.items = &output;
  stats.output.count = 1;
  leat_pb_device_step_stats_t device = {
      .device = LEAT_SV("/job:localhost/replica:0/task:0/device:SIM:0")};
  device.node_stats.items = &stats;
  device.node_stats.count = 1;
  leat_pb_step_stats_t step = {.dev_stats = {&device, 1}};
  LEAT_EXPECT_OK(leat_costs_add_step(costs, &step));
  assert_int_equal(leat_cost_node_ns(costs, s.graph, node, LEAT_SV("SIM"), &kSpeed), 5000);
  assert_int_equal(leat_cost_node_ns(costs, s.graph, node, LEAT_SV("CPU"), &kSpeed), estimate);
  assert_int_equal(leat_cost_output_bytes(costs, s.graph, y), 77);
  stats.op_end_rel_nanos = 9000;
  LEAT_EXPECT_OK(leat_costs_add_step(costs, &step));
  assert_int_equal(leat_cost_node_ns(costs, s.graph, node, LEAT_SV("SIM"), &kSpeed), 6000);
  leat_costs_t* own;
  LEAT_EXPECT_OK(leat_costs_create(leat_allocator_system(), costs, &own));
  leat_costs_release(costs);
  assert_int_equal(leat_cost_node_ns(own, s.graph, node, LEAT_SV("SIM"), &kSpeed), 6000);
  // A loop's body runs more than once in a step.
  leat_pb_node_exec_stats_t runs[] = {stats, stats, stats};
  device.node_stats.items = runs;
  device.node_stats.count = 3;
  LEAT_EXPECT_OK(leat_costs_add_step(own, &step));
  assert_int_equal(leat_cost_node_ns(own, s.graph, node, LEAT_SV("SIM"), &kSpeed), 27000);
  assert_int_equal(leat_costs_most_ns(own, LEAT_SV("y"), LEAT_SV("SIM")), 27000);
  assert_int_equal(leat_cost_output_bytes(own, s.graph, y), 77);
  // A negative size says nothing, and leaves what the base table says.
  leat_costs_t* client;
  LEAT_EXPECT_OK(leat_costs_create(leat_allocator_system(), own, &client));
  allocation.requested_bytes = -5;
  LEAT_EXPECT_OK(leat_costs_add_step(client, &step));
  int64_t bytes = 0;
  assert_true(leat_costs_size(client, LEAT_SV("y"), 0, &bytes));
  assert_int_equal(bytes, 77);
  allocation.requested_bytes = 77;
  runs[0].node_name = LEAT_SV("odd");  // a time that no number can hold
  runs[0].op_start_rel_nanos = INT64_MIN;
  LEAT_EXPECT_OK(leat_costs_add_step(client, &step));
  assert_true(leat_costs_time(client, LEAT_SV("odd"), LEAT_SV("SIM"), &bytes));
  assert_int_equal(bytes, 0);
  runs[0].op_start_rel_nanos = 0;
  leat_costs_release(client);
  // What passes on stays free.
  const leat_node_t* same = &s.graph->nodes[scene_unary(&s, "Identity", -1, y).node];
  runs[0].node_name = same->name;
  LEAT_EXPECT_OK(leat_costs_add_step(own, &step));
  assert_int_equal(leat_cost_node_ns(own, s.graph, same, LEAT_SV("SIM"), &kSpeed), 0);
  leat_costs_release(own);
  leat_costs_release(NULL);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work),
      cmocka_unit_test(unknown_sizes),
      cmocka_unit_test(times),
      cmocka_unit_test(measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
