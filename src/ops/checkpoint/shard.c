// The ops that name the shards of a checkpoint, and that merge several checkpoints into one.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t scalars_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 0, &unused));
  }
  return leat_shape_scalar_output(c);
}

static leat_status_t merge_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &unused));
  return leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &unused);
}

const leat_op_row_t leat_shard_ops[] = {
    {.name = "ShardedFilename",
     .inputs = "basename: string; shard: int32; num_shards: int32",
     .outputs = "filename: string",
     .shape = scalars_shape,
     .gradient = leat_gradient_none,
     .doc = "The name of a shard: basename-00003-of-00010."},
    {.name = "ShardedFilespec",
     .inputs = "basename: string; num_shards: int32",
     .outputs = "filename: string",
     .shape = scalars_shape,
     .gradient = leat_gradient_none,
     .doc = "A pattern of the names of all shards: basename, a ? a digit, of-00010."},
    {.name = "MergeV2Checkpoints",
     .inputs = "checkpoint_prefixes: string; destination_prefix: string",
     .attrs = "delete_old_dirs: bool = true; allow_missing_files: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .shape = merge_shape,
     .gradient = leat_gradient_none,
     .doc = "Makes one checkpoint of the shards of a distributed save."},
    LEAT_OP_ROWS_END,
};
