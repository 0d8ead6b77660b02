// A worker that is somewhere else: its calls become requests (WorkerRequest of
// formats/proto/worker.proto), which letters take to a service (cluster/worker_service.h), and end
// when a letter brings the reply.
#ifndef LEAT_CLUSTER_REMOTE_WORKER_H_
#define LEAT_CLUSTER_REMOTE_WORKER_H_

#include "cluster/delivery.h"
#include "cluster/shelf.h"
#include "worker/worker.h"

typedef struct leat_remote_worker_s leat_remote_worker_t;
struct leat_remote_worker_s {
  leat_worker_t base;
  // To be set by whoever makes it; borrowed.
  leat_allocator_t* allocator;
  leat_shelf_t* shelf;
  leat_delivery_t* delivery;  // of requests, to |receive_request|(|requests|)
  leat_letter_fn_t receive_request;
  void* requests;
  leat_worker_t* direct;  // is told what finds no memory for a letter, and has no reply to say so
  void (*destroy)(leat_remote_worker_t* self);  // the vtable's
  // Its own.
  leat_shelf_t calls;  // that wait for their reply
  leat_mutex_t mutex;
  leat_word_map_t edge_counts;  // handle -> feeds << 32 | fetches; under |mutex|
};

// Of a worker whose fields above are set.
void leat_remote_worker_initialize(leat_remote_worker_t* worker);
void leat_remote_worker_deinitialize(leat_remote_worker_t* worker);  // no call is under way

// A leat_letter_fn_t of a remote worker, for replies.
void leat_remote_worker_receive(void* worker, uint64_t call, char* bytes, size_t size_bytes);
// Ends a call whose reply will not come. |status| is taken.
void leat_remote_worker_fail(void* worker, uint64_t call, leat_status_t status);

#endif  // LEAT_CLUSTER_REMOTE_WORKER_H_
