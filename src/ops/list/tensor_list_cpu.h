// Lists of tensors as values: a variant whose content is changed in place by its only holder and
// copied (the tensors shared) by any other.
#ifndef LEAT_OPS_LIST_TENSOR_LIST_CPU_H_
#define LEAT_OPS_LIST_TENSOR_LIST_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_tensor_list_s {
  leat_reference_count_t references;
  int dtype;
  int64_t limit;          // of |count|; -1: none
  leat_tensor_t* items;   // "no tensor" where nothing was put
  size_t count, room;
  leat_partial_shape_t shape;  // of the elements; its sizes are |dims|
  int64_t dims[];
} leat_tensor_list_t;

// |count| elements that are not there yet. The caller has one reference.
LEAT_MUST_USE leat_status_t leat_tensor_list_create(int dtype, leat_partial_shape_t shape,
                                                    int64_t count,
                                                    leat_tensor_list_t** out_list);
// NULL is allowed.
void leat_tensor_list_release(leat_tensor_list_t* list);
// Elements that are new are not there yet; others go away.
LEAT_MUST_USE leat_status_t leat_tensor_list_resize(leat_tensor_list_t* list, int64_t count);

// ---- In kernels ---------------------------------------------------------------------------------

// NULL when |variant| holds none.
leat_tensor_list_t* leat_tensor_list_of(const leat_variant_t* variant);
// The list in the scalar at input |index|, borrowed, with elements of |dtype| (0: of any).
LEAT_MUST_USE leat_status_t leat_tensor_list_input(leat_kernel_context_t* c, int index, int dtype,
                                                   leat_tensor_list_t** out_list);
// Output 0 becomes |list| (moved, also on failure).
LEAT_MUST_USE leat_status_t leat_tensor_list_set_output(leat_kernel_context_t* c,
                                                        leat_tensor_list_t* list);
// Output 0 becomes input 0 (scalar or vector of lists), each list one that may be changed.
LEAT_MUST_USE leat_status_t leat_tensor_list_change_input(leat_kernel_context_t* c,
                                                          leat_tensor_t** out_lists);

// Shapes that the kernels work out, with room of their own.
typedef struct leat_list_shape_s {
  leat_partial_shape_t shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
} leat_list_shape_t;
// Input |index| as a shape: a vector of sizes, or the scalar -1 for one that is not known.
LEAT_MUST_USE leat_status_t leat_list_read_shape(const leat_kernel_context_t* c, int index,
                                                 leat_list_shape_t* out_shape);
// What is known of either; INVALID_ARGUMENT when they contradict.
LEAT_MUST_USE leat_status_t leat_list_merge_shape(const leat_kernel_context_t* c,
                                                  leat_list_shape_t* shape,
                                                  leat_partial_shape_t other);
// The shape that an element which is not there has: input |index| with what the list knows and
// (where |look|) with the elements that are there. INVALID_ARGUMENT when it stays open.
LEAT_MUST_USE leat_status_t leat_list_element_shape(const leat_kernel_context_t* c,
                                                    const leat_tensor_list_t* list, int index,
                                                    bool look, leat_shape_t* out_shape);
// Parts of the tensor at input |input| along dimension 0, sharing its bytes: |lengths| rows each,
// or (NULL) one without its dimension. |out_items| are the caller's; none on failure.
LEAT_MUST_USE leat_status_t leat_list_split_input(leat_kernel_context_t* c, int input,
                                                  const int64_t* lengths, int64_t count,
                                                  leat_tensor_t* out_items);

#define LEAT_LIST_TYPES                                                                        \
  "element_dtype: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "  \
  "int64, int8, qint16, qint32, qint8, quint16, quint8, string, uint16, uint32, uint64, "      \
  "uint8, variant"

#endif  // LEAT_OPS_LIST_TENSOR_LIST_CPU_H_
