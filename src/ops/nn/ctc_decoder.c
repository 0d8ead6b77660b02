// Definitions of the decoders of connectionist temporal classification (CTC): they turn scores of
// classes at each time into sequences of labels, which are sparse matrices because their lengths
// differ.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Sets the outputs of |count| paths: first the indices of all paths, then the values of all, then
// the dense shapes of all, and last the scores [batch, count].
static leat_status_t decoder_shape(leat_inference_t* c, int64_t count) {
  static const int64_t kIndices[] = {LEAT_DIM_UNKNOWN, 2};
  leat_partial_shape_t inputs, lengths, shapes[3], scores;
  int64_t dims[2] = {0, count};
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 3, &inputs));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &lengths));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(inputs, 1),
                                                leat_partial_shape_dim(lengths, 0), &dims[0]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, kIndices, &shapes[0]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &kIndices[0], &shapes[1]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &kIndices[1], &shapes[2]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &scores));
  for (int i = 0; i < 3 * (int)count; ++i) {
    leat_inference_set_output(c, i, shapes[i / (int)count]);
  }
  leat_inference_set_output(c, 3 * (int)count, scores);
  return leat_ok_status();
}

static leat_status_t beam_shape(leat_inference_t* c) {
  return decoder_shape(c, (c->node->output_count - 1) / 3);
}

static leat_status_t greedy_shape(leat_inference_t* c) { return decoder_shape(c, 1); }

const leat_op_row_t leat_ctc_decoder_ops[] = {
    {.name = "CTCBeamSearchDecoder",
     .inputs = "inputs: T; sequence_length: int32",
     .outputs = "decoded_indices: top_paths * int64; decoded_values: top_paths * int64; "
                "decoded_shape: top_paths * int64; log_probability: T",
     .attrs = "beam_width: int >= 1; top_paths: int >= 1; merge_repeated: bool = true; "
              "T: {float, double} = float",
     .shape = beam_shape,
     .gradient = leat_gradient_none,
     .doc = "The likeliest labels, sought among a limited number of beginnings."},
    {.name = "CTCGreedyDecoder",
     .inputs = "inputs: T; sequence_length: int32",
     .outputs = "decoded_indices: int64; decoded_values: int64; decoded_shape: int64; "
                "log_probability: T",
     .attrs = "merge_repeated: bool = false; blank_index: int = -1; T: {float, double} = float",
     .shape = greedy_shape,
     .gradient = leat_gradient_none,
     .doc = "The labels of the likeliest class at each time."},
    LEAT_OP_ROWS_END,
};
