// The transforms and products of Winograd's algorithm, compiled once per instruction set. A vector
// holds neighbouring channels of one place, so that the transforms, which mix places and never
// channels, are sums of vectors with constant weights.
//
// A transform of two dimensions is one along the columns followed by one along the rows. With the
// points 0, a, -a, b, -b and infinity the matrices are
//
//         | a2b2   0   -(a2+b2)  0   1   0 |            | 1/a2b2               0   0  |
//         |  0   -ab2    -b2     a   1   0 |            | (1,  a, a2) / 2 a2 (a2 - b2) |
//   B^T = |  0    ab2    -b2    -a   1   0 |        G = | (1, -a, a2) / 2 a2 (a2 - b2) |
//         |  0   -ba2    -a2     b   1   0 |            | (1,  b, b2) / 2 b2 (b2 - a2) |
//         |  0    ba2    -a2    -b   1   0 |            | (1, -b, b2) / 2 b2 (b2 - a2) |
//         |  0    a2b2    0   -(a2+b2) 0 1 |            | 0                    0   1  |
//
//   A^T: row j has the j-th powers of 0, a, -a, b, -b; the last column is 1 in the last row only.
//
// (a2 is a squared.) Rows of a point and its opposite share their even and their odd part.
// convolution_winograd.c calls the table.
#include "device/cpu/convolution_winograd.h"

#include "base/checked.h"
#include "device/cpu/vector_math_lanes.h"

// The rows of a product that are computed together: sums fill 24 of 32 registers, or 12 of 16.
#if defined(__AVX512F__) || defined(__aarch64__)
#define TILES 12
#else
#define TILES 6
#endif
#define PANEL (2 * LANES)
// Also in the baseline: sums whose loops are not unrolled do not stay in registers.
#define UNROLL _Pragma("GCC unroll 16")

#define A 0.625f
#define B 1.5f
#define A2 (A * A)
#define B2 (B * B)

// x + weight * y
ALWAYS_INLINE floats_t plus(floats_t x, float weight, floats_t y) {
  return multiply_add_floats(FLOATS(weight), y, x);
}

// Each transform is one along a column or a row.
ALWAYS_INLINE void transform_values(const floats_t* x, floats_t* out) {
  const floats_t x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4];
  const floats_t even_a = plus(x4, -B2, x2), odd_a = A * plus(x3, -B2, x1);
  const floats_t even_b = plus(x4, -A2, x2), odd_b = B * plus(x3, -A2, x1);
  out[0] = plus(plus(x4, -(A2 + B2), x2), A2 * B2, x[0]);
  out[1] = even_a + odd_a;
  out[2] = even_a - odd_a;
  out[3] = even_b + odd_b;
  out[4] = even_b - odd_b;
  out[5] = plus(plus(x[5], -(A2 + B2), x3), A2 * B2, x1);
}

// Reads and writes every |stride|-th vector.
ALWAYS_INLINE void transform_weights(const floats_t* g, int stride, floats_t* out) {
  const floats_t g0 = g[0], g1 = g[stride], g2 = g[2 * stride];
  const floats_t even_a = plus(g0, A2, g2) * (1 / (2 * A2 * (A2 - B2)));
  const floats_t odd_a = g1 * (A / (2 * A2 * (A2 - B2)));
  const floats_t even_b = plus(g0, B2, g2) * (1 / (2 * B2 * (B2 - A2)));
  const floats_t odd_b = g1 * (B / (2 * B2 * (B2 - A2)));
  out[0] = g0 * (1 / (A2 * B2));
  out[stride] = even_a + odd_a;
  out[2 * stride] = even_a - odd_a;
  out[3 * stride] = even_b + odd_b;
  out[4 * stride] = even_b - odd_b;
  out[5 * stride] = g2;
}

ALWAYS_INLINE void transform_products(const floats_t* m, floats_t* out) {
  const floats_t sum_a = m[1] + m[2], difference_a = m[1] - m[2];
  const floats_t sum_b = m[3] + m[4],
                 difference_b = m[3] - m[4];
  out[0] = m[0] + sum_a + sum_b;
  out[1] = plus(A * difference_a, B, difference_b);
  out[2] = plus(A2 * sum_a, B2, sum_b);
  out[3] = plus(plus(m[5], A2 * A, difference_a), B2 * B, difference_b);
}

// ---- The filter ---------------------------------------------------------------------------------

// The weights of filter place |place| from input channel |in| to output channels |out|, ...
ALWAYS_INLINE floats_t load_weights(const leat_winograd_t* w, const float* filter, int place,
                                    int64_t in, int64_t out) {
  if (!w->is_gradient) {
    return load_floats(filter + (place * w->in_channels + in) * w->out_channels + out);
  }
  // The filter is [9, out_channels, in_channels] here, and turned round.
  const float* from = filter + ((8 - place) * w->out_channels + out) * w->in_channels + in;
  floats_t weights;
  for (int lane = 0; lane < LANES; ++lane) weights[lane] = from[lane * w->in_channels];
  return weights;
}

// Transforms the weights from input channel |in| to output channels |out|, ..., a vector of them.
ALWAYS_INLINE void pack_weights(const leat_winograd_t* w, const float* filter, int64_t in,
                                int64_t out, int64_t plane, float* packed) {
  floats_t g[9], columns[18], u[36];
  UNROLL for (int i = 0; i < 9; ++i) g[i] = load_weights(w, filter, i, in, out);
  UNROLL for (int x = 0; x < 3; ++x) transform_weights(g + x, 3, columns + x);
  UNROLL for (int y = 0; y < 6; ++y) transform_weights(columns + 3 * y, 1, u + 6 * y);
  for (int i = 0; i < 36; ++i) store_floats(packed + i * plane, u[i]);
}

static void pack(const leat_winograd_t* w, const float* filter, float* packed) {
  const int64_t plane = w->in_channels * w->out_channels + LEAT_WINOGRAD_GAP;
  for (int64_t out = 0; out < w->out_channels; out += PANEL) {
    for (int64_t in = 0; in < w->in_channels; ++in, packed += PANEL) {
      pack_weights(w, filter, in, out, plane, packed);
      pack_weights(w, filter, in, out + LANES, plane, packed + LANES);
    }
  }
}

// ---- The input ----------------------------------------------------------------------------------

// The rows, or columns, [begin, end) of the six that a tile reads lie inside the image.
typedef struct span_s {
  int begin, end;
} span_t;

static span_t find_span(int64_t first, int64_t size) {
  const span_t span = {(int)LEAT_MAX(-first, 0), (int)LEAT_MIN(size - first, 6)};
  return span.begin < span.end ? span : (span_t){0, 0};
}

// Transforms one tile; |corner| is the place of its first value in the input, and lies outside the
// image where |rows| or |columns| do not begin at 0. With |is_inside| all of its values are there.
ALWAYS_INLINE void transform_tile(const leat_winograd_t* w, const bool is_inside,
                                  const float* input, int64_t corner, span_t rows, span_t columns,
                                  int64_t plane, float* v) {
  const int64_t line = w->in_width * w->in_channels;
  for (int64_t channel = 0; channel < w->in_channels; channel += LANES) {
    floats_t half[36], whole[36];
    for (int x = 0; x < 6; ++x) {
      floats_t d[6];
      UNROLL for (int y = 0; y < 6; ++y) {
        const bool is_there = is_inside || (y >= rows.begin && y < rows.end &&
                                            x >= columns.begin && x < columns.end);
        const int64_t place = corner + y * line + x * w->in_channels + channel;
        d[y] = is_there ? load_floats(input + place) : (floats_t){0};
      }
      floats_t column[6];
      transform_values(d, column);
      UNROLL for (int y = 0; y < 6; ++y) half[6 * y + x] = column[y];
    }
    UNROLL for (int y = 0; y < 6; ++y) transform_values(half + 6 * y, whole + 6 * y);
    for (int i = 0; i < 36; ++i) store_floats(v + i * plane + channel, whole[i]);
  }
}

static void transform_input(const leat_winograd_t* w, const float* input, int64_t tile_row,
                            int64_t first, int64_t tiles, float* v) {
  const int64_t tiles_down = (w->out_height + 3) / 4;
  const int64_t image = tile_row / tiles_down, y = tile_row % tiles_down * 4 - w->pad_top;
  const int64_t plane = tiles * w->in_channels + LEAT_WINOGRAD_GAP;
  const span_t rows = find_span(y, w->in_height);
  v += first * w->in_channels;
  for (int64_t tile = 0; tile < w->tiles_across; ++tile, v += w->in_channels) {
    const int64_t x = tile * 4 - w->pad_left;
    const span_t columns = find_span(x, w->in_width);
    const int64_t corner = ((image * w->in_height + y) * w->in_width + x) * w->in_channels;
    if (rows.end - rows.begin == 6 && columns.end - columns.begin == 6) {
      transform_tile(w, true, input, corner, rows, columns, plane, v);
    } else {
      transform_tile(w, false, input, corner, rows, columns, plane, v);
    }
  }
}

// ---- The products -------------------------------------------------------------------------------

// A panel of U times |rows| tiles of V; |rows| is constant in each caller, so that the sums stay in
// registers.
ALWAYS_INLINE void multiply_tiles(const int rows, int64_t in_channels, int64_t out_channels,
                                  const float* v, const float* u, float* m) {
  floats_t sums[TILES][2];
  UNROLL for (int i = 0; i < rows; ++i) sums[i][0] = sums[i][1] = (floats_t){0};
  for (int64_t c = 0; c < in_channels; ++c, u += PANEL) {
    const floats_t low = load_floats(u), high = load_floats(u + LANES);
    UNROLL for (int i = 0; i < rows; ++i) {
      const floats_t value = FLOATS(v[i * in_channels + c]);
      sums[i][0] = multiply_add_floats(value, low, sums[i][0]);
      sums[i][1] = multiply_add_floats(value, high, sums[i][1]);
    }
  }
  UNROLL for (int i = 0; i < rows; ++i) {
    store_floats(m + i * out_channels, sums[i][0]);
    store_floats(m + i * out_channels + LANES, sums[i][1]);
  }
}

// The tiles that are left, fewer than TILES.
static void multiply_rest(int64_t rows, int64_t in_channels, int64_t out_channels, const float* v,
                          const float* u, float* m) {
  for (; rows >= 4; rows -= 4, v += 4 * in_channels, m += 4 * out_channels) {
    multiply_tiles(4, in_channels, out_channels, v, u, m);
  }
  if (rows & 2) {
    multiply_tiles(2, in_channels, out_channels, v, u, m);
    v += 2 * in_channels;
    m += 2 * out_channels;
  }
  if (rows & 1) multiply_tiles(1, in_channels, out_channels, v, u, m);
}

static void multiply(const leat_winograd_t* w, int64_t tiles, const float* v, const float* u,
                     float* m) {
  const int64_t in = w->in_channels, out = w->out_channels;
  for (int point = 0; point < 36; ++point) {
    for (int64_t panel = 0; panel < out; panel += PANEL, u += PANEL * in) {
      int64_t tile = 0;
      for (; tile + TILES <= tiles; tile += TILES) {
        multiply_tiles(TILES, in, out, v + tile * in, u, m + tile * out + panel);
      }
      multiply_rest(tiles - tile, in, out, v + tile * in, u, m + tile * out + panel);
    }
    u += LEAT_WINOGRAD_GAP;
    v += tiles * in + LEAT_WINOGRAD_GAP;
    m += tiles * out + LEAT_WINOGRAD_GAP;
  }
}

// ---- The output ---------------------------------------------------------------------------------

static void transform_output(const leat_winograd_t* w, const float* m, int64_t tile_row,
                             int64_t first, int64_t tiles, float* output) {
  const int64_t tiles_down = (w->out_height + 3) / 4;
  const int64_t image = tile_row / tiles_down, y = tile_row % tiles_down * 4;
  const int64_t plane = tiles * w->out_channels + LEAT_WINOGRAD_GAP;
  const int rows = (int)LEAT_MIN(w->out_height - y, 4);
  m += first * w->out_channels;
  for (int64_t tile = 0; tile < w->tiles_across; ++tile, m += w->out_channels) {
    const int columns = (int)LEAT_MIN(w->out_width - tile * 4, 4);
    float* corner =
        output + ((image * w->out_height + y) * w->out_width + tile * 4) * w->out_channels;
    for (int64_t channel = 0; channel < w->out_channels; channel += LANES) {
      floats_t half[24], whole[16];
      for (int x = 0; x < 6; ++x) {
        floats_t products[6], column[4];
        UNROLL for (int i = 0; i < 6; ++i) {
          products[i] = load_floats(m + (6 * i + x) * plane + channel);
        }
        transform_products(products, column);
        UNROLL for (int i = 0; i < 4; ++i) half[6 * i + x] = column[i];
      }
      UNROLL for (int i = 0; i < 4; ++i) transform_products(half + 6 * i, whole + 4 * i);
      for (int i = 0; i < rows; ++i) {
        for (int x = 0; x < columns; ++x) {
          const int64_t place = (i * w->out_width + x) * w->out_channels + channel;
          store_floats(corner + place, whole[4 * i + x]);
        }
      }
    }
  }
}

const leat_winograd_kernels_t LEAT_ISA_NAME(leat_winograd_kernels) = {
    .panel = PANEL,
    .pack = pack,
    .transform_input = transform_input,
    .multiply = multiply,
    .transform_output = transform_output,
};
