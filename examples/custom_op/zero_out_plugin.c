// A library with an op of its own and the op's kernels, as another project would write it: it knows
// tensorflow/c/ops.h and kernels.h only, so it builds against TensorFlow's headers as well. It is
// linked against nothing: the program that loads it has the functions. The parts are what every op
// needs: a declaration with a shape function, and for each type a kernel with functions to create,
// compute and delete. They are registered when the library is loaded, by a constructor at the end
// of the file.
//
//   ZeroOut(to_zero: T, keep: int) -> zeroed: T     all but the first |keep| elements become 0
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

// ---- the op -------------------------------------------------------------------------------------

static void zero_out_shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  TF_ShapeHandle* shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(ctx, 0, shape, status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetOutput(ctx, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}

static void register_op(TF_Status* status) {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder("ZeroOut");
  TF_OpDefinitionBuilderAddInput(builder, "to_zero: T");
  TF_OpDefinitionBuilderAddOutput(builder, "zeroed: T");
  TF_OpDefinitionBuilderAddAttr(builder, "T: {int32, float, double}");
  TF_OpDefinitionBuilderAddAttr(builder, "keep: int >= 0 = 1");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, zero_out_shape);
  TF_RegisterOpDefinition(builder, status);
}

// ---- the kernel ---------------------------------------------------------------------------------

typedef struct zero_out_t {
  int64_t keep;
} zero_out_t;

static void* zero_out_create(TF_OpKernelConstruction* ctx) {
  TF_Status* status = TF_NewStatus();
  zero_out_t* kernel = calloc(1, sizeof *kernel);
  TF_OpKernelConstruction_GetAttrInt64(ctx, "keep", &kernel->keep, status);
  if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(ctx, status);
  TF_DeleteStatus(status);
  return kernel;
}

static void zero_out_delete(void* kernel) { free(kernel); }

// The first |kept| bytes are the input's.
static void zero_out(const zero_out_t* kernel, TF_OpKernelContext* ctx, TF_Status* status) {
  TF_Tensor* input = NULL;
  TF_GetInput(ctx, 0, &input, status);
  if (TF_GetCode(status) != TF_OK) return;
  int64_t dims[32], count = TF_TensorElementCount(input);
  int rank = TF_NumDims(input);
  for (int i = 0; i < rank && i < 32; ++i) dims[i] = TF_Dim(input, i);
  size_t item = TF_DataTypeSize(TF_TensorType(input));
  size_t kept = (size_t)(kernel->keep < count ? kernel->keep : count) * item;
  const char* from = TF_TensorData(input);
  if (rank > 32) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "ZeroOut takes up to 32 dimensions");
  } else {
    TF_Tensor* output = TF_AllocateOutput(ctx, 0, TF_ExpectedOutputDataType(ctx, 0), dims, rank,
                                          (size_t)count * item, status);
    if (output) {
      char* to = TF_TensorData(output);
      if (kept > 0) memcpy(to, from, kept);
      if (count > 0) memset(to + kept, 0, (size_t)count * item - kept);
    }
    TF_DeleteTensor(output);
  }
  TF_DeleteTensor(input);
}

static void zero_out_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* status = TF_NewStatus();
  zero_out(kernel, ctx, status);
  if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(ctx, status);
  TF_DeleteStatus(status);
}

static void register_kernels(TF_Status* status) {
  static const TF_DataType kTypes[] = {TF_INT32, TF_FLOAT, TF_DOUBLE};
  for (size_t i = 0; i < sizeof kTypes / sizeof *kTypes; ++i) {
    TF_KernelBuilder* builder = TF_NewKernelBuilder("ZeroOut", "CPU", zero_out_create,
                                                    zero_out_compute, zero_out_delete);
    TF_KernelBuilder_TypeConstraint(builder, "T", kTypes[i], status);
    TF_RegisterKernelBuilder("ZeroOut", builder, status);
  }
}

// Runs when the library is loaded.
__attribute__((constructor)) static void register_all(void) {
  TF_Status* status = TF_NewStatus();
  register_op(status);
  if (TF_GetCode(status) == TF_OK) register_kernels(status);
  TF_DeleteStatus(status);
}
