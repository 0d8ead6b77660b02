// The CPU kernels of MatrixBandPart, Diag and DiagPart.
//
// MatrixBandPart keeps a band of diagonals of each matrix and zeroes the rest: of row i the columns
// [i - below, i + above]. It works in place where nobody else needs the input, and shards are
// ranges of rows. Diag and DiagPart write and read the diagonal of a tensor of shape [d..., d...].
// The elements of the diagonal are count + 1 apart, where count is the product of d..., so that one
// strided copy does it.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// ---- MatrixBandPart -----------------------------------------------------------------------------

typedef struct band_s {
  const char* from;
  char* to;
  int64_t width;  // bytes of an element
  int64_t rows, columns;
  int64_t below, above;  // diagonals kept; at most rows and columns
} band_t;

// Writes rows [begin, end) of all matrices: zeros, the band, zeros. In place the band is there
// already.
static void keep_band(void* data, int64_t begin, int64_t end) {
  const band_t* b = data;
  for (int64_t i = begin; i < end; ++i) {
    int64_t row = i % b->rows, offset = i * b->columns * b->width;
    int64_t first = LEAT_MIN(LEAT_MAX(row - b->below, 0), b->columns);
    int64_t last = LEAT_MAX(LEAT_MIN(row + b->above + 1, b->columns), first);
    memset(b->to + offset, 0, (size_t)(first * b->width));
    if (b->to != b->from) {
      memcpy(b->to + offset + first * b->width, b->from + offset + first * b->width,
             (size_t)((last - first) * b->width));
    }
    memset(b->to + offset + last * b->width, 0, (size_t)((b->columns - last) * b->width));
  }
}

// Reads how many diagonals are kept on one side, a scalar of at most |most|; a negative number
// keeps all.
static leat_status_t read_limit(const leat_kernel_context_t* c, int input, int64_t most,
                                int64_t* out_limit) {
  const leat_tensor_t* limit = leat_kernel_input(c, input);
  if (limit->shape.rank != 0) {
    return leat_kernel_invalid(c, "%s must be scalar, got shape %s",
                               input == 1 ? "num_lower" : "num_upper",
                               LEAT_SHAPE_TEXT(&limit->shape));
  }
  *out_limit = leat_tensor_index_at(limit, 0);
  if (*out_limit > most) {
    return leat_kernel_invalid(c, "%s must be negative or less or equal to number of %s (%lld) "
                               "got: %lld", input == 1 ? "num_lower" : "num_upper",
                               input == 1 ? "rows" : "columns", (long long)most,
                               (long long)*out_limit);
  }
  if (*out_limit < 0) *out_limit = most;
  return leat_ok_status();
}

static leat_status_t matrix_band_part__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &input->shape;
  if (shape->rank < 2) {
    return leat_kernel_invalid(c, "input must be at least 2-dim, received shape: %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  band_t band = {.rows = leat_shape_dim(shape, shape->rank - 2),
                 .columns = leat_shape_dim(shape, shape->rank - 1),
                 .width = (int64_t)leat_dtype_size(input->dtype)};
  LEAT_RETURN_IF_ERROR(read_limit(c, 1, band.rows, &band.below));
  LEAT_RETURN_IF_ERROR(read_limit(c, 2, band.columns, &band.above));
  if (band.below == band.rows && band.above == band.columns) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, shape, &output));
  if (shape->element_count == 0) return leat_ok_status();
  band.from = input->data;
  band.to = output->data;
  leat_kernel_parallel_for(c, shape->element_count / band.columns,
                           4 + 0.06 * (double)(band.columns * band.width), keep_band, &band);
  return leat_ok_status();
}

// ---- Diag ---------------------------------------------------------------------------------------

static leat_status_t diag__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int rank = input->shape.rank;
  int64_t dims[2 * LEAT_SHAPE_MAX_RANK], count = input->shape.element_count;
  if (rank == 0) return leat_kernel_invalid(c, "rank of the input is 0, must be at least 1");
  for (int d = 0; d < rank; ++d) dims[d] = dims[d + rank] = leat_shape_dim(&input->shape, d);
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_sized(c, 0, 2 * rank, dims, &output);
  if (status || count == 0) return status;
  leat_tensor_fill_zero(output);
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  leat_strided_add(&block, count, count + 1, 1);
  return leat_strided_copy(c, &block, input->data, output->data);
}

static leat_status_t diag_part__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* whole = &input->shape;
  int half = whole->rank / 2;
  bool fits = whole->rank % 2 == 0;
  for (int d = 0; fits && d < half; ++d) {
    fits = leat_shape_dim(whole, d) == leat_shape_dim(whole, d + half);
  }
  if (!fits) {
    return leat_kernel_invalid(c, "input has shape %s, must be one of two equal halves",
                               LEAT_SHAPE_TEXT(whole));
  }
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_shape_create(half, leat_shape_dims(whole), &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  int64_t count = shape.element_count;
  leat_shape_release(&shape);
  if (status || count == 0) return status;
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  leat_strided_add(&block, count, 1, count + 1);
  return leat_strided_copy(c, &block, input->data, output->data);
}

#define DIAG_TYPES "T: complex128, complex64, double, float, half, int32, int64"

const leat_kernel_row_t leat_band_kernels_cpu[] = {
    {.op = "MatrixBandPart",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_PLAIN,
     .compute = matrix_band_part__cpu},
    {.op = "BatchMatrixBandPart",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_NUMBER,
     .compute = matrix_band_part__cpu},
    {.op = "Diag", .device_type = "CPU", .constraints = DIAG_TYPES, .compute = diag__cpu},
    {.op = "DiagPart", .device_type = "CPU", .constraints = DIAG_TYPES, .compute = diag_part__cpu},
    LEAT_KERNEL_ROWS_END,
};
