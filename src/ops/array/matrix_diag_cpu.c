// The CPU kernels of MatrixDiag, MatrixDiagPart and MatrixSetDiag in their three versions, and of
// the deprecated Batch ones, which share them. A band is the diagonals |lower| to |upper| of a
// matrix; diagonal k holds the elements (i, i + k). In memory a band is [diagonals, longest], the
// highest diagonal first; shorter diagonals are aligned to the left or to the right of their row:
//
//   matrix [3, 4]     band, k = [-1, 1], RIGHT_LEFT
//   a b . .           b f i      diagonal  1
//   d e f .           a e h      diagonal  0
//   . g h i           d g 0      diagonal -1, aligned to the left, padded
//
// In a matrix the elements of a diagonal are |columns| + 1 elements apart, in the band they are
// neighbours. So each diagonal, of all matrices of the batch at once, is one strided copy between
// the two. The kernels check everything that the shape functions could not know.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// How the shorter diagonals above and below the main one are aligned in the band.
typedef struct diag_state_s {
  bool left_above, left_below;
} diag_state_t;

typedef struct diag_s {
  leat_kernel_context_t* c;
  int64_t lower, upper;
  int64_t rows, columns;
  int64_t longest;  // length of a row of the band, in elements
  int64_t batch;    // how many matrices there are
} diag_t;

// The first two versions of the ops have no attribute "align": all their diagonals are aligned to
// the left.
static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  diag_state_t* state = memory;
  state->left_above = state->left_below = true;
  if (leat_op_find_attr(creation->kernel->op, LEAT_SV("align")) < 0) return leat_ok_status();
  leat_string_view_t align;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(creation, "align", &align));
  state->left_above = leat_string_view_starts_with(align, LEAT_SV("LEFT_"));
  state->left_below = leat_string_view_ends_with(align, LEAT_SV("_LEFT"));
  return leat_ok_status();
}

// Reads the diagonals from input |input|, k: one number, or the lowest and the highest.
static leat_status_t read_band(diag_t* d, int input) {
  const leat_tensor_t* k = leat_kernel_input(d->c, input);
  if (k->shape.rank > 1 || k->shape.element_count < 1 || k->shape.element_count > 2) {
    return leat_kernel_invalid(d->c, "k has shape %s, must be a scalar or a vector of one or two",
                               LEAT_SHAPE_TEXT(&k->shape));
  }
  d->lower = leat_index_read(k, 0);
  d->upper = leat_index_read(k, k->shape.element_count - 1);
  if (d->lower <= d->upper) return leat_ok_status();
  return leat_kernel_invalid(d->c, "k is [%lld, %lld], must not decrease", (long long)d->lower,
                             (long long)d->upper);
}

// Takes the matrices' sizes from |shape| and checks the band against them.
static leat_status_t read_matrices(diag_t* d, const leat_shape_t* shape) {
  if (shape->rank < 2) {
    return leat_kernel_invalid(d->c, "input must be at least 2-dim, received shape: %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  d->rows = leat_shape_dim(shape, shape->rank - 2);
  d->columns = leat_shape_dim(shape, shape->rank - 1);
  d->batch = leat_shape_product(shape, 0, shape->rank - 2);
  bool fits = (d->lower == 0 || (-d->rows < d->lower && d->lower < d->columns)) &&
              (d->upper == 0 || (-d->rows < d->upper && d->upper < d->columns));
  d->longest = LEAT_MIN(d->rows + LEAT_MIN(d->upper, 0), d->columns - LEAT_MAX(d->lower, 0));
  if (fits && d->longest >= 0) return leat_ok_status();
  return leat_kernel_invalid(d->c, "k is [%lld, %lld], must be in (%lld, %lld)",
                             (long long)d->lower, (long long)d->upper, (long long)-d->rows,
                             (long long)d->columns);
}

static int64_t band_size(const diag_t* d) { return (d->upper - d->lower + 1) * d->longest; }

// Copies all diagonals from the band into the matrices, or back. Diagonals of the band that lie
// outside the matrix are passed over.
static leat_status_t copy_diagonals(const diag_t* d, int dtype, const void* from, void* to,
                                    bool into_matrices) {
  const diag_state_t* state = leat_kernel_state(d->c);
  int64_t matrix = d->rows * d->columns;
  int64_t last = LEAT_MIN(d->upper, d->columns - 1);
  for (int64_t k = LEAT_MAX(d->lower, 1 - d->rows); k <= last; ++k) {
    int64_t length = LEAT_MIN(d->rows + LEAT_MIN(k, 0), d->columns - LEAT_MAX(k, 0));
    bool is_left = (k >= 0 && state->left_above) || (k <= 0 && state->left_below);
    int64_t in_band = (d->upper - k) * d->longest + (is_left ? 0 : d->longest - length);
    int64_t in_matrix = k >= 0 ? k : -k * d->columns;
    leat_strided_t block;
    leat_strided_begin(&block, dtype);
    if (length <= 0) continue;
    if (into_matrices) {
      leat_strided_add(&block, d->batch, matrix, band_size(d));
      leat_strided_add(&block, length, d->columns + 1, 1);
    } else {
      leat_strided_add(&block, d->batch, band_size(d), matrix);
      leat_strided_add(&block, length, 1, d->columns + 1);
    }
    LEAT_RETURN_IF_ERROR(leat_strided_copy(
        d->c, &block, leat_element_at(from, dtype, into_matrices ? in_band : in_matrix),
        leat_element_at(to, dtype, into_matrices ? in_matrix : in_band)));
  }
  return leat_ok_status();
}

// Fills |tensor| with |value|, a scalar; NULL stands for zero.
static leat_status_t fill(const diag_t* d, leat_tensor_t* tensor, const leat_tensor_t* value) {
  if (!value) {
    leat_tensor_fill_zero(tensor);
    return leat_ok_status();
  }
  leat_strided_t block;
  leat_strided_begin(&block, tensor->dtype);
  leat_strided_add(&block, tensor->shape.element_count, 1, 0);
  return leat_strided_copy(d->c, &block, value->data, tensor->data);
}

// ---- MatrixDiagPart -----------------------------------------------------------------------------

// The shape of the band that belongs to matrices of that shape.
static leat_status_t band_shape(const diag_t* d, const leat_shape_t* matrices,
                                leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (; rank < matrices->rank - 2; ++rank) dims[rank] = leat_shape_dim(matrices, rank);
  if (d->upper > d->lower) dims[rank++] = d->upper - d->lower + 1;
  dims[rank++] = d->longest;
  return leat_shape_create(rank, dims, out_shape);
}

static leat_status_t matrix_diag_part__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* padding = NULL;
  diag_t d = {.c = c};
  if (leat_kernel_input_count(c) > 1) {
    LEAT_RETURN_IF_ERROR(read_band(&d, 1));
    padding = leat_kernel_input(c, 2);
    if (padding->shape.element_count != 1) {
      return leat_kernel_invalid(c, "padding_value has shape %s, must be a scalar",
                                 LEAT_SHAPE_TEXT(&padding->shape));
    }
  }
  LEAT_RETURN_IF_ERROR(read_matrices(&d, &input->shape));
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(band_shape(&d, &input->shape, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  if (status || output->shape.element_count == 0) return status;
  if (d.upper > d.lower) LEAT_RETURN_IF_ERROR(fill(&d, output, padding));
  return copy_diagonals(&d, input->dtype, input->data, output->data, false);
}

// ---- MatrixDiag ---------------------------------------------------------------------------------

// Reads num_rows and num_cols, where -1 asks for the least size. MatrixDiag, which has one input
// only, asks for both.
static leat_status_t read_sizes(diag_t* d) {
  d->rows = d->columns = -1;
  if (leat_kernel_input_count(d->c) == 1) return leat_ok_status();
  for (int i = 2; i < 5; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(d->c, i)->shape;
    if (shape->rank == 0) continue;
    return leat_kernel_invalid(d->c, "input %d has shape %s, must be a scalar", i,
                               LEAT_SHAPE_TEXT(shape));
  }
  d->rows = leat_index_read(leat_kernel_input(d->c, 2), 0);
  d->columns = leat_index_read(leat_kernel_input(d->c, 3), 0);
  return leat_ok_status();
}

// Finds the sizes that were not given: the least that hold the diagonals, and a square matrix where
// neither was given. Fails when the longest diagonal would not reach the border of the matrix.
static leat_status_t complete_matrix(diag_t* d) {
  int64_t rows = d->longest - LEAT_MIN(d->upper, 0), columns = d->longest + LEAT_MAX(d->lower, 0);
  if ((d->rows != -1 && d->rows < rows) || (d->columns != -1 && d->columns < columns)) {
    return leat_kernel_invalid(d->c, "num_rows is %lld and num_cols %lld, must be at least %lld "
                               "and %lld",
                               (long long)d->rows, (long long)d->columns, (long long)rows,
                               (long long)columns);
  }
  if (d->rows == -1 && d->columns == -1) d->rows = d->columns = LEAT_MAX(rows, columns);
  if (d->rows == -1) d->rows = rows;
  if (d->columns == -1) d->columns = columns;
  if (d->rows == rows || d->columns == columns) return leat_ok_status();
  return leat_kernel_invalid(d->c, "num_rows %lld or num_cols %lld must be as small as the "
                             "diagonals allow",
                             (long long)d->rows, (long long)d->columns);
}

// Takes the length of the diagonals and the batch from the shape of the band, then finds the size
// of the matrices.
static leat_status_t read_diagonals(diag_t* d, const leat_shape_t* band) {
  bool is_band = d->upper > d->lower;
  if (band->rank < 1 + is_band) {
    return leat_kernel_invalid(d->c, "diagonal has shape %s, must have a rank of at least %d",
                               LEAT_SHAPE_TEXT(band), 1 + is_band);
  }
  if (is_band && leat_shape_dim(band, band->rank - 2) != d->upper - d->lower + 1) {
    return leat_kernel_invalid(d->c, "diagonal has shape %s, must have a row for each of %lld "
                               "diagonals",
                               LEAT_SHAPE_TEXT(band), (long long)(d->upper - d->lower + 1));
  }
  d->longest = leat_shape_dim(band, band->rank - 1);
  d->batch = leat_shape_product(band, 0, band->rank - 1 - is_band);
  LEAT_RETURN_IF_ERROR(read_sizes(d));
  return complete_matrix(d);
}

static leat_status_t matrix_diag__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* band = &input->shape;
  diag_t d = {.c = c};
  bool has_band = leat_kernel_input_count(c) > 1;
  if (has_band) LEAT_RETURN_IF_ERROR(read_band(&d, 1));
  LEAT_RETURN_IF_ERROR(read_diagonals(&d, band));
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  int rank = 0;
  for (; rank < band->rank - 1 - (d.upper > d.lower); ++rank) {
    dims[rank] = leat_shape_dim(band, rank);
  }
  dims[rank++] = d.rows;
  dims[rank++] = d.columns;
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_sized(c, 0, rank, dims, &output);
  if (status || output->shape.element_count == 0) return status;
  LEAT_RETURN_IF_ERROR(fill(&d, output, has_band ? leat_kernel_input(c, 4) : NULL));
  return copy_diagonals(&d, input->dtype, input->data, output->data, true);
}

// ---- MatrixSetDiag ------------------------------------------------------------------------------

// Checks that |diagonal| is the shape of the band in matrices of shape |input|.
static leat_status_t check_set(const diag_t* d, const leat_shape_t* input,
                               const leat_shape_t* diagonal) {
  leat_shape_t wanted;
  LEAT_RETURN_IF_ERROR(band_shape(d, input, &wanted));
  leat_status_t status = leat_ok_status();
  if (!leat_shape_equal(&wanted, diagonal)) {
    status = leat_kernel_invalid(d->c, "diagonal has shape %s, must be %s",
                                 LEAT_SHAPE_TEXT(diagonal), LEAT_SHAPE_TEXT(&wanted));
  }
  leat_shape_release(&wanted);
  return status;
}

// The output takes the bytes of the input where nobody else needs them; else the matrices are
// copied first, and then the diagonals over them.
static leat_status_t matrix_set_diag__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* diagonal = leat_kernel_input(c, 1);
  diag_t d = {.c = c};
  if (leat_kernel_input_count(c) > 2) LEAT_RETURN_IF_ERROR(read_band(&d, 2));
  LEAT_RETURN_IF_ERROR(read_matrices(&d, &input->shape));
  LEAT_RETURN_IF_ERROR(check_set(&d, &input->shape, &diagonal->shape));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  if (input->shape.element_count == 0) return leat_ok_status();
  if (output->data != input->data) {
    LEAT_RETURN_IF_ERROR(leat_strided_copy_runs(c, input->dtype, 1, input->shape.element_count,
                                                input->data, 0, output->data, 0));
  }
  return copy_diagonals(&d, input->dtype, diagonal->data, output->data, true);
}

#define DIAG_ROW(name, function)                                                \
  LEAT_CPU_KERNEL(name, "T: " LEAT_TYPES_PLAIN, diag_state_t, create, function)

const leat_kernel_row_t leat_matrix_diag_kernels_cpu[] = {
    DIAG_ROW("MatrixDiag", matrix_diag__cpu),
    DIAG_ROW("MatrixDiagV2", matrix_diag__cpu),
    DIAG_ROW("MatrixDiagV3", matrix_diag__cpu),
    DIAG_ROW("MatrixDiagPart", matrix_diag_part__cpu),
    DIAG_ROW("MatrixDiagPartV2", matrix_diag_part__cpu),
    DIAG_ROW("MatrixDiagPartV3", matrix_diag_part__cpu),
    DIAG_ROW("MatrixSetDiag", matrix_set_diag__cpu),
    DIAG_ROW("MatrixSetDiagV2", matrix_set_diag__cpu),
    DIAG_ROW("MatrixSetDiagV3", matrix_set_diag__cpu),
    DIAG_ROW("BatchMatrixDiag", matrix_diag__cpu),
    DIAG_ROW("BatchMatrixDiagPart", matrix_diag_part__cpu),
    DIAG_ROW("BatchMatrixSetDiag", matrix_set_diag__cpu),
    LEAT_KERNEL_ROWS_END,
};
