// The kernel of DecodeJSONExample: each string is an Example in protocol buffers' JSON mapping, and
// becomes the same message in wire format.
#include "formats/generated/example.h"
#include "formats/wire/json_wire.h"
#include "ops/kernel_rows.h"

static leat_status_t decode_all(const leat_tensor_t* input, leat_tensor_t* output,
                                leat_string_builder_t* text) {
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    text->size = 0;
    LEAT_RETURN_IF_ERROR(leat_json_to_wire(&leat_pb_example_descriptor,
                                           leat_tensor_string_at(input, i), text));
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, leat_string_builder_view(text)));
  }
  return leat_ok_status();
}

static leat_status_t decode__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = decode_all(input, output, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

const leat_kernel_row_t leat_json_example_kernels_cpu[] = {
    {.op = "DecodeJSONExample", .device_type = "CPU", .compute = decode__cpu, .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
