// CPU kernels of scoped allocators. The tensors lie in the array one behind the other, and each
// begins at a multiple of 64 bytes, as TensorFlow lays them out: whoever reads the whole array sees
// the same gaps, which are zeros here.
//
//   | tensor 0 | gap | tensor 1        | gap | tensor 2 ...
//   ^ 0              ^ a multiple of 64      ^ a multiple of 64
//
// The sizes come from attributes and inputs that a graph chose, so that each place is checked
// against the array before anything is copied.
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"

#define ALIGNMENT 64  // bytes, TensorFlow's kAllocatorAlignment

typedef struct places_s {
  const leat_attr_value_t* shapes;  // NULL: the op has none; borrowed from the graph
  leat_shape_t shape;               // of _ScopedAllocatorConcat
  bool reshapes;
} places_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &dtype));
  if (leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute T is %s, must be a type whose "
                            "elements are plain bytes", leat_dtype_name(dtype));
  }
  const leat_attr_value_t* shapes = leat_attr_find(c->attrs, c->attr_count, LEAT_SV("shapes"));
  for (uint32_t i = 0; shapes && i < shapes->count; ++i) {
    if (leat_partial_shape_is_full(shapes->shapes[i])) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "item %u of shapes is %s, must be fully known",
                            i, LEAT_PARTIAL_SHAPE_TEXT(shapes->shapes[i]));
  }
  ((places_t*)state)->shapes = shapes;
  return leat_ok_status();
}

static leat_status_t create_concat(leat_kernel_creation_t* c, void* state) {
  places_t* places = state;
  const leat_attr_value_t* shape;
  LEAT_RETURN_IF_ERROR(create(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "reshape", &places->reshapes));
  if (!places->reshapes) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "shape", &shape));
  return leat_partial_shape_to_full(shape->shape, &places->shape);
}
static void destroy(void* state) { leat_shape_release(&((places_t*)state)->shape); }

// Makes |*inout_bytes|, where a tensor of |count| elements of |item_bytes| begins, the place behind
// it. INVALID_ARGUMENT when that is no number of bytes.
static leat_status_t pass(const leat_kernel_context_t* c, int64_t count, size_t item_bytes,
                          int64_t* inout_bytes) {
  int64_t bytes;
  if (leat_checked_multiply(count, (int64_t)item_bytes, &bytes) &&
      leat_checked_add(bytes, ALIGNMENT - 1, &bytes) &&
      leat_checked_add(*inout_bytes, bytes / ALIGNMENT * ALIGNMENT, inout_bytes)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "the tensors have too many bytes, must have fewer than 2^63");
}

// INVALID_ARGUMENT unless tensor |index| of |count| elements from byte |at| on lies in |array|.
static leat_status_t check_place(const leat_kernel_context_t* c, const leat_tensor_t* array,
                                 int index, int64_t at, int64_t count) {
  const int64_t whole = array->shape.element_count * (int64_t)leat_dtype_size(array->dtype);
  if (at <= whole && count <= (whole - at) / (int64_t)leat_dtype_size(array->dtype)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "tensor %d has %lld elements from byte %lld on, must lie in the "
                             "array, which has %lld bytes", index, (long long)count, (long long)at,
                             (long long)whole);
}

static leat_status_t scoped_allocator__cpu(leat_kernel_context_t* c) {
  const leat_attr_value_t* shapes = ((const places_t*)leat_kernel_state(c))->shapes;
  const size_t item_bytes = leat_dtype_size(c->kernel->output_types[0]);
  int64_t bytes = 0;
  for (uint32_t i = 0; i < shapes->count; ++i) {
    leat_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(shapes->shapes[i], &shape));
    const int64_t count = shape.element_count;
    leat_shape_release(&shape);
    LEAT_RETURN_IF_ERROR(pass(c, count, item_bytes, &bytes));
  }
  leat_tensor_t* array;
  const int64_t count = bytes / (int64_t)item_bytes;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 1, &count, &array));
  leat_tensor_fill_zero(array);
  return leat_ok_status();
}

static leat_status_t concat__cpu(leat_kernel_context_t* c) {
  const places_t* places = leat_kernel_state(c);
  const leat_tensor_t* backing = leat_kernel_input(c, 0);
  const leat_shape_t* shape = places->reshapes ? &places->shape : &backing->shape;
  leat_tensor_t* output;
  if (shape->element_count != backing->shape.element_count) {
    return leat_kernel_invalid(c, "shape is %s, must have the %lld elements of backing",
                               LEAT_SHAPE_TEXT(shape), (long long)backing->shape.element_count);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, shape, &output));
  if (output->data != backing->data && backing->shape.element_count > 0) {
    memcpy(output->data, backing->data, leat_tensor_size_bytes(backing));
  }
  int64_t at = 0;
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    const int64_t count = input->shape.element_count;
    LEAT_RETURN_IF_ERROR(check_place(c, output, i - 1, at, count));
    if (count > 0) memcpy((char*)output->data + at, input->data, leat_tensor_size_bytes(input));
    LEAT_RETURN_IF_ERROR(pass(c, count, leat_dtype_size(input->dtype), &at));
  }
  return leat_ok_status();
}

static leat_status_t split__cpu(leat_kernel_context_t* c) {
  const leat_attr_value_t* shapes = ((const places_t*)leat_kernel_state(c))->shapes;
  const leat_tensor_t* array = leat_kernel_input(c, 0);
  int64_t at = 0;
  for (int i = 0; i < c->kernel->output_count && i < (int)shapes->count; ++i) {
    leat_tensor_t* output;
    const leat_partial_shape_t shape = shapes->shapes[i];
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, i, shape.rank, shape.dims, &output));
    const int64_t count = output->shape.element_count;
    LEAT_RETURN_IF_ERROR(check_place(c, array, i, at, count));
    if (count > 0) {
      memcpy(output->data, (const char*)array->data + at, leat_tensor_size_bytes(output));
    }
    LEAT_RETURN_IF_ERROR(pass(c, count, leat_dtype_size(output->dtype), &at));
  }
  return leat_ok_status();
}

const leat_kernel_row_t leat_scoped_allocator_kernels_cpu[] = {
    LEAT_CPU_KERNEL("_ScopedAllocator", NULL, places_t, create, scoped_allocator__cpu),
    LEAT_CPU_KERNEL("_ScopedAllocatorConcat", NULL, places_t, create_concat, concat__cpu,
                    .destroy = destroy),
    LEAT_CPU_KERNEL("_ScopedAllocatorSplit", NULL, places_t, create, split__cpu),
    LEAT_KERNEL_ROWS_END,
};
