// Gathers windows of quantised images as rows of a product.
#include "ops/quantize/quantized_windows_cpu.h"

#include <string.h>

#include "base/checked.h"

// Writes the channels of |count| pixels of row |row| of an image from column |column| on.
static void gather_run(const leat_quantized_windows_t* g, int64_t image, int64_t row,
                       int64_t column, int64_t count, char* to) {
  const leat_quantized_product_t* p = &g->product;
  const bool is_signed = leat_quantized_factor_is_signed(&p->a);
  const int64_t plane = g->in[0] * g->in[1], pixel = row * g->in[1] + column;
  const char* images = p->a.tensor->data;
  if (!g->channels_first && g->group_channels == g->channels) {
    p->loops->centre(images + (image * plane + pixel) * g->channels, 1, is_signed, p->a.zero,
                     count * g->channels, to);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = g->channels_first
                           ? (image * g->channels + g->first_channel) * plane + pixel + i
                           : (image * plane + pixel + i) * g->channels + g->first_channel;
    p->loops->centre(images + at, g->channels_first ? plane : 1, is_signed, p->a.zero,
                     g->group_channels, to + (size_t)(i * g->group_channels) * p->loops->size);
  }
}

// Writes a row of a window whose columns lie side by side: those inside the image in one run.
static void gather_dense(const leat_quantized_windows_t* g, int64_t image, int64_t row, int64_t x,
                         char* to) {
  const size_t pixel_bytes = (size_t)g->group_channels * g->product.loops->size;
  const int64_t begin = LEAT_MAX(x, 0);
  const int64_t end = LEAT_MAX(LEAT_MIN(x + g->size[1], g->in[1]), begin);
  const int64_t left = begin < end ? begin - x : g->size[1], inside = end - begin;
  const int64_t right = g->size[1] - left - inside;
  memset(to, 0, (size_t)left * pixel_bytes);
  to += (size_t)left * pixel_bytes;
  if (inside > 0) gather_run(g, image, row, begin, inside, to);
  to += (size_t)inside * pixel_bytes;
  memset(to, 0, (size_t)right * pixel_bytes);
}

static void gather_dilated(const leat_quantized_windows_t* g, int64_t image, int64_t row, int64_t x,
                           char* to) {
  const size_t pixel_bytes = (size_t)g->group_channels * g->product.loops->size;
  for (int64_t i = 0; i < g->size[1]; ++i, x += g->dilation[1], to += pixel_bytes) {
    if (x >= 0 && x < g->in[1]) {
      gather_run(g, image, row, x, 1, to);
    } else {
      memset(to, 0, pixel_bytes);
    }
  }
}

void leat_quantized_windows_row(const leat_quantized_product_t* p, int64_t index, void* to) {
  const leat_quantized_windows_t* g = (const leat_quantized_windows_t*)p;
  const int64_t x = index % g->out[1] * g->stride[1] - g->before[1];
  const int64_t image = index / (g->out[0] * g->out[1]);
  const size_t row_bytes = (size_t)(g->size[1] * g->group_channels) * p->loops->size;
  int64_t y = index / g->out[1] % g->out[0] * g->stride[0] - g->before[0];
  char* line = to;
  for (int64_t i = 0; i < g->size[0]; ++i, y += g->dilation[0], line += row_bytes) {
    if (y < 0 || y >= g->in[0]) {
      memset(line, 0, row_bytes);
    } else if (g->dilation[1] == 1) {
      gather_dense(g, image, y, x, line);
    } else {
      gather_dilated(g, image, y, x, line);
    }
  }
}
