// Reading of Snappy's block format, which old tables and compressed elements have.
#ifndef LEAT_FORMATS_RECORD_SNAPPY_BLOCK_H_
#define LEAT_FORMATS_RECORD_SNAPPY_BLOCK_H_

#include "base/allocator.h"
#include "base/string_view.h"

// Decompresses |bytes| whole into |*out_data|, which the caller frees. DATA_LOSS when malformed;
// the stated size is believed only up to what so many bytes can stand for.
LEAT_MUST_USE leat_status_t leat_snappy_decompress(leat_string_view_t bytes,
                                                   leat_allocator_t* allocator, char** out_data,
                                                   size_t* out_size);

#endif  // LEAT_FORMATS_RECORD_SNAPPY_BLOCK_H_
