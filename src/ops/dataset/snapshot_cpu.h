// Where SaveDataset puts the elements of a dataset, and LoadDataset finds them. The files are those
// of TensorFlow's snapshots of version 2:
//
//   <path>/snapshot.metadata                       a SnapshotMetadataRecord: |run|, types, count
//   <path>/<run>/00000000.shard/00000000.snapshot  TFRecords: a TensorProto for each component
//
// Another save makes another run and then replaces the metadata, so that what is read is always one
// whole run.
#ifndef LEAT_OPS_DATASET_SNAPSHOT_CPU_H_
#define LEAT_OPS_DATASET_SNAPSHOT_CPU_H_

#include "base/string_builder.h"
#include "formats/generated/snapshot.h"
#include "ops/dataset/dataset_cpu.h"

// Publishes the metadata of elements that are as |spec| says, in the directory |path|.
LEAT_MUST_USE leat_status_t leat_snapshot_write_metadata(leat_string_view_t path,
                                                         leat_string_view_t run,
                                                         const leat_element_spec_t* spec,
                                                         int64_t count, bool is_final);
// Reads the metadata, whose texts lie in |arena|. NOT_FOUND where there is none.
LEAT_MUST_USE leat_status_t leat_snapshot_read_metadata(
    leat_string_view_t path, leat_arena_t* arena,
    leat_pb_snapshot_metadata_record_t* out_metadata);

#endif  // LEAT_OPS_DATASET_SNAPSHOT_CPU_H_
