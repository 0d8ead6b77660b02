// The ops of accumulators, which gather the gradients of many workers: stale ones are dropped, and
// the mean (or the sum) can be taken when enough are there. Synchronous training with replicas is
// built from them (section 7). A gradient is dense, or a set of rows (sparse). The older ops name
// their accumulator by a reference to two strings, the Resource ops by a resource handle; both have
// the same kernels, in accumulator_cpu.c and sparse_accumulator_cpu.c. A sparse accumulator has ops
// of its own to be made and where rows come or go; the ops for the count and the step serve both
// kinds. No gradient flows through an accumulator.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// The step and the number of gradients are scalars. What an accumulator gives back has the shape
// that it was made with, which the rows do not look up.

#define NUMBER                                                                                \
  "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "       \
  "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define NAMES \
  "; shape: shape; container: string = ''; shared_name: string = ''; reduction_type: "        \
  "{'MEAN', 'SUM'} = 'MEAN'"

#define MAKER(op_name, type, words)                                                           \
  {                                                                                           \
    .name = op_name, .outputs = "handle: " type, .attrs = NUMBER NAMES,                       \
    .flags = LEAT_OP_STATEFUL, .shape = leat_shape_two_strings,                               \
    .gradient = leat_gradient_none, .doc = words                                              \
  }

#define HAD_NO_SCALAR(name) "Argument " name " must be scalar, but had bad shape %"
#define ACCESS(op_name, type, op_flags)                                                       \
  {.name = op_name "NumAccumulated",                                                          \
   .inputs = "handle: " type,                                                                 \
   .outputs = "num_accumulated: int32",                                                       \
   .flags = op_flags,                                                                         \
   .shape = leat_shape_scalar_output,                                                         \
   .gradient = leat_gradient_none,                                                            \
   .doc = "How many gradients were added since one was taken."},                              \
  {.name = op_name "SetGlobalStep",                                                           \
   .inputs = "handle: " type "; new_global_step: int64",                                      \
   .flags = op_flags,                                                                         \
   .shapes = "new_global_step[]",                                                             \
   .misfits = "new_global_step: " HAD_NO_SCALAR("new_global_step"),                               \
   .gradient = leat_gradient_none,                                                            \
   .doc = "Gradients of earlier steps are stale from now on."},                               \
  {.name = op_name "ApplyGradient",                                                           \
   .inputs = "handle: " type "; local_step: int64; gradient: dtype",                          \
   .attrs = NUMBER,                                                                           \
   .flags = op_flags,                                                                         \
   .shapes = "local_step[]",                                                                  \
   .misfits = "local_step: " HAD_NO_SCALAR("local_step"),                                         \
   .gradient = leat_gradient_none,                                                            \
   .doc = "Adds a gradient, unless it is stale."},                                            \
  {                                                                                           \
    .name = op_name "TakeGradient", .inputs = "handle: " type "; num_required: int32",        \
    .outputs = "average: dtype", .attrs = NUMBER, .flags = op_flags,                          \
    .shapes = "num_required[]",                                                               \
    .misfits = "num_required: " HAD_NO_SCALAR("num_required"),                                    \
    .gradient = leat_gradient_none, .doc = "Takes the mean when enough gradients were added." \
  }

const leat_op_row_t leat_accumulator_ops[] = {
    MAKER("ConditionalAccumulator", "Ref(string)", "An accumulator of dense gradients."),
    MAKER("ResourceConditionalAccumulator", "resource", "An accumulator of dense gradients."),
    ACCESS("Accumulator", "Ref(string)", 0),
    ACCESS("ResourceAccumulator", "resource", LEAT_OP_STATEFUL),
    LEAT_OP_ROWS_END,
};

const leat_op_row_t leat_sparse_accumulator_ops[] = {
    MAKER("SparseConditionalAccumulator", "Ref(string)", "An accumulator of gradients by rows."),
    {.name = "SparseAccumulatorApplyGradient",
     .inputs = "handle: Ref(string); local_step: int64; gradient_indices: int64; "
               "gradient_values: dtype; gradient_shape: int64",
     .attrs = NUMBER "; has_known_shape: bool",
     .shapes = "local_step[]",
     .misfits = "local_step: " HAD_NO_SCALAR("local_step"),
     .gradient = leat_gradient_none,
     .doc = "Adds rows of a gradient, unless it is stale."},
    {.name = "SparseAccumulatorTakeGradient",
     .inputs = "handle: Ref(string); num_required: int32",
     .outputs = "indices: int64; values: dtype; shape: int64",
     .attrs = NUMBER,
     .shapes = "num_required[]",
     .misfits = "num_required: " HAD_NO_SCALAR("num_required"),
     .gradient = leat_gradient_none,
     .doc = "Takes the mean of the rows when enough gradients were added."},
    LEAT_OP_ROWS_END,
};
