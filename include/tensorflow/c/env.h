// Files, time, threads and shared libraries, for code that shall not name an operating system.
// Custom ops are the users: a kernel that reads a vocabulary through these functions reads it from
// every file system that is registered, not from the disk alone. A handle belongs to one thread at
// a time, the functions themselves may be called from any. c_api.h has the rules on errors and
// ownership.

#ifndef TENSORFLOW_C_ENV_H_
#define TENSORFLOW_C_ENV_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_file_statistics.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Files -----------------------------------------------------------------------------------
// Paths of this machine, and "scheme://..." of file systems that were registered
// (TF_RegisterFilesystemPlugin; TF_UNIMPLEMENTED for other schemes). Errors name the path:
// TF_NOT_FOUND, TF_ALREADY_EXISTS, TF_PERMISSION_DENIED, TF_FAILED_PRECONDITION (a directory that
// is not empty, or is none), TF_RESOURCE_EXHAUSTED (the disk is full), TF_INVALID_ARGUMENT (no
// path).

typedef struct TF_WritableFileHandle TF_WritableFileHandle;
typedef struct TF_StringStream TF_StringStream;
typedef struct TF_Thread TF_Thread;

TF_CAPI_EXPORT void TF_CreateDir(const char* dirname, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteDir(const char* dirname, TF_Status* status);

// The directory and all below it; goes on after an error, and counts what stayed.
TF_CAPI_EXPORT void TF_DeleteRecursively(const char* dirname, int64_t* undeleted_file_count,
                                         int64_t* undeleted_dir_count, TF_Status* status);

TF_CAPI_EXPORT void TF_FileStat(const char* filename, TF_FileStatistics* stats, TF_Status* status);

// A new file, or the old one emptied; NULL on failure. Ends with TF_CloseWritableFile, which frees
// the handle also when it fails: bytes may be lost then.
TF_CAPI_EXPORT void TF_NewWritableFile(const char* filename, TF_WritableFileHandle** handle,
                                       TF_Status* status);
TF_CAPI_EXPORT void TF_CloseWritableFile(TF_WritableFileHandle* handle, TF_Status* status);
// To the disk; to the system, where appending has put the bytes already.
TF_CAPI_EXPORT void TF_SyncWritableFile(TF_WritableFileHandle* handle, TF_Status* status);
TF_CAPI_EXPORT void TF_FlushWritableFile(TF_WritableFileHandle* handle, TF_Status* status);
TF_CAPI_EXPORT void TF_AppendWritableFile(TF_WritableFileHandle* handle, const char* data,
                                          size_t length, TF_Status* status);

TF_CAPI_EXPORT void TF_DeleteFile(const char* filename, TF_Status* status);

// The next text of |list|, borrowed from it; false at the end, with NULL.
TF_CAPI_EXPORT bool TF_StringStreamNext(TF_StringStream* list, const char** result);
// Frees the list. NULL is ignored.
TF_CAPI_EXPORT void TF_StringStreamDone(TF_StringStream* list);

// The names in a directory, without those of itself and its parent; NULL on failure.
TF_CAPI_EXPORT TF_StringStream* TF_GetChildren(const char* filename, TF_Status* status);

// Directories for temporary files that are there: what TEST_TMPDIR, TMPDIR and TMP name, /tmp.
TF_CAPI_EXPORT TF_StringStream* TF_GetLocalTempDirectories(void);

// A path in the first of them that no file has, ending in |extension|; for free().
TF_CAPI_EXPORT char* TF_GetTempFileName(const char* extension);

// --- Time ------------------------------------------------------------------------------------
// Since 1970.

TF_CAPI_EXPORT uint64_t TF_NowNanos(void);
TF_CAPI_EXPORT uint64_t TF_NowMicros(void);
TF_CAPI_EXPORT uint64_t TF_NowSeconds(void);

// --- Threads ---------------------------------------------------------------------------------

// 0 takes the system's size; |numa_node| -1 is none. Leat takes the system's in every case.
typedef struct TF_ThreadOptions {
  size_t stack_size;
  size_t guard_size;
  int numa_node;
} TF_ThreadOptions;

TF_CAPI_EXPORT void TF_DefaultThreadOptions(TF_ThreadOptions* options);

// Runs work_func(param) on a new thread; NULL when there can be none. TF_JoinThread waits for its
// end and frees the handle.
TF_CAPI_EXPORT TF_Thread* TF_StartThread(const TF_ThreadOptions* options, const char* thread_name,
                                         void (*work_func)(void*), void* param);
TF_CAPI_EXPORT void TF_JoinThread(TF_Thread* thread);

// --- Shared libraries ------------------------------------------------------------------------

// The loader's handle; NULL and TF_NOT_FOUND with the loader's words on failure.
TF_CAPI_EXPORT void* TF_LoadSharedLibrary(const char* library_filename, TF_Status* status);
TF_CAPI_EXPORT void* TF_GetSymbolFromLibrary(void* handle, const char* symbol_name,
                                             TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_ENV_H_
