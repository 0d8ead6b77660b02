// Reads the queue runners of a MetaGraphDef: its collection "queue_runners" holds serialized
// QueueRunnerDefs, which name a queue's operations. Each is decoded, its names are looked up in the
// graph into which the MetaGraphDef was imported, and the caller's function gets the operations.
// The client library (src/client/queue_runner.c) makes runners of them. The lists given to the
// function lie in an arena that ends with the call, so that it must copy what it keeps.
#include "capi/handles.h"
#include "formats/generated/queue_runner.h"
#include "formats/wire/decode.h"
#include "leat/saved_model.h"
#include "session/meta_graph.h"

typedef struct reading_s {
  leat_meta_graph_t m;
  TF_Graph* graph;
  void (*visit)(void* data, const leat_queue_operations_t* operations);
  void* data;
} reading_t;

// Finds an operation of the graph by its name and makes a handle for it, if it has none yet.
static leat_status_t find_operation(const reading_t* r, leat_string_view_t name,
                                    TF_Operation** out_operation) {
  leat_output_t output;
  LEAT_RETURN_IF_ERROR(leat_meta_graph_find(r->graph->shared, name, &output));
  leat_capi_lock(r->graph);
  *out_operation = leat_capi_operation(r->graph, output.node);
  leat_capi_unlock(r->graph);
  if (*out_operation) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "no memory for an operation's handle");
}

// Decodes one QueueRunnerDef, looks all its operations up, and only then calls the function, which
// so never sees half a runner.
static leat_status_t read_runner(reading_t* r, leat_string_view_t bytes) {
  leat_pb_queue_runner_def_t def;
  leat_string_view_t queue;
  TF_Operation** enqueues;
  TF_Code* ends;
  leat_queue_operations_t operations = {.queue = NULL};
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_queue_runner_def_descriptor, bytes, &r->m.arena, NULL, &def));
  size_t count = def.enqueue_op_name.count, end_count = def.queue_closed_exception_types.count;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&r->m.arena, def.queue_name, &queue));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->m.arena, count, &enqueues));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->m.arena, end_count, &ends));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(find_operation(r, def.enqueue_op_name.items[i], &enqueues[i]));
  }
  for (size_t i = 0; i < end_count; ++i) {
    ends[i] = (TF_Code)def.queue_closed_exception_types.items[i];
  }
  LEAT_RETURN_IF_ERROR(find_operation(r, def.close_op_name, &operations.close));
  LEAT_RETURN_IF_ERROR(find_operation(r, def.cancel_op_name, &operations.cancel));
  operations.queue = queue.data;
  operations.enqueues = enqueues;
  operations.enqueue_count = (int)count;
  operations.ends = ends;
  operations.end_count = (int)end_count;
  r->visit(r->data, &operations);
  return leat_ok_status();
}

static leat_status_t read_runners(reading_t* r) {
  static const char kName[] = "queue_runners";
  const leat_pb_collection_def_t* collection = leat_meta_graph_collection(&r->m, kName);
  if (!collection) return leat_ok_status();
  if (!collection->bytes_list) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Reading a MetaGraphDef failed: collection '%s' is of another kind, "
                            "must be a list of bytes",
                            kName);
  }
  for (size_t i = 0; i < collection->bytes_list->value.count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_status_annotate(
        read_runner(r, collection->bytes_list->value.items[i]),
        "Reading number %zu of the MetaGraphDef's collection '%s' failed", i, kName));
  }
  return leat_ok_status();
}

void leat_meta_graph_queue_runners(TF_Graph* graph, const TF_Buffer* meta_graph_def,
                                   void (*visit)(void* data,
                                                 const leat_queue_operations_t* operations),
                                   void* data, TF_Status* status) {
  reading_t r = {.graph = graph, .visit = visit, .data = data};
  leat_status_t result =
      leat_meta_graph_parse(leat_capi_buffer_bytes(meta_graph_def), leat_allocator_system(), &r.m);
  if (!result) {
    result = read_runners(&r);
    leat_meta_graph_deinitialize(&r.m);
  }
  leat_capi_status_set(status, result);
}
