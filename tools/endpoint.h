// Operations and their outputs by name, as "y", "y:0", "scope/y:1".
#ifndef LEAT_TOOLS_ENDPOINT_H_
#define LEAT_TOOLS_ENDPOINT_H_

#include "tensorflow/c/c_api.h"

// An output whose |oper| is NULL when there is none: complained about, with the nearest name.
TF_Output endpoint_output(TF_Graph* graph, const char* name);
// NULL likewise.
TF_Operation* endpoint_operation(TF_Graph* graph, const char* name);

#endif  // LEAT_TOOLS_ENDPOINT_H_
