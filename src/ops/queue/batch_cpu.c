// CPU kernels of Batch and BatchFunction. Both put their inputs into a queue (batch_queue_cpu.h),
// which calls back with a batch of the rows of several steps:
//
//   Batch          the last step of the batch gets the joined rows and, for each step, its id and
//                  which rows are its own; the other steps get tensors without rows
//   BatchFunction  the function runs as a call of the last step, with the values that this step
//                  captured; each step gets its rows of what the function returns
//
// A queue is a resource that the first node makes which names it, so that all steps of a session,
// and through a named container several sessions, meet in it. If the step in whose name a function
// runs is cancelled, the steps of the same batch fail with it, as in TensorFlow.
#include "base/arena.h"
#include "base/checked.h"
#include "kernel/function_runtime.h"
#include "kernel/tuple.h"
#include "ops/kernel_rows.h"
#include "ops/queue/batch_queue_cpu.h"

typedef struct batch_node_s {
  leat_callee_t callee;  // of BatchFunction
  leat_arena_t arena;
  leat_string_view_t container, name;
  leat_batch_options_t options;
  int row_inputs;  // inputs with rows; behind them stand those that the function captures
} batch_node_t;

// ---- The queue of a node ------------------------------------------------------------------------

static leat_status_t check_sizes(const leat_batch_options_t* o) {
  for (int i = 1; i < o->size_count; ++i) {
    if (o->sizes[i] > o->sizes[i - 1]) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "allowed_batch_sizes entries must be monotonically increasing");
  }
  if (o->size_count == 0 || o->batch_rows == o->task_rows) return leat_ok_status();
  if (!o->splits) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "final entry in allowed_batch_sizes must equal max_batch_size when "
                            "enable_large_batch_splitting is False");
  }
  if (o->batch_rows > 0 && o->batch_rows < o->task_rows) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "allowed_batch_sizes ends with %lld, must be in [1, %lld], since no "
                          "batch may be larger than max_batch_size",
                          (long long)o->batch_rows, (long long)o->task_rows);
}

static leat_status_t read_options(leat_kernel_creation_t* c, leat_batch_options_t* o) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "num_batch_threads", &o->concurrency));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "max_batch_size", &o->task_rows));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "batch_timeout_micros", &o->timeout_us));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "max_enqueued_batches", &o->waiting_count));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_ints(c, "allowed_batch_sizes", &o->sizes, &o->size_count));
  o->batch_rows = o->size_count ? o->sizes[o->size_count - 1] : o->task_rows;
  LEAT_RETURN_IF_ERROR(check_sizes(o));
  if (o->task_rows <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "max_batch_size must be positive; was %lld",
                            (long long)o->task_rows);
  }
  if (o->timeout_us < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "batch_timeout_micros must be non-negative; was %lld",
                            (long long)o->timeout_us);
  }
  return leat_ok_status();
}

static leat_status_t read_name(leat_kernel_creation_t* c, batch_node_t* node) {
  leat_string_view_t container, name, queue;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "container", &container));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "shared_name", &name));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "batching_queue", &queue));
  if (name.size == 0) name = c->kernel->node_name;
  leat_arena_initialize(c->allocator, 256, &node->arena);
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&node->arena, container, &node->container));
  return leat_arena_print(&node->arena, &node->name, "%.*s/%.*s", LEAT_SV_ARG(name),
                          LEAT_SV_ARG(queue));
}

static void node_destroy(void* state) {
  batch_node_t* node = state;
  if (node->arena.allocator) leat_arena_deinitialize(&node->arena);
}

static leat_status_t make_queue(void* data, leat_resource_t** out_queue) {
  return leat_batch_queue_create(data, out_queue);
}

// The number of rows that the inputs have, all the same.
static leat_status_t count_rows(const leat_kernel_context_t* c, int inputs, int64_t* out_rows) {
  *out_rows = 0;
  for (int i = 0; i < inputs; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->rank < 1) {
      return leat_kernel_invalid(c, "Batching input tensors must have at least one dimension: "
                                 "input %d has shape []", i);
    }
    if (i > 0 && leat_shape_dim(shape, 0) != *out_rows) {
      return leat_kernel_invalid(c, "Batching input tensors supplied in a given op invocation must "
                                 "have equal 0th-dimension size: input %d has %lld, input 0 %lld",
                                 i, (long long)leat_shape_dim(shape, 0), (long long)*out_rows);
    }
    *out_rows = leat_shape_dim(shape, 0);
  }
  return leat_ok_status();
}

// A step without rows needs no batch: each of its outputs is a vector without elements.
static leat_status_t set_no_rows(leat_kernel_context_t* c) {
  leat_shape_t empty = leat_shape_vector(0);
  leat_tensor_t* output;
  for (int i = 0; i < c->kernel->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, i, &empty, &output));
  }
  return leat_ok_status();
}

static void enter__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  batch_node_t* node = leat_kernel_state(c);
  leat_resource_t* queue = NULL;
  int64_t rows;
  leat_status_t status = count_rows(c, node->row_inputs, &rows);
  if (status || rows == 0) {
    done(c, status ? status : set_no_rows(c));
    return;
  }
  status = leat_resource_manager_find_or_make(c->services->resources, node->container, node->name,
                                              &leat_batch_queue_kind, make_queue, &node->options,
                                              &queue);
  if (status) {
    done(c, status);
    return;
  }
  leat_batch_queue_enter(queue, c, rows, done);
  leat_resource_release(queue);
}

// ---- Batch --------------------------------------------------------------------------------------

// What a step gets that does not get the batch: tensors without rows, and its id.
static leat_status_t set_only_id(leat_batch_task_t* task, int inputs) {
  leat_kernel_context_t* c = task->context;
  leat_tensor_t* output;
  for (int i = 0; i < inputs; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_batch_rows_like(leat_kernel_input(c, i), 0, leat_kernel_output(c, i)));
    c->outputs[i].alive = true;
  }
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, inputs, 2, (const int64_t[]){0, 3}, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, inputs + 1, 0, NULL, &output));
  leat_tensor_data(output, int64_t)[0] = task->id;
  return leat_ok_status();
}

// What the last step gets: the batch, and for each step a row [id, begin, end].
static leat_status_t set_batch(const leat_batch_t* batch, leat_batch_task_t* task, int inputs) {
  leat_kernel_context_t* c = task->context;
  leat_tensor_t* output;
  for (int i = 0; i < inputs; ++i) {
    LEAT_RETURN_IF_ERROR(leat_batch_join(batch, i, leat_kernel_output(c, i)));
    c->outputs[i].alive = true;
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(
      c, inputs, 2, (const int64_t[]){(int64_t)batch->piece_count, 3}, &output));
  int64_t* row = output->data;
  int64_t begin = 0;
  for (size_t i = 0; i < batch->piece_count; ++i, row += 3) {
    const leat_batch_piece_t* piece = &batch->pieces[i];
    row[0] = piece->task->id;
    row[1] = begin;
    row[2] = begin += piece->end - piece->begin;
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, inputs + 1, 0, NULL, &output));
  leat_tensor_data(output, int64_t)[0] = task->id;
  return leat_ok_status();
}

static void process_batch(leat_batch_t* batch) {
  leat_status_t status = leat_ok_status();
  const size_t last = batch->piece_count - 1;
  for (size_t i = 0; i < batch->piece_count && !status; ++i) {
    leat_batch_task_t* task = batch->pieces[i].task;
    const batch_node_t* node = leat_kernel_state(task->context);
    status = i < last ? set_only_id(task, node->row_inputs)
                      : set_batch(batch, task, node->row_inputs);
  }
  leat_batch_end(batch, status, NULL, NULL);
}

static leat_status_t batch_create(leat_kernel_creation_t* c, void* state) {
  batch_node_t* node = state;
  LEAT_RETURN_IF_ERROR(read_name(c, node));
  LEAT_RETURN_IF_ERROR(read_options(c, &node->options));
  if (node->options.concurrency <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "num_batch_threads must be positive; was %lld",
                            (long long)node->options.concurrency);
  }
  node->options.process = process_batch;
  node->row_inputs = c->kernel->input_count;
  return leat_ok_status();
}

// ---- BatchFunction ------------------------------------------------------------------------------

// A call of the function for a batch.
typedef struct batch_call_s {
  leat_batch_t* batch;
  leat_function_call_t call;
  int joined;               // of the arguments, so many are this call's own
  leat_tensor_t tensors[];  // the arguments, then room for the returns
} batch_call_t;

static void free_call(batch_call_t* call) {
  leat_tensors_release(call->tensors, call->joined);
  leat_tensors_release(call->call.returns, call->call.return_count);
  leat_allocator_free(leat_allocator_system(), call);
}

// Copies rows of the returns, from |row| on, into the outputs of the piece's task. Where that has
// several pieces, they are gathered until the last one has come.
static leat_status_t give_rows(void* data, const leat_batch_piece_t* piece, int64_t row) {
  const batch_call_t* call = data;
  leat_batch_task_t* task = piece->task;
  leat_kernel_context_t* c = task->context;
  const int64_t rows = piece->end - piece->begin;
  if (!task->outputs) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(),
                                       (size_t)LEAT_MAX(c->kernel->output_count, 1),
                                       &task->outputs));
  }
  for (int i = 0; i < c->kernel->output_count; ++i) {
    const leat_tensor_t* from = &call->call.returns[i];
    leat_tensor_t* to = &task->outputs[i];
    if (!to->dtype) LEAT_RETURN_IF_ERROR(leat_batch_rows_like(from, task->rows, to));
    const int64_t items = from->shape.element_count / leat_shape_dim(&from->shape, 0);
    if (to->dtype != from->dtype || to->shape.element_count != items * task->rows) {
      return leat_kernel_invalid(c, "output %d has rows of different shapes: %s and %s", i,
                                 LEAT_SHAPE_TEXT(&from->shape), LEAT_SHAPE_TEXT(&to->shape));
    }
    const size_t row_bytes = (size_t)items * leat_dtype_size(from->dtype);
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        from->dtype, (const char*)from->data + (size_t)row * row_bytes,
        (char*)to->data + (size_t)piece->begin * row_bytes, rows * items));
  }
  if (task->pieces_left > 1) return leat_ok_status();
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_kernel_set_output(c, i, leat_tensor_move(&task->outputs[i]));
  }
  return leat_ok_status();
}

// Every return must have a row for each row of the batch.
static leat_status_t check_returns(const batch_call_t* call) {
  const leat_batch_t* batch = call->batch;
  const leat_kernel_context_t* c = batch->pieces[batch->piece_count - 1].task->context;
  for (int i = 0; i < call->call.return_count; ++i) {
    const leat_shape_t* shape = &call->call.returns[i].shape;
    if (shape->rank < 1) {
      return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                               "Batched output tensor %d has 0 dimensions", i);
    }
    if (leat_shape_dim(shape, 0) != batch->padded_rows) {
      return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                               "Batched output tensor %d has shape %s; its 0th dimension does not "
                               "equal the sum of the 0th dimension sizes of the input tensors, "
                               "%lld",
                               i, LEAT_SHAPE_TEXT(shape), (long long)batch->padded_rows);
    }
  }
  return leat_ok_status();
}

// A leat_function_done_fn_t.
static void returned(void* data, leat_status_t status) {
  batch_call_t* call = data;
  if (!status) status = check_returns(call);
  leat_batch_end(call->batch, status, give_rows, call);
  free_call(call);
}

// Makes the call for |batch| in one block, with its arguments.
static leat_status_t make_call(leat_batch_t* batch, leat_kernel_context_t* c,
                               batch_call_t** out_call) {
  const batch_node_t* node = leat_kernel_state(c);
  const int arguments = c->kernel->input_count, returns = c->kernel->output_count;
  batch_call_t* call;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(),
      sizeof *call + (size_t)(arguments + returns) * sizeof(leat_tensor_t), (void**)&call));
  call->batch = batch;
  call->call = (leat_function_call_t){.arguments = call->tensors,
                                      .argument_count = arguments,
                                      .returns = call->tensors + arguments,
                                      .return_count = returns};
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < node->row_inputs && !status; ++i) {
    status = leat_batch_join(batch, i, &call->tensors[i]);
    if (!status) ++call->joined;
  }
  for (int i = node->row_inputs; i < arguments; ++i) call->tensors[i] = *leat_kernel_input(c, i);
  if (status) {
    free_call(call);
    return status;
  }
  *out_call = call;
  return leat_ok_status();
}

static void process_function(leat_batch_t* batch) {
  leat_kernel_context_t* c = batch->pieces[batch->piece_count - 1].task->context;
  batch_node_t* node = leat_kernel_state(c);
  batch_call_t* call;
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < batch->piece_count && !status; ++i) {
    const leat_kernel_context_t* other = batch->pieces[i].task->context;
    if (other->kernel->output_count != c->kernel->output_count) {
      status = leat_kernel_invalid(c, "steps of one batch have %d and %d outputs, must have as "
                                   "many", other->kernel->output_count, c->kernel->output_count);
    }
  }
  if (!status) status = make_call(batch, c, &call);
  if (status) {
    leat_batch_end(batch, status, NULL, NULL);
    return;
  }
  leat_callee_run(c, &node->callee, &call->call, returned, call);
}

// The attributes low_priority_... concern requests that a server marked as such, which no step here
// is. MINIMIZE_TPU_COST_PER_REQUEST pads where nothing is known of costs, hence always.
static leat_status_t function_create(leat_kernel_creation_t* c, void* state) {
  batch_node_t* node = state;
  const leat_attr_value_t* rows;
  leat_string_view_t padding;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "f", 0, &node->callee));
  LEAT_RETURN_IF_ERROR(read_name(c, node));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "enable_large_batch_splitting",
                                             &node->options.splits));
  LEAT_RETURN_IF_ERROR(read_options(c, &node->options));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "batch_padding_policy", &padding));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "Tin", &rows));
  node->options.trims = leat_string_view_equals(padding, "BATCH_DOWN");
  node->options.process = process_function;
  node->row_inputs = (int)rows->count;
  return leat_ok_status();
}

const leat_kernel_row_t leat_batch_kernels_cpu[] = {
    {.op = "Batch", .device_type = "CPU", .create = batch_create, .destroy = node_destroy,
     .state_bytes = sizeof(batch_node_t), .compute_async = enter__cpu},
    {.op = "BatchFunction", .device_type = "CPU", .create = function_create,
     .destroy = node_destroy, .state_bytes = sizeof(batch_node_t), .compute_async = enter__cpu},
    LEAT_KERNEL_ROWS_END,
};
