// Conversions between the worker interface and its messages. A graph is sent whole, as a GraphDef:
// the nodes keep their names, by which the fetches are named ("node:0"), and the shapes that the
// master has inferred are inferred again by the receiver, so that the format is TensorFlow's own.
//
// A tensor becomes a TensorProto unless its elements are objects of this process. Those, and
// pointers such as the functions of a session, are put into a table and sent as a ticket, which
// only a receiver in the same process can redeem; a transport between processes would have to
// refuse them.
#include "cluster/worker_message.h"

#include "base/observer.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_proto.h"
#include "graph/import/export.h"
#include "tensor/object.h"

leat_status_t leat_worker_message_encode(const leat_message_descriptor_t* descriptor,
                                         const void* message, leat_allocator_t* allocator,
                                         char** out_bytes, size_t* out_size_bytes) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(allocator, &bytes);
  leat_status_t status = leat_message_encode(descriptor, message, &bytes);
  const leat_observer_t* observer = leat_observer_get();
  if (!status && observer && observer->on_message) {
    status = observer->on_message(observer->data, descriptor->name, bytes.size);
  }
  if (!status) status = leat_string_builder_finish(&bytes, out_bytes, out_size_bytes);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// ---- Statuses -----------------------------------------------------------------------------------

leat_status_t leat_worker_status_of(int32_t code, leat_string_view_t message) {
  if (code == LEAT_OK) return leat_ok_status();
  bool is_known = code > LEAT_OK && code <= LEAT_UNAUTHENTICATED;
  return leat_make_status(is_known ? (leat_status_code_t)code : LEAT_UNKNOWN, "%.*s",
                          LEAT_SV_ARG(message));
}

// ---- Values -------------------------------------------------------------------------------------

// Whether |tensor| can be encoded: not a variant, and no handle that owns its resource.
static bool has_byte_form(const leat_tensor_t* tensor) {
  if (tensor->dtype == LEAT_DTYPE_VARIANT) return false;
  if (tensor->dtype != LEAT_DTYPE_RESOURCE) return true;
  leat_resource_handle_t* const* handles = leat_tensor_data(tensor, leat_resource_handle_t* const);
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    if (!handles[i] || handles[i]->owned) return false;
  }
  return true;
}

static void drop_tensor(void* object) {
  leat_tensor_t* tensor = object;
  leat_tensor_release(tensor);
  leat_allocator_free(leat_allocator_system(), tensor);
}

// Keeps a reference to |tensor| in the table and returns its ticket.
static leat_status_t put_tensor(const leat_tensor_t* tensor, leat_object_table_t* objects,
                                uint64_t* out_ticket) {
  leat_tensor_t* kept;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &kept));
  *kept = leat_tensor_share(tensor);
  leat_status_t status = leat_object_table_put(objects, kept, drop_tensor, out_ticket);
  if (status) drop_tensor(kept);
  return status;
}

leat_status_t leat_worker_value_to_message(const leat_tensor_t* tensor,
                                           leat_object_table_t* objects,
                                           leat_arena_t* arena,
                                           leat_pb_worker_value_t* out_message) {
  if (!tensor->dtype) return leat_ok_status();
  if (!has_byte_form(tensor)) return put_tensor(tensor, objects, &out_message->ticket);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_message->tensor));
  return leat_tensor_to_proto(tensor, arena, out_message->tensor);
}

leat_status_t leat_worker_value_of(const leat_pb_worker_value_t* message,
                                   leat_object_table_t* objects,
                                   leat_tensor_t* out_tensor) {
  *out_tensor = (leat_tensor_t){0};
  if (message->tensor) {
    return leat_tensor_from_proto(message->tensor, leat_buffer_source_host(), out_tensor);
  }
  if (!message->ticket) return leat_ok_status();
  leat_tensor_t* kept = leat_object_table_take(objects, message->ticket);
  if (!kept) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Receive failed: ticket is %llu, must be of a value of this process",
                            (unsigned long long)message->ticket);
  }
  *out_tensor = *kept;
  leat_allocator_free(leat_allocator_system(), kept);
  return leat_ok_status();
}

leat_status_t leat_worker_values_to_message(const leat_tensor_t* tensors, int count,
                                            leat_object_table_t* objects, leat_arena_t* arena,
                                            leat_pb_worker_value_list_t* out_list) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &out_list->items));
  out_list->count = (size_t)count;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_worker_value_to_message(&tensors[i], objects, arena, &out_list->items[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_worker_values_of(const leat_pb_worker_value_list_t* list,
                                    leat_object_table_t* objects,
                                    leat_tensor_t* out_tensors) {
  for (size_t i = 0; i < list->count; ++i) {
    leat_status_t status = leat_worker_value_of(&list->items[i], objects, &out_tensors[i]);
    if (!status) continue;
    while (i-- > 0) leat_tensor_release(&out_tensors[i]);
    return status;
  }
  return leat_ok_status();
}

// ---- Partitions ---------------------------------------------------------------------------------

// Writes all of the request but |transfer_count|, which stays behind, so that the receiver's count
// is 0 and its transfers meet by text. Those whose ends may lie in different processes must do so.
leat_status_t leat_worker_partition_to_message(const leat_register_request_t* request,
                                               leat_object_table_t* objects, leat_arena_t* arena,
                                               leat_string_builder_t* graph_bytes,
                                               leat_pb_register_partition_t* out_message) {
  *out_message = (leat_pb_register_partition_t){.device = request->device,
                                                .feed_count = request->feed_count,
                                                .executor = (int32_t)request->executor,
                                                .inter_op_threads = request->inter_op_threads,
                                                .deterministic = request->deterministic,
                                                .receives_dead = request->receives_dead};
  LEAT_RETURN_IF_ERROR(leat_graph_export(request->graph, graph_bytes));
  LEAT_RETURN_IF_ERROR(leat_graph_export_lines(request->graph, 0, graph_bytes));
  out_message->graph = leat_string_builder_view(graph_bytes);
  leat_pb_string_list_t* fetches = &out_message->fetches;
  fetches->count = (size_t)request->fetch_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, fetches->count, &fetches->items));
  for (int i = 0; i < request->fetch_count; ++i) {
    leat_output_t fetch = request->fetches[i];
    leat_string_view_t node = request->graph->nodes[fetch.node].name;
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(arena, &fetches->items[i], "%.*s:%d", LEAT_SV_ARG(node), fetch.index));
  }
  return leat_object_table_put(objects, request->functions, NULL, &out_message->functions_ticket);
}

// Imports the message's GraphDef into |graph|, and finds the outputs that the fetches name.
static leat_status_t import_partition(const leat_pb_register_partition_t* message,
                                      leat_graph_t* graph, leat_import_results_t* out_imported) {
  leat_tensor_name_t* fetches;
  size_t count = message->fetches.count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(graph->allocator, count + 1, &fetches));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < count && !status; ++i) {
    status = leat_tensor_name_parse(message->fetches.items[i], &fetches[i].node, &fetches[i].index);
  }
  leat_import_options_t options = {.return_outputs = fetches,
                                   .return_output_count = (int)count,
                                   .ignore_colocation = true,
                                   .allow_internal_names = true};
  if (!status) status = leat_graph_import(graph, message->graph, &options, out_imported);
  leat_allocator_free(graph->allocator, fetches);
  return status;
}

leat_status_t leat_worker_partition_of(const leat_pb_register_partition_t* message,
                                       leat_object_table_t* objects, leat_op_registry_t* ops,
                                       leat_allocator_t* allocator,
                                       leat_import_results_t* out_imported,
                                       leat_register_request_t* out_request) {
  leat_graph_t* graph;
  void* functions = leat_object_table_take(objects, message->functions_ticket);
  LEAT_RETURN_IF_ERROR(leat_graph_create(ops, allocator, &graph));
  leat_status_t status = import_partition(message, graph, out_imported);
  if (status) {
    leat_graph_free(graph);
    return leat_status_annotate(status, "RegisterGraph");
  }
  *out_request = (leat_register_request_t){.graph = graph,
                                           .device = message->device,
                                           .feed_count = message->feed_count,
                                           .fetches = out_imported->return_outputs,
                                           .fetch_count = (int)message->fetches.count,
                                           .executor = (leat_executor_kind_t)message->executor,
                                           .inter_op_threads = message->inter_op_threads,
                                           .deterministic = message->deterministic,
                                           .receives_dead = message->receives_dead,
                                           .functions = functions};
  return leat_ok_status();
}
