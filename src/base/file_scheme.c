// Sends each path to the file system of its scheme: "gs://bucket/x" to the one that was registered
// for "gs", and everything without a scheme to the operating system's. leat_file_system_default()
// is a file system like any other whose calls look at the path and call the right one; the ops that
// open a user's files use it, and TensorFlow's plugin interface registers file systems here
// (capi/plugin/plugin_file_system.c).
//
// The operating system's file system is not in the list of registered ones. A path without "://"
// therefore costs only the few comparisons that show this. It also serves "file://host/path", which
// it sees as "/path".
//
// A registered file system stays until the process ends. New ones are added at the front of a
// linked list with one atomic store, so a lookup takes no lock; the mutex only orders the threads
// that register.
#include <stdatomic.h>
#include <string.h>

#include "base/file_system.h"
#include "base/sync.h"

typedef struct scheme_s {
  struct scheme_s* next;
  leat_file_system_t* fs;
  size_t size;
  char name[];
} scheme_t;

static scheme_t* _Atomic schemes;
static leat_mutex_t registration = {PTHREAD_MUTEX_INITIALIZER};

// The length of the scheme's name at the start of |text|: letters, digits and dots of which the
// first is a letter. The answer is 0 for a name of a single letter, since "c:" is a drive on other
// systems.
static size_t name_size(const char* text) {
  size_t size = 0;
  for (;; ++size) {
    char c = text[size], lower = (char)(c | 0x20);
    bool later = (c >= '0' && c <= '9') || c == '.';
    if (!(lower >= 'a' && lower <= 'z') && !(size && later)) break;
  }
  return size > 1 ? size : 0;
}

static size_t scheme_size(const char* path) {
  size_t size = name_size(path);
  return strncmp(path + size, "://", 3) == 0 ? size : 0;
}

size_t leat_file_root_size(const char* path) {
  size_t size = scheme_size(path);
  if (!size) return path[0] == '/';
  const char* slash = strchr(path + size + 3, '/');
  return slash ? (size_t)(slash - path) + 1 : strlen(path);
}

static leat_file_system_t* find(const char* name, size_t size) {
  for (scheme_t* s = atomic_load_explicit(&schemes, memory_order_acquire); s; s = s->next) {
    if (s->size == size && memcmp(s->name, name, size) == 0) return s->fs;
  }
  return NULL;
}

// Whether the scheme is "file", which the operating system's file system serves.
static bool is_file(const char* name, size_t size) {
  return size == 4 && memcmp(name, "file", 4) == 0;
}

static leat_status_t add(const char* name, size_t size, leat_file_system_t* fs) {
  scheme_t* row = NULL;
  if (!size || is_file(name, size) || find(name, size)) {
    return leat_make_status(LEAT_ALREADY_EXISTS, "File system for %s already registered", name);
  }
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), sizeof *row + size, (void**)&row));
  row->next = schemes;
  row->fs = fs;
  row->size = size;
  memcpy(row->name, name, size);
  atomic_store_explicit(&schemes, row, memory_order_release);
  return leat_ok_status();
}

leat_status_t leat_file_system_register(const char* scheme, leat_file_system_t* fs) {
  size_t size = name_size(scheme);
  if (scheme[0] && (!size || scheme[size])) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Registering a file system failed: scheme is '%s', must be two or "
                            "more letters, digits and dots",
                            scheme);
  }
  leat_mutex_lock(&registration);
  leat_status_t status = add(scheme, size, fs);
  leat_mutex_unlock(&registration);
  return status;
}

leat_status_t leat_file_system_set_option(leat_string_view_t scheme, leat_string_view_t key,
                                          leat_string_view_t value) {
  leat_file_system_t* fs = find(scheme.data, scheme.size);
  if (scheme.size == 0 || is_file(scheme.data, scheme.size)) fs = leat_file_system_posix();
  if (!fs) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "File system scheme '%.*s' not found to set configuration",
                            LEAT_SV_ARG(scheme));
  }
  if (fs->vtable->set_option) return fs->vtable->set_option(fs, key, value);
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Setting option '%.*s' failed: the file system of scheme '%.*s' has no "
                          "options",
                          LEAT_SV_ARG(key), LEAT_SV_ARG(scheme));
}

// ---- The file system of all paths ---------------------------------------------------------------

// Finds the file system of |*inout_path|. The path becomes the form that this file system expects,
// which differs only for the scheme "file".
static leat_status_t route(const char** inout_path, leat_file_system_t** out_fs) {
  const char* path = *inout_path;
  size_t size = scheme_size(path);
  *out_fs = leat_file_system_posix();
  if (LEAT_LIKELY(!size)) return leat_ok_status();
  if (is_file(path, size)) {
    size_t root_size = leat_file_root_size(path);
    *inout_path = path[root_size - 1] == '/' ? path + root_size - 1 : "/";
    return leat_ok_status();
  }
  *out_fs = find(path, size);
  if (*out_fs) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "File system scheme '%.*s' not implemented (file: '%s')", (int)size, path,
                          path);
}

static leat_status_t default_open(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                                  leat_allocator_t* allocator, leat_file_t** out_file) {
  leat_file_system_t* fs = NULL;
  LEAT_RETURN_IF_ERROR(route(&path, &fs));
  return leat_file_open(fs, path, mode, allocator, out_file);
}

static leat_status_t default_stat(leat_file_system_t* self, const char* path,
                                  leat_file_stat_t* out_stat) {
  leat_file_system_t* fs = NULL;
  LEAT_RETURN_IF_ERROR(route(&path, &fs));
  return fs->vtable->stat(fs, path, out_stat);
}

static leat_status_t default_rename(leat_file_system_t* self, const char* from, const char* to) {
  leat_file_system_t *fs = NULL, *to_fs = NULL;
  const char *source = from, *target = to;
  LEAT_RETURN_IF_ERROR(route(&source, &fs));
  LEAT_RETURN_IF_ERROR(route(&target, &to_fs));
  if (fs == to_fs) return fs->vtable->rename(fs, source, target);
  return leat_make_status(LEAT_UNIMPLEMENTED, "Renaming %s to %s not implemented", from, to);
}

static leat_status_t default_remove(leat_file_system_t* self, const char* path) {
  leat_file_system_t* fs = NULL;
  LEAT_RETURN_IF_ERROR(route(&path, &fs));
  return fs->vtable->remove(fs, path);
}

static leat_status_t default_make_directory(leat_file_system_t* self, const char* path) {
  leat_file_system_t* fs = NULL;
  LEAT_RETURN_IF_ERROR(route(&path, &fs));
  return fs->vtable->make_directory(fs, path);
}

static leat_status_t default_list(leat_file_system_t* self, const char* path,
                                  leat_file_name_fn_t fn, void* data) {
  leat_file_system_t* fs = NULL;
  LEAT_RETURN_IF_ERROR(route(&path, &fs));
  return fs->vtable->list(fs, path, fn, data);
}

static leat_status_t default_sync_directory(leat_file_system_t* self, const char* path) {
  leat_file_system_t* fs = NULL;
  LEAT_RETURN_IF_ERROR(route(&path, &fs));
  return fs->vtable->sync_directory(fs, path);
}

// The fallback lists through |self| and not through the target, so that the paths found begin with
// their scheme.
static leat_status_t default_match(leat_file_system_t* self, const char* pattern,
                                   leat_file_name_fn_t fn, void* data) {
  leat_file_system_t* fs = NULL;
  const char* path = pattern;
  LEAT_RETURN_IF_ERROR(route(&path, &fs));
  if (fs->vtable->match) return fs->vtable->match(fs, path, fn, data);
  return leat_file_match_by_listing(self, pattern, fn, data);
}

leat_file_system_t* leat_file_system_default(void) {
  static const leat_file_system_vtable_t vtable = {
      default_open,           default_stat, default_rename,         default_remove,
      default_make_directory, default_list, default_sync_directory, default_match, NULL};
  static leat_file_system_t file_system = {&vtable};
  return &file_system;
}
