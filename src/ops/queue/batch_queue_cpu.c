// The queue of batches (batch_queue_cpu.h). All waiting is done without a thread: a task is the
// context of a kernel that has not ended yet. Its deadline is watched by the queue's alarm, and the
// cancellation of its step takes its rows out of the batches that still wait.
//
//   enter ─▶ pieces into the last batch, or new ones ─▶ take_due ─▶ process ─▶ leat_batch_end ─┐
//                                       alarm ─────────────▲                                   │
//                                                          └──────── one less is processed ────┘
//
// A task belongs to its pieces: whoever ends the last of them ends the kernel, with the lock free.
// The kernel's inputs and the services of its step live until then. The lock guards everything
// that is reachable from the queue; a batch that was taken out belongs to who processes it.
#include "ops/queue/batch_queue_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "base/random.h"
#include "kernel/cancellation.h"
#include "kernel/tuple.h"
#include "ops/queue/alarm_cpu.h"

typedef struct queue_s {
  leat_resource_t resource;
  leat_batch_options_t options;
  leat_mutex_t mutex;
  // Under the mutex.
  leat_alarm_t alarm;
  leat_batch_t* first;  // the oldest; the last one may be open
  leat_batch_t* last;
  int64_t waiting_count;
  int64_t processed_count;  // batches that were taken out and have not ended
} queue_t;

static void free_batch(leat_batch_t* batch) {
  leat_allocator_free(leat_allocator_system(), batch->pieces);
  leat_allocator_free(leat_allocator_system(), batch);
}

static void queue_destroy(leat_resource_t* resource) {
  queue_t* queue = (queue_t*)resource;
  LEAT_DCHECK(!queue->first);  // each waiting task holds a reference
  leat_alarm_deinitialize(&queue->alarm);
  leat_mutex_deinitialize(&queue->mutex);
  leat_allocator_free(leat_allocator_system(), queue);
}

const leat_resource_kind_t leat_batch_queue_kind = {.name = "BatchResource",
                                                    .destroy = queue_destroy};

// ---- Batches ------------------------------------------------------------------------------------

// The size to which a batch of |rows| is padded.
static int64_t padded_size(const queue_t* queue, int64_t rows) {
  for (int i = 0; i < queue->options.size_count; ++i) {
    if (queue->options.sizes[i] >= rows) return queue->options.sizes[i];
  }
  return rows;
}

// The largest size that is not above |rows|; |rows| where there is none.
static int64_t trimmed_size(const queue_t* queue, int64_t rows) {
  int64_t size = rows;
  for (int i = 0; i < queue->options.size_count && queue->options.sizes[i] <= rows; ++i) {
    size = queue->options.sizes[i];
  }
  return size > 0 ? size : rows;
}

static leat_status_t create_batch(leat_resource_t* queue, leat_batch_t** out_batch) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_batch));
  (*out_batch)->queue = queue;
  return leat_ok_status();
}

static leat_status_t add_piece(leat_batch_t* batch, leat_batch_piece_t piece) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), batch->piece_count + 1, &batch->pieces,
                                 &batch->piece_room));
  batch->pieces[batch->piece_count++] = piece;
  batch->rows += piece.end - piece.begin;
  return leat_ok_status();
}

// Appends an open batch, in which a first task waits from now on.
static leat_status_t open_batch(queue_t* queue) {
  leat_batch_t* batch;
  LEAT_RETURN_IF_ERROR(create_batch(&queue->resource, &batch));
  batch->deadline_ns = leat_alarm_deadline(queue->options.timeout_us);
  if (queue->last) {
    queue->last->is_closed = true;
    queue->last->next = batch;
  } else {
    queue->first = batch;
  }
  queue->last = batch;
  ++queue->waiting_count;
  return leat_ok_status();
}

// The rows that the last batch can still take.
static int64_t rows_left(const queue_t* queue) {
  return queue->last && !queue->last->is_closed ? queue->options.batch_rows - queue->last->rows
                                                : 0;
}

// Whether all rows of |task| find a place, in as many batches as may wait.
static leat_status_t check_room(const queue_t* queue, const leat_batch_task_t* task) {
  const leat_batch_options_t* o = &queue->options;
  if (task->rows > o->task_rows) {
    return leat_kernel_invalid(task->context,
                               "Task size %lld is larger than maximum input batch size %lld",
                               (long long)task->rows, (long long)o->task_rows);
  }
  int64_t left = rows_left(queue), opened = 0;
  if (!o->splits) {
    opened = task->rows > left;
  } else if (task->rows > left) {
    opened = (task->rows - left + o->batch_rows - 1) / o->batch_rows;
  }
  if (opened == 0 || queue->waiting_count == 0) return leat_ok_status();
  if (queue->waiting_count + opened <= LEAT_MAX(o->waiting_count, 1)) return leat_ok_status();
  return leat_kernel_error(task->context, LEAT_UNAVAILABLE,
                           "The batch scheduling queue to which this task was submitted is full; "
                           "currently %lld batches enqueued and max_enqueued_batches is %lld",
                           (long long)queue->waiting_count, (long long)o->waiting_count);
}

// Removes the pieces of |task| from the batches that wait, and batches without pieces.
static void remove_task(queue_t* queue, leat_batch_task_t* task) {
  leat_batch_t* previous = NULL;
  for (leat_batch_t *batch = queue->first, *next; batch; batch = next) {
    next = batch->next;
    size_t kept = 0;
    for (size_t i = 0; i < batch->piece_count; ++i) {
      leat_batch_piece_t piece = batch->pieces[i];
      if (piece.task != task) {
        batch->pieces[kept++] = piece;
        continue;
      }
      batch->rows -= piece.end - piece.begin;
      --task->pieces_left;
    }
    batch->piece_count = kept;
    if (kept) {
      previous = batch;
      continue;
    }
    if (previous) {
      previous->next = next;
    } else {
      queue->first = next;
    }
    if (queue->last == batch) queue->last = previous;
    --queue->waiting_count;
    free_batch(batch);
  }
  leat_alarm_look(&queue->alarm);
}

// Puts the rows of |task| into the last batch and into new ones.
static leat_status_t place_task(queue_t* queue, leat_batch_task_t* task) {
  LEAT_RETURN_IF_ERROR(check_room(queue, task));
  leat_status_t status = leat_ok_status();
  for (int64_t begin = 0; begin < task->rows && !status;) {
    int64_t rows = task->rows - begin, left = rows_left(queue);
    if (left == 0 || (!queue->options.splits && left < rows)) {
      status = open_batch(queue);
      left = queue->options.batch_rows;
    }
    rows = LEAT_MIN(rows, left);
    if (!status) status = add_piece(queue->last, (leat_batch_piece_t){task, begin, begin + rows});
    if (status) break;
    ++task->pieces_left;
    begin += rows;
    if (queue->last->rows == queue->options.batch_rows) queue->last->is_closed = true;
  }
  if (!status && !queue->last->is_closed) {
    status = leat_alarm_set(&queue->alarm, queue->last->deadline_ns);
  }
  if (status) remove_task(queue, task);
  return status;
}

// Where padding is not wanted, leaves the last pieces of |batch|, which was the open one, to a new
// open batch, if pieces end exactly where the next smaller size does. Closed batches are padded, as
// in TensorFlow.
static void trim_batch(queue_t* queue, leat_batch_t* batch) {
  const int64_t size = trimmed_size(queue, batch->rows);
  if (padded_size(queue, batch->rows) == batch->rows || size == batch->rows) return;
  int64_t rows = 0;
  size_t kept = 0;
  while (rows < size) rows += batch->pieces[kept].end - batch->pieces[kept].begin, ++kept;
  leat_batch_t* rest;
  if (rows != size) return;
  leat_status_t status = create_batch(&queue->resource, &rest);
  if (status) {  // the batch is then padded instead
    leat_status_free(status);
    return;
  }
  for (size_t i = kept; i < batch->piece_count && !status; ++i) {
    status = add_piece(rest, batch->pieces[i]);
  }
  if (status) {
    leat_status_free(status);
    free_batch(rest);
    return;
  }
  batch->piece_count = kept;
  batch->rows = size;
  LEAT_DCHECK(!queue->first);
  rest->deadline_ns = batch->deadline_ns;
  queue->first = queue->last = rest;
  ++queue->waiting_count;
}

static int64_t concurrency_of(const queue_t* queue) {
  if (queue->options.concurrency > 0) return queue->options.concurrency;
  leat_thread_pool_t* pool = queue->first->pieces[0].task->context->services->pool;
  return pool ? leat_thread_pool_size(pool) : 1;
}

// Takes the first batch out if it is to be processed now; else NULL.
static leat_batch_t* take_due(queue_t* queue) {
  leat_batch_t* batch = queue->first;
  if (!batch || queue->processed_count >= concurrency_of(queue)) return NULL;
  if (!batch->is_closed && batch->deadline_ns > leat_clock_now_ns()) return NULL;
  queue->first = batch->next;
  if (!queue->first) queue->last = NULL;
  batch->next = NULL;
  --queue->waiting_count;
  ++queue->processed_count;
  if (queue->options.trims && !batch->is_closed) trim_batch(queue, batch);
  batch->padded_rows = padded_size(queue, batch->rows);
  return batch;
}

static void process(void* data) {
  leat_batch_t* batch = data;
  ((queue_t*)batch->queue)->options.process(batch);
}

// Processes |batches| on the pool, since this thread has something else to do.
static void process_elsewhere(leat_batch_t* batch) {
  for (leat_batch_t* next; batch; batch = next) {
    next = batch->next;
    leat_thread_pool_t* pool = batch->pieces[0].task->context->services->pool;
    if (pool) {
      leat_thread_pool_schedule(pool, process, batch);
    } else {
      process(batch);
    }
  }
}

// Takes all batches out that are to be processed now, as a list.
static leat_batch_t* take_all_due(queue_t* queue) {
  leat_batch_t *first = NULL, **end = &first;
  while ((*end = take_due(queue))) end = &(*end)->next;
  return first;
}

// A leat_alarm_t.ring: processes batches whose time is over. While as many batches are processed
// as may be, the end of one of them goes on, and not a deadline.
static int64_t ring(leat_resource_t* owner) {
  queue_t* queue = (queue_t*)owner;
  leat_batch_t* due = take_all_due(queue);
  if (due) {
    leat_mutex_unlock(&queue->mutex);
    process_elsewhere(due);
    leat_mutex_lock(&queue->mutex);
  }
  // A deadline that has passed only now is not waited for, but looked at once more.
  const leat_batch_t* open = queue->last;
  const bool waits_for_end = open && open->deadline_ns <= leat_clock_now_ns() &&
                             queue->processed_count >= concurrency_of(queue);
  return open && !open->is_closed && !waits_for_end ? open->deadline_ns : LEAT_DEADLINE_NEVER;
}

// ---- Tasks --------------------------------------------------------------------------------------

// Ends the kernels of a list of tasks, with the lock free.
static void end_tasks(leat_batch_task_t* task) {
  for (leat_batch_task_t* next; task; task = next) {
    next = task->next;
    leat_kernel_context_t* c = task->context;
    if (task->has_token) leat_cancellation_deregister(c->services->cancellation, task->token);
    if (task->outputs) leat_tensors_release(task->outputs, c->kernel->output_count);
    leat_allocator_free(leat_allocator_system(), task->outputs);
    leat_resource_t* queue = task->queue;
    task->done(c, task->status);
    leat_allocator_free(leat_allocator_system(), task);
    leat_resource_release(queue);
  }
}

// The step of |data| ends: what waits of its task is taken out. A piece that is being processed is
// waited for, since the batch reads the inputs of the task.
static void cancel_task(void* data) {
  leat_batch_task_t* task = data;
  queue_t* queue = (queue_t*)task->queue;
  leat_mutex_lock(&queue->mutex);
  const int64_t pieces = task->pieces_left;
  if (pieces) remove_task(queue, task);
  const bool ends = pieces && task->pieces_left == 0;
  if (pieces && !task->status) {
    task->status = leat_kernel_error(task->context, LEAT_CANCELLED, "the step was cancelled");
  }
  leat_mutex_unlock(&queue->mutex);
  if (ends) end_tasks(task);
}

// Registers |task| with the cancellation of its step. CANCELLED where that was cancelled already.
static leat_status_t watch_cancellation(leat_batch_task_t* task) {
  leat_cancellation_t* cancellation = task->context->services->cancellation;
  if (!cancellation) return leat_ok_status();
  task->has_token = leat_cancellation_register(cancellation, cancel_task, task, &task->token);
  if (task->has_token) return leat_ok_status();
  return leat_kernel_error(task->context, LEAT_CANCELLED, "the step was cancelled");
}

void leat_batch_queue_enter(leat_resource_t* resource, leat_kernel_context_t* c, int64_t rows,
                            leat_kernel_done_fn_t done) {
  queue_t* queue = (queue_t*)resource;
  leat_batch_task_t* task;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &task);
  if (status) {
    done(c, status);
    return;
  }
  *task = (leat_batch_task_t){.context = c, .rows = rows, .done = done, .queue = resource};
  task->id = (int64_t)leat_random_seed();
  leat_resource_retain(resource);
  leat_batch_t* due = NULL;
  leat_mutex_lock(&queue->mutex);
  // The callback waits for the mutex, and finds a task that has its pieces or none.
  status = watch_cancellation(task);
  if (!status) status = place_task(queue, task);
  if (!status) due = take_all_due(queue);
  leat_mutex_unlock(&queue->mutex);
  if (status) {
    task->status = status;
    end_tasks(task);
    return;
  }
  if (!due) return;
  process_elsewhere(due->next);
  due->next = NULL;
  process(due);
}

void leat_batch_end(leat_batch_t* batch, leat_status_t status,
                    leat_status_t (*give)(void* data, const leat_batch_piece_t* piece,
                                          int64_t first_row),
                    void* data) {
  queue_t* queue = (queue_t*)batch->queue;
  leat_batch_task_t* ended = NULL;
  int64_t row = 0;
  leat_resource_retain(&queue->resource);
  leat_mutex_lock(&queue->mutex);
  for (size_t i = 0; i < batch->piece_count; ++i) {
    const leat_batch_piece_t* piece = &batch->pieces[i];
    leat_batch_task_t* task = piece->task;
    if (!task->status) {
      if (status) {
        task->status = leat_make_status(leat_status_code(status), "%s",
                                        leat_status_message(status));
      } else if (give) {
        task->status = give(data, piece, row);
      }
    }
    row += piece->end - piece->begin;
    if (--task->pieces_left == 0) {
      task->next = ended;
      ended = task;
    }
  }
  --queue->processed_count;
  leat_batch_t* due = take_all_due(queue);
  leat_mutex_unlock(&queue->mutex);
  leat_status_free(status);
  free_batch(batch);
  process_elsewhere(due);
  end_tasks(ended);
  leat_resource_release(&queue->resource);
}

leat_status_t leat_batch_queue_create(const leat_batch_options_t* options,
                                      leat_resource_t** out_queue) {
  queue_t* queue;
  const size_t sizes_bytes = (size_t)options->size_count * sizeof(int64_t);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(),
                                               sizeof *queue + sizes_bytes, (void**)&queue));
  queue->resource.kind = &leat_batch_queue_kind;
  queue->resource.references = 1;
  queue->options = *options;
  queue->options.sizes = (int64_t*)(queue + 1);
  if (sizes_bytes) memcpy(queue + 1, options->sizes, sizes_bytes);
  leat_mutex_initialize(&queue->mutex);
  leat_alarm_initialize(&queue->resource, &queue->mutex, ring, &queue->alarm);
  *out_queue = &queue->resource;
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

leat_status_t leat_batch_rows_like(const leat_tensor_t* like, int64_t rows,
                                   leat_tensor_t* out_tensor) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  leat_shape_t shape;
  LEAT_DCHECK(like->shape.rank >= 1);
  memcpy(dims, leat_shape_dims(&like->shape), (size_t)like->shape.rank * sizeof(int64_t));
  dims[0] = rows;
  LEAT_RETURN_IF_ERROR(leat_shape_create(like->shape.rank, dims, &shape));
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), like->dtype, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

// Whether rows of |a| and |b| may stand in one tensor.
static bool rows_match(const leat_tensor_t* a, const leat_tensor_t* b) {
  if (a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
  for (int d = 1; d < a->shape.rank; ++d) {
    if (leat_shape_dim(&a->shape, d) != leat_shape_dim(&b->shape, d)) return false;
  }
  return true;
}

static leat_status_t copy_rows(const leat_tensor_t* from, int64_t begin, int64_t count,
                               int64_t row_items, leat_tensor_t* to, int64_t* inout_row) {
  const size_t row_bytes = (size_t)row_items * leat_dtype_size(from->dtype);
  char* target = (char*)to->data + (size_t)*inout_row * row_bytes;
  *inout_row += count;
  return leat_tensor_copy_elements(from->dtype, (const char*)from->data + (size_t)begin * row_bytes,
                                   target, count * row_items);
}

leat_status_t leat_batch_join(const leat_batch_t* batch, int index, leat_tensor_t* out_tensor) {
  const leat_kernel_context_t* c = batch->pieces[batch->piece_count - 1].task->context;
  const leat_tensor_t* first = NULL;
  *out_tensor = (leat_tensor_t){0};
  for (size_t i = 0; i < batch->piece_count; ++i) {
    const leat_kernel_context_t* other = batch->pieces[i].task->context;
    if (leat_kernel_input_count(other) != leat_kernel_input_count(c)) {
      return leat_kernel_invalid(c, "Batching inputs must have equal number of edges");
    }
    if (!first) first = leat_kernel_input(other, index);
    if (!rows_match(first, leat_kernel_input(other, index))) {
      return leat_kernel_invalid(c, "input %d has shape %s, must have the rows of the one in the "
                                 "same batch with shape %s",
                                 index, LEAT_SHAPE_TEXT(&leat_kernel_input(other, index)->shape),
                                 LEAT_SHAPE_TEXT(&first->shape));
    }
  }
  LEAT_RETURN_IF_ERROR(leat_batch_rows_like(first, batch->padded_rows, out_tensor));
  const int64_t row_items = out_tensor->shape.element_count / batch->padded_rows;
  int64_t row = 0;
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < batch->piece_count && !status; ++i) {
    const leat_batch_piece_t* p = &batch->pieces[i];
    status = copy_rows(leat_kernel_input(p->task->context, index), p->begin, p->end - p->begin,
                       row_items, out_tensor, &row);
  }
  while (row < batch->padded_rows && !status) {
    status = copy_rows(first, batch->pieces[0].begin, 1, row_items, out_tensor, &row);
  }
  if (status) leat_tensor_release(out_tensor);
  return status;
}
