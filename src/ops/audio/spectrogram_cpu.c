// CPU kernel of AudioSpectrogram.
//
//   input [frames, channels] -> [channels, windows, 1 + size / 2], magnitudes of frequencies
//
// Each window of a channel is multiplied by a Hann window, padded with zeros to |size|, a power of
// two, and Fourier transformed in double. The samples are real, so half the work can be saved:
// sample pairs (x[2j], x[2j + 1]) are taken as complex numbers z[j], and these are transformed.
// With E and O the transforms of the samples at even and at odd places,
//
//   Z[k] = E[k] + i O[k]      X[k] = E[k] + exp(-2 pi i k / size) O[k]
//
// E and O follow from Z[k] and the conjugate of Z[size / 2 - k]. The transform is the iterative one
// of Cooley and Tukey (1965). Windows are shared among threads by bands; a band has memory for one
// transform.
#include "ops/audio/spectrogram.h"

#include <math.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"

// A band is so many windows. It has memory of its own for the transform.
#define BAND_ROWS 16

typedef struct options_s {
  int64_t window, stride;
  bool is_squared;
} options_t;

typedef struct spectrogram_s {
  const options_t* options;
  const leat_tensor_t* input;     // [frames, channels]
  leat_tensor_t* output;          // [channels, rows, 1 + size / 2]
  // The size of a transform; the number of windows of one channel, and of all channels.
  int64_t size, rows, row_count;
  const double* weights;          // the Hann window
  const double* circle;           // cos and sin of -2 pi k / size, k < size / 2
  double* bands;                  // [bands, size]
} spectrogram_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  options_t* options = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "window_size", &options->window));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "stride", &options->stride));
  LEAT_RETURN_IF_ERROR(leat_spectrogram_check(options->window, options->stride));
  return leat_kernel_attr_bool(c, "magnitude_squared", &options->is_squared);
}

// ---- The transform ------------------------------------------------------------------------------

// Moves complex number i to the place that i's bits give in reverse order.
static void reverse_bits(double* z, int64_t count) {
  for (int64_t i = 0, k = 0; i < count; ++i) {
    if (i < k) {
      for (int part = 0; part < 2; ++part) {
        double moved = z[2 * i + part];
        z[2 * i + part] = z[2 * k + part];
        z[2 * k + part] = moved;
      }
    }
    int64_t bit = count / 2;
    for (; bit && (k & bit); bit /= 2) k ^= bit;
    k |= bit;
  }
}

// Transforms |count| complex numbers in place; |count| is a power of two. |circle| has |count|
// points on half a turn.
static void transform(const double* circle, double* z, int64_t count) {
  reverse_bits(z, count);
  for (int64_t half = 1; half < count; half *= 2) {
    for (int64_t first = 0; first < count; first += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        const double* turn = circle + 2 * k * (count / half);
        double *a = z + 2 * (first + k), *b = a + 2 * half;
        double re = b[0] * turn[0] - b[1] * turn[1], im = b[0] * turn[1] + b[1] * turn[0];
        b[0] = a[0] - re;
        b[1] = a[1] - im;
        a[0] += re;
        a[1] += im;
      }
    }
  }
}

// The squared magnitude of frequency |k| of 2 |count| real numbers, whose pairs |z| were
// transformed.
static double squared_magnitude(const double* circle, const double* z, int64_t count, int64_t k) {
  const double *a = z + 2 * (k % count), *b = z + 2 * ((count - k) % count);
  double even_re = (a[0] + b[0]) / 2, even_im = (a[1] - b[1]) / 2;
  double odd_re = (a[1] + b[1]) / 2, odd_im = (b[0] - a[0]) / 2;
  double cosine = k == count ? -1 : circle[2 * k], sine = k == count ? 0 : circle[2 * k + 1];
  double re = even_re + odd_re * cosine - odd_im * sine;
  double im = even_im + odd_re * sine + odd_im * cosine;
  return re * re + im * im;
}

// ---- The kernel ---------------------------------------------------------------------------------

// Computes window |row|, counted over all channels; |z| has room for s->size numbers.
static void compute_row(const spectrogram_t* s, int64_t row, double* z) {
  int64_t window = s->options->window, channels = leat_shape_dim(&s->input->shape, 1);
  int64_t half = s->size / 2;
  const float* from = leat_tensor_data(s->input, const float) +
                      row % s->rows * s->options->stride * channels + row / s->rows;
  for (int64_t i = 0; i < window; ++i) z[i] = (double)from[i * channels] * s->weights[i];
  for (int64_t i = window; i < s->size; ++i) z[i] = 0;
  transform(s->circle, z, half);
  float* to = leat_tensor_data(s->output, float) + row * (half + 1);
  for (int64_t k = 0; k <= half; ++k) {
    float squared = (float)squared_magnitude(s->circle, z, half, k);
    to[k] = s->options->is_squared ? squared : sqrtf(squared);
  }
}

static void compute_bands(void* data, int64_t begin, int64_t end) {
  const spectrogram_t* s = data;
  int64_t last = LEAT_MIN(end * BAND_ROWS, s->row_count);
  for (int64_t row = begin * BAND_ROWS; row < last; ++row) {
    compute_row(s, row, s->bands + row / BAND_ROWS * s->size);
  }
}

// |memory| holds the weights, the circle and the memory of the bands, in this order.
static void fill_tables(spectrogram_t* s, double* memory) {
  const double pi = atan(1) * 4;
  int64_t window = s->options->window, half = s->size / 2;
  s->weights = memory;
  for (int64_t i = 0; i < window; ++i) {
    *memory++ = 0.5 - 0.5 * cos(2 * pi * (double)i / (double)window);
  }
  s->circle = memory;
  for (int64_t k = 0; k < half; ++k) {
    *memory++ = cos(2 * pi * (double)k / (double)s->size);
    *memory++ = -sin(2 * pi * (double)k / (double)s->size);
  }
  s->bands = memory;
}

static leat_status_t spectrogram__cpu(leat_kernel_context_t* c) {
  const options_t* options = leat_kernel_state(c);
  spectrogram_t s = {.options = options, .input = leat_kernel_input(c, 0)};
  int64_t channels = leat_shape_dim(&s.input->shape, 1);
  s.size = leat_spectrogram_transform_size(options->window);
  s.rows = leat_spectrogram_row_count(leat_shape_dim(&s.input->shape, 0), options->window,
                                      options->stride);
  s.row_count = channels * s.rows;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(
      c, 0, 3, (int64_t[]){channels, s.rows, 1 + s.size / 2}, &s.output));
  if (s.row_count == 0) return leat_ok_status();
  int64_t bands = (s.row_count + BAND_ROWS - 1) / BAND_ROWS;
  leat_shape_t shape = leat_shape_vector(options->window + s.size * (1 + bands));
  leat_tensor_t memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &shape, &memory));
  fill_tables(&s, memory.data);
  leat_kernel_parallel_for(c, bands, BAND_ROWS * 20 * (double)s.size, compute_bands, &s);
  leat_tensor_release(&memory);
  return leat_ok_status();
}

const leat_kernel_row_t leat_spectrogram_kernels_cpu[] = {
    LEAT_CPU_KERNEL("AudioSpectrogram", NULL, options_t, create, spectrogram__cpu,
                    .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
