// Calls whose requests and answers are messages: what the proxies of this room send and receive
// (remote_task.c, client_session.c), and what services are asked.
#ifndef LEAT_CLUSTER_RPC_MESSAGE_H_
#define LEAT_CLUSTER_RPC_MESSAGE_H_

#include "cluster/rpc.h"
#include "formats/wire/message.h"

// leat_rpc_call with the encoded |message| as the bytes; those of |options| do not count. A message
// that cannot be encoded ends the call within this function, and |*out_call| stays as it was.
void leat_rpc_call_message(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
                           const leat_message_descriptor_t* descriptor, const void* message,
                           leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call);

// Decodes the bytes of an answer into |out_message|, the struct of |descriptor|. All of it lies in
// |arena|, also where the bytes are gone.
LEAT_MUST_USE leat_status_t leat_rpc_decode_message(leat_rpc_bytes_t bytes, leat_arena_t* arena,
                                                    const leat_message_descriptor_t* descriptor,
                                                    void* out_message);

// Decodes the bytes of a request into a new struct of |descriptor|, in |arena|, which borrows from
// |bytes|. INTERNAL for what is no such message, as a gRPC server answers.
LEAT_MUST_USE leat_status_t leat_rpc_decode_request(leat_string_view_t bytes, leat_arena_t* arena,
                                                    const leat_message_descriptor_t* descriptor,
                                                    void** out_message);

#endif  // LEAT_CLUSTER_RPC_MESSAGE_H_
