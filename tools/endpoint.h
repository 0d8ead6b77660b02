// Finds operations and outputs of a graph by names such as "y", "y:0" and "scope/y:1".
#ifndef LEAT_TOOLS_ENDPOINT_H_
#define LEAT_TOOLS_ENDPOINT_H_

#include "tensorflow/c/c_api.h"

// The output |name|. Where there is none, its |oper| is NULL, and it has complained with the
// nearest name.
TF_Output endpoint_output(TF_Graph* graph, const char* name);
// The operation |name|, or NULL after a complaint.
TF_Operation* endpoint_operation(TF_Graph* graph, const char* name);

#endif  // LEAT_TOOLS_ENDPOINT_H_
