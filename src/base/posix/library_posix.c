// dlopen and its kin. A library's handle is the loader's.
#define _GNU_SOURCE
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

leat_status_t leat_library_open(const char* path, leat_library_t** out_library) {
  *out_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out_library) return leat_ok_status();
  const char* reason = dlerror();
  return leat_make_status(LEAT_NOT_FOUND, "opening library failed: %s", reason ? reason : path);
}

void* leat_library_symbol(leat_library_t* library, const char* name) {
  return dlsym(library, name);
}

void leat_library_close(leat_library_t* library) {
  if (library) dlclose(library);
}

bool leat_library_is_loaded(const char* path) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != NULL;
}

leat_status_t leat_library_directory_of(const void* address, leat_allocator_t* allocator,
                                        char** out_directory) {
  Dl_info info;
  *out_directory = NULL;
  if (!dladdr(address, &info) || !info.dli_fname) {
    return leat_make_status(LEAT_NOT_FOUND, "finding library failed: no file holds the address");
  }
  const char* slash = strrchr(info.dli_fname, '/');
  if (!slash) return leat_allocator_clone_string(allocator, ".", 1, out_directory);
  return leat_allocator_clone_string(allocator, info.dli_fname,
                                     (size_t)(slash - info.dli_fname), out_directory);
}
