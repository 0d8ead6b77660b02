// Streams that compress and decompress, in the formats ZLIB and GZIP, over the module zlib. Records
// and text files may be compressed, and TFRecord files name the format in an option; a
// leat_decompressor_t is a source of bytes like a file, and a compressed file is a leat_file_t, so
// that the readers and writers of records need not know.
//
//   source ─▶ |buffer| of compressed bytes ─▶ codec (module zlib) ─▶ the caller's memory
//   the caller's bytes (─▶ |input|) ─▶ codec ─▶ |buffer| of compressed bytes ─▶ file
//
// The codec keeps its own state but none of our bytes, so each stream has one buffer between the
// codec and the file. A few bytes can decompress to terabytes; a decompressor therefore takes a
// limit for its output (docs/decisions/0007). zlib is loaded when the first stream is created, and
// its absence is a status that names the package.
#include "formats/record/compression.h"

#include <string.h>

#include "base/module.h"

enum { BUFFER_BYTES = 64 * 1024 };

static leat_module_t zlib = {
    .name = "zlib", .struct_size = sizeof(leat_zlib_module_t), .package = "zlib1g"};

const leat_zlib_module_t* leat_compression_module(void) {
  const void* table;
  leat_status_free(leat_module_load(&zlib, &table));
  return table;
}

bool leat_compression_from_name(leat_string_view_t name, leat_compression_t* out_compression) {
  *out_compression = LEAT_COMPRESSION_NONE;
  if (leat_string_view_equals(name, "ZLIB")) *out_compression = LEAT_COMPRESSION_ZLIB;
  if (leat_string_view_equals(name, "GZIP")) *out_compression = LEAT_COMPRESSION_GZIP;
  return name.size == 0 || *out_compression != LEAT_COMPRESSION_NONE;
}

static leat_status_t fail(int code, const char* verb) {
  return leat_make_status((leat_status_code_t)code, "%s failed: %s", verb,
                          code == LEAT_DATA_LOSS          ? "the compressed bytes are damaged"
                          : code == LEAT_INVALID_ARGUMENT ? "zlib does not have these options"
                                                          : "zlib has too little memory");
}

// ---- Reading ------------------------------------------------------------------------------------

struct leat_decompressor_s {
  leat_record_source_t base;  // first, so that it can be cast back
  leat_allocator_t* allocator;
  leat_record_source_t* compressed;
  const leat_zlib_module_t* module;
  leat_codec_t* codec;
  uint64_t left;  // how many bytes may still come out before the limit is reached
  size_t begin, end;  // the range of |buffer| that the codec has not read yet
  bool source_ended, ended;
  char buffer[BUFFER_BYTES];
};

// Reads from the source when the buffer is empty.
static leat_status_t refill(leat_decompressor_t* d) {
  if (d->begin < d->end || d->source_ended) return leat_ok_status();
  d->begin = d->end = 0;
  LEAT_RETURN_IF_ERROR(d->compressed->read(d->compressed, d->buffer, sizeof d->buffer, &d->end));
  d->source_ended = d->end == 0;
  return leat_ok_status();
}

// Reads decompressed bytes. Fewer than |size| come where the compressed data end, or where the
// source ends in the middle of them.
static leat_status_t decompress(leat_record_source_t* self, void* data, size_t size,
                                size_t* out_read) {
  leat_decompressor_t* d = (leat_decompressor_t*)self;
  for (*out_read = 0; *out_read < size && !d->ended;) {
    LEAT_RETURN_IF_ERROR(refill(d));
    leat_codec_buffers_t b = {d->buffer + d->begin, d->end - d->begin, (char*)data + *out_read,
                              size - *out_read};
    size_t took = b.from_size, gave = b.to_size;
    int code = d->module->step(d->codec, LEAT_CODEC_RUN, &b, &d->ended);
    if (code) return fail(code, "Decompressing");
    took -= b.from_size;
    gave -= b.to_size;
    d->begin += took;
    *out_read += gave;
    if (gave > d->left) {
      return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                              "Decompressing failed: the bytes stand for more than the limit");
    }
    d->left -= gave;
    if (took + gave == 0 && d->source_ended) break;  // the input was cut short
  }
  return leat_ok_status();
}

leat_status_t leat_decompressor_create(leat_record_source_t* compressed,
                                       leat_compression_t format, uint64_t max_bytes,
                                       leat_allocator_t* allocator,
                                       leat_decompressor_t** out_decompressor) {
  leat_decompressor_t* d;
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&zlib, &table));
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_uninitialized(allocator, 16, sizeof *d, (void**)&d));
  d->base.read = decompress;
  d->allocator = allocator;
  d->compressed = compressed;
  d->module = table;
  d->left = max_bytes ? max_bytes : UINT64_MAX;
  d->begin = d->end = 0;
  d->source_ended = d->ended = false;
  int code = d->module->decompressor_create(format, &d->codec);
  if (code) {
    leat_allocator_free(allocator, d);
    return fail(code, "Decompressing");
  }
  *out_decompressor = d;
  return leat_ok_status();
}

void leat_decompressor_free(leat_decompressor_t* d) {
  if (!d) return;
  d->module->destroy(d->codec);
  leat_allocator_free(d->allocator, d);
}

leat_record_source_t* leat_decompressor_source(leat_decompressor_t* d) { return &d->base; }

// ---- Writing ------------------------------------------------------------------------------------

// With a flush mode the file collects |input| as TensorFlow's does, because the flushes, whose
// places that decides, show in the bytes.
typedef struct compressed_file_s {
  leat_file_t base;
  leat_allocator_t* allocator;
  leat_file_t* file;
  const leat_zlib_module_t* module;
  leat_codec_t* codec;
  leat_codec_mode_t flush_mode;
  char* input;  // |input_used| of |input_bytes|, which the codec has not seen; NULL for none
  size_t input_used, input_bytes;
  bool finished;
  char buffer[BUFFER_BYTES];
} compressed_file_t;

// Passes |size| bytes through the codec and writes what comes out. With a flush or
// LEAT_CODEC_FINISH it also writes all that the codec has kept back.
static leat_status_t compress(compressed_file_t* f, leat_codec_mode_t mode, const void* data,
                              size_t size) {
  leat_codec_buffers_t b = {.from = data, .from_size = size};
  for (bool end = false; mode == LEAT_CODEC_RUN ? b.from_size > 0 : !end;) {
    b.to = f->buffer;
    b.to_size = sizeof f->buffer;
    int code = f->module->step(f->codec, mode, &b, &end);
    if (code) return fail(code, "Compressing");
    size_t made = sizeof f->buffer - b.to_size;
    if (made) LEAT_RETURN_IF_ERROR(f->file->vtable->write(f->file, f->buffer, made));
  }
  return leat_ok_status();
}

static leat_status_t compressed_read_at(leat_file_t* self, uint64_t offset, void* data, size_t size,
                                        size_t* out_read) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "%s is open for writing", self->path);
}

// Passes on what was collected.
static leat_status_t compress_input(compressed_file_t* f, leat_codec_mode_t mode) {
  const size_t size = f->input_used;
  LEAT_DCHECK(size <= f->input_bytes);
  f->input_used = 0;
  return compress(f, mode, f->input, size);
}

static leat_status_t compressed_write(leat_file_t* self, const void* data, size_t size) {
  compressed_file_t* f = (compressed_file_t*)self;
  if (f->finished) {
    return leat_make_status(LEAT_FAILED_PRECONDITION, "the compressed stream of %s has ended",
                            self->path);
  }
  if (!f->input) return compress(f, LEAT_CODEC_RUN, data, size);
  if (size > f->input_bytes - f->input_used) {
    LEAT_RETURN_IF_ERROR(compress_input(f, f->flush_mode));
    if (size > f->input_bytes) return compress(f, f->flush_mode, data, size);
  }
  if (size) memcpy(f->input + f->input_used, data, size);
  f->input_used += size;
  return leat_ok_status();
}

// Makes what was written readable in |f->file|. The kind of flush is the one that TensorFlow takes.
static leat_status_t flush_stream(compressed_file_t* f) {
  return f->finished ? leat_ok_status() : compress_input(f, LEAT_CODEC_PARTIAL_FLUSH);
}

static leat_status_t compressed_flush(leat_file_t* self) {
  compressed_file_t* f = (compressed_file_t*)self;
  LEAT_RETURN_IF_ERROR(flush_stream(f));
  return leat_file_flush(f->file);
}

static leat_status_t compressed_sync(leat_file_t* self) {
  compressed_file_t* f = (compressed_file_t*)self;
  LEAT_RETURN_IF_ERROR(flush_stream(f));
  return f->file->vtable->sync(f->file);
}

// The size of the compressed file, without what the codec still holds.
static leat_status_t compressed_size(leat_file_t* self, uint64_t* out_size) {
  leat_file_t* file = ((compressed_file_t*)self)->file;
  return file->vtable->size(file, out_size);
}

static leat_status_t compressed_close(leat_file_t* self) {
  compressed_file_t* f = (compressed_file_t*)self;
  leat_status_t status = leat_compressed_file_finish(self);
  f->module->destroy(f->codec);
  status = leat_status_join(status, leat_file_close(f->file));
  leat_allocator_free(f->allocator, f->input);
  leat_allocator_free(f->allocator, f);
  return status;
}

static const leat_file_vtable_t kCompressedFile = {
    .read_at = compressed_read_at,
    .write = compressed_write,
    .sync = compressed_sync,
    .size = compressed_size,
    .close = compressed_close,
    .flush = compressed_flush,
};

leat_compression_options_t leat_compression_default(leat_compression_t format) {
  LEAT_DCHECK(format != LEAT_COMPRESSION_NONE);
  return (leat_compression_options_t){
      .codec = {.level = -1,
                .window_bits = format == LEAT_COMPRESSION_GZIP ? 31 : 15,
                .memory_level = 9},
      .flush_mode = LEAT_CODEC_RUN,
      .input_bytes = 256 * 1024,
  };
}

static leat_status_t create_compressed(leat_file_t* file,
                                       const leat_compression_options_t* options,
                                       leat_allocator_t* allocator, leat_file_t** out_file) {
  compressed_file_t* f;
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&zlib, &table));
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_uninitialized(allocator, 16, sizeof *f, (void**)&f));
  f->base = (leat_file_t){&kCompressedFile, file->path};
  f->allocator = allocator;
  f->file = file;
  f->module = table;
  f->flush_mode = options->flush_mode;
  f->input = NULL;
  f->input_used = 0;
  f->input_bytes = options->input_bytes;
  f->finished = false;
  leat_status_t status = leat_ok_status();
  if (f->flush_mode != LEAT_CODEC_RUN) {
    status = leat_allocator_allocate_uninitialized(allocator, 1, f->input_bytes, (void**)&f->input);
  }
  if (!status) {
    const int code = f->module->compressor_create(&options->codec, &f->codec);
    if (code) status = fail(code, "Compressing");
  }
  if (status) {
    leat_allocator_free(allocator, f->input);
    leat_allocator_free(allocator, f);
    return status;
  }
  *out_file = &f->base;
  return leat_ok_status();
}

// Where this fails, the stream is not tried again: the file is broken.
leat_status_t leat_compressed_file_finish(leat_file_t* file) {
  LEAT_DCHECK(file->vtable == &kCompressedFile);
  compressed_file_t* f = (compressed_file_t*)file;
  if (f->finished) return leat_ok_status();
  f->finished = true;
  return compress_input(f, LEAT_CODEC_FINISH);
}

// The new file owns |file| from here on, so |file| is closed when the creation fails.
leat_status_t leat_compressed_file_create(leat_file_t* file, leat_compression_t format,
                                          leat_allocator_t* allocator, leat_file_t** out_file) {
  const leat_compression_options_t options = leat_compression_default(format);
  return leat_compressed_file_create_with(file, &options, allocator, out_file);
}

leat_status_t leat_compressed_file_create_with(leat_file_t* file,
                                               const leat_compression_options_t* options,
                                               leat_allocator_t* allocator,
                                               leat_file_t** out_file) {
  leat_status_t status = options->flush_mode == LEAT_CODEC_FINISH
                             ? leat_make_status(LEAT_INVALID_ARGUMENT,
                                                "Compressing failed: flush_mode is %d (finish), "
                                                "must be one of zlib's flushes or 0",
                                                LEAT_CODEC_FINISH)
                             : create_compressed(file, options, allocator, out_file);
  return status ? leat_status_join(status, leat_file_close(file)) : status;
}
