// The rendezvous, where a Send meets its Recv (section 3.2.2): a table of values under keys. A send
// never blocks; a receive is asynchronous and completes when the value is there; an abort completes
// every waiting receive with an error. This is the interface; the worker implements it within a
// process and the cluster between processes. All functions are thread-safe.
//
// There are two kinds of keys. The general one is the text "srcdevice;%016x
// incarnation;dstdevice;tensor name;frame:iteration", which is TensorFlow's, so that its workers
// and ours form the same one. The other one is a number that the
// partitioner gave to the transfer when it cut the graph, with the frame and iteration in which the
// transfer takes place. A transfer is numbered only where its step meets in one rendezvous within a
// process; such a step then composes and compares no text. The same edge has another key in each
// iteration of a loop. A numbered key and a text never meet.
#ifndef LEAT_KERNEL_RENDEZVOUS_H_
#define LEAT_KERNEL_RENDEZVOUS_H_

#include "kernel/kernel.h"

typedef struct leat_rendezvous_s leat_rendezvous_t;
// Called once, on any thread. The callee takes |value| when |status| is OK.
typedef void (*leat_rendezvous_receive_fn_t)(void* data, leat_status_t status, leat_slot_t value);

#define LEAT_RENDEZVOUS_NO_TRANSFER (-1)  // in leat_rendezvous_key_t.transfer: |text| is the key

// A key of either kind. It is passed by value; a text that must outlive the call is copied by the
// rendezvous.
typedef struct leat_rendezvous_key_s {
  leat_string_view_t text;  // borrowed; empty in a numbered key
  int64_t transfer;         // the transfer's number, or LEAT_RENDEZVOUS_NO_TRANSFER
  uint64_t iteration;       // of a numbered key: a number of the frame and iteration
} leat_rendezvous_key_t;
static inline leat_rendezvous_key_t leat_rendezvous_text(leat_string_view_t text) {
  return (leat_rendezvous_key_t){.text = text, .transfer = LEAT_RENDEZVOUS_NO_TRANSFER};
}
static inline leat_rendezvous_key_t leat_rendezvous_number(int64_t transfer, uint64_t iteration) {
  return (leat_rendezvous_key_t){.transfer = transfer, .iteration = iteration};
}

typedef struct leat_rendezvous_vtable_s {
  // The last reference is gone: no call is under way, and what was sent and never received is
  // released.
  void (*destroy)(leat_rendezvous_t* self);
  // Takes |value| in every case. Fails with the cause when the rendezvous is aborted, and with
  // INTERNAL, as a receive does, when the transfer's number is none of the step's.
  leat_status_t (*send)(leat_rendezvous_t* self, leat_rendezvous_key_t key, leat_slot_t value);
  // Calls |fn| with the value when it is there, which may be before this returns, or with the cause
  // of the abort.
  void (*receive)(leat_rendezvous_t* self, leat_rendezvous_key_t key,
                  leat_rendezvous_receive_fn_t fn, void* data);
  // Makes room for numbered keys, whose transfers are 0, ..., |transfer_count| - 1; 0: for none.
  // All graphs of a step call it with the same count before their first transfer, and INTERNAL
  // tells that the counts differ. Does nothing after an abort, since every later transfer fails
  // then.
  leat_status_t (*reserve)(leat_rendezvous_t* self, uint32_t transfer_count);
  // Every waiting and later call fails with a copy of |status|, which stays the caller's. Only the
  // first abort counts.
  void (*abort)(leat_rendezvous_t* self, leat_status_t status);
} leat_rendezvous_vtable_t;

struct leat_rendezvous_s {
  const leat_rendezvous_vtable_t* vtable;
  leat_reference_count_t references;
};
static inline void leat_rendezvous_retain(leat_rendezvous_t* r) {
  leat_reference_count_retain(&r->references);
}
// NULL is allowed.
static inline void leat_rendezvous_release(leat_rendezvous_t* r) {
  if (r && leat_reference_count_release(&r->references)) r->vtable->destroy(r);
}

#endif  // LEAT_KERNEL_RENDEZVOUS_H_
