// The thread of a writer goes through the stream once: it looks whether a writer before it has left
// anything, makes the dataset with sources that ask for the stream's splits, writes elements, and
// gives the files their names. A component of an element is a TensorProto in a record, as in all
// snapshots. An error ends the stream and is told to the dispatcher, which ends the snapshot; being
// cancelled is no error, and leaves the files for who comes next.
#include "data_service/stream_writer.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/sync.h"
#include "base/thread.h"
#include "data_service/dataset_sources.h"
#include "data_service/element_source.h"
#include "data_service/snapshot_files.h"
#include "data_service/stream_splits.h"
#include "formats/record/compression.h"
#include "formats/record/record.h"
#include "formats/record/snappy_file.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "kernel/resource.h"

// What the checkpoint holds: it is no state of an iterator.
#define CHECKPOINT LEAT_SV("leat: all chunks of the stream are whole")

struct leat_stream_writer_s {
  leat_stream_writer_context_t context;
  leat_arena_t arena;  // of |def|, and of |directory|
  leat_pb_snapshot_task_def_t def;
  leat_string_view_t directory;  // of the stream
  leat_file_system_t* fs;
  leat_thread_t thread;
  bool has_thread;
  // Of the thread alone.
  leat_stream_splits_t** splits;
  size_t split_count;
  leat_file_t* file;  // of the chunk that is being written; NULL: none
  leat_record_writer_t records;
  int64_t chunk_count;          // whole ones
  int64_t element_count;        // of the chunk that is being written
  int64_t last_count;           // of elements of the last whole chunk
  leat_mutex_t mutex;           // guards what follows
  bool is_cancelled, is_done;
  leat_status_t failure;
  leat_element_source_t* source;  // NULL: not open
};

// ---- Files --------------------------------------------------------------------------------------

static leat_status_t rename_file(const leat_stream_writer_t* w, leat_string_view_t from,
                                 leat_string_view_t to) {
  return w->fs->vtable->rename(w->fs, from.data, to.data);
}

// Where the file that is being written lies.
static leat_status_t name_writing(const leat_stream_writer_t* w, leat_arena_t* arena,
                                  leat_string_view_t* out_path) {
  return leat_arena_print(arena, out_path,
                          "%s/uncommitted_chunks/chunk_%" PRId64 "_CHUNK_SHARDS_writing",
                          w->directory.data, w->chunk_count);
}

static leat_status_t name_whole(const leat_stream_writer_t* w, int64_t chunk, int64_t count,
                                leat_arena_t* arena, leat_string_view_t* out_path) {
  return leat_arena_print(
      arena, out_path, "%s/uncommitted_chunks/chunk_%" PRId64 "_CHUNK_SHARDS_%" PRId64,
      w->directory.data, chunk, count);
}

static leat_status_t name_public(const leat_stream_writer_t* w, int64_t chunk, int64_t count,
                                 leat_arena_t* arena, leat_string_view_t* out_path) {
  return leat_arena_print(arena, out_path, "%.*s/chunks/chunk_%" PRId64 "_%" PRId64 "_%" PRId64,
                          LEAT_SV_ARG(w->def.base_path), w->def.stream_index, chunk, count);
}

// A whole chunk that has no public name yet.
typedef struct whole_chunk_s {
  struct whole_chunk_s* next;
  int64_t chunk, count;
} whole_chunk_t;

typedef struct listing_s {
  const leat_stream_writer_t* writer;
  leat_arena_t* arena;
  whole_chunk_t* chunks;
  leat_pb_string_list_t names;  // of all entries
  size_t capacity;
} listing_t;

// A leat_file_name_fn_t.
static leat_status_t add_uncommitted(void* data, const char* name) {
  static const char kShards[] = "_CHUNK_SHARDS_";
  listing_t* listing = data;
  whole_chunk_t* chunk;
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), listing->names.count + 1,
                                 &listing->names.items, &listing->capacity));
  LEAT_RETURN_IF_ERROR(leat_arena_print(listing->arena, &path, "%s/uncommitted_chunks/%s",
                                        listing->writer->directory.data, name));
  listing->names.items[listing->names.count++] = path;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(listing->arena, 1, &chunk));
  int end = 0;
  char shards[sizeof kShards] = "";
  if (sscanf(name, "chunk_%" SCNd64 "%14s%" SCNd64 "%n", &chunk->chunk, shards, &chunk->count,
             &end) != 3 ||
      name[end] || !leat_string_view_equals(LEAT_SV("_CHUNK_SHARDS_"), shards)) {
    return leat_ok_status();
  }
  chunk->next = listing->chunks;
  listing->chunks = chunk;
  return leat_ok_status();
}

static leat_status_t list_uncommitted(const leat_stream_writer_t* w, leat_arena_t* arena,
                                      listing_t* out_listing) {
  leat_string_view_t path;
  *out_listing = (listing_t){.writer = w, .arena = arena};
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(arena, &path, "%s/uncommitted_chunks", w->directory.data));
  return w->fs->vtable->list(w->fs, path.data, add_uncommitted, out_listing);
}

// ---- Elements -----------------------------------------------------------------------------------

static leat_status_t open_compressed(const leat_stream_writer_t* w, leat_file_t* file,
                                     leat_file_t** out_file) {
  leat_compression_t kind;
  const leat_string_view_t name =
      w->def.metadata ? w->def.metadata->compression : LEAT_SV("");
  if (leat_string_view_equals(name, "SNAPPY")) {
    return leat_snappy_file_create(file, leat_allocator_system(), out_file);
  }
  if (!leat_compression_from_name(name, &kind)) {
    return leat_status_join(
        leat_make_status(LEAT_INVALID_ARGUMENT,
                         "compression is '%.*s', must be SNAPPY, GZIP, ZLIB or empty",
                         LEAT_SV_ARG(name)),
        leat_file_close(file));
  }
  *out_file = file;
  if (kind == LEAT_COMPRESSION_NONE) return leat_ok_status();
  return leat_compressed_file_create(file, kind, leat_allocator_system(), out_file);
}

static leat_status_t open_chunk(leat_stream_writer_t* w) {
  leat_arena_t arena;
  leat_string_view_t path;
  leat_file_t* file = NULL;
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_status_t status = name_writing(w, &arena, &path);
  if (!status) {
    status = leat_file_open(w->fs, path.data, LEAT_FILE_WRITE, leat_allocator_system(), &file);
  }
  leat_arena_deinitialize(&arena);
  if (!status) status = open_compressed(w, file, &file);
  LEAT_RETURN_IF_ERROR(status);
  w->file = file;
  w->element_count = 0;
  leat_record_writer_initialize(w->file, &w->records);
  return leat_ok_status();
}

static leat_status_t close_file(leat_stream_writer_t* w) {
  leat_file_t* file = w->file;
  if (!file) return leat_ok_status();
  leat_record_writer_deinitialize(&w->records);
  w->file = NULL;
  return leat_file_close(file);
}

// The chunk is whole.
static leat_status_t close_chunk(leat_stream_writer_t* w) {
  leat_arena_t arena;
  leat_string_view_t from, to;
  if (!w->file) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(close_file(w));
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_status_t status = name_writing(w, &arena, &from);
  if (!status) status = name_whole(w, w->chunk_count, w->element_count, &arena, &to);
  if (!status) status = rename_file(w, from, to);
  leat_arena_deinitialize(&arena);
  LEAT_RETURN_IF_ERROR(status);
  ++w->chunk_count;
  w->last_count = w->element_count;
  return leat_ok_status();
}

static leat_status_t append_component(const leat_tensor_t* component, leat_arena_t* arena,
                                      leat_string_builder_t* out) {
  leat_pb_tensor_proto_t proto;
  leat_string_builder_t message;
  LEAT_RETURN_IF_ERROR(leat_tensor_to_content(component, arena, &proto));
  leat_string_builder_initialize(leat_allocator_system(), &message);
  leat_status_t status = leat_message_encode(&leat_pb_tensor_proto_descriptor, &proto, &message);
  if (!status) status = leat_status_clone(message.status);
  if (!status) leat_record_append(out, leat_string_builder_view(&message));
  leat_string_builder_deinitialize(&message);
  return status;
}

static leat_status_t write_element(leat_stream_writer_t* w, const leat_tensor_t* components,
                                   int count) {
  leat_arena_t arena;
  leat_string_builder_t bytes;
  if (!w->file) LEAT_RETURN_IF_ERROR(open_chunk(w));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    status = append_component(&components[i], &arena, &bytes);
  }
  if (!status) status = leat_status_clone(bytes.status);
  if (!status) {
    status = leat_record_writer_add_encoded(&w->records, leat_string_builder_view(&bytes));
  }
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  LEAT_RETURN_IF_ERROR(status);
  ++w->element_count;
  if (w->records.size < (uint64_t)w->context.chunk_bytes) return leat_ok_status();
  return close_chunk(w);
}

static leat_status_t write_elements(leat_stream_writer_t* w) {
  bool at_end = false;
  while (!at_end) {
    const leat_tensor_t* components;
    int count;
    LEAT_RETURN_IF_ERROR(leat_element_source_step(w->source, &components, &count, &at_end));
    if (at_end) break;
    leat_status_t status = write_element(w, components, count);
    leat_element_source_release(w->source);
    LEAT_RETURN_IF_ERROR(status);
  }
  return close_chunk(w);
}

// ---- The dataset --------------------------------------------------------------------------------

static void release_splits(leat_stream_writer_t* w) {
  for (size_t i = 0; i < w->split_count; ++i) leat_stream_splits_release(w->splits[i]);
  leat_allocator_free(leat_allocator_system(), w->splits);
  w->splits = NULL;
  w->split_count = 0;
}

static leat_status_t add_splits(leat_stream_writer_t* w, size_t count,
                                leat_resource_manager_t* resources) {
  char name[LEAT_SPLIT_SOURCE_NAME_BYTES];
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count, &w->splits));
  for (size_t i = 0; i < count; ++i) {
    const leat_stream_splits_options_t options = {.dispatcher = w->context.dispatcher,
                                                  .worker = w->context.address,
                                                  .def = &w->def,
                                                  .index = (int64_t)i,
                                                  .timeout_ms = w->context.dispatcher_timeout_ms};
    LEAT_RETURN_IF_ERROR(leat_stream_splits_create(&options, &w->splits[i]));
    leat_mutex_lock(&w->mutex);  // cancel closes those that there are
    w->split_count = i + 1;
    leat_mutex_unlock(&w->mutex);
    leat_split_source_print_name(i, name);
    LEAT_RETURN_IF_ERROR(leat_resource_manager_add(
        resources, LEAT_SV(""), leat_string_view_from(name),
        &leat_stream_splits_source(w->splits[i])->resource));
  }
  return leat_ok_status();
}

// Has the sources of the dataset ask for the stream's splits. |*out_resources| are what the session
// needs for that.
static leat_status_t divide(leat_stream_writer_t* w, leat_dataset_graph_t* graph,
                            leat_resource_manager_t** out_resources) {
  leat_dataset_sources_t* sources;
  leat_resource_manager_t* resources = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &sources));
  leat_status_t status =
      leat_dataset_graph_find_sources(graph, w->context.runtime->ops, true, sources);
  if (!status && sources->count != (uint64_t)w->def.num_sources) {
    status = leat_make_status(LEAT_INTERNAL,
                              "the dispatcher finds %" PRId64 " sources of splits, must find %zu "
                              "as this worker does",
                              w->def.num_sources, sources->count);
  }
  if (!status) status = leat_resource_manager_create(leat_allocator_system(), &resources);
  if (!status) status = add_splits(w, sources->count, resources);
  leat_allocator_free(leat_allocator_system(), sources);
  if (status) {
    leat_resource_manager_free(resources);
    return status;
  }
  *out_resources = resources;
  return leat_ok_status();
}

static leat_status_t open_graph(leat_stream_writer_t* w, leat_string_view_t bytes,
                                leat_element_source_t** out_source) {
  leat_dataset_graph_t graph;
  leat_resource_manager_t* resources = NULL;
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_initialize(bytes, &graph));
  leat_status_t status = leat_dataset_graph_prepare(&graph);
  if (!status) status = leat_dataset_graph_localize(&graph);
  if (!status) status = divide(w, &graph, &resources);
  if (!status) {
    status = leat_element_source_create(w->context.runtime, &graph, resources, out_source);
  }
  leat_dataset_graph_deinitialize(&graph);
  return status;
}

static leat_status_t open_source(leat_stream_writer_t* w) {
  leat_arena_t arena;
  leat_string_view_t path;
  leat_pb_dataset_def_t def;
  leat_element_source_t* source = NULL;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_arena_print(&arena, &path, "%.*s/dataset_def.proto",
                                          LEAT_SV_ARG(w->def.base_path));
  if (!status) {
    status = leat_snapshot_read_message(w->fs, path.data, false, &leat_pb_dataset_def_descriptor,
                                        &arena, &def);
  }
  if (!status) status = open_graph(w, def.graph, &source);
  leat_arena_deinitialize(&arena);
  LEAT_RETURN_IF_ERROR(status);
  leat_mutex_lock(&w->mutex);
  w->source = source;
  if (w->is_cancelled) leat_element_source_close(source);
  leat_mutex_unlock(&w->mutex);
  return leat_ok_status();
}

static void close_source(leat_stream_writer_t* w) {
  leat_mutex_lock(&w->mutex);
  for (size_t i = 0; i < w->split_count; ++i) leat_stream_splits_close(w->splits[i]);
  leat_element_source_t* source = w->source;
  w->source = NULL;
  leat_mutex_unlock(&w->mutex);
  leat_element_source_free(source);
  leat_mutex_lock(&w->mutex);
  release_splits(w);
  leat_mutex_unlock(&w->mutex);
}

// ---- The end of the stream ----------------------------------------------------------------------

// Gives whole chunks the names by which readers find them.
static leat_status_t publish(const leat_stream_writer_t* w, leat_arena_t* arena) {
  listing_t listing;
  leat_string_view_t from, to;
  leat_status_t status = list_uncommitted(w, arena, &listing);
  leat_allocator_free(leat_allocator_system(), listing.names.items);
  for (const whole_chunk_t* c = listing.chunks; c && !status; c = c->next) {
    status = name_whole(w, c->chunk, c->count, arena, &from);
    if (!status) status = name_public(w, c->chunk, c->count, arena, &to);
    if (!status) status = rename_file(w, from, to);
  }
  return status;
}

static leat_status_t write_checkpoint(const leat_stream_writer_t* w, leat_arena_t* arena) {
  leat_string_view_t path;
  // Readers of the directory know no other names in it, so that it is not written there.
  leat_string_view_t temporary;
  const leat_string_view_t text = CHECKPOINT;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(arena, &temporary, "%s/next_checkpoint", w->directory.data));
  LEAT_RETURN_IF_ERROR(leat_arena_print(
      arena, &path, "%s/checkpoints/checkpoint_%" PRId64 "_%" PRId64, w->directory.data,
      w->chunk_count, w->last_count));
  LEAT_RETURN_IF_ERROR(
      leat_file_write_atomically(w->fs, temporary.data, text.data, text.size));
  return rename_file(w, temporary, path);
}

static leat_status_t remove_checkpoint(const leat_stream_writer_t* w, leat_arena_t* arena) {
  leat_string_view_t directory, path;
  leat_snapshot_entries_t entries;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &directory, "%s/checkpoints", w->directory.data));
  LEAT_RETURN_IF_ERROR(
      leat_snapshot_list(w->fs, directory.data, "checkpoint_", 2, arena, &entries));
  for (size_t i = 0; i < entries.count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(
        arena, &path, "%s/checkpoint_%" PRId64 "_%" PRId64, directory.data,
        entries.items[i].numbers[0], entries.items[i].numbers[1]));
    LEAT_RETURN_IF_ERROR(w->fs->vtable->remove(w->fs, path.data));
  }
  return w->fs->vtable->remove(w->fs, directory.data);
}

// The stream is whole: publishes its chunks, and says so.
static leat_status_t finish(const leat_stream_writer_t* w, leat_arena_t* arena) {
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(publish(w, arena));
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%s/DONE", w->directory.data));
  LEAT_RETURN_IF_ERROR(leat_file_write_atomically(w->fs, path.data, "", 0));
  leat_status_free(remove_checkpoint(w, arena));  // nobody reads it any more
  return leat_ok_status();
}

// ---- What was there before ----------------------------------------------------------------------

// Finds the checkpoint of a writer that died while it published the chunks.
static leat_status_t find_checkpoint(const leat_stream_writer_t* w, leat_arena_t* arena,
                                     bool* out_is_whole) {
  leat_string_view_t directory, path;
  leat_snapshot_entries_t entries;
  char* bytes;
  size_t size;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &directory, "%s/checkpoints", w->directory.data));
  LEAT_RETURN_IF_ERROR(
      leat_snapshot_list(w->fs, directory.data, "checkpoint_", 2, arena, &entries));
  *out_is_whole = false;
  if (!entries.count) return leat_ok_status();
  const int64_t* numbers = entries.items[entries.count - 1].numbers;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%s/checkpoint_%" PRId64 "_%" PRId64,
                                        directory.data, numbers[0], numbers[1]));
  LEAT_RETURN_IF_ERROR(
      leat_file_read_all(w->fs, path.data, leat_allocator_system(), &bytes, &size));
  *out_is_whole = leat_string_view_equal(leat_string_view_make(bytes, size), CHECKPOINT);
  leat_allocator_free(leat_allocator_system(), bytes);
  if (*out_is_whole) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "%s holds the state of an iterator of another library, from which this "
                          "one cannot go on",
                          path.data);
}

// Removes what a writer that died has left.
static leat_status_t remove_uncommitted(const leat_stream_writer_t* w, leat_arena_t* arena) {
  listing_t listing;
  leat_status_t status = list_uncommitted(w, arena, &listing);
  for (size_t i = 0; i < listing.names.count && !status; ++i) {
    status = w->fs->vtable->remove(w->fs, listing.names.items[i].data);
  }
  leat_allocator_free(leat_allocator_system(), listing.names.items);
  return status;
}

static leat_status_t write_stream(leat_stream_writer_t* w, leat_arena_t* arena) {
  leat_string_view_t path;
  bool is_done, is_whole;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%s/DONE", w->directory.data));
  LEAT_RETURN_IF_ERROR(leat_snapshot_find(w->fs, path.data, &is_done));
  if (is_done) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%s/uncommitted_chunks", w->directory.data));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(w->fs, path.data));
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%s/checkpoints", w->directory.data));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(w->fs, path.data));
  LEAT_RETURN_IF_ERROR(find_checkpoint(w, arena, &is_whole));
  if (is_whole) return finish(w, arena);
  LEAT_RETURN_IF_ERROR(remove_uncommitted(w, arena));
  LEAT_RETURN_IF_ERROR(open_source(w));
  LEAT_RETURN_IF_ERROR(write_elements(w));
  LEAT_RETURN_IF_ERROR(write_checkpoint(w, arena));
  return finish(w, arena);
}

// ---- The thread ---------------------------------------------------------------------------------

// Leaves the reason beside the stream, for people.
static void write_error(const leat_stream_writer_t* w, leat_status_t reason,
                        leat_arena_t* arena) {
  leat_string_view_t path, text;
  leat_status_t status = leat_arena_print(arena, &path, "%s/ERROR", w->directory.data);
  if (!status) {
    status = leat_arena_print(arena, &text, "%s: %s",
                              leat_status_code_name(leat_status_code(reason)),
                              leat_status_message(reason));
  }
  if (!status) status = leat_file_write_atomically(w->fs, path.data, text.data, text.size);
  leat_status_free(status);  // the dispatcher hears of the reason in any case
}

static void run(void* data) {
  leat_stream_writer_t* w = data;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = write_stream(w, &arena);
  status = leat_status_join(status, close_file(w));
  close_source(w);
  leat_mutex_lock(&w->mutex);
  const bool is_failure = status && !w->is_cancelled;
  leat_mutex_unlock(&w->mutex);
  if (is_failure) write_error(w, status, &arena);
  leat_mutex_lock(&w->mutex);
  w->is_done = !status;
  if (is_failure) w->failure = status;
  leat_mutex_unlock(&w->mutex);
  if (!is_failure) leat_status_free(status);
  leat_arena_deinitialize(&arena);
}

static leat_status_t copy_def(leat_stream_writer_t* w, const leat_pb_snapshot_task_def_t* def) {
  leat_string_builder_t bytes;
  leat_string_view_t kept = {0};
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(&leat_pb_snapshot_task_def_descriptor, def, &bytes);
  if (!status) status = leat_status_clone(bytes.status);
  if (!status) {
    status = leat_arena_copy_string(&w->arena, leat_string_builder_view(&bytes), &kept);
  }
  leat_string_builder_deinitialize(&bytes);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_snapshot_task_def_descriptor, kept, &w->arena,
                                           NULL, &w->def));
  return leat_arena_print(&w->arena, &w->directory, "%.*s/streams/stream_%" PRId64,
                          LEAT_SV_ARG(w->def.base_path), w->def.stream_index);
}

leat_status_t leat_stream_writer_start(const leat_stream_writer_context_t* context,
                                       const leat_pb_snapshot_task_def_t* def,
                                       leat_stream_writer_t** out_writer) {
  leat_stream_writer_t* w;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &w));
  w->context = *context;
  w->fs = leat_file_system_default();
  leat_arena_initialize(leat_allocator_system(), 0, &w->arena);
  leat_mutex_initialize(&w->mutex);
  leat_status_t status = copy_def(w, def);
  if (!status) status = leat_thread_start("leat-data-snap", run, w, &w->thread);
  w->has_thread = !status;
  if (status) {
    leat_stream_writer_free(w);
    return status;
  }
  *out_writer = w;
  return leat_ok_status();
}

void leat_stream_writer_cancel(leat_stream_writer_t* w) {
  leat_mutex_lock(&w->mutex);
  w->is_cancelled = true;
  for (size_t i = 0; i < w->split_count; ++i) leat_stream_splits_close(w->splits[i]);
  if (w->source) leat_element_source_close(w->source);
  leat_mutex_unlock(&w->mutex);
}

void leat_stream_writer_free(leat_stream_writer_t* w) {
  if (!w) return;
  leat_stream_writer_cancel(w);
  if (w->has_thread) leat_thread_join(w->thread);
  leat_status_free(w->failure);
  leat_mutex_deinitialize(&w->mutex);
  leat_arena_deinitialize(&w->arena);
  leat_allocator_free(leat_allocator_system(), w);
}

bool leat_stream_writer_is_for(const leat_stream_writer_t* w,
                               const leat_pb_snapshot_task_def_t* def) {
  return w->def.stream_index == def->stream_index &&
         leat_string_view_equal(w->def.base_path, def->base_path);
}

leat_status_t leat_stream_writer_describe(leat_stream_writer_t* w, leat_arena_t* arena,
                                          leat_pb_snapshot_task_progress_t* out_progress) {
  leat_pb_snapshot_task_def_t* task;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &task));
  task->stream_index = w->def.stream_index;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, w->def.base_path, &task->base_path));
  leat_mutex_lock(&w->mutex);
  *out_progress =
      (leat_pb_snapshot_task_progress_t){.snapshot_task = task, .completed = w->is_done};
  leat_status_t failure = leat_status_clone(w->failure);
  leat_mutex_unlock(&w->mutex);
  if (!failure) return leat_ok_status();
  leat_status_t status = LEAT_NEW(arena, 1, &out_progress->status);
  if (!status) {
    out_progress->status->code = (int32_t)leat_status_code(failure);
    status = leat_arena_copy_string(arena, leat_string_view_from(leat_status_message(failure)),
                                    &out_progress->status->message);
  }
  leat_status_free(failure);
  return status;
}
