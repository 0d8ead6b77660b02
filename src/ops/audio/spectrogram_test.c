// Spectrograms, the MFCC features that are made of them, and what the WAV ops refuse.
// AudioSpectrogram uses a fast Fourier transform; the reference evaluates the definition frequency
// by frequency, also for a window that is no power of two and is therefore padded. A sound that is
// shorter than the window gives no rows, which is no error. Mfcc is compared on one row of 16
// frequencies, and gives zeros where the sample rate is so low that all bands lie beyond the
// spectrum. Whole WAV files are tested in formats/media/wav_test.c.
#include <math.h>

#include "op_harness/op_harness.h"

#define RATE(value) LEAT_SCALAR_ITEM(INT32, value)
#define SPECTRUM \
  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 16), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
#define WAVE LEAT_ITEMS(FLOAT, LEAT_DIMS(8, 1), 0, 1, 0, -1, 0, 1, 0, -1)
#define DIVIDED(window, stride) \
  LEAT_CASE_INT("window_size", window), LEAT_CASE_INT("stride", stride)
#define COUNTS(bands, coefficients)                 \
  LEAT_CASE_INT("filterbank_channel_count", bands), \
      LEAT_CASE_INT("dct_coefficient_count", coefficients)

// The definition, frequency by frequency.
static void spectrogram_reference(const leat_reference_t* r) {
  const double pi = acos(-1);
  const int64_t* dims = leat_shape_dims(&r->outputs[0].shape);
  int64_t size = 2 * (dims[2] - 1), window = r->op_case->attrs[0].value.i;
  int64_t stride = r->op_case->attrs[1].value.i;
  for (int64_t i = 0; i < dims[0] * dims[1] * dims[2]; ++i) {
    int64_t channel = i / dims[2] / dims[1], row = i / dims[2] % dims[1], k = i % dims[2];
    double re = 0, im = 0;
    for (int64_t t = 0; t < window; ++t) {
      double weight = 0.5 - 0.5 * cos(2 * pi * (double)t / (double)window);
      double x = weight * r->in[0][(row * stride + t) * dims[0] + channel];
      re += x * cos(2 * pi * (double)(k * t) / (double)size);
      im -= x * sin(2 * pi * (double)(k * t) / (double)size);
    }
    r->out[0][i] = hypot(re, im);
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "AudioSpectrogram",
     .attrs = {DIVIDED(4, 2), LEAT_CASE_BOOL("magnitude_squared", true)},
     .inputs = {WAVE},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 3), 0, 1, 0, 0, 1, 0, 0, 1, 0)}},
    {.op = "AudioSpectrogram",
     .name = "two channels, many rows, a window that is no power of two",
     .attrs = {DIVIDED(25, 5)},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(160, 2), -1, 1)},
     .reference = spectrogram_reference},
    {.op = "AudioSpectrogram",
     .name = "the least window",
     .attrs = {DIVIDED(2, 3)},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(9, 1), -1, 1)},
     .reference = spectrogram_reference},
    {.op = "AudioSpectrogram",
     .name = "less than a window",
     .attrs = {DIVIDED(16, 1)},
     .inputs = {WAVE},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0, 9))}},
    {.op = "AudioSpectrogram",
     .name = "no stride",
     .attrs = {DIVIDED(4, 0)},
     .inputs = {WAVE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "stride"},
    {.op = "Mfcc",
     .attrs = {COUNTS(4, 3), LEAT_CASE_REAL("upper_frequency_limit", 3500)},
     .inputs = {SPECTRUM, RATE(8000)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 3), 4.602292060852051, -1.3397486209869385,
                             -0.05841072276234627)}},
    {.op = "Mfcc",
     .name = "limits beyond the spectrum",
     .attrs = {COUNTS(4, 3)},
     .inputs = {SPECTRUM, RATE(4000)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 3), 0, 0, 0)}},
    {.op = "Mfcc",
     .name = "more coefficients than bands",
     .attrs = {COUNTS(3, 4)},
     .inputs = {SPECTRUM, RATE(8000)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Mfcc",
     .name = "no sample rate",
     .inputs = {SPECTRUM, RATE(0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "DecodeWav",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "RIFF")},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "DecodeWav",
     .name = "fewer channels than none",
     .attrs = {LEAT_CASE_INT("desired_channels", -2)},
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "desired_channels"},
    {.op = "EncodeWav",
     .name = "a rate below none",
     .inputs = {WAVE, RATE(-1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
