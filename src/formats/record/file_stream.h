// A file that is read from its first byte to its last, and decompressed on the way when it is
// compressed.
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
// The size of the file itself, and not of the bytes to which it decompresses.
LEAT_MUST_USE leat_status_t leat_file_stream_size(leat_file_stream_t* stream, uint64_t* out_size);
leat_record_source_t* leat_file_stream_source(leat_file_stream_t* stream);

#endif  // LEAT_FORMATS_RECORD_FILE_STREAM_H_
