// Writing in Snappy's format: blocks, and files of them as snapshots of datasets are. What reads
// them is in snappy_block.h and file_stream.h.
#ifndef LEAT_FORMATS_RECORD_SNAPPY_FILE_H_
#define LEAT_FORMATS_RECORD_SNAPPY_FILE_H_

#include "base/file_system.h"
#include "base/string_builder.h"

// The most bytes of a block of a file.
#define LEAT_SNAPPY_BLOCK_BYTES 65536
// Appends |bytes|, fewer than 2^32, to |out| as one block. |out| keeps its errors.
void leat_snappy_compress(leat_string_view_t bytes, leat_string_builder_t* out);

// A file for writing whose bytes arrive in |file| as blocks, each after its size in 4 bytes,
// big-endian. It owns |file| from then on, also where this fails. A block is written when it is
// full, and by sync and close.
LEAT_MUST_USE leat_status_t leat_snappy_file_create(leat_file_t* file, leat_allocator_t* allocator,
                                                    leat_file_t** out_file);

#endif  // LEAT_FORMATS_RECORD_SNAPPY_FILE_H_
