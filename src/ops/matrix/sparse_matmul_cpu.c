// CPU kernel of SparseMatMul. For each element of the left factor that is not zero, a row of the
// right one is added to a row of the product, so that zeros cost a comparison each. Where the right
// factor is transposed, or of bfloat16, it is copied to rows of float first. Rows of the product
// are shared out among threads.
#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"

typedef struct sparse_matmul_s {
  bool transposed_a, transposed_b;
} sparse_matmul_t;

typedef struct product_job_s {
  const leat_tensor_t* a;
  const float* b;  // [k, n]
  float* product;  // [m, n]
  int64_t m, n, k, row_step, depth_step;  // steps of a between rows of the product, and terms
} product_job_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  sparse_matmul_t* own = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "transpose_a", &own->transposed_a));
  return leat_kernel_attr_bool(c, "transpose_b", &own->transposed_b);
}

static float element(const leat_tensor_t* tensor, int64_t i) {
  return tensor->dtype == LEAT_DTYPE_FLOAT
             ? leat_tensor_data(tensor, const float)[i]
             : leat_bfloat16_to_float(leat_tensor_data(tensor, const uint16_t)[i]);
}

static void add_rows(void* data, int64_t begin, int64_t end) {
  const product_job_t* j = data;
  for (int64_t row = begin; row < end; ++row) {
    float* sum = j->product + row * j->n;
    for (int64_t i = 0; i < j->n; ++i) sum[i] = 0;
    for (int64_t k = 0; k < j->k; ++k) {
      float factor = element(j->a, row * j->row_step + k * j->depth_step);
      if (factor == 0) continue;
      const float* terms = j->b + k * j->n;
      for (int64_t i = 0; i < j->n; ++i) sum[i] += factor * terms[i];
    }
  }
}

// Copies |b| to [k, n] floats.
static void copy_rows(const leat_tensor_t* b, bool transposed, int64_t k, int64_t n, float* out) {
  for (int64_t row = 0; row < k; ++row) {
    for (int64_t i = 0; i < n; ++i) {
      out[row * n + i] = element(b, transposed ? i * k + row : row * n + i);
    }
  }
}

static leat_status_t multiply(leat_kernel_context_t* c, product_job_t* j, const leat_tensor_t* b,
                              bool transposed) {
  leat_tensor_t rows;
  leat_shape_t shape;
  bool is_plain = !transposed && b->dtype == LEAT_DTYPE_FLOAT;
  if (is_plain) {
    j->b = leat_tensor_data(b, const float);
  } else {
    LEAT_RETURN_IF_ERROR(leat_shape_create(2, (const int64_t[]){j->k, j->n}, &shape));
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, &rows));
    copy_rows(b, transposed, j->k, j->n, leat_tensor_data(&rows, float));
    j->b = leat_tensor_data(&rows, const float);
  }
  leat_kernel_parallel_for(c, j->m, (double)j->k * (double)(j->n + 1), add_rows, j);
  if (!is_plain) leat_tensor_release(&rows);
  return leat_ok_status();
}

static leat_status_t sparse_matmul__cpu(leat_kernel_context_t* c) {
  const sparse_matmul_t* own = leat_kernel_state(c);
  const leat_tensor_t *a = leat_kernel_input(c, 0), *b = leat_kernel_input(c, 1);
  const int64_t *rows = leat_shape_dims(&a->shape), *columns = leat_shape_dims(&b->shape);
  product_job_t j = {.a = a,
                     .m = rows[own->transposed_a],
                     .k = rows[!own->transposed_a],
                     .n = columns[!own->transposed_b],
                     .row_step = own->transposed_a ? 1 : rows[1],
                     .depth_step = own->transposed_a ? rows[1] : 1};
  leat_shape_t shape;
  leat_tensor_t* product;
  if (columns[own->transposed_b] != j.k) {
    return leat_kernel_invalid(c, "Matrix size-incompatible: a is %s, b is %s, inner sizes must be "
                               "equal", LEAT_SHAPE_TEXT(&a->shape), LEAT_SHAPE_TEXT(&b->shape));
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (const int64_t[]){j.m, j.n}, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &product));
  if (product->shape.element_count == 0) return leat_ok_status();
  j.product = leat_tensor_data(product, float);
  return multiply(c, &j, b, own->transposed_b);
}

const leat_kernel_row_t leat_sparse_matmul_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SparseMatMul", "Ta: float, bfloat16; Tb: float, bfloat16", sparse_matmul_t,
                    create, sparse_matmul__cpu),
    LEAT_KERNEL_ROWS_END,
};
