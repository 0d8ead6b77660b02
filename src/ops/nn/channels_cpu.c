// Transposes channels from the second dimension to the last and back, for kernels whose loops want
// them last. For each image this is the transpose of a matrix [channels, positions].
//
//   NCHW  c0: p0 p1 p2 ...          NHWC  p0: c0 c1 c2 ...
//         c1: p0 p1 p2 ...   ──▶          p1: c0 c1 c2 ...
//
// A transpose in plain order would touch one element of a cache line and come back to the line when
// it is long gone. So it goes by tiles of 16 x 16 elements: the 16 lines that a tile touches stay
// in the cache until all of their elements have been used. Bands of 16 rows are shared among
// threads.
//
// The tensors may also have to be converted between half or bfloat16 and float. Conversion comes
// after the transpose to channels last and before the transpose back, so that the transposes move
// the smaller elements.
#include "ops/nn/channels_cpu.h"

#include "base/checked.h"
#include "ops/nn/widen_cpu.h"

#define TILE 16

typedef struct transpose_s {
  const char* from;  // [count, rows, columns]
  char* to;          // [count, columns, rows]
  int64_t rows, columns, bands;
  size_t item_bytes;
} transpose_t;

// Transposes |height| x |width| elements at the corner of matrices [rows, columns] and [columns,
// rows].
#define DEFINE_TILE(suffix, type)                                                               \
  static void transpose_##suffix(const void* from, void* to, int64_t rows, int64_t columns,     \
                                 int64_t height, int64_t width) {                               \
    const type* x = from;                                                                       \
    type* y = to;                                                                               \
    for (int64_t j = 0; j < width; ++j) {                                                       \
      for (int64_t i = 0; i < height; ++i) y[j * rows + i] = x[i * columns + j];                \
    }                                                                                           \
  }
DEFINE_TILE(8, uint8_t)
DEFINE_TILE(16, uint16_t)
DEFINE_TILE(32, uint32_t)
DEFINE_TILE(64, uint64_t)
DEFINE_TILE(128, leat_complex128_t)

// Transposes bands [begin, end), where a band is TILE rows of one matrix.
static void run_bands(void* data, int64_t begin, int64_t end) {
  const transpose_t* t = data;
  void (*transpose_tile)(const void*, void*, int64_t, int64_t, int64_t, int64_t) =
      t->item_bytes == 1   ? transpose_8
      : t->item_bytes == 2 ? transpose_16
      : t->item_bytes == 4 ? transpose_32
      : t->item_bytes == 8 ? transpose_64
                           : transpose_128;
  for (int64_t band = begin; band < end; ++band) {
    const int64_t matrix = band / t->bands * t->rows * t->columns;
    const int64_t i = band % t->bands * TILE;
    for (int64_t j = 0; j < t->columns; j += TILE) {
      transpose_tile(t->from + (size_t)(matrix + i * t->columns + j) * t->item_bytes,
                     t->to + (size_t)(matrix + j * t->rows + i) * t->item_bytes, t->rows,
                     t->columns, LEAT_MIN(TILE, t->rows - i), LEAT_MIN(TILE, t->columns - j));
    }
  }
}

// |from| holds matrices [rows, columns], one for each image, |to| their transposes.
static void transpose(const leat_kernel_context_t* c, const leat_tensor_t* from, leat_tensor_t* to,
                      int64_t rows, int64_t columns) {
  if (from->shape.element_count == 0) return;
  transpose_t work = {.from = from->data,
                      .to = to->data,
                      .rows = rows,
                      .columns = columns,
                      .bands = (rows + TILE - 1) / TILE,
                      .item_bytes = leat_dtype_size(from->dtype)};
  const int64_t matrices = from->shape.element_count / (rows * columns);
  leat_kernel_parallel_for(c, matrices * work.bands, 0.5 * (double)columns * TILE, run_bands,
                           &work);
}

// The shape of |shape| [batch, channels, ...] with the channels last. Its rank is 3 to 8, so that
// the sizes are stored in the shape itself.
static leat_shape_t last_shape(const leat_shape_t* shape) {
  leat_shape_t last = *shape;
  for (int d = 1; d + 1 < shape->rank; ++d) last.inline_dims[d] = shape->inline_dims[d + 1];
  last.inline_dims[shape->rank - 1] = shape->inline_dims[1];
  return last;
}

static leat_status_t transpose_to_last(leat_kernel_context_t* c, const leat_tensor_t* tensor,
                                       leat_tensor_t* out_tensor) {
  const leat_shape_t shape = last_shape(&tensor->shape);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, tensor->dtype, &shape, out_tensor));
  transpose(c, tensor, out_tensor, leat_shape_dim(&tensor->shape, 1),
            leat_shape_product(&tensor->shape, 2, tensor->shape.rank));
  return leat_ok_status();
}

static void transpose_to_second(leat_kernel_context_t* c, const leat_tensor_t* from,
                                leat_tensor_t* to) {
  transpose(c, from, to, leat_shape_product(&to->shape, 2, to->shape.rank),
            leat_shape_dim(&to->shape, 1));
}

leat_status_t leat_widen_transposed(leat_kernel_context_t* c, bool is_transposed,
                                    const leat_tensor_t* tensor, leat_tensor_t* out_tensor) {
  if (!is_transposed) return leat_widen(c, tensor, out_tensor);
  leat_tensor_t transposed;
  LEAT_RETURN_IF_ERROR(transpose_to_last(c, tensor, &transposed));
  leat_status_t status = leat_widen(c, &transposed, out_tensor);
  leat_tensor_release(&transposed);
  return status;
}

leat_status_t leat_transposed_output_begin(leat_kernel_context_t* c, bool is_transposed,
                                           leat_tensor_t* output,
                                           leat_transposed_output_t* out_transposed) {
  *out_transposed = (leat_transposed_output_t){.output = output, .is_transposed = is_transposed};
  if (is_transposed) {
    const leat_shape_t shape = last_shape(&output->shape);
    LEAT_RETURN_IF_ERROR(
        leat_kernel_allocate_temporary(c, output->dtype, &shape, &out_transposed->last));
  } else {
    out_transposed->last = leat_tensor_share(output);
  }
  leat_status_t status = leat_widen_output(c, &out_transposed->last, &out_transposed->wide);
  if (status) leat_tensor_release(&out_transposed->last);
  return status;
}

leat_status_t leat_transposed_output_end(leat_kernel_context_t* c,
                                         leat_transposed_output_t* transposed,
                                         leat_status_t status) {
  if (!status) leat_narrow(c, &transposed->wide, &transposed->last);
  if (!status && transposed->is_transposed) {
    transpose_to_second(c, &transposed->last, transposed->output);
  }
  leat_tensor_release(&transposed->wide);
  leat_tensor_release(&transposed->last);
  return status;
}
