// Definition of Mfcc: mel-frequency cepstral coefficients of spectrograms, [channels, times,
// frequencies] -> [channels, times, coefficients]. They describe what a voice says more than whose
// voice it is.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t mfcc_shape(leat_inference_t* c) {
  leat_partial_shape_t spectrogram, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &output));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 3, &spectrogram));
  int64_t dims[3] = {LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN,
                     leat_node_attr_int(c->node, "dct_coefficient_count", 13)};
  for (int i = 0; i < 2 && spectrogram.rank == 3; ++i) dims[i] = spectrogram.dims[i];
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 3, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

const leat_op_row_t leat_mfcc_ops[] = {
    {.name = "Mfcc",
     .inputs = "spectrogram: float; sample_rate: int32",
     .outputs = "output: float",
     .attrs = "upper_frequency_limit: float = 4000.0; lower_frequency_limit: float = 20.0; "
              "filterbank_channel_count: int = 40; dct_coefficient_count: int = 13",
     .shape = mfcc_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 3), LEAT_RULE_SCALAR(1)),
     .doc = "The mel-frequency cepstral coefficients of a spectrogram of squared magnitudes."},
    LEAT_OP_ROWS_END,
};
