// Fetches between ends of the plane, without tasks around them: what is fetched comes as it was
// sent, and everything else ends in order. All run over TCP, once with large values read from the
// sender's memory and once as between machines. Copies are counted by a memcpy of our own, which
// UCX and the module call too.
#include "base/thread.h"
#include "cluster/plane_scene.h"

#define LARGE_FLOATS 25000000
// What is copied in smaller pieces than this is not counted.
#define COUNTED_BYTES 512

// Sanitizers have a memcpy of their own; nothing is counted then.
static _Atomic(size_t) copied_bytes;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Volatile, or the compiler would see that memcpy does, and call that.
static void* (*volatile move)(void* to, const void* from, size_t size) = memmove;
#undef memcpy
// Visible, or the libraries would call their own.
__attribute__((visibility("default"))) void* memcpy(void* restrict to, const void* restrict from,
                                                    size_t size);
void* memcpy(void* restrict to, const void* restrict from, size_t size) {
  if (size >= COUNTED_BYTES) atomic_fetch_add(&copied_bytes, size);
  return move(to, from, size);
}
#endif

// ---- Tests --------------------------------------------------------------------------------------

// Before any end was opened, since a module that was found stays.
static void an_absent_module_is_named(void** state) {
  char* chosen = strdup(getenv("LEAT_MODULE_DIR"));
  leat_plane_t* plane = NULL;
  const leat_plane_options_t options = {.allocator = leat_allocator_system()};
  setenv("LEAT_MODULE_DIR", "/nowhere", 1);
  leat_status_t status = leat_plane_create(&options, &plane);
  assert_int_equal(leat_status_code(status), LEAT_UNIMPLEMENTED);
  assert_non_null(strstr(leat_status_message(status), "libucx0"));
  assert_null(plane);
  leat_status_free(status);
  setenv("LEAT_MODULE_DIR", chosen, 1);
  free(chosen);
}

static void values_of_all_sizes_come(void** state) {
  static const int64_t kCounts[] = {0, 1, 2, 100, 1000, 2040, 2050, 5000, 16384, 70000, 300000,
                                    2000000};
  for (int64_t step = 1; step <= 20; ++step) {
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCounts); ++i) {
      if (step > 3 && kCounts[i] > 100000) continue;
      expect_floats(*state, step, kCounts[i]);
    }
  }
}

static void other_values_come(void** state) {
  fetched_t fetched;
  start(*state, 1, "text", &fetched);
  expect_end(&fetched, LEAT_OK, "");
  assert_int_equal(fetched.value.tensor.dtype, LEAT_DTYPE_STRING);
  leat_slot_release(&fetched.value);
  start(*state, 1, "bool", &fetched);
  expect_end(&fetched, LEAT_OK, "");
  assert_int_equal(fetched.value.tensor.dtype, LEAT_DTYPE_BOOL);
  assert_true(*(const bool*)fetched.value.tensor.data);
  leat_slot_release(&fetched.value);
  start(*state, 1, "dead", &fetched);
  expect_end(&fetched, LEAT_OK, "");
  assert_false(fetched.value.alive);
  leat_slot_release(&fetched.value);
  start(*state, 12, "fail", &fetched);
  expect_end(&fetched, LEAT_OUT_OF_RANGE, "step 12 has no such value");
}

// The name of the member goes with the key, as long as both fit into a message.
static void chunks_are_asked_for_by_their_member(void** state) {
  const size_t room = LEAT_PLANE_HEADER_BYTES - sizeof(leat_plane_frame_t);
  pair_t* pair = *state;
  char key[LEAT_PLANE_HEADER_BYTES], member[LEAT_PLANE_HEADER_BYTES], text[2 * sizeof key + 8];
  fetched_t fetched;
  for (size_t key_size = 1; key_size < room; key_size += room / 3) {
    const size_t member_size = room - key_size;
    memset(key, 'k', key_size + 1);
    memset(member, 'm', member_size);
    key[key_size] = member[member_size] = 0;
    start_of_member(pair, 1, key, member, &fetched);
    expect_end(&fetched, LEAT_OK, "");
    snprintf(text, sizeof text, "%s of %s", key, member);
    assert_true(leat_string_view_equals(leat_tensor_string_at(&fetched.value.tensor, 0), text));
    leat_slot_release(&fetched.value);
    key[key_size] = 'k';
    key[key_size + 1] = 0;
    assert_false(ask(pair->near, pair->incarnation, 1, key, member, &fetched));
  }
}

// Many at once, from one thread: answers find their calls.
static void calls_do_not_mix(void** state) {
  enum { CALLS = 200 };
  static fetched_t fetched[CALLS];
  for (int i = 0; i < CALLS; ++i) start(*state, i, i % 3 ? "10" : "30000", &fetched[i]);
  for (int i = 0; i < CALLS; ++i) {
    expect_end(&fetched[i], LEAT_OK, "");
    assert_int_equal(fetched[i].value.tensor.shape.element_count, i % 3 ? 10 : 30000);
    assert_true(*(const float*)fetched[i].value.tensor.data == (float)i);
    leat_slot_release(&fetched[i].value);
  }
}

// The value that comes after all is dropped, and the way goes on.
static void a_cancelled_fetch_ends(void** state) {
  pair_t* pair = *state;
  fetched_t fetched;
  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  leat_plane_cancel(fetched.call);
  leat_plane_cancel(fetched.call);
  expect_end(&fetched, LEAT_CANCELLED, "cancelled");
  pair->serving.fn(pair->serving.data, leat_ok_status(), make_floats(500000, 1));
  expect_floats(pair, 3, 10);
  assert_int_equal(atomic_load(&fetched.times), 1);
}

static void stopping_ends_all(void** state) {
  pair_t* pair = *state;
  fetched_t fetched;
  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  leat_plane_stop(pair->near);
  expect_end(&fetched, LEAT_CANCELLED, "the server stops");
  assert_false(ask(pair->near, pair->incarnation, 1, "1", "", &fetched));
  pair->serving.fn(pair->serving.data, leat_ok_status(), make_floats(3, 1));
}

// The other end goes in order; what it was asked for is then asked of gRPC, without another offer.
static void the_end_of_the_other_is_seen(void** state) {
  pair_t* pair = *state;
  fetched_t fetched;
  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  leat_plane_stop(pair->far);
  expect_end(&fetched, LEAT_UNAVAILABLE, "the connection by UCX broke");
  pair->serving.fn(pair->serving.data, leat_ok_status(), make_floats(3, 1));
  assert_false(ask(pair->near, pair->incarnation, 1, "1", "", &fetched));
  assert_false(leat_plane_asks(pair->near, pair->incarnation));
}

static void bad_offers_are_refused(void** state) {
  pair_t* pair = *state;
  const leat_pb_plane_offer_t good = leat_plane_offer(pair->far);
  leat_pb_plane_offer_t offers[] = {good, good, good};
  ++offers[0].version;
  offers[1].end = 1;
  offers[2].address = LEAT_SV("");
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(offers); ++i) {
    leat_status_t status = leat_plane_join(pair->near, &offers[i]);
    assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
    leat_status_free(status);
  }
}

// Ends with no transport in common: values between them go by gRPC.
static void an_end_that_cannot_be_reached_is_refused(void** state) {
  pair_t* pair = *state;
  char* chosen = strdup(getenv("UCX_TLS"));
  setenv("UCX_TLS", strcmp(chosen, "tcp") ? "tcp" : "posix", 1);
  leat_plane_t* other = open_end(&pair->serving);
  setenv("UCX_TLS", chosen, 1);
  free(chosen);
  const leat_pb_plane_offer_t offer = leat_plane_offer(other);
  leat_status_t status = leat_plane_join(pair->near, &offer);
  assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  leat_status_free(status);
  assert_true(leat_plane_asks(pair->near, 99));
  leat_plane_answer(pair->near, 99, NULL);
  assert_false(leat_plane_asks(pair->near, 99));
  leat_plane_free(other);
}

// An end that greets nobody: the way to it is given up when its time is over, and not opened again.
static void a_way_without_a_proof_is_given_up(void** state) {
  pair_t* pair = *state;
  fetched_t fetched;
  leat_plane_t* asking = open_end_with(&pair->serving, 50000000);
  const leat_pb_plane_offer_t far = leat_plane_offer(pair->far);
  const int64_t begin_ns = leat_clock_now_ns();
  assert_true(leat_plane_asks(asking, 5));
  LEAT_EXPECT_OK(leat_plane_join(asking, &far));  // of which |far| hears nothing
  leat_plane_answer(asking, 5, &far);
  leat_status_t status = leat_ok_status();
  while (!status) {
    assert_false(ask(asking, 5, 1, "1", "", &fetched));
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(1000000);
    status = leat_plane_join(asking, &far);
  }
  assert_true(leat_clock_now_ns() - begin_ns >= 50000000);
  assert_int_equal(leat_status_code(status), LEAT_UNAVAILABLE);
  assert_non_null(strstr(leat_status_message(status), "was lost before"));
  leat_status_free(status);
  leat_plane_free(asking);
  expect_floats(pair, 1, 100000);
}

// ---- Ends that join at the same time ------------------------------------------------------------

enum { JOINERS = 4, MEETINGS = 30 };

typedef struct joiner_s {
  leat_plane_t *own, *other;
  uint64_t incarnation;
  atomic_int* ready;
} joiner_t;

static void join_other(void* data) {
  const joiner_t* joiner = data;
  const leat_pb_plane_offer_t offer = leat_plane_offer(joiner->other);
  atomic_fetch_add(joiner->ready, 1);
  while (atomic_load(joiner->ready) < JOINERS) {
  }
  LEAT_EXPECT_OK(leat_plane_join(joiner->own, &offer));
  leat_plane_answer(joiner->own, joiner->incarnation, &offer);
}

// Two tasks with two devices each may all ask at once. An end still gets one link to another: of
// two, UCX would pair the one that is closed again.
static void ends_that_join_at_once_get_one_way(void** state) {
  for (int meeting = 0; meeting < MEETINGS; ++meeting) {
    pair_t pair = {.incarnation = 77};
    joiner_t joiners[JOINERS];
    leat_thread_t threads[JOINERS];
    atomic_int ready = 0;
    pair.near = open_end(&pair.serving);
    pair.far = open_end(&pair.serving);
    for (int i = 0; i < JOINERS; ++i) {
      leat_plane_t* own = i % 2 ? pair.far : pair.near;
      joiners[i] = (joiner_t){own, i % 2 ? pair.near : pair.far, 77 + (uint64_t)(i / 2), &ready};
      assert_true(leat_plane_asks(own, joiners[i].incarnation));
      LEAT_EXPECT_OK(leat_thread_start("joiner", join_other, &joiners[i], &threads[i]));
    }
    for (int i = 0; i < JOINERS; ++i) leat_thread_join(threads[i]);
    expect_floats(&pair, 1, 100000);
    leat_plane_t* near = pair.near;
    pair.near = pair.far;
    expect_floats(&pair, 2, 100000);
    leat_plane_free(near);
    leat_plane_free(pair.far);
  }
}

// The elements of a large value are copied by nobody in between: the kernel moves them from the
// sender's buffer into the receiver's. By TCP, UCX copies them once on their way.
static void large_values_are_not_copied(void** state) {
  expect_floats(*state, 1, 10);
  atomic_store(&copied_bytes, 0);
  expect_floats(*state, 2, LARGE_FLOATS);
  const size_t copied = atomic_load(&copied_bytes);
  const size_t by_ucx = is_distant || !may_read_children() ? LARGE_FLOATS * sizeof(float) : 0;
  if (copied >= by_ucx + 1000000) print_error("%zu bytes were copied\n", copied);
  assert_true(copied < by_ucx + 1000000);  // of 100 MB
}

// ---- Another process ----------------------------------------------------------------------------

// A process is killed while it sends, and while it is waited for.
static void the_death_of_the_other_is_seen(void** state) {
  pair_t pair;
  process_t process;
  start_process(&pair, &process);
  expect_floats(&pair, 1, 100000);
  enum { CALLS = 8 };
  fetched_t fetched[CALLS + 1];
  for (int i = 0; i < CALLS; ++i) start(&pair, i, "5000000", &fetched[i]);
  start(&pair, 1, "hold", &fetched[CALLS]);
  const int64_t begin_ns = leat_clock_now_ns();
  while (!atomic_load(&fetched[0].times)) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(20000);
  }
  kill_process(&process);
  expect_end(&fetched[CALLS], LEAT_UNAVAILABLE, "UCX");
  for (int i = 0; i < CALLS; ++i) {
    const int64_t waits_ns = leat_clock_now_ns();
    while (!atomic_load(&fetched[i].times)) {
      assert_true(leat_clock_now_ns() - waits_ns < NO_HANG_NS);
      leat_clock_sleep_ns(20000);
    }
    // Those that were there before are whole.
    if (fetched[i].code == LEAT_OK) {
      const float* data = fetched[i].value.tensor.data;
      for (int k = 0; k < 5000000; ++k) assert_true(data[k] == (float)i + (float)(k % 1000));
      leat_slot_release(&fetched[i].value);
    } else {
      assert_int_equal(fetched[i].code, LEAT_UNAVAILABLE);
    }
    leat_plane_call_free(fetched[i].call);
  }
  leat_plane_free(pair.near);
}

int main(int argc, char** argv) {
  if (argc == 4) return serve_for_ever(atoi(argv[1]), atoi(argv[2]), argv[3]);
  const struct CMUnitTest before[] = {cmocka_unit_test(an_absent_module_is_named)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(values_of_all_sizes_come, set_up, tear_down),
      cmocka_unit_test_setup_teardown(other_values_come, set_up, tear_down),
      cmocka_unit_test_setup_teardown(chunks_are_asked_for_by_their_member, set_up, tear_down),
      cmocka_unit_test_setup_teardown(calls_do_not_mix, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_cancelled_fetch_ends, set_up, tear_down),
      cmocka_unit_test_setup_teardown(stopping_ends_all, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_end_of_the_other_is_seen, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bad_offers_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_end_that_cannot_be_reached_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_way_without_a_proof_is_given_up, set_up, tear_down),
      cmocka_unit_test(ends_that_join_at_once_get_one_way),
      cmocka_unit_test_setup_teardown(large_values_are_not_copied, set_up, tear_down),
      cmocka_unit_test(the_death_of_the_other_is_seen),
  };
  int failures = cmocka_run_group_tests_name("module", before, NULL, NULL);
  setenv("UCX_TLS", "tcp", 1);
  failures += cmocka_run_group_tests_name("near", tests, NULL, NULL);
  is_distant = true;
  return failures + cmocka_run_group_tests_name("distant", tests, NULL, NULL);
}
