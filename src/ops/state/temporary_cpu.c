// The CPU kernels of TemporaryVariable and DestroyTemporaryVariable. A temporary variable is a cell
// (kernel/resource.h) that lives within a step: TemporaryVariable makes it with undefined contents,
// ops that take a reference update it, and DestroyTemporaryVariable gives its last value and
// removes it.
//
// The cell is in the step's own container, so that it ends with the step even if the step fails.
// Where the caller gives no such container (a kernel that is run by itself) it is in the device's.
// Its name carries the step and the loop iteration, so that steps and iterations that run at the
// same time do not meet in one cell.
#include "kernel/resource.h"
#include "ops/kernel_rows.h"

typedef struct temporary_s {
  char* name;  // owned by the state
  leat_shape_t shape;
  bool is_made;  // |shape| must be released
} temporary_t;

static leat_status_t copy_name(leat_string_view_t name, char** out_name) {
  return leat_allocator_clone_string(leat_allocator_system(), name.data, name.size, out_name);
}

static leat_status_t temporary_create(leat_kernel_creation_t* c, void* state) {
  temporary_t* temporary = state;
  leat_partial_shape_t shape;
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "var_name", &name));
  LEAT_RETURN_IF_ERROR(copy_name(name.size ? name : c->kernel->node_name, &temporary->name));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "shape", &shape));
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(shape, &temporary->shape));
  temporary->is_made = true;
  return leat_ok_status();
}

static void temporary_destroy(void* state) {
  temporary_t* temporary = state;
  leat_allocator_free(leat_allocator_system(), temporary->name);
  if (temporary->is_made) leat_shape_release(&temporary->shape);
}

// Returns the container of the step, or the device's where the step has none.
static leat_resource_manager_t* container_of_step(const leat_kernel_context_t* c) {
  leat_resource_manager_t* own = c->services->step_resources;
  return own ? own : c->services->resources;
}

// Writes the name of the variable in this iteration of this step to |out|, which the caller
// deinitializes even after a failure.
static leat_status_t unique_name(const leat_kernel_context_t* c, const char* name,
                                 leat_string_builder_t* out) {
  leat_string_builder_initialize(leat_allocator_system(), out);
  leat_string_builder_print(out, "%s/%llx/%llx:%llx", name,
                            (unsigned long long)c->services->step_id,
                            (unsigned long long)c->frame_id, (unsigned long long)c->iteration);
  leat_status_t status = out->status;
  out->status = leat_ok_status();
  return status;
}

// Makes the cell and gives a reference to it. A second node that makes the same cell in a step
// fails, because the container has its name already.
static leat_status_t temporary_variable__cpu(leat_kernel_context_t* c) {
  const temporary_t* temporary = leat_kernel_state(c);
  leat_cell_t* cell;
  leat_string_builder_t name;
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(c->services->memory, c->kernel->output_types[0] -
                                                                     LEAT_DTYPE_REF_OFFSET,
                                            &temporary->shape, &value));
  // Memory that nobody wrote may hold any number, but a bool must be 0 or 1.
  if (value.dtype == LEAT_DTYPE_BOOL) leat_tensor_fill_zero(&value);
  leat_status_t status = leat_cell_create(c->kernel->node_name, &temporary->shape, &cell);
  if (status) {
    leat_tensor_release(&value);
    return status;
  }
  cell->tensor = value;
  status = unique_name(c, temporary->name, &name);
  if (!status) {
    status = leat_resource_manager_add(container_of_step(c), LEAT_SV(""),
                                       leat_string_builder_view(&name), &cell->resource);
  }
  if (!status) leat_kernel_set_output_ref(c, 0, cell);
  leat_string_builder_deinitialize(&name);
  leat_cell_release(cell);
  return status;
}

// ---- DestroyTemporaryVariable -------------------------------------------------------------------

typedef struct destroy_s {
  char* name;
} destroy_t;

static void destroy_destroy(void* state) {
  leat_allocator_free(leat_allocator_system(), ((destroy_t*)state)->name);
}

static leat_status_t destroy_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "var_name", &name));
  if (name.size) return copy_name(name, &((destroy_t*)state)->name);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (DestroyTemporaryVariable): var_name is "
                          "'', must name a variable",
                          LEAT_SV_ARG(c->kernel->node_name));
}

static leat_status_t destroy_temporary__cpu(leat_kernel_context_t* c) {
  const destroy_t* destroy = leat_kernel_state(c);
  leat_tensor_t value;
  leat_string_builder_t name;
  if (!leat_cell_read(leat_kernel_input_ref(c, 0), &value)) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized variables");
  }
  leat_kernel_set_output(c, 0, value);
  leat_status_t status = unique_name(c, destroy->name, &name);
  if (!status) {
    status = leat_resource_manager_remove(container_of_step(c), LEAT_SV(""),
                                          leat_string_builder_view(&name), &leat_cell_kind);
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

const leat_kernel_row_t leat_temporary_kernels_cpu[] = {
    {.op = "TemporaryVariable",
     .device_type = "CPU",
     .create = temporary_create,
     .destroy = temporary_destroy,
     .state_bytes = sizeof(temporary_t),
     .compute = temporary_variable__cpu},
    {.op = "DestroyTemporaryVariable",
     .device_type = "CPU",
     .create = destroy_create,
     .destroy = destroy_destroy,
     .state_bytes = sizeof(destroy_t),
     .compute = destroy_temporary__cpu},
    LEAT_KERNEL_ROWS_END,
};
