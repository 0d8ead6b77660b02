// Definitions of the ops that turn bytes in strings into values and back: numbers as they lie in
// memory, compressed strings, lines of comma-separated values, and serialized messages.
//
//   DecodeRaw, DecodePaddedRaw  bytes [...] -> [..., numbers]
//   DecodeCompressed            bytes [...] -> bytes [...]
//   DecodeCSV                   records [...] -> one tensor [...] for each column
//   ParseTensor                 a TensorProto -> the tensor that it holds
//   SerializeTensor             a tensor -> a TensorProto
//   DecodeProtoV2               messages [...] -> how many values each field has [..., fields], and
//                               the values of each field [..., the most values of a message]
//   EncodeProto                 values [..., values of the field] -> messages [...]
//
// Where a string stands for several numbers or values, these are one more dimension behind the
// shape of the strings. Its size depends on the bytes, which a shape function does not see, so it
// stays unknown; only DecodePaddedRaw has it as an input, which may be a constant. Shape functions
// open no file either: the type of a message is looked up when the kernel is made. Bytes cannot be
// differentiated, therefore a gradient that reaches one of these ops ends there without an error.
// ops/families.c names the table for the registry of ops.
//
// The kernels are in raw_cpu.c, csv_cpu.c, serialized_tensor_cpu.c, decode_proto_cpu.c and
// encode_proto_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Numbers and compressed strings -------------------------------------------------------------

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

// ---- Comma-separated values ---------------------------------------------------------------------

static leat_status_t decode_csv_shape(leat_inference_t* c) {
  for (int i = 1; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t shape = leat_inference_input(c, i);
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, shape, 1));
    if (shape.rank == 1 && leat_partial_shape_dim(shape, 0) > 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape of a default must be a length-0 or length-1 vector, or a "
                              "scalar.");
    }
  }
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_inference_set_output(c, i, leat_inference_input(c, 0));
  }
  return leat_ok_status();
}

// ---- Messages of any type -----------------------------------------------------------------------

// Nothing is known of the type, and so of the number of values, before the kernel is made.
static leat_status_t decode_proto_shape(leat_inference_t* c) {
  const int64_t fields = c->node->output_count - 1, unknown = LEAT_DIM_UNKNOWN;
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_partial_shape_t vector, output;
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, i == 0 ? &fields : &unknown, &vector));
    LEAT_RETURN_IF_ERROR(
        leat_inference_concatenate(c, leat_inference_input(c, 0), vector, &output));
    leat_inference_set_output(c, i, output);
  }
  return leat_ok_status();
}

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

const leat_op_row_t leat_decode_ops[] = {
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
    {.name = "DecodeCSV",
     .inputs = "records: string; record_defaults: OUT_TYPE",
     .outputs = "output: OUT_TYPE",
     .attrs = "OUT_TYPE: list({float, double, int32, int64, string}) >= 1; "
              "field_delim: string = ','; use_quote_delim: bool = true; na_value: string = ''; "
              "select_cols: list(int) = []",
     .shape = decode_csv_shape,
     .gradient = leat_gradient_none,
     .doc = "The fields of each line, a tensor a column."},
    {.name = "ParseTensor",
     .inputs = "serialized: string",
     .outputs = "output: out_type",
     .attrs = "out_type: type",
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_none,
     .doc = "The tensor that a TensorProto holds."},
    {.name = "SerializeTensor",
     .inputs = "tensor: T",
     .outputs = "serialized: string",
     .attrs = "T: type",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "The tensor as a TensorProto."},
    {.name = "DecodeProtoV2",
     .inputs = "bytes: string",
     .outputs = "sizes: int32; values: output_types",
     .attrs = "message_type: string; field_names: list(string); output_types: list(type) >= 0; "
              "descriptor_source: string = 'local://'; message_format: string = 'binary'; "
              "sanitize: bool = false",
     .shape = decode_proto_shape,
     .gradient = leat_gradient_none,
     .doc = "The values of some fields of messages whose type a descriptor file holds."},
    {.name = "EncodeProto",
     .inputs = "sizes: int32; values: Tinput_types",
     .outputs = "bytes: string",
     .attrs = "field_names: list(string); message_type: string; descriptor_source: string = "
              "'local://'; Tinput_types: list(type) >= 1",
     .shape = encode_shape,
     .gradient = leat_gradient_none,
     .doc = "Messages of the given fields, whose type a descriptor file holds."},
    LEAT_OP_ROWS_END,
};
