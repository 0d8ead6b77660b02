/* leat/gradients.h: derivatives of a graph (section 4.1 of the white paper) with what
 * TF_AddGradients does not offer: gradient functions of the caller, tensors at which the walk
 * stops, derivatives as rows, colocation.
 *
 * The library knows the derivatives of its ops. A caller may state others: for an op of a plugin,
 * for a function, or for one operation whose attribute "_gradient_op_type" names another entry
 * than its op (tf.Graph.gradient_override_map). The caller's function adds ordinary operations.
 * Here the gradient of each Identity is negated, so that what is before it climbs:
 *
 *   static int has_reversal(void* data, const char* entry) { return !strcmp(entry, "Identity"); }
 *   static void reversal(void* data, const leat_gradient_node_t* node,
 *                        leat_derivative_t* of_inputs, TF_Status* status) {
 *     TF_OperationDescription* negative = TF_NewOperation(data, "Neg", node->name);
 *     TF_AddInput(negative, node->of_outputs[0].values);
 *     of_inputs[0].values = (TF_Output){TF_FinishOperation(negative, status), 0};
 *   }
 *
 * and the derivative of |y| by |x| is then
 *
 *   leat_gradients_options_t options = {
 *       .has_gradient = has_reversal, .gradient = reversal, .data = graph};
 *   leat_derivative_t slope;
 *   leat_gradients(graph, &y, 1, &x, 1, &options, &slope, status);                            */
#ifndef LEAT_GRADIENTS_H_
#define LEAT_GRADIENTS_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The derivative of a tensor: none, where |values| has no operation; a tensor of the same shape,
 * where |indices| has none; or else rows of one (TensorFlow's IndexedSlices): row i of |values|
 * belongs to row indices[i] of a tensor of shape |dense_shape| (a vector), and rows of equal
 * indices add up. A place that is not used has an |oper| of NULL. */
typedef struct leat_derivative_t {
  TF_Output values;
  TF_Output indices;
  TF_Output dense_shape;
} leat_derivative_t;

/* What a gradient function is asked for: the derivatives of the inputs of |operation| from those
 * of its outputs. Everything is borrowed for the call. */
typedef struct leat_gradient_node_t {
  TF_Operation* operation;
  const char* entry; /* its op, or the text of its attribute "_gradient_op_type" */
  const char* name;  /* a scope without its "/", for the names of what is added; each operation
                        asks once, but the scope may have operations of the library too */
  const leat_derivative_t* of_outputs; /* [TF_OperationNumOutputs(operation)] */
} leat_gradient_node_t;

/* How derivatives are built. All bytes zero, or NULL in place of the struct, are TF_AddGradients'
 * ways. Everything is borrowed for the call. */
typedef struct leat_gradients_options_t {
  /* The scope of the operations that are added, without its "/"; "_1", "_2", ... is put behind it
   * where operations have such a name already. With its "/" it is taken as it is, for a scope that
   * was begun before. NULL: "gradients", "gradients_1", ... */
  const char* prefix;
  /* [ny] derivatives of the result by each y; ones where |oper| is NULL, or for NULL. */
  const TF_Output* grad_ys;
  /* Tensors that are taken as constants: nothing flows back through their operations. */
  const TF_Output* stop_gradients;
  int stop_gradient_count;
  /* Not 0: what belongs to the derivative of an operation is colocated with that operation. */
  int colocate;
  /* Gradient functions of the caller. Where |has_gradient| says 1 for an operation's entry,
   * |gradient| fills |of_inputs| [TF_OperationNumInputs], preset to none; else the library's is
   * used. An error in |status| ends the whole call with it. Both are called in the caller's thread.
   * |has_gradient| only looks the entry up: the graph is locked, so that a call of the library, or
   * waiting for a lock that another user of the graph holds, would never end. |gradient| is called
   * while the graph is not locked: it may add operations, and reads inputs and outputs of the
   * operation as they are, in loops too, where the library keeps the values of all iterations. For
   * operations in loops it may not begin a loop or conditional, import a graph or ask for
   * derivatives (FAILED_PRECONDITION). No other thread changes the graph meanwhile. NULL: none. */
  int (*has_gradient)(void* data, const char* entry);
  void (*gradient)(void* data, const leat_gradient_node_t* node, leat_derivative_t* of_inputs,
                   TF_Status* status);
  void* data;
} leat_gradients_options_t;

/* Adds operations that compute the derivatives of sum(ys) by each x; |out_derivatives| [nx], none
 * where no y depends on the x. Errors are TF_AddGradients': INVALID_ARGUMENT for values that do
 * not fit, NOT_FOUND for an op without a derivative, UNIMPLEMENTED beyond limits; operations that
 * were added before an error stay, and nothing reads them. */
TF_CAPI_EXPORT extern void leat_gradients(TF_Graph* graph, const TF_Output* ys, int ny,
                                          const TF_Output* xs, int nx,
                                          const leat_gradients_options_t* options,
                                          leat_derivative_t* out_derivatives, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_GRADIENTS_H_ */
