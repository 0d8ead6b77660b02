// What fused products of 8-bit integers do with their 32-bit sums (quantized_fused_conv2d_cpu.c,
// quantized_fused_matmul_cpu.c). A sum of column j is a number in steps of the two factors; it
// becomes that number, the fused ops follow, and the result is brought to the output's type:
//
//   x      = sum * scales[j] + bias[j] + summand * summand_scale
//   output = activation(x) * factor + shift
//
// computed in float from left to right, each operation rounded, as oneDNN does it for TensorFlow.
// Integers are rounded to the nearest, halves to the even one, and limited to their type; what is
// not a number becomes the least one.
//
// The scales of symmetric quantization: a type's step is the larger end of its range divided by the
// greatest integer, 255 or 127, whatever the other end is.
//
//   leat_quantized_epilogue_begin, then leat_quantized_epilogue_rows from several threads, then
//   leat_quantized_epilogue_end
#ifndef LEAT_OPS_QUANTIZE_QUANTIZED_EPILOGUE_CPU_H_
#define LEAT_OPS_QUANTIZE_QUANTIZED_EPILOGUE_CPU_H_

#include "base/cpu.h"
#include "ops/nn/epilogue_cpu.h"
#include "ops/quantize/quantized_range_cpu.h"

// The loops over columns.
typedef struct leat_quantized_epilogue_loops_s {
  // to = sums * scales + bias
  void (*scale)(const int32_t* sums, const float* scales, const float* bias, int64_t count,
                float* to);
  // to = x * factor + shift, rounded and limited to [least, most]; as bytes and as 32 bits
  void (*to_bytes)(const float* x, float factor, float shift, float least, float most,
                   int64_t count, uint8_t* to);
  void (*to_ints)(const float* x, float factor, float shift, float least, float most,
                  int64_t count, int32_t* to);
} leat_quantized_epilogue_loops_t;
LEAT_ISA_DECLARE(leat_quantized_epilogue_loops_t, leat_quantized_epilogue_loops);

// The fused ops of a node, from its name or its attribute "fused_ops". All runs share them.
typedef struct leat_quantized_fusion_s {
  bool has_bias, has_sum, requantizes, dequantizes;
  leat_elementwise_loop_t activation;  // NULL: there is none
  bool takes_alpha;                    // the activation has |alpha| as its second operand
  float alpha;
} leat_quantized_fusion_t;

// One run.
typedef struct leat_quantized_epilogue_s {
  const leat_quantized_epilogue_loops_t* loops;
  const leat_quantized_fusion_t* fusion;
  leat_tensor_t* output;
  int64_t columns;        // of the output
  int64_t plane;          // where the output is [batch, columns, plane], else 0
  leat_tensor_t vectors;  // |scales| and |bias|, for each column
  float *scales, *bias;
  const leat_tensor_t* summand;  // of the output's shape; NULL: there is none
  float summand_scale;
  float factor, shift;
  float least, most;
} leat_quantized_epilogue_t;

// Begins a run over |output|, whose columns are |columns|: without a bias, with scales, a factor
// and limits that leave the sums what they are. The caller changes what is otherwise, then ends it,
// also after a failure.
LEAT_MUST_USE leat_status_t leat_quantized_epilogue_begin(leat_kernel_context_t* c,
                                                          const leat_quantized_fusion_t* fusion,
                                                          int64_t columns, leat_tensor_t* output,
                                                          leat_quantized_epilogue_t* out_run);
// Writes elements [first_column, first_column + columns) of |rows| output rows from |first| on.
void leat_quantized_epilogue_rows(const leat_quantized_epilogue_t* run, int64_t first, int64_t rows,
                                  int64_t first_column, int64_t columns, const int32_t* sums);
void leat_quantized_epilogue_end(leat_quantized_epilogue_t* run);

// ---- Scales -------------------------------------------------------------------------------------

// The greatest integer of an 8-bit type as TensorFlow's symmetric ranges have it.
static inline float leat_quantized_limit(int dtype) {
  return dtype == LEAT_DTYPE_QUINT8 ? 255.0f : 127.0f;
}
static inline float leat_larger_end(leat_range_t range) {
  return LEAT_MAX(fabsf(range.min), fabsf(range.max));
}

// The ranges of a filter: one, or one for each column of the product.
typedef struct leat_quantized_filter_s {
  const leat_tensor_t *min, *max;
} leat_quantized_filter_t;

// Reads inputs |index| and |index| + 1. INVALID_ARGUMENT unless they have the same shape, a scalar
// or a vector, of one element or of |columns|.
LEAT_MUST_USE leat_status_t leat_quantized_filter_read(const leat_kernel_context_t* c, int index,
                                                       int64_t columns,
                                                       leat_quantized_filter_t* out_filter);
// The larger end of the range of column |column|, and of the range that contains all of them.
float leat_quantized_filter_end(const leat_quantized_filter_t* filter, int64_t column);
float leat_quantized_filter_widest(const leat_quantized_filter_t* filter);
// Makes outputs 1 and 2 the ranges of 32-bit sums, of the shape of the filter's, for inputs of type
// |dtype| over |range|. The step of both factors is that of their whole range here.
LEAT_MUST_USE leat_status_t leat_quantized_filter_ranges(leat_kernel_context_t* c,
                                                         const leat_quantized_filter_t* filter,
                                                         int dtype, leat_range_t range);
// INVALID_ARGUMENT unless input |index| is a vector, or has dimensions of 1 before it where |wide|,
// with an element for each of |columns|.
LEAT_MUST_USE leat_status_t leat_quantized_check_bias(const leat_kernel_context_t* c, int index,
                                                      int64_t columns, bool wide);
// INVALID_ARGUMENT unless inputs |index| and |index| + 1 are scalars.
LEAT_MUST_USE leat_status_t leat_quantized_check_range(const leat_kernel_context_t* c, int index);

// ---- Creation -----------------------------------------------------------------------------------

// For ops whose inputs are a list of types: INVALID_ARGUMENT unless input |index| is there and of
// type |dtype|.
LEAT_MUST_USE leat_status_t leat_quantized_check_type(const leat_kernel_creation_t* c, int index,
                                                      int dtype);

#endif  // LEAT_OPS_QUANTIZE_QUANTIZED_EPILOGUE_CPU_H_
