// A plugin with file systems of the test that loads it: its TF_InitPlugin does what the test wants.
#include "tensorflow/c/experimental/filesystem/filesystem_interface.h"

TF_CAPI_EXPORT void (*hook_plugin_initialize)(TF_FilesystemPluginInfo* info);

void TF_InitPlugin(TF_FilesystemPluginInfo* info) { hook_plugin_initialize(info); }
