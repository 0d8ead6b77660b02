// The kernels of resource variables for devices whose memory the host cannot read. A device's
// library copies these rows under its own device type; they touch no element.
#ifndef LEAT_OPS_STATE_RESOURCE_VARIABLE_KERNELS_H_
#define LEAT_OPS_STATE_RESOURCE_VARIABLE_KERNELS_H_

#include "kernel/kernel.h"

extern const leat_kernel_row_t leat_resource_variable_kernels_device[];

#endif  // LEAT_OPS_STATE_RESOURCE_VARIABLE_KERNELS_H_
