// Kernels of the ops that turn an iterator's handle into a string, and such a string into a handle.
// The string is a serialized ResourceHandleProto with the device, the container and the name of the
// iterator; another graph of the same session can be fed with it to choose among iterators
// ("feedable iterators"). The string only names the iterator and does not keep it alive: making a
// handle of it looks the iterator up and fails when it does not exist, is on another device, or has
// other types than the node declares. Whoever has the string can reach the iterator, so that
// nothing in it is trusted but the name.
#include "formats/generated/tensor.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "ops/dataset/iterator_cpu.h"
#include "ops/kernel_rows.h"

static leat_status_t write_handle(const leat_resource_handle_t* handle,
                                  leat_string_builder_t* out) {
  const leat_pb_resource_handle_proto_t message = {.device = handle->device,
                                                   .container = handle->container,
                                                   .name = handle->name,
                                                   .hash_code = handle->type_hash,
                                                   .maybe_type_name = handle->type_name};
  return leat_message_encode(&leat_pb_resource_handle_proto_descriptor, &message, out);
}

static leat_status_t to_string__cpu(leat_kernel_context_t* c) {
  leat_resource_t* iterator;
  leat_string_builder_t text;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 0, &leat_iterator_kind, &iterator));
  leat_resource_release(iterator);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status =
      write_handle(*leat_tensor_data(leat_kernel_input(c, 0), leat_resource_handle_t*), &text);
  if (!status) status = leat_kernel_allocate_output(c, 0, &scalar, &output);
  if (!status) status = leat_tensor_set_string(output, 0, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  return status;
}

// Checks the iterator against the node's output_types and output_shapes. Empty lists ask for
// nothing.
static leat_status_t check_spec(const leat_kernel_context_t* c, leat_resource_t* resource) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  if (!state->spec->count) return leat_ok_status();
  return leat_element_spec_check(state->spec, ((const leat_iterator_resource_t*)resource)->spec);
}

// Checks that |named| is an iterator of this device that exists and fits the node's attributes.
static leat_status_t check_named(const leat_kernel_context_t* c,
                                 const leat_pb_resource_handle_proto_t* named) {
  leat_resource_t* resource;
  leat_string_view_t device = c->kernel->device->name;
  if (!leat_string_view_equal(named->device, device)) {
    return leat_kernel_invalid(c,
                               "Attempted create an iterator on device \"%.*s\" from handle "
                               "defined on device \"%.*s\"",
                               LEAT_SV_ARG(device), LEAT_SV_ARG(named->device));
  }
  LEAT_RETURN_IF_ERROR(leat_resource_manager_find(c->services->resources, named->container,
                                                  named->name, &leat_iterator_kind, &resource));
  leat_status_t status = check_spec(c, resource);
  leat_resource_release(resource);
  return status;
}

static leat_status_t make_handle(leat_kernel_context_t* c, leat_string_view_t text,
                                 leat_arena_t* arena) {
  leat_pb_resource_handle_proto_t named;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_status_t status =
      leat_message_decode(&leat_pb_resource_handle_proto_descriptor, text, arena, NULL, &named);
  if (status) {
    return leat_status_annotate(status, "Could not parse string_handle as a valid ResourceHandle");
  }
  LEAT_RETURN_IF_ERROR(check_named(c, &named));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_resource_handle_create(named.device, named.container, named.name,
                                     leat_string_view_from(leat_iterator_kind.name),
                                     leat_tensor_data(output, leat_resource_handle_t*));
}

static leat_status_t from_string__cpu(leat_kernel_context_t* c) {
  leat_string_view_t text;
  leat_arena_t arena;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 0, "string_handle", &text));
  leat_arena_initialize(leat_allocator_system(), 256, &arena);
  leat_status_t status = make_handle(c, text, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

#define FROM_STRING(name)                                                                \
  LEAT_CPU_KERNEL(name, NULL, leat_element_spec_state_t, leat_element_spec_state_create, \
                  from_string__cpu, .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_iterator_name_kernels_cpu[] = {
    {.op = "IteratorToStringHandle", .device_type = "CPU", .compute = to_string__cpu},
    FROM_STRING("IteratorFromStringHandle"),
    FROM_STRING("IteratorFromStringHandleV2"),
    LEAT_KERNEL_ROWS_END,
};
