// Plans as they are compiled: slots, who reads last, what is emptied when, references, constants,
// and which executor is chosen. Each test builds a small graph, compiles it, and looks at the
// records and tables of the plan, because a value that is released too late or copied needlessly
// changes no result. Nothing runs here, apart from making an instance;
// tests/session/executors_test.c runs plans. Control flow is in sequence_control_test.c.
#include "worker/compiler.h"

#include "base/fault.h"
#include "session/flow.h"
#include "session/partition.h"

static leat_record_t* record_of(partition_t* f, int32_t node) {
  return (leat_record_t*)partition_record(f->plan, node);
}

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
  assert_int_equal(plan->executor, LEAT_EXECUTOR_SEQUENCE);
  assert_true(plan->ends_at_once);
  const leat_record_t *neg = partition_record(plan, a.node), *exp = partition_record(plan, b.node),
                      *add = partition_record(plan, c.node),
                      *mul = partition_record(plan, twice.node);
  assert_int_equal(neg->input_slots[0], plan->feed_slots[0]);
  assert_true(neg->last_readers == 1 && partition_releases(plan, neg, neg->input_slots[0]));
  assert_true(exp->last_readers == 0 && exp->sequence.release_count == 0);  // the sum reads a later
  assert_true(add->last_readers == 3);
  assert_true(partition_releases(plan, add, neg->first_output));
  assert_true(partition_releases(plan, add, exp->first_output));
  // One slot twice: emptied once, never overwritten.
  assert_true(mul->last_readers == 0 && mul->sequence.release_count == 1);
  assert_int_equal(plan->fetch_slots[0], mul->first_output);
  assert_true(plan->fetch_moves[0]);
}

// The dataflow executor finds the last reader by counting: every input is one.
static void readers_are_counted(void** state) {
  partition_t* f = *state;
  f->executor = LEAT_EXECUTOR_DATAFLOW;
  leat_output_t a = scene_unary(&f->scene, "Neg", -1, partition_argument(f, 0));
  leat_output_t b = scene_unary(&f->scene, "Exp", -1, a);
  leat_output_t c = scene_binary(&f->scene, "AddV2", -1, a, b);
  leat_output_t twice = scene_binary(&f->scene, "Mul", -1, c, c), fetches[] = {twice, twice};
  LEAT_EXPECT_OK(partition_compile(f, fetches, 2, 1, &f->plan));
  assert_int_equal(f->plan->executor, LEAT_EXECUTOR_DATAFLOW);
  assert_false(f->plan->ends_at_once);
  const uint32_t* readers = f->plan->dataflow.frame_tables[0].readers;
  assert_int_equal(readers[record_of(f, a.node)->first_output], 2);
  assert_int_equal(readers[record_of(f, b.node)->first_output], 1);
  assert_int_equal(readers[record_of(f, c.node)->first_output], 2);
  assert_int_equal(readers[record_of(f, twice.node)->first_output], 2);  // the fetches
  assert_true(!f->plan->fetch_moves[0] && f->plan->fetch_moves[1]);
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
  assert_int_equal(record->kernel->output_count, 3);
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
  assert_int_equal(plan->fetch_slots[0], 0);  // constants have the first slots
  assert_true(mul->last_readers == 2);  // the argument only
  assert_false(partition_releases(plan, mul, 0));
  assert_true(!plan->fetch_moves[0] && plan->fetch_moves[1] && !plan->fetch_moves[2]);
  leat_plan_instance_t *one, *two, *kept = NULL;
  assert_null(leat_plan_take_instance(&kept));
  LEAT_EXPECT_OK(leat_plan_make_instance(plan, &one));
  LEAT_EXPECT_OK(leat_plan_make_instance(plan, &two));
  assert_ptr_not_equal(one, two);
  assert_true(one->slots[0].alive);
  leat_plan_empty_instance(plan, one);
  assert_true(one->slots[0].alive);
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
  f->executor = LEAT_EXECUTOR_DATAFLOW;
  leat_output_t c = scene_float(&f->scene, 2);
  int32_t mark = scene_mark(&f->scene, 1, -1);
  scene_after(&f->scene, c.node, mark);
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, c);
  LEAT_EXPECT_OK(partition_compile(f, &y, 1, 0, &f->plan));
  assert_int_equal(f->plan->record_count, 3);
  assert_int_equal(f->plan->constant_count, 0);
  assert_int_equal(f->plan->dataflow.root_count, 1);
  assert_int_equal(f->plan->record_nodes[f->plan->dataflow.roots[0]], mark);
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
  uint32_t read_count;
  const leat_reference_read_t* reads =
      leat_plan_reads(plan, (uint32_t)(add - plan->records), &read_count);
  assert_int_equal(read_count, 2);
  assert_int_equal(add->input_slots[0], reads[0].target);
  assert_int_equal(add->input_slots[1], reads[1].target);
  assert_int_not_equal(add->input_slots[0], add->input_slots[1]);
  assert_int_equal(reads[0].source, reference);
  assert_true(add->flags & LEAT_RECORD_PREPARES);
  assert_false(partition_releases(plan, add, reference));
  assert_true(partition_releases(plan, add, add->input_slots[0]));
}

static void successors_and_roots(void** state) {
  partition_t* f = *state;
  f->executor = LEAT_EXECUTOR_DATAFLOW;
  leat_output_t x = scene_pass(&f->scene, 1, -1, partition_argument(f, 0));
  leat_output_t y = scene_binary(&f->scene, "AddV2", -1, x, x);
  int32_t mark = scene_mark(&f->scene, 2, -1);
  scene_after(&f->scene, mark, x.node);
  scene_after(&f->scene, y.node, mark);
  LEAT_EXPECT_OK(partition_compile(f, &y, 1, 1, &f->plan));
  const leat_dataflow_tables_t* tables = &f->plan->dataflow;
  assert_int_equal(tables->root_count, 1);
  assert_int_equal(record_of(f, x.node)->dataflow.successor_count, 3);  // an edge each
  assert_int_equal(tables->frame_tables[0].pending[record_of(f, y.node)->dataflow.place], 3);
}

// ---- Asynchronous kernels -----------------------------------------------------------------------

static uint32_t place_of(partition_t* f, int32_t node) {
  return (uint32_t)(record_of(f, node) - f->plan->records);
}

// What does not wait runs first, then one asynchronous kernel after the other with what follows it.
static void a_sequence_waits_last(void** state) {
  partition_t* f = *state;
  leat_output_t first = scene_wait(&f->scene, 1, -1, partition_argument(f, 0));
  leat_output_t after = scene_unary(&f->scene, "Neg", -1, first);
  leat_output_t second = scene_wait(&f->scene, 2, -1, after);
  leat_output_t beside = scene_unary(&f->scene, "Exp", -1, partition_argument(f, 1));
  leat_output_t y = scene_binary(&f->scene, "AddV2", -1, second, beside);
  LEAT_EXPECT_OK(partition_compile(f, &y, 1, 2, &f->plan));
  assert_int_equal(f->plan->executor, LEAT_EXECUTOR_SEQUENCE);
  assert_true(f->plan->waits && !f->plan->uses_rendezvous && !f->plan->ends_at_once);
  LEAT_EXPECT_OK(leat_plan_verify(f->plan));
  assert_true(place_of(f, beside.node) < place_of(f, first.node));
  assert_true(place_of(f, first.node) < place_of(f, after.node));
  assert_true(place_of(f, after.node) < place_of(f, second.node));
  assert_true(place_of(f, second.node) < place_of(f, y.node));
}

static void two_that_wait_side_by_side_are_no_sequence(void** state) {
  partition_t* f = *state;
  leat_output_t x = partition_argument(f, 0);
  leat_output_t a = scene_wait(&f->scene, 1, -1, x), b = scene_wait(&f->scene, 2, -1, x);
  leat_output_t y = scene_binary(&f->scene, "AddV2", -1, a, b);
  f->executor = LEAT_EXECUTOR_SEQUENCE;
  scene_expect(partition_compile(f, &y, 1, 1, &f->plan), LEAT_UNIMPLEMENTED,
               "waits beside another asynchronous node");
  f->executor = LEAT_EXECUTOR_AUTOMATIC;
  LEAT_EXPECT_OK(partition_compile(f, &y, 1, 1, &f->plan));
  assert_int_equal(f->plan->executor, LEAT_EXECUTOR_DATAFLOW);
}

// ---- The choice ---------------------------------------------------------------------------------

// Eight Exps of |size| elements, side by side or one after the other.
static leat_output_t exponentials(partition_t* f, int64_t size, bool side_by_side) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &size}))};
  leat_output_t ends[8], x = scene_output(&f->scene, "Placeholder", "", "", LEAT_NO_INPUTS,
                                          (leat_attrs_t){attrs, 2});
  for (int i = 0; i < 8; ++i) {
    ends[i] = scene_unary(&f->scene, "Exp", -1, i && !side_by_side ? ends[i - 1] : x);
  }
  return scene_output(&f->scene, "AddN", "", "", (leat_outputs_t){ends, 8}, LEAT_NO_ATTRS);
}

// The dataflow executor is chosen for what several threads shorten, where there are threads, and
// where the order in which nodes run may differ from step to step.
static void the_executor_is_chosen_by_what_it_gains(void** state) {
  enum { kLarge = 1000000 };
  static const struct {
    int64_t size;
    bool side_by_side, deterministic;
    int pool_threads, inter_op_threads;
    leat_executor_kind_t chosen;
  } kCases[] = {
      {kLarge, true, false, 4, 0, LEAT_EXECUTOR_DATAFLOW},
      {kLarge, true, false, 4, 2, LEAT_EXECUTOR_DATAFLOW},
      {kLarge, true, false, 4, 1, LEAT_EXECUTOR_SEQUENCE},
      {kLarge, true, false, 4, -1, LEAT_EXECUTOR_SEQUENCE},
      {kLarge, true, false, 1, 0, LEAT_EXECUTOR_SEQUENCE},
      {kLarge, true, true, 4, 0, LEAT_EXECUTOR_SEQUENCE},
      {kLarge, false, false, 4, 0, LEAT_EXECUTOR_SEQUENCE},
      {10, true, false, 4, 0, LEAT_EXECUTOR_SEQUENCE},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    if (i) partition_tear_down(state);
    if (i) partition_set_up(state);
    partition_t* f = *state;
    leat_thread_pool_t* pool;
    leat_device_release(f->device);
    LEAT_EXPECT_OK(
        leat_thread_pool_create(kCases[i].pool_threads, leat_allocator_system(), &pool));
    LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                          pool, leat_allocator_system(), &f->device));
    leat_thread_pool_release(pool);
    f->deterministic = kCases[i].deterministic;
    f->inter_op_threads = kCases[i].inter_op_threads;
    leat_output_t y = exponentials(f, kCases[i].size, kCases[i].side_by_side);
    LEAT_EXPECT_OK(partition_compile(f, &y, 1, 0, &f->plan));
    if (f->plan->executor != kCases[i].chosen) fail_msg("case %zu takes the other executor", i);
  }
}

// What a function hands through is an argument that is fetched: it has been fed, so it is there.
static void an_argument_may_be_fetched(void** state) {
  partition_t* f = *state;
  leat_output_t x = partition_argument(f, 0);
  leat_output_t fetches[] = {x, scene_unary(&f->scene, "Neg", -1, x)};
  LEAT_EXPECT_OK(partition_compile(f, fetches, 2, 1, &f->plan));
  assert_int_equal(f->plan->fetch_slots[0], f->plan->feed_slots[0]);
  LEAT_EXPECT_OK(leat_plan_verify(f->plan));
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
      TEST(readers_are_counted),
      TEST(unread_outputs_are_emptied),
      TEST(constants_stay),
      TEST(constants_with_control_inputs_run),
      TEST(references_are_read),
      TEST(successors_and_roots),
      TEST(a_sequence_waits_last),
      TEST(two_that_wait_side_by_side_are_no_sequence),
      TEST(the_executor_is_chosen_by_what_it_gains),
      TEST(an_argument_may_be_fetched),
      TEST(arguments_must_be_in_range),
      TEST(no_kernel),
      TEST(memory_may_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
