// SparseMatrixOrderingAMD by what it is for: the order must hold each row once, and the Cholesky
// factor in that order must have few entries. The number of entries is counted here by eliminating
// row after row on sets of neighbours, which knows nothing of the code under test. The limits are
// what TensorFlow 2.21 reaches for the same matrix, and a few percent, since ties are broken in
// another way; in the rows' own order each of these matrices fills several times as much. Entries
// above the diagonal and repeated ones must not matter.
#include "dataset/pipeline.h"

enum { MOST = 144 };

typedef struct matrix_s {
  int n;
  bool entries[MOST][MOST];  // of the lower triangle
} matrix_t;

static void connect(matrix_t* m, int a, int b) {
  if (a > b) {
    m->entries[a][b] = true;
  } else {
    m->entries[b][a] = true;
  }
}

// A grid of width^2 points, each connected with the one to its right and the one below it.
static void make_grid(matrix_t* m, int width) {
  *m = (matrix_t){.n = width * width};
  for (int i = 0; i < m->n; ++i) {
    connect(m, i, i);
    if (i % width + 1 < width) connect(m, i, i + 1);
    if (i + width < m->n) connect(m, i, i + width);
  }
}

// The first row is connected with all others.
static void make_arrow(matrix_t* m, int n) {
  *m = (matrix_t){.n = n};
  for (int i = 0; i < n; ++i) {
    connect(m, i, i);
    connect(m, i, 0);
  }
}

// A band of three below the diagonal, with its rows in another order.
static void make_band(matrix_t* m, int n) {
  *m = (matrix_t){.n = n};
  for (int i = 0; i < n; ++i) {
    for (int j = i > 3 ? i - 3 : 0; j <= i; ++j) connect(m, i * 37 % n, j * 37 % n);
  }
}

// The entries of the factor of the matrix whose row i is row order[i] of |m|.
static int count_fill(const matrix_t* m, const int32_t* order) {
  static bool left[MOST][MOST];
  int count = m->n;
  for (int i = 0; i < m->n; ++i) {
    for (int j = 0; j < m->n; ++j) {
      const int a = order[i], b = order[j];
      left[i][j] = a > b ? m->entries[a][b] : m->entries[b][a];
    }
  }
  for (int k = 0; k < m->n; ++k) {
    for (int i = k + 1; i < m->n; ++i) {
      if (!left[i][k]) continue;
      ++count;
      for (int j = k + 1; j < m->n; ++j) left[i][j] |= left[k][j];
    }
  }
  return count;
}

static leat_output_t constant(pipeline_t* p, int dtype, leat_shape_t shape, const void* data) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
  if (tensor.shape.element_count) memcpy(tensor.data, data, leat_tensor_size_bytes(&tensor));
  leat_output_t output = leat_build_constant(&p->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

// The order of |batches| copies of the matrix, or of one matrix (0). |noisy|: with entries above
// the diagonal, which do not belong to it.
static leat_output_t ordered(pipeline_t* p, const matrix_t* m, int batches, bool noisy) {
  static int64_t indices[3 * 2 * MOST * MOST];
  static float values[2 * MOST * MOST];
  int64_t count = 0, at = 0;
  const int64_t rank = batches ? 3 : 2, dims[] = {batches, m->n, m->n};
  for (int b = 0; b < (batches ? batches : 1); ++b) {
    for (int i = 0; i < m->n; ++i) {
      for (int j = 0; j < m->n; ++j) {
        if (!m->entries[i][j] && !(noisy && j > i && (i * 7 + j) % 5 == 0)) continue;
        if (batches) indices[at++] = b;
        indices[at++] = i;
        indices[at++] = j;
        values[count++] = 1;
      }
    }
  }
  leat_shape_t shape;
  const int64_t sizes[] = {count, rank};
  LEAT_EXPECT_OK(leat_shape_create(2, sizes, &shape));
  leat_output_t csr = leat_build(
      &p->b, "SparseTensorToCSRSparseMatrix",
      LEAT_INPUTS(constant(p, LEAT_DTYPE_INT64, shape, indices),
                  constant(p, LEAT_DTYPE_FLOAT, leat_shape_vector(count), values),
                  constant(p, LEAT_DTYPE_INT64, leat_shape_vector(rank), dims + 3 - rank)),
      LEAT_NO_ATTRS);
  return leat_build(&p->b, "SparseMatrixOrderingAMD", LEAT_INPUTS(csr), LEAT_NO_ATTRS);
}

static void expect_order(const matrix_t* m, const int32_t* order, int most) {
  bool seen[MOST] = {0};
  for (int i = 0; i < m->n; ++i) {
    assert_in_range(order[i], 0, m->n - 1);
    assert_false(seen[order[i]]);
    seen[order[i]] = true;
  }
  const int fill = count_fill(m, order);
  if (fill > most) print_error("%d entries, must be at most %d\n", fill, most);
  assert_true(fill <= most);
}

static void expect_fill(const matrix_t* m, int batches, bool noisy, int most) {
  pipeline_t p;
  leat_tensor_t order;
  pipeline_open(&p);
  leat_output_t output = ordered(&p, m, batches, noisy);
  LEAT_EXPECT_OK(p.b.status);
  LEAT_EXPECT_OK(pipeline_fetch(&p, output, &order));
  assert_int_equal(order.shape.rank, batches ? 2 : 1);
  assert_int_equal(order.shape.element_count, m->n * (batches ? batches : 1));
  for (int b = 0; b < (batches ? batches : 1); ++b) {
    expect_order(m, leat_tensor_data(&order, const int32_t) + b * m->n, most);
  }
  leat_tensor_release(&order);
  pipeline_close(&p);
}

static void factors_have_few_entries(void** state) {
  static matrix_t m;
  make_grid(&m, 12);
  expect_fill(&m, 0, false, 1060);  // TensorFlow: 1022; as it is: 1739
  expect_fill(&m, 0, true, 1060);
  make_grid(&m, 5);
  expect_fill(&m, 2, false, 106);  // TensorFlow: 103; as it is: 129
  make_arrow(&m, 40);
  expect_fill(&m, 0, false, 79);  // no fill at all; as it is: 820
  make_arrow(&m, 144);  // the first row is dense, and comes last
  expect_fill(&m, 0, false, 287);
  make_band(&m, 100);
  expect_fill(&m, 0, false, 394);  // no fill at all
}

static void small_matrices_have_an_order(void** state) {
  static matrix_t m;
  for (int n = 0; n < 4; ++n) {
    m = (matrix_t){.n = n};
    expect_fill(&m, 0, false, n);
    if (n > 1) connect(&m, 1, 0);
    expect_fill(&m, 3, false, n + (n > 1));
  }
}

static void a_matrix_must_be_square(void** state) {
  pipeline_t p;
  const int64_t index[] = {0, 1}, dims[] = {2, 3};
  const float one = 1;
  leat_shape_t shape;
  pipeline_open(&p);
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){1, 2}, &shape));
  leat_output_t csr =
      leat_build(&p.b, "SparseTensorToCSRSparseMatrix",
                 LEAT_INPUTS(constant(&p, LEAT_DTYPE_INT64, shape, index),
                             constant(&p, LEAT_DTYPE_FLOAT, leat_shape_vector(1), &one),
                             constant(&p, LEAT_DTYPE_INT64, leat_shape_vector(2), dims)),
                 LEAT_NO_ATTRS);
  pipeline_expect_failure(
      &p, leat_build(&p.b, "SparseMatrixOrderingAMD", LEAT_INPUTS(csr), LEAT_NO_ATTRS),
      LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_have_few_entries),
      cmocka_unit_test(small_matrices_have_an_order),
      cmocka_unit_test(a_matrix_must_be_square),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
