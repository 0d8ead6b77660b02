// CPU kernels of TensorArrays that make an array or its gradient, or access one slot. TensorFlow
// has three versions of each op, which differ in the form of the handle; leat_slots_find reads all
// three, so that one kernel serves them. An array is a resource of its step: it is made anew in
// each step and released at its end, even when nothing closes it. The flow, a float without
// meaning, is an output of writes and an input of reads; the data dependence that it makes is what
// orders them. The slots themselves are in tensor_slots_cpu.c.
#include "kernel/handle.h"
#include "kernel/wait_queue.h"
#include "ops/kernel_rows.h"
#include "ops/list/tensor_slots_cpu.h"

leat_status_t leat_slots_find(leat_kernel_context_t* c, leat_slots_t** out_slots) {
  return leat_handle_find_of_step(c, 0, &leat_slots_kind, (leat_resource_t**)out_slots);
}

leat_status_t leat_slots_check_dtype(const leat_kernel_context_t* c, const leat_slots_t* slots,
                                     int dtype, const char* what) {
  if (leat_slots_dtype(slots) == dtype) return leat_ok_status();
  return leat_kernel_invalid(c, "TensorArray dtype is %s but Op %s dtype %s.",
                             leat_dtype_name(leat_slots_dtype(slots)), what,
                             leat_dtype_name(dtype));
}

// ---- Making -------------------------------------------------------------------------------------

typedef struct array_s {
  leat_slots_options_t options;
  leat_arena_t arena;
} array_t;

static leat_status_t array_create(leat_kernel_creation_t* c, void* state) {
  array_t* array = state;
  leat_partial_shape_t shape;
  leat_slots_options_t* o = &array->options;
  leat_arena_initialize(c->allocator, 256, &array->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "tensor_array_name", &o->name));
  if (o->name.size == 0) o->name = c->kernel->node_name;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&array->arena, o->name, &o->name));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "dtype", &o->dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "element_shape", &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "dynamic_size", &o->dynamic_size));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "clear_after_read", &o->clear_after_read));
  if (leat_attr_find(c->attrs, c->attr_count, LEAT_SV("identical_element_shapes"))) {
    LEAT_RETURN_IF_ERROR(
        leat_kernel_attr_bool(c, "identical_element_shapes", &o->identical_element_shapes));
  }
  return leat_partial_shape_create(shape.rank, shape.dims, &array->arena, &o->element_shape);
}

static void array_destroy(void* state) {
  array_t* array = state;
  if (array->arena.allocator) leat_arena_deinitialize(&array->arena);
}

// Outputs the handle of |slots| (moved), and a flow of 0 where the op has such an output.
static leat_status_t set_handle(leat_kernel_context_t* c, leat_slots_t* slots) {
  LEAT_RETURN_IF_ERROR(leat_handle_make_of_step(c, 0, (leat_resource_t*)slots));
  if (c->kernel->output_count < 2) return leat_ok_status();
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* flow;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &scalar, &flow));
  *leat_tensor_data(flow, float) = 0;
  return leat_ok_status();
}

static leat_status_t array__cpu(leat_kernel_context_t* c) {
  const array_t* array = leat_kernel_state(c);
  const leat_tensor_t* size = leat_kernel_input(c, 0);
  if (size->shape.rank != 0) {
    return leat_kernel_invalid(c, "TensorArray size must be scalar, but had shape: %s",
                               LEAT_SHAPE_TEXT(&size->shape));
  }
  int32_t count = *leat_tensor_data(size, const int32_t);
  if (count < 0) return leat_kernel_invalid(c, "size is %d, must be >= 0", count);
  static _Atomic(uint64_t) next_number = 0;
  leat_slots_options_t options = array->options;
  leat_slots_t* slots;
  options.number = next_number++;
  LEAT_RETURN_IF_ERROR(leat_slots_create(&options, count, &slots));
  return set_handle(c, slots);
}

// The attribute "source" of a gradient op: the name of the call that built the gradient.
typedef struct source_s {
  char* text;
  size_t size;
} source_t;

static leat_status_t gradient_create(leat_kernel_creation_t* c, void* state) {
  source_t* source = state;
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "source", &text));
  source->size = text.size;
  return leat_allocator_clone_string(leat_allocator_system(), text.data, text.size,
                                     &source->text);
}

static void gradient_destroy(void* state) {
  leat_allocator_free(leat_allocator_system(), ((source_t*)state)->text);
}

// Reads the sizes of input 2, where the op has it, which go before the sizes of the elements.
static leat_status_t read_prepended(const leat_kernel_context_t* c, leat_shape_t* out_shape) {
  *out_shape = leat_shape_scalar();
  if (c->kernel->input_count < 3) return leat_ok_status();
  const leat_tensor_t* sizes = leat_kernel_input(c, 2);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int64_t rank = sizes->shape.element_count;
  if (sizes->shape.rank > 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "shape_to_prepend has shape %s, must be a vector of sizes",
                               LEAT_SHAPE_TEXT(&sizes->shape));
  }
  for (int64_t i = 0; i < rank; ++i) dims[i] = leat_tensor_data(sizes, const int32_t)[i];
  return leat_shape_create((int)rank, dims, out_shape);
}

static leat_status_t gradient__cpu(leat_kernel_context_t* c) {
  const source_t* source = leat_kernel_state(c);
  leat_slots_t *slots, *gradient;
  leat_shape_t prepended;
  LEAT_RETURN_IF_ERROR(read_prepended(c, &prepended));
  leat_status_t status = leat_slots_find(c, &slots);
  if (!status) {
    status = leat_slots_gradient(slots, leat_string_view_make(source->text, source->size),
                                 &prepended, &gradient);
    leat_resource_release((leat_resource_t*)slots);
  }
  leat_shape_release(&prepended);
  return status ? status : set_handle(c, gradient);
}

// ---- One slot -----------------------------------------------------------------------------------

static leat_status_t read_index(const leat_kernel_context_t* c, int32_t* out_index) {
  const leat_tensor_t* index = leat_kernel_input(c, 1);
  if (index->shape.rank != 0) {
    return leat_kernel_invalid(c, "TensorArray index must be scalar, but had shape: %s",
                               LEAT_SHAPE_TEXT(&index->shape));
  }
  *out_index = *leat_tensor_data(index, const int32_t);
  return leat_ok_status();
}

// Inputs: handle, index, value, flow. The flow passes through to output 0.
static leat_status_t write__cpu(leat_kernel_context_t* c) {
  int32_t index;
  leat_slots_t* slots;
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(read_index(c, &index));
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = leat_slots_check_dtype(
      c, slots, leat_kernel_input(c, 2)->dtype, "is trying to write");
  if (!status) status = leat_kernel_keep_input(c, 2, &value);
  if (!status) status = leat_slots_write(slots, c, &index, 1, &value);
  leat_resource_release((leat_resource_t*)slots);
  if (!status) leat_kernel_pass_input(c, 3, 0);
  return status;
}

// Inputs: handle, index, flow, which only orders the read after writes.
static leat_status_t read__cpu(leat_kernel_context_t* c) {
  int32_t index;
  leat_slots_t* slots;
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(read_index(c, &index));
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = leat_slots_check_dtype(c, slots, c->kernel->output_types[0],
                                                "requested");
  if (!status) status = leat_slots_read(slots, c, &index, 1, &value);
  leat_resource_release((leat_resource_t*)slots);
  if (!status) leat_kernel_set_output(c, 0, value);
  return status;
}

// ---- The rest -----------------------------------------------------------------------------------

static leat_status_t size__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  int64_t size;
  bool dynamic;
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = leat_slots_size(slots, &size, &dynamic);
  leat_resource_release((leat_resource_t*)slots);
  return status ? status : leat_kernel_set_output_int32(c, 0, size);
}

static leat_status_t close__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_slots_close(slots);
  leat_resource_release((leat_resource_t*)slots);
  return leat_ok_status();
}

#define MAKER(name, create_fn, destroy_fn, state, fn)                      \
  LEAT_CPU_KERNEL(name, NULL, state, create_fn, fn, .destroy = destroy_fn)
#define KERNEL(name, types, fn) \
  {.op = name, .device_type = "CPU", .constraints = types, .compute = fn}
#define ARRAYS(v)                                                                         \
  MAKER("TensorArray" v, array_create, array_destroy, array_t, array__cpu),               \
  MAKER("TensorArrayGrad" v, gradient_create, gradient_destroy, source_t, gradient__cpu), \
  KERNEL("TensorArrayWrite" v, "T: " LEAT_SLOTS_TYPES ", resource, variant", write__cpu), \
  KERNEL("TensorArrayRead" v, "dtype: " LEAT_SLOTS_TYPES ", resource, variant", read__cpu), \
  KERNEL("TensorArraySize" v, NULL, size__cpu),                                           \
  KERNEL("TensorArrayClose" v, NULL, close__cpu)

const leat_kernel_row_t leat_tensor_array_kernels_cpu[] = {
    ARRAYS(""),
    ARRAYS("V2"),
    ARRAYS("V3"),
    MAKER("TensorArrayGradWithShape", gradient_create, gradient_destroy, source_t, gradient__cpu),
    LEAT_KERNEL_ROWS_END,
};
