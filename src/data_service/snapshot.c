// What a snapshot knows of its streams and splits, which is in its directory as well. What is new
// is made in an order that lets a reader tell whether it is whole:
//
//   snapshot   directories, then metadata and dataset; the journal has the path behind that
//   stream     directories, then the file with its owner: without that file it is none
//   split      written beside, then renamed into the stream's directory: without a name it is none
//
// Splits have two numbers, one in their stream and source and one in the whole snapshot, and no
// number may be missing when a dispatcher reads them again: a gap would be elements that are lost,
// which is DATA_LOSS here. Since splits of a source are given out in its order, how many of a pass
// have names says where the source goes on.
#include "data_service/snapshot.h"

#include <inttypes.h>
#include <string.h>

#include "data_service/dataset_graph.h"
#include "data_service/snapshot_files.h"
#include "formats/wire/encode.h"

typedef struct stream_s {
  int64_t index;
  leat_string_view_t worker;
  bool is_done;
  int64_t* split_counts;  // [source_count]; of all passes
  int64_t* passes;        // [source_count]; how many have a directory
} stream_t;

typedef enum { ACTIVE, WINDING_DOWN, DONE, FAILED } stage_t;

struct leat_snapshot_s {
  leat_file_system_t* fs;
  leat_arena_t arena;  // of all texts, counts and metadata
  leat_string_view_t path;
  leat_pb_distributed_snapshot_metadata_t metadata;
  leat_split_providers_t* providers;  // NULL where the snapshot had ended when it was resumed
  size_t source_count;
  leat_split_position_t* positions;  // [source_count]; how far splits were given out
  stream_t* streams;                 // by their index
  size_t stream_count, stream_capacity;
  int64_t split_count;  // of all streams
  stage_t stage;
};

// ---- Life ---------------------------------------------------------------------------------------

static leat_status_t allocate_snapshot(leat_file_system_t* fs, leat_string_view_t path,
                                       leat_snapshot_t** out_snapshot) {
  leat_snapshot_t* snapshot;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &snapshot));
  snapshot->fs = fs;
  leat_arena_initialize(leat_allocator_system(), 0, &snapshot->arena);
  leat_status_t status = leat_arena_copy_string(&snapshot->arena, path, &snapshot->path);
  if (status) {
    leat_snapshot_free(snapshot);
    return status;
  }
  *out_snapshot = snapshot;
  return leat_ok_status();
}

void leat_snapshot_free(leat_snapshot_t* snapshot) {
  if (!snapshot) return;
  leat_split_providers_free(snapshot->providers);
  leat_allocator_free(leat_allocator_system(), snapshot->streams);
  leat_arena_deinitialize(&snapshot->arena);
  leat_allocator_free(leat_allocator_system(), snapshot);
}

// Takes the providers over, and puts every source at its start.
static leat_status_t set_providers(leat_snapshot_t* snapshot, leat_split_providers_t* providers) {
  snapshot->providers = providers;
  snapshot->source_count = leat_split_providers_count(providers);
  return LEAT_NEW(&snapshot->arena, snapshot->source_count, &snapshot->positions);
}

// The path of an entry of the snapshot, in |arena|.
static leat_status_t name_entry(const leat_snapshot_t* snapshot, const char* name,
                                leat_arena_t* arena, leat_string_view_t* out_path) {
  return leat_arena_print(arena, out_path, "%.*s/%s", LEAT_SV_ARG(snapshot->path), name);
}

static leat_status_t make_directory(const leat_snapshot_t* snapshot, const char* name,
                                    leat_arena_t* arena) {
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, name, arena, &path));
  return leat_file_make_directories(snapshot->fs, path.data);
}

// The directories in which splits are written before they get their names.
static leat_status_t make_temporary_directories(const leat_snapshot_t* snapshot,
                                                leat_arena_t* arena) {
  leat_string_view_t name;
  for (size_t i = 0; i < snapshot->source_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &name, "prefetched_splits/source_%zu", i));
    LEAT_RETURN_IF_ERROR(make_directory(snapshot, name.data, arena));
  }
  return leat_ok_status();
}

static leat_status_t write_files(const leat_snapshot_t* snapshot,
                                 const leat_pb_snapshot_request_t* request, leat_arena_t* arena) {
  static const leat_pb_dataset_def_t none = {0};
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(make_directory(snapshot, "chunks", arena));
  LEAT_RETURN_IF_ERROR(make_directory(snapshot, "streams", arena));
  LEAT_RETURN_IF_ERROR(make_temporary_directories(snapshot, arena));
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "snapshot.metadata", arena, &path));
  LEAT_RETURN_IF_ERROR(leat_snapshot_write_message(
      snapshot->fs, path.data, true, &leat_pb_distributed_snapshot_metadata_descriptor,
      &snapshot->metadata));
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "dataset_spec.pb", arena, &path));
  const leat_string_view_t spec = snapshot->metadata.element_spec;
  LEAT_RETURN_IF_ERROR(leat_file_write_atomically(snapshot->fs, path.data, spec.data, spec.size));
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "dataset_def.proto", arena, &path));
  return leat_snapshot_write_message(snapshot->fs, path.data, false,
                                     &leat_pb_dataset_def_descriptor,
                                     request->dataset ? request->dataset : &none);
}

static leat_status_t start(leat_snapshot_t* snapshot, const leat_pb_snapshot_request_t* request) {
  leat_arena_t* arena = &snapshot->arena;
  bool is_there;
  if (!snapshot->path.size || leat_string_view_find(snapshot->path, '\0') < snapshot->path.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Making a snapshot failed: path has %zu bytes, must have some, and "
                            "none of them 0",
                            snapshot->path.size);
  }
  LEAT_RETURN_IF_ERROR(leat_snapshot_find(snapshot->fs, snapshot->path.data, &is_there));
  if (is_there) {
    return leat_make_status(LEAT_ALREADY_EXISTS,
                            "Making a snapshot failed: path is %.*s, must not be there yet",
                            LEAT_SV_ARG(snapshot->path));
  }
  if (request->metadata) {
    leat_pb_distributed_snapshot_metadata_t* own = &snapshot->metadata;
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(arena, request->metadata->element_spec, &own->element_spec));
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(arena, request->metadata->compression, &own->compression));
  }
  return write_files(snapshot, request, arena);
}

leat_status_t leat_snapshot_start(leat_file_system_t* fs,
                                  const leat_pb_snapshot_request_t* request,
                                  leat_split_providers_t* providers,
                                  leat_snapshot_t** out_snapshot) {
  leat_snapshot_t* snapshot;
  leat_status_t status = allocate_snapshot(fs, request->path, &snapshot);
  if (status) {
    leat_split_providers_free(providers);
    return status;
  }
  status = set_providers(snapshot, providers);
  if (!status) status = start(snapshot, request);
  if (status) {
    leat_snapshot_free(snapshot);
    return status;
  }
  *out_snapshot = snapshot;
  return leat_ok_status();
}

// ---- Streams ------------------------------------------------------------------------------------

static stream_t* find_stream(const leat_snapshot_t* snapshot, leat_string_view_t worker) {
  for (size_t i = 0; i < snapshot->stream_count; ++i) {
    if (leat_string_view_equal(snapshot->streams[i].worker, worker)) return &snapshot->streams[i];
  }
  return NULL;
}

// Appends a stream; indices only grow.
static leat_status_t append_stream(leat_snapshot_t* snapshot, int64_t index,
                                   leat_string_view_t worker, stream_t** out_stream) {
  stream_t stream = {.index = index};
  leat_arena_t* arena = &snapshot->arena;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, worker, &stream.worker));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, snapshot->source_count, &stream.split_counts));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, snapshot->source_count, &stream.passes));
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), snapshot->stream_count + 1,
                                 &snapshot->streams, &snapshot->stream_capacity));
  *out_stream = &snapshot->streams[snapshot->stream_count++];
  **out_stream = stream;
  return leat_ok_status();
}

// Makes the directories of a source's passes up to |pass|.
static leat_status_t make_passes(const leat_snapshot_t* snapshot, stream_t* stream, size_t source,
                                 int64_t pass, leat_arena_t* arena) {
  leat_string_view_t name;
  for (; stream->passes[source] <= pass; ++stream->passes[source]) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(
        arena, &name, "streams/stream_%" PRId64 "/splits/source_%zu/repetition_%" PRId64,
        stream->index, source, stream->passes[source]));
    LEAT_RETURN_IF_ERROR(make_directory(snapshot, name.data, arena));
  }
  return leat_ok_status();
}

static leat_status_t write_stream(const leat_snapshot_t* snapshot, stream_t* stream,
                                  leat_arena_t* arena) {
  leat_string_view_t name, path;
  for (size_t i = 0; i < snapshot->source_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        make_passes(snapshot, stream, i, snapshot->positions[i].repetition, arena));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &name, "streams/stream_%" PRId64 "/owner_worker",
                                        stream->index));
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, name.data, arena, &path));
  return leat_file_write_atomically(snapshot->fs, path.data, stream->worker.data,
                                    stream->worker.size);
}

bool leat_snapshot_wants(const leat_snapshot_t* snapshot, leat_string_view_t worker) {
  return snapshot->stage == ACTIVE && !find_stream(snapshot, worker);
}

leat_status_t leat_snapshot_add_stream(leat_snapshot_t* snapshot, leat_string_view_t worker) {
  const size_t count = snapshot->stream_count;
  const int64_t index = count ? snapshot->streams[count - 1].index + 1 : 0;
  leat_arena_t arena;
  stream_t* stream;
  LEAT_DCHECK(leat_snapshot_wants(snapshot, worker));
  LEAT_RETURN_IF_ERROR(append_stream(snapshot, index, worker, &stream));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = write_stream(snapshot, stream, &arena);
  leat_arena_deinitialize(&arena);
  if (status) --snapshot->stream_count;  // nobody has been told of it
  return status;
}

bool leat_snapshot_find_task(const leat_snapshot_t* snapshot, leat_string_view_t worker,
                             leat_pb_snapshot_task_def_t* out_task) {
  const stream_t* stream = find_stream(snapshot, worker);
  if (!stream || stream->is_done || snapshot->stage == DONE || snapshot->stage == FAILED) {
    return false;
  }
  *out_task = (leat_pb_snapshot_task_def_t){
      .base_path = snapshot->path,
      .stream_index = stream->index,
      .num_sources = (int64_t)snapshot->source_count,
      .metadata = (leat_pb_distributed_snapshot_metadata_t*)&snapshot->metadata};
  return true;
}

size_t leat_snapshot_count_open_streams(const leat_snapshot_t* snapshot) {
  size_t count = 0;
  if (snapshot->stage == DONE || snapshot->stage == FAILED) return 0;
  for (size_t i = 0; i < snapshot->stream_count; ++i) count += !snapshot->streams[i].is_done;
  return count;
}

leat_status_t leat_snapshot_list_streams(const leat_snapshot_t* snapshot, leat_arena_t* arena,
                                         leat_pb_snapshot_stream_info_list_t* out_streams) {
  out_streams->count = snapshot->stream_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, out_streams->count, &out_streams->items));
  for (size_t i = 0; i < out_streams->count; ++i) {
    out_streams->items[i] = (leat_pb_snapshot_stream_info_t){
        .index = snapshot->streams[i].index,
        .state = snapshot->streams[i].is_done ? LEAT_PB_SNAPSHOT_STREAM_INFO_STATE_DONE
                                              : LEAT_PB_SNAPSHOT_STREAM_INFO_STATE_ASSIGNED};
  }
  return leat_ok_status();
}

// ---- Progress -----------------------------------------------------------------------------------

// Ends the snapshot where all of its streams have ended.
static leat_status_t end_if_done(leat_snapshot_t* snapshot) {
  leat_arena_t arena;
  leat_string_view_t path;
  for (size_t i = 0; i < snapshot->stream_count; ++i) {
    if (!snapshot->streams[i].is_done) return leat_ok_status();
  }
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_status_t status = name_entry(snapshot, "DONE", &arena, &path);
  if (!status) status = leat_file_write_atomically(snapshot->fs, path.data, "", 0);
  if (!status) snapshot->stage = DONE;
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t fail(leat_snapshot_t* snapshot, const leat_pb_status_proto_t* reason) {
  leat_arena_t arena;
  leat_string_view_t path;
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_status_t status = name_entry(snapshot, "ERROR", &arena, &path);
  if (!status) {
    status = leat_snapshot_write_message(snapshot->fs, path.data, true,
                                         &leat_pb_status_proto_descriptor, reason);
  }
  if (!status) snapshot->stage = FAILED;
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_snapshot_take_progress(leat_snapshot_t* snapshot, leat_string_view_t worker,
                                          const leat_pb_snapshot_task_progress_t* progress) {
  stream_t* stream = find_stream(snapshot, worker);
  const int64_t index = progress->snapshot_task ? progress->snapshot_task->stream_index : 0;
  if (snapshot->stage == DONE || snapshot->stage == FAILED) return leat_ok_status();
  if (stream && stream->index != index) {
    return leat_make_status(LEAT_INTERNAL,
                            "Taking the progress of the snapshot %.*s failed: worker %.*s tells of "
                            "stream %" PRId64 ", must tell of its own, %" PRId64,
                            LEAT_SV_ARG(snapshot->path), LEAT_SV_ARG(worker), index,
                            stream->index);
  }
  if (stream && progress->completed) {
    if (snapshot->stage == ACTIVE) snapshot->stage = WINDING_DOWN;
    stream->is_done = true;
    return end_if_done(snapshot);
  }
  if (stream && progress->status && progress->status->code != LEAT_OK) {
    return fail(snapshot, progress->status);
  }
  return leat_ok_status();
}

// ---- Splits -------------------------------------------------------------------------------------

static leat_status_t check_request(const leat_snapshot_t* snapshot,
                                   const leat_pb_get_snapshot_split_request_t* request,
                                   stream_t** out_stream) {
  *out_stream = find_stream(snapshot, request->worker_address);
  if (!*out_stream || (*out_stream)->index != request->stream_index) {
    return leat_make_status(LEAT_INTERNAL,
                            "Getting a split of the snapshot %.*s failed: stream %" PRId64
                            " is not that of worker %.*s, must be",
                            LEAT_SV_ARG(snapshot->path), request->stream_index,
                            LEAT_SV_ARG(request->worker_address));
  }
  if (request->source_index < 0 || (uint64_t)request->source_index >= snapshot->source_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Getting a split of the snapshot %.*s failed: source_index is %" PRId64
                            ", must be one of %zu sources",
                            LEAT_SV_ARG(snapshot->path), request->source_index,
                            snapshot->source_count);
  }
  return leat_ok_status();
}

static leat_status_t write_split(const leat_snapshot_t* snapshot, stream_t* stream, size_t source,
                                 int64_t pass, int64_t split) {
  leat_arena_t arena;
  leat_string_view_t temporary, path;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = make_passes(snapshot, stream, source, pass, &arena);
  if (!status) {
    status = leat_arena_print(&arena, &temporary, "%.*s/prefetched_splits/source_%zu/next",
                              LEAT_SV_ARG(snapshot->path), source);
  }
  if (!status) {
    status = leat_arena_print(&arena, &path,
                              "%.*s/streams/stream_%" PRId64 "/splits/source_%zu/repetition_%"
                              PRId64 "/split_%" PRId64 "_%" PRId64,
                              LEAT_SV_ARG(snapshot->path), stream->index, source, pass,
                              stream->split_counts[source], snapshot->split_count);
  }
  if (!status) status = leat_snapshot_write_split(snapshot->fs, temporary.data, path.data, split);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_snapshot_next_split(leat_snapshot_t* snapshot,
                                       const leat_pb_get_snapshot_split_request_t* request,
                                       int64_t* out_split, int64_t* out_local_index,
                                       bool* out_at_end) {
  const int64_t pass = request->repetition_index;
  stream_t* stream;
  LEAT_RETURN_IF_ERROR(check_request(snapshot, request, &stream));
  const size_t source = (size_t)request->source_index;
  leat_split_position_t* position = &snapshot->positions[source];
  *out_local_index = stream->split_counts[source];
  *out_at_end = true;
  if (!snapshot->providers) return leat_ok_status();  // it had ended before it was resumed
  LEAT_RETURN_IF_ERROR(leat_split_providers_next(snapshot->providers, request->source_index, pass,
                                                 out_split, out_at_end));
  if (*out_at_end) return leat_ok_status();
  leat_status_t status = write_split(snapshot, stream, source, pass, *out_split);
  if (status) {
    // Nobody gets the split now, so that it is the next one again.
    return leat_status_join(status,
                            leat_split_providers_seek(snapshot->providers, source, position));
  }
  if (pass > position->repetition) *position = (leat_split_position_t){.repetition = pass};
  ++position->count;
  ++stream->split_counts[source];
  ++snapshot->split_count;
  return leat_ok_status();
}

// ---- Resuming -----------------------------------------------------------------------------------

static leat_status_t broken(const char* what, int64_t number, const char* rule) {
  return leat_make_status(LEAT_DATA_LOSS, "%s is %" PRId64 ", must be %s", what, number, rule);
}

// Which numbers splits have in the whole snapshot.
typedef struct split_marks_s {
  int64_t* numbers;
  size_t count, capacity;
} split_marks_t;

static leat_status_t read_pass(leat_snapshot_t* snapshot, stream_t* stream, size_t source,
                               const char* directory, int64_t pass, leat_arena_t* arena,
                               split_marks_t* marks) {
  leat_string_view_t path;
  leat_snapshot_entries_t splits;
  leat_split_position_t* position = &snapshot->positions[source];
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(arena, &path, "%s/repetition_%" PRId64, directory, pass));
  LEAT_RETURN_IF_ERROR(leat_snapshot_list(snapshot->fs, path.data, "split_", 2, arena, &splits));
  if (pass > position->repetition) *position = (leat_split_position_t){.repetition = pass};
  if (pass == position->repetition) position->count += (int64_t)splits.count;
  stream->passes[source] = pass + 1;
  for (size_t i = 0; i < splits.count; ++i) {
    if (splits.items[i].numbers[0] != stream->split_counts[source]) {
      return broken("the number of a split in its stream", splits.items[i].numbers[0],
                    "the next one");
    }
    ++stream->split_counts[source];
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), marks->count + 1, &marks->numbers,
                                   &marks->capacity));
    marks->numbers[marks->count++] = splits.items[i].numbers[1];
  }
  return leat_ok_status();
}

static leat_status_t read_source(leat_snapshot_t* snapshot, stream_t* stream, size_t source,
                                 leat_arena_t* arena, split_marks_t* marks) {
  leat_string_view_t path;
  leat_snapshot_entries_t passes;
  LEAT_RETURN_IF_ERROR(leat_arena_print(
      arena, &path, "%.*s/streams/stream_%" PRId64 "/splits/source_%zu",
      LEAT_SV_ARG(snapshot->path), stream->index, source));
  LEAT_RETURN_IF_ERROR(
      leat_snapshot_list(snapshot->fs, path.data, "repetition_", 1, arena, &passes));
  for (size_t i = 0; i < passes.count; ++i) {
    LEAT_RETURN_IF_ERROR(read_pass(snapshot, stream, source, path.data,
                                   passes.items[i].numbers[0], arena, marks));
  }
  return leat_ok_status();
}

// A stream without an owner was not given to anybody when the dispatcher died.
static leat_status_t read_stream(leat_snapshot_t* snapshot, int64_t index, leat_arena_t* arena,
                                 split_marks_t* marks) {
  leat_string_view_t path;
  char* bytes;
  size_t size;
  bool has_owner;
  stream_t* stream;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path,
                                        "%.*s/streams/stream_%" PRId64 "/owner_worker",
                                        LEAT_SV_ARG(snapshot->path), index));
  LEAT_RETURN_IF_ERROR(leat_snapshot_find(snapshot->fs, path.data, &has_owner));
  if (!has_owner) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_file_read_all(snapshot->fs, path.data, leat_allocator_system(), &bytes, &size));
  const leat_string_view_t worker = leat_string_view_make(bytes, size);
  leat_status_t status =
      find_stream(snapshot, worker)
          ? leat_make_status(LEAT_DATA_LOSS, "worker %.*s has two streams, must have one",
                             LEAT_SV_ARG(worker))
          : append_stream(snapshot, index, worker, &stream);
  leat_allocator_free(leat_allocator_system(), bytes);
  LEAT_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < snapshot->source_count; ++i) {
    LEAT_RETURN_IF_ERROR(read_source(snapshot, stream, i, arena, marks));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%.*s/streams/stream_%" PRId64 "/DONE",
                                        LEAT_SV_ARG(snapshot->path), index));
  LEAT_RETURN_IF_ERROR(leat_snapshot_find(snapshot->fs, path.data, &stream->is_done));
  if (stream->is_done) snapshot->stage = WINDING_DOWN;
  return leat_ok_status();
}

// The splits of all streams must have the numbers from 0 on, each once.
static leat_status_t check_marks(leat_snapshot_t* snapshot, const split_marks_t* marks,
                                 leat_arena_t* arena) {
  bool* is_there;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, marks->count, &is_there));
  for (size_t i = 0; i < marks->count; ++i) {
    const int64_t number = marks->numbers[i];
    if (number < 0 || (uint64_t)number >= marks->count || is_there[number]) {
      return broken("the number of a split in the snapshot", number,
                    "below the number of splits, and no other one's");
    }
    is_there[number] = true;
  }
  snapshot->split_count = (int64_t)marks->count;
  return leat_ok_status();
}

static leat_status_t read_streams(leat_snapshot_t* snapshot, leat_arena_t* arena) {
  split_marks_t marks = {0};
  leat_string_view_t path;
  leat_snapshot_entries_t streams;
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "streams", arena, &path));
  LEAT_RETURN_IF_ERROR(leat_snapshot_list(snapshot->fs, path.data, "stream_", 1, arena, &streams));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < streams.count && !status; ++i) {
    status = read_stream(snapshot, streams.items[i].numbers[0], arena, &marks);
  }
  if (!status) status = check_marks(snapshot, &marks, arena);
  leat_allocator_free(leat_allocator_system(), marks.numbers);
  for (size_t i = 0; i < snapshot->source_count && !status; ++i) {
    status = leat_split_providers_seek(snapshot->providers, i, &snapshot->positions[i]);
  }
  if (status || !snapshot->stream_count) return status;
  return end_if_done(snapshot);
}

static leat_status_t resume(leat_snapshot_t* snapshot, const leat_runtime_t* runtime,
                            leat_arena_t* arena) {
  leat_string_view_t path;
  leat_pb_dataset_def_t def;
  leat_split_providers_t* providers;
  bool is_there, is_done, has_failed;
  LEAT_RETURN_IF_ERROR(leat_snapshot_find(snapshot->fs, snapshot->path.data, &is_there));
  if (!is_there) return leat_make_status(LEAT_NOT_FOUND, "it is not there");
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "DONE", arena, &path));
  LEAT_RETURN_IF_ERROR(leat_snapshot_find(snapshot->fs, path.data, &is_done));
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "ERROR", arena, &path));
  LEAT_RETURN_IF_ERROR(leat_snapshot_find(snapshot->fs, path.data, &has_failed));
  if (is_done || has_failed) {
    snapshot->stage = is_done ? DONE : FAILED;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "snapshot.metadata", arena, &path));
  LEAT_RETURN_IF_ERROR(leat_snapshot_read_message(
      snapshot->fs, path.data, true, &leat_pb_distributed_snapshot_metadata_descriptor,
      &snapshot->arena, &snapshot->metadata));
  LEAT_RETURN_IF_ERROR(name_entry(snapshot, "dataset_def.proto", arena, &path));
  LEAT_RETURN_IF_ERROR(leat_snapshot_read_message(snapshot->fs, path.data, false,
                                                  &leat_pb_dataset_def_descriptor, arena, &def));
  LEAT_RETURN_IF_ERROR(leat_split_providers_create(runtime, def.graph, &providers));
  LEAT_RETURN_IF_ERROR(set_providers(snapshot, providers));
  LEAT_RETURN_IF_ERROR(make_temporary_directories(snapshot, arena));
  return read_streams(snapshot, arena);
}

leat_status_t leat_snapshot_resume(const leat_runtime_t* runtime, leat_file_system_t* fs,
                                   leat_string_view_t path, leat_snapshot_t** out_snapshot) {
  leat_snapshot_t* snapshot;
  leat_arena_t arena;
  LEAT_RETURN_IF_ERROR(allocate_snapshot(fs, path, &snapshot));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = resume(snapshot, runtime, &arena);
  leat_arena_deinitialize(&arena);
  if (status) {
    leat_snapshot_free(snapshot);
    return leat_status_annotate(status, "Going on with the snapshot %.*s failed",
                                LEAT_SV_ARG(path));
  }
  *out_snapshot = snapshot;
  return leat_ok_status();
}
