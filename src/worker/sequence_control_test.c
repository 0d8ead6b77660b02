// Sequences of graphs with control flow, as they are compiled: what becomes a record, which values
// share a slot, who reads last, and which graphs are left to the dataflow executor. Each test
// builds a small conditional or loop, compiles it, and looks into the plan; every plan is checked
// by leat_plan_verify() as well. Where values share memory the order of readers is what keeps them
// right, so most cases state who may overwrite and who must have read before. A graph that a
// sequence cannot run must be refused with the reason. Nothing runs here: that a sequence gives the
// same values as dataflow is tested by control_flow_test.c and random_flow_test.c in tests/session.
#include "worker/sequence.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/observer.h"
#include "session/flow.h"
#include "session/partition.h"

static const leat_record_t* find_step(const leat_plan_t* plan, int32_t node) {
  for (uint32_t i = 0; i < plan->record_count; ++i) {
    if (plan->record_nodes[i] == node) return &plan->records[i];
  }
  return NULL;
}

static const leat_record_t* step_of(const leat_plan_t* plan, leat_output_t output) {
  const leat_record_t* step = find_step(plan, output.node);
  assert_non_null(step);
  return step;
}

static int count_flag(const leat_plan_t* plan, uint32_t flag) {
  int count = 0;
  for (uint32_t i = 0; i < plan->record_count; ++i) count += !!(plan->records[i].flags & flag);
  return count;
}

static const uint32_t* guard_of(const leat_plan_t* plan, const leat_record_t* step) {
  return &plan->sequence.guards[step->sequence.guard];
}

static void compile(partition_t* p, const leat_output_t* fetches, int fetch_count,
                    int feed_count) {
  LEAT_EXPECT_OK(partition_compile(p, fetches, fetch_count, feed_count, &p->plan));
  assert_int_equal(p->plan->executor, LEAT_EXECUTOR_SEQUENCE);
  LEAT_EXPECT_OK(leat_plan_verify(p->plan));
}

static leat_output_t is_negative(scene_t* s, leat_output_t x) {
  return scene_binary(s, "Less", -1, x, scene_float(s, 0));
}

static void sides_share_a_slot(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_output_t x = scene_unary(s, "Exp", -1, partition_argument(p, 0));
  leat_output_t side = flow_switch(s, x, is_negative(s, partition_argument(p, 1)), 0);
  leat_output_t through = scene_unary(s, "Identity", -1, leat_node_output(side.node, 1));
  leat_output_t a = scene_unary(s, "Neg", -1, side), b = scene_unary(s, "Exp", -1, through);
  leat_output_t merge = flow_merge(s, a, b), y = scene_unary(s, "Neg", -1, merge);
  compile(p, &y, 1, 2);
  assert_null(find_step(p->plan, through.node));
  const leat_record_t *from = step_of(p->plan, x), *neg = step_of(p->plan, a),
                            *exp = step_of(p->plan, b), *choice = step_of(p->plan, side);
  assert_int_equal(from->sequence.flag, LEAT_FLAG_ALWAYS);
  assert_true(choice->flags & LEAT_RECORD_SWITCH);
  assert_int_equal(neg->input_slots[0], from->first_output);
  assert_int_equal(exp->input_slots[0], from->first_output);
  // Each waits for its own side.
  const uint32_t *neg_guard = guard_of(p->plan, neg), *exp_guard = guard_of(p->plan, exp);
  assert_true(neg_guard[0] == 1 && neg_guard[1] == choice->sequence.flag);
  assert_true(exp_guard[0] == 1 && exp_guard[1] == choice->sequence.flag + 1);
  // Only the later one, whichever it is, may overwrite, and empties.
  const leat_record_t *first = neg < exp ? neg : exp, *second = neg < exp ? exp : neg;
  assert_true(first->last_readers == 0 && !partition_releases(p->plan, first, from->first_output));
  assert_true(second->last_readers == 1 && partition_releases(p->plan, second, from->first_output));
  const leat_record_t* both = step_of(p->plan, merge);
  assert_true(both->flags & LEAT_RECORD_MERGE);
  assert_true(guard_of(p->plan, both)[0] == 2 && both->last_readers == 3);
  assert_true((both->flags & LEAT_RECORD_READS_OUTPUT_0) &&
              !(both->flags & LEAT_RECORD_READS_OUTPUT_1));
}

// What one branch hands through is still to be read when the other one could overwrite it.
static void a_merge_reads_late(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_output_t x = scene_unary(s, "Exp", -1, partition_argument(p, 0));
  leat_output_t side = flow_switch(s, x, is_negative(s, partition_argument(p, 1)), 0);
  leat_output_t a = scene_unary(s, "Neg", -1, leat_node_output(side.node, 1));
  leat_output_t merge = flow_merge(s, side, a);
  leat_output_t fetches[] = {scene_unary(s, "Neg", -1, merge),
                             scene_unary(s, "Neg", -1, flow_index(merge))};
  compile(p, fetches, 2, 2);
  uint32_t slot = step_of(p->plan, x)->first_output;
  const leat_record_t *neg = step_of(p->plan, a), *both = step_of(p->plan, merge);
  assert_true(neg->last_readers == 0 && !partition_releases(p->plan, neg, slot));
  assert_int_equal(both->input_slots[0], slot);
  assert_true((both->last_readers & 1) && partition_releases(p->plan, both, slot));
  assert_true((both->flags & LEAT_RECORD_READS_OUTPUT_0) &&
              (both->flags & LEAT_RECORD_READS_OUTPUT_1));
}

static void what_is_fetched_has_its_slot(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_output_t x = scene_unary(s, "Exp", -1, partition_argument(p, 0));
  leat_output_t side = flow_switch(s, x, is_negative(s, partition_argument(p, 1)), 0);
  leat_output_t through = scene_unary(s, "Identity", -1, side), fetches[] = {side, through};
  compile(p, fetches, 2, 2);
  const leat_record_t *choice = step_of(p->plan, side), *copy = step_of(p->plan, through);
  assert_int_equal(copy->flags & LEAT_RECORD_CONTROL_FLOW, 0);
  assert_int_equal(choice->first_output, p->plan->fetch_slots[0]);
  assert_int_equal(copy->first_output, p->plan->fetch_slots[1]);
  assert_int_not_equal(choice->first_output, step_of(p->plan, x)->first_output);
  assert_true(copy->last_readers == 0 && copy->sequence.release_count == 0);
}

static void a_variable_has_one_slot(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_output_t x = scene_unary(s, "Exp", -1, partition_argument(p, 0));
  flow_loop_t loop;
  flow_loop_count(s, "loop", flow_int(s, 3), LEAT_INPUTS(x), &loop);
  leat_output_t one = scene_float(s, 1);
  scene_after(s, one.node, loop.pivot);
  leat_output_t more = scene_binary(s, "AddV2", -1, loop.values[1], one);
  flow_loop_next(&loop, 1, more);
  leat_output_t exit = flow_loop_exit(&loop, 1), y = scene_unary(s, "Neg", -1, exit);
  compile(p, &y, 1, 1);
  const leat_sequence_tables_t* tables = &p->plan->sequence;
  const leat_node_t* merge = &s->graph->nodes[loop.merges[1].node];
  const leat_record_t *enter = step_of(p->plan, merge->inputs[0]),
                            *next = step_of(p->plan, merge->inputs[1]),
                            *add = step_of(p->plan, more), *out = step_of(p->plan, exit);
  assert_null(find_step(p->plan, loop.merges[1].node));
  assert_null(find_step(p->plan, loop.pred.node));
  assert_null(find_step(p->plan, loop.pivot));
  assert_null(find_step(p->plan, one.node));
  assert_int_equal(p->plan->late_constant_count, 2);  // this one, and the counter's
  assert_int_equal(count_flag(p->plan, LEAT_RECORD_MERGE), 0);
  assert_int_equal(count_flag(p->plan, LEAT_RECORD_MOVES), 3 + 1 + 2);  // in, out, on
  assert_int_equal(next->first_output, enter->first_output);
  assert_int_equal(next->sequence.flag, enter->sequence.flag);
  assert_int_equal(add->input_slots[0], enter->first_output);
  assert_int_equal(out->input_slots[0], enter->first_output);
  // The Exit leaves first, so the body may write in place; nobody writes into the constant.
  assert_true(out < add && add < next);
  assert_true(out->last_readers == 0 && (out->flags & LEAT_RECORD_EXIT));
  assert_true(add->last_readers == 1 && partition_releases(p->plan, add, enter->first_output));
  assert_true(next->sequence.loop == 0 && next->input_slots[0] == add->first_output);
  assert_int_equal(tables->loop_count, 1);
  assert_int_equal(tables->loops[0].entry_count, 2);
  assert_int_equal(tables->loops[0].invariant_count, 1);
  assert_int_equal(tables->loops[0].exit_count, 1);
  assert_int_equal(tables->loops[0].first_count, 0);
}

// Each is taken before the other changes: they keep their Merges.
static void variables_that_swap(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  flow_loop_t loop;
  flow_loop_count(s, "loop", flow_int(s, 3),
                  LEAT_INPUTS(partition_argument(p, 0), partition_argument(p, 1)), &loop);
  flow_loop_next(&loop, 1, loop.values[2]);
  flow_loop_next(&loop, 2, scene_unary(s, "Identity", -1, loop.values[1]));
  leat_output_t exit = flow_loop_exit(&loop, 1);
  compile(p, &exit, 1, 2);
  assert_int_equal(count_flag(p->plan, LEAT_RECORD_MERGE), 2);
  assert_int_equal(p->plan->sequence.loops[0].first_count, 2);
  const leat_record_t *a = step_of(p->plan, loop.merges[1]),
                            *b = step_of(p->plan, loop.merges[2]);
  assert_int_not_equal(a->first_output, b->first_output);
}

static void loops_lie_in_each_other(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  flow_loop_t outer, inner;
  flow_loop_count(s, "outer", flow_int(s, 2), LEAT_INPUTS(partition_argument(p, 0)), &outer);
  leat_output_t limit = flow_loop_invariant(&outer, scene_float(s, 100));
  flow_loop_open(s, "inner", LEAT_INPUTS(outer.values[1]), &inner);
  leat_output_t most = flow_loop_invariant(&inner, limit);
  flow_loop_test(&inner, scene_binary(s, "Less", -1, inner.values[0], most));
  flow_loop_next(&inner, 0, scene_unary(s, "Exp", -1, inner.values[0]));
  leat_output_t out = flow_loop_exit(&inner, 0);
  flow_loop_next(&outer, 1, scene_unary(s, "Neg", -1, out));
  leat_output_t exit = flow_loop_exit(&outer, 1);
  compile(p, &exit, 1, 1);
  const leat_sequence_tables_t* tables = &p->plan->sequence;
  const leat_record_t* steps = p->plan->records;
  assert_int_equal(tables->loop_count, 2);
  bool swapped = tables->loops[0].begin > tables->loops[1].begin;
  const leat_sequence_loop_t *around = &tables->loops[swapped], 
                             *within = &tables->loops[!swapped];
  assert_true(around->begin < within->begin && within->end < around->end);
  for (int i = 0; i < 2; ++i) {
    assert_true(steps[tables->loops[i].begin].flags & LEAT_RECORD_LOOP);
    assert_true(steps[tables->loops[i].end].flags & LEAT_RECORD_REPEAT);
  }
  // Before the inner loop all that enters it, behind it who reads what leaves.
  assert_true(step_of(p->plan, most) < steps + within->begin);
  assert_true(step_of(p->plan, out) > steps + within->begin);
  assert_true(step_of(p->plan, out) < steps + within->end);
  int32_t after = s->graph->nodes[outer.merges[1].node].inputs[1].node;
  assert_true(find_step(p->plan, after) > steps + within->end);
}

// A loop in which nothing runs has no borders: its Enter is a record like others.
static void an_enter_that_nobody_reads(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_output_t x = partition_argument(p, 0), y = scene_unary(s, "Neg", -1, x);
  flow_enter(s, "loop", x, true);
  compile(p, &y, 1, 1);
  assert_int_equal(p->plan->record_count, 2);
  assert_int_equal(count_flag(p->plan, LEAT_RECORD_LOOP | LEAT_RECORD_REPEAT), 0);
}

// ---- What only the dataflow executor runs -------------------------------------------------------

// Asked for a sequence, the compiler says why there is none; left the choice, it takes dataflow.
static void expect_no_sequence(partition_t* p, leat_output_t y, const char* why) {
  p->executor = LEAT_EXECUTOR_SEQUENCE;
  scene_expect(partition_compile(p, &y, 1, 1, &p->plan), LEAT_UNIMPLEMENTED, why);
  p->executor = LEAT_EXECUTOR_AUTOMATIC;
  LEAT_EXPECT_OK(partition_compile(p, &y, 1, 1, &p->plan));
  assert_int_equal(p->plan->executor, LEAT_EXECUTOR_DATAFLOW);
  LEAT_EXPECT_OK(leat_plan_verify(p->plan));
}

static void references_in_control_flow(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t v =
      scene_output(s, "VariableV2", "v", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  leat_output_t y = scene_output(s, "RefSwitch", "", "",
                                 LEAT_INPUTS(v, is_negative(s, partition_argument(p, 0))),
                                 LEAT_NO_ATTRS);
  expect_no_sequence(p, y, "a reference passes through it");
}

static void asynchronous_kernels(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_output_t x = partition_argument(p, 0), side = flow_switch(s, x, is_negative(s, x), 0);
  leat_output_t y = scene_wait(s, 1, -1, side);
  expect_no_sequence(p, y, "it is asynchronous");
}

// A loop of one variable whose Enter the body reads, too, when |reads_enter|.
static leat_output_t make_loop(partition_t* p, bool reads_enter) {
  scene_t* s = &p->scene;
  flow_loop_t loop;
  flow_loop_open(s, "loop", LEAT_INPUTS(partition_argument(p, 0)), &loop);
  leat_output_t limit = flow_loop_invariant(&loop, scene_float(s, 9));
  flow_loop_test(&loop, scene_binary(s, "Less", -1, loop.values[0], limit));
  leat_output_t more = scene_unary(s, "Exp", -1, loop.values[0]);
  if (reads_enter) {
    leat_output_t enter = s->graph->nodes[loop.merges[0].node].inputs[0];
    more = scene_binary(s, "AddV2", -1, more, enter);
  }
  flow_loop_next(&loop, 0, more);
  return flow_loop_exit(&loop, 0);
}

static void an_enter_with_two_readers(void** state) {
  partition_t* p = *state;
  leat_output_t y = make_loop(p, true);
  expect_no_sequence(p, y, "besides one Merge");
}

// What leaves the loop enters it again, in the same frame.
static void exits_that_enter_again(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  leat_output_t exit = make_loop(p, false);
  leat_output_t again = flow_enter(s, "loop", scene_unary(s, "Neg", -1, exit), true);
  leat_output_t y = scene_unary(s, "Exit", -1, scene_unary(s, "Exp", -1, again));
  expect_no_sequence(p, y, "whose Enters wait");
}

static void memory_may_end(void** state) {
  partition_t* p = *state;
  leat_output_t y = make_loop(p, false);
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_plan_instance_t* instance = NULL;
    leat_plan_t* plan = NULL;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = partition_compile(p, &y, 1, 1, &plan);
    if (!status) status = leat_plan_make_instance(plan, &instance);
    bool met = leat_fault_remove(&fault);
    if (!met) assert_int_equal(plan->executor, LEAT_EXECUTOR_SEQUENCE);
    if (instance) leat_plan_free_instance(plan, instance);
    leat_plan_free(plan);
    if (!met) {
      LEAT_EXPECT_OK(status);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
  }
}

static leat_status_t add_bytes(void* data, size_t size_bytes) {
  *(size_t*)data += size_bytes;
  return leat_ok_status();
}

// Five hundred loops and twenty thousand records beside them: what the plan takes grows with the
// records, not with loops times records.
static void many_loops_take_little_memory(void** state) {
  partition_t* p = *state;
  scene_t* s = &p->scene;
  char name[16];
  leat_output_t x = partition_argument(p, 0);
  for (int i = 0; i < 500; ++i) {
    flow_loop_t loop;
    snprintf(name, sizeof name, "loop%d", i);
    flow_loop_open(s, name, LEAT_INPUTS(x), &loop);
    leat_output_t limit = flow_loop_invariant(&loop, scene_float(s, 9));
    flow_loop_test(&loop, scene_binary(s, "Less", -1, loop.values[0], limit));
    flow_loop_next(&loop, 0, scene_unary(s, "Exp", -1, loop.values[0]));
    x = flow_loop_exit(&loop, 0);
    for (int k = 0; k < 40; ++k) x = scene_unary(s, "Neg", -1, x);
  }
  for (int way = 0; way < 2; ++way) {
    p->executor = way ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_SEQUENCE;
    leat_plan_t* plan;
    size_t taken_bytes = 0;
    leat_observer_t observer = {.data = &taken_bytes, .on_allocation = add_bytes};
    leat_observer_install(&observer);
    LEAT_EXPECT_OK(partition_compile(p, &x, 1, 1, &plan));
    leat_observer_install(NULL);
    assert_true(plan->record_count >= 20000);
    LEAT_EXPECT_OK(leat_plan_verify(plan));
    if (taken_bytes > 2000 * (size_t)plan->record_count) {
      fail_msg("compiling %u records took %zu bytes", plan->record_count, taken_bytes);
    }
    leat_plan_free(plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, partition_set_up, partition_tear_down)
      TEST(sides_share_a_slot),
      TEST(a_merge_reads_late),
      TEST(what_is_fetched_has_its_slot),
      TEST(a_variable_has_one_slot),
      TEST(variables_that_swap),
      TEST(loops_lie_in_each_other),
      TEST(an_enter_that_nobody_reads),
      TEST(references_in_control_flow),
      TEST(asynchronous_kernels),
      TEST(an_enter_with_two_readers),
      TEST(exits_that_enter_again),
      TEST(many_loops_take_little_memory),
      TEST(memory_may_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
