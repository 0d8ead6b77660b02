// The kernel of LoadDataset: the elements that SaveDataset, or TensorFlow, has written
// (ops/dataset/snapshot_cpu.h). Each shard is a dataset. reader_func gets a dataset of these
// datasets and says in which order they are read: it returns the dataset of the elements.
#include "ops/dataset/snapshot_cpu.h"
#include "ops/kernel_rows.h"

// ---- The elements of all shards -----------------------------------------------------------------

// inputs[0] gives the shards' datasets; the tensors are those that reader_func captured.
typedef struct load_s {
  leat_dataset_t base;
  int64_t count;  // of elements, as the metadata says
} load_t;

typedef struct load_iterator_s {
  leat_iterator_t base;
  leat_application_t application;  // of reader_func
} load_iterator_t;

static leat_status_t load_start(leat_iterator_t* self) {
  return leat_iterator_prepare_calls(self, 1, 1, &((load_iterator_t*)self)->application);
}

static void load_stop(leat_iterator_t* self) {
  leat_application_deinitialize(&((load_iterator_t*)self)->application);
}

// Calls reader_func first, and then reads what it has returned.
static leat_status_t load_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  leat_application_t* application = &((load_iterator_t*)self)->application;
  if (application->pending) {
    leat_status_t status = leat_iterator_open_returned(self, application, pull, &self->input);
    leat_application_release_element(application);
    if (status) return status;
  }
  if (self->input) return leat_iterator_next(self->input, pull, out, out_poll);
  leat_dataset_t* shards = self->dataset->inputs[0];
  leat_dataset_retain(shards);
  LEAT_RETURN_IF_ERROR(leat_dataset_to_tensor(shards, application->arguments));
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(application, pull, self->dataset->function);
  return leat_ok_status();
}

static int64_t load_cardinality(const leat_dataset_t* self) {
  return ((const load_t*)self)->count;
}

static const leat_dataset_kind_t kLoad = {.name = "Load",
                                          .dataset_bytes = sizeof(load_t),
                                          .iterator_bytes = sizeof(load_iterator_t),
                                          .start = load_start,
                                          .next = load_next,
                                          .stop = load_stop,
                                          .cardinality = load_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct load_state_s {
  leat_dataset_function_t function;  // first, as leat_dataset_function_destroy wants
  leat_snapshot_compression_t compression;
} load_state_t;

static leat_status_t load_create(leat_kernel_creation_t* c, void* state) {
  load_state_t* load = state;
  LEAT_RETURN_IF_ERROR(leat_snapshot_compression_create(c, &load->compression));
  return leat_dataset_function_create(c, "reader_func", state);
}

// Finds the shards of the run that the metadata in |path| names.
static leat_status_t open_run(const load_state_t* state, leat_string_view_t path,
                              leat_arena_t* arena, int64_t* out_count,
                              leat_dataset_t** out_shards) {
  leat_pb_snapshot_metadata_record_t metadata;
  LEAT_RETURN_IF_ERROR(leat_snapshot_read_metadata(path, arena, &metadata));
  if (metadata.num_elements < LEAT_CARDINALITY_UNKNOWN) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "the metadata in '%.*s' says %lld elements, must be a number >= 0, or "
                            "-1 for infinitely many or -2 for an unknown number",
                            LEAT_SV_ARG(path), (long long)metadata.num_elements);
  }
  *out_count = metadata.num_elements;
  const leat_snapshot_format_t format = {state->function.spec, state->compression.name,
                                         metadata.version};
  return leat_snapshot_open_run(&format, path, metadata.run_id, out_shards);
}

static leat_status_t make_load(leat_kernel_context_t* c, leat_dataset_t* shards, int64_t count) {
  load_state_t* state = leat_kernel_state(c);
  const int captured = leat_kernel_input_count(c) - 1;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(
      &kLoad, leat_element_spec_retain(state->function.spec), shards, captured, &dataset));
  ((load_t*)dataset)->count = count;
  leat_status_t status = leat_callee_find(c, &state->function.callee, &dataset->function);
  if (!status) status = leat_dataset_keep_inputs(c, 1, 0, captured, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

static leat_status_t load__cpu(leat_kernel_context_t* c) {
  leat_string_view_t path;
  leat_arena_t arena;
  leat_dataset_t* shards;
  int64_t count = 0;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 0, "path", &path));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = open_run(leat_kernel_state(c), path, &arena, &count, &shards);
  leat_arena_deinitialize(&arena);
  if (status) return status;
  status = make_load(c, shards, count);
  leat_dataset_release(shards);
  return status;
}

const leat_kernel_row_t leat_load_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("LoadDataset", NULL, load_state_t, load_create, load__cpu,
                    .destroy = leat_dataset_function_destroy),
    LEAT_KERNEL_ROWS_END,
};
