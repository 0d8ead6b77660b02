// What the methods of both services share: a request is decoded, served and answered. Methods serve
// on the thread of the engine that brought the request, and may block there.
#ifndef LEAT_DATA_SERVICE_METHOD_H_
#define LEAT_DATA_SERVICE_METHOD_H_

#include "base/string_builder.h"
#include "cluster/rpc.h"
#include "formats/wire/message.h"

typedef struct leat_data_call_s {
  leat_rpc_request_t* request;
  leat_arena_t arena;            // of both messages
  leat_string_builder_t answer;  // its bytes; a method may begin with fields of its own
} leat_data_call_t;

typedef struct leat_data_method_s {
  const char* name;                          // "GetElement"
  const leat_message_descriptor_t* request;  // NULL: it has no fields
  const leat_message_descriptor_t* answer;   // NULL: likewise
  // Fills |answer|, which is empty. What it points to must live until the call ends: in the call's
  // arena, or as long as the server. The messages are structs of the descriptors.
  leat_status_t (*serve)(void* server, leat_data_call_t* call, const void* request, void* answer);
} leat_data_method_t;

typedef struct leat_data_endpoint_s {
  leat_string_view_t prefix;          // "/tensorflow.data.WorkerService/"
  const leat_data_method_t* methods;  // ended by one without a name
  void* server;
} leat_data_endpoint_t;

// A leat_rpc_handler_fn_t for a leat_data_endpoint_t. UNIMPLEMENTED for a method that there is not,
// INTERNAL for bytes that are no message, as TensorFlow has it.
void leat_data_endpoint_handle(void* service, leat_rpc_request_t* request);

#endif  // LEAT_DATA_SERVICE_METHOD_H_
