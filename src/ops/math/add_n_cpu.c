// The CPU kernel of AddN and AccumulateNV2: the sum of many tensors of one shape, added in the
// order of the inputs. Adding tensor by tensor would write and read the sum once per input; here
// each block of BLOCK elements is summed over all inputs while it is in the cache, so that each
// input is read once and the output written once.
//
//   for each block:  sum = x0 + x1, sum += x2, ...      x0 ... xn [shape] -> y [shape]
//
// The output may take the bytes of an input. That is safe for input 0, whose block is read first;
// when it is a later input (overwrites_late), the block is summed in working memory first and
// copied. half and bfloat16 are summed as float and rounded once. leat_add_n_run is shared with
// kernels whose terms are not whole tensors (leat_add_n_terms_t gives them piece by piece); a term
// that is all zero may be left out there, without changing a bit of the result. Variants (lists of
// tensors) are added by their own functions, one by one.
#include "ops/math/add_n_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"

#define BLOCK 1024
#define MAX_ELEMENT_BYTES 16

static _Alignas(64) const char zeros[BLOCK * MAX_ELEMENT_BYTES];

leat_status_t leat_add_n_create(leat_kernel_creation_t* c, void* state) {
  leat_add_n_t* add_n = state;
  int dtype = leat_dtype_base(c->kernel->output_types[0]);
  add_n->element_bytes = (int64_t)leat_dtype_size(dtype);
  add_n->is_bfloat16 = dtype == LEAT_DTYPE_BFLOAT16;
  add_n->is_half = dtype == LEAT_DTYPE_HALF || add_n->is_bfloat16;
  add_n->add = leat_binary_vector_loop(LEAT_BINARY_ADD,
                                       add_n->is_half ? LEAT_DTYPE_FLOAT : dtype);
  return leat_ok_status();
}

typedef struct block_s {
  // The sum, where it cannot be made in the output.
  _Alignas(64) char sum[BLOCK * MAX_ELEMENT_BYTES];
  _Alignas(64) char term[BLOCK * MAX_ELEMENT_BYTES];  // a term that must be put together
  float as_float[BLOCK];
} block_t;

// Sums elements [begin, begin + n). Returns where the sum is: in |work|, at the place of the only
// term, or NULL when all terms are zero. Terms that are zero are skipped, and zero is added once at
// the end instead: adding 0 changes nothing but -0 into 0, wherever it stands in the order.
static const void* add_block(const leat_add_n_t* add_n, const leat_add_n_terms_t* terms,
                             int64_t begin, int64_t n, block_t* block, void* work) {
  const leat_vector_math_t* m = leat_vector_math();
  const void* sum = NULL;
  bool any_zero = false;
  for (int i = 0; i < terms->count; ++i) {
    void* room = sum || add_n->is_half ? block->term : work;
    const void* term = terms->at(terms->data, i, begin, n, room);
    any_zero |= !term;
    if (!term) continue;
    if (add_n->is_half) {
      float* target = sum ? block->as_float : work;
      (add_n->is_bfloat16 ? m->bfloat16_to_float : m->half_to_float)(term, target, n);
      term = target;
    }
    if (sum) add_n->add((const void* const[]){sum, term}, work, n);
    sum = sum ? work : term;
  }
  if (!sum || !any_zero) return sum;
  add_n->add((const void* const[]){sum, zeros}, work, n);
  return work;
}

void leat_add_n_run(const leat_add_n_t* add_n, const leat_add_n_terms_t* terms, int64_t begin,
                    int64_t end, void* output) {
  const leat_vector_math_t* m = leat_vector_math();
  block_t block;
  for (int64_t at = begin; at < end; at += BLOCK) {
    const int64_t n = LEAT_MIN(end - at, BLOCK);
    const size_t bytes = (size_t)(n * add_n->element_bytes);
    char* target = (char*)output + at * add_n->element_bytes;
    char* work = add_n->is_half || terms->overwrites_late ? block.sum : target;
    const void* sum = add_block(add_n, terms, at, n, &block, work);
    if (!sum) {
      memset(target, 0, bytes);
    } else if (add_n->is_half) {
      (add_n->is_bfloat16 ? m->bfloat16_from_float : m->half_from_float)(sum, (uint16_t*)target, n);
    } else if (sum != target) {
      memcpy(target, sum, bytes);
    }
  }
}

typedef struct add_n_job_s {
  const leat_kernel_context_t* context;
  void* output;
  leat_add_n_terms_t terms;
} add_n_job_t;

// The terms of AddN: its inputs, read in place.
static const void* input_at(const void* data, int i, int64_t index, int64_t n, void* room) {
  const leat_kernel_context_t* c = data;
  const leat_add_n_t* add_n = leat_kernel_state(c);
  return (const char*)leat_kernel_input(c, i)->data + index * add_n->element_bytes;
}

static void add_n_shard(void* data, int64_t begin, int64_t end) {
  const add_n_job_t* job = data;
  leat_add_n_run(leat_kernel_state(job->context), &job->terms, begin, end, job->output);
}

static leat_status_t check_shapes(const leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    const leat_shape_t* other = &leat_kernel_input(c, i)->shape;
    if (LEAT_LIKELY((shape->rank | other->rank) == 0 || leat_shape_equal(shape, other))) continue;
    return leat_kernel_invalid(c, "input %d is %s, must have the shape of input 0, %s", i,
                               LEAT_SHAPE_TEXT(other), LEAT_SHAPE_TEXT(shape));
  }
  return leat_ok_status();
}

// true when the output took the bytes of an input after the first.
static bool is_late_input(const leat_kernel_context_t* c, const leat_tensor_t* output) {
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    if (leat_kernel_input(c, i)->data == output->data) return true;
  }
  return false;
}

// The fast path for float scalars, as in sums of losses: it calls no loop.
static leat_status_t add_float_scalars(leat_kernel_context_t* c, const leat_shape_t* shape) {
  float sum = *leat_tensor_data(leat_kernel_input(c, 0), const float);
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    sum += *leat_tensor_data(leat_kernel_input(c, i), const float);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  *leat_tensor_data(output, float) = sum;
  return leat_ok_status();
}

static leat_status_t add_n__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* first = leat_kernel_input(c, 0);
  int count = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(check_shapes(c));
  if (count == 1) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  if (first->shape.element_count == 1 && first->dtype == LEAT_DTYPE_FLOAT) {
    return add_float_scalars(c, &first->shape);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(c, UINT64_MAX, 0, &first->shape,
                                                           &output));
  add_n_job_t job = {
      .context = c,
      .output = output->data,
      .terms = {
          .count = count, .overwrites_late = is_late_input(c, output), .at = input_at, .data = c}};
  leat_kernel_parallel_for(c, first->shape.element_count, 0.15 * count, add_n_shard, &job);
  return leat_ok_status();
}

// ---- Variants -----------------------------------------------------------------------------------

// Adds |right| to |inout_sum|.
static leat_status_t add_variant(leat_kernel_context_t* c, leat_variant_t* inout_sum,
                                 const leat_variant_t* right) {
  if (!inout_sum->vtable || inout_sum->vtable != right->vtable || !inout_sum->vtable->add) {
    return leat_kernel_error(c, LEAT_INTERNAL,
                             "variants are %s and %s, must be of one kind that adds",
                             inout_sum->vtable ? inout_sum->vtable->type_name : "empty",
                             right->vtable ? right->vtable->type_name : "empty");
  }
  leat_variant_t sum = {0};
  LEAT_RETURN_IF_ERROR(inout_sum->vtable->add(inout_sum->self, right->self, &sum));
  inout_sum->vtable->release(inout_sum->self);
  *inout_sum = sum;
  return leat_ok_status();
}

static leat_status_t add_n_variant__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* first = leat_kernel_input(c, 0);
  LEAT_RETURN_IF_ERROR(check_shapes(c));
  if (leat_kernel_input_count(c) == 1) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &first->shape, &output));
  LEAT_RETURN_IF_ERROR(leat_object_copy(LEAT_DTYPE_VARIANT, first->data, output->data,
                                        first->shape.element_count));
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    const leat_tensor_t* term = leat_kernel_input(c, i);
    for (int64_t j = 0; j < term->shape.element_count; ++j) {
      LEAT_RETURN_IF_ERROR(add_variant(c, &leat_tensor_data(output, leat_variant_t)[j],
                                       &leat_tensor_data(term, leat_variant_t)[j]));
    }
  }
  return leat_ok_status();
}

#define ROW(name, types, how)                                                                  \
  {                                                                                            \
    .op = name, .device_type = "CPU", .constraints = "T: " types, .create = leat_add_n_create, \
    .state_bytes = sizeof(leat_add_n_t), .access = LEAT_ACCESS_##how,                          \
    .compute = add_n__cpu                                                                      \
  }
// half and bfloat16 are not fused into a larger sum (access OTHER), because they are rounded once,
// after the last addition.
#define ROWS(name)                                                                           \
  ROW(name, "half, bfloat16", OTHER),                                                        \
  ROW(name, "float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "      \
            "complex64, complex128", SUM)

const leat_kernel_row_t leat_add_n_kernels_cpu[] = {
    ROWS("AddN"),
    ROWS("AccumulateNV2"),
    {.op = "AddN",
     .device_type = "CPU",
     .constraints = "T: variant",
     .compute = add_n_variant__cpu},
    LEAT_KERNEL_ROWS_END,
};
