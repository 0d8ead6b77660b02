// What the C API has of the process and the system around it, over src/base: the functions of env.h
// (files, time, threads, shared libraries), what leat/files.h adds to its files, those of
// logging.h, which write to the library's log, and the version that the library is, with that of
// the TensorFlow that it stands in for. Files go through the library's default file system, so that
// plugins' file systems work here as well. A handle of a file is a leat_file_t, and a stream of
// strings is one block with the names one after the other. The functions check their paths, since
// callers from other languages may pass NULL or "".
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/host.h"
#include "base/library.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "capi/plugin/plugin.h"
#include "leat/files.h"
#include "leat/inspect.h"
#include "tensorflow/c/env.h"
#include "tensorflow/c/logging.h"

struct TF_StringStream {
  leat_string_builder_t names;  // the names, each followed by its NUL
  size_t next;
};
struct TF_Thread {
  leat_thread_t thread;
};

static leat_file_system_t* files(void) { return leat_file_system_default(); }

static leat_status_t check_path(const char* path) {
  return path && *path ? leat_ok_status()
                       : leat_make_status(LEAT_INVALID_ARGUMENT, "A path is empty, must name one");
}

// ---- Files --------------------------------------------------------------------------------------

void TF_CreateDir(const char* dirname, TF_Status* status) {
  leat_status_t result = check_path(dirname);
  if (!result) result = files()->vtable->make_directory(files(), dirname);
  leat_capi_status_set(status, result);
}

// Removes a file or a directory, and refuses the other kind: the file system's remove takes both.
static leat_status_t delete_kind(const char* path, bool is_directory) {
  leat_file_stat_t stat;
  LEAT_RETURN_IF_ERROR(check_path(path));
  LEAT_RETURN_IF_ERROR(files()->vtable->stat(files(), path, &stat));
  if (stat.is_directory == is_directory) return files()->vtable->remove(files(), path);
  return leat_make_status(LEAT_FAILED_PRECONDITION, "Deleting '%s' failed: it is %sa directory",
                          path, is_directory ? "not " : "");
}

void TF_DeleteDir(const char* dirname, TF_Status* status) {
  leat_capi_status_set(status, delete_kind(dirname, true));
}

void TF_DeleteFile(const char* filename, TF_Status* status) {
  leat_capi_status_set(status, delete_kind(filename, false));
}

void TF_FileStat(const char* filename, TF_FileStatistics* stats, TF_Status* status) {
  leat_file_stat_t stat;
  leat_status_t result = check_path(filename);
  if (!result) result = files()->vtable->stat(files(), filename, &stat);
  if (!result) *stats = (TF_FileStatistics){stat.size_bytes, stat.modified_ns, stat.is_directory};
  leat_capi_status_set(status, result);
}

void leat_path_rename(const char* from, const char* to, TF_Status* status) {
  leat_status_t result = check_path(from);
  if (!result) result = check_path(to);
  if (!result) result = files()->vtable->rename(files(), from, to);
  leat_capi_status_set(status, result);
}

// NULL on error.
static leat_file_t* open_file(const char* path, leat_file_mode_t mode, TF_Status* status) {
  leat_file_t* file = NULL;
  leat_status_t result = check_path(path);
  if (!result) result = leat_file_open(files(), path, mode, leat_allocator_system(), &file);
  leat_capi_status_set(status, result);
  return file;
}

leat_readable_file_t* leat_readable_file_open(const char* path, TF_Status* status) {
  return (leat_readable_file_t*)open_file(path, LEAT_FILE_READ, status);
}

size_t leat_readable_file_read(leat_readable_file_t* handle, uint64_t offset, void* data,
                               size_t size, TF_Status* status) {
  leat_file_t* file = (leat_file_t*)handle;
  size_t count = 0;
  leat_capi_status_set(status, file->vtable->read_at(file, offset, data, size, &count));
  return count;
}

void leat_readable_file_close(leat_readable_file_t* file) {
  leat_status_free(leat_file_close((leat_file_t*)file));
}

void TF_NewWritableFile(const char* filename, TF_WritableFileHandle** handle, TF_Status* status) {
  *handle = (TF_WritableFileHandle*)open_file(filename, LEAT_FILE_WRITE, status);
}

TF_WritableFileHandle* leat_writable_file_append(const char* path, TF_Status* status) {
  return (TF_WritableFileHandle*)open_file(path, LEAT_FILE_APPEND, status);
}

static leat_file_t* file_of(TF_WritableFileHandle* handle) { return (leat_file_t*)handle; }

void TF_CloseWritableFile(TF_WritableFileHandle* handle, TF_Status* status) {
  leat_capi_status_set(status, leat_file_close(file_of(handle)));
}

void TF_SyncWritableFile(TF_WritableFileHandle* handle, TF_Status* status) {
  leat_capi_status_set(status, file_of(handle)->vtable->sync(file_of(handle)));
}

// Gives buffered bytes to the operating system; sync also stores them.
void TF_FlushWritableFile(TF_WritableFileHandle* handle, TF_Status* status) {
  leat_capi_status_set(status, leat_file_flush(file_of(handle)));
}

void TF_AppendWritableFile(TF_WritableFileHandle* handle, const char* data, size_t length,
                           TF_Status* status) {
  leat_capi_status_set(status, file_of(handle)->vtable->write(file_of(handle), data, length));
}

// ---- Lists of names -----------------------------------------------------------------------------

static TF_StringStream* new_stream(void) {
  TF_StringStream* stream = leat_capi_allocate(sizeof *stream);
  if (stream) leat_string_builder_initialize(leat_allocator_system(), &stream->names);
  return stream;
}

static leat_status_t add_name(void* data, const char* name) {
  TF_StringStream* stream = data;
  leat_string_builder_append(&stream->names, leat_string_view_make(name, strlen(name) + 1));
  return leat_ok_status();
}

// Returns the names one after the other; a stream that is NULL has none.
bool TF_StringStreamNext(TF_StringStream* list, const char** result) {
  *result = NULL;
  if (!list || list->next >= list->names.size) return false;
  *result = list->names.data + list->next;
  list->next += strlen(*result) + 1;
  return true;
}

void TF_StringStreamDone(TF_StringStream* list) {
  if (list) leat_string_builder_deinitialize(&list->names);
  leat_allocator_free(leat_allocator_system(), list);
}

// leat_file_match, or the slot |list| of the file system.
typedef leat_status_t (*list_fn_t)(leat_file_system_t* fs, const char* path,
                                   leat_file_name_fn_t fn, void* data);

// Collects the names that |list| gives for |path|. The caller calls TF_StringStreamDone in any
// case, also after a failure.
static leat_status_t collect_names(list_fn_t list, const char* path,
                                   TF_StringStream** out_stream) {
  *out_stream = new_stream();
  LEAT_RETURN_IF_ERROR(check_path(path));
  if (!*out_stream) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for names ran out");
  LEAT_RETURN_IF_ERROR(list(files(), path, add_name, *out_stream));
  return leat_status_clone((*out_stream)->names.status);
}

static TF_StringStream* return_names(list_fn_t list, const char* path, TF_Status* status) {
  TF_StringStream* stream = NULL;
  leat_status_t result = collect_names(list, path, &stream);
  if (result) {
    TF_StringStreamDone(stream);
    stream = NULL;
  }
  leat_capi_status_set(status, result);
  return stream;
}

TF_StringStream* TF_GetChildren(const char* filename, TF_Status* status) {
  return return_names(files()->vtable->list, filename, status);
}

TF_StringStream* leat_path_match(const char* pattern, TF_Status* status) {
  return return_names(leat_file_match, pattern, status);
}

// Deletes what is in |path| and then |path| itself. Where something cannot be deleted it goes on
// with the rest and counts what is left.
static leat_status_t delete_tree(const char* path, int64_t* out_files, int64_t* out_directories) {
  TF_StringStream* names = NULL;
  const char* name;
  leat_status_t status = collect_names(files()->vtable->list, path, &names);
  while (!status && TF_StringStreamNext(names, &name)) {
    leat_string_builder_t child;
    leat_file_stat_t stat = {.is_directory = false};
    leat_string_builder_initialize(leat_allocator_system(), &child);
    leat_string_builder_print(&child, "%s/%s", path, name);
    leat_status_t failure = leat_status_clone(child.status);
    // Removing comes first: a link to a directory is removed as a link, and what it leads to stays.
    if (!failure) failure = files()->vtable->remove(files(), child.data);
    if (failure) {
      leat_status_free(failure);
      failure = child.data ? files()->vtable->stat(files(), child.data, &stat) : NULL;
      leat_status_free(failure);
      failure = stat.is_directory ? delete_tree(child.data, out_files, out_directories) : NULL;
      *out_files += !stat.is_directory;
    }
    leat_string_builder_deinitialize(&child);
    leat_status_free(failure);
  }
  TF_StringStreamDone(names);
  if (!status) status = files()->vtable->remove(files(), path);
  *out_directories += status != NULL;
  return status;
}

void TF_DeleteRecursively(const char* dirname, int64_t* undeleted_file_count,
                          int64_t* undeleted_dir_count, TF_Status* status) {
  *undeleted_file_count = *undeleted_dir_count = 0;
  leat_status_t result = check_path(dirname);
  if (!result) result = delete_tree(dirname, undeleted_file_count, undeleted_dir_count);
  leat_capi_status_set(status, result);
}

// The environment is trusted only where the process runs with its user's own rights. Directories
// that do not exist are left out.
TF_StringStream* TF_GetLocalTempDirectories(void) {
  const char* const candidates[] = {leat_environment_get_trusted("TEST_TMPDIR"),
                                    leat_environment_get_trusted("TMPDIR"),
                                    leat_environment_get_trusted("TMP"), "/tmp"};
  TF_StringStream* stream = new_stream();
  for (size_t i = 0; stream && i < LEAT_ARRAY_SIZE(candidates); ++i) {
    leat_file_stat_t stat = {.is_directory = false};
    const char* path = candidates[i];
    if (!path || !*path) continue;
    leat_status_free(files()->vtable->stat(files(), path, &stat));
    if (stat.is_directory) leat_status_free(add_name(stream, path));
  }
  return stream;
}

// The name is random, so that processes do not need to agree; the caller frees it.
char* TF_GetTempFileName(const char* extension) {
  TF_StringStream* directories = TF_GetLocalTempDirectories();
  const char* directory = NULL;
  char* path = NULL;
  if (TF_StringStreamNext(directories, &directory)) {
    size_t size = strlen(directory) + strlen(extension ? extension : "") + 40;
    path = malloc(size);
    do {
      if (!path) break;
      snprintf(path, size, "%s/leat_%016llx%s", directory,
               (unsigned long long)leat_random_seed(), extension ? extension : "");
    } while (leat_file_exists(files(), path));
  }
  TF_StringStreamDone(directories);
  return path;
}

// ---- Time, threads, libraries -------------------------------------------------------------------

uint64_t TF_NowNanos(void) { return (uint64_t)leat_clock_wall_ns(); }
uint64_t TF_NowMicros(void) { return TF_NowNanos() / 1000; }
uint64_t TF_NowSeconds(void) { return TF_NowNanos() / 1000000000; }

void TF_DefaultThreadOptions(TF_ThreadOptions* options) {
  *options = (TF_ThreadOptions){.numa_node = -1};
}

// The options are ignored: threads have the system's default stack and no NUMA node.
TF_Thread* TF_StartThread(const TF_ThreadOptions* options, const char* thread_name,
                          void (*work_func)(void*), void* param) {
  TF_Thread* thread = work_func ? leat_capi_allocate(sizeof *thread) : NULL;
  if (!thread) return NULL;
  leat_status_t status = leat_thread_start(thread_name ? thread_name : "", work_func, param,
                                           &thread->thread);
  if (!status) return thread;
  leat_status_free(status);
  leat_allocator_free(leat_allocator_system(), thread);
  return NULL;
}

void TF_JoinThread(TF_Thread* thread) {
  if (thread) leat_thread_join(thread->thread);
  leat_allocator_free(leat_allocator_system(), thread);
}

void* TF_LoadSharedLibrary(const char* library_filename, TF_Status* status) {
  leat_library_t* library = NULL;
  leat_status_t result = check_path(library_filename);
  if (!result) result = leat_library_open(library_filename, &library);
  leat_capi_status_set(status, result);
  return library;
}

void* TF_GetSymbolFromLibrary(void* handle, const char* symbol_name, TF_Status* status) {
  void* symbol = handle && symbol_name ? leat_library_symbol(handle, symbol_name) : NULL;
  leat_capi_status_set(status, symbol ? leat_ok_status()
                                      : leat_make_status(LEAT_NOT_FOUND, "There is no symbol '%s'",
                                                         symbol_name ? symbol_name : ""));
  return symbol;
}

// ---- The library's version and log --------------------------------------------------------------

const char* leat_version(void) { return LEAT_VERSION; }

// The TensorFlow that the library stands in for.
const char* TF_Version(void) { return "2.21.0"; }

static void write_line(leat_log_level_t level, const char* format, va_list arguments) {
  char line[1024];
  if (!format || vsnprintf(line, sizeof line, format, arguments) < 0) return;
  leat_log(level, "%s", line);
}

void TF_Log(TF_LogLevel level, const char* fmt, ...) {
  va_list arguments;
  va_start(arguments, fmt);
  write_line(level >= TF_ERROR ? LEAT_LOG_ERROR : LEAT_LOG_INFO + (level == TF_WARNING), fmt,
             arguments);
  va_end(arguments);
}

void TF_VLog(int level, const char* fmt, ...) {
  va_list arguments;
  va_start(arguments, fmt);
  write_line(level ? LEAT_LOG_DEBUG : LEAT_LOG_INFO, fmt, arguments);
  va_end(arguments);
}

void TF_DVLog(int level, const char* fmt, ...) {
#ifdef LEAT_DEBUG
  va_list arguments;
  va_start(arguments, fmt);
  write_line(level ? LEAT_LOG_DEBUG : LEAT_LOG_INFO, fmt, arguments);
  va_end(arguments);
#endif
}
