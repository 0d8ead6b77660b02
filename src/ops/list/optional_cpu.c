// CPU kernels of optionals, which are variants that hold some tensors or nothing (boxed_tensors.h).
// An optional is never changed once it is made, so copies share it, and getting its value shares
// the tensors. OptionalGetValue checks each component against the node's output_types and
// output_shapes, because an optional does not carry types that the graph could check when it is
// built. Optionals without a value come from branches that were not taken; asking such an optional
// for its value fails with INVALID_ARGUMENT.
#include "kernel/boxed_tensors.h"
#include "ops/kernel_rows.h"

// Makes output 0 an optional with room for |count| tensors, which the caller fills in.
static leat_status_t make_optional(leat_kernel_context_t* c, bool has_value, int count,
                                   leat_boxed_tensors_t** out_box) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_boxed_tensors_create(&leat_optional_vtable, has_value, count, output->data, out_box);
}

static leat_status_t none__cpu(leat_kernel_context_t* c) {
  leat_boxed_tensors_t* box;
  return make_optional(c, false, 0, &box);
}

static leat_status_t from_value__cpu(leat_kernel_context_t* c) {
  leat_boxed_tensors_t* box;
  int count = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(make_optional(c, true, count, &box));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, i, &box->items[i]));
  }
  return leat_ok_status();
}

// Borrows the optional in input 0.
static leat_status_t input_optional(const leat_kernel_context_t* c,
                                    const leat_boxed_tensors_t** out_box) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  *out_box = input->shape.rank == 0 ? leat_boxed_tensors_of(input->data, &leat_optional_vtable)
                                    : NULL;
  if (*out_box) return leat_ok_status();
  return leat_kernel_invalid(c, "Input must be an Optional object of shape []; its shape is %s",
                             LEAT_SHAPE_TEXT(&input->shape));
}

static leat_status_t has_value__cpu(leat_kernel_context_t* c) {
  const leat_boxed_tensors_t* box;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(input_optional(c, &box));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, bool) = box->has_value;
  return leat_ok_status();
}

// The attribute output_shapes of OptionalGetValue, copied into |arena|.
typedef struct shapes_s {
  leat_arena_t arena;
  leat_partial_shape_t* shapes;
} shapes_t;

// Copies the attribute output_shapes, with which get_value__cpu compares.
static leat_status_t get_value_create(leat_kernel_creation_t* c, void* state) {
  shapes_t* kept = state;
  const leat_attr_value_t* shapes;
  leat_arena_initialize(c->allocator, 256, &kept->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "output_shapes", &shapes));
  if ((int)shapes->count != c->kernel->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "output_types and output_shapes must be same length, got:\n"
                            "output_types: %d\noutput_shapes: %u",
                            c->kernel->output_count, shapes->count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&kept->arena, shapes->count + 1, &kept->shapes));
  for (uint32_t i = 0; i < shapes->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create(shapes->shapes[i].rank,
                                                   shapes->shapes[i].dims, &kept->arena,
                                                   &kept->shapes[i]));
  }
  return leat_ok_status();
}

static void get_value_destroy(void* state) {
  shapes_t* kept = state;
  if (kept->arena.allocator) leat_arena_deinitialize(&kept->arena);
}

// Gives the tensors of an optional, once their number, types and shapes are those that the node
// states.
static leat_status_t get_value__cpu(leat_kernel_context_t* c) {
  const shapes_t* kept = leat_kernel_state(c);
  const leat_boxed_tensors_t* box;
  LEAT_RETURN_IF_ERROR(input_optional(c, &box));
  if (!box->has_value) {
    return leat_kernel_invalid(c, "The given optional does not have a value.");
  }
  if (box->count != c->kernel->output_count) {
    return leat_kernel_invalid(c, "The given optional has %d components, expected %d.",
                               box->count, c->kernel->output_count);
  }
  for (int i = 0; i < box->count; ++i) {
    const leat_tensor_t* item = &box->items[i];
    if (item->dtype != (int32_t)leat_dtype_base(c->kernel->output_types[i])) {
      return leat_kernel_invalid(c, "The given optional does not match the expected type for "
                                 "component %d. Expected: %s. Actual: %s.",
                                 i, leat_dtype_name(c->kernel->output_types[i]),
                                 leat_dtype_name(item->dtype));
    }
    if (!leat_partial_shape_admits(kept->shapes[i], &item->shape)) {
      return leat_kernel_invalid(c, "The given optional does not match the expected shape for "
                                 "component %d. Expected: %s. Actual: %s.",
                                 i, LEAT_PARTIAL_SHAPE_TEXT(kept->shapes[i]),
                                 LEAT_SHAPE_TEXT(&item->shape));
    }
    leat_kernel_set_output(c, i, leat_tensor_share(item));
  }
  return leat_ok_status();
}

#define KERNEL(op_name, fn) {.op = op_name, .device_type = "CPU", .compute = fn##__cpu}

const leat_kernel_row_t leat_optional_kernels_cpu[] = {
    KERNEL("OptionalNone", none),
    KERNEL("OptionalFromValue", from_value),
    KERNEL("OptionalHasValue", has_value),
    {.op = "OptionalGetValue",
     .device_type = "CPU",
     .create = get_value_create,
     .destroy = get_value_destroy,
     .state_bytes = sizeof(shapes_t),
     .compute = get_value__cpu},
    LEAT_KERNEL_ROWS_END,
};
