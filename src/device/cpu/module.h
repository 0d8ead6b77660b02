// Modules of the CPU: shared libraries beside ours, opened on first need and kept.
#ifndef LEAT_DEVICE_CPU_MODULE_H_
#define LEAT_DEVICE_CPU_MODULE_H_

#include "device/cpu/onednn_module.h"

// leat_module_onednn.so from the folder in LEAT_MODULE_DIR, else from the folder of this library.
// NULL when it is absent, does not fit, or LEAT_ONEDNN=0; that too is remembered. The first call
// blocks on the disk (about 20 ms); later ones are a load.
const leat_onednn_module_t* leat_cpu_onednn(void);

#endif  // LEAT_DEVICE_CPU_MODULE_H_
