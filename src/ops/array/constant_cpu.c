// The CPU kernel of Const: it holds the tensor, and the outputs of all steps share its bytes.
#include "ops/kernel_rows.h"

typedef struct constant_state_s {
  leat_tensor_t value;
} constant_state_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  constant_state_t* state = memory;
  const leat_tensor_t* value;
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_tensor(creation, "value", &value));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(creation, "dtype", &dtype));
  if (value->dtype != dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Kernel creation failed for node '%.*s' (Const): type of value is %s, "
                            "must be dtype, which is %s",
                            LEAT_SV_ARG(creation->kernel->node_name),
                            leat_dtype_name(value->dtype), leat_dtype_name(dtype));
  }
  state->value = leat_tensor_share(value);
  return leat_ok_status();
}

static void destroy(void* memory) {
  constant_state_t* state = memory;
  leat_tensor_release(&state->value);
}

static leat_status_t constant__cpu(leat_kernel_context_t* c) {
  const constant_state_t* state = leat_kernel_state(c);
  leat_kernel_set_output(c, 0, leat_tensor_share(&state->value));
  return leat_ok_status();
}

const leat_kernel_row_t leat_constant_kernels_cpu[] = {
    {.op = "Const",
     .device_type = "CPU",
     .create = create,
     .destroy = destroy,
     .state_bytes = sizeof(constant_state_t),
     .compute = constant__cpu},
    LEAT_KERNEL_ROWS_END,
};
