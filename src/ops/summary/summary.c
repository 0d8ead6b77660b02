// Definitions of the ops that describe values as encoded Summary messages (section 9.1), which a
// client writes to event files for TensorBoard: numbers, histograms, tensors, images as PNG files
// and sound as WAV files, and MergeSummary, which joins messages.
//
// The outputs are scalars, the message as a string, so that the shape functions have nothing to
// infer. No op has a gradient. The kernels are in summarize_cpu.c, image_cpu.c and audio_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define REAL                                                                                    \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"

const leat_op_row_t leat_summary_ops[] = {
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
    {.name = "ImageSummary",
     .inputs = "tag: string; tensor: T",
     .outputs = "summary: string",
     .attrs = "max_images: int >= 1 = 3; T: {uint8, float, half, double} = float; "
              "bad_color: tensor = { dtype: DT_UINT8 tensor_shape { dim { size: 4 } } "
              "int_val: 255 int_val: 0 int_val: 0 int_val: 255 }",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with images as PNG files."},
    {.name = "AudioSummary",
     .inputs = "tag: string; tensor: float",
     .outputs = "summary: string",
     .attrs = "sample_rate: float; max_outputs: int >= 1 = 3",
     .deprecated_since = 15,
     .deprecation = "Use AudioSummaryV2.",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with sound as WAV files, at a rate that is an attribute."},
    {.name = "AudioSummaryV2",
     .inputs = "tag: string; tensor: float; sample_rate: float",
     .outputs = "summary: string",
     .attrs = "max_outputs: int >= 1 = 3",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with sound as WAV files."},
    LEAT_OP_ROWS_END,
};
