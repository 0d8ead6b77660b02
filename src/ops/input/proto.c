// Definition of EncodeProto, which serializes messages of any type. The op has no kernel: a kernel
// would need the descriptors of the message types, which TensorFlow has linked in. A graph that
// names the op can be read, and fails when it runs it.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// All values have the shape [places..., values of the field]; one message is made for each place.
static leat_status_t encode_shape(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_partial_shape_unknown(), places;
  for (int i = leat_inference_input_count(c) - 1; i > 0; --i) {
    leat_partial_shape_t values = leat_inference_input(c, i);
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, values, 2));
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, values, 0, -1, &places));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, places, shape, &shape));
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

const leat_op_row_t leat_proto_ops[] = {
    {.name = "EncodeProto",
     .inputs = "sizes: int32; values: Tinput_types",
     .outputs = "bytes: string",
     .attrs = "field_names: list(string); message_type: string; descriptor_source: string = "
              "'local://'; Tinput_types: list(type) >= 1",
     .shape = encode_shape,
     .doc = "Messages of the given fields. This library has no kernel for it."},
    LEAT_OP_ROWS_END,
};
