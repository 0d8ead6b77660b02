// The file system of the operating system: the vtable of base/file_system.h over POSIX calls. It is
// reached through leat_file_system_posix(), or through leat_file_system_default() for paths without
// a scheme.
//
// Three rules hold for every call. It first tells the observer (base/observer.h), which may make it
// fail, so that tests can fail the n-th call. A call that a signal interrupted is repeated, except
// close. Reads and writes go on until all bytes are done, since POSIX lets both stop early.
//
// An errno becomes one of TensorFlow's status codes in code_of_errno(), and the message names the
// path. Reads use pread and never move the position of the file, so several threads may read one
// file at the same time.
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/observer.h"
#include "base/span.h"

typedef struct posix_file_s {
  leat_file_t base;
  leat_allocator_t* allocator;
  int fd;
  char path[];
} posix_file_t;

static leat_status_t observe(const char* call, const char* path) {
  const leat_observer_t* observer = leat_observer_get();
  if (LEAT_LIKELY(!observer) || !observer->on_file) return leat_ok_status();
  return observer->on_file(observer->data, call, path);
}

// TensorFlow's code for an errno. A code decides what a caller does next (a missing checkpoint is
// not an unreadable one), so what no caller could act upon is UNKNOWN.
static leat_status_code_t code_of_errno(int error) {
  switch (error) {
    case ENOENT:
      return LEAT_NOT_FOUND;
    case EEXIST:
      return LEAT_ALREADY_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
      return LEAT_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return LEAT_RESOURCE_EXHAUSTED;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EBADF:
      return LEAT_FAILED_PRECONDITION;
    case ENAMETOOLONG:
    case EINVAL:
      return LEAT_INVALID_ARGUMENT;
    default:
      return LEAT_UNKNOWN;
  }
}

static LEAT_COLD leat_status_t error_of(const char* verb, const char* path, int error) {
  char text[128];
  return leat_make_status(code_of_errno(error), "%s failed for '%s': %s", verb, path,
                          strerror_r(error, text, sizeof(text)));
}

// ---- Files ----

// Reads up to |size| bytes; fewer are read only at the end of the file.
static leat_status_t file_read(leat_file_t* base, uint64_t offset, void* data, size_t size,
                               size_t* out_read) {
  posix_file_t* file = (posix_file_t*)base;
  *out_read = 0;
  LEAT_RETURN_IF_ERROR(observe("read", file->path));
  if (offset > INT64_MAX || size > INT64_MAX - offset) {
    if (offset > INT64_MAX) return leat_ok_status();  // past any end
    size = INT64_MAX - offset;
  }
  size_t done = 0;
  const int64_t span = leat_span_begin();
  while (done < size) {
    ssize_t got = pread(file->fd, (char*)data + done, size - done, (off_t)(offset + done));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error_of("Reading", file->path, errno);
    done += (size_t)got;
  }
  if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_FILE, 0, (int64_t)done);
  *out_read = done;
  return leat_ok_status();
}

static leat_status_t file_write(leat_file_t* base, const void* data, size_t size) {
  posix_file_t* file = (posix_file_t*)base;
  LEAT_RETURN_IF_ERROR(observe("write", file->path));
  const char* next = data;
  const int64_t span = leat_span_begin(), bytes = (int64_t)size;
  while (size > 0) {
    ssize_t put = write(file->fd, next, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return error_of("Writing", file->path, errno);
    next += put;
    size -= (size_t)put;
  }
  if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_FILE, 0, bytes);
  return leat_ok_status();
}

// Pipes, devices and some mounts cannot sync and answer EINVAL or EROFS. They hold nothing that a
// sync could save, so that is no failure.
static leat_status_t sync_fd(int fd, const char* path) {
  int result;
  const int64_t span = leat_span_begin();
  do {
    result = fsync(fd);
  } while (result && errno == EINTR);
  if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_FILE, 0, 0);
  if (!result || errno == EINVAL || errno == EROFS) return leat_ok_status();
  return error_of("Syncing", path, errno);
}

static leat_status_t file_sync(leat_file_t* base) {
  posix_file_t* file = (posix_file_t*)base;
  LEAT_RETURN_IF_ERROR(observe("sync", file->path));
  return sync_fd(file->fd, file->path);
}

static leat_status_t file_size(leat_file_t* base, uint64_t* out_size) {
  posix_file_t* file = (posix_file_t*)base;
  *out_size = 0;
  LEAT_RETURN_IF_ERROR(observe("size", file->path));
  struct stat info;
  if (fstat(file->fd, &info)) return error_of("Asking for the size", file->path, errno);
  *out_size = (uint64_t)info.st_size;
  return leat_ok_status();
}

// The file position moves to the new end as well: without that, the next write to a file that was
// not opened for appending would leave a hole of zeros.
static leat_status_t file_truncate(leat_file_t* base, uint64_t size) {
  posix_file_t* file = (posix_file_t*)base;
  int result;
  LEAT_RETURN_IF_ERROR(observe("truncate", file->path));
  do {
    result = ftruncate(file->fd, (off_t)size);
  } while (result && errno == EINTR);
  if (result || lseek(file->fd, (off_t)size, SEEK_SET) < 0) {
    return error_of("Truncating", file->path, errno);
  }
  return leat_ok_status();
}

// A close is not repeated after EINTR. Linux has closed the descriptor by then, and another thread
// may have opened a file with the same number.
static leat_status_t file_close(leat_file_t* base) {
  posix_file_t* file = (posix_file_t*)base;
  leat_status_t status = observe("close", file->path);
  if (close(file->fd) && errno != EINTR) {
    status = leat_status_join(status, error_of("Closing", file->path, errno));
  }
  leat_allocator_free(file->allocator, file);
  return status;
}

static const leat_file_vtable_t file_vtable = {file_read, file_write, file_sync, file_size,
                                               file_close, NULL, file_truncate};

// ---- The file system ----

static int open_retrying(const char* path, int flags) {
  int fd;
  do {
    fd = open(path, flags | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

static int flags_of_mode(leat_file_mode_t mode) {
  switch (mode) {
    case LEAT_FILE_WRITE:
      return O_WRONLY | O_CREAT | O_TRUNC;
    case LEAT_FILE_APPEND:
      return O_WRONLY | O_CREAT | O_APPEND;
    default:
      return O_RDONLY;
  }
}

// Opens a file for |mode| and refuses a directory, which open(2) would open for reading.
static leat_status_t open_fd(const char* path, leat_file_mode_t mode, int* out_fd) {
  int fd = open_retrying(path, flags_of_mode(mode));
  if (fd < 0) return error_of("Opening", path, errno);
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    close(fd);
    return error_of("Opening", path, EISDIR);
  }
  *out_fd = fd;
  return leat_ok_status();
}

// Opens a file. The path is copied behind the struct, for messages.
static leat_status_t posix_open(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                                leat_allocator_t* allocator, leat_file_t** out_file) {
  (void)self;
  *out_file = NULL;
  LEAT_RETURN_IF_ERROR(observe("open", path));
  size_t path_size = strlen(path) + 1;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(allocator, sizeof(posix_file_t) + path_size, &memory));
  posix_file_t* file = memory;
  leat_status_t status = open_fd(path, mode, &file->fd);
  if (status) {
    leat_allocator_free(allocator, file);
    return status;
  }
  memcpy(file->path, path, path_size);
  file->base = (leat_file_t){&file_vtable, file->path};
  file->allocator = allocator;
  *out_file = &file->base;
  return leat_ok_status();
}

static leat_status_t posix_stat(leat_file_system_t* self, const char* path,
                                leat_file_stat_t* out_stat) {
  (void)self;
  LEAT_RETURN_IF_ERROR(observe("stat", path));
  struct stat info;
  if (stat(path, &info)) return error_of("Looking", path, errno);
  out_stat->size_bytes = info.st_size;
  out_stat->modified_ns = info.st_mtim.tv_sec * 1000000000ll + info.st_mtim.tv_nsec;
  out_stat->is_directory = S_ISDIR(info.st_mode);
  return leat_ok_status();
}

static leat_status_t posix_rename(leat_file_system_t* self, const char* from, const char* to) {
  (void)self;
  LEAT_RETURN_IF_ERROR(observe("rename", from));
  if (rename(from, to) == 0) return leat_ok_status();
  int error = errno == EEXIST ? ENOTEMPTY : errno;  // POSIX lets either mean a full directory
  return leat_status_annotate(error_of("Renaming", from, error), "Renaming to '%s'", to);
}

static leat_status_t posix_remove(leat_file_system_t* self, const char* path) {
  (void)self;
  LEAT_RETURN_IF_ERROR(observe("remove", path));
  if (remove(path) == 0) return leat_ok_status();
  return error_of("Removing", path, errno == EEXIST ? ENOTEMPTY : errno);
}

static leat_status_t posix_make_directory(leat_file_system_t* self, const char* path) {
  (void)self;
  LEAT_RETURN_IF_ERROR(observe("make_directory", path));
  return mkdir(path, 0777) ? error_of("Making of a directory", path, errno) : leat_ok_status();
}

static leat_status_t list_names(DIR* directory, const char* path, leat_file_name_fn_t fn,
                                void* data) {
  for (;;) {
    errno = 0;
    struct dirent* entry = readdir(directory);
    if (!entry) return errno ? error_of("Listing", path, errno) : leat_ok_status();
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    LEAT_RETURN_IF_ERROR(fn(data, entry->d_name));
  }
}

static leat_status_t posix_list(leat_file_system_t* self, const char* path, leat_file_name_fn_t fn,
                                void* data) {
  (void)self;
  LEAT_RETURN_IF_ERROR(observe("list", path));
  DIR* directory = opendir(path);
  if (!directory) return error_of("Listing", path, errno);
  leat_status_t status = list_names(directory, path, fn, data);
  closedir(directory);
  return status;
}

static leat_status_t posix_sync_directory(leat_file_system_t* self, const char* path) {
  (void)self;
  LEAT_RETURN_IF_ERROR(observe("sync_directory", path));
  int fd = open_retrying(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return error_of("Syncing", path, errno);
  leat_status_t status = sync_fd(fd, path);
  close(fd);
  return status;
}

leat_file_system_t* leat_file_system_posix(void) {
  static const leat_file_system_vtable_t vtable = {
      posix_open,           posix_stat, posix_rename,        posix_remove,
      posix_make_directory, posix_list, posix_sync_directory, NULL, NULL};
  static leat_file_system_t file_system = {&vtable};
  return &file_system;
}
