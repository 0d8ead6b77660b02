// A file system for tests that fails on purpose. It passes each call on to the file system |target|
// and counts it; the call whose number is |failing_call| returns |failing_code| and does not reach
// the target. A test runs an operation with failing_call = 1, 2, 3 and so on until it succeeds, and
// has then seen each way in which the operation can be cut short.
//
// Two calls do reach the target even when they fail. A failing write writes the first half of its
// bytes, because real disks leave such halves behind and a reader must be able to tell. A failing
// close does close the target's file, because the caller may not use the file again and its memory
// would be lost.
//
// A limit of space (|space_bytes|) stands for a full disk: the write that exceeds it writes what
// still fits and fails.
#include "base/file_system_faulty.h"

#include "base/checked.h"

typedef struct faulty_file_s {
  leat_file_t base;
  leat_file_t* target;
  leat_file_system_faulty_t* fs;
  leat_allocator_t* allocator;
} faulty_file_t;

// Counts a call and returns the injected failure when the call is due for it.
static leat_status_t count_call(leat_file_system_faulty_t* fs, const char* call,
                                const char* path) {
  int64_t number = atomic_fetch_add(&fs->call_count, 1) + 1;
  if (fs->failing_call <= 0 || number < fs->failing_call) return leat_ok_status();
  if (number > fs->failing_call && !fs->fails_from_then_on) return leat_ok_status();
  return leat_make_status(fs->failing_code, "Call %lld (%s) failed for '%s': injected fault",
                          (long long)number, call, path);
}

static leat_status_t faulty_read_at(leat_file_t* base, uint64_t offset, void* data, size_t size,
                                    size_t* out_read) {
  faulty_file_t* file = (faulty_file_t*)base;
  *out_read = 0;
  LEAT_RETURN_IF_ERROR(count_call(file->fs, "read", base->path));
  return file->target->vtable->read_at(file->target, offset, data, size, out_read);
}

// Writes the first |size| bytes for a write that fails with |status|, and returns |status|.
static leat_status_t write_part(faulty_file_t* file, const void* data, size_t size,
                                leat_status_t status) {
  return leat_status_join(status, file->target->vtable->write(file->target, data, size));
}

static leat_status_t faulty_write(leat_file_t* base, const void* data, size_t size) {
  faulty_file_t* file = (faulty_file_t*)base;
  leat_file_system_faulty_t* fs = file->fs;
  leat_status_t status = count_call(fs, "write", base->path);
  if (status) return write_part(file, data, size / 2, status);
  if (size > fs->space_bytes) {
    size = (size_t)fs->space_bytes;
    fs->space_bytes = 0;
    status = leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                              "Writing failed for '%s': No space left on device", base->path);
    return write_part(file, data, size, status);
  }
  if (fs->space_bytes != UINT64_MAX) fs->space_bytes -= size;
  return file->target->vtable->write(file->target, data, size);
}

static leat_status_t faulty_sync(leat_file_t* base) {
  faulty_file_t* file = (faulty_file_t*)base;
  LEAT_RETURN_IF_ERROR(count_call(file->fs, "sync", base->path));
  return file->target->vtable->sync(file->target);
}

static leat_status_t faulty_size(leat_file_t* base, uint64_t* out_size) {
  faulty_file_t* file = (faulty_file_t*)base;
  *out_size = 0;
  LEAT_RETURN_IF_ERROR(count_call(file->fs, "size", base->path));
  return file->target->vtable->size(file->target, out_size);
}

static leat_status_t faulty_flush(leat_file_t* base) {
  faulty_file_t* file = (faulty_file_t*)base;
  LEAT_RETURN_IF_ERROR(count_call(file->fs, "flush", base->path));
  return leat_file_flush(file->target);
}

static leat_status_t faulty_truncate(leat_file_t* base, uint64_t size) {
  faulty_file_t* file = (faulty_file_t*)base;
  LEAT_RETURN_IF_ERROR(count_call(file->fs, "truncate", base->path));
  return leat_file_truncate(file->target, size);
}

static leat_status_t faulty_close(leat_file_t* base) {
  faulty_file_t* file = (faulty_file_t*)base;
  leat_status_t status = count_call(file->fs, "close", base->path);
  status = leat_status_join(status, leat_file_close(file->target));
  leat_allocator_free(file->allocator, file);
  return status;
}

static const leat_file_vtable_t file_vtable = {faulty_read_at, faulty_write, faulty_sync,
                                               faulty_size, faulty_close, faulty_flush,
                                               faulty_truncate};

static leat_status_t faulty_open(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                                 leat_allocator_t* allocator, leat_file_t** out_file) {
  leat_file_system_faulty_t* fs = (leat_file_system_faulty_t*)self;
  *out_file = NULL;
  LEAT_RETURN_IF_ERROR(count_call(fs, "open", path));
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof(faulty_file_t), &memory));
  faulty_file_t* file = memory;
  leat_status_t status = leat_file_open(fs->target, path, mode, allocator, &file->target);
  if (status) {
    leat_allocator_free(allocator, file);
    return status;
  }
  file->base = (leat_file_t){&file_vtable, file->target->path};
  file->fs = fs;
  file->allocator = allocator;
  *out_file = &file->base;
  return leat_ok_status();
}

static leat_status_t faulty_stat(leat_file_system_t* self, const char* path,
                                 leat_file_stat_t* out_stat) {
  leat_file_system_faulty_t* fs = (leat_file_system_faulty_t*)self;
  LEAT_RETURN_IF_ERROR(count_call(fs, "stat", path));
  return fs->target->vtable->stat(fs->target, path, out_stat);
}

static leat_status_t faulty_rename(leat_file_system_t* self, const char* from, const char* to) {
  leat_file_system_faulty_t* fs = (leat_file_system_faulty_t*)self;
  LEAT_RETURN_IF_ERROR(count_call(fs, "rename", from));
  return fs->target->vtable->rename(fs->target, from, to);
}

static leat_status_t faulty_remove(leat_file_system_t* self, const char* path) {
  leat_file_system_faulty_t* fs = (leat_file_system_faulty_t*)self;
  LEAT_RETURN_IF_ERROR(count_call(fs, "remove", path));
  return fs->target->vtable->remove(fs->target, path);
}

static leat_status_t faulty_make_directory(leat_file_system_t* self, const char* path) {
  leat_file_system_faulty_t* fs = (leat_file_system_faulty_t*)self;
  LEAT_RETURN_IF_ERROR(count_call(fs, "make_directory", path));
  return fs->target->vtable->make_directory(fs->target, path);
}

static leat_status_t faulty_list(leat_file_system_t* self, const char* path,
                                 leat_file_name_fn_t fn, void* data) {
  leat_file_system_faulty_t* fs = (leat_file_system_faulty_t*)self;
  LEAT_RETURN_IF_ERROR(count_call(fs, "list", path));
  return fs->target->vtable->list(fs->target, path, fn, data);
}

static leat_status_t faulty_sync_directory(leat_file_system_t* self, const char* path) {
  leat_file_system_faulty_t* fs = (leat_file_system_faulty_t*)self;
  LEAT_RETURN_IF_ERROR(count_call(fs, "sync_directory", path));
  return fs->target->vtable->sync_directory(fs->target, path);
}

void leat_file_system_faulty_initialize(leat_file_system_t* target,
                                        leat_file_system_faulty_t* out_faulty) {
  static const leat_file_system_vtable_t vtable = {
      faulty_open,           faulty_stat, faulty_rename,        faulty_remove,
      faulty_make_directory, faulty_list, faulty_sync_directory, NULL, NULL};
  *out_faulty = (leat_file_system_faulty_t){
      .base = {&vtable},
      .target = target,
      .failing_code = LEAT_UNAVAILABLE,
      .space_bytes = UINT64_MAX,
  };
}
