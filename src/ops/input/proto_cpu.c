// EncodeProto has a row and no kernel: proto.c says why.
#include "ops/kernel_rows.h"

const leat_kernel_row_t leat_proto_kernels_cpu[] = {LEAT_KERNEL_ROWS_END};
