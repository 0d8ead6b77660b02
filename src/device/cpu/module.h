// Optional modules of the CPU: shared libraries beside this library, opened on first need and kept
// open.
#ifndef LEAT_DEVICE_CPU_MODULE_H_
#define LEAT_DEVICE_CPU_MODULE_H_

#include "device/cpu/onednn_module.h"

// oneDNN's module, leat_module_onednn.so, from the folder in LEAT_MODULE_DIR, else from the folder
// of this library. NULL when it is absent, has another version, or LEAT_ONEDNN=0; that is
// remembered too. The first call blocks on the disk (about 20 ms), later ones cost a load.
// Thread-safe.
const leat_onednn_module_t* leat_cpu_onednn(void);

#endif  // LEAT_DEVICE_CPU_MODULE_H_
