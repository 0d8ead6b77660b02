// What all file systems have in common: operations on whole files that are made of the few calls in
// the vtable (base/file_system.h). They are reading a file whole, replacing a file atomically,
// making a directory with its parents, and finding the paths that match a pattern. An
// implementation therefore provides only open, stat, rename and their like, and the conformance
// suite runs these functions over each.
//
// A file is replaced in this order, so that a crash or a power failure at any point leaves either
// the old file or the new one, and never a part of one:
//
//   write temporary ─▶ fsync temporary ─▶ rename to path ─▶ fsync the directory
//
// The first fsync comes before the rename because some file systems write names to the disk sooner
// than data. The second makes the new name lasting. Where a step before the rename fails, the
// temporary file is removed; one that a crash leaves behind is removed by a later
// leat_file_sweep_temporaries().
//
// A pattern is matched one component after the other: the set of paths that match the first k
// components becomes the set that matches k + 1, and only components with a wildcard cause a
// directory to be listed.
#include "base/file_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file_pattern.h"
#include "base/string_builder.h"

#define PROBE_BYTES 1024

leat_status_t leat_file_open(leat_file_system_t* fs, const char* path, leat_file_mode_t mode,
                             leat_allocator_t* allocator, leat_file_t** out_file) {
  *out_file = NULL;
  return fs->vtable->open(fs, path, mode, allocator, out_file);
}

leat_status_t leat_file_read_exactly(leat_file_t* file, uint64_t offset, void* data, size_t size) {
  size_t read = 0;
  LEAT_RETURN_IF_ERROR(file->vtable->read_at(file, offset, data, size, &read));
  if (read == size) return leat_ok_status();
  return leat_make_status(LEAT_OUT_OF_RANGE,
                          "Reading failed for file '%s': size at offset %llu is %zu, must be %zu",
                          file->path, (unsigned long long)offset, read, size);
}

leat_status_t leat_file_flush(leat_file_t* file) {
  return file->vtable->flush ? file->vtable->flush(file) : leat_ok_status();
}

leat_status_t leat_file_truncate(leat_file_t* file, uint64_t size) {
  if (file->vtable->truncate) return file->vtable->truncate(file, size);
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Truncating failed for '%s': its file system cannot", file->path);
}

leat_status_t leat_file_close(leat_file_t* file) {
  return file ? file->vtable->close(file) : leat_ok_status();
}

bool leat_file_exists(leat_file_system_t* fs, const char* path) {
  leat_file_stat_t stat;
  leat_status_t status = fs->vtable->stat(fs, path, &stat);
  bool exists = !status;
  leat_status_free(status);
  return exists;
}

// Reads the whole file in one call when its size is what the file system says, and goes on in small
// steps while there is more. The size is only a hint: a file may grow while it is read, and files
// in /proc say that they have 0 bytes.
static leat_status_t read_to_end(leat_file_t* file, leat_string_builder_t* builder) {
  uint64_t size = 0;
  LEAT_RETURN_IF_ERROR(file->vtable->size(file, &size));
  if (size > PTRDIFF_MAX) size = PTRDIFF_MAX;  // which the allocator refuses with a status
  size_t read = 0;
  char* room = leat_string_builder_reserve(builder, (size_t)size);
  if (!room) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(file->vtable->read_at(file, 0, room, (size_t)size, &read));
  builder->size = read;
  char probe[PROBE_BYTES];
  while (!builder->status && builder->size >= size) {
    LEAT_RETURN_IF_ERROR(file->vtable->read_at(file, builder->size, probe, sizeof(probe), &read));
    leat_string_builder_append(builder, leat_string_view_make(probe, read));
    if (read < sizeof(probe)) break;
  }
  return leat_ok_status();
}

leat_status_t leat_file_read_all(leat_file_system_t* fs, const char* path,
                                 leat_allocator_t* allocator, char** out_data, size_t* out_size) {
  *out_data = NULL;
  *out_size = 0;
  leat_file_t* file = NULL;
  LEAT_RETURN_IF_ERROR(leat_file_open(fs, path, LEAT_FILE_READ, allocator, &file));
  leat_string_builder_t builder;
  leat_string_builder_initialize(allocator, &builder);
  leat_status_t status = read_to_end(file, &builder);
  status = leat_status_join(status, leat_file_close(file));
  if (!status) {
    status = leat_status_annotate(leat_string_builder_finish(&builder, out_data, out_size),
                                  "Reading failed for file '%s'", path);
  }
  leat_string_builder_deinitialize(&builder);
  return status;
}

// Size of the directory part of |path| with its '/'; 0 when there is none.
static size_t directory_size(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

static leat_status_t write_and_sync(leat_file_system_t* fs, const char* path,
                                    leat_allocator_t* allocator, const void* data, size_t size) {
  leat_file_t* file = NULL;
  LEAT_RETURN_IF_ERROR(leat_file_open(fs, path, LEAT_FILE_WRITE, allocator, &file));
  leat_status_t status = file->vtable->write(file, data, size);
  if (!status) status = file->vtable->sync(file);
  return leat_status_join(status, leat_file_close(file));
}

leat_status_t leat_file_write_atomically(leat_file_system_t* fs, const char* path,
                                         const void* data, size_t size) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  leat_string_view_t directory;
  const char* temporary;
  int prefix = (int)directory_size(path);
  leat_status_t status = leat_ok_status();
  LEAT_GOTO_IF_ERROR(status, leat_file_temporary_path(path, &arena, &temporary));
  LEAT_GOTO_IF_ERROR(status, leat_arena_print(&arena, &directory, "%.*s", prefix ? prefix : 1,
                                              prefix ? path : "."));
  status = write_and_sync(fs, temporary, leat_allocator_system(), data, size);
  if (!status) status = fs->vtable->rename(fs, temporary, path);
  if (status) {
    leat_status_free(fs->vtable->remove(fs, temporary));
    goto cleanup;
  }
  status = fs->vtable->sync_directory(fs, directory.data);
cleanup:
  leat_arena_deinitialize(&arena);
  return status;
}

// Syncs the parent of the new directory |path|, so that its entry there survives a power failure. A
// parent in which we may create entries but which we may not open cannot be synced; the directory
// exists nevertheless, so this is no error.
static leat_status_t sync_parent(leat_file_system_t* fs, const char* path) {
  char* parent = NULL;
  leat_allocator_t* allocator = leat_allocator_system();
  size_t size = directory_size(path), root = leat_file_root_size(path);
  while (size > root && path[size - 1] == '/') --size;
  const char* text = size ? path : ".";
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(allocator, text, size ? size : 1, &parent));
  leat_status_t status = fs->vtable->sync_directory(fs, parent);
  leat_allocator_free(allocator, parent);
  if (leat_status_code(status) != LEAT_PERMISSION_DENIED) return status;
  leat_status_free(status);
  return leat_ok_status();
}

// Makes |path| unless it is there already. Another process may make it between the look and the
// making, which is as good.
static leat_status_t make_one_directory(leat_file_system_t* fs, const char* path) {
  leat_file_stat_t stat;
  leat_status_t status = fs->vtable->stat(fs, path, &stat);
  if (!status) {
    if (stat.is_directory) return leat_ok_status();
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Making of a directory failed for '%s': type is file, must be "
                            "directory",
                            path);
  }
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  status = fs->vtable->make_directory(fs, path);
  if (!status) return sync_parent(fs, path);
  if (leat_status_code(status) != LEAT_ALREADY_EXISTS) return status;
  leat_status_free(status);  // somebody else was faster
  return leat_ok_status();
}

leat_status_t leat_file_make_directories(leat_file_system_t* fs, const char* path) {
  char* prefix = NULL;
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(allocator, path, strlen(path), &prefix));
  leat_status_t status = leat_ok_status();
  for (size_t i = leat_file_root_size(path) + 1; path[0] && path[i - 1] && !status; ++i) {
    if ((path[i] != '/' && path[i]) || path[i - 1] == '/') continue;
    prefix[i] = 0;
    status = make_one_directory(fs, prefix);
    prefix[i] = path[i];
  }
  leat_allocator_free(allocator, prefix);
  return status;
}

// ---- Matching: one component after the other, over the whole set of paths found so far ----

typedef struct path_set_s {
  const char** paths;
  size_t count;
  size_t capacity;
} path_set_t;

typedef struct matcher_s {
  leat_file_system_t* fs;
  leat_arena_t arena;
  path_set_t found;  // by the components before
  path_set_t next;
  const char* directory;         // being listed
  leat_string_view_t component;  // being matched
} matcher_t;

static leat_status_t add_path(matcher_t* matcher, const char* directory, leat_string_view_t name) {
  path_set_t* set = &matcher->next;
  void* paths = set->paths;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(matcher->arena.allocator, set->count + 1,
                                                 sizeof(char*), &paths, &set->capacity));
  set->paths = paths;
  size_t size = strlen(directory);
  const char* separator = size && directory[size - 1] != '/' ? "/" : "";
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&matcher->arena, &path, "%s%s%.*s", directory, separator,
                                        LEAT_SV_ARG(name)));
  set->paths[set->count++] = path.data;
  return leat_ok_status();
}

static leat_status_t add_if_matching(void* data, const char* name) {
  matcher_t* matcher = data;
  leat_string_view_t view = leat_string_view_from(name);
  if (!leat_file_pattern_matches(matcher->component, view)) return leat_ok_status();
  return add_path(matcher, matcher->directory, view);
}

// Adds the entries of |directory| that match the current component. A path that is no directory,
// does not exist or may not be read holds no matches, as in a shell, and is no error.
static leat_status_t list_directory(matcher_t* matcher, const char* directory) {
  matcher->directory = directory;
  leat_file_system_t* fs = matcher->fs;
  leat_status_t status = fs->vtable->list(fs, directory[0] ? directory : ".", add_if_matching,
                                          matcher);
  leat_status_code_t code = leat_status_code(status);
  if (code != LEAT_NOT_FOUND && code != LEAT_FAILED_PRECONDITION &&
      code != LEAT_PERMISSION_DENIED) {
    return status;
  }
  leat_status_free(status);
  return leat_ok_status();
}

// Replaces each path in |found| by the paths below it that match |component|. A component without
// wildcards is appended without a look at the file system; hand_out() tests at the end which of the
// paths exist.
static leat_status_t match_component(matcher_t* matcher, leat_string_view_t component) {
  bool wild = leat_file_pattern_is_wild(component);
  matcher->component = component;
  matcher->next.count = 0;
  for (size_t i = 0; i < matcher->found.count; ++i) {
    const char* directory = matcher->found.paths[i];
    LEAT_RETURN_IF_ERROR(wild ? list_directory(matcher, directory)
                              : add_path(matcher, directory, component));
  }
  path_set_t found = matcher->found;
  matcher->found = matcher->next;
  matcher->next = found;
  return leat_ok_status();
}

static leat_status_t match_all(matcher_t* matcher, leat_string_view_t pattern) {
  size_t root_size = leat_file_root_size(pattern.data);
  LEAT_RETURN_IF_ERROR(add_path(matcher, "", leat_string_view_make(pattern.data, root_size)));
  pattern = leat_string_view_from_index(pattern, root_size);
  matcher->found = matcher->next;
  matcher->next = (path_set_t){NULL, 0, 0};
  while (pattern.size && matcher->found.count) {
    size_t size = leat_string_view_find(pattern, '/');
    if (size == SIZE_MAX) size = pattern.size;
    if (size) {
      LEAT_RETURN_IF_ERROR(
          match_component(matcher, leat_string_view_make(pattern.data, size)));
    }
    pattern = leat_string_view_from_index(pattern, size + 1);
  }
  return leat_ok_status();
}

static int compare_paths(const void* a, const void* b) {
  return strcmp(*(const char* const*)a, *(const char* const*)b);
}

// Calls |fn| with each path that was found and exists, in byte order, since file systems list their
// entries in no particular order.
static leat_status_t hand_out(matcher_t* matcher, leat_file_name_fn_t fn, void* data) {
  path_set_t* found = &matcher->found;
  if (found->count) qsort(found->paths, found->count, sizeof(char*), compare_paths);
  for (size_t i = 0; i < found->count; ++i) {
    if (!leat_file_exists(matcher->fs, found->paths[i])) continue;
    LEAT_RETURN_IF_ERROR(fn(data, found->paths[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_file_match_by_listing(leat_file_system_t* fs, const char* pattern,
                                         leat_file_name_fn_t fn, void* data) {
  matcher_t matcher = {.fs = fs};
  leat_allocator_t* allocator = leat_allocator_system();
  leat_arena_initialize(allocator, 0, &matcher.arena);
  leat_status_t status = match_all(&matcher, leat_string_view_from(pattern));
  if (!status) status = hand_out(&matcher, fn, data);
  leat_allocator_free(allocator, matcher.found.paths);
  leat_allocator_free(allocator, matcher.next.paths);
  leat_arena_deinitialize(&matcher.arena);
  return status;
}

leat_status_t leat_file_match(leat_file_system_t* fs, const char* pattern, leat_file_name_fn_t fn,
                              void* data) {
  if (fs->vtable->match) return fs->vtable->match(fs, pattern, fn, data);
  return leat_file_match_by_listing(fs, pattern, fn, data);
}
