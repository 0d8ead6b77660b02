// While loops. Part of the C API: c_api.h has the rules on errors, ownership and threads.
//
//   TF_WhileParams loop = TF_NewWhile(graph, &start, 1, status);
//   // in loop.cond_graph: less = Less(loop.cond_inputs[0], 10)
//   // in loop.body_graph: next = Add(loop.body_inputs[0], 1)
//   loop.cond_output = less;
//   loop.body_outputs[0] = next;
//   loop.name = "count";
//   TF_Output end;
//   TF_FinishWhile(&loop, status, &end);

#ifndef TENSORFLOW_C_C_API_WHILE_H_
#define TENSORFLOW_C_C_API_WHILE_H_

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// A loop under construction: TF_NewWhile fills it, the caller builds the two graphs and sets
// |cond_output|, |body_outputs| and |name|. What is const stays as it is, and everything but |name|
// belongs to the loop.
typedef struct TF_WhileParams {
  const int ninputs;  // loop variables: the length of the arrays below

  TF_Graph* const cond_graph;          // decides whether to go round once more
  const TF_Output* const cond_inputs;  // the loop variables in it
  TF_Output cond_output;               // to set: scalar bool

  TF_Graph* const body_graph;          // computes the next values
  const TF_Output* const body_inputs;  // the loop variables in it
  TF_Output* const body_outputs;       // to set: their next values, same types

  const char* name;  // to set: the scope of the new operations; the caller's, NUL-terminated
} TF_WhileParams;

// Begins a loop in |g| whose variables start as the |ninputs| tensors |inputs| of |g|; that array
// must live until the loop is finished. On success TF_FinishWhile or TF_AbortWhile has to follow;
// on failure all members are 0 or NULL and neither may. TF_INVALID_ARGUMENT when |ninputs| is not
// positive.
//
// The two graphs see the loop variables and what is built in them, nothing else of |g|: what the
// loop needs from outside has to be a loop variable.
TF_CAPI_EXPORT TF_WhileParams TF_NewWhile(TF_Graph* g, TF_Output* inputs, int ninputs,
                                          TF_Status* status);

// Adds the loop to the graph and writes the final values of its variables to |outputs|, an array of
// |ninputs|. |params| is used up, on failure too. TF_INVALID_ARGUMENT when a member that is to be
// set is not, or an output is not in its graph.
TF_CAPI_EXPORT void TF_FinishWhile(const TF_WhileParams* params, TF_Status* status,
                                   TF_Output* outputs);

// Gives the loop up; the graph stays as it was. |params| is used up.
TF_CAPI_EXPORT void TF_AbortWhile(const TF_WhileParams* params);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_WHILE_H_
