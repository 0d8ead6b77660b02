// The ops MatrixDiag, MatrixDiagPart and MatrixSetDiag in their three versions, and the deprecated
// Batch ones: their shapes, gradients and registration. They move bands of diagonals into matrices,
// out of them, and into matrices in the place of what was there.
//
//   MatrixDiag      diagonal [..., diagonals, longest] -> [..., rows, columns]
//   MatrixDiagPart  input [..., rows, columns]         -> [..., diagonals, longest]
//   MatrixSetDiag   input [..., rows, columns], diagonal [..., diagonals, longest] -> like input
//
// Diagonal k holds the elements (i, i + k). A band is the diagonals |lower| to |upper|, the highest
// first; a band of one diagonal is [..., longest], without the dimension of diagonals. The first
// version knows the main diagonal only; the second takes k, one number or [lower, upper]; the third
// also says how shorter diagonals are aligned in their row. |longest| is the length of the longest
// diagonal of the band:
//
//   longest = min(rows + min(upper, 0), columns - max(lower, 0))
//
// The shape functions leave open what depends on a k that is not constant; the kernels
// (matrix_diag_cpu.c) check it again.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

typedef struct band_s {
  bool is_known;
  int64_t lower, upper;
} band_t;

// Reads k from input |input|: one diagonal, or the lowest and the highest.
static leat_status_t read_band(leat_inference_t* c, int input, band_t* band) {
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank_at_most(c, leat_inference_input(c, input), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, input, &band->is_known, &value));
  if (!band->is_known) return leat_ok_status();
  if (value.count < 1 || value.count > 2) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "diag_index must be a vector with one or two elements. It has %d "
                            "elements.",
                            value.count);
  }
  band->lower = value.items[0];
  band->upper = value.items[value.count - 1];
  if (band->lower <= band->upper) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "lower_diag_index is greater than upper_diag_index");
}

// Checks that the lowest and the highest diagonal exist in a matrix of |rows| x |columns|. The main
// diagonal is allowed even where the matrix is empty.
static leat_status_t check_bounds(const band_t* band, int64_t rows, int64_t columns) {
  if (rows == LEAT_DIM_UNKNOWN || columns == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (band->lower != 0 && (-rows >= band->lower || band->lower >= columns)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "lower_diag_index is out of bound.");
  }
  if (band->upper != 0 && (-rows >= band->upper || band->upper >= columns)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "upper_diag_index is out of bound.");
  }
  return leat_ok_status();
}

// Sets the shape of a band of input 0, whose rank is known and at least 2.
static leat_status_t part_shape(leat_inference_t* c, const band_t* band) {
  leat_partial_shape_t input = leat_inference_input(c, 0), shape;
  int64_t rows = leat_partial_shape_dim(input, -2), columns = leat_partial_shape_dim(input, -1);
  LEAT_RETURN_IF_ERROR(check_bounds(band, rows, columns));
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = input.rank - 2;
  for (int d = 0; d < rank; ++d) dims[d] = input.dims[d];
  if (band->lower < band->upper) dims[rank++] = band->upper - band->lower + 1;
  bool is_known = rows != LEAT_DIM_UNKNOWN && columns != LEAT_DIM_UNKNOWN;
  dims[rank++] = !is_known ? LEAT_DIM_UNKNOWN
                           : LEAT_MIN(rows + LEAT_MIN(band->upper, 0),
                                      columns - LEAT_MAX(band->lower, 0));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t matrix_diag_part_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0);
  static const band_t main_diagonal = {true, 0, 0};
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 2));
  return input.rank < 0 ? leat_ok_status() : part_shape(c, &main_diagonal);
}

static leat_status_t matrix_diag_part_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), unused;
  band_t band;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 0, &unused));
  LEAT_RETURN_IF_ERROR(read_band(c, 1, &band));
  return input.rank < 0 || !band.is_known ? leat_ok_status() : part_shape(c, &band);
}

// The first version makes square matrices: [..., n] -> [..., n, n].
static leat_status_t matrix_diag_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), last, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, input, -1, INT32_MAX, &last));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, input, last, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Finds the size of the matrix around diagonals of length |longest|. Where |rows| or |columns| is
// -1 it becomes the least that holds them; where both are, the matrix is square. One of the two
// must be the least, else the longest diagonal would be longer.
static leat_status_t complete_matrix(const band_t* band, int64_t longest, int64_t* rows,
                                     int64_t* columns) {
  if (longest == LEAT_DIM_UNKNOWN) return leat_ok_status();
  int64_t least_rows = longest - LEAT_MIN(band->upper, 0);
  int64_t least_columns = longest + LEAT_MAX(band->lower, 0);
  if (*rows == -1 && *columns == -1) *rows = *columns = LEAT_MAX(least_rows, least_columns);
  if (*rows == -1) *rows = least_rows;
  if (*columns == -1) *columns = least_columns;
  if (*rows < least_rows || *columns < least_columns) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "num_rows or num_cols is too small");
  }
  if (*rows == least_rows || *columns == least_columns) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "num_rows and num_cols are not consistent with lower_diag_index, "
                          "upper_diag_index, and the length of the given diagonals.");
}

// Reads num_rows or num_cols. |out_size| is -1 both where the input is not constant, which also
// clears |inout_is_known|, and where its value is -1, which asks for the least size.
static leat_status_t read_size(leat_inference_t* c, int input, bool* inout_is_known,
                               int64_t* out_size) {
  bool is_known;
  *out_size = -1;
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, input, &is_known, out_size));
  *inout_is_known = *inout_is_known && is_known;
  return leat_ok_status();
}

// Inputs are the diagonals, k, the numbers of rows and columns, and the padding value. Nothing is
// known while k is not constant, since k decides whether the input has a dimension of diagonals.
static leat_status_t matrix_diag_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), shape;
  band_t band;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 1));
  for (int i = 2; i < 5; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 0, &shape));
  }
  LEAT_RETURN_IF_ERROR(read_band(c, 1, &band));
  if (input.rank < 0 || !band.is_known) return leat_ok_status();
  bool is_band = band.lower < band.upper, is_known = true;
  if (is_band) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 2));
    int64_t count = input.dims[input.rank - 2];
    if (count != LEAT_DIM_UNKNOWN && count != band.upper - band.lower + 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "The number of rows of `diagonal` doesn't match the number of "
                              "diagonals implied from `d_lower` and `d_upper`.");
    }
  }
  int64_t rows, columns;
  LEAT_RETURN_IF_ERROR(read_size(c, 2, &is_known, &rows));
  LEAT_RETURN_IF_ERROR(read_size(c, 3, &is_known, &columns));
  if (!is_known) rows = columns = LEAT_DIM_UNKNOWN;
  else LEAT_RETURN_IF_ERROR(complete_matrix(&band, input.dims[input.rank - 1], &rows, &columns));
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  int rank = input.rank - (is_band ? 2 : 1);
  for (int d = 0; d < rank; ++d) dims[d] = input.dims[d];
  dims[rank++] = rows;
  dims[rank++] = columns;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Sets the output to the shape of the input, whose unknown batch dimensions may follow from those
// of the diagonals.
static leat_status_t set_merged(leat_inference_t* c, leat_partial_shape_t input,
                                leat_partial_shape_t diagonal, bool is_band) {
  leat_partial_shape_t batch, matrix, shape = input;
  if (diagonal.rank >= 0 && !leat_partial_shape_is_full(input)) {
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, diagonal, 0, is_band ? -2 : -1, &batch));
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 2, &matrix));
    LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, batch, matrix, &shape));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, input, shape, &shape));
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t matrix_set_diag_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), diagonal = leat_inference_input(c, 1);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, diagonal, 1));
  if (input.rank >= 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, diagonal, input.rank - 1, &diagonal));
    int64_t rows = leat_partial_shape_dim(input, -2), columns = leat_partial_shape_dim(input, -1);
    bool is_known = rows != LEAT_DIM_UNKNOWN && columns != LEAT_DIM_UNKNOWN;
    int64_t least = is_known ? LEAT_MIN(rows, columns) : LEAT_DIM_UNKNOWN;
    LEAT_RETURN_IF_ERROR(
        leat_inference_merge_dim(least, leat_partial_shape_dim(diagonal, -1), &least));
  }
  return set_merged(c, input, diagonal, false);
}

// While k is not known, the diagonals may have as many dimensions as the matrices, or one fewer.
static leat_status_t matrix_set_diag_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), diagonal = leat_inference_input(c, 1);
  band_t band;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, diagonal, 1));
  LEAT_RETURN_IF_ERROR(read_band(c, 2, &band));
  if (!band.is_known) {
    if (input.rank >= 0) {
      LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, diagonal, input.rank - 1));
      LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, diagonal, input.rank));
    }
    return leat_shape_unchanged(c);
  }
  bool is_band = band.lower < band.upper;
  if (input.rank >= 0) {
    LEAT_RETURN_IF_ERROR(
        leat_inference_with_rank(c, diagonal, input.rank - !is_band, &diagonal));
    LEAT_RETURN_IF_ERROR(check_bounds(&band, leat_partial_shape_dim(input, -2),
                                      leat_partial_shape_dim(input, -1)));
  }
  return set_merged(c, input, diagonal, is_band);
}

// ---- Gradients ----------------------------------------------------------------------------------
// As in TensorFlow, gradients are built of ops of the third version. They align as the attribute of
// the node says, and RIGHT_LEFT where the node has none.

// What the gradient functions share: the builder, k and the alignment.
typedef struct diagonals_s {
  leat_gradient_t* g;
  leat_builder_t* b;
  leat_output_t k;
  leat_string_view_t align;
} diagonals_t;

// |k_input| is the input that holds k, or -1 for the first version, where k is 0.
static diagonals_t diagonals_of(leat_gradient_t* g, int k_input) {
  diagonals_t d = {.g = g, .b = &g->builder, .align = LEAT_SV("RIGHT_LEFT")};
  if (leat_node_attr(leat_gradient_node(g), LEAT_SV("align"))) {
    d.align = leat_node_attr_string(leat_gradient_node(g), "align");
  }
  d.k = k_input < 0 ? leat_build_scalar(d.b, LEAT_DTYPE_INT32, 0) : leat_gradient_input(g, k_input);
  return d;
}

static leat_output_t zero_like(leat_builder_t* b, leat_output_t x) {
  return leat_build_scalar(b, leat_build_type_of(b, x), 0);
}

static leat_output_t build_part(const diagonals_t* d, leat_output_t matrix) {
  return leat_build_named(d->b, "diag_part", "MatrixDiagPartV3",
                          LEAT_INPUTS(matrix, d->k, zero_like(d->b, matrix)),
                          LEAT_ATTRS(LEAT_STRING("align", d->align)));
}

static leat_output_t build_set(const diagonals_t* d, leat_output_t matrix, leat_output_t diagonal) {
  return leat_build_named(d->b, "set_diag", "MatrixSetDiagV3",
                          LEAT_INPUTS(matrix, diagonal, d->k),
                          LEAT_ATTRS(LEAT_STRING("align", d->align)));
}

static leat_output_t build_diag(const diagonals_t* d, leat_output_t diagonal, int64_t rows,
                                int64_t columns) {
  return leat_build_named(d->b, "diag", "MatrixDiagV3",
                          LEAT_INPUTS(diagonal, d->k,
                                      leat_build_scalar(d->b, LEAT_DTYPE_INT32, (double)rows),
                                      leat_build_scalar(d->b, LEAT_DTYPE_INT32, (double)columns),
                                      zero_like(d->b, diagonal)),
                          LEAT_ATTRS(LEAT_STRING("align", d->align)));
}

static leat_status_t diag_gradient(leat_gradient_t* g, int k_input) {
  diagonals_t d = diagonals_of(g, k_input);
  leat_gradient_set_input(g, 0, build_part(&d, leat_gradient_of_output(g, 0)));
  return leat_ok_status();
}
static leat_status_t matrix_diag_gradient(leat_gradient_t* g) { return diag_gradient(g, -1); }
static leat_status_t matrix_diag_v2_gradient(leat_gradient_t* g) { return diag_gradient(g, 1); }

// dC/d(input) has the gradient on the diagonals and zeros elsewhere. MatrixDiagV3 makes that in one
// node where the sizes are known; else MatrixSetDiagV3 writes the diagonals over zeros.
static leat_status_t part_gradient(leat_gradient_t* g, int k_input) {
  diagonals_t d = diagonals_of(g, k_input);
  leat_output_t input = leat_gradient_input(g, 0), gradient = leat_gradient_of_output(g, 0);
  leat_partial_shape_t shape = leat_graph_output_shape(d.b->graph, input);
  int64_t rows = shape.rank < 2 ? LEAT_DIM_UNKNOWN : leat_partial_shape_dim(shape, -2);
  int64_t columns = shape.rank < 2 ? LEAT_DIM_UNKNOWN : leat_partial_shape_dim(shape, -1);
  bool is_known = rows != LEAT_DIM_UNKNOWN && columns != LEAT_DIM_UNKNOWN;
  if (is_known && (k_input >= 0 || rows == columns)) {
    leat_gradient_set_input(g, 0, build_diag(&d, gradient, rows, columns));
  } else {
    leat_output_t zeros = leat_build_unary(d.b, "ZerosLike", input);
    leat_gradient_set_input(g, 0, build_set(&d, zeros, gradient));
  }
  return leat_ok_status();
}
static leat_status_t matrix_diag_part_gradient(leat_gradient_t* g) { return part_gradient(g, -1); }
static leat_status_t matrix_diag_part_v2_gradient(leat_gradient_t* g) {
  return part_gradient(g, 1);
}

// dC/d(input) is the gradient with zeros on the diagonals that were replaced, and dC/d(diagonal) is
// these diagonals of the gradient.
static leat_status_t set_gradient(leat_gradient_t* g, int k_input) {
  diagonals_t d = diagonals_of(g, k_input);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_output_t zeros = leat_build_unary(d.b, "ZerosLike", leat_gradient_input(g, 1));
  leat_gradient_set_input(g, 0, build_set(&d, gradient, zeros));
  leat_gradient_set_input(g, 1, build_part(&d, gradient));
  return leat_ok_status();
}
static leat_status_t matrix_set_diag_gradient(leat_gradient_t* g) { return set_gradient(g, -1); }
static leat_status_t matrix_set_diag_v2_gradient(leat_gradient_t* g) { return set_gradient(g, 2); }

// ---- Rows ---------------------------------------------------------------------------------------

#define ALIGN_ATTR \
  "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"

const leat_op_row_t leat_matrix_diag_ops[] = {
    {.name = "MatrixDiag",
     .inputs = "diagonal: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = matrix_diag_shape,
     .gradient = matrix_diag_gradient,
     .doc = "Square matrices with the given diagonals, else 0."},
    {.name = "MatrixDiagV2",
     .inputs = "diagonal: T; k: int32; num_rows: int32; num_cols: int32; padding_value: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = matrix_diag_v2_shape,
     .gradient = matrix_diag_v2_gradient,
     .doc = "Matrices with the given diagonals k, else padding_value."},
    {.name = "MatrixDiagV3",
     .inputs = "diagonal: T; k: int32; num_rows: int32; num_cols: int32; padding_value: T",
     .outputs = "output: T",
     .attrs = "T: type; " ALIGN_ATTR,
     .shape = matrix_diag_v2_shape,
     .gradient = matrix_diag_v2_gradient,
     .doc = "Matrices with the given diagonals k, aligned as stated, else padding_value."},
    {.name = "MatrixDiagPart",
     .inputs = "input: T",
     .outputs = "diagonal: T",
     .attrs = "T: type",
     .shape = matrix_diag_part_shape,
     .gradient = matrix_diag_part_gradient,
     .doc = "The main diagonals of the matrices."},
    {.name = "MatrixDiagPartV2",
     .inputs = "input: T; k: int32; padding_value: T",
     .outputs = "diagonal: T",
     .attrs = "T: type",
     .shape = matrix_diag_part_v2_shape,
     .gradient = matrix_diag_part_v2_gradient,
     .doc = "Diagonals k of the matrices, the shorter ones filled up with padding_value."},
    {.name = "MatrixDiagPartV3",
     .inputs = "input: T; k: int32; padding_value: T",
     .outputs = "diagonal: T",
     .attrs = "T: type; " ALIGN_ATTR,
     .shape = matrix_diag_part_v2_shape,
     .gradient = matrix_diag_part_v2_gradient,
     .doc = "Diagonals k of the matrices, the shorter ones aligned and filled up."},
    {.name = "MatrixSetDiag",
     .inputs = "input: T; diagonal: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = matrix_set_diag_shape,
     .gradient = matrix_set_diag_gradient,
     .doc = "The matrices with other main diagonals."},
    {.name = "MatrixSetDiagV2",
     .inputs = "input: T; diagonal: T; k: int32",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = matrix_set_diag_v2_shape,
     .gradient = matrix_set_diag_v2_gradient,
     .doc = "The matrices with other diagonals k."},
    {.name = "MatrixSetDiagV3",
     .inputs = "input: T; diagonal: T; k: int32",
     .outputs = "output: T",
     .attrs = "T: type; " ALIGN_ATTR,
     .shape = matrix_set_diag_v2_shape,
     .gradient = matrix_set_diag_v2_gradient,
     .doc = "The matrices with other diagonals k, aligned as stated."},
    {.name = "BatchMatrixDiag",
     .inputs = "diagonal: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = leat_shape_unknown,
     .deprecated_since = 14,
     .deprecation = "Use MatrixDiag",
     .doc = "As MatrixDiag."},
    {.name = "BatchMatrixDiagPart",
     .inputs = "input: T",
     .outputs = "diagonal: T",
     .attrs = "T: type",
     .shape = leat_shape_unknown,
     .deprecated_since = 14,
     .deprecation = "Use MatrixDiagPart",
     .doc = "As MatrixDiagPart."},
    {.name = "BatchMatrixSetDiag",
     .inputs = "input: T; diagonal: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = leat_shape_unknown,
     .deprecated_since = 14,
     .deprecation = "Use MatrixSetDiag",
     .doc = "As MatrixSetDiag."},
    LEAT_OP_ROWS_END,
};
