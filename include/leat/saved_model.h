/* leat/saved_model.h: graphs in files with what it takes to use them: signatures that name what to
 * feed and fetch, variables, files that the graph reads. A MetaGraph is one message in a file
 * (.meta); a SavedModel is a directory, read by TF_LoadSessionFromSavedModel as well as by
 * TensorFlow itself. Errors come in |status|; each function may block on files.
 *
 *   leat_model_tensor_t in = {"x", x}, out = {"y", y};
 *   leat_model_signature_t serve = {"serving_default", NULL, &in, 1, &out, 1};
 *   leat_model_t model = {.signatures = &serve, .signature_count = 1,
 *                         .saver = leat_saver_operations(saver)};
 *   leat_saved_model_write("export/1", graph, session, &model, status);                         */
#ifndef LEAT_SAVED_MODEL_H_
#define LEAT_SAVED_MODEL_H_

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/experimental/saved_model/public/saved_model_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What saves and restores the variables of a graph. All zero: it has none. */
typedef struct leat_saver_operations_t {
  TF_Output file_name;   /* a string, fed with the prefix of the checkpoint */
  TF_Output saved;       /* fetched to save */
  TF_Operation* restore; /* run to restore */
  int64_t timeout_ms;    /* of either step, which ends with DEADLINE_EXCEEDED; 0: the session's */
} leat_saver_operations_t;
TF_CAPI_EXPORT extern void leat_variables_save(TF_Session* session,
                                               const leat_saver_operations_t* saver,
                                               const char* prefix, TF_Status* status);
TF_CAPI_EXPORT extern void leat_variables_restore(TF_Session* session,
                                                  const leat_saver_operations_t* saver,
                                                  const char* prefix, TF_Status* status);

/* - What a graph is to its users ----------------------------------------------------------------
 * Everything is borrowed. */
typedef struct leat_model_tensor_t {
  const char* name; /* that the signature gives to it */
  TF_Output tensor;
} leat_model_tensor_t;
typedef struct leat_model_signature_t {
  const char* name;
  const char* method; /* NULL: "tensorflow/serving/predict" */
  const leat_model_tensor_t* inputs;
  int input_count;
  const leat_model_tensor_t* outputs;
  int output_count;
} leat_model_signature_t;
typedef struct leat_model_asset_t {
  const char* path; /* of a file; its copy keeps the last part of the name, which must be its own */
  TF_Output tensor; /* a string, fed with the path of the copy when the model is loaded */
} leat_model_asset_t;
typedef struct leat_model_t {
  const char* const* tags; /* by which the graph is asked for */
  int tag_count;           /* 0: one, "serve" */
  const leat_model_signature_t* signatures;
  int signature_count;
  const leat_model_asset_t* assets;
  int asset_count;
  leat_saver_operations_t saver;
  TF_Operation* initializer; /* run when the model is loaded, after its variables; may be NULL */
} leat_model_t;

/* Adds the graph of a MetaGraphDef in a file (text where the name ends in "txt") to |graph|. The
 * message itself goes to |meta_graph_def| unless that is NULL. Result: how to restore its
 * variables; zero without a saver_def or on error. NOT_FOUND for an op that is not registered. */
TF_CAPI_EXPORT extern leat_saver_operations_t leat_meta_graph_load(const char* path,
                                                                   TF_Graph* graph,
                                                                   TF_Buffer* meta_graph_def,
                                                                   TF_Status* status);
/* What fills one of the graph's queues, of its MetaGraphDef's collection "queue_runners"; borrowed.
 * leat_queue_runners_load (leat/input.h) makes queue runners of them. */
typedef struct leat_queue_operations_t {
  const char* queue; /* the operation's name */
  TF_Operation* const* enqueues;
  int enqueue_count;
  TF_Operation* close;
  TF_Operation* cancel; /* closes, and ends enqueues that wait */
  const TF_Code* ends;  /* codes of an enqueue that say that there is no more input */
  int end_count;        /* 0: TF_OUT_OF_RANGE does */
} leat_queue_operations_t;
/* Calls |visit| for each. |graph| has the graph under its own names. NOT_FOUND for an operation
 * that it has not, DATA_LOSS or INVALID_ARGUMENT for bytes that make no sense. */
TF_CAPI_EXPORT extern void leat_meta_graph_queue_runners(
    TF_Graph* graph, const TF_Buffer* meta_graph_def,
    void (*visit)(void* data, const leat_queue_operations_t* operations), void* data,
    TF_Status* status);
TF_CAPI_EXPORT extern void leat_meta_graph_write(const char* path, TF_Graph* graph,
                                                 const leat_model_t* model, TF_Status* status);
/* Makes |directory| a SavedModel: variables as they are in |session| on |graph| (may be NULL when
 * the model has no saver), copies of the assets, and at last saved_model.pb, whole or not at all.
 * ALREADY_EXISTS when there is one. */
TF_CAPI_EXPORT extern void leat_saved_model_write(const char* directory, TF_Graph* graph,
                                                  TF_Session* session, const leat_model_t* model,
                                                  TF_Status* status);

/* - Functions of a model that was loaded (saved_model_api.h) -------------------------------------
 * All functions of the model's objects that were traced once, and the traces of the others, in the
 * order of the objects; freed with TF_DeleteConcreteFunctionList. Makes those that nobody asked
 * for, and fails where one cannot be made. */
TF_CAPI_EXPORT extern TF_ConcreteFunctionList* leat_saved_model_functions(TF_SavedModel* model,
                                                                          TF_Status* status);
/* What |function| captured when it was traced, in the order of its last inputs: handles of
 * variables and tables, and tensors. Borrowed from the model. */
TF_CAPI_EXPORT extern const TF_TensorHandleList* leat_concrete_function_captures(
    const TF_ConcreteFunction* function);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_SAVED_MODEL_H_ */
