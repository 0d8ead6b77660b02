// The join of a GPU's records with the spans of the threads that called for its work. Recordings
// are made by hand: two threads with kernels whose times are known, and records by a clock that
// runs twice as fast as that of spans, so that a time that is not converted, or converted the wrong
// way, is seen. Each test states what came of which records: the rows, the launches, the names and
// the numbers that join them. At last the records of random streams, in random order, must give
// rows on which nothing overlaps and one launch for each piece of work.
#include "trace/gpu_spans.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/recording.h"
#include "base/test.h"

#define END 1000000  // of the recording
#define GPU_BEGIN UINT64_C(1700000000000000000)
#define FIRST_ROW INT64_C(4194304)  // what the system gives no thread

static const leat_gpu_clock_t kClock = {GPU_BEGIN, GPU_BEGIN + 2 * END, 0, END};

typedef struct made_s {
  leat_recording_t* recording;
  leat_recording_tail_t tail;
} made_t;

static void add_span(made_t* made, uint32_t row, int64_t begin, int64_t end, uint32_t kind,
                     uint32_t name, uint32_t step) {
  leat_span_t* spans = NULL;
  LEAT_EXPECT_OK(leat_recording_tail_add_spans(&made->tail, row, 1, &spans));
  *spans = (leat_span_t){.begin = begin, .end = end, .kind = kind, .name = name, .step = step};
}

// Thread 101 runs 'a' from 100 to 200 and, within a step, 'b' from 300 to 600 with 'c' within it
// from 400 to 500; thread 102 a piece of 'd' from 100 to 600.
static made_t make(void) {
  made_t made;
  size_t capacity;
  static const char* const kNodes[] = {"a", "b", "c", "d"};
  LEAT_EXPECT_OK(leat_recording_create(&made.recording, &capacity));
  *made.recording = (leat_recording_t){.names = made.recording->names, .name_count = 1,
                                       .begin = 1, .end = END, .begin_ns = 1, .end_ns = END,
                                       .begin_wall_ns = 12345};
  leat_recording_tail_initialize(made.recording, &made.tail);
  for (int64_t id = 101; id <= 102; ++id) {
    uint32_t row;
    const leat_span_thread_t thread = {.id = id, .name = "thread"};
    LEAT_EXPECT_OK(leat_recording_tail_add_row(&made.tail, &thread, &row));
  }
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t name;
    LEAT_EXPECT_OK(leat_recording_tail_add_name(&made.tail, leat_string_view_from(kNodes[i]),
                                                LEAT_SV("MatMul"), 9, &name));
    assert_int_equal(name, i + 1);
  }
  add_span(&made, 0, 100, 200, LEAT_SPAN_KERNEL, 1, 0);
  add_span(&made, 0, 400, 500, LEAT_SPAN_KERNEL, 3, 7);
  add_span(&made, 0, 300, 600, LEAT_SPAN_KERNEL, 2, 7);
  add_span(&made, 0, 50, 700, LEAT_SPAN_STEP, 0, 7);
  add_span(&made, 1, 100, 600, LEAT_SPAN_SHARD, 4, 8);
  return made;
}

// A record whose times are those of spans, told by the GPU's clock.
static leat_gpu_record_t record(leat_gpu_record_kind_t kind, uint32_t correlation, int64_t begin,
                                int64_t end) {
  return (leat_gpu_record_t){.begin = GPU_BEGIN + 2 * (uint64_t)begin,
                             .end = GPU_BEGIN + 2 * (uint64_t)end,
                             .kind = kind, .correlation = correlation, .stream = 7};
}

static leat_gpu_record_t call(uint32_t thread, uint32_t correlation, int64_t begin, int64_t end) {
  leat_gpu_record_t made = record(LEAT_GPU_CALL, correlation, begin, end);
  made.thread = thread;
  made.stream = 0;
  return made;
}

static leat_gpu_record_t kernel(const char* name, uint32_t correlation, int64_t begin,
                                int64_t end) {
  leat_gpu_record_t made = record(LEAT_GPU_KERNEL, correlation, begin, end);
  made.name = name;
  return made;
}

static void add(made_t* made, const leat_gpu_record_t* records, size_t count) {
  LEAT_EXPECT_OK(leat_gpu_spans_add(records, count, &kClock, made->recording));
}

// The |nth| span of |kind|, and its row; NULL: there are not so many.
static const leat_span_t* find(const made_t* made, leat_span_kind_t kind, size_t nth,
                               uint32_t* out_row) {
  for (const leat_span_chunk_t* chunk = made->recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < chunk->count; ++i) {
      if (chunk->spans[i].kind != (uint32_t)kind || nth-- > 0) continue;
      if (out_row) *out_row = chunk->thread;
      return &chunk->spans[i];
    }
  }
  return NULL;
}

static size_t count_of(const made_t* made, leat_span_kind_t kind) {
  size_t count = 0;
  while (find(made, kind, count, NULL)) ++count;
  return count;
}

static void expect_name(const made_t* made, const leat_span_t* span, const char* node,
                        const char* category, uint32_t graph) {
  const leat_span_name_t* name = &made->recording->names[span->name];
  assert_true(leat_string_view_equals(name->name, node));
  assert_true(leat_string_view_equals(name->category, category));
  assert_int_equal(name->graph, graph);
}

// ---- One piece of work --------------------------------------------------------------------------

static void work_is_joined_with_its_launch(void** state) {
  uint32_t row, launch_row;
  made_t made = make();
  const leat_gpu_record_t records[] = {kernel("sgemm", 5, 650, 690), call(101, 5, 150, 160)};
  add(&made, records, 2);
  const leat_span_t* work = find(&made, LEAT_SPAN_STREAM, 0, &row);
  const leat_span_t* launch = find(&made, LEAT_SPAN_LAUNCH, 0, &launch_row);
  assert_int_equal(work->begin, 650);
  assert_int_equal(work->end, 690);
  expect_name(&made, work, "a", "sgemm", 9);
  assert_int_equal(row, 2);
  assert_string_equal(made.recording->threads[2].name, "GPU 0 stream 7");
  assert_int_equal(made.recording->threads[2].id, FIRST_ROW + 2);
  assert_int_equal(launch_row, 0);
  assert_int_equal(launch->begin, 150);
  assert_int_equal(launch->end, 150);
  assert_int_equal(launch->value, work->value);
  // The numbers of messages and of the simulated accelerator's work are odd.
  assert_true(work->value > 0 && work->value % 2 == 0);
  assert_int_equal(made.recording->lost, 0);
  leat_recording_free(made.recording);
}

// The kernel around the call is the inner one, and the thread the call's own.
static void kernel_is_found(void** state) {
  static const struct {
    uint32_t thread;
    int64_t time;
    const char* node;  // "": none
    uint32_t step;
  } kCases[] = {{101, 100, "a", 0}, {101, 200, "a", 0}, {101, 250, "", 0},  {101, 350, "b", 7},
                {101, 450, "c", 7}, {101, 550, "b", 7}, {101, 650, "", 0},  {102, 150, "d", 8},
                {102, 450, "d", 8}, {102, 650, "", 0},  {101, 60, "", 0},   {102, 60, "", 0}};
  made_t made = make();
  leat_gpu_record_t records[2 * LEAT_ARRAY_SIZE(kCases)];
  for (uint32_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    // All at once, so that each is found among the others.
    records[2 * i] = call(kCases[i].thread, i + 1, kCases[i].time, kCases[i].time + 5);
    records[2 * i + 1] = kernel("k", i + 1, 700 + 10 * i, 705 + 10 * i);
  }
  add(&made, records, LEAT_ARRAY_SIZE(records));
  assert_int_equal(count_of(&made, LEAT_SPAN_LAUNCH), LEAT_ARRAY_SIZE(kCases));
  for (uint32_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    uint32_t row = UINT32_MAX;
    const leat_span_t* work = find(&made, LEAT_SPAN_STREAM, i, NULL);
    assert_int_equal(work->begin, 700 + 10 * i);
    expect_name(&made, work, kCases[i].node, "k", *kCases[i].node ? 9 : 0);
    assert_int_equal(work->step, kCases[i].step);
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(kCases); ++k) {
      const leat_span_t* launch = find(&made, LEAT_SPAN_LAUNCH, k, &row);
      if (launch->value == work->value && launch->begin == kCases[i].time) break;
      row = UINT32_MAX;
    }
    assert_int_equal(row, kCases[i].thread - 101);
  }
  // One row, and names only for what differs.
  assert_int_equal(made.recording->thread_count, 3);
  assert_int_equal(made.recording->name_count, 5 + 5);
  leat_recording_free(made.recording);
}

// What is open on a thread when its last call comes says nothing of the next thread.
static void kernel_of_another_thread(void** state) {
  made_t made = make();
  const leat_gpu_record_t records[] = {call(101, 1, 450, 460), kernel("k", 1, 700, 710),
                                       call(102, 2, 60, 70), kernel("k", 2, 720, 730)};
  add(&made, records, 4);
  expect_name(&made, find(&made, LEAT_SPAN_STREAM, 0, NULL), "c", "k", 9);
  expect_name(&made, find(&made, LEAT_SPAN_STREAM, 1, NULL), "", "k", 0);
  leat_recording_free(made.recording);
}

static void outermost_call_counts(void** state) {
  made_t made = make();
  // The driver's call comes first, since it ends first.
  const leat_gpu_record_t records[] = {call(101, 5, 340, 345), call(101, 5, 310, 360),
                                       kernel("k", 5, 700, 710), call(101, 6, 320, 330)};
  add(&made, records, 4);
  assert_int_equal(count_of(&made, LEAT_SPAN_LAUNCH), 1);
  assert_int_equal(find(&made, LEAT_SPAN_LAUNCH, 0, NULL)->begin, 310);
  leat_recording_free(made.recording);
}

// Work whose call nobody recorded, or was made on a thread that is not recorded.
static void work_without_launch(void** state) {
  made_t made = make();
  const leat_gpu_record_t records[] = {kernel("k", 5, 700, 710), kernel(NULL, 6, 720, 730),
                                       call(999, 6, 150, 160), call(101, 7, 150, 160)};
  add(&made, records, 4);
  assert_int_equal(count_of(&made, LEAT_SPAN_LAUNCH), 0);
  assert_int_equal(count_of(&made, LEAT_SPAN_STREAM), 2);
  expect_name(&made, find(&made, LEAT_SPAN_STREAM, 0, NULL), "", "k", 0);
  expect_name(&made, find(&made, LEAT_SPAN_STREAM, 1, NULL), "", "CUDA kernel", 0);
  leat_recording_free(made.recording);
}

// Each piece of what one call began has a launch.
static void call_begins_several(void** state) {
  made_t made = make();
  const leat_gpu_record_t records[] = {call(101, 5, 150, 160), kernel("k", 5, 700, 710),
                                       kernel("k", 5, 710, 720), kernel("k", 5, 720, 730)};
  add(&made, records, 4);
  assert_int_equal(count_of(&made, LEAT_SPAN_LAUNCH), 3);
  for (size_t i = 0; i < 3; ++i) {
    const int64_t value = find(&made, LEAT_SPAN_STREAM, i, NULL)->value;
    int found = 0;
    for (size_t k = 0; k < 3; ++k) {
      found += find(&made, LEAT_SPAN_LAUNCH, k, NULL)->value == value;
    }
    assert_int_equal(found, 1);
  }
  leat_recording_free(made.recording);
}

static void kinds_of_work(void** state) {
  static const struct {
    leat_gpu_record_kind_t kind;
    leat_span_kind_t span;
    const char* name;
  } kCases[] = {{LEAT_GPU_COPY_IN, LEAT_SPAN_COPY, "copy to the device"},
                {LEAT_GPU_COPY_OUT, LEAT_SPAN_COPY, "copy from the device"},
                {LEAT_GPU_COPY_ACROSS, LEAT_SPAN_COPY, "copy between devices"},
                {LEAT_GPU_COPY_WITHIN, LEAT_SPAN_STREAM, "copy within the device"},
                {LEAT_GPU_FILL, LEAT_SPAN_STREAM, "fill"}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    made_t made = make();
    const leat_gpu_record_t records[] = {record(kCases[i].kind, 5, 650, 690),
                                         call(101, 5, 150, 160)};
    add(&made, records, 2);
    assert_int_equal(count_of(&made, kCases[i].span), 1);
    expect_name(&made, find(&made, kCases[i].span, 0, NULL), "a", kCases[i].name, 9);
    assert_int_equal(count_of(&made, LEAT_SPAN_LAUNCH), 1);
    leat_recording_free(made.recording);
  }
}

// ---- Rows ---------------------------------------------------------------------------------------

static void streams_have_rows(void** state) {
  made_t made = make();
  leat_gpu_record_t records[] = {kernel("k", 1, 700, 710), kernel("k", 2, 700, 710),
                                 kernel("k", 3, 700, 710), kernel("k", 4, 710, 720),
                                 kernel("k", 5, 705, 730), kernel("k", 6, 740, 750)};
  records[1].device = 1;
  records[2].stream = 13;
  records[5].context = 1;
  add(&made, records, 6);
  // Stream 7 of device 0 did two things at once, and each context has a stream 7 of its own.
  static const char* const kRows[] = {"GPU 0 stream 7", "GPU 0 stream 7", "GPU 0 stream 13",
                                      "GPU 0 stream 7", "GPU 1 stream 7"};
  assert_int_equal(made.recording->thread_count, 2 + 5);
  for (uint32_t i = 0; i < 5; ++i) {
    assert_string_equal(made.recording->threads[2 + i].name, kRows[i]);
    assert_int_equal(made.recording->threads[2 + i].id, FIRST_ROW + 2 + i);
  }
  leat_recording_free(made.recording);
}

// What has no times, or none within the recording, is left out; times that are no times do no harm.
static void times_are_checked(void** state) {
  made_t made = make();
  leat_gpu_record_t records[] = {kernel("k", 1, 0, END / 2), kernel("k", 2, END / 2, END + 1),
                                 kernel("k", 3, 20, 10),     kernel("k", 4, 10, 20),
                                 kernel("k", 5, 10, 20),     kernel("k", 6, 10, 20),
                                 kernel("k", 7, 10, 20),     kernel("k", 8, 10, 20)};
  records[3].begin = records[3].end = 0;
  records[4].end = 0;
  records[5].end = UINT64_MAX;
  records[6].begin = 1;
  records[7].kind = (leat_gpu_record_kind_t)77;
  add(&made, records, 8);
  assert_int_equal(count_of(&made, LEAT_SPAN_STREAM), 0);
  assert_int_equal(made.recording->thread_count, 2);  // and no empty row
  // Two readings of the clocks at one moment say nothing of their pace.
  const leat_gpu_clock_t still = {GPU_BEGIN, GPU_BEGIN, 50, 50};
  assert_int_equal(leat_gpu_clock_apply(&still, GPU_BEGIN + 1000), 50);
  leat_recording_free(made.recording);
}

// More at once than a stream gets rows: the rest is counted.
static void too_much_at_once_is_lost(void** state) {
  made_t made = make();
  leat_gpu_record_t records[70];
  for (uint32_t i = 0; i < 70; ++i) records[i] = kernel("k", i + 1, 700 + i, 900 + i);
  add(&made, records, 70);
  assert_int_equal(made.recording->thread_count, 2 + 64);
  assert_int_equal(count_of(&made, LEAT_SPAN_STREAM), 64);
  assert_int_equal(made.recording->lost, 6);
  leat_recording_free(made.recording);
}

// ---- Random records -----------------------------------------------------------------------------

#define WORKS 300

static uint32_t draw(uint32_t* seed, uint32_t below) {
  *seed = *seed * 1664525 + 1013904223;
  return (*seed >> 8) % below;
}

// A call and its work for each number, shuffled.
static void draw_records(uint32_t* seed, leat_gpu_record_t records[2 * WORKS]) {
  for (uint32_t i = 0; i < WORKS; ++i) {
    const int64_t time = 10 + draw(seed, 1000), begin = time + draw(seed, 2000);
    records[2 * i] = call(101 + draw(seed, 2), i + 1, time, time + 5);
    records[2 * i + 1] = kernel("k", i + 1, begin, begin + 1 + draw(seed, 30));
    records[2 * i + 1].stream = draw(seed, 4);
    records[2 * i + 1].device = draw(seed, 2);
  }
  for (uint32_t i = 2 * WORKS - 1; i > 0; --i) {
    const uint32_t other = draw(seed, i + 1);
    const leat_gpu_record_t moved = records[i];
    records[i] = records[other];
    records[other] = moved;
  }
}

// That each piece of work is on the row of a stream, behind the one before it, and has one launch.
static void check_rows(const made_t* made) {
  size_t launches = 0, works = 0;
  for (const leat_span_chunk_t* chunk = made->recording->first; chunk; chunk = chunk->next) {
    const bool is_stream = made->recording->threads[chunk->thread].id >= FIRST_ROW;
    for (uint32_t i = 0; i < chunk->count; ++i) {
      const leat_span_t* span = &chunk->spans[i];
      assert_true(is_stream == (span->kind == LEAT_SPAN_STREAM));
      works += is_stream;
      launches += span->kind == LEAT_SPAN_LAUNCH;
      if (is_stream && i > 0) assert_true(span[-1].end <= span->begin);
    }
  }
  assert_int_equal(works, WORKS);
  assert_int_equal(launches, WORKS);
  for (size_t i = 0; i < WORKS; ++i) {
    const leat_span_t* launch = find(made, LEAT_SPAN_LAUNCH, i, NULL);
    size_t found = 0;
    for (size_t k = 0; k < WORKS; ++k) {
      const leat_span_t* work = find(made, LEAT_SPAN_STREAM, k, NULL);
      if (work->value != launch->value) continue;
      assert_true(work->begin >= launch->begin && work->name == launch->name);
      ++found;
    }
    assert_int_equal(found, 1);
  }
}

static void random_records(void** state) {
  leat_gpu_record_t records[2 * WORKS];
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    uint32_t drawn = seed;
    made_t made = make();
    draw_records(&drawn, records);
    add(&made, records, 2 * WORKS);
    check_rows(&made);
    leat_recording_free(made.recording);
  }
}

static void memory_ends(void** state) {
  const leat_gpu_record_t records[] = {call(101, 5, 150, 160), kernel("k", 5, 700, 710),
                                       call(102, 6, 150, 160), kernel("l", 6, 700, 710)};
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    made_t made = make();
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_gpu_spans_add(records, 4, &kClock, made.recording);
    const bool has_failed = leat_fault_remove(&fault);
    assert_int_equal(leat_status_code(status), has_failed ? LEAT_RESOURCE_EXHAUSTED : LEAT_OK);
    leat_status_free(status);
    leat_recording_free(made.recording);
    if (!has_failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_is_joined_with_its_launch),
      cmocka_unit_test(kernel_is_found),
      cmocka_unit_test(kernel_of_another_thread),
      cmocka_unit_test(outermost_call_counts),
      cmocka_unit_test(work_without_launch),
      cmocka_unit_test(call_begins_several),
      cmocka_unit_test(kinds_of_work),
      cmocka_unit_test(streams_have_rows),
      cmocka_unit_test(times_are_checked),
      cmocka_unit_test(too_much_at_once_is_lost),
      cmocka_unit_test(random_records),
      cmocka_unit_test(memory_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
