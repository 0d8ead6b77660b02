// What TensorFlow calls experimental: functions that its bindings use and that it may change. They
// are here because those bindings do not link without them. Each does what the one of TensorFlow's
// release 2.21 does, where that means anything without its devices; the comments say where it means
// less. New programs find a supported function for most of them in the other headers (leat/*.h,
// c_api.h). c_api.h has the rules on errors, ownership and threads.

#ifndef TENSORFLOW_C_C_API_EXPERIMENTAL_H_
#define TENSORFLOW_C_C_API_EXPERIMENTAL_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Messages --------------------------------------------------------------------------------

// New buffers: a ConfigProto with |num_cpu_devices| CPU devices (Leat does not look at the other
// two); RunOptions that ask for a full trace, or for none. NULL when memory runs out.
TF_CAPI_EXPORT TF_Buffer* TF_CreateConfig(unsigned char enable_xla_compilation,
                                          unsigned char gpu_memory_allow_growth,
                                          unsigned int num_cpu_devices);
TF_CAPI_EXPORT TF_Buffer* TF_CreateRunOptions(unsigned char enable_full_trace);

// The graph as a GraphDef in text form, |*len| bytes and a NUL, for free(). NULL when memory runs
// out.
TF_CAPI_EXPORT const char* TF_GraphDebugString(TF_Graph* graph, size_t* len);

// A function as a FunctionDef in text form, in the same way.
TF_CAPI_EXPORT char* TF_FunctionDebugString(TF_Function* func, size_t* len);

// A ServerDef in text form as a message in a new buffer.
TF_CAPI_EXPORT TF_Buffer* TFE_GetServerDef(const char* text_proto, TF_Status* status);

// |status| becomes TF_INTERNAL with |errMsg|.
TF_CAPI_EXPORT void TF_MakeInternalErrorStatus(TF_Status* status, const char* errMsg);

// Nothing has to be done before anything else.
TF_CAPI_EXPORT void TF_InitMain(const char* usage, int* argc, char*** argv);

// Takes a function out of the graph, with the record of its gradient. Steps that ran before keep
// what was made of it; calls that a step needs for the first time fail with TF_NOT_FOUND.
// TF_INVALID_ARGUMENT when there is none of the name.
TF_CAPI_EXPORT void TF_GraphRemoveFunction(TF_Graph* g, const char* func_name, TF_Status* status);

// A TCP port that nobody listens on just now, as servers in tests want; 0 when there is none.
TF_CAPI_EXPORT int TF_PickUnusedPortOrDie(void);

// Importing does not look whether what is colocated with a node exists, in any case.
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetValidateColocationConstraints(
    TF_ImportGraphDefOptions* opts, unsigned char enable);

// --- Switches of XLA -------------------------------------------------------------------------
// There is no compiler of graphs in Leat. Each switch keeps its value for those who ask, and
// changes nothing else. Any thread.

// Sets global_jit_level in the options' ConfigProto, on (1) or off (-1).
TF_CAPI_EXPORT void TF_EnableXLACompilation(TF_SessionOptions* options, unsigned char enable);
// Both give the former value; at first 1 and 0.
TF_CAPI_EXPORT unsigned char TF_SetXlaEnableLazyCompilation(unsigned char enable);
TF_CAPI_EXPORT unsigned char TF_SetTfXlaCpuGlobalJit(unsigned char enable);
// A level such as "1", "single-gpu(1)" or "fusible"; other texts change nothing. Enabled, which it
// is not at first, means a level above 0.
TF_CAPI_EXPORT void TF_SetXlaAutoJitMode(const char* mode);
TF_CAPI_EXPORT unsigned char TF_GetXlaAutoJitEnabled(void);
TF_CAPI_EXPORT void TF_SetXlaMinClusterSize(int size);
TF_CAPI_EXPORT unsigned char TF_GetXlaConstantFoldingDisabled(void);
TF_CAPI_EXPORT void TF_SetXlaConstantFoldingDisabled(unsigned char should_enable);

// --- Queues ----------------------------------------------------------------------------------
// Runs fifo_queue_dequeue_<tensor_id> and gives its first output; runs
// fifo_queue_enqueue_<tensor_id> while |tensor| feeds arg_tensor_enqueue_<tensor_id>. Both wait as
// long as the queue makes them. TF_NOT_FOUND when the graph has no such operation.
TF_CAPI_EXPORT TF_Tensor* TF_DequeueNamedTensor(TF_Session* session, int tensor_id,
                                                TF_Status* status);
TF_CAPI_EXPORT void TF_EnqueueNamedTensor(TF_Session* session, int tensor_id, TF_Tensor* tensor,
                                          TF_Status* status);

// --- Checkpoints -----------------------------------------------------------------------------
// See leat/files.h, whose readers these are. A name that is not there has the type 0, -1 dims and
// no tensor (TF_NOT_FOUND).

typedef struct TF_CheckpointReader TF_CheckpointReader;
TF_CAPI_EXPORT TF_CheckpointReader* TF_NewCheckpointReader(const char* filename,
                                                           TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteCheckpointReader(TF_CheckpointReader* reader);
TF_CAPI_EXPORT int TF_CheckpointReaderHasTensor(TF_CheckpointReader* reader, const char* name);
TF_CAPI_EXPORT int TF_CheckpointReaderSize(TF_CheckpointReader* reader);
// NULL when there is no such variable.
TF_CAPI_EXPORT const char* TF_CheckpointReaderGetVariable(TF_CheckpointReader* reader, int index);
TF_CAPI_EXPORT TF_DataType TF_CheckpointReaderGetVariableDataType(TF_CheckpointReader* reader,
                                                                  const char* name);
// TF_INVALID_ARGUMENT when there are not |num_dims| sizes.
TF_CAPI_EXPORT void TF_CheckpointReaderGetVariableShape(TF_CheckpointReader* reader,
                                                        const char* name, int64_t* dims,
                                                        int num_dims, TF_Status* status);
TF_CAPI_EXPORT int TF_CheckpointReaderGetVariableNumDims(TF_CheckpointReader* reader,
                                                         const char* name);
TF_CAPI_EXPORT TF_Tensor* TF_CheckpointReaderGetTensor(TF_CheckpointReader* reader,
                                                       const char* name, TF_Status* status);

// --- What an op could do ---------------------------------------------------------------------

// Attributes for an op, without a graph.
typedef struct TF_AttrBuilder TF_AttrBuilder;
TF_CAPI_EXPORT TF_AttrBuilder* TF_NewAttrBuilder(const char* op_name);
TF_CAPI_EXPORT void TF_DeleteAttrBuilder(TF_AttrBuilder* builder);
TF_CAPI_EXPORT void TF_AttrBuilderSetType(TF_AttrBuilder* builder, const char* attr_name,
                                          TF_DataType value);
TF_CAPI_EXPORT void TF_AttrBuilderSetTypeList(TF_AttrBuilder* builder, const char* attr_name,
                                              const TF_DataType* values, int num_values);
// TF_OK when a device of that type ("CPU") has a kernel for the op with these attributes;
// TF_NOT_FOUND otherwise.
TF_CAPI_EXPORT void TF_AttrBuilderCheckCanRunOnDevice(TF_AttrBuilder* builder,
                                                      const char* device_type, TF_Status* status);

// The attribute that says how many tensors input |input_index| of the op stands for; NULL when
// there is none. The text is static.
TF_CAPI_EXPORT const char* TF_GetNumberAttrForOpListInput(const char* op_name, int input_index,
                                                          TF_Status* status);

TF_CAPI_EXPORT int TF_OpIsStateful(const char* op_type, TF_Status* status);

// --- Lists of shapes and types ---------------------------------------------------------------

typedef struct TF_ShapeAndType {
  int num_dims;   // -1: unknown
  int64_t* dims;  // -1: unknown
  TF_DataType dtype;
} TF_ShapeAndType;

typedef struct TF_ShapeAndTypeList {
  int num_items;
  TF_ShapeAndType* items;
} TF_ShapeAndTypeList;

// Items begin as scalars of type 0. NULL when memory runs out. An index that is none is ignored.
TF_CAPI_EXPORT TF_ShapeAndTypeList* TF_NewShapeAndTypeList(int num_shapes);
TF_CAPI_EXPORT void TF_ShapeAndTypeListSetShape(TF_ShapeAndTypeList* shape_list, int index,
                                                const int64_t* dims, int num_dims);
TF_CAPI_EXPORT void TF_ShapeAndTypeListSetUnknownShape(TF_ShapeAndTypeList* shape_list, int index);
TF_CAPI_EXPORT void TF_ShapeAndTypeListSetDtype(TF_ShapeAndTypeList* shape_list, int index,
                                                TF_DataType dtype);
TF_CAPI_EXPORT void TF_DeleteShapeAndTypeList(TF_ShapeAndTypeList* shape_list);
TF_CAPI_EXPORT void TF_DeleteShapeAndTypeListArray(TF_ShapeAndTypeList** shape_list_array,
                                                   int num_items);

// --- Libraries of devices --------------------------------------------------------------------

// Loads a library as TF_LoadLibrary does, then calls what it has of SE_InitPlugin, TF_InitKernel,
// TF_InitGraph and TF_InitProfiler, once. Sessions that are made afterwards have its devices.
TF_CAPI_EXPORT TF_Library* TF_LoadPluggableDeviceLibrary(const char* library_filename,
                                                         TF_Status* status);
TF_CAPI_EXPORT void TF_DeletePluggableDeviceLibraryHandle(TF_Library* lib_handle);

// --- Eager -----------------------------------------------------------------------------------

// A handle on a scalar: the |len| bytes at |data|.
TF_CAPI_EXPORT TFE_TensorHandle* TFE_NewTensorHandleFromScalar(TF_DataType data_type, void* data,
                                                               size_t len, TF_Status* status);

// The shapes of the outputs that |op| would have, into a new list (TF_DeleteShapeAndTypeList), of
// inputs with |input_shapes|. Their types are those of the list, else those that the op's
// attributes tell, else any. |input_tensors|, unless it is NULL, has a value or NULL for each
// input, for ops whose shapes depend on one; handles that were added to the op do not count. The
// lists about values that are shapes, and about resources, are not looked at. TF_INVALID_ARGUMENT
// when inputs and op do not fit.
TF_CAPI_EXPORT void TFE_InferShapes(TFE_Op* op, TF_ShapeAndTypeList* input_shapes,
                                    TF_Tensor** input_tensors,
                                    TF_ShapeAndTypeList* input_tensor_as_shapes,
                                    TF_ShapeAndTypeList** input_resource_shapes_and_types,
                                    TF_ShapeAndTypeList** output_shapes,
                                    TF_ShapeAndTypeList*** output_resource_shapes_and_types,
                                    TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_EXPERIMENTAL_H_
