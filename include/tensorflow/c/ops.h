// Registering ops of one's own. A library that does so is loaded with TF_LoadLibrary
// (c_api_registry.h), or linked into the program; kernels.h gives its ops kernels.
//
//   static void unchanged(TF_ShapeInferenceContext* c, TF_Status* status) {
//     TF_ShapeHandle* shape = TF_NewShapeHandle();
//     TF_ShapeInferenceContextGetInput(c, 0, shape, status);
//     if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetOutput(c, 0, shape, status);
//     TF_DeleteShapeHandle(shape);
//   }
//
//   __attribute__((constructor)) static void register_ops(void) {
//     TF_Status* status = TF_NewStatus();
//     TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("ZeroOut");
//     TF_OpDefinitionBuilderAddAttr(op, "T: {int32, float}");
//     TF_OpDefinitionBuilderAddInput(op, "to_zero: T");
//     TF_OpDefinitionBuilderAddOutput(op, "zeroed: T");
//     TF_OpDefinitionBuilderSetShapeInferenceFunction(op, unchanged);
//     TF_RegisterOpDefinition(op, status);
//     TF_DeleteStatus(status);
//   }
//
// A registered op stays as long as the process. Everything here may be called from any thread; a
// builder or handle belongs to one at a time. c_api.h has the rules on errors and ownership.

#ifndef TENSORFLOW_C_OPS_H_
#define TENSORFLOW_C_OPS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Declaring an op -------------------------------------------------------------------------

// An op in the making.
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
// What a shape function asks and answers through; lives as long as its call.
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;
// A shape of known or unknown rank. Its sizes belong to the context that made them: a handle is of
// no use after the call of the shape function.
typedef struct TF_ShapeHandle TF_ShapeHandle;
// One size of a shape, known or unknown.
typedef struct TF_DimensionHandle TF_DimensionHandle;

// An op called |op_name|: letters, digits, '_' and '>', the first a capital (or '_', for ops that
// no user shall make). What is wrong with it, or with what is added, TF_RegisterOpDefinition says.
// NULL when memory runs out.
TF_CAPI_EXPORT TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* op_name);

// Registers the op and frees |builder|, whatever comes of it. TF_INVALID_ARGUMENT: a declaration is
// malformed. TF_ALREADY_EXISTS: there is such an op; while TF_LoadLibrary runs, that is an error
// only when the library itself brought it (an op from elsewhere stays, and the status is TF_OK).
TF_CAPI_EXPORT void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status);

// Frees a builder that is not registered. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder* builder);

// One attribute: "<name>: <type>", with limits and a default if wanted.
//
//   "T: {float, double}"     a type out of these; also numbertype, realnumbertype, quantizedtype
//   "N: int >= 1 = 2"        an int of at least 1; 2 where it is not given
//   "mode: {'fast', 'exact'} = 'fast'"
//   "shapes: list(shape) >= 1", "strides: list(int) = [1, 1]"
//
// Types are string, int, float, bool, type, shape, tensor and func. One that repeats an input or
// output is at least 1 unless it says otherwise.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder,
                                                  const char* attr_spec);

// One input (output), after those added before: "<name>: <type>", where <type> is the name of a
// type or of a type attribute, "N * <type>" for as many tensors as the int attribute N says, the
// name of a list(type) attribute for one tensor per item, or "Ref(<type>)" for a reference.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder,
                                                   const char* input_spec);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder,
                                                    const char* output_spec);

// f(a, b) == f(b, a) for all a and b.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder* builder,
                                                           bool is_commutative);

// The op takes two or more inputs of one type, in any order and grouping, and gives one output of
// that type and shape.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder* builder,
                                                         bool is_aggregate);

// The result depends on more than the inputs, or the op does more than to give it. Nodes of other
// ops may be computed once for several equal ones, or ahead of the run when their inputs are
// constants.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder* builder,
                                                        bool is_stateful);

// A reference at an input may be one to a variable without a value.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetAllowsUninitializedInput(
    TF_OpDefinitionBuilder* builder, bool allows_uninitialized_input);

// From GraphDef version |version| on the op is out of date, for the reason |explanation|, which is
// copied.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder* builder, int version,
                                                     const char* explanation);

// What gives the shapes of the outputs while a graph is built; without one they are unknown. An
// error in its |status| becomes the error of the call that adds the node. It may run on any thread,
// for several graphs at once, and must not call back into the graph.
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetShapeInferenceFunction(
    TF_OpDefinitionBuilder* builder,
    void (*shape_inference_func)(TF_ShapeInferenceContext* ctx, TF_Status* status));

// --- Within a shape function -----------------------------------------------------------------

TF_CAPI_EXPORT int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext* ctx);

// A handle, of unknown rank until something is put into it. NULL when memory runs out.
TF_CAPI_EXPORT TF_ShapeHandle* TF_NewShapeHandle(void);

// |handle| becomes the shape of input |i|. TF_INVALID_ARGUMENT when there is no such input.
TF_CAPI_EXPORT void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* ctx, int i,
                                                     TF_ShapeHandle* handle, TF_Status* status);

// The shape of output |i| becomes that of |handle|, which stays the caller's.
// TF_INVALID_ARGUMENT when there is no such output.
TF_CAPI_EXPORT void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* ctx, int i,
                                                      TF_ShapeHandle* handle, TF_Status* status);

// New handles: a scalar's shape; a vector's of |size| elements.
TF_CAPI_EXPORT TF_ShapeHandle* TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext* ctx);
TF_CAPI_EXPORT TF_ShapeHandle* TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext* ctx,
                                                                      size_t size);

// A handle, unknown until something is put into it. NULL when memory runs out.
TF_CAPI_EXPORT TF_DimensionHandle* TF_NewDimensionHandle(void);

// The attribute |attr_name|, which must be a type.
TF_CAPI_EXPORT void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext* ctx,
                                                         const char* attr_name, TF_DataType* val,
                                                         TF_Status* status);

// The rank; -1 when it is unknown.
TF_CAPI_EXPORT int64_t TF_ShapeInferenceContextRank(TF_ShapeInferenceContext* ctx,
                                                    TF_ShapeHandle* handle);
TF_CAPI_EXPORT int TF_ShapeInferenceContextRankKnown(TF_ShapeInferenceContext* ctx,
                                                     TF_ShapeHandle* handle);

// |result| becomes |handle| with what is now known of its rank: that it is |rank|, at least |rank|,
// at most |rank|. TF_INVALID_ARGUMENT when it is not. The two may be the same handle.
TF_CAPI_EXPORT void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext* ctx,
                                                     TF_ShapeHandle* handle, int64_t rank,
                                                     TF_ShapeHandle* result, TF_Status* status);
TF_CAPI_EXPORT void TF_ShapeInferenceContextWithRankAtLeast(TF_ShapeInferenceContext* ctx,
                                                            TF_ShapeHandle* handle, int64_t rank,
                                                            TF_ShapeHandle* result,
                                                            TF_Status* status);
TF_CAPI_EXPORT void TF_ShapeInferenceContextWithRankAtMost(TF_ShapeInferenceContext* ctx,
                                                           TF_ShapeHandle* handle, int64_t rank,
                                                           TF_ShapeHandle* result,
                                                           TF_Status* status);

// |result| becomes size |i| of the shape, from the end when negative; unknown where there is none.
TF_CAPI_EXPORT void TF_ShapeInferenceContextDim(TF_ShapeInferenceContext* ctx,
                                                TF_ShapeHandle* shape_handle, int64_t i,
                                                TF_DimensionHandle* result);

// |result| becomes sizes [start, end) of the shape. Negative ones count from the end; what lies
// beyond it is the end. TF_INVALID_ARGUMENT when start is behind end.
TF_CAPI_EXPORT void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext* ctx,
                                                     TF_ShapeHandle* shape_handle, int64_t start,
                                                     int64_t end, TF_ShapeHandle* result,
                                                     TF_Status* status);

// All outputs become unknown.
TF_CAPI_EXPORT void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext* ctx,
                                                            TF_Status* status);

TF_CAPI_EXPORT int TF_DimensionHandleValueKnown(TF_DimensionHandle* dim_handle);

// The size; -1 when it is unknown.
TF_CAPI_EXPORT int64_t TF_DimensionHandleValue(TF_DimensionHandle* dim_handle);

// |result| becomes the sizes of |first|, then those of |second|.
TF_CAPI_EXPORT void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext* ctx,
                                                              TF_ShapeHandle* first,
                                                              TF_ShapeHandle* second,
                                                              TF_ShapeHandle* result,
                                                              TF_Status* status);

// NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteShapeHandle(TF_ShapeHandle* handle);
TF_CAPI_EXPORT void TF_DeleteDimensionHandle(TF_DimensionHandle* handle);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_OPS_H_
