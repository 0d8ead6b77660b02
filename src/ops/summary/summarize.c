// The ops that describe numbers, histograms and tensors as Summary messages, and that merge
// messages.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define REAL                                                                                    \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"

const leat_op_row_t leat_summarize_ops[] = {
    {.name = "ScalarSummary",
     .inputs = "tags: string; values: T",
     .outputs = "summary: string",
     .attrs = REAL,
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with a number for each tag."},
    {.name = "HistogramSummary",
     .inputs = "tag: string; values: T",
     .outputs = "summary: string",
     .attrs = REAL " = float",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with the histogram of the values."},
    {.name = "TensorSummary",
     .inputs = "tensor: T",
     .outputs = "summary: string",
     .attrs = "T: type; description: string = ''; labels: list(string) = []; "
              "display_name: string = ''",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with a tensor, under the node's name."},
    {.name = "TensorSummaryV2",
     .inputs = "tag: string; tensor: T; serialized_summary_metadata: string",
     .outputs = "summary: string",
     .attrs = "T: type",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with a tensor and what plugins need to know of it."},
    {.name = "MergeSummary",
     .inputs = "inputs: N * string",
     .outputs = "summary: string",
     .attrs = "N: int >= 1",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "One summary of all values of several; no tag may be in two."},
    LEAT_OP_ROWS_END,
};
