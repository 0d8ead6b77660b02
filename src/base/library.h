// Shared libraries opened at run time: modules (base/module.h), plugins and ops that a program
// loads. They are never unloaded behind their users' backs: close only what nobody holds a pointer
// into. Functions may block on the disk; any thread may call them. Opening a library runs its
// initialisers, that is, code of whoever wrote it.
#ifndef LEAT_BASE_LIBRARY_H_
#define LEAT_BASE_LIBRARY_H_

#include "base/allocator.h"

typedef struct leat_library_s leat_library_t;

// All of its symbols are bound now, and are visible to nobody else. NOT_FOUND with the loader's
// words when it or something that it needs is absent.
LEAT_MUST_USE leat_status_t leat_library_open(const char* path, leat_library_t** out_library);
// The address of |name|; NULL when absent. The caller casts it to the type that it knows the symbol
// to have.
void* leat_library_symbol(leat_library_t* library, const char* name);
void leat_library_close(leat_library_t* library);  // NULL is allowed
// Whether the library is in the process already, whoever brought it. Nothing is loaded.
bool leat_library_is_loaded(const char* path);

// The folder of the program or library that |address| lies in, without a last slash. The caller
// frees |*out_directory|. NOT_FOUND when no file does.
LEAT_MUST_USE leat_status_t leat_library_directory_of(const void* address,
                                                      leat_allocator_t* allocator,
                                                      char** out_directory);

#endif  // LEAT_BASE_LIBRARY_H_
