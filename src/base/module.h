// Modules: shared libraries beside ours that bring what a foreign library does (PNG, zlib, oneDNN),
// opened on first need and never closed. The library itself thus links none of the foreign ones and
// starts without them; a program that never reads a PNG needs no libpng. A module exports one
// function, which gives its table of functions; the table begins with its size (size_t), so that a
// table of another version is known.
//
//   static leat_module_t png = {"png", sizeof(leat_png_module_t), "libpng", NULL};
//   const void* table;
//   LEAT_RETURN_IF_ERROR(leat_module_load(&png, &table));
#ifndef LEAT_BASE_MODULE_H_
#define LEAT_BASE_MODULE_H_

#include "base/status.h"
#include "base/sync.h"

// Static in the file that uses the module; zero it but for the first three fields.
typedef struct leat_module_s {
  const char* name;     // of leat_module_<name>.so and its entry leat_module_<name>
  size_t struct_size;   // of the table that we know: a smaller one is refused
  const char* package;  // what to install where the module cannot be opened
  _Atomic(const void*) table;  // once found
} leat_module_t;

// The table of |module|, from the folder in LEAT_MODULE_DIR, else from the folder of this library.
// A program with more rights than its user (set-uid) takes no notice of the variable.
// UNIMPLEMENTED, naming the package, when it is absent or of another version; asked again, it is
// looked for again. May block on the disk until it is found; then it is a load. Any thread.
LEAT_MUST_USE leat_status_t leat_module_load(leat_module_t* module, const void** out_table);

#endif  // LEAT_BASE_MODULE_H_
