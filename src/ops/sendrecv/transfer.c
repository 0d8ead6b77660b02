// _Send and _Recv, which the partitioner puts on either side of a cut edge.
#include "graph/inference.h"
#include "ops/family.h"

const leat_op_row_t leat_transfer_ops[] = {
    {.name = "_Send",
     .inputs = "tensor: T",
     .attrs = "T: type; tensor_name: string; send_device: string; send_device_incarnation: int; "
              "recv_device: string; client_terminated: bool = false",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_SEND,
     .escaping_inputs = 1,
     .shape = leat_shape_none,
     .doc = "Leaves a value in the rendezvous for another device."},
    {.name = "_Recv",
     .outputs = "tensor: tensor_type",
     .attrs = "tensor_type: type; tensor_name: string; send_device: string; "
              "send_device_incarnation: int; recv_device: string; client_terminated: bool = false",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_DISTRIBUTED_COMMUNICATION | LEAT_OP_RECV,
     .shape = leat_shape_unknown,
     .doc = "Takes a value from the rendezvous when it has come."},
    LEAT_OP_ROWS_END,
};
