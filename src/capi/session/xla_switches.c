// The switches of TensorFlow's graph compiler, XLA. There is no such compiler here, and steps run
// as they always do; but programs set these switches, and save and restore them, so that each keeps
// its value and answers it. The defaults are TensorFlow's.
#include <stdlib.h>
#include <string.h>

#include "base/sync.h"
#include "tensorflow/c/c_api_experimental.h"

static _Atomic bool is_lazy = true;
static _Atomic bool compiles_for_cpu = false;
static _Atomic bool is_auto_jit = false;
static _Atomic bool lacks_folding = false;

unsigned char TF_SetXlaEnableLazyCompilation(unsigned char enable) {
  return atomic_exchange(&is_lazy, enable != 0);
}

unsigned char TF_SetTfXlaCpuGlobalJit(unsigned char enable) {
  return atomic_exchange(&compiles_for_cpu, enable != 0);
}

// A mode is a level, "fusible", or a level for single GPUs, "single-gpu(1)"; others change nothing.
void TF_SetXlaAutoJitMode(const char* mode) {
  const char* kSingle = "single-gpu(";
  const char* level = strncmp(mode, kSingle, strlen(kSingle)) == 0 ? mode + strlen(kSingle) : mode;
  char* end = NULL;
  long value = strtol(level, &end, 10);
  bool is_level = end != level && strcmp(end, level == mode ? "" : ")") == 0;
  if (is_level || strcmp(mode, "fusible") == 0) atomic_store(&is_auto_jit, !is_level || value > 0);
}

unsigned char TF_GetXlaAutoJitEnabled(void) { return atomic_load(&is_auto_jit); }

// The size of what is compiled; nobody can ask for it.
void TF_SetXlaMinClusterSize(int size) {}

unsigned char TF_GetXlaConstantFoldingDisabled(void) { return atomic_load(&lacks_folding); }

void TF_SetXlaConstantFoldingDisabled(unsigned char should_enable) {
  atomic_store(&lacks_folding, should_enable != 0);
}
