// The interface of leat_module_zlib.so: what the zlib library does for us, as plain C functions, so
// that the library links none of it. base/module.h opens the module; compression.h makes streams of
// it. A codec compresses or decompresses one stream, step by step, between buffers of the caller's:
//
//   while (!end) {
//     refill buffers.from and empty buffers.to where they are used up
//     code = module->step(codec, mode, &buffers, &end);
//   }
//
// A codec is used by one thread at a time and holds at most 300 KB, whatever it is fed.
#ifndef LEAT_FORMATS_RECORD_ZLIB_MODULE_H_
#define LEAT_FORMATS_RECORD_ZLIB_MODULE_H_

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum leat_compression_e {
  LEAT_COMPRESSION_NONE,
  LEAT_COMPRESSION_ZLIB,  // RFC 1950: one stream; what follows it is not read
  LEAT_COMPRESSION_GZIP,  // RFC 1952: members one after the other
} leat_compression_t;

// What a compressor shall do with its input, in zlib's numbers; a decompressor always gets
// LEAT_CODEC_RUN. The flushes put out all that came in and differ in what they write for it.
typedef enum leat_codec_mode_e {
  LEAT_CODEC_RUN = 0,            // more will follow
  LEAT_CODEC_PARTIAL_FLUSH = 1,  // with an empty block of a few bits
  LEAT_CODEC_SYNC_FLUSH = 2,     // with an empty block that ends at a whole byte
  LEAT_CODEC_FULL_FLUSH = 3,     // the same, and what follows refers to nothing before it
  LEAT_CODEC_FINISH = 4,         // the stream ends
  LEAT_CODEC_BLOCK_FLUSH = 5,    // a block ends; its last bits may wait for the next one
} leat_codec_mode_t;

// How a compressor works, in zlib's numbers. The window's bits say the format too.
typedef struct leat_codec_options_s {
  int level;         // 0 stores, 1 is fast, 9 is small; -1 takes zlib's default, which is 6
  int window_bits;   // 8 to 15 for ZLIB, 16 more for GZIP, negative for bare deflate (RFC 1951)
  int memory_level;  // 1 to 9
  int strategy;      // 0 to 4: default, filtered, Huffman only, runs, fixed codes
} leat_codec_options_t;

// The input and the output of a step. A step moves both pointers forward and lowers both sizes by
// what it used, and may leave either unfinished.
typedef struct leat_codec_buffers_s {
  const char* from;
  size_t from_size;
  char* to;
  size_t to_size;
} leat_codec_buffers_t;

typedef struct leat_codec_s leat_codec_t;

// Functions return one of leat_status_code_t.
typedef struct leat_zlib_module_s {
  size_t struct_size;   // of the module's struct: a field past it is absent
  const char* version;  // "1.2.13"
  // One of the two formats. RESOURCE_EXHAUSTED without memory.
  int (*decompressor_create)(leat_compression_t format, leat_codec_t** out_codec);
  void (*destroy)(leat_codec_t* codec);  // NULL is allowed
  // Goes on as far as the buffers allow. |*out_end|: the stream is at its end (a compressor's:
  // nothing of a flush or of the finish is left to put out; a decompressor of GZIP never is, and
  // takes the next member). DATA_LOSS where the bytes break a rule or a checksum.
  int (*step)(leat_codec_t* codec, leat_codec_mode_t mode, leat_codec_buffers_t* inout_buffers,
              bool* out_end);
  // INVALID_ARGUMENT for options that zlib does not have.
  int (*compressor_create)(const leat_codec_options_t* options, leat_codec_t** out_codec);
} leat_zlib_module_t;

// The module's only exported symbol, `leat_module_zlib`, has this type.
const leat_zlib_module_t* leat_module_zlib(void);

#endif  // LEAT_FORMATS_RECORD_ZLIB_MODULE_H_
