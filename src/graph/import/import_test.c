// GraphDefs in and out. GraphDefs are written as text; results are printed as
// "name=Op(inputs) ..." and compared as strings, so that a case reads as one line. What TensorFlow
// 2.21 does with the same GraphDef was recorded by hand for every case.
#include "graph/import/import.h"

#include "graph/function/graph_functions.h"
#include "graph/import/export.h"
#include "graph/op/op_def.h"
#include "toy_graph/graph_text.h"

#define V "versions { producer: 1000 } "
#define FLOAT "attr { key: 'T' value { type: DT_FLOAT } }"
#define X "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"
#define A "node { name: 'a' op: 'Add' input: 'x' input: 'x' " FLOAT "}"
#define CLASS(group) \
  "attr { key: '_class' value { list { s: 'loc:@" group "' s: 'other' } } }"

// Encoded bytes of a GraphDef in text.
static void encode(const char* text, leat_string_builder_t* out) {
  leat_string_builder_initialize(leat_allocator_system(), out);
  toy_append_graph(text, out);
}

static leat_status_t import_text(toy_t* toy, const char* text,
                                 const leat_import_options_t* options,
                                 leat_import_results_t* results) {
  leat_string_builder_t bytes;
  encode(text, &bytes);
  leat_status_t status =
      leat_graph_import(toy->graph, leat_string_builder_view(&bytes), options, results);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// The graph's nodes from |first| on in one line.
static void expect_nodes(toy_t* toy, size_t first, const char* expected) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  for (size_t i = first; i < toy->graph->node_count; ++i) {
    leat_pb_node_def_t def;
    toy_ok(leat_node_to_def(toy->graph, (int32_t)i, &arena, &def));
    leat_string_builder_print(&text, "%s%.*s=%.*s(", i > first ? " " : "", LEAT_SV_ARG(def.name),
                              LEAT_SV_ARG(def.op));
    for (size_t k = 0; k < def.input.count; ++k) {
      leat_string_builder_print(&text, "%s%.*s", k > 0 ? "," : "",
                                LEAT_SV_ARG(def.input.items[k]));
    }
    leat_string_builder_append_char(&text, ')');
  }
  assert_string_equal(text.data ? text.data : "", expected);
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&text);
}

static void expect_class(toy_t* toy, const char* node, const char* group) {
  int32_t index = leat_graph_find_node(toy->graph, leat_string_view_from(node));
  assert_true(index >= 0);
  const leat_attr_value_t* value = leat_node_attr(&toy->graph->nodes[index], LEAT_SV("_class"));
  assert_int_equal(value->count, 2);
  assert_true(leat_string_view_equals(value->strings[0], group));
  assert_true(leat_string_view_equals(value->strings[1], "other"));
}

static void malformed_graphs_are_refused(void** state) {
  (void)state;
  static const struct {
    const char* text;
    leat_status_code_t code;
    const char* part;
  } cases[] = {
      {V "node { name: 'x' op: 'Nope' }", LEAT_NOT_FOUND, "Op type not registered 'Nope'"},
      {V "node { name: 'x' }", LEAT_INVALID_ARGUMENT, "does not specify an operation"},
      {V X X, LEAT_INVALID_ARGUMENT, "'x'"},
      {V A X X, LEAT_INVALID_ARGUMENT, "Node 'x' is not unique"},
      {V X A X, LEAT_INVALID_ARGUMENT, "'x'"},
      {V "node { name: 'x y' op: 'NoOp' }", LEAT_INVALID_ARGUMENT, "invalid characters"},
      {V "node { name: '_x' op: 'NoOp' }", LEAT_INVALID_ARGUMENT, "invalid characters"},
      {V "node { name: 'x' op: 'Nope' } node { name: '_x' op: 'NoOp' }", LEAT_INVALID_ARGUMENT,
       "invalid characters"},
      {V "node { op: 'NoOp' }", LEAT_INVALID_ARGUMENT, "invalid characters"},
      {V A, LEAT_INVALID_ARGUMENT, "Node 'a': Unknown input node 'x'"},
      {V "node { name: 'a' op: 'NoOp' input: '' }", LEAT_INVALID_ARGUMENT, "input node ''"},
      {V "node { name: 'a' op: 'NoOp' input: '^' }", LEAT_INVALID_ARGUMENT, "input node '^'"},
      {V X "node { name: 'a' op: 'NoOp' input: '^x:0' }", LEAT_INVALID_ARGUMENT, "'^x:0'"},
      {V X "node { name: 'a' op: 'Identity' input: 'x:1' " FLOAT "}", LEAT_INVALID_ARGUMENT,
       "Node 'a': Connecting to invalid output 1 of source node x which has 1 outputs."},
      {V X "node { name: 'a' op: 'Identity' input: '^x' input: 'x' " FLOAT "}",
       LEAT_INVALID_ARGUMENT, "Control dependencies must come after regular dependencies"},
      {V X "node { name: 'a' op: 'Identity' input: 'x' }", LEAT_INVALID_ARGUMENT,
       "NodeDef missing attr 'T' from Op<name=Identity"},
      {V X "node { name: 'a' op: 'Identity' input: 'x'"
           "  attr { key: 'T' value { type: DT_INT32 } } }",
       LEAT_INVALID_ARGUMENT, "float"},
      {V X "node { name: 'a' op: 'Identity' input: 'x' input: 'x' " FLOAT "}",
       LEAT_INVALID_ARGUMENT, "do not match 2 inputs"},
      {V "node { name: 'a' op: 'NoOp' input: '^b' } node { name: 'b' op: 'NoOp' input: '^a' }",
       LEAT_INVALID_ARGUMENT, "2 nodes in a cycle"},
      {V "node { name: 'a' op: 'NoOp' input: '^a' }", LEAT_INVALID_ARGUMENT, "node 'a'"},
      {V X "node { name: 'm' op: 'Merge' input: 'x' input: 'i' " FLOAT
         "attr { key: 'N' value { i: 2 } } }"
         "node { name: 'i' op: 'Identity' input: 'm' " FLOAT "}",
       LEAT_INVALID_ARGUMENT, "2 nodes in a cycle"},
      {V X "node { name: 'm' op: 'Merge' input: 'x' input: 'n:7' " FLOAT
         "attr { key: 'N' value { i: 2 } } }"
         "node { name: 'n' op: 'NextIteration' input: 'm' " FLOAT "}",
       LEAT_INVALID_ARGUMENT, "Output 7 of node n does not exist"},
      {V "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { } } }",
       LEAT_INVALID_ARGUMENT, "AttrValue missing value with expected type 'type'"},
      {V "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }"
         "attr { key: 'bad' value { list { i: 1 f: 2 } } } }",
       LEAT_INVALID_ARGUMENT, "2 kinds of values"},
      {V X "node { name: 'a' op: 'NoOp' " CLASS("zz") "}", LEAT_INVALID_ARGUMENT,
       "Node 'a' expects to be colocated with unknown node 'zz'"},
      {V X "node { name: 'a' op: 'Identity' input: 'x' " FLOAT
         "attr { key: '_output_shapes' value { list { } } } }",
       LEAT_INVALID_ARGUMENT, "specifies shapes for 0 outputs"},
      {V "node { name: 'a' op: 'Old' }", LEAT_UNIMPLEMENTED, "removed in version 20"},
      {"versions { producer: -1 }", LEAT_INVALID_ARGUMENT, "below min producer 0"},
      {"versions { producer: 1 min_consumer: 99999 }", LEAT_INVALID_ARGUMENT,
       "min consumer version 99999 above current version"},
      {"versions { producer: 1 bad_consumers: 2474 }", LEAT_INVALID_ARGUMENT,
       "disallows consumer version"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    toy_t toy;
    toy_open(&toy);
    toy_ok(import_text(&toy, V "node { name: 'before' op: 'NoOp' }", NULL, NULL));
    toy_fails(import_text(&toy, cases[i].text, NULL, NULL), cases[i].code, cases[i].part);
    expect_nodes(&toy, 0, "before=NoOp()");
    assert_int_equal(toy.graph->producer_version, 1000);
    toy_ok(import_text(&toy, V X A, NULL, NULL));  // the graph goes on working
    toy_close(&toy);
  }
}

static void bytes_that_are_no_graph_are_refused(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  static const char* const bad[] = {"\x0a\xff", "hello", "\x0a\x05\x0a\x09x", "\x22\x01\xff"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(bad); ++i) {
    toy_fails(leat_graph_import(toy.graph, leat_string_view_from(bad[i]), NULL, NULL),
              LEAT_INVALID_ARGUMENT, "");
  }
  toy_ok(leat_graph_import(toy.graph, LEAT_SV(""), NULL, NULL));
  assert_int_equal(toy.graph->node_count, 0);
  assert_int_equal(toy.graph->producer_version, 0);  // as TensorFlow has it
  toy_close(&toy);
}

static void nodes_may_come_in_any_order(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_ok(import_text(&toy, V "node { name: 'b' op: 'NoOp' input: '^a' input: '^c' input: '^a' }" A
                             "node { name: 'c' op: 'NoOp' }" X,
                     NULL, NULL));
  expect_nodes(&toy, 0, "c=NoOp() x=Placeholder() a=Add(x,x) b=NoOp(^a,^c)");
  toy_close(&toy);
}

static void loops_close_into_a_merge(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_ok(import_text(&toy,
                     V X "node { name: 'm' op: 'Merge' input: 'x' input: 'n' " FLOAT
                         "attr { key: 'N' value { i: 2 } } }"
                         "node { name: 'n' op: 'NextIteration' input: 'a' " FLOAT "}"
                         "node { name: 'a' op: 'Add' input: 'm' input: 'x' " FLOAT "}",
                     NULL, NULL));
  expect_nodes(&toy, 0,
               "x=Placeholder() m=Merge(x,n) a=Add(m,x) n=NextIteration(a)");
  int32_t order[4];
  toy_ok(leat_graph_sort(toy.graph, order));
  toy_close(&toy);
}

static void names_are_made_unique(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  const char* graph = V X A "node { name: 'b' op: 'NoOp' " CLASS("x") "}";
  toy_ok(import_text(&toy, graph, NULL, NULL));
  toy_fails(import_text(&toy, V X, NULL, NULL), LEAT_INVALID_ARGUMENT,
            "Node name 'x' already exists in the Graph");
  leat_import_options_t unique = {.uniquify_names = true};
  toy_ok(import_text(&toy, graph, &unique, NULL));
  toy_ok(import_text(&toy, graph, &unique, NULL));
  expect_nodes(&toy, 3,
               "x_1=Placeholder() a_1=Add(x_1,x_1) b_1=NoOp() "
               "x_2=Placeholder() a_2=Add(x_2,x_2) b_2=NoOp()");
  expect_class(&toy, "b", "loc:@x");
  expect_class(&toy, "b_2", "loc:@x_2");
  // A part of a name is taken too, and names of the file are avoided.
  toy_ok(import_text(&toy, V "node { name: 'p/q' op: 'NoOp' }", NULL, NULL));
  size_t count = toy.graph->node_count;
  toy_fails(import_text(&toy, V "node { name: 'p' op: 'NoOp' }", NULL, NULL),
            LEAT_INVALID_ARGUMENT, "already exists");
  toy_ok(import_text(&toy, V "node { name: 'p' op: 'NoOp' } node { name: 'p_1' op: 'NoOp' }",
                     &unique, NULL));
  expect_nodes(&toy, count, "p_2=NoOp() p_1=NoOp()");
  toy_close(&toy);
}

static void prefixes(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  const char* graph = V X A "node { name: 'b' op: 'NoOp' " CLASS("x") "}";
  leat_import_options_t options = {.prefix = LEAT_SV("p")};
  toy_ok(import_text(&toy, graph, &options, NULL));
  expect_class(&toy, "p/b", "loc:@p/x");
  options.uniquify_prefix = true;
  toy_ok(import_text(&toy, graph, &options, NULL));
  expect_class(&toy, "p_1/b", "loc:@p_1/x");
  options = (leat_import_options_t){.prefix = LEAT_SV("p/"), .uniquify_names = true};
  toy_ok(import_text(&toy, graph, &options, NULL));
  expect_class(&toy, "p/b_1", "loc:@p/x_1");
  expect_nodes(&toy, 0,
               "p/x=Placeholder() p/a=Add(p/x,p/x) p/b=NoOp() "
               "p_1/x=Placeholder() p_1/a=Add(p_1/x,p_1/x) p_1/b=NoOp() "
               "p/x_1=Placeholder() p/a_1=Add(p/x_1,p/x_1) p/b_1=NoOp()");
  static const char* const bad[] = {"p q", "/", "_p"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(bad); ++i) {
    options = (leat_import_options_t){.prefix = leat_string_view_from(bad[i])};
    toy_fails(import_text(&toy, V X, &options, NULL), LEAT_INVALID_ARGUMENT,
              "would lead to invalid node names");
  }
  toy_close(&toy);
}

static void inputs_are_mapped(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_output_t y = toy_placeholder(&toy, "y", LEAT_DTYPE_FLOAT, 0, NULL);
  const leat_output_t control = {y.node, LEAT_CONTROL_INDEX};
  const leat_import_mapping_t map[] = {
      {{LEAT_SV("x"), 0}, y},  {{LEAT_SV("zz"), 0}, y}, {{LEAT_SV("a"), 3}, y},
      {{LEAT_SV("a"), 0}, y},  {{LEAT_SV("c"), LEAT_CONTROL_INDEX}, control},
  };
  const leat_tensor_name_t outputs[] = {{LEAT_SV("x"), 0}, {LEAT_SV("b"), 0}};
  const leat_string_view_t nodes[] = {LEAT_SV("b")};
  leat_import_options_t options = {.input_map = map,
                                   .input_map_count = 5,
                                   .return_outputs = outputs,
                                   .return_output_count = 2,
                                   .return_nodes = nodes,
                                   .return_node_count = 1};
  leat_import_results_t results;
  toy_ok(import_text(&toy,
                     V X "node { name: 'b' op: 'Add' input: 'x' input: 'x' input: '^c' " FLOAT "}"
                         "node { name: 'a' op: 'Identity' input: 'b' " FLOAT "}"
                         "node { name: 'c' op: 'NoOp' }",
                     &options, &results));
  expect_nodes(&toy, 1, "x=Placeholder() b=Add(y,y,^y) a=Identity(b) c=NoOp()");
  assert_int_equal(results.first_node, 1);
  assert_int_equal(results.node_count, 4);
  assert_true(leat_output_equal(results.return_outputs[0], y));
  assert_int_equal(results.return_outputs[1].node, 2);
  assert_int_equal(results.return_nodes[0], 2);
  assert_int_equal(results.unused_mapping_count, 2);
  assert_int_equal(results.unused_mappings[0], 2);  // a:3 comes before zz:0
  assert_int_equal(results.unused_mappings[1], 1);
  leat_import_results_deinitialize(&results);
  options = (leat_import_options_t){.return_outputs = &(leat_tensor_name_t){LEAT_SV("d"), 1},
                                    .return_output_count = 1};
  toy_fails(import_text(&toy, V "node { name: 'd' op: 'NoOp' }", &options, &results),
            LEAT_INVALID_ARGUMENT, "Invalid return output 1 of node 'd', which has 0 output(s)");
  assert_int_equal(toy.graph->node_count, 5);
  const leat_import_mapping_t mixed = {{LEAT_SV("x"), 0}, control};
  options = (leat_import_options_t){.input_map = &mixed, .input_map_count = 1};
  toy_fails(import_text(&toy, V, &options, NULL), LEAT_INVALID_ARGUMENT,
            "between control edge and non-control edge");
  toy_close(&toy);
}

static void control_dependencies_reach_the_first_nodes(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_output_t y = toy_placeholder(&toy, "y", LEAT_DTYPE_FLOAT, 0, NULL);
  const leat_import_mapping_t map[] = {{{LEAT_SV("x"), 0}, y}};
  const int32_t controls[] = {y.node};
  leat_import_options_t options = {.input_map = map,
                                   .input_map_count = 1,
                                   .control_dependencies = controls,
                                   .control_dependency_count = 1,
                                   .default_device = LEAT_SV("/device:CPU:0")};
  toy_ok(import_text(&toy, V X A "node { name: 'b' op: 'NoOp' input: '^a' device: '/cpu:1' }",
                     &options, NULL));
  expect_nodes(&toy, 1, "x=Placeholder(^y) a=Add(y,y,^y) b=NoOp(^a)");
  assert_true(leat_string_view_equals(toy.graph->nodes[1].device, "/device:CPU:0"));
  assert_true(leat_string_view_equals(toy.graph->nodes[3].device, "/cpu:1"));
  toy_close(&toy);
}

static void versions_are_merged(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_ok(import_text(&toy, "versions { producer: 40 min_consumer: 3 bad_consumers: [9, 4, 9] }",
                     NULL, NULL));
  toy_ok(import_text(&toy, "versions { producer: 30 min_consumer: 1 bad_consumers: 5 }", NULL,
                     NULL));
  assert_int_equal(toy.graph->producer_version, 30);
  assert_int_equal(toy.graph->min_consumer_version, 3);
  assert_int_equal(toy.graph->bad_consumer_count, 3);
  const int32_t expected[] = {4, 5, 9};
  assert_memory_equal(toy.graph->bad_consumers, expected, sizeof(expected));
  // An op that is gone by now may come from an old file.
  toy_ok(import_text(&toy, "versions { producer: 10 } node { name: 'o' op: 'Old' }", NULL, NULL));
  toy_close(&toy);
}

#define F1 "function { signature { name: 'F1' } node_def { name: 'n' op: 'NoOp' } }"
#define F1_OTHER "function { signature { name: 'F1' } node_def { name: 'm' op: 'NoOp' } }"

static void functions_are_kept(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_ok(import_text(&toy,
                     V "library { " F1 " gradient { function_name: 'F1' gradient_func: 'G' } }",
                     NULL, NULL));
  toy_ok(import_text(&toy, V "library { " F1 "}", NULL, NULL));
  assert_int_equal(leat_function_library_count(toy.graph->functions), 1);
  toy_fails(import_text(&toy, V "library { function { signature { name: 'F2' } }" F1_OTHER "}",
                        NULL, NULL),
            LEAT_INVALID_ARGUMENT, "a different function with the same name");
  assert_int_equal(leat_function_library_count(toy.graph->functions), 1);
  toy_fails(import_text(&toy, V "library { function { signature { name: 'Add' } } }", NULL, NULL),
            LEAT_INVALID_ARGUMENT, "an op with the same name");
  const leat_pb_function_def_t* function =
      leat_function_library_find(toy.graph->functions, LEAT_SV("F1"));
  assert_non_null(function);
  assert_true(leat_string_view_equals(function->node_def.items[0].name, "n"));
  assert_true(leat_string_view_equals(
      leat_function_library_gradient_of(toy.graph->functions, LEAT_SV("F1")), "G"));
  // A child reads its parent's until it has one of its own.
  leat_graph_t* child = NULL;
  toy_ok(leat_graph_create_child(toy.graph, &child));
  assert_ptr_equal(child->functions, toy.graph->functions);
  leat_function_library_t* own = NULL;
  toy_ok(leat_graph_own_functions(child, &own));
  assert_ptr_not_equal(own, toy.graph->functions);
  assert_int_equal(leat_function_library_count(own), 1);
  leat_graph_free(child);
  toy_close(&toy);
}

static void what_goes_out_comes_in_again(void** state) {
  (void)state;
  toy_t toy, other;
  toy_open(&toy);
  toy_open(&other);
  toy_ok(import_text(&toy,
                     "versions { producer: 40 min_consumer: 3 bad_consumers: 9 }"
                     "library { " F1 "}" X
                     "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
                     "  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {"
                     "    dim { size: 3 } } int_val: 7 int_val: 8 } } } }"
                     "node { name: 's' op: 'Shape' input: 'x' device: '/cpu:0' " FLOAT
                     "  attr { key: '_l' value { list { i: [1, 2] } } }"
                     "  attr { key: '_f' value { func { name: 'F1'"
                     "    attr { key: 'k' value { b: true } } } } }"
                     "  attr { key: '_s' value { shape { dim { size: -1 } dim { size: 2 } } } }"
                     "  attr { key: '_e' value { list { } } }"
                     "  attr { key: '_r' value { f: 1.5 } } }",
                     NULL, NULL));
  assert_string_equal(TOY_SHAPE(&toy, leat_node_output(1, 0)), "[3]");
  leat_string_builder_t first, second;
  leat_string_builder_initialize(leat_allocator_system(), &first);
  leat_string_builder_initialize(leat_allocator_system(), &second);
  toy_ok(leat_graph_export(toy.graph, &first));
  toy_ok(leat_graph_import(other.graph, leat_string_builder_view(&first), NULL, NULL));
  toy_ok(leat_graph_export(other.graph, &second));
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.data, second.data, first.size);
  // The default of out_type is written.
  assert_int_equal(leat_node_attr_type(&other.graph->nodes[2], "out_type"), LEAT_DTYPE_INT32);
  leat_string_builder_deinitialize(&first);
  leat_string_builder_deinitialize(&second);
  toy_close(&other);
  toy_close(&toy);
}

static void output_shapes_refine(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  toy_ok(import_text(&toy,
                     V "node { name: 'x' op: 'Placeholder'"
                       "  attr { key: 'dtype' value { type: DT_FLOAT } }"
                       "  attr { key: '_output_shapes'"
                       "    value { list { shape { dim { size: 3 } } } } } }",
                     NULL, NULL));
  assert_string_equal(TOY_SHAPE(&toy, leat_node_output(0, 0)), "[3]");
  assert_null(leat_node_attr(&toy.graph->nodes[0], LEAT_SV("_output_shapes")));
  toy_close(&toy);
}

// A graph large enough for nodes to be taken for alike: |count| times two Placeholders and the Add
// of each, with the same shape claimed everywhere.
static void append_alike(leat_string_builder_t* text, int count, const char* claim) {
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < 2; ++k) {
      leat_string_builder_print(text,
                                "node { name: 'x%d_%d' op: 'Placeholder'"
                                "  attr { key: 'dtype' value { type: DT_FLOAT } }"
                                "  attr { key: 'shape' value { shape { dim { size: %d } } } } }",
                                i, k, 2 + i % 3);
    }
    leat_string_builder_print(text,
                              "node { name: 'sum%d' op: 'Add' input: 'x%d_0' input: 'x%d_1' " FLOAT
                              "%s }", i, i, i, claim);
  }
}

static void nodes_that_are_written_alike_keep_their_own_shapes(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_print(&text, V);
  append_alike(&text, 40, "attr { key: '_output_shapes' value { list {"
                          " shape { dim { size: -1 } } } } }");
  toy_ok(import_text(&toy, text.data, NULL, NULL));
  assert_int_equal(toy.graph->node_count, 120);
  static const char* const shapes[] = {"[2]", "[3]", "[4]"};
  for (int i = 0; i < 120; ++i) {
    assert_string_equal(TOY_SHAPE(&toy, leat_node_output(i, 0)), shapes[i / 3 % 3]);
  }
  // What they have in common is there once.
  assert_ptr_equal(toy.graph->nodes[0].attrs, toy.graph->nodes[9].attrs);
  assert_ptr_equal(toy.graph->nodes[2].attrs, toy.graph->nodes[119].attrs);
  leat_string_builder_deinitialize(&text);
  toy_close(&toy);
}

// Nodes that differ in their colocation only: "_class" stands before other attributes, between
// them and behind, and names nodes that come later too.
static void nodes_that_are_written_alike_keep_their_own_class(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_print(&text, V);
  for (int i = 0; i < 40; ++i) {
    leat_string_builder_print(&text,
                              "node { name: 'n%d' op: 'Placeholder' %s"
                              "  attr { key: '_class' value { list { s: 'loc:@n%d' s: 'other' } } }"
                              "  attr { key: 'dtype' value { type: DT_FLOAT } } }",
                              i, i % 2 ? "attr { key: '_a' value { i: 1 } }" : "",
                              i % 4 < 2 ? 39 : i);
  }
  toy_ok(import_text(&toy, text.data, NULL, NULL));
  for (int i = 0; i < 40; ++i) {
    char node[8], group[16];
    snprintf(node, sizeof(node), "n%d", i);
    snprintf(group, sizeof(group), "loc:@n%d", i % 4 < 2 ? 39 : i);
    expect_class(&toy, node, group);
    assert_int_equal(leat_node_attr_int(&toy.graph->nodes[i], "_a", 0), i % 2);
    assert_int_equal(leat_node_attr_type(&toy.graph->nodes[i], "dtype"), LEAT_DTYPE_FLOAT);
  }
  assert_ptr_equal(toy.graph->nodes[0].attrs, toy.graph->nodes[4].attrs);
  leat_string_builder_print(&text, "node { name: 'last' op: 'NoOp' " CLASS("nobody") " }");
  toy_fails(import_text(&toy, text.data, &(leat_import_options_t){.prefix = LEAT_SV("p")}, NULL),
            LEAT_INVALID_ARGUMENT, "unknown node 'nobody'");
  assert_int_equal(toy.graph->node_count, 40);
  leat_string_builder_deinitialize(&text);
  toy_close(&toy);
}

// One of many nodes alike claims a shape that contradicts its inputs.
static void a_claim_is_held_against_every_node(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_print(&text, V);
  append_alike(&text, 40, "attr { key: '_output_shapes' value { list {"
                          " shape { dim { size: 2 } } } } }");
  toy_fails(import_text(&toy, text.data, NULL, NULL), LEAT_INVALID_ARGUMENT, "'sum1'");
  assert_int_equal(toy.graph->node_count, 0);
  leat_string_builder_deinitialize(&text);
  toy_close(&toy);
}

// Of a node that is refused, that its bytes are malformed is said first: here a type that is cut
// off, in a node of an unknown op.
static void malformed_values_are_said_first(void** state) {
  (void)state;
  static const char node[] = "\x0a\x17\x0a\x01" "a" "\x12\x04" "None" "\x2a\x0c\x0a\x05" "dtype"
                             "\x12\x03\x30\x80\x80";
  toy_t toy;
  toy_open(&toy);
  toy_fails(leat_graph_import(toy.graph, leat_string_view_make(node, sizeof(node) - 1), NULL, NULL),
            LEAT_INVALID_ARGUMENT, "malformed");
  toy_close(&toy);
}

static void op_defs_keep_their_order(void** state) {
  (void)state;
  static const leat_op_row_t rows[] = {
      {.name = "B",
       .inputs = "x: N * T; r: Ref(float); l: L",
       .outputs = "y: T",
       .attrs = "N: int; T: {int32, float} = DT_INT32; L: list(type) >= 0; s: {'b', 'a'} = 'a'",
       .flags = LEAT_OP_STATEFUL | LEAT_OP_COMMUTATIVE,
       .deprecated_since = 9,
       .deprecation = "why"},
      {.name = "A"},
      {.name = 0}};
  leat_op_registry_t* registry = NULL;
  toy_ok(leat_op_registry_create(leat_allocator_system(), &registry));
  toy_ok(leat_op_registry_add(registry, rows));
  leat_string_builder_t bytes, expected;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_builder_initialize(leat_allocator_system(), &expected);
  toy_ok(leat_op_registry_export(registry, leat_allocator_system(), &bytes));
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_pb_op_list_t message;
  toy_ok(leat_text_parse(
      &leat_pb_op_list_descriptor,
      LEAT_SV("op { name: 'A' } op { name: 'B'"
              "  input_arg { name: 'x' type_attr: 'T' number_attr: 'N' }"
              "  input_arg { name: 'r' type: DT_FLOAT is_ref: true }"
              "  input_arg { name: 'l' type_list_attr: 'L' }"
              "  output_arg { name: 'y' type_attr: 'T' }"
              "  attr { name: 'N' type: 'int' has_minimum: true minimum: 1 }"
              "  attr { name: 'T' type: 'type' default_value { type: DT_INT32 }"
              "    allowed_values { list { type: DT_INT32 type: DT_FLOAT } } }"
              "  attr { name: 'L' type: 'list(type)' has_minimum: true }"
              "  attr { name: 's' type: 'string' default_value { s: 'a' }"
              "    allowed_values { list { s: 'b' s: 'a' } } }"
              "  is_stateful: true is_commutative: true"
              "  deprecation { version: 9 explanation: 'why' } }"),
      &arena, &message));
  toy_ok(leat_message_encode(&leat_pb_op_list_descriptor, &message, &expected));
  assert_int_equal(bytes.size, expected.size);
  assert_memory_equal(bytes.data, expected.data, bytes.size);
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&bytes);
  leat_string_builder_deinitialize(&expected);
  leat_op_registry_free(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(malformed_graphs_are_refused),
      cmocka_unit_test(bytes_that_are_no_graph_are_refused),
      cmocka_unit_test(nodes_may_come_in_any_order),
      cmocka_unit_test(loops_close_into_a_merge),
      cmocka_unit_test(names_are_made_unique),
      cmocka_unit_test(prefixes),
      cmocka_unit_test(inputs_are_mapped),
      cmocka_unit_test(control_dependencies_reach_the_first_nodes),
      cmocka_unit_test(versions_are_merged),
      cmocka_unit_test(functions_are_kept),
      cmocka_unit_test(what_goes_out_comes_in_again),
      cmocka_unit_test(output_shapes_refine),
      cmocka_unit_test(nodes_that_are_written_alike_keep_their_own_shapes),
      cmocka_unit_test(nodes_that_are_written_alike_keep_their_own_class),
      cmocka_unit_test(a_claim_is_held_against_every_node),
      cmocka_unit_test(malformed_values_are_said_first),
      cmocka_unit_test(op_defs_keep_their_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
