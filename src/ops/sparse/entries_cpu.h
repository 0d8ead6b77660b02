// Sparse tensors as three tensors: indices [n, r], values [n] and the dense shape [r]; and their
// way into and out of batches, whose entries have the row they are of in front.
#ifndef LEAT_OPS_SPARSE_ENTRIES_CPU_H_
#define LEAT_OPS_SPARSE_ENTRIES_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_entries_s {
  leat_tensor_t indices;
  leat_tensor_t values;
  leat_tensor_t shape;
} leat_entries_t;

// Outputs |first| and |second| for the indices, [count, rank], and the values of |count| entries.
LEAT_MUST_USE leat_status_t leat_entries_allocate(leat_kernel_context_t* c, int first, int second,
                                                  int64_t count, int64_t rank,
                                                  leat_tensor_t** out_indices,
                                                  leat_tensor_t** out_values);
void leat_entries_release(leat_entries_t* entries);
// INVALID_ARGUMENT unless ranks and sizes agree.
LEAT_MUST_USE leat_status_t leat_entries_check(const leat_kernel_context_t* c,
                                               const leat_entries_t* entries);
// Kernel inputs [first, first + 3), borrowed and checked.
LEAT_MUST_USE leat_status_t leat_entries_of_inputs(const leat_kernel_context_t* c, int first,
                                                   leat_entries_t* out_entries);
// The indices lie in |dims| and are in order, none twice (|in_order|).
LEAT_MUST_USE leat_status_t leat_entries_check_indices(const leat_kernel_context_t* c,
                                                       const leat_tensor_t* indices,
                                                       const int64_t* dims);
// Kernel inputs [first, first + 3) as a batch of rank >= 2, its indices checked if |is_validated|.
LEAT_MUST_USE leat_status_t leat_entries_of_batch(const leat_kernel_context_t* c, int first,
                                                  bool is_validated, leat_entries_t* out_batch);
// Row |row| of a batch, whose entries begin with |*inout_place|, which moves behind them.
LEAT_MUST_USE leat_status_t leat_entries_take_row(const leat_entries_t* batch, int64_t row,
                                                  int64_t* inout_place, leat_entries_t* out_row);
// Outputs 0, 1, 2 become the |count| |rows| in one, with the dims |lead| (their product is |count|)
// in front.
LEAT_MUST_USE leat_status_t leat_entries_join(leat_kernel_context_t* c, const leat_entries_t* rows,
                                              int64_t count, int lead_rank, const int64_t* lead);

#endif  // LEAT_OPS_SPARSE_ENTRIES_CPU_H_
