// The kernel of SaveDataset, which writes the elements of a dataset to files
// (ops/dataset/snapshot_cpu.h). shard_func says for each element to which shard it goes; without it
// all go to shard 0. The file of a shard is made when its first element comes. The metadata that
// names the run is written when all elements are, so that a save that fails, or is cut off, leaves
// what was saved before.
#include "base/map.h"
#include "base/random.h"
#include "formats/record/compression.h"
#include "formats/record/record.h"
#include "ops/dataset/snapshot_cpu.h"
#include "ops/input/serialized_tensor_cpu.h"
#include "ops/kernel_rows.h"

typedef struct save_state_s {
  leat_callee_t callee;
  bool has_function;
  leat_compression_t compression;
} save_state_t;

typedef struct shard_file_s {
  leat_file_t* file;
  leat_record_writer_t writer;
} shard_file_t;

typedef struct saving_s {
  leat_pull_t pull;
  leat_iterator_t* iterator;
  leat_application_t call;  // of shard_func; without it, its arguments are room for the element
  uint64_t function;
  leat_string_view_t path;    // of the input
  leat_string_builder_t run;  // the name of the run
  leat_string_builder_t name;  // of a directory or file
  leat_string_builder_t records;  // of one element
  leat_tensor_t text;  // a scalar, of one component
  leat_word_map_t places;  // shard -> index in |shards|
  shard_file_t* shards;
  size_t shard_count, shard_room;
  int64_t count;  // elements written
} saving_t;

// ---- Files --------------------------------------------------------------------------------------

static leat_status_t open_file(saving_t* s, uint64_t shard, leat_file_t** out_file) {
  const save_state_t* state = leat_kernel_state(s->pull.context);
  leat_file_system_t* fs = leat_file_system_default();
  s->name.size = 0;
  leat_string_builder_print(&s->name, "%.*s/%s/%08llu.shard", LEAT_SV_ARG(s->path), s->run.data,
                            (unsigned long long)shard);
  LEAT_RETURN_IF_ERROR(leat_status_clone(s->name.status));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(fs, s->name.data));
  leat_string_builder_append(&s->name, LEAT_SV("/00000000.snapshot"));
  LEAT_RETURN_IF_ERROR(leat_status_clone(s->name.status));
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, s->name.data, LEAT_FILE_WRITE, leat_allocator_system(), out_file));
  if (state->compression == LEAT_COMPRESSION_NONE) return leat_ok_status();
  return leat_compressed_file_create(*out_file, state->compression, leat_allocator_system(),
                                     out_file);
}

// The file of |shard|, which is made where it is new.
static leat_status_t find_shard(saving_t* s, uint64_t shard, shard_file_t** out_shard) {
  uint64_t place;
  leat_file_t* file;
  if (leat_word_map_get(&s->places, shard, &place)) {
    *out_shard = &s->shards[place];
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), s->shard_count + 1, &s->shards, &s->shard_room));
  LEAT_RETURN_IF_ERROR(leat_word_map_set(&s->places, shard, s->shard_count));
  LEAT_RETURN_IF_ERROR(open_file(s, shard, &file));
  *out_shard = &s->shards[s->shard_count++];
  (*out_shard)->file = file;
  leat_record_writer_initialize(file, &(*out_shard)->writer);
  return leat_ok_status();
}

static leat_status_t write_element(saving_t* s, uint64_t shard) {
  shard_file_t* to;
  LEAT_RETURN_IF_ERROR(find_shard(s, shard, &to));
  s->records.size = 0;
  for (int i = 0; i < s->call.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_serialize(&s->call.arguments[i], true, &s->text, 0));
    leat_record_append(&s->records, leat_tensor_string_at(&s->text, 0));
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(s->records.status));
  LEAT_RETURN_IF_ERROR(
      leat_record_writer_add_encoded(&to->writer, leat_string_builder_view(&s->records)));
  ++s->count;
  return leat_ok_status();
}

// ---- The pull -----------------------------------------------------------------------------------

// Takes what shard_func returned.
static leat_status_t take_shard(saving_t* s, uint64_t* out_shard) {
  leat_tensor_t number;
  LEAT_RETURN_IF_ERROR(leat_application_take(&s->call, &s->pull, &number));
  const bool is_number = number.dtype == LEAT_DTYPE_INT64 && number.shape.rank == 0;
  *out_shard = is_number ? *leat_tensor_data(&number, const uint64_t) : 0;
  leat_tensor_release(&number);
  if (is_number) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "`shard_func` must return a scalar int64.");
}

static leat_status_t save_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  saving_t* s = (saving_t*)pull;
  const save_state_t* state = leat_kernel_state(pull->context);
  uint64_t shard = 0;
  bool has_element = s->call.pending;
  for (;;) {
    if (s->call.pending) LEAT_RETURN_IF_ERROR(take_shard(s, &shard));
    if (has_element) {
      leat_status_t status = write_element(s, shard);
      leat_application_release_element(&s->call);
      if (status) return status;
    }
    LEAT_RETURN_IF_ERROR(leat_iterator_next(s->iterator, pull, s->call.arguments, out_poll));
    has_element = *out_poll == LEAT_POLL_ELEMENT;
    if (!has_element) return leat_ok_status();
    if (!state->has_function) continue;
    *out_poll = LEAT_POLL_PENDING;
    leat_application_start(&s->call, pull, s->function);
    return leat_ok_status();
  }
}

static leat_status_t close_files(saving_t* s) {
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < s->shard_count; ++i) {
    leat_record_writer_deinitialize(&s->shards[i].writer);
    status = leat_status_join(status, leat_file_close(s->shards[i].file));
  }
  s->shard_count = 0;
  return status;
}

// Publishes the run when |status| is OK, and frees what the pull holds.
static leat_status_t end_saving(saving_t* s, leat_status_t status) {
  status = leat_status_join(status, close_files(s));
  if (!status) {
    status = leat_snapshot_write_metadata(s->path, leat_string_builder_view(&s->run),
                                          s->iterator->dataset->spec, s->count, true);
  }
  leat_iterator_free(s->iterator);
  leat_application_deinitialize(&s->call);
  leat_string_builder_deinitialize(&s->run);
  leat_string_builder_deinitialize(&s->name);
  leat_string_builder_deinitialize(&s->records);
  leat_tensor_release(&s->text);
  leat_word_map_deinitialize(&s->places);
  leat_allocator_free(leat_allocator_system(), s->shards);
  leat_allocator_free(leat_allocator_system(), s);
  return status;
}

static void save_finish(leat_pull_t* pull, leat_status_t status) {
  leat_kernel_context_t* context = pull->context;
  leat_kernel_done_fn_t done = pull->done;
  done(context, end_saving((saving_t*)pull, status));
}

// ---- The kernel ---------------------------------------------------------------------------------

// The captured tensors, inputs from 2 on, become the arguments of shard_func behind the element.
static leat_status_t prepare_call(leat_kernel_context_t* c, saving_t* s) {
  save_state_t* state = leat_kernel_state(c);
  const int components = s->iterator->dataset->spec->count;
  const int captured = leat_kernel_input_count(c) - 2;
  LEAT_RETURN_IF_ERROR(leat_application_initialize(s->iterator->draw_counts, components, captured,
                                                   1, &s->call));
  for (int i = 0; i < captured; ++i) {
    s->call.arguments[components + i] = *leat_kernel_input(c, 2 + i);
  }
  return state->has_function ? leat_callee_find(c, &state->callee, &s->function)
                             : leat_ok_status();
}

static leat_status_t begin_saving(leat_kernel_context_t* c, saving_t* s) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "path", &s->path));
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &scalar,
                                            &s->text));
  LEAT_RETURN_IF_ERROR(leat_iterator_create(dataset, NULL, &s->iterator));
  LEAT_RETURN_IF_ERROR(prepare_call(c, s));
  leat_string_builder_print(&s->run, "%llu", (unsigned long long)leat_random_seed());
  leat_string_builder_print(&s->name, "%.*s/%s", LEAT_SV_ARG(s->path), s->run.data);
  LEAT_RETURN_IF_ERROR(leat_status_clone(s->name.status));
  return leat_file_make_directories(leat_file_system_default(), s->name.data);
}

static leat_status_t save_create(leat_kernel_creation_t* c, void* state) {
  save_state_t* save = state;
  leat_string_view_t compression;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "shard_func", 0, &save->callee));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "use_shard_func", &save->has_function));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "compression", &compression));
  if (leat_compression_from_name(compression, &save->compression)) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "compression is '%.*s', must be '', 'GZIP' or 'ZLIB'",
                          LEAT_SV_ARG(compression));
}

static void save__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  saving_t* s;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &s);
  if (status) {
    done(c, status);
    return;
  }
  s->pull = (leat_pull_t){.services = c->services,
                          .context = c,
                          .done = done,
                          .step = save_step,
                          .finish = save_finish};
  leat_string_builder_initialize(leat_allocator_system(), &s->run);
  leat_string_builder_initialize(leat_allocator_system(), &s->name);
  leat_string_builder_initialize(leat_allocator_system(), &s->records);
  leat_word_map_initialize(leat_allocator_system(), &s->places);
  status = begin_saving(c, s);
  if (status) {
    done(c, end_saving(s, status));
  } else {
    leat_pull_run(&s->pull);
  }
}

const leat_kernel_row_t leat_save_dataset_kernels_cpu[] = {
    {.op = "SaveDataset",
     .device_type = "CPU",
     .create = save_create,
     .state_bytes = sizeof(save_state_t),
     .compute_async = save__cpu},
    LEAT_KERNEL_ROWS_END,
};
