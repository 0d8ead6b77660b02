// The ops Scatter*, which update rows of a variable named by indices, and ScatterNd*, which update
// slices named by index tuples: their shapes and registration. Each comes for a reference
// (Scatter*) and for a handle (ResourceScatter*). A list of macros makes the rows, because the ops
// differ in a word of the name and in the types only.
//
//   var [n, row...], indices [k...], updates [k..., row...] or []
//
// _ScaledScatter and _ScaledResourceScatter are Leat's own: the optimizer makes them of a Scatter*
// that adds or subtracts and the Mul that makes its updates, so that the product needs no memory.
// They multiply each row of the updates by a factor.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/index/scatter_nd.h"
#include "ops/array/row_scale.h"
#include "ops/op_rows.h"

// Returns the shape of the variable at input 0, given by reference or by handle.
static leat_partial_shape_t variable_shape(leat_inference_t* c) {
  int dtype;
  leat_partial_shape_t shape;
  if (c->node->op->inputs[0].is_ref) return leat_inference_input(c, 0);
  if (leat_inference_input_handle(c, 0, &dtype, &shape)) return shape;
  return leat_partial_shape_unknown();
}

// Checks that the updates are a scalar, or one row of the variable for each index.
static leat_status_t scatter_shape(leat_inference_t* c) {
  leat_partial_shape_t var = variable_shape(c), row, wanted, unused;
  leat_partial_shape_t updates = leat_inference_input(c, 2);
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, var, 1, INT32_MAX, &row));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, leat_inference_input(c, 1), row, &wanted));
  if (updates.rank != 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, updates, wanted, &unused));
  }
  if (c->node->output_count) leat_inference_set_output(c, 0, var);
  return leat_ok_status();
}

static leat_status_t scatter_nd_shape(leat_inference_t* c) {
  leat_partial_shape_t var = variable_shape(c);
  leat_partial_shape_t indices = leat_inference_input(c, 1), updates = leat_inference_input(c, 2);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, indices, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, updates, 1));
  LEAT_RETURN_IF_ERROR(leat_scatter_nd_check_shapes(c, indices, updates, var));
  if (c->node->output_count) leat_inference_set_output(c, 0, var);
  return leat_ok_status();
}

#define NUMBER                                                                              \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "    \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define ORDERED "{half, bfloat16, float, double, int32, int64}"
#define POLICY "; bad_indices_policy: string = ''"

#define SCATTER_ROW(op_name, more, types, locking, more_attrs, ...)                         \
  {.name = op_name,                                                                         \
   .inputs = "ref: Ref(T); indices: Tindices; updates: T" more,                             \
   .outputs = "output_ref: Ref(T)",                                                         \
   .attrs = "T: " types "; Tindices: {int32, int64}; use_locking: bool = " locking          \
            more_attrs,                                                                     \
   .shape = scatter_shape,                                                                  \
   .gradient = leat_gradient_none,                                                          \
   __VA_ARGS__}
#define RESOURCE_SCATTER_ROW(op_name, more, types, more_attrs, ...)                         \
  {.name = op_name,                                                                         \
   .inputs = "resource: resource; indices: Tindices; updates: dtype" more,                  \
   .attrs = "dtype: " types "; Tindices: {int32, int64}" more_attrs,                        \
   .flags = LEAT_OP_STATEFUL,                                                               \
   .shape = scatter_shape,                                                                  \
   __VA_ARGS__}
#define SCATTER(op_name, types, locking, words) \
  SCATTER_ROW(op_name, "", types, locking, "", .doc = words)
#define RESOURCE_SCATTER(op_name, types, words) \
  RESOURCE_SCATTER_ROW(op_name, "", types, "", .doc = words)
#define BOTH(how, types, words)                     \
  SCATTER("Scatter" how, types, "false", words),    \
      RESOURCE_SCATTER("ResourceScatter" how, NUMBER, words)
#define UPDATE "; update: {'Add', 'Sub'}"
#define SCALED_WORDS                                                                        \
  "Adds to rows of a variable, or subtracts from them, the updates times factor: a scalar, " \
  "or a number for each row."
#define SCATTER_ND(how, types, locking, words)                                              \
  {.name = "ScatterNd" how,                                                                 \
   .inputs = "ref: Ref(T); indices: Tindices; updates: T",                                  \
   .outputs = "output_ref: Ref(T)",                                                         \
   .attrs = "T: " types "; Tindices: {int32, int64}; use_locking: bool = " locking POLICY,  \
   .shape = scatter_nd_shape,                                                               \
   .gradient = leat_gradient_none,                                                          \
   .doc = words},                                                                           \
      {.name = "ResourceScatterNd" how,                                                     \
       .inputs = "ref: resource; indices: Tindices; updates: T",                            \
       .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true" POLICY,       \
       .flags = LEAT_OP_STATEFUL,                                                           \
       .shape = scatter_nd_shape,                                                           \
       .doc = words}

const leat_op_row_t leat_scatter_ops[] = {
    SCATTER("ScatterUpdate", "type", "true", "Replaces rows of a variable."),
    RESOURCE_SCATTER("ResourceScatterUpdate", "type", "Replaces rows of a variable."),
    BOTH("Add", NUMBER, "Adds to rows of a variable; a row named twice gets both."),
    BOTH("Sub", NUMBER, "Subtracts from rows of a variable."),
    SCATTER_ROW("_ScaledScatter", "; factor: T", NUMBER, "false", UPDATE, .doc = SCALED_WORDS),
    RESOURCE_SCATTER_ROW("_ScaledResourceScatter", "; factor: dtype", NUMBER, UPDATE,
                         .doc = SCALED_WORDS),
    BOTH("Mul", NUMBER, "Multiplies rows of a variable."),
    BOTH("Div", NUMBER, "Divides rows of a variable."),
    BOTH("Min", ORDERED, "Lowers rows of a variable to the updates."),
    BOTH("Max", ORDERED, "Raises rows of a variable to the updates."),
    SCATTER_ND("Update", "type", "true", "Replaces slices of a variable, named by index tuples."),
    SCATTER_ND("Add", NUMBER, "false", "Adds to slices of a variable, named by index tuples."),
    SCATTER_ND("Sub", NUMBER, "false",
               "Subtracts from slices of a variable, named by index tuples."),
    SCATTER_ND("Min", NUMBER, "false", "Lowers slices of a variable to the updates."),
    SCATTER_ND("Max", NUMBER, "false", "Raises slices of a variable to the updates."),
    LEAT_OP_ROWS_END,
};

// ---- Rewriting ----------------------------------------------------------------------------------

static int updates(const leat_node_t* root) {
  (void)root;
  return 2;
}

// The name of the root ends with what it does.
static leat_status_t scale_updates(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_string_view_t op = leat_rewrite_root(m)->op->name;
  const bool is_handle = !leat_rewrite_root(m)->op->has_ref_inputs;
  const leat_string_view_t how = {op.data + op.size - 3, 3};
  const leat_attr_t update = LEAT_STRING("update", how);
  return leat_row_scaling_make(m, is_handle ? "_ScaledResourceScatter" : "_ScaledScatter", &update,
                               1, out_by);
}

const leat_rewrite_rule_t leat_scatter_rules[] = {
    {.name = "scaled_scatter",
     .phase = LEAT_REWRITE_PROLOGUE,
     .root = "ScatterAdd|ScatterSub|ResourceScatterAdd|ResourceScatterSub",
     .producer = "Mul",
     .input = updates,
     .passes_reshapes = true,
     .has_effects = true,
     .applies = leat_row_scaling_applies,
     .make = scale_updates,
     .doc = "an update of rows scales what it adds by itself"},
    LEAT_REWRITE_RULES_END,
};
