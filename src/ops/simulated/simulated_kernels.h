// The kernels of the simulated device "SIM".
#ifndef LEAT_OPS_SIMULATED_SIMULATED_KERNELS_H_
#define LEAT_OPS_SIMULATED_SIMULATED_KERNELS_H_

#include "kernel/registry.h"

// Adds the kernels to |registry|, as a library of kernels for a new kind of device would. The CPU's
// kernels must be there already, because most rows are made from theirs.
LEAT_MUST_USE leat_status_t leat_simulated_kernels_register(leat_kernel_registry_t* registry);

#endif  // LEAT_OPS_SIMULATED_SIMULATED_KERNELS_H_
