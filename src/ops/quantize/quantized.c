// Definitions of QuantizeV2 and Dequantize: numbers of a range as integers of few bits, and back.
//
//   QuantizeV2  input, min_range, max_range -> output as input, output_min, output_max
//   Dequantize  input, min_range, max_range -> output as input
//
// The range is a scalar, or a vector along "axis". Neither op has a gradient.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/quantize/quantization.h"

static leat_status_t quantize_shape(leat_inference_t* c) {
  leat_partial_shape_t range;
  LEAT_RETURN_IF_ERROR(leat_quantization_check_range(c, 1, &range));
  leat_inference_set_output(c, 1, range);
  leat_inference_set_output(c, 2, range);
  return leat_shape_unchanged(c);
}

static leat_status_t dequantize_shape(leat_inference_t* c) {
  leat_partial_shape_t range;
  LEAT_RETURN_IF_ERROR(leat_quantization_check_range(c, 1, &range));
  return leat_shape_unchanged(c);
}

#define MODE                                                                                      \
  "T: {qint8, quint8, qint32, qint16, quint16}; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = " \
  "'MIN_COMBINED'; "
#define LAYOUT "narrow_range: bool = false; axis: int = -1; "

const leat_op_row_t leat_quantized_ops[] = {
    {.name = "QuantizeV2",
     .inputs = "input: float; min_range: float; max_range: float",
     .outputs = "output: T; output_min: float; output_max: float",
     .attrs =
         MODE "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'; " LAYOUT
              "ensure_minimum_range: float = 0.01",
     .shape = quantize_shape,
     .doc = "The input as integers over a range, and the range that they cover."},
    {.name = "Dequantize",
     .inputs = "input: T; min_range: float; max_range: float",
     .outputs = "output: dtype",
     .attrs = MODE LAYOUT "dtype: {bfloat16, float} = DT_FLOAT",
     .shape = dequantize_shape,
     .doc = "The numbers that integers over a range stand for."},
    LEAT_OP_ROWS_END,
};
