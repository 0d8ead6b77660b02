// Facts about a node that follow from its attributes, from the shapes of its inputs and from
// constants (node_facts.h). The passes of the optimizer and the rewrite rules of the op families
// ask them, so that both decide alike. Each is found anew when it is asked, in a few steps, except
// that a constant is read item by item, up to MAX_COMPARED_ITEMS. Where something is not known, the
// answer is the one after which nothing is rewritten.
#include "graph/node_facts.h"

#include <string.h>

#define MAX_COMPARED_ITEMS (1 << 16)  // larger constants are not searched for neutral elements

bool leat_node_has_one_shape(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_partial_shape_t first = leat_graph_output_shape(graph, node->inputs[0]);
  if (!leat_partial_shape_is_full(first)) return false;
  for (int i = 1; i < node->input_count; ++i) {
    const leat_partial_shape_t shape = leat_graph_output_shape(graph, node->inputs[i]);
    if (!leat_partial_shape_equal(first, shape)) return false;
  }
  return true;
}

bool leat_node_adds_bias(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_partial_shape_t value = leat_graph_output_shape(graph, node->inputs[0]);
  const leat_partial_shape_t bias = leat_graph_output_shape(graph, node->inputs[1]);
  return value.rank > 0 && bias.rank == 1 && bias.dims[0] >= 0 &&
         bias.dims[0] == value.dims[value.rank - 1];
}

bool leat_node_has_default_attrs(const leat_node_t* node) {
  for (int i = 0; i < node->op->attr_count; ++i) {
    const leat_op_attr_t* attr = &node->op->attrs[i];
    if (attr->kind == LEAT_ATTR_TYPE || i == node->op->inputs[0].number_attr) continue;
    if (!attr->has_default ||
        !leat_attr_value_equal(&node->attrs[i].value, &attr->default_value)) {
      return false;
    }
  }
  return true;
}

// ---- Neutral operands ---------------------------------------------------------------------------

// Finds the bits and the size of the number that is neutral under |identities|. A complex number
// counts as two numbers. False where the type has no such number.
static bool neutral_bits(int dtype, unsigned identities, size_t* out_bytes, uint64_t* out_bits) {
  static const struct {
    uint8_t dtype, bytes;
    uint64_t minus_zero, one;
  } kFloats[] = {
      {LEAT_DTYPE_FLOAT, 4, UINT64_C(1) << 31, 0x3f800000},
      {LEAT_DTYPE_DOUBLE, 8, UINT64_C(1) << 63, UINT64_C(0x3ff) << 52},
      {LEAT_DTYPE_HALF, 2, 0x8000, 0x3c00},
      {LEAT_DTYPE_BFLOAT16, 2, 0x8000, 0x3f80},
      {LEAT_DTYPE_COMPLEX64, 4, UINT64_C(1) << 31, 0},
      {LEAT_DTYPE_COMPLEX128, 8, UINT64_C(1) << 63, 0},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFloats); ++i) {
    if (kFloats[i].dtype != dtype) continue;
    *out_bytes = kFloats[i].bytes;
    *out_bits = identities & LEAT_IDENTITY_ONE ? kFloats[i].one
                : identities & LEAT_IDENTITY_ZERO ? kFloats[i].minus_zero : 0;
    return !(identities & LEAT_IDENTITY_INTEGERS) &&
           (!(identities & LEAT_IDENTITY_ONE) || kFloats[i].one);
  }
  const leat_dtype_set_t kIntegers =
      LEAT_DTYPE_BIT(INT8) | LEAT_DTYPE_BIT(INT16) | LEAT_DTYPE_BIT(INT32) |
      LEAT_DTYPE_BIT(INT64) | LEAT_DTYPE_BIT(UINT8) | LEAT_DTYPE_BIT(UINT16) |
      LEAT_DTYPE_BIT(UINT32) | LEAT_DTYPE_BIT(UINT64);
  bool is_bool = dtype == LEAT_DTYPE_BOOL;
  if (!is_bool && !leat_dtype_in(dtype, kIntegers)) return false;
  *out_bytes = leat_dtype_size(dtype);
  *out_bits = identities & LEAT_IDENTITY_ONE        ? 1
              : identities & LEAT_IDENTITY_ALL_ONES ? (is_bool ? 1 : UINT64_MAX)
                                                    : 0;
  return true;
}

bool leat_tensor_is_neutral(const leat_tensor_t* tensor, unsigned identities) {
  size_t bytes = 0;
  uint64_t bits = 0;
  if (tensor->shape.element_count == 0 || tensor->shape.element_count > MAX_COMPARED_ITEMS ||
      !neutral_bits(tensor->dtype, identities, &bytes, &bits)) {
    return false;
  }
  const char* data = leat_tensor_data(tensor, const char);
  const char* end = data + leat_tensor_size_bytes(tensor);
  LEAT_DCHECK(bytes > 0 && bytes <= sizeof bits && (size_t)(end - data) % bytes == 0);
  for (; data < end; data += bytes) {  // little-endian
    if (memcmp(data, &bits, bytes)) return false;
  }
  return true;
}

bool leat_node_multiplies_ones(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_tensor_t* column = leat_node_constant(&graph->nodes[node->inputs[1].node]);
  if (!column || !leat_node_has_default_attrs(node)) return false;
  const leat_shape_t* shape = &column->shape;
  const leat_partial_shape_t x = leat_graph_output_shape(graph, node->inputs[0]);
  return shape->rank == 2 && leat_shape_dim(shape, 0) > 1 && leat_shape_dim(shape, 1) == 1 &&
         x.rank == 2 && x.dims[1] == leat_shape_dim(shape, 0) &&
         leat_tensor_is_neutral(column, LEAT_IDENTITY_ONE);
}
