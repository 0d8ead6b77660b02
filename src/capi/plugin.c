// Loading shared objects with ops, kernels, file systems, and descriptions for generators of
// language bindings. They come with the plugin interfaces.
#include "capi/handles.h"

TF_Library* TF_LoadLibrary(const char* library_filename, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_LoadLibrary");
  return NULL;
}

TF_Buffer TF_GetOpList(TF_Library* lib_handle) { return (TF_Buffer){NULL, 0, NULL}; }

void TF_DeleteLibraryHandle(TF_Library* lib_handle) {}

void TF_RegisterFilesystemPlugin(const char* plugin_filename, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_RegisterFilesystemPlugin");
}

// No op prints to listeners so far.
void TF_RegisterLogListener(void (*listener)(const char*)) {}

TF_ApiDefMap* TF_NewApiDefMap(TF_Buffer* op_list_buffer, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_NewApiDefMap");
  return NULL;
}

void TF_DeleteApiDefMap(TF_ApiDefMap* apimap) {}

void TF_ApiDefMapPut(TF_ApiDefMap* api_def_map, const char* text, size_t text_len,
                     TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_ApiDefMapPut");
}

TF_Buffer* TF_ApiDefMapGet(TF_ApiDefMap* api_def_map, const char* name, size_t name_len,
                           TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_ApiDefMapGet");
  return NULL;
}
