// Definitions of the ops that reinterpret or decompress bytes in strings.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// The output has the shape of input 0 and one more dimension, |dim|.
static leat_status_t add_dim(leat_inference_t* c, int64_t dim) {
  leat_partial_shape_t vector, output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &dim, &vector));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, leat_inference_input(c, 0), vector, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t decode_raw_shape(leat_inference_t* c) { return add_dim(c, LEAT_DIM_UNKNOWN); }

static leat_status_t padded_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  int64_t item_bytes = (int64_t)leat_dtype_size(leat_node_attr_type(c->node, "out_type"));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  const leat_tensor_t* size = leat_inference_input_tensor(c, 1);
  if (!size) return add_dim(c, LEAT_DIM_UNKNOWN);
  int64_t bytes = *leat_tensor_data(size, const int32_t);
  if (bytes < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension size, given by scalar input 1, must be non-negative but is "
                            "%lld",
                            (long long)bytes);
  }
  if (bytes % item_bytes) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension size must be evenly divisible by %lld but is %lld",
                            (long long)item_bytes, (long long)bytes);
  }
  return add_dim(c, bytes / item_bytes);
}

const leat_op_row_t leat_raw_ops[] = {
    {.name = "DecodeRaw",
     .inputs = "bytes: string",
     .outputs = "output: out_type",
     .attrs = "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, "
              "complex64, complex128, bool, bfloat16}; little_endian: bool = true",
     .shape = decode_raw_shape,
     .gradient = leat_gradient_none,
     .doc = "The numbers whose bytes each string holds; all strings are as long."},
    {.name = "DecodePaddedRaw",
     .inputs = "input_bytes: string; fixed_length: int32",
     .outputs = "output: out_type",
     .attrs = "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, "
              "bfloat16}; little_endian: bool = true",
     .shape = padded_shape,
     .gradient = leat_gradient_none,
     .doc = "The numbers whose bytes each string holds, cut or filled with zeros to one length."},
    {.name = "DecodeCompressed",
     .inputs = "bytes: string",
     .outputs = "output: string",
     .attrs = "compression_type: string = ''",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "Each string decompressed, of ZLIB or GZIP."},
    LEAT_OP_ROWS_END,
};
