// A TF_Function, as other sources of the C API use it: its message, and making one of a message.
#ifndef LEAT_CAPI_GRAPH_FUNCTION_H_
#define LEAT_CAPI_GRAPH_FUNCTION_H_

#include "capi/handles.h"
#include "formats/generated/graph.h"

// The message behind |function|, valid as long as it.
const leat_pb_function_def_t* leat_capi_function_def(const TF_Function* function);
// Makes a TF_Function of a copy of |def|, which TF_DeleteFunction frees.
LEAT_MUST_USE leat_status_t leat_capi_function_wrap(const leat_pb_function_def_t* def,
                                                    TF_Function** out_function);

#endif  // LEAT_CAPI_GRAPH_FUNCTION_H_
