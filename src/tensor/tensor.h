// A tensor is a small struct that is passed by value: element type, shape, shared buffer, and the
// address of its first element. Elements are row-major and dense. leat_tensor_share() makes another
// tensor over the same buffer, and slices and reshaped tensors share it as well. A zeroed struct is
// "no tensor" (dtype 0), which may be released.
//
//   tensor  { buffer ─┐ data ─────────────┐
//   slice   { buffer ─┤ data ──────────┐  │
//                     ▼                │  ▼
//             header of the buffer │ row 0 │ row 1 │      (the slice begins at row 1)
//
// Each struct owns one reference to its buffer and is released once; a plain assignment moves the
// ownership and needs leat_tensor_move() to leave "no tensor" behind. A function that fails leaves
// its output as "no tensor", so a caller may release it without a test.
//
// A struct belongs to one thread. Its buffer may be shared by many threads as long as none of them
// writes it; leat_buffer_is_exclusive() (tensor/buffer.h) says whether it may be written. Functions
// that read or write elements do so on the host. A tensor in memory that the host cannot reach may
// be allocated, shared, moved, sliced, reshaped and released.
#ifndef LEAT_TENSOR_TENSOR_H_
#define LEAT_TENSOR_TENSOR_H_

#include "tensor/buffer.h"
#include "tensor/dtype.h"
#include "tensor/object.h"
#include "tensor/shape.h"

typedef struct leat_tensor_s {
  leat_buffer_t* buffer;  // NULL only when there are no elements
  // The first element; not NULL even when there are no elements. It is 64-byte aligned unless the
  // tensor is a slice or wraps a caller's memory.
  void* data;
  // A leat_dtype_t; 0 is "no tensor".
  int32_t dtype;
  leat_shape_t shape;
} leat_tensor_t;

// The elements as an array of |type|, which must be that of the dtype; nothing checks it.
#define leat_tensor_data(tensor, type) ((type*)(tensor)->data)

// A tensor in memory of |source| that the caller releases. Its contents are undefined, except for
// objects, which are zeroed, that is empty strings, no handles and empty variants. |shape| is
// copied. RESOURCE_EXHAUSTED when there is no such memory, INVALID_ARGUMENT for an unknown dtype.
LEAT_MUST_USE leat_status_t leat_tensor_allocate(leat_buffer_source_t* source, int dtype,
                                                 const leat_shape_t* shape,
                                                 leat_tensor_t* out_tensor);
// A tensor over |buffer| (retained) from its start. INVALID_ARGUMENT when the buffer is too small
// or holds objects of another type. |buffer| may be NULL for a shape without elements.
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
// Gives up the references and leaves "no tensor". The last release of a buffer destroys its
// elements.
void leat_tensor_release(leat_tensor_t* tensor);
// A second owner of the same elements, to be released on its own.
static inline leat_tensor_t leat_tensor_share(const leat_tensor_t* tensor) {
  if (tensor->buffer) leat_buffer_retain(tensor->buffer);
  if (LEAT_UNLIKELY(tensor->shape.rank > LEAT_SHAPE_INLINE_RANK)) {
    leat_shape_retain_shared(&tensor->shape);
  }
  return *tensor;
}
// Hands the ownership on and leaves "no tensor", so that a later release of |tensor| does nothing.
static inline leat_tensor_t leat_tensor_move(leat_tensor_t* tensor) {
  leat_tensor_t moved = *tensor;
  tensor->buffer = NULL;
  tensor->data = NULL;
  tensor->dtype = 0;
  tensor->shape.rank = 0;
  return moved;
}
// Moves the tensor into |out_tensor|, whose old content is not released. Only the sizes that the
// rank has are copied, which is cheaper than the struct.
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
// The bytes of the elements themselves: 24 for a string, whatever text it holds.
static inline size_t leat_tensor_size_bytes(const leat_tensor_t* tensor) {
  return (size_t)tensor->shape.element_count * leat_dtype_size(tensor->dtype);
}
// Makes a tensor of the same bytes under another shape of as many elements (INVALID_ARGUMENT
// otherwise).
LEAT_MUST_USE leat_status_t leat_tensor_reshape(const leat_tensor_t* tensor,
                                                const leat_shape_t* shape,
                                                leat_tensor_t* out_tensor);
// Rows [begin, end) of dimension 0, sharing the bytes. The address may lose its alignment.
// INVALID_ARGUMENT for a scalar and for rows outside the tensor. A slice keeps the whole buffer
// alive.
LEAT_MUST_USE leat_status_t leat_tensor_slice(const leat_tensor_t* tensor, int64_t begin,
                                              int64_t end, leat_tensor_t* out_tensor);
// A copy of its own in memory of |source|. Strings are copied; handles and variants are shared
// values, so their copies refer to the same object.
LEAT_MUST_USE leat_status_t leat_tensor_copy(leat_buffer_source_t* source,
                                             const leat_tensor_t* tensor,
                                             leat_tensor_t* out_tensor);
// Copies |count| elements between arrays of |dtype| that do not overlap, or are the same. Objects
// are copied as objects: what |target| held is released, so it must hold valid elements.
// RESOURCE_EXHAUSTED when a string finds no memory; the elements before it are copied then.
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

// Small tensors of the host in one line, for attributes, messages and tests; |value| points at an
// element, |values| at |count| of them, which are copied.
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
// Element |index| of a string tensor, valid until the element is written or the tensor is released.
leat_string_view_t leat_tensor_string_at(const leat_tensor_t* tensor, int64_t index);
// Makes element |index| a copy of |value|; RESOURCE_EXHAUSTED leaves it as it was. The buffer must
// be the caller's alone.
LEAT_MUST_USE leat_status_t leat_tensor_set_string(leat_tensor_t* tensor, int64_t index,
                                                   leat_string_view_t value);

#endif  // LEAT_TENSOR_TENSOR_H_
