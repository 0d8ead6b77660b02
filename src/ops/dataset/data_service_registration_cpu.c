// Kernels that give a dataset to the dispatcher of tf.data's service, as the graph that makes it
// (ops/dataset/dataset_graph_cpu.h): RegisterDataset, whose answer is the number or the text by
// which clients read the dataset, and DistributedSave, which lets the workers write all of its
// elements into a snapshot. The call is made again while the dispatcher cannot be reached
// (ops/dataset/data_service_asking_cpu.h).
#include "base/string_builder.h"
#include "formats/generated/data_service.h"
#include "formats/wire/decode.h"
#include "ops/dataset/data_service_asking_cpu.h"
#include "ops/dataset/dataset_graph_cpu.h"
#include "ops/kernel_rows.h"

// What attributes say; texts lie in |arena|.
typedef struct registration_state_s {
  leat_arena_t arena;
  bool has_arena;
  leat_external_state_t external_state;
  leat_string_view_t requested_id;
  leat_string_view_t element_spec;
  leat_string_view_t metadata;  // an encoded message, which the kernel decodes for each request
} registration_state_t;

static void registration_destroy(void* data) {
  registration_state_t* state = data;
  if (state->has_arena) leat_arena_deinitialize(&state->arena);
}

static leat_status_t copy_attr(leat_kernel_creation_t* c, const char* name,
                               registration_state_t* state, leat_string_view_t* out_text) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, name, out_text));
  return leat_arena_copy_string(&state->arena, *out_text, out_text);
}

static leat_status_t create_state(leat_kernel_creation_t* c, registration_state_t* state) {
  leat_arena_initialize(leat_allocator_system(), 256, &state->arena);
  state->has_arena = true;
  return copy_attr(c, "metadata", state, &state->metadata);
}

static leat_status_t registration_create(leat_kernel_creation_t* c, void* data) {
  registration_state_t* state = data;
  int64_t policy;
  LEAT_RETURN_IF_ERROR(create_state(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "external_state_policy", &policy));
  LEAT_RETURN_IF_ERROR(copy_attr(c, "element_spec", state, &state->element_spec));
  if (policy >= LEAT_EXTERNAL_STATE_WARN && policy <= LEAT_EXTERNAL_STATE_FAIL) {
    state->external_state = (leat_external_state_t)policy;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "attribute 'external_state_policy' is %lld, must be 0, 1 or 2",
                          (long long)policy);
}

static leat_status_t registration_v2_create(leat_kernel_creation_t* c, void* data) {
  registration_state_t* state = data;
  LEAT_RETURN_IF_ERROR(registration_create(c, data));
  return copy_attr(c, "requested_dataset_id", state, &state->requested_id);
}

static leat_status_t save_create(leat_kernel_creation_t* c, void* data) {
  return create_state(c, data);
}

// ---- The graph ----------------------------------------------------------------------------------

// Writes the graph of the dataset at input 0. |what| is what it is for.
static leat_status_t write_graph(leat_kernel_context_t* c, const char* what,
                                 leat_dataset_t** out_dataset, leat_string_builder_t* out_graph) {
  const registration_state_t* state = leat_kernel_state(c);
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), out_dataset));
  leat_status_t status =
      leat_dataset_to_graph(c, *out_dataset, state->external_state, out_graph);
  if (!status) status = leat_status_clone(out_graph->status);
  if (!status) return leat_ok_status();
  leat_status_t failure = leat_make_status(
      LEAT_FAILED_PRECONDITION,
      "Serialization error while trying to %s with tf.data service. The dataset may depend on a "
      "resource located on a different device. Original error: %s",
      what, leat_status_message(status));
  leat_status_free(status);
  return failure;
}

// ---- Registering --------------------------------------------------------------------------------

// The dispatcher's answer is a text, which the first version gives as a number.
static leat_status_t set_id(leat_kernel_context_t* c, leat_string_view_t id) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  int64_t number = 0;
  const bool is_text = c->kernel->output_types[0] == LEAT_DTYPE_STRING;
  if (!is_text && !leat_string_view_to_int64(id, &number)) {
    return leat_kernel_error(c, LEAT_INTERNAL, "Failed to parse dataset ID: %.*s. Expect integers.",
                             LEAT_SV_ARG(id));
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  if (is_text) return leat_tensor_set_string(output, 0, id);
  *leat_tensor_data(output, int64_t) = number;
  return leat_ok_status();
}

static void on_registered(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_asking_t* asking = data;
  leat_pb_get_or_register_dataset_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_get_or_register_dataset_response_descriptor, status, answer,
                               &arena, &response);
  if (!status) status = set_id(asking->context, response.dataset_id);
  leat_arena_deinitialize(&arena);
  leat_service_asking_finish(asking, status);
}

// What is told of the dataset: what the node says, and how many elements it has.
static leat_status_t make_metadata(const registration_state_t* state, leat_dataset_t* dataset,
                                   leat_arena_t* arena, leat_pb_data_service_metadata_t* out) {
  *out = (leat_pb_data_service_metadata_t){
      .element_spec = state->element_spec,
      .optional_element_spec_case = state->element_spec.size ? 1 : 0};
  if (state->metadata.size) {
    LEAT_RETURN_IF_ERROR(
        leat_status_annotate(leat_message_decode(&leat_pb_data_service_metadata_descriptor,
                                                 state->metadata, arena, NULL, out),
                             "Failed to parse DataServiceMetadata from string"));
  }
  out->cardinality = leat_dataset_cardinality(dataset);
  return leat_ok_status();
}

// Asks, or fails, in which case nothing was asked.
static leat_status_t ask_to_register(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                     leat_arena_t* arena, leat_string_builder_t* graph) {
  static const leat_service_question_t question = {
      "/tensorflow.data.DispatcherService/GetOrRegisterDataset", "Failed to register dataset",
      &leat_pb_get_or_register_dataset_request_descriptor};
  const registration_state_t* state = leat_kernel_state(c);
  leat_service_asking_t* asking;
  leat_dataset_t* dataset;
  leat_string_view_t address;
  leat_pb_data_service_metadata_t metadata;
  LEAT_RETURN_IF_ERROR(leat_service_read_address(c, 1, 2, &address));
  LEAT_RETURN_IF_ERROR(write_graph(c, "register a dataset", &dataset, graph));
  LEAT_RETURN_IF_ERROR(make_metadata(state, dataset, arena, &metadata));
  LEAT_RETURN_IF_ERROR(leat_service_asking_begin(c, done, address, sizeof *asking, &asking));
  leat_pb_dataset_def_t def = {.graph = leat_string_builder_view(graph)};
  const leat_pb_get_or_register_dataset_request_t request = {
      .dataset = &def,
      .metadata = &metadata,
      .dataset_id = state->requested_id,
      .optional_dataset_id_case = state->requested_id.size ? 4 : 0};
  leat_service_ask(asking, &question, &request, on_registered);
  return leat_ok_status();
}

// Runs |ask| with memory that ends when it has returned, and reports its failure.
static void ask_with(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                     leat_status_t (*ask)(leat_kernel_context_t*, leat_kernel_done_fn_t,
                                          leat_arena_t*, leat_string_builder_t*)) {
  leat_arena_t arena;
  leat_string_builder_t graph;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  leat_status_t status = ask(c, done, &arena, &graph);
  leat_string_builder_deinitialize(&graph);
  leat_arena_deinitialize(&arena);
  if (status) done(c, status);
}

static void register__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  ask_with(c, done, ask_to_register);
}

// ---- Saving -------------------------------------------------------------------------------------

static void on_saved(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_asking_finish(data, status);
}

static leat_status_t make_snapshot_metadata(const registration_state_t* state, leat_arena_t* arena,
                                            leat_pb_distributed_snapshot_metadata_t* out) {
  *out = (leat_pb_distributed_snapshot_metadata_t){0};
  if (state->metadata.size) {
    LEAT_RETURN_IF_ERROR(
        leat_status_annotate(leat_message_decode(&leat_pb_distributed_snapshot_metadata_descriptor,
                                                 state->metadata, arena, NULL, out),
                             "Failed to parse DistributedSnapshotMetadata from string"));
  }
  if (leat_string_view_equals(out->compression, "AUTO")) out->compression = LEAT_SV("SNAPPY");
  return leat_ok_status();
}

static leat_status_t read_directory(leat_kernel_context_t* c, leat_string_view_t* out_directory) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  if (leat_dataset_cardinality(dataset) == LEAT_CARDINALITY_INFINITE) {
    return leat_kernel_invalid(c, "Saving an infinite dataset is not allowed: %s",
                               dataset->kind->name);
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "directory", out_directory));
  if (out_directory->size) return leat_ok_status();
  return leat_kernel_invalid(c, "directory must be nonempty");
}

static leat_status_t ask_to_save(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                 leat_arena_t* arena, leat_string_builder_t* graph) {
  static const leat_service_question_t question = {"/tensorflow.data.DispatcherService/Snapshot",
                                                   "Failed to snapshot",
                                                   &leat_pb_snapshot_request_descriptor};
  leat_service_asking_t* asking;
  leat_dataset_t* dataset;
  leat_string_view_t directory, address;
  leat_pb_distributed_snapshot_metadata_t metadata;
  LEAT_RETURN_IF_ERROR(read_directory(c, &directory));
  LEAT_RETURN_IF_ERROR(leat_service_read_address(c, 2, -1, &address));
  LEAT_RETURN_IF_ERROR(write_graph(c, "save dataset", &dataset, graph));
  LEAT_RETURN_IF_ERROR(make_snapshot_metadata(leat_kernel_state(c), arena, &metadata));
  LEAT_RETURN_IF_ERROR(leat_service_asking_begin(c, done, address, sizeof *asking, &asking));
  leat_pb_dataset_def_t def = {.graph = leat_string_builder_view(graph)};
  const leat_pb_snapshot_request_t request = {
      .dataset = &def, .path = directory, .metadata = &metadata};
  leat_service_ask(asking, &question, &request, on_saved);
  return leat_ok_status();
}

static void save__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  ask_with(c, done, ask_to_save);
}

#define KERNEL(name, make_state, how)           \
  {.op = name,                                  \
   .device_type = "CPU",                        \
   .create = make_state,                        \
   .destroy = registration_destroy,             \
   .state_bytes = sizeof(registration_state_t), \
   .compute_async = how}

const leat_kernel_row_t leat_data_service_registration_kernels_cpu[] = {
    KERNEL("RegisterDataset", registration_create, register__cpu),
    KERNEL("RegisterDatasetV2", registration_v2_create, register__cpu),
    KERNEL("DistributedSave", save_create, save__cpu),
    LEAT_KERNEL_ROWS_END,
};
