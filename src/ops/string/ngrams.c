// Definition of StringNGrams: runs of neighbouring strings of each row of a ragged tensor, joined.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t ngrams_shape(leat_inference_t* c) {
  leat_partial_shape_t data, splits, ngrams;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &data));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &splits));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &ngrams));
  leat_inference_set_output(c, 0, ngrams);
  leat_inference_set_output(c, 1, splits);
  return leat_ok_status();
}

const leat_op_row_t leat_ngrams_ops[] = {
    {.name = "StringNGrams",
     .inputs = "data: string; data_splits: Tsplits",
     .outputs = "ngrams: string; ngrams_splits: Tsplits",
     .attrs = "separator: string; ngram_widths: list(int) >= 0; left_pad: string; "
              "right_pad: string; pad_width: int; preserve_short_sequences: bool; "
              "Tsplits: {int32, int64} = int64",
     .shape = ngrams_shape,
     .doc = "Of each row of a ragged tensor the runs of so many strings, joined by the separator; "
            "beyond its ends lie pads."},
    LEAT_OP_ROWS_END,
};
