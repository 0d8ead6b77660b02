// The files of a snapshot that the workers of a data service write together (DistributedSave). Both
// sides use them: the dispatcher (snapshot.h), and the writers of streams (stream_writer.h). They
// are TensorFlow's:
//
//   PATH/snapshot.metadata             DistributedSnapshotMetadata, as text
//        dataset_spec.pb               the types of the elements, as the client sent them
//        dataset_def.proto             DatasetDef: the graph
//        streams/stream_N/             what one worker writes
//            owner_worker              its address
//            splits/source_S/repetition_R/split_L_G
//                                      the L-th split of the source that the stream was given, and
//                                      the G-th of all: a record, a scalar as TensorProto
//            uncommitted_chunks/       elements that nobody may read yet
//            checkpoints/              how many of these will be there (stream_writer.h)
//            DONE, ERROR               the stream has ended
//        chunks/chunk_N_C_E            E elements, chunk C of stream N: a record for each component
//        prefetched_splits/            where a split is written before it gets its name
//        DONE, ERROR                   the snapshot has ended; ERROR is a StatusProto, as text
//
// Directories whose entries are listed hold only entries of these names: whatever else is written
// there appears by a rename.
#ifndef LEAT_DATA_SERVICE_SNAPSHOT_FILES_H_
#define LEAT_DATA_SERVICE_SNAPSHOT_FILES_H_

#include "base/file_system.h"
#include "base/string_builder.h"
#include "formats/wire/message.h"

// Reads the numbers of a name, as 3, 7 of "split_3_7" for "split_" and 2. The last one may be -1,
// as TensorFlow writes it of a chunk whose elements it has not counted. false for other names.
bool leat_snapshot_parse_name(const char* name, const char* prefix, size_t count,
                              int64_t* out_numbers);

// An entry of a directory, by the numbers in its name.
typedef struct leat_snapshot_entry_s {
  int64_t numbers[3];
} leat_snapshot_entry_t;

typedef struct leat_snapshot_entries_s {
  leat_snapshot_entry_t* items;  // in the order of their numbers
  size_t count;
} leat_snapshot_entries_t;

// Lists the entries of |directory|, whose names are |prefix| and |number_count| numbers, in
// |arena|. No entries where there is no such directory. DATA_LOSS, naming it, for an entry of
// another name.
LEAT_MUST_USE leat_status_t leat_snapshot_list(leat_file_system_t* fs, const char* directory,
                                               const char* prefix, size_t number_count,
                                               leat_arena_t* arena,
                                               leat_snapshot_entries_t* out_entries);

// Whether there is a file or a directory at |path|. An error is not taken for its absence, since a
// stream that was overlooked would have its elements written twice.
LEAT_MUST_USE leat_status_t leat_snapshot_find(leat_file_system_t* fs, const char* path,
                                               bool* out_is_there);

// Writes the file of a split, whole or not at all: first as |temporary|, which is renamed then.
// Nothing waits for the disk.
LEAT_MUST_USE leat_status_t leat_snapshot_write_split(leat_file_system_t* fs,
                                                      const char* temporary, const char* path,
                                                      int64_t split);
// DATA_LOSS where the file holds no scalar of int64.
LEAT_MUST_USE leat_status_t leat_snapshot_read_split(leat_file_system_t* fs, const char* path,
                                                     int64_t* out_split);
// Reads a file that holds the message of |descriptor|, as bytes or as text, into |arena|.
LEAT_MUST_USE leat_status_t leat_snapshot_read_message(leat_file_system_t* fs, const char* path,
                                                       bool is_text,
                                                       const leat_message_descriptor_t* descriptor,
                                                       leat_arena_t* arena, void* out_message);
// Writes such a file, whole or not at all, and waits for the disk.
LEAT_MUST_USE leat_status_t leat_snapshot_write_message(
    leat_file_system_t* fs, const char* path, bool is_text,
    const leat_message_descriptor_t* descriptor, const void* message);

#endif  // LEAT_DATA_SERVICE_SNAPSHOT_FILES_H_
