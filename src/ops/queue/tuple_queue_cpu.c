// The implementation of all queues: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue
// (section 4.6). Tuples of tensors lie in a store (tuple_store_cpu.h) behind a wait queue
// (kernel/wait_queue.h), in which calls that cannot be served yet wait without a thread:
//
//   enqueue, enqueue_many, close ─▶ line in ─▶ store ─▶ line out ─▶ dequeue, dequeue_many
//
// A close without cancelling waits in the line of the enqueues, so that it takes effect only when
// the enqueues before it have put their tuples in. A call for many elements works piece by piece:
// an enqueue_many puts in the rows for which there is room, a dequeue_many takes the rows that are
// there, and both then go on waiting; if they waited until the whole batch fits, a batch larger
// than the capacity would wait forever. Rows that an unfinished dequeue_many holds go back when the
// queue is closed or the step is cancelled. A priority queue gives a batch only when all of it is
// there, because rows that are taken one by one as they come would not be sorted.
//
// Kernels in queue_access_cpu.c and barrier_cpu.c call a queue through its vtable (kernel/queue.h).
#include "ops/queue/tuple_queue_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "kernel/tuple.h"
#include "kernel/wait_queue.h"
#include "ops/queue/tuple_store_cpu.h"

typedef struct tuple_queue_s {
  leat_queue_t base;
  leat_wait_queue_t wait_queue LEAT_ALIGNED(64);
  leat_arena_t arena;  // name, types, shapes
  leat_queue_order_t order;
  leat_string_view_t name;
  const leat_partial_shape_t* shapes;
  int64_t capacity;
  int64_t min_after_dequeue;
  uint64_t seed, seed2;  // as the options gave them; leat_tuple_queue_check compares them
  // Under the wait queue's lock.
  leat_tuple_store_t store;
  bool closed;
  leat_philox_t philox;
  uint32_t words[4];  // random words of |philox|; the first |words_used| have been used
  int words_used;
} tuple_queue_t;

typedef struct queue_attempt_s {
  leat_attempt_t base;
  tuple_queue_t* queue;
  leat_queue_call_t call;
  leat_tuple_t tuple;   // to put in (a tuple or batches), or taken out
  int64_t next;         // row of the batches to put in
  // Only for dequeue_many.
  int64_t left;         // still to take
  bool up_to;
  leat_tensor_t* rows;  // rows taken so far, [row_count * width]
  size_t row_count, row_room;
} queue_attempt_t;

const char* leat_queue_order_name(leat_queue_order_t order) {
  static const char* const kNames[] = {"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue",
                                       "PriorityQueue"};
  return kNames[order];
}

// Moves |components| (NULL: there are none) into the kernel's outputs and reports it as done.
static void set_outputs(const leat_queue_call_t* call, leat_status_t status,
                        leat_tensor_t* components) {
  leat_kernel_context_t* c = call->context;
  for (int i = 0; components && i < c->kernel->output_count; ++i) {
    leat_kernel_set_output(c, i, leat_tensor_move(&components[i]));
  }
  call->kernel_done(c, status);
}

leat_queue_call_t leat_queue_call_of_kernel(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  return (leat_queue_call_t){.context = c, .done = set_outputs, .kernel_done = done};
}

static int width_of(const tuple_queue_t* q) { return q->base.component_count; }

// ---- The store's order --------------------------------------------------------------------------

static uint32_t next_word(tuple_queue_t* q) {
  if (q->words_used == 4) {
    leat_philox_next(&q->philox, q->words);
    q->words_used = 0;
  }
  return q->words[q->words_used++];
}

// Moves |tuple| into the store. The caller has reserved room for it, so this cannot fail.
static void put(tuple_queue_t* q, leat_tensor_t* tuple) {
  if (q->order == LEAT_QUEUE_PRIORITY) {
    leat_tuple_store_push_key(&q->store, *leat_tensor_data(&tuple[0], int64_t), tuple);
  } else {
    leat_tuple_store_push_back(&q->store, tuple);
  }
}

// Moves the tuple that is next in the queue's order out of the store, which must not be empty.
static void take(tuple_queue_t* q, leat_tensor_t* out_tuple) {
  if (q->order == LEAT_QUEUE_PRIORITY) {
    leat_tuple_store_pop_key(&q->store, out_tuple);
  } else if (q->order == LEAT_QUEUE_SHUFFLE) {
    leat_tuple_store_pop_at(&q->store, next_word(q) % q->store.count, out_tuple);
  } else {
    leat_tuple_store_pop_front(&q->store, out_tuple);
  }
}

// Puts the rows of a dequeue_many back, the last one first, which restores the order of a FIFO.
static leat_status_t give_back(queue_attempt_t* a) {
  tuple_queue_t* q = a->queue;
  leat_status_t status = leat_ok_status();
  while (a->row_count && !status) {
    leat_tensor_t* row = &a->rows[(a->row_count - 1) * (size_t)width_of(q)];
    status = leat_tuple_store_reserve(&q->store);
    if (status) break;
    if (q->order == LEAT_QUEUE_FIFO || q->order == LEAT_QUEUE_PADDING_FIFO) {
      leat_tuple_store_push_front(&q->store, row);
    } else {
      put(q, row);
    }
    --a->row_count;
    ++a->left;
  }
  return status;
}

// ---- Enqueue ------------------------------------------------------------------------------------

static leat_status_t closed_status(const tuple_queue_t* q) {
  return leat_make_status(LEAT_CANCELLED, "%s '%.*s' is closed.", leat_queue_order_name(q->order),
                          LEAT_SV_ARG(q->name));
}

static leat_status_t check_priority(const tuple_queue_t* q, const leat_tensor_t* tuple) {
  if (q->order != LEAT_QUEUE_PRIORITY || tuple[0].shape.rank == 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Expected the priority element to be a scalar, but received shape: %s",
                          LEAT_SHAPE_TEXT(&tuple[0].shape));
}

static leat_passage_t fail(queue_attempt_t* a, leat_status_t status) {
  a->base.status = status;
  return LEAT_PASSAGE_DONE;
}

static leat_passage_t attempt_enqueue(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  tuple_queue_t* q = a->queue;
  if (q->closed) return fail(a, closed_status(q));
  if (q->store.count >= q->capacity) return LEAT_PASSAGE_WAITS;
  leat_tensor_t* tuple = leat_tuple_items(&a->tuple);
  leat_status_t status = check_priority(q, tuple);
  if (!status) status = leat_tuple_store_reserve(&q->store);
  if (status) return fail(a, status);
  put(q, tuple);
  return LEAT_PASSAGE_DONE;
}

// Cuts row |a->next| out of each batch and puts them into the store as one tuple.
static leat_status_t enqueue_row(queue_attempt_t* a) {
  tuple_queue_t* q = a->queue;
  int width = width_of(q);
  leat_buffer_source_t* memory = a->call.context->services->memory;
  const leat_tensor_t* batches = leat_tuple_items(&a->tuple);
  leat_tuple_t row;
  LEAT_RETURN_IF_ERROR(leat_tuple_initialize(width, &row));
  leat_tensor_t* items = leat_tuple_items(&row);
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < width && !status; ++i) {
    status = leat_tuple_row(memory, &batches[i], a->next, &items[i]);
  }
  if (!status) status = check_priority(q, items);
  if (!status) status = leat_tuple_store_reserve(&q->store);
  if (!status) put(q, items);
  leat_tuple_deinitialize(&row, width);
  return status;
}

// Puts in the rows for which there is room; they stay in when a later row fails.
static leat_passage_t attempt_enqueue_many(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  tuple_queue_t* q = a->queue;
  int64_t batch = leat_shape_dim(&leat_tuple_items(&a->tuple)->shape, 0);
  leat_passage_t passage = LEAT_PASSAGE_WAITS;
  if (q->closed) return fail(a, closed_status(q));
  for (; a->next < batch; ++a->next) {
    if (q->store.count >= q->capacity) return passage;
    leat_status_t status = enqueue_row(a);
    if (status) return fail(a, status);
    passage = LEAT_PASSAGE_ADVANCES;
  }
  return LEAT_PASSAGE_DONE;
}

static void finish_plain(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  leat_tuple_deinitialize(&a->tuple, width_of(a->queue));
  a->call.done(&a->call, self->status, NULL);
}

// Checks the shape of a component, or, where |batch_rank| is 1, of a batch of them.
static leat_status_t check_shape(int component, leat_partial_shape_t element,
                                 const leat_shape_t* got, int batch_rank) {
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1] = {batch_rank ? leat_shape_dim(got, 0) : 0};
  for (int d = 0; d < element.rank; ++d) dims[batch_rank + d] = element.dims[d];
  const leat_partial_shape_t wanted = {element.rank < 0 ? -1 : element.rank + batch_rank, dims};
  if (leat_partial_shape_admits(wanted, got)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Shape mismatch in tuple component %d. Expected %s, got %s", component,
                          LEAT_PARTIAL_SHAPE_TEXT(wanted), LEAT_SHAPE_TEXT(got));
}

static leat_status_t check_batches(const tuple_queue_t* q, const leat_tensor_t* batches) {
  for (int i = 0; i < width_of(q); ++i) {
    const leat_shape_t* shape = &batches[i].shape;
    if (shape->rank == 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Component %d has shape [], must have at least rank 1: its first "
                              "dimension is the batch",
                              i);
    }
    if (leat_shape_dim(shape, 0) != leat_shape_dim(&batches[0].shape, 0)) {
      return leat_make_status(
          LEAT_INVALID_ARGUMENT,
          "All input tensors must have the same size in the 0th dimension. Component %d has %lld, "
          "and should have %lld",
          i, (long long)leat_shape_dim(shape, 0),
          (long long)leat_shape_dim(&batches[0].shape, 0));
    }
    if (q->shapes) LEAT_RETURN_IF_ERROR(check_shape(i, q->shapes[i], shape, 1));
  }
  return leat_ok_status();
}

static leat_status_t check_tuple(const tuple_queue_t* q, const leat_tensor_t* tuple) {
  for (int i = 0; q->shapes && i < width_of(q); ++i) {
    LEAT_RETURN_IF_ERROR(check_shape(i, q->shapes[i], &tuple[i].shape, 0));
  }
  return leat_ok_status();
}

static queue_attempt_t make_attempt(tuple_queue_t* q, const leat_queue_call_t* call,
                                    leat_passage_t (*attempt)(leat_attempt_t* self),
                                    void (*finish)(leat_attempt_t* self)) {
  queue_attempt_t a = {.base = leat_attempt_of(call->context, sizeof(queue_attempt_t)),
                       .queue = q,
                       .call = *call};
  a.base.attempt = attempt;
  a.base.finish = finish;
  return a;
}

// Takes over |components|, also when it fails.
static void queue_enqueue(leat_queue_t* self, bool many, leat_tensor_t* components,
                          const leat_queue_call_t* call) {
  tuple_queue_t* q = (tuple_queue_t*)self;
  leat_status_t status = many ? check_batches(q, components) : check_tuple(q, components);
  queue_attempt_t a = make_attempt(q, call, many ? attempt_enqueue_many : attempt_enqueue,
                                   finish_plain);
  if (!status) status = leat_tuple_initialize(width_of(q), &a.tuple);
  bool is_empty = !status && many && leat_shape_dim(&components[0].shape, 0) == 0;
  if (status || is_empty) {
    leat_tensors_release(components, width_of(q));
    if (is_empty) leat_tuple_deinitialize(&a.tuple, width_of(q));
    call->done(call, status, NULL);
    return;
  }
  leat_tensor_t* items = leat_tuple_items(&a.tuple);
  for (int i = 0; i < width_of(q); ++i) items[i] = leat_tensor_move(&components[i]);
  leat_wait_queue_enter(&q->wait_queue, LEAT_LINE_IN, &a.base);
}

// ---- Dequeue ------------------------------------------------------------------------------------

static leat_status_t insufficient(const tuple_queue_t* q, int64_t requested) {
  return leat_make_status(LEAT_OUT_OF_RANGE,
                          "%s '%.*s' is closed and has insufficient elements (requested %lld, "
                          "current size %lld)",
                          leat_queue_order_name(q->order), LEAT_SV_ARG(q->name),
                          (long long)requested, (long long)q->store.count);
}

// How many tuples may be taken now. An open shuffle queue keeps |min_after_dequeue| tuples back.
static int64_t available(const tuple_queue_t* q) {
  return q->closed ? q->store.count : q->store.count - q->min_after_dequeue;
}

static leat_passage_t attempt_dequeue(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  tuple_queue_t* q = a->queue;
  if (q->closed && q->store.count == 0) return fail(a, insufficient(q, 1));
  if (available(q) <= 0) return LEAT_PASSAGE_WAITS;
  take(q, leat_tuple_items(&a->tuple));
  return LEAT_PASSAGE_DONE;
}

static void finish_dequeue(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  a->call.done(&a->call, self->status, self->status ? NULL : leat_tuple_items(&a->tuple));
  leat_tuple_deinitialize(&a->tuple, width_of(a->queue));
}

static void queue_dequeue(leat_queue_t* self, const leat_queue_call_t* call) {
  tuple_queue_t* q = (tuple_queue_t*)self;
  queue_attempt_t a = make_attempt(q, call, attempt_dequeue, finish_dequeue);
  leat_status_t status = leat_tuple_initialize(width_of(q), &a.tuple);
  if (status) {
    call->done(call, status, NULL);
    return;
  }
  leat_wait_queue_enter(&q->wait_queue, LEAT_LINE_OUT, &a.base);
}

// ---- Dequeue many -------------------------------------------------------------------------------

static leat_status_t take_row(queue_attempt_t* a) {
  size_t width = (size_t)width_of(a->queue);
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(leat_allocator_system(), a->row_count + 1,
                                                 width * sizeof(leat_tensor_t), (void**)&a->rows,
                                                 &a->row_room));
  take(a->queue, &a->rows[a->row_count * width]);
  ++a->row_count;
  --a->left;
  return leat_ok_status();
}

// The queue is closed and will never hold as many tuples as were asked for. DequeueUpTo settles for
// what there is, if there is anything; DequeueMany fails with OUT_OF_RANGE and leaves the tuples to
// other calls.
static leat_status_t settle_for_less(queue_attempt_t* a) {
  tuple_queue_t* q = a->queue;
  int64_t requested = a->left + (int64_t)a->row_count;
  leat_status_t status = give_back(a);
  if (status) return status;
  if (!a->up_to || q->store.count == 0) return insufficient(q, requested);
  a->left = q->store.count;
  return leat_ok_status();
}

static leat_passage_t attempt_dequeue_many(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  tuple_queue_t* q = a->queue;
  if (q->closed && q->store.count < a->left) {
    leat_status_t status = settle_for_less(a);
    if (status) return fail(a, status);
  }
  int64_t ready = available(q);
  if (q->order == LEAT_QUEUE_PRIORITY && ready < a->left) return LEAT_PASSAGE_WAITS;
  leat_passage_t passage = LEAT_PASSAGE_WAITS;
  for (; ready > 0 && a->left > 0; --ready) {
    leat_status_t status = take_row(a);
    if (status) return fail(a, status);
    passage = LEAT_PASSAGE_ADVANCES;
  }
  return a->left == 0 ? LEAT_PASSAGE_DONE : passage;
}

// Stacks the rows into one batch per component, component i of shape [row_count, ...shapes[i]].
// Sizes that |shapes| leave open are padded with zeros to the largest row.
static leat_status_t make_batches(queue_attempt_t* a) {
  tuple_queue_t* q = a->queue;
  leat_buffer_source_t* memory = a->call.context->services->memory;
  leat_tensor_t* batches = leat_tuple_items(&a->tuple);
  int width = width_of(q);
  for (int i = 0; i < width; ++i) {
    int dtype = q->base.component_types[i];
    const leat_tensor_t* rows = a->rows ? a->rows + i : NULL;
    if (!leat_partial_shape_is_full(q->shapes[i])) {
      LEAT_RETURN_IF_ERROR(leat_tuple_padded_batch(memory, dtype, q->shapes[i], rows,
                                                   (int64_t)a->row_count, width, &batches[i]));
      continue;
    }
    leat_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(q->shapes[i], &shape));
    leat_status_t status = leat_tuple_batch(memory, dtype, &shape, rows, (int64_t)a->row_count,
                                            width, &batches[i]);
    leat_shape_release(&shape);
    if (status) return status;
  }
  return leat_ok_status();
}

// Runs with the lock free, so that the copying of the rows into batches holds up no other call.
static void finish_dequeue_many(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  int width = width_of(a->queue);
  if (!self->status) self->status = make_batches(a);
  leat_tensors_release(a->rows, (int64_t)a->row_count * width);
  leat_allocator_free(leat_allocator_system(), a->rows);
  finish_dequeue(self);
}

// Gives the rows back when the step is cancelled. Without memory for that they are lost with the
// attempt, which must end in any case.
static void withdraw_dequeue_many(leat_attempt_t* self) {
  leat_status_free(give_back((queue_attempt_t*)self));
}

static void queue_dequeue_many(leat_queue_t* self, int64_t count, bool up_to,
                               const leat_queue_call_t* call) {
  tuple_queue_t* q = (tuple_queue_t*)self;
  leat_status_t status = leat_ok_status();
  if (!q->shapes) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "%s's DequeueMany and DequeueUpTo require the components to have "
                              "specified shapes.",
                              leat_queue_order_name(q->order));
  }
  queue_attempt_t a = make_attempt(q, call, attempt_dequeue_many, finish_dequeue_many);
  if (!status) status = leat_tuple_initialize(width_of(q), &a.tuple);
  if (status) {
    call->done(call, status, NULL);
    return;
  }
  a.base.withdraw = withdraw_dequeue_many;
  a.left = count;
  a.up_to = up_to;
  if (count == 0) {
    finish_dequeue_many(&a.base);
  } else {
    leat_wait_queue_enter(&q->wait_queue, LEAT_LINE_OUT, &a.base);
  }
}

// ---- The rest -----------------------------------------------------------------------------------

static leat_passage_t attempt_close(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  tuple_queue_t* q = a->queue;
  if (q->closed) {
    return fail(a, leat_make_status(LEAT_CANCELLED, "Queue '%.*s' is already closed.",
                                    LEAT_SV_ARG(q->name)));
  }
  q->closed = true;
  return LEAT_PASSAGE_DONE;
}

static void finish_close(leat_attempt_t* self) {
  queue_attempt_t* a = (queue_attempt_t*)self;
  a->call.done(&a->call, self->status, NULL);
}

static void set_closed(void* data) { ((tuple_queue_t*)data)->closed = true; }

// Closes the queue: at once with |cancel_pending_enqueues|, and then the enqueues (and closes) that
// wait end with CANCELLED; otherwise when its turn in the line of the enqueues has come.
static void queue_close(leat_queue_t* self, bool cancel_pending_enqueues,
                        const leat_queue_call_t* call) {
  tuple_queue_t* q = (tuple_queue_t*)self;
  if (cancel_pending_enqueues) {
    leat_wait_queue_change(&q->wait_queue, set_closed, q, 1u << LEAT_LINE_IN);
    call->done(call, leat_ok_status(), NULL);
    return;
  }
  queue_attempt_t a = make_attempt(q, call, attempt_close, finish_close);
  leat_wait_queue_enter(&q->wait_queue, LEAT_LINE_IN, &a.base);
}

static int64_t queue_size(leat_queue_t* self) {
  tuple_queue_t* q = (tuple_queue_t*)self;
  leat_mutex_lock(&q->wait_queue.mutex);
  int64_t size = q->store.count;
  leat_mutex_unlock(&q->wait_queue.mutex);
  return size;
}

static bool queue_is_closed(leat_queue_t* self) {
  tuple_queue_t* q = (tuple_queue_t*)self;
  leat_mutex_lock(&q->wait_queue.mutex);
  bool closed = q->closed;
  leat_mutex_unlock(&q->wait_queue.mutex);
  return closed;
}

static const leat_queue_vtable_t kVtable = {queue_enqueue, queue_dequeue, queue_dequeue_many,
                                            queue_close,   queue_size,    queue_is_closed};

// ---- Life ---------------------------------------------------------------------------------------

static void queue_destroy(leat_queue_t* self) {
  tuple_queue_t* q = (tuple_queue_t*)self;
  leat_tuple_store_deinitialize(&q->store);
  leat_arena_deinitialize(&q->arena);
  leat_wait_queue_deinitialize(&q->wait_queue);
  leat_allocator_free(leat_allocator_system(), q);
}

static leat_status_t check_options(const leat_queue_options_t* o) {
  const char* kind = leat_queue_order_name(o->order);
  if (o->count == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Empty component types for queue %.*s",
                            LEAT_SV_ARG(o->name));
  }
  for (int i = 0; o->shapes && i < o->count; ++i) {
    bool fits = o->order == LEAT_QUEUE_PADDING_FIFO ? o->shapes[i].rank >= 0
                                                    : leat_partial_shape_is_full(o->shapes[i]);
    if (!fits) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "%s: shape %d is %s, must be %s", kind, i,
                              LEAT_PARTIAL_SHAPE_TEXT(o->shapes[i]),
                              o->order == LEAT_QUEUE_PADDING_FIFO ? "of known rank"
                                                                  : "fully defined");
    }
  }
  if (o->min_after_dequeue < 0 || (o->min_after_dequeue && o->min_after_dequeue >= o->capacity)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s: min_after_dequeue is %lld, must be >= 0 and < capacity %lld",
                            kind, (long long)o->min_after_dequeue, (long long)o->capacity);
  }
  return leat_ok_status();
}

static leat_status_t copy_options(const leat_queue_options_t* o, tuple_queue_t* q) {
  int32_t* types;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&q->arena, o->name, &q->name));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&q->arena, (size_t)o->count, &types));
  memcpy(types, o->types, (size_t)o->count * sizeof(int32_t));
  q->base.component_types = types;
  q->base.component_count = o->count;
  if (!o->shapes) return leat_ok_status();
  leat_partial_shape_t* shapes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&q->arena, (size_t)o->count, &shapes));
  q->shapes = shapes;
  for (int i = 0; i < o->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create(o->shapes[i].rank, o->shapes[i].dims,
                                                   &q->arena, &shapes[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_tuple_queue_create(const leat_queue_options_t* options,
                                      leat_queue_t** out_queue) {
  LEAT_RETURN_IF_ERROR(check_options(options));
  tuple_queue_t* q;
  LEAT_RETURN_IF_ERROR(  // aligned, since its writers would slow readers of the same cache line
      leat_allocator_allocate_aligned(leat_allocator_system(), 64, sizeof *q, (void**)&q));
  q->base = (leat_queue_t){.resource = {.kind = &leat_queue_kind},
                           .vtable = &kVtable,
                           .destroy = queue_destroy};
  q->base.resource.references = 1;
  q->order = options->order;
  q->capacity = options->capacity;
  q->min_after_dequeue = options->min_after_dequeue;
  q->seed = options->seed;
  q->seed2 = options->seed2;
  leat_wait_queue_initialize(&q->base.resource, &q->wait_queue);
  leat_arena_initialize(leat_allocator_system(), 1024, &q->arena);
  leat_tuple_store_initialize(options->count, q->order == LEAT_QUEUE_PRIORITY, &q->store);
  q->words_used = 4;
  bool unseeded = q->seed == 0 && q->seed2 == 0;
  q->philox = unseeded ? leat_philox_make(leat_random_seed(), leat_random_seed())
                       : leat_philox_make(q->seed, q->seed2);
  leat_status_t status = copy_options(options, q);
  if (status) {
    queue_destroy(&q->base);
    return status;
  }
  *out_queue = &q->base;
  return leat_ok_status();
}

// Whether a shared queue's shapes are those of |o|. For a padding queue an unknown size matches
// every size.
static bool same_shapes(const tuple_queue_t* q, const leat_queue_options_t* o) {
  if (!q->shapes || !o->shapes) return !q->shapes && !o->shapes;
  for (int i = 0; i < o->count; ++i) {
    bool same = leat_partial_shape_equal(q->shapes[i], o->shapes[i]);
    if (!same && o->order == LEAT_QUEUE_PADDING_FIFO && q->shapes[i].rank == o->shapes[i].rank) {
      same = true;
      for (int d = 0; d < o->shapes[i].rank; ++d) {
        int64_t a = q->shapes[i].dims[d], b = o->shapes[i].dims[d];
        same = same && (a == b || a < 0 || b < 0);
      }
    }
    if (!same) return false;
  }
  return true;
}

static leat_status_t differs(const leat_queue_options_t* o, const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Shared queue '%.*s' has another %s than the %s that is requested",
                          LEAT_SV_ARG(o->name), what, leat_queue_order_name(o->order));
}

leat_status_t leat_tuple_queue_check(leat_queue_t* queue, const leat_queue_options_t* o) {
  tuple_queue_t* q = (tuple_queue_t*)queue;
  if (queue->vtable != &kVtable || q->order != o->order) return differs(o, "type");
  if (q->capacity != o->capacity) return differs(o, "capacity");
  if (q->min_after_dequeue != o->min_after_dequeue) return differs(o, "min_after_dequeue");
  if ((o->seed || o->seed2) && (q->seed != o->seed || q->seed2 != o->seed2)) {
    return differs(o, "pair of random seeds");
  }
  if (queue->component_count != o->count ||
      memcmp(queue->component_types, o->types, (size_t)o->count * sizeof(int32_t)) != 0) {
    return differs(o, "list of component types");
  }
  return same_shapes(q, o) ? leat_ok_status() : differs(o, "list of component shapes");
}
