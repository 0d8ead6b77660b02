// What a RunMetadata has room for, and what it costs to fail. That the stages are true is tested
// through the C API (tests/capi/graph_stages_test.c). Here a step's graphs are described with as
// many bytes as they take and with one less, and with each allocation failing in turn, in a session
// that compiles once more for it and in one that has kept its plan.
#include "session/graph_stages.h"

#include "base/fault.h"
#include "base/log.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"
#include "session/scene.h"

static int warnings;

static void count_line(leat_log_level_t level, const char* line) {
  warnings += level == LEAT_LOG_WARNING && strstr(line, "no graph_stages") != NULL;
}

typedef struct described_s {
  scene_t scene;
  leat_output_t fetch;
  leat_run_t run;
} described_t;

// A step that folds two constants into one; a session that measures keeps its plan.
static void open_step(int build_cost_model, described_t* out) {
  *out = (described_t){0};
  scene_open(&out->scene);
  out->scene.options.optimize = true;
  out->scene.options.optimizer.passes = leat_passes_of_option(NULL);
  out->scene.options.build_cost_model = build_cost_model;
  out->fetch = scene_binary(&out->scene, "AddV2", -1, scene_float(&out->scene, 2),
                            scene_float(&out->scene, 3));
  assert_true(scene_get(&out->scene, out->fetch) == 5);
  out->run = (leat_run_t){.fetches = &out->fetch, .fetch_count = 1};
}

static leat_status_t describe(described_t* d, size_t most_bytes, leat_string_builder_t* out) {
  leat_string_builder_initialize(leat_allocator_system(), out);
  return leat_session_describe_graphs(d->scene.session, &d->run, most_bytes, out);
}

static void expect_story(const leat_string_builder_t* bytes, bool has_stages, size_t partitions) {
  leat_pb_run_metadata_t metadata;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_run_metadata_descriptor,
                                     leat_string_builder_view(bytes), &arena, NULL, &metadata));
  assert_int_equal(metadata.partition_graphs.count, partitions);
  assert_int_equal(metadata.graph_stages.count > 3, has_stages);
  assert_int_equal(metadata.placement != NULL, has_stages);
  leat_arena_deinitialize(&arena);
}

static void stages_that_do_not_fit_are_left_out(void** state) {
  for (int measures = 0; measures < 2; ++measures) {
    described_t d;
    leat_string_builder_t all, less;
    open_step(measures, &d);
    LEAT_EXPECT_OK(describe(&d, SIZE_MAX, &all));
    expect_story(&all, true, 1);
    leat_log_set_sink(count_line);
    warnings = 0;
    LEAT_EXPECT_OK(describe(&d, all.size, &less));
    assert_int_equal(less.size, all.size);
    leat_string_builder_deinitialize(&less);
    assert_int_equal(warnings, 0);
    // One byte less; room for some of the stages; and none at all.
    const size_t limits[] = {all.size - 1, all.size / 2, 100, 0};
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(limits); ++i) {
      LEAT_EXPECT_OK(describe(&d, limits[i], &less));
      expect_story(&less, false, 1);
      leat_string_builder_deinitialize(&less);
      assert_int_equal(warnings, (int)i + 1);
    }
    leat_log_set_sink(NULL);
    leat_string_builder_deinitialize(&all);
    scene_close(&d.scene);
  }
}

// Whichever allocation fails, it is told, and the next call tells all.
static void memory_may_end(void** state) {
  for (int measures = 0; measures < 2; ++measures) {
    described_t d;
    open_step(measures, &d);
    bool met = true;
    int failures = 0;
    for (int64_t n = 1; met; ++n) {
      leat_string_builder_t bytes;
      leat_fault_t fault;
      leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
      leat_status_t status = describe(&d, SIZE_MAX, &bytes);
      met = leat_fault_remove(&fault);
      if (status) {
        assert_true(met);
        ++failures;
        LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
      }
      leat_string_builder_deinitialize(&bytes);
    }
    assert_true(failures > 20);
    leat_string_builder_t bytes;
    LEAT_EXPECT_OK(describe(&d, SIZE_MAX, &bytes));
    expect_story(&bytes, true, 1);
    leat_string_builder_deinitialize(&bytes);
    scene_close(&d.scene);
  }
}

// The same while a session that keeps its plan compiles it.
static void memory_may_end_while_a_plan_is_kept(void** state) {
  bool met = true;
  for (int64_t n = 1; met; ++n) {
    described_t d = {0};
    leat_string_builder_t bytes;
    scene_open(&d.scene);
    d.scene.options.build_cost_model = 1;
    d.scene.options.placer = LEAT_PLACER_GREEDY;
    d.fetch = scene_unary(&d.scene, "Neg", -1, scene_float(&d.scene, 2));
    d.run = (leat_run_t){.fetches = &d.fetch, .fetch_count = 1};
    scene_session(&d.scene);
    leat_signature_t* signature;
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_session_prepare(d.scene.session, &d.run, &signature);
    met = leat_fault_remove(&fault);
    if (status) {
      assert_true(met);
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    }
    assert_true(scene_get(&d.scene, d.fetch) == -2);
    LEAT_EXPECT_OK(describe(&d, SIZE_MAX, &bytes));
    leat_string_builder_deinitialize(&bytes);
    scene_close(&d.scene);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages_that_do_not_fit_are_left_out),
      cmocka_unit_test(memory_may_end),
      cmocka_unit_test(memory_may_end_while_a_plan_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
