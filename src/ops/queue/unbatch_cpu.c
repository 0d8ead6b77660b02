// CPU kernels of Unbatch and UnbatchGrad, in which steps meet that were one batch. What a step
// brings and what it waits for are known by the ids of the steps:
//
//   Unbatch      one step brings the batch and its index, rows [id, begin, end]; each step, also
//                that one, waits for the rows under its own id
//   UnbatchGrad  each step brings its gradient under its id; the step that had the batch waits for
//                the gradients under all ids of its index
//
// The resource is a list of calls that wait and one of tensors that nobody has asked for yet. In
// Unbatch both end after a time, so that a step which died leaves nothing behind; the alarm of the
// resource watches that. A call whose step is cancelled leaves the list. Lists are short, since
// they hold what is under way and nothing else.
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "kernel/cancellation.h"
#include "kernel/tuple.h"
#include "ops/kernel_rows.h"
#include "ops/queue/alarm_cpu.h"
#include "ops/queue/batch_queue_cpu.h"

typedef struct meeting_s meeting_t;

// A call that waits for |key|, or a tensor that was brought under it (no context).
typedef struct entry_s {
  struct entry_s* next;
  int64_t key;
  int64_t deadline_ns;
  leat_tensor_t tensor;
  meeting_t* meeting;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_status_t status;
  uint64_t token;
  bool has_token;
  bool is_listed;
} entry_t;

struct meeting_s {
  leat_resource_t resource;
  leat_mutex_t mutex;
  // Under the mutex.
  leat_alarm_t alarm;
  entry_t* calls;
  entry_t* tensors;
};

static void free_entry(entry_t* entry) {
  leat_tensor_release(&entry->tensor);
  leat_allocator_free(leat_allocator_system(), entry);
}

static void meeting_destroy(leat_resource_t* resource) {
  meeting_t* meeting = (meeting_t*)resource;
  LEAT_DCHECK(!meeting->calls);  // each holds a reference
  for (entry_t *entry = meeting->tensors, *next; entry; entry = next) {
    next = entry->next;
    free_entry(entry);
  }
  leat_alarm_deinitialize(&meeting->alarm);
  leat_mutex_deinitialize(&meeting->mutex);
  leat_allocator_free(leat_allocator_system(), meeting);
}

static const leat_resource_kind_t kUnbatchKind = {.name = "UnbatchResource",
                                                  .destroy = meeting_destroy};
static const leat_resource_kind_t kUnbatchGradKind = {.name = "UnbatchGradResource",
                                                      .destroy = meeting_destroy};

static entry_t** find_entry(entry_t** list, int64_t key) {
  while (*list && (*list)->key != key) list = &(*list)->next;
  return list;
}

static entry_t* unlink_entry(entry_t** place) {
  entry_t* entry = *place;
  *place = entry->next;
  entry->next = NULL;
  entry->is_listed = false;
  return entry;
}

static void push_entry(entry_t** list, entry_t* entry) {
  entry->next = *list;
  entry->is_listed = true;
  *list = entry;
}

// Ends the kernels of a list of calls, with the lock free.
static void end_calls(entry_t* call) {
  for (entry_t* next; call; call = next) {
    next = call->next;
    leat_kernel_context_t* c = call->context;
    meeting_t* meeting = call->meeting;
    if (call->has_token) leat_cancellation_deregister(c->services->cancellation, call->token);
    call->done(c, call->status);
    free_entry(call);
    leat_resource_release(&meeting->resource);
  }
}

// A leat_alarm_t.ring: ends calls and drops tensors whose time is over.
static int64_t ring(leat_resource_t* owner) {
  meeting_t* meeting = (meeting_t*)owner;
  const int64_t now_ns = leat_clock_now_ns();
  int64_t next_ns = LEAT_DEADLINE_NEVER;
  entry_t *late = NULL, *dropped = NULL;
  entry_t** const lists[] = {&meeting->calls, &meeting->tensors};
  entry_t** const targets[] = {&late, &dropped};
  for (int i = 0; i < 2; ++i) {
    for (entry_t** place = lists[i]; *place;) {
      if ((*place)->deadline_ns <= now_ns) {
        push_entry(targets[i], unlink_entry(place));
      } else {
        next_ns = LEAT_MIN(next_ns, (*place)->deadline_ns);
        place = &(*place)->next;
      }
    }
  }
  if (!late && !dropped) return next_ns;
  for (entry_t* call = late; call; call = call->next) {
    call->is_listed = false;
    call->status = leat_kernel_error(call->context, LEAT_DEADLINE_EXCEEDED,
                                     "Batched data did not arrive within timeout window.");
  }
  leat_mutex_unlock(&meeting->mutex);
  end_calls(late);
  for (entry_t* next; dropped; dropped = next) {
    next = dropped->next;
    free_entry(dropped);
  }
  leat_mutex_lock(&meeting->mutex);
  return now_ns;  // the lists may have changed meanwhile
}

static leat_status_t make_meeting(void* data, leat_resource_t** out_resource) {
  meeting_t* meeting;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &meeting));
  meeting->resource.kind = data;
  meeting->resource.references = 1;
  leat_mutex_initialize(&meeting->mutex);
  leat_alarm_initialize(&meeting->resource, &meeting->mutex, ring, &meeting->alarm);
  *out_resource = &meeting->resource;
  return leat_ok_status();
}

// ---- Calls --------------------------------------------------------------------------------------

typedef struct unbatch_node_s {
  leat_arena_t arena;
  leat_string_view_t container, name;
  int64_t timeout_us;  // of Unbatch
} unbatch_node_t;

static leat_status_t grad_create(leat_kernel_creation_t* c, void* state) {
  unbatch_node_t* node = state;
  leat_string_view_t container, name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "container", &container));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "shared_name", &name));
  if (name.size == 0) name = c->kernel->node_name;
  leat_arena_initialize(c->allocator, 256, &node->arena);
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&node->arena, container, &node->container));
  return leat_arena_copy_string(&node->arena, name, &node->name);
}

static leat_status_t unbatch_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(grad_create(c, state));
  return leat_kernel_attr_int32(c, "timeout_micros", &((unbatch_node_t*)state)->timeout_us);
}

static void node_destroy(void* state) {
  unbatch_node_t* node = state;
  if (node->arena.allocator) leat_arena_deinitialize(&node->arena);
}

static void cancel_call(void* data) {
  entry_t* call = data;
  meeting_t* meeting = call->meeting;
  leat_mutex_lock(&meeting->mutex);
  const bool waits = call->is_listed;
  if (waits) {
    entry_t** place = &meeting->calls;
    while (*place != call) place = &(*place)->next;
    unlink_entry(place);
    call->status = leat_kernel_error(call->context, LEAT_CANCELLED, "the step was cancelled");
    leat_alarm_look(&meeting->alarm);
  }
  leat_mutex_unlock(&meeting->mutex);
  if (waits) end_calls(call);
}

// The call of kernel |c|, known as |key|, which holds a reference to the meeting of its node.
static leat_status_t make_call(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                               const leat_resource_kind_t* kind, int64_t key,
                               entry_t** out_call) {
  const unbatch_node_t* node = leat_kernel_state(c);
  leat_resource_t* meeting;
  LEAT_RETURN_IF_ERROR(leat_resource_manager_find_or_make(
      c->services->resources, node->container, node->name, kind, make_meeting, (void*)kind,
      &meeting));
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, out_call);
  if (status) {
    leat_resource_release(meeting);
    return status;
  }
  **out_call = (entry_t){.key = key,
                         .deadline_ns = LEAT_DEADLINE_NEVER,
                         .meeting = (meeting_t*)meeting,
                         .context = c,
                         .done = done};
  return leat_ok_status();
}

// Lets |call| wait, with the lock held.
static leat_status_t add_call(entry_t* call) {
  leat_cancellation_t* cancellation = call->context->services->cancellation;
  if (cancellation) {
    call->has_token = leat_cancellation_register(cancellation, cancel_call, call, &call->token);
    if (!call->has_token) {
      return leat_kernel_error(call->context, LEAT_CANCELLED, "the step was cancelled");
    }
  }
  push_entry(&call->meeting->calls, call);
  return leat_ok_status();
}

static leat_status_t add_tensor(meeting_t* meeting, int64_t key, leat_tensor_t* tensor,
                                int64_t deadline_ns) {
  entry_t* entry;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &entry));
  *entry = (entry_t){.key = key, .deadline_ns = deadline_ns, .tensor = leat_tensor_move(tensor)};
  push_entry(&meeting->tensors, entry);
  return leat_ok_status();
}

// ---- Unbatch ------------------------------------------------------------------------------------

static leat_status_t check_index(const leat_kernel_context_t* c) {
  const leat_tensor_t* data = leat_kernel_input(c, 0);
  const leat_tensor_t* index = leat_kernel_input(c, 1);
  const int64_t rows = leat_shape_dim(&index->shape, 0), columns = leat_shape_dim(&index->shape, 1);
  if (rows > leat_shape_dim(&data->shape, 0)) {
    return leat_kernel_invalid(c, "Wrong shape for index tensor. Expected 0th dimension size to be "
                               "no greater than %lld; Got: %lld.",
                               (long long)leat_shape_dim(&data->shape, 0), (long long)rows);
  }
  if (columns == 3) return leat_ok_status();
  return leat_kernel_invalid(c, "Wrong shape for index tensor. Expected 1st dimension size to be 3 "
                             "; Got: %lld.", (long long)columns);
}

// Takes the batch apart. As in TensorFlow the rows of the steps follow one another, and of an
// index's row only the difference of its bounds counts.
static leat_status_t split_rows(const leat_kernel_context_t* c, int64_t count,
                                leat_tensor_t* out_pieces) {
  const leat_tensor_t* data = leat_kernel_input(c, 0);
  const int64_t* index = leat_kernel_input(c, 1)->data;
  const int64_t rows = leat_shape_dim(&data->shape, 0);
  const int64_t items = data->shape.element_count / LEAT_MAX(rows, 1);
  int64_t row = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = index[3 * i + 1], end = index[3 * i + 2];
    if (begin < 0 || end < begin || end - begin > rows - row) {
      return leat_kernel_invalid(c, "batch_index[%lld] is [%lld, %lld, %lld]: its size must be in "
                                 "[0, %lld], since the sum of split sizes must not exceed "
                                 "dim0-size of input tensor",
                                 (long long)i, (long long)index[3 * i], (long long)begin,
                                 (long long)end, (long long)(rows - row));
    }
    LEAT_RETURN_IF_ERROR(leat_batch_rows_like(data, end - begin, &out_pieces[i]));
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        data->dtype,
        (const char*)data->data + (size_t)(row * items) * leat_dtype_size(data->dtype),
        out_pieces[i].data, (end - begin) * items));
    row += end - begin;
  }
  return leat_ok_status();
}

// Gives |pieces| to the calls that wait for them, which go to |*inout_ended|, and keeps the rest.
static leat_status_t bring_pieces(entry_t* call, leat_tensor_t* pieces, int64_t count,
                                  entry_t** inout_ended) {
  meeting_t* meeting = call->meeting;
  const int64_t* index = leat_kernel_input(call->context, 1)->data;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t key = index[3 * i];
    entry_t** place = find_entry(&meeting->calls, key);
    if (*place) {
      entry_t* other = unlink_entry(place);
      leat_kernel_set_output(other->context, 0, leat_tensor_move(&pieces[i]));
      other->next = *inout_ended;
      *inout_ended = other;
    } else if (*find_entry(&meeting->tensors, key)) {
      return leat_kernel_error(call->context, LEAT_ALREADY_EXISTS,
                               "Multiple tensors returned for same batch key.");
    } else {
      LEAT_RETURN_IF_ERROR(add_tensor(meeting, key, &pieces[i], call->deadline_ns));
    }
  }
  return leat_ok_status();
}

// Takes what lies there under the key of |call|, or lets it wait; with the lock held.
static leat_status_t meet(entry_t* call, leat_tensor_t* pieces, int64_t count,
                          entry_t** inout_ended) {
  meeting_t* meeting = call->meeting;
  entry_t** place = find_entry(&meeting->tensors, call->key);
  if (*place) {
    entry_t* found = unlink_entry(place);
    leat_kernel_set_output(call->context, 0, leat_tensor_move(&found->tensor));
    free_entry(found);
    call->next = *inout_ended;
    *inout_ended = call;
    return leat_ok_status();
  }
  if (*find_entry(&meeting->calls, call->key)) {
    return leat_kernel_error(call->context, LEAT_ALREADY_EXISTS,
                             "Multiple session runs with the same batch key.");
  }
  LEAT_RETURN_IF_ERROR(add_call(call));
  LEAT_RETURN_IF_ERROR(bring_pieces(call, pieces, count, inout_ended));
  if (!meeting->calls && !meeting->tensors) return leat_ok_status();
  return leat_alarm_set(&meeting->alarm, call->deadline_ns);
}

static bool is_in(const entry_t* list, const entry_t* entry) {
  while (list && list != entry) list = list->next;
  return list;
}

static void unbatch__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  const unbatch_node_t* node = leat_kernel_state(c);
  const int64_t count = leat_shape_dim(&leat_kernel_input(c, 1)->shape, 0);
  leat_tensor_t* pieces = NULL;
  entry_t *call = NULL, *ended = NULL;
  leat_status_t status = count ? check_index(c) : leat_ok_status();
  if (!status && count) status = LEAT_ALLOCATE(leat_allocator_system(), (size_t)count, &pieces);
  if (!status && count) status = split_rows(c, count, pieces);
  if (!status) {
    status = make_call(c, done, &kUnbatchKind, *leat_tensor_data(leat_kernel_input(c, 2), int64_t),
                       &call);
  }
  if (call) {
    call->deadline_ns = leat_alarm_deadline(node->timeout_us);
    meeting_t* meeting = call->meeting;
    leat_mutex_lock(&meeting->mutex);
    status = meet(call, pieces, count, &ended);
    if (status && is_in(ended, call)) {
      leat_status_free(status);  // it got its rows, whatever befell those of the others
    } else if (status) {
      if (call->is_listed) unlink_entry(find_entry(&meeting->calls, call->key));
      call->status = status;
      call->next = ended;
      ended = call;
    }
    leat_mutex_unlock(&meeting->mutex);
    end_calls(ended);
  } else {
    done(c, status);
  }
  if (pieces) leat_tensors_release(pieces, count);
  leat_allocator_free(leat_allocator_system(), pieces);
}

// ---- UnbatchGrad --------------------------------------------------------------------------------

// Whether the gradients of all steps in the index of |call| are there.
static bool is_complete(const entry_t* call) {
  const leat_tensor_t* index = leat_kernel_input(call->context, 1);
  for (int64_t i = 0; i < leat_shape_dim(&index->shape, 0); ++i) {
    const int64_t key = leat_tensor_data(index, int64_t)[3 * i];
    if (!*find_entry(&call->meeting->tensors, key)) return false;
  }
  return true;
}

// Joins the gradients of the steps, which |call| then owns as pieces under its keys.
static leat_status_t join_gradients(entry_t* call, leat_tensor_t* out_batch) {
  const leat_tensor_t* index = leat_kernel_input(call->context, 1);
  const int64_t* keys = index->data;
  const int64_t count = leat_shape_dim(&index->shape, 0);
  entry_t** tensors = &call->meeting->tensors;
  const leat_tensor_t* first = &(*find_entry(tensors, keys[0]))->tensor;
  const int64_t items = first->shape.element_count / LEAT_MAX(leat_shape_dim(&first->shape, 0), 1);
  int64_t rows = 0;
  for (int64_t i = 0; i < count; ++i) {
    const leat_tensor_t* piece = &(*find_entry(tensors, keys[3 * i]))->tensor;
    bool fits = piece->dtype == first->dtype && piece->shape.rank == first->shape.rank;
    for (int d = 1; fits && d < first->shape.rank; ++d) {
      fits = leat_shape_dim(&piece->shape, d) == leat_shape_dim(&first->shape, d);
    }
    if (!fits) {
      return leat_kernel_invalid(call->context, "grad has shape %s, must have the rows of the one "
                                 "in the same batch with shape %s",
                                 LEAT_SHAPE_TEXT(&piece->shape), LEAT_SHAPE_TEXT(&first->shape));
    }
    rows += leat_shape_dim(&piece->shape, 0);
  }
  LEAT_RETURN_IF_ERROR(leat_batch_rows_like(first, rows, out_batch));
  char* target = out_batch->data;
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < count && !status; ++i) {
    const leat_tensor_t* piece = &(*find_entry(tensors, keys[3 * i]))->tensor;
    const int64_t piece_items = leat_shape_dim(&piece->shape, 0) * items;
    status = leat_tensor_copy_elements(piece->dtype, piece->data, target, piece_items);
    target += (size_t)piece_items * leat_dtype_size(piece->dtype);
  }
  if (status) leat_tensor_release(out_batch);
  return status;
}

// Ends |call|, which is in no list, by the batch of gradients, whose pieces go.
static void complete_call(entry_t* call, entry_t** inout_ended) {
  const leat_tensor_t* index = leat_kernel_input(call->context, 1);
  leat_tensor_t batch = {0};
  call->status = join_gradients(call, &batch);
  for (int64_t i = 0; i < leat_shape_dim(&index->shape, 0); ++i) {
    entry_t** place =
        find_entry(&call->meeting->tensors, leat_tensor_data(index, int64_t)[3 * i]);
    if (*place) free_entry(unlink_entry(place));
  }
  if (!call->status) leat_kernel_set_output(call->context, 0, batch);
  call->next = *inout_ended;
  *inout_ended = call;
}

// The batch of a step that had none: no rows like its gradient's.
static leat_status_t set_no_rows(leat_kernel_context_t* c) {
  leat_tensor_t empty;
  LEAT_RETURN_IF_ERROR(leat_batch_rows_like(leat_kernel_input(c, 2), 0, &empty));
  leat_kernel_set_output(c, 0, empty);
  return leat_ok_status();
}

// Keeps the gradient of |call|, and lets the call wait if it is the one with the batch; with the
// lock held.
static leat_status_t bring_gradient(entry_t* call, bool has_batch, entry_t** inout_ended) {
  meeting_t* meeting = call->meeting;
  leat_tensor_t gradient;
  if (*find_entry(&meeting->tensors, call->key)) {
    return leat_kernel_invalid(call->context, "Two runs with the same batch key.");
  }
  if (has_batch && *find_entry(&meeting->calls, call->key)) {
    return leat_kernel_invalid(call->context, "Batch key with valid batch used twice.");
  }
  if (!has_batch) LEAT_RETURN_IF_ERROR(set_no_rows(call->context));
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(call->context, 2, &gradient));
  leat_status_t status = add_tensor(meeting, call->key, &gradient, LEAT_DEADLINE_NEVER);
  leat_tensor_release(&gradient);
  if (!status && has_batch) status = add_call(call);
  if (status) return status;
  if (!has_batch) {
    call->next = *inout_ended;
    *inout_ended = call;
  }
  for (entry_t** place = &meeting->calls; *place;) {
    if (is_complete(*place)) {
      complete_call(unlink_entry(place), inout_ended);
    } else {
      place = &(*place)->next;
    }
  }
  return leat_ok_status();
}

static leat_status_t check_grad(const leat_kernel_context_t* c, bool has_batch) {
  const leat_shape_t* index = &leat_kernel_input(c, 1)->shape;
  if (!has_batch) return leat_ok_status();
  if (index->element_count == 0) {
    return leat_kernel_invalid(c, "batch_index is empty while the tensor isn't.");
  }
  if (index->rank == 2 && leat_shape_dim(index, 1) == 3) return leat_ok_status();
  return leat_kernel_invalid(c, "batch_index has shape %s, must be [count, 3]",
                             LEAT_SHAPE_TEXT(index));
}

static void unbatch_grad__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  const bool has_batch = leat_kernel_input(c, 0)->shape.element_count > 0;
  entry_t *call = NULL, *ended = NULL;
  leat_status_t status = check_grad(c, has_batch);
  if (!status) {
    status = make_call(c, done, &kUnbatchGradKind,
                       *leat_tensor_data(leat_kernel_input(c, 3), int64_t), &call);
  }
  if (!call) {
    done(c, status);
    return;
  }
  meeting_t* meeting = call->meeting;
  leat_mutex_lock(&meeting->mutex);
  status = bring_gradient(call, has_batch, &ended);
  if (status) {
    call->status = status;
    call->next = ended;
    ended = call;
  }
  leat_mutex_unlock(&meeting->mutex);
  end_calls(ended);
}

#define KERNEL(name, create_fn, compute_fn)                                              \
  {.op = name, .device_type = "CPU", .create = create_fn, .destroy = node_destroy,       \
   .state_bytes = sizeof(unbatch_node_t), .compute_async = compute_fn}

const leat_kernel_row_t leat_unbatch_kernels_cpu[] = {
    KERNEL("Unbatch", unbatch_create, unbatch__cpu),
    KERNEL("UnbatchGrad", grad_create, unbatch_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
