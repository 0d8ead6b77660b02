// Opens the module of declared ops (declared.h).
#include "graph/op/declared.h"

#include "base/log.h"
#include "base/module.h"

static leat_module_t declared = {.name = "declared",
                                 .struct_size = sizeof(leat_declared_module_t),
                                 .package = "leat"};

const leat_op_row_t* leat_declared_ops(void) {
  static const leat_op_row_t kNone[] = {{.name = 0}};
  const void* table;
  leat_status_t status = leat_module_load(&declared, &table);
  if (status) {
    leat_log(LEAT_LOG_INFO, "Declared ops are not known: %s", leat_status_message(status));
    leat_status_free(status);
    return kNone;
  }
  const leat_declared_module_t* module = table;
  return module->row_size == sizeof(leat_op_row_t) ? module->rows : kNone;
}
