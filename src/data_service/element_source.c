// A session over the graph of a dataset. The graph is imported without its _Retval, and four nodes
// are added:
//
//   dataset ─▶ MakeIterator ◀─ IteratorV2 ─▶ IteratorGetNext ─▶ components
//      └─────▶ DatasetCardinality
//
// The iterator is a resource of the session's own, so that it, the tables of the dataset and what
// its functions keep live exactly as long as the source. The types and shapes of the components are
// attributes of the dataset's node; the few datasets without them give strings, as TensorFlow's
// rewriters have it too. A compressed element goes out as the bytes that its variant holds, and any
// other as its tensors.
#include "data_service/element_source.h"

#include "formats/generated/data_service.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "graph/builder.h"
#include "graph/import/import.h"
#include "kernel/resource.h"
#include "tensor/object.h"

enum { COMPRESSED_FIELD = 3, UNCOMPRESSED_FIELD = 5 };  // of GetElementResponse

struct leat_element_source_s {
  leat_allocator_t* allocator;
  leat_shared_graph_t* graph;
  leat_resource_manager_t* resources;  // of the session; NULL: its own
  leat_session_t* session;
  leat_output_t next, cardinality;
  int32_t make_iterator;
  int component_count;
  leat_output_t* fetches;   // [component_count]
  leat_tensor_t* elements;  // [component_count], of the last step
};

// ---- The graph ----------------------------------------------------------------------------------

// Imports |def| without its _Retval, which no session can run, and finds |names| in it.
static leat_status_t import_graph(leat_graph_t* graph, const leat_dataset_graph_t* def,
                                  const leat_tensor_name_t* names, int count,
                                  leat_output_t* out_outputs) {
  leat_string_builder_t bytes;
  const leat_import_options_t options = {
      .return_outputs = names, .return_output_count = count, .allow_internal_names = true};
  leat_import_results_t results;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_dataset_graph_write(def, false, &bytes);
  if (!status) {
    status = leat_graph_import(graph, leat_string_builder_view(&bytes), &options, &results);
  }
  leat_string_builder_deinitialize(&bytes);
  LEAT_RETURN_IF_ERROR(status);
  for (int i = 0; i < count; ++i) out_outputs[i] = results.return_outputs[i];
  leat_import_results_deinitialize(&results);
  return leat_ok_status();
}

// What the elements are like, as attributes of the iterator's nodes.
static void find_spec(const leat_node_t* dataset, leat_attr_t out_attrs[2]) {
  static const int32_t kString = LEAT_DTYPE_STRING;
  static const leat_partial_shape_t kUnknown = {.rank = -1};
  const leat_attr_value_t* types = leat_node_attr(dataset, LEAT_SV("output_types"));
  const leat_attr_value_t* shapes = leat_node_attr(dataset, LEAT_SV("output_shapes"));
  if (!types) types = leat_node_attr(dataset, LEAT_SV("Toutput_types"));
  out_attrs[0] = (leat_attr_t){
      LEAT_SV("output_types"),
      types ? *types
            : (leat_attr_value_t){
                  .kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = &kString}};
  out_attrs[1] = (leat_attr_t){
      LEAT_SV("output_shapes"),
      shapes ? *shapes
             : (leat_attr_value_t){
                   .kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1, .shapes = &kUnknown}};
}

static leat_status_t build(leat_element_source_t* source, const leat_dataset_graph_t* def) {
  leat_graph_t* graph = source->graph->graph;
  leat_output_t dataset;
  leat_attr_t attrs[4] = {
      [2] = {LEAT_SV("shared_name"), {.kind = LEAT_ATTR_STRING, .s = LEAT_SV("elements")}},
      [3] = {LEAT_SV("container"), {.kind = LEAT_ATTR_STRING}},
  };
  const leat_tensor_name_t root = {leat_dataset_graph_root(def), 0};
  LEAT_RETURN_IF_ERROR(import_graph(graph, def, &root, 1, &dataset));
  find_spec(&graph->nodes[dataset.node], attrs);
  leat_builder_t b = {.graph = graph, .scope = LEAT_SV("data_service/")};
  const leat_output_t iterator =
      leat_build(&b, "IteratorV2", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 4});
  source->make_iterator =
      leat_build_node(&b, "MakeIterator", LEAT_INPUTS(dataset, iterator), LEAT_NO_ATTRS);
  source->next =
      leat_build(&b, "IteratorGetNext", LEAT_INPUTS(iterator), (leat_attrs_t){attrs, 2});
  source->cardinality = leat_build_unary(&b, "DatasetCardinality", dataset);
  LEAT_RETURN_IF_ERROR(b.status);
  const int count = graph->nodes[source->next.node].output_count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(source->allocator, (size_t)count, &source->fetches));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(source->allocator, (size_t)count, &source->elements));
  for (int i = 0; i < count; ++i) source->fetches[i] = leat_node_output(source->next.node, i);
  source->component_count = count;
  return leat_ok_status();
}

// ---- Life ---------------------------------------------------------------------------------------

static leat_status_t open_source(leat_element_source_t* source, const leat_runtime_t* runtime,
                                 const leat_dataset_graph_t* graph) {
  leat_session_options_t options = leat_session_options_default();
  options.target = LEAT_SV("");
  if (source->resources) options.resources = &source->resources;
  LEAT_RETURN_IF_ERROR(leat_shared_graph_create(runtime, &source->graph));
  LEAT_RETURN_IF_ERROR(build(source, graph));
  LEAT_RETURN_IF_ERROR(
      leat_session_create(runtime, source->graph, &options, &source->session));
  const leat_run_t run = {.targets = &source->make_iterator, .target_count = 1};
  return leat_session_run(source->session, &run);
}

leat_status_t leat_element_source_create(const leat_runtime_t* runtime,
                                         const leat_dataset_graph_t* graph,
                                         leat_resource_manager_t* resources,
                                         leat_element_source_t** out_source) {
  leat_element_source_t* source;
  leat_status_t status = LEAT_ALLOCATE(runtime->allocator, 1, &source);
  if (status) {
    leat_resource_manager_free(resources);
    return status;
  }
  source->allocator = runtime->allocator;
  source->resources = resources;
  status = open_source(source, runtime, graph);
  if (status) {
    leat_element_source_free(source);
    return status;
  }
  *out_source = source;
  return leat_ok_status();
}

void leat_element_source_close(leat_element_source_t* source) {
  leat_status_free(leat_session_close(source->session));
}

void leat_element_source_free(leat_element_source_t* source) {
  if (!source) return;
  leat_session_free(source->session);
  leat_resource_manager_free(source->resources);
  leat_shared_graph_release(source->graph);
  leat_allocator_free(source->allocator, source->fetches);
  leat_allocator_free(source->allocator, source->elements);
  leat_allocator_free(source->allocator, source);
}

// ---- Elements -----------------------------------------------------------------------------------

static leat_status_t append_compressed(const leat_tensor_t* tensor, leat_string_builder_t* out) {
  const leat_variant_t* variant = tensor->data;
  char* message = NULL;
  size_t size = 0, tensor_count = 0;
  leat_tensor_t* tensors = NULL;
  const char* name = variant->vtable ? variant->vtable->type_name : "no value";
  if (!leat_string_view_equals(LEAT_SV("tensorflow.data.CompressedElement"), name)) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Reading an element failed: the dataset gives a variant that holds %s, "
                            "must hold a compressed element",
                            name);
  }
  LEAT_RETURN_IF_ERROR(
      variant->vtable->encode(variant->self, &message, &size, &tensors, &tensor_count));
  LEAT_DCHECK(tensor_count == 0);
  leat_message_append_field(out, COMPRESSED_FIELD, leat_string_view_make(message, size));
  leat_allocator_free(leat_allocator_system(), message);
  return leat_status_clone(out->status);
}

static leat_status_t encode_components(const leat_element_source_t* source, leat_arena_t* arena,
                                       leat_string_builder_t* out) {
  leat_pb_uncompressed_element_t message = {.components.count = (size_t)source->component_count};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, message.components.count, &message.components.items));
  for (int i = 0; i < source->component_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_tensor_to_content(&source->elements[i], arena, &message.components.items[i]));
  }
  return leat_message_encode(&leat_pb_uncompressed_element_descriptor, &message, out);
}

static leat_status_t append_uncompressed(const leat_element_source_t* source,
                                         leat_string_builder_t* out) {
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(source->allocator, 0, &arena);
  leat_string_builder_initialize(source->allocator, &bytes);
  leat_status_t status = encode_components(source, &arena, &bytes);
  if (!status) status = leat_status_clone(bytes.status);
  if (!status) {
    leat_message_append_field(out, UNCOMPRESSED_FIELD, leat_string_builder_view(&bytes));
    status = leat_status_clone(out->status);
  }
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_element_source_step(leat_element_source_t* source,
                                       const leat_tensor_t** out_components, int* out_count,
                                       bool* out_at_end) {
  const leat_run_t run = {.fetches = source->fetches,
                          .fetch_values = source->elements,
                          .fetch_count = source->component_count};
  leat_status_t status = leat_session_run(source->session, &run);
  *out_at_end = leat_status_code(status) == LEAT_OUT_OF_RANGE;
  if (*out_at_end) {
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(status);
  *out_components = source->elements;
  *out_count = source->component_count;
  return leat_ok_status();
}

void leat_element_source_release(leat_element_source_t* source) {
  for (int i = 0; i < source->component_count; ++i) leat_tensor_release(&source->elements[i]);
}

leat_status_t leat_element_source_next(leat_element_source_t* source, leat_string_builder_t* out,
                                       bool* out_at_end) {
  const leat_tensor_t* first;
  int count;
  LEAT_RETURN_IF_ERROR(leat_element_source_step(source, &first, &count, out_at_end));
  if (*out_at_end) return leat_ok_status();
  const bool is_variant = source->component_count == 1 && first->dtype == LEAT_DTYPE_VARIANT &&
                          first->shape.rank == 0;
  leat_status_t status =
      is_variant ? append_compressed(first, out) : append_uncompressed(source, out);
  leat_element_source_release(source);
  return status;
}

leat_status_t leat_element_source_cardinality(leat_element_source_t* source,
                                              int64_t* out_cardinality) {
  leat_tensor_t value;
  const leat_run_t run = {
      .fetches = &source->cardinality, .fetch_values = &value, .fetch_count = 1};
  LEAT_RETURN_IF_ERROR(leat_session_run(source->session, &run));
  *out_cardinality = *(const int64_t*)value.data;
  leat_tensor_release(&value);
  return leat_ok_status();
}

// ---- Other tensors ------------------------------------------------------------------------------

static leat_status_t evaluate(const leat_runtime_t* runtime, leat_shared_graph_t* graph,
                              const leat_run_t* run) {
  leat_session_options_t options = leat_session_options_default();
  leat_session_t* session;
  options.target = LEAT_SV("");
  LEAT_RETURN_IF_ERROR(leat_session_create(runtime, graph, &options, &session));
  leat_status_t status = leat_session_run(session, run);
  leat_session_free(session);
  return status;
}

// Splits the names, and imports the graph.
static leat_status_t find_outputs(leat_shared_graph_t* graph, const leat_dataset_graph_t* def,
                                  const leat_pb_string_list_t* names, leat_arena_t* arena,
                                  leat_output_t** out_outputs) {
  leat_tensor_name_t* split;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, names->count, &split));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, names->count, out_outputs));
  for (size_t i = 0; i < names->count; ++i) {
    const leat_string_view_t name = names->items[i];
    const size_t colon = leat_string_view_find(name, ':');
    int64_t index = 0;
    split[i].node = leat_string_view_make(name.data, colon < name.size ? colon : name.size);
    if (colon < name.size &&
        (!leat_string_view_to_int64(leat_string_view_from_index(name, colon + 1), &index) ||
         index < 0 || index > INT32_MAX)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Reading a dataset's graph failed: input '%.*s' must name an output",
                              LEAT_SV_ARG(name));
    }
    split[i].index = (int32_t)index;
  }
  return import_graph(graph->graph, def, split, (int)names->count, *out_outputs);
}

leat_status_t leat_dataset_graph_evaluate(const leat_runtime_t* runtime,
                                          const leat_dataset_graph_t* graph,
                                          const leat_pb_string_list_t* names, int64_t timeout_ms,
                                          leat_tensor_t* out_values) {
  leat_shared_graph_t* shared;
  leat_output_t* outputs;
  leat_arena_t arena;
  if (!names->count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_shared_graph_create(runtime, &shared));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = find_outputs(shared, graph, names, &arena, &outputs);
  if (!status) {
    const leat_run_t run = {.fetches = outputs,
                            .fetch_values = out_values,
                            .fetch_count = (int)names->count,
                            .timeout_ms = timeout_ms};
    status = evaluate(runtime, shared, &run);
  }
  leat_arena_deinitialize(&arena);
  leat_shared_graph_release(shared);
  return status;
}
