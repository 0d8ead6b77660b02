// SobolSample: points of Sobol's sequence, which fill the unit cube more evenly than random ones.
//
//   dim [], num_results [], skip [] -> samples [num_results, dim]
//
// The kernel is in sobol_cpu.c.
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// The size that scalar input |index| holds; -1 is unknown, as in a shape.
static leat_status_t size_at(leat_inference_t* c, int index, int64_t* out_size) {
  bool is_known;
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, index));
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, index, &is_known, out_size));
  if (!is_known) *out_size = LEAT_DIM_UNKNOWN;
  if (*out_size >= LEAT_DIM_UNKNOWN) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Dimension %lld must be >= 0",
                          (long long)*out_size);
}

static leat_status_t sobol_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  int64_t dims[2];
  LEAT_RETURN_IF_ERROR(size_at(c, 0, &dims[1]));
  LEAT_RETURN_IF_ERROR(size_at(c, 1, &dims[0]));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

const leat_op_row_t leat_sobol_ops[] = {
    {.name = "SobolSample",
     .inputs = "dim: int32; num_results: int32; skip: int32",
     .outputs = "samples: dtype",
     .attrs = "dtype: {float, double} = float",
     .shape = sobol_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(0), LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2)),
     .doc = "Points of Sobol's sequence in the unit cube, from the point number skip on."},
    LEAT_OP_ROWS_END,
};
