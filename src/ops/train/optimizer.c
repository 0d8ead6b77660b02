// The ops of the optimizers: their shape function and registration. Each optimizer has one formula
// (optimizer_formula.inc) and up to four ops:
//
//   Apply<X>                var by reference, all elements      -> the reference
//   ResourceApply<X>        var by handle, all elements
//   SparseApply<X>          var by reference, rows that |indices| names
//   ResourceSparseApply<X>  var by handle, rows that |indices| names
//
// All have inputs in the same order: variables (the parameter and its slots, all of one shape),
// scalars, the gradient, the indices if there are such, more scalars. So one shape function serves
// all; it tells by its declaration what an input is, and names no op. The rows are made by macros,
// since rows written out would hide how little they differ.
//
// _FusedApply and _FusedResourceApply are Leat's own. The optimizer of graphs (update_rules.c)
// makes one of them of an Apply<X> whose gradient was scaled or clipped by scalars, its prologue:
// the kernel applies the prologue to elements that are in the processor's cache, which saves a pass
// over the gradient for each op. One op serves all optimizers: attribute "update" names one.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Returns the shape of the value of the variable at input |index|.
static leat_partial_shape_t variable_shape(leat_inference_t* c, int index, bool is_handle) {
  if (!is_handle) return leat_inference_input(c, index);
  int dtype;
  leat_partial_shape_t shape;
  if (leat_inference_input_handle(c, index, &dtype, &shape)) return shape;
  return leat_partial_shape_unknown();
}

// Checks that input |grad| has a row of the variable for each of |indices|, and merges what is
// known of the rows into |inout_shape|, the variable's shape.
static leat_status_t merge_rows(leat_inference_t* c, int grad, int indices,
                                leat_partial_shape_t* inout_shape) {
  leat_partial_shape_t vector, values = leat_inference_input(c, grad), rows;
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank(c, leat_inference_input(c, indices), 1, &vector));
  if (values.rank < 0) return leat_ok_status();
  if (values.rank == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape inference failed: grad is a scalar, must have rank 1 or more");
  }
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(vector, 0),
                                                leat_partial_shape_dim(values, 0), &count));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &vector));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, values, 1, INT32_MAX, &rows));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, vector, rows, &rows));
  return leat_inference_merge(c, *inout_shape, rows, inout_shape);
}

// Checks that all variables have one shape, that the gradient fits it, and that other inputs are
// scalars.
static leat_status_t optimizer_shape(leat_inference_t* c) {
  const leat_op_t* op = c->node->op;
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  int grad = 0;
  for (int i = 0; i < op->input_count; ++i) {
    const leat_op_argument_t* input = &op->inputs[i];
    bool is_handle = input->source == LEAT_TYPE_FIXED && input->dtype == LEAT_DTYPE_RESOURCE;
    leat_partial_shape_t unused;
    if (input->is_ref || is_handle) {
      LEAT_RETURN_IF_ERROR(
          leat_inference_merge(c, shape, variable_shape(c, i, is_handle), &shape));
    } else if (leat_string_view_equals(input->name, "grad") ||
               leat_string_view_equals(input->name, "delta")) {
      grad = i;
    } else if (!leat_string_view_equals(input->name, "indices")) {
      LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 0, &unused));
    }
  }
  bool is_sparse = grad + 1 < op->input_count &&
                   leat_string_view_equals(op->inputs[grad + 1].name, "indices");
  if (is_sparse) {
    LEAT_RETURN_IF_ERROR(merge_rows(c, grad, grad + 1, &shape));
  } else {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, leat_inference_input(c, grad), &shape));
  }
  if (c->node->output_count) leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// variables, scalars, gradient, args of the prologue: as above, by their number.
static leat_status_t fused_shape(leat_inference_t* c) {
  const int variables = (int)leat_node_attr_int(c->node, "V", 1);
  const int args = (int)leat_node_attr_int(c->node, "N", 1);
  const int gradient = c->node->input_count - args - 1;
  const bool is_handle = !c->node->op->has_ref_inputs;
  leat_partial_shape_t shape = leat_inference_input(c, gradient);
  for (int i = 0; i < variables; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, variable_shape(c, i, is_handle), &shape));
  }
  if (c->node->output_count) leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// ---- Inputs: variables; scalars; gradient; indices; scalars -------------------------------------

#define VAR(V) "var: " V
#define VAR_ACCUM(V) "var: " V "; accum: " V
#define VAR_UPDATE(V) "var: " V "; accum: " V "; accum_update: " V
#define VAR_LINEAR(V) "var: " V "; accum: " V "; linear: " V
#define VAR_DUAL(V) "var: " V "; gradient_accumulator: " V "; gradient_squared_accumulator: " V
#define VAR_M(V) "var: " V "; m: " V
#define VAR_M_V(V) "var: " V "; m: " V "; v: " V
#define VAR_M_V_VHAT(V) "var: " V "; m: " V "; v: " V "; vhat: " V
#define VAR_MS_MOM(V) "var: " V "; ms: " V "; mom: " V
#define VAR_MG_MS_MOM(V) "var: " V "; mg: " V "; ms: " V "; mom: " V

#define NUMBER                                                                               \
  "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "  \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define LOCKING "; use_locking: bool = false"
#define SLOTS "; update_slots: bool = true"
#define NESTEROV "; use_nesterov: bool = false"
#define LINEAR "; multiply_linear_by_lr: bool = false"

#define ROW_TAIL(words) .shape = optimizer_shape, .doc = words
#define DENSE_ROW(op, VARIABLES, before, grad, after, extra, ...)                  \
  {.name = op,                                                                     \
   .inputs = VARIABLES("Ref(T)") "; " before grad ": T" after,                     \
   .outputs = "out: Ref(T)",                                                       \
   .attrs = NUMBER LOCKING extra,                                                  \
   __VA_ARGS__}
#define RESOURCE_DENSE_ROW(op, VARIABLES, before, grad, after, extra, ...)         \
  {.name = op,                                                                     \
   .inputs = VARIABLES("resource") "; " before grad ": T" after,                   \
   .attrs = NUMBER LOCKING extra,                                                  \
   .flags = LEAT_OP_STATEFUL,                                                      \
   __VA_ARGS__}
#define DENSE(op, VARIABLES, before, grad, after, extra, words) \
  DENSE_ROW("Apply" op, VARIABLES, before, grad, after, extra, ROW_TAIL(words))
#define RESOURCE_DENSE(op, VARIABLES, before, grad, after, extra, words) \
  RESOURCE_DENSE_ROW("ResourceApply" op, VARIABLES, before, grad, after, extra, ROW_TAIL(words))
#define SPARSE(op, VARIABLES, before, after, extra, words)                         \
  {.name = "SparseApply" op,                                                       \
   .inputs = VARIABLES("Ref(T)") "; " before "grad: T; indices: Tindices" after,   \
   .outputs = "out: Ref(T)",                                                       \
   .attrs = NUMBER "; Tindices: {int32, int64}" LOCKING extra,                     \
   ROW_TAIL(words)}
#define RESOURCE_SPARSE(op, VARIABLES, before, after, extra, words)                \
  {.name = "ResourceSparseApply" op,                                               \
   .inputs = VARIABLES("resource") "; " before "grad: T; indices: Tindices" after, \
   .attrs = NUMBER "; Tindices: {int32, int64}" LOCKING extra,                     \
   .flags = LEAT_OP_STATEFUL,                                                      \
   ROW_TAIL(words)}
#define DENSE_PAIR(...) DENSE(__VA_ARGS__), RESOURCE_DENSE(__VA_ARGS__)
#define SPARSE_PAIR(...) SPARSE(__VA_ARGS__), RESOURCE_SPARSE(__VA_ARGS__)
#define SPARSE_FORMS(op, VARIABLES, before, after, extra, words) \
  SPARSE_PAIR(op, VARIABLES, before, after, extra, words " Only the rows that indices names.")
#define ALL_FORMS(op, VARIABLES, before, grad, after, extra, words) \
  DENSE_PAIR(op, VARIABLES, before, grad, after, extra, words),     \
      SPARSE_FORMS(op, VARIABLES, before, after, extra, words)
#define FUSED_INPUTS "; scalars: S * T; gradient: T; args: N * T"
#define FUSED_ATTRS                                                                          \
  "update: string; V: int >= 1; S: int >= 0; N: int >= 1; "                                  \
  "prologue: list(string) >= 1; sides: list(int) >= 1; flag: bool = false; "                 \
  "T: {float, double}" LOCKING
#define FUSED_WORDS                                                                          \
  "A step of the op that update names. The ops of the prologue come first; the gradient is " \
  "their operand on the side of sides, and the other one of args, a scalar."
#define MOMENTUM_WORDS "A step with momentum: accum = accum * momentum + grad."

#define RMS "lr: T; rho: T; momentum: T; epsilon: T; "
#define ADAM "beta1_power: T; beta2_power: T; lr: T; beta1: T; beta2: T; epsilon: T; "

const leat_op_row_t leat_optimizer_ops[] = {
    DENSE_PAIR("GradientDescent", VAR, "alpha: T; ", "delta", "", "",
               "Subtracts alpha times delta from a variable."),
    DENSE_PAIR("ProximalGradientDescent", VAR, "alpha: T; l1: T; l2: T; ", "delta", "", "",
               "A gradient step with the FOBOS rule's shrinking for l1 and l2."),
    SPARSE_PAIR("ProximalGradientDescent", VAR, "alpha: T; l1: T; l2: T; ", "", "",
                "A gradient step with the FOBOS rule's shrinking, on the rows that indices names."),
    ALL_FORMS("Adadelta", VAR_UPDATE, "lr: T; rho: T; epsilon: T; ", "grad", "", "",
              "A step of Adadelta: decayed means of squared gradients and squared steps."),
    ALL_FORMS("Adagrad", VAR_ACCUM, "lr: T; ", "grad", "", SLOTS,
              "A step of Adagrad: the gradient over the root of all squares so far."),
    ALL_FORMS("AdagradV2", VAR_ACCUM, "lr: T; epsilon: T; ", "grad", "", SLOTS,
              "A step of Adagrad with epsilon added to the root."),
    ALL_FORMS("AdagradDA", VAR_DUAL, "", "grad", "; lr: T; l1: T; l2: T; global_step: int64", "",
              "A step of Adagrad by dual averaging, with l1 and l2 regularisation."),
    ALL_FORMS("ProximalAdagrad", VAR_ACCUM, "lr: T; l1: T; l2: T; ", "grad", "", "",
              "A step of Adagrad with the FOBOS rule's shrinking for l1 and l2."),
    ALL_FORMS("Ftrl", VAR_LINEAR, "", "grad", "; lr: T; l1: T; l2: T; lr_power: T", LINEAR,
              "A step of FTRL-proximal."),
    ALL_FORMS("FtrlV2", VAR_LINEAR, "", "grad",
              "; lr: T; l1: T; l2: T; l2_shrinkage: T; lr_power: T", LINEAR,
              "A step of FTRL-proximal with l2 shrinkage of the gradient."),
    DENSE_PAIR("Momentum", VAR_ACCUM, "lr: T; ", "grad", "; momentum: T", NESTEROV,
               MOMENTUM_WORDS),
    SPARSE_FORMS("Momentum", VAR_ACCUM, "lr: T; ", "; momentum: T", NESTEROV, MOMENTUM_WORDS),
    RESOURCE_DENSE("KerasMomentum", VAR_ACCUM, "lr: T; ", "grad", "; momentum: T", NESTEROV,
                   "A step with momentum: accum = accum * momentum - lr * grad."),
    RESOURCE_SPARSE("KerasMomentum", VAR_ACCUM, "lr: T; ", "; momentum: T", NESTEROV,
                    "A step with momentum on the rows that indices names."),
    DENSE_PAIR("Adam", VAR_M_V, ADAM, "grad", "", NESTEROV,
               "A step of Adam: decayed first and second moments, corrected for their start."),
    RESOURCE_DENSE("AdamWithAmsgrad", VAR_M_V_VHAT, ADAM, "grad", "", "",
                   "A step of Adam over the largest second moment so far."),
    DENSE_PAIR("AdaMax", VAR_M_V, "beta1_power: T; lr: T; beta1: T; beta2: T; epsilon: T; ", "grad",
               "", "", "A step of AdaMax: Adam in the infinity norm."),
    ALL_FORMS("RMSProp", VAR_MS_MOM, RMS, "grad", "", "",
              "A step of RMSProp: the gradient over the root of a decayed mean of its squares."),
    ALL_FORMS("CenteredRMSProp", VAR_MG_MS_MOM, RMS, "grad", "", "",
              "A step of RMSProp over an estimate of the gradient's variance."),
    DENSE_PAIR("AddSign", VAR_M, "lr: T; alpha: T; sign_decay: T; beta: T; ", "grad", "", "",
               "A step scaled up where gradient and its mean agree in sign, by a sum."),
    DENSE_PAIR("PowerSign", VAR_M, "lr: T; logbase: T; sign_decay: T; beta: T; ", "grad", "", "",
               "A step scaled up where gradient and its mean agree in sign, by a power."),
    {.name = "_FusedApply",
     .inputs = "variables: Ref(V * T)" FUSED_INPUTS,
     .outputs = "out: Ref(T)",
     .attrs = FUSED_ATTRS,
     .shape = fused_shape,
     .doc = FUSED_WORDS},
    {.name = "_FusedResourceApply",
     .inputs = "variables: V * resource" FUSED_INPUTS,
     .attrs = FUSED_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = fused_shape,
     .doc = FUSED_WORDS},
    LEAT_OP_ROWS_END,
};
