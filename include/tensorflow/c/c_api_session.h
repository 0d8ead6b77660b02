// Running graphs. A session holds the state of a graph (variables, queues, tables) on its devices,
// and runs steps: each step feeds tensors, runs what the fetches and targets need, and gives the
// fetched tensors. The first step of a set of feeds, fetches and targets compiles it, which takes
// milliseconds; the steps after it take the compiled form from a cache. Any number of threads may
// run steps of one session at once, also while the graph grows. Part of the C API: c_api.h has the
// rules on errors, ownership and threads.

#ifndef TENSORFLOW_C_C_API_SESSION_H_
#define TENSORFLOW_C_C_API_SESSION_H_

#include <stddef.h>

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Options ---------------------------------------------------------------------------------
// What a session is to be like. Read when the session is made; may be used for several, changed in
// between, and deleted at any time.
typedef struct TF_SessionOptions TF_SessionOptions;

// Options for a session in this process with the defaults. Free with TF_DeleteSessionOptions.
TF_CAPI_EXPORT TF_SessionOptions* TF_NewSessionOptions(void);

// Who is to run the graph: "" or "local" for this process, "grpc://host:port" for a master of a
// cluster (TF_ServerTarget gives the one of a server in this process), "loopback:SEED,MAX_DELAY_US"
// for this process behind messages that come late and in another order (for tests). Where none is
// set LEAT_SESSION_TARGET of the environment counts.
TF_CAPI_EXPORT void TF_SetTarget(TF_SessionOptions* options, const char* target);

// Threads, devices, graph optimisation and so on, as the ConfigProto message of |proto_len| bytes
// at |proto|, in the place of what was set before.
TF_CAPI_EXPORT void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t proto_len,
                                 TF_Status* status);

TF_CAPI_EXPORT void TF_DeleteSessionOptions(TF_SessionOptions* options);

// --- Sessions --------------------------------------------------------------------------------

// A graph being run: devices, the state that lives on them (variables, queues), and the plans made
// for every set of feeds and fetches that was asked for so far. Any number of threads may run steps
// on one session at once.
typedef struct TF_Session TF_Session;

// A session on |graph|, which it keeps alive; the graph may go on growing, and each step sees what
// was added before it began. Free with TF_DeleteSession; NULL on failure. TF_NOT_FOUND when the
// options' target is of a kind that nobody knows.
TF_CAPI_EXPORT TF_Session* TF_NewSession(TF_Graph* graph, const TF_SessionOptions* opts,
                                         TF_Status* status);

// A session on the model that was saved in the directory |export_dir|: of the graphs there, the one
// that has exactly the |tags_len| |tags| is imported into |graph|, which must be new, and its
// variables are restored and its initialiser run, under |run_options| (a RunOptions message, or
// NULL). The MetaGraphDef, with the signatures that say what to feed and fetch, is written to
// |meta_graph_def| unless that is NULL. May block on files. Free with TF_DeleteSession; NULL on
// failure: TF_NOT_FOUND when there is no such model or none with these tags, TF_INVALID_ARGUMENT
// when |graph| has operations in it.
TF_CAPI_EXPORT TF_Session* TF_LoadSessionFromSavedModel(
    const TF_SessionOptions* session_options, const TF_Buffer* run_options, const char* export_dir,
    const char* const* tags, int tags_len, TF_Graph* graph, TF_Buffer* meta_graph_def,
    TF_Status* status);

// Ends the session's work: steps that run are cancelled, later ones fail with TF_CANCELLED, a
// remote master is told. The object remains.
TF_CAPI_EXPORT void TF_CloseSession(TF_Session* session, TF_Status* status);

// Frees the session with all its state, and its hold on the graph, whatever the status says. No
// other call may be under way on it. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteSession(TF_Session* session, TF_Status* status);

// Runs one step, and returns when it is done: computes the |noutputs| tensors |outputs|, runs the
// |ntargets| operations |target_opers| for their effects, and with them what they depend on and
// nothing else.
//
// inputs, input_values, ninputs
//     Feeds: for this step the tensor inputs[i], which may be any in the graph, has the value
//     input_values[i], and what would compute it does not run on its account. The values stay the
//     caller's, who must not write to their elements before the step is over.
// outputs, output_values, noutputs
//     Fetches: output_values[i] receives a new handle on the value of outputs[i], for the caller
//     to delete. On failure all of them are NULL.
// run_options
//     A RunOptions message: timeout, tracing; or NULL.
// run_metadata
//     An empty buffer that receives a RunMetadata message with what was asked for in the options;
//     or NULL.
//
// The first failure of an operation cancels the step, and its status is that of the step, with the
// operation's name in the message. Beside those: TF_INVALID_ARGUMENT for a feed of the wrong type
// or shape, a tensor fed twice, a placeholder that is not fed, a fetch that is no tensor of the
// graph; TF_NOT_FOUND for an operation the session does not know; TF_DEADLINE_EXCEEDED when
// |timeout_in_ms| ran out; TF_CANCELLED after TF_CloseSession; TF_FAILED_PRECONDITION for a
// variable without a value. The session can be used again after any of them.
TF_CAPI_EXPORT void TF_SessionRun(TF_Session* session, const TF_Buffer* run_options,
                                  const TF_Output* inputs, TF_Tensor* const* input_values,
                                  int ninputs, const TF_Output* outputs, TF_Tensor** output_values,
                                  int noutputs, const TF_Operation* const* target_opers,
                                  int ntargets, TF_Buffer* run_metadata, TF_Status* status);

// Shows the session what was added to its graph, as the beginning of each step does; after the
// first call of this function the steps no longer do it, so that the caller decides when.
// TF_INVALID_ARGUMENT when the graph has a cycle.
TF_CAPI_EXPORT void TF_ExtendSession(TF_Session* session, TF_Status* status);

// --- A step in parts -------------------------------------------------------------------------
// A step that can be fed piece by piece, with a look at intermediate results in between: set it up
// with all feeds, fetches and targets of all its parts, then run the parts. A feed is given once, a
// fetch is asked for once, and only what the feeds given so far suffice for. The step ends with the
// last fetch and target. Not for remote sessions.

// Begins such a step; |*handle| names it in the calls below, and is to be freed with
// TF_DeletePRunHandle. NULL on failure.
TF_CAPI_EXPORT void TF_SessionPRunSetup(TF_Session* session, const TF_Output* inputs, int ninputs,
                                        const TF_Output* outputs, int noutputs,
                                        const TF_Operation* const* target_opers, int ntargets,
                                        const char** handle, TF_Status* status);

// Runs one part; parameters and ownership as in TF_SessionRun. TF_INVALID_ARGUMENT for a handle
// that is not under way, a feed or fetch that was not set up, is repeated, or needs a feed still to
// come. A failure ends the step.
TF_CAPI_EXPORT void TF_SessionPRun(TF_Session* session, const char* handle, const TF_Output* inputs,
                                   TF_Tensor* const* input_values, int ninputs,
                                   const TF_Output* outputs, TF_Tensor** output_values,
                                   int noutputs, const TF_Operation* const* target_opers,
                                   int ntargets, TF_Status* status);

// Frees the handle; the step cannot be gone on with. NULL is ignored.
TF_CAPI_EXPORT void TF_DeletePRunHandle(const char* handle);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_SESSION_H_
