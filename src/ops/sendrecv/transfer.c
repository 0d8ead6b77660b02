// _Send and _Recv, which the partitioner puts in place of an edge that crosses devices, and
// _HostSend and _HostRecv. The rendezvous holds values in host memory. On a device with memory of
// its own, _Send and _Recv copy from and to that memory, while the two Host ops are for values that
// lie in host memory.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define SEND(op, text)                                                                        \
  {.name = op,                                                                                \
   .inputs = "tensor: T",                                                                     \
   .attrs = "T: type; tensor_name: string; send_device: string; send_device_incarnation: int; " \
            "recv_device: string; client_terminated: bool = false",                           \
   .flags = LEAT_OP_STATEFUL | LEAT_OP_SEND,                                                  \
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
