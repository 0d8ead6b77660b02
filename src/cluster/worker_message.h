// Conversions between the worker interface's statuses, tensors and graphs, and the fields of the
// messages in formats/proto/worker.proto. Both ends of a transport use them (remote_worker.c at the
// master, worker_service.c at the worker):
//
//   tensors, graph ─x_to_message─▶ message ─encode─▶ bytes ── network ──▶ message ─x_of─▶ tensors
//
// Messages borrow from what they are made of, or from an arena, so that nothing of them has to be
// freed one by one. The functions fail with RESOURCE_EXHAUSTED without memory, and with
// INVALID_ARGUMENT for a message that is malformed. They run on any thread and do not block.
#ifndef LEAT_CLUSTER_WORKER_MESSAGE_H_
#define LEAT_CLUSTER_WORKER_MESSAGE_H_

#include "cluster/object_table.h"
#include "formats/generated/worker.h"
#include "graph/import/import.h"
#include "tensor/tensor.h"
#include "worker/worker.h"

// The field numbers of WorkerRequest.method: the calls of the worker interface (worker/worker.h).
typedef enum leat_worker_method_e {
  LEAT_WORKER_REGISTER_GRAPH = 1,
  LEAT_WORKER_DEREGISTER_GRAPH = 2,
  LEAT_WORKER_RUN_GRAPH = 3,
  LEAT_WORKER_ABORT_STEP = 4,
  LEAT_WORKER_ABORT_ALL = 5,
  LEAT_WORKER_CLEANUP_STEP = 6,
  LEAT_WORKER_RECEIVE_TENSOR = 7,
  LEAT_WORKER_SEND_TENSOR = 8,
  LEAT_WORKER_CLEAR_CONTAINER = 9,
} leat_worker_method_t;

// Encodes a message; the bytes are the caller's, to be freed with |allocator|. The observer of
// messages (base/observer.h) may make it fail, by which tests lose messages.
LEAT_MUST_USE leat_status_t leat_worker_message_encode(const leat_message_descriptor_t* descriptor,
                                                       const void* message,
                                                       leat_allocator_t* allocator,
                                                       char** out_bytes, size_t* out_size_bytes);

// Makes the status of a received code and message: OK for 0, and UNKNOWN for a code that is
// unknown.
LEAT_MUST_USE leat_status_t leat_worker_status_of(int32_t code, leat_string_view_t message);

// Converts a value. A tensor without a dtype stands for a dead value. Numbers, strings and handles
// that name a resource become bytes; variants, and handles that own their resource, are put into
// |objects| and sent as a ticket. |out_message|, zeroed before, borrows from |tensor|.
LEAT_MUST_USE leat_status_t leat_worker_value_to_message(const leat_tensor_t* tensor,
                                                         leat_object_table_t* objects,
                                                         leat_arena_t* arena,
                                                         leat_pb_worker_value_t* out_message);
// Makes the tensor of a received value, which the caller releases; one without a dtype for a dead
// value. INVALID_ARGUMENT for a ticket that |objects| does not have: it was taken before, or is of
// another process.
LEAT_MUST_USE leat_status_t leat_worker_value_of(const leat_pb_worker_value_t* message,
                                                 leat_object_table_t* objects,
                                                 leat_tensor_t* out_tensor);
// These two translate lists of values. |out_tensors| has room for |list->count|; on failure nothing
// is left in it.
LEAT_MUST_USE leat_status_t leat_worker_values_to_message(const leat_tensor_t* tensors, int count,
                                                          leat_object_table_t* objects,
                                                          leat_arena_t* arena,
                                                          leat_pb_worker_value_list_t* out_list);
LEAT_MUST_USE leat_status_t leat_worker_values_of(const leat_pb_worker_value_list_t* list,
                                                  leat_object_table_t* objects,
                                                  leat_tensor_t* out_tensors);

// Converts a registration, with its whole graph as a GraphDef. |graph_bytes|, initialized before,
// receives the encoded graph; |out_message| borrows from it and from |request|. The functions of
// the session, a pointer, are sent as a ticket.
LEAT_MUST_USE leat_status_t leat_worker_partition_to_message(
    const leat_register_request_t* request, leat_object_table_t* objects, leat_arena_t* arena,
    leat_string_builder_t* graph_bytes, leat_pb_register_partition_t* out_message);
// Makes a new graph over |ops| from the message. The caller frees out_request->graph, or gives it
// to the worker. The fetches of |out_request| lie in |out_imported|, which the caller deinitializes
// after use; the device's name borrows from |message|. After a failure there is neither graph nor
// results.
LEAT_MUST_USE leat_status_t leat_worker_partition_of(const leat_pb_register_partition_t* message,
                                                     leat_object_table_t* objects,
                                                     leat_op_registry_t* ops,
                                                     leat_allocator_t* allocator,
                                                     leat_import_results_t* out_imported,
                                                     leat_register_request_t* out_request);

#endif  // LEAT_CLUSTER_WORKER_MESSAGE_H_
