// Questions to one node: its attributes by name, which inputs and outputs an argument of its op
// stands for, and their types. Positions are flattened: an argument "xs: N * T" stands for N of
// them. How many tensors an argument stands for follows from the node's attributes
// (graph/signature.h), which are complete in every node of a graph. Each question walks a short
// array; what asks often keeps the answer.
#include "graph/signature.h"

const leat_attr_value_t* leat_node_attr(const leat_node_t* node, leat_string_view_t name) {
  return leat_attr_find(node->attrs, node->attr_count, name);
}

const leat_tensor_t* leat_node_constant(const leat_node_t* node) {
  if (!(node->op->flags & LEAT_OP_CONSTANT)) return NULL;
  const leat_attr_value_t* value = leat_node_attr(node, LEAT_SV("value"));
  return value && value->kind == LEAT_ATTR_TENSOR && !value->is_list ? value->tensor : NULL;
}

bool leat_node_waits(const leat_node_t* node) {
  // The attributes that the op declares come first and are complete.
  LEAT_DCHECK(node->attr_count >= node->op->attr_count);
  // Only attributes that the op declares can be placeholders; others are never looked at.
  for (int i = 0; i < node->op->attr_count; ++i) {
    if (node->attrs[i].value.kind == LEAT_ATTR_PLACEHOLDER) return true;
  }
  return false;
}

// The attribute called |name| if it is a single value of |kind|, else NULL.
static const leat_attr_value_t* single(const leat_node_t* node, const char* name,
                                       leat_attr_kind_t kind) {
  for (int i = 0; i < node->attr_count; ++i) {
    const leat_attr_t* attr = &node->attrs[i];
    if (attr->value.kind != kind || attr->value.is_list) continue;
    if (leat_string_view_equals(attr->name, name)) return &attr->value;
  }
  return NULL;
}

bool leat_node_attr_bool(const leat_node_t* node, const char* name, bool otherwise) {
  const leat_attr_value_t* value = single(node, name, LEAT_ATTR_BOOL);
  return value ? value->b : otherwise;
}

int64_t leat_node_attr_int(const leat_node_t* node, const char* name, int64_t otherwise) {
  const leat_attr_value_t* value = single(node, name, LEAT_ATTR_INT);
  return value ? value->i : otherwise;
}

leat_string_view_t leat_node_attr_string(const leat_node_t* node, const char* name) {
  const leat_attr_value_t* value = single(node, name, LEAT_ATTR_STRING);
  return value ? value->s : LEAT_SV("");
}

int leat_node_attr_type(const leat_node_t* node, const char* name) {
  const leat_attr_value_t* value = single(node, name, LEAT_ATTR_TYPE);
  return value ? value->type : LEAT_DTYPE_INVALID;
}

// The number of tensors of argument |argument|, and the position of the first.
static int argument_range(const leat_op_argument_t* arguments, const leat_attr_t* attrs,
                          int argument, int* out_begin) {
  LEAT_DCHECK(argument >= 0);
  int64_t begin = 0;
  for (int i = 0; i < argument; ++i) begin += leat_signature_argument_count(&arguments[i], attrs);
  if (out_begin) *out_begin = (int)begin;
  return (int)leat_signature_argument_count(&arguments[argument], attrs);
}

int leat_node_input_argument(const leat_node_t* node, int argument, int* out_begin) {
  LEAT_DCHECK(argument < node->op->input_count);
  return argument_range(node->op->inputs, node->attrs, argument, out_begin);
}

int leat_node_output_argument(const leat_node_t* node, int argument, int* out_begin) {
  LEAT_DCHECK(argument < node->op->output_count);
  return argument_range(node->op->outputs, node->attrs, argument, out_begin);
}

int leat_node_input_type(const leat_node_t* node, int index) {
  LEAT_DCHECK(index >= 0);
  int64_t position = index;
  for (int i = 0; i < node->op->input_count; ++i) {
    const leat_op_argument_t* argument = &node->op->inputs[i];
    int64_t count = leat_signature_argument_count(argument, node->attrs);
    if (position < count) return leat_signature_argument_type(argument, node->attrs, position);
    position -= count;
  }
  return LEAT_DTYPE_INVALID;
}

void leat_node_input_types(const leat_node_t* node, uint8_t* out_types) {
  int32_t left = node->input_count;
  for (int i = 0; i < node->op->input_count; ++i) {
    const leat_op_argument_t* argument = &node->op->inputs[i];
    int64_t count = leat_signature_argument_count(argument, node->attrs);
    for (int64_t k = 0; k < count && left > 0; ++k, --left) {
      *out_types++ = (uint8_t)leat_signature_argument_type(argument, node->attrs, k);
    }
  }
}
