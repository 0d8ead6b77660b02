// A file that is read from its front to its end, decompressed on the way: the input of datasets of
// text lines and fixed-length records. The stream offers a leat_record_source_t, which is one of
// three:
//
//   no compression      file ─▶ bytes ─▶ reader
//   ZLIB, GZIP          file ─▶ bytes ─▶ decompressor (compression.c) ─▶ reader
//   SNAPPY              file ─▶ bytes ─▶ blocks, each decompressed here ─▶ reader
//
// TensorFlow frames Snappy data itself: each block begins with its compressed size as four bytes,
// most significant first. A size is refused when it exceeds the file's, before memory is taken for
// it, because the four bytes may be anybody's. A stream belongs to one thread at a time.
#include "formats/record/file_stream.h"

#include <string.h>

#include "formats/record/compression.h"
#include "formats/record/snappy_block.h"

struct leat_file_stream_s {
  leat_record_source_t blocks;  // reads Snappy's blocks; first, so that it can be cast back
  leat_allocator_t* allocator;
  leat_file_t* file;
  leat_record_file_source_t bytes;
  leat_record_source_t* source;
  leat_decompressor_t* decompressor;
  char* block;
  size_t begin, end;  // what is left of |block|
};

// Reads and decompresses the next block. At the end of the file it reads nothing, and |end| stays
// equal to |begin|.
static leat_status_t read_block(leat_file_stream_t* s) {
  enum { MAX_BLOCK_BYTES = 1 << 30 };
  uint8_t head[4];
  char* compressed;
  size_t size;
  leat_record_source_t* bytes = &s->bytes.base;
  LEAT_RETURN_IF_ERROR(bytes->read(bytes, head, sizeof head, &size));
  if (size == 0) return leat_ok_status();
  if (size < sizeof head) {
    return leat_make_status(LEAT_DATA_LOSS, "%s ends in the size of a block", s->file->path);
  }
  size_t wanted = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
  uint64_t file_size;
  LEAT_RETURN_IF_ERROR(s->file->vtable->size(s->file, &file_size));
  if (wanted == 0 || wanted > MAX_BLOCK_BYTES || wanted > file_size) {
    return leat_make_status(LEAT_DATA_LOSS, "%s: a block of %zu bytes, more than the file has",
                            s->file->path, wanted);
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(s->allocator, wanted, &compressed));
  leat_status_t status = bytes->read(bytes, compressed, wanted, &size);
  if (!status && size < wanted) {
    status = leat_make_status(LEAT_DATA_LOSS, "%s ends in a block", s->file->path);
  }
  leat_allocator_free(s->allocator, s->block);
  s->block = NULL;
  s->begin = s->end = 0;
  if (!status) {
    status = leat_snappy_decompress(leat_string_view_make(compressed, wanted), s->allocator,
                                    &s->block, &s->end);
  }
  leat_allocator_free(s->allocator, compressed);
  return status;
}

// Reads from the current block, and goes on to the next one where it ends.
static leat_status_t blocks_read(leat_record_source_t* self, void* data, size_t size,
                                 size_t* out_read) {
  leat_file_stream_t* s = (leat_file_stream_t*)self;
  for (*out_read = 0; *out_read < size;) {
    if (s->begin == s->end) LEAT_RETURN_IF_ERROR(read_block(s));
    size_t part = s->end - s->begin;
    if (part == 0) break;
    if (part > size - *out_read) part = size - *out_read;
    memcpy((char*)data + *out_read, s->block + s->begin, part);
    s->begin += part;
    *out_read += part;
  }
  return leat_ok_status();
}

// Sets the source of the compression that |name| states.
static leat_status_t set_source(leat_file_stream_t* s, leat_string_view_t name) {
  leat_compression_t compression;
  leat_record_file_source_initialize(s->file, 0, &s->bytes);
  s->source = &s->bytes.base;
  if (leat_string_view_equals(name, "SNAPPY")) {
    s->blocks.read = blocks_read;
    s->source = &s->blocks;
    return leat_ok_status();
  }
  if (!leat_compression_from_name(name, &compression)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "compression is '%.*s', must be ZLIB, GZIP, SNAPPY or empty",
                            LEAT_SV_ARG(name));
  }
  if (compression == LEAT_COMPRESSION_NONE) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_decompressor_create(&s->bytes.base, compression, 0, s->allocator,
                                                &s->decompressor));
  s->source = leat_decompressor_source(s->decompressor);
  return leat_ok_status();
}

leat_status_t leat_file_stream_open(leat_file_system_t* fs, const char* path,
                                    leat_string_view_t compression, leat_allocator_t* allocator,
                                    leat_file_stream_t** out_stream) {
  leat_file_stream_t* s;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &s));
  s->allocator = allocator;
  leat_status_t status = leat_file_open(fs, path, LEAT_FILE_READ, allocator, &s->file);
  if (!status) status = set_source(s, compression);
  if (status) {
    leat_file_stream_close(s);
    return status;
  }
  *out_stream = s;
  return leat_ok_status();
}

void leat_file_stream_close(leat_file_stream_t* s) {
  if (!s) return;
  leat_decompressor_free(s->decompressor);
  leat_allocator_free(s->allocator, s->block);
  leat_status_free(leat_file_close(s->file));  // nothing was written that could be lost
  leat_allocator_free(s->allocator, s);
}

leat_status_t leat_file_stream_size(leat_file_stream_t* s, uint64_t* out_size) {
  return s->file->vtable->size(s->file, out_size);
}

leat_record_source_t* leat_file_stream_source(leat_file_stream_t* s) { return s->source; }
