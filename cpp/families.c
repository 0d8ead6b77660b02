// Where an op is defined (src/ops/families.c): what the OpList of the C API does not tell
// make_ops.cc, which writes a header for each family.
#include "families.h"

#include <string.h>

#include "ops/family.h"

cpp_op_place_t cpp_op_place(const char* op) {
  for (int i = 0; leat_op_families[i]; ++i) {
    for (const leat_op_row_t* const* rows = leat_op_families[i]->ops; *rows; ++rows) {
      for (const leat_op_row_t* row = *rows; row->name; ++row) {
        if (!strcmp(row->name, op)) {
          return (cpp_op_place_t){leat_op_families[i]->name, row->doc ? row->doc : ""};
        }
      }
    }
  }
  return (cpp_op_place_t){NULL, NULL};
}
