// The ops MatrixBandPart, Diag and DiagPart: their shapes, gradients and registration. band_cpu.c
// has the kernels.
//
//   MatrixBandPart  input [..., m, n], num_lower, num_upper -> the same shape
//   Diag            [d...] -> [d..., d...]         DiagPart  [d..., d...] -> [d...]
//
// MatrixBandPart keeps num_lower diagonals below the main one and num_upper above it, all of them
// for a negative number, and makes the other elements 0. Its gradient is the same band of dC/dy.
// Diag and DiagPart are each the gradient of the other.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static leat_status_t diag_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, input, input, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t diag_part_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), shape;
  if (input.rank < 0) return leat_ok_status();
  if (input.rank % 2 != 0 || input.rank == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Input must have even and non-zero rank, input rank is %d", input.rank);
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int half = input.rank / 2;
  for (int d = 0; d < half; ++d) {
    LEAT_RETURN_IF_ERROR(
        leat_inference_merge_dim(input.dims[d], input.dims[d + half], &dims[d]));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, half, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t band_part_gradient(leat_gradient_t* g) {
  leat_output_t lower = leat_gradient_input(g, 1), upper = leat_gradient_input(g, 2);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, "MatrixBandPart",
                                     LEAT_INPUTS(leat_gradient_of_output(g, 0), lower, upper),
                                     LEAT_NO_ATTRS));
  return leat_ok_status();
}

static leat_status_t diag_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(
      g, 0, leat_build_unary(&g->builder, "DiagPart", leat_gradient_of_output(g, 0)));
  return leat_ok_status();
}

static leat_status_t diag_part_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0,
                          leat_build_unary(&g->builder, "Diag", leat_gradient_of_output(g, 0)));
  return leat_ok_status();
}

#define DIAG_TYPES "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"

const leat_op_row_t leat_band_ops[] = {
    {.name = "MatrixBandPart",
     .inputs = "input: T; num_lower: Tindex; num_upper: Tindex",
     .outputs = "band: T",
     .attrs = "T: type; Tindex: {int32, int64} = int64",
     .shape = leat_shape_unchanged,
     .gradient = band_part_gradient,
     .doc = "The matrices, 0 but for num_lower diagonals below the main one and num_upper above; "
            "negative: all of them."},
    {.name = "BatchMatrixBandPart",
     .inputs = "input: T; num_lower: int64; num_upper: int64",
     .outputs = "band: T",
     .attrs = "T: type",
     .shape = leat_shape_unknown,
     .deprecated_since = 14,
     .deprecation = "Use MatrixBandPart",
     .doc = "As MatrixBandPart."},
    {.name = "Diag",
     .inputs = "diagonal: T",
     .outputs = "output: T",
     .attrs = DIAG_TYPES,
     .shape = diag_shape,
     .gradient = diag_gradient,
     .doc = "Zeros of twice the rank with the elements where both halves of the index are equal."},
    {.name = "DiagPart",
     .inputs = "input: T",
     .outputs = "diagonal: T",
     .attrs = DIAG_TYPES,
     .shape = diag_part_shape,
     .gradient = diag_part_gradient,
     .doc = "The elements where both halves of the index are equal."},
    LEAT_OP_ROWS_END,
};
