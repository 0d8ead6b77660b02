// Tensors as values: making, reshaping, slicing and copying them over shared buffers. The invariant
// is that a struct whose dtype is not 0 holds one reference to its buffer and one to its shape,
// which leat_tensor_release() gives back. A function that fails leaves its output as "no tensor"
// (dtype 0), so that callers may release it without a test.
//
// A tensor without elements has no buffer. Its |data| is nevertheless not NULL but points at a
// static byte: adding 0 to NULL is undefined in C, and memcpy forbids NULL even for a size of 0.
//
// Reshaping and slicing copy nothing. A slice of rows of the first dimension is contiguous, since
// tensors are row-major and dense, and so it is the same buffer at another address:
//
//   tensor  { buffer ─┐ data ─────────────┐
//   slice   { buffer ─┤ data ──────────┐  │
//                     ▼                │  ▼
//             header of the buffer │ row 0 │ row 1 │ row 2 │      (slice begins at row 1)
#include "tensor/tensor.h"

#include <string.h>

#include "base/attributes.h"
#include "base/checked.h"

static LEAT_ALIGNED(LEAT_BUFFER_ALIGNMENT) char no_elements[LEAT_BUFFER_ALIGNMENT];

static LEAT_COLD leat_status_t refuse_dtype(int dtype) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor creation failed: dtype is %d, must be a known type", dtype);
}

// This stands apart from its caller because the text of the shape is a large array on the stack,
// which the successful path should not pay for.
static LEAT_COLD leat_status_t refuse_size(int dtype, const leat_shape_t* shape) {
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "OOM when allocating tensor with shape%s and type %s",
                          LEAT_SHAPE_TEXT(shape), leat_dtype_name(dtype));
}

// Bytes of |shape|'s elements; a size that no memory has is RESOURCE_EXHAUSTED, as in TensorFlow.
LEAT_HOT_LEAF
static leat_status_t count_bytes(int dtype, const leat_shape_t* shape, size_t* out_size_bytes) {
  size_t item_bytes = leat_dtype_size(dtype);
  if (LEAT_UNLIKELY(item_bytes == 0)) return refuse_dtype(dtype);
  int64_t bytes = 0;
  if (LEAT_UNLIKELY(
          !leat_checked_multiply(shape->element_count, (int64_t)item_bytes, &bytes))) {
    return refuse_size(dtype, shape);
  }
  *out_size_bytes = (size_t)bytes;
  return leat_ok_status();
}

static bool is_object(int dtype) { return leat_dtype_in(dtype, LEAT_DTYPES_OBJECT); }

// Makes |out_tensor| a tensor over |buffer|, whose reference passes from the caller to the tensor.
static void become(leat_buffer_t* buffer, void* data, int dtype, const leat_shape_t* shape,
                   leat_tensor_t* out_tensor) {
  out_tensor->buffer = buffer;
  out_tensor->data = data;
  out_tensor->dtype = dtype;
  leat_shape_share(shape, &out_tensor->shape);
}

// Sets the output to "no tensor" and returns |status|.
static LEAT_COLD leat_status_t fail(leat_status_t status, leat_tensor_t* out_tensor) {
  *out_tensor = (leat_tensor_t){0};
  return status;
}

static LEAT_COLD leat_status_t fail_allocation(leat_status_t status, int dtype,
                                               const leat_shape_t* shape,
                                               leat_tensor_t* out_tensor) {
  status = leat_status_annotate(status, "OOM when allocating tensor with shape%s and type %s",
                                LEAT_SHAPE_TEXT(shape), leat_dtype_name(dtype));
  return fail(status, out_tensor);
}

LEAT_HOT_LEAF
leat_status_t leat_tensor_allocate(leat_buffer_source_t* source, int dtype,
                                   const leat_shape_t* shape, leat_tensor_t* out_tensor) {
  size_t size_bytes = 0;
  leat_buffer_t* buffer = NULL;
  leat_status_t status = count_bytes(dtype, shape, &size_bytes);
  if (LEAT_UNLIKELY(status)) return fail(status, out_tensor);
  if (LEAT_UNLIKELY(size_bytes == 0)) {
    become(NULL, no_elements, dtype, shape, out_tensor);
    return leat_ok_status();
  }
  status = leat_buffer_allocate(source, size_bytes, &buffer);
  if (LEAT_UNLIKELY(status)) return fail_allocation(status, dtype, shape, out_tensor);
  if (is_object(dtype)) {
    memset(buffer->data, 0, buffer->size_bytes);
    buffer->object_dtype = (uint8_t)dtype;
  }
  become(buffer, buffer->data, dtype, shape, out_tensor);
  return leat_ok_status();
}

leat_status_t leat_tensor_allocate_texts(leat_buffer_source_t* source, const leat_shape_t* shape,
                                         size_t text_bytes, leat_tensor_t* out_tensor,
                                         char** out_text) {
  size_t element_bytes = 0, size_bytes = 0;
  leat_buffer_t* buffer = NULL;
  *out_text = NULL;
  if (text_bytes == 0) return leat_tensor_allocate(source, LEAT_DTYPE_STRING, shape, out_tensor);
  leat_status_t status = count_bytes(LEAT_DTYPE_STRING, shape, &element_bytes);
  if (LEAT_UNLIKELY(status)) return fail(status, out_tensor);
  if (!leat_checked_add(element_bytes, text_bytes, &size_bytes)) size_bytes = SIZE_MAX;
  status = leat_buffer_allocate(source, size_bytes, &buffer);
  if (LEAT_UNLIKELY(status)) {
    return fail_allocation(status, LEAT_DTYPE_STRING, shape, out_tensor);
  }
  // Only the elements are destroyed with the buffer. The texts behind them are plain bytes, and the
  // pool knows the size of the block without |size_bytes|.
  buffer->size_bytes = element_bytes;
  buffer->object_dtype = LEAT_DTYPE_STRING;
  memset(buffer->data, 0, element_bytes);
  *out_text = (char*)buffer->data + element_bytes;
  become(buffer, buffer->data, LEAT_DTYPE_STRING, shape, out_tensor);
  return leat_ok_status();
}

void leat_tensor_place_text(TF_TString* element, leat_string_view_t value, char** inout_text) {
  size_t text_bytes = leat_tensor_text_bytes(value);
  if (text_bytes == 0) {
    TF_TString_Copy(element, value.data, value.size);
    return;
  }
  char* text = memcpy(*inout_text, value.data, value.size);
  text[value.size] = 0;
  *inout_text += text_bytes;
  TF_TString_AssignView(element, text, value.size);
}

leat_status_t leat_tensor_of_buffer(leat_buffer_t* buffer, int dtype, const leat_shape_t* shape,
                                    leat_tensor_t* out_tensor) {
  size_t size_bytes = 0;
  *out_tensor = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(count_bytes(dtype, shape, &size_bytes));
  size_t available = buffer ? buffer->size_bytes : 0;
  if (size_bytes > available) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor creation failed: buffer has %zu bytes, must be >= %zu for "
                            "shape %s and type %s",
                            available, size_bytes, LEAT_SHAPE_TEXT(shape), leat_dtype_name(dtype));
  }
  if (buffer && buffer->object_dtype && buffer->object_dtype != dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor creation failed: type is %s, must be %s, which the buffer "
                            "holds",
                            leat_dtype_name(dtype), leat_dtype_name(buffer->object_dtype));
  }
  if (buffer) leat_buffer_retain(buffer);
  void* data = buffer && buffer->data ? buffer->data : no_elements;
  become(buffer, data, dtype, shape, out_tensor);
  return leat_ok_status();
}

void leat_tensor_release(leat_tensor_t* tensor) {
  leat_buffer_release(tensor->buffer);
  leat_shape_release(&tensor->shape);
  tensor->buffer = NULL;
  tensor->data = NULL;
  tensor->dtype = 0;
  tensor->shape.rank = 0;
  tensor->shape.element_count = 0;
}

leat_status_t leat_tensor_reshape(const leat_tensor_t* tensor, const leat_shape_t* shape,
                                  leat_tensor_t* out_tensor) {
  if (LEAT_UNLIKELY(tensor->shape.element_count != shape->element_count)) {
    return fail(leat_make_status(LEAT_INVALID_ARGUMENT,
                                 "Reshape failed: shape %s has %lld elements, must have %lld",
                                 LEAT_SHAPE_TEXT(shape), (long long)shape->element_count,
                                 (long long)tensor->shape.element_count),
                out_tensor);
  }
  if (tensor->buffer) leat_buffer_retain(tensor->buffer);
  become(tensor->buffer, tensor->data, tensor->dtype, shape, out_tensor);
  return leat_ok_status();
}

leat_status_t leat_tensor_slice(const leat_tensor_t* tensor, int64_t begin, int64_t end,
                                leat_tensor_t* out_tensor) {
  *out_tensor = (leat_tensor_t){0};
  const leat_shape_t* shape = &tensor->shape;
  if (shape->rank < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Slice failed: rank is 0, must be >= 1");
  }
  const int64_t* dims = leat_shape_dims(shape);
  if (begin < 0 || begin > end || end > dims[0]) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Slice failed: rows are [%lld, %lld), must lie in [0, %lld]",
                            (long long)begin, (long long)end, (long long)dims[0]);
  }
  int64_t slice_dims[LEAT_SHAPE_MAX_RANK];
  memcpy(slice_dims, dims, (size_t)shape->rank * sizeof(int64_t));
  slice_dims[0] = end - begin;
  leat_shape_t slice_shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(shape->rank, slice_dims, &slice_shape));
  out_tensor->dtype = tensor->dtype;
  out_tensor->shape = slice_shape;
  out_tensor->data = no_elements;
  if (slice_shape.element_count > 0) {
    size_t row_bytes = leat_tensor_size_bytes(tensor) / (size_t)dims[0];
    leat_buffer_retain(tensor->buffer);
    out_tensor->buffer = tensor->buffer;
    out_tensor->data = (char*)tensor->data + (size_t)begin * row_bytes;
  }
  return leat_ok_status();
}

leat_status_t leat_tensor_copy(leat_buffer_source_t* source, const leat_tensor_t* tensor,
                               leat_tensor_t* out_tensor) {
  leat_tensor_t copy;
  leat_status_t status = leat_tensor_allocate(source, tensor->dtype, &tensor->shape, &copy);
  if (LEAT_UNLIKELY(status)) return fail(status, out_tensor);
  status = leat_tensor_copy_elements(tensor->dtype, tensor->data, copy.data,
                                     tensor->shape.element_count);
  if (LEAT_UNLIKELY(status)) leat_tensor_release(&copy);
  *out_tensor = copy;
  return status;
}

leat_status_t leat_tensor_copy_elements(int dtype, const void* source, void* target,
                                        int64_t count) {
  if (is_object(dtype)) return leat_object_copy(dtype, source, target, count);
  if (count > 0) memcpy(target, source, (size_t)count * leat_dtype_size(dtype));
  return leat_ok_status();
}

// Whether each byte of a bool tensor is 0 or 1; a byte with another value may come from a caller's
// memory, and C code that reads it as a bool is undefined. All bytes are joined with OR, a word at
// a time, and looked at once at the end: the loop runs at the speed of memory and has no branch on
// the values.
bool leat_tensor_bool_bytes_are_valid(const leat_tensor_t* tensor) {
  const uint8_t* bytes = tensor->data;
  size_t size = leat_tensor_size_bytes(tensor), i = 0;
  uint64_t seen = 0;
  for (; i + 32 <= size; i += 32) {
    uint64_t words[4];
    memcpy(words, bytes + i, sizeof words);
    seen |= (words[0] | words[1]) | (words[2] | words[3]);
  }
  for (; i < size; ++i) seen |= bytes[i];
  return (seen & ~UINT64_C(0x0101010101010101)) == 0;
}

leat_status_t leat_tensor_normalize_bools(leat_buffer_source_t* source,
                                          leat_tensor_t* inout_tensor) {
  if (LEAT_LIKELY(leat_tensor_bools_are_valid(inout_tensor))) return leat_ok_status();
  leat_tensor_t target = *inout_tensor;
  bool in_place = leat_buffer_is_exclusive(inout_tensor->buffer);
  if (!in_place) {
    LEAT_RETURN_IF_ERROR(
        leat_tensor_allocate(source, LEAT_DTYPE_BOOL, &inout_tensor->shape, &target));
  }
  const uint8_t* from = inout_tensor->data;
  uint8_t* to = target.data;
  for (size_t i = 0, size = leat_tensor_size_bytes(inout_tensor); i < size; ++i) {
    to[i] = from[i] != 0;
  }
  if (!in_place) {
    leat_tensor_release(inout_tensor);
    *inout_tensor = target;
  }
  return leat_ok_status();
}

void leat_tensor_fill_zero(leat_tensor_t* tensor) {
  if (tensor->shape.element_count == 0 || tensor->dtype == 0) return;
  if (is_object(tensor->dtype)) {
    leat_object_destroy(tensor->dtype, tensor->data, tensor->shape.element_count);
  }
  memset(tensor->data, 0, leat_tensor_size_bytes(tensor));
}

static leat_status_t of_values(int dtype, const void* values, const leat_shape_t* shape,
                               leat_tensor_t* out_tensor) {
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), dtype, shape, out_tensor));
  leat_status_t status =
      leat_tensor_copy_elements(dtype, values, out_tensor->data, shape->element_count);
  if (status) leat_tensor_release(out_tensor);
  return status;
}

leat_status_t leat_tensor_scalar(int dtype, const void* value, leat_tensor_t* out_tensor) {
  leat_shape_t shape = leat_shape_scalar();
  return of_values(dtype, value, &shape, out_tensor);
}

leat_status_t leat_tensor_vector(int dtype, const void* values, int64_t count,
                                 leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  leat_status_t status = leat_shape_create(1, &count, &shape);
  if (LEAT_UNLIKELY(status)) return fail(status, out_tensor);
  return of_values(dtype, values, &shape, out_tensor);
}

leat_status_t leat_tensor_scalar_string(leat_string_view_t value, leat_tensor_t* out_tensor) {
  leat_shape_t shape = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape,
                                            out_tensor));
  leat_status_t status = leat_tensor_set_string(out_tensor, 0, value);
  if (status) leat_tensor_release(out_tensor);
  return status;
}

leat_string_view_t leat_tensor_string_at(const leat_tensor_t* tensor, int64_t index) {
  const TF_TString* string = &leat_tensor_data(tensor, const TF_TString)[index];
  return leat_string_view_make(TF_TString_GetDataPointer(string), TF_TString_GetSize(string));
}

leat_status_t leat_tensor_set_string(leat_tensor_t* tensor, int64_t index,
                                     leat_string_view_t value) {
  return leat_object_set_string(&leat_tensor_data(tensor, TF_TString)[index], value);
}
