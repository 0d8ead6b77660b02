// The messages of RecvTensor, by which a task asks another for a value. They are written and read
// piece by piece, so that the elements of a large tensor go from the sender's buffer to the wire,
// and from the wire into the receiver's tensor, without a copy of the whole message in between.
#ifndef LEAT_CLUSTER_RECV_TENSOR_H_
#define LEAT_CLUSTER_RECV_TENSOR_H_

#include "cluster/rpc.h"
#include "kernel/kernel.h"

#define LEAT_RECV_TENSOR_PIECES 3

// The bytes of a RecvTensorResponse for |value|, which is taken. |pieces| is the caller's; their
// memory belongs to them, so that they must be handed to the engine, or be released.
LEAT_MUST_USE leat_status_t leat_recv_tensor_encode(
    leat_slot_t value, leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES],
    leat_rpc_bytes_t* out_bytes);
// Makes the tensor of a message whose elements come another way: |bytes| are the pieces that
// leat_recv_tensor_encode made, but the second one has a size only. The elements are then to be
// written to |out_value|'s tensor. |*out_done| is false where there is no such tensor, since the
// value is dead or no plain numbers: leat_recv_tensor_decode reads the message when all of it is
// there.
LEAT_MUST_USE leat_status_t leat_recv_tensor_place(leat_rpc_bytes_t bytes, leat_slot_t* out_value,
                                                   bool* out_done);
// Reads a RecvTensorResponse. INTERNAL where it is malformed, or holds a variant that cannot be
// made here.
LEAT_MUST_USE leat_status_t leat_recv_tensor_decode(leat_rpc_bytes_t bytes, leat_slot_t* out_value);

#endif  // LEAT_CLUSTER_RECV_TENSOR_H_
