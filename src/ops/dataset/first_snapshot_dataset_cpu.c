// The kernel of SnapshotDataset, the first version of snapshots, whose files have no shards and
// which calls no functions. Of ops/dataset/snapshot_cpu.h it writes and reads version 1:
//
//   <path>/<hash>/snapshot.metadata
//   <writer_path_prefix>/<path>/<hash>/<run>/00000000.snapshot, 00000001.snapshot, ...
//
// The hash is one of all that the input is made of and of the node's attributes. It is not that of
// TensorFlow, so that either library finds what the other has written only under a snapshot_name;
// the directory is then <path>/custom-<name>, and the run "custom". The attribute "mode" and the
// metadata say what an iterator does when it is asked for its first element:
//
//   mode          metadata                 it
//   read          there                    reads the run, also one that is not final
//   write         any                      writes a run of its own
//   passthrough   any                      does neither
//   auto          final                    reads
//                 not final, but recent    does neither: another iterator writes
//                 otherwise                writes
//
// The metadata become final with the last element, if they still name the run. After an element
// that failed the run is given up, as in TensorFlow. A file is ended by the element with which the
// elements in it, before they are compressed, have |shard_size_bytes|. One thread writes and reads,
// whatever the node says of threads and buffers; that is one of the orders which TensorFlow's
// threads may come to.
#include "base/clock.h"
#include "base/fingerprint.h"
#include "base/random.h"
#include "ops/dataset/snapshot_cpu.h"
#include "ops/kernel_rows.h"

typedef enum snapshot_state_e {
  STATE_UNKNOWN,
  STATE_READ,
  STATE_WRITE,
  STATE_PASS,
} snapshot_state_t;

typedef enum snapshot_choice_e {
  CHOICE_AUTO,
  CHOICE_READ,
  CHOICE_WRITE,
  CHOICE_PASS,
} snapshot_choice_t;

// What the attributes say of reading and writing.
typedef struct first_settings_s {
  leat_snapshot_compression_t compression;
  snapshot_choice_t choice;
  int64_t shard_bytes, expiry_seconds;
  bool is_shuffled;
  int64_t seed, seed2;
} first_settings_t;

typedef struct first_node_s {
  leat_element_spec_t* spec;
  first_settings_t settings;
  leat_string_view_t reader_prefix, writer_prefix, name;  // the graph's
  uint64_t hash;  // of those attributes on which the directory depends
} first_node_t;

// The tensors of the dataset.
enum { DIRECTORY, READ_FROM, WRITE_TO, NAME, TENSORS };

typedef struct first_s {
  leat_dataset_t base;
  first_settings_t settings;
} first_t;

typedef struct first_iterator_s {
  leat_iterator_t base;  // |input|: over inputs[0], or over the files
  snapshot_state_t state;
  leat_string_builder_t run, name, record;
  leat_tensor_t text;  // for the writing of records
  leat_file_t* file;   // that is written; NULL: none
  leat_record_writer_t writer;
  int64_t file_number;  // of the file that is written, or comes next
  int64_t file_bytes;   // of the elements in it
} first_iterator_t;

static const first_settings_t* settings_of(const first_iterator_t* it) {
  return &((const first_t*)it->base.dataset)->settings;
}

static leat_string_view_t text_of(const first_iterator_t* it, int index) {
  return leat_tensor_string_at(&it->base.dataset->tensors[index], 0);
}

static leat_snapshot_format_t format_of(const first_iterator_t* it, int64_t version) {
  return (leat_snapshot_format_t){it->base.dataset->spec, settings_of(it)->compression.name,
                                  version};
}

static leat_status_t close_file(first_iterator_t* it) {
  leat_file_t* file = it->file;
  if (file) leat_record_writer_deinitialize(&it->writer);
  it->file = NULL;
  return leat_file_close(file);
}

static leat_status_t first_start(leat_iterator_t* self) {
  first_iterator_t* it = (first_iterator_t*)self;
  const leat_shape_t scalar = leat_shape_scalar();
  leat_string_builder_initialize(leat_allocator_system(), &it->run);
  leat_string_builder_initialize(leat_allocator_system(), &it->name);
  leat_string_builder_initialize(leat_allocator_system(), &it->record);
  return leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &scalar, &it->text);
}

static void first_stop(leat_iterator_t* self) {
  first_iterator_t* it = (first_iterator_t*)self;
  leat_status_free(close_file(it));
  leat_string_builder_deinitialize(&it->run);
  leat_string_builder_deinitialize(&it->name);
  leat_string_builder_deinitialize(&it->record);
  leat_tensor_release(&it->text);
}

// ---- Writing ------------------------------------------------------------------------------------

static leat_status_t write_metadata(const first_iterator_t* it, bool is_final) {
  const leat_snapshot_description_t description = {.run = leat_string_builder_view(&it->run),
                                                   .graph_hash = text_of(it, NAME),
                                                   .version = LEAT_SNAPSHOT_COMPRESSED_RECORDS,
                                                   .is_final = is_final};
  return leat_snapshot_write_metadata(text_of(it, DIRECTORY), it->base.dataset->spec,
                                      &description);
}

// Sets |it->name| to the directory of the run.
static leat_status_t name_run(first_iterator_t* it) {
  it->name.size = 0;
  leat_string_builder_print(&it->name, "%.*s/%.*s", LEAT_SV_ARG(text_of(it, WRITE_TO)),
                            (int)it->run.size, it->run.data);
  return leat_status_clone(it->name.status);
}

static leat_status_t open_file(first_iterator_t* it) {
  const leat_snapshot_format_t format = format_of(it, LEAT_SNAPSHOT_COMPRESSED_RECORDS);
  LEAT_RETURN_IF_ERROR(name_run(it));
  leat_string_builder_print(&it->name, "/%08lld.snapshot", (long long)it->file_number);
  LEAT_RETURN_IF_ERROR(leat_status_clone(it->name.status));
  LEAT_RETURN_IF_ERROR(leat_snapshot_open_file(
      it->name.data, leat_snapshot_packs_records(&format) ? "" : format.compression, &it->file));
  leat_record_writer_initialize(it->file, &it->writer);
  it->file_bytes = 0;
  return leat_ok_status();
}

static leat_status_t begin_writing(first_iterator_t* it) {
  leat_file_system_t* fs = leat_file_system_default();
  const leat_string_view_t custom = LEAT_SV("custom-");
  it->state = STATE_PASS;
  LEAT_RETURN_IF_ERROR(leat_iterator_open_input(&it->base, it->base.dataset->inputs[0]));
  if (leat_string_view_starts_with(text_of(it, NAME), custom)) {
    leat_string_builder_append(&it->run, LEAT_SV("custom"));
  } else {
    leat_string_builder_print(&it->run, "%016llx", (unsigned long long)leat_random_seed());
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(it->run.status));
  it->name.size = 0;
  leat_string_builder_append(&it->name, text_of(it, DIRECTORY));
  LEAT_RETURN_IF_ERROR(leat_status_clone(it->name.status));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(fs, it->name.data));
  LEAT_RETURN_IF_ERROR(name_run(it));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(fs, it->name.data));
  LEAT_RETURN_IF_ERROR(write_metadata(it, false));
  LEAT_RETURN_IF_ERROR(open_file(it));
  it->state = STATE_WRITE;
  return leat_ok_status();
}

static leat_status_t write_element(first_iterator_t* it, const leat_tensor_t* element) {
  const leat_snapshot_format_t format = format_of(it, LEAT_SNAPSHOT_COMPRESSED_RECORDS);
  const int count = format.spec->count;
  if (!it->file) LEAT_RETURN_IF_ERROR(open_file(it));
  it->record.size = 0;
  LEAT_RETURN_IF_ERROR(leat_snapshot_record_append(leat_snapshot_packs_records(&format), element,
                                                   count, &it->text, &it->record));
  LEAT_RETURN_IF_ERROR(
      leat_record_writer_add_encoded(&it->writer, leat_string_builder_view(&it->record)));
  for (int i = 0; i < count; ++i) it->file_bytes += (int64_t)leat_tensor_size_bytes(&element[i]);
  if (it->file_bytes < settings_of(it)->shard_bytes) return leat_ok_status();
  ++it->file_number;
  return close_file(it);
}

// Makes the metadata final, unless another run has replaced them.
static leat_status_t end_writing(first_iterator_t* it) {
  leat_arena_t arena;
  leat_pb_snapshot_metadata_record_t metadata = {0};
  it->state = STATE_PASS;
  LEAT_RETURN_IF_ERROR(close_file(it));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_snapshot_read_metadata(text_of(it, DIRECTORY), &arena, &metadata);
  if (!status && leat_string_view_equal(metadata.run_id, leat_string_builder_view(&it->run))) {
    status = write_metadata(it, true);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// Where an element fails, here or below, the run is given up.
static leat_status_t write_next(first_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  leat_status_t status = leat_iterator_next(it->base.input, pull, out, out_poll);
  if (!status && *out_poll == LEAT_POLL_PENDING) return status;
  if (!status && *out_poll == LEAT_POLL_END) return end_writing(it);
  if (status && leat_pull_was_stopped(status)) return status;
  if (!status) {
    status = write_element(it, out);
    if (status) leat_element_release(out, it->base.dataset->spec->count);
  }
  if (!status) return status;
  it->state = STATE_PASS;
  return leat_status_join(status, close_file(it));
}

// ---- Reading ------------------------------------------------------------------------------------

static leat_status_t begin_reading(first_iterator_t* it,
                                   const leat_pb_snapshot_metadata_record_t* metadata) {
  const first_settings_t* settings = settings_of(it);
  const leat_snapshot_format_t format = format_of(it, metadata->version);
  leat_dataset_t* files = NULL;
  it->name.size = 0;
  leat_string_builder_print(&it->name, "%.*s/%.*s", LEAT_SV_ARG(text_of(it, READ_FROM)),
                            LEAT_SV_ARG(metadata->run_id));
  LEAT_RETURN_IF_ERROR(leat_status_clone(it->name.status));
  const leat_string_view_t directory = leat_string_builder_view(&it->name);
  if (settings->is_shuffled) {
    const bool has_seed = settings->seed || settings->seed2;
    const uint64_t seed =
        has_seed ? (uint64_t)settings->seed + (uint64_t)settings->seed2 : leat_random_seed();
    LEAT_RETURN_IF_ERROR(leat_snapshot_shuffled_create(&format, directory, seed, &files));
  } else {
    LEAT_RETURN_IF_ERROR(leat_snapshot_shard_create(&format, directory, 0, &files));
  }
  leat_status_t status = leat_iterator_open_input(&it->base, files);
  leat_dataset_release(files);
  if (!status) it->state = STATE_READ;
  return status;
}

static bool is_recent(const first_iterator_t* it,
                      const leat_pb_snapshot_metadata_record_t* metadata) {
  const double age = (double)leat_clock_wall_ns() / 1e9 -
                     (double)metadata->creation_timestamp / 1e6;
  return age <= (double)settings_of(it)->expiry_seconds;
}

// Decides what to do, where the metadata, if there |are_any|, count.
static leat_status_t begin(first_iterator_t* it, bool are_any,
                           const leat_pb_snapshot_metadata_record_t* metadata) {
  const snapshot_choice_t choice = settings_of(it)->choice;
  if (choice == CHOICE_READ && !are_any) {
    return leat_make_status(LEAT_NOT_FOUND, "Metadata file does not exist.");
  }
  if (choice == CHOICE_READ || (choice == CHOICE_AUTO && are_any && metadata->finalized)) {
    return begin_reading(it, metadata);
  }
  if (choice == CHOICE_PASS || (choice == CHOICE_AUTO && are_any && is_recent(it, metadata))) {
    it->state = STATE_PASS;
    return leat_ok_status();
  }
  return begin_writing(it);
}

static leat_status_t decide(first_iterator_t* it) {
  leat_arena_t arena;
  leat_pb_snapshot_metadata_record_t metadata = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_snapshot_read_metadata(text_of(it, DIRECTORY), &arena, &metadata);
  const bool are_any = !status;
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  if (!status) status = begin(it, are_any, &metadata);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t first_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  first_iterator_t* it = (first_iterator_t*)self;
  if (it->state == STATE_UNKNOWN) LEAT_RETURN_IF_ERROR(decide(it));
  if (it->state == STATE_WRITE) return write_next(it, pull, out, out_poll);
  if (!self->input) LEAT_RETURN_IF_ERROR(leat_iterator_open_input(self, self->dataset->inputs[0]));
  return leat_iterator_next(self->input, pull, out, out_poll);
}

static const leat_dataset_kind_t kFirst = {.name = "SnapshotV1",
                                           .dataset_bytes = sizeof(first_t),
                                           .iterator_bytes = sizeof(first_iterator_t),
                                           .start = first_start,
                                           .next = first_next,
                                           .stop = first_stop};

// ---- The kernel ---------------------------------------------------------------------------------

static leat_status_t refuse(const leat_kernel_creation_t* c, const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Kernel creation failed for node '%.*s' (%s): %s",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, what);
}

static leat_status_t read_choice(const leat_kernel_creation_t* c, snapshot_choice_t* out_choice) {
  static const char* const kChoices[] = {[CHOICE_AUTO] = "auto",
                                         [CHOICE_READ] = "read",
                                         [CHOICE_WRITE] = "write",
                                         [CHOICE_PASS] = "passthrough"};
  leat_string_view_t mode;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "mode", &mode));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kChoices); ++i) {
    if (!leat_string_view_equals(mode, kChoices[i])) continue;
    *out_choice = (snapshot_choice_t)i;
    return leat_ok_status();
  }
  return refuse(c, "mode must be 'auto', 'read', 'write' or 'passthrough'");
}

static leat_status_t read_texts(const leat_kernel_creation_t* c, first_node_t* node) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "reader_path_prefix", &node->reader_prefix));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "writer_path_prefix", &node->writer_prefix));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "snapshot_name", &node->name));
  const leat_string_view_t texts[] = {leat_string_view_from(node->settings.compression.name),
                                      node->reader_prefix, node->writer_prefix};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    node->hash = leat_hash_mix(node->hash, leat_fingerprint64(texts[i]));
  }
  return leat_ok_status();
}

// Reads the numbers. All of them tell one snapshot from another, those of threads and buffers too.
static leat_status_t read_numbers(const leat_kernel_creation_t* c, first_node_t* node) {
  int64_t ignored;
  const struct {
    const char* name;
    int64_t* out_value;
  } kNumbers[] = {{"shard_size_bytes", &node->settings.shard_bytes},
                  {"pending_snapshot_expiry_seconds", &node->settings.expiry_seconds},
                  {"seed", &node->settings.seed},
                  {"seed2", &node->settings.seed2},
                  {"num_reader_threads", &ignored},
                  {"reader_buffer_size", &ignored},
                  {"num_writer_threads", &ignored},
                  {"writer_buffer_size", &ignored}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNumbers); ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, kNumbers[i].name, kNumbers[i].out_value));
    node->hash = leat_hash_mix(node->hash, (uint64_t)*kNumbers[i].out_value);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "shuffle_on_read", &node->settings.is_shuffled));
  node->hash = leat_hash_mix(node->hash, node->settings.is_shuffled);
  return leat_ok_status();
}

// -1 stands for the default, as in TensorFlow.
static leat_status_t first_create(leat_kernel_creation_t* c, void* state) {
  first_node_t* node = state;
  LEAT_RETURN_IF_ERROR(leat_snapshot_compression_create(c, &node->settings.compression));
  if (leat_string_view_equals(leat_string_view_from(node->settings.compression.name), "ZLIB")) {
    return refuse(c, "compression must be either '', 'GZIP' or 'SNAPPY'");
  }
  LEAT_RETURN_IF_ERROR(read_choice(c, &node->settings.choice));
  LEAT_RETURN_IF_ERROR(read_texts(c, node));
  LEAT_RETURN_IF_ERROR(read_numbers(c, node));
  if (node->settings.shard_bytes == -1) node->settings.shard_bytes = INT64_C(10) << 30;
  if (node->settings.expiry_seconds == -1) node->settings.expiry_seconds = 86400;
  if (node->settings.expiry_seconds < 1) {
    return refuse(c, "pending_snapshot_expiry_seconds must be at least 1 second");
  }
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

static leat_status_t set_text(leat_tensor_t* tensor, leat_string_view_t prefix,
                              leat_string_view_t path, leat_string_view_t name) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  if (prefix.size) leat_string_builder_print(&text, "%.*s/", LEAT_SV_ARG(prefix));
  if (path.size) leat_string_builder_print(&text, "%.*s/", LEAT_SV_ARG(path));
  leat_string_builder_append(&text, name);
  leat_status_t status = leat_status_clone(text.status);
  if (!status) status = leat_tensor_scalar_string(leat_string_builder_view(&text), tensor);
  leat_string_builder_deinitialize(&text);
  return status;
}

// Sets the tensors of the dataset: the directories, and the last part of their names.
static leat_status_t set_texts(const leat_kernel_context_t* c, leat_string_view_t name,
                               leat_dataset_t* dataset) {
  const first_node_t* node = leat_kernel_state(c);
  const leat_string_view_t none = LEAT_SV("");
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "path", &path));
  LEAT_RETURN_IF_ERROR(set_text(&dataset->tensors[NAME], none, none, name));
  LEAT_RETURN_IF_ERROR(set_text(&dataset->tensors[DIRECTORY], none, path, name));
  LEAT_RETURN_IF_ERROR(set_text(&dataset->tensors[READ_FROM], node->reader_prefix, path, name));
  return set_text(&dataset->tensors[WRITE_TO], node->writer_prefix, path, name);
}

// Finds the last part of the directories' names and sets the texts. The functions that the input
// calls are known by their names, so that the hash is one of all functions of the session, too.
static leat_status_t set_first(leat_kernel_context_t* c, first_t* first) {
  const first_node_t* node = leat_kernel_state(c);
  leat_function_runtime_t* functions = c->services->functions;
  leat_string_builder_t name;
  uint64_t hash = 0;
  first->settings = node->settings;
  if (functions) LEAT_RETURN_IF_ERROR(functions->vtable->hash(functions, &hash));
  hash = leat_hash_mix(leat_hash_mix(hash, node->hash), leat_dataset_hash(first->base.inputs[0]));
  leat_string_builder_initialize(leat_allocator_system(), &name);
  if (node->name.size) {
    leat_string_builder_print(&name, "custom-%.*s", LEAT_SV_ARG(node->name));
  } else {
    leat_string_builder_print(&name, "%016llx", (unsigned long long)hash);
  }
  leat_status_t status = leat_status_clone(name.status);
  if (!status) status = set_texts(c, leat_string_builder_view(&name), &first->base);
  leat_string_builder_deinitialize(&name);
  return status;
}

static leat_status_t first__cpu(leat_kernel_context_t* c) {
  const first_node_t* node = leat_kernel_state(c);
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kFirst, leat_element_spec_retain(node->spec),
                                                input, TENSORS, &dataset));
  leat_status_t status = set_first(c, (first_t*)dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_first_snapshot_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SnapshotDataset", NULL, first_node_t, first_create, first__cpu,
                    .destroy = leat_element_spec_state_destroy),
    LEAT_KERNEL_ROWS_END,
};
