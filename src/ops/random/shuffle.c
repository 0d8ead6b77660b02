// Definitions of the ops that shuffle: the rows of a tensor, or numbers one by one without a table.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// RandomIndexShuffle takes one item or n of each input; merges |count| of one of them into
// |inout_count|, which is n in the end.
static leat_status_t merge_count(int64_t count, int64_t* inout_count) {
  if (count == LEAT_DIM_UNKNOWN || count == 1) return leat_ok_status();
  if (*inout_count == LEAT_DIM_UNKNOWN || *inout_count == 1) {
    *inout_count = count;
    return leat_ok_status();
  }
  return leat_inference_merge_dim(count, *inout_count, inout_count);
}

static leat_status_t index_shuffle_shape(leat_inference_t* c) {
  leat_partial_shape_t index = leat_inference_input(c, 0), seed = leat_inference_input(c, 1);
  leat_partial_shape_t max_index = leat_inference_input(c, 2), shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, index, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, seed, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, seed, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, max_index, 1));
  if (seed.rank > 0 && seed.dims[seed.rank - 1] != 3) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape inference failed: seed has shape %s, must be [3] or [n, 3]",
                            LEAT_PARTIAL_SHAPE_TEXT(seed));
  }
  if (index.rank == 0 && seed.rank == 1 && max_index.rank == 0) {
    return leat_shape_scalar_output(c);
  }
  if (index.rank != 1 && seed.rank != 2 && max_index.rank != 1) return leat_ok_status();
  int64_t count = LEAT_DIM_UNKNOWN;
  if (index.rank == 1) count = index.dims[0];
  if (seed.rank == 2) LEAT_RETURN_IF_ERROR(merge_count(seed.dims[0], &count));
  if (max_index.rank == 1) LEAT_RETURN_IF_ERROR(merge_count(max_index.dims[0], &count));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &count, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define INTEGER "{int32, uint32, int64, uint64}"

const leat_op_row_t leat_shuffle_ops[] = {
    {.name = "RandomShuffle",
     .inputs = "value: T",
     .outputs = "output: T",
     .attrs = "seed: int = 0; seed2: int = 0; T: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The rows of a tensor in random order."},
    {.name = "StatelessShuffle",
     .inputs = "value: T; key: uint64; counter: uint64; alg: int32",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = leat_shape_unchanged,
     .doc = "The rows of a tensor in the order of a key and counter."},
    {.name = "RandomIndexShuffle",
     .inputs = "index: dtype; seed: Tseed; max_index: dtype",
     .outputs = "output: dtype",
     .attrs = "rounds: int = 4; dtype: " INTEGER "; Tseed: " INTEGER,
     .shape = index_shuffle_shape,
     .gradient = leat_gradient_none,
     .doc = "Where a permutation of [0, max_index], named by a seed, puts an index."},
    LEAT_OP_ROWS_END,
};
