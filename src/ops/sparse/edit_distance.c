// Definition of EditDistance: how many edits lie between the sequences of two sparse tensors,
// hypothesis and truth [..., length] -> [...].
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

// The shape is known where both dense shapes are constants: the larger of each dimension but the
// last.
static leat_status_t distance_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 3));
  const leat_tensor_t* hypothesis = leat_inference_input_tensor(c, 2);
  const leat_tensor_t* truth = leat_inference_input_tensor(c, 5);
  if (!hypothesis || !truth) return leat_shape_unknown(c);
  int64_t rank = truth->shape.element_count, dims[LEAT_SHAPE_MAX_RANK];
  if (hypothesis->shape.element_count != rank || rank < 2 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape inference failed: hypothesis_shape and truth_shape have %lld "
                            "and %lld elements, must have the same number, at least 2",
                            (long long)hypothesis->shape.element_count, (long long)rank);
  }
  for (int64_t d = 0; d < rank; ++d) {
    dims[d] = LEAT_MAX(leat_tensor_data(hypothesis, const int64_t)[d],
                       leat_tensor_data(truth, const int64_t)[d]);
  }
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, (int)rank - 1, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define SEQUENCES_MISFITS(name)                                                                 \
  name "_indices: " name "_indices should be a matrix, but got shape: % | Expected " name       \
       "_shape.NumElements == #cols(" name "_indices); " name "_values: " name                  \
       "_values should be a vector, but got shape: % | Expected " name                          \
       "_values.NumElements == #rows(" name "_indices); " name "_shape: " name                  \
       "_shape should be a vector, but got shape: % | Expected " name                           \
       "_shape.NumElements == #cols(" name "_indices)"

const leat_op_row_t leat_edit_distance_ops[] = {
    {.name = "EditDistance",
     .inputs = "hypothesis_indices: int64; hypothesis_values: T; hypothesis_shape: int64; "
               "truth_indices: int64; truth_values: T; truth_shape: int64",
     .outputs = "output: float",
     .attrs = "normalize: bool = true; T: type",
     .shapes = "hypothesis_indices[n, r] hypothesis_values[n] hypothesis_shape[r] "
               "truth_indices[m, r] truth_values[m] truth_shape[r]",
     .misfits = SEQUENCES_MISFITS("hypothesis") "; " SEQUENCES_MISFITS("truth"),
     .shape = distance_shape,
     .gradient = leat_gradient_none,
     .doc = "The Levenshtein distances of sequences, perhaps over the length of the true ones."},
    LEAT_OP_ROWS_END,
};
