// CPU kernels of products of CSR sparse matrices with dense and with sparse ones, and of
// transposition.
//
// An operand that is taken transposed is transposed first. A product then goes row by row: row i of
// the result is the sum of the rows of b that the entries of row i of a name, each times its entry.
// A sparse result is computed in a dense row of sums; a first walk counts its entries. Sums are
// double, whatever the type.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/csr/csr_matrix_cpu.h"
#include "ops/kernel_rows.h"

typedef struct operand_s {
  bool transposes, conjugates;
} operand_t;

typedef struct product_s {
  operand_t a, b;
  bool transposes_output, conjugates_output;  // of a dense product
} product_t;

static leat_status_t read_operand(const leat_kernel_creation_t* c, const char* transpose,
                                  const char* adjoint, operand_t* operand) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, transpose, &operand->transposes));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, adjoint, &operand->conjugates));
  if (operand->transposes && operand->conjugates) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Only one of %s and %s may be true.", adjoint,
                            transpose);
  }
  operand->transposes |= operand->conjugates;
  return leat_ok_status();
}

static leat_status_t sparse_create(leat_kernel_creation_t* c, void* memory) {
  product_t* state = memory;
  LEAT_RETURN_IF_ERROR(read_operand(c, "transpose_a", "adjoint_a", &state->a));
  return read_operand(c, "transpose_b", "adjoint_b", &state->b);
}

static leat_status_t dense_create(leat_kernel_creation_t* c, void* memory) {
  product_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "transpose_output", &state->transposes_output));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "conjugate_output", &state->conjugates_output));
  return sparse_create(c, memory);
}

// Gives the matrix in input |index| as |operand| says. The caller releases |memory| [3].
static leat_status_t take_operand(leat_kernel_context_t* c, int index, int dtype,
                                  const operand_t* operand, leat_tensor_t* memory,
                                  leat_csr_matrix_t* out_matrix) {
  leat_csr_matrix_t given;
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_of_input(c, index, dtype, &given));
  *out_matrix = given;
  if (!operand->transposes) return leat_ok_status();
  return leat_csr_matrix_transpose(c, &given, operand->conjugates, memory, out_matrix);
}

static void release_memory(leat_tensor_t* memory) {
  for (int i = 0; i < 3; ++i) leat_tensor_release(&memory[i]);
}

// Adds a * b to |*sum|.
static void add_product(leat_csr_number_t* sum, leat_csr_number_t a, leat_csr_number_t b,
                        bool is_complex) {
  if (is_complex) {
    sum->real += a.real * b.real - a.imaginary * b.imaginary;
    sum->imaginary += a.real * b.imaginary + a.imaginary * b.real;
  } else {
    sum->real += a.real * b.real;
  }
}

// ---- A dense second operand ---------------------------------------------------------------------

// Where the elements of a dense matrix stand: element [batch, row, column].
typedef struct layout_s {
  int64_t batch, row, column;  // from one to the next
} layout_t;

static layout_t layout_of(int64_t rows, int64_t columns, bool is_transposed) {
  return (layout_t){rows * columns, is_transposed ? 1 : columns, is_transposed ? rows : 1};
}

typedef struct dense_product_s {
  const product_t* state;
  leat_csr_matrix_t a;
  const leat_tensor_t* b;
  leat_tensor_t* output;
  int64_t width;  // columns of b as it is taken
  layout_t b_layout, output_layout;
} dense_product_t;

// Computes row |row| of one matrix of the result, in |sums| [width].
static void multiply_row(const dense_product_t* p, int64_t batch, int64_t row,
                         leat_csr_number_t* sums) {
  leat_csr_row_t entries = leat_csr_row(&p->a, batch, row);
  bool is_complex = leat_dtype_in(p->a.dtype, LEAT_DTYPES_COMPLEX);
  for (int64_t j = 0; j < p->width; ++j) sums[j] = (leat_csr_number_t){0, 0};
  for (int64_t i = entries.begin; i < entries.end; ++i) {
    leat_csr_number_t factor = leat_csr_number_at(p->a.dtype, p->a.values, i);
    int64_t place = batch * p->b_layout.batch + p->a.indices[i] * p->b_layout.row;
    for (int64_t j = 0; j < p->width; ++j, place += p->b_layout.column) {
      leat_csr_number_t number = leat_csr_number_at(p->a.dtype, p->b->data, place);
      if (p->state->b.conjugates) number = leat_csr_number_conjugate(number);
      add_product(&sums[j], factor, number, is_complex);
    }
  }
  int64_t place = batch * p->output_layout.batch + row * p->output_layout.row;
  for (int64_t j = 0; j < p->width; ++j, place += p->output_layout.column) {
    if (p->state->conjugates_output) sums[j] = leat_csr_number_conjugate(sums[j]);
    leat_csr_number_set(p->a.dtype, p->output->data, place, sums[j]);
  }
}

// Checks that the operands fit together, and allocates the result.
static leat_status_t prepare(leat_kernel_context_t* c, dense_product_t* p) {
  const leat_shape_t* b = &p->b->shape;
  if (b->rank != p->a.rank) {
    return leat_kernel_invalid(c, "Ranks of a and b must match, saw: %d vs. %d.", p->a.rank,
                               b->rank);
  }
  if (b->rank == 3 && leat_shape_dim(b, 0) != p->a.batches) {
    return leat_kernel_invalid(c, "Batch sizes of a and b must match, saw: %lld vs. %lld.",
                               (long long)p->a.batches, (long long)leat_shape_dim(b, 0));
  }
  bool takes_rows = p->state->b.transposes, gives_rows = p->state->transposes_output;
  int64_t depth = leat_shape_dim(b, b->rank - (takes_rows ? 1 : 2));
  p->width = leat_shape_dim(b, b->rank - (takes_rows ? 2 : 1));
  if (depth != p->a.columns) {
    return leat_kernel_invalid(c, "Inner product dimensions of A and B do not agree: A has %lld "
                               "columns as it is taken, B has %lld rows",
                               (long long)p->a.columns, (long long)depth);
  }
  p->b_layout = layout_of(depth, p->width, takes_rows);
  int64_t dims[] = {p->a.batches, gives_rows ? p->width : p->a.rows,
                    gives_rows ? p->a.rows : p->width};
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, b->rank, dims + 3 - b->rank, &p->output));
  p->output_layout = layout_of(p->a.rows, p->width, gives_rows);
  return leat_ok_status();
}

static leat_status_t multiply_rows(leat_kernel_context_t* c, const dense_product_t* p) {
  leat_shape_t vector = leat_shape_vector(p->width);
  leat_tensor_t sums;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_COMPLEX128, &vector, &sums));
  leat_step_pace_t pace = leat_step_pace_of(c);
  leat_status_t status = leat_ok_status();
  for (int64_t batch = 0; batch < p->a.batches && !status; ++batch) {
    for (int64_t row = 0; row < p->a.rows && !status; ++row) {
      leat_csr_row_t entries = leat_csr_row(&p->a, batch, row);
      multiply_row(p, batch, row, sums.data);
      double products = (double)(entries.end - entries.begin + 1) * (double)p->width;
      status = leat_step_pace_count(&pace, 5 * products);
    }
  }
  leat_tensor_release(&sums);
  return status;
}

static leat_status_t dense_product__cpu(leat_kernel_context_t* c) {
  dense_product_t p = {.state = leat_kernel_state(c), .b = leat_kernel_input(c, 1)};
  leat_tensor_t memory[3] = {{0}};
  leat_status_t status = take_operand(c, 0, p.b->dtype, &p.state->a, memory, &p.a);
  if (!status) status = prepare(c, &p);
  if (!status) status = multiply_rows(c, &p);
  release_memory(memory);
  return status;
}

// ---- Two sparse operands ------------------------------------------------------------------------

typedef struct sparse_product_s {
  leat_csr_matrix_t a, b;
  // For each column of the row that is computed: whether it has an entry, which is so where
  // seen[column] is the number of the row, and the sum.
  int64_t* seen;
  leat_csr_number_t* sums;
} sparse_product_t;

// Gives the number of entries of row |row|. Unless |columns| is NULL, writes their columns there,
// and their sums to p->sums.
static int64_t multiply_sparse_row(const sparse_product_t* p, int64_t batch, int64_t row,
                                   int32_t* columns) {
  int64_t count = 0, number = batch * p->a.rows + row + 1;
  bool is_complex = leat_dtype_in(p->a.dtype, LEAT_DTYPES_COMPLEX);
  leat_csr_row_t entries = leat_csr_row(&p->a, batch, row);
  for (int64_t i = entries.begin; i < entries.end; ++i) {
    leat_csr_number_t factor = leat_csr_number_at(p->a.dtype, p->a.values, i);
    leat_csr_row_t others = leat_csr_row(&p->b, batch, p->a.indices[i]);
    for (int64_t k = others.begin; k < others.end; ++k) {
      int32_t column = p->b.indices[k];
      if (p->seen[column] != number) {
        p->seen[column] = number;
        p->sums[column] = (leat_csr_number_t){0, 0};
        if (columns) columns[count] = column;
        ++count;
      }
      if (columns) {
        add_product(&p->sums[column], factor, leat_csr_number_at(p->b.dtype, p->b.values, k),
                    is_complex);
      }
    }
  }
  return count;
}

// Walks over all rows. Without |result| counts the entries; with it writes them.
static leat_status_t walk_rows(const leat_kernel_context_t* c, const sparse_product_t* p,
                               leat_csr_matrix_t* result, int64_t* out_count) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  *out_count = 0;
  memset(p->seen, 0, (size_t)p->b.columns * sizeof *p->seen);
  for (int64_t batch = 0; batch < p->a.batches; ++batch) {
    int64_t begin = *out_count;
    for (int64_t row = 0; row < p->a.rows; ++row) {
      int32_t* columns = result ? result->indices + *out_count : NULL;
      int64_t count = multiply_sparse_row(p, batch, row, columns);
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 50 + 20 * (double)count));
      if (result) {
        leat_csr_sort_columns(columns, count);
        for (int64_t i = 0; i < count; ++i) {
          leat_csr_number_set(p->a.dtype, result->values, *out_count + i, p->sums[columns[i]]);
        }
        result->row_ptrs[batch * (p->a.rows + 1) + row + 1] =
            (int32_t)(*out_count + count - begin);
      }
      *out_count += count;
    }
    if (result) result->begins[batch + 1] = (int32_t)*out_count;
  }
  return leat_ok_status();
}

static leat_status_t multiply_sparse(leat_kernel_context_t* c, sparse_product_t* p) {
  if (p->a.rank != p->b.rank || p->a.columns != p->b.rows) {
    return leat_kernel_invalid(c, "Inner product dimensions of A and B do not agree.  As they are "
                               "taken, A has rank %d and %lld columns, B has rank %d and %lld rows",
                               p->a.rank, (long long)p->a.columns, p->b.rank,
                               (long long)p->b.rows);
  }
  if (p->a.batches != p->b.batches) {
    return leat_kernel_invalid(c, "Batch sizes of A and B are not compatible.  Batch sizes are: "
                               "%lld vs. %lld",
                               (long long)p->a.batches, (long long)p->b.batches);
  }
  leat_shape_t columns = leat_shape_vector(p->b.columns);
  leat_tensor_t seen, sums = {0};
  leat_csr_matrix_t result;
  int64_t count, dims[] = {p->a.batches, p->a.rows, p->b.columns};
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &columns, &seen));
  leat_status_t status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_COMPLEX128, &columns, &sums);
  p->seen = seen.data;
  p->sums = sums.data;
  if (!status) status = walk_rows(c, p, NULL, &count);
  if (!status) {
    status = leat_csr_matrix_create(c, p->a.dtype, p->a.rank, dims + 3 - p->a.rank, count, &result);
  }
  if (!status) status = walk_rows(c, p, &result, &count);
  leat_tensor_release(&sums);
  leat_tensor_release(&seen);
  return status;
}

typedef struct typed_product_s {
  product_t product;
  int dtype;
} typed_product_t;

static leat_status_t typed_create(leat_kernel_creation_t* c, void* memory) {
  typed_product_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "type", &state->dtype));
  return sparse_create(c, &state->product);
}

static leat_status_t sparse_product__cpu(leat_kernel_context_t* c) {
  const typed_product_t* state = leat_kernel_state(c);
  leat_tensor_t a_memory[3] = {{0}}, b_memory[3] = {{0}};
  sparse_product_t p;
  leat_status_t status = take_operand(c, 0, state->dtype, &state->product.a, a_memory, &p.a);
  if (!status) status = take_operand(c, 1, state->dtype, &state->product.b, b_memory, &p.b);
  if (!status) status = multiply_sparse(c, &p);
  release_memory(a_memory);
  release_memory(b_memory);
  return status;
}

// ---- Transposition ------------------------------------------------------------------------------

typedef struct transpose_s {
  int dtype;
  bool conjugates;
} transpose_t;

static leat_status_t transpose_create(leat_kernel_creation_t* c, void* memory) {
  transpose_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "type", &state->dtype));
  return leat_kernel_attr_bool(c, "conjugate", &state->conjugates);
}

static leat_status_t transpose__cpu(leat_kernel_context_t* c) {
  const transpose_t* state = leat_kernel_state(c);
  leat_csr_matrix_t m, transposed, output;
  leat_tensor_t memory[3] = {{0}};
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_of_input(c, 0, state->dtype, &m));
  leat_status_t status = leat_csr_matrix_transpose(c, &m, state->conjugates, memory, &transposed);
  int64_t count = leat_csr_entry_count(&m), dims[] = {m.batches, m.columns, m.rows};
  if (!status) {
    status = leat_csr_matrix_create(c, m.dtype, m.rank, dims + 3 - m.rank, count, &output);
  }
  if (!status) {
    memcpy(output.begins, m.begins, (size_t)(m.batches + 1) * sizeof *m.begins);
    memcpy(output.row_ptrs, memory[0].data, leat_tensor_size_bytes(&memory[0]));
    memcpy(output.indices, memory[1].data, leat_tensor_size_bytes(&memory[1]));
    memcpy(output.values, memory[2].data, leat_tensor_size_bytes(&memory[2]));
  }
  release_memory(memory);
  return status;
}

#define NUMBERS ": complex128, complex64, double, float"

const leat_kernel_row_t leat_csr_product_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SparseMatrixMatMul", "T" NUMBERS, product_t, dense_create,
                    dense_product__cpu),
    LEAT_CPU_KERNEL("SparseMatrixSparseMatMul", "type" NUMBERS, typed_product_t, typed_create,
                    sparse_product__cpu),
    LEAT_CPU_KERNEL("SparseMatrixTranspose", "type" NUMBERS, transpose_t, transpose_create,
                    transpose__cpu),
    LEAT_KERNEL_ROWS_END,
};
