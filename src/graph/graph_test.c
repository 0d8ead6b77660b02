// Adding nodes: what is filled in, what is refused and with which code, names, edits, order. The
// tests build graphs of a few ops that tests/toy_graph declares, and read the nodes back. A refusal
// must leave the graph as it was. Shape inference is tested in src/graph/inference, importing in
// src/graph/import, and the public functions above this in tests/capi/graph_test.c and
// builder_test.c.
#include "toy_graph/toy_ops.h"

static void types_and_counts_come_from_inputs(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_output_t x = toy_placeholder(&toy, "x", LEAT_DTYPE_FLOAT, 1, (const int64_t[]){3});
  leat_output_t n = toy_placeholder(&toy, "n", LEAT_DTYPE_INT32, 0, NULL);
  int32_t sum = toy_add(&toy, "AddN", "sum", LEAT_INPUTS(x, x, x), LEAT_NO_ATTRS);
  const leat_node_t* node = leat_graph_node(toy.graph, sum);
  assert_int_equal(leat_node_attr_int(node, "N", 0), 3);
  assert_int_equal(leat_node_attr_type(node, "T"), LEAT_DTYPE_FLOAT);
  assert_string_equal(TOY_SHAPE(&toy, leat_node_output(sum, 0)), "[3]");
  int32_t all = toy_add(&toy, "IdentityN", "all", LEAT_INPUTS(x, n), LEAT_NO_ATTRS);
  node = leat_graph_node(toy.graph, all);
  assert_int_equal(node->output_count, 2);
  assert_int_equal(node->output_types[1], LEAT_DTYPE_INT32);
  int32_t split = toy_add(&toy, "Split", "split", LEAT_INPUTS(n, x),
                          LEAT_ATTRS(LEAT_INT("num_split", 5)));
  node = leat_graph_node(toy.graph, split);
  assert_int_equal(node->output_count, 5);
  int begin = 0;
  assert_int_equal(leat_node_input_argument(node, 1, &begin), 1);
  assert_int_equal(begin, 1);
  assert_int_equal(leat_node_output_argument(node, 0, &begin), 5);
  assert_int_equal(leat_node_input_type(node, 0), LEAT_DTYPE_INT32);
  toy_close(&toy);
}

static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_output_t x = toy_placeholder(&toy, "x", LEAT_DTYPE_FLOAT, 1, (const int64_t[]){3});
  leat_output_t y = toy_placeholder(&toy, "y", LEAT_DTYPE_INT32, 1, (const int64_t[]){4});
  int32_t node;
  size_t before = toy.graph->node_count;
#define REFUSES(op, name, inputs, attrs, part) \
  toy_fails(toy_try(&toy, op, name, inputs, attrs, &node), LEAT_INVALID_ARGUMENT, part)
  REFUSES("Add", "x", LEAT_INPUTS(x, x), LEAT_NO_ATTRS, "Duplicate node name in graph: 'x'");
  REFUSES("Add", "", LEAT_INPUTS(x, x), LEAT_NO_ATTRS, "invalid characters");
  REFUSES("Add", "a b", LEAT_INPUTS(x, x), LEAT_NO_ATTRS, "invalid characters");
  REFUSES("Add", "a>", LEAT_INPUTS(x, x), LEAT_NO_ATTRS, "invalid characters");
  REFUSES("Add", "a", LEAT_INPUTS(x, y), LEAT_NO_ATTRS,
          "passed int32 from y:0 incompatible with expected float");
  REFUSES("Add", "a", LEAT_INPUTS(x), LEAT_NO_ATTRS, "do not match 1 inputs");
  REFUSES("Add", "a", LEAT_INPUTS(x, x, x), LEAT_NO_ATTRS, "do not match 3 inputs");
  REFUSES("Add", "a", LEAT_INPUTS(x, LEAT_OUTPUT_NONE), LEAT_NO_ATTRS, "must be one of");
  REFUSES("Add", "a", LEAT_INPUTS(x, ((leat_output_t){x.node, 1})), LEAT_NO_ATTRS, "output 1");
  REFUSES("Conv", "a", LEAT_INPUTS(x), LEAT_NO_ATTRS, "NodeDef missing attr 'strides'");
  REFUSES("Conv", "a", LEAT_INPUTS(y), LEAT_NO_ATTRS, "not in the list of allowed values");
  int64_t strides[] = {1};
  leat_attr_t one = {LEAT_SV("strides"),
                     {.kind = LEAT_ATTR_INT, .is_list = true, .count = 1, .ints = strides}};
  REFUSES("Conv", "a", LEAT_INPUTS(x), LEAT_ATTRS(one), "must be at least minimum 2");
  REFUSES("Conv", "a", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_STR("padding", "X")), "\"SAME\", \"VALID\"");
  REFUSES("Placeholder", "a", LEAT_NO_INPUTS, LEAT_ATTRS(LEAT_INT("dtype", 1)),
          "'int' when 'type'");
  REFUSES("Placeholder", "a", LEAT_NO_INPUTS, LEAT_ATTRS(LEAT_TYPE("dtype", 101)), "reference");
  REFUSES("Placeholder", "a", LEAT_NO_INPUTS, LEAT_ATTRS(LEAT_TYPE("dtype", 0)), "invalid");
  REFUSES("Placeholder", "a", LEAT_NO_INPUTS, LEAT_ATTRS(LEAT_TYPE("dtype", 99)), "invalid");
  REFUSES("Assign", "a", LEAT_INPUTS(x, x), LEAT_NO_ATTRS, "expected float_ref");
  REFUSES("Split", "a", LEAT_INPUTS(y, x), LEAT_ATTRS(LEAT_INT("num_split", INT32_MAX)),
          "outputs is too big");
#undef REFUSES
  toy_fails(toy_try(&toy, "Old", "a", LEAT_NO_INPUTS, LEAT_NO_ATTRS, &node), LEAT_UNIMPLEMENTED,
            "removed in version 20");
  assert_int_equal(toy.graph->node_count, before);
  assert_int_equal(leat_graph_find_node(toy.graph, LEAT_SV("a")), -1);
  toy_close(&toy);
}

static void references_serve_as_values_but_not_the_reverse(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_partial_shape_t shape = {0, NULL};
  leat_attrs_t attrs = LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT), LEAT_SHAPE("shape", shape));
  leat_output_t v = leat_node_output(toy_add(&toy, "Variable", "v", LEAT_NO_INPUTS, attrs), 0);
  assert_int_equal(leat_graph_output_type(toy.graph, v), LEAT_DTYPE_FLOAT + 100);
  int32_t sum = toy_add(&toy, "Add", "sum", LEAT_INPUTS(v, v), LEAT_NO_ATTRS);
  assert_int_equal(leat_graph_output_type(toy.graph, leat_node_output(sum, 0)), LEAT_DTYPE_FLOAT);
  int32_t assign = toy_add(&toy, "Assign", "assign", LEAT_INPUTS(v, leat_node_output(sum, 0)),
                           LEAT_NO_ATTRS);
  uint8_t types[2];
  leat_node_input_types(leat_graph_node(toy.graph, assign), types);
  assert_int_equal(types[0], LEAT_DTYPE_FLOAT + 100);
  assert_int_equal(types[1], LEAT_DTYPE_FLOAT);
  toy_close(&toy);
}

static void unknown_attributes_are_kept(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  int32_t node = toy_add(&toy, "NoOp", "a", LEAT_NO_INPUTS,
                         LEAT_ATTRS(LEAT_STR("_class", "loc:@b"), LEAT_INT("new", 3)));
  assert_int_equal(leat_node_attr_int(leat_graph_node(toy.graph, node), "new", 0), 3);
  leat_attr_t attr = LEAT_INT("new", 4);
  toy_ok(leat_graph_set_attr(toy.graph, node, &attr));
  attr = LEAT_STR("_more", "x");
  toy_ok(leat_graph_set_attr(toy.graph, node, &attr));
  const leat_node_t* n = leat_graph_node(toy.graph, node);
  assert_int_equal(n->attr_count, 3);
  assert_int_equal(leat_node_attr_int(n, "new", 0), 4);
  assert_true(leat_string_view_equals(leat_node_attr_string(n, "_more"), "x"));
  toy_close(&toy);
}

static void unique_names_count_on(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_string_view_t name;
  for (int i = 0; i < 20000; ++i) {
    toy_ok(leat_graph_unique_name(toy.graph, LEAT_SV("scope/NoOp"), &name));
    leat_node_spec_t spec = {.name = name};
    toy_ok(leat_op_registry_find(toy.ops, LEAT_SV("NoOp"), &spec.op));
    int32_t node;
    toy_ok(leat_graph_add_node(toy.graph, &spec, &node));
  }
  assert_true(leat_string_view_equals(name, "scope/NoOp_19999"));
  toy_close(&toy);
}

static void control_inputs_are_a_set(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  int32_t controls[64];
  char name[16];
  for (int i = 0; i < 32; ++i) {
    snprintf(name, sizeof(name), "n%d", i);
    controls[i] = controls[i + 32] = toy_add(&toy, "NoOp", name, LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  }
  leat_node_spec_t spec = {.name = LEAT_SV("all"), .control_inputs = controls, .control_count = 64};
  toy_ok(leat_op_registry_find(toy.ops, LEAT_SV("NoOp"), &spec.op));
  int32_t all, few;
  toy_ok(leat_graph_add_node(toy.graph, &spec, &all));
  assert_int_equal(leat_graph_node(toy.graph, all)->control_count, 32);
  spec.name = LEAT_SV("few");
  spec.control_count = 3;
  toy_ok(leat_graph_add_node(toy.graph, &spec, &few));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 32; ++i) toy_ok(leat_graph_add_control_input(toy.graph, few, controls[i]));
  }
  const leat_node_t* node = leat_graph_node(toy.graph, few);
  assert_int_equal(node->control_count, 32);
  for (int i = 0; i < 32; ++i) assert_int_equal(node->inputs[i].node, controls[i]);
  toy_close(&toy);
}

static void sorting_puts_inputs_first(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_output_t x = toy_placeholder(&toy, "x", LEAT_DTYPE_FLOAT, 0, NULL);
  leat_attr_t type = LEAT_TYPE("T", LEAT_DTYPE_FLOAT);
  leat_output_t merge = leat_node_output(
      toy_add(&toy, "Merge", "merge", LEAT_INPUTS(x, LEAT_OUTPUT_NONE), LEAT_ATTRS(type)), 0);
  leat_output_t add =
      leat_node_output(toy_add(&toy, "Add", "add", LEAT_INPUTS(merge, x), LEAT_NO_ATTRS), 0);
  leat_output_t next = leat_node_output(
      toy_add(&toy, "NextIteration", "next", LEAT_INPUTS(add), LEAT_NO_ATTRS), 0);
  int32_t late = toy_add(&toy, "NoOp", "late", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  toy_ok(leat_graph_set_input(toy.graph, merge.node, 1, next));
  toy_ok(leat_graph_add_control_input(toy.graph, x.node, late));
  int32_t order[5];
  toy_ok(leat_graph_sort(toy.graph, order));
  const int32_t expected[] = {late, x.node, merge.node, add.node, next.node};
  assert_memory_equal(order, expected, sizeof(order));
  leat_readers_t readers;
  toy_ok(leat_readers_initialize(toy.graph, &readers));
  assert_int_equal(readers.begin[x.node + 1] - readers.begin[x.node], 2);
  assert_int_equal(readers.readers[readers.begin[next.node]].node, merge.node);
  assert_int_equal(readers.readers[readers.begin[next.node]].position, 1);
  leat_readers_deinitialize(&readers);
  toy_ok(leat_graph_add_control_input(toy.graph, late, next.node));
  toy_fails(leat_graph_sort(toy.graph, order), LEAT_INVALID_ARGUMENT, "'x'");
  toy_fails(leat_graph_set_input(toy.graph, add.node, 0, leat_node_output(late, 0)),
            LEAT_OUT_OF_RANGE, "output 0 of 'late'");
  toy_close(&toy);
}

static void children_outlive_their_parents(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_output_t x = toy_placeholder(&toy, "x", LEAT_DTYPE_FLOAT, 1, (const int64_t[]){7});
  leat_graph_t* child = NULL;
  toy_ok(leat_graph_create_child(toy.graph, &child));
  int32_t copy;
  toy_ok(leat_graph_copy_node(child, leat_graph_node(toy.graph, x.node), NULL, 0, 0, &copy));
  leat_graph_free(toy.graph);
  toy.graph = child;
  assert_int_equal(leat_graph_find_node(child, LEAT_SV("x")), copy);
  assert_string_equal(TOY_SHAPE(&toy, leat_node_output(copy, 0)), "[7]");
  toy_close(&toy);
}

static void tensor_names(void** state) {
  (void)state;
  static const struct {
    const char *text, *node;
    int index;
  } cases[] = {{"a", "a", 0},       {"a:0", "a", 0},   {"a/b:12", "a/b", 12}, {"^c", "c", -1},
               {"a:b", "a:b", 0},   {"a12", "a12", 0}, {"a:", "a:", 0},       {"7", "7", 0}};
  leat_string_view_t node;
  int index;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    toy_ok(leat_tensor_name_parse(leat_string_view_from(cases[i].text), &node, &index));
    assert_true(leat_string_view_equals(node, cases[i].node));
    assert_int_equal(index, cases[i].index);
  }
  static const char* const bad[] = {"", "^", ":0", "a:99999999999", "a:99999999999999999999999"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(bad); ++i) {
    toy_fails(leat_tensor_name_parse(leat_string_view_from(bad[i]), &node, &index),
              LEAT_INVALID_ARGUMENT, "tensor name");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_and_counts_come_from_inputs),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(references_serve_as_values_but_not_the_reverse),
      cmocka_unit_test(unknown_attributes_are_kept),
      cmocka_unit_test(unique_names_count_on),
      cmocka_unit_test(control_inputs_are_a_set),
      cmocka_unit_test(sorting_puts_inputs_first),
      cmocka_unit_test(children_outlive_their_parents),
      cmocka_unit_test(tensor_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
