// Memory that gives out: every allocation of a build, an import and an export fails in turn. Each
// time the status says so, and what was there before is still whole.
#include "base/observer.h"
#include "graph/import/export.h"
#include "graph/import/import.h"
#include "toy_graph/toy_ops.h"

typedef struct failing_s {
  int64_t left;  // allocations before the one that fails
} failing_t;

static leat_status_t on_allocation(void* data, size_t size_bytes) {
  failing_t* failing = data;
  if (failing->left-- != 0) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "no memory for %zu bytes", size_bytes);
}

// A graph, its bytes, and an import of them beside itself.
static leat_status_t build_and_copy(leat_graph_t* graph, leat_string_builder_t* bytes) {
  leat_builder_t b = {.graph = graph, .scope = LEAT_SV("s/"), .colocate_with = LEAT_SV("x")};
  int64_t dims[] = {2, -1};
  leat_partial_shape_t shape = {2, dims};
  leat_output_t x = leat_build(&b, "Placeholder", LEAT_NO_INPUTS,
                               LEAT_ATTRS(LEAT_TYPE("dtype", 1), LEAT_SHAPE("shape", shape)));
  leat_output_t filled =
      leat_build_binary(&b, "Fill", leat_build_shape_of(&b, x), leat_build_scalar(&b, 1, 2));
  for (int i = 0; i < 40; ++i) filled = leat_build_binary(&b, "Add", x, filled);
  LEAT_RETURN_IF_ERROR(b.status);
  LEAT_RETURN_IF_ERROR(leat_graph_export(graph, bytes));
  leat_import_options_t options = {
      .prefix = LEAT_SV("copy"), .uniquify_names = true, .ignore_colocation = true};
  leat_import_results_t results;
  LEAT_RETURN_IF_ERROR(
      leat_graph_import(graph, leat_string_builder_view(bytes), &options, &results));
  leat_import_results_deinitialize(&results);
  int32_t order[256];
  return graph->node_count <= 256 ? leat_graph_sort(graph, order) : leat_ok_status();
}

static void every_allocation_may_fail(void** state) {
  (void)state;
  leat_status_t status = leat_ok_status();
  int64_t n = 0;
  do {
    leat_status_free(status);
    toy_t toy;
    toy_open(&toy);
    toy_add(&toy, "NoOp", "before", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
    leat_string_builder_t bytes;
    leat_string_builder_initialize(leat_allocator_system(), &bytes);
    failing_t failing = {.left = n++};
    leat_observer_t observer = {.data = &failing, .on_allocation = on_allocation};
    leat_observer_install(&observer);
    status = build_and_copy(toy.graph, &bytes);
    leat_observer_install(NULL);
    assert_int_equal(leat_graph_find_node(toy.graph, LEAT_SV("before")), 0);
    assert_int_equal(toy.graph->node_count, toy.graph->names.count);
    toy_add(&toy, "NoOp", "after", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
    leat_string_builder_deinitialize(&bytes);
    toy_close(&toy);
  } while (leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED);
  toy_ok(status);
  assert_true(n > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
