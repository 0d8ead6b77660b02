// The ops Cast (the same numbers in another type) and Bitcast (the same bits read as another type),
// with their shapes and gradients. cast_cpu.c has the kernels.
//
// Cast keeps the shape, and shape inference sees small integers through it, because programs cast
// sizes between int32 and int64. Its gradient casts back, between floating and complex types only;
// other casts have no gradient. A Bitcast to a smaller type appends a dimension, one to a larger
// type consumes the last dimension, which must be the ratio of the sizes.
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/math/integer_value.h"
#include "ops/op_rows.h"

// Small integers keep their value through a cast to int32 or int64. Where an item does not fit
// int32 the values stay unknown, because the kernel would wrap.
static leat_status_t cast_value(leat_inference_t* c) {
  int to = leat_node_attr_type(c->node, "DstT");
  if (!leat_integer_value_applies(c, 0)) return leat_ok_status();
  if (to != LEAT_DTYPE_INT32 && to != LEAT_DTYPE_INT64) return leat_ok_status();
  leat_partial_value_t x;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &x));
  if (x.rank < 0) return leat_ok_status();
  for (int i = 0; i < x.count && to == LEAT_DTYPE_INT32; ++i) {
    int64_t item = x.items[i];
    if (item != LEAT_VALUE_UNKNOWN && item != (int32_t)item) return leat_ok_status();
  }
  return leat_inference_set_output_value(c, 0, x.rank, x.count, x.items);
}

static leat_status_t cast_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_dtype_set_t kDifferentiable = LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX;
  int from = leat_build_type_of(b, leat_gradient_input(g, 0));
  int to = leat_build_type_of(b, leat_gradient_output(g, 0));
  if (!leat_dtype_in(from, kDifferentiable) || !leat_dtype_in(to, kDifferentiable)) {
    return leat_ok_status();
  }
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, leat_arithmetic_cast(b, dy, from));
  return leat_ok_status();
}

static leat_status_t bitcast_shape(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_inference_input(c, 0);
  int64_t from = (int64_t)leat_dtype_size(leat_node_attr_type(c->node, "T"));
  int64_t to = (int64_t)leat_dtype_size(leat_node_attr_type(c->node, "type"));
  if (shape.rank < 0) return leat_ok_status();
  if (from < to) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, 1));
    int64_t last = leat_partial_shape_dim(shape, -1);
    if (last != LEAT_DIM_UNKNOWN && last != to / from) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Cannot bitcast from %d to %d due to shape. %lld does not match %lld",
                              leat_node_attr_type(c->node, "T"),
                              leat_node_attr_type(c->node, "type"), (long long)last,
                              (long long)(to / from));
    }
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, shape, 0, -1, &shape));
  } else if (from > to) {
    int64_t count = from / to;
    leat_partial_shape_t extension;
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &count, &extension));
    LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, shape, extension, &shape));
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define CASTABLE                                                                          \
  "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, "   \
  "int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}"

const leat_op_row_t leat_cast_ops[] = {
    {.name = "Cast",
     .inputs = "x: SrcT",
     .outputs = "y: DstT",
     .attrs = "SrcT: type; DstT: type; Truncate: bool = false",
     .shape = leat_shape_unchanged,
     .value = cast_value,
     .gradient = cast_gradient,
     .identities = LEAT_IDENTITY_SAME_TYPE,
     .flags = LEAT_OP_CHEAP,
     .doc = "x in the type DstT. Truncate rounds floats toward 0 instead of to nearest."},
    {.name = "_HostCast", .alias_of = "Cast", .doc = "Cast of tensors that lie with the host."},
    {.name = "Bitcast",
     .inputs = "input: T",
     .outputs = "output: type",
     .attrs = "T: " CASTABLE "; type: " CASTABLE,
     .shape = bitcast_shape,
     .identities = LEAT_IDENTITY_SAME_TYPE,
     .doc = "The bits of the input read as another type."},
    LEAT_OP_ROWS_END,
};
