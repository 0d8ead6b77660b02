// The lines of a program that added nodes: told of a graph, found in it and in a graph that was
// made from it, also while the first one grows on another thread (which TSan watches).
#include "graph/source_line.h"

#include "base/test.h"
#include "base/thread.h"
#include "toy_graph/toy_ops.h"

#define GROWN 2000

static void expect_line(const leat_graph_t* graph, const char* name, const char* file,
                        uint32_t line) {
  leat_string_view_t found_file;
  uint32_t found_line;
  assert_true(
      leat_graph_find_source_line(graph, leat_string_view_from(name), &found_file, &found_line));
  assert_true(leat_string_view_equals(found_file, file));
  assert_int_equal(found_line, line);
}

static bool has_line(const leat_graph_t* graph, const char* name) {
  leat_string_view_t file;
  uint32_t line;
  return leat_graph_find_source_line(graph, leat_string_view_from(name), &file, &line);
}

static void lines_are_found_by_names(void** state) {
  toy_t toy;
  leat_graph_t* child;
  toy_open(&toy);
  leat_output_t x = toy_placeholder(&toy, "x", LEAT_DTYPE_FLOAT, 0, NULL);
  leat_output_t y = toy_placeholder(&toy, "layer/y", LEAT_DTYPE_FLOAT, 0, NULL);
  toy_placeholder(&toy, "z", LEAT_DTYPE_FLOAT, 0, NULL);
  assert_false(has_line(toy.graph, "x"));
  char file[] = "a.py";
  LEAT_EXPECT_OK(
      leat_graph_set_source_line(toy.graph, x.node, leat_string_view_from(file), 3));
  file[0] = 'b';
  LEAT_EXPECT_OK(
      leat_graph_set_source_line(toy.graph, y.node, leat_string_view_from(file), 4));
  LEAT_EXPECT_OK(leat_graph_create_child(toy.graph, &child));
  const leat_graph_t* graphs[] = {toy.graph, child};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(graphs); ++i) {
    expect_line(graphs[i], "x", "a.py", 3);
    expect_line(graphs[i], "layer/y", "b.py", 4);
    // What the optimizer puts in the place of a node.
    expect_line(graphs[i], "layer/y/_fused", "b.py", 4);
    expect_line(graphs[i], "layer/y/_fused/_scaled", "b.py", 4);
    static const char* const kUnknown[] = {"z", "layer", "layer/y/a", "x/", "x_fused", "/_x", ""};
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(kUnknown); ++k) {
      assert_false(has_line(graphs[i], kUnknown[k]));
    }
  }
  LEAT_EXPECT_OK(leat_graph_set_source_line(toy.graph, x.node, LEAT_SV("c.py"), 5));
  expect_line(child, "x", "c.py", 5);
  leat_graph_free(child);
  toy_close(&toy);
}

static void look(void* data) {
  const leat_graph_t* child = data;
  char name[20];
  for (int i = 0; i < GROWN; ++i) {
    snprintf(name, sizeof name, "n%d", i);
    if (has_line(child, name)) expect_line(child, name, "grown.py", (uint32_t)i);
  }
}

static void a_graph_may_grow_meanwhile(void** state) {
  toy_t toy;
  leat_graph_t* child;
  leat_thread_t thread;
  toy_open(&toy);
  LEAT_EXPECT_OK(leat_graph_create_child(toy.graph, &child));
  LEAT_EXPECT_OK(leat_thread_start("look", look, child, &thread));
  for (int i = 0; i < GROWN; ++i) {
    char name[20];
    snprintf(name, sizeof name, "n%d", i);
    leat_output_t x = toy_placeholder(&toy, name, LEAT_DTYPE_FLOAT, 0, NULL);
    LEAT_EXPECT_OK(
        leat_graph_set_source_line(toy.graph, x.node, LEAT_SV("grown.py"), (uint32_t)i));
  }
  leat_thread_join(thread);
  expect_line(child, "n1999", "grown.py", 1999);
  leat_graph_free(child);
  toy_close(&toy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_found_by_names),
      cmocka_unit_test(a_graph_may_grow_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
