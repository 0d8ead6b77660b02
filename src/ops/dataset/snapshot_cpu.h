// Snapshots: the elements of a dataset in files. SaveDataset and SnapshotDatasetV2 write them,
// LoadDataset, SnapshotDatasetV2 and SnapshotDatasetReader read them. The files are those of
// TensorFlow's snapshots of version 2:
//
//   <path>/snapshot.metadata                       a SnapshotMetadataRecord: |run|, types, count
//   <path>/<run>/00000000.shard/00000000.snapshot  TFRecords: a TensorProto for each component
//
// SnapshotDataset writes files of version 1, without shards, and reads them:
//
//   <path>/<run>/00000000.snapshot                 a record for each element, after its size
//
// Another save makes another run and then replaces the metadata, so that what is read is always one
// whole run.
#ifndef LEAT_OPS_DATASET_SNAPSHOT_CPU_H_
#define LEAT_OPS_DATASET_SNAPSHOT_CPU_H_

#include "base/map.h"
#include "base/string_builder.h"
#include "formats/generated/snapshot.h"
#include "formats/record/byte_reader.h"
#include "ops/dataset/dataset_cpu.h"

// ---- Metadata (snapshot_cpu.c) ------------------------------------------------------------------

// TensorFlow's numbers for the format of the files.
enum {
  LEAT_SNAPSHOT_COMPRESSED_FILES = 0,    // records, in files that are compressed
  LEAT_SNAPSHOT_COMPRESSED_RECORDS = 1,  // the same, but Snappy compresses each record by itself
  LEAT_SNAPSHOT_TF_RECORDS = 2,
};

// How the elements of a snapshot lie in its files. All is borrowed.
typedef struct leat_snapshot_format_s {
  leat_element_spec_t* spec;
  const char* compression;
  int64_t version;
} leat_snapshot_format_t;

// What the metadata say. |graph_hash| may be empty.
typedef struct leat_snapshot_description_s {
  leat_string_view_t run;
  leat_string_view_t graph_hash;
  int64_t version;
  int64_t count;  // of elements, or a LEAT_CARDINALITY_ value; 0 where it is not told
  bool is_final;
} leat_snapshot_description_t;

// Publishes the metadata of elements that are as |spec| says, in the directory |path|.
LEAT_MUST_USE leat_status_t leat_snapshot_write_metadata(
    leat_string_view_t path, const leat_element_spec_t* spec,
    const leat_snapshot_description_t* description);
// Reads the metadata, whose texts lie in |arena|. NOT_FOUND where there is none, UNIMPLEMENTED for
// another version of the files, DATA_LOSS or INVALID_ARGUMENT for bytes that are no metadata.
LEAT_MUST_USE leat_status_t leat_snapshot_read_metadata(
    leat_string_view_t path, leat_arena_t* arena,
    leat_pb_snapshot_metadata_record_t* out_metadata);

// The name of a compression, from the attribute of a node: "", "GZIP", "ZLIB" or "SNAPPY".
typedef struct leat_snapshot_compression_s {
  char name[8];
} leat_snapshot_compression_t;
// Reads the attribute "compression". INVALID_ARGUMENT for another name.
LEAT_MUST_USE leat_status_t leat_snapshot_compression_create(
    leat_kernel_creation_t* c, leat_snapshot_compression_t* out_compression);

// ---- Reading (snapshot_reader_cpu.c) ------------------------------------------------------------

// Makes the dataset of the elements in the shard |directory|, the first |skipped| left out. Its
// iterators answer NOT_FOUND where no file is there, DATA_LOSS where a file is damaged or one
// between others is missing, and INVALID_ARGUMENT where an element is not as |spec| says.
LEAT_MUST_USE leat_status_t leat_snapshot_shard_create(const leat_snapshot_format_t* format,
                                                       leat_string_view_t directory,
                                                       int64_t skipped,
                                                       leat_dataset_t** out_dataset);
// The same of one file.
LEAT_MUST_USE leat_status_t leat_snapshot_chunk_create(const leat_snapshot_format_t* format,
                                                       leat_string_view_t path,
                                                       leat_dataset_t** out_dataset);
// The same of a directory whose files are read in a random order, which follows from |seed|.
LEAT_MUST_USE leat_status_t leat_snapshot_shuffled_create(const leat_snapshot_format_t* format,
                                                          leat_string_view_t directory,
                                                          uint64_t seed,
                                                          leat_dataset_t** out_dataset);
// Makes a dataset of the shards' datasets, each in a variant, of the run |run| in the directory
// |path|, in the order of their names. NOT_FOUND where there is no such run.
LEAT_MUST_USE leat_status_t leat_snapshot_open_run(const leat_snapshot_format_t* format,
                                                   leat_string_view_t path, leat_string_view_t run,
                                                   leat_dataset_t** out_shards);

// ---- Records of versions 0 and 1 (snapshot_record_cpu.c) ----------------------------------------

// Whether Snappy compresses each record of such files by itself.
bool leat_snapshot_packs_records(const leat_snapshot_format_t* format);
// Appends the |count| components of an element, as records of version 1, to |out|. |*text| is a
// scalar string of the caller, whose value is replaced.
LEAT_MUST_USE leat_status_t leat_snapshot_record_append(bool packs, const leat_tensor_t* element,
                                                        int count, leat_tensor_t* text,
                                                        leat_string_builder_t* out);
// Reads the next element, whose components must be as many as |spec| has. OUT_OF_RANGE at the end
// of the file, also inside an element; DATA_LOSS or INVALID_ARGUMENT for bytes that are none.
LEAT_MUST_USE leat_status_t leat_snapshot_record_read(bool packs, const leat_element_spec_t* spec,
                                                      leat_byte_reader_t* bytes,
                                                      leat_tensor_t* out);

// ---- Writing (snapshot_writer_cpu.c) ------------------------------------------------------------

typedef struct leat_snapshot_file_s {
  leat_file_t* file;
  leat_record_writer_t writer;
} leat_snapshot_file_t;

// Writes one run. The file of a shard is made when its first element comes. Belongs to one thread
// at a time.
typedef struct leat_snapshot_writer_s {
  leat_string_view_t path;     // borrowed
  const char* compression;     // borrowed
  leat_string_builder_t run;   // the name of the run
  leat_string_builder_t name;  // of a directory or file
  leat_string_builder_t records;  // of one element
  leat_tensor_t text;             // a scalar, of one component
  leat_word_map_t places;         // shard -> index in |files|
  leat_snapshot_file_t* files;
  size_t file_count, file_room;
  int64_t count;  // elements written
} leat_snapshot_writer_t;

// Initializes a writer of a run in the directory |path|, both borrowed; nothing is made yet.
void leat_snapshot_writer_initialize(leat_string_view_t path, const char* compression,
                                     leat_snapshot_writer_t* out_writer);
// Chooses a name for the run and makes its directory, and those above it.
LEAT_MUST_USE leat_status_t leat_snapshot_writer_begin(leat_snapshot_writer_t* writer);
// Writes the |count| components of an element to |shard|.
LEAT_MUST_USE leat_status_t leat_snapshot_writer_add(leat_snapshot_writer_t* writer, uint64_t shard,
                                                     const leat_tensor_t* element, int count);
// Writes what is left and closes the files. May be called again.
LEAT_MUST_USE leat_status_t leat_snapshot_writer_close(leat_snapshot_writer_t* writer);
// Frees what the writer holds. The files must be closed. Accepts a zeroed writer.
void leat_snapshot_writer_deinitialize(leat_snapshot_writer_t* writer);
// Opens the file |path| for elements, of which |compression| says how all bytes are compressed.
LEAT_MUST_USE leat_status_t leat_snapshot_open_file(const char* path, const char* compression,
                                                    leat_file_t** out_file);
// Takes what a function returned that says to which shard an element goes: a scalar int64.
LEAT_MUST_USE leat_status_t leat_snapshot_take_shard(leat_application_t* call, leat_pull_t* pull,
                                                     uint64_t* out_shard);

#endif  // LEAT_OPS_DATASET_SNAPSHOT_CPU_H_
