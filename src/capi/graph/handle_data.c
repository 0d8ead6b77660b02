// TF_GetHandleShapeAndType and TF_SetHandleShapeAndType: what a resource or variant handle in a
// graph refers to (the types and shapes of a variable, a list or an iterator), as serialized
// HandleData messages. Shape inference keeps it with the value of the output. Reading gives NULL
// where nothing is known, which is no error. The messages that a caller sets are decoded into the
// graph's arena, because the full types in them stay in use.
#include "formats/generated/handle_data.h"
#include "capi/handles.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "graph/inference/inference.h"
#include "graph/storage.h"

// ---- Reading ------------------------------------------------------------------------------------

static leat_status_t write_value(const leat_partial_value_t* value, leat_arena_t* arena,
                                 leat_string_builder_t* out_bytes) {
  leat_pb_handle_data_t data = {.is_set = true};
  data.shape_and_type.count = (size_t)value->referent_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, data.shape_and_type.count + 1, &data.shape_and_type.items));
  for (int i = 0; i < value->referent_count; ++i) {
    const leat_referent_t* referent = &value->referents[i];
    leat_pb_handle_shape_and_type_t* item = &data.shape_and_type.items[i];
    item->dtype = referent->dtype;
    item->type = (leat_pb_full_type_def_t*)referent->type;
    LEAT_RETURN_IF_ERROR(leat_partial_shape_to_proto(referent->shape, arena, &item->shape));
  }
  return leat_message_encode(&leat_pb_handle_data_descriptor, &data, out_bytes);
}

static leat_status_t get_value(TF_Graph* graph, TF_Output output, leat_partial_value_t* out_value) {
  leat_output_t source;
  leat_graph_t* g = graph->shared->graph;
  *out_value = (leat_partial_value_t){.rank = -1};
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, output, "Reading a handle", &source));
  // A variable of the older kind is a reference and not a handle.
  int dtype = g->nodes[source.node].output_types[source.index];
  if (!leat_dtype_in(dtype, LEAT_DTYPE_BIT(RESOURCE) | LEAT_DTYPE_BIT(VARIANT))) {
    return leat_ok_status();
  }
  return leat_inference_value_of(g, source, 0, out_value);
}

TF_Buffer* TF_GetHandleShapeAndType(TF_Graph* graph, TF_Output output) {
  TF_Buffer* buffer = NULL;
  leat_partial_value_t value;
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_capi_lock(graph);
  leat_status_t status = get_value(graph, output, &value);
  bool known = !status && value.referents;
  if (known) status = write_value(&value, &arena, &bytes);
  leat_capi_unlock(graph);
  if (known) {
    buffer = leat_capi_buffer_return(status, &bytes, NULL);
  } else {
    leat_status_free(status);
    leat_string_builder_deinitialize(&bytes);
  }
  leat_arena_deinitialize(&arena);
  return buffer;
}

// ---- Setting ------------------------------------------------------------------------------------

// Decodes |bytes| into the graph's arena, where the types that they contain stay, and sets them.
static leat_status_t set_data(leat_graph_t* graph, leat_output_t output, leat_string_view_t bytes) {
  leat_arena_t* arena = &graph->storage->arena;
  leat_pb_handle_data_t data = {.is_set = false};
  leat_referent_t* referents;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, bytes, &bytes));
  leat_status_t status =
      leat_message_decode(&leat_pb_handle_data_descriptor, bytes, arena, NULL, &data);
  if (status) {
    leat_status_free(status);
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Couldn't deserialize HandleData proto");
  }
  size_t count = data.shape_and_type.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &referents));
  for (size_t i = 0; i < count; ++i) {
    const leat_pb_handle_shape_and_type_t* item = &data.shape_and_type.items[i];
    referents[i] = (leat_referent_t){.dtype = item->dtype, .type = item->type};
    LEAT_RETURN_IF_ERROR(leat_partial_shape_from_proto(item->shape, arena, &referents[i].shape));
  }
  return leat_graph_set_referents(graph, output, referents, (int)count);
}

void TF_SetHandleShapeAndType(TF_Graph* graph, TF_Output output, const void* proto,
                              size_t proto_len, TF_Status* status) {
  leat_output_t target;
  leat_graph_t* g = leat_capi_lock(graph);
  leat_status_t result = leat_capi_output_resolve(graph, output, "Setting a handle", &target);
  if (!result) result = set_data(g, target, leat_string_view_make(proto, proto_len));
  leat_capi_unlock(graph);
  leat_capi_status_set(status, result);
}
