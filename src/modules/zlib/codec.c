// The zlib module's table of functions: zlib's deflate and inflate as codecs
// (formats/record/compression.h), for the formats ZLIB and GZIP, and for writing also bare deflate.
// How a compressor works is its creator's choice, in zlib's own numbers, so that the bytes can be
// those that TensorFlow writes. A codec is a z_stream; each step gives it the caller's buffers and
// takes back how far it came, so that no data are copied here. A gzip file may consist of several
// members one after the other: at the end of one the stream is reset for the next, so that the end
// of the data is where the caller's bytes end.
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "formats/record/zlib_module.h"

// adding 16 to the window's bits selects the gzip format
enum { GZIP_WINDOW = MAX_WBITS + 16 };

struct leat_codec_s {
  z_stream stream;
  bool is_compressor, is_gzip;
};

static int code_of(int result) {
  switch (result) {
    case Z_OK:
    case Z_STREAM_END:
    // Z_BUF_ERROR means that a buffer was full or empty, and the caller comes again
    case Z_BUF_ERROR: return LEAT_OK;
    case Z_MEM_ERROR: return LEAT_RESOURCE_EXHAUSTED;
    default: return LEAT_DATA_LOSS;
  }
}

// Gives the codec out where zlib's stream in it was made with |result| Z_OK, else frees it.
static int end_create(leat_codec_t* codec, int result, leat_codec_t** out_codec) {
  if (result == Z_OK) {
    *out_codec = codec;
    return LEAT_OK;
  }
  free(codec);
  return result == Z_MEM_ERROR      ? LEAT_RESOURCE_EXHAUSTED
         : result == Z_STREAM_ERROR ? LEAT_INVALID_ARGUMENT
                                    : LEAT_INTERNAL;
}

static int decompressor_create(leat_compression_t format, leat_codec_t** out_codec) {
  leat_codec_t* codec = calloc(1, sizeof *codec);
  if (!codec) return LEAT_RESOURCE_EXHAUSTED;
  codec->is_gzip = format == LEAT_COMPRESSION_GZIP;
  const int window = codec->is_gzip ? GZIP_WINDOW : MAX_WBITS;
  return end_create(codec, inflateInit2(&codec->stream, window), out_codec);
}

static int compressor_create(const leat_codec_options_t* options, leat_codec_t** out_codec) {
  leat_codec_t* codec = calloc(1, sizeof *codec);
  if (!codec) return LEAT_RESOURCE_EXHAUSTED;
  codec->is_compressor = true;
  const int result = deflateInit2(&codec->stream, options->level, Z_DEFLATED, options->window_bits,
                                  options->memory_level, options->strategy);
  return end_create(codec, result, out_codec);
}

static void destroy(leat_codec_t* codec) {
  if (!codec) return;
  if (codec->is_compressor) {
    deflateEnd(&codec->stream);
  } else {
    inflateEnd(&codec->stream);
  }
  free(codec);
}

// One call of zlib. |*out_end| is set at the end of the stream; for a flush, when everything is
// written, which zlib shows by leaving room in the output.
static int run(leat_codec_t* codec, leat_codec_mode_t mode, bool* out_end) {
  _Static_assert(LEAT_CODEC_PARTIAL_FLUSH == Z_PARTIAL_FLUSH && LEAT_CODEC_FINISH == Z_FINISH &&
                     LEAT_CODEC_BLOCK_FLUSH == Z_BLOCK,
                 "the modes have zlib's numbers");
  z_stream* z = &codec->stream;
  int result;
  if (codec->is_compressor) {
    result = deflate(z, (int)mode);
    const bool is_flush = mode != LEAT_CODEC_RUN && mode != LEAT_CODEC_FINISH;
    *out_end = result == Z_STREAM_END || (is_flush && z->avail_in == 0 && z->avail_out > 0);
  } else {
    result = inflate(z, Z_NO_FLUSH);
    *out_end = result == Z_STREAM_END && !codec->is_gzip;
    if (result == Z_STREAM_END && codec->is_gzip) result = inflateReset(z);
  }
  return code_of(result);
}

// zlib counts its buffers in 32 bits, so that larger ones are given in pieces.
static int step(leat_codec_t* codec, leat_codec_mode_t mode, leat_codec_buffers_t* b,
                bool* out_end) {
  z_stream* z = &codec->stream;
  size_t took = b->from_size < UINT_MAX ? b->from_size : UINT_MAX;
  size_t gave = b->to_size < UINT_MAX ? b->to_size : UINT_MAX;
  z->next_in = (z_const Bytef*)b->from;
  z->avail_in = (uInt)took;
  z->next_out = (Bytef*)b->to;
  z->avail_out = (uInt)gave;
  int code = run(codec, mode, out_end);
  took -= z->avail_in;
  gave -= z->avail_out;
  *b = (leat_codec_buffers_t){(const char*)z->next_in, b->from_size - took, (char*)z->next_out,
                              b->to_size - gave};
  return code;
}

__attribute__((visibility("default"))) const leat_zlib_module_t* leat_module_zlib(void) {
  static const leat_zlib_module_t kModule = {
      .struct_size = sizeof(leat_zlib_module_t),
      .version = ZLIB_VERSION,
      .decompressor_create = decompressor_create,
      .destroy = destroy,
      .step = step,
      .compressor_create = compressor_create,
  };
  return zlibVersion()[0] == ZLIB_VERSION[0] ? &kModule : NULL;
}
