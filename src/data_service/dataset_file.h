// Datasets that a dispatcher keeps in its work directory, where workers that see the same files may
// read them: a TFRecord file with one record, a DatasetDef.
#ifndef LEAT_DATA_SERVICE_DATASET_FILE_H_
#define LEAT_DATA_SERVICE_DATASET_FILE_H_

#include "base/arena.h"
#include "formats/generated/data_service.h"

// Writes the file, whole or not at all.
LEAT_MUST_USE leat_status_t leat_dataset_file_write(const char* path,
                                                    const leat_pb_dataset_def_t* def);
// Reads a file into |arena|. DATA_LOSS where it is no such file.
LEAT_MUST_USE leat_status_t leat_dataset_file_read(leat_string_view_t path, leat_arena_t* arena,
                                                   leat_pb_dataset_def_t* out_def);

#endif  // LEAT_DATA_SERVICE_DATASET_FILE_H_
