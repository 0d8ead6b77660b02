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
  static void turn_##suffix(const void* from, void* to, int64_t rows, int64_t columns,          \
                            int64_t height, int64_t width) {                                    \
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
  void (*turn)(const void*, void*, int64_t, int64_t, int64_t, int64_t) =
      t->item_bytes == 1   ? turn_8
      : t->item_bytes == 2 ? turn_16
      : t->item_bytes == 4 ? turn_32
      : t->item_bytes == 8 ? turn_64
                           : turn_128;
  for (int64_t band = begin; band < end; ++band) {
    const int64_t matrix = band / t->bands * t->rows * t->columns;
    const int64_t i = band % t->bands * TILE;
    for (int64_t j = 0; j < t->columns; j += TILE) {
      turn(t->from + (size_t)(matrix + i * t->columns + j) * t->item_bytes,
           t->to + (size_t)(matrix + j * t->rows + i) * t->item_bytes, t->rows, t->columns,
           LEAT_MIN(TILE, t->rows - i), LEAT_MIN(TILE, t->columns - j));
    }
  }
}

// |from| holds matrices [rows, columns], one for each image, |to| their transposes.
static void transpose(const leat_kernel_context_t* c, const leat_tensor_t* from, leat_tensor_t* to,
                      int64_t rows, int64_t columns) {
  if (from->shape.element_count == 0) return;
  transpose_t turn = {.from = from->data,
                      .to = to->data,
                      .rows = rows,
                      .columns = columns,
                      .bands = (rows + TILE - 1) / TILE,
                      .item_bytes = leat_dtype_size(from->dtype)};
  const int64_t matrices = from->shape.element_count / (rows * columns);
  leat_kernel_parallel_for(c, matrices * turn.bands, 0.5 * (double)columns * TILE, run_bands,
                           &turn);
}

// The shape of |shape| [batch, channels, ...] with the channels last. Its rank is 3 to 8, so that
// the sizes are stored in the shape itself.
static leat_shape_t last_shape(const leat_shape_t* shape) {
  leat_shape_t last = *shape;
  for (int d = 1; d + 1 < shape->rank; ++d) last.inline_dims[d] = shape->inline_dims[d + 1];
  last.inline_dims[shape->rank - 1] = shape->inline_dims[1];
  return last;
}

static leat_status_t turn_to_last(leat_kernel_context_t* c, const leat_tensor_t* tensor,
                                  leat_tensor_t* out_tensor) {
  const leat_shape_t shape = last_shape(&tensor->shape);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, tensor->dtype, &shape, out_tensor));
  transpose(c, tensor, out_tensor, leat_shape_dim(&tensor->shape, 1),
            leat_shape_product(&tensor->shape, 2, tensor->shape.rank));
  return leat_ok_status();
}

static void turn_to_second(leat_kernel_context_t* c, const leat_tensor_t* from, leat_tensor_t* to) {
  transpose(c, from, to, leat_shape_product(&to->shape, 2, to->shape.rank),
            leat_shape_dim(&to->shape, 1));
}

leat_status_t leat_widen_turned(leat_kernel_context_t* c, bool turns, const leat_tensor_t* tensor,
                                leat_tensor_t* out_tensor) {
  if (!turns) return leat_widen(c, tensor, out_tensor);
  leat_tensor_t turned;
  LEAT_RETURN_IF_ERROR(turn_to_last(c, tensor, &turned));
  leat_status_t status = leat_widen(c, &turned, out_tensor);
  leat_tensor_release(&turned);
  return status;
}

leat_status_t leat_turned_output_begin(leat_kernel_context_t* c, bool turns, leat_tensor_t* output,
                                       leat_turned_output_t* out_turned) {
  *out_turned = (leat_turned_output_t){.output = output, .turns = turns};
  if (turns) {
    const leat_shape_t shape = last_shape(&output->shape);
    LEAT_RETURN_IF_ERROR(
        leat_kernel_allocate_temporary(c, output->dtype, &shape, &out_turned->last));
  } else {
    out_turned->last = leat_tensor_share(output);
  }
  leat_status_t status = leat_widen_output(c, &out_turned->last, &out_turned->wide);
  if (status) leat_tensor_release(&out_turned->last);
  return status;
}

leat_status_t leat_turned_output_end(leat_kernel_context_t* c, leat_turned_output_t* turned,
                                     leat_status_t status) {
  if (!status) leat_narrow(c, &turned->wide, &turned->last);
  if (!status && turned->turns) turn_to_second(c, &turned->last, turned->output);
  leat_tensor_release(&turned->wide);
  leat_tensor_release(&turned->last);
  return status;
}
