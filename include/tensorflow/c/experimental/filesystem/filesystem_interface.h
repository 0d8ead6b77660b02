// How a plugin brings file systems: tables of functions for the schemes ("demo" of
// "demo://bucket/name") that it serves. TF_RegisterFilesystemPlugin (c_api_registry.h) loads it and
// calls its TF_InitPlugin; from then on whatever opens a path of these schemes comes to it: ops
// that read and write files, readers, checkpoints, SavedModels, env.h. examples/filesystem/ is one.
//
// The tables:
// - A function may be NULL unless its line says "required": what needs it answers UNIMPLEMENTED, or
//   goes another way where the line names one.
// - The runtime copies the tables. Functions are added at their end only: their size tells how many
//   a plugin has.
// - The runtime owns the small structs that come first among the arguments, the plugin what their
//   one member points to; new_... and init set it, cleanup frees what it points to.
// - Paths have gone through translate_name. They end with a NUL, as all texts do.
// - Memory that a function hands out is from plugin_memory_allocate; the runtime frees it.
// - A function with a |status| sets it in every case but success, where it may (to TF_OK).
// - Everything may be called from any thread, and may block. One writable file is used by one
//   thread at a time.
#ifndef TENSORFLOW_C_EXPERIMENTAL_FILESYSTEM_FILESYSTEM_INTERFACE_H_
#define TENSORFLOW_C_EXPERIMENTAL_FILESYSTEM_FILESYSTEM_INTERFACE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_file_statistics.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- What the plugin keeps ---------------------------------------------------------------------

typedef struct TF_RandomAccessFile {
  void* plugin_file;
} TF_RandomAccessFile;
typedef struct TF_WritableFile {
  void* plugin_file;
} TF_WritableFile;
typedef struct TF_ReadOnlyMemoryRegion {
  void* plugin_memory_region;
} TF_ReadOnlyMemoryRegion;
typedef struct TF_Filesystem {
  void* plugin_filesystem;
} TF_Filesystem;
// Transactions and options are TensorFlow's: Leat calls nothing that takes them, nor paths_exist,
// tell and flush_caches.
typedef struct TF_TransactionToken {
  void* token;
  TF_Filesystem* owner;
} TF_TransactionToken;

typedef union TF_Filesystem_Option_Value_Union {
  int64_t int_val;
  double real_val;
  struct {
    char* buf;
    int buf_length;
  } buffer_val;
} TF_Filesystem_Option_Value_Union;
typedef struct TF_Filesystem_Option_Value {
  int type_tag;  // TF_Filesystem_Option_Type
  int num_values;
  TF_Filesystem_Option_Value_Union* values;  // [num_values]
} TF_Filesystem_Option_Value;
typedef enum TF_Filesystem_Option_Type {
  TF_Filesystem_Option_Type_Int = 0,
  TF_Filesystem_Option_Type_Real,
  TF_Filesystem_Option_Type_Buffer,
  TF_Filesystem_Num_Option_Types,
} TF_Filesystem_Option_Type;
typedef struct TF_Filesystem_Option {
  char* name;
  char* description;
  int per_file;  // 0 or 1
  TF_Filesystem_Option_Value* value;
} TF_Filesystem_Option;

// --- Files -------------------------------------------------------------------------------------

typedef struct TF_RandomAccessFileOps {
  void (*cleanup)(TF_RandomAccessFile* file);  // required
  // Up to |n| bytes at |offset|: how many, TF_OUT_OF_RANGE when the file ended before; -1 with any
  // other error.
  int64_t (*read)(const TF_RandomAccessFile* file, uint64_t offset, size_t n, char* buffer,
                  TF_Status* status);
} TF_RandomAccessFileOps;

typedef struct TF_WritableFileOps {
  void (*cleanup)(TF_WritableFile* file);  // required
  void (*append)(const TF_WritableFile* file, const char* buffer, size_t n, TF_Status* status);
  int64_t (*tell)(const TF_WritableFile* file, TF_Status* status);  // bytes in the file, or -1
  void (*flush)(const TF_WritableFile* file, TF_Status* status);    // NULL: there is nothing to do
  void (*sync)(const TF_WritableFile* file, TF_Status* status);     // NULL: flush
  void (*close)(const TF_WritableFile* file, TF_Status* status);    // once, before cleanup
} TF_WritableFileOps;

typedef struct TF_ReadOnlyMemoryRegionOps {
  void (*cleanup)(TF_ReadOnlyMemoryRegion* region);               // required
  const void* (*data)(const TF_ReadOnlyMemoryRegion* region);     // required
  uint64_t (*length)(const TF_ReadOnlyMemoryRegion* region);      // required
} TF_ReadOnlyMemoryRegionOps;

// --- The file system ---------------------------------------------------------------------------
// Codes: TF_NOT_FOUND (it, or a directory on the way), TF_FAILED_PRECONDITION (a directory where a
// file is meant, or the reverse; one that is not empty), TF_ALREADY_EXISTS, and any other.

typedef struct TF_FilesystemOps {
  void (*init)(TF_Filesystem* filesystem, TF_Status* status);  // required
  void (*cleanup)(TF_Filesystem* filesystem);                  // required

  // Each needs the table of what it makes. Without the first, files are read by memory region.
  void (*new_random_access_file)(const TF_Filesystem* filesystem, const char* path,
                                 TF_RandomAccessFile* file, TF_Status* status);
  void (*new_writable_file)(const TF_Filesystem* filesystem, const char* path,
                            TF_WritableFile* file, TF_Status* status);  // made, or emptied
  void (*new_appendable_file)(const TF_Filesystem* filesystem, const char* path,
                              TF_WritableFile* file, TF_Status* status);  // made when absent
  void (*new_read_only_memory_region_from_file)(const TF_Filesystem* filesystem, const char* path,
                                                TF_ReadOnlyMemoryRegion* region,
                                                TF_Status* status);

  void (*create_dir)(const TF_Filesystem* filesystem, const char* path, TF_Status* status);
  // With the directories above. Leat calls it where create_dir is NULL.
  void (*recursively_create_dir)(const TF_Filesystem* filesystem, const char* path,
                                 TF_Status* status);
  void (*delete_file)(const TF_Filesystem* filesystem, const char* path, TF_Status* status);
  void (*delete_dir)(const TF_Filesystem* filesystem, const char* path, TF_Status* status);
  // With all below it. Leat calls the two above instead.
  void (*delete_recursively)(const TF_Filesystem* filesystem, const char* path,
                             uint64_t* undeleted_files, uint64_t* undeleted_dirs,
                             TF_Status* status);
  // Replaces |dst|. NULL: copy_file and delete_file.
  void (*rename_file)(const TF_Filesystem* filesystem, const char* src, const char* dst,
                      TF_Status* status);
  // NULL: it is read and written.
  void (*copy_file)(const TF_Filesystem* filesystem, const char* src, const char* dst,
                    TF_Status* status);

  void (*path_exists)(const TF_Filesystem* filesystem, const char* path, TF_Status* status);
  // |statuses| may be NULL.
  bool (*paths_exist)(const TF_Filesystem* filesystem, char** paths, int num_files,
                      TF_Status** statuses);
  // NULL: what the next two and path_exists say.
  void (*stat)(const TF_Filesystem* filesystem, const char* path, TF_FileStatistics* stats,
               TF_Status* status);
  bool (*is_directory)(const TF_Filesystem* filesystem, const char* path, TF_Status* status);
  int64_t (*get_file_size)(const TF_Filesystem* filesystem, const char* path, TF_Status* status);

  // What the other functions get as |path| for a user's |uri|, never NULL. NULL: what follows
  // "scheme://host", without ".", ".." and "//"; "/" when that is nothing.
  char* (*translate_name)(const TF_Filesystem* filesystem, const char* uri);

  // The names in a directory, each and their array allocated. Their count; -1 is an error.
  int (*get_children)(const TF_Filesystem* filesystem, const char* path, char*** entries,
                      TF_Status* status);
  // Paths that match |glob|, which is the user's. NULL: directories are listed.
  int (*get_matching_paths)(const TF_Filesystem* filesystem, const char* glob, char*** entries,
                            TF_Status* status);
  void (*flush_caches)(const TF_Filesystem* filesystem);

  int (*start_transaction)(const TF_Filesystem* filesystem, TF_TransactionToken** token,
                           TF_Status* status);
  int (*end_transaction)(const TF_Filesystem* filesystem, TF_TransactionToken* token,
                         TF_Status* status);
  int (*add_to_transaction)(const TF_Filesystem* filesystem, const char* path,
                            TF_TransactionToken* token, TF_Status* status);
  int (*get_transaction_for_path)(const TF_Filesystem* filesystem, const char* path,
                                  TF_TransactionToken** token, TF_Status* status);
  int (*get_or_start_transaction_for_path)(const TF_Filesystem* filesystem, const char* path,
                                           TF_TransactionToken** token, TF_Status* status);
  char* (*decode_transaction_token)(const TF_Filesystem* filesystem,
                                    const TF_TransactionToken* token);

  void (*get_filesystem_configuration)(const TF_Filesystem* filesystem,
                                       TF_Filesystem_Option** options, int* num_options,
                                       TF_Status* status);
  void (*set_filesystem_configuration)(const TF_Filesystem* filesystem,
                                       const TF_Filesystem_Option* options, int num_options,
                                       TF_Status* status);
  void (*get_filesystem_configuration_option)(const TF_Filesystem* filesystem, const char* key,
                                              TF_Filesystem_Option** option, TF_Status* status);
  void (*set_filesystem_configuration_option)(const TF_Filesystem* filesystem,
                                              const TF_Filesystem_Option* option,
                                              TF_Status* status);
  void (*get_filesystem_configuration_keys)(const TF_Filesystem* filesystem, char** keys,
                                            int* num_keys, TF_Status* status);
} TF_FilesystemOps;

// --- Versions ----------------------------------------------------------------------------------
// A plugin of another ABI is refused; one of another API is taken, with a line in the log.

#define TF_RANDOM_ACCESS_FILE_OPS_API 0
#define TF_RANDOM_ACCESS_FILE_OPS_ABI 0
#define TF_RANDOM_ACCESS_FILE_OPS_SIZE sizeof(TF_RandomAccessFileOps)
#define TF_WRITABLE_FILE_OPS_API 0
#define TF_WRITABLE_FILE_OPS_ABI 0
#define TF_WRITABLE_FILE_OPS_SIZE sizeof(TF_WritableFileOps)
#define TF_READ_ONLY_MEMORY_REGION_OPS_API 0
#define TF_READ_ONLY_MEMORY_REGION_OPS_ABI 0
#define TF_READ_ONLY_MEMORY_REGION_OPS_SIZE sizeof(TF_ReadOnlyMemoryRegionOps)
#define TF_FILESYSTEM_OPS_API 0
#define TF_FILESYSTEM_OPS_ABI 0
#define TF_FILESYSTEM_OPS_SIZE sizeof(TF_FilesystemOps)

// --- Registration ------------------------------------------------------------------------------

// One scheme. Its text and tables are from plugin_memory_allocate, and the runtime's afterwards.
typedef struct TF_FilesystemPluginOps {
  char* scheme;  // "demo"
  int filesystem_ops_abi;
  int filesystem_ops_api;
  size_t filesystem_ops_size;
  TF_FilesystemOps* filesystem_ops;  // required
  int random_access_file_ops_abi;
  int random_access_file_ops_api;
  size_t random_access_file_ops_size;
  TF_RandomAccessFileOps* random_access_file_ops;
  int writable_file_ops_abi;
  int writable_file_ops_api;
  size_t writable_file_ops_size;
  TF_WritableFileOps* writable_file_ops;
  int read_only_memory_region_ops_abi;
  int read_only_memory_region_ops_api;
  size_t read_only_memory_region_ops_size;
  TF_ReadOnlyMemoryRegionOps* read_only_memory_region_ops;
} TF_FilesystemPluginOps;

typedef struct TF_FilesystemPluginInfo {
  size_t num_schemes;
  TF_FilesystemPluginOps* ops;                    // [num_schemes]
  void* (*plugin_memory_allocate)(size_t size);   // required
  void (*plugin_memory_free)(void* ptr);          // required; takes NULL
} TF_FilesystemPluginInfo;

// For TF_InitPlugin, on each of |plugin_info->ops|: the versions that the plugin was built for.
static inline void TF_SetFilesystemVersionMetadata(TF_FilesystemPluginOps* ops) {
  ops->filesystem_ops_abi = TF_FILESYSTEM_OPS_ABI;
  ops->filesystem_ops_api = TF_FILESYSTEM_OPS_API;
  ops->filesystem_ops_size = TF_FILESYSTEM_OPS_SIZE;
  ops->random_access_file_ops_abi = TF_RANDOM_ACCESS_FILE_OPS_ABI;
  ops->random_access_file_ops_api = TF_RANDOM_ACCESS_FILE_OPS_API;
  ops->random_access_file_ops_size = TF_RANDOM_ACCESS_FILE_OPS_SIZE;
  ops->writable_file_ops_abi = TF_WRITABLE_FILE_OPS_ABI;
  ops->writable_file_ops_api = TF_WRITABLE_FILE_OPS_API;
  ops->writable_file_ops_size = TF_WRITABLE_FILE_OPS_SIZE;
  ops->read_only_memory_region_ops_abi = TF_READ_ONLY_MEMORY_REGION_OPS_ABI;
  ops->read_only_memory_region_ops_api = TF_READ_ONLY_MEMORY_REGION_OPS_API;
  ops->read_only_memory_region_ops_size = TF_READ_ONLY_MEMORY_REGION_OPS_SIZE;
}

// The plugin's: fills |plugin_info|, which comes zeroed.
TF_CAPI_EXPORT extern void TF_InitPlugin(TF_FilesystemPluginInfo* plugin_info);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_FILESYSTEM_FILESYSTEM_INTERFACE_H_
