// Kernels of MultiDeviceIterator. The resource is an iterator (ops/dataset/iterator_cpu.h) with a
// line of elements for each shard, that is, for each device:
//
//     dataset ──▶ e0 e1 e2 e3 e4 ──▶ shard 0: e0 e2 e4
//                                    shard 1: e1 e3
//
// A step that asks for an element of a shard takes a turn at the iterator and pulls elements until
// one has come for its shard; the others wait in their lines. The elements of the dataset are made
// ahead, up to max_buffer_size of them for each shard (prefetch_dataset_cpu.c). The failure of an
// element goes to the shard that would have got it.
#include "base/checked.h"
#include "ops/dataset/iterator_cpu.h"
#include "ops/kernel_rows.h"

typedef struct dealt_s {
  struct dealt_s* next;
  leat_status_t failure;
  leat_tensor_t components[];
} dealt_t;

typedef struct shard_s {
  dealt_t *first, *last;
} shard_t;

typedef struct multi_s {
  leat_iterator_resource_t base;
  // Used by the pull that has the turn.
  int64_t incarnation;  // 0: never initialized
  int shard_count;
  int next_shard;  // which gets the next element
  shard_t shards[];
} multi_t;

// The state of the kernels that make one. |spec| comes first, as in leat_element_spec_state_t.
typedef struct multi_node_s {
  leat_element_spec_t* spec;
  leat_handle_t handle;
  int shard_count;
} multi_node_t;

static void free_dealt(const multi_t* multi, dealt_t* dealt) {
  if (!dealt) return;
  leat_status_free(dealt->failure);
  leat_element_release(dealt->components, multi->base.spec->count);
  leat_allocator_free(leat_allocator_system(), dealt);
}

static dealt_t* take_dealt(shard_t* shard) {
  dealt_t* dealt = shard->first;
  if (dealt) shard->first = dealt->next;
  if (!shard->first) shard->last = NULL;
  return dealt;
}

static void clear_shards(multi_t* multi) {
  for (int i = 0; i < multi->shard_count; ++i) {
    for (dealt_t* dealt; (dealt = take_dealt(&multi->shards[i]));) free_dealt(multi, dealt);
  }
  multi->next_shard = 0;
}

static void destroy(leat_resource_t* self) {
  multi_t* multi = (multi_t*)self;
  clear_shards(multi);
  leat_iterator_resource_deinitialize(&multi->base);
  leat_allocator_free(leat_allocator_system(), multi);
}

static const leat_resource_kind_t kMultiDeviceIterator = {.name = "MultiDeviceIterator",
                                                          .destroy = destroy};

// ---- Creation -----------------------------------------------------------------------------------

static leat_status_t multi_make(void* data, leat_resource_t** out_resource) {
  const multi_node_t* node = data;
  multi_t* multi;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof *multi + (size_t)node->shard_count * sizeof(shard_t),
      (void**)&multi));
  leat_iterator_resource_initialize(&kMultiDeviceIterator, node->spec, &multi->base);
  multi->shard_count = node->shard_count;
  *out_resource = &multi->base.resource;
  return leat_ok_status();
}

static leat_status_t anonymous_create(leat_kernel_creation_t* c, void* state) {
  multi_node_t* node = state;
  const leat_attr_value_t* devices;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "devices", &devices));
  node->shard_count = (int)devices->count;
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

static leat_status_t multi_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(anonymous_create(c, state));
  return leat_handle_initialize(c, &kMultiDeviceIterator, false, &((multi_node_t*)state)->handle);
}

static void multi_destroy(void* state) {
  leat_element_spec_release(((multi_node_t*)state)->spec);
  leat_handle_deinitialize(&((multi_node_t*)state)->handle);
}

// One that another node made must have the same types and compatible shapes.
static leat_status_t multi__cpu(leat_kernel_context_t* c) {
  multi_node_t* node = leat_kernel_state(c);
  leat_resource_t* found;
  LEAT_RETURN_IF_ERROR(leat_handle_find_or_make(c, &node->handle, &kMultiDeviceIterator, multi_make,
                                                node, &found));
  leat_status_t status = leat_element_spec_check(node->spec, ((const multi_t*)found)->base.spec);
  leat_resource_release(found);
  if (status) return status;
  leat_handle_set_output(c, &node->handle);
  return leat_ok_status();
}

static leat_status_t anonymous__cpu(leat_kernel_context_t* c) {
  leat_resource_t* resource;
  LEAT_RETURN_IF_ERROR(multi_make(leat_kernel_state(c), &resource));
  LEAT_RETURN_IF_ERROR(leat_handle_own_resource(c, 0, resource));
  return c->kernel->output_count > 1 ? leat_dataset_set_deleter(c, 1) : leat_ok_status();
}

// ---- Initialization -----------------------------------------------------------------------------

static leat_status_t init_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  multi_t* multi = (multi_t*)((leat_turn_t*)pull)->resource;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_dataset_t *dataset, *ahead;
  int64_t buffer;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(pull->context, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(pull->context, 2, "max_buffer_size", &buffer));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(pull->context, 0, &scalar, &output));
  buffer = LEAT_MAX(buffer, 1);
  if (!leat_checked_multiply(buffer, multi->shard_count, &buffer)) buffer = INT64_MAX;
  LEAT_RETURN_IF_ERROR(leat_prefetch_create(dataset, buffer, &ahead));
  leat_status_t status = leat_iterator_resource_set(&multi->base, ahead);
  leat_dataset_release(ahead);
  if (status) return status;
  clear_shards(multi);
  *leat_tensor_data(output, int64_t) = ++multi->incarnation;
  return leat_ok_status();
}

static void init_finish(leat_pull_t* pull, leat_status_t status) {
  leat_turn_finish((leat_turn_t*)pull, status);
}

static void init__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &kMultiDeviceIterator, 1, sizeof(leat_turn_t), init_step, init_finish);
}

// ---- The next element ---------------------------------------------------------------------------

typedef struct next_s {
  leat_turn_t turn;
  dealt_t* making;  // room for the next element of the dataset
  dealt_t* found;   // the element of the shard; NULL at the end
} next_t;

// Checks shard_num and incarnation_id, and the types that the node declares.
static leat_status_t check(const leat_pull_t* pull, const multi_t* multi, int64_t* out_shard) {
  const leat_kernel_context_t* c = pull->context;
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  int64_t incarnation;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "shard_num", out_shard));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "incarnation_id", &incarnation));
  if (!multi->base.iterator) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "the iterator has not been initialized by MultiDeviceIteratorInit");
  }
  if (incarnation != multi->incarnation) {
    return leat_kernel_invalid(c, "Invalid incarnation id. Provided: %lld; Expected: %lld",
                               (long long)incarnation, (long long)multi->incarnation);
  }
  if (*out_shard < 0 || *out_shard >= multi->shard_count) {
    return leat_kernel_invalid(c, "shard_num is %lld, must be at least 0 and less than %d",
                               (long long)*out_shard, multi->shard_count);
  }
  return leat_element_spec_check_types(state->spec, multi->base.spec);
}

// Appends |dealt| to the line of the shard whose turn it is.
static void deal(multi_t* multi, dealt_t* dealt) {
  shard_t* shard = &multi->shards[multi->next_shard];
  multi->next_shard = (multi->next_shard + 1) % multi->shard_count;
  if (shard->last) {
    shard->last->next = dealt;
  } else {
    shard->first = dealt;
  }
  shard->last = dealt;
}

static leat_status_t next_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  next_t* next = (next_t*)pull;
  multi_t* multi = (multi_t*)next->turn.resource;
  const size_t bytes = sizeof(dealt_t) + (size_t)multi->base.spec->count * sizeof(leat_tensor_t);
  int64_t shard;
  LEAT_RETURN_IF_ERROR(check(pull, multi, &shard));
  while (!(next->found = take_dealt(&multi->shards[shard]))) {
    if (!next->making) {
      LEAT_RETURN_IF_ERROR(
          leat_allocator_allocate(leat_allocator_system(), bytes, (void**)&next->making));
    }
    leat_status_t status =
        leat_iterator_next(multi->base.iterator, pull, next->making->components, out_poll);
    if (leat_pull_was_stopped(status)) return status;
    if (!status && *out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    next->making->failure = status;
    deal(multi, next->making);
    next->making = NULL;
  }
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static leat_status_t set_outputs(leat_kernel_context_t* c, multi_t* multi, dealt_t* found) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  const int count = multi->base.spec->count;
  if (!found) return leat_make_status(LEAT_OUT_OF_RANGE, "End of sequence");
  if (found->failure) return leat_status_clone(found->failure);
  LEAT_RETURN_IF_ERROR(leat_element_spec_check_element(state->spec, found->components, count));
  for (int i = 0; i < count; ++i) {
    leat_kernel_set_output(c, i, leat_tensor_move(&found->components[i]));
  }
  return leat_ok_status();
}

static void next_finish(leat_pull_t* pull, leat_status_t status) {
  next_t* next = (next_t*)pull;
  multi_t* multi = (multi_t*)next->turn.resource;
  if (!status) status = set_outputs(pull->context, multi, next->found);
  if (multi) {
    free_dealt(multi, next->found);
    free_dealt(multi, next->making);
  }
  leat_turn_finish(&next->turn, status);
}

static void get_next__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &kMultiDeviceIterator, 0, sizeof(next_t), next_step, next_finish);
}

// ---- Names --------------------------------------------------------------------------------------

static leat_status_t to_string__cpu(leat_kernel_context_t* c) {
  return leat_iterator_write_string(c, &kMultiDeviceIterator);
}

static leat_status_t from_string__cpu(leat_kernel_context_t* c) {
  return leat_iterator_read_string(c, &kMultiDeviceIterator);
}

static leat_status_t delete__cpu(leat_kernel_context_t* c) {
  return leat_iterator_delete(c, &kMultiDeviceIterator);
}

#define ANONYMOUS(name)                                                      \
  LEAT_CPU_KERNEL(name, NULL, multi_node_t, anonymous_create, anonymous__cpu, \
                  .destroy = multi_destroy)
#define TYPED                                                     \
  .device_type = "CPU", .create = leat_element_spec_state_create, \
  .destroy = leat_element_spec_state_destroy, .state_bytes = sizeof(leat_element_spec_state_t)

const leat_kernel_row_t leat_multi_device_iterator_kernels_cpu[] = {
    LEAT_CPU_KERNEL("MultiDeviceIterator", NULL, multi_node_t, multi_create, multi__cpu,
                    .destroy = multi_destroy),
    ANONYMOUS("AnonymousMultiDeviceIterator"),
    ANONYMOUS("AnonymousMultiDeviceIteratorV3"),
    {.op = "MultiDeviceIteratorInit", .device_type = "CPU", .compute_async = init__cpu},
    {.op = "MultiDeviceIteratorGetNextFromShard", TYPED, .compute_async = get_next__cpu},
    {.op = "MultiDeviceIteratorToStringHandle", .device_type = "CPU", .compute = to_string__cpu},
    {.op = "MultiDeviceIteratorFromStringHandle", TYPED, .compute = from_string__cpu},
    {.op = "DeleteMultiDeviceIterator", .device_type = "CPU", .compute = delete__cpu},
    LEAT_KERNEL_ROWS_END,
};
