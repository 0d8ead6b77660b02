// CPU kernel of SparseMatrixSparseCholesky: L with L L^H = P A P^T, where row i of P A is row
// permutation[i] of A. Of A the lower triangle is read.
//
// The factor is computed as L D L^H, row by row ("up-looking"). Row k has an entry in column i
// where A has one, and then in all columns on the way from i to the root of the elimination tree,
// as far as k: parent[i] is the first row below i that has an entry in column i. A first pass over
// the rows finds the tree, and how many entries each row and each column of L has, so that the
// result is allocated once for all matrices of a batch. The second pass computes, in double. It
// finds the entries of row k from the left to the right; each needs the rows that were computed
// before.
//
//   y_i = a_ki - sum over j < i of y_j conj(l_ij)      l_ki = y_i / d_i
//   d_k = a_kk - sum over i < k of y_i conj(l_ki)      L_ki = l_ki sqrt(d_i)
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/csr/csr_matrix_cpu.h"
#include "ops/kernel_rows.h"

// The arrays of a factorization; those up to COLUMN_ROWS are int32.
typedef enum array_e {
  PLACE,         // [n] the inverse of the permutation
  STARTS,        // [n + 1] where the entries of a row of the permuted lower triangle begin
  COLUMNS,       // [entries] their columns
  PARENT,        // [n] in the elimination tree; -1: a root
  FLAG,          // [n] the last row that was seen to have an entry in a column
  ROW_SIZE,      // [n] entries of a row of L, the diagonal included
  COLUMN_STARTS, // [n + 1] where the entries of a column of L below the diagonal begin
  COLUMN_ENDS,   // [n] where those that are known end
  PATTERN,       // [n] the columns of the row that is computed
  COLUMN_ROWS,   // [entries of L] the rows of a column's entries
  NUMBERS,       // [entries] the values of the permuted lower triangle
  FACTOR,        // [entries of L] the values of a column's entries, l
  SUMS,          // [n] y
  DIAGONAL,      // [n] d, real
  ARRAY_COUNT,
} array_t;

typedef struct cholesky_s {
  leat_csr_matrix_t m;
  const int32_t* permutations;  // [batches][n]
  int64_t n;
  leat_tensor_t arrays[ARRAY_COUNT];
} cholesky_t;

static int32_t* integers(const cholesky_t* f, array_t which) { return f->arrays[which].data; }
static leat_csr_number_t* numbers(const cholesky_t* f, array_t which) {
  return f->arrays[which].data;
}

static leat_status_t allocate(leat_kernel_context_t* c, cholesky_t* f, array_t which,
                              int64_t count) {
  leat_shape_t vector = leat_shape_vector(count);
  int dtype = which <= COLUMN_ROWS ? LEAT_DTYPE_INT32 : LEAT_DTYPE_COMPLEX128;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, dtype, &vector, &f->arrays[which]));
  leat_tensor_fill_zero(&f->arrays[which]);
  return leat_ok_status();
}

// Allocates all arrays but those of L, with room for the largest matrix of the batch.
static leat_status_t allocate_arrays(leat_kernel_context_t* c, cholesky_t* f) {
  int64_t most = 0;
  for (int64_t i = 0; i < f->m.batches; ++i) {
    most = LEAT_MAX(most, (int64_t)f->m.begins[i + 1] - f->m.begins[i]);
  }
  for (int which = 0; which < ARRAY_COUNT; ++which) {
    int64_t count = which == COLUMNS || which == NUMBERS ? most : f->n + 1;
    if (which == COLUMN_ROWS || which == FACTOR) continue;
    LEAT_RETURN_IF_ERROR(allocate(c, f, which, count));
  }
  return leat_ok_status();
}

// ---- The permuted matrix ------------------------------------------------------------------------

static leat_status_t invert_permutation(const leat_kernel_context_t* c, const cholesky_t* f,
                                        int64_t batch) {
  const int32_t* permutation = f->permutations + batch * f->n;
  int32_t* place = integers(f, PLACE);
  for (int64_t i = 0; i < f->n; ++i) place[i] = -1;
  for (int64_t i = 0; i < f->n; ++i) {
    int32_t row = permutation[i];
    if (row >= 0 && row < f->n && place[row] < 0) {
      place[row] = (int32_t)i;
      continue;
    }
    return leat_kernel_invalid(c, "permutation[%lld] of matrix %lld is %d, must be in [0, %lld) "
                               "and be there once",
                               (long long)i, (long long)batch, row, (long long)f->n);
  }
  return leat_ok_status();
}

// Lays out the lower triangle of the permuted matrix by rows. STARTS first count the entries of
// each row, then say where the next one goes, and are one row ahead in the end.
static void permute(const cholesky_t* f, int64_t batch) {
  int32_t *starts = integers(f, STARTS), *place = integers(f, PLACE);
  memset(starts, 0, (size_t)(f->n + 1) * sizeof *starts);
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t row = 0; row < f->n; ++row) {
      leat_csr_row_t entries = leat_csr_row(&f->m, batch, row);
      for (int64_t i = entries.begin; i < entries.end; ++i) {
        if (f->m.indices[i] > row) continue;
        int32_t a = place[row], b = place[f->m.indices[i]];
        if (pass == 0) {
          ++starts[LEAT_MAX(a, b) + 1];
          continue;
        }
        leat_csr_number_t number = leat_csr_number_at(f->m.dtype, f->m.values, i);
        int32_t to = starts[LEAT_MAX(a, b)]++;
        integers(f, COLUMNS)[to] = LEAT_MIN(a, b);
        numbers(f, NUMBERS)[to] = a < b ? leat_csr_number_conjugate(number) : number;
      }
    }
    if (pass == 0) {
      for (int64_t row = 0; row < f->n; ++row) starts[row + 1] += starts[row];
    }
  }
  for (int64_t row = f->n; row > 0; --row) starts[row] = starts[row - 1];
  starts[0] = 0;
}

// ---- The pattern of L ---------------------------------------------------------------------------

// Finds the tree, and the sizes of rows and columns of L. COLUMN_STARTS are the sums of the sizes.
static leat_status_t analyse(const leat_kernel_context_t* c, const cholesky_t* f,
                             int64_t* inout_count) {
  int32_t *parent = integers(f, PARENT), *flag = integers(f, FLAG);
  int32_t *row_size = integers(f, ROW_SIZE), *column_starts = integers(f, COLUMN_STARTS);
  leat_step_pace_t pace = leat_step_pace_of(c);
  memset(column_starts, 0, (size_t)(f->n + 1) * sizeof *column_starts);
  for (int32_t row = 0; row < f->n; ++row) {
    parent[row] = -1;
    flag[row] = row;
    row_size[row] = 1;
    for (int32_t i = integers(f, STARTS)[row]; i < integers(f, STARTS)[row + 1]; ++i) {
      for (int32_t at = integers(f, COLUMNS)[i]; flag[at] != row; at = parent[at]) {
        if (parent[at] < 0) parent[at] = row;
        flag[at] = row;
        ++row_size[row];
        ++column_starts[at + 1];
      }
    }
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 20 + 2 * (double)row_size[row]));
    if (!leat_checked_add(*inout_count, row_size[row], inout_count) || *inout_count > INT32_MAX) {
      return leat_kernel_invalid(c, "the factor has more than %d entries", INT32_MAX);
    }
  }
  for (int64_t row = 0; row < f->n; ++row) column_starts[row + 1] += column_starts[row];
  return leat_ok_status();
}

// Scatters row |row| of the permuted matrix to SUMS, and gives the columns of the row of L, sorted,
// as PATTERN.
static int64_t find_pattern(const cholesky_t* f, int32_t row) {
  int32_t *flag = integers(f, FLAG), *pattern = integers(f, PATTERN);
  leat_csr_number_t* sums = numbers(f, SUMS);
  int64_t count = 0;
  sums[row] = (leat_csr_number_t){0, 0};
  flag[row] = row;
  for (int32_t i = integers(f, STARTS)[row]; i < integers(f, STARTS)[row + 1]; ++i) {
    int32_t column = integers(f, COLUMNS)[i];
    for (int32_t at = column; flag[at] != row; at = integers(f, PARENT)[at]) {
      sums[at] = (leat_csr_number_t){0, 0};
      flag[at] = row;
      pattern[count++] = at;
    }
    sums[column].real += numbers(f, NUMBERS)[i].real;
    sums[column].imaginary += numbers(f, NUMBERS)[i].imaginary;
  }
  leat_csr_sort_columns(pattern, count);
  return count;
}

// ---- The numbers of L ---------------------------------------------------------------------------

// sum -= a conj(b)
static void subtract_product(leat_csr_number_t* sum, leat_csr_number_t a, leat_csr_number_t b) {
  sum->real -= a.real * b.real + a.imaginary * b.imaginary;
  sum->imaginary -= a.imaginary * b.real - a.real * b.imaginary;
}

// Computes row |row| of L, and writes it at entry |place| of |result|. Gives the number of its
// products; -1 where the matrix is not positive definite.
static double compute_row(const cholesky_t* f, int32_t row, int64_t place,
                          leat_csr_matrix_t* result) {
  leat_csr_number_t *sums = numbers(f, SUMS), *diagonal = numbers(f, DIAGONAL);
  int32_t *ends = integers(f, COLUMN_ENDS), *rows = integers(f, COLUMN_ROWS);
  int64_t count = find_pattern(f, row);
  double products = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t column = integers(f, PATTERN)[i];
    leat_csr_number_t y = sums[column];
    int32_t begin = integers(f, COLUMN_STARTS)[column], end = ends[column];
    for (int32_t p = begin; p < end; ++p) {
      subtract_product(&sums[rows[p]], y, numbers(f, FACTOR)[p]);
    }
    double d = diagonal[column].real;
    leat_csr_number_t l = {y.real / d, y.imaginary / d};
    subtract_product(&sums[row], y, l);
    rows[end] = row;
    numbers(f, FACTOR)[end] = l;
    ++ends[column];
    result->indices[place + i] = column;
    leat_csr_number_set(f->m.dtype, result->values, place + i,
                        (leat_csr_number_t){l.real * sqrt(d), l.imaginary * sqrt(d)});
    products += end - begin;
  }
  diagonal[row] = sums[row];
  result->indices[place + count] = row;
  leat_csr_number_set(f->m.dtype, result->values, place + count,
                      (leat_csr_number_t){sqrt(sums[row].real), 0});
  return sums[row].real > 0 ? products : -1;
}

static leat_status_t compute_matrix(leat_kernel_context_t* c, cholesky_t* f, int64_t batch,
                                    leat_csr_matrix_t* result) {
  int64_t place = result->begins[batch], unused = 0;
  int32_t* pointers = result->row_ptrs + batch * (f->n + 1);
  LEAT_RETURN_IF_ERROR(invert_permutation(c, f, batch));
  permute(f, batch);
  LEAT_RETURN_IF_ERROR(analyse(c, f, &unused));
  leat_tensor_release(&f->arrays[COLUMN_ROWS]);
  leat_tensor_release(&f->arrays[FACTOR]);
  LEAT_RETURN_IF_ERROR(allocate(c, f, COLUMN_ROWS, integers(f, COLUMN_STARTS)[f->n]));
  LEAT_RETURN_IF_ERROR(allocate(c, f, FACTOR, integers(f, COLUMN_STARTS)[f->n]));
  memcpy(integers(f, COLUMN_ENDS), integers(f, COLUMN_STARTS), (size_t)f->n * sizeof(int32_t));
  for (int64_t i = 0; i < f->n; ++i) integers(f, FLAG)[i] = -1;
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int32_t row = 0; row < f->n; ++row) {
    double products = compute_row(f, row, place, result);
    if (products < 0) {
      return leat_kernel_invalid(c, "Sparse Cholesky factorization failed for batch index %lld. "
                                 "The input might not be valid.",
                                 (long long)batch);
    }
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 100 + 3 * products));
    place += integers(f, ROW_SIZE)[row];
    pointers[row + 1] = (int32_t)(place - result->begins[batch]);
  }
  result->begins[batch + 1] = (int32_t)place;
  return leat_ok_status();
}

// ---- The kernel ---------------------------------------------------------------------------------

static leat_status_t check_inputs(const leat_kernel_context_t* c, const cholesky_t* f) {
  const leat_shape_t* permutation = &leat_kernel_input(c, 1)->shape;
  if (f->m.rows != f->m.columns) {
    return leat_kernel_invalid(c, "sparse matrix must be square; got: %lld != %lld",
                               (long long)f->m.rows, (long long)f->m.columns);
  }
  bool fits = permutation->rank == f->m.rank - 1 &&
              leat_shape_dim(permutation, permutation->rank - 1) == f->n &&
              (permutation->rank == 1 || leat_shape_dim(permutation, 0) == f->m.batches);
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "permutation has shape %s, must have a number for each of the %lld "
                             "rows of each of %lld matrices",
                             LEAT_SHAPE_TEXT(permutation), (long long)f->n,
                             (long long)f->m.batches);
}

static leat_status_t factorize(leat_kernel_context_t* c, cholesky_t* f) {
  leat_csr_matrix_t result;
  int64_t count = 0, dims[] = {f->m.batches, f->n, f->n};
  LEAT_RETURN_IF_ERROR(allocate_arrays(c, f));
  for (int64_t batch = 0; batch < f->m.batches; ++batch) {
    LEAT_RETURN_IF_ERROR(invert_permutation(c, f, batch));
    permute(f, batch);
    LEAT_RETURN_IF_ERROR(analyse(c, f, &count));
  }
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_create(c, f->m.dtype, f->m.rank, dims + 3 - f->m.rank,
                                              count, &result));
  for (int64_t batch = 0; batch < f->m.batches; ++batch) {
    LEAT_RETURN_IF_ERROR(compute_matrix(c, f, batch, &result));
  }
  return leat_ok_status();
}

static leat_status_t cholesky_create(leat_kernel_creation_t* c, void* memory) {
  return leat_kernel_attr_type(c, "type", memory);
}

static leat_status_t cholesky__cpu(leat_kernel_context_t* c) {
  cholesky_t f = {.permutations = leat_kernel_input(c, 1)->data};
  LEAT_RETURN_IF_ERROR(
      leat_csr_matrix_of_input(c, 0, *(const int*)leat_kernel_state(c), &f.m));
  f.n = f.m.rows;
  LEAT_RETURN_IF_ERROR(check_inputs(c, &f));
  leat_status_t status = factorize(c, &f);
  for (int i = 0; i < ARRAY_COUNT; ++i) leat_tensor_release(&f.arrays[i]);
  return status;
}

const leat_kernel_row_t leat_csr_cholesky_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SparseMatrixSparseCholesky", "type: complex128, complex64, double, float",
                    int, cholesky_create, cholesky__cpu),
    LEAT_KERNEL_ROWS_END,
};
