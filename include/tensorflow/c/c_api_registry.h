// What this process knows: ops, kernels, plugins, API definitions. Part of the C API: c_api.h has
// the rules on errors, ownership and threads.

#ifndef TENSORFLOW_C_C_API_REGISTRY_H_
#define TENSORFLOW_C_C_API_REGISTRY_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Ops and kernels -------------------------------------------------------------------------
// Each of these returns a new buffer for the caller to delete.

// All registered ops, those of plugins included, sorted by name, as an OpList message. NULL when
// memory runs out.
TF_CAPI_EXPORT TF_Buffer* TF_GetAllOpList(void);

// All registered kernels, as a KernelList message.
TF_CAPI_EXPORT TF_Buffer* TF_GetAllRegisteredKernels(TF_Status* status);

// Those of the op |name|; an empty list when it has none or is no op.
TF_CAPI_EXPORT TF_Buffer* TF_GetRegisteredKernelsForOp(const char* name, TF_Status* status);

// --- Plugins ---------------------------------------------------------------------------------
// Shared objects with ops, kernels or file systems in them. They stay loaded until the process
// ends, since anything may refer to what they registered.

// A plugin that was loaded.
typedef struct TF_Library TF_Library;

// Loads the shared object |library_filename| (a path, or a name for the dynamic loader to find) and
// registers the ops and kernels in it: its initialisers do so (ops.h, kernels.h). They are there
// for every graph and session made from then on, and for graphs that are being built. A name loaded
// twice is loaded once. Free the handle with TF_DeleteLibraryHandle; NULL on failure: TF_NOT_FOUND
// with the loader's text when it cannot be loaded, else the first error of a registration
// (TF_ALREADY_EXISTS when it brings an op twice; an op that was there before stays as it was).
TF_CAPI_EXPORT TF_Library* TF_LoadLibrary(const char* library_filename, TF_Status* status);

// The ops that came with the plugin, as an OpList message. The bytes belong to |lib_handle|.
TF_CAPI_EXPORT TF_Buffer TF_GetOpList(TF_Library* lib_handle);

// Frees the handle; the plugin stays loaded. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteLibraryHandle(TF_Library* lib_handle);

// Loads the shared object |plugin_filename| and registers the file systems it implements
// (experimental/filesystem/filesystem_interface.h), each for the scheme ("s3", "gs", ...) that it
// names and for the process. Those that are in order are, whatever |status| says of another:
// TF_NOT_FOUND (no library, or no plugin), TF_FAILED_PRECONDITION (another ABI, a table that lacks
// what is required), TF_ALREADY_EXISTS (the scheme has one), or what the plugin says.
TF_CAPI_EXPORT void TF_RegisterFilesystemPlugin(const char* plugin_filename, TF_Status* status);

// --- Output ----------------------------------------------------------------------------------

// Sends what the op PrintV2 prints to |listener|, as NUL-terminated text that lives until it
// returns, and no longer to where it went by itself. All listeners that were ever registered are
// called, one after the other, on the thread of the operation; they cannot be taken out.
TF_CAPI_EXPORT void TF_RegisterLogListener(void (*listener)(const char*));

// --- API definitions -------------------------------------------------------------------------
// For generators of language bindings. An ApiDef says under which name, with which argument names,
// order, defaults and documentation an op is to be offered; the map starts with what follows from
// the ops themselves, and is refined by texts such as those in TensorFlow's api_def directories.

// From op names to ApiDefs.
typedef struct TF_ApiDefMap TF_ApiDefMap;

// A map for the ops in |op_list_buffer|, an OpList message such as TF_GetAllOpList gives. Free with
// TF_DeleteApiDefMap; NULL on failure.
TF_CAPI_EXPORT TF_ApiDefMap* TF_NewApiDefMap(TF_Buffer* op_list_buffer, TF_Status* status);

TF_CAPI_EXPORT void TF_DeleteApiDefMap(TF_ApiDefMap* apimap);

// Merges in the ApiDefs message in text format of |text_len| bytes at |text|; where it speaks of
// what is there already, the new text wins, and ops that the map does not have are skipped.
// TF_FAILED_PRECONDITION after the first TF_ApiDefMapGet.
TF_CAPI_EXPORT void TF_ApiDefMapPut(TF_ApiDefMap* api_def_map, const char* text, size_t text_len,
                                    TF_Status* status);

// The ApiDef message for the op whose name is the |name_len| bytes at |name|, in a new buffer for
// the caller to delete; NULL, without an error, when the map does not have the op.
TF_CAPI_EXPORT TF_Buffer* TF_ApiDefMapGet(TF_ApiDefMap* api_def_map, const char* name,
                                          size_t name_len, TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_REGISTRY_H_
