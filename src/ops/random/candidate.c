// Definitions of the candidate samplers. They draw a few classes, over which a loss is then
// computed instead of over all of them.
//
//   true_classes [batch, num_true] -> sampled_candidates [num_sampled],
//     true_expected_count [batch, num_true], sampled_expected_count [num_sampled]
//
// The distributions differ from op to op, their inputs and outputs do not. ComputeAccidentalHits
// finds true classes among the sampled ones, which a loss should not count as wrong.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// An integer attribute, LEAT_DIM_UNKNOWN when the node has none.
static int64_t int_attr(const leat_inference_t* c, const char* name) {
  const leat_attr_value_t* value =
      leat_attr_find(c->node->attrs, c->node->attr_count, leat_string_view_from(name));
  return value ? value->i : LEAT_DIM_UNKNOWN;
}

static leat_status_t sampler_shape(leat_inference_t* c) {
  leat_partial_shape_t classes, sampled, expected;
  int64_t sampled_count = int_attr(c, "num_sampled");
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &classes));
  int64_t dims[2] = {leat_partial_shape_dim(classes, 0), int_attr(c, "num_true")};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &sampled_count, &sampled));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &expected));
  leat_inference_set_output(c, 0, sampled);
  leat_inference_set_output(c, 1, expected);
  leat_inference_set_output(c, 2, sampled);
  return leat_ok_status();
}

static leat_status_t hits_shape(leat_inference_t* c) {
  leat_partial_shape_t classes, unused, hits;
  int64_t dim;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &classes));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(leat_partial_shape_dim(classes, 1),
                                                     int_attr(c, "num_true"), &dim));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &hits));
  for (int i = 0; i < 3; ++i) leat_inference_set_output(c, i, hits);
  return leat_ok_status();
}

#define COUNTS "num_true: int >= 1; num_sampled: int >= 1; unique: bool; "
#define RANGE "range_max: int >= 1; "
#define SEEDS "seed: int = 0; seed2: int = 0"
#define SAMPLER(op, own_attrs, text)                                             \
  {.name = op,                                                                   \
   .inputs = "true_classes: int64",                                              \
   .outputs = "sampled_candidates: int64; true_expected_count: float; "          \
              "sampled_expected_count: float",                                   \
   .attrs = COUNTS own_attrs SEEDS,                                              \
   .flags = LEAT_OP_STATEFUL,                                                    \
   .shape = sampler_shape,                                                       \
   .gradient = leat_gradient_none,                                               \
   .doc = text}

const leat_op_row_t leat_candidate_ops[] = {
    SAMPLER("UniformCandidateSampler", RANGE, "Classes with the same odds each."),
    SAMPLER("LogUniformCandidateSampler", RANGE,
            "Classes with odds like those of words that are sorted by frequency."),
    SAMPLER("LearnedUnigramCandidateSampler", RANGE,
            "Classes with the odds at which true classes were seen so far."),
    SAMPLER("ThreadUnsafeUnigramCandidateSampler", RANGE,
            "Classes with the odds at which true classes were seen so far."),
    SAMPLER("FixedUnigramCandidateSampler",
            RANGE "vocab_file: string = ''; distortion: float = 1.0; num_reserved_ids: int = 0; "
                  "num_shards: int >= 1 = 1; shard: int >= 0 = 0; unigrams: list(float) = []; ",
            "Classes with odds from a file or a list."),
    SAMPLER("AllCandidateSampler", "", "Every class."),
    {.name = "ComputeAccidentalHits",
     .inputs = "true_classes: int64; sampled_candidates: int64",
     .outputs = "indices: int32; ids: int64; weights: float",
     .attrs = "num_true: int; " SEEDS,
     .shape = hits_shape,
     .gradient = leat_gradient_none,
     .doc = "Where true classes are among the sampled ones, with the least of weights."},
    LEAT_OP_ROWS_END,
};
