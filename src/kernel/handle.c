// Naming and finding resources. A kernel that makes a resource chooses its name once, from the
// attributes "container" and "shared_name". A private resource has a number of its session in its
// name, because containers may be shared between sessions:
//
//   shared_name given      container / shared_name                     any node with the same names
//   variables              container / node name                       nodes of that name
//   else                   container / _<number>_<node name>           this session alone
//
// Finding takes either form of handle. A handle by value may own its resource, which is then in no
// container; otherwise both forms lead to the device's resource manager. A handle says its kind and
// device, and both are checked, because a handle may be fed or come from another device. Resources
// of a step (stacks, tensor arrays) have names with a number that the process counts, in the step's
// own manager.
#include "kernel/handle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- Making -------------------------------------------------------------------------------------

static bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Whether |name| is [A-Za-z0-9.][A-Za-z0-9_./-]*, as TensorFlow demands of containers; or empty.
static bool is_container_name(leat_string_view_t name) {
  for (size_t i = 0; i < name.size; ++i) {
    char c = name.data[i];
    if (is_alphanumeric(c) || c == '.') continue;
    if (i == 0 || !(c == '_' || c == '-' || c == '/')) return false;
  }
  return true;
}

// Names that start with '_' are kept for private resources, so a client may not give one as
// shared_name.
static leat_status_t check_names(const leat_kernel_creation_t* c, leat_string_view_t container,
                                 leat_string_view_t name) {
  if (!is_container_name(container)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Kernel creation failed for node '%.*s' (%s): container is '%.*s', "
                            "must be of letters, digits, '_', '.', '-' and '/'",
                            LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                            LEAT_SV_ARG(container));
  }
  if (name.size && name.data[0] == '_') {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Kernel creation failed for node '%.*s' (%s): shared_name is '%.*s', "
                            "must not start with '_'",
                            LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                            LEAT_SV_ARG(name));
  }
  return leat_ok_status();
}

// Sets container and name of |handle|, which lie in one block of memory.
static leat_status_t choose_names(const leat_kernel_creation_t* c, bool node_name_is_shared,
                                  leat_handle_t* handle) {
  LEAT_DCHECK(!handle->allocator);
  leat_string_view_t container, name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "container", &container));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "shared_name", &name));
  LEAT_RETURN_IF_ERROR(check_names(c, container, name));
  if (container.size == 0) container = leat_resource_manager_default(c->resources);
  char prefix[LEAT_PRIVATE_PREFIX_BYTES] = "";
  const bool is_anonymous = leat_handle_is_anonymous(name);
  if (name.size == 0 || is_anonymous) {
    name = c->kernel->node_name;
    if (is_anonymous || !node_name_is_shared) {
      leat_resource_manager_print_private(c->session_resources, prefix);
    }
  }
  size_t prefix_bytes = strlen(prefix);
  char* text;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(c->allocator, container.size + prefix_bytes + name.size + 1, &text));
  memcpy(text, container.data, container.size);
  memcpy(text + container.size, prefix, prefix_bytes);
  if (name.size) memcpy(text + container.size + prefix_bytes, name.data, name.size);
  LEAT_DCHECK(container.size > 0);
  handle->allocator = c->allocator;
  handle->container = leat_string_view_make(text, container.size);
  handle->name = leat_string_view_make(text + container.size, prefix_bytes + name.size);
  return leat_ok_status();
}

leat_status_t leat_handle_make_reference(leat_string_view_t container, leat_string_view_t name,
                                         leat_cell_t** out_cell) {
  leat_shape_t pair = leat_shape_vector(2);
  leat_cell_t* cell;
  *out_cell = NULL;
  LEAT_RETURN_IF_ERROR(leat_cell_create(name, NULL, &cell));
  leat_status_t status = leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &pair,
                                              &cell->tensor);
  if (!status) status = leat_tensor_set_string(&cell->tensor, 0, container);
  if (!status) status = leat_tensor_set_string(&cell->tensor, 1, name);
  if (status) {
    leat_cell_release(cell);
    return status;
  }
  *out_cell = cell;
  return leat_ok_status();
}

leat_status_t leat_handle_initialize(leat_kernel_creation_t* c, const leat_resource_kind_t* kind,
                                     bool node_name_is_shared, leat_handle_t* out_handle) {
  *out_handle = (leat_handle_t){0};
  LEAT_RETURN_IF_ERROR(choose_names(c, node_name_is_shared, out_handle));
  if (leat_dtype_is_ref(c->kernel->output_types[0])) {
    return leat_handle_make_reference(out_handle->container, out_handle->name,
                                      &out_handle->reference);
  }
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_RESOURCE,
                                            &scalar, &out_handle->value));
  return leat_resource_handle_create(
      c->kernel->device->name, out_handle->container, out_handle->name,
      leat_string_view_from(kind->name),
      leat_tensor_data(&out_handle->value, leat_resource_handle_t*));
}

void leat_handle_deinitialize(leat_handle_t* handle) {
  leat_cell_release(handle->reference);
  leat_tensor_release(&handle->value);
  if (handle->allocator) leat_allocator_free(handle->allocator, (void*)handle->container.data);
  *handle = (leat_handle_t){0};
}

void leat_handle_set_output(leat_kernel_context_t* c, const leat_handle_t* handle) {
  LEAT_DCHECK(handle->reference || handle->value.dtype == LEAT_DTYPE_RESOURCE);
  if (handle->reference) {
    leat_kernel_set_output_ref(c, 0, handle->reference);
  } else {
    leat_kernel_set_output(c, 0, leat_tensor_share(&handle->value));
  }
}

leat_status_t leat_handle_find_or_make(leat_kernel_context_t* c, const leat_handle_t* handle,
                                       const leat_resource_kind_t* kind,
                                       leat_resource_make_fn_t make, void* data,
                                       leat_resource_t** out_resource) {
  return leat_resource_manager_find_or_make(c->services->resources, handle->container,
                                            handle->name, kind, make, data, out_resource);
}

static void release_resource(void* resource) { leat_resource_release(resource); }

// No manager knows the resource, so its handle has no container; the node's name stands in it for
// messages.
leat_status_t leat_handle_own_resource(leat_kernel_context_t* c, int output,
                                       leat_resource_t* resource) {
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_DCHECK(resource->kind && atomic_load(&resource->references) > 0);
  leat_tensor_t* tensor;
  leat_status_t status = leat_kernel_allocate_output(c, output, &scalar, &tensor);
  leat_resource_handle_t** handle =
      status ? NULL : leat_tensor_data(tensor, leat_resource_handle_t*);
  if (!status) {
    status = leat_resource_handle_create(c->kernel->device->name, (leat_string_view_t){0},
                                         c->kernel->node_name,
                                         leat_string_view_from(resource->kind->name), handle);
  }
  if (status) {
    leat_resource_release(resource);
    return status;
  }
  (*handle)->owned = resource;
  (*handle)->release_owned = release_resource;
  return leat_ok_status();
}

// ---- Finding ------------------------------------------------------------------------------------

leat_status_t leat_handle_strings(const leat_kernel_context_t* c, int index,
                                  leat_tensor_t* out_strings, leat_string_view_t* out_container,
                                  leat_string_view_t* out_name) {
  LEAT_DCHECK(index >= 0 && index < c->kernel->input_count);
  const leat_slot_t* slot = &c->slots[c->input_slots[index]];
  *out_strings = (leat_tensor_t){0};
  if (!slot->ref) {
    *out_strings = leat_tensor_share(&slot->tensor);
  } else if (!leat_cell_read(slot->ref, out_strings)) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION, "handle %d has no value", index);
  }
  if (out_strings->dtype != LEAT_DTYPE_STRING || out_strings->shape.element_count != 2) {
    leat_status_t status = leat_kernel_invalid(
        c, "handle %d is %s of shape %s, must be two strings, container and name", index,
        leat_dtype_name(out_strings->dtype), LEAT_SHAPE_TEXT(&out_strings->shape));
    leat_tensor_release(out_strings);
    return status;
  }
  *out_container = leat_tensor_string_at(out_strings, 0);
  *out_name = leat_tensor_string_at(out_strings, 1);
  return leat_ok_status();
}

// Finds a resource by a handle of the older form, which is two strings.
static leat_status_t find_by_strings(const leat_kernel_context_t* c, int index,
                                     leat_resource_manager_t* manager,
                                     const leat_resource_kind_t* kind,
                                     leat_resource_t** out_resource) {
  leat_tensor_t strings;
  leat_string_view_t container, name;
  LEAT_RETURN_IF_ERROR(leat_handle_strings(c, index, &strings, &container, &name));
  leat_status_t status = leat_resource_manager_find(manager, container, name, kind, out_resource);
  leat_tensor_release(&strings);
  return status;
}

static leat_status_t wrong_kind(const leat_kernel_context_t* c,
                                const leat_resource_handle_t* handle,
                                const leat_resource_kind_t* kind) {
  return leat_kernel_invalid(c,
                             "Trying to access a handle's resource using the wrong type. The "
                             "handle points to a resource (name '%.*s') of type '%.*s' but you are "
                             "trying to access the resource as type '%s'",
                             LEAT_SV_ARG(handle->name), LEAT_SV_ARG(handle->type_name),
                             kind->name);
}

// The resource that |handle| owns, retained; NULL where that is of another kind.
static leat_resource_t* owned_by(const leat_resource_handle_t* handle,
                                 const leat_resource_kind_t* kind) {
  leat_resource_t* resource = handle->owned;
  if (resource->kind != kind) return NULL;
  leat_resource_retain(resource);
  return resource;
}

leat_status_t leat_handle_find(const leat_kernel_context_t* c, int index,
                               const leat_resource_kind_t* kind, leat_resource_t** out_resource) {
  *out_resource = NULL;
  const leat_tensor_t* tensor = leat_kernel_input(c, index);
  if (leat_dtype_base(c->kernel->input_types[index]) != LEAT_DTYPE_RESOURCE) {
    return find_by_strings(c, index, c->services->resources, kind, out_resource);
  }
  const leat_resource_handle_t* handle =
      tensor->shape.element_count == 1 ? *leat_tensor_data(tensor, leat_resource_handle_t*) : NULL;
  if (!handle) {
    return leat_kernel_invalid(c, "handle %d is empty, must name a resource", index);
  }
  if (!leat_string_view_equals(handle->type_name, kind->name)) return wrong_kind(c, handle, kind);
  if (!leat_string_view_equal(handle->device, c->kernel->device->name)) {
    return leat_kernel_invalid(c,
                               "Trying to access resource %.*s located in device %.*s from device "
                               "%.*s",
                               LEAT_SV_ARG(handle->name), LEAT_SV_ARG(handle->device),
                               LEAT_SV_ARG(c->kernel->device->name));
  }
  if (handle->owned) {
    *out_resource = owned_by(handle, kind);
    return *out_resource ? leat_ok_status() : wrong_kind(c, handle, kind);
  }
  return leat_resource_manager_find(c->services->resources, handle->container, handle->name, kind,
                                    out_resource);
}

leat_resource_t* leat_handle_look_up(leat_resource_manager_t* manager, const leat_tensor_t* handle,
                                     const leat_resource_kind_t* kind) {
  LEAT_DCHECK(handle->dtype == LEAT_DTYPE_RESOURCE);
  leat_resource_t* resource = NULL;
  const leat_resource_handle_t* value =
      handle->shape.element_count == 1 ? *leat_tensor_data(handle, leat_resource_handle_t*) : NULL;
  if (!value || !leat_string_view_equals(value->type_name, kind->name)) return NULL;
  if (value->owned) return owned_by(value, kind);
  leat_status_free(
      leat_resource_manager_find(manager, value->container, value->name, kind, &resource));
  return resource;
}

// ---- Resources of a step ------------------------------------------------------------------------

static leat_status_t step_resources(const leat_kernel_context_t* c,
                                    leat_resource_manager_t** out_manager) {
  *out_manager = c->services->step_resources;
  if (*out_manager) return leat_ok_status();
  return leat_kernel_error(c, LEAT_INTERNAL, "the step has no container");
}

// Makes output |output|, of type string or Ref(string), the two strings.
static leat_status_t set_strings(leat_kernel_context_t* c, int output, leat_string_view_t container,
                                 leat_string_view_t name) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(leat_handle_make_reference(container, name, &cell));
  if (leat_dtype_is_ref(c->kernel->output_types[output])) {
    leat_kernel_set_output_ref(c, output, cell);
  } else {
    leat_kernel_set_output(c, output, leat_tensor_share(&cell->tensor));
  }
  leat_cell_release(cell);
  return leat_ok_status();
}

leat_status_t leat_handle_make_of_step(leat_kernel_context_t* c, int output,
                                       leat_resource_t* resource) {
  if (leat_dtype_base(c->kernel->output_types[output]) == LEAT_DTYPE_RESOURCE) {
    return leat_handle_own_resource(c, output, resource);
  }
  static _Atomic(uint64_t) next_number = 1;
  char number[24];
  leat_string_view_t container = leat_string_view_from(resource->kind->name);
  snprintf(number, sizeof number, "%" PRIu64, (uint64_t)next_number++);
  leat_string_view_t name = leat_string_view_from(number);
  leat_resource_manager_t* manager;
  leat_status_t status = step_resources(c, &manager);
  if (!status) status = leat_resource_manager_add(manager, container, name, resource);
  if (!status) status = set_strings(c, output, container, name);
  leat_resource_release(resource);
  return status;
}

leat_status_t leat_handle_find_of_step(const leat_kernel_context_t* c, int index,
                                       const leat_resource_kind_t* kind,
                                       leat_resource_t** out_resource) {
  if (leat_dtype_base(c->kernel->input_types[index]) == LEAT_DTYPE_RESOURCE) {
    return leat_handle_find(c, index, kind, out_resource);
  }
  leat_resource_manager_t* manager;
  *out_resource = NULL;
  LEAT_RETURN_IF_ERROR(step_resources(c, &manager));
  return find_by_strings(c, index, manager, kind, out_resource);
}
