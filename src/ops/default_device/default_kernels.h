// The kernels of the device type "DEFAULT", which serve every device that has none of its own for a
// node: see leat_kernel_registry_find.
#ifndef LEAT_OPS_DEFAULT_DEVICE_DEFAULT_KERNELS_H_
#define LEAT_OPS_DEFAULT_DEVICE_DEFAULT_KERNELS_H_

#include "kernel/registry.h"

// Adds the kernels to |registry|. Most of them find the CPU's for the same node there when they are
// made.
LEAT_MUST_USE leat_status_t leat_default_kernels_register(leat_kernel_registry_t* registry);

#endif  // LEAT_OPS_DEFAULT_DEVICE_DEFAULT_KERNELS_H_
