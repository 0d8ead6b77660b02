// A graph optimizer of a plug-in, as its functions share it.
#ifndef LEAT_CAPI_PLUGIN_GRAPH_OPTIMIZER_H_
#define LEAT_CAPI_PLUGIN_GRAPH_OPTIMIZER_H_

#include "optimize/graph_plugin.h"
#include "tensorflow/c/experimental/grappler/grappler.h"

// What an optimizer is given; it lies in the frame that calls it.
struct TF_GrapplerItem {
  const leat_graph_plugin_item_t* item;
};

typedef void (*leat_init_graph_fn_t)(TP_OptimizerRegistrationParams* params, TF_Status* status);
// Calls a library's TF_InitGraph and registers the optimizer that it describes.
LEAT_MUST_USE leat_status_t leat_capi_graph_optimizer_register(leat_init_graph_fn_t initialize);

#endif  // LEAT_CAPI_PLUGIN_GRAPH_OPTIMIZER_H_
