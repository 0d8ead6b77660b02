// Decompression of zlib's and gzip's formats (RFC 1950 to 1952), as a source of bytes over another.
#ifndef LEAT_FORMATS_INFLATE_H_
#define LEAT_FORMATS_INFLATE_H_

#include "base/allocator.h"
#include "formats/record.h"

typedef enum leat_inflate_format_e {
  LEAT_INFLATE_ZLIB,  // one stream; what follows it is not read
  LEAT_INFLATE_GZIP,  // members one after the other
} leat_inflate_format_t;

typedef struct leat_inflate_s leat_inflate_t;

// |compressed| is borrowed. Reads DATA_LOSS where the bytes break a rule or a checksum; compressed
// bytes that end early end the bytes that come out, as TensorFlow has it.
LEAT_MUST_USE leat_status_t leat_inflate_create(leat_record_source_t* compressed,
                                                leat_inflate_format_t format,
                                                leat_allocator_t* allocator,
                                                leat_inflate_t** out_inflate);
void leat_inflate_free(leat_inflate_t* inflate);  // NULL is allowed
leat_record_source_t* leat_inflate_source(leat_inflate_t* inflate);

#endif  // LEAT_FORMATS_INFLATE_H_
