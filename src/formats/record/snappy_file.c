// Writes blocks in Snappy's format, which snappy_block.c describes and reads, and files of such
// blocks, as TensorFlow's snapshots of datasets are.
//
// The compressor looks for four bytes that came before. A table holds, for each hash of four bytes,
// the place where such bytes were seen last; a place that was overwritten, or holds other bytes of
// the same hash, only costs a copy that is not found. Where four bytes are found, the copy is as
// long as the bytes agree, and what lies between two copies is a literal. A block has at most 65536
// bytes, so that 16 bits hold each place and each distance. Readers of TensorFlow take blocks of up
// to 256 KiB.
//
//   a b c d e f a b c d e g      literal "abcdef", copy of 5 from 6 back, literal "g"
#include "formats/record/snappy_file.h"

#include <string.h>

enum { HASH_BITS = 13, SHORTEST = 4, LONGEST_COPY = 64 };

static uint32_t load_four(const char* at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static void add_bytes(leat_string_builder_t* out, const void* bytes, size_t size) {
  leat_string_builder_append(out, leat_string_view_make(bytes, size));
}

static void add_literal(leat_string_builder_t* out, const char* bytes, size_t size) {
  if (!size) return;
  const size_t rest = size - 1;
  LEAT_DCHECK(rest < LEAT_SNAPPY_BLOCK_BYTES);
  const uint8_t tag[3] = {(uint8_t)((rest < 60 ? rest : rest < 256 ? 60 : 61) << 2),
                          (uint8_t)rest, (uint8_t)(rest >> 8)};
  add_bytes(out, tag, rest < 60 ? 1 : rest < 256 ? 2 : 3);
  add_bytes(out, bytes, size);
}

static void add_copy(leat_string_builder_t* out, size_t distance, size_t size) {
  LEAT_DCHECK(distance > 0 && distance < LEAT_SNAPPY_BLOCK_BYTES);
  while (size) {
    const size_t count = size < LONGEST_COPY ? size : LONGEST_COPY;
    const uint8_t copy[3] = {(uint8_t)((count - 1) << 2 | 2), (uint8_t)distance,
                             (uint8_t)(distance >> 8)};
    add_bytes(out, copy, sizeof copy);
    size -= count;
  }
}

static void compress_piece(leat_string_view_t bytes, leat_string_builder_t* out) {
  uint16_t places[1 << HASH_BITS] = {0};
  const char* data = bytes.data;
  LEAT_DCHECK(bytes.size <= LEAT_SNAPPY_BLOCK_BYTES);
  size_t written = 0, at = 1;
  while (at + SHORTEST <= bytes.size) {
    const uint32_t word = load_four(data + at);
    uint16_t* place = &places[word * UINT32_C(0x1e35a7bd) >> (32 - HASH_BITS)];
    const size_t before = *place;
    *place = (uint16_t)at;
    if (before >= at || load_four(data + before) != word) {
      ++at;
      continue;
    }
    size_t size = SHORTEST;
    while (at + size < bytes.size && data[before + size] == data[at + size]) ++size;
    add_literal(out, data + written, at - written);
    add_copy(out, at - before, size);
    at += size;
    written = at;
  }
  add_literal(out, data + written, bytes.size - written);
}

void leat_snappy_compress(leat_string_view_t bytes, leat_string_builder_t* out) {
  LEAT_DCHECK(bytes.size <= UINT32_MAX);
  for (size_t rest = bytes.size;; rest >>= 7) {
    const uint8_t byte = (uint8_t)((rest & 127) | (rest > 127 ? 128 : 0));
    add_bytes(out, &byte, 1);
    if (rest <= 127) break;
  }
  while (bytes.size) {
    const size_t size = bytes.size < LEAT_SNAPPY_BLOCK_BYTES ? bytes.size : LEAT_SNAPPY_BLOCK_BYTES;
    compress_piece(leat_string_view_make(bytes.data, size), out);
    bytes = leat_string_view_from_index(bytes, size);
  }
}

// ---- Files --------------------------------------------------------------------------------------

typedef struct snappy_file_s {
  leat_file_t base;
  leat_allocator_t* allocator;
  leat_file_t* file;
  leat_string_builder_t block;  // compressed, behind its size
  size_t filled;
  char bytes[LEAT_SNAPPY_BLOCK_BYTES];
} snappy_file_t;

static leat_status_t write_block(snappy_file_t* f) {
  if (!f->filled) return leat_ok_status();
  f->block.size = 0;
  add_bytes(&f->block, "\0\0\0\0", 4);
  leat_snappy_compress(leat_string_view_make(f->bytes, f->filled), &f->block);
  LEAT_RETURN_IF_ERROR(leat_status_clone(f->block.status));
  const size_t size = f->block.size - 4;
  for (int i = 0; i < 4; ++i) f->block.data[i] = (char)(size >> (24 - 8 * i));
  f->filled = 0;
  return f->file->vtable->write(f->file, f->block.data, f->block.size);
}

static leat_status_t snappy_read_at(leat_file_t* self, uint64_t offset, void* data, size_t size,
                                    size_t* out_read) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "%s is open for writing", self->path);
}

static leat_status_t snappy_write(leat_file_t* self, const void* data, size_t size) {
  snappy_file_t* f = (snappy_file_t*)self;
  const char* next = data;
  while (size) {
    const size_t room = sizeof f->bytes - f->filled;
    const size_t count = size < room ? size : room;
    memcpy(f->bytes + f->filled, next, count);
    f->filled += count;
    next += count;
    size -= count;
    if (f->filled == sizeof f->bytes) LEAT_RETURN_IF_ERROR(write_block(f));
  }
  return leat_ok_status();
}

static leat_status_t snappy_sync(leat_file_t* self) {
  snappy_file_t* f = (snappy_file_t*)self;
  LEAT_RETURN_IF_ERROR(write_block(f));
  return f->file->vtable->sync(f->file);
}

static leat_status_t snappy_size(leat_file_t* self, uint64_t* out_size) {
  leat_file_t* file = ((snappy_file_t*)self)->file;
  return file->vtable->size(file, out_size);
}

static leat_status_t snappy_close(leat_file_t* self) {
  snappy_file_t* f = (snappy_file_t*)self;
  leat_status_t status = write_block(f);
  status = leat_status_join(status, leat_file_close(f->file));
  leat_string_builder_deinitialize(&f->block);
  leat_allocator_free(f->allocator, f);
  return status;
}

static const leat_file_vtable_t kSnappyFile = {
    .read_at = snappy_read_at,
    .write = snappy_write,
    .sync = snappy_sync,
    .size = snappy_size,
    .close = snappy_close,
};

leat_status_t leat_snappy_file_create(leat_file_t* file, leat_allocator_t* allocator,
                                      leat_file_t** out_file) {
  snappy_file_t* f;
  leat_status_t status =
      leat_allocator_allocate_uninitialized(allocator, 16, sizeof *f, (void**)&f);
  if (status) return leat_status_join(status, leat_file_close(file));
  f->base = (leat_file_t){&kSnappyFile, file->path};
  f->allocator = allocator;
  f->file = file;
  f->filled = 0;
  leat_string_builder_initialize(allocator, &f->block);
  *out_file = &f->base;
  return leat_ok_status();
}
