// Send and Recv for a device whose memory the host cannot read: rows to copy under its type's name.
// They use its copies (device/device.h) alone.
#ifndef LEAT_OPS_SENDRECV_TRANSFER_KERNELS_H_
#define LEAT_OPS_SENDRECV_TRANSFER_KERNELS_H_

#include "kernel/kernel.h"

extern const leat_kernel_row_t leat_transfer_kernels_device[];

#endif  // LEAT_OPS_SENDRECV_TRANSFER_KERNELS_H_
