// Derivatives. Part of the C API: c_api.h has the rules on errors, ownership and threads.
//
// The graph is walked backward from the ys to the xs, and for every operation on the way the
// operations are added that carry a gradient from its outputs to its inputs; where several meet
// they are summed. Nothing runs: the results are tensors of the graph like any other, and may be
// differentiated again.
//
//   TF_Output slope;
//   TF_AddGradients(graph, &loss, 1, &weights, 1, NULL, status, &slope);  // d loss / d weights

#ifndef TENSORFLOW_C_C_API_GRADIENT_H_
#define TENSORFLOW_C_C_API_GRADIENT_H_

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Adds what computes, for every one of the |nx| tensors x, the derivative of the sum of all
// elements of all |ny| tensors y:
//
//   y[i] any shape, dx[i] [shape of y[i]] -> dy[j] [shape of x[j]]
//
// |dx| are the gradients to start from, one for each y, of its type and shape, as they would come
// from a loss that lies further on; NULL means ones. |dy|, an array of |nx|, receives the results.
// (The names are TensorFlow's; by what they mean the two should be exchanged.) An x that no y
// depends on in a differentiable way gets {NULL, -1}.
//
// The new operations are named "gradients/...", "gradients_1/..." the next time, and so on.
// TF_INVALID_ARGUMENT when a tensor is not in the graph or a dx does not fit its y; TF_NOT_FOUND
// when an operation on the way is of an op without a gradient.
TF_CAPI_EXPORT void TF_AddGradients(TF_Graph* g, TF_Output* y, int ny, TF_Output* x, int nx,
                                    TF_Output* dx, TF_Status* status, TF_Output* dy);

// The same with names "|prefix|/..."; TF_INVALID_ARGUMENT when an operation called |prefix|, or
// anything below it, is there already. NULL is TF_AddGradients.
TF_CAPI_EXPORT void TF_AddGradientsWithPrefix(TF_Graph* g, const char* prefix, TF_Output* y, int ny,
                                              TF_Output* x, int nx, TF_Output* dx,
                                              TF_Status* status, TF_Output* dy);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_GRADIENT_H_
