// The CPU kernels of sums of products that a loop carries from iteration to iteration. The gradient
// of a weight that every iteration of a while loop uses is such a sum: sum += A_t^T B_t, with small
// k and a large result [m, n]. Reading and writing the sum in each iteration costs more than the
// product. The variant here therefore keeps the rows of A and B, and multiplies them all at once
// when enough are pending:
//
//   iteration 1: a [k, m], b [k, n]   iteration 2   ...   ─▶   value += [a; a; ...]^T [b; b; ...]
//
// One product of depth t k reads and writes the sum once instead of t times. The invariant of a
// product_sum_t is: the sum = value + (the first |count| rows of rows[0])^T (those of rows[1]). The
// variant is counted: its only holder changes it in place, any other holder copies it first. A
// kernel runs on one thread at a time per sum, so that only the reference count is atomic. The
// optimizer makes these nodes (pass "defer"); the sums never leave the process.
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/matmul_cpu.h"

// At most so many rows are pending, and they take no more than twice the memory of the sum.
#define MOST_ROWS 512

typedef struct product_sum_s {
  leat_reference_count_t references;
  leat_tensor_t value;
  // The pending rows of A and B, [room, m] and [room, n]; no tensor before the first ones.
  leat_tensor_t rows[2];
  int64_t count;          // the number of pending rows
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

// Makes a sum of |value|, which is moved even when that fails.
static leat_status_t create_sum(leat_tensor_t* value, product_sum_t** out_sum) {
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, out_sum);
  if (status) {
    leat_tensor_release(value);
    return status;
  }
  (*out_sum)->references = 1;
  (*out_sum)->value = leat_tensor_move(value);
  return leat_ok_status();
}

// Puts |sum| into the variant |output| and releases the variant's former value.
static void set_sum(leat_tensor_t* output, product_sum_t* sum) {
  leat_variant_t* place = leat_tensor_data(output, leat_variant_t);
  const leat_variant_t former = *place;
  *place = (leat_variant_t){&kVtable, sum};
  if (former.vtable) former.vtable->release(former.self);
}

// The sum in input |input|, of numbers of type |dtype|; INVALID_ARGUMENT when that is another kind
// of variant, or a sum of others.
static leat_status_t find_sum(const leat_kernel_context_t* c, int input, int dtype,
                              product_sum_t** out_sum) {
  const leat_tensor_t* tensor = leat_kernel_input(c, input);
  const leat_variant_t* variant = tensor->data;
  if (tensor->shape.rank != 0 || variant->vtable != &kVtable) {
    return leat_kernel_invalid(c, "Input %d must be a sum of products", input);
  }
  *out_sum = variant->self;
  const int found = (*out_sum)->value.dtype;
  if (found == dtype) return leat_ok_status();
  return leat_kernel_invalid(c, "Input %d is a sum of %s, must be one of %s", input,
                             leat_dtype_name(found), leat_dtype_name(dtype));
}

// ---- Pending products ---------------------------------------------------------------------------

static int64_t dim(const leat_tensor_t* matrix, int index) {
  return leat_shape_dim(&matrix->shape, index);
}

// |out_value|, which may be the sum's own tensor, becomes value + A^T B of the pending rows.
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

// Adds the pending rows to the value. Where somebody else reads the value's memory, the result goes
// to new memory.
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

// Makes output 0 a sum that this kernel may change: input 2 itself if this node is its last holder,
// otherwise a copy of its value without pending rows.
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

// The number of rows of such products that may be pending; 0: the product is computed at once,
// because its rows are not dense in memory, or it is so deep that reading the sum does not count.
static int64_t find_room(const leat_matmul_t* matmul, const leat_gemm_shape_t* product) {
  if (matmul->op_a == LEAT_GEMM_PLAIN || matmul->op_b != LEAT_GEMM_PLAIN) return 0;
  if (product->m == 0 || product->n == 0) return 0;
  const int64_t fair = 2 * product->m * product->n / (product->m + product->n);
  const int64_t room = LEAT_MIN(fair, MOST_ROWS);
  return 2 * product->k <= room ? room : 0;
}

// Appends the rows of inputs 0 and 1 to the pending ones, multiplying those first when they fill
// the room.
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

// Adds a product to the sum without waiting. A product of another shape broadcasts with the sum, as
// AddV2 would, and the sum takes the new shape.
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
  leat_tensor_release(&sum->rows[0]);  // their size does not fit the new shape
  leat_tensor_release(&sum->rows[1]);
  sum->value = value;
  return leat_ok_status();
}

// ---- Kernels ------------------------------------------------------------------------------------

// Makes a sum that begins with input 0.
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

// Adds the product of inputs 0 and 1 to the sum in input 2.
static leat_status_t add__cpu(leat_kernel_context_t* c) {
  const leat_matmul_t* matmul = leat_kernel_state(c);
  leat_gemm_shape_t product;
  leat_shape_t shape;
  product_sum_t* sum;
  LEAT_RETURN_IF_ERROR(leat_matmul_find(c, matmul, &product));
  LEAT_RETURN_IF_ERROR(find_sum(c, 2, matmul->dtype, &sum));
  const int64_t dims[] = {product.m, product.n};
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  product.ldd = product.n;
  LEAT_RETURN_IF_ERROR(change_sum(c, &sum));
  const int64_t room = find_room(matmul, &product);
  if (room && leat_shape_equal(&shape, &sum->value.shape)) return keep_rows(c, sum, room);
  return add_at_once(c, sum, &product, &shape);
}

// Gives the value of a sum. Its memory is handed over when nobody else holds the sum; otherwise the
// value is shared, or computed into new memory when rows are pending.
static leat_status_t finish__cpu(leat_kernel_context_t* c) {
  product_sum_t* sum;
  LEAT_RETURN_IF_ERROR(find_sum(c, 0, c->kernel->output_types[0], &sum));
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

const leat_kernel_row_t leat_product_sum_kernels_cpu[] = {
    {.op = "_ProductSum",
     .device_type = "CPU",
     .constraints = "From: float, double; To: variant",
     .compute = start__cpu},
    {.op = "_ProductSum",
     .device_type = "CPU",
     .constraints = "From: variant; To: float, double",
     .compute = finish__cpu},
    LEAT_CPU_KERNEL("_AddToProductSum", "T: float, double", leat_matmul_t, leat_matmul_create,
                    add__cpu),
    LEAT_KERNEL_ROWS_END,
};
