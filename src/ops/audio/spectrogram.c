// Definition of AudioSpectrogram: how much of each frequency there is in a sound, window by window.
//
//   input [frames, channels] -> [channels, windows, 1 + transform size / 2]
#include "ops/audio/spectrogram.h"

#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t check_attr(const char* name, int64_t value, int64_t least) {
  if (value >= least && value <= INT32_MAX) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s is %lld, must be at least %lld and below 2^31",
                          name, (long long)value, (long long)least);
}

leat_status_t leat_spectrogram_check(int64_t window, int64_t stride) {
  LEAT_RETURN_IF_ERROR(check_attr("window_size", window, 2));
  return check_attr("stride", stride, 1);
}

static leat_status_t spectrogram_shape(leat_inference_t* c) {
  leat_partial_shape_t input, output;
  int64_t window = leat_node_attr_int(c->node, "window_size", 0);
  int64_t stride = leat_node_attr_int(c->node, "stride", 0);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &input));
  LEAT_RETURN_IF_ERROR(leat_spectrogram_check(window, stride));
  int64_t dims[3] = {LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN,
                     1 + leat_spectrogram_transform_size(window) / 2};
  if (input.rank == 2) {
    dims[0] = input.dims[1];
    int64_t frames = input.dims[0];
    if (frames >= 0) dims[1] = leat_spectrogram_row_count(frames, window, stride);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 3, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

const leat_op_row_t leat_spectrogram_ops[] = {
    {.name = "AudioSpectrogram",
     .inputs = "input: float",
     .outputs = "spectrogram: float",
     .attrs = "window_size: int; stride: int; magnitude_squared: bool = false",
     .shape = spectrogram_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 2)),
     .doc = "The magnitudes of a sound's frequencies, window by window."},
    LEAT_OP_ROWS_END,
};
