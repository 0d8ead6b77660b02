// File systems behind an interface. Everything that opens a file of a user goes through it, so that
// a plugin can serve "gs://..." and a test can make the n-th call fail. Implementations are the
// operating system's (posix/file_posix.c), one that sends each path to the file system of its
// scheme (file_scheme.c), one that fails on purpose (file_system_faulty.c), and those of plugins;
// file_system_conformance.h holds the tests that each must pass.
//
// Paths are UTF-8 bytes and end with a NUL. One that begins with a scheme ("gs://bucket/name")
// belongs to the file system that was registered for the scheme. All calls may block on the disk,
// and any thread may make them; one file, however, is written by one thread at a time.
//
// The codes are TensorFlow's: NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, FAILED_PRECONDITION (a
// directory where a file is meant), RESOURCE_EXHAUSTED (a full disk), OUT_OF_RANGE (a read past the
// end), INVALID_ARGUMENT (a name that is too long) and UNKNOWN for the rest. Each message names the
// path.
#ifndef LEAT_BASE_FILE_SYSTEM_H_
#define LEAT_BASE_FILE_SYSTEM_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/allocator.h"
#include "base/arena.h"
#include "base/string_view.h"

typedef struct leat_file_system_s leat_file_system_t;
typedef struct leat_file_s leat_file_t;

// A file is opened for reading or for writing, never for both.
typedef enum leat_file_mode_e {
  LEAT_FILE_READ,      // must exist
  LEAT_FILE_WRITE,     // created or truncated
  LEAT_FILE_APPEND,    // created when absent
} leat_file_mode_t;

typedef struct leat_file_stat_s {
  int64_t size_bytes;
  int64_t modified_ns;  // wall time
  bool is_directory;
} leat_file_stat_t;

// Receives one name of a list. |name| is borrowed for the call; an error ends the walk and is
// returned to whoever began it.
typedef leat_status_t (*leat_file_name_fn_t)(void* data, const char* name);

// What an implementation provides. All slots but the last two must be filled.
typedef struct leat_file_system_vtable_s {
  // |*out_file| is freed by its |close|, from |allocator|, which must live until then.
  leat_status_t (*open)(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                        leat_allocator_t* allocator, leat_file_t** out_file);
  leat_status_t (*stat)(leat_file_system_t* self, const char* path, leat_file_stat_t* out_stat);
  // Replaces |to| where it is a file, in one step where the file system can.
  leat_status_t (*rename)(leat_file_system_t* self, const char* from, const char* to);
  // A file or an empty directory.
  leat_status_t (*remove)(leat_file_system_t* self, const char* path);
  // One directory, whose parent must be there. ALREADY_EXISTS when |path| is taken.
  leat_status_t (*make_directory)(leat_file_system_t* self, const char* path);
  // Calls |fn| with the name of each entry, without its directory and without "." and "..", in no
  // particular order.
  leat_status_t (*list)(leat_file_system_t* self, const char* path, leat_file_name_fn_t fn,
                        void* data);
  // The names in a directory reach the disk: without it a file that was renamed may have its old
  // name after a power failure.
  leat_status_t (*sync_directory)(leat_file_system_t* self, const char* path);
  // leat_file_match. NULL: by leat_file_match_by_listing.
  leat_status_t (*match)(leat_file_system_t* self, const char* pattern, leat_file_name_fn_t fn,
                         void* data);
  // Sets the option |key| of the file system. NULL: it has none.
  leat_status_t (*set_option)(leat_file_system_t* self, leat_string_view_t key,
                              leat_string_view_t value);
} leat_file_system_vtable_t;

// An implementation begins with this struct and keeps its own data behind it.
struct leat_file_system_s {
  const leat_file_system_vtable_t* vtable;
};

typedef struct leat_file_vtable_s {
  // Reads up to |size| bytes at |offset|; |out_read| < |size| only at the end of the file.
  leat_status_t (*read_at)(leat_file_t* self, uint64_t offset, void* data, size_t size,
                           size_t* out_read);
  // At the end of the file. All of |size| bytes or an error, after which a part may have been
  // written.
  leat_status_t (*write)(leat_file_t* self, const void* data, size_t size);
  // What was written reaches the disk. Slow: some milliseconds are usual.
  leat_status_t (*sync)(leat_file_t* self);
  leat_status_t (*size)(leat_file_t* self, uint64_t* out_size);
  // Frees the file in any case; an error says that what was written may be lost.
  leat_status_t (*close)(leat_file_t* self);
  // What was written becomes visible to who reads the file. NULL: it is at once.
  leat_status_t (*flush)(leat_file_t* self);
  // Cuts a file that is written to back to |size| bytes; what is written next comes behind them.
  // NULL: UNIMPLEMENTED.
  leat_status_t (*truncate)(leat_file_t* self, uint64_t size);
} leat_file_vtable_t;

struct leat_file_s {
  const leat_file_vtable_t* vtable;
  // For messages. It belongs to the implementation and is valid until close.
  const char* path;
};

// The operating system's file system. It is static: nobody frees it.
leat_file_system_t* leat_file_system_posix(void);

// ---- Schemes (file_scheme.c) ----

// Sends every path to the file system of its scheme; the runtime opens its users' files through it.
// Paths without a scheme, and those with "file", go to the operating system's. Calls return
// UNIMPLEMENTED when no file system is registered for the scheme.
leat_file_system_t* leat_file_system_default(void);
// From now on |fs| serves every path that begins with |scheme| "://", and receives it unchanged, on
// any thread. It is never removed, so it must live until the process ends. Codes: ALREADY_EXISTS;
// INVALID_ARGUMENT unless |scheme| is two or more letters, digits and dots, the first a letter.
LEAT_MUST_USE leat_status_t leat_file_system_register(const char* scheme, leat_file_system_t* fs);
// Sets an option of the file system of |scheme|; "" and "file" are the operating system's.
// UNIMPLEMENTED where nothing is registered for the scheme, or the file system has no options.
LEAT_MUST_USE leat_status_t leat_file_system_set_option(leat_string_view_t scheme,
                                                        leat_string_view_t key,
                                                        leat_string_view_t value);
// Bytes of |path| that name no entry of a directory: 6 of "gs://b/x", 1 of "/x", 0 of "x".
size_t leat_file_root_size(const char* path);

// ---- Files ----

// The caller ends with leat_file_close, on every path; |allocator| must live until then.
LEAT_MUST_USE leat_status_t leat_file_open(leat_file_system_t* fs, const char* path,
                                           leat_file_mode_t mode, leat_allocator_t* allocator,
                                           leat_file_t** out_file);
// Exactly |size| bytes or OUT_OF_RANGE.
LEAT_MUST_USE leat_status_t leat_file_read_exactly(leat_file_t* file, uint64_t offset, void* data,
                                                   size_t size);
// What was written becomes visible to readers of the file, without a wait for the disk.
LEAT_MUST_USE leat_status_t leat_file_flush(leat_file_t* file);
// Cuts a file that is being written to its first |size| bytes. UNIMPLEMENTED where the file system
// cannot.
LEAT_MUST_USE leat_status_t leat_file_truncate(leat_file_t* file, uint64_t size);
LEAT_MUST_USE leat_status_t leat_file_close(leat_file_t* file);  // NULL is OK
// Whether stat succeeds: false as well for what may not be looked at or when the network is gone.
bool leat_file_exists(leat_file_system_t* fs, const char* path);
// The whole file, with a NUL behind its last byte that |*out_size| does not count. The caller frees
// |*out_data| with |allocator|. A file that grows meanwhile and those of /proc, which have no size,
// are read to their end too.
LEAT_MUST_USE leat_status_t leat_file_read_all(leat_file_system_t* fs, const char* path,
                                               leat_allocator_t* allocator, char** out_data,
                                               size_t* out_size);
// Replaces the file at |path|, published whole or not at all: temporary file beside it, fsync,
// rename, fsync of the directory. Readers see the old bytes or the new ones, and never a part. When
// it fails before the rename, the temporary file is removed.
LEAT_MUST_USE leat_status_t leat_file_write_atomically(leat_file_system_t* fs, const char* path,
                                                       const void* data, size_t size);
// The directory and its missing parents; the parent of each that is made is synced, so that what is
// published in the new directory does not vanish with it when the power fails.
LEAT_MUST_USE leat_status_t leat_file_make_directories(leat_file_system_t* fs, const char* path);
// Calls |fn| with each existing path that matches |pattern| (* ? [] in any component;
// base/file_pattern.h), in byte order. No match is no error; nor is a directory that may not be
// read.
LEAT_MUST_USE leat_status_t leat_file_match(leat_file_system_t* fs, const char* pattern,
                                            leat_file_name_fn_t fn, void* data);
// Matches by listing directories, as leat_file_match does where |fs| has no |match| of its own.
LEAT_MUST_USE leat_status_t leat_file_match_by_listing(leat_file_system_t* fs, const char* pattern,
                                                       leat_file_name_fn_t fn, void* data);

// ---- Temporary files (file_temporary.c) ----

// A path beside |path|, in |arena|, for a file that is renamed to |path| once it is whole. Its name
// is unique and says which process writes the file.
LEAT_MUST_USE leat_status_t leat_file_temporary_path(const char* path, leat_arena_t* arena,
                                                     const char** out_path);
// Removes the temporary files that processes which died have left in |directory|; those of living
// processes stay. Whatever goes wrong on the way is passed over, because nobody depends on it.
void leat_file_sweep_temporaries(leat_file_system_t* fs, const char* directory);

#endif  // LEAT_BASE_FILE_SYSTEM_H_
