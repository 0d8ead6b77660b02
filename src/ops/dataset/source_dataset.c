// Definitions of the datasets that begin a pipeline: those whose elements come from tensors of the
// graph, from files, and from a generator of random numbers.
//
// All are marked stateful, as in TensorFlow, so that no pass folds one into a constant or takes two
// of them for one. Some hold references to the tensors of their inputs, since the elements are read
// when the step that made the dataset may long have ended. The kernels are in
// tensor_dataset_cpu.c, sparse_slice_dataset_cpu.c, file_dataset_cpu.c and
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

static leat_status_t offsets_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 3), 1));
  return files_shape(c);
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
    {.name = "TextLineDataset",
     .inputs = "filenames: string; compression_type: string; buffer_size: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = files_shape,
     .doc = "The lines of files."},
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
