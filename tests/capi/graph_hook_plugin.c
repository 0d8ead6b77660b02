// A plug-in whose graph optimizer is that of the test that loads it.
#include "tensorflow/c/experimental/grappler/grappler.h"

TF_CAPI_EXPORT void (*graph_hook_initialize)(TP_OptimizerRegistrationParams* params,
                                             TF_Status* status);

TF_CAPI_EXPORT void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status* status) {
  graph_hook_initialize(params, status);
}
