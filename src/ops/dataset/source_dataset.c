// Definitions of the datasets that begin a pipeline: those whose elements come from tensors of the
// graph, from files, and from a generator of random numbers.
//
// All are marked stateful, as in TensorFlow, so that no pass folds one into a constant or takes two
// of them for one. Some hold references to the tensors of their inputs, since the elements are read
// when the step that made the dataset may long have ended. The kernels are in
// tensor_dataset_cpu.c, sparse_slice_dataset_cpu.c, file_dataset_cpu.c, csv_dataset_cpu.c and
// random_dataset_cpu.c.
#include "graph/inference/inference.h"
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

// Input 0, the file names, is a scalar or a vector; |scalars| scalar inputs follow.
static leat_status_t check_files(leat_inference_t* c, int scalars) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 0), 1));
  for (int i = 1; i <= scalars; ++i) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  return leat_shape_scalar_output(c);
}

static leat_status_t files_shape(leat_inference_t* c) { return check_files(c, 2); }
static leat_status_t fixed_shape(leat_inference_t* c) { return check_files(c, 4); }

static leat_status_t matching_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 0), 1));
  return leat_shape_scalar_output(c);
}

static leat_status_t offsets_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 3), 1));
  return files_shape(c);
}

// The first inputs are the names of files and scalars. The numbers of columns, input 7 and those
// from |end| on, are vectors; between them are the defaults of columns, each a scalar or a vector
// of at most one element.
static leat_status_t check_csv(leat_inference_t* c, int end) {
  const int selected = 7;
  for (int i = selected; i < leat_inference_input_count(c); ++i) {
    const leat_partial_shape_t shape = leat_inference_input(c, i);
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, shape, 1));
    if (i == selected || i >= end || shape.rank != 1 || shape.dims[0] <= 1) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape of a default must be a length-0 or length-1 vector, or a "
                            "scalar.");
  }
  return check_files(c, selected - 1);
}

static leat_status_t csv_shape(leat_inference_t* c) {
  return check_csv(c, leat_inference_input_count(c));
}

static leat_status_t csv_v2_shape(leat_inference_t* c) {
  return check_csv(c, leat_inference_input_count(c) - 1);
}

const leat_op_row_t leat_source_dataset_ops[] = {
    // Tensors as one element, their rows, and ranges of numbers.
    {.name = "TensorDataset",
     .inputs = "components: Toutput_types",
     .outputs = "handle: variant",
     .attrs = "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1" LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "One element: the tensors."},
    {.name = "TensorSliceDataset",
     .inputs = "components: Toutput_types",
     .outputs = "handle: variant",
     .attrs = "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; is_files: bool = "
              "false" LEAT_METADATA_ATTR "; replicate_on_split: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of tensors."},
    {.name = "SparseTensorSliceDataset",
     .inputs = "indices: int64; values: Tvalues; dense_shape: int64",
     .outputs = "handle: variant",
     .attrs = "Tvalues: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of a sparse tensor: indices, values, shape."},
    {.name = "RangeDataset",
     .inputs = "start: int64; stop: int64; step: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR "; replicate_on_split: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_scalars,
     .doc = "Numbers from a start to a stop by a step."},
    {.name = "_SplitDataset",
     .inputs = "components: Tcomponents",
     .outputs = "handle: variant",
     .attrs = "kind: {'numbers', 'rows', 'tensors'}; split_source: string; Tcomponents: list(type) "
              ">= 0; " LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The parts of a source dataset that a data service gives to this process."},
    {.name = "TextLineDataset",
     .inputs = "filenames: string; compression_type: string; buffer_size: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = files_shape,
     .doc = "The lines of files."},
    {.name = "MatchingFilesDataset",
     .inputs = "patterns: string",
     .outputs = "handle: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = matching_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_MOST(0, 1)),
     .doc = "The paths of files that match patterns."},
    {.name = "TFRecordDataset",
     .inputs = "filenames: string; compression_type: string; buffer_size: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = files_shape,
     .doc = "The records of TFRecord files."},
    {.name = "TFRecordDatasetV2",
     .inputs =
         "filenames: string; compression_type: string; buffer_size: int64; byte_offsets: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = offsets_shape,
     .doc = "The records of TFRecord files from an offset on."},
    {.name = "FixedLengthRecordDataset",
     .inputs = "filenames: string; header_bytes: int64; record_bytes: int64; footer_bytes: int64; "
               "buffer_size: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = fixed_shape,
     .doc = "Records of one size of files."},
    {.name = "FixedLengthRecordDatasetV2",
     .inputs = "filenames: string; header_bytes: int64; record_bytes: int64; footer_bytes: int64; "
               "buffer_size: int64; compression_type: string",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = fixed_shape,
     .doc = "Records of one size of files, perhaps compressed."},
    {.name = "CSVDataset",
     .inputs = "filenames: string; compression_type: string; buffer_size: int64; header: bool; "
               "field_delim: string; use_quote_delim: bool; na_value: string; select_cols: int64; "
               "record_defaults: output_types",
     .outputs = "handle: variant",
     .attrs = "output_types: list({float, double, int32, int64, string}); output_shapes: "
              "list(shape) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = csv_shape,
     .doc = "The records of CSV files."},
    {.name = "CSVDatasetV2",
     .inputs = "filenames: string; compression_type: string; buffer_size: int64; header: bool; "
               "field_delim: string; use_quote_delim: bool; na_value: string; select_cols: int64; "
               "record_defaults: output_types; exclude_cols: int64",
     .outputs = "handle: variant",
     .attrs = "output_types: list({float, double, int32, int64, string}); output_shapes: "
              "list(shape) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = csv_v2_shape,
     .doc = "CSVDataset; columns may also be left out."},
    // Elements that were saved.
    {.name = "SaveDataset",
     .inputs = "input_dataset: variant; path: string; shard_func_other_args: Tshard_func_args",
     .attrs = "compression: string = ''; shard_func: func; use_shard_func: bool = true; "
              "Tshard_func_args: list(type) >= 0",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Writes elements to files, which a function shares out to shards."},
    {.name = "SaveDatasetV2",
     .inputs = "input_dataset: variant; path: string; shard_func_other_args: Tshard_func_args",
     .outputs = "handle: variant",
     .attrs = "compression: string = ''; shard_func: func; use_shard_func: bool = true; "
              "Tshard_func_args: list(type) >= 0; " LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The elements, which are written to files as they are given."},
    {.name = "LoadDataset",
     .inputs = "path: string; reader_func_other_args: Treader_func_args",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; compression: string = ''; reader_func: func; "
              "Treader_func_args: list(type) >= 0",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The elements that SaveDataset has written."},
    // Random numbers.
    {.name = "GeneratorDataset",
     .inputs = "init_func_other_args: Tinit_func_args; next_func_other_args: Tnext_func_args; "
               "finalize_func_other_args: Tfinalize_func_args",
     .outputs = "handle: variant",
     .attrs = "init_func: func; next_func: func; finalize_func: func; "
              "Tinit_func_args: list(type) >= 0; Tnext_func_args: list(type) >= 0; "
              "Tfinalize_func_args: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "What a function gives, again and again, until it fails with OUT_OF_RANGE."},
    {.name = "ListDataset",
     .inputs = "tensors: Tinput_types",
     .outputs = "handle: variant",
     .attrs = "Tinput_types: list(type) >= 1; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Elements whose components are the inputs, one element after the other."},
    {.name = "RandomDataset",
     .inputs = "seed: int64; seed2: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Random numbers, without end."},
    {.name = "RandomDatasetV2",
     .inputs = "seed: int64; seed2: int64; seed_generator: resource",
     .outputs = "handle: variant",
     .attrs = "rerandomize_each_iteration: bool = false; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "RandomDataset with a generator of seeds."},
    LEAT_OP_ROWS_END,
};
