// Sparse matrices in compressed rows (CSR), as values in variant tensors: a matrix, or a batch of
// matrices of one shape. The entries lie row by row; the pointers of a matrix say where the entries
// of each of its rows begin, counted from the first entry of the matrix.
//
//   0 1 0       row_ptrs  0 1 3        the box in the variant holds five tensors: dense shape
//   2 0 3       columns   1 | 0 2      [rank] int64, begins [batches + 1], row_ptrs
//               values    1 | 2 3      [batches * (rows + 1)] and columns [entries] int32, values
//
// A matrix is made by a kernel of this family and by nobody else, so that pointers and columns can
// be relied on: pointers never get smaller, columns are below the number of columns. Within a row
// entries may stand in any order, if whoever gave them did not sort them. Once it is an output a
// matrix is only read. The functions run on the calling thread.
#ifndef LEAT_OPS_CSR_CSR_MATRIX_CPU_H_
#define LEAT_OPS_CSR_CSR_MATRIX_CPU_H_

#include "kernel/kernel.h"

// A view of the box, which must live as long as it.
typedef struct leat_csr_matrix_s {
  int dtype;
  int rank;  // 2, or 3 for a batch
  int64_t batches, rows, columns;
  int32_t* begins;    // [batches + 1] where the entries of each matrix begin
  int32_t* row_ptrs;  // [batches][rows + 1]
  int32_t* indices;   // [entries] the column of each entry
  void* values;       // [entries] of |dtype|: float, double, complex64 or complex128
} leat_csr_matrix_t;

// The entries [begin, end) of a row.
typedef struct leat_csr_row_s {
  int64_t begin, end;
} leat_csr_row_t;
static inline leat_csr_row_t leat_csr_row(const leat_csr_matrix_t* m, int64_t batch, int64_t row) {
  const int32_t* pointer = m->row_ptrs + batch * (m->rows + 1) + row;
  return (leat_csr_row_t){(int64_t)m->begins[batch] + pointer[0],
                          (int64_t)m->begins[batch] + pointer[1]};
}
static inline int64_t leat_csr_entry_count(const leat_csr_matrix_t* m) {
  return m->begins[m->batches];
}

// Gives the matrix in input |index|. INVALID_ARGUMENT unless the input is a scalar that holds one,
// and it is of |dtype|; 0 stands for any type.
LEAT_MUST_USE leat_status_t leat_csr_matrix_of_input(const leat_kernel_context_t* c, int index,
                                                     int dtype, leat_csr_matrix_t* out_matrix);
// Checks that |dims| [rank] are those of a matrix or of a batch, and that the row pointers can be
// numbered in 32 bits.
LEAT_MUST_USE leat_status_t leat_csr_check_dims(const leat_kernel_context_t* c, int64_t rank,
                                                const int64_t* dims);
// Makes output 0 a matrix of such dimensions and |count| entries, all of whose numbers are 0; the
// caller fills them in.
LEAT_MUST_USE leat_status_t leat_csr_matrix_create(leat_kernel_context_t* c, int dtype, int rank,
                                                   const int64_t* dims, int64_t count,
                                                   leat_csr_matrix_t* out_matrix);
// Makes |out_matrix| a temporary of the shape of |m|, transposed, and conjugated if |conjugates|;
// rows are sorted. |out_memory| [3] are its tensors, which the caller releases, on failure too.
LEAT_MUST_USE leat_status_t leat_csr_matrix_transpose(leat_kernel_context_t* c,
                                                      const leat_csr_matrix_t* m, bool conjugates,
                                                      leat_tensor_t* out_memory,
                                                      leat_csr_matrix_t* out_matrix);
// Sorts the |count| columns of a row.
void leat_csr_sort_columns(int32_t* columns, int64_t count);

// Numbers of the four types, one at a time, as pairs of doubles.
typedef struct leat_csr_number_s {
  double real, imaginary;
} leat_csr_number_t;
leat_csr_number_t leat_csr_number_at(int dtype, const void* values, int64_t index);
void leat_csr_number_set(int dtype, void* values, int64_t index, leat_csr_number_t number);
static inline leat_csr_number_t leat_csr_number_conjugate(leat_csr_number_t a) {
  return (leat_csr_number_t){a.real, -a.imaginary};
}

#endif  // LEAT_OPS_CSR_CSR_MATRIX_CPU_H_
