// The CPU kernels of the matrix products: MatMul, _MatMulAdd (a product added to a tensor,
// whose rows may be multiplied first) and the BatchMatMul ops. The products
// themselves are gemm.h's; this file finds sizes, allocates, and decides how the pool is used.
//
//   a [m, k] (or [k, m] transposed), b [k, n] (or [n, k]) -> product [m, n]
//   batches: a [..., m, k], b [..., k, n] -> [..., m, n], the outer dimensions broadcast from V2 on
//
// A single product is given to the pool as a whole, because gemm cuts it better than rows of this
// file would; of a batch of small products each thread takes some. A long product is
// computed in blocks of rows between which the step's cancellation is looked at. A fused sum writes
// its addend once: gemm computes D = A B + C, where C may be the output itself, so that _MatMulAdd
// costs no pass of its own.
#include <string.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/array/row_scale_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/math/broadcast_plan_cpu.h"
#include "ops/matrix/matmul_cpu.h"
#include "ops/matrix/product_cpu.h"

static leat_status_t create(leat_kernel_creation_t* c, leat_matmul_t* matmul, const char* flag_a,
                            // The op of a factor whose flag is set.
                            const char* flag_b, const char* type, leat_gemm_op_t transposed) {
  bool transposed_a, transposed_b;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, flag_a, &transposed_a));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, flag_b, &transposed_b));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, type, &matmul->dtype));
  matmul->op_a = transposed_a ? transposed : LEAT_GEMM_PLAIN;
  matmul->op_b = transposed_b ? transposed : LEAT_GEMM_PLAIN;
  return leat_ok_status();
}

leat_status_t leat_matmul_create(leat_kernel_creation_t* c, void* state) {
  return create(c, state, "transpose_a", "transpose_b", "T", LEAT_GEMM_TRANSPOSE);
}
static leat_status_t create_batch_matmul(leat_kernel_creation_t* c, void* state) {
  return create(c, state, "adj_x", "adj_y", "T", LEAT_GEMM_ADJOINT);
}
leat_status_t leat_matmul_create_batch(leat_kernel_creation_t* c, void* state) {
  ((leat_matmul_t*)state)->broadcasts = true;
  return create(c, state, "adj_x", "adj_y", "T", LEAT_GEMM_ADJOINT);
}
static leat_status_t create_batch_matmul_v3(leat_kernel_creation_t* c, void* state) {
  ((leat_matmul_t*)state)->broadcasts = true;
  return create(c, state, "adj_x", "adj_y", "Tout", LEAT_GEMM_ADJOINT);
}

// Finds the sizes of the product of the last two dimensions of |a| and |b|; INVALID_ARGUMENT when
// their inner sizes differ.
static leat_status_t find_product(const leat_kernel_context_t* c, const leat_matmul_t* matmul,
                                  const leat_shape_t* a, const leat_shape_t* b,
                                  leat_gemm_shape_t* out_shape) {
  const int64_t* a_dims = leat_shape_dims(a) + a->rank - 2;
  const int64_t* b_dims = leat_shape_dims(b) + b->rank - 2;
  const int transposed_a = matmul->op_a != LEAT_GEMM_PLAIN;
  const int transposed_b = matmul->op_b != LEAT_GEMM_PLAIN;
  const int64_t depth = a_dims[!transposed_a];
  if (LEAT_UNLIKELY(depth != b_dims[transposed_b])) {
    return leat_kernel_invalid(c, "Matrix size-incompatible: In[0]: %s, In[1]: %s, inner sizes "
                               "must be equal", LEAT_SHAPE_TEXT(a), LEAT_SHAPE_TEXT(b));
  }
  *out_shape = (leat_gemm_shape_t){.op_a = matmul->op_a,
                                   .op_b = matmul->op_b,
                                   .m = a_dims[transposed_a],
                                   .n = b_dims[!transposed_b],
                                   .k = depth,
                                   .lda = a_dims[1],
                                   .ldb = b_dims[1],
                                   .ldc = b_dims[!transposed_b]};
  return leat_ok_status();
}

leat_status_t leat_matmul_find(const leat_kernel_context_t* c, const leat_matmul_t* matmul,
                               leat_gemm_shape_t* out_product) {
  return find_product(c, matmul, &leat_kernel_input(c, 0)->shape, &leat_kernel_input(c, 1)->shape,
                      out_product);
}

static leat_status_t matmul__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* a = leat_kernel_input(c, 0);
  const leat_tensor_t* b = leat_kernel_input(c, 1);
  const leat_matmul_t* matmul = leat_kernel_state(c);
  leat_gemm_shape_t product;
  LEAT_RETURN_IF_ERROR(leat_matmul_find(c, matmul, &product));
  leat_shape_t shape;
  const int64_t dims[] = {product.m, product.n};
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  leat_product_run(c, leat_multiply_of(matmul->dtype, c->services->deterministic), &product,
                   leat_dtype_size(matmul->dtype), a->data, b->data, output->data);
  return leat_ok_status();
}

// ---- Products added to a tensor -----------------------------------------------------------------

// sum = a b + addend with the gemm of |dtype|; a deterministic step uses the portable kernel, whose
// bits do not depend on the machine.
static void add_block(const leat_kernel_context_t* c, int dtype, const leat_gemm_shape_t* product,
                      const void* a, const void* b, const void* addend, void* sum) {
  leat_thread_pool_t* pool = c->services->pool;
  if (dtype == LEAT_DTYPE_DOUBLE) {
    leat_gemm_f64(product, a, b, addend, sum, NULL, pool);
  } else if (c->services->deterministic) {
    leat_gemm_f32_portable(product, a, b, addend, sum, NULL, pool);
  } else {
    leat_gemm_f32(product, a, b, addend, sum, NULL, pool);
  }
}

// Computes sum = a b + addend in blocks of rows, as leat_product_run does without an addend. When
// |sum| is its own addend it may belong to a value that outlives the step (_AddToProductSum), which
// must not be left half added: then there is one block and no look at cancellation.
static void add_product(const leat_kernel_context_t* c, int dtype,
                        const leat_gemm_shape_t* product, const void* a, const void* b,
                        const void* addend, void* sum) {
  const size_t item_bytes = leat_dtype_size(dtype);
  const int64_t rows = addend == sum ? product->m : leat_product_block_rows(product);
  for (int64_t begin = 0; begin < product->m; begin += rows) {
    size_t a_bytes;
    leat_gemm_shape_t block = leat_product_block(product, begin, rows, item_bytes, &a_bytes);
    if (begin > 0 && leat_step_is_over(c->services, true)) return;
    const char* to_add = addend;
    if (addend) to_add += (size_t)(begin * product->ldd) * item_bytes;
    add_block(c, dtype, &block, (const char*)a + a_bytes, b, to_add,
              (char*)sum + (size_t)(begin * product->ldc) * item_bytes);
  }
}

void leat_matmul_add(const leat_kernel_context_t* c, const leat_gemm_shape_t* product,
                     const void* a, const void* b, const void* addend, leat_tensor_t* sum) {
  add_product(c, sum->dtype, product, a, b, addend, sum->data);
}

// Adds |x| and |y|, each repeated to the shape of |sum|, which must not be empty. Within an
// innermost row of the plan each operand has one stride, so that no element is found by division.
static void add_broadcast(const leat_tensor_t* x, const leat_tensor_t* y, leat_tensor_t* sum) {
  const leat_shape_t* shapes[] = {&x->shape, &y->shape};
  leat_broadcast_t plan;
  leat_broadcast_place_t place;
  leat_broadcast_plan(shapes, 2, &sum->shape, &plan);
  leat_broadcast_seek(&plan, 0, &place);
  const int inner = plan.rank - 1;
  const int64_t row = plan.dims[inner];
  const int64_t x_stride = plan.strides[0][inner], y_stride = plan.strides[1][inner];
  for (int64_t begin = 0; begin < sum->shape.element_count; begin += row) {
    if (sum->dtype == LEAT_DTYPE_DOUBLE) {
      const double* from_x = leat_tensor_data(x, const double) + place.offsets[0];
      const double* from_y = leat_tensor_data(y, const double) + place.offsets[1];
      double* to = leat_tensor_data(sum, double) + begin;
      for (int64_t i = 0; i < row; ++i) to[i] = from_x[i * x_stride] + from_y[i * y_stride];
    } else {
      const float* from_x = leat_tensor_data(x, const float) + place.offsets[0];
      const float* from_y = leat_tensor_data(y, const float) + place.offsets[1];
      float* to = leat_tensor_data(sum, float) + begin;
      for (int64_t i = 0; i < row; ++i) to[i] = from_x[i * x_stride] + from_y[i * y_stride];
    }
    leat_broadcast_advance(&plan, row, &place);
  }
}

// true when a tensor of |shape| is one row that is added to every row of the product.
static bool is_row_of(const leat_shape_t* shape, const leat_gemm_shape_t* product) {
  return (shape->rank == 1 || (shape->rank == 2 && leat_shape_dim(shape, 0) == 1)) &&
         leat_shape_dim(shape, shape->rank - 1) == product->n;
}

// Such sums are rare: the optimizer fuses a sum that broadcasts both ways only where shapes were
// unknown.
leat_status_t leat_matmul_add_repeated(leat_kernel_context_t* c, const leat_gemm_shape_t* product,
                                       const leat_shape_t* shape, const leat_tensor_t* y,
                                       leat_tensor_t* out_sum) {
  leat_shape_t sum_shape;
  leat_tensor_t x;
  leat_status_t status = leat_shape_broadcast(shape, &y->shape, &sum_shape);
  if (status) {
    leat_status_free(status);
    return leat_kernel_invalid(c, "Incompatible shapes: %s vs. %s", LEAT_SHAPE_TEXT(shape),
                               LEAT_SHAPE_TEXT(&y->shape));
  }
  status = leat_kernel_allocate_temporary(c, y->dtype, &sum_shape, out_sum);
  leat_shape_release(&sum_shape);
  LEAT_RETURN_IF_ERROR(status);
  if (out_sum->shape.element_count == 0) return leat_ok_status();
  status = leat_kernel_allocate_temporary(c, y->dtype, shape, &x);
  if (status) {
    leat_tensor_release(out_sum);
    return status;
  }
  leat_matmul_add(c, product, leat_kernel_input(c, 0)->data, leat_kernel_input(c, 1)->data, NULL,
                  &x);
  add_broadcast(&x, y, out_sum);
  leat_tensor_release(&x);
  return leat_ok_status();
}

// Sets output 0 to the product, of |shape|, plus |y|, which is input 2 or a scaled copy of it.
static leat_status_t add_to(leat_kernel_context_t* c, leat_gemm_shape_t product,
                            const leat_shape_t* shape, const leat_tensor_t* y) {
  leat_tensor_t repeated, *sum;
  const bool is_row = is_row_of(&y->shape, &product);
  if (!is_row && !leat_shape_equal(shape, &y->shape)) {
    LEAT_RETURN_IF_ERROR(leat_matmul_add_repeated(c, &product, shape, y, &repeated));
    leat_kernel_set_output(c, 0, repeated);
    return leat_ok_status();
  }
  const void* addend = y->data;
  product.ldd = is_row ? 0 : product.n;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 2, 0, shape, &sum));
  if (sum->shape.element_count == 0) return leat_ok_status();
  leat_matmul_add(c, &product, leat_kernel_input(c, 0)->data, leat_kernel_input(c, 1)->data,
                  addend, sum);
  return leat_ok_status();
}

// One factor multiplies the addend, or there is none.
static leat_status_t create_sum(leat_kernel_creation_t* c, void* state) {
  int64_t factors;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "N", &factors));
  if (factors > 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute N is %lld, must be 0 or 1",
                            (long long)factors);
  }
  return leat_matmul_create(c, state);
}

static leat_status_t find_sum(leat_kernel_context_t* c, leat_gemm_shape_t* out_product,
                              leat_shape_t* out_shape) {
  LEAT_RETURN_IF_ERROR(leat_matmul_find(c, leat_kernel_state(c), out_product));
  return leat_shape_create(2, (const int64_t[]){out_product->m, out_product->n}, out_shape);
}

// ---- Products added to rows that are multiplied first -------------------------------------------

// A block of rows of the addend is written, scaled, to its place in the sum, and the product is
// added to it while it is still in the second-level cache. The size of a block in bytes is limited
// for that reason; it has at least BLOCK_ROWS rows all the same, since gemm packs B again for each
// block.
#define BLOCK_BYTES (512 * 1024)
#define BLOCK_ROWS 256

typedef struct scaled_sum_s {
  leat_row_scale_t scale;
  leat_gemm_shape_t product;
  size_t item_bytes;
  char* sum;
} scaled_sum_t;

// Writes rows [begin, end) of the addend, scaled, to the sum.
static void lay_rows(void* data, int64_t begin, int64_t end) {
  const scaled_sum_t* s = data;
  const int64_t n = s->product.n;
  leat_row_scale_apply(&s->scale, LEAT_ROW_SCALE_LAY, begin * n, (end - begin) * n,
                       s->sum + (size_t)(begin * n) * s->item_bytes);
}

// Adds rows [begin, end) of the product to the sum.
static void add_to_rows(const leat_kernel_context_t* c, const scaled_sum_t* s, int64_t begin,
                        int64_t end) {
  leat_gemm_shape_t product = s->product;
  const int64_t from = product.op_a == LEAT_GEMM_PLAIN ? begin * product.lda : begin;
  const char* a = leat_tensor_data(leat_kernel_input(c, 0), const char);
  char* rows = s->sum + (size_t)(begin * product.n) * s->item_bytes;
  product.m = end - begin;
  product.ldd = product.n;
  add_product(c, s->scale.dtype, &product, a + (size_t)from * s->item_bytes,
              leat_kernel_input(c, 1)->data, rows, rows);
}

// The number of blocks, 1 with several threads: gemm then needs all rows to share. Cutting rows may
// change the last bits of the product, so that a deterministic step, whose bits must not depend on
// the number of threads, has one block always.
static int64_t count_blocks(const leat_kernel_context_t* c, const scaled_sum_t* s) {
  leat_thread_pool_t* pool = c->services->pool;
  if (c->services->deterministic || (pool && leat_thread_pool_size(pool) > 1)) return 1;
  const int64_t fitting = BLOCK_BYTES / (s->product.n * (int64_t)s->item_bytes);
  const int64_t rows = LEAT_MAX(fitting, BLOCK_ROWS);
  return (s->product.m + rows - 1) / rows;
}

static void add_to_scaled(const leat_kernel_context_t* c, scaled_sum_t* s) {
  const int64_t m = s->product.m, blocks = count_blocks(c, s);
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t begin = m * i / blocks, end = m * (i + 1) / blocks;
    if (blocks == 1) {
      leat_kernel_parallel_for(c, m, (double)s->product.n * 0.1, lay_rows, s);
    } else {
      lay_rows(s, begin, end);
    }
    add_to_rows(c, s, begin, end);
  }
}

// Handles an addend whose shape is not the product's (a row, say): it is scaled into a temporary.
static leat_status_t add_to_product(leat_kernel_context_t* c, const leat_gemm_shape_t* product,
                                    const leat_shape_t* shape, const leat_row_scale_t* scale) {
  leat_tensor_t y;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, scale->dtype, &leat_kernel_input(c, 2)->shape, &y));
  leat_row_scale_apply(scale, LEAT_ROW_SCALE_LAY, 0, y.shape.element_count, y.data);
  leat_status_t status = add_to(c, *product, shape, &y);
  leat_tensor_release(&y);
  return status;
}

static leat_status_t matmul_add__cpu(leat_kernel_context_t* c) {
  scaled_sum_t s;
  leat_shape_t shape;
  leat_tensor_t* sum;
  LEAT_RETURN_IF_ERROR(find_sum(c, &s.product, &shape));
  if (leat_kernel_input_count(c) == 3) return add_to(c, s.product, &shape, leat_kernel_input(c, 2));
  LEAT_RETURN_IF_ERROR(leat_row_scale_open(c, 2, 3, &s.scale));
  if (!leat_shape_equal(&shape, &leat_kernel_input(c, 2)->shape)) {
    return add_to_product(c, &s.product, &shape, &s.scale);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 2, 0, &shape, &sum));
  if (sum->shape.element_count == 0) return leat_ok_status();
  s.item_bytes = leat_dtype_size(s.scale.dtype);
  s.sum = sum->data;
  add_to_scaled(c, &s);
  return leat_ok_status();
}

// ---- Batches ------------------------------------------------------------------------------------

// The place of the matrix of input |k| that the output's matrix |index| is made from.
static const char* find_matrix(const leat_matmul_batch_t* batch, int k, int64_t index) {
  const leat_shape_t* shape = batch->shapes[k];
  const int64_t* dims = leat_shape_dims(shape);
  const int64_t* output = leat_shape_dims(batch->output);
  int64_t offset = 0, stride = 1;
  int d = batch->output->rank - 3;
  for (int own = shape->rank - 3; own >= 0; --own, --d) {
    if (dims[own] != 1) offset += index % output[d] * stride;
    stride *= dims[own];
    index /= output[d];
  }
  return batch->data[k] + offset * batch->matrix_bytes[k];
}

static void run_products(void* data, int64_t begin, int64_t end) {
  const leat_matmul_batch_t* batch = data;
  const leat_gemm_shape_t* p = &batch->product;
  for (int64_t i = begin; i < end; ++i) {
    const char *a = find_matrix(batch, 0, i), *b = find_matrix(batch, 1, i);
    char* result = batch->result + i * batch->result_bytes;
    batch->multiply(p, a, b, result, NULL);
    if (batch->step) batch->step->apply(batch->step->data, result, i * p->m, p->m, false);
  }
}

void leat_matmul_run_batch(const leat_kernel_context_t* c, leat_matmul_batch_t* batch,
                           const leat_row_step_t* step) {
  const leat_gemm_shape_t* p = &batch->product;
  const double product_ns = leat_product_ns(p);
  batch->step = step;
  // Large products are run one after the other, each on the whole pool, small ones each on one
  // thread.
  if (batch->count > 1 && product_ns <= LEAT_PRODUCT_WHOLE_POOL_NS) {
    leat_kernel_parallel_for(c, batch->count, product_ns, run_products, batch);
    return;
  }
  for (int64_t i = 0; i < batch->count && !leat_step_is_over(c->services, i > 0); ++i) {
    leat_product_run_step(c, batch->multiply, p, batch->item_bytes, find_matrix(batch, 0, i),
                          find_matrix(batch, 1, i), batch->result + i * batch->result_bytes, step,
                          i * p->m);
  }
}

static bool batches_fit(const leat_shape_t* a, const leat_shape_t* b, bool broadcasts) {
  if (!broadcasts && a->rank != b->rank) return false;
  const int rank = a->rank < b->rank ? a->rank : b->rank;
  for (int d = 3; d <= rank; ++d) {
    const int64_t x = leat_shape_dim(a, a->rank - d), y = leat_shape_dim(b, b->rank - d);
    if (x != y && !(broadcasts && (x == 1 || y == 1))) return false;
  }
  return true;
}

static leat_status_t make_batch_shape(const leat_shape_t* a, const leat_shape_t* b, int64_t rows,
                                      int64_t columns, leat_shape_t* out_shape) {
  const int rank = a->rank > b->rank ? a->rank : b->rank;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 3; d <= rank; ++d) {
    const int64_t x = d <= a->rank ? leat_shape_dim(a, a->rank - d) : 1;
    const int64_t y = d <= b->rank ? leat_shape_dim(b, b->rank - d) : 1;
    dims[rank - d] = x == 1 ? y : x;
  }
  dims[rank - 2] = rows;
  dims[rank - 1] = columns;
  return leat_shape_create(rank, dims, out_shape);
}

leat_status_t leat_matmul_begin_batch(leat_kernel_context_t* c, const leat_matmul_t* matmul,
                                      const leat_tensor_t* a, const leat_tensor_t* b,
                                      leat_matmul_batch_t* out_batch, leat_tensor_t** out_output) {
  if (!batches_fit(&a->shape, &b->shape, matmul->broadcasts)) {
    return leat_kernel_invalid(c, "In[0] and In[1] must have compatible batch dimensions: they are "
                               "%s and %s", LEAT_SHAPE_TEXT(&a->shape), LEAT_SHAPE_TEXT(&b->shape));
  }
  const size_t item_bytes = leat_dtype_size(matmul->dtype);
  leat_matmul_batch_t* batch = out_batch;
  *batch = (leat_matmul_batch_t){
      .multiply = leat_multiply_of(matmul->dtype, c->services->deterministic),
      .item_bytes = item_bytes,
      .shapes = {&a->shape, &b->shape},
      .data = {a->data, b->data}};
  LEAT_RETURN_IF_ERROR(find_product(c, matmul, &a->shape, &b->shape, &batch->product));
  leat_shape_t shape;
  leat_tensor_t* output;
  const leat_gemm_shape_t* p = &batch->product;
  LEAT_RETURN_IF_ERROR(make_batch_shape(&a->shape, &b->shape, p->m, p->n, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  LEAT_RETURN_IF_ERROR(status);
  *out_output = output;
  if (output->shape.element_count == 0) return leat_ok_status();
  batch->count = output->shape.element_count / (p->m * p->n);
  batch->output = &output->shape;
  batch->matrix_bytes[0] = p->m * p->k * (int64_t)item_bytes;
  batch->matrix_bytes[1] = p->k * p->n * (int64_t)item_bytes;
  batch->result = output->data;
  batch->result_bytes = p->m * p->n * (int64_t)item_bytes;
  return leat_ok_status();
}

static leat_status_t run_batch_matmul(leat_kernel_context_t* c, const leat_tensor_t* a,
                                      const leat_tensor_t* b) {
  leat_matmul_batch_t batch;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_matmul_begin_batch(c, leat_kernel_state(c), a, b, &batch, &output));
  leat_matmul_run_batch(c, &batch, NULL);
  return leat_ok_status();
}

static leat_status_t batch_matmul__cpu(leat_kernel_context_t* c) {
  return run_batch_matmul(c, leat_kernel_input(c, 0), leat_kernel_input(c, 1));
}

// ---- Factors of a type that is not the product's ------------------------------------------------

// Converts int8 or uint8 to int32 or bfloat16.
static void convert(const leat_tensor_t* from, leat_tensor_t* to) {
  const int8_t* s8 = leat_tensor_data(from, const int8_t);
  const uint8_t* u8 = leat_tensor_data(from, const uint8_t);
  const bool is_signed = from->dtype == LEAT_DTYPE_INT8;
  for (int64_t i = 0; i < from->shape.element_count; ++i) {
    const int32_t value = is_signed ? s8[i] : u8[i];
    if (to->dtype == LEAT_DTYPE_INT32) {
      leat_tensor_data(to, int32_t)[i] = value;
    } else {
      leat_tensor_data(to, uint16_t)[i] = leat_bfloat16_from_float((float)value);
    }
  }
}

// Input |index| in the product's type: shared, or converted into a temporary.
static leat_status_t convert_input(leat_kernel_context_t* c, int index, leat_tensor_t* out_tensor) {
  const leat_matmul_t* matmul = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, index);
  if (input->dtype == matmul->dtype) {
    *out_tensor = leat_tensor_share(input);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, matmul->dtype, &input->shape, out_tensor));
  convert(input, out_tensor);
  return leat_ok_status();
}

static leat_status_t converting_matmul__cpu(leat_kernel_context_t* c) {
  leat_tensor_t a, b;
  LEAT_RETURN_IF_ERROR(convert_input(c, 0, &a));
  leat_status_t status = convert_input(c, 1, &b);
  if (!status) {
    status = run_batch_matmul(c, &a, &b);
    leat_tensor_release(&b);
  }
  leat_tensor_release(&a);
  return status;
}

#define ROW(name, types, create_fn, compute_fn)                                         \
  LEAT_CPU_KERNEL(name, types, leat_matmul_t, create_fn, compute_fn, .expensive = true)
#define TYPES "T: bfloat16, half, float, double, int16, int32, int64, complex64, complex128"
#define SAME(type)                                                                       \
  ROW("BatchMatMulV3", "Ta: " type "; Tb: " type "; Tout: " type, create_batch_matmul_v3, \
      batch_matmul__cpu)
#define MIXED(a, b, output)                                                              \
  ROW("BatchMatMulV3", "Ta: " a "; Tb: " b "; Tout: " output, create_batch_matmul_v3,     \
      converting_matmul__cpu)

const leat_kernel_row_t leat_matmul_kernels_cpu[] = {
    LEAT_CPU_KERNEL("MatMul", TYPES, leat_matmul_t, leat_matmul_create, matmul__cpu,
                    .expensive = true, .access = LEAT_ACCESS_CONTRACTION),
    ROW("_MatMulAdd", "T: " LEAT_ROW_SCALE_TYPES, create_sum, matmul_add__cpu),
    ROW("BatchMatMul", TYPES, create_batch_matmul, batch_matmul__cpu),
    ROW("BatchMatMulV2", TYPES, leat_matmul_create_batch, batch_matmul__cpu),
    SAME("bfloat16"),
    SAME("float"),
    SAME("double"),
    SAME("int16"),
    SAME("int32"),
    SAME("int64"),
    SAME("complex64"),
    SAME("complex128"),
    MIXED("int8, uint8", "int8, uint8", "int32"),
    MIXED("bfloat16", "int8, uint8", "bfloat16"),
    MIXED("int8, uint8", "bfloat16", "bfloat16"),
    LEAT_KERNEL_ROWS_END,
};
