// Kernels that use a reader (ops/input/reader_cpu.h). One kernel at a time may have the reader; the
// others wait in its wait queue without a thread, which is why these kernels are asynchronous.
//
// A read that has no work unit asks the queue for one, and again holds no thread while the queue is
// empty:
//
//     take_turn ──▶ go_on ──▶ read records ──▶ finish_read ──▶ end_turn
//                    ▲  └──▶ ask_for_work (no work) ──┐
//                    └─────────── take_work ◀─────────┘
//
// When the queue answers at once, go_on simply continues. When it answers later, on the thread of
// the step that enqueued the work unit, the read continues as a task of the pool, because that
// thread has its own step to run. The turn lasts until the read has its records, so that other
// readers' calls wait behind it.
#include "kernel/queue.h"
#include "ops/input/reader_cpu.h"
#include "ops/kernel_rows.h"

// ---- Turns --------------------------------------------------------------------------------------

// A kernel that waits for the reader, or has it.
typedef struct turn_s turn_t;
struct turn_s {
  leat_attempt_t base;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_reader_resource_t* reader;  // retained while it waits in the queue and while it has the turn
  void (*run)(turn_t* self);  // called with the turn; it must end the turn
};

static leat_passage_t attempt_turn(leat_attempt_t* self) {
  leat_reader_resource_t* reader = ((turn_t*)self)->reader;
  if (reader->busy) return LEAT_PASSAGE_WAITS;
  reader->busy = true;
  leat_resource_retain(&reader->resource);
  return LEAT_PASSAGE_DONE;
}

static void finish_turn(leat_attempt_t* self) {
  turn_t* turn = (turn_t*)self;
  if (self->status) {
    turn->done(turn->context, self->status);
  } else {
    turn->run(turn);
  }
}

static void leave(void* data) { ((leat_reader_resource_t*)data)->busy = false; }

static void end_turn(leat_reader_resource_t* reader) {
  leat_wait_queue_change(&reader->wait_queue, leave, reader, 0);
  leat_resource_release(&reader->resource);
}

// Waits for the reader at input 0 and then calls |run|. If the step ends before, the kernel is done
// with that status.
static void take_turn(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                      void (*run)(turn_t* self)) {
  turn_t turn = {
      .base = leat_attempt_of(c, sizeof turn), .context = c, .done = done, .run = run};
  turn.base.attempt = attempt_turn;
  turn.base.finish = finish_turn;
  leat_status_t status =
      leat_handle_find(c, 0, &leat_reader_kind, (leat_resource_t**)&turn.reader);
  if (status) {
    done(c, status);
    return;
  }
  leat_reader_resource_t* reader = turn.reader;
  leat_wait_queue_enter(&reader->wait_queue, LEAT_LINE_OUT, &turn.base);
  leat_resource_release(&reader->resource);
}

// ---- Reading ------------------------------------------------------------------------------------

typedef struct read_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_reader_resource_t* reader;
  leat_queue_t* queue;
  int64_t wanted;  // records that the kernel asks for
  bool is_list;  // ReaderReadUpTo, whose outputs are vectors
  TF_TString* keys;  // [count]; the values are in |values|
  TF_TString* values;
  size_t count, key_room, value_room;
  leat_string_builder_t key;  // the key of the record that is read
  leat_status_t status;  // of the queue's answer, or OK
  // The queue's answer and the return of the call that asked for it meet here: whichever comes
  // second continues the read.
  _Atomic(bool) met;
} read_t;

// Appends a record with the key |r->key| and the value |value|.
static leat_status_t add_record(read_t* r, leat_string_view_t value) {
  LEAT_RETURN_IF_ERROR(leat_status_clone(r->key.status));
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), r->count + 1, &r->keys, &r->key_room));
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), r->count + 1, &r->values, &r->value_room));
  TF_TString_Init(&r->keys[r->count]);
  TF_TString_Init(&r->values[r->count]);
  size_t place = r->count++;
  LEAT_RETURN_IF_ERROR(leat_object_set_string(&r->keys[place], leat_string_builder_view(&r->key)));
  return leat_object_set_string(&r->values[place], value);
}

// Moves |strings| into output |index|.
static leat_status_t set_output(read_t* r, int index, TF_TString* strings) {
  leat_shape_t shape = r->is_list ? leat_shape_vector((int64_t)r->count) : leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(r->context, index, &shape, &output));
  for (size_t i = 0; i < r->count; ++i) {
    TF_TString_Move(&leat_tensor_data(output, TF_TString)[i], &strings[i]);
  }
  return leat_ok_status();
}

// Sets the outputs, ends the turn and frees the read before the kernel is reported as done, since
// whoever waits for that may free the reader.
static void finish_read(read_t* r, leat_status_t status) {
  leat_allocator_t* allocator = leat_allocator_system();
  if (!status) status = set_output(r, 0, r->keys);
  if (!status) status = set_output(r, 1, r->values);
  leat_object_destroy(LEAT_DTYPE_STRING, r->keys, (int64_t)r->count);
  leat_object_destroy(LEAT_DTYPE_STRING, r->values, (int64_t)r->count);
  leat_allocator_free(allocator, r->keys);
  leat_allocator_free(allocator, r->values);
  leat_string_builder_deinitialize(&r->key);
  end_turn(r->reader);
  leat_resource_release(&r->queue->resource);
  leat_kernel_context_t* context = r->context;
  leat_kernel_done_fn_t done = r->done;
  leat_allocator_free(allocator, r);
  done(context, status);
}

static void go_on(void* data);

// Makes the string that the queue gave the reader's new work unit.
static leat_status_t begin_work(read_t* r, const leat_tensor_t* components) {
  if (r->queue->component_count != 1 || components[0].dtype != LEAT_DTYPE_STRING) {
    return leat_kernel_invalid(r->context, "Expected queue with single string component");
  }
  if (components[0].shape.element_count != 1) {
    return leat_kernel_invalid(r->context, "Expected to dequeue a one-element string tensor");
  }
  return leat_reader_begin_work(r->reader, leat_tensor_string_at(&components[0], 0));
}

// The queue's answer. |components| are borrowed. It runs on any thread, perhaps before ask_for_work
// has returned.
static void take_work(const leat_queue_call_t* call, leat_status_t status,
                      leat_tensor_t* components) {
  read_t* r = call->data;
  r->status = status ? status : begin_work(r, components);
  if (!atomic_exchange(&r->met, true)) return;
  leat_thread_pool_t* pool = r->context->services->pool;
  if (pool) {
    leat_thread_pool_schedule(pool, go_on, r);
  } else {
    go_on(r);
  }
}

// Asks the queue for a work unit. Returns true when the answer is in |r->status| already, and false
// when take_work will continue the read; |r| must not be touched then.
static bool ask_for_work(read_t* r) {
  leat_queue_call_t call = {.context = r->context, .done = take_work, .data = r};
  r->met = false;
  r->queue->vtable->dequeue(r->queue, &call);
  return atomic_exchange(&r->met, true);
}

static leat_status_t read_record(read_t* r, bool* out_produced) {
  leat_string_view_t value;
  r->key.size = 0;
  LEAT_RETURN_IF_ERROR(leat_reader_read(r->reader, &r->key, &value, out_produced));
  return *out_produced ? add_record(r, value) : leat_ok_status();
}

// Reads until there are enough records. Records of a second work unit are not joined to those of a
// first, as in TensorFlow: the read ends where a work unit ends, unless it has nothing yet.
static void go_on(void* data) {
  read_t* r = data;
  leat_status_t status = r->status;
  r->status = NULL;
  while (!status && (int64_t)r->count < r->wanted) {
    if (!leat_reader_has_work(r->reader)) {
      if (r->count) break;
      if (!ask_for_work(r)) return;
      status = r->status;
      r->status = NULL;
    } else {
      bool produced;
      status = read_record(r, &produced);
    }
  }
  finish_read(r, status);
}

// Fills |r| from the kernel's inputs. |r| is zeroed; after a failure it is freed as it is.
static leat_status_t prepare(turn_t* turn, read_t* r) {
  leat_kernel_context_t* c = turn->context;
  leat_string_builder_initialize(leat_allocator_system(), &r->key);
  r->context = c;
  r->done = turn->done;
  r->reader = turn->reader;
  r->wanted = 1;
  r->is_list = leat_kernel_input_count(c) > 2;
  if (r->is_list) {
    const leat_tensor_t* count = leat_kernel_input(c, 2);
    if (count->shape.rank != 0 || *leat_tensor_data(count, int64_t) < 0) {
      return leat_kernel_invalid(c, "num_records must be a scalar >= 0");
    }
    r->wanted = *leat_tensor_data(count, int64_t);
  }
  return leat_handle_find(c, 1, &leat_queue_kind, (leat_resource_t**)&r->queue);
}

static void run_read(turn_t* turn) {
  read_t* r;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &r);
  if (!status) {
    status = prepare(turn, r);
    if (!status) {
      go_on(r);
      return;
    }
    leat_allocator_free(leat_allocator_system(), r);
  }
  end_turn(turn->reader);
  turn->done(turn->context, status);
}

static void read__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  take_turn(c, done, run_read);
}

// ---- Reset, state and counts --------------------------------------------------------------------

static void end_with(turn_t* turn, leat_status_t status) {
  end_turn(turn->reader);
  turn->done(turn->context, status);
}

static void run_reset(turn_t* turn) {
  leat_reader_reset(turn->reader);
  end_with(turn, leat_ok_status());
}

static leat_status_t save(turn_t* turn) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(turn->context, 0, &scalar, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_reader_save(turn->reader, &text);
  if (!status) status = leat_tensor_set_string(output, 0, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  return status;
}

static void run_save(turn_t* turn) { end_with(turn, save(turn)); }

static void run_restore(turn_t* turn) {
  const leat_tensor_t* state = leat_kernel_input(turn->context, 1);
  leat_status_t status = leat_ok_status();
  if (state->shape.rank != 0) {
    status = leat_kernel_invalid(turn->context, "Reader state must be scalar, but had shape: %s",
                                 LEAT_SHAPE_TEXT(&state->shape));
  } else {
    status = leat_reader_restore(turn->reader, leat_tensor_string_at(state, 0));
  }
  end_with(turn, status);
}

static void reset__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  take_turn(c, done, run_reset);
}
static void save__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  take_turn(c, done, run_save);
}
static void restore__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  take_turn(c, done, run_restore);
}

// The counters are atomic and need no turn: otherwise a read that waits for work would hold up
// whoever asks.
static leat_status_t count(leat_kernel_context_t* c, bool of_records) {
  leat_reader_resource_t* reader;
  leat_tensor_t* output;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 0, &leat_reader_kind, (leat_resource_t**)&reader));
  *leat_tensor_data(output, int64_t) =
      of_records ? reader->records_produced : reader->work_finished;
  leat_resource_release(&reader->resource);
  return leat_ok_status();
}

static leat_status_t records__cpu(leat_kernel_context_t* c) { return count(c, true); }
static leat_status_t units__cpu(leat_kernel_context_t* c) { return count(c, false); }

// The kernels of an op and its V2, which find the reader through either sort of handle.
#define BOTH(op_name, field, fn)                                          \
  {.op = op_name, .device_type = "CPU", .field = fn, .expensive = true}, { \
    .op = op_name "V2", .device_type = "CPU", .field = fn, .expensive = true \
  }

const leat_kernel_row_t leat_reader_access_kernels_cpu[] = {
    BOTH("ReaderRead", compute_async, read__cpu),
    BOTH("ReaderReadUpTo", compute_async, read__cpu),
    BOTH("ReaderReset", compute_async, reset__cpu),
    BOTH("ReaderSerializeState", compute_async, save__cpu),
    BOTH("ReaderRestoreState", compute_async, restore__cpu),
    {.op = "ReaderNumRecordsProduced", .device_type = "CPU", .compute = records__cpu},
    {.op = "ReaderNumRecordsProducedV2", .device_type = "CPU", .compute = records__cpu},
    {.op = "ReaderNumWorkUnitsCompleted", .device_type = "CPU", .compute = units__cpu},
    {.op = "ReaderNumWorkUnitsCompletedV2", .device_type = "CPU", .compute = units__cpu},
    LEAT_KERNEL_ROWS_END,
};
