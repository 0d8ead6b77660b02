// _Send and _Recv, which the partitioner puts on either side of a cut edge. The rendezvous holds
// host memory: on a device with memory of its own they copy, and _HostSend and _HostRecv do not.
#include "graph/inference.h"
#include "ops/op_rows.h"

#define SEND(op, text)                                                                        \
  {.name = op,                                                                                \
   .inputs = "tensor: T",                                                                     \
   .attrs = "T: type; tensor_name: string; send_device: string; send_device_incarnation: int; " \
            "recv_device: string; client_terminated: bool = false",                           \
   .flags = LEAT_OP_STATEFUL | LEAT_OP_SEND,                                                  \
   .escaping_inputs = 1,                                                                      \
   .shape = leat_shape_none,                                                                  \
   .doc = text}
#define RECV(op, text)                                                                        \
  {.name = op,                                                                                \
   .outputs = "tensor: tensor_type",                                                          \
   .attrs = "tensor_type: type; tensor_name: string; send_device: string; "                   \
            "send_device_incarnation: int; recv_device: string; client_terminated: bool = false", \
   .flags = LEAT_OP_STATEFUL | LEAT_OP_DISTRIBUTED_COMMUNICATION | LEAT_OP_RECV,              \
   .shape = leat_shape_unknown,                                                               \
   .doc = text}

const leat_op_row_t leat_transfer_ops[] = {
    SEND("_Send", "Leaves a value in the rendezvous for another device."),
    RECV("_Recv", "Takes a value from the rendezvous when it has come."),
    SEND("_HostSend", "_Send of a value that lies in host memory."),
    RECV("_HostRecv", "_Recv of a value that shall lie in host memory."),
    LEAT_OP_ROWS_END,
};
