// The rendezvous within a worker: a value reaches the one receiver with its key, whoever comes
// first, and an abort or the end of the step reaches all who wait. Keys are texts, or numbers of
// transfers and iterations; the tests of numbers look at the places that the rendezvous sets aside
// for them and at what happens when these are taken. Tests call the interface directly with values
// that carry a number. Two cases let threads meet in opposite orders, and one makes every
// allocation fail. How Send and Recv nodes of a step use a rendezvous is tested in
// local_worker_test.c and tests/session.
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

#define SEND(r, key, number) \
  (r)->vtable->send((r), leat_rendezvous_text(LEAT_SV(key)), slot_of(number))
#define RECEIVE(r, key, receipt) \
  (r)->vtable->receive((r), leat_rendezvous_text(LEAT_SV(key)), keep, (receipt))

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
  LEAT_EXPECT_OK(r->vtable->send(r, leat_rendezvous_text(LEAT_SV("d")), (leat_slot_t){0}));
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
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS,
                   r->vtable->send(r, leat_rendezvous_text(LEAT_SV("c")), refused));
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
  bool numbered;
  receipt_t receipts[KEYS];
  _Atomic int order;
} traffic_t;

#define TRANSFERS 8

// Numbered keys are those of a few transfers in many iterations.
static leat_rendezvous_key_t key_of(bool numbered, int i, char* buffer, size_t size) {
  if (numbered) return leat_rendezvous_number(i % TRANSFERS, (uint64_t)(i / TRANSFERS));
  int length = snprintf(buffer, size, "/cpu:0;%016x;/cpu:1;edge_%d;0:0", 17, i);
  return leat_rendezvous_text(leat_string_view_make(buffer, (size_t)length));
}

static void send_all(void* data) {
  traffic_t* traffic = data;
  char text[64];
  for (int i = 0; i < KEYS; ++i) {
    LEAT_EXPECT_OK(traffic->rendezvous->vtable->send(
        traffic->rendezvous, key_of(traffic->numbered, i, text, sizeof(text)), slot_of(i)));
  }
}

static void receive_all(void* data) {
  traffic_t* traffic = data;
  char text[64];
  for (int i = KEYS - 1; i >= 0; --i) {
    traffic->rendezvous->vtable->receive(traffic->rendezvous,
                                         key_of(traffic->numbered, i, text, sizeof(text)), keep,
                                         &traffic->receipts[i]);
  }
}

static traffic_t* make_traffic(bool numbered) {
  traffic_t* traffic = calloc(1, sizeof(*traffic));
  traffic->rendezvous = make();
  traffic->numbered = numbered;
  if (numbered) {
    LEAT_EXPECT_OK(traffic->rendezvous->vtable->reserve(traffic->rendezvous, TRANSFERS));
  }
  return traffic;
}

static void threads_meet_by(bool numbered) {
  traffic_t* traffic = make_traffic(numbered);
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

static void threads_meet(void** state) {
  threads_meet_by(false);
  threads_meet_by(true);
}

static void threads_meet_an_abort(void** state) {
  for (int round = 0; round < 20; ++round) {
    traffic_t* traffic = make_traffic(round % 2);
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

static void memory_may_fail_by(bool numbered) {
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
    if (r && numbered) {
      leat_status_t reserved = r->vtable->reserve(r, TRANSFERS);
      if (reserved) {
        leat_rendezvous_release(r);
        r = NULL;
      }
      status = leat_status_join(status, reserved);
    }
    for (int i = 0; i < 40; ++i) {
      if (!r) {
        leat_slot_release(&values[i]);
        continue;
      }
      leat_rendezvous_key_t key = key_of(numbered, i, text, sizeof(text));
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

static void memory_may_fail(void** state) {
  memory_may_fail_by(false);
  memory_may_fail_by(true);
}

// ---- Numbered transfers -------------------------------------------------------------------------

static leat_rendezvous_t* make_numbered(uint32_t transfer_count) {
  leat_rendezvous_t* r = make();
  LEAT_EXPECT_OK(r->vtable->reserve(r, transfer_count));
  return r;
}

static leat_status_t send_number(leat_rendezvous_t* r, int64_t transfer, uint64_t iteration,
                                 int32_t number) {
  return r->vtable->send(r, leat_rendezvous_number(transfer, iteration), slot_of(number));
}

static void receive_number(leat_rendezvous_t* r, int64_t transfer, uint64_t iteration,
                           receipt_t* receipt) {
  r->vtable->receive(r, leat_rendezvous_number(transfer, iteration), keep, receipt);
}

static void expect_receipt(const receipt_t* receipt, int32_t number) {
  assert_int_equal(receipt->calls, 1);
  assert_int_equal(receipt->code, LEAT_OK);
  assert_int_equal(receipt->number, number);
}

// Transfer 3 is the last one, and transfer 2 is never used.
static void numbers_meet_in_both_orders(void** state) {
  leat_rendezvous_t* r = make_numbered(4);
  receipt_t receipts[3] = {{0}}, dead = {.alive = true};
  receive_number(r, 0, 0, &receipts[0]);
  LEAT_EXPECT_OK(send_number(r, 1, 0, 11));
  LEAT_EXPECT_OK(send_number(r, 3, 0, 13));
  assert_int_equal(receipts[0].calls, 0);
  LEAT_EXPECT_OK(send_number(r, 0, 0, 10));
  receive_number(r, 3, 0, &receipts[2]);
  receive_number(r, 1, 0, &receipts[1]);
  expect_receipt(&receipts[0], 10);
  expect_receipt(&receipts[1], 11);
  expect_receipt(&receipts[2], 13);
  LEAT_EXPECT_OK(r->vtable->send(r, leat_rendezvous_number(0, 0), (leat_slot_t){0}));
  receive_number(r, 0, 0, &dead);
  assert_int_equal(dead.calls, 1);
  assert_false(dead.alive);
  leat_rendezvous_release(r);
}

// One device is ahead of the other by many iterations of two loops, whichever it is. The receivers
// come in no order that the values have.
static void iterations_do_not_mix(void** state) {
  enum { COUNT = 200 };
  for (int receivers_first = 0; receivers_first < 2; ++receivers_first) {
    leat_rendezvous_t* r = make_numbered(2);
    receipt_t receipts[2][COUNT] = {{{0}}};
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < COUNT; ++i) {
        for (int transfer = 0; transfer < 2; ++transfer) {
          if (side == receivers_first) {
            LEAT_EXPECT_OK(send_number(r, transfer, (uint64_t)i, transfer * COUNT + i));
          } else {
            int other = (i * 77 + 5) % COUNT;
            receive_number(r, transfer, (uint64_t)other, &receipts[transfer][other]);
          }
        }
      }
    }
    for (int i = 0; i < 2 * COUNT; ++i) expect_receipt(&receipts[i / COUNT][i % COUNT], i);
    leat_rendezvous_release(r);
  }
}

// The first value lies in the transfer's place, the others do not; the place is free again before
// the last one comes.
static void values_under_one_number_keep_their_order(void** state) {
  leat_rendezvous_t* r = make_numbered(1);
  receipt_t receipts[4] = {{0}};
  for (int i = 0; i < 3; ++i) LEAT_EXPECT_OK(send_number(r, 0, 5, i));
  receive_number(r, 0, 5, &receipts[0]);
  LEAT_EXPECT_OK(send_number(r, 0, 5, 3));
  for (int i = 1; i < 4; ++i) receive_number(r, 0, 5, &receipts[i]);
  for (int i = 0; i < 4; ++i) expect_receipt(&receipts[i], i);
  leat_rendezvous_release(r);
}

// The iteration in which transfer 0 has the hash of |text|: the inverse of leat_hash_mix(x, 0).
static uint64_t iteration_like(leat_string_view_t text) {
  const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t inverse = factor;  // right in 3 bits, and in twice as many after each turn
  for (int i = 0; i < 5; ++i) inverse *= 2 - factor * inverse;
  uint64_t hash = leat_string_view_hash(text);
  uint64_t iteration = (hash ^ hash >> 29 ^ hash >> 58) * inverse;
  assert_true(leat_hash_mix(iteration, 0) == hash);
  return iteration;
}

// A text and a number are in the hash table under one hash.
static void numbers_and_texts_do_not_meet(void** state) {
  leat_rendezvous_t* r = make_numbered(2);
  receipt_t numbers[3] = {{0}}, text = {0};
  const uint64_t iterations[] = {0, 1, iteration_like(LEAT_SV(""))};
  RECEIVE(r, "", &text);
  for (int i = 0; i < 3; ++i) LEAT_EXPECT_OK(send_number(r, 0, iterations[i], i));
  assert_int_equal(text.calls, 0);
  LEAT_EXPECT_OK(SEND(r, "", 3));
  expect_receipt(&text, 3);
  for (int i = 0; i < 3; ++i) {
    receive_number(r, 0, iterations[i], &numbers[i]);
    expect_receipt(&numbers[i], i);
  }
  leat_rendezvous_release(r);
}

// Whoever comes first waits in the transfer's place, which serves again when a further iteration
// that had no room there is over.
static void a_place_needs_no_memory(void** state) {
  leat_rendezvous_t* r = make_numbered(1);
  receipt_t receipts[4] = {{0}};
  leat_fault_t fault;
  for (int i = 0; i < 2; ++i) LEAT_EXPECT_OK(send_number(r, 0, (uint64_t)i, i));
  for (int i = 0; i < 2; ++i) receive_number(r, 0, (uint64_t)i, &receipts[i]);
  leat_slot_t values[] = {slot_of(2), slot_of(3)};
  leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, 1);
  leat_status_t status = r->vtable->send(r, leat_rendezvous_number(0, 2), values[0]);
  receive_number(r, 0, 2, &receipts[2]);
  receive_number(r, 0, 3, &receipts[3]);
  status = leat_status_join(status, r->vtable->send(r, leat_rendezvous_number(0, 3), values[1]));
  assert_false(leat_fault_remove(&fault));
  LEAT_EXPECT_OK(status);
  for (int i = 0; i < 4; ++i) expect_receipt(&receipts[i], i);
  leat_rendezvous_release(r);
}

static void a_number_out_of_range_is_an_error(void** state) {
  const int64_t numbers[] = {2, 3, (int64_t)UINT32_MAX + 1, INT64_MAX};
  for (int reserved = 0; reserved < 2; ++reserved) {
    leat_rendezvous_t* r = make_numbered(reserved ? 2 : 0);
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(numbers); ++i) {
      receipt_t receipt = {0};
      receive_number(r, numbers[i], 0, &receipt);
      assert_int_equal(receipt.calls, 1);
      assert_int_equal(receipt.code, LEAT_INTERNAL);
      leat_slot_t refused = slot_of(1);
      leat_tensor_t kept = leat_tensor_share(&refused.tensor);
      LEAT_EXPECT_CODE(LEAT_INTERNAL,
                       r->vtable->send(r, leat_rendezvous_number(numbers[i], 0), refused));
      assert_true(leat_buffer_is_exclusive(kept.buffer));
      leat_tensor_release(&kept);
    }
    leat_rendezvous_release(r);
  }
  leat_rendezvous_t* r = make_numbered(2);
  LEAT_EXPECT_OK(r->vtable->reserve(r, 2));
  LEAT_EXPECT_OK(r->vtable->reserve(r, 0));
  LEAT_EXPECT_CODE(LEAT_INTERNAL, r->vtable->reserve(r, 3));
  leat_rendezvous_release(r);
}

// One or two |iterations| of transfers 0 (values) and 1 (receivers) are in flight. Where there are
// two, some items lie in places and some in the table. Transfer 2 is not used. |abort| says how it
// all ends.
static void end_what_waits(bool abort, int iterations) {
  leat_rendezvous_t* r = make_numbered(3);
  receipt_t waiting[2] = {{0}}, late = {0};
  leat_tensor_t kept[2];
  for (int i = 0; i < iterations; ++i) {
    leat_slot_t value = slot_of(i);
    kept[i] = leat_tensor_share(&value.tensor);
    LEAT_EXPECT_OK(r->vtable->send(r, leat_rendezvous_number(0, (uint64_t)i), value));
    receive_number(r, 1, (uint64_t)i, &waiting[i]);
    assert_false(leat_buffer_is_exclusive(kept[i].buffer));
  }
  if (abort) {
    leat_status_t cause = leat_make_status(LEAT_DATA_LOSS, "the first reason");
    r->vtable->abort(r, cause);
    r->vtable->abort(r, cause);
    leat_status_free(cause);
    LEAT_EXPECT_OK(r->vtable->reserve(r, 5));
    receive_number(r, 0, 0, &late);
    assert_int_equal(late.calls, 1);
    assert_int_equal(late.code, LEAT_DATA_LOSS);
    LEAT_EXPECT_CODE(LEAT_DATA_LOSS, send_number(r, 1, 0, 1));
    LEAT_EXPECT_CODE(LEAT_DATA_LOSS, send_number(r, 2, 0, 1));
  } else {
    leat_rendezvous_release(r);
  }
  for (int i = 0; i < iterations; ++i) {
    assert_int_equal(waiting[i].calls, 1);
    assert_int_equal(waiting[i].code, abort ? LEAT_DATA_LOSS : LEAT_CANCELLED);
    assert_true(leat_buffer_is_exclusive(kept[i].buffer));
    leat_tensor_release(&kept[i]);
  }
  if (abort) leat_rendezvous_release(r);
}

static void an_abort_and_the_end_reach_numbers(void** state) {
  for (int iterations = 1; iterations <= 2; ++iterations) {
    end_what_waits(true, iterations);
    end_what_waits(false, iterations);
  }
}

// The abort of a step may come before the first graph of the step has told how many transfers there
// are.
static void an_abort_may_come_first(void** state) {
  leat_rendezvous_t* r = make();
  receipt_t receipt = {0};
  leat_status_t cause = leat_make_status(LEAT_DATA_LOSS, "before all");
  r->vtable->abort(r, cause);
  leat_status_free(cause);
  LEAT_EXPECT_OK(r->vtable->reserve(r, 2));
  receive_number(r, 1, 0, &receipt);
  assert_int_equal(receipt.calls, 1);
  assert_int_equal(receipt.code, LEAT_DATA_LOSS);
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, send_number(r, 1, 0, 1));
  leat_rendezvous_release(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_meet_their_receivers),
      cmocka_unit_test(an_abort_reaches_everybody),
      cmocka_unit_test(the_end_releases_values_and_receivers),
      cmocka_unit_test(threads_meet),
      cmocka_unit_test(threads_meet_an_abort),
      cmocka_unit_test(memory_may_fail),
      cmocka_unit_test(numbers_meet_in_both_orders),
      cmocka_unit_test(iterations_do_not_mix),
      cmocka_unit_test(values_under_one_number_keep_their_order),
      cmocka_unit_test(numbers_and_texts_do_not_meet),
      cmocka_unit_test(a_place_needs_no_memory),
      cmocka_unit_test(a_number_out_of_range_is_an_error),
      cmocka_unit_test(an_abort_and_the_end_reach_numbers),
      cmocka_unit_test(an_abort_may_come_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
