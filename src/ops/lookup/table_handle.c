// The ops that make lookup tables. Each kind of table has three: one whose handle is a reference to
// two strings, one with a resource handle, and an anonymous one, whose table has no name and lives
// as long as its handles.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t dense_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 0), 1));
  return leat_shape_scalar_output(c);
}

// Tells inference the types and shapes of the table's keys and values. Where the op has an input,
// it is the empty key, whose shape is that of all keys.
static leat_status_t table_value(leat_inference_t* c) {
  const leat_attr_value_t* shape = leat_node_attr(c->node, LEAT_SV("value_shape"));
  leat_referent_t table[] = {{.dtype = leat_node_attr_type(c->node, "key_dtype")},
                             {.dtype = leat_node_attr_type(c->node, "value_dtype")}};
  table[0].shape = table[1].shape = leat_partial_shape_scalar();
  if (c->node->input_count > 0) table[0].shape = leat_inference_input(c, 0);
  if (shape && shape->kind == LEAT_ATTR_SHAPE) table[1].shape = shape->shape;
  return leat_inference_set_output_referents(c, 0, table, 2);
}

#define NAMES \
  "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
#define TYPES "key_dtype: type; value_dtype: type"
#define VALUE_SHAPE "; value_shape: shape = {}"
#define DENSE "; initial_num_buckets: int = 131072; max_load_factor: float = 0.8"
#define KEYS "empty_key: key_dtype; deleted_key: key_dtype"

#define MAKER(op_name, op_inputs, form, op_attrs, op_shape, op_value, words)                   \
  {                                                                                            \
    .name = op_name, .inputs = op_inputs, .outputs = "table_handle: " form, .attrs = op_attrs, \
    .flags = LEAT_OP_STATEFUL, .shape = op_shape, .value = op_value,                           \
    .gradient = leat_gradient_none, .doc = words                                               \
  }

const leat_op_row_t leat_table_handle_ops[] = {
    MAKER("HashTable", NULL, "Ref(string)", NAMES TYPES, leat_shape_two_strings, NULL,
          "A table that is filled once."),
    MAKER("HashTableV2", NULL, "resource", NAMES TYPES, leat_shape_scalar_output, NULL,
          "A table that is filled once."),
    MAKER("AnonymousHashTable", NULL, "resource", TYPES, leat_shape_scalar_output, NULL,
          "A table without a name that is filled once."),
    MAKER("MutableHashTable", NULL, "Ref(string)", NAMES TYPES, leat_shape_two_strings, NULL,
          "A table that changes."),
    MAKER("MutableHashTableV2", NULL, "resource", NAMES TYPES, leat_shape_scalar_output,
          table_value, "A table that changes."),
    MAKER("AnonymousMutableHashTable", NULL, "resource", TYPES, leat_shape_scalar_output,
          table_value, "A table without a name that changes."),
    MAKER("MutableHashTableOfTensors", NULL, "Ref(string)", NAMES TYPES VALUE_SHAPE,
          leat_shape_two_strings, NULL, "A table of vectors that changes."),
    MAKER("MutableHashTableOfTensorsV2", NULL, "resource", NAMES TYPES VALUE_SHAPE,
          leat_shape_scalar_output, table_value, "A table of vectors that changes."),
    MAKER("AnonymousMutableHashTableOfTensors", NULL, "resource", TYPES VALUE_SHAPE,
          leat_shape_scalar_output, table_value, "A table of vectors without a name that changes."),
    MAKER("MutableDenseHashTable", "empty_key: key_dtype", "Ref(string)",
          NAMES TYPES VALUE_SHAPE DENSE, leat_shape_two_strings, NULL,
          "A table in two tensors of buckets."),
    MAKER("MutableDenseHashTableV2", KEYS, "resource", NAMES TYPES VALUE_SHAPE DENSE, dense_shape,
          table_value, "A table in two tensors of buckets."),
    MAKER("AnonymousMutableDenseHashTable", KEYS, "resource", TYPES VALUE_SHAPE DENSE, dense_shape,
          table_value, "A table without a name in two tensors of buckets."),
    LEAT_OP_ROWS_END,
};
