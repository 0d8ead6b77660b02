// One way to run ops at once and to trace them into a function: a program that executes ops in a
// context works with both kinds of contexts.
//
//   TF_ExecutionContext* body = TF_CreateFunction("twice", status);
//   TF_AbstractTensor* x = TF_AddFunctionParameter(body, TF_FLOAT, shape, status);
//   TF_AbstractOp* add = TF_NewAbstractOp(body);
//   TF_AbstractOpSetOpType(add, "AddV2", status);
//   TF_OutputList* outputs = TF_NewOutputList();
//   TF_ExecuteOperation(add, 2, (TF_AbstractTensor*[]){x, x}, outputs, status);
//   TF_AbstractTensor* sum = TF_OutputListGet(outputs, 0);
//   TF_AbstractFunction* twice = TF_FinalizeFunction(body, outputs, status);
//   TF_ExecutionContext* eager = TF_NewEagerExecutionContext(options, status);
//   TF_ExecutionContextRegisterFunction(eager, twice, status);
//
// From then on ops of |eager| may be of the type "twice".
//
// Objects belong to one thread at a time. Tensors belong to the client, whatever list they are in.

#ifndef TENSORFLOW_C_EAGER_C_API_UNIFIED_EXPERIMENTAL_H_
#define TENSORFLOW_C_EAGER_C_API_UNIFIED_EXPERIMENTAL_H_

#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_ExecutionContext TF_ExecutionContext;
typedef struct TF_AbstractTensor TF_AbstractTensor;
typedef struct TF_AbstractOp TF_AbstractOp;
typedef struct TF_AbstractFunction TF_AbstractFunction;

// --- Contexts --------------------------------------------------------------------------------

// There is one way of tracing, "graphdef". TF_INVALID_ARGUMENT for another name.
TF_CAPI_EXPORT void TF_SetTracingImplementation(const char* name, TF_Status* status);
// A context that traces the body of a function called |fn_name|.
TF_CAPI_EXPORT TF_ExecutionContext* TF_CreateFunction(const char* fn_name, TF_Status* status);
// A context that runs ops at once.
TF_CAPI_EXPORT TF_ExecutionContext* TF_NewEagerExecutionContext(TFE_ContextOptions* options,
                                                                TF_Status* s);
TF_CAPI_EXPORT void TF_DeleteExecutionContext(TF_ExecutionContext* ctx);
// Borrowed from the context. TF_INVALID_ARGUMENT for one that traces.
TF_CAPI_EXPORT TFE_Context* TF_ExecutionContextGetTFEContext(TF_ExecutionContext* ctx,
                                                             TF_Status* s);

// A shape: |num_dims| is -1 for an unknown rank, a size of -1 is not known.
typedef struct TF_Shape {
  int num_dims;
  int64_t* dim_sizes;
} TF_Shape;
// The next argument of the function that is traced. TF_INVALID_ARGUMENT in an eager context.
TF_CAPI_EXPORT TF_AbstractTensor* TF_AddFunctionParameter(TF_ExecutionContext* func,
                                                          TF_DataType dtype, TF_Shape shape,
                                                          TF_Status* s);

// --- Tensors ---------------------------------------------------------------------------------

// A tensor that takes over the handle |t|; and its handle, which stays its own. TF_INVALID_ARGUMENT
// for a tensor of a function that is traced.
TF_CAPI_EXPORT TF_AbstractTensor* TF_CreateAbstractTensorFromEagerTensor(TFE_TensorHandle* t,
                                                                         TF_Status* s);
TF_CAPI_EXPORT TFE_TensorHandle* TF_AbstractTensorGetEagerTensor(TF_AbstractTensor* at,
                                                                 TF_Status* s);
TF_CAPI_EXPORT void TF_DeleteAbstractTensor(TF_AbstractTensor* tensor);

// What an op gave, or a function is to give. Deleting the list leaves its tensors.
typedef struct TF_OutputList TF_OutputList;
TF_CAPI_EXPORT TF_OutputList* TF_NewOutputList(void);
TF_CAPI_EXPORT void TF_DeleteOutputList(TF_OutputList* o);
// How many outputs an eager op may have; to be called before it is executed.
TF_CAPI_EXPORT void TF_OutputListSetNumOutputs(TF_OutputList* o, int num_outputs,
                                               TF_Status* status);
TF_CAPI_EXPORT int TF_OutputListNumOutputs(TF_OutputList* o);
// NULL where there is none of the number.
TF_CAPI_EXPORT TF_AbstractTensor* TF_OutputListGet(TF_OutputList* o, int i);
TF_CAPI_EXPORT void TF_OutputListPushBack(TF_OutputList* o, TF_AbstractTensor* tensor,
                                          TF_Status* status);

// --- Ops -------------------------------------------------------------------------------------
// The texts are copied. TF_FAILED_PRECONDITION for a type or a name that was set before.

TF_CAPI_EXPORT TF_AbstractOp* TF_NewAbstractOp(TF_ExecutionContext* ctx);
TF_CAPI_EXPORT void TF_DeleteAbstractOp(TF_AbstractOp* op);
TF_CAPI_EXPORT void TF_AbstractOpSetOpType(TF_AbstractOp* op, const char* const op_type,
                                           TF_Status* s);
// The name of the node in a function; without one it is named after its type. Eager ops need none.
TF_CAPI_EXPORT void TF_AbstractOpSetOpName(TF_AbstractOp* op, const char* const op_name,
                                           TF_Status* s);
TF_CAPI_EXPORT void TF_AbstractOpSetAttrType(TF_AbstractOp* op, const char* const attr_name,
                                             TF_DataType value, TF_Status* s);
// Runs the op, or adds it to the function. |o| gets the outputs in place of what it had.
// TF_INVALID_ARGUMENT for tensors of another kind of context or of another function.
TF_CAPI_EXPORT void TF_ExecuteOperation(TF_AbstractOp* op, int num_inputs,
                                        TF_AbstractTensor* const* inputs, TF_OutputList* o,
                                        TF_Status* s);

// --- Functions -------------------------------------------------------------------------------

// The function that |ctx| has traced, with |outputs| as its results. |ctx| is deleted, also after a
// failure; tensors of it are then only good for deleting.
TF_CAPI_EXPORT TF_AbstractFunction* TF_FinalizeFunction(TF_ExecutionContext* ctx,
                                                        TF_OutputList* outputs, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteAbstractFunction(TF_AbstractFunction* func);
// Ops of the context may be of the function's type from now on.
TF_CAPI_EXPORT void TF_ExecutionContextRegisterFunction(TF_ExecutionContext* ctx,
                                                        TF_AbstractFunction* func,
                                                        TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_UNIFIED_EXPERIMENTAL_H_
