// The delay finder on recordings that are made from seeds, since a real one depends on the machine.
// A program is imitated span by span as the tracer records it: a caller runs steps, each takes a
// batch from a queue, computes a chain of kernels, two branches on the threads of a pool, has a
// device copy something to the host, and computes a tail; a feeder's steps read a file, decode it
// and fill the queue; in every other trial another caller runs steps of its own. Kernels vary, and
// now and then wait a little for a lock, a core or memory. Into this one delay of a known kind is
// planted, in one step or in all, and the finder must name it first.
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

enum { CALLER, FEEDER, POOL, OTHER = POOL + BRANCHES, STREAM };

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
  uint32_t kernels[KERNELS], dequeue, enqueue, read, decode, foreign, copy;  // names
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

// The caller waits at |time| for what a stream copies; returns when it goes on.
static int64_t copy_back(program_t* p, int64_t time, int step) {
  leat_philox_t* random = &p->random;
  const int64_t begin = time + between(random, 3 * US, 15 * US) +
                        planted(p, step, LEAT_DELAY_STREAM);
  const int64_t end = begin + between(random, 20 * US, 60 * US) +
                      planted(p, step, LEAT_DELAY_COPY);
  const int64_t woken = end + between(random, 5 * US, 15 * US);
  add(p, CALLER, time + US, time + US, LEAT_SPAN_LAUNCH, p->copy, 7000 + step);
  add(p, STREAM, begin, end, LEAT_SPAN_COPY, p->copy, 7000 + step);
  add(p, CALLER, time + 2 * US, woken, LEAT_SPAN_WAIT, 0, 0);
  return woken;
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
  now = copy_back(p, woken, step);
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
  static const char* const kThreads[] = {"main", "feeder", "leat_pool", "leat_pool", "other",
                                         "stream 0"};
  test_recording_t* r = &p->recording;
  for (size_t i = 0; i < sizeof kThreads / sizeof *kThreads; ++i) test_add_thread(r, kThreads[i]);
  for (int i = 0; i < KERNELS; ++i) p->kernels[i] = test_add_name(r, kNodes[i], kOps[i]);
  p->dequeue = test_add_name(r, "next", "QueueDequeueV2");
  p->enqueue = test_add_name(r, "put", "QueueEnqueueV2");
  p->read = test_add_name(r, "read", "ReadFile");
  p->decode = test_add_name(r, "decode", "DecodePng");
  p->foreign = test_add_name(r, "foreign", "Exp");
  p->copy = test_add_name(r, "logits", "copy from the device");
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
    case LEAT_DELAY_COPY:
    case LEAT_DELAY_STREAM: return "logits";
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
      LEAT_DELAY_COMPUTE, LEAT_DELAY_COPY, LEAT_DELAY_STREAM};
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_planted_delay_is_named_first),
      cmocka_unit_test(a_path_fills_its_step),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
