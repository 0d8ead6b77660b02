// The delay finder on steps of two processes, made from seeds as in delay_test.c: a worker receives
// a weight that a parameter server reads and sends, multiplies, runs two branches one after the
// other on one thread, and sums up. The threads of both have the same numbers. One delay is
// planted, in one step or in all: the server begins late, computes longer or waits for a lock, the
// message is slow or its reading is, a kernel of the worker computes longer, or the two branches
// are long and stand in each other's way. The finder must name it first.
#include "trace/delay.h"

#include "base/checked.h"
#include "base/random.h"
#include "scratch.h"
#include "trace/test_recording.h"

#define US INT64_C(1000)
#define TRIALS 200
#define STEPS 15

enum { MAIN, RPC };  // threads of the worker; the server has RPC alone, with the number of MAIN
// Kernels of the worker, and then those of the server.
enum { IMAGES, RECV, MUL, LEFT_A, LEFT_B, RIGHT_A, RIGHT_B, LOSS, WORKER_KERNELS };
enum { VARIABLE, READ, SEND, SERVER_KERNELS };

static const char* const kWorkerNodes[] = {"images", "recv", "mul", "left/a", "left/b", "right/a",
                                           "right/b", "loss"};
static const char* const kServerNodes[] = {"weight", "weight/read", "send"};

// What can be planted.
typedef enum {
  PLANT_BEGIN, PLANT_SERVER, PLANT_SERVER_LOCK, PLANT_FLIGHT, PLANT_DECODE, PLANT_WORKER,
  PLANT_TURN, PLANTS
} plant_kind_t;

typedef struct plant_s {
  plant_kind_t kind;
  int kernel;
  int step;  // -1: all
  int64_t ns;
} plant_t;

typedef struct program_s {
  test_recording_t worker, server;
  leat_philox_t random;
  plant_t plant;
  int64_t lengths[WORKER_KERNELS];
} program_t;

static int64_t between(leat_philox_t* random, int64_t low, int64_t high) {
  uint32_t words[4];
  leat_philox_next(random, words);
  return low + (int64_t)(words[0] % (uint32_t)(high - low + 1));
}

static int64_t planted(const program_t* p, int step, plant_kind_t kind, int kernel) {
  const bool is_here = p->plant.step < 0 || p->plant.step == step;
  return is_here && p->plant.kind == kind && (kernel < 0 || kernel == p->plant.kernel) ? p->plant.ns
                                                                                    : 0;
}

static void make_names(program_t* p) {
  static const int kWorker[][2] = {{RECV, MUL},      {IMAGES, MUL},    {MUL, LEFT_A},
                                   {LEFT_A, LEFT_B}, {MUL, RIGHT_A},   {RIGHT_A, RIGHT_B},
                                   {LEFT_B, LOSS},   {RIGHT_B, LOSS},  {-1, 0}};
  static const int kServer[][2] = {{VARIABLE, READ}, {READ, SEND}, {-1, 0}};
  test_recording_initialize(&p->worker);
  test_recording_initialize(&p->server);
  test_add_thread(&p->worker, "main");
  test_add_thread(&p->worker, "rpc");
  test_add_thread(&p->server, "rpc");
  for (int i = 0; i < WORKER_KERNELS; ++i) {
    test_add_name(&p->worker, kWorkerNodes[i], i == RECV ? "_Recv" : "MatMul");
  }
  for (int i = 0; i < SERVER_KERNELS; ++i) test_add_name(&p->server, kServerNodes[i], "Identity");
  test_add_graph(&p->worker, 1, WORKER_KERNELS, kWorker);
  test_add_graph(&p->server, 1, SERVER_KERNELS, kServer);
}

// The server's part of the step that begins at |begin|; returns when the answer leaves.
static int64_t serve(program_t* p, int64_t begin, int step, int64_t message) {
  leat_philox_t* random = &p->random;
  int64_t now = begin + between(random, 30 * US, 80 * US) + planted(p, step, PLANT_BEGIN, -1);
  for (int k = 0; k < SERVER_KERNELS; ++k) {
    const int64_t from = now += US;
    now += between(random, 5 * US, 20 * US);
    const int64_t locked = planted(p, step, PLANT_SERVER_LOCK, k);
    if (locked) test_add_span(&p->server, 0, now, now + locked, LEAT_SPAN_LOCK, 0, 0);
    now += locked + US + planted(p, step, PLANT_SERVER, k);
    if (k == SEND) test_add_span(&p->server, 0, now, now, LEAT_SPAN_SEND, 0, message);
    now += US;
    test_add_span(&p->server, 0, from, now, LEAT_SPAN_KERNEL, 1 + (uint32_t)k, 64);
  }
  const int64_t encode = now + US;
  now = encode + between(random, 5 * US, 20 * US);
  test_add_span(&p->server, 0, encode, now, LEAT_SPAN_ENCODE, 0, message);
  return now;
}

// A kernel of the worker's main thread; returns its end.
static int64_t run_kernel(program_t* p, int64_t begin, int step, int kernel) {
  leat_philox_t* random = &p->random;
  int64_t now = begin + p->lengths[kernel] * between(random, 95, 105) / 100;
  if (between(random, 1, 10) == 1) {
    const int64_t lost = between(random, US, 10 * US);
    test_add_span(&p->worker, MAIN, now, now + lost, LEAT_SPAN_OFF_CORE, 0, 1);
    now += lost + US;
  }
  now += planted(p, step, PLANT_WORKER, kernel);
  if (kernel == LEFT_A || kernel == RIGHT_A) now += planted(p, step, PLANT_TURN, -1);
  test_add_span(&p->worker, MAIN, begin, now, LEAT_SPAN_KERNEL, 1 + (uint32_t)kernel, 64);
  return now;
}

// A step that begins at |begin|; returns its end.
static int64_t run_step(program_t* p, int64_t begin, int step) {
  leat_philox_t* random = &p->random;
  const int64_t message = 1000 + step;
  const int64_t left = serve(p, begin, step, message);
  const int64_t asked = begin + 10 * US;
  const int64_t came =
      left + between(random, 20 * US, 60 * US) + planted(p, step, PLANT_FLIGHT, -1);
  const int64_t read =
      came + between(random, 5 * US, 20 * US) + planted(p, step, PLANT_DECODE, -1);
  const int64_t ended = read + 2 * US;
  test_add_span(&p->worker, RPC, asked + US, came, LEAT_SPAN_FETCH, 0, message);
  test_add_span(&p->worker, RPC, came, read, LEAT_SPAN_DECODE, 0, message);
  test_add_span(&p->worker, RPC, read + US, read + US, LEAT_SPAN_RECEIVE, 1 + RECV, message);
  test_add_span(&p->worker, RPC, asked, ended, LEAT_SPAN_ASYNC_KERNEL, 1 + RECV, 0);
  int64_t now = run_kernel(p, begin + 12 * US, step, IMAGES);
  if (ended > now + US) {
    const int64_t woken = ended + between(random, 3 * US, 15 * US);
    test_add_span(&p->worker, MAIN, now + US, woken, LEAT_SPAN_WAIT, 0, 0);
    now = woken;
  }
  for (int k = MUL; k < WORKER_KERNELS; ++k) now = run_kernel(p, now + US, step, k);
  test_add_span(&p->worker, MAIN, begin, now + US, LEAT_SPAN_STEP, 0, 1 + step);
  return now + US;
}

static leat_timeline_t* make(program_t* p, uint64_t seed, plant_t plant) {
  leat_string_builder_t file;
  leat_timeline_t* timeline;
  *p = (program_t){.random = leat_philox_make(seed, 23), .plant = plant};
  make_names(p);
  for (int i = 0; i < WORKER_KERNELS; ++i) p->lengths[i] = between(&p->random, 20 * US, 60 * US);
  int64_t now = 1000 * US;
  for (int step = 0; step < STEPS; ++step) {
    now = run_step(p, now, step) + between(&p->random, 20 * US, 100 * US);
  }
  leat_string_builder_initialize(leat_allocator_system(), &file);
  test_recording_append(&p->worker, 1, &file);
  test_recording_append(&p->server, 2, &file);
  scratch_write_file("cluster.perfetto-trace", file.data, file.size);
  leat_string_builder_deinitialize(&file);
  test_recording_deinitialize(&p->worker);
  test_recording_deinitialize(&p->server);
  LEAT_EXPECT_OK(
      leat_timeline_read(leat_file_system_posix(), "cluster.perfetto-trace", &timeline));
  return timeline;
}

// The cause and the node that are to be named.
static uint32_t expected(const plant_t* plant, const char** out_node) {
  *out_node = "recv";
  switch (plant->kind) {
    case PLANT_BEGIN: return LEAT_DELAY_SENDER;
    case PLANT_FLIGHT: return LEAT_DELAY_FLIGHT;
    case PLANT_DECODE: return LEAT_DELAY_CODING;
    case PLANT_SERVER: *out_node = kServerNodes[plant->kernel]; return LEAT_DELAY_COMPUTE;
    case PLANT_SERVER_LOCK: *out_node = kServerNodes[plant->kernel]; return LEAT_DELAY_LOCK;
    case PLANT_TURN: *out_node = "left/a"; return LEAT_DELAY_TURN;
    default: break;
  }
  // The left branch runs first, and the right one is ready meanwhile.
  *out_node = kWorkerNodes[plant->kernel];
  const bool is_in_the_way = plant->kernel == LEFT_A || plant->kernel == LEFT_B;
  return is_in_the_way ? LEAT_DELAY_TURN : LEAT_DELAY_COMPUTE;
}

static plant_t choose(uint64_t seed) {
  static const int kKernels[] = {MUL, LEFT_A, LEFT_B, RIGHT_A, RIGHT_B, LOSS};
  leat_philox_t random = leat_philox_make(seed, 98);
  plant_t plant = {.kind = (plant_kind_t)(seed % PLANTS)};
  plant.ns = between(&random, 400 * US, 3000 * US);
  plant.step = (int)between(&random, 2, STEPS - 1);
  plant.kernel = plant.kind == PLANT_WORKER ? kKernels[between(&random, 0, 5)]
                                            : (int)between(&random, 0, SERVER_KERNELS - 1);
  const bool may_be_in_all = plant.kind != PLANT_WORKER && plant.kind != PLANT_SERVER;
  if (plant.kind == PLANT_TURN || (may_be_in_all && between(&random, 0, 1))) plant.step = -1;
  return plant;
}

// Whether what was planted is first in |delays|; else it is told what is.
static bool is_found(const leat_delays_t* delays, const plant_t* plant, uint64_t seed) {
  const leat_step_group_t* group = &delays->groups[delays->main_group];
  leat_arena_t arena;
  leat_delay_t* list;
  leat_string_builder_t text;
  const char* node;
  size_t count;
  const uint32_t cause = expected(plant, &node);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(plant->step < 0
                     ? leat_delays_of_group(delays, delays->main_group, &arena, &list, &count)
                     : leat_delays_of_step(delays, group->slowest, &arena, &list, &count));
  assert_true(count > 0);
  const leat_delay_t first = list[0];
  leat_arena_deinitialize(&arena);
  const bool is_it = first.cause == cause && first.name != LEAT_NO_NAME &&
                     leat_string_view_equals(delays->timeline->names[first.name].node, node);
  if (is_it) return true;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_delay_print(delays, &first, &text);
  print_message("seed %d: %s of %s, %d us, was planted in %d; found: %s\n", (int)seed,
                leat_delay_cause_name(cause), node, (int)(plant->ns / US), plant->step, text.data);
  leat_string_builder_deinitialize(&text);
  return false;
}

static void a_planted_delay_is_named_first(void** state) {
  static program_t program;
  int found = 0;
  for (uint64_t seed = 0; seed < TRIALS; ++seed) {
    const plant_t plant = choose(seed);
    leat_timeline_t* timeline = make(&program, seed, plant);
    leat_delays_t* delays;
    LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
    assert_int_equal(delays->groups[delays->main_group].count, STEPS);
    found += is_found(delays, &plant, seed);
    leat_delays_free(delays);
    leat_timeline_free(timeline);
  }
  print_message("%d of %d planted delays were named first\n", found, TRIALS);
  assert_true(found >= TRIALS * 95 / 100);
}

// The two branches are as long as each other, and without the left one in its way the right one,
// and with it the step, would end as much earlier as the shorter of both takes.
static void a_branch_in_the_way_is_told_with_its_gain(void** state) {
  static program_t program;
  const plant_t plant = {.kind = PLANT_TURN, .step = -1, .ns = 1000 * US};
  leat_timeline_t* timeline = make(&program, 1, plant);
  leat_delays_t* delays;
  leat_arena_t arena;
  leat_delay_t* list;
  leat_string_builder_t text;
  size_t count;
  LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_delays_of_group(delays, delays->main_group, &arena, &list, &count));
  assert_int_equal(list[0].cause, LEAT_DELAY_TURN);
  assert_in_range(list[0].gain_ns, 1000 * US, 1070 * US);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_delay_print(delays, &list[0], &text);
  assert_non_null(strstr(text.data, "MatMul 'left/a' computed for 1.0"));
  assert_non_null(strstr(text.data, " on the thread that MatMul 'right/a', which was ready, "));
  leat_string_builder_deinitialize(&text);
  leat_arena_deinitialize(&arena);
  leat_delays_free(delays);
  leat_timeline_free(timeline);
}

// With a left branch that is much longer than the right one, the step would not gain more than the
// whole right one takes, if that ran on another thread.
static void a_gain_is_limited_by_the_other_branch(void** state) {
  static program_t program;
  const plant_t plant = {.kind = PLANT_WORKER, .kernel = LEFT_A, .step = -1, .ns = 1000 * US};
  leat_timeline_t* timeline = make(&program, 2, plant);
  leat_delays_t* delays;
  leat_arena_t arena;
  leat_delay_t* list;
  size_t count;
  bool is_there = false;
  LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_delays_of_group(delays, delays->main_group, &arena, &list, &count));
  for (size_t i = 0; i < count; ++i) {
    if (list[i].cause != LEAT_DELAY_TURN) continue;
    const int64_t right_ns = program.lengths[RIGHT_A] + program.lengths[RIGHT_B];
    assert_true(list[i].total_ns < 1100 * US);
    assert_in_range(list[i].gain_ns, 1, right_ns * 3 / 2);
    is_there = true;
  }
  assert_true(is_there);
  leat_arena_deinitialize(&arena);
  leat_delays_free(delays);
  leat_timeline_free(timeline);
}

// A server runs the steps of a client on whichever thread is free.
static void steps_of_one_graph_are_alike_on_all_threads(void** state) {
  static const int kNone[][2] = {{-1, 0}};
  test_recording_t r;
  leat_delays_t* delays;
  leat_string_builder_t report;
  test_recording_initialize(&r);
  for (int i = 0; i < 2; ++i) test_add_thread(&r, "rpc");
  test_add_name(&r, "mul", "MatMul");
  test_add_graph(&r, 1, 1, kNone);
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t begin = 1000 + i * 1000;
    test_add_span(&r, (uint32_t)(i % 2), begin, begin + 300 + i, LEAT_SPAN_STEP, 0, i);
    test_add_span(&r, (uint32_t)(i % 2), begin + 10, begin + 290, LEAT_SPAN_KERNEL, 1, 0);
  }
  leat_timeline_t* timeline = test_recording_read_back(&r, "alike.perfetto-trace");
  test_recording_deinitialize(&r);
  LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
  assert_int_equal(delays->group_count, 1);
  leat_string_builder_initialize(leat_allocator_system(), &report);
  LEAT_EXPECT_OK(leat_delays_report(delays, &report));
  assert_non_null(strstr(report.data, "6 of 6 steps are alike and took the most time, on 2 "
                                      "threads, the slowest on thread 101 (rpc)."));
  leat_string_builder_deinitialize(&report);
  leat_delays_free(delays);
  leat_timeline_free(timeline);
}

// The recording says that thread 101 ended the wait: the worker's, and not the server's of that
// number, which ended something later.
static void threads_of_other_processes_are_others(void** state) {
  test_recording_t worker, server;
  leat_string_builder_t file;
  leat_timeline_t* timeline;
  leat_delays_t* delays;
  leat_arena_t arena;
  leat_path_piece_t* pieces;
  size_t count;
  bool is_followed = false;
  test_recording_initialize(&worker);
  test_recording_initialize(&server);
  for (int i = 0; i < 2; ++i) {
    test_add_thread(&worker, "worker");
    test_add_thread(&server, "server");
  }
  const uint32_t mul = test_add_name(&worker, "mul", "MatMul");
  const uint32_t add_n = test_add_name(&server, "add", "AddN");
  test_add_span(&worker, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&worker, 0, 2000, 8500, LEAT_SPAN_WAIT, 0, 101);
  test_add_span(&worker, 1, 2000, 7000, LEAT_SPAN_TASK, 0, 100);
  test_add_span(&worker, 1, 2100, 6900, LEAT_SPAN_KERNEL, mul, 0);
  test_add_span(&server, 1, 2000, 8000, LEAT_SPAN_TASK, 0, 100);
  test_add_span(&server, 1, 2100, 7900, LEAT_SPAN_KERNEL, add_n, 0);
  leat_string_builder_initialize(leat_allocator_system(), &file);
  test_recording_append(&server, 2, &file);
  test_recording_append(&worker, 1, &file);
  scratch_write_file("threads.perfetto-trace", file.data, file.size);
  leat_string_builder_deinitialize(&file);
  test_recording_deinitialize(&worker);
  test_recording_deinitialize(&server);
  LEAT_EXPECT_OK(
      leat_timeline_read(leat_file_system_posix(), "threads.perfetto-trace", &timeline));
  LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_delays_path(delays, 0, &arena, &pieces, &count));
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(timeline->rows[pieces[i].row]->process, 1);
    is_followed |= pieces[i].cause == LEAT_DELAY_COMPUTE;
  }
  assert_true(is_followed);
  leat_arena_deinitialize(&arena);
  leat_delays_free(delays);
  leat_timeline_free(timeline);
}

// The pieces of a path fill its step, in order, without a gap, over both processes.
static void a_path_fills_its_step(void** state) {
  static program_t program;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    leat_timeline_t* timeline = make(&program, seed, choose(seed));
    leat_delays_t* delays;
    bool crosses = false;
    LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
    for (size_t i = 0; i < delays->step_count; ++i) {
      leat_arena_t arena;
      leat_path_piece_t* pieces;
      size_t count;
      leat_arena_initialize(leat_allocator_system(), 0, &arena);
      LEAT_EXPECT_OK(leat_delays_path(delays, i, &arena, &pieces, &count));
      int64_t now = delays->steps[i].begin_ns;
      for (size_t k = 0; k < count; ++k) {
        assert_int_equal(pieces[k].begin_ns, now);
        now = pieces[k].end_ns;
        crosses |= timeline->rows[pieces[k].row]->process == 2;
      }
      assert_int_equal(now, delays->steps[i].end_ns);
      leat_arena_deinitialize(&arena);
    }
    assert_true(crosses);
    leat_delays_free(delays);
    leat_timeline_free(timeline);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_planted_delay_is_named_first),
      cmocka_unit_test(a_branch_in_the_way_is_told_with_its_gain),
      cmocka_unit_test(a_gain_is_limited_by_the_other_branch),
      cmocka_unit_test(threads_of_other_processes_are_others),
      cmocka_unit_test(steps_of_one_graph_are_alike_on_all_threads),
      cmocka_unit_test(a_path_fills_its_step),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
