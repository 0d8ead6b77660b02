// The CPU kernels of the placeholders. The kernel of one that must be fed runs only when it was
// not, and fails with the message that TensorFlow's users know; PlaceholderWithDefault gives its
// input, and FakeParam zeros.
#include <stdio.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"

typedef struct placeholder_state_s {
  char shape[160];
  int dtype;
} placeholder_state_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  placeholder_state_t* state = memory;
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(creation, "dtype", &state->dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(creation, "shape", &shape));
  leat_partial_shape_print(shape, state->shape, sizeof(state->shape));
  return leat_ok_status();
}

static leat_status_t placeholder__cpu(leat_kernel_context_t* c) {
  const placeholder_state_t* state = leat_kernel_state(c);
  bool has_rank = state->shape[0] == '[' && state->shape[1] != ']';
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "You must feed a value for placeholder tensor '%.*s' with dtype %s%s%s",
                          LEAT_SV_ARG(c->kernel->node_name), leat_dtype_name(state->dtype),
                          has_rank ? " and shape " : "", has_rank ? state->shape : "");
}

static leat_status_t pass__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

// Sizes that are not known are 0, and a shape of unknown rank is a scalar's.
static leat_status_t create_fake(leat_kernel_creation_t* creation, void* state) {
  leat_partial_shape_t shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(creation, "shape", &shape));
  int rank = LEAT_MAX(shape.rank, 0);
  for (int i = 0; i < rank; ++i) dims[i] = LEAT_MAX(shape.dims[i], 0);
  return leat_shape_create(rank, dims, state);
}

static void destroy_fake(void* state) { leat_shape_release(state); }

static leat_status_t fake__cpu(leat_kernel_context_t* c) {
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, leat_kernel_state(c), &output));
  if (output->shape.element_count > 0 && !leat_dtype_in(output->dtype, LEAT_DTYPES_OBJECT)) {
    memset(output->data, 0, leat_tensor_size_bytes(output));
  }
  return leat_ok_status();
}

const leat_kernel_row_t leat_placeholder_kernels_cpu[] = {
    LEAT_CPU_KERNEL("FakeParam", NULL, leat_shape_t, create_fake, fake__cpu,
                    .destroy = destroy_fake),
    {.op = "Placeholder",
     .device_type = "CPU",
     .create = create,
     .state_bytes = sizeof(placeholder_state_t),
     .compute = placeholder__cpu},
    {.op = "PlaceholderV2",
     .device_type = "CPU",
     .create = create,
     .state_bytes = sizeof(placeholder_state_t),
     .compute = placeholder__cpu},
    {.op = "PlaceholderWithDefault", .device_type = "CPU", .compute = pass__cpu},
    LEAT_KERNEL_ROWS_END,
};
