// Definitions of the datasets that change how many elements there are by putting elements together
// or taking them apart. A batch is one element whose components have a new first dimension, which
// consecutive elements fill; a window is a dataset of consecutive elements; a group is a dataset of
// elements that have one key; and UnbatchDataset gives the rows of its input's elements.
// MapAndBatchDataset stands here since its output is a batch.
//
// Inputs that are sizes must be scalars, which the shape functions check. The kernels are in
// batch_dataset_cpu.c, sparse_batch_dataset_cpu.c, window_dataset_cpu.c and group_dataset_cpu.c.
#include "graph/inference/inference.h"
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

static leat_status_t padded_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  return leat_shape_scalar_output(c);
}

static leat_status_t padded_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, leat_inference_input_count(c) - 1));
  return padded_shape(c);
}

static leat_status_t sparse_batch_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  leat_partial_shape_t row_shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &row_shape));
  return leat_shape_scalar_output(c);
}

const leat_op_row_t leat_batch_dataset_ops[] = {
    {.name = "BatchDataset",
     .inputs = "input_dataset: variant; batch_size: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_of_scalars,
     .doc = "Several elements as one."},
    {.name = "BatchDatasetV2",
     .inputs = "input_dataset: variant; batch_size: int64; drop_remainder: bool",
     .outputs = "handle: variant",
     .attrs = "parallel_copy: bool = false; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_of_scalars,
     .doc = "Several elements as one; the last ones may be dropped."},
    {.name = "ParallelBatchDataset",
     .inputs = "input_dataset: variant; batch_size: int64; num_parallel_calls: int64; "
               "drop_remainder: bool",
     .outputs = "handle: variant",
     .attrs = "parallel_copy: bool = false; " LEAT_ELEMENT_ATTRS
              "; deterministic: string = 'default'" LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "BatchDatasetV2 that makes several batches at once."},
    {.name = "MapAndBatchDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; batch_size: int64; "
               "num_parallel_calls: int64; drop_remainder: bool",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; preserve_cardinality: bool = false" LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "A function of each element, several as one."},
    {.name = "PaddedBatchDataset",
     .inputs = "input_dataset: variant; batch_size: int64; padded_shapes: N * int64; "
               "padding_values: Toutput_types",
     .outputs = "handle: variant",
     .attrs = "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= "
              "1" LEAT_METADATA_ATTR,
     .shape = padded_shape,
     .doc = "Several elements as one, padded to a common shape."},
    {.name = "PaddedBatchDatasetV2",
     .inputs = "input_dataset: variant; batch_size: int64; padded_shapes: N * int64; "
               "padding_values: Toutput_types; drop_remainder: bool",
     .outputs = "handle: variant",
     .attrs = "parallel_copy: bool = false; Toutput_types: list(type) >= 1; output_shapes: "
              "list(shape) >= 1; N: int >= 1" LEAT_METADATA_ATTR,
     .shape = padded_v2_shape,
     .doc = "PaddedBatchDataset; the last ones may be dropped."},
    {.name = "DenseToSparseBatchDataset",
     .inputs = "input_dataset: variant; batch_size: int64; row_shape: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .shape = sparse_batch_shape,
     .doc = "Several elements as the rows of a sparse tensor."},
    // Windows of consecutive elements, and the way back from batches to rows.
    {.name = "WindowDataset",
     .inputs =
         "input_dataset: variant; size: int64; shift: int64; stride: int64; drop_remainder: bool",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "Elements that follow each other, as datasets."},
    {.name = "WindowOp",
     .inputs = "inputs: Tinputs",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; Tinputs: list(type)",
     .shape = leat_shape_scalar_output,
     .doc = "A dataset whose elements are the inputs, some for each element."},
    {.name = "SlidingWindowDataset",
     .inputs = "input_dataset: variant; window_size: int64; window_shift: int64; "
               "window_stride: int64",
     .outputs = "handle: variant",
     .attrs = "drop_remainder: bool = true; " LEAT_ELEMENT_ATTRS,
     .shape = leat_shape_of_scalars,
     .doc = "Several elements as one, which may overlap with the next ones."},
    {.name = "RebatchDataset",
     .inputs = "input_dataset: variant; num_replicas: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; use_fallback: bool = true",
     .shape = leat_shape_of_scalars,
     .doc = "Each element in so many parts of its rows."},
    {.name = "RebatchDatasetV2",
     .inputs = "input_dataset: variant; batch_sizes: int64; drop_remainder: bool",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of elements in batches, whose sizes take turns."},
    {.name = "UnbatchDataset",
     .inputs = "input_dataset: variant",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of elements."},
    // Windows of elements that have one key, reduced by a function when they are full.
    {.name = "GroupByWindowDataset",
     .inputs = "input_dataset: variant; key_func_other_arguments: Tkey_func_other_arguments; "
               "reduce_func_other_arguments: Treduce_func_other_arguments; "
               "window_size_func_other_arguments: Twindow_size_func_other_arguments",
     .outputs = "handle: variant",
     .attrs =
         "key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: "
         "list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; "
         "Twindow_size_func_other_arguments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
             LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "The datasets that a function makes of so many elements of one key each."},
    {.name = "GroupByReducerDataset",
     .inputs = "input_dataset: variant; key_func_other_arguments: Tkey_func_other_arguments; "
               "init_func_other_arguments: Tinit_func_other_arguments; "
               "reduce_func_other_arguments: Treduce_func_other_arguments; "
               "finalize_func_other_arguments: Tfinalize_func_other_arguments",
     .outputs = "handle: variant",
     .attrs = "key_func: func; init_func: func; reduce_func: func; finalize_func: func; "
              "Tkey_func_other_arguments: list(type) >= 0; "
              "Tinit_func_other_arguments: list(type) >= 0; "
              "Treduce_func_other_arguments: list(type) >= 0; "
              "Tfinalize_func_other_arguments: list(type) >= 0; " LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "For each key one element, the last state of a fold of its elements."},
    LEAT_OP_ROWS_END,
};
