// A plugin's file system (tensorflow/c/experimental/filesystem/filesystem_interface.h) in the form
// of base/file_system.h.
#ifndef LEAT_CAPI_PLUGIN_PLUGIN_FILE_SYSTEM_H_
#define LEAT_CAPI_PLUGIN_PLUGIN_FILE_SYSTEM_H_

#include "base/file_system.h"
#include "tensorflow/c/experimental/filesystem/filesystem_interface.h"

// Made by filesystem_plugin.c for one scheme of a plugin. Once it is registered it is never freed
// and not changed any more, so that any thread may use it.
typedef struct leat_plugin_file_system_s {
  leat_file_system_t base;
  TF_Filesystem state;
  void (*free)(void* memory);  // the plugin's function for memory that it allocated
  // Copies of the plugin's tables; tables that the plugin lacks are zero.
  TF_FilesystemOps ops;
  TF_RandomAccessFileOps reader;
  TF_WritableFileOps writer;
  TF_ReadOnlyMemoryRegionOps region;
} leat_plugin_file_system_t;

// The vtable of a file system whose other members are set.
extern const leat_file_system_vtable_t leat_plugin_file_system_vtable;

#endif  // LEAT_CAPI_PLUGIN_PLUGIN_FILE_SYSTEM_H_
