// Values that are lent: they are read from the memory of the sender where that can be had, given
// back in each case, and never believed where the sender may have let them go. Where a test starts
// no other process, both ends are in this one, which reads its own memory as it would another's.
#include "base/host.h"
#include "cluster/plane_scene.h"

// Of floats: as many as are lent at least, by plane_loan.c.
#define LEAST_FLOATS 16384

// ---- What is lent -------------------------------------------------------------------------------

// Of an end that was joined with one other. It is the end's, so that a test that fails keeps
// nothing for which freeing the end would wait.
static leat_plane_way_t* only_way(leat_plane_t* plane) {
  leat_plane_way_t* way = NULL;
  leat_mutex_lock(&plane->mutex);
  for (size_t i = 0; i < plane->ways.capacity && !way; ++i) {
    if (plane->ways.used[i]) way = leat_plane_find_way(plane, plane->ways.keys[i]);
  }
  leat_mutex_unlock(&plane->mutex);
  assert_non_null(way);
  leat_plane_way_release(way);
  return way;
}

static size_t count_loans(leat_plane_t* plane) {
  leat_mutex_lock(&plane->mutex);
  const size_t count = plane->loans.count;
  leat_mutex_unlock(&plane->mutex);
  return count;
}

static void wait_for_loans(leat_plane_t* plane, size_t count) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (count_loans(plane) != count) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(20000);
  }
}

// Elements that a test lends itself, and what was seen when they were let go.
typedef struct lent_s {
  char bytes[4 * LEAST_FLOATS];
  const uint64_t* seal;  // of the loan
  atomic_int releases, whole_seals;
} lent_t;

static void release_lent(void* owner) {
  lent_t* lent = owner;
  if (lent->seal && *lent->seal) atomic_fetch_add(&lent->whole_seals, 1);
  atomic_fetch_add(&lent->releases, 1);
}

// Lends to nobody in particular: the call is none.
static bool lend(leat_plane_way_t* way, lent_t* lent) {
  const leat_rpc_piece_t piece = {lent->bytes, sizeof lent->bytes, release_lent, lent};
  return leat_plane_lend(way, UINT64_MAX, LEAT_SV(""), LEAT_SV(""), piece);
}

static const uint64_t* seal_of_the_only_loan(leat_plane_t* plane) {
  const uint64_t* seal = NULL;
  leat_mutex_lock(&plane->mutex);
  assert_int_equal(plane->loans.count, 1);
  for (size_t i = 0; i < plane->loans.capacity; ++i) {
    if (plane->loans.used[i]) seal = (const uint64_t*)(uintptr_t)plane->loans.values[i];
  }
  leat_mutex_unlock(&plane->mutex);
  return seal;
}

static uint64_t count_read(const pair_t* pair) { return atomic_load(&pair->near->read_count); }

// ---- Values -------------------------------------------------------------------------------------

static void large_values_are_read_and_given_back(void** state) {
  static const int64_t kCounts[] = {10, LEAST_FLOATS - 1, LEAST_FLOATS, 70001, 3000000};
  pair_t* pair = *state;
  uint64_t large = 0;
  for (int64_t step = 1; step <= 30; ++step) {
    const int64_t count = kCounts[step % (int64_t)LEAT_ARRAY_SIZE(kCounts)];
    expect_floats(pair, step, count);
    large += count >= LEAST_FLOATS;
    assert_int_equal(count_read(pair), large);
  }
  wait_for_loans(pair->far, 0);
}

// Texts and truth values are decoded from a copy.
static void values_that_are_no_plain_numbers_are_read_too(void** state) {
  pair_t* pair = *state;
  fetched_t fetched;
  leat_slot_t slot = {.alive = true};
  static char text[200001];
  memset(text, 't', sizeof text - 1);
  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  LEAT_EXPECT_OK(leat_tensor_scalar_string(leat_string_view_from(text), &slot.tensor));
  pair->serving.fn(pair->serving.data, leat_ok_status(), slot);
  expect_end(&fetched, LEAT_OK, "");
  assert_true(leat_string_view_equals(leat_tensor_string_at(&fetched.value.tensor, 0), text));
  leat_slot_release(&fetched.value);
  assert_int_equal(count_read(pair), 1);
  wait_for_loans(pair->far, 0);
}

// Several threads read a value; each of its pieces must be where it belongs.
static void a_pool_of_threads_reads_a_value(void** state) {
  pair_t* pair = *state;
  leat_thread_pool_t* pool;
  LEAT_EXPECT_OK(leat_thread_pool_create(4, leat_allocator_system(), &pool));
  pair->near->options.pool = pool;
  for (int64_t count = 3000000; count < 3000004; ++count) expect_floats(pair, count, count);
  assert_int_equal(count_read(pair), 4);
  pair->near->options.pool = NULL;
  leat_thread_pool_release(pool);
}

// One of the two is enough: the other would read what it is shown, and show what could be read.
static void a_distant_end_reads_and_lends_nothing(void** state) {
  pair_t* pair = *state;
  lent_t lent = {0};
  expect_floats(pair, 1, 100000);
  assert_int_equal(count_read(pair), 0);
  leat_plane_way_t *near = only_way(pair->near), *far = only_way(pair->far);
  assert_int_equal(atomic_load(&near->process), 0);
  assert_int_equal(atomic_load(&far->process), 0);
  assert_false(lend(near, &lent));
}

// ---- Giving back --------------------------------------------------------------------------------

// Nobody waits for the value any more, and the sender is told.
static void a_cancelled_fetch_gives_back(void** state) {
  pair_t* pair = *state;
  fetched_t fetched;
  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  leat_plane_cancel(fetched.call);
  expect_end(&fetched, LEAT_CANCELLED, "cancelled");
  leat_slot_t value = make_floats(500000, 1);
  const leat_tensor_t kept = leat_tensor_share(&value.tensor);
  pair->serving.fn(pair->serving.data, leat_ok_status(), value);
  wait_for_loans(pair->far, 0);
  const int64_t begin_ns = leat_clock_now_ns();
  while (!leat_buffer_is_exclusive(kept.buffer)) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(20000);
  }
  leat_tensor_t own = kept;
  leat_tensor_release(&own);
  assert_int_equal(count_read(pair), 0);
  expect_floats(pair, 3, 100000);
}

// Has a process do nothing any more; it may still answer until it has stopped.
static void stop_process(const process_t* process) {
  assert_int_equal(kill(process->number, SIGSTOP), 0);
  assert_int_equal(waitpid(process->number, NULL, WUNTRACED), process->number);
}

enum { BREAKS, STOPS, DIES, CAUSES };

// The other end is stopped by a signal and takes nothing. Whatever ends the way lets the elements
// go, once, and breaks the seal before that.
static void the_end_of_a_way_lets_loans_go(void** state) {
  for (int cause = 0; cause < CAUSES; ++cause) {
    pair_t pair;
    process_t process;
    lent_t lent = {0};
    start_process(&pair, &process);
    expect_floats(&pair, 1, 100000);
    assert_int_equal(count_read(&pair), 1);
    stop_process(&process);
    leat_plane_way_t* way = only_way(pair.near);
    leat_reference_count_retain(&way->references);
    assert_true(lend(way, &lent));
    lent.seal = seal_of_the_only_loan(pair.near);
    assert_true(*lent.seal != 0);
    assert_int_equal(atomic_load(&lent.releases), 0);
    if (cause == BREAKS) leat_plane_lose(pair.near, way->number, LEAT_UNAVAILABLE, "a test");
    if (cause == DIES) kill(process.number, SIGKILL);
    if (cause != STOPS) wait_for_loans(pair.near, 0);
    // A way that is lost lends nothing: what was lent would never be let go.
    if (cause != STOPS) assert_false(lend(way, &lent));
    leat_plane_way_release(way);
    leat_plane_free(pair.near);
    assert_int_equal(atomic_load(&lent.releases), 1);
    assert_int_equal(atomic_load(&lent.whole_seals), 0);
    kill_process(&process);
  }
}

// ---- What is not believed -----------------------------------------------------------------------

static leat_plane_frame_t lent_frame(const lent_t* lent, const uint64_t* seal) {
  return (leat_plane_frame_t){.kind = LEAT_PLANE_LENT,
                              .seal = 12345,
                              .seal_address = (uint64_t)(uintptr_t)seal,
                              .elements = (uint64_t)(uintptr_t)lent->bytes,
                              .elements_bytes = sizeof lent->bytes};
}

// The seal says whether the elements were still the sender's when they were read. After a failure
// nothing is read from that task any more.
static void a_broken_seal_is_seen(void** state) {
  static lent_t lent;
  static char place[sizeof lent.bytes];
  pair_t* pair = *state;
  uint64_t seal = 12345;
  memset(lent.bytes, 7, sizeof lent.bytes);
  expect_floats(pair, 1, 100000);
  leat_plane_way_t* way = only_way(pair->near);
  const leat_plane_frame_t frame = lent_frame(&lent, &seal);
  LEAT_EXPECT_OK(leat_plane_read_loan(way, &frame, place));
  assert_memory_equal(place, lent.bytes, sizeof place);
  seal = 0;
  leat_status_t status = leat_plane_read_loan(way, &frame, place);
  assert_int_equal(leat_status_code(status), LEAT_UNAVAILABLE);
  assert_non_null(strstr(leat_status_message(status), "has let them go"));
  leat_status_free(status);
  const uint64_t before = count_read(pair);
  expect_floats(pair, 2, 100000);
  assert_int_equal(count_read(pair), before);
}

// A greeting proves nothing unless the number of the end that is greeted is where it says.
static void a_wrong_proof_is_none(void** state) {
  pair_t* pair = *state;
  uint64_t wrong = pair->near->number + 1, right = pair->near->number;
  const struct {
    int64_t process;
    const uint64_t* seal;
  } kGreetings[] = {{leat_host_process_id(), &wrong}, {leat_host_process_id(), NULL},
                    {INT32_MAX, &right}, {-1, &right}};
  expect_floats(pair, 1, 100000);
  leat_plane_way_t* way = only_way(pair->near);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kGreetings); ++i) {
    leat_plane_frame_t greeting = {.kind = LEAT_PLANE_WELCOME,
                                   .process = leat_host_process_id(),
                                   .seal_address = (uint64_t)(uintptr_t)&right};
    leat_plane_prove_memory(way, &greeting);
    assert_true(atomic_load(&way->process) == leat_host_process_id());
    greeting.process = kGreetings[i].process;
    greeting.seal_address = (uint64_t)(uintptr_t)kGreetings[i].seal;
    leat_plane_prove_memory(way, &greeting);
    assert_int_equal(atomic_load(&way->process), 0);
    const uint64_t before = count_read(pair);
    expect_floats(pair, 2, 100000);
    assert_int_equal(count_read(pair), before);
  }
}

// Frames that lie: of a size that is none, of a place that is none, and of more than can be had.
static void wrong_frames_are_harmless(void** state) {
  static lent_t lent;
  static const uint64_t kSizes[] = {0, UINT64_MAX, (uint64_t)PTRDIFF_MAX + 1};
  pair_t* pair = *state;
  fetched_t fetched;
  uint64_t seal = 12345;
  leat_plane_way_t* way = only_way(pair->far);
  expect_floats(pair, 1, 100000);

  // The frame is dropped, and the value that comes is the right one.
  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  leat_plane_frame_t frame = lent_frame(&lent, &seal);
  frame.call = fetched.call->number;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSizes); ++i) {
    frame.elements_bytes = kSizes[i];
    leat_plane_send(way, frame, LEAT_SV(""), LEAT_SV(""), (leat_rpc_piece_t){0});
  }
  pair->serving.fn(pair->serving.data, leat_ok_status(), make_floats(3, 1));
  expect_end(&fetched, LEAT_OK, "");
  leat_slot_release(&fetched.value);

  // ThreadSanitizer ends the process that asks for so much memory.
#if !defined(__SANITIZE_THREAD__)
  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  frame.call = fetched.call->number;
  frame.elements_bytes = PTRDIFF_MAX;
  leat_plane_send(way, frame, LEAT_SV(""), LEAT_SV(""), (leat_rpc_piece_t){0});
  expect_end(&fetched, LEAT_RESOURCE_EXHAUSTED, "there is no memory for");
  pair->serving.fn(pair->serving.data, leat_ok_status(), make_floats(3, 1));
#endif

  start(pair, 1, "hold", &fetched);
  wait_until_held(pair);
  frame = lent_frame(&lent, &seal);
  frame.call = fetched.call->number;
  frame.elements = 4096;
  leat_plane_send(way, frame, LEAT_SV(""), LEAT_SV(""), (leat_rpc_piece_t){0});
  expect_end(&fetched, LEAT_UNAVAILABLE, "were not read from the memory of the other task");
  pair->serving.fn(pair->serving.data, leat_ok_status(), make_floats(3, 1));
  expect_floats(pair, 2, 100000);
}

static void a_loan_is_given_back_by_its_way_alone(void** state) {
  pair_t pair;
  process_t process;
  lent_t lent = {0};
  start_process(&pair, &process);
  expect_floats(&pair, 1, 10);
  stop_process(&process);
  leat_plane_t* plane = pair.near;
  leat_plane_way_t* way = only_way(plane);
  const uint64_t number = way->number;
  assert_true(lend(way, &lent));
  const uint64_t seal = *seal_of_the_only_loan(plane);
  leat_plane_take_back(plane, number + 1, seal);
  leat_plane_take_back(plane, number, seal + 1);
  assert_int_equal(count_loans(plane), 1);
  assert_int_equal(atomic_load(&lent.releases), 0);
  leat_plane_take_back(plane, number, seal);
  leat_plane_take_back(plane, number, seal);
  assert_int_equal(atomic_load(&lent.releases), 1);
  leat_plane_free(plane);
  kill_process(&process);
}

static int set_up_with_a_distant_end(void** state) {
  static pair_t pair;
  open_pair(&pair, true);
  *state = &pair;
  return 0;
}

static void nothing_may_be_read_here(void** state) { skip(); }

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char** argv) {
  if (argc == 4) return serve_for_ever(atoi(argv[1]), atoi(argv[2]), argv[3]);
  const struct CMUnitTest tests[] = {
      CASE(large_values_are_read_and_given_back),
      CASE(values_that_are_no_plain_numbers_are_read_too),
      CASE(a_pool_of_threads_reads_a_value),
      cmocka_unit_test_setup_teardown(a_distant_end_reads_and_lends_nothing,
                                      set_up_with_a_distant_end, tear_down),
      CASE(a_cancelled_fetch_gives_back),
      cmocka_unit_test(the_end_of_a_way_lets_loans_go),
      CASE(a_broken_seal_is_seen),
      CASE(a_wrong_proof_is_none),
      CASE(wrong_frames_are_harmless),
      cmocka_unit_test(a_loan_is_given_back_by_its_way_alone),
  };
  const struct CMUnitTest none[] = {cmocka_unit_test(nothing_may_be_read_here)};
  setenv("UCX_TLS", "tcp", 1);
  if (!may_read_children()) return cmocka_run_group_tests(none, NULL, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
