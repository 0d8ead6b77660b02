// A plugin's file system behind the interface of base/file_system.h. Each function translates the
// path into the plugin's form, calls the plugin's function, and adds the path to the error. A
// function that the plugin lacks answers UNIMPLEMENTED, or is made from others that it has: stat
// from path_exists and get_file_size, rename from copy and delete, matching from listing. An open
// file holds the plugin's state for it, behind one of three vtables: a reader, a writer, or a
// region of memory that is read.
#include "capi/plugin/plugin_file_system.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "capi/plugin/plugin.h"
#include "formats/path.h"

typedef leat_plugin_file_system_t plugin_t;
typedef void (*path_fn_t)(const TF_Filesystem* state, const char* path, TF_Status* status);

static LEAT_COLD leat_status_t lacks(const char* path, const char* function) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "Filesystem for %s does not support %s", path,
                          function);
}

// Takes the plugin's status and makes sure that it names |path|.
static leat_status_t take(TF_Status* status, const char* path) {
  leat_status_t taken = leat_capi_status_take(status);
  if (!taken || strstr(leat_status_message(taken), path)) return taken;
  return leat_status_annotate(taken, "A file system's plugin failed for '%s'", path);
}

// ---- Names --------------------------------------------------------------------------------------

// Translates |path| into the name that the plugin's functions take; it is freed with
// leat_allocator_free. Without a function of the plugin's, the scheme and host are cut off.
static leat_status_t translate(plugin_t* fs, const char* path, char** out_name) {
  leat_allocator_t* allocator = leat_allocator_system();
  *out_name = NULL;
  if (fs->ops.translate_name) {
    char* name = fs->ops.translate_name(&fs->state, path);
    if (!name) return leat_make_status(LEAT_INTERNAL, "A plugin has no name for '%s'", path);
    leat_status_t status = leat_allocator_clone_string(allocator, name, strlen(name), out_name);
    fs->free(name);
    return status;
  }
  size_t root_size = leat_file_root_size(path), size = strlen(path);
  if (root_size && path[root_size - 1] == '/') --root_size;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, size - root_size + 2, out_name));
  memcpy(*out_name, path + root_size, size - root_size);
  leat_path_clean(*out_name);
  return leat_ok_status();
}

// Calls one of the plugin's functions that take a path; |function| names it where the plugin lacks
// it.
static leat_status_t call_on_path(plugin_t* fs, path_fn_t fn, const char* function,
                                  const char* path) {
  char* name = NULL;
  TF_Status status = {NULL, NULL};
  if (!fn) return lacks(path, function);
  LEAT_RETURN_IF_ERROR(translate(fs, path, &name));
  fn(&fs->state, name, &status);
  leat_allocator_free(leat_allocator_system(), name);
  return take(&status, path);
}

// ---- Files --------------------------------------------------------------------------------------

typedef struct plugin_file_s {
  leat_file_t base;
  plugin_t* fs;
  leat_allocator_t* allocator;
  union {
    TF_RandomAccessFile reader;
    TF_WritableFile writer;
    TF_ReadOnlyMemoryRegion region;
  } state;
  char path[];
} plugin_file_t;

static leat_status_t close_reader(leat_file_t* base) {
  plugin_file_t* file = (plugin_file_t*)base;
  file->fs->reader.cleanup(&file->state.reader);
  leat_allocator_free(file->allocator, file);
  return leat_ok_status();
}

static leat_status_t close_region(leat_file_t* base) {
  plugin_file_t* file = (plugin_file_t*)base;
  file->fs->region.cleanup(&file->state.region);
  leat_allocator_free(file->allocator, file);
  return leat_ok_status();
}

// A plugin that has no close is an error, because the writer could not hear whether the data were
// stored.
static leat_status_t close_writer(leat_file_t* base) {
  plugin_file_t* file = (plugin_file_t*)base;
  const TF_WritableFileOps* ops = &file->fs->writer;
  TF_Status status = {NULL, NULL};
  if (ops->close) ops->close(&file->state.writer, &status);
  leat_status_t result = ops->close ? take(&status, base->path) : lacks(base->path, "Close()");
  ops->cleanup(&file->state.writer);
  leat_allocator_free(file->allocator, file);
  return result;
}

// A read at the end of the file gives fewer bytes and OK.
static leat_status_t read_file(leat_file_t* base, uint64_t offset, void* data, size_t size,
                               size_t* out_read) {
  plugin_file_t* file = (plugin_file_t*)base;
  const TF_RandomAccessFileOps* ops = &file->fs->reader;
  TF_Status status = {NULL, NULL};
  *out_read = 0;
  if (!ops->read) return lacks(base->path, "Read()");
  int64_t read = ops->read(&file->state.reader, offset, size, data, &status);
  // the end of the file is no error
  if (TF_GetCode(&status) == TF_OUT_OF_RANGE) TF_SetStatus(&status, TF_OK, "");
  if (read > 0) *out_read = LEAT_MIN((size_t)read, size);
  return take(&status, base->path);
}

static leat_status_t read_region(leat_file_t* base, uint64_t offset, void* data, size_t size,
                                 size_t* out_read) {
  plugin_file_t* file = (plugin_file_t*)base;
  const TF_ReadOnlyMemoryRegionOps* ops = &file->fs->region;
  uint64_t length = ops->length(&file->state.region);
  *out_read = offset < length ? (size_t)LEAT_MIN(length - offset, size) : 0;
  const char* bytes = ops->data(&file->state.region);
  if (*out_read) memcpy(data, bytes + offset, *out_read);
  return leat_ok_status();
}

static leat_status_t read_writer(leat_file_t* base, uint64_t offset, void* data, size_t size,
                                 size_t* out_read) {
  *out_read = 0;
  return leat_make_status(LEAT_FAILED_PRECONDITION, "Reading failed for '%s': it is being written",
                          base->path);
}

static leat_status_t write_file(leat_file_t* base, const void* data, size_t size) {
  plugin_file_t* file = (plugin_file_t*)base;
  const TF_WritableFileOps* ops = &file->fs->writer;
  TF_Status status = {NULL, NULL};
  if (!ops->append) return lacks(base->path, "Append()");
  ops->append(&file->state.writer, data, size, &status);
  return take(&status, base->path);
}

static leat_status_t write_reader(leat_file_t* base, const void* data, size_t size) {
  return leat_make_status(LEAT_FAILED_PRECONDITION, "Writing failed for '%s': it is being read",
                          base->path);
}

// A plugin without flush is taken to hold nothing back.
static leat_status_t flush_file(leat_file_t* base) {
  plugin_file_t* file = (plugin_file_t*)base;
  TF_Status status = {NULL, NULL};
  if (file->fs->writer.flush) file->fs->writer.flush(&file->state.writer, &status);
  return take(&status, base->path);
}

static leat_status_t sync_file(leat_file_t* base) {
  plugin_file_t* file = (plugin_file_t*)base;
  TF_Status status = {NULL, NULL};
  if (!file->fs->writer.sync) return flush_file(base);
  file->fs->writer.sync(&file->state.writer, &status);
  return take(&status, base->path);
}

static leat_status_t sync_reader(leat_file_t* base) { return leat_ok_status(); }

static leat_status_t size_region(leat_file_t* base, uint64_t* out_size) {
  plugin_file_t* file = (plugin_file_t*)base;
  *out_size = file->fs->region.length(&file->state.region);
  return leat_ok_status();
}

// An open file has no size in the plugin's interface, but its path has.
static leat_status_t size_file(leat_file_t* base, uint64_t* out_size) {
  plugin_file_t* file = (plugin_file_t*)base;
  leat_file_stat_t stat;
  *out_size = 0;
  LEAT_RETURN_IF_ERROR(file->fs->base.vtable->stat(&file->fs->base, base->path, &stat));
  *out_size = (uint64_t)stat.size_bytes;
  return leat_ok_status();
}

static const leat_file_vtable_t reader_vtable = {read_file, write_reader, sync_reader,
                                                 size_file, close_reader, NULL, NULL};
static const leat_file_vtable_t region_vtable = {read_region, write_reader, sync_reader,
                                                 size_region, close_region, NULL, NULL};
static const leat_file_vtable_t writer_vtable = {read_writer, write_file,   sync_file,
                                                 size_file,   close_writer, flush_file, NULL};

// ---- Opening ------------------------------------------------------------------------------------

// Opens the file for |mode| and sets its state and vtable.
static leat_status_t open_as(plugin_file_t* file, const char* name, leat_file_mode_t mode) {
  const TF_FilesystemOps* ops = &file->fs->ops;
  const TF_Filesystem* state = &file->fs->state;
  TF_Status status = {NULL, NULL};
  if (mode == LEAT_FILE_READ && ops->new_random_access_file) {
    file->base.vtable = &reader_vtable;
    ops->new_random_access_file(state, name, &file->state.reader, &status);
  } else if (mode == LEAT_FILE_READ && ops->new_read_only_memory_region_from_file) {
    file->base.vtable = &region_vtable;
    ops->new_read_only_memory_region_from_file(state, name, &file->state.region, &status);
  } else if (mode == LEAT_FILE_WRITE && ops->new_writable_file) {
    file->base.vtable = &writer_vtable;
    ops->new_writable_file(state, name, &file->state.writer, &status);
  } else if (mode == LEAT_FILE_APPEND && ops->new_appendable_file) {
    file->base.vtable = &writer_vtable;
    ops->new_appendable_file(state, name, &file->state.writer, &status);
  } else {
    static const char* const functions[] = {"NewRandomAccessFile()", "NewWritableFile()",
                                            "NewAppendableFile()"};
    return lacks(file->path, functions[mode]);
  }
  return take(&status, file->path);
}

// The path is kept with the file, for errors and for its size.
static leat_status_t plugin_open(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                                 leat_allocator_t* allocator, leat_file_t** out_file) {
  size_t path_size = strlen(path) + 1;
  plugin_file_t* file = NULL;
  char* name = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof *file + path_size, (void**)&file));
  memcpy(file->path, path, path_size);
  file->base.path = file->path;
  file->fs = (plugin_t*)self;
  file->allocator = allocator;
  leat_status_t status = translate(file->fs, path, &name);
  if (!status) status = open_as(file, name, mode);
  leat_allocator_free(leat_allocator_system(), name);
  if (status) {
    leat_allocator_free(allocator, file);
    return status;
  }
  *out_file = &file->base;
  return leat_ok_status();
}

// ---- Paths --------------------------------------------------------------------------------------

// Fills |stats|. A plugin without stat is asked whether the path exists, is a directory, and how
// large it is.
static leat_status_t look(const plugin_t* fs, const char* name, TF_FileStatistics* stats) {
  TF_Status status = {NULL, NULL};
  const TF_FilesystemOps* ops = &fs->ops;
  if (ops->stat) {
    ops->stat(&fs->state, name, stats, &status);
    return leat_capi_status_take(&status);
  }
  ops->path_exists(&fs->state, name, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  if (ops->is_directory) {  // TensorFlow's own plugins answer FAILED_PRECONDITION for a file
    stats->is_directory = ops->is_directory(&fs->state, name, &status);
    TF_SetStatus(&status, TF_OK, "");
  }
  if (!stats->is_directory && ops->get_file_size) {
    stats->length = ops->get_file_size(&fs->state, name, &status);
  }
  return leat_capi_status_take(&status);
}

static leat_status_t plugin_stat(leat_file_system_t* self, const char* path,
                                 leat_file_stat_t* out_stat) {
  plugin_t* fs = (plugin_t*)self;
  TF_FileStatistics stats = {.length = 0};
  char* name = NULL;
  if (!fs->ops.stat && !fs->ops.path_exists) return lacks(path, "Stat()");
  LEAT_RETURN_IF_ERROR(translate(fs, path, &name));
  TF_Status status = {look(fs, name, &stats), NULL};
  leat_allocator_free(leat_allocator_system(), name);
  *out_stat = (leat_file_stat_t){stats.length, stats.mtime_nsec, stats.is_directory};
  return take(&status, path);
}

static leat_status_t plugin_remove(leat_file_system_t* self, const char* path) {
  plugin_t* fs = (plugin_t*)self;
  leat_file_stat_t stat;
  LEAT_RETURN_IF_ERROR(plugin_stat(self, path, &stat));
  if (stat.is_directory) return call_on_path(fs, fs->ops.delete_dir, "DeleteDir()", path);
  return call_on_path(fs, fs->ops.delete_file, "DeleteFile()", path);
}

static leat_status_t plugin_make_directory(leat_file_system_t* self, const char* path) {
  plugin_t* fs = (plugin_t*)self;
  path_fn_t make = fs->ops.create_dir ? fs->ops.create_dir : fs->ops.recursively_create_dir;
  return call_on_path(fs, make, "CreateDir()", path);
}

// Copies through memory, for plugins that can neither rename nor copy.
static leat_status_t copy(leat_file_system_t* self, const char* from, const char* to) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_file_t* file = NULL;
  char* data = NULL;
  size_t size = 0;
  LEAT_RETURN_IF_ERROR(leat_file_read_all(self, from, allocator, &data, &size));
  leat_status_t status = leat_file_open(self, to, LEAT_FILE_WRITE, allocator, &file);
  if (!status) {
    status = file->vtable->write(file, data, size);
    status = leat_status_join(status, leat_file_close(file));
  }
  leat_allocator_free(allocator, data);
  return status;
}

// Renames; a plugin that cannot do that copies the file and deletes the old one.
static leat_status_t plugin_rename(leat_file_system_t* self, const char* from, const char* to) {
  plugin_t* fs = (plugin_t*)self;
  bool renames = fs->ops.rename_file;
  char *source = NULL, *target = NULL;
  TF_Status status = {translate(fs, from, &source), NULL};
  if (!status.status) status.status = translate(fs, to, &target);
  if (!status.status && renames) {
    fs->ops.rename_file(&fs->state, source, target, &status);
  } else if (!status.status && fs->ops.copy_file) {
    fs->ops.copy_file(&fs->state, source, target, &status);
  } else if (!status.status) {
    status.status = copy(self, from, to);
  }
  leat_allocator_free(leat_allocator_system(), source);
  leat_allocator_free(leat_allocator_system(), target);
  leat_status_t result = take(&status, from);
  if (result || renames) return result;
  return call_on_path(fs, fs->ops.delete_file, "DeleteFile()", from);
}

// Does nothing: plugins have no directories to sync, and what a file's sync stored is found by its
// path.
static leat_status_t plugin_sync_directory(leat_file_system_t* self, const char* path) {
  return leat_ok_status();
}

// ---- Lists of names -----------------------------------------------------------------------------

// Calls |fn| for each name until it fails, and frees all names with the plugin's function.
static leat_status_t tell_names(plugin_t* fs, char** names, int count, leat_file_name_fn_t fn,
                                void* data) {
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count; ++i) {
    if (!status) status = fn(data, names[i]);
    fs->free(names[i]);
  }
  if (count >= 0) fs->free(names);
  return status;
}

static leat_status_t plugin_list(leat_file_system_t* self, const char* path, leat_file_name_fn_t fn,
                                 void* data) {
  plugin_t* fs = (plugin_t*)self;
  TF_Status status = {NULL, NULL};
  char *name = NULL, **names = NULL;
  if (!fs->ops.get_children) return lacks(path, "GetChildren()");
  LEAT_RETURN_IF_ERROR(translate(fs, path, &name));
  int count = fs->ops.get_children(&fs->state, name, &names, &status);
  leat_allocator_free(leat_allocator_system(), name);
  return leat_status_join(take(&status, path), tell_names(fs, names, count, fn, data));
}

static int compare_names(const void* a, const void* b) {
  return strcmp(*(const char* const*)a, *(const char* const*)b);
}

// The names come sorted, as from the other file systems.
static leat_status_t plugin_match(leat_file_system_t* self, const char* pattern,
                                  leat_file_name_fn_t fn, void* data) {
  plugin_t* fs = (plugin_t*)self;
  TF_Status status = {NULL, NULL};
  char** names = NULL;
  if (!fs->ops.get_matching_paths) return leat_file_match_by_listing(self, pattern, fn, data);
  int count = fs->ops.get_matching_paths(&fs->state, pattern, &names, &status);
  if (count > 0) qsort(names, (size_t)count, sizeof *names, compare_names);
  return leat_status_join(take(&status, pattern), tell_names(fs, names, count, fn, data));
}

// ---- Options ------------------------------------------------------------------------------------

// Hands the plugin one option, whose value is bytes; both live for the call. The interface has
// pointers that are not constant, though nobody may write through them, so the plugin gets copies.
static leat_status_t plugin_set_option(leat_file_system_t* self, leat_string_view_t key,
                                       leat_string_view_t value) {
  plugin_t* fs = (plugin_t*)self;
  leat_allocator_t* allocator = leat_allocator_system();
  char *name = NULL, *bytes = NULL;
  TF_Status status = {NULL, NULL};
  if (!fs->ops.set_filesystem_configuration) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "Filesystem does not support SetConfiguration()");
  }
  if (value.size > INT_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Option %.*s has %zu bytes, must have at most %d", LEAT_SV_ARG(key),
                            value.size, INT_MAX);
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(allocator, key.data, key.size, &name));
  leat_status_t copied = leat_allocator_clone_string(allocator, value.data, value.size, &bytes);
  if (!copied) {
    TF_Filesystem_Option_Value_Union item = {
        .buffer_val = {.buf = bytes, .buf_length = (int)value.size}};
    TF_Filesystem_Option_Value values = {
        .type_tag = TF_Filesystem_Option_Type_Buffer, .num_values = 1, .values = &item};
    const TF_Filesystem_Option option = {.name = name, .value = &values};
    fs->ops.set_filesystem_configuration(&fs->state, &option, 1, &status);
    copied = take(&status, name);
  }
  leat_allocator_free(allocator, name);
  leat_allocator_free(allocator, bytes);
  return copied;
}

const leat_file_system_vtable_t leat_plugin_file_system_vtable = {
    plugin_open,           plugin_stat, plugin_rename,         plugin_remove,
    plugin_make_directory, plugin_list, plugin_sync_directory, plugin_match,
    plugin_set_option};
