// Definitions of the ops on sound, from the file to the features by which speech is recognised.
//
//   DecodeWav         contents of a WAV file [] -> audio [frames, channels], sample rate []
//   EncodeWav         audio [frames, channels], sample rate [] -> contents []
//   AudioSpectrogram  audio [frames, channels] -> [channels, windows, 1 + transform size / 2]
//   Mfcc              spectrogram [channels, windows, frequencies], sample rate [] ->
//                     [channels, windows, coefficients]
//
// Shapes are checked here as far as the graph knows them; what only the file knows, such as how
// many frames it has, stays unknown. The ranks that kernels rely on stand in the contracts of the
// rows as well, because a value may come from a feed whose shape nobody inferred. No op has a
// gradient. The kernels are in wav_cpu.c, spectrogram_cpu.c and mfcc_cpu.c.
#include "graph/inference/inference.h"
#include "ops/audio/spectrogram.h"
#include "ops/op_rows.h"

// ---- WAV files ----------------------------------------------------------------------------------
// Decoding may be asked for a fixed number of frames or channels, which makes the shape known.

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

// ---- Spectrograms -------------------------------------------------------------------------------
// A spectrogram says how much of each frequency there is in a sound, window by window.

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

// ---- Mel-frequency cepstral coefficients --------------------------------------------------------
// They describe what a voice says more than whose voice it is.

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

const leat_op_row_t leat_audio_ops[] = {
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
    {.name = "AudioSpectrogram",
     .inputs = "input: float",
     .outputs = "spectrogram: float",
     .attrs = "window_size: int; stride: int; magnitude_squared: bool = false",
     .shape = spectrogram_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 2)),
     .doc = "The magnitudes of a sound's frequencies, window by window."},
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
