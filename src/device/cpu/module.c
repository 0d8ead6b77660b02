// Finds and opens modules. What was found is kept for ever.
#include "device/cpu/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/log.h"
#include "base/sync.h"

#define ONEDNN_FILE "leat_module_onednn.so"

static leat_status_t open_beside(const char* directory, const char* name,
                                 leat_library_t** out_library) {
  leat_allocator_t* allocator = leat_allocator_system();
  const size_t size = strlen(directory) + 1 + strlen(name) + 1;
  void* path = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, size, &path));
  memcpy(path, directory, strlen(directory));
  ((char*)path)[strlen(directory)] = '/';
  memcpy((char*)path + strlen(directory) + 1, name, strlen(name));
  leat_status_t status = leat_library_open(path, out_library);
  leat_allocator_free(allocator, path);
  return status;
}

static leat_status_t open_module(const char* name, leat_library_t** out_library) {
  const char* chosen = getenv("LEAT_MODULE_DIR");
  if (chosen && *chosen) return open_beside(chosen, name, out_library);
  char* directory = NULL;
  LEAT_RETURN_IF_ERROR(leat_library_directory_of((const void*)&leat_cpu_onednn,
                                                 leat_allocator_system(), &directory));
  leat_status_t status = open_beside(directory, name, out_library);
  leat_allocator_free(leat_allocator_system(), directory);
  return status;
}

static const leat_onednn_module_t* load_onednn(void) {
  const char* wanted = getenv("LEAT_ONEDNN");
  if (wanted && !strcmp(wanted, "0")) return NULL;
  leat_library_t* library = NULL;
  leat_status_t status = open_module(ONEDNN_FILE, &library);
  if (!leat_status_is_ok(status)) {
    leat_log(LEAT_LOG_INFO, "oneDNN is not used: %s", leat_status_message(status));
    leat_status_free(status);
    return NULL;
  }
  leat_onednn_module_fn_t entry = NULL;
  void* symbol = leat_library_symbol(library, "leat_module_onednn");
  memcpy(&entry, &symbol, sizeof symbol);
  const leat_onednn_module_t* module = entry ? entry() : NULL;
  if (!module || module->struct_size < sizeof(leat_onednn_module_t)) {
    leat_log(LEAT_LOG_WARNING, "oneDNN is not used: %s is of another version", ONEDNN_FILE);
    return NULL;  // the library stays open: its threads' state cannot be taken back
  }
  return module;
}

// The answer, once known. Threads that ask at once all look, and all find the same.
static _Atomic(const leat_onednn_module_t*) found_onednn;
static atomic_bool knows_onednn;

const leat_onednn_module_t* leat_cpu_onednn(void) {
  if (!atomic_load_explicit(&knows_onednn, memory_order_acquire)) {
    atomic_store_explicit(&found_onednn, load_onednn(), memory_order_relaxed);
    atomic_store_explicit(&knows_onednn, true, memory_order_release);
  }
  return atomic_load_explicit(&found_onednn, memory_order_relaxed);
}
