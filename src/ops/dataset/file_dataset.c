// Definitions of the datasets that read files: lines, TFRecords and records of a fixed length.
#include "graph/inference/handle_shape.h"
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

const leat_op_row_t leat_file_dataset_ops[] = {
    {.name = "TextLineDataset",
     .inputs = "filenames: string; compression_type: string; buffer_size: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = files_shape,
     .doc = "The lines of files."},
    {.name = "TFRecordDataset",
     .inputs = "filenames: string; compression_type: string; buffer_size: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = files_shape,
     .doc = "The records of TFRecord files."},
    {.name = "TFRecordDatasetV2",
     .inputs =
         "filenames: string; compression_type: string; buffer_size: int64; byte_offsets: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = offsets_shape,
     .doc = "The records of TFRecord files from an offset on."},
    {.name = "FixedLengthRecordDataset",
     .inputs = "filenames: string; header_bytes: int64; record_bytes: int64; footer_bytes: int64; "
               "buffer_size: int64",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = fixed_shape,
     .doc = "Records of one size of files."},
    {.name = "FixedLengthRecordDatasetV2",
     .inputs = "filenames: string; header_bytes: int64; record_bytes: int64; footer_bytes: int64; "
               "buffer_size: int64; compression_type: string",
     .outputs = "handle: variant",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = fixed_shape,
     .doc = "Records of one size of files, perhaps compressed."},
    LEAT_OP_ROWS_END,
};
