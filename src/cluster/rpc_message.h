// A call whose request is a message: what the proxies of this room send (remote_task.c,
// client_session.c).
#ifndef LEAT_CLUSTER_RPC_MESSAGE_H_
#define LEAT_CLUSTER_RPC_MESSAGE_H_

#include "cluster/rpc.h"
#include "formats/wire/message.h"

// leat_rpc_call with the encoded |message| as the bytes; those of |options| do not count. A message
// that cannot be encoded ends the call within this function, and |*out_call| stays as it was.
void leat_rpc_call_message(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
                           const leat_message_descriptor_t* descriptor, const void* message,
                           leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call);

#endif  // LEAT_CLUSTER_RPC_MESSAGE_H_
