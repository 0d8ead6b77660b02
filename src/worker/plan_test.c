// Plans as they are compiled: slots, who reads last, what is emptied when, references, constants.
#include "worker/plan.h"

#include "base/fault.h"
#include "session/scene.h"

typedef struct fixture_s {
  scene_t scene;
  leat_device_t* device;
  leat_resource_manager_t* resources;
  leat_plan_t* plan;
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  f = (fixture_t){0};
  scene_open(&f.scene);
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                        NULL, leat_allocator_system(), &f.device));
  LEAT_EXPECT_OK(leat_resource_manager_create(leat_allocator_system(), &f.resources));
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  leat_plan_free(f->plan);
  leat_resource_manager_free(f->resources);
  leat_device_release(f->device);
  scene_close(&f->scene);
  return 0;
}

static leat_status_t compile(fixture_t* f, const leat_output_t* fetches, int fetch_count,
                             int feed_count, leat_plan_t** out_plan) {
  leat_graph_t* child;
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(f->scene.graph, &child));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; !status && i < f->scene.graph->node_count; ++i) {
    const leat_node_t* node = &f->scene.graph->nodes[i];
    int32_t copy;
    status = leat_graph_copy_node(child, node, node->inputs, node->input_count,
                                  node->control_count, &copy);
  }
  leat_register_request_t request = {.graph = child, .fetches = fetches,
                                     .fetch_count = fetch_count, .feed_count = feed_count};
  leat_plan_options_t options = {f->scene.runtime->kernels, f->resources, f->device,
                                 leat_allocator_system()};
  if (!status) status = leat_plan_compile(&request, &options, out_plan);
  if (status) leat_graph_free(child);
  return status;
}

static leat_output_t argument(fixture_t* f, int index) {
  return scene_output(&f->scene, "_Arg", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_INT("index", index)));
}

static const leat_record_t* record_of(const leat_plan_t* plan, int32_t node) {
  for (uint32_t i = 0; i < plan->record_count; ++i) {
    if (plan->record_nodes[i] == node) return &plan->records[i];
  }
  fail_msg("node %d has no record", node);
  return NULL;
}

static bool releases(const leat_plan_t* plan, const leat_record_t* record, uint32_t slot) {
  for (uint32_t i = 0; i < record->release_count; ++i) {
    if (plan->releases[record->first_release + i] == slot) return true;
  }
  return false;
}

static void last_readers_release(void** state) {
  fixture_t* f = *state;
  leat_output_t x = argument(f, 0);
  leat_output_t a = scene_unary(&f->scene, "Neg", -1, x);
  leat_output_t b = scene_unary(&f->scene, "Exp", -1, a);
  leat_output_t c = scene_binary(&f->scene, "AddV2", -1, a, b);
  leat_output_t twice = scene_binary(&f->scene, "Mul", -1, c, c);
  LEAT_EXPECT_OK(compile(f, &twice, 1, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  assert_int_equal(plan->record_count, 4);  // the argument has a slot but no record
  assert_true(plan->linear);
  const leat_record_t *neg = record_of(plan, a.node), *exp = record_of(plan, b.node),
                      *add = record_of(plan, c.node), *mul = record_of(plan, twice.node);
  assert_int_equal(neg->input_slots[0], plan->feed_slots[0]);
  assert_true(neg->last_readers == 1 && releases(plan, neg, neg->input_slots[0]));
  assert_true(exp->last_readers == 0 && exp->release_count == 0);  // the sum reads a later
  assert_true(add->last_readers == 3);
  assert_true(releases(plan, add, neg->first_output) && releases(plan, add, exp->first_output));
  // One slot twice: emptied once, never overwritten.
  assert_true(mul->last_readers == 0 && mul->release_count == 1);
  assert_int_equal(plan->fetch_slots[0], mul->first_output);
  assert_true(plan->fetch_moves[0]);
  assert_int_equal(plan->readers[neg->first_output], 2);
  assert_int_equal(plan->readers[mul->input_slots[0]], 2);
}

static void unread_outputs_are_emptied(void** state) {
  fixture_t* f = *state;
  leat_output_t axis = leat_build_scalar(&f->scene.b, LEAT_DTYPE_INT32, 0);
  int32_t split = scene_node(&f->scene, "Split", "split", "", LEAT_INPUTS(axis, argument(f, 0)),
                             LEAT_ATTRS(LEAT_INT("num_split", 3)));
  leat_output_t used = leat_node_output(split, 1);
  LEAT_EXPECT_OK(compile(f, &used, 1, 1, &f->plan));
  const leat_record_t* record = record_of(f->plan, split);
  assert_int_equal(record->output_count, 3);
  assert_true(releases(f->plan, record, record->first_output));
  assert_false(releases(f->plan, record, record->first_output + 1));
  assert_true(releases(f->plan, record, record->first_output + 2));
}

static void constants_stay(void** state) {
  fixture_t* f = *state;
  leat_output_t c = scene_float(&f->scene, 2);
  leat_output_t y = scene_binary(&f->scene, "Mul", -1, c, argument(f, 0));
  leat_output_t fetches[] = {c, y, c};
  LEAT_EXPECT_OK(compile(f, fetches, 3, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  const leat_record_t* mul = record_of(plan, y.node);
  assert_int_equal(plan->record_count, 1);
  assert_int_equal(plan->constant_count, 1);
  assert_int_equal(plan->readers[plan->constant_slots[0]], LEAT_READERS_CONSTANT);
  assert_true(mul->last_readers == 2);  // the argument only
  assert_false(releases(plan, mul, plan->constant_slots[0]));
  assert_true(!plan->fetch_moves[0] && plan->fetch_moves[1] && !plan->fetch_moves[2]);
  leat_plan_instance_t *one, *two;
  LEAT_EXPECT_OK(leat_plan_acquire(plan, &one));
  LEAT_EXPECT_OK(leat_plan_acquire(plan, &two));
  assert_ptr_not_equal(one, two);
  assert_true(one->slots[plan->constant_slots[0]].alive);
  leat_plan_recycle(plan, one, false);
  assert_true(one->slots[plan->constant_slots[0]].alive);
  leat_plan_recycle(plan, two, true);
  LEAT_EXPECT_OK(leat_plan_acquire(plan, &one));
  assert_ptr_equal(one, two);  // the newest first: warm
  leat_plan_recycle(plan, one, true);
}

// A constant that waits for somebody is a record: it may be read only then.
static void constants_with_control_inputs_run(void** state) {
  fixture_t* f = *state;
  leat_output_t c = scene_float(&f->scene, 2);
  int32_t mark = scene_mark(&f->scene, 1, -1);
  scene_after(&f->scene, c.node, mark);
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, c);
  LEAT_EXPECT_OK(compile(f, &y, 1, 0, &f->plan));
  assert_int_equal(f->plan->record_count, 3);
  assert_int_equal(f->plan->constant_count, 0);
  assert_int_equal(f->plan->root_count, 1);
  assert_int_equal(f->plan->record_nodes[f->plan->roots[0]], mark);
}

static void references_are_read(void** state) {
  fixture_t* f = *state;
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t v = scene_output(&f->scene, "VariableV2", "v", "", LEAT_NO_INPUTS,
                                 (leat_attrs_t){attrs, 2});
  leat_output_t assign = scene_binary(&f->scene, "Assign", -1, v, argument(f, 0));
  leat_output_t sum = scene_binary(&f->scene, "AddV2", -1, v, v);
  scene_after(&f->scene, sum.node, assign.node);
  leat_output_t fetches[] = {sum, v};
  LEAT_EXPECT_OK(compile(f, fetches, 2, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  const leat_record_t *set = record_of(plan, assign.node), *add = record_of(plan, sum.node);
  uint32_t reference = plan->fetch_slots[1];
  assert_int_equal(set->input_slots[0], reference);  // Assign takes the reference itself
  assert_true(set->flags & LEAT_RECORD_HAS_REFS);
  assert_int_equal(plan->dereference_count, 2);
  assert_int_equal(add->input_slots[0], plan->dereferences[0].target);
  assert_int_equal(add->input_slots[1], plan->dereferences[1].target);
  assert_int_not_equal(add->input_slots[0], add->input_slots[1]);
  assert_int_equal(plan->dereferences[0].source, reference);
  assert_int_equal(plan->readers[reference], 4);  // Assign, twice the sum, the fetch
  assert_false(releases(plan, add, reference));
  assert_true(releases(plan, add, add->input_slots[0]));
}

static void successors_and_roots(void** state) {
  fixture_t* f = *state;
  leat_output_t x = scene_pass(&f->scene, 1, -1, argument(f, 0));
  leat_output_t y = scene_binary(&f->scene, "AddV2", -1, x, x);
  int32_t mark = scene_mark(&f->scene, 2, -1);
  scene_after(&f->scene, mark, x.node);
  scene_after(&f->scene, y.node, mark);
  LEAT_EXPECT_OK(compile(f, &y, 1, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  const leat_record_t *pass = record_of(plan, x.node), *sum = record_of(plan, y.node);
  assert_int_equal(plan->root_count, 1);
  assert_int_equal(pass->successor_count, 3);  // an edge each
  assert_int_equal(plan->pending[sum - plan->records], 3);
}

static void asynchronous_plans_are_not_linear(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, argument(f, 0));
  LEAT_EXPECT_OK(compile(f, &y, 1, 1, &f->plan));
  assert_false(f->plan->linear);
  assert_true(f->plan->waits);
  assert_false(f->plan->uses_rendezvous);
}

static void arguments_must_be_in_range(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, argument(f, 1));
  scene_expect(compile(f, &y, 1, 1, &f->plan), LEAT_INVALID_ARGUMENT, "index is 1");
}

static void no_kernel(void** state) {
  fixture_t* f = *state;
  leat_output_t x = scene_placeholder(&f->scene, "x", LEAT_DTYPE_STRING);
  leat_output_t y = scene_unary(&f->scene, "ProbeNowhere", -1, x);
  leat_status_t status = compile(f, &y, 1, 0, &f->plan);
  scene_expect(status, LEAT_INVALID_ARGUMENT, "No OpKernel was registered");
}

static void memory_may_end(void** state) {
  fixture_t* f = *state;
  leat_output_t x = argument(f, 0);
  leat_output_t y = scene_binary(&f->scene, "AddV2", -1, x, scene_float(&f->scene, 1));
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_plan_instance_t* instance = NULL;
    leat_plan_t* plan = NULL;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = compile(f, &y, 1, 1, &plan);
    if (!status) status = leat_plan_acquire(plan, &instance);
    bool met = leat_fault_remove(&fault);
    if (instance) leat_plan_recycle(plan, instance, true);
    leat_plan_free(plan);
    if (!met) {
      LEAT_EXPECT_OK(status);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(last_readers_release),
      TEST(unread_outputs_are_emptied),
      TEST(constants_stay),
      TEST(constants_with_control_inputs_run),
      TEST(references_are_read),
      TEST(successors_and_roots),
      TEST(asynchronous_plans_are_not_linear),
      TEST(arguments_must_be_in_range),
      TEST(no_kernel),
      TEST(memory_may_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
