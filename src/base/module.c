// Finds and opens modules. Threads that ask at once all look, and all find the same: the loader
// opens a file once.
#include "base/module.h"

#include <string.h>

#include "base/host.h"
#include "base/library.h"
#include "base/string_builder.h"

typedef const void* (*entry_fn_t)(void);

static leat_status_t open_beside(const char* directory, const char* name,
                                 leat_library_t** out_library) {
  leat_string_builder_t path;
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_string_builder_print(&path, "%s/leat_module_%s.so", directory, name);
  leat_status_t status = leat_status_clone(path.status);
  if (!status) status = leat_library_open(path.data, out_library);
  leat_string_builder_deinitialize(&path);
  return status;
}

static leat_status_t open_module(const char* name, leat_library_t** out_library) {
  const char* chosen = leat_environment_get_trusted("LEAT_MODULE_DIR");
  if (chosen && *chosen) return open_beside(chosen, name, out_library);
  char* directory = NULL;
  LEAT_RETURN_IF_ERROR(leat_library_directory_of((const void*)&leat_module_load,
                                                 leat_allocator_system(), &directory));
  leat_status_t status = open_beside(directory, name, out_library);
  leat_allocator_free(leat_allocator_system(), directory);
  return status;
}

static leat_status_t find_table(const leat_module_t* module, const void** out_table) {
  leat_library_t* library = NULL;
  char name[64];
  entry_fn_t entry = NULL;
  LEAT_RETURN_IF_ERROR(open_module(module->name, &library));
  strcpy(name, "leat_module_");
  strncat(name, module->name, sizeof name - strlen(name) - 1);
  void* symbol = leat_library_symbol(library, name);
  memcpy(&entry, &symbol, sizeof symbol);
  *out_table = entry ? entry() : NULL;
  if (*out_table && *(const size_t*)*out_table >= module->struct_size) return leat_ok_status();
  // The library stays open: its threads' state cannot be taken back.
  return leat_make_status(LEAT_UNIMPLEMENTED, "it is of another version");
}

leat_status_t leat_module_load(leat_module_t* module, const void** out_table) {
  *out_table = atomic_load_explicit(&module->table, memory_order_acquire);
  if (*out_table) return leat_ok_status();
  leat_status_t status = find_table(module, out_table);
  if (!status) {
    atomic_store_explicit(&module->table, *out_table, memory_order_release);
    return leat_ok_status();
  }
  leat_status_t absent = leat_make_status(
      LEAT_UNIMPLEMENTED, "Loading module leat_module_%s.so failed (it needs the package %s): %s",
      module->name, module->package, leat_status_message(status));
  leat_status_free(status);
  return absent;
}
