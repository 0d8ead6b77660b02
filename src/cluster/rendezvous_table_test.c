// The rendezvous of a task's steps, where values that are sent meet those who receive them, in this
// task or another. No network is used: the test itself plays the fetcher, which answers at once,
// fails, or keeps the request until the case says so. The cases fix which requests go to other
// tasks, in which order values and receivers may come, and how a step ends for whoever waits or
// comes late. The table remembers the last 4096 ended steps, since a receiver that comes after the
// end would otherwise wait forever. Eight threads send, receive and abort at once, and each
// receiver must be called exactly once.
#include "cluster/rendezvous_table.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/test.h"
#include "base/thread.h"

enum { kMostFetches = 64, kRemembered = 4096 };

// Keys that begin so are of another task.
#define REMOTE "/job:other"
#define KEY(sender, name) sender "/device:CPU:0;0000000000000001;/job:me/device:CPU:0;" name ";0:0"

// ---- The fetcher --------------------------------------------------------------------------------

typedef enum { HOLDS, ANSWERS, FAILS } manner_t;

typedef struct fetched_s {
  int64_t step_id;
  leat_rendezvous_receive_fn_t fn;
  void* data;
} fetched_t;

typedef struct fixture_s {
  leat_fetcher_t fetcher;
  manner_t manner;
  leat_mutex_t mutex;
  fetched_t held[kMostFetches];
  int held_count;
  leat_rendezvous_table_t* table;
  leat_rendezvous_source_t* source;
} fixture_t;

static leat_slot_t make_value(float number) {
  leat_slot_t slot = {.alive = true};
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_FLOAT, &number, &slot.tensor));
  return slot;
}

static bool is_remote(const leat_fetcher_t* self, leat_string_view_t key) {
  return leat_string_view_starts_with(key, LEAT_SV(REMOTE));
}

static void fetch(leat_fetcher_t* self, int64_t step_id, leat_string_view_t key,
                  leat_rendezvous_receive_fn_t fn, void* data, leat_task_call_t* out_call) {
  fixture_t* f = (fixture_t*)self;
  if (f->manner == ANSWERS) {
    fn(data, leat_ok_status(), make_value((float)step_id));
  } else if (f->manner == FAILS) {
    fn(data, leat_make_status(LEAT_UNAVAILABLE, "gone"), (leat_slot_t){0});
  } else {
    leat_mutex_lock(&f->mutex);
    assert_true(f->held_count < kMostFetches);
    f->held[f->held_count++] = (fetched_t){step_id, fn, data};
    leat_mutex_unlock(&f->mutex);
  }
}

static int set_up(void** state) {
  static fixture_t f;
  f = (fixture_t){.fetcher = {is_remote, fetch}};
  leat_mutex_initialize(&f.mutex);
  LEAT_EXPECT_OK(leat_rendezvous_table_create(&f.fetcher, leat_allocator_system(), &f.table));
  f.source = leat_rendezvous_table_source(f.table);
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  leat_rendezvous_table_free(f->table);
  leat_mutex_deinitialize(&f->mutex);
  return 0;
}

// ---- Receivers ----------------------------------------------------------------------------------

typedef struct reception_s {
  atomic_int times;
  leat_status_code_t code;
  char message[128];
  float number;
} reception_t;

static void receive_value(void* data, leat_status_t status, leat_slot_t value) {
  reception_t* reception = data;
  reception->code = leat_status_code(status);
  snprintf(reception->message, sizeof reception->message, "%s", leat_status_message(status));
  if (!status) {
    reception->number = *leat_tensor_data(&value.tensor, const float);
    leat_slot_release(&value);
  }
  leat_status_free(status);
  atomic_fetch_add(&reception->times, 1);
}

static void expect_number(const reception_t* reception, float number) {
  assert_int_equal(atomic_load(&reception->times), 1);
  assert_int_equal(reception->code, LEAT_OK);
  assert_true(reception->number == number);
}

static void expect_failure(const reception_t* reception, leat_status_code_t code,
                           const char* text) {
  assert_int_equal(atomic_load(&reception->times), 1);
  assert_string_equal(leat_status_code_name(reception->code), leat_status_code_name(code));
  assert_true(strstr(reception->message, text));
}

static leat_rendezvous_t* open_step(fixture_t* f, int64_t step_id) {
  leat_rendezvous_t* rendezvous;
  LEAT_EXPECT_OK(f->source->open(f->source, step_id, &rendezvous));
  return rendezvous;
}

// A Recv of this task.
static void receive_here(fixture_t* f, int64_t step_id, const char* key, reception_t* reception) {
  leat_rendezvous_t* rendezvous = open_step(f, step_id);
  rendezvous->vtable->receive(rendezvous, leat_rendezvous_text(leat_string_view_from(key)),
                              receive_value, reception);
  leat_rendezvous_release(rendezvous);
}

// A RecvTensor of another task.
static void receive_for_another(fixture_t* f, int64_t step_id, const char* key,
                                reception_t* reception) {
  leat_rendezvous_table_receive(f->table, step_id, leat_string_view_from(key), receive_value,
                                reception);
}

static void send_here(fixture_t* f, int64_t step_id, const char* key, float number) {
  LEAT_EXPECT_OK(leat_rendezvous_table_send(f->table, step_id, leat_string_view_from(key),
                                            make_value(number)));
}

// ---- Orders -------------------------------------------------------------------------------------

static void a_value_and_its_receiver_meet(void** state) {
  fixture_t* f = *state;
  for (int way = 0; way < 4; ++way) {
    const int64_t step = 10 + way;
    reception_t reception = {0}, other_key = {0}, other_step = {0};
    receive_for_another(f, step, KEY("/job:me", "b"), &other_key);
    receive_for_another(f, step + 100, KEY("/job:me", "a"), &other_step);
    if (way & 1) send_here(f, step, KEY("/job:me", "a"), 5);
    if (way & 2) {
      receive_here(f, step, KEY("/job:me", "a"), &reception);
    } else {
      receive_for_another(f, step, KEY("/job:me", "a"), &reception);
    }
    if (!(way & 1)) {
      assert_int_equal(reception.times, 0);
      send_here(f, step, KEY("/job:me", "a"), 5);
    }
    expect_number(&reception, 5);
    assert_int_equal(other_key.times + other_step.times, 0);
    leat_rendezvous_table_close(f->table, step);
    leat_rendezvous_table_close(f->table, step + 100);
    expect_failure(&other_key, LEAT_ABORTED, "was cleaned up");
    expect_failure(&other_step, LEAT_ABORTED, "was cleaned up");
  }
  assert_int_equal(f->held_count, 0);
}

// A RecvTensor is never passed on to a third task, whatever it names; a numbered transfer is of
// this task.
static void only_receivers_of_this_task_fetch(void** state) {
  fixture_t* f = *state;
  reception_t passed = {0}, numbered = {0};
  receive_for_another(f, 1, KEY(REMOTE, "a"), &passed);
  leat_rendezvous_t* rendezvous = open_step(f, 1);
  LEAT_EXPECT_OK(rendezvous->vtable->reserve(rendezvous, 1));
  const leat_rendezvous_key_t key = {.text = LEAT_SV(KEY(REMOTE, "b")), .transfer = 0};
  rendezvous->vtable->receive(rendezvous, key, receive_value, &numbered);
  leat_rendezvous_release(rendezvous);
  assert_int_equal(f->held_count, 0);
  leat_rendezvous_table_close(f->table, 1);
  expect_failure(&passed, LEAT_ABORTED, "step 1");
  expect_failure(&numbered, LEAT_ABORTED, "step 1");
}

// ---- Fetches ------------------------------------------------------------------------------------

static void a_fetch_ends_before_it_returns(void** state) {
  fixture_t* f = *state;
  reception_t good = {0}, bad = {0};
  f->manner = ANSWERS;
  receive_here(f, 6, KEY(REMOTE, "a"), &good);
  expect_number(&good, 6);
  f->manner = FAILS;
  receive_here(f, 6, KEY(REMOTE, "a"), &bad);
  expect_failure(&bad, LEAT_UNAVAILABLE, "gone");
  leat_rendezvous_table_close(f->table, 6);
}

// In any order, and after the step's own references are gone.
static void fetches_end_later(void** state) {
  fixture_t* f = *state;
  reception_t receptions[3] = {0};
  for (int i = 0; i < 3; ++i) receive_here(f, 6, KEY(REMOTE, "a"), &receptions[i]);
  assert_int_equal(f->held_count, 3);
  static const int order[] = {1, 0, 2};
  for (int i = 0; i < 3; ++i) {
    const fetched_t* held = &f->held[order[i]];
    assert_int_equal(held->step_id, 6);
    assert_int_equal(receptions[order[i]].times, 0);
    held->fn(held->data, leat_ok_status(), make_value((float)i));
    expect_number(&receptions[order[i]], (float)i);
  }
}

// Whoever fetches is told why the step was aborted, and not how the call ended because of it.
static void an_abort_ends_fetches_with_its_cause(void** state) {
  fixture_t* f = *state;
  reception_t fetched = {0}, local = {0}, late = {0}, value = {0};
  receive_here(f, 6, KEY(REMOTE, "a"), &fetched);
  receive_here(f, 6, KEY(REMOTE, "b"), &value);
  receive_here(f, 6, KEY("/job:me", "a"), &local);
  leat_rendezvous_table_abort(f->table, 6, leat_make_status(LEAT_DATA_LOSS, "the cause"));
  leat_rendezvous_table_abort(f->table, 6, leat_make_status(LEAT_INTERNAL, "a second one"));
  expect_failure(&local, LEAT_DATA_LOSS, "the cause");
  assert_int_equal(fetched.times, 0);
  f->held[0].fn(f->held[0].data, leat_make_status(LEAT_CANCELLED, "call cancelled"),
                (leat_slot_t){0});
  expect_failure(&fetched, LEAT_DATA_LOSS, "the cause");
  // A value that was on its way comes all the same.
  f->held[1].fn(f->held[1].data, leat_ok_status(), make_value(4));
  expect_number(&value, 4);
  receive_here(f, 6, KEY(REMOTE, "a"), &late);
  assert_int_equal(f->held_count, 2);  // which is not asked for any more
  expect_failure(&late, LEAT_DATA_LOSS, "the cause");
  leat_rendezvous_table_close(f->table, 6);
}

// A step may be closed, and the table have forgotten it, before its fetches end.
static void a_fetch_outlives_its_step(void** state) {
  fixture_t* f = *state;
  reception_t reception = {0};
  receive_here(f, 6, KEY(REMOTE, "a"), &reception);
  leat_rendezvous_table_close(f->table, 6);
  assert_int_equal(reception.times, 0);
  f->held[0].fn(f->held[0].data, leat_make_status(LEAT_CANCELLED, "x"), (leat_slot_t){0});
  expect_failure(&reception, LEAT_ABORTED, "step 6 was cleaned up");
}

// ---- Steps that are over ------------------------------------------------------------------------

static void steps_that_are_over_are_refused(void** state) {
  fixture_t* f = *state;
  reception_t reception = {0};
  leat_rendezvous_t* rendezvous;
  assert_false(leat_rendezvous_table_is_over(f->table, 9));
  send_here(f, 9, KEY("/job:me", "a"), 1);  // nobody takes it
  leat_rendezvous_table_close(f->table, 9);
  assert_true(leat_rendezvous_table_is_over(f->table, 9));
  receive_for_another(f, 9, KEY("/job:me", "a"), &reception);
  expect_failure(&reception, LEAT_ABORTED, "step 9 was cleaned up");
  LEAT_EXPECT_CODE(LEAT_ABORTED,
                   leat_rendezvous_table_send(f->table, 9, LEAT_SV(KEY("/job:me", "a")),
                                              make_value(1)));
  LEAT_EXPECT_CODE(LEAT_ABORTED, f->source->open(f->source, 9, &rendezvous));
  leat_rendezvous_table_abort(f->table, 9, leat_make_status(LEAT_INTERNAL, "late"));
  leat_rendezvous_table_close(f->table, 9);
  f->source->close(f->source, 10);  // a step that never was
  assert_true(leat_rendezvous_table_is_over(f->table, 10));
}

// The last 4096 steps are remembered, each once.
static void the_last_steps_are_remembered(void** state) {
  fixture_t* f = *state;
  leat_rendezvous_table_close(f->table, 1);
  for (int i = 0; i < 3 * kRemembered; ++i) leat_rendezvous_table_close(f->table, 1);
  leat_rendezvous_table_close(f->table, 2);
  for (int64_t step = 3; step <= kRemembered; ++step) leat_rendezvous_table_close(f->table, step);
  assert_true(leat_rendezvous_table_is_over(f->table, 1));
  leat_rendezvous_table_close(f->table, kRemembered + 1);
  assert_false(leat_rendezvous_table_is_over(f->table, 1));
  for (int64_t step = 2; step <= kRemembered + 1; ++step) {
    assert_true(leat_rendezvous_table_is_over(f->table, step));
  }
  leat_rendezvous_table_close(f->table, 1);
  assert_true(leat_rendezvous_table_is_over(f->table, 1));
  assert_false(leat_rendezvous_table_is_over(f->table, 2));
}

// What is left when a task ends: values without receivers, and receivers without values.
static void the_table_frees_what_is_left(void** state) {
  fixture_t* f = *state;
  static reception_t reception;
  reception = (reception_t){0};
  send_here(f, 1, KEY("/job:me", "a"), 1);
  receive_here(f, 2, KEY("/job:me", "a"), &reception);
  leat_rendezvous_table_free(f->table);
  f->table = NULL;
  expect_failure(&reception, LEAT_CANCELLED, "");
}

// ---- Many threads -------------------------------------------------------------------------------

enum { kThreads = 8, kRounds = 400, kSteps = 5 };

typedef struct crowd_s {
  fixture_t* fixture;
  int number;
  reception_t receptions[kRounds];
} crowd_t;

// One thread's receptions, of which some meet a value that was sent before, some one that is sent
// after, and the others none at all, so that only an abort can end them.
static void receive_much(void* data) {
  crowd_t* crowd = data;
  fixture_t* f = crowd->fixture;
  char key[128];
  for (int i = 0; i < kRounds; ++i) {
    const int64_t step = 1 + i % kSteps;
    snprintf(key, sizeof key, KEY("/job:me", "t%d_%d"), crowd->number, i);
    if (i % 3 == 0) {
      leat_status_free(leat_rendezvous_table_send(f->table, step, leat_string_view_from(key),
                                                  make_value((float)i)));
    }
    receive_for_another(f, step, key, &crowd->receptions[i]);
    if (i % 7 == 0) {
      leat_status_free(leat_rendezvous_table_send(f->table, step, leat_string_view_from(key),
                                                  make_value((float)i)));
    }
  }
}

// Every receiver is called once, however receptions and aborts overlap.
static void aborts_meet_receivers(void** state) {
  fixture_t* f = *state;
  static crowd_t crowds[kThreads];
  leat_thread_t threads[kThreads];
  memset(crowds, 0, sizeof crowds);
  for (int i = 0; i < kThreads; ++i) {
    crowds[i].fixture = f;
    crowds[i].number = i;
    LEAT_EXPECT_OK(leat_thread_start("crowd", receive_much, &crowds[i], &threads[i]));
  }
  for (int i = 0; i < 20; ++i) {
    leat_rendezvous_table_abort_all(f->table, leat_make_status(LEAT_UNAVAILABLE, "all end"));
    leat_clock_sleep_ns(100000);
    if (i % 4 == 0) leat_rendezvous_table_close(f->table, 1 + i / 4);
  }
  for (int i = 0; i < kThreads; ++i) leat_thread_join(threads[i]);
  leat_rendezvous_table_abort_all(f->table, leat_make_status(LEAT_UNAVAILABLE, "all end"));
  for (int i = 0; i < kThreads; ++i) {
    for (int k = 0; k < kRounds; ++k) {
      const reception_t* reception = &crowds[i].receptions[k];
      assert_int_equal(reception->times, 1);
      assert_true(reception->code == LEAT_OK || reception->code == LEAT_UNAVAILABLE ||
                  reception->code == LEAT_ABORTED);
      if (reception->code == LEAT_OK) assert_true(reception->number == (float)k);
    }
  }
}

// All waiting steps end, and steps that begin later do not.
static void abort_all_is_of_the_present(void** state) {
  fixture_t* f = *state;
  enum { kMany = 50 };
  reception_t receptions[kMany] = {0}, later = {0};
  for (int i = 0; i < kMany; ++i) {
    receive_for_another(f, 1 + i, KEY("/job:me", "a"), &receptions[i]);
  }
  leat_rendezvous_table_abort_all(f->table, leat_make_status(LEAT_CANCELLED, "stopped"));
  for (int i = 0; i < kMany; ++i) expect_failure(&receptions[i], LEAT_CANCELLED, "stopped");
  receive_for_another(f, 1 + kMany, KEY("/job:me", "a"), &later);
  assert_int_equal(later.times, 0);
  send_here(f, 1 + kMany, KEY("/job:me", "a"), 3);
  expect_number(&later, 3);
}

// ---- Keys ---------------------------------------------------------------------------------------

static void keys_are_read(void** state) {
  static const char* const refused[] = {
      "",
      ";;;;",
      "a",
      "a;0000000000000001;b;n",
      "a;0000000000000001;b;n;",
      "a;0000000000000001;b;n;0:0;",
      "a;0000000000000001;b;n;0:0;x",
      "a;000000000000001;b;n;0:0",
      "a;00000000000000001;b;n;0:0",
      "a;000000000000000g;b;n;0:0",
      "a;g000000000000000;b;n;0:0",
      "a;0x00000000000001;b;n;0:0",
      "a; 000000000000001;b;n;0:0",
      "a;-000000000000001;b;n;0:0",
      "a;+000000000000001;b;n;0:0",
  };
  leat_string_view_t sender;
  uint64_t incarnation;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(refused); ++i) {
    leat_status_t status =
        leat_rendezvous_key_parse(leat_string_view_from(refused[i]), &sender, &incarnation);
    if (!status) print_error("%s\n", refused[i]);
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
  }
  LEAT_EXPECT_OK(leat_rendezvous_key_parse(
      LEAT_SV("/job:a/device:CPU:0;FEDCBA98765432af;b;edge_1_x;18186195969791715286:3"), &sender,
      &incarnation));
  assert_true(leat_string_view_equals(sender, "/job:a/device:CPU:0"));
  assert_true(incarnation == UINT64_C(0xfedcba98765432af));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(a_value_and_its_receiver_meet),
      TEST(only_receivers_of_this_task_fetch),
      TEST(a_fetch_ends_before_it_returns),
      TEST(fetches_end_later),
      TEST(an_abort_ends_fetches_with_its_cause),
      TEST(a_fetch_outlives_its_step),
      TEST(steps_that_are_over_are_refused),
      TEST(the_last_steps_are_remembered),
      TEST(the_table_frees_what_is_left),
      TEST(aborts_meet_receivers),
      TEST(abort_all_is_of_the_present),
      cmocka_unit_test(keys_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
