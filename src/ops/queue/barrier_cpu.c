// CPU kernels of barriers. A barrier collects the components of tuples by key; a tuple whose
// components have all been inserted can be taken. Incomplete tuples stand in a map by key
// (tuple_map_cpu.h), under the barrier's mutex. Complete ones go to a priority queue, where the
// takers wait:
//
//   BarrierInsertMany ─▶ incomplete: key -> components
//                              │ the last component came
//                              ▼
//                        ready: (number of the insertion, key, components...) ─▶ BarrierTakeMany
//
// The priority is the number of the call that first inserted the key, so that tuples come out in
// the order in which their keys came, not in that of their completion. Using the queue of the queue
// ops for this saves a second implementation of waiting, batching and cancellation. The queue is
// unbounded, so an insertion never waits. A closed barrier takes no new keys, but still accepts
// components of keys that it knows; its queue is closed once no incomplete tuple is left, which
// ends takers that wait for more than will come.
//
// The calls of the queue, except for its size, run with the mutex free, because the steps that a
// call lets go on may use this barrier. A complete tuple is therefore in neither place for a while.
// The barrier counts such tuples as departing, and whoever ends the last departure of a closed
// barrier closes the queue: if the queue were closed earlier it would refuse the tuple, and the
// tuple would be lost. Two insertions at once may reach the queue in either order. This is no
// fault, since neither has ended, and the queue sorts by number whatever the order is.
#include <string.h>

#include "base/checked.h"
#include "kernel/handle.h"
#include "kernel/tuple.h"
#include "kernel/wait_queue.h"
#include "ops/kernel_rows.h"
#include "ops/queue/tuple_map_cpu.h"
#include "ops/queue/tuple_queue_cpu.h"

// The first two components of the queue are the insertion's number and the key.
#define OWN_COMPONENTS 2

typedef struct barrier_s {
  leat_resource_t resource;
  leat_queue_t* ready;
  leat_mutex_t mutex;
  // Under the mutex.
  leat_tuple_map_t incomplete;
  int64_t insertion;  // number of the next insertion that brings a new key
  int64_t departing;  // complete tuples that the queue does not have yet
  bool closed;
  bool queue_closed;  // somebody closed the queue, or is about to
  bool cancelled;  // closed with cancel_pending_enqueues: incomplete tuples were dropped
} barrier_t;

static void barrier_destroy(leat_resource_t* resource) {
  barrier_t* barrier = (barrier_t*)resource;
  leat_tuple_map_deinitialize(&barrier->incomplete);
  leat_resource_release(&barrier->ready->resource);
  leat_mutex_deinitialize(&barrier->mutex);
  leat_allocator_free(leat_allocator_system(), barrier);
}

static const leat_resource_kind_t kBarrierKind = {.name = "Barrier", .destroy = barrier_destroy};

static int width_of(const barrier_t* barrier) {
  return barrier->ready->component_count - OWN_COMPONENTS;
}

// Decides, with the mutex held, whether the caller must close the queue now. True once at most.
static bool must_close_queue(barrier_t* barrier) {
  LEAT_DCHECK(barrier->departing >= 0);
  if (!barrier->closed || barrier->queue_closed) return false;
  if (barrier->incomplete.count || barrier->departing) return false;
  barrier->queue_closed = true;
  return true;
}

// ---- The handle ---------------------------------------------------------------------------------

typedef struct barrier_handle_s {
  leat_handle_t handle;
  leat_arena_t arena;
  leat_queue_options_t options;  // of the queue
} barrier_handle_t;

// Fills in |h->options| for the queue of complete tuples: the components of the barrier behind the
// two that it adds.
static leat_status_t describe_queue(barrier_handle_t* h, const leat_attr_value_t* types,
                                    const leat_attr_value_t* shapes) {
  int count = (int)types->count + OWN_COMPONENTS;
  int32_t* all_types;
  leat_partial_shape_t* all_shapes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&h->arena, (size_t)count, &all_types));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&h->arena, (size_t)count, &all_shapes));
  all_types[0] = LEAT_DTYPE_INT64;
  all_types[1] = LEAT_DTYPE_STRING;
  all_shapes[0] = all_shapes[1] = leat_partial_shape_scalar();
  for (uint32_t i = 0; i < types->count; ++i) {
    all_types[OWN_COMPONENTS + i] = types->types[i];
    // As in TensorFlow, an unknown rank counts as a scalar.
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create(LEAT_MAX(shapes->shapes[i].rank, 0),
                                                   shapes->shapes[i].dims, &h->arena,
                                                   &all_shapes[OWN_COMPONENTS + i]));
  }
  h->options = (leat_queue_options_t){.order = LEAT_QUEUE_PRIORITY,
                                      .types = all_types,
                                      .count = count,
                                      .shapes = all_shapes,
                                      .capacity = INT64_MAX};
  return leat_ok_status();
}

// Reads what the barrier's queue will hold, and chooses the barrier's name.
static leat_status_t barrier_create(leat_kernel_creation_t* c, void* state) {
  barrier_handle_t* h = state;
  const leat_attr_value_t *types, *shapes;
  int64_t capacity;
  leat_arena_initialize(c->allocator, 1024, &h->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "component_types", &types));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "shapes", &shapes));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "capacity", &capacity));
  if (shapes->count != types->count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "All of the component shapes must be specified");
  }
  if (capacity != -1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Barrier creation failed: capacity is %lld, must be -1",
                            (long long)capacity);
  }
  LEAT_RETURN_IF_ERROR(describe_queue(h, types, shapes));
  LEAT_RETURN_IF_ERROR(leat_handle_initialize(c, &kBarrierKind, false, &h->handle));
  h->options.name = h->handle.name;
  return leat_ok_status();
}

static void barrier_handle_destroy(void* state) {
  barrier_handle_t* h = state;
  leat_handle_deinitialize(&h->handle);
  if (h->arena.allocator) leat_arena_deinitialize(&h->arena);
}

// Makes the barrier for the first run of any node that names it.
static leat_status_t make_barrier(void* data, leat_resource_t** out_resource) {
  const barrier_handle_t* h = data;
  barrier_t* barrier;
  leat_queue_t* ready;
  LEAT_RETURN_IF_ERROR(leat_tuple_queue_create(&h->options, &ready));
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &barrier);
  if (status) {
    leat_resource_release(&ready->resource);
    return status;
  }
  barrier->resource.kind = &kBarrierKind;
  barrier->resource.references = 1;
  barrier->ready = ready;
  barrier->insertion = INT64_MIN;
  leat_mutex_initialize(&barrier->mutex);
  leat_tuple_map_initialize(width_of(barrier), false, &barrier->incomplete);
  *out_resource = &barrier->resource;
  return leat_ok_status();
}

static leat_status_t barrier__cpu(leat_kernel_context_t* c) {
  barrier_handle_t* h = leat_kernel_state(c);
  leat_resource_t* barrier;
  LEAT_RETURN_IF_ERROR(
      leat_handle_find_or_make(c, &h->handle, &kBarrierKind, make_barrier, h, &barrier));
  leat_status_t status = leat_tuple_queue_check(((barrier_t*)barrier)->ready, &h->options);
  leat_resource_release(barrier);
  if (!status) leat_handle_set_output(c, &h->handle);
  return status;
}

static leat_status_t find_barrier(leat_kernel_context_t* c, barrier_t** out_barrier) {
  return leat_handle_find(c, 0, &kBarrierKind, (leat_resource_t**)out_barrier);
}

// ---- Inserting ----------------------------------------------------------------------------------

// The state of one BarrierInsertMany: |values| [n, ...] are the components number |component| of
// the tuples of |keys| [n].
typedef struct insertion_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  barrier_t* barrier;
  int component;
  const leat_tensor_t* keys;
  const leat_tensor_t* values;
  bool has_new_keys;
  leat_tensor_t* ready;  // complete tuples, [ready_count * components of the queue]
  size_t ready_count, ready_room;
} insertion_t;

// Finds the incomplete tuple of |key|, or adds it, unless the barrier is closed.
static leat_status_t find_entry(insertion_t* in, leat_string_view_t key,
                                leat_tuple_entry_t** out_entry) {
  barrier_t* barrier = in->barrier;
  *out_entry = leat_tuple_map_find(&barrier->incomplete, key);
  if (*out_entry) return leat_ok_status();
  if (barrier->closed) {
    return leat_kernel_error(in->context, LEAT_CANCELLED,
                             "Barrier is closed, but attempted to insert a brand new key: %.*s",
                             LEAT_SV_ARG(key));
  }
  in->has_new_keys = true;
  return leat_tuple_map_add(&barrier->incomplete, key, barrier->insertion, out_entry);
}

// The tuple of |entry| is complete: it goes to those that are ready.
static leat_status_t make_ready(insertion_t* in, leat_tuple_entry_t* entry) {
  size_t count = (size_t)in->barrier->ready->component_count;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(leat_allocator_system(), in->ready_count + 1,
                                                 count * sizeof(leat_tensor_t),
                                                 (void**)&in->ready, &in->ready_room));
  leat_tensor_t* row = &in->ready[in->ready_count * count];
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT64, &entry->number, &row[0]));
  ++in->ready_count;
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(entry->key, &row[1]));
  for (int i = 0; i < width_of(in->barrier); ++i) {
    row[OWN_COMPONENTS + i] = leat_tensor_move(&entry->tuple[i]);
  }
  leat_tuple_map_remove(&in->barrier->incomplete, entry);
  return leat_ok_status();
}

// Inserts row |index| of the values, with the mutex held. A tuple that is then complete moves to
// |in->ready|.
static leat_status_t insert_one(insertion_t* in, int64_t index) {
  leat_string_view_t key = leat_tensor_string_at(in->keys, index);
  leat_tuple_entry_t* entry;
  LEAT_RETURN_IF_ERROR(find_entry(in, key, &entry));
  if (entry->tuple[in->component].dtype) {
    return leat_kernel_invalid(in->context, "Key %.*s already has a value for component %d",
                               LEAT_SV_ARG(key), in->component);
  }
  LEAT_RETURN_IF_ERROR(leat_tuple_row(in->context->services->memory, in->values, index,
                                      &entry->tuple[in->component]));
  for (int i = 0; i < width_of(in->barrier); ++i) {
    if (!entry->tuple[i].dtype) return leat_ok_status();
  }
  return make_ready(in, entry);
}

// Inserts all rows, with the mutex held. All new keys of one call get the same number.
static leat_status_t insert_all(insertion_t* in) {
  barrier_t* barrier = in->barrier;
  int64_t count = in->keys->shape.element_count;
  if (barrier->closed && (barrier->cancelled || (count && barrier->incomplete.count == 0))) {
    return leat_kernel_error(in->context, LEAT_CANCELLED,
                             "Barrier is closed.  Pending enqueues cancelled: %d.  Number of new "
                             "insertions: %lld.  Number of incomplete keys: %lld.",
                             barrier->cancelled, (long long)count,
                             (long long)barrier->incomplete.count);
  }
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < count && !status; ++i) status = insert_one(in, i);
  if (in->has_new_keys) ++barrier->insertion;
  return status;
}

// Checks the values against the keys and the component's type. Their shape is left to the queue,
// which checks it once the tuple is complete.
static leat_status_t check_insertion(const insertion_t* in) {
  const barrier_t* barrier = in->barrier;
  const leat_shape_t* values = &in->values->shape;
  if (in->component < 0 || in->component >= width_of(barrier)) {
    return leat_kernel_invalid(in->context, "component_index is %d, must be in [0, %d)",
                               in->component, width_of(barrier));
  }
  int32_t type = barrier->ready->component_types[OWN_COMPONENTS + in->component];
  if (in->values->dtype != type) {
    return leat_kernel_invalid(in->context, "values have type %s, must be component %d's, %s",
                               leat_dtype_name(in->values->dtype), in->component,
                               leat_dtype_name(type));
  }
  int64_t count = in->keys->shape.element_count;
  if (values->rank < 1 || leat_shape_dim(values, 0) != count) {
    return leat_kernel_invalid(in->context, "values have shape %s, must have %lld rows, one a key",
                               LEAT_SHAPE_TEXT(values), (long long)count);
  }
  if (count && values->element_count == 0) {
    return leat_kernel_invalid(in->context, "Tensors with no elements are not supported: received "
                                            "shape %s",
                               LEAT_SHAPE_TEXT(values));
  }
  return leat_ok_status();
}

// Stacks the tuples that became ready into one batch per component, which enqueue_many then takes.
static leat_status_t make_batches(const insertion_t* in, leat_tuple_t* out_batches) {
  const leat_queue_t* ready = in->barrier->ready;
  int count = ready->component_count;
  LEAT_RETURN_IF_ERROR(leat_tuple_initialize(count, out_batches));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    const leat_tensor_t* first = &in->ready[i];
    for (size_t r = 1; r < in->ready_count && !status; ++r) {
      if (!leat_shape_equal(&first->shape, &first[r * (size_t)count].shape)) {
        status = leat_kernel_invalid(in->context, "Shape mismatch in tuple component %d", i);
      }
    }
    if (status) break;
    status = leat_tuple_batch(in->context->services->memory, first->dtype, &first->shape, first,
                              (int64_t)in->ready_count, count, &leat_tuple_items(out_batches)[i]);
  }
  if (status) leat_tuple_deinitialize(out_batches, count);
  return status;
}

typedef struct component_s {
  int64_t index;
} component_t;

static leat_status_t insert_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int(c, "component_index", &((component_t*)state)->index);
}

static void queue_was_closed(const leat_queue_call_t* call, leat_status_t status,
                             leat_tensor_t* components) {
  leat_status_free(status);  // only must_close_queue lets the queue be closed, so it is OK
}

// Ends the kernel: the tuples have departed, or are lost because they could not be batched or the
// queue had no memory. The queue of a closed barrier is closed in either case, because no other
// insertion will end the wait of those who wait for the lost ones.
static void end_insertion(insertion_t* in, leat_kernel_context_t* own, leat_status_t status) {
  barrier_t* barrier = in->barrier;
  leat_mutex_lock(&barrier->mutex);
  barrier->departing -= (int64_t)in->ready_count;
  bool closes_queue = must_close_queue(barrier);
  leat_mutex_unlock(&barrier->mutex);
  if (closes_queue) {
    leat_queue_call_t closing = {.context = own, .done = queue_was_closed};
    barrier->ready->vtable->close(barrier->ready, false, &closing);
  }
  in->done(in->context, status);  // |in->context| is invalid from here on
}

static void tuples_departed(const leat_queue_call_t* call, leat_status_t status,
                            leat_tensor_t* components) {
  end_insertion(call->data, call->context, status);
}

// Inserts one component for each key, and enqueues the tuples that have become complete. The kernel
// ends when they are in the queue.
static void insert_many__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  int64_t component = ((const component_t*)leat_kernel_state(c))->index;
  insertion_t in = {.context = c,
                    .done = done,
                    .component = component < INT32_MAX ? (int)component : INT32_MAX,
                    .keys = leat_kernel_input(c, 1),
                    .values = leat_kernel_input(c, 2)};
  leat_tuple_t batches;
  leat_status_t status = find_barrier(c, &in.barrier);
  if (status) {
    done(c, status);
    return;
  }
  barrier_t* barrier = in.barrier;
  status = check_insertion(&in);
  if (!status) {
    leat_mutex_lock(&barrier->mutex);
    status = insert_all(&in);
    barrier->departing += (int64_t)in.ready_count;
    leat_mutex_unlock(&barrier->mutex);
  }
  if (!status && in.ready_count) status = make_batches(&in, &batches);
  int count = barrier->ready->component_count;
  leat_tensors_release(in.ready, (int64_t)in.ready_count * count);
  leat_allocator_free(leat_allocator_system(), in.ready);
  // The calls of the queue have a context of their own. The kernel's becomes invalid while they
  // run, and its cancellation would drop tuples that no other insertion can bring again.
  leat_step_services_t services = {.memory = c->services->memory};
  leat_kernel_context_t own = {.kernel = c->kernel, .services = &services};
  if (!status && in.ready_count) {
    // The queue is unbounded, so the enqueue calls tuples_departed before it returns.
    leat_queue_call_t call = {.context = &own, .done = tuples_departed, .data = &in};
    barrier->ready->vtable->enqueue(barrier->ready, true, leat_tuple_items(&batches), &call);
    leat_tuple_deinitialize(&batches, count);
  } else {
    end_insertion(&in, &own, status);
  }
  leat_resource_release(&barrier->resource);
}

// ---- Taking -------------------------------------------------------------------------------------

typedef struct taking_s {
  bool allow_small_batch;
} taking_t;

static leat_status_t take_create(leat_kernel_creation_t* c, void* state) {
  int64_t timeout_ms;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "timeout_ms", &timeout_ms));
  if (timeout_ms != -1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Timeout not supported yet.");
  }
  return leat_kernel_attr_bool(c, "allow_small_batch", &((taking_t*)state)->allow_small_batch);
}

static leat_status_t check_taking(const leat_kernel_context_t* c, const barrier_t* barrier,
                                  int64_t* out_count) {
  const leat_tensor_t* n = leat_kernel_input(c, 1);
  if (n->shape.rank != 0) return leat_kernel_invalid(c, "num_elements must be a scalar.");
  *out_count = *leat_tensor_data(n, const int32_t);
  if (*out_count < 0) {
    return leat_kernel_invalid(c, "num_elements is %lld, must be >= 0", (long long)*out_count);
  }
  const leat_queue_t* ready = barrier->ready;
  bool fits = c->kernel->output_count == ready->component_count;
  for (int i = 0; fits && i < ready->component_count; ++i) {
    fits = c->kernel->output_types[i] == ready->component_types[i];
  }
  return fits ? leat_ok_status()
              : leat_kernel_invalid(c, "component_types differ, must be the barrier's");
}

// Reduces |*inout_count| to what a closed barrier can still give where small batches are allowed.
// Fails with OUT_OF_RANGE when a closed barrier will never have enough; an open barrier gives any
// number, sooner or later.
static leat_status_t plan_taking(const leat_kernel_context_t* c, barrier_t* barrier,
                                 bool allow_small_batch, int64_t* inout_count) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&barrier->mutex);
  if (barrier->closed) {
    int64_t available = barrier->ready->vtable->size(barrier->ready);
    if (allow_small_batch) {
      *inout_count = LEAT_MIN(*inout_count, available);
    } else {
      available += barrier->incomplete.count + barrier->departing;
    }
    if (available < LEAT_MAX(*inout_count, 1)) {
      status = leat_kernel_error(c, LEAT_OUT_OF_RANGE,
                                 "Barrier is closed and has insufficient elements (requested "
                                 "%lld, total size %lld)",
                                 (long long)*inout_count, (long long)available);
    }
  }
  leat_mutex_unlock(&barrier->mutex);
  return status;
}

static void take_many__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  bool allow_small_batch = ((const taking_t*)leat_kernel_state(c))->allow_small_batch;
  barrier_t* barrier = NULL;
  int64_t count = 0;
  leat_status_t status = find_barrier(c, &barrier);
  if (!status) status = check_taking(c, barrier, &count);
  if (!status) status = plan_taking(c, barrier, allow_small_batch, &count);
  if (status) {
    done(c, status);
  } else {
    leat_queue_call_t call = leat_queue_call_of_kernel(c, done);
    barrier->ready->vtable->dequeue_many(barrier->ready, count, allow_small_batch, &call);
  }
  leat_resource_release(barrier ? &barrier->resource : NULL);
}

// ---- The rest -----------------------------------------------------------------------------------

typedef struct closing_s {
  bool cancel_pending_enqueues;
} closing_t;

static leat_status_t close_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "cancel_pending_enqueues",
                               &((closing_t*)state)->cancel_pending_enqueues);
}

// Closes the barrier. Its queue is closed at once only where no tuple is incomplete; otherwise the
// insertion that completes the last one closes it.
static void close__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  bool cancel = ((const closing_t*)leat_kernel_state(c))->cancel_pending_enqueues;
  barrier_t* barrier;
  leat_status_t status = find_barrier(c, &barrier);
  if (status) {
    done(c, status);
    return;
  }
  bool closes_queue = false;
  leat_mutex_lock(&barrier->mutex);
  // A barrier may be closed twice only where the second call cancels and the first did not.
  if (barrier->closed && (barrier->cancelled || !cancel)) {
    status = leat_kernel_error(c, LEAT_CANCELLED, "Barrier is already closed.");
  } else {
    barrier->closed = true;
    barrier->cancelled = cancel;
    if (cancel) leat_tuple_map_clear(&barrier->incomplete);
    closes_queue = must_close_queue(barrier);
  }
  leat_mutex_unlock(&barrier->mutex);
  leat_queue_t* ready = barrier->ready;
  if (closes_queue) {
    leat_queue_call_t call = leat_queue_call_of_kernel(c, done);
    ready->vtable->close(ready, cancel, &call);
  } else {
    done(c, status);
  }
  leat_resource_release(&barrier->resource);
}

static leat_status_t ready_size__cpu(leat_kernel_context_t* c) {
  barrier_t* barrier;
  LEAT_RETURN_IF_ERROR(find_barrier(c, &barrier));
  int64_t size = barrier->ready->vtable->size(barrier->ready);
  leat_resource_release(&barrier->resource);
  return leat_kernel_set_output_int32(c, 0, size);
}

static leat_status_t incomplete_size__cpu(leat_kernel_context_t* c) {
  barrier_t* barrier;
  LEAT_RETURN_IF_ERROR(find_barrier(c, &barrier));
  leat_mutex_lock(&barrier->mutex);
  int64_t size = barrier->incomplete.count + barrier->departing;
  leat_mutex_unlock(&barrier->mutex);
  leat_resource_release(&barrier->resource);
  return leat_kernel_set_output_int32(c, 0, size);
}

const leat_kernel_row_t leat_barrier_kernels_cpu[] = {
    {.op = "Barrier", .device_type = "CPU", .create = barrier_create,
     .destroy = barrier_handle_destroy, .state_bytes = sizeof(barrier_handle_t),
     .compute = barrier__cpu},
    {.op = "BarrierInsertMany", .device_type = "CPU",
     .constraints = "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "
                    "int64, int8, resource, string, uint16, uint32, uint64, uint8, variant",
     .create = insert_create, .state_bytes = sizeof(component_t),
     .compute_async = insert_many__cpu},
    {.op = "BarrierTakeMany", .device_type = "CPU", .create = take_create,
     .state_bytes = sizeof(taking_t), .compute_async = take_many__cpu},
    {.op = "BarrierClose", .device_type = "CPU", .create = close_create,
     .state_bytes = sizeof(closing_t), .compute_async = close__cpu},
    {.op = "BarrierReadySize", .device_type = "CPU", .compute = ready_size__cpu},
    {.op = "BarrierIncompleteSize", .device_type = "CPU", .compute = incomplete_size__cpu},
    LEAT_KERNEL_ROWS_END,
};
