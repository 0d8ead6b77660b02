// The queue in which the rows of several steps become batches. A task is the rows of one step; a
// batch is a list of pieces, each a range of rows of a task. Mostly a task is one piece:
//
//   batch 1   | task a: rows 0-2 | task b: row 0 |            closed: task c did not fit
//   batch 2   | task c: rows 0-3 |                             open: more may come
//
// A batch is processed when it is full, when a task did not fit behind its last one, or when its
// first task has waited for the timeout; and when no more batches than |concurrency| are being
// processed. The queue calls |process| for it, on any thread, which calls leat_batch_end once.
#ifndef LEAT_OPS_QUEUE_BATCH_QUEUE_CPU_H_
#define LEAT_OPS_QUEUE_BATCH_QUEUE_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef struct leat_batch_s leat_batch_t;

// What a node says of its queue. The first node that names a queue decides.
typedef struct leat_batch_options_s {
  int64_t concurrency;    // batches that are processed at once; <= 0: as the pool has threads
  int64_t task_rows;      // the most rows of a task
  int64_t batch_rows;     // the most rows of a batch
  int64_t timeout_us;     // how long a batch that is not full waits
  int64_t waiting_count;  // how many batches may wait
  const int64_t* sizes;   // [size_count] ascending: a batch is padded to the next of them
  int size_count;
  bool splits;     // a task may be divided among batches
  bool trims;      // a batch whose time is over gives up tasks rather than to be padded
  void (*process)(leat_batch_t* batch);
} leat_batch_options_t;

// The rows of one step. Of the kind that processes are |outputs|.
typedef struct leat_batch_task_s {
  leat_kernel_context_t* context;
  int64_t rows;
  int64_t id;               // random, never the same twice
  leat_tensor_t* outputs;   // [outputs of the kernel] where it is in several pieces
  // Of the queue.
  leat_kernel_done_fn_t done;
  leat_resource_t* queue;
  int64_t pieces_left;
  uint64_t token;  // of the step's cancellation
  bool has_token;
  leat_status_t status;
  struct leat_batch_task_s* next;  // of those that ended together
} leat_batch_task_t;

typedef struct leat_batch_piece_s {
  leat_batch_task_t* task;
  int64_t begin, end;  // rows of the task
} leat_batch_piece_t;

struct leat_batch_s {
  leat_resource_t* queue;
  leat_batch_piece_t* pieces;  // [piece_count] at least one
  size_t piece_count, piece_room;
  int64_t rows;
  int64_t padded_rows;  // what a function of the batch gets; set before it is processed
  int64_t deadline_ns;
  bool is_closed;  // takes no further tasks
  leat_batch_t* next;
};

// Makes a queue, one reference.
LEAT_MUST_USE leat_status_t leat_batch_queue_create(const leat_batch_options_t* options,
                                                    leat_resource_t** out_queue);
extern const leat_resource_kind_t leat_batch_queue_kind;
// Puts the inputs of |c| into the queue, of which each has |rows| > 0 rows; |done| is called once.
// INVALID_ARGUMENT for a task that is too large, UNAVAILABLE where the queue is full.
void leat_batch_queue_enter(leat_resource_t* queue, leat_kernel_context_t* c, int64_t rows,
                            leat_kernel_done_fn_t done);
// Ends a batch. With a |status| all its tasks fail; else |give|, if there is one, is called for
// each piece with the queue's lock held, and its failure is the task's.
void leat_batch_end(leat_batch_t* batch, leat_status_t status,
                    leat_status_t (*give)(void* data, const leat_batch_piece_t* piece,
                                          int64_t first_row),
                    void* data);
// Joins input |index| of all pieces, padded by copies of the first row. INVALID_ARGUMENT where they
// differ in type or in the shape of a row.
LEAT_MUST_USE leat_status_t leat_batch_join(const leat_batch_t* batch, int index,
                                            leat_tensor_t* out_tensor);
// A tensor like |like| with another number of rows.
LEAT_MUST_USE leat_status_t leat_batch_rows_like(const leat_tensor_t* like, int64_t rows,
                                                 leat_tensor_t* out_tensor);

#endif  // LEAT_OPS_QUEUE_BATCH_QUEUE_CPU_H_
