// The step collector receives an event from every kernel of a traced step and becomes the StepStats
// in RunMetadata. Kernels run in parallel, so four threads add events to one collector and none may
// be lost. A trace is never worth a failed step: when memory runs out the event is left out, which
// is tried for each allocation in turn. The last cases trace a real session over two devices with
// both executors (session/scene.h), encode the result and decode it again, because the names of
// devices and nodes in that message are what tools read.
#include "trace/collector.h"

#include "base/fault.h"
#include "base/thread.h"
#include "formats/generated/run_metadata.h"
#include "formats/generated/step_stats.h"
#include "formats/wire/decode.h"
#include "session/scene.h"

static void events_are_kept_by_device(void** state) {
  leat_step_collector_t collector;
  leat_step_collector_initialize(leat_allocator_system(), &collector);
  const float values[] = {1, 2, 3};
  leat_tensor_t outputs[2] = {{0}};
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, 3, &outputs[0]));
  int64_t start = leat_step_collector_now();
  for (int i = 0; i < 3; ++i) {
    leat_step_collector_add(&collector, i == 1 ? LEAT_SV("B") : LEAT_SV("A"), LEAT_SV("node"),
                            LEAT_SV("Op"), start, outputs, 2, sizeof outputs[0]);
  }
  leat_tensor_release(&outputs[0]);
  int devices = 0, events = 0;
  for (const leat_device_events_t* d = collector.devices; d; d = d->next, ++devices) {
    for (const leat_node_event_t* e = d->first; e; e = e->next, ++events) {
      assert_true(e->start_ns == start && e->end_ns >= start);
      assert_int_equal(e->output_count, 2);
      assert_int_equal(e->outputs[0].size_bytes, 12);
      assert_int_equal(e->outputs[0].shape.dims[0], 3);
      assert_int_equal(e->outputs[1].dtype, 0);
    }
  }
  assert_int_equal(devices, 2);
  assert_int_equal(events, 3);
  leat_step_collector_deinitialize(&collector);
}

static void add_many(void* data) {
  for (int i = 0; i < 500; ++i) {
    leat_step_collector_add(data, LEAT_SV("A"), LEAT_SV("n"), LEAT_SV("Op"), 1, NULL, 0, 0);
  }
}

static void threads_may_note_at_once(void** state) {
  leat_step_collector_t collector;
  leat_thread_t threads[4];
  leat_step_collector_initialize(leat_allocator_system(), &collector);
  for (int i = 0; i < 4; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("notes", add_many, &collector, &threads[i]));
  }
  for (int i = 0; i < 4; ++i) leat_thread_join(threads[i]);
  int events = 0;
  for (const leat_node_event_t* e = collector.devices->first; e; e = e->next) ++events;
  assert_int_equal(events, 2000);
  leat_step_collector_deinitialize(&collector);
}

static void without_memory_events_are_left_out(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_step_collector_t collector;
    leat_fault_t fault;
    leat_step_collector_initialize(leat_allocator_system(), &collector);
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    add_many(&collector);
    bool met = leat_fault_remove(&fault);
    leat_step_collector_deinitialize(&collector);
    if (!met) break;
  }
}

static void no_inputs(void* data, leat_string_view_t node, leat_string_builder_t* out_inputs) {}

static leat_pb_run_metadata_t decode(leat_step_collector_t* collector, leat_arena_t* arena,
                                     leat_string_builder_t* bytes) {
  leat_pb_run_metadata_t metadata = {0};
  leat_pb_step_stats_t stats;
  LEAT_EXPECT_OK(leat_step_stats_describe(collector, no_inputs, NULL, &stats));
  LEAT_EXPECT_OK(leat_run_metadata_encode(&stats, NULL, bytes));
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_run_metadata_descriptor,
                                     leat_string_builder_view(bytes), arena, NULL, &metadata));
  return metadata;
}

// A step of a session over two devices.
static void a_step_is_described(scene_t* s) {
  s->options.cpu_device_count = 2;
  leat_output_t x = scene_float(s, 2);
  leat_output_t a = scene_pass(s, 1, 0, x), b = scene_pass(s, 2, 1, a);
  leat_output_t fetches[] = {scene_binary(s, "AddV2", 0, a, b)};
  leat_step_collector_t collector;
  leat_step_collector_initialize(leat_allocator_system(), &collector);
  leat_tensor_t got;
  leat_run_t run = {.fetches = fetches, .fetch_values = &got, .fetch_count = 1,
                    .collector = &collector};
  LEAT_EXPECT_OK(leat_session_run(scene_session(s), &run));
  leat_tensor_release(&got);
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_pb_run_metadata_t metadata = decode(&collector, &arena, &bytes);
  assert_int_equal(metadata.step_stats->dev_stats.count, 2);
  int found = 0;
  for (size_t d = 0; d < 2; ++d) {
    const leat_pb_device_step_stats_t* device = &metadata.step_stats->dev_stats.items[d];
    for (size_t i = 0; i < device->node_stats.count; ++i) {
      const leat_pb_node_exec_stats_t* node = &device->node_stats.items[i];
      assert_true(node->all_start_nanos > 0 && node->all_end_rel_nanos >= 0);
      if (!leat_string_view_starts_with(node->node_name, LEAT_SV("ProbePass"))) continue;
      ++found;
      assert_int_equal(node->output.count, 1);
      assert_int_equal(node->output.items[0].tensor_description->dtype, LEAT_DTYPE_FLOAT);
    }
  }
  assert_int_equal(found, 2);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  leat_step_collector_deinitialize(&collector);
}

static void a_step_is_described_all_ways(void** state) { scene_run_all_ways(a_step_is_described); }

static void nothing_noted(void** state) {
  leat_step_collector_t collector;
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_step_collector_initialize(leat_allocator_system(), &collector);
  leat_pb_run_metadata_t metadata = decode(&collector, &arena, &bytes);
  assert_int_equal(metadata.step_stats->dev_stats.count, 0);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  leat_step_collector_deinitialize(&collector);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_are_kept_by_device),
      cmocka_unit_test(threads_may_note_at_once),
      cmocka_unit_test(without_memory_events_are_left_out),
      cmocka_unit_test(a_step_is_described_all_ways),
      cmocka_unit_test(nothing_noted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
