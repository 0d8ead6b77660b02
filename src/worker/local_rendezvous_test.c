#include "worker/local_rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/test.h"
#include "base/thread.h"

static leat_rendezvous_t* make(void) {
  leat_rendezvous_t* rendezvous = NULL;
  LEAT_EXPECT_OK(leat_local_rendezvous_create(leat_allocator_system(), &rendezvous));
  return rendezvous;
}

static leat_slot_t slot_of(int32_t number) {
  leat_slot_t slot = {.alive = true};
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT32, &number, &slot.tensor));
  return slot;
}

typedef struct receipt_s {
  int calls;
  leat_status_code_t code;
  int32_t number;
  bool alive;
} receipt_t;

static void keep(void* data, leat_status_t status, leat_slot_t value) {
  receipt_t* receipt = data;
  receipt->calls++;
  receipt->code = leat_status_code(status);
  receipt->alive = value.alive;
  receipt->number = value.tensor.dtype ? leat_tensor_data(&value.tensor, int32_t)[0] : -1;
  leat_status_free(status);
  leat_slot_release(&value);
}

#define SEND(r, key, number) (r)->vtable->send((r), LEAT_SV(key), slot_of(number))
#define RECEIVE(r, key, receipt) (r)->vtable->receive((r), LEAT_SV(key), keep, (receipt))

static void values_meet_their_receivers(void** state) {
  leat_rendezvous_t* r = make();
  receipt_t first = {0}, second = {0}, third = {0};
  RECEIVE(r, "a", &first);
  assert_int_equal(first.calls, 0);
  LEAT_EXPECT_OK(SEND(r, "b", 2));
  LEAT_EXPECT_OK(SEND(r, "b", 3));
  LEAT_EXPECT_OK(SEND(r, "a", 1));
  assert_int_equal(first.calls, 1);
  assert_int_equal(first.number, 1);
  RECEIVE(r, "b", &second);
  RECEIVE(r, "b", &third);
  assert_int_equal(second.number, 2);  // in the order of sending
  assert_int_equal(third.number, 3);
  receipt_t dead = {.alive = true};
  LEAT_EXPECT_OK(r->vtable->send(r, LEAT_SV("d"), (leat_slot_t){0}));
  RECEIVE(r, "d", &dead);
  assert_int_equal(dead.calls, 1);
  assert_false(dead.alive);
  leat_rendezvous_release(r);
}

static void an_abort_reaches_everybody(void** state) {
  leat_rendezvous_t* r = make();
  receipt_t waiting = {0}, late = {0};
  RECEIVE(r, "a", &waiting);
  LEAT_EXPECT_OK(SEND(r, "b", 1));
  leat_status_t cause = leat_make_status(LEAT_DATA_LOSS, "first");
  r->vtable->abort(r, cause);
  leat_status_free(cause);
  cause = leat_make_status(LEAT_INTERNAL, "second");
  r->vtable->abort(r, cause);
  leat_status_free(cause);
  assert_int_equal(waiting.calls, 1);
  assert_int_equal(waiting.code, LEAT_DATA_LOSS);
  RECEIVE(r, "b", &late);
  assert_int_equal(late.calls, 1);
  assert_int_equal(late.code, LEAT_DATA_LOSS);
  // A value that comes too late is released, for nobody will receive it.
  leat_slot_t refused = slot_of(1);
  leat_tensor_t kept = leat_tensor_share(&refused.tensor);
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, r->vtable->send(r, LEAT_SV("c"), refused));
  assert_true(leat_buffer_is_exclusive(kept.buffer));
  leat_tensor_release(&kept);
  leat_rendezvous_release(r);
}

static void the_end_releases_values_and_receivers(void** state) {
  leat_rendezvous_t* r = make();
  receipt_t waiting = {0};
  LEAT_EXPECT_OK(SEND(r, "a", 1));
  RECEIVE(r, "b", &waiting);
  leat_rendezvous_release(r);
  assert_int_equal(waiting.calls, 1);
  assert_int_equal(waiting.code, LEAT_CANCELLED);
}

#define KEYS 3000

typedef struct traffic_s {
  leat_rendezvous_t* rendezvous;
  receipt_t receipts[KEYS];
  _Atomic int order;
} traffic_t;

static leat_string_view_t key_of(int i, char* buffer, size_t size) {
  int length = snprintf(buffer, size, "/cpu:0;%016x;/cpu:1;edge_%d;0:0", 17, i);
  return leat_string_view_make(buffer, (size_t)length);
}

static void send_all(void* data) {
  traffic_t* traffic = data;
  char text[64];
  for (int i = 0; i < KEYS; ++i) {
    LEAT_EXPECT_OK(traffic->rendezvous->vtable->send(
        traffic->rendezvous, key_of(i, text, sizeof(text)), slot_of(i)));
  }
}

static void receive_all(void* data) {
  traffic_t* traffic = data;
  char text[64];
  for (int i = KEYS - 1; i >= 0; --i) {
    traffic->rendezvous->vtable->receive(traffic->rendezvous, key_of(i, text, sizeof(text)), keep,
                                         &traffic->receipts[i]);
  }
}

static void threads_meet(void** state) {
  traffic_t* traffic = calloc(1, sizeof(*traffic));
  traffic->rendezvous = make();
  leat_thread_t threads[2];
  LEAT_EXPECT_OK(leat_thread_start("sender", send_all, traffic, &threads[0]));
  LEAT_EXPECT_OK(leat_thread_start("receiver", receive_all, traffic, &threads[1]));
  leat_thread_join(threads[0]);
  leat_thread_join(threads[1]);
  for (int i = 0; i < KEYS; ++i) {
    assert_int_equal(traffic->receipts[i].calls, 1);
    assert_int_equal(traffic->receipts[i].number, i);
  }
  leat_rendezvous_release(traffic->rendezvous);
  free(traffic);
}

static void threads_meet_an_abort(void** state) {
  for (int round = 0; round < 10; ++round) {
    traffic_t* traffic = calloc(1, sizeof(*traffic));
    traffic->rendezvous = make();
    leat_thread_t thread;
    leat_status_t cause = leat_make_status(LEAT_ABORTED, "enough");
    LEAT_EXPECT_OK(leat_thread_start("receiver", receive_all, traffic, &thread));
    leat_clock_sleep_ns(round * 50000);
    traffic->rendezvous->vtable->abort(traffic->rendezvous, cause);
    leat_thread_join(thread);
    for (int i = 0; i < KEYS; ++i) {
      assert_int_equal(traffic->receipts[i].calls, 1);
      assert_int_equal(traffic->receipts[i].code, LEAT_ABORTED);
    }
    leat_status_free(cause);
    leat_rendezvous_release(traffic->rendezvous);
    free(traffic);
  }
}

static void memory_may_fail(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_rendezvous_t* r = NULL;
    receipt_t receipts[40] = {0};
    int received = 0;
    char text[64];
    leat_slot_t values[40];
    for (int i = 0; i < 40; ++i) values[i] = slot_of(i);
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_local_rendezvous_create(leat_allocator_system(), &r);
    for (int i = 0; i < 40; ++i) {
      if (!r) {
        leat_slot_release(&values[i]);
        continue;
      }
      leat_string_view_t key = key_of(i, text, sizeof(text));
      if (i % 2) r->vtable->receive(r, key, keep, &receipts[i]);
      status = leat_status_join(status, r->vtable->send(r, key, values[i]));
      if (i % 2 == 0) r->vtable->receive(r, key, keep, &receipts[i]);
    }
    bool met = leat_fault_remove(&fault);
    leat_rendezvous_release(r);
    for (int i = 0; i < 40 && r; ++i) {
      assert_int_equal(receipts[i].calls, 1);
      received += receipts[i].code == LEAT_OK;
    }
    leat_status_free(status);
    if (!met) {
      assert_int_equal(received, 40);
      break;
    }
    assert_true(!r || received >= 39);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_meet_their_receivers),
      cmocka_unit_test(an_abort_reaches_everybody),
      cmocka_unit_test(the_end_releases_values_and_receivers),
      cmocka_unit_test(threads_meet),
      cmocka_unit_test(threads_meet_an_abort),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
