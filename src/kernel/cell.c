// The cell: a variable's value under its lock. The invariant is that a value which somebody read
// never changes: readers share the buffer, and an update of a shared buffer goes to a copy
// (leat_cell_make_exclusive).
//
//   step A reads  ─▶ shares buffer 1 ─────────────────────▶ still sees buffer 1
//   step B updates          ─▶ copy to buffer 2 ─▶ writes there; the cell has buffer 2
//
// So a step may read a variable without a copy while another step updates it, and sees the value of
// one moment. A training step that nobody disturbs is the sole owner of the buffer and updates it
// in place. Planned buffers of a step never become values of cells, because the plan uses their
// memory again.
#include <stdio.h>
#include <string.h>

#include "kernel/resource.h"

static void cell_destroy(leat_resource_t* resource) {
  LEAT_DCHECK(resource->kind == &leat_cell_kind && atomic_load(&resource->references) == 0);
  leat_cell_t* cell = (leat_cell_t*)resource;
  leat_tensor_release(&cell->tensor);
  leat_shape_release(&cell->shape);
  leat_mutex_deinitialize(&cell->mutex);
  leat_allocator_free(leat_allocator_system(), cell);
}

static void cell_describe(leat_resource_t* resource, char* buffer, size_t size) {
  leat_tensor_t value = {0};
  if (!leat_cell_read((leat_cell_t*)resource, &value)) {
    snprintf(buffer, size, "Var, not initialized");
    return;
  }
  snprintf(buffer, size, "Var %s %s", leat_dtype_name(value.dtype), LEAT_SHAPE_TEXT(&value.shape));
  leat_tensor_release(&value);
}

const leat_resource_kind_t leat_cell_kind = {
    .name = "Var",
    .destroy = cell_destroy,
    .describe = cell_describe,
};

leat_status_t leat_cell_create(leat_string_view_t name, const leat_shape_t* shape,
                               leat_cell_t** out_cell) {
  void* memory = NULL;
  *out_cell = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof(leat_cell_t) + name.size + 1, &memory));
  leat_cell_t* cell = memory;
  // The name lies behind the cell in the same block, which the allocator has zeroed.
  char* text = (char*)(cell + 1);
  if (name.size) memcpy(text, name.data, name.size);
  cell->name = text;
  cell->resource.kind = &leat_cell_kind;
  atomic_init(&cell->resource.references, 1);
  leat_mutex_initialize(&cell->mutex);
  if (shape) cell->shape = leat_shape_retain(shape);
  cell->has_shape = shape != NULL;
  *out_cell = cell;
  return leat_ok_status();
}

leat_status_t leat_cell_make_exclusive(leat_cell_t* cell, leat_buffer_source_t* source) {
  leat_buffer_t* buffer = cell->tensor.buffer;
  if (!buffer || leat_buffer_is_exclusive(buffer)) return leat_ok_status();
  leat_tensor_t copy;
  LEAT_RETURN_IF_ERROR(leat_tensor_copy(source, &cell->tensor, &copy));
  leat_tensor_release(&cell->tensor);
  cell->tensor = copy;
  return leat_ok_status();
}

void leat_cell_set(leat_cell_t* cell, leat_tensor_t tensor) {
  LEAT_DCHECK(!tensor.buffer || !tensor.buffer->planned);
  leat_tensor_release(&cell->tensor);
  if (tensor.dtype) cell->dtype = tensor.dtype;
  cell->tensor = tensor;
}

// Checks that the tensor is one handle of a variable. A handle comes from the graph or a feed and
// may be empty or name a resource of another kind.
static leat_status_t check_handle(const leat_tensor_t* handle) {
  if (handle->dtype != LEAT_DTYPE_RESOURCE || handle->shape.element_count != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Resource look-up failed: handle is %s of shape %s, must be a scalar "
                            "of type resource",
                            leat_dtype_name(handle->dtype), LEAT_SHAPE_TEXT(&handle->shape));
  }
  const leat_resource_handle_t* value = *leat_tensor_data(handle, leat_resource_handle_t*);
  if (!value) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Resource look-up failed: handle is empty, must name a resource");
  }
  if (!leat_string_view_equals(value->type_name, leat_cell_kind.name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Trying to access a handle's resource using the wrong type. The handle "
                            "points to a resource (name '%.*s') of type '%.*s' but you are trying "
                            "to access the resource as type '%s'",
                            LEAT_SV_ARG(value->name), LEAT_SV_ARG(value->type_name),
                            leat_cell_kind.name);
  }
  return leat_ok_status();
}

leat_status_t leat_cell_of_handle(leat_resource_manager_t* manager, const leat_tensor_t* handle,
                                  leat_cell_t** out_cell) {
  leat_resource_t* resource = NULL;
  *out_cell = NULL;
  LEAT_RETURN_IF_ERROR(check_handle(handle));
  const leat_resource_handle_t* value = *leat_tensor_data(handle, leat_resource_handle_t*);
  leat_status_t status = leat_resource_manager_find(manager, value->container, value->name,
                                                    &leat_cell_kind, &resource);
  if (status) return status;
  LEAT_DCHECK(resource->kind == &leat_cell_kind);
  *out_cell = (leat_cell_t*)resource;
  return leat_ok_status();
}
