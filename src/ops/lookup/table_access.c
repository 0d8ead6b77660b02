// The ops that find, insert, remove, count, export and import the entries of lookup tables. The
// older form of each op takes a reference to two strings, the V2 form a resource handle. A table's
// maker tells inference the types and shapes of its keys and values, which travel with the handle
// along the edges; from these the shape of a find's result is known before the table exists.
// Kernels: table_access_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- The table behind a handle ------------------------------------------------------------------

static leat_status_t check_type(const leat_inference_t* c, const char* attr, int own) {
  int wanted = leat_node_attr_type(c->node, attr);
  if (own == wanted) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Trying to read value with wrong dtype. Expected %s got %s",
                          leat_dtype_name(own), leat_dtype_name(wanted));
}

// Returns what inference knows of the keys and values of the table at input 0, or NULL. Fails when
// their types are not those of the attributes |key_attr| and |value_attr|.
static leat_status_t look_into(leat_inference_t* c, const char* key_attr, const char* value_attr,
                               const leat_referent_t** out_key_and_value) {
  leat_partial_value_t handle;
  *out_key_and_value = NULL;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &handle));
  if (handle.referent_count != 2) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(check_type(c, key_attr, handle.referents[0].dtype));
  LEAT_RETURN_IF_ERROR(check_type(c, value_attr, handle.referents[1].dtype));
  *out_key_and_value = handle.referents;
  return leat_ok_status();
}

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t find_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_two_strings(c, 0));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 2), 1));
  return leat_shape_unknown(c);
}

static leat_status_t find_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  const leat_referent_t* table;
  LEAT_RETURN_IF_ERROR(look_into(c, "Tin", "Tout", &table));
  if (!table) return leat_shape_unknown(c);
  leat_partial_shape_t key = table[0].shape, keys = leat_inference_input(c, 1), prefix;
  if (key.rank < 0 || keys.rank < 0) return leat_shape_unknown(c);
  if (keys.rank < key.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expected keys to have suffix %s but saw shape: %s",
                            LEAT_PARTIAL_SHAPE_TEXT(key), LEAT_PARTIAL_SHAPE_TEXT(keys));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, keys, 0, keys.rank - key.rank, &prefix));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, prefix, table[1].shape, &prefix));
  leat_inference_set_output(c, 0, prefix);
  return leat_ok_status();
}

static leat_status_t two_strings(leat_inference_t* c) { return leat_shape_check_two_strings(c, 0); }

static leat_status_t handle_shape(leat_inference_t* c) { return leat_shape_check_scalar(c, 0); }

static leat_status_t remove_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(handle_shape(c));
  return leat_inference_with_rank_at_least(c, leat_inference_input(c, 1), 1);
}

static leat_status_t size_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(handle_shape(c));
  return leat_shape_scalar_output(c);
}

static leat_status_t export_shape(leat_inference_t* c) {
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(two_strings(c));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &vector));
  leat_inference_set_output(c, 0, vector);
  return leat_ok_status();
}

static leat_status_t export_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(handle_shape(c));
  const leat_referent_t* table;
  return look_into(c, "Tkeys", "Tvalues", &table);
}

static leat_status_t import_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t keys, values = leat_inference_input(c, 2);
  int64_t count;
  LEAT_RETURN_IF_ERROR(handle_shape(c));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &keys));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, values, 1));
  return leat_inference_merge_dim(leat_partial_shape_dim(keys, 0),
                                  leat_partial_shape_dim(values, 0), &count);
}

// ---- Rows ---------------------------------------------------------------------------------------

#define IN_OUT "Tin: type; Tout: type"
#define KEYS_VALUES "; keys: Tin; values: Tout"

#define BOTH(op_name, more_inputs, op_outputs, op_attrs, op_shape, op_v2_shape, words)        \
  {.name = op_name,                                                                           \
   .inputs = "table_handle: Ref(string)" more_inputs,                                         \
   .outputs = op_outputs,                                                                     \
   .attrs = op_attrs,                                                                         \
   .shape = op_shape,                                                                         \
   .gradient = leat_gradient_none,                                                            \
   .doc = words},                                                                             \
  {                                                                                           \
    .name = op_name "V2", .inputs = "table_handle: resource" more_inputs,                     \
    .outputs = op_outputs, .attrs = op_attrs, .flags = LEAT_OP_STATEFUL,                      \
    .shape = op_v2_shape, .gradient = leat_gradient_none, .doc = words                        \
  }

const leat_op_row_t leat_table_access_ops[] = {
    BOTH("LookupTableFind", "; keys: Tin; default_value: Tout", "values: Tout", IN_OUT, find_shape,
         find_v2_shape, "The values of keys; a default one for keys that the table has not."),
    BOTH("LookupTableInsert", KEYS_VALUES, NULL, IN_OUT, two_strings, handle_shape,
         "Puts keys with their values into the table."),
    {.name = "LookupTableRemoveV2",
     .inputs = "table_handle: resource; keys: Tin",
     .attrs = "Tin: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = remove_shape,
     .gradient = leat_gradient_none,
     .doc = "Removes keys and their values."},
    BOTH("LookupTableSize", "", "size: int64", NULL, leat_shape_of_two_strings, size_v2_shape,
         "How many keys the table has."),
    BOTH("LookupTableExport", "", "keys: Tkeys; values: Tvalues", "Tkeys: type; Tvalues: type",
         export_shape, export_v2_shape, "All keys and values."),
    BOTH("LookupTableImport", KEYS_VALUES, NULL, IN_OUT, two_strings, import_v2_shape,
         "The table becomes these keys and values."),
    LEAT_OP_ROWS_END,
};
