// Adding a serialised graph to a graph. A GraphDef names its nodes, and the options say how those
// names become names of the target: with a prefix, made unique, or joined to operations that are
// there already. An import happens as a whole or not at all: after an error the graph is as it was.
// The functions in the GraphDef's library come with it. Part of the C API: c_api.h has the rules on
// errors, ownership and threads.
//
//   TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
//   TF_ImportGraphDefOptionsSetPrefix(options, "model");
//   TF_ImportGraphDefOptionsAddInputMapping(options, "images", 0, batch);
//   TF_ImportGraphDefOptionsAddReturnOutput(options, "probabilities", 0);
//   TF_Output probabilities;
//   TF_GraphImportGraphDefWithReturnOutputs(graph, graph_def, options, &probabilities, 1, status);

#ifndef TENSORFLOW_C_C_API_IMPORT_H_
#define TENSORFLOW_C_C_API_IMPORT_H_

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Options ---------------------------------------------------------------------------------
// How a GraphDef is to be merged in. May be used for several imports; names in it are copied, while
// operations of the target graph are remembered by reference. "Imported" below is the GraphDef's
// side, "existing" the target graph's.
typedef struct TF_ImportGraphDefOptions TF_ImportGraphDefOptions;

// Options that import everything under its own name. Free with TF_DeleteImportGraphDefOptions.
TF_CAPI_EXPORT TF_ImportGraphDefOptions* TF_NewImportGraphDefOptions(void);

TF_CAPI_EXPORT void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions* opts);

// Puts |prefix| and "/" in front of every imported name. "" for none.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions* opts,
                                                      const char* prefix);

// Gives the device |device| to imported operations that ask for none.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions* opts,
                                                             const char* device);

// What to do with an imported name that exists: 1 appends "_1", "_2", ... to it, 0 (the start)
// refuses the import. Matters only without a prefix.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions* opts,
                                                             unsigned char uniquify_names);

// The same for the prefix, where an operation or a scope of that name exists.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions* opts,
                                                              unsigned char uniquify_prefix);

// Whatever takes the imported tensor |src_name|:|src_index| shall take the existing |dst| instead.
// The imported operation itself still comes in.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions* opts,
                                                            const char* src_name, int src_index,
                                                            TF_Output dst);

// Whatever waits for the imported operation |src_name| shall wait for the existing |dst| instead.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions* opts,
                                                                   const char* src_name,
                                                                   TF_Operation* dst);

// Everything imported shall wait for the existing |oper|. May be repeated.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions* opts,
                                                                 TF_Operation* oper);

// Asks for the tensor |oper_name|:|index| (name without prefix) in the results, next in order; for
// a mapped one, what it was mapped to.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions* opts,
                                                            const char* oper_name, int index);

// How many tensors were asked for.
TF_CAPI_EXPORT int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions* opts);

// Asks for the operation |oper_name| in the results, next in order.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions* opts,
                                                               const char* oper_name);

// How many operations were asked for.
TF_CAPI_EXPORT int TF_ImportGraphDefOptionsNumReturnOperations(
    const TF_ImportGraphDefOptions* opts);

// --- Results ---------------------------------------------------------------------------------
// What an import returned. The arrays handed out below belong to it and end with it.
typedef struct TF_ImportGraphDefResults TF_ImportGraphDefResults;

// The tensors asked for, in the order of asking.
TF_CAPI_EXPORT void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults* results,
                                                          int* num_outputs, TF_Output** outputs);

// The operations asked for, in the order of asking.
TF_CAPI_EXPORT void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults* results,
                                                             int* num_opers, TF_Operation*** opers);

// The input mappings that came to nothing: no imported operation is called so, or it has no such
// output, and no imported input asked for it. Most often a spelling mistake.
TF_CAPI_EXPORT void TF_ImportGraphDefResultsMissingUnusedInputMappings(
    TF_ImportGraphDefResults* results, int* num_missing_unused_input_mappings,
    const char*** src_names, int** src_indexes);

TF_CAPI_EXPORT void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults* results);

// --- The import ------------------------------------------------------------------------------
// All or nothing: on failure the graph is as it was. TF_INVALID_ARGUMENT for a message that does
// not parse, a malformed or repeated name, an input or control input that does not exist, a type or
// a shape that does not fit, a cycle without NextIteration, a bad mapping, or a GraphDef whose
// |min_consumer| is too new; TF_NOT_FOUND for an op that is not registered. Functions in the
// GraphDef's library are added too.

// Imports, and returns the results for the caller to delete; NULL on failure.
TF_CAPI_EXPORT TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResults(
    TF_Graph* graph, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* options,
    TF_Status* status);

// Made for callers that share a C++ message object with the library, which this library has none
// of: TF_UNIMPLEMENTED, and NULL. Serialise, and use the function above.
TF_CAPI_EXPORT TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResultsNoSerialization(
    TF_Graph* graph, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* options,
    TF_Status* status);

// Imports, and writes the tensors asked for to |return_outputs|, whose length |num_return_outputs|
// must be the number asked for (else TF_INVALID_ARGUMENT).
TF_CAPI_EXPORT void TF_GraphImportGraphDefWithReturnOutputs(TF_Graph* graph,
                                                            const TF_Buffer* graph_def,
                                                            const TF_ImportGraphDefOptions* options,
                                                            TF_Output* return_outputs,
                                                            int num_return_outputs,
                                                            TF_Status* status);

// Imports.
TF_CAPI_EXPORT void TF_GraphImportGraphDef(TF_Graph* graph, const TF_Buffer* graph_def,
                                           const TF_ImportGraphDefOptions* options,
                                           TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_IMPORT_H_
