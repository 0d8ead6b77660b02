// CPU kernels of BiasAdd and BiasAddGrad. A tensor is seen as [outer, channels, inner]:
//
//   BiasAdd      y[o, c, i] = x[o, c, i] + bias[c]
//   BiasAddGrad  sums[c] = sum over o and i of dy[o, c, i]
//
// With the channels last (NHWC), inner is 1 and a row is |channels| elements long. Images with few
// channels would give loops of three or four elements, too short for vector instructions. Hence the
// bias is repeated into a pattern of up to 512 elements and many rows are added at once; sums treat
// several rows as one long row in the same way. With the channels second (NCHW) each channel has
// |inner| consecutive elements and one number is added to all of them.
//
// The rows of a sum are cut into blocks whose number follows from the sizes alone, never from the
// number of threads, and the sums of the blocks are added in order. So a result has the same bits
// whatever the number of threads.
//
// The loops of float and double are compiled for each instruction set (bias_isa.c); bias_shards.inc
// has those of the other types. Half and bfloat16 are computed in float.
#include "ops/nn/bias_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/nn/widen_cpu.h"

typedef struct leat_bias_s {
  int dtype;
  bool channels_first;
} leat_bias_t;

static leat_status_t create_bias(leat_kernel_creation_t* c, void* state) {
  leat_bias_t* bias = state;
  leat_string_view_t format;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &bias->dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "data_format", &format));
  bias->channels_first = leat_string_view_equal(format, LEAT_SV("NCHW"));
  return leat_ok_status();
}
static leat_status_t create_bias_v1(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_type(c, "T", &((leat_bias_t*)state)->dtype);
}

typedef struct extent_s {
  int64_t outer, channels, inner;
} extent_t;

static extent_t extent_of(const leat_bias_t* bias, const leat_shape_t* shape) {
  const int channel = bias->channels_first ? 1 : shape->rank - 1;
  return (extent_t){leat_shape_product(shape, 0, channel), leat_shape_dim(shape, channel),
                    leat_shape_product(shape, channel + 1, shape->rank)};
}

// ---- Shards -------------------------------------------------------------------------------------

// One call of BiasAdd.
typedef struct add_s {
  const void* x;
  const void* bias;
  void* y;
  extent_t extent;
} add_t;

// One call of BiasAddGrad.
typedef struct sum_s {
  const void* x;
  void* sums;  // [blocks, channels]; the result itself when there is one block
  extent_t extent;
  int64_t block_rows;
} sum_t;

typedef struct functions_s {
  leat_shard_fn_t add_rows, add_channels;
  leat_shard_fn_t sum_rows, sum_channels;
} functions_t;

#define PATTERN 512       // elements of the repeated bias
#define MOST_REPEATS 512  // elements of a row that is made of several when rows are summed

#define TYPE float
#define SUFFIX(name) name##_f32
#define LOOPS LEAT_ISA_SELECT(leat_bias_loops)
#include "ops/nn/bias_shards.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#define LOOPS LEAT_ISA_SELECT(leat_bias_loops)
#include "ops/nn/bias_shards.inc"

#define TYPE uint8_t
#define SUFFIX(name) name##_u8
#include "ops/nn/bias_shards.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_u16
#include "ops/nn/bias_shards.inc"

#define TYPE uint32_t
#define SUFFIX(name) name##_u32
#include "ops/nn/bias_shards.inc"

#define TYPE uint64_t
#define SUFFIX(name) name##_u64
#include "ops/nn/bias_shards.inc"

#define TYPE leat_complex64_t
#define SUFFIX(name) name##_c64
#include "ops/nn/bias_shards.inc"

#define TYPE leat_complex128_t
#define SUFFIX(name) name##_c128
#include "ops/nn/bias_shards.inc"

static const functions_t* functions_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return &functions_f32;
    case LEAT_DTYPE_DOUBLE: return &functions_f64;
    case LEAT_DTYPE_COMPLEX64: return &functions_c64;
    case LEAT_DTYPE_COMPLEX128: return &functions_c128;
    default: break;
  }
  switch (leat_dtype_size(dtype)) {
    case 1: return &functions_u8;
    case 2: return &functions_u16;
    case 4: return &functions_u32;
    default: return &functions_u64;
  }
}

// ---- BiasAdd ------------------------------------------------------------------------------------

static void run_add(const leat_kernel_context_t* c, int dtype, add_t* add) {
  const functions_t* functions = functions_of(dtype);
  const extent_t* extent = &add->extent;
  if (extent->outer * extent->channels * extent->inner == 0) return;
  if (extent->inner == 1) {
    leat_kernel_parallel_for(c, extent->outer, 0.3 * (double)extent->channels, functions->add_rows,
                             add);
  } else {
    leat_kernel_parallel_for(c, extent->outer * extent->channels, 0.3 * (double)extent->inner,
                             functions->add_channels, add);
  }
}

// Adds in float for half and bfloat16. The float copy of |x| serves as the result too.
static leat_status_t run_narrow_add(leat_kernel_context_t* c, const leat_tensor_t* x,
                                    const leat_tensor_t* bias, leat_tensor_t* y, add_t* add) {
  leat_tensor_t wide_x, wide_bias;
  LEAT_RETURN_IF_ERROR(leat_widen(c, x, &wide_x));
  leat_status_t status = leat_widen(c, bias, &wide_bias);
  if (!status) {
    add->x = add->y = wide_x.data;
    add->bias = wide_bias.data;
    run_add(c, LEAT_DTYPE_FLOAT, add);
    leat_narrow(c, &wide_x, y);
    leat_tensor_release(&wide_bias);
  }
  leat_tensor_release(&wide_x);
  return status;
}

static leat_status_t bias_add__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_tensor_t* bias = leat_kernel_input(c, 1);
  const leat_bias_t* kernel = leat_kernel_state(c);
  add_t add = {.bias = bias->data, .extent = extent_of(kernel, &x->shape)};
  if (bias->shape.element_count != add.extent.channels) {
    return leat_kernel_invalid(c, "Must provide as many biases as there are channels: bias is %s, "
                               "value is %s", LEAT_SHAPE_TEXT(&bias->shape),
                               LEAT_SHAPE_TEXT(&x->shape));
  }
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &x->shape, &y));
  x = leat_kernel_input(c, 0);
  if (leat_is_narrow(kernel->dtype)) return run_narrow_add(c, x, bias, y, &add);
  add.x = x->data;
  add.y = y->data;
  run_add(c, kernel->dtype, &add);
  return leat_ok_status();
}

// ---- BiasAddGrad --------------------------------------------------------------------------------

// Rows are cut into at most SUM_BLOCKS blocks. Each block has a vector of sums, and the vectors are
// then added in the order of the blocks.
#define SUM_BLOCKS 64

// TensorFlow rounds sums of bfloat16 to bfloat16 after every addition, in blocks of about 2000
// elements. Results that differ from it would fail to reproduce a training run, so this loop rounds
// in the same places within a block. The sums of the blocks are then added in float.
#define BFLOAT16_BLOCK 2000
static void sum_rows_bf16(void* data, int64_t begin, int64_t end) {
  const sum_t* sum = data;
  const int64_t channels = sum->extent.channels;
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = block * sum->block_rows;
    const int64_t last = LEAT_MIN(first + sum->block_rows, sum->extent.outer);
    float* to = (float*)sum->sums + block * channels;
    memset(to, 0, (size_t)channels * sizeof(float));
    for (int64_t row = first; row < last; ++row) {
      const float* x = (const float*)sum->x + row * channels;
      for (int64_t i = 0; i < channels; ++i) {
        to[i] = leat_bfloat16_to_float(leat_bfloat16_from_float(to[i] + x[i]));
      }
    }
  }
}

// Sums |x| into |output|, both of a type that is not narrow.
static leat_status_t run_sums(leat_kernel_context_t* c, const leat_tensor_t* x,
                              leat_tensor_t* output) {
  const functions_t* functions = functions_of(x->dtype);
  const leat_bias_t* bias = leat_kernel_state(c);
  const bool is_bfloat16 = bias->dtype == LEAT_DTYPE_BFLOAT16;
  const extent_t extent = extent_of(bias, &x->shape);
  sum_t sum = {.x = x->data, .sums = output->data, .extent = extent};
  if (extent.inner != 1) {
    leat_kernel_parallel_for(c, extent.channels, 0.2 * (double)(extent.outer * extent.inner),
                             functions->sum_channels, &sum);
    return leat_ok_status();
  }
  const int64_t least_rows = LEAT_MAX(65536 / extent.channels, 8);
  sum.block_rows = LEAT_MAX((extent.outer + SUM_BLOCKS - 1) / SUM_BLOCKS, least_rows);
  if (is_bfloat16) sum.block_rows = BFLOAT16_BLOCK / extent.channels + 1;
  const leat_shard_fn_t sum_blocks = is_bfloat16 ? sum_rows_bf16 : functions->sum_rows;
  const int64_t blocks = (extent.outer + sum.block_rows - 1) / sum.block_rows;
  if (blocks == 1) {
    sum_blocks(&sum, 0, 1);
    return leat_ok_status();
  }
  leat_tensor_t partials;
  const leat_shape_t shape = leat_shape_vector(blocks * extent.channels);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, x->dtype, &shape, &partials));
  sum.sums = partials.data;
  leat_kernel_parallel_for(c, blocks, 0.2 * (double)(sum.block_rows * extent.channels),
                           sum_blocks, &sum);
  sum_t total = {.x = partials.data,
                 .sums = output->data,
                 .extent = {blocks, extent.channels, 1},
                 .block_rows = blocks};
  functions->sum_rows(&total, 0, 1);
  leat_tensor_release(&partials);
  return leat_ok_status();
}

static leat_status_t bias_add_grad__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* dy = leat_kernel_input(c, 0);
  const extent_t extent = extent_of(leat_kernel_state(c), &dy->shape);
  const leat_shape_t shape = leat_shape_vector(extent.channels);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  if (dy->shape.element_count == 0) {
    leat_tensor_fill_zero(output);
    return leat_ok_status();
  }
  leat_tensor_t wide_dy, wide_output;
  LEAT_RETURN_IF_ERROR(leat_widen(c, dy, &wide_dy));
  leat_status_t status = leat_widen_output(c, output, &wide_output);
  if (!status) {
    status = run_sums(c, &wide_dy, &wide_output);
    if (!status) leat_narrow(c, &wide_output, output);
    leat_tensor_release(&wide_output);
  }
  leat_tensor_release(&wide_dy);
  return status;
}

#define NUMBER                                                                              \
  "T: bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, "     \
  "uint64, complex64, complex128"
#define ROW(name, create_fn, ...) LEAT_CPU_KERNEL(name, NUMBER, leat_bias_t, create_fn, __VA_ARGS__)
#define BIAS(name, create_fn) \
  ROW(name, create_fn, bias_add__cpu, .access = LEAT_ACCESS_BIAS)

const leat_kernel_row_t leat_bias_kernels_cpu[] = {
    BIAS("BiasAdd", create_bias),
    BIAS("BiasAddV1", create_bias_v1),
    ROW("BiasAddGrad", create_bias, bias_add_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
