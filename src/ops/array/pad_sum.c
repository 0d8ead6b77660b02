// The op _SumOfPads, a sum of padded tensors. The optimizer (optimize/sums.c) makes it of the Pad
// nodes that feed an AddN, so that no padded tensor is laid out in memory. It has no gradient,
// because gradients are built before the optimizer runs.
#include "ops/array/paddings.h"
#include "ops/op_rows.h"

static leat_status_t pad_sum_shape(leat_inference_t* c) {
  const int count = c->node->input_count / 2;
  leat_partial_shape_t sum, term;
  LEAT_RETURN_IF_ERROR(leat_paddings_infer(c, 0, count, 1, &sum));
  for (int i = 1; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_paddings_infer(c, i, count + i, 1, &term));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, sum, term, &sum));
  }
  leat_inference_set_output(c, 0, sum);
  return leat_ok_status();
}

const leat_op_row_t leat_pad_sum_ops[] = {
    {.name = "_SumOfPads",
     .inputs = "inputs: N * T; paddings: N * Tpaddings",
     .outputs = "sum: T",
     .attrs = "N: int >= 2; T: type; Tpaddings: {int32, int64} = int32; names: list(string)",
     .parting = LEAT_PARTING_PADS,
     .shape = pad_sum_shape,
     .doc = "The sum, as by AddN, of the inputs padded as by the Pads of those names."},
    LEAT_OP_ROWS_END,
};
