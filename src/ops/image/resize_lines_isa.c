// The loops of bilinear resizing (resize_lines_cpu.h), compiled for each instruction set. All but
// one go over consecutive floats, of which the compiler makes vector instructions. The columns of a
// line are the exception: a pixel has three floats mostly, at a place that a table says. They are
// mixed in steps of four floats, the last of which reads and writes a little of the next pixel;
// what is written there is overwritten by the next pixel. Where that would read beyond the line,
// and for pixels of many channels, a plain loop goes over the channels of each pixel.
#include "ops/image/resize_lines_cpu.h"

#define LANES 4
// From here on a pixel's channels are worth a loop of their own.
#define MANY_CHANNELS 16

// Four floats at any address of floats.
typedef float lanes_t __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

// ---- Scaling ------------------------------------------------------------------------------------

#define EACH(element) \
  for (int64_t i = 0; i < n; ++i) to[i] = (element)

static void scale_bytes(const uint8_t* from, int64_t n, leat_pixel_scaling_t scaling, float factor,
                        float* restrict to) {
  switch (scaling) {
    case LEAT_PIXELS_AS_THEY_ARE: EACH((float)from[i]); break;
    case LEAT_PIXELS_MULTIPLIED: EACH((float)from[i] * factor); break;
    case LEAT_PIXELS_DIVIDED: EACH((float)from[i] / factor); break;
  }
}

static void scale_floats(int64_t n, leat_pixel_scaling_t scaling, float factor, float* to) {
  switch (scaling) {
    case LEAT_PIXELS_AS_THEY_ARE: break;
    case LEAT_PIXELS_MULTIPLIED: EACH(to[i] * factor); break;
    case LEAT_PIXELS_DIVIDED: EACH(to[i] / factor); break;
  }
}

// ---- Mixing -------------------------------------------------------------------------------------

static inline void mix_four(const float* left, const float* right, float weight, float* to) {
  const lanes_t a = *(const lanes_t*)left, b = *(const lanes_t*)right;
  *(lanes_t*)to = a + (b - a) * weight;
}

// Mixes the first columns, as many as can be read in steps of four floats, and returns how many.
static inline __attribute__((always_inline)) int64_t mix_in_steps(
    const float* line, int64_t size, const leat_resize_column_t* columns, int64_t count,
    int64_t channels, int64_t step_floats, float* to) {
  int64_t x = 0;
  for (; x < count && columns[x].right + step_floats <= size; ++x, to += channels) {
    const float *left = line + columns[x].left, *right = line + columns[x].right;
    for (int64_t k = 0; k < step_floats; k += LANES) {
      mix_four(left + k, right + k, columns[x].weight, to + k);
    }
  }
  return x;
}

static void mix_channels(const float* left, const float* right, float weight, int64_t channels,
                         float* restrict to) {
  for (int64_t k = 0; k < channels; ++k) to[k] = left[k] + (right[k] - left[k]) * weight;
}

static void mix_columns(const float* line, int64_t size, const leat_resize_column_t* columns,
                        int64_t count, int64_t channels, float* to) {
  int64_t x = 0;
  if (channels <= LANES) {
    x = mix_in_steps(line, size, columns, count, channels, LANES, to);
  } else if (channels < MANY_CHANNELS) {
    x = mix_in_steps(line, size, columns, count, channels, (channels + LANES - 1) / LANES * LANES,
                     to);
  }
  for (to += x * channels; x < count; ++x, to += channels) {
    mix_channels(line + columns[x].left, line + columns[x].right, columns[x].weight, channels, to);
  }
}

static void mix_lines(const float* top, const float* bottom, float bottom_weight, int64_t n,
                      float* restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = top[i] + (bottom[i] - top[i]) * bottom_weight;
}

extern const leat_resize_loops_t LEAT_ISA_NAME(leat_resize_loops);
const leat_resize_loops_t LEAT_ISA_NAME(leat_resize_loops) = {
    .scale_bytes = scale_bytes,
    .scale_floats = scale_floats,
    .mix_columns = mix_columns,
    .mix_lines = mix_lines,
};
