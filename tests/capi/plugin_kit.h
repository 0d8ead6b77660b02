// Registering ops and kernels in one line, and running them.
#ifndef LEAT_TESTS_CAPI_PLUGIN_KIT_H_
#define LEAT_TESTS_CAPI_PLUGIN_KIT_H_

#include "capi/kit.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/kernels_experimental.h"
#include "tensorflow/c/ops.h"

typedef void (*shape_t)(TF_ShapeInferenceContext*, TF_Status*);
typedef void (*compute_t)(void*, TF_OpKernelContext*);

// Whether |text| is among the bytes.
bool holds(const void* data, size_t length, const char* text);
// Registers a stateful op; NULL for what it has not.
TF_Code register_op(const char* name, const char* input, const char* output, const char* attr,
                    shape_t shape);
void register_kernel(const char* op, compute_t compute);
// Runs the node |y| of |graph|; its value, or NULL and |s|.
TF_Tensor* run_node(TF_Graph* graph, TF_Operation* y, TF_Status* s);
// The same of a graph with one node of |op| over the constant 5.
TF_Tensor* run_op(const char* op, TF_Status* s);

#endif  // LEAT_TESTS_CAPI_PLUGIN_KIT_H_
