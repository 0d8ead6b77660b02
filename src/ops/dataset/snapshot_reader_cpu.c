// Reads the runs of snapshots (ops/dataset/snapshot_cpu.h). A shard is a directory of files, its
// chunks, which are numbered from 0; their elements follow each other. SaveDataset writes one chunk
// for each shard, and TensorFlow begins another one whenever an iterator is saved; the files of a
// run of version 1, which has no shards, are read as the chunks of one. How many there
// are is counted when the shard is opened, so that one that is missing is told from the end. A file
// whose bytes are corrupt fails once, and the next file is read; an element that is cut off at the
// end of a file is left out, since a program that was stopped leaves such files.
#include <stdlib.h>

#include "base/random.h"
#include "formats/record/compression.h"
#include "formats/record/file_stream.h"
#include "ops/dataset/snapshot_cpu.h"
#include "ops/input/serialized_tensor_cpu.h"

// ---- A shard, or one chunk ----------------------------------------------------------------------

// The tensors are the path of a directory or file, and the compression of its files.
typedef struct shard_s {
  leat_dataset_t base;
  int64_t version;
  bool packs;        // each record is compressed by itself
  int64_t skipped;   // elements that are left out
  bool is_chunk;     // the path is that of one file
  bool is_shuffled;  // the chunks are read in the order that follows from |seed|
  uint64_t seed;
} shard_t;

typedef struct shard_iterator_s {
  leat_iterator_t base;
  bool was_opened;
  int64_t chunks;   // files of the shard
  int64_t chunk;    // the place of the one that is open, or that is opened next
  int64_t* order;   // [chunks] their numbers, where they are shuffled
  int64_t to_skip;  // elements
  leat_file_stream_t* stream;
  leat_record_reader_t records;  // of version 2
  leat_byte_reader_t bytes;      // of other versions
} shard_iterator_t;

static const shard_t* shard_of(const shard_iterator_t* it) {
  return (const shard_t*)it->base.dataset;
}

static void close_file(shard_iterator_t* it) {
  if (it->records.source) leat_record_reader_deinitialize(&it->records);
  it->records = (leat_record_reader_t){0};
  if (it->bytes.source) leat_byte_reader_deinitialize(&it->bytes);
  leat_file_stream_close(it->stream);
  it->stream = NULL;
}

static void shard_stop(leat_iterator_t* self) {
  close_file((shard_iterator_t*)self);
  leat_allocator_free(leat_allocator_system(), ((shard_iterator_t*)self)->order);
}

static leat_status_t count_chunk(void* data, const char* name) {
  const bool is_chunk =
      leat_string_view_ends_with(leat_string_view_from(name), LEAT_SV(".snapshot"));
  *(int64_t*)data += is_chunk;
  return leat_ok_status();
}

// Puts the numbers of the chunks into a random order.
static leat_status_t shuffle_chunks(shard_iterator_t* it) {
  leat_philox_t philox = leat_philox_make(shard_of(it)->seed, 0);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)it->chunks, &it->order));
  for (int64_t i = 0; i < it->chunks; ++i) {
    uint32_t words[4];
    leat_philox_next(&philox, words);
    const int64_t other = (int64_t)((words[0] | (uint64_t)words[1] << 32) % (uint64_t)(i + 1));
    it->order[i] = it->order[other];
    it->order[other] = i;
  }
  return leat_ok_status();
}

// Counts the chunks of the shard. NOT_FOUND where there are none.
static leat_status_t open_shard(shard_iterator_t* it) {
  leat_file_system_t* fs = leat_file_system_default();
  const leat_string_view_t path = leat_tensor_string_at(&it->base.dataset->tensors[0], 0);
  it->to_skip = shard_of(it)->skipped;
  it->chunks = shard_of(it)->is_chunk;
  if (!it->chunks) {
    leat_string_builder_t directory;
    leat_string_builder_initialize(leat_allocator_system(), &directory);
    leat_string_builder_append(&directory, path);
    leat_status_t status = leat_status_clone(directory.status);
    if (!status) status = fs->vtable->list(fs, directory.data, count_chunk, &it->chunks);
    leat_string_builder_deinitialize(&directory);
    if (status) return status;
  }
  if (!it->chunks) {
    return leat_make_status(LEAT_NOT_FOUND, "The shard '%.*s' of a snapshot has no files",
                            LEAT_SV_ARG(path));
  }
  if (shard_of(it)->is_shuffled) LEAT_RETURN_IF_ERROR(shuffle_chunks(it));
  it->was_opened = true;
  return leat_ok_status();
}

// Opens the next chunk. DATA_LOSS where it is missing.
static leat_status_t open_chunk(shard_iterator_t* it) {
  const leat_tensor_t* tensors = it->base.dataset->tensors;
  const leat_string_view_t compression =
      shard_of(it)->packs ? LEAT_SV("") : leat_tensor_string_at(&tensors[1], 0);
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_string_builder_append(&name, leat_tensor_string_at(&tensors[0], 0));
  if (!shard_of(it)->is_chunk) {
    const int64_t number = it->order ? it->order[it->chunk] : it->chunk;
    leat_string_builder_print(&name, "/%08lld.snapshot", (long long)number);
  }
  leat_status_t status = leat_status_clone(name.status);
  if (!status) {
    status = leat_dataset_open_stream(leat_string_builder_view(&name), compression, &it->stream);
  }
  if (leat_status_code(status) == LEAT_NOT_FOUND && !shard_of(it)->is_chunk) {
    leat_status_free(status);
    status = leat_make_status(LEAT_DATA_LOSS, "The file '%s' of a snapshot is missing", name.data);
  }
  leat_string_builder_deinitialize(&name);
  if (status) return status;
  leat_record_source_t* source = leat_file_stream_source(it->stream);
  if (shard_of(it)->version == LEAT_SNAPSHOT_TF_RECORDS) {
    leat_record_reader_initialize(source, compression.size ? LEAT_COMPRESSION_MAX_BYTES : 0,
                                  leat_allocator_system(), &it->records);
  } else {
    leat_byte_reader_initialize(source, leat_allocator_system(), &it->bytes);
  }
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

static leat_status_t read_components(shard_iterator_t* it, leat_tensor_t* out) {
  const leat_element_spec_t* spec = it->base.dataset->spec;
  if (it->bytes.source) {
    return leat_snapshot_record_read(shard_of(it)->packs, spec, &it->bytes, out);
  }
  for (int i = 0; i < spec->count; ++i) {
    leat_status_t status = read_component(it, i, &out[i]);
    if (!status) continue;
    leat_element_release(out, i);
    return status;
  }
  return leat_ok_status();
}

static leat_status_t read_element(shard_iterator_t* it, leat_tensor_t* out) {
  const leat_element_spec_t* spec = it->base.dataset->spec;
  LEAT_RETURN_IF_ERROR(read_components(it, out));
  leat_status_t status = leat_element_spec_check_element(spec, out, spec->count);
  if (status) leat_element_release(out, spec->count);
  return status;
}

static leat_status_t shard_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  shard_iterator_t* it = (shard_iterator_t*)self;
  if (!it->was_opened) LEAT_RETURN_IF_ERROR(open_shard(it));
  while (it->chunk < it->chunks) {
    leat_status_t status = it->stream ? leat_ok_status() : open_chunk(it);
    const bool is_open = !status;
    if (!status) status = read_element(it, out);
    if (!status && !it->to_skip) {
      *out_poll = LEAT_POLL_ELEMENT;
      return leat_ok_status();
    }
    if (!status) {
      leat_element_release(out, self->dataset->spec->count);
      --it->to_skip;
    }
    const leat_status_code_t code = leat_status_code(status);
    if (!is_open || code == LEAT_OUT_OF_RANGE || code == LEAT_DATA_LOSS) {
      close_file(it);
      ++it->chunk;
    }
    if (status && code != LEAT_OUT_OF_RANGE) return status;
    leat_status_free(status);
    LEAT_RETURN_IF_ERROR(leat_pull_check(pull));
  }
  return leat_ok_status();
}

static const leat_dataset_kind_t kShard = {.name = "SnapshotShard",
                                           .dataset_bytes = sizeof(shard_t),
                                           .iterator_bytes = sizeof(shard_iterator_t),
                                           .next = shard_next,
                                           .stop = shard_stop,
                                           .cardinality = leat_dataset_unknown_cardinality};

static leat_status_t create(const leat_snapshot_format_t* format, leat_string_view_t path,
                            shard_t** out_shard) {
  leat_dataset_t* shard;
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create(&kShard, leat_element_spec_retain(format->spec), 0, 2, &shard));
  leat_status_t status = leat_tensor_scalar_string(path, &shard->tensors[0]);
  if (!status) {
    status = leat_tensor_scalar_string(leat_string_view_from(format->compression),
                                       &shard->tensors[1]);
  }
  if (status) {
    leat_dataset_release(shard);
    return status;
  }
  *out_shard = (shard_t*)shard;
  (*out_shard)->version = format->version;
  (*out_shard)->packs = leat_snapshot_packs_records(format);
  return leat_ok_status();
}

leat_status_t leat_snapshot_shard_create(const leat_snapshot_format_t* format,
                                         leat_string_view_t directory, int64_t skipped,
                                         leat_dataset_t** out_dataset) {
  shard_t* shard;
  LEAT_DCHECK(skipped >= 0);
  LEAT_RETURN_IF_ERROR(create(format, directory, &shard));
  shard->skipped = skipped;
  *out_dataset = &shard->base;
  return leat_ok_status();
}

leat_status_t leat_snapshot_chunk_create(const leat_snapshot_format_t* format,
                                         leat_string_view_t path, leat_dataset_t** out_dataset) {
  shard_t* shard;
  LEAT_RETURN_IF_ERROR(create(format, path, &shard));
  shard->is_chunk = true;
  *out_dataset = &shard->base;
  return leat_ok_status();
}

leat_status_t leat_snapshot_shuffled_create(const leat_snapshot_format_t* format,
                                            leat_string_view_t directory, uint64_t seed,
                                            leat_dataset_t** out_dataset) {
  shard_t* shard;
  LEAT_RETURN_IF_ERROR(create(format, directory, &shard));
  shard->is_shuffled = true;
  shard->seed = seed;
  *out_dataset = &shard->base;
  return leat_ok_status();
}

// ---- All shards of a run ------------------------------------------------------------------------

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

static leat_status_t make_shard(const leat_snapshot_format_t* format, leat_string_view_t directory,
                                leat_tensor_t* out_tensor) {
  leat_dataset_t* shard;
  LEAT_RETURN_IF_ERROR(leat_snapshot_shard_create(format, directory, 0, &shard));
  return leat_dataset_to_tensor(shard, out_tensor);
}

// Makes the dataset of the datasets of the shards in |directory|.
static leat_status_t make_shards(const leat_snapshot_format_t* format, const char* directory,
                                 const names_t* names, leat_dataset_t** out_shards) {
  leat_element_spec_t* variant;
  leat_string_builder_t path;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_scalar(LEAT_DTYPE_VARIANT, &variant));
  LEAT_RETURN_IF_ERROR(leat_window_create(variant, (int64_t)names->count, out_shards));
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < names->count && !status; ++i) {
    path.size = 0;
    leat_string_builder_print(&path, "%s/%.*s", directory, LEAT_SV_ARG(names->items[i]));
    status = leat_status_clone(path.status);
    if (!status) {
      status = make_shard(format, leat_string_builder_view(&path), &(*out_shards)->tensors[i]);
    }
  }
  leat_string_builder_deinitialize(&path);
  if (status) leat_dataset_release(*out_shards);
  return status;
}

leat_status_t leat_snapshot_open_run(const leat_snapshot_format_t* format,
                                     leat_string_view_t path, leat_string_view_t run,
                                     leat_dataset_t** out_shards) {
  leat_arena_t arena;
  leat_string_builder_t directory;
  names_t names = {.arena = &arena};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &directory);
  leat_string_builder_print(&directory, "%.*s/%.*s", LEAT_SV_ARG(path), LEAT_SV_ARG(run));
  leat_status_t status = leat_status_clone(directory.status);
  if (!status) status = find_shards(directory.data, &names);
  if (!status) status = make_shards(format, directory.data, &names, out_shards);
  leat_allocator_free(leat_allocator_system(), names.items);
  leat_string_builder_deinitialize(&directory);
  leat_arena_deinitialize(&arena);
  return status;
}
