#include "data_service/worker_streams.h"

typedef struct worker_stream_s {
  struct worker_stream_s* next;
  leat_stream_writer_t* writer;
} worker_stream_t;

void leat_worker_streams_initialize(leat_worker_streams_t* out_streams) {
  *out_streams = (leat_worker_streams_t){0};
  leat_mutex_initialize(&out_streams->mutex);
}

void leat_worker_streams_deinitialize(leat_worker_streams_t* streams) {
  LEAT_DCHECK(!streams->streams);
  leat_mutex_deinitialize(&streams->mutex);
}

void leat_worker_streams_cancel(leat_worker_streams_t* streams) {
  leat_mutex_lock(&streams->mutex);
  streams->is_stopped = true;
  for (worker_stream_t* s = streams->streams; s; s = s->next) leat_stream_writer_cancel(s->writer);
  leat_mutex_unlock(&streams->mutex);
}

// Waits for the threads of streams that are in no list any more.
static void free_all(worker_stream_t* first) {
  for (worker_stream_t* s; (s = first);) {
    first = s->next;
    leat_stream_writer_free(s->writer);
    leat_allocator_free(leat_allocator_system(), s);
  }
}

void leat_worker_streams_stop(leat_worker_streams_t* streams) {
  leat_worker_streams_cancel(streams);
  leat_mutex_lock(&streams->mutex);
  worker_stream_t* first = streams->streams;
  streams->streams = NULL;
  leat_mutex_unlock(&streams->mutex);
  free_all(first);
}

leat_status_t leat_worker_streams_list(leat_worker_streams_t* streams, leat_arena_t* arena,
                                       leat_pb_snapshot_task_progress_list_t* out_progresses) {
  size_t count = 0;
  leat_mutex_lock(&streams->mutex);
  for (const worker_stream_t* s = streams->streams; s; s = s->next) ++count;
  leat_status_t status = LEAT_NEW(arena, count, &out_progresses->items);
  out_progresses->count = 0;
  for (const worker_stream_t* s = streams->streams; s && !status; s = s->next) {
    status = leat_stream_writer_describe(s->writer, arena,
                                         &out_progresses->items[out_progresses->count++]);
  }
  leat_mutex_unlock(&streams->mutex);
  return status;
}

static bool lists(const leat_pb_snapshot_task_def_list_t* defs,
                  const leat_stream_writer_t* writer) {
  for (size_t i = 0; i < defs->count; ++i) {
    if (leat_stream_writer_is_for(writer, &defs->items[i])) return true;
  }
  return false;
}

static leat_status_t begin(leat_worker_streams_t* streams,
                           const leat_stream_writer_context_t* context,
                           const leat_pb_snapshot_task_def_t* def) {
  worker_stream_t* stream = streams->streams;
  while (stream && !leat_stream_writer_is_for(stream->writer, def)) stream = stream->next;
  if (stream || streams->is_stopped) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &stream));
  leat_status_t status = leat_stream_writer_start(context, def, &stream->writer);
  if (status) {
    leat_allocator_free(leat_allocator_system(), stream);
    return status;
  }
  stream->next = streams->streams;
  streams->streams = stream;
  return leat_ok_status();
}

leat_status_t leat_worker_streams_take(leat_worker_streams_t* streams,
                                       const leat_stream_writer_context_t* context,
                                       const leat_pb_snapshot_task_def_list_t* defs) {
  worker_stream_t* gone = NULL;
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&streams->mutex);
  for (worker_stream_t** place = &streams->streams; *place;) {
    worker_stream_t* stream = *place;
    if (lists(defs, stream->writer)) {
      place = &stream->next;
      continue;
    }
    *place = stream->next;
    stream->next = gone;
    gone = stream;
  }
  for (size_t i = 0; i < defs->count && !status; ++i) {
    status = begin(streams, context, &defs->items[i]);
  }
  leat_mutex_unlock(&streams->mutex);
  free_all(gone);
  return status;
}
