// Tensors: a typed, shaped view of a reference-counted block of memory. Every value that enters or
// leaves a graph is one. The block is shared wherever that is safe, so that feeding and fetching a
// gigabyte costs as much as a byte: the comments say when a block is shared, and for how long its
// bytes may not be written. Memory of the program's own becomes a tensor through TF_NewTensor, with
// a function that gives it back. c_api.h has the rules on errors, ownership and threads.

#ifndef TENSORFLOW_C_TF_TENSOR_H_
#define TENSORFLOW_C_TF_TENSOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where memory for a tensor shall come from; used by the kernel API. Set |struct_size| to
// TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE before use.
typedef struct TF_AllocatorAttributes {
  size_t struct_size;
  TF_Bool on_host;  // 1: memory that the CPU can address, whatever the kernel's device
} TF_AllocatorAttributes;

#define TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE TF_OFFSET_OF_END(TF_AllocatorAttributes, on_host)

// A dense array of elements of one type, in row-major order: the last index moves fastest. A
// scalar has no dimensions and one element; a dimension of 0 makes a tensor without elements,
// which is legal everywhere.
//
// The elements of a TF_STRING tensor are TF_TString objects (24 bytes each, tf_tstring.h):
//
//   int64_t n = 2;
//   TF_Tensor* names = TF_AllocateTensor(TF_STRING, &n, 1, n * sizeof(TF_TString));
//   TF_TString* s = (TF_TString*)TF_TensorData(names);
//   TF_StringInit(&s[0]);
//   TF_StringCopy(&s[0], "alpha", 5);
//   TF_StringInit(&s[1]);
//
// A TF_Tensor is a handle: sessions and graphs that keep its value share the block behind it, so
// the handle may be deleted as soon as the call that took it returns. For the same reason nobody
// may write to the elements once the tensor has been given to a graph or while a step that is fed
// with it runs. Handles themselves are not locked: one thread at a time, or all of them readers.
typedef struct TF_Tensor TF_Tensor;

// A tensor over the caller's block of |len| bytes at |data|.
//
// |dims| holds |num_dims| sizes, each >= 0, and is copied. When the last user of the block is done
// with it, on whatever thread that happens, deallocator(data, len, deallocator_arg) is called, once
// and in every case: also when this function fails, and before it returns when it had to copy (a
// block that is not aligned to TF_TensorDefaultAlignment() is copied into one that is, except for
// strings). For TF_STRING the deallocator must also release the elements, with TF_StringDealloc.
//
// NULL when the block is smaller than type and shape ask for, when the shape is not valid (a
// negative size, too many dimensions, a product that overflows), or when memory runs out.
TF_CAPI_EXPORT TF_Tensor* TF_NewTensor(TF_DataType dtype, const int64_t* dims, int num_dims,
                                       void* data, size_t len,
                                       void (*deallocator)(void* data, size_t len, void* arg),
                                       void* deallocator_arg);

// The alignment in bytes that a block needs for TF_NewTensor to take it without a copy.
TF_CAPI_EXPORT size_t TF_TensorDefaultAlignment(void);

// A tensor over a new block of |len| bytes, aligned as the kernels like it. The caller fills the
// elements through TF_TensorData before it passes the tensor on; those of a TF_STRING tensor each
// need a TF_StringInit first, and the library releases them with the tensor.
// NULL in the same cases as TF_NewTensor.
TF_CAPI_EXPORT TF_Tensor* TF_AllocateTensor(TF_DataType dtype, const int64_t* dims, int num_dims,
                                            size_t len);

// Takes a tensor whose block has no other user out of the caller's hands: returns the tensor that
// now holds the content (delete that one, and forget |tensor|), or NULL when the block is shared or
// was not allocated by this library, and then |tensor| is untouched and still the caller's.
TF_CAPI_EXPORT TF_Tensor* TF_TensorMaybeMove(TF_Tensor* tensor);

// Gives up the handle; the block goes with its last user. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteTensor(TF_Tensor* tensor);

// The type of the elements.
TF_CAPI_EXPORT TF_DataType TF_TensorType(const TF_Tensor* tensor);

// Gives this handle another shape over the same elements. The product of |dims| must equal
// TF_TensorElementCount; a shape that does not fit is ignored.
TF_CAPI_EXPORT void TF_SetShape(TF_Tensor* tensor, const int64_t* dims, int num_dims);

// How many dimensions there are; 0 for a scalar.
TF_CAPI_EXPORT int TF_NumDims(const TF_Tensor* tensor);

// The size of dimension |dim_index|, which must be in [0, TF_NumDims(tensor)); -1 outside it.
TF_CAPI_EXPORT int64_t TF_Dim(const TF_Tensor* tensor, int dim_index);

// The size in bytes of the block, for TF_STRING without what its elements point to.
TF_CAPI_EXPORT size_t TF_TensorByteSize(const TF_Tensor* tensor);

// The first element. The address stays valid, and the same, for the life of the handle; for a
// tensor without elements it may be NULL.
TF_CAPI_EXPORT void* TF_TensorData(const TF_Tensor* tensor);

// The product of the dimensions; 1 for a scalar.
TF_CAPI_EXPORT int64_t TF_TensorElementCount(const TF_Tensor* tensor);

// Makes |to| another reading of the block of |from|: type |type|, shape |new_dims|, no copy. What
// |to| held before is given up. Both types must have a fixed size (TF_DataTypeSize not 0), and
// element count times element size must be the same on both sides; otherwise TF_INVALID_ARGUMENT,
// with |to| unchanged.
TF_CAPI_EXPORT void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType type, TF_Tensor* to,
                                         const int64_t* new_dims, int num_new_dims,
                                         TF_Status* status);

// Whether the first element lies at a multiple of TF_TensorDefaultAlignment().
TF_CAPI_EXPORT bool TF_TensorIsAligned(const TF_Tensor* tensor);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_TF_TENSOR_H_
