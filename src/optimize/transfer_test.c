// A transfer keeps its number (LEAT_ATTR_NAME_TRANSFER) through every pass that changes, replaces
// or copies its Send and its Recv. The two ends find each other in the rendezvous by that number
// alone, so an end without it would leave the other one waiting for ever. Each end has its number
// in its name as well, and after a pass the two must still agree. Every pass runs alone and all run
// together, over partitions and over whole graphs, and the tests also check that the passes did
// something, because an idle pass proves nothing. A test fails when a new pass over partitions is
// missing from this file.
#include <string.h>

#include "session/pass_scene.h"

enum { kTransfers = 4, kFirstNumber = 20, kChain = 8 };

// An end of transfer |index|, whose number is kFirstNumber + |index|.
static int32_t make_end(scene_t* s, int index, leat_output_t sent) {
  const char name[] = {'e', 'd', 'g', 'e', (char)('0' + index)};
  const bool sends = leat_output_exists(sent);
  leat_attr_t attrs[] = {LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "edge0"),
                         LEAT_STR("send_device", "/a"), LEAT_INT("send_device_incarnation", 1),
                         LEAT_STR("recv_device", "/b"),
                         LEAT_INT(LEAT_ATTR_NAME_TRANSFER, kFirstNumber + index)};
  attrs[1].value.s = leat_string_view_make(name, sizeof name);
  if (!sends) attrs[0].name = LEAT_SV("tensor_type");
  return scene_node(s, sends ? "_Send" : "_Recv", "", "", (leat_outputs_t){&sent, sends},
                    (leat_attrs_t){attrs, LEAT_ARRAY_SIZE(attrs)});
}

// Finds the ends in |graph| and sets |out_ends|; each must have the number that its name tells.
static void find_ends(const leat_graph_t* graph, uint32_t flag,
                      const leat_node_t* out_ends[kTransfers]) {
  memset(out_ends, 0, kTransfers * sizeof *out_ends);
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    if (!(node->op->flags & flag)) continue;
    const leat_string_view_t name = leat_node_attr(node, LEAT_SV("tensor_name"))->s;
    assert_int_equal(name.size, 5);
    const int index = name.data[4] - '0';
    assert_in_range(index, 0, kTransfers - 1);
    assert_null(out_ends[index]);
    assert_int_equal(leat_node_attr_int(node, LEAT_ATTR_NAME_TRANSFER, -1), kFirstNumber + index);
    out_ends[index] = node;
  }
  for (int i = 0; i < kTransfers; ++i) assert_non_null(out_ends[i]);
}

// ---- Partitions ---------------------------------------------------------------------------------

// Large values that are sent, and a long computation that adds them to its result, one by one.
static void make_partitions(scene_t* sender, scene_t* receiver) {
  static const int32_t kItems = 1 << 12;
  leat_output_t sum = scene_floats(receiver, 1, (const float[]){1});
  for (int i = 0; i < kChain; ++i) sum = scene_unary(receiver, "Exp", -1, sum);
  for (int i = 0; i < kTransfers; ++i) {
    leat_output_t value = scene_output(
        sender, "Fill", "", "",
        LEAT_INPUTS(leat_build_int32_vector(&sender->b, &kItems, 1), scene_float(sender, 1)),
        LEAT_NO_ATTRS);
    make_end(sender, i, value);
    leat_output_t received = {make_end(receiver, i, LEAT_OUTPUT_NONE), 0};
    sum = scene_binary(receiver, "AddV2", -1, sum, received);
  }
}

// Whether the pass did what it is for, so that the numbers were at risk.
static bool did_compress(const leat_node_t* const sends[], const leat_node_t* const recvs[]) {
  bool did = true;
  for (int i = 0; i < kTransfers; ++i) {
    did = did && leat_node_attr(sends[i], LEAT_SV("T"))->type == LEAT_DTYPE_BFLOAT16 &&
          leat_node_attr(recvs[i], LEAT_SV("tensor_type"))->type == LEAT_DTYPE_BFLOAT16;
  }
  return did;
}

static bool did_schedule(const leat_node_t* const sends[], const leat_node_t* const recvs[]) {
  bool did = true;
  for (int i = 0; i < kTransfers; ++i) did = did && recvs[i]->control_count > 0;
  return did;
}

static void partitions_keep_the_numbers(void** state) {
  static const struct {
    const leat_pass_t* only;  // NULL: all
    bool (*did)(const leat_node_t* const sends[], const leat_node_t* const recvs[]);
  } kWays[] = {{&leat_pass_compress, did_compress},
               {&leat_pass_recv_schedule, did_schedule},
               {NULL, did_compress},
               {NULL, did_schedule}};
  for (size_t way = 0; way < LEAT_ARRAY_SIZE(kWays); ++way) {
    scene_t scenes[2];
    const leat_node_t *sends[kTransfers], *recvs[kTransfers];
    for (int i = 0; i < 2; ++i) scene_open(&scenes[i]);
    make_partitions(&scenes[0], &scenes[1]);
    leat_graph_t* graphs[] = {scenes[0].graph, scenes[1].graph};
    const leat_pass_options_t options = {.passes = UINT32_MAX};
    LEAT_EXPECT_OK(leat_passes_run_partitions(graphs, 2, &options, kWays[way].only));
    find_ends(graphs[0], LEAT_OP_SEND, sends);
    find_ends(graphs[1], LEAT_OP_RECV, recvs);
    assert_true(kWays[way].did(sends, recvs));
    for (int i = 0; i < 2; ++i) scene_close(&scenes[i]);
  }
}

// The two ways above name all passes over partitions. A new one needs a way of its own.
static void every_pass_over_partitions_is_here(void** state) {
  for (const leat_pass_t* const* pass = leat_passes; *pass; ++pass) {
    if ((*pass)->stage != LEAT_PASS_PARTITIONS) continue;
    if (*pass != &leat_pass_compress && *pass != &leat_pass_recv_schedule) {
      fail_msg("no test says that the pass %s keeps the transfers' numbers", (*pass)->name);
    }
  }
}

// ---- Whole graphs -------------------------------------------------------------------------------

// received ─▶ Identity ─▶ Mul(·, 2 * 1) ─▶ Add(·, ·) ─▶ sent. Folding, merging and fusing have work
// on both sides of every end, and what is left is copied into a new graph.
static void make_ends_in_one_graph(scene_t* s, int32_t targets[kTransfers]) {
  for (int i = 0; i < kTransfers; ++i) {
    leat_output_t received = {make_end(s, i, LEAT_OUTPUT_NONE), 0};
    LEAT_EXPECT_OK(leat_graph_refine_shape(
        s->graph, received, (leat_partial_shape_t){1, (const int64_t[]){1 << 12}}));
    leat_output_t two = scene_binary(s, "Mul", -1, scene_float(s, 2), scene_float(s, 1));
    leat_output_t same = scene_unary(s, "Identity", -1, received);
    leat_output_t a = scene_binary(s, "Mul", -1, same, two);
    leat_output_t b = scene_binary(s, "Mul", -1, same, two);
    targets[i] = make_end(s, i, scene_binary(s, "AddV2", -1, a, b));
  }
}

// Runs the passes of both stages whose bits are in |passes|; returns whether they dropped nodes,
// and with that copied the graph.
static bool run_both_stages(pass_scene_t* f, uint32_t passes) {
  const size_t before = f->rewrite.graph->node_count;
  f->options.passes = passes;
  LEAT_EXPECT_OK(leat_passes_run(&f->rewrite, &f->options, LEAT_PASS_WHOLE));
  leat_graph_t* graph = f->rewrite.graph;
  for (size_t i = 0; i < graph->node_count; ++i) graph->nodes[i].assigned_device = 0;
  LEAT_EXPECT_OK(leat_passes_run(&f->rewrite, &f->options, LEAT_PASS_PLACED));
  return f->rewrite.graph->node_count < before;
}

// Each pass alone, and all of them. The ends are those of a client's own graph; the partitioner
// decides later what becomes of the numbers.
static void whole_graphs_keep_the_numbers(void** state) {
  pass_scene_t* f = *state;
  const leat_node_t* ends[kTransfers];
  int32_t targets[kTransfers];
  int changed = 0;
  f->options.evaluate = leat_evaluator_run;
  f->options.evaluate_data = &f->evaluator;
  f->options.fusion_limit_elements = 1;
  make_ends_in_one_graph(&f->s, targets);
  for (int bit = 0; bit <= 32; ++bit) {
    if (f->rewrite.graph) leat_rewrite_deinitialize(&f->rewrite);
    LEAT_EXPECT_OK(
        leat_prune(f->s.graph, NULL, 0, NULL, 0, targets, kTransfers, &f->rewrite));
    const bool all = bit == 32;
    const bool dropped = run_both_stages(f, all ? UINT32_MAX : UINT32_C(1) << bit);
    if (all) assert_true(dropped);
    changed += dropped;
    find_ends(f->rewrite.graph, LEAT_OP_SEND, ends);
    find_ends(f->rewrite.graph, LEAT_OP_RECV, ends);
  }
  assert_true(changed >= 4);  // fold, cse, fusion and all of them at least
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(partitions_keep_the_numbers),
      cmocka_unit_test(every_pass_over_partitions_is_here),
      cmocka_unit_test_setup_teardown(whole_graphs_keep_the_numbers, pass_scene_set_up,
                                      pass_scene_tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
