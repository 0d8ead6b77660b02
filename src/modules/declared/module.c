// The module of declared ops (graph/op/declared.h): rows without functions. ops.def has one line an
// op, ordered by name, in the language of graph/op/op_parse.c. The OpDefs that follow from them are
// TensorFlow 2.21's (tests/oracle/op_list_oracle.py compares). Nothing is known of the shapes of
// their outputs, and asking for a gradient through one is an error. When the library defines an op
// itself, its line here has no effect and should go.
#include "graph/op/declared.h"
#include "ops/op_rows.h"

// One line of ops.def. Behind the flags may stand further fields, such as .deprecated_since.
#define OP(op, ins, outs, declarations, ...)                  \
  {.name = op,                                                \
   .inputs = ins,                                             \
   .outputs = outs,                                           \
   .attrs = declarations,                                     \
   .doc = "Only declared: this library has no kernel for it.", \
   .flags = __VA_ARGS__},

static const leat_op_row_t kRows[] = {
#include "modules/declared/ops.def"
    LEAT_OP_ROWS_END,
};

__attribute__((visibility("default"))) const leat_declared_module_t* leat_module_declared(void) {
  static const leat_declared_module_t kModule = {
      .struct_size = sizeof kModule, .row_size = sizeof(leat_op_row_t), .rows = kRows};
  return &kModule;
}
