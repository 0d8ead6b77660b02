// Large files: which ones are opened, and that an import which reads them last comes to what one
// that reads them first would. A file that is opened is imported with versions that were guessed
// from its last bytes, and functions and versions are read after the nodes. So each test imports
// the same bytes in both ways and compares graphs or errors. The files consist of a head, thousands
// of nodes and a tail, since only files above a size are opened. Small GraphDefs are tested in
// import_test.c.
#include "graph/import/graph_file.h"

#include "graph/import/import.h"
#include "toy_graph/graph_text.h"

#define V "versions { producer: 1000 } "
#define X "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
#define FLOAT "attr { key: 'T' value { type: DT_FLOAT } } "
#define NODE(name, op) "node { name: '" name "' op: '" op "' } "
#define F1 "library { function { signature { name: 'F1' } node_def { name: 'n' op: 'NoOp' } } } "
#define MANY 2000

// Many nodes of some 80 bytes, called <scope>/...
static void append_many(leat_string_builder_t* bytes, const char* scope) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (int i = 0; i < MANY; ++i) {
    leat_string_builder_print(&text,
                              "node { name: '%s/a_part_with_a_long_name/and_another_one/%d' "
                              "op: 'Add' input: 'x' input: 'x' " FLOAT "} ",
                              scope, i);
  }
  toy_append_graph(text.data, bytes);
  leat_string_builder_deinitialize(&text);
}

// Messages that stand in a row are one: |head|, many nodes, |tail|.
static void make_file(const char* head, const char* tail, leat_string_builder_t* out_bytes) {
  leat_string_builder_initialize(leat_allocator_system(), out_bytes);
  toy_append_graph(head, out_bytes);
  append_many(out_bytes, "first");
  toy_append_graph(tail, out_bytes);
  assert_true(out_bytes->size >= LEAT_GRAPH_FILE_LARGE_BYTES);
}

static void files_with_versions_at_their_end_are_opened(void** state) {
  (void)state;
  static const struct {
    const char *head, *tail;
    bool opens;
  } cases[] = {
      {X, V, true},
      {X, F1 V, true},
      {V X, "", false},  // nothing at the end
      {F1 X, V, false},  // no nodes at the beginning
      {X NODE("b", "NoOp"), "versions { producer: 1000 bad_consumers: [1, 2, 3] }", true},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    leat_string_builder_t bytes;
    leat_graph_file_t file;
    make_file(cases[i].head, cases[i].tail, &bytes);
    leat_graph_file_initialize(leat_allocator_system(), leat_string_builder_view(&bytes), &file);
    assert_int_equal(leat_graph_file_open(&file), cases[i].opens);
    if (cases[i].opens) {
      assert_in_range(file.node_count, MANY, MANY + MANY / 8);
      toy_ok(leat_graph_file_read(&file));
      assert_true(leat_string_view_equal(leat_graph_file_versions(&file), file.last_versions));
    }
    leat_graph_file_deinitialize(&file);
    leat_graph_file_initialize(leat_allocator_system(), LEAT_SV("\x22\0"), &file);
    assert_false(leat_graph_file_open(&file));  // a small one
    leat_graph_file_deinitialize(&file);
    leat_string_builder_deinitialize(&bytes);
  }
}

static void opened_files_are_imported_as_others_are(void** state) {
  (void)state;
  static const struct {
    const char *head, *tail;
    int nodes;  // beside the many
  } cases[] = {
      {X, V, 1},
      {X, NODE("c", "F1") F1 V, 2},
      {X, NODE("c", "NoOp") F1 NODE("d", "NoOp") V, 3},  // nodes behind what is none
      {X, "node { name: 'b' op: 'NoOp' input: '^c' } " NODE("c", "NoOp") V, 3},
      {X, F1 "node { name: 'b' op: 'F1' input: '^c' } " NODE("c", "F1") V, 3},
      {X, NODE("o", "Old") "versions { producer: 10 }", 2},
      {V X, "versions { min_consumer: 3 }", 1},  // both count
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    toy_t toy;
    toy_open(&toy);
    leat_string_builder_t bytes;
    make_file(cases[i].head, cases[i].tail, &bytes);
    toy_ok(leat_graph_import(toy.graph, leat_string_builder_view(&bytes), NULL, NULL));
    assert_int_equal(toy.graph->node_count, MANY + cases[i].nodes);
    assert_int_equal(toy.graph->producer_version, i == 5 ? 10 : 1000);
    assert_int_equal(toy.graph->min_consumer_version, i == 6 ? 3 : 0);
    leat_string_builder_deinitialize(&bytes);
    toy_close(&toy);
  }
}

// The first nodes are large, so that there seem to be few; and no two of the others are alike.
static void files_may_have_more_nodes_than_they_seem_to(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_string_builder_t text, bytes;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  for (int i = 0; i < 64; ++i) {
    leat_string_builder_print(&text, "node { name: '%02000d' op: 'NoOp' } ", i);
  }
  for (int i = 0; i < MANY; ++i) {
    leat_string_builder_print(&text,
                              "node { name: 'n%d' op: 'NoOp' attr { key: 'i' value { i: %d } "
                              "} } ",
                              i, i);
  }
  toy_append_graph(text.data, &bytes);
  toy_append_graph(V, &bytes);
  leat_graph_file_t file;
  leat_graph_file_initialize(leat_allocator_system(), leat_string_builder_view(&bytes), &file);
  assert_true(leat_graph_file_open(&file));
  assert_in_range(file.node_count, 64, 200);
  leat_graph_file_deinitialize(&file);
  toy_ok(leat_graph_import(toy.graph, leat_string_builder_view(&bytes), NULL, NULL));
  assert_int_equal(toy.graph->node_count, 64 + MANY);
  assert_int_equal(leat_graph_find_node(toy.graph, LEAT_SV("n1234")), 64 + 1234);
  leat_string_builder_deinitialize(&text);
  leat_string_builder_deinitialize(&bytes);
  toy_close(&toy);
}

static void what_is_wrong_with_a_large_file_is_said_as_of_others(void** state) {
  (void)state;
  static const struct {
    const char *head, *tail, *garbage;
    leat_status_code_t code;
    const char* part;
  } cases[] = {
      {X NODE("b", "Nope"), V, "", LEAT_NOT_FOUND, "Op type not registered 'Nope'"},
      {X NODE("b", "Nope"), V, "\x0a\x7f\x22\x01\x01", LEAT_INVALID_ARGUMENT, "Invalid GraphDef"},
      {X, NODE("o", "Old") V, "", LEAT_UNIMPLEMENTED, "removed in version 20"},
      {"versions { min_consumer: 99999 } " X, V, "", LEAT_INVALID_ARGUMENT, "above current"},
      {X NODE("b", "Nope"), NODE("-", "NoOp") V, "", LEAT_INVALID_ARGUMENT,
       "Node name contains invalid characters"},
      {X, NODE("x", "NoOp") V, "", LEAT_INVALID_ARGUMENT, "'x'"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    toy_t toy;
    toy_open(&toy);
    leat_string_builder_t bytes;
    make_file(cases[i].head, cases[i].tail, &bytes);
    leat_string_builder_append(&bytes, leat_string_view_from(cases[i].garbage));
    toy_fails(leat_graph_import(toy.graph, leat_string_builder_view(&bytes), NULL, NULL),
              cases[i].code, cases[i].part);
    assert_int_equal(toy.graph->node_count, 0);
    assert_int_equal(toy.graph->names.count, 0);
    assert_int_equal(toy.graph->producer_version, LEAT_GRAPH_DEF_VERSION);
    leat_string_builder_deinitialize(&bytes);
    toy_close(&toy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_with_versions_at_their_end_are_opened),
      cmocka_unit_test(opened_files_are_imported_as_others_are),
      cmocka_unit_test(files_may_have_more_nodes_than_they_seem_to),
      cmocka_unit_test(what_is_wrong_with_a_large_file_is_said_as_of_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
