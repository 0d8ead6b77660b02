// Kernels of iterators as a graph sees them: resources that are made, set to the start of a dataset
// by MakeIterator, and asked for one element per step by IteratorGetNext. An iterator outlives the
// steps that use it and may be used by several steps at once. It can serve one pull at a time, so
// that MakeIterator and IteratorGetNext take a turn (ops/dataset/iterator_cpu.h): a step whose turn
// has not come waits in a queue without a thread. The kernels are asynchronous for the same reason.
// The memory of a turn is allocated when the kernel starts, freed when the turn ends, and only then
// is the kernel reported as done, because another step may run at that moment.
//
// The string of an iterator is a serialized ResourceHandleProto with its device, container and
// name; another graph of the same session can be fed with it to choose among iterators ("feedable
// iterators"). The string of one that no container has, since its handles own it, has a number in
// place of the name. The string does not keep the iterator alive: making a handle of it looks the
// iterator up and fails when it does not exist, is on another device, or has other types than the
// node declares. Whoever has the string can reach the iterator, so that nothing in it is
// trusted but the name.
#include "ops/dataset/iterator_cpu.h"

#include <inttypes.h>
#include <stdio.h>

#include "formats/generated/tensor.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "kernel/boxed_tensors.h"
#include "ops/kernel_rows.h"

// ---- Creation -----------------------------------------------------------------------------------

typedef struct iterator_node_s {
  leat_handle_t handle;
  leat_element_spec_t* spec;
} iterator_node_t;

static leat_status_t node_create(leat_kernel_creation_t* c, void* state) {
  iterator_node_t* node = state;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_attrs(c, "output_types", &node->spec));
  return leat_handle_initialize(c, &leat_iterator_kind, false, &node->handle);
}

static void node_destroy(void* state) {
  iterator_node_t* node = state;
  leat_element_spec_release(node->spec);
  leat_handle_deinitialize(&node->handle);
}

// Finds or makes the iterator by its container and name. One that another node made must have the
// same types and compatible shapes.
static leat_status_t iterator__cpu(leat_kernel_context_t* c) {
  const iterator_node_t* node = leat_kernel_state(c);
  leat_resource_t* found;
  LEAT_RETURN_IF_ERROR(leat_handle_find_or_make(c, &node->handle, &leat_iterator_kind,
                                                leat_iterator_resource_create, node->spec, &found));
  leat_status_t status =
      leat_element_spec_check(node->spec, ((const leat_iterator_resource_t*)found)->spec);
  leat_resource_release(found);
  if (status) return status;
  leat_handle_set_output(c, &node->handle);
  return leat_ok_status();
}

static leat_status_t anonymous__cpu(leat_kernel_context_t* c) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  leat_resource_t* resource;
  LEAT_RETURN_IF_ERROR(leat_iterator_resource_create(state->spec, &resource));
  LEAT_RETURN_IF_ERROR(leat_handle_own_resource(c, 0, resource));
  return c->kernel->output_count > 1 ? leat_dataset_set_deleter(c, 1) : leat_ok_status();
}

leat_status_t leat_iterator_delete(leat_kernel_context_t* c, const leat_resource_kind_t* kind) {
  leat_resource_t* resource;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 0, kind, &resource));
  leat_resource_release(resource);
  const leat_resource_handle_t* handle =
      *leat_tensor_data(leat_kernel_input(c, 0), leat_resource_handle_t*);
  // An anonymous handle owns its iterator, which ends with the last copy of the handle.
  return handle->owned ? leat_ok_status()
                       : leat_resource_manager_remove(c->services->resources, handle->container,
                                                      handle->name, kind);
}

static leat_status_t delete__cpu(leat_kernel_context_t* c) {
  return leat_iterator_delete(c, &leat_iterator_kind);
}

// ---- Kernels that take a turn -------------------------------------------------------------------

static leat_status_t set_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(pull->context, 0), &dataset));
  return leat_iterator_resource_set(((leat_turn_t*)pull)->resource, dataset);
}

static void set_finish(leat_pull_t* pull, leat_status_t status) {
  leat_turn_finish((leat_turn_t*)pull, status);
}

static void make__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &leat_iterator_kind, 1, sizeof(leat_turn_t), set_step, set_finish);
}

// ---- The next element ---------------------------------------------------------------------------

typedef struct next_s {
  leat_turn_t turn;
  bool at_end;
  int32_t count;  // tensors in |components|; 0 while there is no element
  leat_tensor_t components[];
} next_t;

// Pulls one element. The iterator's types are checked before, because |components| has room for the
// types that the node declares.
static leat_status_t next_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  next_t* next = (next_t*)pull;
  leat_iterator_resource_t* resource = next->turn.resource;
  if (!resource->iterator) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "GetNext() failed because the iterator has not been initialized. "
                            "Ensure that you have run the initializer operation for this iterator "
                            "before getting the next element.");
  }
  const leat_element_spec_state_t* state = leat_kernel_state(pull->context);
  LEAT_RETURN_IF_ERROR(leat_element_spec_check_types(state->spec, resource->spec));
  leat_status_t status = leat_iterator_next(resource->iterator, pull, next->components, out_poll);
  bool has_moved = status ? !leat_pull_was_stopped(status) : *out_poll == LEAT_POLL_ELEMENT;
  if (has_moved) ++resource->position;
  if (status) return status;
  next->at_end = *out_poll == LEAT_POLL_END;
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  next->count = resource->spec->count;
  return leat_element_spec_check_element(state->spec, next->components, next->count);
}

static void end_next(next_t* next, leat_status_t status) {
  leat_element_release(next->components, next->count);
  leat_turn_finish(&next->turn, status);
}

static void components_finish(leat_pull_t* pull, leat_status_t status) {
  next_t* next = (next_t*)pull;
  if (!status && next->at_end) status = leat_make_status(LEAT_OUT_OF_RANGE, "End of sequence");
  for (int i = 0; !status && i < next->count; ++i) {
    leat_kernel_set_output(pull->context, i, leat_tensor_move(&next->components[i]));
  }
  end_next(next, status);
}

// An optional without a value stands for the end of the dataset.
static leat_status_t set_optional(next_t* next) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_boxed_tensors_t* box;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(next->turn.pull.context, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(leat_boxed_tensors_create(&leat_optional_vtable, !next->at_end, next->count,
                                                 output->data, &box));
  leat_element_move(next->components, box->items, next->count);
  return leat_ok_status();
}

static void optional_finish(leat_pull_t* pull, leat_status_t status) {
  next_t* next = (next_t*)pull;
  if (!status) status = set_optional(next);
  end_next(next, status);
}

// Starts a turn with room for the components that the node declares.
static void take_next(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                      void (*finish)(leat_pull_t*, leat_status_t)) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  size_t bytes = sizeof(next_t) + (size_t)state->spec->count * sizeof(leat_tensor_t);
  leat_turn_begin(c, done, &leat_iterator_kind, 0, bytes, next_step, finish);
}

static void get_next__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  take_next(c, done, components_finish);
}

static void get_next_as_optional__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  take_next(c, done, optional_finish);
}

// ---- Names --------------------------------------------------------------------------------------

// Handles in strings name iterators that no container has by their numbers.
#define NUMBER_PREFIX "_iterator_"

static leat_status_t write_handle(const leat_resource_handle_t* handle, leat_resource_t* iterator,
                                  leat_string_builder_t* out) {
  leat_pb_resource_handle_proto_t message = {.device = handle->device,
                                             .container = handle->container,
                                             .name = handle->name,
                                             .hash_code = handle->type_hash,
                                             .maybe_type_name = handle->type_name};
  char name[48];
  if (handle->owned) {
    snprintf(name, sizeof name, NUMBER_PREFIX "%" PRId64,
             leat_iterator_resource_number((leat_iterator_resource_t*)iterator));
    message.name = leat_string_view_from(name);
  }
  return leat_message_encode(&leat_pb_resource_handle_proto_descriptor, &message, out);
}

leat_status_t leat_iterator_write_string(leat_kernel_context_t* c,
                                         const leat_resource_kind_t* kind) {
  leat_resource_t* iterator;
  leat_string_builder_t text;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 0, kind, &iterator));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = write_handle(
      *leat_tensor_data(leat_kernel_input(c, 0), leat_resource_handle_t*), iterator, &text);
  leat_resource_release(iterator);
  if (!status) status = leat_kernel_allocate_output(c, 0, &scalar, &output);
  if (!status) status = leat_tensor_set_string(output, 0, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t to_string__cpu(leat_kernel_context_t* c) {
  return leat_iterator_write_string(c, &leat_iterator_kind);
}

static leat_status_t get_device__cpu(leat_kernel_context_t* c) {
  leat_resource_t* iterator;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 0, &leat_iterator_kind, &iterator));
  leat_resource_release(iterator);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_tensor_set_string(output, 0, c->kernel->device->name);
}

// Checks the iterator against the node's output_types and output_shapes. Empty lists ask for
// nothing.
static leat_status_t check_spec(const leat_kernel_context_t* c, leat_resource_t* resource) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  if (!state->spec->count) return leat_ok_status();
  return leat_element_spec_check(state->spec, ((const leat_iterator_resource_t*)resource)->spec);
}

// The iterator of this device that |named| names, retained. |*out_is_numbered|: by its number.
static leat_status_t find_named(const leat_kernel_context_t* c, const leat_resource_kind_t* kind,
                                const leat_pb_resource_handle_proto_t* named,
                                leat_resource_t** out_resource, bool* out_is_numbered) {
  const leat_string_view_t device = c->kernel->device->name, prefix = LEAT_SV(NUMBER_PREFIX);
  int64_t number;
  *out_resource = NULL;
  *out_is_numbered = false;
  if (!leat_string_view_equal(named->device, device)) {
    return leat_kernel_invalid(c,
                               "Attempted create an iterator on device \"%.*s\" from handle "
                               "defined on device \"%.*s\"",
                               LEAT_SV_ARG(device), LEAT_SV_ARG(named->device));
  }
  if (leat_string_view_starts_with(named->name, prefix) &&
      leat_string_view_to_int64(leat_string_view_from_index(named->name, prefix.size), &number)) {
    *out_resource = leat_iterator_resource_by_number(kind, number);
  }
  *out_is_numbered = *out_resource != NULL;
  if (*out_resource) return leat_ok_status();
  return leat_resource_manager_find(c->services->resources, named->container, named->name, kind,
                                    out_resource);
}

static leat_status_t make_handle(leat_kernel_context_t* c, const leat_resource_kind_t* kind,
                                 leat_string_view_t text, leat_arena_t* arena) {
  leat_pb_resource_handle_proto_t named;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_resource_t* iterator;
  bool is_numbered;
  leat_status_t status =
      leat_message_decode(&leat_pb_resource_handle_proto_descriptor, text, arena, NULL, &named);
  if (status) {
    return leat_status_annotate(status, "Could not parse string_handle as a valid ResourceHandle");
  }
  LEAT_RETURN_IF_ERROR(find_named(c, kind, &named, &iterator, &is_numbered));
  status = check_spec(c, iterator);
  if (!status && is_numbered) return leat_handle_own_resource(c, 0, iterator);
  leat_resource_release(iterator);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_resource_handle_create(named.device, named.container, named.name,
                                     leat_string_view_from(kind->name),
                                     leat_tensor_data(output, leat_resource_handle_t*));
}

leat_status_t leat_iterator_read_string(leat_kernel_context_t* c,
                                        const leat_resource_kind_t* kind) {
  leat_string_view_t text;
  leat_arena_t arena;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 0, "string_handle", &text));
  leat_arena_initialize(leat_allocator_system(), 256, &arena);
  leat_status_t status = make_handle(c, kind, text, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t from_string__cpu(leat_kernel_context_t* c) {
  return leat_iterator_read_string(c, &leat_iterator_kind);
}

#define FROM_STRING(name)                                                                \
  LEAT_CPU_KERNEL(name, NULL, leat_element_spec_state_t, leat_element_spec_state_create, \
                  from_string__cpu, .destroy = leat_element_spec_state_destroy)

#define ITERATOR(name)                                                     \
  LEAT_CPU_KERNEL(name, NULL, iterator_node_t, node_create, iterator__cpu, \
                  .destroy = node_destroy)
#define TYPED                                                     \
  .device_type = "CPU", .create = leat_element_spec_state_create, \
  .destroy = leat_element_spec_state_destroy, .state_bytes = sizeof(leat_element_spec_state_t)

const leat_kernel_row_t leat_iterator_kernels_cpu[] = {
    ITERATOR("Iterator"),
    ITERATOR("IteratorV2"),
    {.op = "AnonymousIterator", TYPED, .compute = anonymous__cpu},
    {.op = "AnonymousIteratorV2", TYPED, .compute = anonymous__cpu},
    {.op = "AnonymousIteratorV3", TYPED, .compute = anonymous__cpu},
    {.op = "DeleteIterator", .device_type = "CPU", .compute = delete__cpu},
    {.op = "MakeIterator", .device_type = "CPU", .compute_async = make__cpu},
    {.op = "IteratorGetNext", TYPED, .compute_async = get_next__cpu},
    {.op = "IteratorGetNextSync", TYPED, .compute_async = get_next__cpu},
    {.op = "IteratorGetNextAsOptional", TYPED, .compute_async = get_next_as_optional__cpu},
    {.op = "IteratorGetDevice", .device_type = "CPU", .compute = get_device__cpu},
    {.op = "ExperimentalIteratorGetDevice", .device_type = "CPU", .compute = get_device__cpu},
    {.op = "IteratorToStringHandle", .device_type = "CPU", .compute = to_string__cpu},
    FROM_STRING("IteratorFromStringHandle"),
    FROM_STRING("IteratorFromStringHandleV2"),
    LEAT_KERNEL_ROWS_END,
};
