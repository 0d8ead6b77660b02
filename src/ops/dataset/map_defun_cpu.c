// The CPU kernel of MapDefun, which calls a function for each row of its arguments and puts what
// the calls return into the rows of its outputs.
//
//   row i of the arguments, captured inputs ─▶ function ─▶ row i of each output
//
// The calls are independent, so that several lanes make them, at most one for each thread of the
// pool. A lane takes the next row that nobody has taken, calls, stores what the call returned, and
// goes on; the first lane runs on the kernel's own thread, the others are tasks of the pool. No
// lane waits: a call may end on another thread, and its end is what continues the lane. As in a
// loop of calls (ops/function/loop_cpu.c), the lane and the end of its call both exchange the
// lane's |state|, and the second of them goes on, so that the stack never holds more than one call.
//
// An output is allocated when the first call has returned, because output_shapes need not say the
// whole shape; all later rows must have the shape of the first. After a failure no further row is
// taken. The kernel is done when every row that was taken has been finished. A task that begins
// after that finds no row and must not look at the step, which may have ended: what it needs to
// know is in the map itself, which lives until its last lane has let go of it.
//
// TensorFlow's attribute max_intra_op_parallelism bounds how many threads one call may use. It
// changes no result, and the pool here is shared by all calls.
#include "base/checked.h"
#include "kernel/function_runtime.h"
#include "kernel/step_check.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct state_s {
  leat_callee_t callee;
  const leat_attr_value_t* shapes;  // of the outputs' rows; borrowed from the graph
  int argument_count;               // inputs with rows; behind them stand the captured ones
} state_t;

typedef struct map_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  int64_t row_count;
  _Atomic(int64_t) next;        // the first row that no lane has taken
  _Atomic(int64_t) unfinished;  // rows, and 1 for the kernel until it has started all lanes
  _Atomic(int) lanes;           // that hold this memory
  leat_mutex_t mutex;           // of what stands below
  bool is_allocated;            // the outputs
  leat_status_t status;         // the first failure
} map_t;

enum { CALLING, RETURNED_LATER, DONE };

typedef struct lane_s {
  map_t* map;
  leat_function_call_t call;
  _Atomic(int64_t) calls;  // of functions, counted for each row by itself
  _Atomic(int) state;
  int64_t row;
  leat_status_t status;     // of the last call
  leat_tensor_t tensors[];  // the call's arguments, then its returns
} lane_t;

// ---- The map ------------------------------------------------------------------------------------

static void release_map(map_t* map) {
  if (atomic_fetch_sub_explicit(&map->lanes, 1, memory_order_acq_rel) > 1) return;
  leat_mutex_deinitialize(&map->mutex);
  leat_allocator_free(leat_allocator_system(), map);
}

// Takes |count| off the unfinished. The kernel is done with the last one.
static void finish(map_t* map, int64_t count) {
  if (atomic_fetch_sub_explicit(&map->unfinished, count, memory_order_acq_rel) > count) return;
  leat_status_t status = map->status;
  map->status = NULL;
  map->done(map->context, status);
}

// Keeps the first failure and takes all rows that are left, which are finished thereby.
static void fail(map_t* map, leat_status_t status) {
  leat_mutex_lock(&map->mutex);
  if (map->status) {
    leat_status_free(status);
  } else {
    map->status = status;
  }
  leat_mutex_unlock(&map->mutex);
  const int64_t next = atomic_exchange_explicit(&map->next, map->row_count, memory_order_acq_rel);
  if (next < map->row_count) finish(map, map->row_count - next);
}

static leat_status_t mismatch(const leat_kernel_context_t* c, const leat_shape_t* shape,
                              leat_partial_shape_t expected) {
  return leat_kernel_invalid(c, "Mismatch in function retval shape, %s, and expected output shape, "
                             "%s.", LEAT_SHAPE_TEXT(shape), LEAT_PARTIAL_SHAPE_TEXT(expected));
}

// Allocates output |index| for rows of the shape |dims|.
static leat_status_t allocate(leat_kernel_context_t* c, int64_t rows, int index, int rank,
                              const int64_t* dims) {
  int64_t sizes[LEAT_SHAPE_MAX_RANK + 1] = {rows};
  leat_tensor_t* output;
  for (int d = 0; d < rank; ++d) sizes[1 + d] = dims[d];
  return leat_kernel_allocate_sized(c, index, rank + 1, sizes, &output);
}

// Makes the outputs fit for rows like |returns|, unless another call has done so. The mutex is
// held.
static leat_status_t allocate_outputs(map_t* map, const leat_tensor_t* returns) {
  leat_kernel_context_t* c = map->context;
  const state_t* state = leat_kernel_state(c);
  if (map->is_allocated) return leat_ok_status();
  for (int i = 0; i < c->kernel->output_count; ++i) {
    const leat_shape_t* shape = &returns[i].shape;
    if (!leat_partial_shape_admits(state->shapes->shapes[i], shape)) {
      return mismatch(c, shape, state->shapes->shapes[i]);
    }
    LEAT_RETURN_IF_ERROR(
        allocate(c, map->row_count, i, shape->rank, leat_shape_dims(shape)));
  }
  map->is_allocated = true;
  return leat_ok_status();
}

// Copies what a call returned to row |row| of the outputs.
static leat_status_t store(map_t* map, int64_t row, const leat_tensor_t* returns) {
  leat_kernel_context_t* c = map->context;
  for (int i = 0; i < c->kernel->output_count; ++i) {
    if (returns[i].dtype == c->kernel->output_types[i]) continue;
    return leat_kernel_invalid(c, "Mismatch in function return type and expected output type for "
                               "output: %d", i);
  }
  leat_mutex_lock(&map->mutex);
  leat_status_t status = allocate_outputs(map, returns);
  leat_mutex_unlock(&map->mutex);
  for (int i = 0; i < c->kernel->output_count && !status; ++i) {
    const leat_tensor_t* output = &c->outputs[i].tensor;
    const int64_t count = returns[i].shape.element_count;
    const int64_t* dims = leat_shape_dims(&output->shape) + 1;
    const leat_partial_shape_t expected = {.rank = output->shape.rank - 1, .dims = dims};
    if (!leat_partial_shape_admits(expected, &returns[i].shape)) {
      return mismatch(c, &returns[i].shape, expected);
    }
    if (count == 0) continue;
    char* to = (char*)output->data + (size_t)(row * count) * leat_dtype_size(output->dtype);
    status = leat_tensor_copy_elements(output->dtype, returns[i].data, to, count);
  }
  return status;
}

// ---- Lanes --------------------------------------------------------------------------------------

static void release_all(leat_tensor_t* tensors, int count) {
  for (int i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
}

// Makes the arguments of the call for the lane's row. The captured inputs are shared.
static leat_status_t make_arguments(lane_t* lane) {
  leat_kernel_context_t* c = lane->map->context;
  const state_t* state = leat_kernel_state(c);
  for (int i = 0; i < c->kernel->input_count; ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    if (i >= state->argument_count) {
      lane->tensors[i] = leat_tensor_share(input);
    } else {
      LEAT_RETURN_IF_ERROR(leat_element_row(input, lane->row, &lane->tensors[i]));
    }
  }
  return leat_step_check(c->services, true);
}

// Ends the call for the lane's row, whose status is |status|.
static void end_row(lane_t* lane, leat_status_t status) {
  map_t* map = lane->map;
  const int inputs = map->context->kernel->input_count;
  const int outputs = map->context->kernel->output_count;
  if (!status) status = store(map, lane->row, lane->tensors + inputs);
  release_all(lane->tensors, inputs + outputs);
  if (status) fail(map, status);
  finish(map, 1);
}

static void run_lane(void* data);

static void returned(void* data, leat_status_t status) {
  lane_t* lane = data;
  lane->status = status;
  if (atomic_exchange_explicit(&lane->state, DONE, memory_order_acq_rel) == CALLING) return;
  end_row(lane, status);
  run_lane(lane);
}

// Calls the function for one row after another, until no row is left or a call ends later.
static void run_lane(void* data) {
  lane_t* lane = data;
  map_t* map = lane->map;
  for (;;) {
    lane->row = atomic_load_explicit(&map->next, memory_order_relaxed);
    while (lane->row < map->row_count &&
           !atomic_compare_exchange_weak_explicit(&map->next, &lane->row, lane->row + 1,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
    if (lane->row >= map->row_count) break;
    leat_status_t status = make_arguments(lane);
    if (status) {
      end_row(lane, status);
      continue;
    }
    const leat_kernel_t* kernel = map->context->kernel;
    lane->call = (leat_function_call_t){.arguments = lane->tensors,
                                        .argument_count = kernel->input_count,
                                        .returns = lane->tensors + kernel->input_count,
                                        .return_count = kernel->output_count,
                                        .calls = &lane->calls};
    atomic_store_explicit(&lane->calls, 0, memory_order_relaxed);
    atomic_store_explicit(&lane->state, CALLING, memory_order_relaxed);
    state_t* state = leat_kernel_state(map->context);
    leat_callee_run(map->context, &state->callee, &lane->call, returned, lane);
    if (atomic_exchange_explicit(&lane->state, RETURNED_LATER, memory_order_acq_rel) != DONE) {
      return;
    }
    end_row(lane, lane->status);
  }
  leat_allocator_free(leat_allocator_system(), lane);
  release_map(map);
}

static leat_status_t create_lane(map_t* map, lane_t** out_lane) {
  const leat_kernel_t* kernel = map->context->kernel;
  const size_t tensors = (size_t)(kernel->input_count + kernel->output_count);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(),
                                               sizeof(lane_t) + tensors * sizeof(leat_tensor_t),
                                               (void**)out_lane));
  (*out_lane)->map = map;
  atomic_fetch_add_explicit(&map->lanes, 1, memory_order_relaxed);
  return leat_ok_status();
}

// ---- The kernel ---------------------------------------------------------------------------------

static leat_status_t create(leat_kernel_creation_t* c, void* data) {
  state_t* state = data;
  const leat_attr_value_t* arguments;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "Targuments", &arguments));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "output_shapes", &state->shapes));
  state->argument_count = (int)arguments->count;
  if ((int)state->shapes->count != c->kernel->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "output_shapes has %u values, must have %d, as "
                            "many as output_types", state->shapes->count, c->kernel->output_count);
  }
  return leat_callee_initialize(c, "f", 0, &state->callee);
}

static leat_status_t count_rows(const leat_kernel_context_t* c, int64_t* out_rows) {
  const state_t* state = leat_kernel_state(c);
  for (int i = 0; i < state->argument_count; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->rank == 0) {
      return leat_kernel_invalid(c, "All inputs must have rank at least 1. Input %d has a rank of "
                                 "0", i);
    }
    if (i == 0) *out_rows = leat_shape_dim(shape, 0);
    if (leat_shape_dim(shape, 0) == *out_rows) continue;
    return leat_kernel_invalid(c, "All inputs must have the same dimension 0. Input %d has %lld "
                               "rows, input 0 has %lld", i, (long long)leat_shape_dim(shape, 0),
                               (long long)*out_rows);
  }
  return leat_ok_status();
}

// Makes the outputs where there is no row, of whose calls one could learn their shapes.
static leat_status_t allocate_empty(leat_kernel_context_t* c) {
  const state_t* state = leat_kernel_state(c);
  for (int i = 0; i < c->kernel->output_count; ++i) {
    const leat_partial_shape_t shape = state->shapes->shapes[i];
    if (!leat_partial_shape_is_full(shape)) {
      return leat_kernel_error(c, LEAT_INTERNAL, "output %d has no shape: output_shapes says %s of "
                               "it, must say all of it where the arguments have no rows", i,
                               LEAT_PARTIAL_SHAPE_TEXT(shape));
    }
    LEAT_RETURN_IF_ERROR(allocate(c, 0, i, shape.rank, shape.dims));
  }
  return leat_ok_status();
}

static leat_status_t create_map(leat_kernel_context_t* c, leat_kernel_done_fn_t done, int64_t rows,
                                map_t** out_map) {
  map_t* map;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), sizeof *map, (void**)&map));
  map->context = c;
  map->done = done;
  map->row_count = rows;
  atomic_init(&map->unfinished, rows + 1);
  atomic_init(&map->lanes, 1);
  leat_mutex_initialize(&map->mutex);
  *out_map = map;
  return leat_ok_status();
}

static void map_defun__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  int64_t rows = 0;
  map_t* map;
  leat_status_t status = count_rows(c, &rows);
  if (!status && rows == 0) {
    done(c, allocate_empty(c));
    return;
  }
  if (!status) status = create_map(c, done, rows, &map);
  if (status) {
    done(c, status);
    return;
  }
  leat_thread_pool_t* pool = c->services->pool;
  const int64_t lanes = LEAT_MIN(pool ? leat_thread_pool_size(pool) : 1, rows);
  lane_t* lane;
  for (int64_t i = 1; i < lanes && !status; ++i) {
    status = create_lane(map, &lane);
    if (!status) leat_thread_pool_schedule(pool, run_lane, lane);
  }
  if (!status) status = create_lane(map, &lane);
  if (status) {
    fail(map, status);
  } else {
    run_lane(lane);
  }
  finish(map, 1);
  release_map(map);
}

const leat_kernel_row_t leat_map_defun_kernels_cpu[] = {
    {.op = "MapDefun",
     .device_type = "CPU",
     .create = create,
     .state_bytes = sizeof(state_t),
     .compute_async = map_defun__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
