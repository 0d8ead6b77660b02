// Definitions of DecodeWav and EncodeWav: contents of a WAV file <-> audio [frames, channels],
// sample rate. Decoding may be asked for a fixed number of frames or channels, which makes the
// shape known.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Gives a dimension that an attribute fixes, or -1 (unknown), which leaves it to the file.
static leat_status_t wanted_dim(const leat_inference_t* c, const char* attr, int64_t* out_dim) {
  *out_dim = leat_node_attr_int(c->node, attr, -1);
  if (*out_dim >= -1) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s must be non-negative, got %lld", attr,
                          (long long)*out_dim);
}

static leat_status_t decode_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  int64_t dims[2];
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &shape));
  LEAT_RETURN_IF_ERROR(wanted_dim(c, "desired_samples", &dims[0]));
  LEAT_RETURN_IF_ERROR(wanted_dim(c, "desired_channels", &dims[1]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  leat_inference_set_output(c, 1, leat_partial_shape_scalar());
  return leat_ok_status();
}

static leat_status_t encode_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &shape));
  return leat_shape_scalar_output(c);
}

const leat_op_row_t leat_wav_ops[] = {
    {.name = "DecodeWav",
     .inputs = "contents: string",
     .outputs = "audio: float; sample_rate: int32",
     .attrs = "desired_channels: int = -1; desired_samples: int = -1",
     .shape = decode_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(0)),
     .doc = "The samples of a WAV file, and how many make a second."},
    {.name = "EncodeWav",
     .inputs = "audio: float; sample_rate: int32",
     .outputs = "contents: string",
     .shape = encode_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 2), LEAT_RULE_SCALAR(1)),
     .doc = "Samples as a WAV file."},
    LEAT_OP_ROWS_END,
};
