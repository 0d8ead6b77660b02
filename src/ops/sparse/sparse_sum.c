// Definitions of sums of sparse tensors, with gradients. sparse_sum_cpu.c has the kernels.
//
//   SparseAdd        sparse a, sparse b, threshold -> sparse, of the same dense shape
//   SparseReduceSum  sparse, axes -> dense
//
// The number of entries of a + b depends on which indices they share, so that it is known only at
// run time. SparseAddGrad therefore finds the entries of each operand among those of the sum. A
// gradient has one number for each entry of an operand; indices and shapes get none. The shape that
// SparseReduceSum gives is known only where both the dense shape and the axes are constants.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t add_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &shape));
  leat_inference_set_output(c, 2, shape);
  LEAT_RETURN_IF_ERROR(
      leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, leat_partial_shape_dim(shape, 0)));
  return leat_shape_set_matrix(c, 1, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR);
}

// Each gradient has as many elements as its operand has entries.
static leat_status_t add_gradient_shape(leat_inference_t* c) {
  for (int i = 0; i < 2; ++i) {
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1 + i), 2, &shape));
    LEAT_RETURN_IF_ERROR(
        leat_shape_set_matrix(c, i, leat_partial_shape_dim(shape, 0), LEAT_SPARSE_VECTOR));
  }
  return leat_ok_status();
}

// The shape is known only where both the dense shape and the axes are constants.
static leat_status_t reduce_shape(leat_inference_t* c) {
  const leat_tensor_t *dense = leat_inference_input_tensor(c, 2),
                      *axes = leat_inference_input_tensor(c, 3);
  leat_partial_shape_t shape;
  if (!dense || !axes || dense->shape.element_count > LEAT_SHAPE_MAX_RANK) return leat_ok_status();
  bool is_reduced[LEAT_SHAPE_MAX_RANK] = {0};
  int64_t dims[LEAT_SHAPE_MAX_RANK], rank = dense->shape.element_count;
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (!leat_axis_resolve(&axis, rank)) return leat_ok_status();  // the kernel reports it
    is_reduced[axis] = true;
  }
  int count = 0;
  bool keeps = leat_node_attr_bool(c->node, "keep_dims", false);
  for (int64_t d = 0; d < rank; ++d) {
    if (is_reduced[d] && !keeps) continue;
    dims[count++] = is_reduced[d] ? 1 : leat_tensor_data(dense, const int64_t)[d];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, count, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// The gradient op finds the entries of each operand among those of the sum.
static leat_status_t add_gradient(leat_gradient_t* g) {
  int32_t node = leat_build_node(&g->builder, "SparseAddGrad",
                                 LEAT_INPUTS(leat_gradient_of_output(g, 1),
                                             leat_gradient_input(g, 0), leat_gradient_input(g, 3),
                                             leat_gradient_output(g, 0)),
                                 LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 1, leat_node_output(node, 0));
  leat_gradient_set_input(g, 4, leat_node_output(node, 1));
  return leat_ok_status();
}

// The dense shape with a 1 for each axis that is summed over. Negative axes count from the end.
static leat_output_t kept_shape(leat_builder_t* b, leat_output_t shape, leat_output_t axes) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t rank = leat_build_unary(b, "Size", shape);
  axes = leat_build_binary(b, "Reshape", axes,
                           leat_build_int32_vector(b, (const int32_t[]){-1}, 1));
  axes = leat_build_binary(b, "FloorMod", leat_build_binary(b, "AddV2", axes, rank), rank);
  leat_output_t all = leat_build(b, "Range", LEAT_INPUTS(zero, rank, one), LEAT_NO_ATTRS);
  leat_output_t ones =
      leat_build_binary(b, "Fill", leat_build_shape_of(b, axes),
                        leat_build_scalar(b, LEAT_DTYPE_INT64, 1));
  return leat_build(b, "DynamicStitch", LEAT_INPUTS(all, axes, shape, ones),
                    LEAT_ATTRS(LEAT_INT("N", 2)));
}

// Each entry gets the gradient of the sum that it went into: the index of an entry, divided by how
// many times larger each dimension is than that of the sum, is the index of its sum.
static leat_status_t reduce_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t shape = leat_gradient_input(g, 2);
  leat_output_t kept = kept_shape(b, shape, leat_gradient_input(g, 3));
  leat_output_t dy = leat_build_binary(b, "Reshape", leat_gradient_of_output(g, 0), kept);
  leat_output_t scale = leat_build_binary(b, "FloorDiv", shape, kept);
  leat_output_t places = leat_build_binary(b, "FloorDiv", leat_gradient_input(g, 0), scale);
  leat_gradient_set_input(g, 1, leat_build_binary(b, "GatherNd", dy, places));
  return leat_ok_status();
}

#define NUMBERS                                                                                \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, " \
  "qint16, quint16, uint16, complex128, half, uint32, uint64}"

const leat_op_row_t leat_sparse_sum_ops[] = {
    {.name = "SparseAdd",
     .inputs = "a_indices: int64; a_values: T; a_shape: int64; b_indices: int64; b_values: T; "
               "b_shape: int64; thresh: Treal",
     .outputs = "sum_indices: int64; sum_values: T; sum_shape: int64",
     .attrs = "T: " NUMBERS "; Treal: {float, double, int32, uint8, int16, int8, int64, bfloat16, "
              "uint16, half, uint32, uint64}",
     .shape = add_shape,
     .gradient = add_gradient,
     .doc = "The sum of two sparse tensors, without sums below a threshold."},
    {.name = "SparseAddGrad",
     .inputs = "backprop_val_grad: T; a_indices: int64; b_indices: int64; sum_indices: int64",
     .outputs = "a_val_grad: T; b_val_grad: T",
     .attrs = "T: " NUMBERS,
     .shape = add_gradient_shape,
     .gradient = leat_gradient_none,
     .doc = "The gradient of SparseAdd."},
    {.name = "SparseReduceSum",
     .inputs = "input_indices: int64; input_values: T; input_shape: int64; reduction_axes: int32",
     .outputs = "output: T",
     .attrs = "keep_dims: bool = false; T: " NUMBERS,
     .shape = reduce_shape,
     .gradient = reduce_gradient,
     .doc = "Sums a sparse tensor over axes, into a dense one."},
    LEAT_OP_ROWS_END,
};
