// Elements that are made ahead of the steps that ask for them. An iterator that makes elements
// ahead owns a leat_ahead_t, and this one or more channels. A channel is a bounded line of
// elements: a pull of its own (ops/dataset/pull_cpu.h) takes them from an input iterator, on the
// thread pool, and calls the dataset's function for each of them where there is one. Several calls
// go on at once; the line keeps the order in which the elements came from the input:
//
//     input ──pull──▶ [ made | made | in its call | in its call ] ──▶ the step that asks
//                       first                         last
//
// A pull begins when a step asks for an element and there is room in the line, and ends when there
// is none. No thread waits, neither for an element nor for room.
//
// The work belongs to no step: it has its own cancellation, no deadline, and goes on when the step
// that began it has ended or was cancelled, so that the next step finds its elements. It ends when
// the iterator is freed or the session is closed (kernel/background.h). Freeing an iterator cancels
// the work and does not wait for it; the last unit of work frees the channels and their inputs.
#ifndef LEAT_OPS_DATASET_AHEAD_CPU_H_
#define LEAT_OPS_DATASET_AHEAD_CPU_H_

#include "kernel/wait_queue.h"
#include "ops/dataset/dataset_cpu.h"

typedef struct leat_ahead_s leat_ahead_t;
typedef struct leat_channel_s leat_channel_t;

// An element of a channel.
typedef struct leat_item_s {
  struct leat_item_s* next;  // in the line
  leat_channel_t* channel;
  bool is_made;          // |status| and the tensors are final; guarded by the wait queue's lock
  leat_status_t status;  // why it could not be made
  leat_tensor_t* element;           // from the input
  leat_application_t application;   // the call with the element; unused without a function
  _Atomic(int64_t) calls;           // functions that this call has led to
  // What the line was when the item was taken: the items that were made, with this one, and those
  // whose calls went on.
  int64_t line_made, line_calling;
} leat_item_t;

// What the elements of a channel are.
typedef struct leat_channel_kind_s {
  int64_t capacity;   // elements in the line, made or being made, > 0
  bool calls;         // the dataset's function is called with each element
  int return_count;   // of the function
  bool keeps_element; // the element is wanted beside what the function returns
  bool any_order;     // elements may be taken in the order in which they become ready
} leat_channel_kind_t;

struct leat_channel_s {
  leat_pull_t pull;
  leat_ahead_t* ahead;
  leat_channel_kind_t kind;
  // Used by the pull alone.
  leat_iterator_t* input;  // NULL: the channel is not open
  bool input_ended;
  bool was_stopped;  // the last run ended because the work was cancelled
  // Guarded by the wait queue's lock.
  leat_item_t* making;  // which the pull fills next
  leat_item_t *first, *last;
  leat_item_t* unused;  // items to be used again
  int64_t count;        // of the line, without |making|
  int64_t made;         // of these
  bool is_pulling;      // the pull runs, waits or is scheduled
  bool has_ended;       // the pull has ended, because the input has
};

struct leat_ahead_s {
  leat_resource_t resource;      // for its count of references: the iterator's and one of each unit
  leat_wait_queue_t wait_queue;  // the one pull that waits for an element
  leat_dataset_t* dataset;       // whose function is called
  leat_step_services_t services;
  leat_cancellation_t* cancellation;
  _Atomic(bool) stopped;
  leat_background_t* background;  // NULL until a step asks for the first element
  uint64_t token;                 // in the background's cancellation
  leat_status_t failure;          // why a pull could not wait
  int channel_count;
  leat_channel_t channels[];
};

// What work in the background borrows from the session of |caller|, without what belongs to its
// step.
leat_step_services_t leat_background_services(const leat_step_services_t* caller);

// Makes what an iterator over |dataset| needs, with channels that are not open.
LEAT_MUST_USE leat_status_t leat_ahead_create(leat_dataset_t* dataset, int channel_count,
                                              leat_ahead_t** out_ahead);
// Cancels the work and gives up the iterator's reference. NULL is allowed.
void leat_ahead_stop(leat_ahead_t* ahead);
// Whether there are functions and threads to work ahead for |pull|: a session.
bool leat_ahead_is_possible(const leat_pull_t* pull);
// To be called before elements are asked for. FAILED_PRECONDITION where working ahead is not
// possible, CANCELLED when the session is closed.
LEAT_MUST_USE leat_status_t leat_ahead_begin(leat_ahead_t* ahead, const leat_pull_t* pull);
// |pull|, whose step answers PENDING next, is woken when |is_ready|(|data|), which is called with
// the wait queue's lock held, is true, or when the step of |pull| is cancelled.
void leat_ahead_wait(leat_ahead_t* ahead, leat_pull_t* pull, bool (*is_ready)(const void* data),
                     const void* data);

// Opens a channel, which is not open or has ended, over |input|, which is moved in.
void leat_channel_open(leat_channel_t* channel, leat_iterator_t* input,
                       const leat_channel_kind_t* kind);
// Takes the next element, without waiting: ELEMENT with an item, END, or PENDING, in which case the
// caller may wait. Begins the pull where there is room. The item's status is the caller's to read,
// and leat_channel_give_back ends it.
LEAT_MUST_USE leat_status_t leat_channel_take(leat_channel_t* channel, leat_item_t** out_item,
                                              leat_poll_t* out_poll);
void leat_channel_give_back(leat_item_t* item);
// Begins the pull where there is room. CANCELLED when the session is closed.
LEAT_MUST_USE leat_status_t leat_channel_fill(leat_channel_t* channel);
// Takes the failure of an item.
LEAT_MUST_USE leat_status_t leat_item_take_status(leat_item_t* item);
// Whether leat_channel_take would not answer PENDING. The wait queue's lock is held.
bool leat_channel_is_ready(const void* channel);

#endif  // LEAT_OPS_DATASET_AHEAD_CPU_H_
