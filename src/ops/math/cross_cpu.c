// The CPU kernel of Cross: out = a x b for each vector of three numbers.
//
//   out[0] = a1 b2 - a2 b1,  out[1] = a2 b0 - a0 b2,  out[2] = a0 b1 - a1 b0
//
// One loop per type goes over dense vectors; the last dimension must be 3, which the kernel checks
// because the shape function may not know it. Shards are ranges of vectors. Each product is rounded
// to the type before the difference is taken: for half and bfloat16 that is TensorFlow's result,
// and a fused multiply-add would give another.
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/math/loops_cpu.h"

typedef void (*cross_loop_t)(const void* left, const void* right, void* product, int64_t count);

// How a number is read from memory and written back. Integers are computed as unsigned and wrap;
// halves are computed as float and rounded after each operation.
#define READ_PLAIN(wide, x) ((wide)(x))
#define WRITE_PLAIN(type, x) ((type)(x))
#define READ_HALF(wide, x) leat_half_to_float(x)
#define WRITE_HALF(type, x) leat_half_from_float(x)
#define READ_BFLOAT16(wide, x) leat_bfloat16_to_float(x)
#define WRITE_BFLOAT16(type, x) leat_bfloat16_from_float(x)

#define CROSS(suffix, DTYPE, type, wide, form)                                               \
  static inline wide multiply_##suffix(type x, type y) {                                     \
    return READ_##form(wide, WRITE_##form(type, READ_##form(wide, x) * READ_##form(wide, y))); \
  }                                                                                          \
  static void cross_##suffix(const void* left, const void* right, void* product,             \
                             int64_t count) {                                                \
    const type *a = left, *b = right;                                                        \
    type* out = product;                                                                     \
    for (int64_t i = 0; i < count; ++i, a += 3, b += 3, out += 3) {                          \
      wide x = multiply_##suffix(a[1], b[2]) - multiply_##suffix(a[2], b[1]);                \
      wide y = multiply_##suffix(a[2], b[0]) - multiply_##suffix(a[0], b[2]);                \
      wide z = multiply_##suffix(a[0], b[1]) - multiply_##suffix(a[1], b[0]);                \
      out[0] = WRITE_##form(type, x);                                                        \
      out[1] = WRITE_##form(type, y);                                                        \
      out[2] = WRITE_##form(type, z);                                                        \
    }                                                                                        \
  }
LEAT_LOOP_INTEGERS(CROSS, PLAIN)
LEAT_LOOP_FLOATS(CROSS, PLAIN)
CROSS(f16, HALF, uint16_t, float, HALF)
CROSS(bf16, BFLOAT16, uint16_t, float, BFLOAT16)

static const cross_loop_t kLoops[LEAT_LOOP_TYPE_COUNT] = {
    LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, cross) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, cross)
    LEAT_LOOP_ENTRY(f16, HALF, , , cross) LEAT_LOOP_ENTRY(bf16, BFLOAT16, , , cross)
};

typedef struct cross_s {
  cross_loop_t loop;
  const char* left;
  const char* right;
  char* product;
  size_t bytes;  // bytes of one vector
} cross_t;

static void cross_shard(void* data, int64_t begin, int64_t end) {
  const cross_t* job = data;
  size_t at = (size_t)begin * job->bytes;
  job->loop(job->left + at, job->right + at, job->product + at, end - begin);
}

static leat_status_t cross__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* left = leat_kernel_input(c, 0);
  const leat_tensor_t* right = leat_kernel_input(c, 1);
  if (leat_shape_dim(&left->shape, left->shape.rank - 1) != 3) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "a has shape %s, must have a last dimension of 3",
                             LEAT_SHAPE_TEXT(&left->shape));
  }
  leat_tensor_t* output;
  // Each vector is read before it is written, so that the output may take either input's bytes.
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(c, 3, 0, &left->shape, &output));
  cross_t job = {.loop = kLoops[leat_loop_type(left->dtype)],
                 .left = left->data,
                 .right = right->data,
                 .product = output->data,
                 .bytes = 3 * leat_dtype_size(left->dtype)};
  leat_kernel_parallel_for(c, left->shape.element_count / 3, 3, cross_shard, &job);
  return leat_ok_status();
}

const leat_kernel_row_t leat_cross_kernels_cpu[] = {
    {.op = "Cross",
     .device_type = "CPU",
     .constraints = "T: float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
                    "uint32, uint64",
     .compute = cross__cpu},
    LEAT_KERNEL_ROWS_END,
};
