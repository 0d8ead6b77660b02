// Adding one operation to a graph. Part of the C API: c_api.h has the rules on errors, ownership
// and threads.
//
//   TF_OperationDescription* desc = TF_NewOperation(graph, "ConcatV2", "joined");
//   TF_AddInputList(desc, parts, 3);  // values: N * T
//   TF_AddInput(desc, axis);          // axis: Tidx
//   TF_Operation* joined = TF_FinishOperation(desc, status);
//
// Errors wait for the end: the functions without a status note what is wrong, and
// TF_FinishOperation reports the first of it.

#ifndef TENSORFLOW_C_C_API_BUILDER_H_
#define TENSORFLOW_C_C_API_BUILDER_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// An operation on its way into a graph, used by one thread. It ends with TF_FinishOperation, and
// only there: until then the graph must stay alive.
typedef struct TF_OperationDescription TF_OperationDescription;

// Begins an operation of the op (or graph function) |op_type| that will be called |oper_name|. The
// graph does not change yet, and neither name is checked yet.
TF_CAPI_EXPORT TF_OperationDescription* TF_NewOperation(TF_Graph* graph, const char* op_type,
                                                        const char* oper_name);

// The same for a caller that is inside a callback for which the library holds the graph's lock (a
// gradient function of its own, say). Anyone else wants TF_NewOperation.
TF_CAPI_EXPORT TF_OperationDescription* TF_NewOperationLocked(TF_Graph* graph, const char* op_type,
                                                              const char* oper_name);

// Adds the operation to the graph. |desc| is freed, come what may. On success the new operation,
// on failure NULL and a graph as it was. TF_INVALID_ARGUMENT when there is no such op, the name is
// taken or malformed, inputs are too few, too many or of the wrong type, an attribute is missing,
// unknown or not allowed, or the input shapes do not suit the op.
TF_CAPI_EXPORT TF_Operation* TF_FinishOperation(TF_OperationDescription* desc, TF_Status* status);

// The end that belongs to TF_NewOperationLocked.
TF_CAPI_EXPORT TF_Operation* TF_FinishOperationLocked(TF_OperationDescription* desc,
                                                      TF_Status* status);

// --- Placement -------------------------------------------------------------------------------

// Asks for a device, in whole ("/job:worker/replica:0/task:1/device:CPU:0") or in part
// ("/device:GPU:*"). Without it, or with "", the placer is free.
TF_CAPI_EXPORT void TF_SetDevice(TF_OperationDescription* desc, const char* device);

// Asks for the device of |op|, wherever that will be. May be repeated. For code that must keep
// things together, such as a variable and its initialiser; others leave the choice to the placer.
TF_CAPI_EXPORT void TF_ColocateWith(TF_OperationDescription* desc, TF_Operation* op);

// --- Inputs ----------------------------------------------------------------------------------
// One call per input of the op's definition, in its order: TF_AddInput where it names one tensor,
// TF_AddInputList where it names a list, also for a list of one or none. Types may fill in
// attributes: the T of "values: N * T" comes from the tensors, the N from their number.

// An input that is one tensor.
TF_CAPI_EXPORT void TF_AddInput(TF_OperationDescription* desc, TF_Output input);

// An input that is a list of |num_inputs| tensors.
TF_CAPI_EXPORT void TF_AddInputList(TF_OperationDescription* desc, const TF_Output* inputs,
                                    int num_inputs);

// An edge that carries no tensor: the new operation waits for |input|. Once for each.
TF_CAPI_EXPORT void TF_AddControlInput(TF_OperationDescription* desc, TF_Operation* input);

// --- Attributes ------------------------------------------------------------------------------
// Needed for every attribute that neither follows from the inputs nor has a default that suits.
// |attr_name| and the value are copied. Setting an attribute twice to different values is an error
// that TF_FinishOperation reports. In shapes, -1 dimensions is the unknown rank and -1 as a size an
// unknown size.

// |length| bytes at |value|.
TF_CAPI_EXPORT void TF_SetAttrString(TF_OperationDescription* desc, const char* attr_name,
                                     const void* value, size_t length);

// |num_values| strings, the i-th of lengths[i] bytes at values[i]. The attribute "_class" replaces
// what TF_ColocateWith asked for.
TF_CAPI_EXPORT void TF_SetAttrStringList(TF_OperationDescription* desc, const char* attr_name,
                                         const void* const* values, const size_t* lengths,
                                         int num_values);

TF_CAPI_EXPORT void TF_SetAttrInt(TF_OperationDescription* desc, const char* attr_name,
                                  int64_t value);
TF_CAPI_EXPORT void TF_SetAttrIntList(TF_OperationDescription* desc, const char* attr_name,
                                      const int64_t* values, int num_values);

TF_CAPI_EXPORT void TF_SetAttrFloat(TF_OperationDescription* desc, const char* attr_name,
                                    float value);
TF_CAPI_EXPORT void TF_SetAttrFloatList(TF_OperationDescription* desc, const char* attr_name,
                                        const float* values, int num_values);

TF_CAPI_EXPORT void TF_SetAttrBool(TF_OperationDescription* desc, const char* attr_name,
                                   unsigned char value);
TF_CAPI_EXPORT void TF_SetAttrBoolList(TF_OperationDescription* desc, const char* attr_name,
                                       const unsigned char* values, int num_values);

TF_CAPI_EXPORT void TF_SetAttrType(TF_OperationDescription* desc, const char* attr_name,
                                   TF_DataType value);
TF_CAPI_EXPORT void TF_SetAttrTypeList(TF_OperationDescription* desc, const char* attr_name,
                                       const TF_DataType* values, int num_values);

// For an operation of a function's body: the value will be that of the attribute |placeholder| of
// the call. NUL-terminated.
TF_CAPI_EXPORT void TF_SetAttrPlaceholder(TF_OperationDescription* desc, const char* attr_name,
                                          const char* placeholder);

// The function whose name is the |length| bytes at |value|, without attributes of its own.
TF_CAPI_EXPORT void TF_SetAttrFuncName(TF_OperationDescription* desc, const char* attr_name,
                                       const char* value, size_t length);

// The shape of |num_dims| sizes at |dims|.
TF_CAPI_EXPORT void TF_SetAttrShape(TF_OperationDescription* desc, const char* attr_name,
                                    const int64_t* dims, int num_dims);

// |num_shapes| shapes, the i-th of num_dims[i] sizes at dims[i].
TF_CAPI_EXPORT void TF_SetAttrShapeList(TF_OperationDescription* desc, const char* attr_name,
                                        const int64_t* const* dims, const int* num_dims,
                                        int num_shapes);

// The shape in the TensorShapeProto message of |proto_len| bytes at |proto|.
TF_CAPI_EXPORT void TF_SetAttrTensorShapeProto(TF_OperationDescription* desc, const char* attr_name,
                                               const void* proto, size_t proto_len,
                                               TF_Status* status);

// |num_shapes| such shapes, the i-th of proto_lens[i] bytes at protos[i].
TF_CAPI_EXPORT void TF_SetAttrTensorShapeProtoList(TF_OperationDescription* desc,
                                                   const char* attr_name, const void* const* protos,
                                                   const size_t* proto_lens, int num_shapes,
                                                   TF_Status* status);

// The tensor |value|, whose block the graph then shares: the caller deletes the handle, and writes
// to the elements no more.
TF_CAPI_EXPORT void TF_SetAttrTensor(TF_OperationDescription* desc, const char* attr_name,
                                     TF_Tensor* value, TF_Status* status);

// |num_values| such tensors.
TF_CAPI_EXPORT void TF_SetAttrTensorList(TF_OperationDescription* desc, const char* attr_name,
                                         TF_Tensor* const* values, int num_values,
                                         TF_Status* status);

// The value, of whatever kind, in the AttrValue message of |proto_len| bytes at |proto|. The only
// way to set a function with attributes or a list of functions.
TF_CAPI_EXPORT void TF_SetAttrValueProto(TF_OperationDescription* desc, const char* attr_name,
                                         const void* proto, size_t proto_len, TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_BUILDER_H_
