// The delay finder on recordings that are made from seeds, since a real one depends on the machine.
// A program is imitated span by span as the tracer records it: a caller runs steps, each takes a
// batch from a queue, computes a chain of kernels, two branches on the threads of a pool, and a
// tail; a feeder's steps read a file, decode it and fill the queue; in every other trial another
// caller runs steps of its own. Kernels vary, and now and then wait a little for a lock, a
// core or memory. Into this one delay of a known kind is planted, in one step or in all, and the
// finder must name it first.
#include "trace/delay.h"

#include "base/checked.h"
#include "base/random.h"
#include "scratch.h"
#include "trace/test_recording.h"

#define US INT64_C(1000)
#define TRIALS 200
#define STEPS 15
#define CHAIN 4
#define BRANCHES 2
#define BRANCH_KERNELS 2
#define KERNELS (CHAIN + BRANCHES * BRANCH_KERNELS + 2)  // two are the tail

enum { CALLER, FEEDER, POOL, OTHER = POOL + BRANCHES };

// What is planted: a cause, and of those that hit a kernel which one.
typedef struct plant_s {
  uint32_t cause;
  int kernel;
  int step;  // -1: all
  int64_t ns;
} plant_t;

typedef struct program_s {
  test_recording_t recording;
  leat_philox_t random;
  plant_t plant;
  uint32_t kernels[KERNELS], dequeue, enqueue, read, decode, foreign;  // names
  int64_t lengths[KERNELS];
  int64_t feeder_ns, pool_ns[BRANCHES];  // since when they have nothing to do
} program_t;

static int64_t between(leat_philox_t* random, int64_t low, int64_t high) {
  uint32_t words[4];
  leat_philox_next(random, words);
  return low + (int64_t)(words[0] % (uint32_t)(high - low + 1));
}

static bool happens(leat_philox_t* random, int percent) {
  return between(random, 1, 100) <= percent;
}

static void add(program_t* p, uint32_t thread, int64_t begin, int64_t end, leat_span_kind_t kind,
                uint32_t name, int64_t value) {
  test_add_span(&p->recording, thread, begin, end, kind, name, value);
}

// How long the planted delay is for |cause| in this step.
static int64_t planted(const program_t* p, int step, uint32_t cause) {
  const bool is_here = p->plant.step < 0 || p->plant.step == step;
  return is_here && p->plant.cause == cause ? p->plant.ns : 0;
}

// A kernel that begins at |begin|; returns its end.
static int64_t run_kernel(program_t* p, uint32_t thread, int64_t begin, int step, int kernel) {
  static const struct {
    leat_span_kind_t kind;
    uint32_t cause;
    int64_t value, most;
    int percent;
  } kTroubles[] = {{LEAT_SPAN_LOCK, LEAT_DELAY_LOCK, 0, 15 * US, 20},
                   {LEAT_SPAN_OFF_CORE, LEAT_DELAY_PREEMPTED, 1, 20 * US, 20},
                   {LEAT_SPAN_MEMORY, LEAT_DELAY_MEMORY, 4096, 5 * US, 10}};
  const bool is_hit = kernel == p->plant.kernel;
  int64_t now = begin + p->lengths[kernel] * between(&p->random, 95, 105) / 200;
  for (size_t i = 0; i < sizeof kTroubles / sizeof *kTroubles; ++i) {
    int64_t length = happens(&p->random, kTroubles[i].percent)
                         ? between(&p->random, US, kTroubles[i].most)
                         : 0;
    if (is_hit) length += planted(p, step, kTroubles[i].cause);
    if (length) add(p, thread, now, now + length, kTroubles[i].kind, 0, kTroubles[i].value);
    now += length + US;
  }
  if (is_hit) now += planted(p, step, LEAT_DELAY_COMPUTE);
  now += p->lengths[kernel] * between(&p->random, 95, 105) / 200;
  add(p, thread, begin, now, LEAT_SPAN_KERNEL, p->kernels[kernel], 4096);
  return now;
}

// The feeder's step for the step that begins at |time|; returns when the queue has a batch.
static int64_t feed(program_t* p, int64_t time, int step) {
  leat_philox_t* random = &p->random;
  int64_t now = time - between(random, 60 * US, 150 * US) + planted(p, step, LEAT_DELAY_INPUT);
  const int64_t begin = now = LEAT_MAX(now, p->feeder_ns + US);
  add(p, FEEDER, p->feeder_ns, begin, LEAT_SPAN_OFF_CORE, 0, 0);
  const int64_t read = now + US;
  now = read + between(random, 5 * US, 10 * US);
  const int64_t slept = between(random, 20 * US, 60 * US) + planted(p, step, LEAT_DELAY_SYSTEM);
  add(p, FEEDER, now, now + slept, LEAT_SPAN_OFF_CORE, 0, 0);
  now += slept + between(random, 5 * US, 10 * US);
  add(p, FEEDER, read, now, LEAT_SPAN_KERNEL, p->read, 0);
  const int64_t decode = now + US;
  now = decode + between(random, 30 * US, 60 * US) + planted(p, step, LEAT_DELAY_INPUT_WORK);
  add(p, FEEDER, decode, now, LEAT_SPAN_KERNEL, p->decode, 4096);
  add(p, FEEDER, now + US, now + 3 * US, LEAT_SPAN_ASYNC_KERNEL, p->enqueue, 4096);
  add(p, FEEDER, begin, now + 8 * US, LEAT_SPAN_STEP, 0, 1000 + step);
  p->feeder_ns = now + 9 * US;
  return now + 2 * US;
}

// A thread of the pool has nothing to do until |time|.
static void park(program_t* p, int thread, int64_t time) {
  if (time <= p->pool_ns[thread]) return;
  add(p, POOL + (uint32_t)thread, p->pool_ns[thread], time, LEAT_SPAN_PARK, 0, 0);
  p->pool_ns[thread] = time;
}

// A task of somebody else from |begin| to |end|.
static void occupy(program_t* p, int thread, int64_t begin, int64_t end) {
  park(p, thread, begin);
  add(p, POOL + (uint32_t)thread, begin + US, end - US, LEAT_SPAN_KERNEL, p->foreign, 64);
  add(p, POOL + (uint32_t)thread, begin, end, LEAT_SPAN_TASK, 0, US);
  p->pool_ns[thread] = end;
}

// The branches are queued at |fork|; returns when the last has ended.
static int64_t run_branches(program_t* p, int64_t fork, int step) {
  const int64_t busy = planted(p, step, LEAT_DELAY_QUEUED);
  int64_t join = 0;
  for (int b = 0; b < BRANCHES; ++b) {
    if (busy) occupy(p, b, fork - 30 * US, fork + busy);
    const int64_t begin = fork + busy + between(&p->random, 2 * US, 10 * US);
    if (!busy) park(p, b, begin);
    int64_t now = begin;
    for (int k = 0; k < BRANCH_KERNELS; ++k) {
      now = run_kernel(p, POOL + (uint32_t)b, now + US, step, CHAIN + b * BRANCH_KERNELS + k);
    }
    add(p, POOL + (uint32_t)b, begin, now + US, LEAT_SPAN_TASK, 0, begin - fork);
    p->pool_ns[b] = now + 2 * US;
    join = LEAT_MAX(join, now + US);
  }
  return join;
}

// A step that begins at |begin|; returns its end.
static int64_t run_step(program_t* p, int64_t begin, int step) {
  leat_philox_t* random = &p->random;
  const int64_t ready = LEAT_MAX(feed(p, begin, step), begin + 4 * US);
  int64_t now = begin + 10 * US;
  add(p, FEEDER, begin + 3 * US, ready, LEAT_SPAN_ASYNC_KERNEL, p->dequeue, 8);
  if (ready > now) {
    const int64_t woken = ready + between(random, 5 * US, 30 * US);
    add(p, CALLER, now, woken, LEAT_SPAN_WAIT, 0, 0);
    add(p, CALLER, now + US, woken - 2 * US, LEAT_SPAN_OFF_CORE, 0, 0);
    now = woken;
  }
  for (int k = 0; k < CHAIN; ++k) now = run_kernel(p, CALLER, now + US, step, k);
  const int64_t join = run_branches(p, now + US, step);
  const int64_t woken = join + between(random, 5 * US, 30 * US) +
                        planted(p, step, LEAT_DELAY_WAKE);
  add(p, CALLER, now + 2 * US, woken, LEAT_SPAN_WAIT, 0, 0);
  now = woken;
  for (int k = KERNELS - 2; k < KERNELS; ++k) now = run_kernel(p, CALLER, now + US, step, k);
  add(p, CALLER, begin, now + US, LEAT_SPAN_STEP, 0, 1 + step);
  return now + US;
}

// Steps that have nothing to do with the others.
static void run_other(program_t* p, int64_t begin, int64_t end) {
  leat_philox_t* random = &p->random;
  for (int i = 0; begin < end; ++i) {
    const int64_t length = between(random, 50 * US, 150 * US);
    add(p, OTHER, begin + US, begin + length - US, LEAT_SPAN_KERNEL, p->foreign, 64);
    add(p, OTHER, begin, begin + length, LEAT_SPAN_STEP, 0, 5000 + i);
    begin += length + between(random, 100 * US, 600 * US);
  }
}

static void make_names(program_t* p) {
  static const char* const kNodes[KERNELS] = {"conv1", "relu1", "conv2", "pool2", "left/a",
                                              "left/b", "right/a", "right/b", "loss", "update"};
  static const char* const kOps[KERNELS] = {"Conv2D", "Relu", "Conv2D", "MaxPool", "MatMul",
                                            "Add", "MatMul", "Mul", "Sum", "ApplyAdam"};
  static const char* const kThreads[] = {"main", "feeder", "leat_pool", "leat_pool", "other"};
  test_recording_t* r = &p->recording;
  for (size_t i = 0; i < sizeof kThreads / sizeof *kThreads; ++i) test_add_thread(r, kThreads[i]);
  for (int i = 0; i < KERNELS; ++i) p->kernels[i] = test_add_name(r, kNodes[i], kOps[i]);
  p->dequeue = test_add_name(r, "next", "QueueDequeueV2");
  p->enqueue = test_add_name(r, "put", "QueueEnqueueV2");
  p->read = test_add_name(r, "read", "ReadFile");
  p->decode = test_add_name(r, "decode", "DecodePng");
  p->foreign = test_add_name(r, "foreign", "Exp");
}

// Makes the recording of a trial, and reads it.
static leat_timeline_t* make(program_t* p, uint64_t seed, plant_t plant) {
  *p = (program_t){.random = leat_philox_make(seed, 17), .plant = plant};
  test_recording_initialize(&p->recording);
  make_names(p);
  for (int i = 0; i < KERNELS; ++i) p->lengths[i] = between(&p->random, 50 * US, 150 * US);
  const int64_t first = 1000 * US;
  int64_t now = first;
  p->feeder_ns = p->pool_ns[0] = p->pool_ns[1] = US;
  for (int step = 0; step < STEPS; ++step) {
    now = run_step(p, now, step) + between(&p->random, 20 * US, 100 * US);
  }
  if (seed % 2) run_other(p, first, now);
  leat_timeline_t* timeline = test_recording_read_back(&p->recording, "trial.perfetto-trace");
  test_recording_deinitialize(&p->recording);
  return timeline;
}

// The node that a delay of the cause is told of; NULL: of none.
static const char* node_of(const plant_t* plant) {
  static const char* const kNodes[KERNELS] = {"conv1", "relu1", "conv2", "pool2", "left/a",
                                              "left/b", "right/a", "right/b", "loss", "update"};
  switch (plant->cause) {
    case LEAT_DELAY_INPUT:
    case LEAT_DELAY_INPUT_WORK: return "next";
    case LEAT_DELAY_SYSTEM: return "read";
    case LEAT_DELAY_QUEUED:
    case LEAT_DELAY_WAKE: return NULL;
    default: return kNodes[plant->kernel];
  }
}

// Whether the finder names what was planted first. The first of the list is |*out_first|.
static bool is_found(const leat_delays_t* delays, const plant_t* plant, leat_delay_t* out_first) {
  leat_arena_t arena;
  leat_delay_t* list;
  size_t count;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  const leat_step_group_t* group = &delays->groups[delays->main_group];
  LEAT_EXPECT_OK(plant->step < 0
                     ? leat_delays_of_group(delays, delays->main_group, &arena, &list, &count)
                     : leat_delays_of_step(delays, group->slowest, &arena, &list, &count));
  assert_true(count > 0);
  *out_first = list[0];
  leat_arena_deinitialize(&arena);
  const char* node = node_of(plant);
  if (plant->step >= 0 && delays->steps[group->slowest].number != 1 + plant->step) return false;
  if (out_first->cause != plant->cause) return false;
  if (!node || out_first->name == LEAT_NO_NAME) return !node && out_first->name == LEAT_NO_NAME;
  return leat_string_view_equals(delays->timeline->names[out_first->name].node, node);
}

static plant_t choose(uint64_t seed) {
  static const uint32_t kCauses[] = {
      LEAT_DELAY_INPUT, LEAT_DELAY_INPUT_WORK, LEAT_DELAY_QUEUED, LEAT_DELAY_WAKE,
      LEAT_DELAY_PREEMPTED, LEAT_DELAY_LOCK, LEAT_DELAY_SYSTEM, LEAT_DELAY_MEMORY,
      LEAT_DELAY_COMPUTE};
  leat_philox_t random = leat_philox_make(seed, 99);
  plant_t plant = {.cause = kCauses[seed % (sizeof kCauses / sizeof *kCauses)]};
  plant.kernel = (int)between(&random, 0, KERNELS - 1);
  plant.ns = between(&random, 400 * US, 3000 * US);
  plant.step = (int)between(&random, 2, STEPS - 1);
  if (plant.cause != LEAT_DELAY_COMPUTE && happens(&random, 50)) plant.step = -1;
  return plant;
}

static void a_planted_delay_is_named_first(void** state) {
  static program_t program;
  int found = 0;
  for (uint64_t seed = 0; seed < TRIALS; ++seed) {
    const plant_t plant = choose(seed);
    leat_timeline_t* timeline = make(&program, seed, plant);
    leat_delays_t* delays;
    leat_delay_t first;
    LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
    if (is_found(delays, &plant, &first)) {
      ++found;
    } else {
      leat_string_builder_t text;
      leat_string_builder_initialize(leat_allocator_system(), &text);
      leat_delay_print(delays, &first, &text);
      print_message("seed %d: %s of %s, %d us, was planted in %d; found: %s\n", (int)seed,
                    leat_delay_cause_name(plant.cause), node_of(&plant) ? node_of(&plant) : "none",
                    (int)(plant.ns / US), plant.step, text.data);
      leat_string_builder_deinitialize(&text);
    }
    leat_delays_free(delays);
    leat_timeline_free(timeline);
  }
  print_message("%d of %d planted delays were named first\n", found, TRIALS);
  assert_true(found >= TRIALS * 95 / 100);
}

// The pieces of a path fill its step, in order, without a gap.
static void a_path_fills_its_step(void** state) {
  static program_t program;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    leat_timeline_t* timeline = make(&program, seed, choose(seed));
    leat_delays_t* delays;
    LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
    assert_true(delays->step_count >= 2 * STEPS);
    assert_int_equal(delays->groups[delays->main_group].count, STEPS);
    for (size_t i = 0; i < delays->step_count; ++i) {
      const leat_step_t* step = &delays->steps[i];
      leat_arena_t arena;
      leat_path_piece_t* pieces;
      size_t count;
      leat_arena_initialize(leat_allocator_system(), 0, &arena);
      LEAT_EXPECT_OK(leat_delays_path(delays, i, &arena, &pieces, &count));
      int64_t now = step->begin_ns;
      for (size_t k = 0; k < count; ++k) {
        assert_int_equal(pieces[k].begin_ns, now);
        now = pieces[k].end_ns;
      }
      assert_int_equal(now, step->end_ns);
      leat_arena_deinitialize(&arena);
    }
    leat_delays_free(delays);
    leat_timeline_free(timeline);
  }
}

// ---- Single recordings --------------------------------------------------------------------------

typedef struct found_s {
  leat_timeline_t* timeline;
  leat_delays_t* delays;
  leat_arena_t arena;
} found_t;

static void find(test_recording_t* recording, found_t* out_found) {
  out_found->timeline = test_recording_read_back(recording, "found.perfetto-trace");
  test_recording_deinitialize(recording);
  leat_arena_initialize(leat_allocator_system(), 0, &out_found->arena);
  LEAT_EXPECT_OK(leat_delays_find(out_found->timeline, &out_found->delays));
}

static void free_found(found_t* found) {
  leat_arena_deinitialize(&found->arena);
  leat_delays_free(found->delays);
  leat_timeline_free(found->timeline);
}

static void expect_report(test_recording_t* recording, const char* expected) {
  found_t found;
  leat_string_builder_t report;
  find(recording, &found);
  leat_string_builder_initialize(leat_allocator_system(), &report);
  LEAT_EXPECT_OK(leat_delays_report(found.delays, &report));
  assert_string_equal(report.data, expected);
  leat_string_builder_deinitialize(&report);
  free_found(&found);
}

// Three steps; the kernel of the last waits for a lock that the second thread holds.
static void the_report_tells_who_held_the_lock(void** state) {
  test_recording_t r;
  test_recording_initialize(&r);
  const uint32_t main_thread = test_add_thread(&r, "main");
  test_add_thread(&r, "saver");
  const uint32_t conv = test_add_name(&r, "conv1", "Conv2D");
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t begin = (1 + i) * 10000 * US, waited = i == 2 ? 3100 * US : 0;
    test_add_span(&r, main_thread, begin, begin + 1000 * US + waited, LEAT_SPAN_STEP, 0, i + 1);
    test_add_span(&r, main_thread, begin + US, begin + 900 * US + waited, LEAT_SPAN_KERNEL, conv,
                  4);
    if (!waited) continue;
    test_add_span(&r, main_thread, begin + 2 * US, begin + 2 * US + waited, LEAT_SPAN_LOCK, 0,
                  101);
  }
  expect_report(&r,
      "3 of 3 steps are alike and took the most time, on thread 100 (main).\n"
      "A step takes 1.00 ms (median); the slowest, step 3, took 4.10 ms.\n"
      "\n"
      "What a step would gain, on average, without\n"
      "  1.03 ms: Conv2D 'conv1' waited 1.03 ms for a lock that thread 101 (saver) held "
      "(median step: 0 ns)\n"
      "\n"
      "Why the slowest step took longer than the median\n"
      "  3.10 ms: Conv2D 'conv1' waited 3.10 ms for a lock that thread 101 (saver) held "
      "(median step: 0 ns)\n");
}

static void a_recording_without_steps_is_told(void** state) {
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_span(&r, 0, 100, 200, LEAT_SPAN_TASK, 0, 0);
  expect_report(&r, "The recording has no step.\n");
}

// The row of the path's only piece in which a kernel computes.
static uint32_t row_that_computes(test_recording_t* recording) {
  found_t found;
  leat_path_piece_t* pieces;
  size_t count;
  uint32_t row = UINT32_MAX;
  find(recording, &found);
  LEAT_EXPECT_OK(leat_delays_path(found.delays, 0, &found.arena, &pieces, &count));
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].cause != LEAT_DELAY_COMPUTE) continue;
    assert_int_equal(row, UINT32_MAX);
    row = pieces[i].row;
  }
  free_found(&found);
  return row;
}

// A kernel of a task of the pool begins a dequeue, whose end the caller waits for.
static void who_began_an_asynchronous_kernel_is_followed(void** state) {
  test_recording_t r;
  test_recording_initialize(&r);
  for (int i = 0; i < 3; ++i) test_add_thread(&r, i == 2 ? "feeder" : i ? "leat_pool" : "main");
  const uint32_t mul = test_add_name(&r, "mul", "MatMul");
  const uint32_t next = test_add_name(&r, "next", "QueueDequeueV2");
  test_add_span(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1300, 8500, LEAT_SPAN_WAIT, 0, 0);
  test_add_span(&r, 1, 1400, 3200, LEAT_SPAN_TASK, 0, 200);
  test_add_span(&r, 1, 1500, 3150, LEAT_SPAN_KERNEL, mul, 0);
  test_add_span(&r, 2, 3100, 8000, LEAT_SPAN_ASYNC_KERNEL, next, 0);
  assert_int_equal(row_that_computes(&r), 1);
}

// A step that waits while two threads compute, the second of which ends first. Where the recording
// names who ended the wait, that thread is followed, and else the one that ended last.
static uint32_t row_that_is_followed(int64_t woken_by) {
  test_recording_t r;
  test_recording_initialize(&r);
  for (int i = 0; i < 3; ++i) test_add_thread(&r, i ? "leat_pool" : "main");
  const uint32_t add_n = test_add_name(&r, "add", "AddN");
  test_add_span(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 2000, 8500, LEAT_SPAN_WAIT, 0, woken_by);
  test_add_span(&r, 1, 2000, 8000, LEAT_SPAN_TASK, 0, 100);
  test_add_span(&r, 1, 2100, 7900, LEAT_SPAN_KERNEL, add_n, 0);
  test_add_span(&r, 2, 2000, 7000, LEAT_SPAN_TASK, 0, 100);
  test_add_span(&r, 2, 2100, 6900, LEAT_SPAN_KERNEL, add_n, 0);
  return row_that_computes(&r);
}

static void who_ended_a_wait_is_followed(void** state) {
  assert_int_equal(row_that_is_followed(0), 1);
  assert_int_equal(row_that_is_followed(102), 2);
}

// A dequeue that waits from 1200 to 5000 for a feeder, which is asleep up to 3000 and then decodes.
static void a_path_goes_through_the_queue(void** state) {
  static const struct {
    int64_t begin;
    uint32_t row, cause;
  } kExpected[] = {
      {1000, 0, LEAT_DELAY_RUNTIME},    {1100, 0, LEAT_DELAY_COMPUTE},
      {1200, 1, LEAT_DELAY_INPUT},      {3000, 1, LEAT_DELAY_INPUT_WORK},
      {3100, 1, LEAT_DELAY_INPUT_WORK}, {4800, 1, LEAT_DELAY_INPUT_WORK},
      {5000, 0, LEAT_DELAY_WAKE},       {5400, 0, LEAT_DELAY_RUNTIME},
      {5500, 0, LEAT_DELAY_COMPUTE},    {7000, 0, LEAT_DELAY_RUNTIME}};
  test_recording_t r;
  found_t found;
  leat_path_piece_t* pieces;
  size_t count;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "feeder");
  const uint32_t queue = test_add_name(&r, "queue", "FIFOQueueV2");
  const uint32_t next = test_add_name(&r, "next", "QueueDequeueV2");
  const uint32_t decode = test_add_name(&r, "decode", "DecodePng");
  const uint32_t mul = test_add_name(&r, "mul", "MatMul");
  test_add_span(&r, 0, 1000, 7100, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1100, 1200, LEAT_SPAN_KERNEL, queue, 0);
  test_add_span(&r, 1, 1200, 5000, LEAT_SPAN_ASYNC_KERNEL, next, 8);
  test_add_span(&r, 0, 1300, 5400, LEAT_SPAN_WAIT, 0, 0);
  test_add_span(&r, 0, 5500, 7000, LEAT_SPAN_KERNEL, mul, 64);
  test_add_span(&r, 1, 500, 3000, LEAT_SPAN_OFF_CORE, 0, 0);
  test_add_span(&r, 1, 3000, 5300, LEAT_SPAN_STEP, 0, 2);
  test_add_span(&r, 1, 3100, 4800, LEAT_SPAN_KERNEL, decode, 64);
  find(&r, &found);
  LEAT_EXPECT_OK(leat_delays_path(found.delays, 0, &found.arena, &pieces, &count));
  assert_int_equal(count, sizeof kExpected / sizeof *kExpected);
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(pieces[i].begin_ns, kExpected[i].begin);
    assert_int_equal(pieces[i].row, kExpected[i].row);
    assert_int_equal(pieces[i].cause, kExpected[i].cause);
  }
  free_found(&found);
}

// Two branches, of which the longer waits 3000 for a lock: without it the other is the longer one,
// which ends 2000 before.
static void another_branch_limits_the_gain(void** state) {
  test_recording_t r;
  found_t found;
  leat_delay_t* list;
  size_t count;
  test_recording_initialize(&r);
  for (int i = 0; i < 3; ++i) test_add_thread(&r, i ? "leat_pool" : "main");
  const uint32_t left = test_add_name(&r, "left", "MatMul");
  const uint32_t right = test_add_name(&r, "right", "MatMul");
  test_add_span(&r, 0, 1000, 9500, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1200, 9200, LEAT_SPAN_WAIT, 0, 0);
  test_add_span(&r, 1, 1300, 9000, LEAT_SPAN_TASK, 0, 200);
  test_add_span(&r, 1, 1300, 9000, LEAT_SPAN_KERNEL, left, 64);
  test_add_span(&r, 1, 2000, 5000, LEAT_SPAN_LOCK, 0, 0);
  test_add_span(&r, 2, 1300, 7000, LEAT_SPAN_TASK, 0, 200);
  test_add_span(&r, 2, 1300, 7000, LEAT_SPAN_KERNEL, right, 64);
  find(&r, &found);
  LEAT_EXPECT_OK(leat_delays_of_group(found.delays, 0, &found.arena, &list, &count));
  assert_int_equal(list[0].cause, LEAT_DELAY_LOCK);
  assert_int_equal(list[0].total_ns, 3000);
  assert_int_equal(list[0].gain_ns, 2000);
  free_found(&found);
}

// Steps of one thread with the same first kernel, every other of which evaluates besides.
static void steps_are_compared_with_those_that_are_alike(void** state) {
  test_recording_t r;
  found_t found;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  const uint32_t train = test_add_name(&r, "train", "MatMul");
  const uint32_t evaluate = test_add_name(&r, "evaluate", "ArgMax");
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t begin = 1000 + i * 1000;
    test_add_span(&r, 0, begin, begin + 300 + i % 2 * 400, LEAT_SPAN_STEP, 0, i);
    test_add_span(&r, 0, begin + 10, begin + 290, LEAT_SPAN_KERNEL, train, 0);
    if (i % 2) test_add_span(&r, 0, begin + 300, begin + 600, LEAT_SPAN_KERNEL, evaluate, 0);
  }
  find(&r, &found);
  assert_int_equal(found.delays->group_count, 2);
  assert_int_equal(found.delays->groups[0].median_ns, 300);
  assert_int_equal(found.delays->groups[1].median_ns, 700);
  assert_int_equal(found.delays->main_group, 1);
  free_found(&found);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_planted_delay_is_named_first),
      cmocka_unit_test(a_path_fills_its_step),
      cmocka_unit_test(the_report_tells_who_held_the_lock),
      cmocka_unit_test(a_recording_without_steps_is_told),
      cmocka_unit_test(who_ended_a_wait_is_followed),
      cmocka_unit_test(who_began_an_asynchronous_kernel_is_followed),
      cmocka_unit_test(a_path_goes_through_the_queue),
      cmocka_unit_test(another_branch_limits_the_gain),
      cmocka_unit_test(steps_are_compared_with_those_that_are_alike),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
