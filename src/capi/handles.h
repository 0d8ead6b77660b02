// What stands behind the opaque types of the C API, for the sources of this room only. A handle is
// a thin shell: it owns a reference on the thing of the room below and nothing of its behaviour.
//
// Locking: whoever reads or changes the graph behind a TF_Graph holds its mutex (leat_capi_lock);
// the index of an operation never changes, so it is read without.
#ifndef LEAT_CAPI_HANDLES_H_
#define LEAT_CAPI_HANDLES_H_

#include "init.h"
#include "session/session.h"
#include "tensorflow/c/c_api.h"

// ---- Status -------------------------------------------------------------------------------------

typedef struct leat_capi_payload_s leat_capi_payload_t;

struct TSL_Status {
  leat_status_t status;           // NULL: OK
  leat_capi_payload_t* payloads;  // list
};

void leat_capi_status_clear(TF_Status* status);
// Makes |out_status| say |status|, which is taken over. NULL for |out_status| loses it.
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
// For functions that come later: UNIMPLEMENTED "<function> is not available in this version".
void leat_capi_status_unimplemented(TF_Status* out_status, const char* function);

// ---- Buffer -------------------------------------------------------------------------------------

// INVALID_ARGUMENT unless |buffer| is as TF_NewBuffer made it.
LEAT_MUST_USE leat_status_t leat_capi_buffer_check_empty(const TF_Buffer* buffer);
// Moves the bytes of |builder| into |out_buffer|, which must be empty. The builder is used up.
LEAT_MUST_USE leat_status_t leat_capi_buffer_take(leat_string_builder_t* builder,
                                                  TF_Buffer* out_buffer);
// A fresh buffer of the bytes of |builder| (used up), or NULL when |result| or memory says why not;
// |out_status| hears of it.
TF_Buffer* leat_capi_buffer_return(leat_status_t result, leat_string_builder_t* builder,
                                   TF_Status* out_status);
// The bytes of |buffer|; none for NULL.
static inline leat_string_view_t leat_capi_buffer_bytes(const TF_Buffer* buffer) {
  return buffer ? leat_string_view_make(buffer->data, buffer->data ? buffer->length : 0)
                : leat_string_view_make(NULL, 0);
}

// ---- Tensor -------------------------------------------------------------------------------------

struct TF_Tensor {
  leat_tensor_t tensor;
  size_t size_bytes;  // of the block
  TF_Tensor* next;    // while it waits for reuse
};

// A handle without content; NULL when memory is gone. Costs no call of the allocator as a rule.
TF_Tensor* leat_capi_tensor_new(void);
// Gives |tensor| (moved) to a fresh handle.
void leat_capi_tensor_fill(TF_Tensor* handle, leat_tensor_t* inout_tensor);
// A handle on |tensor| (moved in every case).
LEAT_MUST_USE leat_status_t leat_capi_tensor_wrap(leat_tensor_t* inout_tensor,
                                                  TF_Tensor** out_handle);
// A handle on a copy of |tensor|, into which its owner may write.
LEAT_MUST_USE leat_status_t leat_capi_tensor_wrap_copy(const leat_tensor_t* tensor,
                                                       TF_Tensor** out_handle);
// A caller's resource tensor holds a serialised handle, and a variant of his says nothing: neither
// is what kernels and graphs take for one.
static inline bool leat_capi_tensor_is_raw(const TF_Tensor* handle) {
  return leat_dtype_in(handle->tensor.dtype,
                       LEAT_DTYPE_BIT(RESOURCE) | LEAT_DTYPE_BIT(VARIANT)) &&
         handle->tensor.shape.element_count > 0 &&
         !(handle->tensor.buffer && handle->tensor.buffer->object_dtype);
}
// The value as the rooms below understand it; the caller releases it. INVALID_ARGUMENT for NULL and
// for a raw tensor that says nothing.
LEAT_MUST_USE leat_status_t leat_capi_tensor_value(const TF_Tensor* handle,
                                                   leat_tensor_t* out_tensor);

// ---- Graph and operation ------------------------------------------------------------------------

struct TF_Operation {
  TF_Graph* graph;
  int32_t node;
};

#define LEAT_CAPI_CHUNK_SHIFT 8
#define LEAT_CAPI_CHUNKS (32 - LEAT_CAPI_CHUNK_SHIFT)

// Operation handles lie in chunks that double in size and never move; a chunk comes with the first
// handle asked for in it.
struct TF_Graph {
  leat_reference_count_t references;  // the caller's, and one for each session
  leat_shared_graph_t* shared;
  TF_Operation* chunks[LEAT_CAPI_CHUNKS];
  // Who reads whom, as of the |readers_nodes| first nodes and |edits| == |readers_edits|.
  leat_readers_t readers;
  size_t readers_nodes;
  uint64_t readers_edits;
  uint64_t edits;  // of edges between existing nodes
  leat_session_t* evaluator;  // for TF_TryEvaluateConstant; made on first need
  // Of a part of a loop (while.c): the graph that the loop is for (kept alive), where it starts.
  TF_Graph* parent;
  const TF_Output* parent_inputs;
};

void leat_capi_graph_retain(TF_Graph* graph);
void leat_capi_graph_release(TF_Graph* graph);  // NULL is allowed
static inline leat_graph_t* leat_capi_lock(TF_Graph* graph) {
  leat_mutex_lock(&graph->shared->mutex);
  return graph->shared->graph;
}
static inline void leat_capi_unlock(TF_Graph* graph) { leat_mutex_unlock(&graph->shared->mutex); }

// The following want the lock held.

// Makes room for the handles of nodes [0, |count|), so that they can be had without fail.
LEAT_MUST_USE leat_status_t leat_capi_graph_reserve(TF_Graph* graph, size_t first, size_t count);
// The handle of |node|; NULL for -1, or when memory is gone.
TF_Operation* leat_capi_operation(TF_Graph* graph, int32_t node);
static inline TF_Output leat_capi_output(TF_Graph* graph, leat_output_t output) {
  TF_Operation* operation = leat_capi_operation(graph, output.node);
  return (TF_Output){operation, operation ? output.index : -1};
}
LEAT_MUST_USE leat_status_t leat_capi_graph_readers(TF_Graph* graph,
                                                    const leat_readers_t** out_readers);
// INVALID_ARGUMENT when |output| is not one of |graph|; |what| says whose it is.
LEAT_MUST_USE leat_status_t leat_capi_output_resolve(const TF_Graph* graph, TF_Output output,
                                                     const char* what, leat_output_t* out_output);
// The node behind |operation|, under the lock.
static inline const leat_node_t* leat_capi_node(const TF_Operation* operation) {
  return leat_graph_node(operation->graph->shared->graph, operation->node);
}

// ---- Session ------------------------------------------------------------------------------------

struct TF_SessionOptions {
  char* target;  // NULL: this process
  leat_session_options_t options;
  leat_status_t status;  // what a session made from it fails with
};

typedef struct leat_capi_partial_s leat_capi_partial_t;

struct TF_Session {
  TF_Graph* graph;
  leat_session_t* session;
  // Nodes from here on are not the session's yet; all are, until TF_ExtendSession is first called.
  _Atomic int32_t visible_nodes;
  bool measures;     // its steps, for its placer
  TF_Session* next;  // of those that are open
  leat_mutex_t partials_mutex;
  leat_capi_partial_t* partials;  // steps in parts that are under way
};
// Ends them.
void leat_capi_partials_end(TF_Session* session);
// The sessions of this process, for TF_Reset.
void leat_capi_session_opened(TF_Session* session);
void leat_capi_session_ends(TF_Session* session);
// A session on |shared|, which is or is about to be what stands behind |graph| (NULL: it is).
LEAT_MUST_USE leat_status_t leat_capi_session_create(TF_Graph* graph, leat_shared_graph_t* shared,
                                                     const TF_SessionOptions* opts,
                                                     TF_Session** out_session);

#endif  // LEAT_CAPI_HANDLES_H_
