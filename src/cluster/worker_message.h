// Statuses, tensors and graphs as parts of the messages of formats/proto/worker.proto, and back.
#ifndef LEAT_CLUSTER_WORKER_MESSAGE_H_
#define LEAT_CLUSTER_WORKER_MESSAGE_H_

#include "cluster/shelf.h"
#include "formats/generated/worker.h"
#include "graph/import.h"
#include "tensor/tensor.h"
#include "worker/worker.h"

// WorkerRequest.method.
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

// The encoded message, to free with |allocator|. The observer of messages (base/observer.h) may
// make it fail.
LEAT_MUST_USE leat_status_t leat_worker_message_encode(const leat_message_descriptor_t* descriptor,
                                                       const void* message,
                                                       leat_allocator_t* allocator,
                                                       char** out_bytes, size_t* out_size_bytes);

// The status of a code and a message that came in.
LEAT_MUST_USE leat_status_t leat_worker_status_of(int32_t code, leat_string_view_t message);

// "No tensor" is a dead value. Numbers, strings and handles that name a resource become bytes;
// variants and handles that hold what they name lie on |shelf|, by reference. |out_message| borrows
// from |tensor|.
LEAT_MUST_USE leat_status_t leat_worker_value_to_message(const leat_tensor_t* tensor,
                                                         leat_shelf_t* shelf, leat_arena_t* arena,
                                                         leat_pb_worker_value_t* out_message);
LEAT_MUST_USE leat_status_t leat_worker_value_of(const leat_pb_worker_value_t* message,
                                                 leat_shelf_t* shelf, leat_tensor_t* out_tensor);
// Lists of them. On failure nothing is left in |out_tensors|.
LEAT_MUST_USE leat_status_t leat_worker_values_to_message(const leat_tensor_t* tensors, int count,
                                                          leat_shelf_t* shelf, leat_arena_t* arena,
                                                          leat_pb_worker_value_list_t* out_list);
LEAT_MUST_USE leat_status_t leat_worker_values_of(const leat_pb_worker_value_list_t* list,
                                                  leat_shelf_t* shelf, leat_tensor_t* out_tensors);

// |graph_bytes| (initialized) is filled; |out_message| borrows from it and from |request|.
LEAT_MUST_USE leat_status_t leat_worker_partition_to_message(
    const leat_register_request_t* request, leat_shelf_t* shelf, leat_arena_t* arena,
    leat_string_builder_t* graph_bytes, leat_pb_register_partition_t* out_message);
// A graph of its own, over |ops|. The fetches of |out_request| are those of |out_imported|, to
// deinitialize after use; the device borrows from |message|.
LEAT_MUST_USE leat_status_t leat_worker_partition_of(const leat_pb_register_partition_t* message,
                                                     leat_shelf_t* shelf, leat_op_registry_t* ops,
                                                     leat_allocator_t* allocator,
                                                     leat_import_results_t* out_imported,
                                                     leat_register_request_t* out_request);

#endif  // LEAT_CLUSTER_WORKER_MESSAGE_H_
