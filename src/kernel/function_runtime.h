// Functions that kernels call while a step runs (section 10): PartitionedCall, If, While, map
// functions of datasets. This is the interface; the master implements it over all devices of a
// session (master/function_runtime.h). A kernel holds a leat_callee_t for each function that it
// calls.
#ifndef LEAT_KERNEL_FUNCTION_RUNTIME_H_
#define LEAT_KERNEL_FUNCTION_RUNTIME_H_

#include "base/string_builder.h"
#include "kernel/background.h"
#include "kernel/kernel.h"

typedef struct leat_function_runtime_s leat_function_runtime_t;
// The end of a call: called exactly once, on any thread, perhaps before |run| returns.
typedef void (*leat_function_done_fn_t)(void* data, leat_status_t status);

// One call. The struct and what it points to stay the caller's, and must live until |done|.
typedef struct leat_function_call_s {
  const leat_step_services_t* caller;  // the step in which the call is made
  const leat_tensor_t* arguments;      // [argument_count] shared
  int argument_count;
  leat_tensor_t* returns;  // [return_count] set when the status is OK; then the caller's
  int return_count;
  // Counts this call and the calls that it leads to; NULL: the caller's counter does.
  _Atomic(int64_t)* calls;
  // Counts what seeded random ops draw in this call and in those that it leads to; NULL: as for the
  // caller.
  struct leat_draw_counts_s* draw_counts;
  // The number of a step in which other tasks take part, so that the function's Sends and Recvs
  // meet theirs; whoever made the step ends it. 0: a step of the call's own.
  int64_t step_id;
} leat_function_call_t;

// A node of a graph that a kernel describes, in order to write it. Everything is borrowed.
typedef struct leat_described_node_s {
  leat_string_view_t name;
  leat_string_view_t op;
  const leat_string_view_t* inputs;  // [input_count] names of nodes; output 0 of each is meant
  int input_count;
  const leat_attr_t* attrs;  // those that the op does not declare are not written
  int attr_count;
  uint64_t functions;  // the number of the runtime that knows the functions which |attrs| name
} leat_described_node_t;

typedef struct leat_function_runtime_vtable_s {
  // Makes a function ready to run, for nodes of |device|. Thread-safe; a second call for the same
  // function finds what the first one made. NOT_FOUND when the graph has no such function.
  leat_status_t (*instantiate)(leat_function_runtime_t* self,
                               const leat_function_name_t* function, leat_string_view_t device,
                               uint64_t* out_handle);
  // The number of arguments and returns of a function of this runtime. FAILED_PRECONDITION for a
  // handle of another one.
  leat_status_t (*signature)(leat_function_runtime_t* self, uint64_t handle, int* out_arguments,
                             int* out_returns);
  // A hash of all functions that this runtime can call, the same in each process whose graph has
  // the same functions.
  leat_status_t (*hash)(leat_function_runtime_t* self, uint64_t* out_hash);
  // Runs a function without blocking. INVALID_ARGUMENT for other numbers of arguments or returns
  // than the function has, RESOURCE_EXHAUSTED for calls that nest too deeply or are too many,
  // FAILED_PRECONDITION for a handle of another runtime.
  void (*run)(leat_function_runtime_t* self, uint64_t handle, const leat_function_call_t* call,
              leat_function_done_fn_t done, void* data);
  // Appends a GraphDef of |nodes|, with the functions that they name and those that these need.
  // |*out_stateful|, which is borrowed from the registry of ops, is the first op of these functions
  // whose results do not follow from its inputs alone; empty: none. INVALID_ARGUMENT where
  // functions of different runtimes have one name, FAILED_PRECONDITION for those of another
  // session.
  leat_status_t (*export_graph)(leat_function_runtime_t* self, const leat_described_node_t* nodes,
                                int count, leat_string_builder_t* out,
                                leat_string_view_t* out_stateful);
  // Makes a function of an encoded GraphDef: it takes nothing and returns what the GraphDef's one
  // _Retval takes, which must be of |dtype|. The functions of the GraphDef are known to its own
  // nodes only, and live as long as this runtime, as the GraphDef does; the same bytes again give
  // the same handle. INVALID_ARGUMENT for bytes that are no such graph.
  leat_status_t (*import_graph)(leat_function_runtime_t* self, leat_string_view_t graph_def,
                                int dtype, leat_string_view_t device, uint64_t* out_handle);
} leat_function_runtime_vtable_t;

struct leat_function_runtime_s {
  const leat_function_runtime_vtable_t* vtable;
  uint64_t number;  // of this runtime among all of the process, from 1 on
  leat_background_t* background;  // of the session; closed before the runtime ends
};

// The most calls within calls.
#define LEAT_MAX_FUNCTION_DEPTH 500
// The most function calls of one step, those that were expanded into a body included. n functions
// that each call the next one twice make 2^n calls, which no memory limit would stop. A loop is no
// such case, since its length is a matter between its caller and the deadline, so each of its
// iterations is counted by itself.
#define LEAT_MAX_FUNCTION_CALLS 1000000

// A function that a kernel calls. It is instantiated by the first call and then known.
typedef struct leat_callee_s {
  const leat_function_name_t* function;  // borrowed from the graph
  _Atomic(uint64_t) handle;              // + 1; 0: not instantiated yet
} leat_callee_t;
// The function that attribute |name| of the node names; item |index| of it when it is a list.
LEAT_MUST_USE leat_status_t leat_callee_initialize(const leat_kernel_creation_t* creation,
                                                   const char* name, int index,
                                                   leat_callee_t* out_callee);
// The handle of the function in the runtime of |context|'s session. FAILED_PRECONDITION outside of
// a session.
LEAT_MUST_USE leat_status_t leat_callee_find(leat_kernel_context_t* context, leat_callee_t* callee,
                                             uint64_t* out_handle);
// Calls the function; call->caller is set from |context|. A failure to find the function goes to
// |done| too.
void leat_callee_run(leat_kernel_context_t* context, leat_callee_t* callee,
                     leat_function_call_t* call, leat_function_done_fn_t done, void* data);

#endif  // LEAT_KERNEL_FUNCTION_RUNTIME_H_
