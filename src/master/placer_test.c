// The placer gives each node a device: by the user's constraints, by colocation, by which kernels
// exist, and by references, which must stay with their variable. The two CPUs and two GPUs exist by
// name only, and a registry of the test's own says which op has a kernel where; the kernels never
// run. Each case builds two or three nodes and compares the device of each. Where nothing fits, the
// message must name the node and the constraint, because it is the user who wrote it; with soft
// placement the same graphs must succeed on another device. The whole graph, also the nodes that no
// step runs, is checked by leat_check_placement().
#include "master/placer.h"

#include <string.h>

#include "session/scene.h"

#define TASK "/job:localhost/replica:0/task:0/device:"

static const leat_placement_device_t devices[] = {
    {.name = LEAT_SV(TASK "CPU:0"), .type = LEAT_SV("CPU")},
    {.name = LEAT_SV(TASK "CPU:1"), .type = LEAT_SV("CPU")},
    {.name = LEAT_SV(TASK "GPU:0"), .type = LEAT_SV("GPU")},
    {.name = LEAT_SV(TASK "GPU:1"), .type = LEAT_SV("GPU")},
};
enum { CPU0, CPU1, GPU0, GPU1 };

// Never run here.
static leat_status_t unused(leat_kernel_context_t* c) { return leat_ok_status(); }

static const leat_kernel_row_t rows[] = {
    {.op = "ProbePass", .device_type = "CPU", .compute = unused},
    {.op = "ProbePass", .device_type = "GPU", .constraints = "T: float", .compute = unused},
    {.op = "ProbeMark", .device_type = "CPU", .compute = unused},
    {.op = "ProbeWork", .device_type = "GPU", .compute = unused},
    {.op = "VariableV2", .device_type = "CPU", .compute = unused},
    {.op = "VariableV2", .device_type = "GPU", .compute = unused},
    {.op = "Assign", .device_type = "CPU", .compute = unused},
    {.op = "Assign", .device_type = "GPU", .compute = unused},
    {.op = "VarHandleOp", .device_type = "CPU", .compute = unused},
    {.op = "VarHandleOp", .device_type = "GPU", .compute = unused},
    {.op = "ReadVariableOp", .device_type = "CPU", .compute = unused},
    {.op = "ReadVariableOp", .device_type = "GPU", .compute = unused},
    {.op = "Const", .device_type = "CPU", .compute = unused},
    {.op = "Enter", .device_type = "CPU", .compute = unused},
    {.op = "Enter", .device_type = "GPU", .compute = unused},
    {.op = "Merge", .device_type = "CPU", .compute = unused},
    {.op = "Merge", .device_type = "GPU", .compute = unused},
    {.op = "NextIteration", .device_type = "CPU", .compute = unused},
    {.op = "NextIteration", .device_type = "GPU", .compute = unused},
    {.op = 0},
};

typedef struct fixture_s {
  scene_t scene;
  leat_kernel_registry_t* kernels;
  leat_placer_options_t options;
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  f = (fixture_t){0};
  scene_open(&f.scene);
  LEAT_EXPECT_OK(leat_kernel_registry_create(leat_allocator_system(), &f.kernels));
  LEAT_EXPECT_OK(leat_kernel_registry_add(f.kernels, rows));
  f.options = (leat_placer_options_t){.kernels = f.kernels, .devices = devices, .device_count = 4};
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  leat_kernel_registry_free(f->kernels);
  scene_close(&f->scene);
  return 0;
}

static leat_output_t constant(fixture_t* f) { return scene_float(&f->scene, 1); }

static leat_output_t pass_on(fixture_t* f, const char* device, leat_output_t x) {
  return scene_output(&f->scene, "ProbePass", "", device, LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_INT("id", 1)));
}

static int place_of(fixture_t* f, leat_output_t output) {
  return f->scene.graph->nodes[output.node].assigned_device;
}

static void accelerators_first(void** state) {
  fixture_t* f = *state;
  leat_output_t c = constant(f), x = pass_on(f, "", c);
  leat_tensor_t text;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(LEAT_SV("s"), &text));
  leat_output_t s = pass_on(f, "", leat_build_constant(&f->scene.b, &text));
  leat_tensor_release(&text);
  int32_t mark = scene_mark(&f->scene, 1, -1);
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  assert_int_equal(place_of(f, c), CPU0);  // the only kernel
  assert_int_equal(place_of(f, x), GPU0);
  assert_int_equal(place_of(f, s), CPU0);  // the GPU's takes no strings
  assert_int_equal(f->scene.graph->nodes[mark].assigned_device, CPU0);
}

static void constraints(void** state) {
  fixture_t* f = *state;
  static const struct {
    const char* device;
    int place;
  } cases[] = {
      {"/device:CPU:1", CPU1}, {"/cpu:0", CPU0},         {"/gpu:1", GPU1},
      {"/device:GPU:*", GPU0}, {"/job:localhost", GPU0}, {"/job:localhost/device:CPU:*", CPU0},
      {"/task:0/device:CPU:1", CPU1}, {TASK "GPU:1", GPU1}, {"/device:cpu:1", CPU1},
  };
  leat_output_t c = constant(f), outputs[LEAT_ARRAY_SIZE(cases)];
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) outputs[i] = pass_on(f, cases[i].device, c);
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    assert_int_equal(place_of(f, outputs[i]), cases[i].place);
  }
}

static void impossible_constraints(void** state) {
  fixture_t* f = *state;
  leat_output_t c = constant(f);
  scene_output(&f->scene, "ProbePass", "lost", "/device:GPU:7", LEAT_INPUTS(c),
               LEAT_ATTRS(LEAT_INT("id", 1)));
  leat_status_t status = leat_place(f->scene.graph, &f->options);
  const char* message = leat_status_message(status);
  assert_non_null(strstr(message, "'lost' (ProbePass)"));
  assert_non_null(strstr(message, "/device:GPU:7"));
  assert_non_null(strstr(message, TASK "GPU:1"));
  scene_expect(status, LEAT_INVALID_ARGUMENT, "Available devices");
  f->options.allow_soft_placement = true;
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
}

static void no_kernel_there(void** state) {
  fixture_t* f = *state;
  int32_t mark = scene_node(&f->scene, "ProbeMark", "mark", "/gpu:1", LEAT_NO_INPUTS,
                            LEAT_ATTRS(LEAT_INT("id", 1)));
  scene_expect(leat_place(f->scene.graph, &f->options), LEAT_INVALID_ARGUMENT, "'mark'");
  f->options.allow_soft_placement = true;
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  assert_int_equal(f->scene.graph->nodes[mark].assigned_device, CPU0);
}

static void no_kernel_anywhere(void** state) {
  fixture_t* f = *state;
  scene_unary(&f->scene, "ProbeNowhere", -1, constant(f));
  f->options.allow_soft_placement = true;
  scene_expect(leat_place(f->scene.graph, &f->options), LEAT_INVALID_ARGUMENT,
               "No OpKernel was registered");
}

static void unreadable_constraints(void** state) {
  fixture_t* f = *state;
  pass_on(f, "/device:CPU:x", constant(f));
  scene_expect(leat_place(f->scene.graph, &f->options), LEAT_INVALID_ARGUMENT, "/device:CPU:x");
}

static leat_output_t beside(fixture_t* f, const char* device, leat_output_t x, const char* first,
                            const char* second) {
  leat_string_view_t classes[] = {leat_string_view_from(first), leat_string_view_from(second)};
  leat_attr_t attrs[] = {LEAT_INT("id", 1),
                         {LEAT_SV("_class"),
                          {.kind = LEAT_ATTR_STRING, .is_list = true, .count = 2,
                           .strings = classes}}};
  return scene_output(&f->scene, "ProbePass", "", device, LEAT_INPUTS(x),
                      (leat_attrs_t){attrs, 2});
}

static void colocation(void** state) {
  fixture_t* f = *state;
  leat_output_t c = constant(f);
  leat_output_t a = scene_output(&f->scene, "ProbePass", "a", "/cpu:1", LEAT_INPUTS(c),
                                 LEAT_ATTRS(LEAT_INT("id", 1)));
  leat_output_t b = beside(f, "", c, "loc:@a", "loc:@unknown");
  leat_output_t d = scene_output(&f->scene, "ProbePass", "d", "", LEAT_INPUTS(c),
                                 LEAT_ATTRS(LEAT_INT("id", 1)));
  leat_output_t e = beside(f, "/device:CPU:*", c, "loc:@d", "whatever");
  leat_output_t chain = beside(f, "", c, "loc:@d", "loc:@a");  // joins the two
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  assert_int_equal(place_of(f, a), CPU1);
  assert_int_equal(place_of(f, b), CPU1);
  assert_int_equal(place_of(f, d), CPU1);
  assert_int_equal(place_of(f, e), CPU1);
  assert_int_equal(place_of(f, chain), CPU1);
}

static void colocation_narrows_to_common_kernels(void** state) {
  fixture_t* f = *state;
  leat_tensor_t one = scene_value(1);
  leat_output_t c = scene_output(
      &f->scene, "Const", "c", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TENSOR("value", &one), LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_tensor_release(&one);
  leat_output_t x = beside(f, "", c, "loc:@c", "");
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  assert_int_equal(place_of(f, x), CPU0);
}

static void contradictions(void** state) {
  fixture_t* f = *state;
  leat_output_t c = constant(f);
  scene_output(&f->scene, "ProbePass", "a", "/cpu:1", LEAT_INPUTS(c),
               LEAT_ATTRS(LEAT_INT("id", 1)));
  beside(f, "/cpu:0", c, "loc:@a", "");
  scene_expect(leat_place(f->scene.graph, &f->options), LEAT_INVALID_ARGUMENT, "'a'");
  f->options.allow_soft_placement = true;
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
}

// One runs on the CPU only, the other on the GPU only.
static void colocated_without_a_common_device(void** state) {
  fixture_t* f = *state;
  leat_output_t c = scene_output(&f->scene, "ProbeWork", "w", "", LEAT_INPUTS(constant(f)),
                                 LEAT_NO_ATTRS);
  leat_tensor_t text;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(LEAT_SV("s"), &text));
  leat_output_t s = leat_build_constant(&f->scene.b, &text);
  leat_tensor_release(&text);
  beside(f, "", s, "loc:@w", "");
  (void)c;
  scene_expect(leat_place(f->scene.graph, &f->options), LEAT_INVALID_ARGUMENT, "share no device");
}

static void references_stay_with_their_variable(void** state) {
  fixture_t* f = *state;
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t v = scene_output(&f->scene, "VariableV2", "v", "/cpu:1", LEAT_NO_INPUTS,
                                 (leat_attrs_t){attrs, 2});
  leat_output_t h = scene_output(&f->scene, "VarHandleOp", "h", "/gpu:1", LEAT_NO_INPUTS,
                                 (leat_attrs_t){attrs, 2});
  leat_output_t set = scene_binary(&f->scene, "Assign", -1, v, constant(f));
  leat_output_t read = scene_output(&f->scene, "ReadVariableOp", "", "", LEAT_INPUTS(h),
                                    LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_output_t value = pass_on(f, "", v);  // takes the value, not the reference
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  assert_int_equal(place_of(f, set), CPU1);
  assert_int_equal(place_of(f, read), GPU1);
  assert_int_equal(place_of(f, value), GPU0);
}

// Nodes of a loop stay with the variable whose handle they pass on, whatever device they ask for,
// those that give it back to the loop's beginning too.
static void handles_in_loops_stay_with_their_variable(void** state) {
  fixture_t* f = *state;
  const leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                               LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t h = scene_output(&f->scene, "VarHandleOp", "h", "/gpu:1", LEAT_NO_INPUTS,
                                 (leat_attrs_t){attrs, 2});
  leat_output_t in = scene_output(&f->scene, "Enter", "", "/cpu:1", LEAT_INPUTS(h),
                                  LEAT_ATTRS(LEAT_STRING("frame_name", LEAT_SV("loop"))));
  leat_output_t again = scene_output(&f->scene, "Merge", "", "/cpu:1", LEAT_INPUTS(in, in),
                                     LEAT_NO_ATTRS);
  leat_output_t next = scene_output(&f->scene, "NextIteration", "", "/cpu:1", LEAT_INPUTS(again),
                                    LEAT_NO_ATTRS);
  leat_output_t read = scene_output(&f->scene, "ReadVariableOp", "", "/cpu:1", LEAT_INPUTS(again),
                                    LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  LEAT_EXPECT_OK(leat_graph_set_input(f->scene.graph, again.node, 1, next));
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  const leat_output_t outputs[] = {in, again, next, read};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(outputs); ++i) {
    assert_int_equal(place_of(f, outputs[i]), GPU1);
  }
}

static void only_device(void** state) {
  fixture_t* f = *state;
  f->options.device_count = 1;
  leat_output_t x = pass_on(f, "", constant(f));
  LEAT_EXPECT_OK(leat_place(f->scene.graph, &f->options));
  assert_int_equal(place_of(f, x), 0);
  pass_on(f, "/gpu:0", x);
  scene_expect(leat_place(f->scene.graph, &f->options), LEAT_INVALID_ARGUMENT, "/gpu:0");
}

static void whole_graph_check(void** state) {
  fixture_t* f = *state;
  size_t checked = 0;
  leat_output_t x = pass_on(f, "/gpu:0", constant(f));
  LEAT_EXPECT_OK(leat_check_placement(f->scene.graph, &f->options, &checked));
  assert_int_equal(checked, f->scene.graph->node_count);
  pass_on(f, "/job:elsewhere", x);
  scene_expect(leat_check_placement(f->scene.graph, &f->options, &checked),
               LEAT_INVALID_ARGUMENT, "/job:elsewhere");
  scene_expect(leat_check_placement(f->scene.graph, &f->options, &checked),
               LEAT_INVALID_ARGUMENT, "/job:elsewhere");
}

static void whole_graph_kernels(void** state) {
  fixture_t* f = *state;
  size_t checked = 0;
  scene_unary(&f->scene, "ProbeNowhere", -1, constant(f));
  scene_expect(leat_check_placement(f->scene.graph, &f->options, &checked),
               LEAT_INVALID_ARGUMENT, "No OpKernel was registered");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(accelerators_first),
      TEST(constraints),
      TEST(impossible_constraints),
      TEST(no_kernel_there),
      TEST(no_kernel_anywhere),
      TEST(unreadable_constraints),
      TEST(colocation),
      TEST(colocation_narrows_to_common_kernels),
      TEST(contradictions),
      TEST(colocated_without_a_common_device),
      TEST(references_stay_with_their_variable),
      TEST(handles_in_loops_stay_with_their_variable),
      TEST(only_device),
      TEST(whole_graph_check),
      TEST(whole_graph_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
