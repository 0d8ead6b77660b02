// The ops of maps from tensors to tensors. A map is a variant tensor: an op that changes it gives a
// new map as its output, and the old one stays as it was. So maps flow along edges and through
// loops, and have gradients like any tensor. tensor_map_cpu.c has the kernels.
//
// The gradient of a map is a map that has gradients under the same keys. A key that it does not
// have stands for a gradient of zeros:
//
//   v = Lookup(m, k)      dm = {k: dv}
//   y = Insert(m, k, v)   dv = dy[k] or zeros,  dm = dy without k
//   y = Erase(m, k)       dm = dy
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_output_t build_access(leat_gradient_t* g, const char* op, leat_output_t map,
                                  leat_output_t key, int value_dtype) {
  return leat_build(&g->builder, op, LEAT_INPUTS(map, key),
                    LEAT_ATTRS(LEAT_TYPE("value_dtype", value_dtype)));
}

static leat_status_t lookup_gradient(leat_gradient_t* g) {
  leat_output_t empty = leat_build(&g->builder, "EmptyTensorMap", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, "TensorMapInsert",
                                     LEAT_INPUTS(empty, leat_gradient_input(g, 1),
                                                 leat_gradient_of_output(g, 0)),
                                     LEAT_NO_ATTRS));
  return leat_ok_status();
}

// Builds Switch and Merge, because a lookup of a key that is not there would fail: the branch with
// the key looks it up and erases it, the other passes the map on and makes zeros.
static leat_status_t insert_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t map = leat_gradient_of_output(g, 0);
  leat_output_t key = leat_gradient_input(g, 1), value = leat_gradient_input(g, 2);
  int dtype = leat_build_type_of(b, value);
  leat_output_t has = leat_build_binary(b, "TensorMapHasKey", map, key);
  int32_t maps = leat_build_node(b, "Switch", LEAT_INPUTS(map, has), LEAT_NO_ATTRS);
  int32_t keys = leat_build_node(b, "Switch", LEAT_INPUTS(key, has), LEAT_NO_ATTRS);
  int32_t values = leat_build_node(b, "Switch", LEAT_INPUTS(value, has), LEAT_NO_ATTRS);
  leat_output_t map_there = leat_node_output(maps, 1), key_there = leat_node_output(keys, 1);
  leat_output_t found = build_access(g, "TensorMapLookup", map_there, key_there, dtype);
  leat_output_t rest = build_access(g, "TensorMapErase", map_there, key_there, dtype);
  leat_output_t zeros = leat_build_unary(b, "ZerosLike", leat_node_output(values, 0));
  leat_gradient_set_input(
      g, 0,
      leat_build(b, "Merge", LEAT_INPUTS(leat_node_output(maps, 0), rest), LEAT_NO_ATTRS));
  leat_gradient_set_input(g, 2,
                          leat_build(b, "Merge", LEAT_INPUTS(zeros, found), LEAT_NO_ATTRS));
  return leat_ok_status();
}

static leat_status_t erase_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0, leat_gradient_of_output(g, 0));
  return leat_ok_status();
}

#define KEY "input_handle: variant; key: key_dtype"
#define TYPES "key_dtype: type; value_dtype: type"

const leat_op_row_t leat_tensor_map_ops[] = {
    {.name = "EmptyTensorMap",
     .outputs = "handle: variant",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A map without keys."},
    {.name = "TensorMapSize",
     .inputs = "input_handle: variant",
     .outputs = "size: int32",
     .shape = leat_shape_scalar_output,
     .doc = "How many keys a map has."},
    {.name = "TensorMapLookup",
     .inputs = KEY,
     .outputs = "value: value_dtype",
     .attrs = TYPES,
     .shape = leat_shape_unknown,
     .gradient = lookup_gradient,
     .doc = "The value of a key that is there."},
    {.name = "TensorMapInsert",
     .inputs = KEY "; value: value_dtype",
     .outputs = "output_handle: variant",
     .attrs = TYPES,
     .shape = leat_shape_scalar_output,
     .gradient = insert_gradient,
     .doc = "The map with another value of a key."},
    {.name = "TensorMapErase",
     .inputs = KEY,
     .outputs = "output_handle: variant",
     .attrs = TYPES,
     .shape = leat_shape_scalar_output,
     .gradient = erase_gradient,
     .doc = "The map without a key that was there."},
    {.name = "TensorMapHasKey",
     .inputs = KEY,
     .outputs = "has_key: bool",
     .attrs = "key_dtype: type",
     .shape = leat_shape_scalar_output,
     .doc = "Whether a map has a key."},
    {.name = "TensorMapStackKeys",
     .inputs = "input_handle: variant",
     .outputs = "keys: key_dtype",
     .attrs = "key_dtype: type",
     .shape = leat_shape_unknown,
     .doc = "All keys, of one shape, in one tensor."},
    LEAT_OP_ROWS_END,
};
