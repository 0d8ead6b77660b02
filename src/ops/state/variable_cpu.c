// The CPU kernels of reference variables. The cell (kernel/resource.h) is found or made when the
// kernel is made, and kept by the kernel's state: in a step the kernel only gives a reference to
// it, without looking up any name. Nodes with the same container and name share one cell; without a
// shared_name the name is the node's. The cell outlives the kernel, because the container holds it
// too: so a variable keeps its value when a plan is made anew. Until the first assignment the cell
// has no value, unless its shape has no elements: there is nothing to initialize then.
#include "kernel/resource.h"
#include "ops/kernel_rows.h"

typedef struct variable_s {
  leat_cell_t* cell;
} variable_t;

// What make_cell needs to know, passed through the resource manager.
typedef struct cell_spec_s {
  leat_string_view_t name;
  leat_shape_t shape;
} cell_spec_t;

static leat_status_t make_cell(void* data, leat_resource_t** out_resource) {
  const cell_spec_t* spec = data;
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(leat_cell_create(spec->name, &spec->shape, &cell));
  *out_resource = &cell->resource;
  return leat_ok_status();
}

// Reads the shape that a first value must have if the assignment validates it. An unknown rank
// counts as a scalar, as in TensorFlow, whose Python then asks for no validation.
static leat_status_t declared_shape(leat_kernel_creation_t* c, leat_shape_t* out_shape) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "shape", &shape));
  *out_shape = leat_shape_scalar();
  return shape.rank < 0 ? leat_ok_status() : leat_partial_shape_to_full(shape, out_shape);
}

// Makes nodes that share a cell agree on its type, because each kernel relies on the type of its
// own node. INTERNAL when they do not.
static leat_status_t declare_dtype(leat_kernel_creation_t* c, leat_cell_t* cell) {
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "dtype", &dtype));
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&cell->mutex);
  if (!cell->dtype) {
    cell->dtype = dtype;
    if (cell->has_shape && cell->shape.element_count == 0) {
      status = leat_tensor_allocate(leat_buffer_source_host(), dtype, &cell->shape, &cell->tensor);
    }
  }
  int held = cell->dtype;
  leat_mutex_unlock(&cell->mutex);
  if (status || held == dtype) return status;
  return leat_make_status(LEAT_INTERNAL,
                          "Kernel creation failed for node '%.*s' (%.*s): dtype is %s, must be "
                          "that of the variable of this name, %s",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          leat_dtype_name(dtype), leat_dtype_name(held));
}

static leat_status_t variable_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t container, name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "container", &container));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "shared_name", &name));
  if (name.size == 0) name = c->kernel->node_name;
  cell_spec_t spec = {.name = c->kernel->node_name};
  LEAT_RETURN_IF_ERROR(declared_shape(c, &spec.shape));
  leat_resource_t* resource = NULL;
  leat_status_t status =
      leat_resource_manager_find_or_make(c->resources, container, name, &leat_cell_kind, make_cell,
                                         &spec, &resource);
  leat_shape_release(&spec.shape);
  ((variable_t*)state)->cell = (leat_cell_t*)resource;
  return status ? status : declare_dtype(c, (leat_cell_t*)resource);
}

static void variable_destroy(void* state) { leat_cell_release(((variable_t*)state)->cell); }

static leat_status_t variable__cpu(leat_kernel_context_t* c) {
  const variable_t* variable = leat_kernel_state(c);
  leat_kernel_set_output_ref(c, 0, variable->cell);
  return leat_ok_status();
}

static leat_status_t is_variable_initialized__cpu(leat_kernel_context_t* c) {
  leat_cell_t* cell = leat_kernel_input_ref(c, 0);
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  leat_mutex_lock(&cell->mutex);
  *leat_tensor_data(output, bool) = cell->tensor.dtype != 0;
  leat_mutex_unlock(&cell->mutex);
  return leat_ok_status();
}

#define VARIABLE_KERNEL(name)                                             \
  LEAT_CPU_KERNEL(name, NULL, variable_t, variable_create, variable__cpu, \
                  .destroy = variable_destroy)

const leat_kernel_row_t leat_variable_kernels_cpu[] = {
    VARIABLE_KERNEL("Variable"),
    VARIABLE_KERNEL("VariableV2"),
    {.op = "IsVariableInitialized",
     .device_type = "CPU",
     .compute = is_variable_initialized__cpu},
    LEAT_KERNEL_ROWS_END,
};
