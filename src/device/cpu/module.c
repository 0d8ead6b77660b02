// Loads the optional modules of the CPU, and remembers those that are absent, so that their files
// are looked for once.
#include "device/cpu/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/module.h"

static leat_module_t onednn = {
    .name = "onednn", .struct_size = sizeof(leat_onednn_module_t), .package = "libdnnl2"};

static const leat_onednn_module_t* load_onednn(void) {
  const char* wanted = getenv("LEAT_ONEDNN");
  if (wanted && !strcmp(wanted, "0")) return NULL;
  const void* table;
  leat_status_t status = leat_module_load(&onednn, &table);
  if (!status) return table;
  leat_log(LEAT_LOG_INFO, "oneDNN is not used: %s", leat_status_message(status));
  leat_status_free(status);
  return NULL;
}

// Threads that ask at the same time all load, and all find the same table.
static _Atomic(const leat_onednn_module_t*) found_onednn;
static atomic_bool knows_onednn;

const leat_onednn_module_t* leat_cpu_onednn(void) {
  if (!atomic_load_explicit(&knows_onednn, memory_order_acquire)) {
    atomic_store_explicit(&found_onednn, load_onednn(), memory_order_relaxed);
    atomic_store_explicit(&knows_onednn, true, memory_order_release);
  }
  return atomic_load_explicit(&found_onednn, memory_order_relaxed);
}
