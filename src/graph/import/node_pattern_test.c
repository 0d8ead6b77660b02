// Nodes of a file that are written alike: what they share, and what they must not. An import keeps
// patterns of nodes and reads later nodes by them, so that attributes and shapes can be one object
// for many nodes. Each test imports groups of nodes that differ in one thing, such as a shape, a
// value, a type or the name of the op, and looks at each node of the graph. A graph that shares too
// little is only larger; one that shares too much would be wrong.
#include "graph/import/node_pattern.h"

#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "graph/import/import.h"
#include "toy_graph/toy_ops.h"

#define GROUPS 40  // of nodes: enough for patterns to be kept

// Imports |print| of every group.
static leat_status_t import_groups(toy_t* toy,
                                   void (*print)(leat_string_builder_t* text, int group)) {
  leat_arena_t arena;
  leat_string_builder_t text, bytes;
  leat_pb_graph_def_t message;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_builder_print(&text, "versions { producer: 1000 }");
  for (int i = 0; i < GROUPS; ++i) print(&text, i);
  toy_ok(leat_text_parse(&leat_pb_graph_def_descriptor, leat_string_builder_view(&text), &arena,
                         &message));
  toy_ok(leat_message_encode(&leat_pb_graph_def_descriptor, &message, &bytes));
  leat_status_t status =
      leat_graph_import(toy->graph, leat_string_builder_view(&bytes), NULL, NULL);
  leat_string_builder_deinitialize(&bytes);
  leat_string_builder_deinitialize(&text);
  leat_arena_deinitialize(&arena);
  return status;
}

static void print_placeholder(leat_string_builder_t* text, int group, const char* type) {
  leat_string_builder_print(text,
                            "node { name: 'x%d' op: 'Placeholder'"
                            "  attr { key: 'dtype' value { type: %s } }"
                            "  attr { key: 'shape' value { shape { dim { size: %d } } } } }",
                            group, type, 2 + group % 3);
}

static void print_identity(leat_string_builder_t* text, int group) {
  print_placeholder(text, group, "DT_FLOAT");
  leat_string_builder_print(text,
                            "node { name: 'y%d' op: 'Identity' input: 'x%d'"
                            "  attr { key: 'T' value { type: DT_FLOAT } } }",
                            group, group);
}

static void shapes_are_shared_where_the_inputs_have_the_same(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_ok(import_groups(&toy, print_identity));
  assert_int_equal(toy.graph->node_count, 2 * GROUPS);
  const leat_node_t* first = &toy.graph->nodes[1];
  static const char* const shapes[] = {"[2]", "[3]", "[4]"};
  for (int i = 0; i < GROUPS; ++i) {
    const leat_node_t* node = &toy.graph->nodes[2 * i + 1];
    assert_string_equal(TOY_SHAPE(&toy, leat_node_output(2 * i + 1, 0)), shapes[i % 3]);
    assert_ptr_equal(node->attrs, first->attrs);
    assert_int_equal(node->output_shapes == first->output_shapes, i % 3 == 0);
  }
  toy_close(&toy);
}

// A vector of two, of which each group has another, and what is filled so.
static void print_fill(leat_string_builder_t* text, int group) {
  leat_string_builder_print(text,
                            "node { name: 'dims%d' op: 'Const'"
                            "  attr { key: 'dtype' value { type: DT_INT32 } }"
                            "  attr { key: 'value' value { tensor { dtype: DT_INT32"
                            "    tensor_shape { dim { size: 2 } } int_val: %d int_val: 7 } } } }",
                            group, 1 + group);
  print_placeholder(text, group, "DT_FLOAT");
  leat_string_builder_print(text,
                            "node { name: 'fill%d' op: 'Fill' input: 'dims%d' input: 'x%d'"
                            "  attr { key: 'T' value { type: DT_FLOAT } } }",
                            group, group, group);
}

static void shapes_that_follow_from_values_are_each_node_s_own(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_ok(import_groups(&toy, print_fill));
  for (int i = 0; i < GROUPS; ++i) {
    char shape[16];
    snprintf(shape, sizeof(shape), "[%d,7]", 1 + i);
    assert_string_equal(TOY_SHAPE(&toy, leat_node_output(3 * i + 2, 0)), shape);
  }
  toy_close(&toy);
}

// The last reads another type than those that it is written like.
static void print_mistyped(leat_string_builder_t* text, int group) {
  if (group < GROUPS - 1) {
    print_identity(text, group);
    return;
  }
  print_placeholder(text, group, "DT_INT32");
  leat_string_builder_print(text,
                            "node { name: 'wrong' op: 'Identity' input: 'x%d'"
                            "  attr { key: 'T' value { type: DT_FLOAT } } }",
                            group);
}

static void types_are_held_against_every_node(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_fails(import_groups(&toy, print_mistyped), LEAT_INVALID_ARGUMENT,
            "passed int32 from");
  assert_int_equal(toy.graph->node_count, 0);
  toy_close(&toy);
}

// The same attributes belong to ops with names of one length, and stand around a "_class".
static void print_turns(leat_string_builder_t* text, int group) {
  print_placeholder(text, group, "DT_FLOAT");
  leat_string_builder_print(text,
                            "node { name: 'y%d' op: '%s' input: 'x%d' %s"
                            "  attr { key: 'T' value { type: DT_FLOAT } } }",
                            group, group % 2 ? "Twin" : "Type", group,
                            group % 4 < 2 ? ""
                                          : "attr { key: '_class' value { list {"
                                            "  s: 'loc:@x0' } } }");
}

static void ops_are_told_apart(void** state) {
  (void)state;
  static const leat_op_row_t rows[] = {
      {.name = "Twin", .inputs = "x: T", .outputs = "y: T", .attrs = "T: type"},
      {.name = "Type", .inputs = "x: T", .outputs = "y: T", .attrs = "T: type"},
      {.name = NULL},
  };
  toy_t toy;
  toy_open(&toy);
  toy_ok(leat_op_registry_add(toy.ops, rows));
  toy_ok(import_groups(&toy, print_turns));
  for (int i = 0; i < GROUPS; ++i) {
    const leat_node_t* node = &toy.graph->nodes[2 * i + 1];
    assert_string_equal(node->op->row->name, i % 2 ? "Twin" : "Type");
    assert_int_equal(leat_node_attr(node, LEAT_SV("_class")) != NULL, i % 4 >= 2);
    assert_int_equal(leat_node_attr_type(node, "T"), LEAT_DTYPE_FLOAT);
  }
  toy_close(&toy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_are_shared_where_the_inputs_have_the_same),
      cmocka_unit_test(shapes_that_follow_from_values_are_each_node_s_own),
      cmocka_unit_test(types_are_held_against_every_node),
      cmocka_unit_test(ops_are_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
