// The kernels of _Send and _Recv for devices whose memory the host cannot read. A device's library
// copies these rows under its own device type; they use only the copies of device/device.h.
#ifndef LEAT_OPS_SENDRECV_TRANSFER_KERNELS_H_
#define LEAT_OPS_SENDRECV_TRANSFER_KERNELS_H_

#include "kernel/kernel.h"

extern const leat_kernel_row_t leat_transfer_kernels_device[];

#endif  // LEAT_OPS_SENDRECV_TRANSFER_KERNELS_H_
