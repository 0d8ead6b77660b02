// A file's bytes from the first to the last, decompressed on the way where it is compressed.
#ifndef LEAT_FORMATS_RECORD_FILE_STREAM_H_
#define LEAT_FORMATS_RECORD_FILE_STREAM_H_

#include "base/file_system.h"
#include "formats/record/record.h"

typedef struct leat_file_stream_s leat_file_stream_t;

// |compression| is "ZLIB", "GZIP", "SNAPPY" (blocks, each after its size in 4 bytes, big-endian) or
// "" for none; INVALID_ARGUMENT for others, UNIMPLEMENTED without the module that it needs.
LEAT_MUST_USE leat_status_t leat_file_stream_open(leat_file_system_t* fs, const char* path,
                                                  leat_string_view_t compression,
                                                  leat_allocator_t* allocator,
                                                  leat_file_stream_t** out_stream);
void leat_file_stream_close(leat_file_stream_t* stream);  // NULL is allowed
// Of the file, not of what it decompresses to.
LEAT_MUST_USE leat_status_t leat_file_stream_size(leat_file_stream_t* stream, uint64_t* out_size);
leat_record_source_t* leat_file_stream_source(leat_file_stream_t* stream);

#endif  // LEAT_FORMATS_RECORD_FILE_STREAM_H_
