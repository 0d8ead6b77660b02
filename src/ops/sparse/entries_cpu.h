// A sparse tensor is three tensors: indices [n, r] int64, values [n], and the dense shape [r].
// Entry i says that the dense tensor has values[i] at indices[i] and 0 (or nothing) elsewhere. This
// header has checks of such tensors, the order of their entries, and their way into and out of
// batches, whose first dimension counts rows.
//
// The functions run on the calling thread and block until they are done. INVALID_ARGUMENT says that
// inputs do not fit together, RESOURCE_EXHAUSTED that memory is short.
#ifndef LEAT_OPS_SPARSE_ENTRIES_CPU_H_
#define LEAT_OPS_SPARSE_ENTRIES_CPU_H_

#include "kernel/kernel.h"

// Owns its tensors, unless a function says that they are borrowed; ended by leat_entries_release.
typedef struct leat_entries_s {
  leat_tensor_t indices;
  leat_tensor_t values;
  leat_tensor_t shape;
} leat_entries_t;

// Allocates output |first| for the indices [count, rank] and output |second| for the values
// [count].
LEAT_MUST_USE leat_status_t leat_entries_allocate(leat_kernel_context_t* c, int first, int second,
                                                  int64_t count, int64_t rank,
                                                  leat_tensor_t** out_indices,
                                                  leat_tensor_t** out_values);
// Releases the three tensors; not for borrowed ones.
void leat_entries_release(leat_entries_t* entries);
// INVALID_ARGUMENT unless the ranks and sizes of the three tensors agree. Indices are not looked
// at.
LEAT_MUST_USE leat_status_t leat_entries_check(const leat_kernel_context_t* c,
                                               const leat_entries_t* entries);
// Gives inputs [first, first + 3) of the kernel, borrowed. That their ranks and sizes agree is in
// the op's row.
leat_entries_t leat_entries_of_inputs(const leat_kernel_context_t* c, int first);
// INVALID_ARGUMENT unless all indices lie within |dims|.
LEAT_MUST_USE leat_status_t leat_entries_check_bounds(const leat_kernel_context_t* c,
                                                      const leat_tensor_t* indices,
                                                      const int64_t* dims);
// INVALID_ARGUMENT unless all indices lie within |dims| and are in order, none of them twice.
LEAT_MUST_USE leat_status_t leat_entries_check_indices(const leat_kernel_context_t* c,
                                                       const leat_tensor_t* indices,
                                                       const int64_t* dims);
// Compares two indices of |rank| numbers: negative where |a| comes first, 0 where they are equal.
int leat_index_compare(const int64_t* a, const int64_t* b, int64_t rank);
// Gives the numbers of |indices| [count, rank] in the order of the indices; equal ones keep their
// order. |out_order| [count] is an int64 tensor that the caller releases.
LEAT_MUST_USE leat_status_t leat_entries_order(leat_kernel_context_t* c, const int64_t* indices,
                                               int64_t count, int64_t rank,
                                               leat_tensor_t* out_order);
// Makes entry |to| of |out_indices| and |out_values| a copy of entry |from| of |entries|.
LEAT_MUST_USE leat_status_t leat_entries_copy_one(const leat_entries_t* entries, int64_t from,
                                                  leat_tensor_t* out_indices,
                                                  leat_tensor_t* out_values, int64_t to);
// A walk over the entries of two sparse tensors side by side, in the order of their indices, which
// are in order in both. It is made as {&a, &b}.
typedef struct leat_entry_pairs_s {
  const leat_entries_t *a, *b;
  int64_t next_a, next_b;  // the first entries that have not been visited
} leat_entry_pairs_t;
// Moves to the next index, at which |a|, |b| or both have an entry; -1 stands for none. false when
// there is no further index.
bool leat_entry_pairs_next(leat_entry_pairs_t* pairs, int64_t* out_a, int64_t* out_b);
// Gives inputs [first, first + 3) as a batch, borrowed. Its rank must be at least 2; its indices
// are checked if |is_validated|.
LEAT_MUST_USE leat_status_t leat_entries_of_batch(const leat_kernel_context_t* c, int first,
                                                  bool is_validated, leat_entries_t* out_batch);
// Copies row |row| of a batch. Its entries begin at entry |*inout_place|, which moves to the first
// one after them; the entries of a row must stand together. The caller releases |out_row|.
LEAT_MUST_USE leat_status_t leat_entries_take_row(const leat_entries_t* batch, int64_t row,
                                                  int64_t* inout_place, leat_entries_t* out_row);
// Sets outputs 0, 1 and 2 to one sparse tensor made of |count| rows. The dimensions |lead|, whose
// product is |count|, come before those of the rows.
LEAT_MUST_USE leat_status_t leat_entries_join(leat_kernel_context_t* c, const leat_entries_t* rows,
                                              int64_t count, int lead_rank, const int64_t* lead);

#endif  // LEAT_OPS_SPARSE_ENTRIES_CPU_H_
