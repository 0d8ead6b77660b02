// The CPU kernel of Assert. A false condition fails the step with INVALID_ARGUMENT and a message
// that shows the first elements of the data inputs.
#include "ops/control/summarize_cpu.h"
#include "ops/kernel_rows.h"
#include "tensor/tensor_print.h"

typedef struct assert_s {
  int64_t summarize;
} assert_t;

static leat_status_t assert_create(leat_kernel_creation_t* c, void* state) {
  return leat_summarize_attr(c, &((assert_t*)state)->summarize);
}

static LEAT_COLD leat_status_t failed(const leat_kernel_context_t* c) {
  const assert_t* own = leat_kernel_state(c);
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    leat_string_builder_append(&text, i == 1 ? LEAT_SV("[") : LEAT_SV(" ["));
    leat_tensor_print_elements(leat_kernel_input(c, i), own->summarize, &text);
    leat_string_builder_append_char(&text, ']');
  }
  leat_status_t status = text.status;
  text.status = leat_ok_status();
  if (!status) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT, "assertion failed: %.*s",
                              LEAT_SV_ARG(leat_string_builder_view(&text)));
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t assert__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* condition = leat_kernel_input(c, 0);
  if (LEAT_UNLIKELY(condition->shape.rank != 0)) {
    return leat_kernel_invalid(c, "condition has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&condition->shape));
  }
  return LEAT_LIKELY(*leat_tensor_data(condition, const bool)) ? leat_ok_status() : failed(c);
}

const leat_kernel_row_t leat_assert_kernels_cpu[] = {
    {.op = "Assert",
     .device_type = "CPU",
     .create = assert_create,
     .state_bytes = sizeof(assert_t),
     .compute = assert__cpu},
    LEAT_KERNEL_ROWS_END,
};
