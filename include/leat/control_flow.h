/* leat/control_flow.h: conditionals and loops, built from the nodes of the white paper's section
 * 4.4, over TensorFlow's C API.
 *
 * A client says where a loop or a branch begins and ends; between the two it adds operations as
 * always. While a construct is open, its context is the thread's current one in this graph, and
 * each operation that the thread then adds (TF_FinishOperation, leat_operation and what builds on
 * them) is put into it by the library: a value from outside comes in through an Enter (a loop's) or
 * a Switch (a branch's), once for each value and context, however deep contexts are nested; an
 * operation without inputs waits for the context's pivot; control inputs from outside a loop are
 * replaced. The rules, the
 * nodes and their names are those of TensorFlow 1's tf.while_loop and tf.cond, so that a language
 * binding needs no bookkeeping of its own. The sum of 0, 1, ... 9:
 *
 *   TF_Output start[2] = {leat_constant_int(s, 0), leat_constant_int(s, 0)}, v[2], ends[2];
 *   TF_Output limit = leat_constant_int(s, 10), one = leat_constant_int(s, 1);
 *   leat_flow_context_t* loop = leat_while_begin(graph, "while", start, 2, NULL, v, status);
 *   TF_Output less = {leat_operation(s, "Less", NULL, (TF_Output[]){v[0], limit}, 2, NULL, 0), 0};
 *   leat_while_body(loop, less, v, status);
 *   TF_Output next[2] = {leat_add(s, v[0], one), leat_add(s, v[1], v[0])};
 *   leat_while_end(loop, next, 2, ends, status);
 *
 * And "if x < 0 then -x else x":
 *
 *   TF_Output less = {leat_operation(s, "Less", NULL, (TF_Output[]){x, zero}, 2, NULL, 0), 0};
 *   leat_flow_context_t* branch = leat_cond_begin(graph, "cond", less, NULL, status);
 *   TF_Output negative = {leat_operation(s, "Neg", NULL, &x, 1, NULL, 0), 0}, size;
 *   branch = leat_cond_else(branch, &negative, 1, status);
 *   leat_cond_end(branch, &x, 1, &size, status);
 *
 * Ownership: a context belongs to its graph and lives as long; nothing here is freed. Threads: each
 * function takes the graph's lock for the time of the call, as TF_FinishOperation does, and each
 * thread has a current context of its own; a construct is built by the thread that began it, and
 * may be abandoned by any. Nothing blocks. Errors: INVALID_ARGUMENT for values that do not fit (the
 * message names both), FAILED_PRECONDITION for calls in the wrong order, RESOURCE_EXHAUSTED without
 * memory. After an error the construct is still open: call again, or leat_flow_abandon.
 *
 * A graph that is imported is put into the current context as a whole: what its inputs are mapped
 * to is captured. What TF_AddGradients and TF_FinishWhile add is not rewired, and is in the context
 * of what it reads. Neither are changes of operations that are there already
 * (TF_AddOperationControlInput, TF_UpdateEdge). A capture takes the device, the colocation and the
 * control inputs that its reader has when it is finished.
 *
 * Of tf.while_loop's options, swap_memory has nothing to do here, and back_prop=False is a
 * StopGradient behind the exits. */
#ifndef LEAT_CONTROL_FLOW_H_
#define LEAT_CONTROL_FLOW_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One loop, or one branch of a conditional. */
typedef struct leat_flow_context_t leat_flow_context_t;

/* How a construct is built. Everything is borrowed for the call; all bytes zero, or NULL in place
 * of the struct, are the defaults. */
typedef struct leat_flow_options_t {
  /* of the nodes that the construct itself adds; NULL leaves it to the placer. A Switch is
   * colocated with its data instead. */
  const char* device;
  /* The construct begins after these, as under tf.control_dependencies. */
  TF_Operation* const* control_inputs;
  int control_input_count;

  /* Of loops only: how many iterations may run at once; 0 is TensorFlow's 10. */
  int parallel_iterations;
  /* A scalar, int32 or int64: no more iterations than this, whatever the condition says; an |oper|
   * of NULL is no bound. The loop then counts in a variable of its own, which the caller does not
   * see. */
  TF_Output maximum_iterations;
  /* Shape invariants: [count] ranks, and the sizes of all shapes one behind the other; -1 is an
   * unknown rank or size. NULL: each variable keeps the shape that its input has. */
  const int* ranks;
  const int64_t* dims;
} leat_flow_options_t;

/* ---- Loops ----------------------------------------------------------------------------------- */

/* Begins a loop with |count| >= 1 variables, whose first values are |inputs|. The thread is then in
 * the loop's condition, which reads |out_variables| [count]. Nodes are named |name|/Enter and so
 * on; |name| is the caller's name scope without its "/", best one that is new. The frame is named
 * |name|/while_context. All these names are made unique in the graph by a number behind them. NULL
 * on error, and no context is then open. Here and below, results may be written over arguments. */
TF_CAPI_EXPORT extern leat_flow_context_t* leat_while_begin(
    TF_Graph* graph, const char* name, const TF_Output* inputs, int count,
    const leat_flow_options_t* options, TF_Output* out_variables, TF_Status* status);
/* Ends the condition and begins the body: |condition|, a scalar bool, says whether the body runs
 * (once more). The body reads |out_variables| [count], which may be the array of
 * leat_while_begin. */
TF_CAPI_EXPORT extern void leat_while_body(leat_flow_context_t* loop, TF_Output condition,
                                           TF_Output* out_variables, TF_Status* status);
/* Ends the body, whose |results| [count] are the variables' next values, and leaves the loop. Each
 * has its variable's type, and its shape is no vaguer than the variable's. |out_exits| [count] are
 * the last values, outside the loop. */
TF_CAPI_EXPORT extern void leat_while_end(leat_flow_context_t* loop, const TF_Output* results,
                                          int count, TF_Output* out_exits, TF_Status* status);

/* ---- Conditionals ---------------------------------------------------------------------------- */

/* Begins a conditional on |predicate|, a scalar bool. The thread is then in the branch that runs
 * when it is true, and the context is that branch's. Names and errors are as of
 * leat_while_begin. */
TF_CAPI_EXPORT extern leat_flow_context_t* leat_cond_begin(TF_Graph* graph, const char* name,
                                                           TF_Output predicate,
                                                           const leat_flow_options_t* options,
                                                           TF_Status* status);
/* Ends the true branch with |count| >= 1 |results|, and returns the context of the false branch,
 * in which the thread is then. A result may be a value from outside. One whose index is -1 stands
 * for its operation: that runs in its branch, and the merged value is the predicate. On error the
 * true branch is still open, and |branch| is returned. */
TF_CAPI_EXPORT extern leat_flow_context_t* leat_cond_else(leat_flow_context_t* branch,
                                                          const TF_Output* results, int count,
                                                          TF_Status* status);
/* Ends the false branch with as many |results| of the same types, and leaves the conditional.
 * |out_merged| [count] are the results of the branch that runs. */
TF_CAPI_EXPORT extern void leat_cond_end(leat_flow_context_t* branch, const TF_Output* results,
                                         int count, TF_Output* out_merged, TF_Status* status);

/* ---- Contexts -------------------------------------------------------------------------------- */

/* Leaves an open construct without finishing it, together with those opened in it, when the code
 * that builds it fails; either branch stands for its conditional. What was added stays in the
 * graph, as in TensorFlow, and nothing outside reads it. Does nothing for NULL and for a construct
 * that is not open, so that it may always be called at the end. */
TF_CAPI_EXPORT extern void leat_flow_abandon(leat_flow_context_t* context);
/* Makes |context|, open or finished, the thread's current one until leat_flow_leave; NULL is the
 * outside of all contexts (tf.control_dependencies(None)). Calls nest. */
TF_CAPI_EXPORT extern void leat_flow_enter(TF_Graph* graph, leat_flow_context_t* context,
                                           TF_Status* status);
/* Goes back to what was current before the last leat_flow_enter. Does nothing without one since
 * the innermost construct was begun. */
TF_CAPI_EXPORT extern void leat_flow_leave(TF_Graph* graph);
/* The thread's current context; NULL outside all. */
TF_CAPI_EXPORT extern leat_flow_context_t* leat_flow_current(TF_Graph* graph);
/* The context that |operation| is in; NULL outside all. An Exit is in its loop, though its output
 * is outside. */
TF_CAPI_EXPORT extern leat_flow_context_t* leat_flow_of(const TF_Operation* operation);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_CONTROL_FLOW_H_ */
