// What the kernels of this plug-in share: one call of a kernel with its first failure, and tensors
// of rank 1 and 2 whose sizes are checked before anything is read or written. Every function that
// can fail gives false, with the status of the call set to a message of the form
//
//   ProdEnvMatA: box has 6 columns, must be 9
#ifndef LEAT_EXAMPLES_DEEPMD_CALL_H_
#define LEAT_EXAMPLES_DEEPMD_CALL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// TensorFlow's own ops.h names these without a typedef, as only C++ allows; C11 allows to say twice
// what they are.
typedef struct TF_DimensionHandle TF_DimensionHandle;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeHandle TF_ShapeHandle;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_tensor.h"

typedef struct deepmd_call_t {
  TF_OpKernelContext* ctx;
  TF_Status* status;
  const char* op;
} deepmd_call_t;

// Sets the status of |call|, unless it holds a failure already. Always false.
bool deepmd_fail(const deepmd_call_t* call, TF_Code code, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// An input or an output: a matrix, or a vector, which has one row. |data| may be NULL when there
// are no elements.
typedef struct deepmd_array_t {
  TF_Tensor* tensor;  // owned
  void* data;
  int64_t rows, columns;
} deepmd_array_t;

// Input |index| of the op, which messages call |name|; |rank| is 1 or 2.
bool deepmd_input(const deepmd_call_t* call, int index, const char* name, int rank,
                  deepmd_array_t* out_array);
// Output |index| of the op as a matrix (rank 2) or, with |rank| 1, a vector of |columns|.
bool deepmd_output(const deepmd_call_t* call, int index, int rank, int64_t rows, int64_t columns,
                   deepmd_array_t* out_array);
void deepmd_arrays_deinitialize(deepmd_array_t* arrays, int count);
// |array| has so many rows, or columns.
bool deepmd_expect_rows(const deepmd_call_t* call, const char* name, const deepmd_array_t* array,
                        int64_t rows);
bool deepmd_expect_columns(const deepmd_call_t* call, const char* name, const deepmd_array_t* array,
                           int64_t columns);

// Each of the three coordinates of |count| atoms is a finite number.
bool deepmd_expect_finite(const deepmd_call_t* call, const double* positions, int64_t count);

// Elements of arrays of float or of double, whichever |dtype| says.
double deepmd_get(const deepmd_array_t* array, TF_DataType dtype, int64_t index);
// Writes |count| elements from |index| on.
void deepmd_put(const deepmd_array_t* array, TF_DataType dtype, int64_t index, const double* values,
                int64_t count);

// The input natoms: how many atoms are local, how many there are with those of other processors,
// and of how many types. What follows, the count of each type, no kernel needs.
typedef struct deepmd_natoms_t {
  int64_t local, all, types;
} deepmd_natoms_t;

bool deepmd_natoms(const deepmd_call_t* call, const deepmd_array_t* array,
                   deepmd_natoms_t* out_natoms);

// Memory for |count| items, zeroed; NULL and a failed call where there is none.
void* deepmd_allocate(const deepmd_call_t* call, int64_t count, size_t item_bytes);

// ---- registration -------------------------------------------------------------------------------

typedef void (*deepmd_compute_t)(void* kernel, TF_OpKernelContext* ctx);

// An op with its kernels: |compute| for double, and for float where the op has the attribute T.
typedef struct deepmd_op_t {
  const char* name;
  const char* const* inputs;  // these three end with NULL
  const char* const* outputs;
  const char* const* attrs;
  void (*shape)(TF_ShapeInferenceContext* ctx, TF_Status* status);
  void* (*create)(TF_OpKernelConstruction* ctx);
  void (*destroy)(void* kernel);
  deepmd_compute_t compute, compute_float;  // the second is NULL where there is no T
} deepmd_op_t;

void deepmd_op_register(const deepmd_op_t* op, TF_Status* status);
// Checks the ranks of the inputs while the graph is built: |ranks| holds a digit for each.
void deepmd_expect_ranks(TF_ShapeInferenceContext* ctx, const char* ranks, TF_Status* status);

// The ops of one source each.
void deepmd_register_env_mat(TF_Status* status);
void deepmd_register_force(TF_Status* status);
void deepmd_register_virial(TF_Status* status);
void deepmd_register_mask(TF_Status* status);
void deepmd_register_pairwise(TF_Status* status);

#endif  // LEAT_EXAMPLES_DEEPMD_CALL_H_
