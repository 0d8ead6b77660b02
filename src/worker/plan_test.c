// Plans as they are compiled: slots, who reads last, what is emptied when, references, constants.
#include "worker/plan.h"

#include "base/fault.h"
#include "session/partition.h"

static void last_readers_release(void** state) {
  partition_t* f = *state;
  leat_output_t x = partition_argument(f, 0);
  leat_output_t a = scene_unary(&f->scene, "Neg", -1, x);
  leat_output_t b = scene_unary(&f->scene, "Exp", -1, a);
  leat_output_t c = scene_binary(&f->scene, "AddV2", -1, a, b);
  leat_output_t twice = scene_binary(&f->scene, "Mul", -1, c, c);
  LEAT_EXPECT_OK(partition_compile(f, &twice, 1, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  assert_int_equal(plan->record_count, 4);  // the argument has a slot but no record
  assert_true(plan->linear);
  const leat_record_t *neg = partition_record(plan, a.node), *exp = partition_record(plan, b.node),
                      *add = partition_record(plan, c.node),
                      *mul = partition_record(plan, twice.node);
  assert_int_equal(neg->input_slots[0], plan->feed_slots[0]);
  assert_true(neg->last_readers == 1 && partition_releases(plan, neg, neg->input_slots[0]));
  assert_true(exp->last_readers == 0 && exp->release_count == 0);  // the sum reads a later
  assert_true(add->last_readers == 3);
  assert_true(partition_releases(plan, add, neg->first_output));
  assert_true(partition_releases(plan, add, exp->first_output));
  // One slot twice: emptied once, never overwritten.
  assert_true(mul->last_readers == 0 && mul->release_count == 1);
  assert_int_equal(plan->fetch_slots[0], mul->first_output);
  assert_true(plan->fetch_moves[0]);
  assert_int_equal(plan->readers[neg->first_output], 2);
  assert_int_equal(plan->readers[mul->input_slots[0]], 2);
}

static void unread_outputs_are_emptied(void** state) {
  partition_t* f = *state;
  leat_output_t axis = leat_build_scalar(&f->scene.b, LEAT_DTYPE_INT32, 0);
  int32_t split = scene_node(&f->scene, "Split", "split", "",
                             LEAT_INPUTS(axis, partition_argument(f, 0)),
                             LEAT_ATTRS(LEAT_INT("num_split", 3)));
  leat_output_t used = leat_node_output(split, 1);
  LEAT_EXPECT_OK(partition_compile(f, &used, 1, 1, &f->plan));
  const leat_record_t* record = partition_record(f->plan, split);
  assert_int_equal(record->output_count, 3);
  assert_true(partition_releases(f->plan, record, record->first_output));
  assert_false(partition_releases(f->plan, record, record->first_output + 1));
  assert_true(partition_releases(f->plan, record, record->first_output + 2));
}

static void constants_stay(void** state) {
  partition_t* f = *state;
  leat_output_t c = scene_float(&f->scene, 2);
  leat_output_t y = scene_binary(&f->scene, "Mul", -1, c, partition_argument(f, 0));
  leat_output_t fetches[] = {c, y, c};
  LEAT_EXPECT_OK(partition_compile(f, fetches, 3, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  const leat_record_t* mul = partition_record(plan, y.node);
  assert_int_equal(plan->record_count, 1);
  assert_int_equal(plan->constant_count, 1);
  assert_int_equal(plan->readers[plan->constant_slots[0]], LEAT_READERS_CONSTANT);
  assert_true(mul->last_readers == 2);  // the argument only
  assert_false(partition_releases(plan, mul, plan->constant_slots[0]));
  assert_true(!plan->fetch_moves[0] && plan->fetch_moves[1] && !plan->fetch_moves[2]);
  leat_plan_instance_t *one, *two, *kept = NULL;
  assert_null(leat_plan_take_instance(&kept));
  LEAT_EXPECT_OK(leat_plan_make_instance(plan, &one));
  LEAT_EXPECT_OK(leat_plan_make_instance(plan, &two));
  assert_ptr_not_equal(one, two);
  assert_true(one->slots[plan->constant_slots[0]].alive);
  leat_plan_empty_instance(plan, one);
  assert_true(one->slots[plan->constant_slots[0]].alive);
  leat_plan_keep_instance(&kept, one);
  leat_plan_keep_instance(&kept, two);
  assert_ptr_equal(leat_plan_take_instance(&kept), two);  // the newest first: warm
  assert_ptr_equal(leat_plan_take_instance(&kept), one);
  leat_plan_free_instance(plan, one);
  leat_plan_free_instance(plan, two);
}

// A constant that waits for somebody is a record: it may be read only then.
static void constants_with_control_inputs_run(void** state) {
  partition_t* f = *state;
  leat_output_t c = scene_float(&f->scene, 2);
  int32_t mark = scene_mark(&f->scene, 1, -1);
  scene_after(&f->scene, c.node, mark);
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, c);
  LEAT_EXPECT_OK(partition_compile(f, &y, 1, 0, &f->plan));
  assert_int_equal(f->plan->record_count, 3);
  assert_int_equal(f->plan->constant_count, 0);
  assert_int_equal(f->plan->root_count, 1);
  assert_int_equal(f->plan->record_nodes[f->plan->roots[0]], mark);
}

static void references_are_read(void** state) {
  partition_t* f = *state;
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t v = scene_output(&f->scene, "VariableV2", "v", "", LEAT_NO_INPUTS,
                                 (leat_attrs_t){attrs, 2});
  leat_output_t assign = scene_binary(&f->scene, "Assign", -1, v, partition_argument(f, 0));
  leat_output_t sum = scene_binary(&f->scene, "AddV2", -1, v, v);
  scene_after(&f->scene, sum.node, assign.node);
  leat_output_t fetches[] = {sum, v};
  LEAT_EXPECT_OK(partition_compile(f, fetches, 2, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  const leat_record_t *set = partition_record(plan, assign.node),
                      *add = partition_record(plan, sum.node);
  uint32_t reference = plan->fetch_slots[1];
  assert_int_equal(set->input_slots[0], reference);  // Assign takes the reference itself
  assert_true(set->flags & LEAT_RECORD_HAS_REFS);
  assert_int_equal(plan->dereference_count, 2);
  assert_int_equal(add->input_slots[0], plan->dereferences[0].target);
  assert_int_equal(add->input_slots[1], plan->dereferences[1].target);
  assert_int_not_equal(add->input_slots[0], add->input_slots[1]);
  assert_int_equal(plan->dereferences[0].source, reference);
  assert_int_equal(plan->readers[reference], 4);  // Assign, twice the sum, the fetch
  assert_false(partition_releases(plan, add, reference));
  assert_true(partition_releases(plan, add, add->input_slots[0]));
}

static void successors_and_roots(void** state) {
  partition_t* f = *state;
  leat_output_t x = scene_pass(&f->scene, 1, -1, partition_argument(f, 0));
  leat_output_t y = scene_binary(&f->scene, "AddV2", -1, x, x);
  int32_t mark = scene_mark(&f->scene, 2, -1);
  scene_after(&f->scene, mark, x.node);
  scene_after(&f->scene, y.node, mark);
  LEAT_EXPECT_OK(partition_compile(f, &y, 1, 1, &f->plan));
  leat_plan_t* plan = f->plan;
  const leat_record_t *pass = partition_record(plan, x.node), *sum = partition_record(plan, y.node);
  assert_int_equal(plan->root_count, 1);
  assert_int_equal(pass->successor_count, 3);  // an edge each
  assert_int_equal(plan->pending[sum - plan->records], 3);
}

static void asynchronous_plans_are_not_linear(void** state) {
  partition_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, partition_argument(f, 0));
  LEAT_EXPECT_OK(partition_compile(f, &y, 1, 1, &f->plan));
  assert_false(f->plan->linear);
  assert_true(f->plan->waits);
  assert_false(f->plan->uses_rendezvous);
}

static void arguments_must_be_in_range(void** state) {
  partition_t* f = *state;
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, partition_argument(f, 1));
  scene_expect(partition_compile(f, &y, 1, 1, &f->plan), LEAT_INVALID_ARGUMENT, "index is 1");
}

static void no_kernel(void** state) {
  partition_t* f = *state;
  leat_output_t x = scene_placeholder(&f->scene, "x", LEAT_DTYPE_STRING);
  leat_output_t y = scene_unary(&f->scene, "ProbeNowhere", -1, x);
  leat_status_t status = partition_compile(f, &y, 1, 0, &f->plan);
  scene_expect(status, LEAT_INVALID_ARGUMENT, "No OpKernel was registered");
}

static void memory_may_end(void** state) {
  partition_t* f = *state;
  leat_output_t x = partition_argument(f, 0);
  leat_output_t y = scene_binary(&f->scene, "AddV2", -1, x, scene_float(&f->scene, 1));
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_plan_instance_t* instance = NULL;
    leat_plan_t* plan = NULL;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = partition_compile(f, &y, 1, 1, &plan);
    if (!status) status = leat_plan_make_instance(plan, &instance);
    bool met = leat_fault_remove(&fault);
    if (instance) leat_plan_free_instance(plan, instance);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, partition_set_up, partition_tear_down)
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
