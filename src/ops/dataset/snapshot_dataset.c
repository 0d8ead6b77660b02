// Definitions of the datasets that keep the elements of their input in files, and of those that
// read such files. Which files, ops/dataset/snapshot_cpu.h says; the kernels are in
// snapshot_dataset_cpu.c.
#include "graph/inference/inference.h"
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

static leat_status_t snapshot_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  return leat_shape_scalar_output(c);
}

const leat_op_row_t leat_snapshot_dataset_ops[] = {
    {.name = "SnapshotDataset",
     .inputs = "input_dataset: variant; path: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS
     "; compression: string = ''; reader_path_prefix: string = ''; writer_path_prefix: string = "
     "''; shard_size_bytes: int = 10737418240; pending_snapshot_expiry_seconds: int = 86400; "
     "num_reader_threads: int = 1; reader_buffer_size: int = 1; num_writer_threads: int = 1; "
     "writer_buffer_size: int = 1; shuffle_on_read: bool = false; seed: int = 0; seed2: int = 0; "
     "mode: string = 'auto'; snapshot_name: string = ''",
     .shape = leat_shape_of_scalars,
     .doc = "The elements, written to files or read from them, as a mode says."},
    {.name = "SnapshotDatasetV2",
     .inputs = "input_dataset: variant; path: string; reader_func_other_args: Treader_func_args; "
               "shard_func_other_args: Tshard_func_args",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS
     "; compression: string = ''; reader_prefix: string = ''; writer_prefix: string = ''; "
     "hash_valid: bool = false; hash: int = 0; reader_func: func; shard_func: func; "
     "Treader_func_args: list(type) >= 0; Tshard_func_args: list(type) >= 0" LEAT_METADATA_ATTR,
     .shape = snapshot_shape,
     .doc = "The elements; the first pass writes them to files, and later ones read these."},
    {.name = "SnapshotDatasetReader",
     .inputs = "shard_dir: string; start_index: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; compression: string = ''; version: int",
     .shape = leat_shape_of_scalars,
     .doc = "The elements of a shard of a snapshot, from one on."},
    {.name = "SnapshotNestedDatasetReader",
     .inputs = "inputs: N * variant",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; N: int",
     .shape = leat_shape_scalar_output,
     .doc = "The inputs, which are datasets, as elements."},
    {.name = "ListSnapshotChunksDataset",
     .inputs = "snapshot_path: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_scalars,
     .doc = "The paths of the files of a snapshot, while it is written."},
    {.name = "SnapshotChunkDataset",
     .inputs = "chunk_file: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; compression: string = ''",
     .shape = leat_shape_of_scalars,
     .doc = "The elements of a file of a snapshot."},
    LEAT_OP_ROWS_END,
};
