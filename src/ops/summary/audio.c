// The ops that describe sound as Summary messages with a WAV file for each clip.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_audio_ops[] = {
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
