// A SavedModel in an eager context, as the sources of its two faces share it: signatures
// (saved_model.c) and functions of its object graph (concrete_function.c). Both end in calls of the
// model's session: feeds, of which the first are the inputs of an op and the rest are captured
// values, and fetches, which become the op's results.
#ifndef LEAT_CAPI_EAGER_SAVED_MODEL_H_
#define LEAT_CAPI_EAGER_SAVED_MODEL_H_

#include "capi/eager/eager.h"
#include "formats/generated/meta_graph.h"
#include "tensorflow/c/experimental/saved_model/public/saved_model_api.h"

// A step of the model's session. All that it points to belongs to the model.
typedef struct leat_model_call_s {
  TF_SavedModel* model;
  const char* kind;  // "signature" or "function", for messages
  leat_string_view_t name;
  const leat_output_t* feeds;  // [arg_count + capture_count]
  size_t arg_count;
  const leat_tensor_t* captures;
  size_t capture_count;
  const leat_output_t* returns;
  size_t return_count;
  int32_t target;  // the node to run where there are no returns
} leat_model_call_t;

struct TF_SavedModel {
  leat_reference_count_t references;
  TFE_Context* context;  // in which its ops are
  TF_Graph* graph;
  TF_Session* session;
  // Holds all that follows; after loading it is guarded by |mutex|.
  leat_arena_t arena;
  leat_string_view_t directory;  // ends in NUL
  leat_pb_meta_graph_def_t def;  // everything but the graph
  struct TF_SignatureDefFunction* signatures;
  size_t signature_count;
  leat_mutex_t mutex;
  leat_arena_t calls;  // what functions are made of; guarded by |mutex|
  struct leat_model_objects_s* objects;  // guarded by |mutex|; NULL: no function was asked for
};

// A new op that makes |call| on |inputs|, with a hold on the model. INVALID_ARGUMENT for another
// number of inputs than there are arguments. NULL after a failure.
TFE_Op* leat_model_call_op(const leat_model_call_t* call, TFE_TensorHandle** inputs,
                           int num_inputs, TF_Status* status);

// ---- The object graph ---------------------------------------------------------------------------

// What was made of the nodes of the model's object graph (model_objects.c).
typedef struct leat_model_objects_s {
  const leat_pb_saved_object_graph_t* graph;
  leat_string_map_t functions;  // concrete functions: name to number
  leat_string_map_t variables;  // how many variables have the name
  leat_tensor_t* values;        // by node; those that nobody asked for have no type
  uint8_t* states;              // by node: is its value under way
  leat_output_t* bound;         // by node: the tensor of the graph that it is; node -1: none
  leat_string_view_t* keys;     // of variables in the checkpoint; NULL until one is needed
  int depth;                    // of functions that are being made for others
  int calls;                    // added to the graph so far; numbers the nodes' names
  struct TF_ConcreteFunction* made;  // those that were asked for (concrete_function.c)
} leat_model_objects_t;

// The caller of the following functions holds the model's mutex.

// Makes |model->objects|, where there is none. NOT_FOUND for a model without an object graph.
LEAT_MUST_USE leat_status_t leat_model_objects_open(TF_SavedModel* model);
void leat_model_objects_free(leat_model_objects_t* objects);  // NULL is allowed
// Fills a call of the concrete function |name|, with what it captures. FAILED_PRECONDITION where
// the model lacks the function or something that it captures.
LEAT_MUST_USE leat_status_t leat_model_call_make(TF_SavedModel* model, leat_string_view_t name,
                                                 leat_model_call_t* out_call);

// Frees what concrete functions hold besides the model's arenas.
void leat_model_functions_free(struct TF_ConcreteFunction* functions);

#endif  // LEAT_CAPI_EAGER_SAVED_MODEL_H_
