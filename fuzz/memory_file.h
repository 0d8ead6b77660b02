// A file of bytes in memory, for fuzz targets of readers. Every path opens the same bytes.
#ifndef LEAT_FUZZ_MEMORY_FILE_H_
#define LEAT_FUZZ_MEMORY_FILE_H_

#include <string.h>

#include "base/file_system.h"

typedef struct memory_file_s {
  leat_file_t base;
  const uint8_t* data;
  size_t size;
} memory_file_t;

typedef struct memory_file_system_s {
  leat_file_system_t base;
  memory_file_t file;
} memory_file_system_t;

static leat_status_t memory_read(leat_file_t* self, uint64_t offset, void* data, size_t size,
                                 size_t* out_read) {
  const memory_file_t* file = (const memory_file_t*)self;
  size_t left = offset < file->size ? file->size - (size_t)offset : 0;
  *out_read = size < left ? size : left;
  if (*out_read > 0) memcpy(data, file->data + offset, *out_read);
  return leat_ok_status();
}
static leat_status_t memory_size(leat_file_t* self, uint64_t* out_size) {
  *out_size = ((memory_file_t*)self)->size;
  return leat_ok_status();
}
static leat_status_t memory_close(leat_file_t* self) {
  (void)self;
  return leat_ok_status();
}
static leat_status_t memory_open(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                                 leat_allocator_t* allocator, leat_file_t** out_file) {
  (void)path, (void)mode, (void)allocator;
  *out_file = &((memory_file_system_t*)self)->file.base;
  return leat_ok_status();
}

static void memory_file_system_initialize(const uint8_t* data, size_t size,
                                          memory_file_system_t* out_fs) {
  static const leat_file_vtable_t file = {
      .read_at = memory_read, .size = memory_size, .close = memory_close};
  static const leat_file_system_vtable_t system = {.open = memory_open};
  out_fs->base.vtable = &system;
  out_fs->file = (memory_file_t){{&file, "memory"}, data, size};
}

#endif  // LEAT_FUZZ_MEMORY_FILE_H_
