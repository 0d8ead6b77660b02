// The store under many threads. Whoever asks for a recording that another one is reading must wait
// for that and get the same; whoever asks for another recording must not wait. A reading that takes
// as long as the test wants is one of a pipe: opening it blocks until somebody opens its other end,
// and then it is no recording. In a store that held its lock meanwhile, or that read twice, the
// test would not end. A recording with so many steps that their delays are not found at once shows
// what holds until then: it is there without them, it is not read again when others were asked for
// meanwhile, who walks waits, and a store that ends does not; recordings at which nobody looks any
// more are not kept for their delays. Threads that take, walk and release recordings which replace
// each other, and change, are for the thread sanitizer.
#include "board/trace_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/thread.h"
#include "formats/test_directory.h"
#include "trace/test_recording.h"

#define THREADS 6
#define MANY_STEPS 30000
#define MOST_ROUNDS 100

static void make_recording(const char* name, int steps) {
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  const uint32_t conv = test_add_name(&r, "conv1", "Conv2D");
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = 1000 + 3000 * i;
    test_add_span(&r, 0, at, at + 2000, LEAT_SPAN_STEP, 0, i);
    test_add_span(&r, 0, at + 100, at + 1900, LEAT_SPAN_KERNEL, conv, 64);
  }
  test_recording_write(&r, test_path(name));
  test_recording_deinitialize(&r);
}

typedef struct asker_s {
  board_trace_store_t* store;
  const char* name;
  bool walks;
  _Atomic int* ready;
  board_stored_trace_t* trace;
  leat_status_t status;
  leat_thread_t thread;
} asker_t;

static void ask(void* data) {
  asker_t* asker = data;
  atomic_fetch_add(asker->ready, 1);
  while (asker->name[0] == 'a' && atomic_load(asker->ready) < THREADS) leat_cpu_relax();
  asker->status = board_trace_store_take(asker->store, test_directory,
                                         leat_string_view_from(asker->name), asker->walks,
                                         &asker->trace);
}

static void start(asker_t* asker) {
  LEAT_EXPECT_OK(leat_thread_start("asker", ask, asker, &asker->thread));
}

static void who_ask_at_once_get_the_same(void** state) {
  make_recording("a.perfetto-trace", 300);
  for (int round = 0; round < 20; ++round) {
    board_trace_store_t* store;
    asker_t askers[THREADS];
    _Atomic int ready = 0;
    LEAT_EXPECT_OK(board_trace_store_create(round % 2 ? test_directory : NULL, &store));
    for (int i = 0; i < THREADS; ++i) {
      askers[i] = (asker_t){.store = store, .name = "a.perfetto-trace", .walks = i % 2,
                            .ready = &ready};
      start(&askers[i]);
    }
    for (int i = 0; i < THREADS; ++i) {
      leat_thread_join(askers[i].thread);
      LEAT_EXPECT_OK(askers[i].status);
      assert_ptr_equal(askers[i].trace, askers[0].trace);
    }
    // Some of them waited for the delays.
    assert_int_equal(askers[1].trace->delays->step_count, 300);
    assert_true(askers[0].trace->is_verified);
    for (int i = 0; i < THREADS; ++i) board_trace_store_release(store, askers[i].trace);
    board_trace_store_free(store);
  }
}

static void nobody_waits_for_another_recording(void** state) {
  board_trace_store_t* store;
  board_stored_trace_t* trace;
  _Atomic int ready = 0;
  make_recording("b.perfetto-trace", 10);
  assert_int_equal(mkfifo(test_path("pipe.perfetto-trace"), 0600), 0);
  LEAT_EXPECT_OK(board_trace_store_create(NULL, &store));
  asker_t slow[2];
  for (int i = 0; i < 2; ++i) {
    slow[i] = (asker_t){.store = store, .name = "pipe.perfetto-trace", .ready = &ready};
    start(&slow[i]);
  }
  while (atomic_load(&ready) < 2) leat_cpu_relax();
  usleep(20000);  // nearly always enough for both to be where they wait
  for (int i = 0; i < 3; ++i) {
    LEAT_EXPECT_OK(board_trace_store_take(store, test_directory, LEAT_SV("b.perfetto-trace"),
                                          i == 1, &trace));
    assert_int_equal(trace->timeline->slice_count, 20);
    board_trace_store_release(store, trace);
  }
  const int pipe = open(test_path("pipe.perfetto-trace"), O_WRONLY);
  assert_true(pipe >= 0);
  for (int i = 0; i < 2; ++i) {
    leat_thread_join(slow[i].thread);
    assert_true(slow[i].status != NULL);
    assert_null(slow[i].trace);
  }
  assert_string_equal(leat_status_message(slow[1].status), leat_status_message(slow[0].status));
  for (int i = 0; i < 2; ++i) leat_status_free(slow[i].status);
  close(pipe);
  board_trace_store_free(store);
}

static board_stored_trace_t* take(board_trace_store_t* store, const char* name, bool walks) {
  board_stored_trace_t* trace;
  LEAT_EXPECT_OK(board_trace_store_take(store, test_directory, leat_string_view_from(name), walks,
                                        &trace));
  return trace;
}

static bool are_found(board_trace_store_t* store, const board_stored_trace_t* trace) {
  const leat_delays_t* delays;
  LEAT_EXPECT_OK(board_trace_store_delays(store, trace, &delays));
  return delays != NULL;
}

static void delays_come_later(void** state) {
  int early = 0;
  make_recording("a.perfetto-trace", MANY_STEPS);
  make_recording("b.perfetto-trace", 10);
  // Without a cache, and with one: there the first store ends early, and the next has its index. On
  // a busy machine the delays may be there before they are asked for, hence the further rounds.
  for (int round = 0; round < 4 || (early == 0 && round < MOST_ROUNDS); ++round) {
    const bool waits = round == 0 || round == 3;
    board_trace_store_t* store;
    LEAT_EXPECT_OK(board_trace_store_create(round / 2 == 1 ? test_directory : NULL, &store));
    board_stored_trace_t* first = take(store, "a.perfetto-trace", false);
    assert_int_equal(first->timeline->slice_count, 2 * MANY_STEPS);
    board_stored_trace_t* other = take(store, "b.perfetto-trace", false);
    board_stored_trace_t* again = take(store, "a.perfetto-trace", false);
    if (!are_found(store, again)) {
      assert_ptr_equal(again, first);
      ++early;
    }
    if (waits) {
      board_stored_trace_t* walked = take(store, "a.perfetto-trace", true);
      assert_true(are_found(store, walked));
      assert_int_equal(walked->delays->step_count, MANY_STEPS);
      board_trace_store_release(store, walked);
    }
    board_trace_store_release(store, again);
    board_trace_store_release(store, other);
    board_trace_store_release(store, first);
    board_trace_store_free(store);
  }
  assert_true(early > 0);
}

// The two that were asked for last are there without being read again. Those that the test holds
// have addresses of their own.
static void two_are_kept(void** state) {
  static const char* const kNames[] = {"a.perfetto-trace", "b.perfetto-trace", "c.perfetto-trace"};
  enum { A, B, C };
  board_trace_store_t* store;
  board_stored_trace_t *held[3], *again;
  for (int i = 0; i < 3; ++i) make_recording(kNames[i], 10 + i);
  LEAT_EXPECT_OK(board_trace_store_create(NULL, &store));
  held[A] = take(store, kNames[A], true);
  held[B] = take(store, kNames[B], true);
  for (int i = 0; i < 5; ++i) {
    again = take(store, kNames[i % 2], true);
    assert_ptr_equal(again, held[i % 2]);
    board_trace_store_release(store, again);
  }
  held[C] = take(store, kNames[C], true);  // in the place of b, since a was asked for last
  again = take(store, kNames[A], true);
  assert_ptr_equal(again, held[A]);
  board_trace_store_release(store, again);
  again = take(store, kNames[B], true);
  assert_ptr_not_equal(again, held[B]);
  board_trace_store_release(store, again);
  // Of a file that has changed the older state is not kept.
  make_recording(kNames[B], 50);
  again = take(store, kNames[B], true);
  assert_int_equal(again->delays->step_count, 50);
  board_trace_store_release(store, again);
  again = take(store, kNames[A], true);
  assert_ptr_equal(again, held[A]);
  board_trace_store_release(store, again);
  for (int i = 0; i < 3; ++i) board_trace_store_release(store, held[i]);
  board_trace_store_free(store);
}

// Counts the files of delays, and removes them.
static leat_status_t remove_delays(void* data, const char* name) {
  if (!leat_string_view_ends_with(leat_string_view_from(name), LEAT_SV(".delays"))) {
    return leat_ok_status();
  }
  ++*(int*)data;
  return leat_file_system_posix()->vtable->remove(leat_file_system_posix(), test_path(name));
}

// Who goes through recordings has the delays found of the first one, which was begun with, and of
// those that are looked at. How far the finder is, is the system's matter, hence the turns.
static void those_that_are_left_are_not_kept(void** state) {
  int left = 0;
  make_recording("a.perfetto-trace", MANY_STEPS);
  make_recording("b.perfetto-trace", 10);
  make_recording("c.perfetto-trace", 20);
  make_recording("d.perfetto-trace", 30);
  for (int turn = 0; turn < 5 || (left == 0 && turn < MOST_ROUNDS); ++turn) {
    board_trace_store_t* store;
    int count = 0;
    LEAT_EXPECT_OK(board_trace_store_create(test_directory, &store));
    board_stored_trace_t* first = take(store, "a.perfetto-trace", false);
    usleep(5000);
    board_trace_store_release(store, take(store, "b.perfetto-trace", false));
    board_stored_trace_t* last = take(store, "c.perfetto-trace", false);
    board_trace_store_release(store, take(store, "d.perfetto-trace", false));
    board_trace_store_release(store, take(store, "a.perfetto-trace", true));
    board_trace_store_release(store, take(store, "c.perfetto-trace", true));
    board_trace_store_release(store, take(store, "d.perfetto-trace", true));
    usleep(20000);  // in which the second one would be found
    board_trace_store_release(store, first);
    board_trace_store_release(store, last);
    board_trace_store_free(store);
    LEAT_EXPECT_OK(leat_file_system_posix()->vtable->list(leat_file_system_posix(),
                                                          test_directory, remove_delays, &count));
    assert_true(count == 3 || count == 4);
    left += count == 3;
  }
  assert_true(left > 0);
}

typedef struct mix_s {
  board_trace_store_t* store;
  int number;
  leat_thread_t thread;
} mix_t;

static void take_in_turn(void* data) {
  static const char* const kNames[] = {"a.perfetto-trace", "b.perfetto-trace",
                                       "c.perfetto-trace"};
  const mix_t* mix = data;
  for (int i = 0; i < 40; ++i) {
    const char* name = kNames[(i / 3 + mix->number) % 3];
    board_stored_trace_t* trace;
    leat_arena_t arena;
    leat_path_piece_t* pieces;
    size_t count;
    // The third one changes all the time.
    if (mix->number == 0 && i % 10 == 0) make_recording("c.perfetto-trace", 20 + i);
    leat_status_t status = board_trace_store_take(
        mix->store, test_directory, leat_string_view_from(name), i % 2, &trace);
    if (status) {
      leat_status_free(status);
      continue;
    }
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    if (i % 2 && trace->delays->step_count) {
      LEAT_EXPECT_OK(leat_delays_path(trace->delays, 0, &arena, &pieces, &count));
    }
    leat_arena_deinitialize(&arena);
    board_trace_store_release(mix->store, trace);
  }
}

static void recordings_replace_each_other(void** state) {
  for (int round = 0; round < 2; ++round) {
    board_trace_store_t* store;
    mix_t mixes[THREADS];
    make_recording("a.perfetto-trace", 30);
    make_recording("b.perfetto-trace", 40);
    make_recording("c.perfetto-trace", 50);
    LEAT_EXPECT_OK(board_trace_store_create(round ? test_directory : NULL, &store));
    for (int i = 0; i < THREADS; ++i) {
      mixes[i] = (mix_t){.store = store, .number = i};
      LEAT_EXPECT_OK(leat_thread_start("mix", take_in_turn, &mixes[i], &mixes[i].thread));
    }
    for (int i = 0; i < THREADS; ++i) leat_thread_join(mixes[i].thread);
    board_trace_store_free(store);
  }
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(who_ask_at_once_get_the_same),
      TEST(nobody_waits_for_another_recording),
      TEST(delays_come_later),
      TEST(two_are_kept),
      TEST(those_that_are_left_are_not_kept),
      TEST(recordings_replace_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
