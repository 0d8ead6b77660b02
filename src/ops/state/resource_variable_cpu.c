// The CPU kernels of resource variables. A resource variable is a cell (kernel/resource.h) in a
// container of the device, and its handle is a tensor that names it. VarHandleOp makes the handle
// and not the cell: the first assignment makes the cell, so that a handle may be passed around
// before the variable has a value.
//
//   VarHandleOp -> handle ─▶ AssignVariableOp   finds or makes the cell and sets its value
//                          ─▶ ReadVariableOp    shares the value that the cell has now
//                          ─▶ DestroyResourceOp removes the cell from its container
//
// A read shares the bytes of the value and copies nothing. An update works in place where nobody
// holds the value and on a copy otherwise (update_cpu.h), so that what was read never changes. The
// mutex of the cell is held for each read and each update, so that updates of several steps do not
// mix. A cell that is destroyed lives until whoever uses it is done, because it is reference
// counted.
#include <inttypes.h>

#include "base/string_builder.h"
#include "kernel/handle.h"
#include "ops/kernel_rows.h"
#include "ops/state/resource_variable_kernels.h"
#include "ops/state/update_cpu.h"

// ---- The handle ---------------------------------------------------------------------------------

typedef struct handle_s {
  leat_tensor_t tensor;  // a scalar that the outputs of all steps share
  // The variable has no name that another op could know: each run makes another one, whose name is
  // that in |tensor| and a number.
  bool is_anonymous;
} handle_t;

static _Atomic(uint64_t) anonymous_count;

static leat_status_t make_handle(const leat_kernel_creation_t* c, leat_string_view_t container,
                                 leat_string_view_t name, leat_tensor_t* out_tensor) {
  if (container.size == 0) container = leat_resource_manager_default(c->resources);
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_RESOURCE,
                                            &scalar, out_tensor));
  return leat_resource_handle_create(c->kernel->device->name, container, name, LEAT_SV("Var"),
                                     leat_tensor_data(out_tensor, leat_resource_handle_t*));
}

static leat_status_t handle_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t container, name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "container", &container));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "shared_name", &name));
  if (!leat_handle_is_anonymous(name)) {
    return make_handle(c, container, name, &((handle_t*)state)->tensor);
  }
  ((handle_t*)state)->is_anonymous = true;
  char prefix[LEAT_PRIVATE_PREFIX_BYTES];
  leat_string_builder_t own;
  leat_resource_manager_print_private(c->session_resources, prefix);
  leat_string_builder_initialize(c->allocator, &own);
  leat_string_builder_append(&own, leat_string_view_from(prefix));
  leat_string_builder_append(&own, c->kernel->node_name);
  leat_status_t status = leat_status_clone(own.status);
  if (!status) {
    status =
        make_handle(c, container, leat_string_builder_view(&own), &((handle_t*)state)->tensor);
  }
  leat_string_builder_deinitialize(&own);
  return status;
}

static void handle_destroy(void* state) { leat_tensor_release(&((handle_t*)state)->tensor); }

static leat_status_t make_anonymous(leat_kernel_context_t* c, const leat_resource_handle_t* base) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_string_builder_t name;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_string_builder_print(&name, "%.*s_%" PRIu64, LEAT_SV_ARG(base->name), ++anonymous_count);
  leat_status_t status = leat_status_clone(name.status);
  if (!status) {
    status = leat_resource_handle_create(base->device, base->container,
                                         leat_string_builder_view(&name), base->type_name,
                                         leat_tensor_data(output, leat_resource_handle_t*));
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

static leat_status_t var_handle__cpu(leat_kernel_context_t* c) {
  const handle_t* handle = leat_kernel_state(c);
  if (handle->is_anonymous) {
    return make_anonymous(c, *leat_tensor_data(&handle->tensor, leat_resource_handle_t*));
  }
  leat_kernel_set_output(c, 0, leat_tensor_share(&handle->tensor));
  return leat_ok_status();
}

typedef struct handles_s {
  leat_allocator_t* allocator;
  leat_tensor_t* tensors;  // [count]
  int count;
} handles_t;

static leat_status_t handles_create(leat_kernel_creation_t* c, void* state) {
  handles_t* handles = state;
  const leat_attr_value_t *containers, *names;
  const int count = c->kernel->output_count;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "containers", &containers));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "shared_names", &names));
  if ((int)containers->count != count || (int)names->count != count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "containers has %u values and shared_names %u, "
                            "must have N, %d", containers->count, names->count, count);
  }
  handles->allocator = c->allocator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, (size_t)count + 1, &handles->tensors));
  handles->count = count;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        make_handle(c, containers->strings[i], names->strings[i], &handles->tensors[i]));
  }
  return leat_ok_status();
}

static void handles_destroy(void* state) {
  handles_t* handles = state;
  for (int i = 0; i < handles->count; ++i) leat_tensor_release(&handles->tensors[i]);
  if (handles->allocator) leat_allocator_free(handles->allocator, handles->tensors);
}

static leat_status_t var_handles__cpu(leat_kernel_context_t* c) {
  const handles_t* handles = leat_kernel_state(c);
  for (int i = 0; i < handles->count; ++i) {
    leat_kernel_set_output(c, i, leat_tensor_share(&handles->tensors[i]));
  }
  return leat_ok_status();
}

// ---- Reading ------------------------------------------------------------------------------------

// Makes the error of a read that finds no cell behind input |index|, or a cell without a value. The
// message is TensorFlow's.
static leat_status_t no_value(leat_kernel_context_t* c, int index) {
  const leat_tensor_t* tensor = leat_kernel_input(c, index);
  const leat_resource_handle_t* handle = NULL;
  if (tensor->shape.element_count) handle = *leat_tensor_data(tensor, leat_resource_handle_t*);
  leat_string_view_t name = handle ? handle->name : LEAT_SV("");
  return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                           "Could not find variable %.*s. This could mean that the variable has "
                           "been deleted. In TF1, it can also mean the variable is uninitialized.",
                           LEAT_SV_ARG(name));
}

// Finds and retains the cell that input 0 names. NOT_FOUND when there is none.
static leat_status_t find_cell(leat_kernel_context_t* c, leat_cell_t** out_cell) {
  return leat_cell_of_handle(c->services->resources, leat_kernel_input(c, 0), out_cell);
}

// Sets output |index| to the value of the variable that the input at its place names. To somebody
// who reads, a variable that is not there and one without a value are the same: both give
// FAILED_PRECONDITION.
static leat_status_t read_value(leat_kernel_context_t* c, int index) {
  leat_cell_t* cell;
  leat_status_t status =
      leat_cell_of_handle(c->services->resources, leat_kernel_input(c, index), &cell);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return no_value(c, index);
  }
  LEAT_RETURN_IF_ERROR(status);
  leat_tensor_t value;
  bool initialized = leat_cell_read(cell, &value);
  leat_cell_release(cell);
  if (!initialized) return no_value(c, index);
  int wanted = c->kernel->output_types[index];
  if (value.dtype != wanted) {
    int dtype = value.dtype;
    leat_tensor_release(&value);
    return leat_kernel_invalid(c, "dtype is %s, must be the variable's, %s",
                               leat_dtype_name(wanted), leat_dtype_name(dtype));
  }
  leat_kernel_set_output(c, index, value);
  return leat_ok_status();
}

static leat_status_t read_variable__cpu(leat_kernel_context_t* c) { return read_value(c, 0); }

static leat_status_t read_variables__cpu(leat_kernel_context_t* c) {
  if (c->kernel->output_count != c->kernel->input_count) {
    return leat_kernel_invalid(c, "dtypes has %d values, must have N, %d",
                               c->kernel->output_count, c->kernel->input_count);
  }
  for (int i = 0; i < c->kernel->output_count; ++i) LEAT_RETURN_IF_ERROR(read_value(c, i));
  return leat_ok_status();
}

static leat_status_t var_is_initialized__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  leat_cell_t* cell;
  leat_status_t status =
      leat_cell_of_handle(c->services->resources, leat_kernel_input(c, 0), &cell);
  bool initialized = false;
  if (!status) {
    leat_mutex_lock(&cell->mutex);
    initialized = cell->tensor.dtype != 0;
    leat_mutex_unlock(&cell->mutex);
    leat_cell_release(cell);
  }
  leat_status_free(status);
  *leat_tensor_data(output, bool) = initialized;
  return leat_ok_status();
}

static leat_status_t variable_shape__cpu(leat_kernel_context_t* c) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(find_cell(c, &cell));
  leat_tensor_t value;
  bool initialized = leat_cell_read(cell, &value);
  leat_cell_release(cell);
  if (!initialized) return no_value(c, 0);
  leat_shape_t vector = leat_shape_vector(value.shape.rank);
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_output(c, 0, &vector, &output);
  for (int d = 0; !status && d < value.shape.rank; ++d) {
    int64_t size = leat_shape_dim(&value.shape, d);
    if (output->dtype == LEAT_DTYPE_INT64) {
      leat_tensor_data(output, int64_t)[d] = size;
    } else if (size > INT32_MAX) {
      status = leat_kernel_invalid(c, "size is %lld, must be below 2^31 for out_type int32",
                                   (long long)size);
    } else {
      leat_tensor_data(output, int32_t)[d] = (int32_t)size;
    }
  }
  leat_tensor_release(&value);
  return status;
}

// ---- Updating -----------------------------------------------------------------------------------

static leat_status_t make_cell(void* data, leat_resource_t** out_resource) {
  (void)data;
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(leat_cell_create(LEAT_SV(""), NULL, &cell));
  *out_resource = &cell->resource;
  return leat_ok_status();
}

typedef struct assign_s {
  bool validate_shape;
} assign_t;

static leat_status_t assign_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "validate_shape", &((assign_t*)state)->validate_shape);
}

// Finds the cell that input 0 names, or makes it, and retains it.
static leat_status_t find_or_make_cell(leat_kernel_context_t* c, leat_cell_t** out_cell) {
  leat_status_t status = find_cell(c, out_cell);
  if (!status || leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  const leat_resource_handle_t* handle =
      *leat_tensor_data(leat_kernel_input(c, 0), leat_resource_handle_t*);
  leat_resource_t* resource;
  LEAT_RETURN_IF_ERROR(leat_resource_manager_find_or_make(c->services->resources,
                                                          handle->container, handle->name,
                                                          &leat_cell_kind, make_cell, NULL,
                                                          &resource));
  *out_cell = (leat_cell_t*)resource;
  return leat_ok_status();
}

// Checks that input 1 has the shape that |cell|, whose mutex the caller holds, may have.
static leat_status_t check_assigned(leat_kernel_context_t* c, const leat_cell_t* cell) {
  const assign_t* assign = leat_kernel_state(c);
  const leat_tensor_t* value = leat_kernel_input(c, 1);
  if (assign->validate_shape && cell->tensor.dtype &&
      !leat_shape_equal(&cell->tensor.shape, &value->shape)) {
    return leat_kernel_invalid(c, "value has shape %s, must be the variable's, %s",
                               LEAT_SHAPE_TEXT(&value->shape),
                               LEAT_SHAPE_TEXT(&cell->tensor.shape));
  }
  return leat_ok_status();
}

static leat_status_t assign_variable__cpu(leat_kernel_context_t* c) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(find_or_make_cell(c, &cell));
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = check_assigned(c, cell);
  if (!status) status = leat_update_assign(c, cell, 1);
  leat_mutex_unlock(&cell->mutex);
  leat_cell_release(cell);
  return status;
}

// The variable shares the value, in whichever memory that lies: an update that comes finds it
// shared and works on a copy.
static leat_status_t assign_variable__device(leat_kernel_context_t* c) {
  leat_cell_t* cell;
  const leat_tensor_t* value = leat_kernel_input(c, 1);
  LEAT_RETURN_IF_ERROR(find_or_make_cell(c, &cell));
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = check_assigned(c, cell);
  if (!status && cell->dtype && cell->dtype != value->dtype) {
    status = leat_kernel_invalid(c, "value has type %s, must be the variable's, %s",
                                 leat_dtype_name(value->dtype), leat_dtype_name(cell->dtype));
  }
  if (!status) leat_cell_set(cell, leat_tensor_share(value));
  leat_mutex_unlock(&cell->mutex);
  leat_cell_release(cell);
  return status;
}

// Adds |sign| * input 1 to the variable.
static leat_status_t add(leat_kernel_context_t* c, int sign) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(find_cell(c, &cell));
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = cell->tensor.dtype ? leat_update_add(c, cell, 1, sign) : no_value(c, 0);
  leat_mutex_unlock(&cell->mutex);
  leat_cell_release(cell);
  return status;
}

static leat_status_t assign_add_variable__cpu(leat_kernel_context_t* c) { return add(c, 1); }

static leat_status_t assign_sub_variable__cpu(leat_kernel_context_t* c) { return add(c, -1); }

// ---- Destroying ---------------------------------------------------------------------------------

typedef struct destroy_s {
  bool ignores_lookup_error;
} destroy_t;

static leat_status_t destroy_create(leat_kernel_creation_t* c, void* state) {
  destroy_t* destroy = state;
  return leat_kernel_attr_bool(c, "ignore_lookup_error", &destroy->ignores_lookup_error);
}

static leat_status_t destroy_resource__cpu(leat_kernel_context_t* c) {
  const destroy_t* destroy = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_resource_handle_t* handle = NULL;
  if (input->shape.element_count == 1) handle = *leat_tensor_data(input, leat_resource_handle_t*);
  if (!handle) {
    return leat_kernel_invalid(c, "resource has shape %s, must be the handle of a resource",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  leat_status_t status = leat_resource_manager_remove_named(
      c->services->resources, handle->container, handle->name, handle->type_name);
  if (status && destroy->ignores_lookup_error && leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  return status;
}

// In TensorFlow a variable may be in a mode in which every read copies. Here no read ever copies,
// because an update does not touch bytes that somebody holds; so there is nothing to disable, and
// the kernel only checks the handle.
static leat_status_t disable_copy_on_read__cpu(leat_kernel_context_t* c) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(find_cell(c, &cell));
  leat_cell_release(cell);
  return leat_ok_status();
}

#define NUMBERS                                                                              \
  "dtype: bfloat16, complex128, complex64, double, float, half, int16, int32, int64, int8, " \
  "uint16, uint32, uint64, uint8"

const leat_kernel_row_t leat_resource_variable_kernels_cpu[] = {
    {.op = "VarHandleOp",
     .device_type = "CPU",
     .create = handle_create,
     .destroy = handle_destroy,
     .state_bytes = sizeof(handle_t),
     .compute = var_handle__cpu},
    {.op = "ReadVariableOp", .device_type = "CPU", .compute = read_variable__cpu},
    {.op = "_VarHandlesOp",
     .device_type = "CPU",
     .create = handles_create,
     .destroy = handles_destroy,
     .state_bytes = sizeof(handles_t),
     .compute = var_handles__cpu},
    {.op = "_ReadVariablesOp", .device_type = "CPU", .compute = read_variables__cpu},
    {.op = "AssignVariableOp",
     .device_type = "CPU",
     .create = assign_create,
     .state_bytes = sizeof(assign_t),
     .compute = assign_variable__cpu},
    {.op = "AssignAddVariableOp",
     .device_type = "CPU",
     .constraints = NUMBERS,
     .compute = assign_add_variable__cpu},
    {.op = "AssignSubVariableOp",
     .device_type = "CPU",
     .constraints = NUMBERS,
     .compute = assign_sub_variable__cpu},
    {.op = "VarIsInitializedOp", .device_type = "CPU", .compute = var_is_initialized__cpu},
    {.op = "VariableShape", .device_type = "CPU", .compute = variable_shape__cpu},
    {.op = "DestroyResourceOp",
     .device_type = "CPU",
     .create = destroy_create,
     .state_bytes = sizeof(destroy_t),
     .compute = destroy_resource__cpu},
    {.op = "DisableCopyOnRead", .device_type = "CPU", .compute = disable_copy_on_read__cpu},
    LEAT_KERNEL_ROWS_END,
};

const leat_kernel_row_t leat_resource_variable_kernels_device[] = {
    {.op = "AssignVariableOp",
     .device_type = "",
     .host_memory = "resource",
     .create = assign_create,
     .state_bytes = sizeof(assign_t),
     .compute = assign_variable__device},
    LEAT_KERNEL_ROWS_END,
};
