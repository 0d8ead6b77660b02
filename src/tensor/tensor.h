// A tensor is a small struct that is passed by value: element type, shape, shared buffer, and the
// address of its first element. Elements are row-major and dense. leat_tensor_share() makes another
// tensor over the same buffer, and slices share it as well. A zeroed struct is "no tensor" (dtype
// 0).
//
// A struct belongs to one thread. Its buffer may be shared by many threads as long as none of them
// writes it.
#ifndef LEAT_TENSOR_TENSOR_H_
#define LEAT_TENSOR_TENSOR_H_

#include "tensor/buffer.h"
#include "tensor/dtype.h"
#include "tensor/object.h"
#include "tensor/shape.h"

typedef struct leat_tensor_s {
  leat_buffer_t* buffer;  // NULL only when there are no elements
  void* data;
  int32_t dtype;
  leat_shape_t shape;
} leat_tensor_t;

#define leat_tensor_data(tensor, type) ((type*)(tensor)->data)

// Contents undefined (objects: zeroed, that is empty strings, null handles). |shape| is copied.
LEAT_MUST_USE leat_status_t leat_tensor_allocate(leat_buffer_source_t* source, int dtype,
                                                 const leat_shape_t* shape,
                                                 leat_tensor_t* out_tensor);
// A tensor over |buffer| (retained) from its start.
LEAT_MUST_USE leat_status_t leat_tensor_of_buffer(leat_buffer_t* buffer, int dtype,
                                                  const leat_shape_t* shape,
                                                  leat_tensor_t* out_tensor);
// A string tensor of empty strings, whose buffer has |text_bytes| more bytes behind the elements,
// at |*out_text|. Strings that are too long for an element are placed there by
// leat_tensor_place_text(), which saves an allocation for each of them. |text_bytes| is the sum of
// leat_tensor_text_bytes() over all strings.
LEAT_MUST_USE leat_status_t leat_tensor_allocate_texts(leat_buffer_source_t* source,
                                                       const leat_shape_t* shape,
                                                       size_t text_bytes,
                                                       leat_tensor_t* out_tensor,
                                                       char** out_text);
// The bytes that |value| needs behind the elements: none when it fits into its element.
static inline size_t leat_tensor_text_bytes(leat_string_view_t value) {
  return value.size <= TF_TString_SmallCapacity ? 0 : value.size + 1;
}
// Makes |element|, which must be an empty string, a copy of |value|. A value that is too long for
// the element is copied to |*inout_text|, which moves past it.
void leat_tensor_place_text(TF_TString* element, leat_string_view_t value, char** inout_text);
void leat_tensor_release(leat_tensor_t* tensor);  // leaves "no tensor"
static inline leat_tensor_t leat_tensor_share(const leat_tensor_t* tensor) {
  if (tensor->buffer) leat_buffer_retain(tensor->buffer);
  if (LEAT_UNLIKELY(tensor->shape.rank > LEAT_SHAPE_INLINE_RANK)) {
    leat_shape_retain_shared(&tensor->shape);
  }
  return *tensor;
}
static inline leat_tensor_t leat_tensor_move(leat_tensor_t* tensor) {
  leat_tensor_t moved = *tensor;
  tensor->buffer = NULL;
  tensor->data = NULL;
  tensor->dtype = 0;
  tensor->shape.rank = 0;
  return moved;
}
// The same, into |out_tensor|, whose old content is not released. Only the sizes that the rank has
// are copied.
static inline void leat_tensor_move_to(leat_tensor_t* tensor, leat_tensor_t* out_tensor) {
  out_tensor->buffer = tensor->buffer;
  out_tensor->data = tensor->data;
  out_tensor->dtype = tensor->dtype;
  leat_shape_share(&tensor->shape, &out_tensor->shape);
  leat_shape_release(&tensor->shape);
  tensor->buffer = NULL;
  tensor->data = NULL;
  tensor->dtype = 0;
  tensor->shape.rank = 0;
}
static inline size_t leat_tensor_size_bytes(const leat_tensor_t* tensor) {
  return (size_t)tensor->shape.element_count * leat_dtype_size(tensor->dtype);
}
// The same bytes under another shape of as many elements (INVALID_ARGUMENT otherwise).
LEAT_MUST_USE leat_status_t leat_tensor_reshape(const leat_tensor_t* tensor,
                                                const leat_shape_t* shape,
                                                leat_tensor_t* out_tensor);
// Rows [begin, end) of dimension 0, sharing the bytes. The address may lose its alignment.
LEAT_MUST_USE leat_status_t leat_tensor_slice(const leat_tensor_t* tensor, int64_t begin,
                                              int64_t end, leat_tensor_t* out_tensor);
// A deep copy.
LEAT_MUST_USE leat_status_t leat_tensor_copy(leat_buffer_source_t* source,
                                             const leat_tensor_t* tensor,
                                             leat_tensor_t* out_tensor);
// Copies |count| elements between arrays of |dtype|; objects are copied as objects.
LEAT_MUST_USE leat_status_t leat_tensor_copy_elements(int dtype, const void* source, void* target,
                                                      int64_t count);
// Compilers take a bool to be the byte 0 or 1 and use it as an index or a factor, so any other byte
// must be stopped where bytes of others become a tensor: feeds, files, raw decoding, memory that
// nobody has written. These two functions are for those places; all other code relies on them.
bool leat_tensor_bool_bytes_are_valid(const leat_tensor_t* tensor);  // of a tensor of bools
static inline bool leat_tensor_bools_are_valid(const leat_tensor_t* tensor) {
  return tensor->dtype != LEAT_DTYPE_BOOL || leat_tensor_bool_bytes_are_valid(tensor);
}
// Makes every byte of a bool tensor that is not 0 a 1, in place where |inout_tensor| alone owns
// writable bytes, else in a copy from |source|. A valid tensor is only read; other types cost one
// comparison. On failure (RESOURCE_EXHAUSTED) the tensor is as it was.
LEAT_MUST_USE leat_status_t leat_tensor_normalize_bools(leat_buffer_source_t* source,
                                                        leat_tensor_t* inout_tensor);
// Sets all elements to zero; objects become empty.
void leat_tensor_fill_zero(leat_tensor_t* tensor);

// Small host tensors in one line.
LEAT_MUST_USE leat_status_t leat_tensor_scalar(int dtype, const void* value,
                                               leat_tensor_t* out_tensor);
LEAT_MUST_USE leat_status_t leat_tensor_vector(int dtype, const void* values, int64_t count,
                                               leat_tensor_t* out_tensor);
LEAT_MUST_USE leat_status_t leat_tensor_scalar_string(leat_string_view_t value,
                                                      leat_tensor_t* out_tensor);
// Element |index| of an int32 or int64 tensor.
static inline int64_t leat_tensor_index_at(const leat_tensor_t* tensor, int64_t index) {
  return tensor->dtype == LEAT_DTYPE_INT32 ? leat_tensor_data(tensor, const int32_t)[index]
                                           : leat_tensor_data(tensor, const int64_t)[index];
}
// Element |index| of a string tensor.
leat_string_view_t leat_tensor_string_at(const leat_tensor_t* tensor, int64_t index);
LEAT_MUST_USE leat_status_t leat_tensor_set_string(leat_tensor_t* tensor, int64_t index,
                                                   leat_string_view_t value);

#endif  // LEAT_TENSOR_TENSOR_H_
