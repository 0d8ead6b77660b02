// For each rule of a well-formed graph there is a line in this file: a good graph is damaged by
// hand so that this rule alone is broken, and leat_graph_verify() must name the node and the rule.
// A verifier that accepts everything would pass any test that only feeds it good graphs; the
// damages are what proves it. The good graph is small but has each kind of thing a rule speaks of:
// data and control edges, a list attribute, a constant, a loop. The functions under test are in
// every build, so these tests run in release builds too, where the optimizer's passes are not
// verified.
#include "graph/verify.h"

#include "graph/storage.h"
#include "toy_graph/toy_ops.h"

// The good graph: a value and a number, nodes that read them, a loop, a constant.
enum { X, N, SUM, SPLIT, CONV, MERGE, NEXT, CONSTANT, NODE_COUNT };

static leat_tensor_t number;

static void open_good(toy_t* toy) {
  toy_open(toy);
  int64_t strides[] = {1, 2};
  leat_attr_t list = {LEAT_SV("strides"),
                      {.kind = LEAT_ATTR_INT, .is_list = true, .count = 2, .ints = strides}};
  leat_output_t x = toy_placeholder(toy, "x", LEAT_DTYPE_FLOAT, 1, (const int64_t[]){3});
  leat_output_t n = toy_placeholder(toy, "n", LEAT_DTYPE_INT32, 0, NULL);
  int32_t sum = toy_add(toy, "AddN", "sum", LEAT_INPUTS(x, x), LEAT_NO_ATTRS);
  toy_ok(leat_graph_add_control_input(toy->graph, sum, N));
  toy_add(toy, "Split", "split", LEAT_INPUTS(n, x), LEAT_ATTRS(LEAT_INT("num_split", 2)));
  toy_add(toy, "Conv", "conv", LEAT_INPUTS(x), LEAT_ATTRS(list, LEAT_STR("padding", "SAME")));
  int32_t merge =
      toy_add(toy, "Merge", "merge", LEAT_INPUTS(x, LEAT_OUTPUT_NONE), LEAT_NO_ATTRS);
  int32_t next = toy_add(toy, "NextIteration", "next", LEAT_INPUTS(leat_node_output(merge, 0)),
                         LEAT_NO_ATTRS);
  toy_ok(leat_graph_set_input(toy->graph, merge, 1, leat_node_output(next, 0)));
  const int32_t seven = 7;
  toy_ok(leat_tensor_vector(LEAT_DTYPE_INT32, &seven, 1, &number));
  toy_add(toy, "Const", "constant", LEAT_NO_INPUTS,
          LEAT_ATTRS(LEAT_TENSOR("value", &number), LEAT_TYPE("dtype", LEAT_DTYPE_INT32)));
  for (int i = 0; i < NODE_COUNT; ++i) toy->graph->nodes[i].assigned_device = i % 2;
}

static void close_good(toy_t* toy) {
  toy_close(toy);
  leat_tensor_release(&number);
}

// Attributes of a node may be another node's too: they are copied before they are damaged.
static leat_attr_t* own_attrs(leat_graph_t* graph, int node) {
  void* memory;
  size_t bytes = (size_t)graph->nodes[node].attr_count * sizeof(leat_attr_t);
  toy_ok(leat_arena_allocate(leat_graph_arena(graph), bytes, &memory));
  leat_attr_t* attrs = memcpy(memory, graph->nodes[node].attrs, bytes);
  graph->nodes[node].attrs = attrs;
  return attrs;
}

typedef struct damage_s {
  void (*damage)(leat_node_t* nodes, leat_graph_t* graph);
  const char* message;
} damage_t;

// The line of a damage: what it does to |n|, the nodes of |g|, and what must be said of it.
#define DAMAGE(name, does) \
  static void name(leat_node_t* n, leat_graph_t* g) { \
    (void)n, (void)g;      \
    does;                  \
  }
DAMAGE(no_op, n[SUM].op = NULL)
DAMAGE(attr_gone, n[SPLIT].attr_count = 1)
DAMAGE(attrs_swapped, {
  leat_attr_t* attrs = own_attrs(g, SPLIT);
  leat_attr_t first = attrs[0];
  attrs[0] = attrs[1];
  attrs[1] = first;
})
DAMAGE(attr_unknown_kind, own_attrs(g, SPLIT)[0].value.kind = 77)
DAMAGE(attr_wrong_kind, own_attrs(g, SPLIT)[0].value.kind = LEAT_ATTR_FLOAT)
DAMAGE(attr_missing, own_attrs(g, SPLIT)[0].value.kind = LEAT_ATTR_NONE)
DAMAGE(attr_no_list, own_attrs(g, CONV)[1].value.is_list = false)
DAMAGE(attr_no_items, own_attrs(g, CONV)[1].value.items = NULL)
DAMAGE(attr_no_tensor, own_attrs(g, CONSTANT)[0].value.tensor = NULL)
DAMAGE(attr_below_minimum, own_attrs(g, SUM)[0].value.i = 0)
DAMAGE(attr_not_allowed, own_attrs(g, CONV)[2].value.s = LEAT_SV("FULL"))
DAMAGE(attr_waits_for_count, own_attrs(g, SUM)[0].value.kind = LEAT_ATTR_PLACEHOLDER)
DAMAGE(input_of_no_node, n[SUM].inputs[1].node = 99)
DAMAGE(input_missing, n[SUM].inputs[1] = LEAT_OUTPUT_NONE)
DAMAGE(input_of_no_output, n[SUM].inputs[1].index = 1)
DAMAGE(input_below_outputs, n[SUM].inputs[1].index = -2)
DAMAGE(input_of_wrong_type, n[SUM].inputs[1].node = N)
DAMAGE(input_is_control, n[SUM].inputs[1].index = LEAT_CONTROL_INDEX)
DAMAGE(inputs_too_few, n[SUM].input_count = 1)
DAMAGE(inputs_too_many, (n[SUM].input_count = 3, n[SUM].control_count = 0))
DAMAGE(inputs_negative, n[SUM].input_count = -1)
DAMAGE(inputs_nowhere, n[SUM].inputs = NULL)
DAMAGE(control_is_data, n[SUM].inputs[2].index = 0)
DAMAGE(control_of_no_node, n[SUM].inputs[2].node = -1)
DAMAGE(control_too_far, n[SUM].inputs[2].node = NODE_COUNT)
DAMAGE(outputs_too_few, n[SPLIT].output_count = 1)
DAMAGE(outputs_too_many, n[SPLIT].output_count = 3)
DAMAGE(output_of_wrong_type, n[SUM].output_types = n[N].output_types)
DAMAGE(outputs_without_types, n[SUM].output_types = NULL)
DAMAGE(outputs_without_shapes, n[SUM].output_shapes = NULL)
DAMAGE(shape_rank_too_low, n[SUM].output_shapes[0].rank = -2)
DAMAGE(shape_rank_too_high, n[SUM].output_shapes[0].rank = LEAT_SHAPE_MAX_RANK + 1)
DAMAGE(shape_without_dims, n[SUM].output_shapes[0].dims = NULL)
static const int64_t negative = -3;
DAMAGE(shape_negative, n[SUM].output_shapes[0].dims = &negative)
DAMAGE(name_taken, n[SPLIT].name = n[X].name)
DAMAGE(name_unknown, n[SPLIT].name = LEAT_SV("another"))
DAMAGE(name_invalid, n[SPLIT].name = LEAT_SV("a b"))
DAMAGE(name_too_few, --g->names.count)
DAMAGE(node_too_many, g->node_count = g->node_capacity + 1)

#define AT(node, op) "Verifying failed after pass x for node '" node "' (" op "): "
static const damage_t kDamages[] = {
    {no_op, AT("sum", "no op") "op is NULL"},
    {attr_gone, AT("split", "Split") "attribute count is 1, must be at least the op's 2"},
    {attrs_swapped, AT("split", "Split") "attribute 0 is 'T', must be 'num_split'"},
    {attr_unknown_kind, "attribute 'num_split' has kind 77, must be a leat_attr_kind_t"},
    {attr_wrong_kind, "attribute 'num_split' is of kind float, must be int"},
    {attr_missing, "attribute 'num_split' is of kind none, must be int"},
    {attr_no_list, "attribute 'strides' is of kind int, must be list(int)"},
    {attr_no_items, "attribute 'strides' is NULL, must be a value"},
    {attr_no_tensor, "attribute 'value' is NULL, must be a value"},
    {attr_below_minimum, "attribute 'N' has a value that is not allowed: Value for attr 'N' of 0"},
    {attr_not_allowed, "not allowed: Value for attr 'padding' of \"FULL\""},
    {attr_waits_for_count, "the number of tensors of 'inputs' is a placeholder, must be known"},
    {input_of_no_node, AT("sum", "AddN") "input 1 is node 99, must be one of the graph's 8"},
    {input_missing, AT("sum", "AddN") "input 1 is missing, must be an output of a node"},
    {input_of_no_output, "input 1 is output 1 of node 'x', must be in [0, 1)"},
    {input_below_outputs, "input 1 is output -2 of node 'x', must be in [0, 1)"},
    {input_of_wrong_type, "input 1, 'n:0', is of type int32, must be float"},
    {input_is_control, "input 1 is a control input, must be behind the 2 data inputs"},
    {inputs_too_few, "input count is 1, must be more, since 'inputs' begins at 0 and stands for 2"},
    {inputs_too_many, AT("sum", "AddN") "input count is 3, must be 2"},
    {inputs_negative, "it has -1 inputs and 1 control inputs"},
    {inputs_nowhere, "must have a list of them"},
    {control_is_data, AT("sum", "AddN") "control input 0 has the index 0, must be -1"},
    {control_of_no_node, "control input 0 is node -1, must be one of the graph's 8"},
    {control_too_far, "control input 0 is node 8, must be one of the graph's 8"},
    {outputs_too_few, "output count is 1, must be more, since 'output' begins at 0"},
    {outputs_too_many, AT("split", "Split") "output count is 3, must be 2"},
    {output_of_wrong_type, AT("sum", "AddN") "output 0 is of type int32, must be float"},
    {outputs_without_types, AT("sum", "AddN") "it has 1 outputs with types at"},
    {outputs_without_shapes, "must have lists of both"},
    {shape_rank_too_low, AT("sum", "AddN") "output 0 has rank -2"},
    {shape_rank_too_high, "output 0 has rank 255"},
    {shape_without_dims, "must be in [-1, 254] with a list of them"},
    {shape_negative, "output 0 has -3 as dimension 0, must be -1 or more"},
    {name_taken, AT("x", "Split") "the name is that of nodes 0 and 3, must be of one"},
    {name_unknown, AT("another", "Split") "the name is not in the graph's index, must be there"},
    {name_invalid, AT("a b", "Split") "the name is not one that a node may have"},
    {name_too_few, "Verifying failed after pass x: the graph has 8 nodes, room for 16 and 7 names"},
    {node_too_many, "Verifying failed after pass x: the graph has 17 nodes, room for 16"},
};

static void a_good_graph_is_verified(void** state) {
  (void)state;
  toy_t toy;
  open_good(&toy);
  toy_ok(leat_graph_verify(toy.graph, "pass x"));
  toy_ok(leat_graph_verify_unfinished(toy.graph, "pass x"));
  toy_ok(leat_graph_verify_placed(toy.graph, 2, "pass x"));
  // A child graph, empty and with a copy.
  leat_graph_t* child;
  int32_t copy;
  toy_ok(leat_graph_create_child(toy.graph, &child));
  toy_ok(leat_graph_verify(child, "pass x"));
  toy_ok(leat_graph_copy_node(child, &toy.graph->nodes[X], NULL, 0, 0, &copy));
  toy_ok(leat_graph_verify(child, "pass x"));
  leat_graph_free(child);
  close_good(&toy);
}

static void each_damage_is_named(void** state) {
  (void)state;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kDamages); ++i) {
    toy_t toy;
    open_good(&toy);
    const size_t count = toy.graph->node_count;
    kDamages[i].damage(toy.graph->nodes, toy.graph);
    toy_fails(leat_graph_verify(toy.graph, "pass x"), LEAT_INTERNAL, kDamages[i].message);
    toy.graph->node_count = count;
    close_good(&toy);
  }
}

static void each_node_has_a_device_once_placed(void** state) {
  (void)state;
  toy_t toy;
  open_good(&toy);
  toy.graph->nodes[SPLIT].assigned_device = -1;
  toy_ok(leat_graph_verify(toy.graph, "pass x"));
  toy_fails(leat_graph_verify_placed(toy.graph, 2, "placement"), LEAT_INTERNAL,
            "Verifying failed after placement for node 'split' (Split): the device is -1, must be "
            "in [0, 2)");
  toy.graph->nodes[SPLIT].assigned_device = 2;
  toy_fails(leat_graph_verify_placed(toy.graph, 2, "placement"), LEAT_INTERNAL,
            "the device is 2, must be in [0, 2)");
  close_good(&toy);
}

static void a_loop_may_be_closed_by_several_edges(void** state) {
  (void)state;
  toy_t toy;
  open_good(&toy);
  toy_ok(leat_graph_set_input(toy.graph, MERGE, 0, leat_node_output(NEXT, 0)));
  toy_ok(leat_graph_verify(toy.graph, "pass x"));
  close_good(&toy);
}

// A client's own cycle keeps the code that later stages give it, and is no fault while it builds.
static void a_cycle_is_found_unless_it_closes_a_loop(void** state) {
  (void)state;
  toy_t toy;
  open_good(&toy);
  toy_ok(leat_graph_add_control_input(toy.graph, X, SPLIT));
  toy_fails(leat_graph_verify(toy.graph, "pass x"), LEAT_INVALID_ARGUMENT,
            "Verifying failed after pass x: Sorting the graph failed for node 'x' (Placeholder)");
  toy_ok(leat_graph_verify_unfinished(toy.graph, "import"));
  close_good(&toy);
}

static void an_unfinished_loop_is_a_client_s_right(void** state) {
  (void)state;
  toy_t toy;
  open_good(&toy);
  toy.graph->nodes[MERGE].inputs[1] = LEAT_OUTPUT_NONE;
  toy_ok(leat_graph_verify_unfinished(toy.graph, "import"));
  toy_fails(leat_graph_verify(toy.graph, "pass x"), LEAT_INTERNAL,
            "for node 'merge' (Merge): input 1 is missing");
  toy.graph->nodes[SUM].inputs[1] = LEAT_OUTPUT_NONE;
  toy_fails(leat_graph_verify_unfinished(toy.graph, "import"), LEAT_INTERNAL,
            "for node 'sum' (AddN): input 1 is missing");
  close_good(&toy);
}

// In a function's body a number may be given by the call, which no argument's count may.
static void a_placeholder_is_a_value_to_come(void** state) {
  (void)state;
  toy_t toy;
  open_good(&toy);
  leat_attr_t attrs[] = {{LEAT_SV("validate_shape"),
                          {.kind = LEAT_ATTR_PLACEHOLDER, .s = LEAT_SV("v")}}};
  leat_partial_shape_t shape = {0, NULL};
  leat_attrs_t variable =
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT), LEAT_SHAPE("shape", shape));
  leat_output_t v = leat_node_output(toy_add(&toy, "Variable", "v", LEAT_NO_INPUTS, variable), 0);
  toy_add(&toy, "Assign", "assign", LEAT_INPUTS(v, leat_node_output(X, 0)),
          (leat_attrs_t){attrs, 1});
  toy_ok(leat_graph_verify(toy.graph, "import"));
  close_good(&toy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_graph_is_verified),
      cmocka_unit_test(each_damage_is_named),
      cmocka_unit_test(each_node_has_a_device_once_placed),
      cmocka_unit_test(a_loop_may_be_closed_by_several_edges),
      cmocka_unit_test(a_cycle_is_found_unless_it_closes_a_loop),
      cmocka_unit_test(an_unfinished_loop_is_a_client_s_right),
      cmocka_unit_test(a_placeholder_is_a_value_to_come),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
