// Looking at an operation of a graph: what it is, its edges, its attributes. Part of the C API:
// c_api.h has the rules on errors, ownership and threads.

#ifndef TENSORFLOW_C_C_API_OPERATION_H_
#define TENSORFLOW_C_C_API_OPERATION_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_attrtype.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- The operation itself --------------------------------------------------------------------
// The strings are NUL-terminated and live as long as the graph.

TF_CAPI_EXPORT const char* TF_OperationName(TF_Operation* oper);

// The name of its op: "MatMul".
TF_CAPI_EXPORT const char* TF_OperationOpType(TF_Operation* oper);

// The device that was asked for, "" for none. Where the operation really runs is decided by each
// session, and shows in its RunMetadata.
TF_CAPI_EXPORT const char* TF_OperationDevice(TF_Operation* oper);

// Writes the NodeDef message of the operation.
TF_CAPI_EXPORT void TF_OperationToNodeDef(TF_Operation* oper, TF_Buffer* output_node_def,
                                          TF_Status* status);

// --- Inputs and outputs ----------------------------------------------------------------------
// Numbered through: an input or output that is a list counts with each element. Outputs gain
// consumers while others add to the graph, so a count asked for earlier may be too small; the
// functions that fill an array write no more than its |max_| and return how many there are.

TF_CAPI_EXPORT int TF_OperationNumOutputs(TF_Operation* oper);

// The element type of an output; a reference type (TF_DataType + 100) for one that can be assigned
// to.
TF_CAPI_EXPORT TF_DataType TF_OperationOutputType(TF_Output oper_out);

// How many tensors the output that the op's definition calls |arg_name| stands for: 1 unless it is
// a list. -1 and TF_INVALID_ARGUMENT when there is none of that name.
TF_CAPI_EXPORT int TF_OperationOutputListLength(TF_Operation* oper, const char* arg_name,
                                                TF_Status* status);

// Without control inputs.
TF_CAPI_EXPORT int TF_OperationNumInputs(TF_Operation* oper);

TF_CAPI_EXPORT TF_DataType TF_OperationInputType(TF_Input oper_in);

// As TF_OperationOutputListLength, for inputs.
TF_CAPI_EXPORT int TF_OperationInputListLength(TF_Operation* oper, const char* arg_name,
                                               TF_Status* status);

// The other end of the edge into |oper_in|: the tensor that feeds it. {NULL, -1} when there is no
// such input.
TF_CAPI_EXPORT TF_Output TF_OperationInput(TF_Input oper_in);

// The same for the first |max_inputs| inputs (TF_OperationNumInputs says how many there are).
TF_CAPI_EXPORT void TF_OperationAllInputs(TF_Operation* oper, TF_Output* inputs, int max_inputs);

// How many edges begin at |oper_out|.
TF_CAPI_EXPORT int TF_OperationOutputNumConsumers(TF_Output oper_out);

// Where they end, in no promised order. Returns how many there are.
TF_CAPI_EXPORT int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input* consumers,
                                               int max_consumers);

// The operations this one waits for without taking a tensor from them.
TF_CAPI_EXPORT int TF_OperationNumControlInputs(TF_Operation* oper);
TF_CAPI_EXPORT int TF_OperationGetControlInputs(TF_Operation* oper, TF_Operation** control_inputs,
                                                int max_control_inputs);

// The operations that wait for this one in that way.
TF_CAPI_EXPORT int TF_OperationNumControlOutputs(TF_Operation* oper);
TF_CAPI_EXPORT int TF_OperationGetControlOutputs(TF_Operation* oper, TF_Operation** control_outputs,
                                                 int max_control_outputs);

// --- Attributes ------------------------------------------------------------------------------
// First ask for the metadata, which say the kind and how much room the value takes, then call the
// getter of that kind. An attribute of another kind is TF_INVALID_ARGUMENT. So is one that the
// operation has not, except that, as in TensorFlow, the getters of one int, float, bool, type,
// shape or tensor, and of lists of shapes or tensors, say TF_NOT_FOUND then. Getters that fill an
// array fill as much of it as there is; those that also need storage fail when it is too small.

// What an attribute holds.
typedef struct TF_AttrMetadata {
  unsigned char is_list;  // 1: a list of |type|, 0: one |type|
  int64_t list_size;      // its elements; -1 when it is no list
  TF_AttrType type;

  // How much room the value needs, -1 unless |type| is one of
  //   TF_ATTR_STRING  bytes; in a list, those of all the strings together
  //   TF_ATTR_SHAPE   dimensions, -1 for an unknown rank; in a list, those of all the shapes of
  //                   known rank together
  int64_t total_size;
} TF_AttrMetadata;

TF_CAPI_EXPORT TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation* oper,
                                                           const char* attr_name,
                                                           TF_Status* status);

// Writes at most |max_length| bytes of the string to |value|, without a NUL. |total_size| is the
// length.
TF_CAPI_EXPORT void TF_OperationGetAttrString(TF_Operation* oper, const char* attr_name,
                                              void* value, size_t max_length, TF_Status* status);

// Lays the first |max_values| strings out in |storage| (|storage_size| bytes, of which |total_size|
// are needed for all), and sets values[i] to the start and lengths[i] to the length of the i-th.
// TF_INVALID_ARGUMENT when the storage is too small.
TF_CAPI_EXPORT void TF_OperationGetAttrStringList(TF_Operation* oper, const char* attr_name,
                                                  void** values, size_t* lengths, int max_values,
                                                  void* storage, size_t storage_size,
                                                  TF_Status* status);

TF_CAPI_EXPORT void TF_OperationGetAttrInt(TF_Operation* oper, const char* attr_name,
                                           int64_t* value, TF_Status* status);
// This list getter and those below write the first |max_values| elements; |list_size| is how many
// there are.
TF_CAPI_EXPORT void TF_OperationGetAttrIntList(TF_Operation* oper, const char* attr_name,
                                               int64_t* values, int max_values, TF_Status* status);

TF_CAPI_EXPORT void TF_OperationGetAttrFloat(TF_Operation* oper, const char* attr_name,
                                             float* value, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrFloatList(TF_Operation* oper, const char* attr_name,
                                                 float* values, int max_values, TF_Status* status);

TF_CAPI_EXPORT void TF_OperationGetAttrBool(TF_Operation* oper, const char* attr_name,
                                            unsigned char* value, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrBoolList(TF_Operation* oper, const char* attr_name,
                                                unsigned char* values, int max_values,
                                                TF_Status* status);

TF_CAPI_EXPORT void TF_OperationGetAttrType(TF_Operation* oper, const char* attr_name,
                                            TF_DataType* value, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrTypeList(TF_Operation* oper, const char* attr_name,
                                                TF_DataType* values, int max_values,
                                                TF_Status* status);

// Writes the first |num_dims| sizes of the shape to |value|, -1 for each unknown one. |total_size|
// is the rank; nothing is written when it is -1.
TF_CAPI_EXPORT void TF_OperationGetAttrShape(TF_Operation* oper, const char* attr_name,
                                             int64_t* value, int num_dims, TF_Status* status);

// Lays the sizes of the first |num_shapes| shapes out in |storage| (room for |storage_size| of
// them, of which |total_size| are needed for all), and sets dims[i] to the start and num_dims[i] to
// the rank of the i-th, -1 when that is unknown. TF_INVALID_ARGUMENT when the storage is too small.
TF_CAPI_EXPORT void TF_OperationGetAttrShapeList(TF_Operation* oper, const char* attr_name,
                                                 int64_t** dims, int* num_dims, int num_shapes,
                                                 int64_t* storage, int storage_size,
                                                 TF_Status* status);

// Writes the shape as a TensorShapeProto message.
TF_CAPI_EXPORT void TF_OperationGetAttrTensorShapeProto(TF_Operation* oper, const char* attr_name,
                                                        TF_Buffer* value, TF_Status* status);

// Sets values[i] to a new buffer with the TensorShapeProto message of the i-th shape, for the
// caller to delete. On failure there is nothing to delete.
TF_CAPI_EXPORT void TF_OperationGetAttrTensorShapeProtoList(TF_Operation* oper,
                                                            const char* attr_name,
                                                            TF_Buffer** values, int max_values,
                                                            TF_Status* status);

// Sets |*value| to a new handle on the constant, for the caller to delete; NULL on failure. The
// block is the graph's: it is not to be written to.
TF_CAPI_EXPORT void TF_OperationGetAttrTensor(TF_Operation* oper, const char* attr_name,
                                              TF_Tensor** value, TF_Status* status);

// The same for the first |max_values| tensors of a list.
TF_CAPI_EXPORT void TF_OperationGetAttrTensorList(TF_Operation* oper, const char* attr_name,
                                                  TF_Tensor** values, int max_values,
                                                  TF_Status* status);

// Writes the value, of whatever kind, as an AttrValue message.
TF_CAPI_EXPORT void TF_OperationGetAttrValueProto(TF_Operation* oper, const char* attr_name,
                                                  TF_Buffer* output_attr_value, TF_Status* status);

// How many attributes the operation has, those included whose names begin with "_" and that the
// op's definition does not know.
TF_CAPI_EXPORT int TF_OperationGetNumAttrs(TF_Operation* oper);

// The bytes in the name of the |i|-th of them, in an order that stays while none is added; -1 when
// there are not so many.
TF_CAPI_EXPORT int TF_OperationGetAttrNameLength(TF_Operation* oper, int i);

// Writes that many bytes of name to |output|, without a NUL. TF_OUT_OF_RANGE when there are not so
// many attributes.
TF_CAPI_EXPORT void TF_OperationGetAttrName(TF_Operation* oper, int i, char* output,
                                            TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_OPERATION_H_
