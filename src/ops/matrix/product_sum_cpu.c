// A sum of products as a variant: the sum so far, and rows of A and B whose product is not in it
// yet. With A transposed, products of k rows each add up to one product of all the rows: as deep as
// it is, it reads and writes the sum once. Its only holder changes it in place, others copy it.
//
//   turn 1: a [k, m], b [k, n]   turn 2   turn 3 ...  ─▶  value += [a a a ...]^T [b b b ...]
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/matmul_cpu.h"

// So many rows wait at most, nor do they take more than twice the memory of the sum.
#define MOST_ROWS 512

typedef struct product_sum_s {
  leat_reference_count_t references;
  leat_tensor_t value;
  leat_tensor_t rows[2];  // of A and B, [room, m] and [room, n]; "no tensor" until there are some
  int64_t count;          // of the rows that wait
} product_sum_t;

// ---- Life ---------------------------------------------------------------------------------------

static void sum_retain(void* self) {
  leat_reference_count_retain(&((product_sum_t*)self)->references);
}

static void sum_release(void* self) {
  product_sum_t* sum = self;
  if (!leat_reference_count_release(&sum->references)) return;
  leat_tensor_release(&sum->value);
  leat_tensor_release(&sum->rows[0]);
  leat_tensor_release(&sum->rows[1]);
  leat_allocator_free(leat_allocator_system(), sum);
}

static leat_status_t sum_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                leat_tensor_t** out_tensors, size_t* out_tensor_count) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "A sum of products cannot leave its process");
}

static const leat_variant_vtable_t kVtable = {.type_name = "leat::ProductSum",
                                              .retain = sum_retain,
                                              .release = sum_release,
                                              .encode = sum_encode};

// |value| is moved, also on failure.
static leat_status_t create_sum(leat_tensor_t* value, product_sum_t** out_sum) {
  leat_status_t status =
      leat_allocator_allocate(leat_allocator_system(), sizeof **out_sum, (void**)out_sum);
  if (status) {
    leat_tensor_release(value);
    return status;
  }
  (*out_sum)->references = 1;
  (*out_sum)->value = leat_tensor_move(value);
  return leat_ok_status();
}

static void set_sum(leat_tensor_t* output, product_sum_t* sum) {
  leat_variant_t* place = leat_tensor_data(output, leat_variant_t);
  const leat_variant_t former = *place;
  *place = (leat_variant_t){&kVtable, sum};
  if (former.vtable) former.vtable->release(former.self);
}

static leat_status_t find_sum(const leat_kernel_context_t* c, int input, product_sum_t** out_sum) {
  const leat_tensor_t* tensor = leat_kernel_input(c, input);
  const leat_variant_t* variant = tensor->data;
  if (tensor->shape.rank != 0 || variant->vtable != &kVtable) {
    return leat_kernel_invalid(c, "Input %d must be a sum of products", input);
  }
  *out_sum = variant->self;
  return leat_ok_status();
}

// ---- The product that waits ---------------------------------------------------------------------

static int64_t dim(const leat_tensor_t* matrix, int index) {
  return leat_shape_dim(&matrix->shape, index);
}

// |out_value|, which may be the sum's own, becomes value + A^T B of the rows that wait.
static void find_value(const leat_kernel_context_t* c, const product_sum_t* sum,
                       leat_tensor_t* out_value) {
  if (sum->count == 0) {
    const size_t bytes = leat_tensor_size_bytes(&sum->value);
    if (bytes > 0 && out_value->data != sum->value.data) {
      memcpy(out_value->data, sum->value.data, bytes);
    }
    return;
  }
  leat_gemm_shape_t product = leat_gemm_shape_dense(
      LEAT_GEMM_TRANSPOSE, LEAT_GEMM_PLAIN, dim(&sum->value, 0), dim(&sum->value, 1), sum->count);
  leat_matmul_add(c, &product, sum->rows[0].data, sum->rows[1].data, sum->value.data, out_value);
}

// The value as it is after the rows that wait, in memory that nobody else reads.
static leat_status_t bring_up_to_date(leat_kernel_context_t* c, product_sum_t* sum) {
  leat_tensor_t value;
  if (!sum->value.buffer || leat_buffer_is_exclusive(sum->value.buffer)) {
    find_value(c, sum, &sum->value);
  } else {
    LEAT_RETURN_IF_ERROR(
        leat_kernel_allocate_temporary(c, sum->value.dtype, &sum->value.shape, &value));
    find_value(c, sum, &value);
    leat_tensor_release(&sum->value);
    sum->value = value;
  }
  sum->count = 0;
  return leat_ok_status();
}

// Output 0 becomes input 2, a sum that may be changed.
static leat_status_t change_sum(leat_kernel_context_t* c, product_sum_t** inout_sum) {
  const leat_tensor_t* input = leat_kernel_input(c, 2);
  const product_sum_t* sum = *inout_sum;
  leat_tensor_t *output, value;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 2, 0, &input->shape, &output));
  if (output->data == input->data && atomic_load(&sum->references) == 1) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, sum->value.dtype, &sum->value.shape, &value));
  find_value(c, sum, &value);
  LEAT_RETURN_IF_ERROR(create_sum(&value, inout_sum));
  set_sum(output, *inout_sum);
  return leat_ok_status();
}

// ---- Adding -------------------------------------------------------------------------------------

// How many rows of such a product may wait; 0: it is to be made at once, for rows of it lie apart
// or it is so deep that the sum's memory does not count.
static int64_t find_room(const leat_matmul_t* matmul, const leat_gemm_shape_t* product) {
  if (matmul->op_a == LEAT_GEMM_PLAIN || matmul->op_b != LEAT_GEMM_PLAIN) return 0;
  if (product->m == 0 || product->n == 0) return 0;
  const int64_t fair = 2 * product->m * product->n / (product->m + product->n);
  const int64_t room = LEAT_MIN(fair, MOST_ROWS);
  return 2 * product->k <= room ? room : 0;
}

static leat_status_t keep_rows(leat_kernel_context_t* c, product_sum_t* sum, int64_t room) {
  const int64_t rows = dim(leat_kernel_input(c, 0), 0);
  if (sum->count + rows > room) LEAT_RETURN_IF_ERROR(bring_up_to_date(c, sum));
  for (int side = 0; side < 2; ++side) {
    const leat_tensor_t* input = leat_kernel_input(c, side);
    leat_tensor_t* kept = &sum->rows[side];
    if (!kept->dtype) {
      leat_shape_t shape;
      const int64_t dims[] = {room, dim(input, 1)};
      LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
      LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, input->dtype, &shape, kept));
    }
    const size_t bytes = leat_tensor_size_bytes(input);
    const size_t row_bytes = leat_tensor_size_bytes(kept) / (size_t)room;
    memcpy((char*)kept->data + (size_t)sum->count * row_bytes, input->data, bytes);
  }
  sum->count += rows;
  return leat_ok_status();
}

static leat_status_t add_at_once(leat_kernel_context_t* c, product_sum_t* sum,
                                 const leat_gemm_shape_t* product, const leat_shape_t* shape) {
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(bring_up_to_date(c, sum));
  if (leat_shape_equal(shape, &sum->value.shape)) {
    if (shape->element_count == 0) return leat_ok_status();
    leat_matmul_add(c, product, leat_kernel_input(c, 0)->data, leat_kernel_input(c, 1)->data,
                    sum->value.data, &sum->value);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_matmul_add_repeated(c, product, shape, &sum->value, &value));
  leat_tensor_release(&sum->value);
  leat_tensor_release(&sum->rows[0]);  // of another size
  leat_tensor_release(&sum->rows[1]);
  sum->value = value;
  return leat_ok_status();
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t start__cpu(leat_kernel_context_t* c) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t value, *output;
  product_sum_t* sum;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_take_input(c, 0, &value));
  LEAT_RETURN_IF_ERROR(create_sum(&value, &sum));
  set_sum(output, sum);
  return leat_ok_status();
}

static leat_status_t add__cpu(leat_kernel_context_t* c) {
  const leat_matmul_t* matmul = leat_kernel_state(c);
  leat_gemm_shape_t product;
  leat_shape_t shape;
  product_sum_t* sum;
  LEAT_RETURN_IF_ERROR(leat_matmul_find(c, matmul, &product));
  LEAT_RETURN_IF_ERROR(find_sum(c, 2, &sum));
  const int64_t dims[] = {product.m, product.n};
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  product.ldd = product.n;
  LEAT_RETURN_IF_ERROR(change_sum(c, &sum));
  const int64_t room = find_room(matmul, &product);
  if (room && leat_shape_equal(&shape, &sum->value.shape)) return keep_rows(c, sum, room);
  return add_at_once(c, sum, &product, &shape);
}

static leat_status_t finish__cpu(leat_kernel_context_t* c) {
  product_sum_t* sum;
  LEAT_RETURN_IF_ERROR(find_sum(c, 0, &sum));
  const bool is_mine = c->last_readers & 1 && atomic_load(&sum->references) == 1 &&
                       leat_buffer_is_exclusive(leat_kernel_input(c, 0)->buffer);
  if (is_mine && sum->count > 0) LEAT_RETURN_IF_ERROR(bring_up_to_date(c, sum));
  if (sum->count == 0) {
    leat_kernel_set_output(
        c, 0, is_mine ? leat_tensor_move(&sum->value) : leat_tensor_share(&sum->value));
    return leat_ok_status();
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &sum->value.shape, &output));
  find_value(c, sum, output);
  return leat_ok_status();
}

#define FLOATS "T: float, double"

const leat_kernel_row_t leat_product_sum_kernels_cpu[] = {
    {.op = "_StartProductSum", .device_type = "CPU", .constraints = FLOATS, .compute = start__cpu},
    LEAT_CPU_KERNEL("_AddToProductSum", FLOATS, leat_matmul_t, leat_matmul_create, add__cpu),
    {.op = "_FinishProductSum",
     .device_type = "CPU",
     .constraints = FLOATS,
     .compute = finish__cpu},
    LEAT_KERNEL_ROWS_END,
};
