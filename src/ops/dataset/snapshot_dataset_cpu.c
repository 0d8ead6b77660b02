// The kernels of SnapshotDatasetV2 and of the datasets that read its files. A snapshot belongs to
// the dataset whose elements it holds: it lies in <path>/<hash>, where the hash, the node's or one
// of all that the dataset is made of, tells one dataset from another. When an iterator is asked for
// its first element, it looks there:
//
//   the metadata are final   it reads: reader_func gets a dataset of the shards' datasets and
//                            returns the dataset of the elements
//   otherwise                it writes a run of its own: shard_func says for each element to which
//                            shard it goes, and then the element is given
//
// The metadata become final when a writer has given the last element. So a pass that stops early
// leaves a run that nobody reads, and of two writers at the same time the last one's run is read.
// An element that the input could not make is not written. Where writing fails, that element fails
// and the run is given up: the elements behind it are given and written nowhere.
#include <stdio.h>

#include "ops/dataset/snapshot_cpu.h"
#include "ops/kernel_rows.h"

// inputs[0] gives the elements. The tensors are those that reader_func has captured, and then those
// of shard_func.
typedef struct snapshot_s {
  leat_dataset_t base;  // |function| is reader_func
  uint64_t shard_function;
  int reader_captured;
  leat_snapshot_compression_t compression;
  uint64_t hash;
  leat_tensor_t path;  // <path>/<hash>
} snapshot_t;

typedef enum mode_e { MODE_UNKNOWN, MODE_READ, MODE_WRITE, MODE_PASS } snapshot_mode_t;

typedef struct snapshot_iterator_s {
  leat_iterator_t base;  // |input|: over inputs[0], or over what reader_func returned
  snapshot_mode_t mode;
  leat_application_t reader, sharder;
  leat_snapshot_writer_t writer;
  leat_dataset_t* shards;  // to be read; NULL: none, or given to reader_func
} snapshot_iterator_t;

static const snapshot_t* snapshot_of(const snapshot_iterator_t* it) {
  return (const snapshot_t*)it->base.dataset;
}

static leat_string_view_t path_of(const snapshot_iterator_t* it) {
  return leat_tensor_string_at(&snapshot_of(it)->path, 0);
}

static leat_status_t snapshot_start(leat_iterator_t* self) {
  snapshot_iterator_t* it = (snapshot_iterator_t*)self;
  const snapshot_t* snapshot = snapshot_of(it);
  const int captured = snapshot->reader_captured;
  LEAT_RETURN_IF_ERROR(
      leat_iterator_prepare_calls_with(self, 1, 1, 0, captured, &it->reader));
  return leat_iterator_prepare_calls_with(self, self->dataset->spec->count, 1, captured,
                                          self->dataset->tensor_count - captured, &it->sharder);
}

static void snapshot_stop(leat_iterator_t* self) {
  snapshot_iterator_t* it = (snapshot_iterator_t*)self;
  leat_application_deinitialize(&it->reader);
  leat_application_deinitialize(&it->sharder);
  leat_dataset_release(it->shards);
  if (it->mode != MODE_WRITE && it->mode != MODE_PASS) return;
  leat_status_free(leat_snapshot_writer_close(&it->writer));
  leat_snapshot_writer_deinitialize(&it->writer);
}

// ---- Writing ------------------------------------------------------------------------------------

static leat_status_t write_metadata(const snapshot_iterator_t* it, bool is_final) {
  char hash[24];
  snprintf(hash, sizeof hash, "%llu", (unsigned long long)snapshot_of(it)->hash);
  const leat_snapshot_description_t description = {
      .run = leat_string_builder_view(&it->writer.run),
      .graph_hash = leat_string_view_from(hash),
      .version = LEAT_SNAPSHOT_TF_RECORDS,
      .is_final = is_final};
  return leat_snapshot_write_metadata(path_of(it), it->base.dataset->spec, &description);
}

static leat_status_t begin_writing(snapshot_iterator_t* it) {
  leat_snapshot_writer_initialize(path_of(it), snapshot_of(it)->compression.name, &it->writer);
  it->mode = MODE_PASS;
  LEAT_RETURN_IF_ERROR(leat_iterator_open_input(&it->base, it->base.dataset->inputs[0]));
  LEAT_RETURN_IF_ERROR(leat_snapshot_writer_begin(&it->writer));
  LEAT_RETURN_IF_ERROR(write_metadata(it, false));
  it->mode = MODE_WRITE;
  return leat_ok_status();
}

// Gives up the run because of |status|, which is returned.
static leat_status_t give_up(snapshot_iterator_t* it, leat_status_t status) {
  it->mode = MODE_PASS;
  return leat_status_join(status, leat_snapshot_writer_close(&it->writer));
}

// Writes the element, which lies among the arguments of shard_func, and gives it.
static leat_status_t write_element(snapshot_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  uint64_t shard = 0;
  leat_application_t* call = &it->sharder;
  leat_status_t status = leat_snapshot_take_shard(call, pull, &shard);
  if (!status) {
    status = leat_snapshot_writer_add(&it->writer, shard, call->arguments, call->element_count);
    if (status) status = give_up(it, status);
  }
  if (status) {
    leat_application_release_element(call);
    return status;
  }
  leat_element_move(call->arguments, out, call->element_count);
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static leat_status_t end_writing(snapshot_iterator_t* it) {
  it->mode = MODE_PASS;
  LEAT_RETURN_IF_ERROR(leat_snapshot_writer_close(&it->writer));
  return write_metadata(it, true);
}

static leat_status_t write_next(snapshot_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  leat_application_t* call = &it->sharder;
  if (call->pending) return write_element(it, pull, out, out_poll);
  LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, call->arguments, out_poll));
  if (*out_poll == LEAT_POLL_END) return end_writing(it);
  if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(call, pull, snapshot_of(it)->shard_function);
  return leat_ok_status();
}

// ---- Reading ------------------------------------------------------------------------------------

// Calls reader_func first, and then reads what it has returned.
static leat_status_t read_next(snapshot_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  leat_application_t* call = &it->reader;
  if (call->pending) {
    leat_status_t status =
        leat_iterator_open_returned(&it->base, call, pull, &it->base.input);
    leat_application_release_element(call);
    if (status) return status;
  }
  if (it->base.input) return leat_iterator_next(it->base.input, pull, out, out_poll);
  leat_dataset_retain(it->shards);
  LEAT_RETURN_IF_ERROR(leat_dataset_to_tensor(it->shards, call->arguments));
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(call, pull, it->base.dataset->function);
  return leat_ok_status();
}

// Decides whether to read or to write, and prepares it.
static leat_status_t decide(snapshot_iterator_t* it) {
  leat_arena_t arena;
  leat_pb_snapshot_metadata_record_t metadata = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_snapshot_read_metadata(path_of(it), &arena, &metadata);
  bool is_final = !status && metadata.finalized;
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  if (!status && is_final) {
    const leat_snapshot_format_t format = {it->base.dataset->spec,
                                           snapshot_of(it)->compression.name, metadata.version};
    status = leat_snapshot_open_run(&format, path_of(it), metadata.run_id, &it->shards);
    if (!status) it->mode = MODE_READ;
  } else if (!status) {
    status = begin_writing(it);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t snapshot_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  snapshot_iterator_t* it = (snapshot_iterator_t*)self;
  if (it->mode == MODE_UNKNOWN) LEAT_RETURN_IF_ERROR(decide(it));
  if (it->mode == MODE_READ) return read_next(it, pull, out, out_poll);
  if (it->mode == MODE_WRITE) return write_next(it, pull, out, out_poll);
  // Without an input no iterator over it could be made, which is tried again.
  if (!self->input) LEAT_RETURN_IF_ERROR(leat_iterator_open_input(self, self->dataset->inputs[0]));
  return leat_iterator_next(self->input, pull, out, out_poll);
}

static void snapshot_destroy(leat_dataset_t* self) {
  leat_tensor_release(&((snapshot_t*)self)->path);
}

static const leat_dataset_kind_t kSnapshot = {.name = "Snapshot",
                                              .dataset_bytes = sizeof(snapshot_t),
                                              .iterator_bytes = sizeof(snapshot_iterator_t),
                                              .destroy = snapshot_destroy,
                                              .start = snapshot_start,
                                              .next = snapshot_next,
                                              .stop = snapshot_stop};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct snapshot_node_s {
  leat_element_spec_t* spec;
  leat_callee_t reader, sharder;
  int reader_captured;
  leat_snapshot_compression_t compression;
  bool has_hash;
  int64_t hash;
} snapshot_node_t;

static leat_status_t snapshot_create(leat_kernel_creation_t* c, void* state) {
  snapshot_node_t* node = state;
  const leat_attr_value_t* types;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "reader_func", 0, &node->reader));
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "shard_func", 0, &node->sharder));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "Treader_func_args", &types));
  node->reader_captured = (int)types->count;
  LEAT_RETURN_IF_ERROR(leat_snapshot_compression_create(c, &node->compression));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "hash_valid", &node->has_hash));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "hash", &node->hash));
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

// The hash of the node, or one of the input and of all functions of the session, since those that
// the input calls are known by their names.
static leat_status_t find_hash(const leat_kernel_context_t* c, leat_dataset_t* input,
                               uint64_t* out_hash) {
  const snapshot_node_t* node = leat_kernel_state(c);
  leat_function_runtime_t* functions = c->services->functions;
  *out_hash = (uint64_t)node->hash;
  if (node->has_hash) return leat_ok_status();
  LEAT_DCHECK(functions);  // the node's own functions were found there
  LEAT_RETURN_IF_ERROR(functions->vtable->hash(functions, out_hash));
  *out_hash = leat_hash_mix(*out_hash, leat_dataset_hash(input));
  return leat_ok_status();
}

// Sets the path of the snapshot: that of input 1 and the hash.
static leat_status_t set_path(leat_kernel_context_t* c, snapshot_t* snapshot) {
  leat_string_view_t path;
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "path", &path));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_print(&text, "%.*s/%llu", LEAT_SV_ARG(path),
                            (unsigned long long)snapshot->hash);
  leat_status_t status = leat_status_clone(text.status);
  if (!status) {
    status = leat_tensor_scalar_string(leat_string_builder_view(&text), &snapshot->path);
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t set_snapshot(leat_kernel_context_t* c, snapshot_t* snapshot) {
  snapshot_node_t* node = leat_kernel_state(c);
  snapshot->compression = node->compression;
  snapshot->reader_captured = node->reader_captured;
  LEAT_RETURN_IF_ERROR(leat_element_spec_check(node->spec, snapshot->base.inputs[0]->spec));
  LEAT_RETURN_IF_ERROR(leat_callee_find(c, &node->reader, &snapshot->base.function));
  LEAT_RETURN_IF_ERROR(leat_callee_find(c, &node->sharder, &snapshot->shard_function));
  LEAT_RETURN_IF_ERROR(find_hash(c, snapshot->base.inputs[0], &snapshot->hash));
  LEAT_RETURN_IF_ERROR(set_path(c, snapshot));
  return leat_dataset_keep_inputs(c, 2, 0, snapshot->base.tensor_count, &snapshot->base);
}

static leat_status_t snapshot__cpu(leat_kernel_context_t* c) {
  const snapshot_node_t* node = leat_kernel_state(c);
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kSnapshot, leat_element_spec_retain(node->spec),
                                                input, leat_kernel_input_count(c) - 2, &dataset));
  leat_status_t status = set_snapshot(c, (snapshot_t*)dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

// ---- Datasets of the files ----------------------------------------------------------------------

typedef struct reader_node_s {
  leat_element_spec_t* spec;
  leat_snapshot_compression_t compression;
  int64_t version;
} reader_node_t;

static leat_snapshot_format_t format_of(const reader_node_t* node) {
  return (leat_snapshot_format_t){node->spec, node->compression.name, node->version};
}

static leat_status_t chunk_create(leat_kernel_creation_t* c, void* state) {
  reader_node_t* node = state;
  node->version = LEAT_SNAPSHOT_TF_RECORDS;
  LEAT_RETURN_IF_ERROR(leat_snapshot_compression_create(c, &node->compression));
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

static leat_status_t reader_create(leat_kernel_creation_t* c, void* state) {
  int64_t version;
  LEAT_RETURN_IF_ERROR(chunk_create(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "version", &version));
  ((reader_node_t*)state)->version = version;
  if (version >= 0 && version <= LEAT_SNAPSHOT_TF_RECORDS) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Kernel creation failed for node '%.*s' (%s): version is %lld, must be "
                          "0, 1 or 2",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                          (long long)version);
}

static leat_status_t reader__cpu(leat_kernel_context_t* c) {
  const reader_node_t* node = leat_kernel_state(c);
  leat_string_view_t directory;
  int64_t skipped;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 0, "shard_dir", &directory));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "start_index", &skipped));
  if (skipped < 0) {
    return leat_kernel_invalid(c, "start_index is %lld, must be >= 0", (long long)skipped);
  }
  const leat_snapshot_format_t format = format_of(node);
  LEAT_RETURN_IF_ERROR(leat_snapshot_shard_create(&format, directory, skipped, &dataset));
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t chunk__cpu(leat_kernel_context_t* c) {
  const reader_node_t* node = leat_kernel_state(c);
  leat_string_view_t path;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 0, "chunk_file", &path));
  const leat_snapshot_format_t format = format_of(node);
  LEAT_RETURN_IF_ERROR(leat_snapshot_chunk_create(&format, path, &dataset));
  return leat_dataset_set_output(c, dataset);
}

// The inputs, which must be datasets, are the elements.
static leat_status_t nested__cpu(leat_kernel_context_t* c) {
  const int count = leat_kernel_input_count(c);
  leat_element_spec_t* spec;
  leat_dataset_t *dataset, *input;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, i), &input));
  }
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_scalar(LEAT_DTYPE_VARIANT, &spec));
  LEAT_RETURN_IF_ERROR(leat_window_create(spec, count, &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, count, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

#define READER(name, create, function)                                   \
  LEAT_CPU_KERNEL(name, NULL, reader_node_t, create##_create, function, \
                  .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_snapshot_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SnapshotDatasetV2", NULL, snapshot_node_t, snapshot_create, snapshot__cpu,
                    .destroy = leat_element_spec_state_destroy),
    READER("SnapshotDatasetReader", reader, reader__cpu),
    READER("SnapshotChunkDataset", chunk, chunk__cpu),
    {.op = "SnapshotNestedDatasetReader", .device_type = "CPU", .compute = nested__cpu},
    LEAT_KERNEL_ROWS_END,
};
