// Timelines: what was written is read back, whatever a file lacks, in either format.
#include "trace/timeline.h"

#include "base/checked.h"
#include "base/random.h"
#include "scratch.h"
#include "trace/test_recording.h"

static uint32_t random_below(leat_philox_t* random, uint32_t limit) {
  uint32_t words[4];
  leat_philox_next(random, words);
  return words[0] % limit;
}

// ---- Files --------------------------------------------------------------------------------------

// A name so long that the length of its packet takes two bytes.
#define NEXT "a/scope/with/a/long/name/that/goes/on/for/a/while/and/a/scope/in/it/with/another/next"

// A step with a kernel in which the thread was off its core, a task, and an asynchronous kernel
// that a thread of the pool ended.
static void make(test_recording_t* out_recording) {
  test_recording_initialize(out_recording);
  const uint32_t caller = test_add_thread(out_recording, "main");
  const uint32_t pool = test_add_thread(out_recording, "leat_pool");
  const uint32_t mul = test_add_name(out_recording, "layer/mul", "MatMul");
  const uint32_t next = test_add_name(out_recording, NEXT, "QueueDequeueV2");
  test_add_span(out_recording, caller, 1000, 9000, LEAT_SPAN_STEP, 0, 7);
  test_add_span(out_recording, caller, 2000, 5000, LEAT_SPAN_KERNEL, mul, 64);
  test_add_span(out_recording, caller, 2500, 3000, LEAT_SPAN_OFF_CORE, 0, 1);
  test_add_span_in_step(out_recording, caller, 5000, 6000, LEAT_SPAN_KERNEL, mul, 0, 0xffffff);
  test_add_span(out_recording, pool, 3000, 7000, LEAT_SPAN_TASK, 0, 500);
  test_add_span(out_recording, pool, 1500, 6500, LEAT_SPAN_ASYNC_KERNEL, next, 8);
}

static const leat_slice_t* slice_of(const leat_timeline_t* timeline, size_t row, uint32_t lane,
                                    size_t index) {
  assert_true(row < timeline->row_count && lane < timeline->rows[row]->lane_count);
  assert_true(index < timeline->rows[row]->lanes[lane].count);
  return &timeline->rows[row]->lanes[lane].slices[index];
}

static void what_was_written_is_read(void** state) {
  test_recording_t recording;
  make(&recording);
  leat_timeline_t* timeline = test_recording_read_back(&recording, "t.perfetto-trace");
  assert_int_equal(timeline->row_count, 3);
  assert_int_equal(timeline->slice_count, 6);
  assert_int_equal(timeline->damaged, 0);
  assert_int_equal(timeline->begin_ns, 1000);
  assert_int_equal(timeline->end_ns, 9000);
  const leat_timeline_row_t* caller = timeline->rows[0];
  assert_true(leat_string_view_equals(caller->name, "main"));
  assert_int_equal(caller->thread, 100);
  assert_true(caller->process > 0);
  assert_int_equal(caller->lane_count, 3);
  const leat_slice_t* step = slice_of(timeline, 0, 0, 0);
  assert_int_equal(timeline->names[step->name].kind, LEAT_SPAN_STEP);
  assert_int_equal(caller->lanes[0].values[0], 7);
  const leat_slice_t* kernel = slice_of(timeline, 0, 1, 1);
  assert_true(leat_string_view_equals(timeline->names[kernel->name].op, "MatMul"));
  assert_true(leat_string_view_equals(timeline->names[kernel->name].node, "layer/mul"));
  assert_int_equal(kernel->begin_ns, 5000);
  assert_int_equal(kernel->end_ns, 6000);
  assert_int_equal(kernel->covered_ns, 3000);
  assert_int_equal(caller->lanes[1].values[0], 64);
  assert_int_equal(caller->lanes[1].values[1], 0);
  assert_int_equal(caller->lanes[1].steps[0], 0);
  assert_int_equal(caller->lanes[1].steps[1], 0xffffff);
  assert_int_equal(timeline->names[slice_of(timeline, 0, 2, 0)->name].kind, LEAT_SPAN_OFF_CORE);
  assert_int_equal(timeline->rows[1]->lanes[0].values[0], 500);  // the task was queued so long
  assert_int_equal(timeline->rows[2]->thread, 0);
  assert_int_equal(timeline->rows[2]->process, caller->process);
  assert_int_equal(slice_of(timeline, 2, 0, 0)->by, 101);
  assert_int_equal(timeline->rows[2]->lanes[0].values[0], 8);
  leat_timeline_free(timeline);
  test_recording_deinitialize(&recording);
}

// The system's times are not quite those of the spans: the thread seems to come back to a core
// after its kernel has ended. Both keep their times.
static void a_slice_may_outlive_the_one_around_it(void** state) {
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  const uint32_t mul = test_add_name(&r, "mul", "MatMul");
  test_add_span(&r, 0, 2000, 3000, LEAT_SPAN_KERNEL, mul, 0);
  test_add_span(&r, 0, 2800, 3500, LEAT_SPAN_OFF_CORE, 0, 1);
  test_add_span(&r, 0, 4000, 5000, LEAT_SPAN_KERNEL, mul, 0);
  leat_timeline_t* timeline = test_recording_read_back(&r, "outlive.perfetto-trace");
  test_recording_deinitialize(&r);
  assert_int_equal(slice_of(timeline, 0, 0, 0)->end_ns, 3000);
  assert_int_equal(slice_of(timeline, 0, 0, 1)->begin_ns, 4000);
  assert_int_equal(slice_of(timeline, 0, 1, 0)->end_ns, 3500);
  assert_int_equal(timeline->damaged, 0);
  leat_timeline_free(timeline);
}

// Both formats have who took a core, and the process that it is of where that is another one; the
// number of the process is not taken for the reason.
static void who_took_a_core_is_read(void** state) {
  static const char* const kPaths[] = {"taken.perfetto-trace", "taken.json"};
  for (int i = 0; i < 2; ++i) {
    test_recording_t r;
    char* text;
    size_t size;
    test_recording_initialize(&r);
    test_add_thread(&r, "main");
    const uint32_t ninja = test_add_name(&r, "ninja", "preempted by");
    test_add_span(&r, 0, 2000, 3000, LEAT_SPAN_OFF_CORE, ninja,
                  leat_off_core_value(LEAT_OFF_CORE_PREEMPTED, 4194301, 4194302));
    test_add_span(&r, 0, 4000, 5000, LEAT_SPAN_OFF_CORE, 0,
                  leat_off_core_value(LEAT_OFF_CORE_READY, 0, 0));
    leat_timeline_t* timeline = test_recording_read_back(&r, kPaths[i]);
    test_recording_deinitialize(&r);
    const leat_lane_t* lane = &timeline->rows[0]->lanes[0];
    const leat_slice_name_t* name = &timeline->names[lane->slices[0].name];
    assert_int_equal(lane->count, 2);
    assert_int_equal(name->kind, LEAT_SPAN_OFF_CORE);
    assert_true(leat_string_view_equals(name->op, "preempted by"));
    assert_true(leat_string_view_equals(name->node, "ninja"));
    assert_int_equal(lane->slices[0].by, 4194302);
    assert_int_equal(lane->values[0], LEAT_OFF_CORE_PREEMPTED);
    assert_int_equal(lane->slices[1].by, 0);
    assert_int_equal(lane->values[1], LEAT_OFF_CORE_READY);
    leat_timeline_free(timeline);
    if (i == 0) continue;
    LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), kPaths[i],
                                      leat_allocator_system(), &text, &size));
    assert_non_null(strstr(text, "\"node\":\"ninja\",\"process\":4194301,\"why\":1,"
                                 "\"by\":4194302}"));
    assert_non_null(strstr(text, "\"args\":{\"why\":2}"));
    leat_allocator_free(leat_allocator_system(), text);
  }
}

// A file that ends anywhere gives what is whole, or is told to be no trace; nothing else.
static void a_file_may_end_anywhere(void** state) {
  test_recording_t recording;
  char* bytes;
  size_t size, most = 0;
  make(&recording);
  test_recording_write(&recording, "whole.perfetto-trace");
  test_recording_deinitialize(&recording);
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), "whole.perfetto-trace",
                                    leat_allocator_system(), &bytes, &size));
  for (size_t end = 0; end <= size; ++end) {
    leat_timeline_t* timeline;
    scratch_write_file("part.perfetto-trace", bytes, end);
    LEAT_EXPECT_OK(
        leat_timeline_read(leat_file_system_posix(), "part.perfetto-trace", &timeline));
    assert_true(timeline->slice_count >= most);
    if (end < size && end > 0) assert_true(timeline->slice_count < 6 || timeline->damaged > 0);
    most = timeline->slice_count;
    leat_timeline_free(timeline);
  }
  assert_int_equal(most, 6);
  leat_allocator_free(leat_allocator_system(), bytes);
}

// Of |make|'s recording the kernels are of a graph, in which the second waits for the first; and a
// message and its Recv are added.
static void make_graph(test_recording_t* out_recording) {
  static const int kEdges[][2] = {{0, 1}, {-1, 0}};
  make(out_recording);
  test_add_graph(out_recording, 1, 2, kEdges);
  test_set_facts(out_recording, 0, &(leat_span_facts_t){
                     LEAT_SV("/device:CPU:0"), LEAT_SV("float [32,10], int32 []"),
                     LEAT_SV("a \"b\".py:12"), 640});
  test_set_facts(out_recording, 1, &(leat_span_facts_t){.flops = 1e300});
  test_add_span(out_recording, 0, 7000, 7000, LEAT_SPAN_SEND, 0, INT64_MAX - 6);
  test_add_span(out_recording, 1, 7100, 7200, LEAT_SPAN_DECODE, 0, INT64_MAX - 6);
}

static void expect_equal_names(const leat_slice_name_t* a, const leat_slice_name_t* b) {
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->graph, b->graph);
  assert_true(leat_string_view_equal(a->op, b->op));
  assert_true(leat_string_view_equal(a->node, b->node));
}

// Rows of JSON come in the order of the file, too; those of no thread have other numbers.
static void expect_equal_timelines(const leat_timeline_t* a, const leat_timeline_t* b) {
  assert_int_equal(a->row_count, b->row_count);
  assert_int_equal(a->slice_count, b->slice_count);
  assert_int_equal(a->damaged, b->damaged);
  for (size_t r = 0; r < a->row_count; ++r) {
    const leat_timeline_row_t *x = a->rows[r], *y = b->rows[r];
    assert_int_equal(x->process, y->process);
    assert_int_equal(x->thread, y->thread);
    assert_true(leat_string_view_equal(x->name, y->name));
    assert_int_equal(x->lane_count, y->lane_count);
    for (uint32_t l = 0; l < x->lane_count; ++l) {
      assert_int_equal(x->lanes[l].count, y->lanes[l].count);
      for (size_t i = 0; i < x->lanes[l].count; ++i) {
        const leat_slice_t *s = &x->lanes[l].slices[i], *t = &y->lanes[l].slices[i];
        assert_int_equal(s->begin_ns, t->begin_ns);
        assert_int_equal(s->end_ns, t->end_ns);
        assert_int_equal(s->by, t->by);
        assert_int_equal(x->lanes[l].values[i], y->lanes[l].values[i]);
        assert_int_equal(x->lanes[l].steps[i], y->lanes[l].steps[i]);
        expect_equal_names(&a->names[s->name], &b->names[t->name]);
      }
    }
  }
  assert_int_equal(a->node_count, b->node_count);
  for (size_t i = 0; i < a->node_count; ++i) {
    assert_int_equal(a->nodes[i].graph, b->nodes[i].graph);
    assert_true(leat_string_view_equal(a->nodes[i].name, b->nodes[i].name));
    assert_true(leat_string_view_equal(a->nodes[i].device, b->nodes[i].device));
    assert_true(leat_string_view_equal(a->nodes[i].outputs, b->nodes[i].outputs));
    assert_true(leat_string_view_equal(a->nodes[i].source, b->nodes[i].source));
    assert_int_equal(a->nodes[i].flops, b->nodes[i].flops);
    assert_int_equal(a->nodes[i].producer_count, b->nodes[i].producer_count);
    for (uint32_t k = 0; k < a->nodes[i].producer_count; ++k) {
      assert_int_equal(a->nodes[i].producers[k], b->nodes[i].producers[k]);
    }
  }
}

static void both_formats_give_the_same(void** state) {
  test_recording_t recording;
  make_graph(&recording);
  leat_timeline_t* perfetto = test_recording_read_back(&recording, "both.perfetto-trace");
  leat_timeline_t* chrome = test_recording_read_back(&recording, "both.json");
  test_recording_deinitialize(&recording);
  assert_int_equal(perfetto->node_count, 2);
  assert_true(leat_string_view_equals(perfetto->nodes[0].device, "/device:CPU:0"));
  assert_true(leat_string_view_equals(perfetto->nodes[0].outputs, "float [32,10], int32 []"));
  assert_true(leat_string_view_equals(perfetto->nodes[0].source, "a \"b\".py:12"));
  assert_int_equal(perfetto->nodes[0].flops, 641);
  assert_int_equal(perfetto->nodes[1].source.size, 0);
  assert_true(perfetto->nodes[1].flops > INT64_C(100000000000000000));
  assert_int_equal(perfetto->nodes[1].producer_count, 1);
  assert_int_equal(perfetto->nodes[1].producers[0], 0);
  const leat_slice_t* kernel = slice_of(perfetto, 0, 1, 0);
  assert_int_equal(perfetto->names[kernel->name].graph, perfetto->nodes[0].graph);
  assert_int_equal(perfetto->nodes[0].graph >> 32, perfetto->rows[0]->process);
  assert_int_equal(perfetto->rows[1]->lanes[0].values[1], INT64_MAX - 6);
  expect_equal_timelines(perfetto, chrome);
  leat_timeline_free(perfetto);
  leat_timeline_free(chrome);
}

// Cores are rows before those of threads, on which lie the threads that had them.
static void threads_lie_on_cores(void** state) {
  static const char* const kFiles[] = {"cores.perfetto-trace", "cores.json"};
  for (size_t f = 0; f < LEAT_ARRAY_SIZE(kFiles); ++f) {
    test_recording_t r;
    test_recording_initialize(&r);
    test_add_thread(&r, "main");
    test_add_thread(&r, "");
    const uint32_t next = test_add_name(&r, "next", "QueueDequeueV2");
    test_add_span(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
    test_add_span(&r, 0, 2000, 3000, LEAT_SPAN_ASYNC_KERNEL, next, 8);
    test_add_span(&r, 0, 1000, 2000, LEAT_SPAN_ON_CORE, 0, 12);
    test_add_span(&r, 0, 2000, 4000, LEAT_SPAN_OFF_CORE, 0, 0);
    test_add_span(&r, 0, 4000, 5000, LEAT_SPAN_ON_CORE, 0, 3);
    test_add_span(&r, 1, 2000, 4000, LEAT_SPAN_ON_CORE, 0, 12);
    test_add_span(&r, 1, 4000, 6000, LEAT_SPAN_ON_CORE, 0, 12);
    test_add_span(&r, 0, 5990, 7000, LEAT_SPAN_ON_CORE, 0, 12);  // by another reading of the clock
    leat_timeline_t* timeline = test_recording_read_back(&r, kFiles[f]);
    test_recording_deinitialize(&r);
    static const char* const kRows[] = {"core 3", "core 12", "main", "",
                                        "asynchronous kernels 1"};
    assert_int_equal(timeline->row_count, LEAT_ARRAY_SIZE(kRows));
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kRows); ++i) {
      assert_true(leat_string_view_equals(timeline->rows[i]->name, kRows[i]));
      assert_int_equal(timeline->rows[i]->thread, i == 2 || i == 3 ? 98 + (int)i : 0);
    }
    assert_int_equal(timeline->rows[0]->lanes[0].count, 1);
    assert_int_equal(timeline->rows[1]->lane_count, 1);
    assert_int_equal(timeline->rows[1]->lanes[0].count, 4);
    assert_int_equal(slice_of(timeline, 1, 0, 3)->begin_ns, 6000);
    const leat_slice_t* slice = slice_of(timeline, 1, 0, 0);
    assert_true(leat_string_view_equals(timeline->names[slice->name].op, "main"));
    assert_int_equal(timeline->names[slice->name].kind, LEAT_SPAN_ON_CORE);
    assert_int_equal(slice->by, 100);
    slice = slice_of(timeline, 1, 0, 2);
    assert_true(leat_string_view_equals(timeline->names[slice->name].op, "thread"));
    assert_int_equal(slice->by, 101);
    assert_true(slice->begin_ns == 4000 && slice->end_ns == 6000);
    leat_timeline_free(timeline);
  }
}

// JSON of another program: the spans of a row in no order, escapes, times in several forms, events
// that are not read, and a list without an object around it.
static void other_json_is_put_into_order(void** state) {
  leat_timeline_t* timeline;
  scratch_write_text(
      "other.json",
      "[ {\"name\": \"inner \\u00e9\\n\\\"q\\\"\", \"ph\": \"X\", \"ts\": 2.5, \"dur\": 1, "
      "\"pid\": 7, \"tid\": 9, \"args\": {\"a\": {\"node\": [1, \"}\"]}, \"b\": null}},\n"
      "{\"ph\":\"X\",\"name\":\"later\",\"pid\":7,\"tid\":9,\"ts\":5e0,\"dur\":0.25},"
      "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":7,\"tid\":9,\"ts\":1},"
      "{\"ph\":\"X\",\"name\":\"outer\",\"pid\":7,\"tid\":9,\"ts\":2.5,\"dur\":2.001}]");
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), "other.json", &timeline));
  assert_int_equal(timeline->row_count, 1);
  assert_int_equal(timeline->rows[0]->process, 7);
  assert_int_equal(timeline->rows[0]->thread, 9);
  assert_int_equal(timeline->damaged, 0);
  const leat_slice_t *outer = slice_of(timeline, 0, 0, 0), *later = slice_of(timeline, 0, 0, 1);
  const leat_slice_t* inner = slice_of(timeline, 0, 1, 0);
  assert_true(leat_string_view_equals(timeline->names[outer->name].op, "outer"));
  assert_int_equal(outer->begin_ns, 2500);
  assert_int_equal(outer->end_ns, 4501);
  assert_true(leat_string_view_equals(timeline->names[inner->name].op, "inner \xc3\xa9\n\"q\""));
  assert_int_equal(timeline->names[inner->name].kind, LEAT_SPAN_KINDS);
  assert_int_equal(inner->end_ns, 3500);
  assert_int_equal(later->begin_ns, 5000);
  assert_int_equal(later->end_ns, 5250);
  leat_timeline_free(timeline);
}

// JSON that ends anywhere behind its head gives the events that are whole.
static void json_may_end_anywhere(void** state) {
  static const char kHead[] = "{\"traceEvents\":[";
  test_recording_t recording;
  char* bytes;
  size_t size, most = 0;
  make_graph(&recording);
  test_recording_write(&recording, "whole.json");
  test_recording_deinitialize(&recording);
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), "whole.json",
                                    leat_allocator_system(), &bytes, &size));
  for (size_t end = 1; end <= size; end += end < sizeof kHead || end + 100 > size ? 1 : 3) {
    leat_timeline_t* timeline;
    scratch_write_file("part.json", bytes, end);
    leat_status_t status =
        leat_timeline_read(leat_file_system_posix(), "part.json", &timeline);
    if (end < sizeof kHead - 1) {
      LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
      continue;
    }
    LEAT_EXPECT_OK(status);
    assert_true(timeline->slice_count >= most);
    most = timeline->slice_count;
    leat_timeline_free(timeline);
  }
  assert_int_equal(most, 8);
  leat_allocator_free(leat_allocator_system(), bytes);
}

static void json_that_is_no_trace_is_told(void** state) {
  static const struct {
    const char *text, *place;
  } kFiles[] = {{"{\"a\": 1}", "bytes at 0 are"},
                {"[1, 2]", "bytes at 1 are"},
                {"[{\"ph\":\"X\",]]", "bytes at 1 are"},
                {"[ {\"ph\" \"X\"}]", "bytes at 2 are"},
                {"[{\"ph\":}]", "bytes at 1 are"}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFiles); ++i) {
    leat_timeline_t* timeline;
    scratch_write_text("no.json", kFiles[i].text);
    leat_status_t status = leat_timeline_read(leat_file_system_posix(), "no.json", &timeline);
    assert_non_null(status);
    if (!strstr(leat_status_message(status), kFiles[i].place)) {
      print_error("%s: %s\n", kFiles[i].text, leat_status_message(status));
    }
    assert_non_null(strstr(leat_status_message(status), kFiles[i].place));
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
  }
}

// Two processes whose recordings stand one behind the other: threads, graphs and clocks of each.
static void parts_are_told_apart(void** state) {
  leat_string_builder_t file;
  leat_timeline_t* timeline;
  test_recording_t recording;
  make_graph(&recording);
  leat_recording_t made = test_recording_make(&recording);
  const leat_recording_section_t first = {.number = 5, .name = LEAT_SV("/job:ps/task:0")};
  const leat_recording_section_t second = {
      .number = 6, .name = LEAT_SV("/job:ps/task:1"),
      .clock = {.at_ns = 2000, .offset_ns = 500, .drift = 0.125, .residual_ns = 30}};
  leat_string_builder_initialize(leat_allocator_system(), &file);
  LEAT_EXPECT_OK(leat_recording_encode(&made, &first, &file));
  LEAT_EXPECT_OK(leat_recording_encode(&made, &second, &file));
  test_recording_unmake(&made);
  test_recording_deinitialize(&recording);
  scratch_write_file("parts.perfetto-trace", file.data, file.size);
  leat_string_builder_deinitialize(&file);
  LEAT_EXPECT_OK(
      leat_timeline_read(leat_file_system_posix(), "parts.perfetto-trace", &timeline));
  assert_int_equal(timeline->row_count, 6);
  assert_int_equal(timeline->rows[0]->process, 5);
  assert_int_equal(timeline->rows[3]->process, 6);
  assert_int_equal(timeline->rows[3]->thread, timeline->rows[0]->thread);
  assert_int_equal(slice_of(timeline, 0, 0, 0)->begin_ns, 1000);
  // At 1000 the other clock was 500 - 0.125 * 1000 ahead.
  assert_int_equal(slice_of(timeline, 3, 0, 0)->begin_ns, 1000 - 500 + 125);
  assert_int_equal(timeline->node_count, 4);
  assert_int_equal(timeline->nodes[0].graph, (uint64_t)5 << 32 | 1);
  assert_int_equal(timeline->nodes[2].graph, (uint64_t)6 << 32 | 1);
  assert_int_equal(timeline->process_count, 2);
  assert_int_equal(timeline->processes[1].number, 6);
  assert_true(leat_string_view_equals(timeline->processes[1].name, "/job:ps/task:1"));
  assert_int_equal(timeline->clock_count, 2);
  assert_int_equal(timeline->clocks[1].process, 6);
  assert_int_equal(timeline->clocks[1].offset_ns, 500);
  assert_int_equal(timeline->clocks[1].drift_ppb, 125000000);
  assert_int_equal(timeline->clocks[1].residual_ns, 30);
  leat_timeline_free(timeline);
}

static void what_is_no_trace_is_told(void** state) {
  leat_timeline_t* timeline;
  scratch_write_text("text.perfetto-trace", "This is no trace, and it has more than a few bytes.");
  leat_status_t status =
      leat_timeline_read(leat_file_system_posix(), "text.perfetto-trace", &timeline);
  assert_non_null(status);
  assert_non_null(strstr(leat_status_message(status), "text.perfetto-trace': the bytes at 0 are"));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   leat_timeline_read(leat_file_system_posix(), "none", &timeline));
  assert_null(timeline);
}

// ---- Several threads ----------------------------------------------------------------------------

#define LARGE_NODES 100
#define LARGE_SPANS 60000

// A recording of some six megabytes, which is read in batches by several threads: kernels within
// tasks on three threads, whose lengths and numbers are known. The caller frees the bytes.
static char* make_large(size_t* out_size) {
  static char nodes[LARGE_NODES][24];
  test_recording_t r;
  leat_string_builder_t file;
  char* bytes;
  test_recording_initialize(&r);
  for (int i = 0; i < 3; ++i) test_add_thread(&r, "pool");
  for (int i = 0; i < LARGE_NODES; ++i) {
    snprintf(nodes[i], sizeof nodes[i], "layer_%d/node", i);
    test_add_name(&r, nodes[i], i % 2 ? "Mul" : "MatMul");
  }
  for (int i = 0; i < LARGE_SPANS; ++i) {
    const int64_t begin = 1000 + 10 * (int64_t)(i / 3);
    // Of the later ones names come that the earlier ones do not have.
    const uint32_t name = 1 + (uint32_t)(i * 7 % (1 + i * (LARGE_NODES - 1) / LARGE_SPANS));
    test_add_span_in_step(&r, (uint32_t)i % 3, begin, begin + 1 + i % 9, LEAT_SPAN_KERNEL, name,
                          i, (uint32_t)i / 100);
  }
  leat_string_builder_initialize(leat_allocator_system(), &file);
  test_recording_append(&r, 7, &file);
  LEAT_EXPECT_OK(leat_string_builder_finish(&file, &bytes, out_size));
  test_recording_deinitialize(&r);
  assert_true(*out_size > (5 << 20));
  return bytes;
}

static void large_files_are_read_by_several_threads(void** state) {
  leat_timeline_t* timeline;
  size_t size;
  char* bytes = make_large(&size);
  scratch_write_file("large.perfetto-trace", bytes, size);
  LEAT_EXPECT_OK(
      leat_timeline_read(leat_file_system_posix(), "large.perfetto-trace", &timeline));
  assert_int_equal(timeline->slice_count, LARGE_SPANS);
  assert_int_equal(timeline->damaged, 0);
  assert_int_equal(timeline->row_count, 3);
  assert_int_equal(timeline->name_count, LARGE_NODES - 1);
  size_t next_name = 0;
  for (int i = 0; i < LARGE_SPANS; ++i) {
    const leat_lane_t* lane = &timeline->rows[i % 3]->lanes[0];
    const leat_slice_t* slice = &lane->slices[i / 3];
    char node[24];
    snprintf(node, sizeof node, "layer_%d/node", i * 7 % (1 + i * (LARGE_NODES - 1) / LARGE_SPANS));
    assert_int_equal(slice->begin_ns, 1000 + 10 * (i / 3));
    assert_int_equal(slice->end_ns - slice->begin_ns, 1 + i % 9);
    assert_int_equal(lane->values[i / 3], i);
    assert_int_equal(lane->steps[i / 3], i / 100);
    assert_true(leat_string_view_equals(timeline->names[slice->name].node, node));
  }
  // Names are numbered in the order of the file, whoever meets them first.
  for (size_t i = 0; i < timeline->rows[0]->lanes[0].count; ++i) {
    const uint32_t name = timeline->rows[0]->lanes[0].slices[i].name;
    assert_true(name <= next_name);
    next_name += name == next_name;
  }
  leat_timeline_free(timeline);
  // The place of the first damage is told, wherever it is; and what is cut off is counted.
  for (size_t at = size / 5; at < size; at += size / 4) {
    char place[64];
    size_t packet = at;
    // Packets of our writer begin with a tag and a length below 128, and then the time's tag.
    while (bytes[packet] != 0x0a || bytes[packet + 1] <= 0 || bytes[packet + 2] != 0x40) ++packet;
    const char before = bytes[packet];
    bytes[packet] = 0x08;
    scratch_write_file("large.perfetto-trace", bytes, size);
    leat_status_t status =
        leat_timeline_read(leat_file_system_posix(), "large.perfetto-trace", &timeline);
    bytes[packet] = before;
    assert_non_null(status);
    snprintf(place, sizeof place, "the bytes at %zu are no packet", packet);
    assert_non_null(strstr(leat_status_message(status), place));
    leat_status_free(status);
    scratch_write_file("large.perfetto-trace", bytes, packet + 20);
    LEAT_EXPECT_OK(
        leat_timeline_read(leat_file_system_posix(), "large.perfetto-trace", &timeline));
    assert_in_range(timeline->damaged, 1, 2);  // the packet, and the slice that is open
    leat_timeline_free(timeline);
  }
  leat_allocator_free(leat_allocator_system(), bytes);
}

// ---- Making -------------------------------------------------------------------------------------

static void events_without_order_keep_lanes_in_order(void** state) {
  const leat_slice_name_t name = {LEAT_SV("task"), {0}, LEAT_SPAN_TASK, 0};
  const leat_slice_facts_t no_facts = {0};
  leat_timeline_builder_t* builder;
  leat_timeline_row_t* row;
  LEAT_EXPECT_OK(leat_timeline_builder_create(&builder));
  LEAT_EXPECT_OK(leat_timeline_builder_row(builder, 5, &row));
  leat_timeline_builder_end(builder, row, 3);  // nothing is open
  leat_philox_t random = leat_philox_make(1, 2);
  for (int i = 0; i < 2000; ++i) {
    // More begin than end, so that the row gets deeper than is kept; and times go back.
    const int64_t time_ns = (int64_t)i * 10 - random_below(&random, 40);
    if (random_below(&random, 20) < 11) {
      LEAT_EXPECT_OK(leat_timeline_builder_begin(builder, row, time_ns, &name, &no_facts));
    } else {
      leat_timeline_builder_end(builder, row, time_ns);
    }
  }
  leat_timeline_t* timeline = leat_timeline_builder_finish(builder);
  leat_timeline_builder_free(builder);
  assert_true(timeline->damaged > 0);
  assert_int_equal(timeline->rows[0]->lane_count, LEAT_TIMELINE_MAX_DEPTH);
  for (uint32_t lane = 0; lane < LEAT_TIMELINE_MAX_DEPTH; ++lane) {
    const leat_lane_t* l = &timeline->rows[0]->lanes[lane];
    for (size_t i = 0; i < l->count; ++i) {
      assert_true(l->slices[i].begin_ns <= l->slices[i].end_ns);
      if (i > 0) assert_true(l->slices[i - 1].end_ns <= l->slices[i].begin_ns);
    }
  }
  leat_timeline_free(timeline);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_written_is_read),
      cmocka_unit_test(a_slice_may_outlive_the_one_around_it),
      cmocka_unit_test(who_took_a_core_is_read),
      cmocka_unit_test(a_file_may_end_anywhere),
      cmocka_unit_test(both_formats_give_the_same),
      cmocka_unit_test(threads_lie_on_cores),
      cmocka_unit_test(other_json_is_put_into_order),
      cmocka_unit_test(json_may_end_anywhere),
      cmocka_unit_test(json_that_is_no_trace_is_told),
      cmocka_unit_test(parts_are_told_apart),
      cmocka_unit_test(what_is_no_trace_is_told),
      cmocka_unit_test(large_files_are_read_by_several_threads),
      cmocka_unit_test(events_without_order_keep_lanes_in_order),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
