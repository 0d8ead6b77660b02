// The functions that the kernels of a session call (section 10). Each function becomes a graph of
// its own, is compiled as a signature is, and runs as a step of its own that shares its caller's
// container. The runtime belongs to a session and outlives all its steps; its vtable may be used
// from any thread.
#ifndef LEAT_MASTER_FUNCTION_RUNTIME_H_
#define LEAT_MASTER_FUNCTION_RUNTIME_H_

#include "graph/function/function_library.h"
#include "kernel/function_runtime.h"
#include "master/master.h"

// |master| and |ops| are borrowed for the life of the runtime.
LEAT_MUST_USE leat_status_t leat_master_functions_create(const leat_master_options_t* master,
                                                         leat_op_registry_t* ops,
                                                         leat_function_runtime_t** out_functions);
// Sets where functions are looked up from now on, and the GraphDef version of the graph that calls
// them; the library must outlive the runtime.
void leat_master_functions_set_library(leat_function_runtime_t* functions,
                                       leat_function_library_t* library,
                                       int32_t producer_version);
// Lets |functions| call those of |other|, whose handles values may bring along: datasets, say, that
// another session over the same resources has made. |other| is borrowed and outlives |functions|.
void leat_master_functions_know(leat_function_runtime_t* functions, leat_function_runtime_t* other);
// That library now; NULL before it was set. And the session's ConfigProto, borrowed from it.
const leat_function_library_t* leat_master_functions_library(
    const leat_function_runtime_t* functions);
leat_string_view_t leat_master_functions_config(const leat_function_runtime_t* functions);
// Lets the next call of the function |name| compile it anew, since its definition was removed from
// the library. Calls under way, and other functions that contain its body, keep the former one.
void leat_master_functions_forget(leat_function_runtime_t* functions, leat_string_view_t name);
void leat_master_functions_free(leat_function_runtime_t* functions);  // NULL is allowed

#endif  // LEAT_MASTER_FUNCTION_RUNTIME_H_
