// Optimizers of graphs in plug-ins. A library that defines TF_InitGraph, and is loaded by
// TF_LoadPluggableDeviceLibrary, registers one optimizer for a type of device. Each step that has a
// node on a device of that type is then given to it before it first runs: as a GraphDef, with every
// node placed, calls inlined and the passes of the library done; a value that is fed is a
// Placeholder. The GraphDef that it gives back is what runs.
//
//   void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status* status) {
//     params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
//     params->device_type = "CPU";
//     params->optimizer_configs->struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE;
//     params->optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
//     params->optimizer->optimize_func = optimize;
//   }
//
// An optimizer that sets its status, or gives back what is no graph, is told to the log, and the
// step runs as it was. One that drops a node that must be preserved makes the step fail with
// TF_INVALID_ARGUMENT. The functions below are for use within optimize_func: an item and what is
// made of it end with the call. Those with a status report in it; none blocks. A client turns
// optimizers of plug-ins off by use_plugin_optimizers in the RewriterConfig of its session.

#ifndef TENSORFLOW_C_EXPERIMENTAL_GRAPPLER_GRAPPLER_H_
#define TENSORFLOW_C_EXPERIMENTAL_GRAPPLER_GRAPPLER_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

#define GO_MAJOR 0
#define GO_MINOR 0
#define GO_PATCH 1

#ifdef __cplusplus
extern "C" {
#endif

// - What a plug-in fills in -----------------------------------------------------------------------
// |struct_size| is set by the library, to the size that it knows, and again by the plug-in. |ext|
// is for later versions.

typedef enum TF_TriState {
  TF_TriState_Default = 0,
  TF_TriState_Off,
  TF_TriState_On,
} TF_TriState;

// What must not run of the library in sessions with devices of the type: TF_TriState_Off.
// TF_TriState_On is like the default, which leaves it to the client. These have passes here, and so
// mean something: common_subgraph_elimination, arithmetic_optimization, constant_folding,
// remapping, dependency_optimization and memory_optimization.
typedef struct TP_OptimizerConfigs {
  size_t struct_size;
  void* ext;
  TF_TriState disable_model_pruning;
  TF_TriState implementation_selector;
  TF_TriState function_optimization;
  TF_TriState common_subgraph_elimination;
  TF_TriState arithmetic_optimization;
  TF_TriState debug_stripper;
  TF_TriState constant_folding;
  TF_TriState shape_optimization;
  TF_TriState auto_mixed_precision;
  TF_TriState auto_mixed_precision_onednn_bfloat16;
  TF_TriState auto_mixed_precision_mkl;
  TF_TriState pin_to_host_optimization;
  TF_TriState layout_optimizer;
  TF_TriState remapping;
  TF_TriState loop_optimization;
  TF_TriState dependency_optimization;
  TF_TriState auto_parallel;
  TF_TriState memory_optimization;
  TF_TriState scoped_allocator_optimization;
} TP_OptimizerConfigs;
#define TP_OPTIMIZER_CONFIGS_STRUCT_SIZE \
  TF_OFFSET_OF_END(TP_OptimizerConfigs, scoped_allocator_optimization)

typedef struct TF_GrapplerItem TF_GrapplerItem;

typedef struct TP_Optimizer {
  size_t struct_size;
  void* ext;
  // Makes the object that the other two get, for each graph anew; may be NULL.
  void* (*create_func)(void);
  // Reads the GraphDef of the first buffer and fills the second, which is empty, with another one,
  // and with how its bytes are freed. Any thread; several may at once.
  void (*optimize_func)(void* optimizer, const TF_Buffer* graph, const TF_GrapplerItem* item,
                        TF_Buffer* optimized_graph, TF_Status* status);
  void (*destroy_func)(void* optimizer);  // may be NULL
} TP_Optimizer;
#define TP_OPTIMIZER_STRUCT_SIZE TF_OFFSET_OF_END(TP_Optimizer, destroy_func)

typedef struct TP_OptimizerRegistrationParams {
  size_t struct_size;
  void* ext;
  int32_t major_version;  // GO_MAJOR, ... of the library
  int32_t minor_version;
  int32_t patch_version;
  const char* device_type;                 // by the plug-in; a type has one optimizer
  TP_OptimizerConfigs* optimizer_configs;  // to fill in; they belong to the library
  TP_Optimizer* optimizer;
} TP_OptimizerRegistrationParams;
#define TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE \
  TF_OFFSET_OF_END(TP_OptimizerRegistrationParams, optimizer)

// Defined, and exported, by the plug-in. Loading fails with what it puts into |status|, with
// TF_FAILED_PRECONDITION where a struct_size, device_type or optimize_func is not set, and with
// TF_ALREADY_EXISTS where the type of device has an optimizer.
void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status* status);

// - What an optimizer may ask ---------------------------------------------------------------------

// How many nodes must be preserved (those that are fed, fetched or run as targets), and how many
// bytes their names have together. Then the names: |values| and |lengths| [num_values] say where in
// |storage| each name lies, without a NUL. TF_INVALID_ARGUMENT where |storage_size| is too small.
TF_CAPI_EXPORT extern void TF_GetNodesToPreserveListSize(const TF_GrapplerItem* item,
                                                         int* num_values, size_t* storage_size,
                                                         TF_Status* status);
TF_CAPI_EXPORT extern void TF_GetNodesToPreserveList(const TF_GrapplerItem* item, char** values,
                                                     size_t* lengths, int num_values,
                                                     void* storage, size_t storage_size,
                                                     TF_Status* status);
// The same for what is fetched ("node:0") and the targets ("node").
TF_CAPI_EXPORT extern void TF_GetFetchNodesListSize(const TF_GrapplerItem* item, int* num_values,
                                                    size_t* storage_size, TF_Status* status);
TF_CAPI_EXPORT extern void TF_GetFetchNodesList(const TF_GrapplerItem* item, char** values,
                                                size_t* lengths, int num_values, void* storage,
                                                size_t storage_size, TF_Status* status);

// What is known of the tensors of |item|'s graph, which must outlive it. Nothing is until
// TF_InferStatically. Freed with TF_DeleteGraphProperties, which ignores NULL.
typedef struct TF_GraphProperties TF_GraphProperties;
TF_CAPI_EXPORT extern TF_GraphProperties* TF_NewGraphProperties(const TF_GrapplerItem* item);
TF_CAPI_EXPORT extern void TF_DeleteGraphProperties(TF_GraphProperties* graph_properties);
// Infers types and shapes. Without |assume_valid_feeds| nothing is assumed of the shapes of what is
// fed. |aggressive_shape_inference| finds no more than is found without it. The others add the
// values of constants to the properties of inputs and outputs.
TF_CAPI_EXPORT extern void TF_InferStatically(TF_GraphProperties* graph_properties,
                                              TF_Bool assume_valid_feeds,
                                              TF_Bool aggressive_shape_inference,
                                              TF_Bool include_input_tensor_values,
                                              TF_Bool include_output_tensor_values, TF_Status* s);
// How many inputs or outputs the node |name| has; 0 for one that is not there. Then for each an
// OpInfo.TensorProperties, in buffers that the caller made, which are empty. TF_INVALID_ARGUMENT
// for buffers that are not, or more than there are properties.
TF_CAPI_EXPORT extern void TF_GetInputPropertiesListSize(TF_GraphProperties* graph_properties,
                                                         const char* name, int* num_values,
                                                         TF_Status* status);
TF_CAPI_EXPORT extern void TF_GetOutputPropertiesListSize(TF_GraphProperties* graph_properties,
                                                          const char* name, int* num_values,
                                                          TF_Status* status);
TF_CAPI_EXPORT extern void TF_GetInputPropertiesList(TF_GraphProperties* graph_properties,
                                                     const char* name, TF_Buffer** properties,
                                                     int num_values, TF_Status* status);
TF_CAPI_EXPORT extern void TF_GetOutputPropertiesList(TF_GraphProperties* graph_properties,
                                                      const char* name, TF_Buffer** properties,
                                                      int num_values, TF_Status* status);

// The ops that nodes of a GraphDef may have: those registered, and its functions. NULL with
// TF_INVALID_ARGUMENT for bytes that are no GraphDef. Freed with
// TF_DeleteFunctionLibraryDefinition, which ignores NULL.
typedef struct TF_FunctionLibraryDefinition TF_FunctionLibraryDefinition;
TF_CAPI_EXPORT extern TF_FunctionLibraryDefinition* TF_NewFunctionLibraryDefinition(
    const TF_Buffer* graph_buf, TF_Status* status);
TF_CAPI_EXPORT extern void TF_DeleteFunctionLibraryDefinition(
    TF_FunctionLibraryDefinition* fn_lib);
// Puts the OpDef of the op or function |name| into |buf|, which is empty. TF_NOT_FOUND.
TF_CAPI_EXPORT extern void TF_LookUpOpDef(TF_FunctionLibraryDefinition* fn_lib, const char* name,
                                          TF_Buffer* buf, TF_Status* s);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_GRAPPLER_GRAPPLER_H_
