// Reads inputs, makes outputs and reports failures for all kernels of the plug-in, and registers
// ops. Sizes come from the tensors and from natoms, which a graph or its caller can set to
// anything: nothing here multiplies two of them without a check, and no kernel reads an element
// before the functions of this file have compared the shape with what natoms promises.
#include "call.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool deepmd_fail(const deepmd_call_t* call, TF_Code code, const char* format, ...) {
  if (TF_GetCode(call->status) != TF_OK) return false;
  char text[400];
  int used = snprintf(text, sizeof text, "%s: ", call->op);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
  va_end(arguments);
  TF_SetStatus(call->status, code, text);
  return false;
}

// ---- arrays -------------------------------------------------------------------------------------

bool deepmd_input(const deepmd_call_t* call, int index, const char* name, int rank,
                  deepmd_array_t* out_array) {
  TF_GetInput(call->ctx, index, &out_array->tensor, call->status);
  if (TF_GetCode(call->status) != TF_OK) return false;
  int actual = TF_NumDims(out_array->tensor);
  if (actual != rank) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "%s has rank %d, must be %d", name, actual, rank);
  }
  out_array->rows = rank == 2 ? TF_Dim(out_array->tensor, 0) : 1;
  out_array->columns = TF_Dim(out_array->tensor, rank - 1);
  out_array->data = TF_TensorData(out_array->tensor);
  return true;
}

bool deepmd_output(const deepmd_call_t* call, int index, int rank, int64_t rows, int64_t columns,
                   deepmd_array_t* out_array) {
  TF_DataType dtype = TF_ExpectedOutputDataType(call->ctx, index);
  int64_t count, bytes, dims[2] = {rows, columns};
  if (__builtin_mul_overflow(rows, columns, &count) ||
      __builtin_mul_overflow(count, (int64_t)TF_DataTypeSize(dtype), &bytes)) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT,
                       "output %d has shape [%" PRId64 ", %" PRId64 "], must be below 2^63 bytes",
                       index, rows, columns);
  }
  out_array->tensor = TF_AllocateOutput(call->ctx, index, dtype, rank == 2 ? dims : dims + 1, rank,
                                        (size_t)bytes, call->status);
  if (!out_array->tensor) {
    return deepmd_fail(call, TF_RESOURCE_EXHAUSTED, "output %d has %" PRId64
                       " bytes, for which there is no memory", index, bytes);
  }
  out_array->rows = rows;
  out_array->columns = columns;
  out_array->data = TF_TensorData(out_array->tensor);
  return TF_GetCode(call->status) == TF_OK;
}

void deepmd_arrays_deinitialize(deepmd_array_t* arrays, int count) {
  for (int i = 0; i < count; ++i) {
    if (arrays[i].tensor) TF_DeleteTensor(arrays[i].tensor);
    arrays[i].tensor = NULL;
  }
}

bool deepmd_expect_rows(const deepmd_call_t* call, const char* name, const deepmd_array_t* array,
                        int64_t rows) {
  if (array->rows == rows) return true;
  return deepmd_fail(call, TF_INVALID_ARGUMENT,
                     "%s has %" PRId64 " rows, must be %" PRId64, name, array->rows, rows);
}

bool deepmd_expect_columns(const deepmd_call_t* call, const char* name, const deepmd_array_t* array,
                           int64_t columns) {
  if (array->columns == columns) return true;
  return deepmd_fail(call, TF_INVALID_ARGUMENT, "%s has %" PRId64 " columns, must be %" PRId64,
                     name, array->columns, columns);
}

bool deepmd_expect_finite(const deepmd_call_t* call, const double* positions, int64_t count) {
  for (int64_t i = 0; i < 3 * count; ++i) {
    if (!isfinite(positions[i])) {
      return deepmd_fail(call, TF_INVALID_ARGUMENT, "coord of atom %" PRId64
                         " is %g, must be finite", i / 3, positions[i]);
    }
  }
  return true;
}

double deepmd_get(const deepmd_array_t* array, TF_DataType dtype, int64_t index) {
  if (dtype == TF_FLOAT) return ((const float*)array->data)[index];
  return ((const double*)array->data)[index];
}

void deepmd_put(const deepmd_array_t* array, TF_DataType dtype, int64_t index, const double* values,
                int64_t count) {
  if (count == 0) return;
  if (dtype == TF_DOUBLE) {
    memcpy((double*)array->data + index, values, (size_t)count * sizeof *values);
    return;
  }
  float* to = (float*)array->data + index;
  for (int64_t i = 0; i < count; ++i) to[i] = (float)values[i];
}

bool deepmd_natoms(const deepmd_call_t* call, const deepmd_array_t* array,
                   deepmd_natoms_t* out_natoms) {
  if (array->columns < 3) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT,
                       "natoms has %" PRId64 " elements, must be at least 3", array->columns);
  }
  const int32_t* counts = array->data;
  if (counts[0] < 0) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "natoms[0] is %d, must not be negative",
                       counts[0]);
  }
  if (counts[1] < counts[0]) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "natoms[1] is %d, must be at least natoms[0], %d",
                       counts[1], counts[0]);
  }
  *out_natoms =
      (deepmd_natoms_t){.local = counts[0], .all = counts[1], .types = array->columns - 2};
  return true;
}

void* deepmd_allocate(const deepmd_call_t* call, int64_t count, size_t item_bytes) {
  void* memory = calloc((size_t)(count > 0 ? count : 1), item_bytes);
  if (!memory) {
    deepmd_fail(call, TF_RESOURCE_EXHAUSTED,
                "needs memory for %" PRId64 " items of %zu bytes, and there is none", count,
                item_bytes);
  }
  return memory;
}

// ---- registration -------------------------------------------------------------------------------

void deepmd_expect_ranks(TF_ShapeInferenceContext* ctx, const char* ranks, TF_Status* status) {
  TF_ShapeHandle *shape = TF_NewShapeHandle(), *same = TF_NewShapeHandle();
  for (int i = 0; ranks[i] && TF_GetCode(status) == TF_OK; ++i) {
    TF_ShapeInferenceContextGetInput(ctx, i, shape, status);
    if (TF_GetCode(status) != TF_OK) break;
    TF_ShapeInferenceContextWithRank(ctx, shape, ranks[i] - '0', same, status);
  }
  TF_DeleteShapeHandle(shape);
  TF_DeleteShapeHandle(same);
}

static void register_kernel(const deepmd_op_t* op, bool typed, TF_DataType dtype,
                            deepmd_compute_t compute, TF_Status* status) {
  if (TF_GetCode(status) != TF_OK) return;
  TF_KernelBuilder* builder =
      TF_NewKernelBuilder(op->name, "CPU", op->create, compute, op->destroy);
  if (typed) TF_KernelBuilder_TypeConstraint(builder, "T", dtype, status);
  if (TF_GetCode(status) == TF_OK) {
    TF_RegisterKernelBuilder(op->name, builder, status);
  } else {
    TF_DeleteKernelBuilder(builder);
  }
}

void deepmd_op_register(const deepmd_op_t* op, TF_Status* status) {
  if (TF_GetCode(status) != TF_OK) return;
  bool typed = op->compute_float != NULL;
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(op->name);
  if (typed) TF_OpDefinitionBuilderAddAttr(builder, "T: {float, double} = DT_DOUBLE");
  for (int i = 0; op->attrs[i]; ++i) TF_OpDefinitionBuilderAddAttr(builder, op->attrs[i]);
  for (int i = 0; op->inputs[i]; ++i) TF_OpDefinitionBuilderAddInput(builder, op->inputs[i]);
  for (int i = 0; op->outputs[i]; ++i) TF_OpDefinitionBuilderAddOutput(builder, op->outputs[i]);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, op->shape);
  TF_RegisterOpDefinition(builder, status);
  register_kernel(op, typed, TF_DOUBLE, op->compute, status);
  if (typed) register_kernel(op, typed, TF_FLOAT, op->compute_float, status);
}
