// CPU kernels of bands of diagonals. In a matrix of |columns| a diagonal goes in steps of columns +
// 1; in a band its elements lie together. Each diagonal of all matrices is one strided copy.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

typedef struct diag_state_s {
  // How diagonals above and below the main one are aligned in the band.
  bool left_above, left_below;
} diag_state_t;

typedef struct diag_s {
  leat_kernel_context_t* c;
  int64_t lower, upper;
  int64_t rows, columns;
  int64_t longest;  // diagonal
  int64_t batch;
} diag_t;

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
    return leat_kernel_invalid(d->c, "input has shape %s, must have a rank of at least 2",
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

// Copies all diagonals between band and matrices.
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

// |value| NULL: zero.
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

// The least matrix that holds the diagonals, where its sizes are not given.
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
