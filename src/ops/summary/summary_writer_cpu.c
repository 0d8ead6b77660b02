// CPU kernels of writers of summaries. A writer is a resource; SummaryWriter makes its handle only.
// CreateSummaryFileWriter makes the resource itself over the event writer in
// formats/record/event.h, and CreateSummaryDbWriter over a database
// (formats/database/summary_database.h). CloseSummaryWriter takes it out of its container, and the
// last kernel that still uses it closes the file.
//
// The event writer gathers events in memory. They reach the file when more than max_queue of them
// have gathered, with the first event that comes later than flush_millis after the last time, by
// FlushSummaryWriter, and when the writer ends. A database has each event at once.
//
// The kernels that describe a value as a Summary (message_cpu.h) call leat_summary_write() where
// their op has no output. The kernels here add what is encoded already.
#include "ops/summary/summary_writer_cpu.h"

#include "base/clock.h"
#include "base/log.h"
#include "formats/database/summary_database.h"
#include "formats/generated/graph.h"
#include "formats/record/event.h"
#include "formats/wire/decode.h"
#include "kernel/handle.h"
#include "ops/kernel_rows.h"
#include "ops/summary/message_cpu.h"

typedef struct writer_s {
  leat_resource_t resource;
  leat_event_writer_t* events;        // NULL: it writes into
  leat_summary_database_t* database;  // NULL: it writes |events|
  int64_t max_queue;
  int64_t flush_ns;
  leat_mutex_t mutex;  // guards the two below
  int64_t queued;      // events since the last flush
  int64_t flushed_ns;  // when that was
} writer_t;

static void writer_destroy(leat_resource_t* resource) {
  writer_t* writer = (writer_t*)resource;
  leat_status_t status = leat_event_writer_close(writer->events);
  status = leat_status_join(status, leat_summary_database_close(writer->database));
  if (status) {
    leat_log(LEAT_LOG_WARNING, "Closing a summary writer failed: %s", leat_status_message(status));
  }
  leat_status_free(status);
  leat_mutex_deinitialize(&writer->mutex);
  leat_allocator_free(leat_allocator_system(), writer);
}

static const leat_resource_kind_t kWriterKind = {.name = "SummaryWriter",
                                                 .destroy = writer_destroy};

// ---- A writer's life ----------------------------------------------------------------------------

static leat_status_t handle_create(leat_kernel_creation_t* c, void* state) {
  return leat_handle_initialize(c, &kWriterKind, true, state);
}

static void handle_destroy(void* state) { leat_handle_deinitialize(state); }

static leat_status_t summary_writer__cpu(leat_kernel_context_t* c) {
  leat_handle_set_output(c, leat_kernel_state(c));
  return leat_ok_status();
}

// Opens "<logdir>/events.out.tfevents.<seconds>.<host><suffix>", in the working directory where
// logdir is "".
static leat_status_t open_events(const leat_kernel_context_t* c, leat_event_writer_t** out_events) {
  leat_allocator_t* system = leat_allocator_system();
  leat_string_view_t folder = leat_tensor_string_at(leat_kernel_input(c, 1), 0);
  leat_string_view_t suffix = leat_tensor_string_at(leat_kernel_input(c, 4), 0);
  leat_string_builder_t prefix, ending;
  leat_string_builder_initialize(system, &prefix);
  leat_string_builder_initialize(system, &ending);
  leat_string_builder_print(&prefix, "%.*s%sevents", LEAT_SV_ARG(folder), folder.size ? "/" : "");
  leat_string_builder_print(&ending, "%.*s", LEAT_SV_ARG(suffix));
  leat_status_t status = leat_status_clone(prefix.status ? prefix.status : ending.status);
  if (!status) {
    status = leat_event_writer_create(leat_file_system_default(), prefix.data, ending.data, system,
                                      out_events);
  }
  leat_string_builder_deinitialize(&prefix);
  leat_string_builder_deinitialize(&ending);
  return status;
}

// Makes a writer that |open| lets write somewhere.
static leat_status_t make_writer(const leat_kernel_context_t* c,
                                 leat_status_t (*open)(const leat_kernel_context_t* c,
                                                       writer_t* writer),
                                 leat_resource_t** out_resource) {
  writer_t* writer;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &writer));
  leat_status_t status = open(c, writer);
  if (status) {
    leat_allocator_free(leat_allocator_system(), writer);
    return status;
  }
  writer->resource.kind = &kWriterKind;
  writer->resource.references = 1;
  leat_mutex_initialize(&writer->mutex);
  *out_resource = &writer->resource;
  return leat_ok_status();
}

static leat_status_t open_file(const leat_kernel_context_t* c, writer_t* writer) {
  writer->max_queue = *leat_tensor_data(leat_kernel_input(c, 2), const int32_t);
  writer->flush_ns = *leat_tensor_data(leat_kernel_input(c, 3), const int32_t) * INT64_C(1000000);
  writer->flushed_ns = leat_clock_now_ns();
  return open_events(c, &writer->events);
}

static leat_status_t make_file_writer(void* data, leat_resource_t** out_resource) {
  return make_writer(data, open_file, out_resource);
}

static leat_status_t open_database(const leat_kernel_context_t* c, writer_t* writer) {
  const leat_summary_run_t run = {.experiment = leat_tensor_string_at(leat_kernel_input(c, 2), 0),
                                  .run = leat_tensor_string_at(leat_kernel_input(c, 3), 0),
                                  .user = leat_tensor_string_at(leat_kernel_input(c, 4), 0)};
  return leat_summary_database_open(leat_tensor_string_at(leat_kernel_input(c, 1), 0), run,
                                    &writer->database);
}

static leat_status_t make_database_writer(void* data, leat_resource_t** out_resource) {
  return make_writer(data, open_database, out_resource);
}

// The handle in input 0, borrowed.
static leat_status_t read_handle(const leat_kernel_context_t* c,
                                 const leat_resource_handle_t** out_handle) {
  const leat_tensor_t* writer = leat_kernel_input(c, 0);
  *out_handle = writer->shape.element_count == 1
                    ? *leat_tensor_data(writer, leat_resource_handle_t*)
                    : NULL;
  if (*out_handle && leat_string_view_equals((*out_handle)->type_name, kWriterKind.name)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "writer must be the handle of a summary writer");
}

static leat_status_t create_writer(leat_kernel_context_t* c, leat_resource_make_fn_t make) {
  const leat_resource_handle_t* handle;
  leat_resource_t* writer;
  LEAT_RETURN_IF_ERROR(read_handle(c, &handle));
  LEAT_RETURN_IF_ERROR(leat_resource_manager_find_or_make(
      c->services->resources, handle->container, handle->name, &kWriterKind, make, c, &writer));
  leat_resource_release(writer);
  return leat_ok_status();
}

static leat_status_t create_file_writer__cpu(leat_kernel_context_t* c) {
  return create_writer(c, make_file_writer);
}

static leat_status_t create_database_writer__cpu(leat_kernel_context_t* c) {
  return create_writer(c, make_database_writer);
}

leat_status_t leat_summary_writer_find(const leat_kernel_context_t* c, int index,
                                       leat_resource_t** out_writer) {
  return leat_handle_find(c, index, &kWriterKind, out_writer);
}

static leat_status_t find_writer(const leat_kernel_context_t* c, writer_t** out_writer) {
  return leat_summary_writer_find(c, 0, (leat_resource_t**)out_writer);
}

leat_status_t leat_summary_writer_is_database(const leat_kernel_context_t* c, bool* out_is) {
  writer_t* writer;
  LEAT_RETURN_IF_ERROR(find_writer(c, &writer));
  *out_is = writer->database != NULL;
  leat_resource_release(&writer->resource);
  return leat_ok_status();
}

// To be called with the lock held.
static leat_status_t flush(writer_t* writer) {
  if (writer->database) return leat_ok_status();
  writer->queued = 0;
  writer->flushed_ns = leat_clock_now_ns();
  return leat_event_writer_flush(writer->events);
}

static leat_status_t flush_writer__cpu(leat_kernel_context_t* c) {
  writer_t* writer;
  LEAT_RETURN_IF_ERROR(find_writer(c, &writer));
  leat_mutex_lock(&writer->mutex);
  leat_status_t status = flush(writer);
  leat_mutex_unlock(&writer->mutex);
  leat_resource_release(&writer->resource);
  return status;
}

static leat_status_t close_writer__cpu(leat_kernel_context_t* c) {
  const leat_resource_handle_t* handle;
  LEAT_RETURN_IF_ERROR(flush_writer__cpu(c));
  LEAT_RETURN_IF_ERROR(read_handle(c, &handle));
  return leat_resource_manager_remove(c->services->resources, handle->container, handle->name,
                                      &kWriterKind);
}

// ---- Events -------------------------------------------------------------------------------------

// Flushes when that is due after an event more.
static leat_status_t count_event(writer_t* writer) {
  leat_mutex_lock(&writer->mutex);
  ++writer->queued;
  bool due = writer->queued > writer->max_queue ||
             leat_clock_now_ns() - writer->flushed_ns > writer->flush_ns;
  leat_status_t status = due ? flush(writer) : leat_ok_status();
  leat_mutex_unlock(&writer->mutex);
  return status;
}

leat_status_t leat_summary_writer_add(leat_resource_t* resource, const leat_pb_event_t* event) {
  writer_t* writer = (writer_t*)resource;
  LEAT_DCHECK(resource->kind == &kWriterKind);
  if (writer->database) {
    leat_pb_event_t stamped = *event;
    stamped.wall_time = (double)leat_clock_wall_ns() * 1e-9;
    return leat_summary_database_add(writer->database, &stamped);
  }
  LEAT_RETURN_IF_ERROR(leat_event_writer_add(writer->events, event));
  return count_event(writer);
}

leat_status_t leat_summary_write(leat_kernel_context_t* c, leat_pb_event_t event) {
  writer_t* writer;
  LEAT_RETURN_IF_ERROR(find_writer(c, &writer));
  event.step = *leat_tensor_data(leat_kernel_input(c, 1), const int64_t);
  leat_status_t status = leat_summary_writer_add(&writer->resource, &event);
  leat_resource_release(&writer->resource);
  return status;
}

// Decodes |bytes|. DATA_LOSS where they are no message of the kind called |name|.
static leat_status_t decode(const leat_kernel_context_t* c, leat_arena_t* arena,
                            const leat_message_descriptor_t* descriptor, const char* name,
                            leat_string_view_t bytes, void* out_message) {
  leat_status_t status = leat_message_decode(descriptor, bytes, arena, NULL, out_message);
  if (!status) return status;
  leat_status_free(status);
  return leat_kernel_error(c, LEAT_DATA_LOSS, "Bad %s binary proto tensor string", name);
}

static leat_status_t write_encoded_summary(leat_kernel_context_t* c, leat_arena_t* arena) {
  leat_pb_summary_t summary;
  LEAT_RETURN_IF_ERROR(decode(c, arena, &leat_pb_summary_descriptor, "tf.compat.v1.Summary",
                              leat_tensor_string_at(leat_kernel_input(c, 2), 0), &summary));
  return leat_summary_write(c, (leat_pb_event_t){.summary = &summary,
                                                 .what_case = LEAT_EVENT_SUMMARY});
}

static leat_status_t write_raw_summary__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, write_encoded_summary);
}

static leat_status_t write_encoded_graph(leat_kernel_context_t* c, leat_arena_t* arena) {
  leat_string_view_t bytes = leat_tensor_string_at(leat_kernel_input(c, 2), 0);
  leat_pb_graph_def_t graph;
  LEAT_RETURN_IF_ERROR(decode(c, arena, &leat_pb_graph_def_descriptor, "tf.GraphDef", bytes,
                              &graph));
  return leat_summary_write(c, (leat_pb_event_t){.graph_def = bytes,
                                                 .what_case = LEAT_EVENT_GRAPH_DEF});
}

static leat_status_t write_graph__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, write_encoded_graph);
}

static leat_status_t import_event(leat_kernel_context_t* c, leat_arena_t* arena) {
  leat_string_view_t bytes = leat_tensor_string_at(leat_kernel_input(c, 1), 0);
  leat_pb_event_t event;
  writer_t* writer;
  LEAT_RETURN_IF_ERROR(decode(c, arena, &leat_pb_event_descriptor, "tf.Event", bytes, &event));
  LEAT_RETURN_IF_ERROR(find_writer(c, &writer));
  leat_status_t status;
  if (writer->database) {
    status = leat_summary_database_add(writer->database, &event);
  } else {
    status = leat_event_writer_add_encoded(writer->events, bytes);
    if (!status) status = count_event(writer);
  }
  leat_resource_release(&writer->resource);
  return status;
}

static leat_status_t import_event__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, import_event);
}

#define STATELESS(op_name, function) {.op = op_name, .device_type = "CPU", .compute = function}

const leat_kernel_row_t leat_summary_writer_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SummaryWriter", NULL, leat_handle_t, handle_create, summary_writer__cpu,
                    .destroy = handle_destroy),
    STATELESS("CreateSummaryFileWriter", create_file_writer__cpu),
    STATELESS("CreateSummaryDbWriter", create_database_writer__cpu),
    STATELESS("FlushSummaryWriter", flush_writer__cpu),
    STATELESS("CloseSummaryWriter", close_writer__cpu),
    STATELESS("WriteRawProtoSummary", write_raw_summary__cpu),
    STATELESS("WriteGraphSummary", write_graph__cpu),
    STATELESS("ImportEvent", import_event__cpu),
    LEAT_KERNEL_ROWS_END,
};
