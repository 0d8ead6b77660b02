// TF_Tensor: making tensors over the caller's memory or over the library's, and looking at them. A
// block of the caller's is used in place if it is aligned, and copied otherwise; numbers need the
// alignment for vector instructions. A block used in place is marked as read-only, so that no
// kernel overwrites it with its result, as in TensorFlow. The deallocator of a block is called
// exactly once, also when the tensor cannot be made. The strings in a caller's block are the
// caller's to release; those in a block that the library allocated end with the block.
#include <string.h>

#include "capi/handles.h"

typedef void (*deallocator_t)(void* data, size_t len, void* arg);

static bool is_object(TF_DataType dtype) {
  return leat_dtype_in((int)dtype, LEAT_DTYPES_OBJECT);
}

// Makes the shape and computes the bytes that |dtype| needs for it. Returns false where either is
// not valid. Blocks of resources and variants may have any number of bytes.
static bool measure(TF_DataType dtype, const int64_t* dims, int num_dims, leat_shape_t* out_shape,
                    size_t* out_bytes) {
  size_t item_bytes = leat_dtype_is_ref((int)dtype) ? 0 : leat_dtype_size((int)dtype);
  if (item_bytes == 0 || num_dims < 0 || (num_dims > 0 && !dims)) return false;
  leat_status_t status = leat_shape_create(num_dims, dims, out_shape);
  if (status) {
    leat_status_free(status);
    return false;
  }
  if (dtype == TF_RESOURCE || dtype == TF_VARIANT) item_bytes = 0;
  bool fits = !__builtin_mul_overflow((size_t)out_shape->element_count, item_bytes, out_bytes);
  if (!fits) leat_shape_release(out_shape);
  return fits;
}

// Takes |buffer| over, unless it returns NULL. A tensor without elements points to a block that is
// never written, so that its address is aligned and not NULL.
static TF_Tensor* make_handle(leat_buffer_t* buffer, TF_DataType dtype, const leat_shape_t* shape,
                              size_t len) {
  static LEAT_ALIGNED(LEAT_BUFFER_ALIGNMENT) char no_elements[LEAT_BUFFER_ALIGNMENT];
  TF_Tensor* handle = leat_capi_tensor_new();
  if (!handle) return NULL;
  handle->tensor = (leat_tensor_t){.buffer = buffer,
                                   .data = buffer ? buffer->data : no_elements,
                                   .dtype = (int32_t)dtype,
                                   .shape = leat_shape_retain(shape)};
  handle->size_bytes = len;
  return handle;
}

// Allocates a block of host memory; NULL where there is none. Strings begin empty.
static leat_buffer_t* allocate_block(size_t len, TF_DataType dtype) {
  leat_buffer_t* buffer = NULL;
  leat_status_t status = leat_buffer_allocate(leat_buffer_source_host(), len, &buffer);
  if (status) {
    leat_status_free(status);
    return NULL;
  }
  if (dtype == TF_STRING) {
    memset(buffer->data, 0, buffer->size_bytes);
    buffer->object_dtype = TF_STRING;
  }
  return buffer;
}

// Returns a buffer over the caller's block, or over a copy of it; NULL where there is no memory.
// The deallocator is called when the block is no longer needed, which is at once for a copy or on
// failure.
static leat_buffer_t* adopt_block(TF_DataType dtype, void* data, size_t len,
                                  deallocator_t deallocator, void* deallocator_arg) {
  leat_buffer_t* buffer = NULL;
  bool copy = !is_object(dtype) && (uintptr_t)data % LEAT_BUFFER_ALIGNMENT != 0;
  if (copy) {
    buffer = allocate_block(len, dtype);
    if (buffer) memcpy(buffer->data, data, len);
  } else {
    leat_status_t status = leat_buffer_wrap(data, len, deallocator, deallocator_arg, &buffer);
    if (status) buffer = NULL;
    leat_status_free(status);
    if (buffer) buffer->read_only = true;
  }
  if ((copy || !buffer) && deallocator) deallocator(data, len, deallocator_arg);
  return buffer;
}

TF_Tensor* TF_NewTensor(TF_DataType dtype, const int64_t* dims, int num_dims, void* data,
                        size_t len, void (*deallocator)(void* data, size_t len, void* arg),
                        void* deallocator_arg) {
  leat_shape_t shape = leat_shape_scalar();
  size_t needed = 0;
  bool valid = measure(dtype, dims, num_dims, &shape, &needed);
  bool holds = valid && len >= needed && (data || len == 0);
  leat_buffer_t* buffer = NULL;
  TF_Tensor* handle = NULL;
  if (holds && len > 0) {
    buffer = adopt_block(dtype, data, len, deallocator, deallocator_arg);
    holds = buffer != NULL;
  } else if (deallocator) {
    deallocator(data, len, deallocator_arg);
  }
  if (holds) handle = make_handle(buffer, dtype, &shape, len);
  if (!handle) leat_buffer_release(buffer);
  if (valid) leat_shape_release(&shape);
  return handle;
}

TF_Tensor* TF_AllocateTensor(TF_DataType dtype, const int64_t* dims, int num_dims, size_t len) {
  leat_shape_t shape = leat_shape_scalar();
  size_t needed = 0;
  if (!measure(dtype, dims, num_dims, &shape, &needed)) return NULL;
  leat_buffer_t* buffer = NULL;
  TF_Tensor* handle = NULL;
  if (len >= needed && (len == 0 || (buffer = allocate_block(len, dtype)))) {
    handle = make_handle(buffer, dtype, &shape, len);
  }
  if (!handle) leat_buffer_release(buffer);
  leat_shape_release(&shape);
  return handle;
}

size_t TF_TensorDefaultAlignment(void) { return LEAT_BUFFER_ALIGNMENT; }

// Returns the tensor if nobody else holds its buffer, and NULL otherwise.
TF_Tensor* TF_TensorMaybeMove(TF_Tensor* tensor) {
  leat_buffer_t* buffer = tensor->tensor.buffer;
  return buffer && leat_buffer_is_exclusive(buffer) ? tensor : NULL;
}

TF_DataType TF_TensorType(const TF_Tensor* tensor) { return (TF_DataType)tensor->tensor.dtype; }

void TF_SetShape(TF_Tensor* tensor, const int64_t* dims, int num_dims) {
  leat_shape_t shape;
  leat_status_t status = num_dims < 0 ? leat_make_status(LEAT_INVALID_ARGUMENT, "no shape")
                                      : leat_shape_create(num_dims, dims, &shape);
  if (status) {
    leat_status_free(status);
    return;
  }
  if (shape.element_count == tensor->tensor.shape.element_count) {
    leat_shape_release(&tensor->tensor.shape);
    tensor->tensor.shape = shape;
  } else {
    leat_shape_release(&shape);
  }
}

int TF_NumDims(const TF_Tensor* tensor) { return tensor->tensor.shape.rank; }

int64_t TF_Dim(const TF_Tensor* tensor, int dim_index) {
  const leat_shape_t* shape = &tensor->tensor.shape;
  return dim_index >= 0 && dim_index < shape->rank ? leat_shape_dim(shape, dim_index) : -1;
}

size_t TF_TensorByteSize(const TF_Tensor* tensor) { return tensor->size_bytes; }

void* TF_TensorData(const TF_Tensor* tensor) { return tensor->tensor.data; }

int64_t TF_TensorElementCount(const TF_Tensor* tensor) {
  return tensor->tensor.shape.element_count;
}

bool TF_TensorIsAligned(const TF_Tensor* tensor) {
  return (uintptr_t)tensor->tensor.data % LEAT_BUFFER_ALIGNMENT == 0;
}

// Makes |to| share |from|'s buffer under another type and shape of the same size in bytes. Strings
// and handles are refused, because their bytes mean nothing under another type.
static leat_status_t bitcast(const TF_Tensor* from, TF_DataType type, TF_Tensor* to,
                             const int64_t* dims, int rank) {
  size_t from_size = TF_DataTypeSize(TF_TensorType(from)), to_size = TF_DataTypeSize(type);
  if (from_size == 0 || to_size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Bitcast failed: types are %s and %s, must both have a fixed size",
                            leat_dtype_name(from->tensor.dtype), leat_dtype_name((int)type));
  }
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  size_t bytes = 0;
  if (__builtin_mul_overflow((size_t)shape.element_count, to_size, &bytes) ||
      bytes != leat_tensor_size_bytes(&from->tensor)) {
    leat_status_t status = leat_make_status(
        LEAT_INVALID_ARGUMENT, "Bitcast failed: shape %s of %s has %zu bytes, must have %zu",
        LEAT_SHAPE_TEXT(&shape), leat_dtype_name((int)type), bytes,
        leat_tensor_size_bytes(&from->tensor));
    leat_shape_release(&shape);
    return status;
  }
  leat_tensor_t result = {.buffer = from->tensor.buffer,
                          .data = from->tensor.data,
                          .dtype = (int32_t)type,
                          .shape = shape};
  size_t size_bytes = from->size_bytes;
  if (result.buffer) leat_buffer_retain(result.buffer);
  leat_tensor_release(&to->tensor);
  to->tensor = result;
  to->size_bytes = size_bytes;
  return leat_ok_status();
}

void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType type, TF_Tensor* to,
                          const int64_t* new_dims, int num_new_dims, TF_Status* status) {
  leat_capi_status_set(status, bitcast(from, type, to, new_dims, num_new_dims));
}

size_t TF_DataTypeSize(TF_DataType dt) {
  if (dt == TF_FLOAT4_E2M1FN) return 1;
  return leat_dtype_is_ref((int)dt) || is_object(dt) ? 0 : leat_dtype_size((int)dt);
}
