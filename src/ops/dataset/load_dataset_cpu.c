// The kernel of LoadDataset: the elements that SaveDataset, or TensorFlow, has written
// (ops/dataset/snapshot_cpu.h). Each shard is a dataset. reader_func gets a dataset of these
// datasets and says in which order they are read: it returns the dataset of the elements.
#include <stdlib.h>
#include <string.h>

#include "formats/record/compression.h"
#include "formats/record/file_stream.h"
#include "formats/record/record.h"
#include "ops/dataset/snapshot_cpu.h"
#include "ops/input/serialized_tensor_cpu.h"
#include "ops/kernel_rows.h"

// ---- A shard ------------------------------------------------------------------------------------

// The tensors of its dataset: the directory and the compression of its files.
typedef struct shard_iterator_s {
  leat_iterator_t base;
  int64_t file;  // number of the file that is open, or that is opened next
  leat_file_stream_t* stream;
  leat_record_reader_t records;
} shard_iterator_t;

static void close_file(shard_iterator_t* it) {
  if (it->records.source) leat_record_reader_deinitialize(&it->records);
  it->records = (leat_record_reader_t){0};
  leat_file_stream_close(it->stream);
  it->stream = NULL;
}

static void shard_stop(leat_iterator_t* self) { close_file((shard_iterator_t*)self); }

// Opens the next file. NOT_FOUND where there is none.
static leat_status_t open_file(shard_iterator_t* it) {
  const leat_tensor_t* tensors = it->base.dataset->tensors;
  const leat_string_view_t compression = leat_tensor_string_at(&tensors[1], 0);
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_string_builder_print(&name, "%.*s/%08lld.snapshot",
                            LEAT_SV_ARG(leat_tensor_string_at(&tensors[0], 0)),
                            (long long)it->file);
  leat_status_t status = leat_status_clone(name.status);
  if (!status) {
    status = leat_dataset_open_stream(leat_string_builder_view(&name), compression, &it->stream);
  }
  leat_string_builder_deinitialize(&name);
  if (status) return status;
  leat_record_reader_initialize(leat_file_stream_source(it->stream),
                                compression.size ? LEAT_COMPRESSION_MAX_BYTES : 0,
                                leat_allocator_system(), &it->records);
  return leat_ok_status();
}

static leat_status_t read_component(shard_iterator_t* it, int index, leat_tensor_t* out) {
  const int wanted = it->base.dataset->spec->types[index];
  leat_string_view_t record;
  LEAT_RETURN_IF_ERROR(leat_record_reader_next(&it->records, &record));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_parse(record, LEAT_DTYPE_INVALID, leat_buffer_source_host(), out));
  if (out->dtype == wanted) return leat_ok_status();
  leat_status_t status = leat_make_status(
      LEAT_INVALID_ARGUMENT, "Data type mismatch at component %d: expected %s but got %s.", index,
      leat_dtype_name(wanted), leat_dtype_name(out->dtype));
  leat_tensor_release(out);
  return status;
}

static leat_status_t read_element(shard_iterator_t* it, leat_tensor_t* out) {
  const leat_element_spec_t* spec = it->base.dataset->spec;
  for (int i = 0; i < spec->count; ++i) {
    leat_status_t status = read_component(it, i, &out[i]);
    if (!status) continue;
    leat_element_release(out, i);
    return status;
  }
  leat_status_t status = leat_element_spec_check_element(spec, out, spec->count);
  if (status) leat_element_release(out, spec->count);
  return status;
}

// A file whose bytes are corrupt fails once, and the next file is read. An element that is cut off
// at the end of a file is left out.
static leat_status_t shard_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  shard_iterator_t* it = (shard_iterator_t*)self;
  for (;;) {
    leat_status_t status = it->stream ? leat_ok_status() : open_file(it);
    if (leat_status_code(status) == LEAT_NOT_FOUND) {
      leat_status_free(status);
      return leat_ok_status();
    }
    if (!status) status = read_element(it, out);
    if (!status) {
      *out_poll = LEAT_POLL_ELEMENT;
      return leat_ok_status();
    }
    const leat_status_code_t code = leat_status_code(status);
    if (code == LEAT_OUT_OF_RANGE || code == LEAT_DATA_LOSS) {
      close_file(it);
      ++it->file;
    }
    if (code != LEAT_OUT_OF_RANGE) return status;
    leat_status_free(status);
    LEAT_RETURN_IF_ERROR(leat_pull_check(pull));
  }
}

static const leat_dataset_kind_t kShard = {.name = "SnapshotShard",
                                           .dataset_bytes = sizeof(leat_dataset_t),
                                           .iterator_bytes = sizeof(shard_iterator_t),
                                           .next = shard_next,
                                           .stop = shard_stop,
                                           .cardinality = leat_dataset_unknown_cardinality};

// Makes the dataset of a shard, in a variant.
static leat_status_t make_shard(leat_element_spec_t* spec, leat_string_view_t directory,
                                leat_string_view_t compression, leat_tensor_t* out_tensor) {
  leat_dataset_t* shard;
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create(&kShard, leat_element_spec_retain(spec), 0, 2, &shard));
  leat_status_t status = leat_tensor_scalar_string(directory, &shard->tensors[0]);
  if (!status) status = leat_tensor_scalar_string(compression, &shard->tensors[1]);
  if (!status) return leat_dataset_to_tensor(shard, out_tensor);
  leat_dataset_release(shard);
  return status;
}

// ---- The names of shards ------------------------------------------------------------------------

typedef struct names_s {
  leat_arena_t* arena;
  leat_string_view_t* items;
  size_t count, room;
} names_t;

static leat_status_t add_name(void* data, const char* name) {
  names_t* names = data;
  const leat_string_view_t text = leat_string_view_from(name);
  if (!leat_string_view_ends_with(text, LEAT_SV(".shard"))) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), names->count + 1, &names->items, &names->room));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(names->arena, text, &names->items[names->count]));
  ++names->count;
  return leat_ok_status();
}

static int compare_names(const void* a, const void* b) {
  return leat_string_view_compare(*(const leat_string_view_t*)a, *(const leat_string_view_t*)b);
}

// Finds the shards in |directory|, in the order of their names.
static leat_status_t find_shards(const char* directory, names_t* names) {
  leat_file_system_t* fs = leat_file_system_default();
  LEAT_RETURN_IF_ERROR(fs->vtable->list(fs, directory, add_name, names));
  if (names->count) qsort(names->items, names->count, sizeof *names->items, compare_names);
  return leat_ok_status();
}

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
  char compression[8];
} load_state_t;

static leat_status_t load_create(leat_kernel_creation_t* c, void* state) {
  load_state_t* load = state;
  leat_string_view_t compression;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "compression", &compression));
  if (compression.size >= sizeof load->compression) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "compression is '%.*s', must be '', 'GZIP', 'ZLIB' or 'SNAPPY'",
                            LEAT_SV_ARG(compression));
  }
  if (compression.size) memcpy(load->compression, compression.data, compression.size);
  return leat_dataset_function_create(c, "reader_func", state);
}

// Makes the dataset of the datasets of the shards in |directory|.
static leat_status_t make_shards(const load_state_t* state, const char* directory,
                                 const names_t* names, leat_dataset_t** out_shards) {
  const leat_string_view_t compression = leat_string_view_from(state->compression);
  leat_element_spec_t* spec;
  leat_string_builder_t path;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_scalar(LEAT_DTYPE_VARIANT, &spec));
  LEAT_RETURN_IF_ERROR(leat_window_create(spec, (int64_t)names->count, out_shards));
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < names->count && !status; ++i) {
    path.size = 0;
    leat_string_builder_print(&path, "%s/%.*s", directory, LEAT_SV_ARG(names->items[i]));
    status = leat_status_clone(path.status);
    if (!status) {
      status = make_shard(state->function.spec, leat_string_builder_view(&path), compression,
                          &(*out_shards)->tensors[i]);
    }
  }
  leat_string_builder_deinitialize(&path);
  if (status) leat_dataset_release(*out_shards);
  return status;
}

// Finds the shards of the run that the metadata in |path| names.
static leat_status_t open_run(const load_state_t* state, leat_string_view_t path,
                              leat_arena_t* arena, int64_t* out_count,
                              leat_dataset_t** out_shards) {
  leat_pb_snapshot_metadata_record_t metadata;
  leat_string_builder_t directory;
  names_t names = {.arena = arena};
  LEAT_RETURN_IF_ERROR(leat_snapshot_read_metadata(path, arena, &metadata));
  if (metadata.num_elements < LEAT_CARDINALITY_UNKNOWN) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "the metadata in '%.*s' says %lld elements, must be a number >= 0, or "
                            "-1 for infinitely many or -2 for an unknown number",
                            LEAT_SV_ARG(path), (long long)metadata.num_elements);
  }
  *out_count = metadata.num_elements;
  leat_string_builder_initialize(leat_allocator_system(), &directory);
  leat_string_builder_print(&directory, "%.*s/%.*s", LEAT_SV_ARG(path),
                            LEAT_SV_ARG(metadata.run_id));
  leat_status_t status = leat_status_clone(directory.status);
  if (!status) status = find_shards(directory.data, &names);
  if (!status) status = make_shards(state, directory.data, &names, out_shards);
  leat_allocator_free(leat_allocator_system(), names.items);
  leat_string_builder_deinitialize(&directory);
  return status;
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
