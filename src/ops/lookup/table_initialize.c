// The ops that fill static lookup tables, from two tensors or from the lines of a text file.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t check_handle(leat_inference_t* c) {
  bool is_old = !leat_string_view_ends_with(c->node->op->name, LEAT_SV("V2"));
  return is_old ? leat_shape_check_two_strings(c, 0) : leat_shape_check_scalar(c, 0);
}

static leat_status_t fill_shape(leat_inference_t* c) {
  leat_partial_shape_t keys;
  LEAT_RETURN_IF_ERROR(check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &keys));
  return leat_inference_merge(c, keys, leat_inference_input(c, 2), &keys);
}

static leat_status_t fill_from_file_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_handle(c));
  return leat_shape_check_scalar(c, 1);
}

#define FILE_ATTRS \
  "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; "                \
  "delimiter: string = '\t'; offset: int = 0"

#define BOTH(op_name, more_inputs, op_attrs, op_shape, words)                                 \
  {.name = op_name,                                                                           \
   .inputs = "table_handle: Ref(string)" more_inputs,                                         \
   .attrs = op_attrs,                                                                         \
   .shape = op_shape,                                                                         \
   .gradient = leat_gradient_none,                                                            \
   .doc = words},                                                                             \
  {                                                                                           \
    .name = op_name "V2", .inputs = "table_handle: resource" more_inputs, .attrs = op_attrs,  \
    .flags = LEAT_OP_STATEFUL, .shape = op_shape, .gradient = leat_gradient_none, .doc = words \
  }

const leat_op_row_t leat_table_initialize_ops[] = {
    BOTH("InitializeTable", "; keys: Tkey; values: Tval", "Tkey: type; Tval: type", fill_shape,
         "Fills a table that is filled once."),
    BOTH(
        "InitializeTableFromTextFile", "; filename: string", FILE_ATTRS, fill_from_file_shape,
        "Fills a table from the lines of a file: a field, the whole line (-2) or its number (-1)."),
    LEAT_OP_ROWS_END,
};
