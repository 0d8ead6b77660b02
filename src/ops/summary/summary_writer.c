// Definitions of the ops that write summaries to event files or databases while a step runs.
// SummaryWriter names a writer, CreateSummaryFileWriter opens its file or CreateSummaryDbWriter its
// database, the Write ops add events, and CloseSummaryWriter ends it:
//
//   writer <- SummaryWriter
//   CreateSummaryFileWriter(writer, "logs", ...) -> WriteScalarSummary(writer, step, "loss", loss)
//
// They have no outputs: a step runs them as targets or through control edges. None has a gradient.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define REAL \
  "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64"
// What every op that adds an event takes first.
#define EVENT "writer: resource; step: int64; "

const leat_op_row_t leat_summary_writer_ops[] = {
    {.name = "SummaryWriter",
     .outputs = "writer: resource",
     .attrs = "shared_name: string = ''; container: string = ''",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "The handle of a writer of event files."},
    {.name = "CreateSummaryFileWriter",
     .inputs = "writer: resource; logdir: string; max_queue: int32; flush_millis: int32; "
               "filename_suffix: string",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2), LEAT_RULE_SCALAR(3),
                            LEAT_RULE_SCALAR(4)),
     .doc = "Opens the event file of a writer, unless it is open."},
    {.name = "CreateSummaryDbWriter",
     .inputs = "writer: resource; db_uri: string; experiment_name: string; run_name: string; "
               "user_name: string",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2), LEAT_RULE_SCALAR(3),
                            LEAT_RULE_SCALAR(4)),
     .doc = "Opens the SQLite database of a writer, unless it is open."},
    {.name = "FlushSummaryWriter",
     .inputs = "writer: resource",
     .gradient = leat_gradient_none,
     .doc = "Writes to the file what was added."},
    {.name = "CloseSummaryWriter",
     .inputs = "writer: resource",
     .gradient = leat_gradient_none,
     .doc = "Writes what was added and ends the writer."},
    {.name = "WriteSummary",
     .inputs = EVENT "tensor: T; tag: string; summary_metadata: string",
     .attrs = "T: type",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1)),
     .doc = "Adds a tensor and what plugins need to know of it."},
    {.name = "WriteRawProtoSummary",
     .inputs = EVENT "tensor: string",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2)),
     .doc = "Adds an encoded Summary."},
    {.name = "ImportEvent",
     .inputs = "writer: resource; event: string",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1)),
     .doc = "Adds an encoded Event."},
    {.name = "WriteScalarSummary",
     .inputs = EVENT "tag: string; value: T",
     .attrs = "T: " REAL "}",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1), LEAT_RULE_COUNT(3, 1)),
     .doc = "Adds a number."},
    {.name = "WriteHistogramSummary",
     .inputs = EVENT "tag: string; values: T",
     .attrs = "T: " REAL ", bool} = float",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1)),
     .doc = "Adds a histogram of values."},
    {.name = "WriteImageSummary",
     .inputs = EVENT "tag: string; tensor: T; bad_color: uint8",
     .attrs = "max_images: int >= 1 = 3; T: {uint8, double, float, half} = float",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1), LEAT_RULE_VECTOR(4)),
     .doc = "Adds images."},
    {.name = "WriteAudioSummary",
     .inputs = EVENT "tag: string; tensor: float; sample_rate: float",
     .attrs = "max_outputs: int >= 1 = 3",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1)),
     .doc = "Adds sounds."},
    {.name = "WriteGraphSummary",
     .inputs = EVENT "tensor: string",
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2)),
     .doc = "Adds an encoded GraphDef."},
    LEAT_OP_ROWS_END,
};
