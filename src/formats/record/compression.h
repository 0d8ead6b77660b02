// Streams that compress or decompress bytes as they pass. The module zlib does the work; where it
// cannot be loaded, the create functions return UNIMPLEMENTED with a message that names the package
// to install.
#ifndef LEAT_FORMATS_RECORD_COMPRESSION_H_
#define LEAT_FORMATS_RECORD_COMPRESSION_H_

#include "base/file_system.h"
#include "formats/record/record.h"
#include "formats/record/zlib_module.h"

// The limit for what is decompressed into one piece of memory (a string, a record). A few kilobytes
// can decompress to far more, and no message may be larger either.
#define LEAT_COMPRESSION_MAX_BYTES ((uint64_t)INT32_MAX)

// The module's table; NULL when it cannot be loaded.
const leat_zlib_module_t* leat_compression_module(void);

// "ZLIB", "GZIP" and "" for none. false for other names.
bool leat_compression_from_name(leat_string_view_t name, leat_compression_t* out_compression);

typedef struct leat_decompressor_s leat_decompressor_t;

// A source of bytes over another, which is borrowed. Reading returns DATA_LOSS where the compressed
// bytes break a rule or a checksum; compressed bytes that end early end the bytes that come out, as
// TensorFlow has it. More than |max_bytes| in all (0: no limit) are RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_decompressor_create(leat_record_source_t* compressed,
                                                     leat_compression_t format, uint64_t max_bytes,
                                                     leat_allocator_t* allocator,
                                                     leat_decompressor_t** out_decompressor);
void leat_decompressor_free(leat_decompressor_t* decompressor);  // NULL is allowed
leat_record_source_t* leat_decompressor_source(leat_decompressor_t* decompressor);

// How a file is compressed. The bytes that come out depend on nothing else.
typedef struct leat_compression_options_s {
  leat_codec_options_t codec;
  // What happens whenever |input_bytes| (at least 1) have come in or do not fit any more:
  // LEAT_CODEC_RUN, where the codec alone decides what it keeps back, or one of the flushes.
  leat_codec_mode_t flush_mode;
  size_t input_bytes;
} leat_compression_options_t;

// What TensorFlow takes where nothing is said. |format| is not NONE.
leat_compression_options_t leat_compression_default(leat_compression_t format);

// A file for writing whose bytes arrive compressed in |file|, which it owns from then on, also
// where this fails. flush and sync make all that was written readable; close ends the stream.
LEAT_MUST_USE leat_status_t leat_compressed_file_create(leat_file_t* file,
                                                        leat_compression_t format,
                                                        leat_allocator_t* allocator,
                                                        leat_file_t** out_file);
// The same with options of the caller's. INVALID_ARGUMENT where zlib does not have them.
LEAT_MUST_USE leat_status_t leat_compressed_file_create_with(
    leat_file_t* file, const leat_compression_options_t* options, leat_allocator_t* allocator,
    leat_file_t** out_file);
// Ends the stream of such a |file|, so that a sync reaches the disk with its end and without a
// flush in front of it. Nothing can be written afterwards: FAILED_PRECONDITION.
LEAT_MUST_USE leat_status_t leat_compressed_file_finish(leat_file_t* file);

#endif  // LEAT_FORMATS_RECORD_COMPRESSION_H_
