// Libraries of ops and kernels of plugins. Opening one runs its initializers, which register ops
// and kernels through ops.h and kernels.h on the loading thread. Meanwhile |loading|, a variable of
// that thread, points to a record in which every registration is noted; from it the library's list
// of ops is made. Registration functions have no way to return an error to TF_LoadLibrary other
// than this record.
//
// A library stays open for the life of the process, because the registries point into it. Its
// handle is its entry in the list of loaded libraries, so that loading a file twice gives the same
// handle. An op that exists already stays as it is: a library may bring its own copy of a standard
// op.
#include "capi/plugin/plugin.h"

#include <string.h>

#include "base/library.h"
#include "base/log.h"
#include "capi/plugin/graph_optimizer.h"
#include "capi/plugin/plugin_device.h"
#include "capi/plugin/profiler.h"
#include "formats/wire/encode.h"
#include "graph/op/op_def.h"
#include "tensorflow/c/c_api_experimental.h"
#include "trace/gpu_source.h"

struct TF_Library {
  TF_Library* next;
  leat_library_t* library;
  leat_string_builder_t op_list;  // serialized
  bool is_initialized;  // TF_LoadPluggableDeviceLibrary has called its functions
  char filename[];
};

typedef struct loading_s {
  const char** ops;  // names of the ops that it registered
  size_t count;
  size_t capacity;
  leat_status_t failure;  // the first error
} loading_t;

static leat_mutex_t libraries_mutex = {PTHREAD_MUTEX_INITIALIZER};
static TF_Library* libraries;
static LEAT_THREAD_LOCAL loading_t* loading;  // the load in progress on this thread, or NULL

// Whether the library itself registered |name| before.
static bool brought(const loading_t* l, const char* name) {
  for (size_t i = 0; i < l->count; ++i) {
    if (strcmp(l->ops[i], name) == 0) return true;
  }
  return false;
}

leat_status_t leat_capi_loading_note(const char* name, leat_status_t status) {
  loading_t* l = loading;
  if (!l) return status;
  if (!status) {
    leat_status_t grown = LEAT_GROW(leat_allocator_system(), l->count + 1, &l->ops, &l->capacity);
    if (!grown) l->ops[l->count++] = name;
    l->failure = leat_status_join(l->failure, grown);
  } else if (leat_status_code(status) == LEAT_ALREADY_EXISTS && !brought(l, name)) {
    leat_status_free(status);  // the op that exists stays
    status = leat_ok_status();
  } else {
    l->failure = leat_status_join(l->failure, leat_status_clone(status));
  }
  return status;
}

// ---- Loading ------------------------------------------------------------------------------------

static leat_status_t list_ops(const loading_t* l, leat_arena_t* arena, TF_Library* out_library) {
  const leat_runtime_t* runtime = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, l->count + 1, sizeof(leat_pb_op_def_t), &memory));
  leat_pb_op_list_t list = {.op = {memory, l->count}};
  for (size_t i = 0; i < l->count; ++i) {
    const leat_op_t* op = NULL;
    LEAT_RETURN_IF_ERROR(
        leat_op_registry_find(runtime->ops, leat_string_view_from(l->ops[i]), &op));
    LEAT_RETURN_IF_ERROR(leat_op_to_def(op, arena, &list.op.items[i]));
  }
  return leat_message_encode(&leat_pb_op_list_descriptor, &list, &out_library->op_list);
}

// Opens the library, collecting what its initializers register, and makes its list of ops.
static leat_status_t open_library(TF_Library* library) {
  loading_t mine = {.count = 0};
  leat_arena_t arena;
  loading = &mine;
  leat_status_t status = leat_library_open(library->filename, &library->library);
  loading = NULL;
  status = leat_status_join(status, mine.failure);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  if (!status) status = list_ops(&mine, &arena, library);
  leat_arena_deinitialize(&arena);
  leat_allocator_free(leat_allocator_system(), mine.ops);
  return status;
}

// Finds or opens a library, with the mutex of the list held.
static leat_status_t load_locked(const char* filename, TF_Library** out_library) {
  for (TF_Library* l = libraries; l; l = l->next) {
    if (strcmp(l->filename, filename) != 0) continue;
    *out_library = l;
    return leat_ok_status();
  }
  size_t length = strlen(filename);
  TF_Library* library = leat_capi_allocate(sizeof *library + length + 1);
  if (!library) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a library ran out");
  memcpy(library->filename, filename, length);
  leat_string_builder_initialize(leat_allocator_system(), &library->op_list);
  leat_status_t status = open_library(library);
  if (status) {
    leat_string_builder_deinitialize(&library->op_list);
    leat_allocator_free(leat_allocator_system(), library);
    return status;
  }
  library->next = libraries;
  libraries = *out_library = library;
  return status;
}

TF_Library* TF_LoadLibrary(const char* library_filename, TF_Status* status) {
  TF_Library* library = NULL;
  leat_status_t result;
  if (!library_filename || !*library_filename) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT, "Loading failed: library has no name");
  } else if (loading) {
    result = leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Loading '%s' failed: a library is loading it from its initialisers",
                              library_filename);
  } else {
    leat_mutex_lock(&libraries_mutex);
    result = load_locked(library_filename, &library);
    leat_mutex_unlock(&libraries_mutex);
    leat_gpu_source_look();
  }
  leat_capi_status_set(status, result);
  return library;
}

// Calls what the library has of the functions that register something, once; the caller holds the
// mutex of the list.
static leat_status_t initialize_library(TF_Library* library) {
  loading_t mine = {.count = 0};
  void (*init_kernel)(void) = leat_library_symbol(library->library, "TF_InitKernel");
  leat_init_platform_fn_t init_platform =
      leat_library_symbol(library->library, "SE_InitPlugin");
  leat_init_profiler_fn_t init_profiler =
      leat_library_symbol(library->library, "TF_InitProfiler");
  leat_init_graph_fn_t init_graph = leat_library_symbol(library->library, "TF_InitGraph");
  if (library->is_initialized) return leat_ok_status();
  if (init_platform) {
    LEAT_RETURN_IF_ERROR(leat_status_annotate(leat_platform_register(init_platform),
                                              "Loading '%s' failed", library->filename));
  }
  loading = &mine;
  if (init_kernel) init_kernel();
  loading = NULL;
  leat_allocator_free(leat_allocator_system(), mine.ops);
  LEAT_RETURN_IF_ERROR(mine.failure);
  if (init_graph) LEAT_RETURN_IF_ERROR(leat_capi_graph_optimizer_register(init_graph));
  if (init_profiler) LEAT_RETURN_IF_ERROR(leat_plugin_profiler_register(init_profiler));
  library->is_initialized = true;
  return leat_ok_status();
}

TF_Library* TF_LoadPluggableDeviceLibrary(const char* library_filename, TF_Status* status) {
  TF_Library* library = TF_LoadLibrary(library_filename, status);
  if (!library) return NULL;
  leat_mutex_lock(&libraries_mutex);
  leat_status_t result = initialize_library(library);
  leat_mutex_unlock(&libraries_mutex);
  leat_capi_status_set(status, result);
  return result ? NULL : library;
}

void TF_DeletePluggableDeviceLibraryHandle(TF_Library* lib_handle) {}

TF_Buffer TF_GetOpList(TF_Library* lib_handle) {
  leat_string_view_t list = {NULL, 0};
  if (lib_handle) list = leat_string_builder_view(&lib_handle->op_list);
  return (TF_Buffer){list.data, list.size, NULL};
}

void TF_DeleteLibraryHandle(TF_Library* lib_handle) {}

void TF_RegisterLogListener(void (*listener)(const char*)) {
  if (listener) leat_print_listen(listener);
}
