// The simulated network: every message that is posted comes, once, in another order than that in
// which messages were posted but within the orders that the sender asks for. Receivers append the
// number of each message to a list, and the tests look at that list after leat_network_free(),
// which waits for the messages that are still under way. Some receivers are slow on purpose,
// because only then does it show whether the last message of a step, or one behind a barrier, waits
// for those before it. A receiver that blocks holds up no other message: 64 of them wait for one
// that is posted behind them. What messages mean to a worker is tested in loopback_test.c.
#include "cluster/network.h"

#include "base/clock.h"
#include "base/sync.h"
#include "base/test.h"

enum { kMessages = 64 };

// What came, in order: messages bear their number as their call.
typedef struct box_s {
  leat_network_t* network;
  leat_mutex_t mutex;
  int count;
  uint64_t calls[2 * kMessages];
  leat_notification_t gate;
} box_t;

static int set_up(void** state) {
  static box_t box;
  box = (box_t){0};
  leat_mutex_initialize(&box.mutex);
  leat_notification_initialize(&box.gate);
  LEAT_EXPECT_OK(leat_network_create(5, 2000000, leat_allocator_system(), &box.network));
  *state = &box;
  return 0;
}

// Every test has ended the delivery.
static int tear_down(void** state) {
  box_t* box = *state;
  leat_notification_deinitialize(&box->gate);
  leat_mutex_deinitialize(&box->mutex);
  return 0;
}

static void note(void* receiver, uint64_t call, char* bytes, size_t size_bytes) {
  box_t* box = receiver;
  assert_int_equal(size_bytes, 1);
  assert_int_equal(bytes[0], (char)call);
  leat_allocator_free(leat_allocator_system(), bytes);
  leat_mutex_lock(&box->mutex);
  box->calls[box->count++] = call;
  leat_mutex_unlock(&box->mutex);
}

static void note_slowly(void* receiver, uint64_t call, char* bytes, size_t size_bytes) {
  leat_clock_sleep_ns(3000000);
  note(receiver, call, bytes, size_bytes);
}

static void wait_for_gate(void* receiver, uint64_t call, char* bytes, size_t size_bytes) {
  box_t* box = receiver;
  leat_notification_wait(&box->gate, LEAT_DEADLINE_NEVER);
  note(receiver, call, bytes, size_bytes);
}

static void open_gate(void* receiver, uint64_t call, char* bytes, size_t size_bytes) {
  box_t* box = receiver;
  leat_notification_open(&box->gate);
  note(receiver, call, bytes, size_bytes);
}

static void post(box_t* box, leat_network_receive_fn_t receive, uint64_t call, int64_t step_id,
                 leat_network_order_t order) {
  leat_network_message_t message = {.receive = receive,
                          .receiver = box,
                          .call = call,
                          .size_bytes = 1,
                          .step_id = step_id,
                          .order = order};
  LEAT_EXPECT_OK(LEAT_ALLOCATE(leat_allocator_system(), 1, &message.bytes));
  message.bytes[0] = (char)call;
  LEAT_EXPECT_OK(leat_network_send(box->network, &message));
}

// Where |call| came; -1: it did not.
static int place_of(const box_t* box, uint64_t call) {
  for (int i = 0; i < box->count; ++i) {
    if (box->calls[i] == call) return i;
  }
  return -1;
}

static void all_come_in_another_order(void** state) {
  box_t* box = *state;
  for (uint64_t i = 0; i < kMessages; ++i) post(box, note, i, 0, LEAT_NETWORK_UNORDERED);
  leat_network_free(box->network);  // not before they came
  assert_int_equal(box->count, kMessages);
  int earlier = 0;
  for (int i = 1; i < kMessages; ++i) {
    assert_true(place_of(box, (uint64_t)i) >= 0);
    earlier += place_of(box, (uint64_t)i) < place_of(box, (uint64_t)i - 1);
  }
  assert_true(earlier > kMessages / 8);
}

// The last message of a step waits until the receivers of the others have returned.
static void last_of_its_step(void** state) {
  box_t* box = *state;
  for (uint64_t i = 0; i < kMessages; i += 4) {
    post(box, note_slowly, i, (int64_t)i + 1, LEAT_NETWORK_UNORDERED);
    post(box, note, i + 1, (int64_t)i + 1, LEAT_NETWORK_UNORDERED);
    post(box, note, i + 2, (int64_t)i + 1, LEAT_NETWORK_LAST);
    post(box, note, i + 3, (int64_t)i + 1, LEAT_NETWORK_UNORDERED);
  }
  leat_network_free(box->network);
  assert_int_equal(box->count, kMessages);
  for (uint64_t i = 0; i < kMessages; i += 4) {
    assert_true(place_of(box, i + 2) > place_of(box, i));
    assert_true(place_of(box, i + 2) > place_of(box, i + 1));
  }
}

static void barrier(void** state) {
  box_t* box = *state;
  for (uint64_t i = 0; i < kMessages; ++i) {
    bool holds = i == kMessages / 2;
    post(box, holds ? note_slowly : note, i, 0,
         holds ? LEAT_NETWORK_BARRIER : LEAT_NETWORK_UNORDERED);
  }
  leat_network_free(box->network);
  assert_int_equal(box->count, kMessages);
  for (uint64_t i = kMessages / 2 + 1; i < kMessages; ++i) {
    assert_true(place_of(box, i) > place_of(box, kMessages / 2));
  }
}

// Many receivers keep their threads until a message comes that was posted behind theirs.
static void receivers_that_wait(void** state) {
  box_t* box = *state;
  for (uint64_t i = 0; i < kMessages; ++i) post(box, wait_for_gate, i, 0, LEAT_NETWORK_UNORDERED);
  leat_clock_sleep_ns(4000000);  // all wait
  post(box, open_gate, kMessages, 0, LEAT_NETWORK_UNORDERED);
  leat_network_free(box->network);
  assert_int_equal(box->count, kMessages + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(all_come_in_another_order),
      TEST(last_of_its_step),
      TEST(barrier),
      TEST(receivers_that_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
