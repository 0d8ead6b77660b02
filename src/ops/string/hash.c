// Definitions of hashes of strings: buckets for embedding tables, and fingerprints of rows.
//
//   StringToHashBucket*  strings -> int64 in [0, num_buckets), of the same shape
//   Fingerprint          data [rows, ...], method [] -> [rows, 8] uint8
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// The only method has eight bytes; the output's width is known once the method is.
static leat_status_t fingerprint_shape(leat_inference_t* c) {
  leat_partial_shape_t data = leat_inference_input(c, 0), scalar, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, data, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  const leat_tensor_t* method = leat_inference_input_tensor(c, 1);
  if (method && !leat_string_view_equals(leat_tensor_string_at(method, 0), "farmhash64")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Unsupported method: %.*s",
                            LEAT_SV_ARG(leat_tensor_string_at(method, 0)));
  }
  int64_t dims[] = {data.rank > 0 ? data.dims[0] : LEAT_DIM_UNKNOWN,
                    method ? 8 : LEAT_DIM_UNKNOWN};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

#define BUCKETS "num_buckets: int >= 1"

const leat_op_row_t leat_hash_ops[] = {
    {.name = "StringToHashBucketFast",
     .inputs = "input: string",
     .outputs = "output: int64",
     .attrs = BUCKETS,
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bucket of each string's fingerprint."},
    {.name = "StringToHashBucketStrong",
     .inputs = "input: string",
     .outputs = "output: int64",
     .attrs = BUCKETS "; key: list(int)",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bucket of each string's hash under a secret key."},
    {.name = "StringToHashBucket",
     .inputs = "string_tensor: string",
     .outputs = "output: int64",
     .attrs = BUCKETS,
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bucket of each string's older fingerprint."},
    {.name = "Fingerprint",
     .inputs = "data: T; method: string",
     .outputs = "fingerprint: uint8",
     .attrs = "T: type",
     .shape = fingerprint_shape,
     .doc = "The eight bytes of the fingerprint of each row."},
    LEAT_OP_ROWS_END,
};
