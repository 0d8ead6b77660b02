// Definitions of sums and maxima of sparse tensors over axes. sparse_reduction_cpu.c has the
// kernels.
//
//   SparseReduceSum, SparseReduceMax              sparse, axes -> dense
//   SparseReduceSumSparse, SparseReduceMaxSparse  sparse, axes -> sparse
//
// The shape of a dense result is known only where both the dense shape and the axes are constants.
// As in TensorFlow, SparseReduceSum alone has a gradient.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

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
#define REAL                                                                               \
  "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
#define ROW(op, out, types, shape_fn, gradient_fn, text)                                           \
  {.name = op,                                                                                     \
   .inputs = "input_indices: int64; input_values: T; input_shape: int64; reduction_axes: int32",   \
   .outputs = out,                                                                                 \
   .attrs = "keep_dims: bool = false; T: " types,                                                  \
   .shapes = "input_indices[n, r] input_values[n] input_shape[r]",                                 \
   .misfits = LEAT_MADE_SPARSE_MISFITS("input_indices", "input_values", "input_shape"),            \
   .shape = shape_fn,                                                                              \
   .gradient = gradient_fn,                                                                        \
   .doc = text}
#define SPARSE "output_indices: int64; output_values: T; output_shape: int64"

const leat_op_row_t leat_sparse_reduction_ops[] = {
    ROW("SparseReduceSum", "output: T", NUMBERS, reduce_shape, reduce_gradient,
        "Sums a sparse tensor over axes, into a dense one."),
    ROW("SparseReduceMax", "output: T", REAL, reduce_shape, NULL,
        "Maxima of a sparse tensor over axes, as a dense one."),
    ROW("SparseReduceSumSparse", SPARSE, NUMBERS, leat_shape_unknown, NULL,
        "Sums a sparse tensor over axes, into a sparse one."),
    ROW("SparseReduceMaxSparse", SPARSE, REAL, leat_shape_unknown, NULL,
        "Maxima of a sparse tensor over axes, as a sparse one."),
    LEAT_OP_ROWS_END,
};
