// What is behind the opaque types of the C API, for the sources of src/capi/ only. A handle is a
// thin shell: it owns a reference to an object of the library below (graph, session, tensor) and
// adds none of its own behaviour. A function of the C API checks its arguments, translates them,
// calls the library and gives the result back:
//
//   void TF_SomethingOf(TF_Graph* graph, TF_Output output, TF_Status* status) {
//     leat_output_t resolved;
//     leat_capi_lock(graph);
//     leat_status_t result = leat_capi_output_resolve(graph, output, "output", &resolved);
//     if (!result) result = leat_something(graph->shared->graph, resolved);
//     leat_capi_unlock(graph);
//     leat_capi_status_set(status, result);
//   }
//
// Locking: whoever reads or changes the graph behind a TF_Graph holds its mutex (leat_capi_lock).
// The number of an operation's node never changes, so that it is read without the lock. Errors of
// the library are leat_status_t; each function of the C API ends by giving its status to the
// caller's TF_Status (leat_capi_status_set). No function of the C API aborts the process.
#ifndef LEAT_CAPI_HANDLES_H_
#define LEAT_CAPI_HANDLES_H_

#include "capi/leat/names.h"
#include "graph/control_flow/context.h"
#include "init.h"
#include "session/session.h"
#include "tensorflow/c/c_api.h"

// ---- Status -------------------------------------------------------------------------------------

typedef struct leat_capi_payload_s leat_capi_payload_t;

// A TF_Status: the last result that a function put into it, and the payloads that a caller added.
struct TSL_Status {
  leat_status_t status;           // OK is NULL
  leat_capi_payload_t* payloads;  // list
};

// Makes |status| OK without payloads.
void leat_capi_status_clear(TF_Status* status);
// Sets |out_status| to |status|, which is taken. Where |out_status| is NULL the status is dropped.
static inline void leat_capi_status_set(TF_Status* out_status, leat_status_t status) {
  if (LEAT_UNLIKELY(!out_status)) {
    leat_status_free(status);
    return;
  }
  if (LEAT_UNLIKELY(out_status->status || out_status->payloads)) {
    leat_capi_status_clear(out_status);
  }
  out_status->status = status;
}
// For functions that this version does not have: UNIMPLEMENTED "<function> is not available ...".
void leat_capi_status_unimplemented(TF_Status* out_status, const char* function);

// ---- Buffer -------------------------------------------------------------------------------------

// INVALID_ARGUMENT unless |buffer| is empty, as TF_NewBuffer makes it.
LEAT_MUST_USE leat_status_t leat_capi_buffer_check_empty(const TF_Buffer* buffer);
// Moves the bytes of |builder| into |out_buffer|, which must be empty. The builder is used up, also
// after a failure.
LEAT_MUST_USE leat_status_t leat_capi_buffer_take(leat_string_builder_t* builder,
                                                  TF_Buffer* out_buffer);
// Makes a new buffer of the bytes of |builder|, which is used up. Returns NULL when |result|
// (taken) is an error or there is no memory; |out_status| is set in either case.
TF_Buffer* leat_capi_buffer_return(leat_status_t result, leat_string_builder_t* builder,
                                   TF_Status* out_status);
// The bytes of |buffer|; none where it is NULL.
static inline leat_string_view_t leat_capi_buffer_bytes(const TF_Buffer* buffer) {
  return buffer ? leat_string_view_make(buffer->data, buffer->data ? buffer->length : 0)
                : leat_string_view_make(NULL, 0);
}

// ---- Tensor -------------------------------------------------------------------------------------

struct TF_Tensor {
  leat_tensor_t tensor;
  size_t size_bytes;  // of the caller's block, which may be larger than the elements
  TF_Tensor* next;    // in a thread's list of handles for reuse (tensor_handle.c)
};

// Makes a handle whose content the caller sets; NULL where there is no memory. It mostly reuses a
// handle that this thread deleted, and then calls no allocator.
TF_Tensor* leat_capi_tensor_new(void);
// Moves |tensor| into a handle without content.
void leat_capi_tensor_fill(TF_Tensor* handle, leat_tensor_t* inout_tensor);
// Makes a handle of |tensor|, which is moved in any case.
LEAT_MUST_USE leat_status_t leat_capi_tensor_wrap(leat_tensor_t* inout_tensor,
                                                  TF_Tensor** out_handle);
// Makes a handle of a copy of |tensor|, so that the handle's owner may write into it.
LEAT_MUST_USE leat_status_t leat_capi_tensor_wrap_copy(const leat_tensor_t* tensor,
                                                       TF_Tensor** out_handle);
// True for tensors that a caller made as bytes and that kernels cannot take as they are: a
// resource, whose block is a serialized ResourceHandleProto, and a variant, whose bytes mean
// nothing.
static inline bool leat_capi_tensor_is_raw(const TF_Tensor* handle) {
  return leat_dtype_in(handle->tensor.dtype,
                       LEAT_DTYPE_BIT(RESOURCE) | LEAT_DTYPE_BIT(VARIANT)) &&
         handle->tensor.shape.element_count > 0 &&
         !(handle->tensor.buffer && handle->tensor.buffer->object_dtype);
}
// Gives the value in the form that the library works with; the caller releases it. Raw resources
// are decoded and booleans normalized to 0 and 1. INVALID_ARGUMENT for NULL and for raw variants.
LEAT_MUST_USE leat_status_t leat_capi_tensor_value(const TF_Tensor* handle,
                                                   leat_tensor_t* out_tensor);

// ---- Graph and operation ------------------------------------------------------------------------

// A node of a graph, as the caller knows it. It lies in a chunk of the graph and lives as long.
struct TF_Operation {
  TF_Graph* graph;
  int32_t node;
};

#define LEAT_CAPI_CHUNK_SHIFT 8
#define LEAT_CAPI_CHUNKS (32 - LEAT_CAPI_CHUNK_SHIFT)

// The handles of operations lie in chunks that double in size and never move; a chunk is made when
// the first handle in it is asked for (graph/graph.c).
struct TF_Graph {
  leat_reference_count_t references;  // the caller's, and one for each session
  // The library's graph with its lock, which sessions share.
  leat_shared_graph_t* shared;
  TF_Operation* chunks[LEAT_CAPI_CHUNKS];
  // The table of who reads which output. It is valid while the graph has |readers_nodes| nodes and
  // |edits| is |readers_edits|.
  leat_readers_t readers;
  size_t readers_nodes;
  uint64_t readers_edits;
  uint64_t edits;  // changes of edges between existing nodes so far
  // The data inputs that TF_UpdateEdge replaced, by leat_capi_input_key. TF_OperationToNodeDef
  // writes them as "x:0", as TensorFlow's does.
  leat_word_map_t updated_inputs;
  // Its conditionals and loops under construction (leat/control_flow.h); NULL until the first one.
  leat_control_flow_t* flow;
  // What a gradient function of the caller is building (graph/gradient.c); NULL: none is at work.
  struct leat_gradient_s* gradient;
  leat_session_t* evaluator;  // runs steps for TF_TryEvaluateConstant; made when it is first needed
  // Only of the condition and body of a loop under construction (graph/while.c): the graph that the
  // loop is built in, which is kept alive, and the loop's initial values there.
  TF_Graph* parent;
  const TF_Output* parent_inputs;
  leat_capi_names_t* names;  // given out by leat_unique_name; made when it is first called
};

void leat_capi_graph_retain(TF_Graph* graph);
// The last reference frees the graph and the handles of its operations. NULL is allowed.
void leat_capi_graph_release(TF_Graph* graph);
// Locks the graph and gives it. The lock is not recursive.
static inline leat_graph_t* leat_capi_lock(TF_Graph* graph) {
  leat_mutex_lock(&graph->shared->mutex);
  return graph->shared->graph;
}
static inline void leat_capi_unlock(TF_Graph* graph) { leat_mutex_unlock(&graph->shared->mutex); }

// An input of a node as a key.
static inline uint64_t leat_capi_input_key(int32_t node, int index) {
  return (uint64_t)(uint32_t)node << 32 | (uint32_t)index;
}

// The caller of the following functions holds the lock.

// Makes the handles of |count| nodes from node |first| on, so that leat_capi_operation cannot fail
// for them.
LEAT_MUST_USE leat_status_t leat_capi_graph_reserve(TF_Graph* graph, size_t first, size_t count);
// The handle of |node|; NULL for -1, or where there is no memory.
TF_Operation* leat_capi_operation(TF_Graph* graph, int32_t node);
static inline TF_Output leat_capi_output(TF_Graph* graph, leat_output_t output) {
  TF_Operation* operation = leat_capi_operation(graph, output.node);
  return (TF_Output){operation, operation ? output.index : -1};
}
// The table of who reads which output, made anew when the graph has changed. It is valid until the
// next change.
LEAT_MUST_USE leat_status_t leat_capi_graph_readers(TF_Graph* graph,
                                                    const leat_readers_t** out_readers);
// Translates |output|. INVALID_ARGUMENT where it is not an output of |graph|; |what| names the
// caller in the message.
LEAT_MUST_USE leat_status_t leat_capi_output_resolve(const TF_Graph* graph, TF_Output output,
                                                     const char* what, leat_output_t* out_output);
// FAILED_PRECONDITION while a gradient function of the caller builds within a loop, where only
// single operations can be added; |what| names the caller in the message.
LEAT_MUST_USE leat_status_t leat_capi_check_no_gradient(const TF_Graph* graph, const char* what);
// The node of |operation|; the caller holds the lock.
static inline const leat_node_t* leat_capi_node(const TF_Operation* operation) {
  return leat_graph_node(operation->graph->shared->graph, operation->node);
}

// ---- Session ------------------------------------------------------------------------------------

struct TF_SessionOptions {
  char* target;  // NULL: this process
  char* config;  // the ConfigProto that |options.config| views
  leat_session_options_t options;
  leat_status_t status;  // what creating a session from these options fails with
};

typedef struct leat_capi_partial_s leat_capi_partial_t;

struct TF_Session {
  TF_Graph* graph;
  leat_session_t* session;
  // TF_SessionRun refuses nodes from this number on; INT32_MAX until TF_ExtendSession is first
  // called.
  _Atomic int32_t visible_nodes;
  bool measures;     // some of its steps are measured, for its placer
  TF_Session* next;  // in the list of open sessions
  leat_mutex_t partials_mutex;
  leat_capi_partial_t* partials;  // partial runs under way; guarded by |partials_mutex|
};
// Ends all partial runs of |session|.
void leat_capi_partials_end(TF_Session* session);
// The list of open sessions of this process, for TF_Reset.
void leat_capi_session_opened(TF_Session* session);
void leat_capi_session_ends(TF_Session* session);
// Creates a session on |shared|, which is behind |graph| or will be put there; NULL: what is behind
// |graph| now.
LEAT_MUST_USE leat_status_t leat_capi_session_create(TF_Graph* graph, leat_shared_graph_t* shared,
                                                     const TF_SessionOptions* opts,
                                                     TF_Session** out_session);

// Makes a list of |devices| [count], which are copied.
LEAT_MUST_USE leat_status_t leat_capi_list_devices(const leat_placement_device_t* devices,
                                                   int count, TF_DeviceList** out_list);

#endif  // LEAT_CAPI_HANDLES_H_
