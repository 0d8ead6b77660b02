// The value behind TensorList ops: a list of tensors in a variant. Lists are values, so an op that
// changes one outputs a new list; where the op holds the only reference, it changes the list in
// place instead, and otherwise it copies the list, which shares the tensors. Building a list of n
// elements in a loop therefore takes O(n), not O(n^2). A list has no lock, because it is only
// changed while nobody else can see it.
#ifndef LEAT_OPS_LIST_TENSOR_LIST_CPU_H_
#define LEAT_OPS_LIST_TENSOR_LIST_CPU_H_

#include "kernel/kernel.h"

// A list. A kernel may change it only while it holds the only reference.
typedef struct leat_tensor_list_s {
  leat_reference_count_t references;
  int dtype;
  int64_t limit;          // largest |count| that a push may reach; -1: none
  leat_tensor_t* items;   // [count]; dtype 0 where no tensor was put
  size_t count, room;
  leat_partial_shape_t shape;  // of the elements; its sizes are |dims|
  int64_t dims[];
} leat_tensor_list_t;

// Makes a list of |count| elements without tensors; |shape| is copied. The caller has one
// reference.
LEAT_MUST_USE leat_status_t leat_tensor_list_create(int dtype, leat_partial_shape_t shape,
                                                    int64_t count,
                                                    leat_tensor_list_t** out_list);
// Releases one reference; |list| may be NULL.
void leat_tensor_list_release(leat_tensor_list_t* list);
// Changes the length of a list that only the caller holds. New elements have no tensor; the tensors
// of elements that go away are released.
LEAT_MUST_USE leat_status_t leat_tensor_list_resize(leat_tensor_list_t* list, int64_t count);

// ---- In kernels ---------------------------------------------------------------------------------

// Borrows the list that |variant| holds; NULL when it holds something else.
leat_tensor_list_t* leat_tensor_list_of(const leat_variant_t* variant);
// Borrows the list in input |index|, which must be a scalar with a list of elements of |dtype| (0:
// of any type).
LEAT_MUST_USE leat_status_t leat_tensor_list_input(leat_kernel_context_t* c, int index, int dtype,
                                                   leat_tensor_list_t** out_list);
// Makes |list| output 0; |list| is moved, also on failure.
LEAT_MUST_USE leat_status_t leat_tensor_list_set_output(leat_kernel_context_t* c,
                                                        leat_tensor_list_t* list);
// Makes output 0 of input 0, a scalar or vector whose elements the caller has checked to be lists,
// such that every list in |*out_lists| may be changed. Input 0 must not be used afterwards: its
// lists may be those of the output.
LEAT_MUST_USE leat_status_t leat_tensor_list_change_input(leat_kernel_context_t* c,
                                                          leat_tensor_t** out_lists);

// A partial shape with room for its sizes.
typedef struct leat_list_shape_s {
  leat_partial_shape_t shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
} leat_list_shape_t;
// Reads input |index| as a shape: a vector of sizes (-1: unknown), or the scalar -1 for a shape of
// unknown rank.
LEAT_MUST_USE leat_status_t leat_list_read_shape(const leat_kernel_context_t* c, int index,
                                                 leat_list_shape_t* out_shape);
// Adds to |shape| what |other| knows; INVALID_ARGUMENT when they contradict.
LEAT_MUST_USE leat_status_t leat_list_merge_shape(const leat_kernel_context_t* c,
                                                  leat_list_shape_t* shape,
                                                  leat_partial_shape_t other);
// Finds the shape with which an element without a tensor is read as zeros, from input |index|, from
// the list, and, where |look|, from the list's tensors. INVALID_ARGUMENT when these leave a size
// open.
LEAT_MUST_USE leat_status_t leat_list_element_shape(const leat_kernel_context_t* c,
                                                    const leat_tensor_list_t* list, int index,
                                                    bool look, leat_shape_t* out_shape);
// Cuts the tensor at |input| along its first dimension into |count| tensors that share its memory:
// |lengths[i]| rows for the i-th, or, where |lengths| is NULL, one row each without that dimension.
// |out_items| belong to the caller; on failure there are none.
LEAT_MUST_USE leat_status_t leat_list_split_input(leat_kernel_context_t* c, int input,
                                                  const int64_t* lengths, int64_t count,
                                                  leat_tensor_t* out_items);

#define LEAT_LIST_TYPES                                                                        \
  "element_dtype: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "  \
  "int64, int8, qint16, qint32, qint8, quint16, quint8, string, uint16, uint32, uint64, "      \
  "uint8, variant"

#endif  // LEAT_OPS_LIST_TENSOR_LIST_CPU_H_
