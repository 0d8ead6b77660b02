// The functions that a session's kernels call (section 10): each is made a graph of its own,
// compiled as a signature is, and run as a step of its own that shares its caller's container.
#ifndef LEAT_MASTER_FUNCTION_RUNTIME_H_
#define LEAT_MASTER_FUNCTION_RUNTIME_H_

#include "graph/function_library.h"
#include "kernel/function_runtime.h"
#include "master/master.h"

// |master| and |ops| are borrowed.
LEAT_MUST_USE leat_status_t leat_master_functions_create(const leat_master_options_t* master,
                                                         leat_op_registry_t* ops,
                                                         leat_function_runtime_t** out_functions);
// Where functions are found from now on; it must outlive the runtime.
void leat_master_functions_set_library(leat_function_runtime_t* functions,
                                       leat_function_library_t* library);
void leat_master_functions_free(leat_function_runtime_t* functions);  // NULL is allowed

#endif  // LEAT_MASTER_FUNCTION_RUNTIME_H_
