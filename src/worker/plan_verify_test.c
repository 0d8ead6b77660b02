// For each rule of a plan (the compiled form of a partition): a good plan is damaged by hand so
// that the one rule is broken, and leat_plan_verify() must say which. There are two graphs, a
// straight one and one with a condition and two loops, and each is compiled for both executors,
// since their plans have different tables. Damages are one line each: an expression that changes a
// field of the plan, and the message that is expected. The plan is compiled anew for each damage
// because some of them cannot be undone. The function under test is in every build, so these tests
// run in release builds too.
#include "worker/sequence.h"

#include <stdio.h>

#include "session/flow.h"
#include "session/partition.h"

// ---- The good plans -----------------------------------------------------------------------------

// The nodes of the graphs, under the names that messages have.
typedef struct nodes_s {
  // straight: last = -(exp(-feed) + 2), read = -v, where v is a reference; constant = 2
  int32_t v, read, constant, a, b, sum, last;
  // flow: a condition, a loop within a loop
  int32_t x, side, no, yes, both, most, more, next, inner_next, out, root;
} nodes_t;
static nodes_t n;

static leat_output_t variable(scene_t* s, const char* name) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  return scene_output(s, "VariableV2", name, "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
}

static leat_output_t unary(scene_t* s, const char* op, const char* name, leat_output_t x) {
  return scene_output(s, op, name, "", LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

// Two feeds; the fetches are last, read, the constant and last again.
static void compile_straight(partition_t* p) {
  scene_t* s = &p->scene;
  leat_output_t v = variable(s, "v"), read = unary(s, "Neg", "read", v);
  leat_output_t two = scene_float(s, 2), feed = partition_argument(p, 0);
  leat_output_t a = unary(s, "Neg", "a", feed), b = unary(s, "Exp", "b", a);
  leat_output_t sum = scene_output(s, "AddV2", "sum", "",
                                   LEAT_INPUTS(b, scene_binary(s, "Mul", -1, two,
                                                               partition_argument(p, 1))),
                                   LEAT_NO_ATTRS);
  leat_output_t last = unary(s, "Neg", "last", sum), fetches[] = {last, read, two, last};
  n = (nodes_t){.v = v.node, .read = read.node, .constant = two.node, .a = a.node, .b = b.node,
                .sum = sum.node, .last = last.node};
  LEAT_EXPECT_OK(partition_compile(p, fetches, 4, 2, &p->plan));
}

// One feed; the fetches are what leaves the outer loop and a reference, whose node waits for all
// others, so that its record is the last one but needs no input.
static void compile_flow(partition_t* p) {
  scene_t* s = &p->scene;
  leat_output_t feed = partition_argument(p, 0), x = unary(s, "Exp", "x", feed);
  leat_output_t pred = scene_binary(s, "Less", -1, feed, scene_float(s, 0));
  leat_output_t side = scene_output(s, "Switch", "side", "", LEAT_INPUTS(x, pred), LEAT_NO_ATTRS);
  leat_output_t no = unary(s, "Neg", "no", side);
  leat_output_t yes = unary(s, "Exp", "yes", leat_node_output(side.node, 1));
  leat_output_t both = scene_output(s, "Merge", "both", "", LEAT_INPUTS(no, yes), LEAT_NO_ATTRS);
  flow_loop_t outer, inner;
  flow_loop_count(s, "outer", flow_int(s, 2), LEAT_INPUTS(both), &outer);
  leat_output_t limit = flow_loop_invariant(&outer, scene_float(s, 100));
  flow_loop_open(s, "inner", LEAT_INPUTS(outer.values[1]), &inner);
  leat_output_t most = flow_loop_invariant(&inner, limit);
  flow_loop_test(&inner, scene_binary(s, "Less", -1, inner.values[0], most));
  leat_output_t more = unary(s, "Exp", "more", inner.values[0]);
  flow_loop_next(&inner, 0, more);
  flow_loop_next(&outer, 1, unary(s, "Neg", "body", flow_loop_exit(&inner, 0)));
  leat_output_t out = flow_loop_exit(&outer, 1);
  leat_output_t root = variable(s, "root"), fetches[] = {out, root};
  const leat_node_t* nodes = s->graph->nodes;
  n = (nodes_t){.x = x.node, .side = side.node, .no = no.node, .yes = yes.node, .both = both.node,
                .most = most.node, .more = more.node, .out = out.node, .root = root.node,
                .next = nodes[outer.merges[1].node].inputs[1].node,
                .inner_next = nodes[inner.merges[0].node].inputs[1].node};
  LEAT_EXPECT_OK(partition_compile(p, fetches, 2, 1, &p->plan));
}

// ---- The damages --------------------------------------------------------------------------------

typedef struct damage_s {
  void (*damage)(leat_plan_t* plan);
  const char* message;
} damage_t;

// The line of a damage: what it does to |p|, a plan.
#define DAMAGE(name, does) \
  static void name(leat_plan_t* p) { does; }
#define RECORD(node) ((leat_record_t*)partition_record(p, n.node))
#define NUMBER(node) ((uint32_t)(RECORD(node) - p->records))
#define INPUT(node, k) ((uint32_t*)RECORD(node)->input_slots)[k]
#define OUTPUT(node) RECORD(node)->first_output
#define AT(node) "Verifying the plan failed for node '" node "' (record "
#define OF(what) "Verifying the plan failed for " what ": "

// Of both executors.
DAMAGE(node_gone, p->record_nodes[0] = 999)
DAMAGE(node_missing, p->record_nodes[1] = -1)
DAMAGE(kernel_gone, RECORD(a)->kernel = NULL)
DAMAGE(call_of_another, RECORD(a)->compute = RECORD(sum)->compute)
DAMAGE(call_gone, RECORD(a)->compute = RECORD(a)->kernel->compute = NULL)
DAMAGE(async_unknown, RECORD(a)->flags |= LEAT_RECORD_ASYNC)
DAMAGE(async_but_ends,
       (RECORD(a)->flags |= LEAT_RECORD_ASYNC, p->has_async = p->ends_at_once = true))
DAMAGE(prepares_for_nothing, RECORD(a)->flags |= LEAT_RECORD_PREPARES)
DAMAGE(reads_no_range, p->first_read[p->record_count] = 0)
DAMAGE(read_of_no_slot, p->reads[0].source = p->slot_count)
DAMAGE(read_into_no_slot, p->reads[0].target = p->slot_count)
DAMAGE(read_into_constant, p->reads[0].target = 0)
DAMAGE(read_of_later, p->reads[0].source = OUTPUT(last))
DAMAGE(read_into_filled, p->reads[0].target = p->feed_slots[0])
DAMAGE(input_of_no_slot, INPUT(b, 0) = p->slot_count)
DAMAGE(input_of_later, INPUT(b, 0) = OUTPUT(sum))
DAMAGE(fetch_of_no_slot, p->fetch_slots[1] = p->slot_count)
DAMAGE(fetch_moves_constant, p->fetch_moves[2] = true)
DAMAGE(fetch_moves_early, p->fetch_moves[0] = true)
DAMAGE(feed_of_no_slot, p->feed_slots[1] = p->slot_count)
DAMAGE(feed_of_constant, p->feed_slots[1] = 0)
DAMAGE(feeds_alike, p->feed_slots[1] = p->feed_slots[0])
DAMAGE(constants_without_slots, p->constant_count = p->slot_count + 1)

static const damage_t kOfBoth[] = {
    {node_gone, OF("record 0") "its node must exist"},
    {node_missing, OF("record 1") "its node must exist"},
    {kernel_gone, "it must have a kernel"},
    {call_of_another, "its call must be its kernel's"},
    {call_gone, "its kernel must be synchronous or marked asynchronous"},
    {async_unknown, "the plan must say that it has asynchronous kernels"},
    {async_but_ends, "the plan must say that it has asynchronous kernels"},
    {prepares_for_nothing, "its mark for preparing must say what its kernel and references need"},
    {input_of_no_slot, "its input slots must exist"},
    {input_of_later, "its inputs must be there"},
};
static const char* const kNodesOfBoth[] = {"", "", "a", "a", "a", "a", "a", "a", "b", "b"};

static const damage_t kEdgesOfBoth[] = {
    {reads_no_range, AT("last") "6 of 7): the references that it reads must be a range"},
    {read_of_no_slot, AT("read") "1 of 7): the slots of the references that it reads must exist"},
    {read_into_no_slot, AT("read") "1 of 7): the slots of the references that it reads must exist"},
    {read_into_constant, AT("read") "1 of 7): the slots of the references that it reads must"},
    {read_of_later, AT("read") "1 of 7): a reference that it reads must be there"},
    {read_into_filled, AT("read") "1 of 7): what it reads references into must be empty"},
    {fetch_of_no_slot, OF("fetch 1 ('read')") "a fetched slot must exist"},
    {fetch_moves_constant, OF("fetch 2 ('Const')") "a constant must not be moved out"},
    {fetch_moves_early, OF("fetch 0 ('last')") "only the last fetch of a slot may move its value"},
    {feed_of_no_slot, OF("feed 1") "a fed slot must exist and be no constant's"},
    {feed_of_constant, OF("feed 1") "a fed slot must exist and be no constant's"},
    {feeds_alike, OF("feed 1") "a fed slot must be no other feed's"},
    {constants_without_slots, "constants must have slots"},
};

// Of a sequence without control flow.
#define RELEASE(node) p->sequence.releases[RECORD(node)->sequence.first_release]
DAMAGE(input_released, INPUT(last, 0) = OUTPUT(a))
DAMAGE(output_of_no_slot, OUTPUT(b) = p->slot_count)
DAMAGE(output_of_constant, OUTPUT(b) = 0)
DAMAGE(output_filled, OUTPUT(b) = INPUT(b, 0))
DAMAGE(output_missing, OUTPUT(b) = LEAT_NO_SLOT)
DAMAGE(overwrites_what_stays, RECORD(b)->sequence.release_count = 0)
DAMAGE(releases_nowhere, RECORD(b)->sequence.first_release = p->slot_count)
DAMAGE(releases_too_many, RECORD(b)->sequence.release_count = UINT32_MAX)
DAMAGE(releases_no_slot, (RECORD(b)->last_readers = 0, RELEASE(b) = p->slot_count))
DAMAGE(releases_constant, (RECORD(b)->last_readers = 0, RELEASE(b) = 0))
DAMAGE(releases_fetched, (RECORD(b)->last_readers = 0, RELEASE(b) = OUTPUT(read)))
DAMAGE(releases_twice, (RECORD(last)->last_readers = 0, RELEASE(last) = OUTPUT(a)))
DAMAGE(releases_later, (RECORD(b)->last_readers = 0, RELEASE(b) = OUTPUT(sum)))
DAMAGE(releases_too_few, (RECORD(b)->last_readers = 0, RECORD(b)->sequence.release_count = 0))
DAMAGE(fetch_of_nothing, p->fetch_slots[0] = p->slot_count++)
DAMAGE(guard_without_mark, RECORD(a)->sequence.guard = 1)
DAMAGE(flag_without_mark, RECORD(a)->sequence.flag = 1)
DAMAGE(mark_without_flags, RECORD(a)->flags |= LEAT_RECORD_GUARDED)

static const damage_t kOfStraight[] = {
    {input_released, AT("last") "6 of 7): its inputs must be there"},
    {output_of_no_slot, AT("b") "3 of 7): its output slots must exist and be no constant's"},
    {output_of_constant, AT("b") "3 of 7): its output slots must exist and be no constant's"},
    {output_filled, AT("b") "3 of 7): its output slots must be empty"},
    {output_missing, AT("b") "3 of 7): it must have output slots"},
    {overwrites_what_stays, AT("b") "3 of 7): what it may overwrite must be among what it"},
    {releases_nowhere, AT("b") "3 of 7): its list of slots to release must exist"},
    {releases_too_many, AT("b") "3 of 7): its list of slots to release must exist"},
    {releases_no_slot, AT("b") "3 of 7): what it releases must exist and be no constant"},
    {releases_constant, AT("b") "3 of 7): what it releases must exist and be no constant"},
    {releases_fetched, AT("b") "3 of 7): what it releases must not be read later"},
    {releases_twice, AT("last") "6 of 7): what it releases must not be released already"},
    {releases_later, AT("b") "3 of 7): what it releases must be there"},
    {releases_too_few, AT("a") "2 of 7): every value that it makes must be released or fetched"},
    {fetch_of_nothing, OF("fetch 0 ('last')") "a fetched value must be there at the end"},
    {guard_without_mark, AT("a") "2 of 7): its guard must be looked at"},
    {flag_without_mark, AT("a") "2 of 7): its flag must be set by somebody"},
    {mark_without_flags, AT("a") "2 of 7): its flag must exist"},
};

// Of a sequence with control flow. Loop 0 is the outer one.
#define LOOP(i) p->sequence.loops[i]
#define GUARD(node) (&p->sequence.guards[RECORD(node)->sequence.guard])
DAMAGE(late_constant_of_no_slot, p->late_constant_slots[0] = p->slot_count)
DAMAGE(flag_missing, RECORD(side)->sequence.flag = LEAT_FLAG_ALWAYS)
DAMAGE(flag_of_no_record, RECORD(side)->sequence.flag = p->sequence.flag_count - 2)
DAMAGE(guard_of_nobody, RECORD(no)->sequence.guard = p->sequence.guard_length)
DAMAGE(guard_too_long, GUARD(no)[0] = p->sequence.guard_length)
DAMAGE(guard_of_no_flag, GUARD(no)[1] = p->sequence.flag_count)
DAMAGE(guard_of_merge_short, GUARD(both)[0] = 1)
DAMAGE(loop_beyond_end, LOOP(0).end = p->record_count)
DAMAGE(loop_backwards, LOOP(1).begin = LOOP(1).end)
DAMAGE(loop_without_border, LOOP(1).begin += 1)
DAMAGE(loop_without_end, LOOP(1).end -= 1)
DAMAGE(invariant_of_no_slot, ((uint32_t*)LOOP(1).invariants)[0] = p->slot_count)
DAMAGE(invariant_of_no_flag,
       ((uint32_t*)LOOP(1).invariant_flags)[0] = p->sequence.flag_count)
DAMAGE(entry_of_no_flag, ((uint32_t*)LOOP(1).entries)[0] = p->sequence.flag_count)
DAMAGE(exit_of_no_flag, ((uint32_t*)LOOP(1).exits)[0] = p->sequence.flag_count)
DAMAGE(exit_of_every_flag, ((uint32_t*)LOOP(1).exits)[0] = LEAT_FLAG_ALWAYS)
DAMAGE(border_of_no_loop, p->records[LOOP(0).begin].sequence.loop = 2)
DAMAGE(border_of_another, p->records[LOOP(0).begin].sequence.loop = 1)
DAMAGE(end_of_another, p->records[LOOP(1).end].sequence.loop = 0)
DAMAGE(loops_cross, {
  uint32_t end = LOOP(0).end;
  p->records[LOOP(1).end].sequence.loop = 0;
  p->records[end].sequence.loop = 1;
  LOOP(0).end = LOOP(1).end;
  LOOP(1).end = end;
})
DAMAGE(next_of_no_loop, RECORD(next)->sequence.loop = 2)
DAMAGE(next_of_another, RECORD(next)->sequence.loop = 1)
DAMAGE(shared_sides_read, RECORD(side)->flags |= LEAT_RECORD_READS_OUTPUT_0)
DAMAGE(no_second_output, RECORD(out)->flags |= LEAT_RECORD_READS_OUTPUT_1)
DAMAGE(releases_invariant, (RECORD(no)->last_readers = 0, RELEASE(no) = OUTPUT(most)))
DAMAGE(side_reads_later, INPUT(yes, 0) = OUTPUT(both))
DAMAGE(body_reads_released, INPUT(more, 0) = OUTPUT(no))
DAMAGE(branch_is_left, (RECORD(both)->sequence.release_count -= 1, RECORD(both)->last_readers = 0))
DAMAGE(body_without_kernel, RECORD(more)->kernel = NULL)

static const damage_t kOfFlow[] = {
    {late_constant_of_no_slot, OF("late constant 0") "its slot must exist and be no other"},
    {flag_missing, "it must have a flag of its own"},
    {flag_of_no_record, "its flag must exist"},
    {guard_of_nobody, "its guard must exist"},
    {guard_too_long, "its guard must exist"},
    {guard_of_no_flag, "the flags of its guard must exist"},
    {guard_of_merge_short, "a Merge must have a flag for each input"},
    {next_of_no_loop, "it must lie in its loop"},
    {next_of_another, "it must lie in its loop"},
    {shared_sides_read, "nobody may read outputs that have no slots"},
    {no_second_output, "output 1 must exist where somebody reads it"},
    {releases_invariant, "what it releases must not be read later"},
    {side_reads_later, "its inputs must be there"},
    {body_reads_released, "its inputs must be there"},
    {branch_is_left, "every value that it makes must be released or fetched"},
    {body_without_kernel, "it must have a kernel"},
    {loop_beyond_end, OF("loop 0") "a loop must begin before it ends, within the plan"},
    {loop_backwards, OF("loop 1") "a loop must begin before it ends, within the plan"},
    {loop_without_border, OF("loop 1") "the borders of a loop must be a LOOP and a REPEAT"},
    {loop_without_end, OF("loop 1") "the borders of a loop must be a LOOP and a REPEAT"},
    {invariant_of_no_slot, OF("loop 1") "an invariant must have a slot"},
    {invariant_of_no_flag, OF("loop 1") "the flags that are set at its borders must exist"},
    {entry_of_no_flag, OF("loop 1") "the flags that are set at its borders must exist"},
    {exit_of_no_flag, OF("loop 1") "the flags that are set at its borders must exist"},
    {exit_of_every_flag, OF("loop 1") "the flags that are set at its borders must exist"},
    {border_of_no_loop, "its loop must exist"},
    {border_of_another, "its loop must begin here"},
    {end_of_another, "its loop must end here"},
    {loops_cross, "its loop must end before the one around it"},
};
static const char* const kNodesOfFlow[] = {"", "side", "side", "no", "no", "no", "both",
                                           "NextIteration_2", "NextIteration_2", "side", "Exit_1",
                                           "no", "yes", "more", "yes", "more"};

// Of dataflow without control flow.
#define FRAME(i) p->dataflow.frame_tables[i]
#define READERS(node) FRAME(0).readers[OUTPUT(node)]
#define SUCCESSOR(node) p->dataflow.successors[RECORD(node)->dataflow.first_successor]
DAMAGE(slots_of_no_frame, ++p->slot_count)
DAMAGE(place_of_another, RECORD(a)->dataflow.place = RECORD(b)->dataflow.place)
DAMAGE(place_of_nobody, RECORD(a)->dataflow.place = FRAME(0).record_count)
DAMAGE(too_many_inputs, RECORD(a)->dataflow.input_count = 2)
DAMAGE(too_few_outputs, RECORD(a)->dataflow.output_count = 0)
DAMAGE(output_beyond_frame, OUTPUT(b) = p->slot_count)
DAMAGE(output_of_another, OUTPUT(b) = OUTPUT(a))
DAMAGE(output_over_constant, OUTPUT(b) = 0)
DAMAGE(reader_too_many, ++READERS(a))
DAMAGE(reader_too_few, --READERS(a))
DAMAGE(fetch_not_counted, --READERS(last))
DAMAGE(reference_not_counted, --READERS(v))
DAMAGE(feed_not_counted, --FRAME(0).readers[p->feed_slots[0]])
DAMAGE(constant_counted, FRAME(0).readers[0] = 1)
DAMAGE(successor_of_nobody, SUCCESSOR(a) = p->record_count)
DAMAGE(successor_is_another, SUCCESSOR(a) = NUMBER(last))
DAMAGE(successors_overlap, --RECORD(last)->dataflow.first_successor)
DAMAGE(waits_for_too_many, ++FRAME(0).pending[RECORD(b)->dataflow.place])
DAMAGE(waits_for_too_few, --FRAME(0).pending[RECORD(b)->dataflow.place])
DAMAGE(root_missing, --p->dataflow.root_count)
DAMAGE(root_twice, p->dataflow.roots[1] = p->dataflow.roots[0])
DAMAGE(root_waits, p->dataflow.roots[p->dataflow.root_count++] = NUMBER(b))
DAMAGE(fetch_of_no_writer, (p->fetch_slots[0] = p->slot_count++, ++FRAME(0).slot_count))
DAMAGE(record_too_many, ++FRAME(0).record_count)

#define SLOT_READERS \
  "the count of readers of a slot that it fills must be the number of inputs and fetches that " \
  "read it"
static const damage_t kOfDataflow[] = {
    {slots_of_no_frame, OF("frame 0") "an instance must have the slots of frame 0"},
    {place_of_another, AT("a") "2 of 7): its place in its frame must be its own"},
    {place_of_nobody, AT("a") "2 of 7): its place in its frame must be its own"},
    {too_many_inputs, AT("a") "2 of 7): it must have as many inputs and outputs as its kernel"},
    {too_few_outputs, AT("a") "2 of 7): it must have as many inputs and outputs as its kernel"},
    {output_beyond_frame, AT("b") "3 of 7): its output slots must exist"},
    {output_of_another, AT("b") "3 of 7): its output slots must be nobody else's"},
    {output_over_constant, AT("b") "3 of 7): its output slots must be nobody else's"},
    {reader_too_many, AT("a") "2 of 7): " SLOT_READERS},
    {reader_too_few, AT("a") "2 of 7): " SLOT_READERS},
    {fetch_not_counted, AT("last") "6 of 7): " SLOT_READERS},
    {reference_not_counted, AT("v") "0 of 7): " SLOT_READERS},
    {feed_not_counted, "its count of readers must be the number of inputs and"},
    {constant_counted, OF("slot 0") "its count of readers must be the number of inputs and"},
    {successor_of_nobody, AT("a") "2 of 7): its successors must exist"},
    {successor_is_another, AT("b") "3 of 7): it must wait for as many inputs as lead to it"},
    {successors_overlap, AT("last") "6 of 7): its list of successors must follow that of the"},
    {waits_for_too_many, AT("b") "3 of 7): it must wait for as many inputs as lead to it"},
    {waits_for_too_few, AT("b") "3 of 7): it must wait for as many inputs as lead to it"},
    {root_missing, "a record that waits for nothing must be a root, in the plan's order"},
    {root_twice, AT("a") "2 of 7): a record that waits for nothing must be a root, in the plan's"},
    {root_waits, AT("b") "3 of 7): a root must be a record that waits for nothing"},
    {fetch_of_no_writer, OF("fetch 0 ('last')") "a fetched value must be there at the end"},
    {record_too_many, OF("frame 0") "the frames together must have as many records as the plan"},
};

// Of dataflow with control flow. Frame 1 is the outer loop.
#define EDGE_OUTPUT(node) \
  p->dataflow.successor_outputs[RECORD(node)->dataflow.first_successor]
DAMAGE(frame_waits_for_too_many, ++p->dataflow.frames.items[1].entries)
DAMAGE(frame_without_iterations, p->dataflow.frames.items[2].parallel_iterations = 0)
DAMAGE(edge_of_no_output, EDGE_OUTPUT(no) = 1)
DAMAGE(edge_below_outputs, EDGE_OUTPUT(no) = -2)
DAMAGE(edge_is_control, EDGE_OUTPUT(no) = LEAT_CONTROL_INDEX)
DAMAGE(merge_waits_for_too_many, ++FRAME(0).pending[RECORD(both)->dataflow.place])
DAMAGE(merge_waits_for_too_few, --FRAME(0).pending[RECORD(both)->dataflow.place])
DAMAGE(successor_in_another_frame, SUCCESSOR(x) = NUMBER(more))
DAMAGE(frame_of_nobody, p->dataflow.frames.runs_in[n.root] = 3)
DAMAGE(outputs_in_no_frame, p->dataflow.frames.outputs_in[n.root] = -1)
DAMAGE(root_in_a_loop, {
  p->dataflow.frames.runs_in[n.root] = 1;
  --FRAME(0).record_count;
  RECORD(root)->dataflow.place = FRAME(1).record_count++;
  FRAME(1).records[RECORD(root)->dataflow.place] = NUMBER(root);
})

static const damage_t kOfFramed[] = {
    {frame_waits_for_too_many, OF("frame 1 ('outer')") "it must wait for as many Enters as lead"},
    {frame_without_iterations, OF("frame 2 ('inner')") "at least one iteration of it must run"},
    {edge_of_no_output, "its edges must carry its outputs"},
    {edge_below_outputs, "its edges must carry its outputs"},
    {edge_is_control, "it must wait for as many inputs as lead to it"},
    {merge_waits_for_too_many, "it must wait for as many inputs as lead to it"},
    {merge_waits_for_too_few, "it must wait for as many inputs as lead to it"},
    {successor_in_another_frame, "its successors must run in the frame of its outputs"},
    {frame_of_nobody, "its frame must exist"},
    {outputs_in_no_frame, "its frame must exist"},
    {root_in_a_loop, "a root must lie outside loops"},
};
static const char* const kNodesOfFramed[] = {"", "", "no", "no", "both", "both", "both", "x",
                                             "root", "root", "root"};

// ---- The tests ----------------------------------------------------------------------------------

// Compiles the good plan anew for each damage. |nodes|, where it is given, has the name of the node
// that must be found guilty ("": none is named, or the message itself says which).
static void expect_found(partition_t* p, void (*compile)(partition_t* p),
                         leat_executor_kind_t executor, const damage_t* damages, size_t count,
                         const char* const* nodes, size_t node_count) {
  for (size_t i = 0; i < count; ++i) {
    void* state = p;
    partition_tear_down(&state);
    partition_set_up(&state);
    p->executor = executor;
    compile(p);
    leat_plan_t* plan = p->plan;
    assert_int_equal(plan->executor, executor);
    LEAT_EXPECT_OK(leat_plan_verify(plan));
    // What frees the plan goes by the records, which are put back afterwards.
    leat_plan_t whole = *plan;
    leat_record_t records[64];
    assert_true(plan->record_count <= LEAT_ARRAY_SIZE(records));
    memcpy(records, plan->records, plan->record_count * sizeof *records);
    damages[i].damage(plan);
    leat_status_t status = leat_plan_verify(plan);
    if (!status) fail_msg("damage %zu is not found, must be: %s", i, damages[i].message);
    if (i < node_count && nodes[i][0]) {
      char name[64];
      snprintf(name, sizeof name, AT("%s"), nodes[i]);
      if (!strstr(leat_status_message(status), name)) {
        fail_msg("damage %zu: '%s', must begin with %s", i, leat_status_message(status), name);
      }
    }
    scene_expect(status, LEAT_INTERNAL, damages[i].message);
    *plan = whole;
    memcpy(plan->records, records, plan->record_count * sizeof *records);
  }
}

#define EXPECT_FOUND(compile, executor, damages, nodes, node_count) \
  expect_found(*state, compile, executor, damages, LEAT_ARRAY_SIZE(damages), nodes, node_count)

static void damages_of_any_plan_are_found(void** state) {
  for (int way = 0; way < 2; ++way) {
    leat_executor_kind_t executor = way ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_SEQUENCE;
    EXPECT_FOUND(compile_straight, executor, kOfBoth, kNodesOfBoth, LEAT_ARRAY_SIZE(kNodesOfBoth));
    EXPECT_FOUND(compile_straight, executor, kEdgesOfBoth, NULL, 0);
  }
}

static void damages_of_a_sequence_are_found(void** state) {
  EXPECT_FOUND(compile_straight, LEAT_EXECUTOR_SEQUENCE, kOfStraight, NULL, 0);
}

static void damages_of_a_sequence_with_loops_are_found(void** state) {
  EXPECT_FOUND(compile_flow, LEAT_EXECUTOR_SEQUENCE, kOfFlow, kNodesOfFlow,
               LEAT_ARRAY_SIZE(kNodesOfFlow));
}

static void damages_of_dataflow_are_found(void** state) {
  EXPECT_FOUND(compile_straight, LEAT_EXECUTOR_DATAFLOW, kOfDataflow, NULL, 0);
}

static void damages_of_dataflow_with_loops_are_found(void** state) {
  EXPECT_FOUND(compile_flow, LEAT_EXECUTOR_DATAFLOW, kOfFramed, kNodesOfFramed,
               LEAT_ARRAY_SIZE(kNodesOfFramed));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, partition_set_up, partition_tear_down)
      TEST(damages_of_any_plan_are_found),
      TEST(damages_of_a_sequence_are_found),
      TEST(damages_of_a_sequence_with_loops_are_found),
      TEST(damages_of_dataflow_are_found),
      TEST(damages_of_dataflow_with_loops_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
