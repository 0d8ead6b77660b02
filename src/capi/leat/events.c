// The event writer of leat/files.h, which writes the files that TensorBoard reads
// (formats/record/event.h). A handle is the writer itself. Writing to a handle that is NULL,
// because opening the file failed, is an error and not a crash, so that a program may go on without
// its log. Histograms are made of the values here; summaries that a graph computed are passed on as
// they are.
#include <math.h>

#include "capi/handles.h"
#include "capi/leat/summary.h"
#include "formats/record/event.h"
#include "formats/record/histogram.h"
#include "formats/wire/decode.h"
#include "graph/import/export.h"
#include "leat/files.h"

// The writer, under the name that leat/files.h gives it.
struct leat_events_t;

static leat_event_writer_t* writer_of(leat_events_t* events) {
  return (leat_event_writer_t*)events;
}

bool leat_events_check_open(const leat_events_t* events, TF_Status* status) {
  if (events) return true;
  leat_capi_status_set(status, leat_make_status(LEAT_FAILED_PRECONDITION,
                                                "Adding an event failed: the file is not open"));
  return false;
}

leat_events_t* leat_events_open(const char* directory, TF_Status* status) {
  leat_event_writer_t* writer = NULL;
  leat_string_builder_t prefix;
  leat_string_builder_initialize(leat_allocator_system(), &prefix);
  leat_string_builder_print(&prefix, "%s/events", directory);
  leat_status_t result = prefix.status;
  if (!result) {
    result = leat_event_writer_create(leat_file_system_default(), prefix.data, "",
                                      leat_allocator_system(), &writer);
    leat_string_builder_deinitialize(&prefix);
  }
  leat_capi_status_set(status, result);
  return (leat_events_t*)writer;
}

void leat_events_add_scalar(leat_events_t* events, int64_t step, const char* tag, double value,
                            TF_Status* status) {
  if (!leat_events_check_open(events, status)) return;
  leat_capi_status_set(status,
                       leat_event_writer_add_scalar(writer_of(events), step,
                                                    leat_string_view_from(tag), (float)value));
}

static leat_status_t add_histogram(leat_events_t* events, int64_t step, const char* tag,
                                   const double* values, size_t count, leat_arena_t* arena) {
  leat_histogram_t histogram;
  LEAT_RETURN_IF_ERROR(leat_histogram_create(arena, &histogram));
  for (size_t i = 0; i < count; ++i) {
    if (!isfinite(values[i])) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "AddHistogram failed for tag '%s': value %zu is %g, must be finite",
                              tag, i, values[i]);
    }
    leat_histogram_add(&histogram, values[i]);
  }
  leat_pb_histogram_proto_t proto;
  LEAT_RETURN_IF_ERROR(leat_histogram_to_proto(&histogram, arena, &proto));
  return leat_event_writer_add_histogram(writer_of(events), step, leat_string_view_from(tag),
                                         &proto);
}

void leat_events_add_histogram(leat_events_t* events, int64_t step, const char* tag,
                               const double* values, size_t count, TF_Status* status) {
  if (!leat_events_check_open(events, status)) return;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_capi_status_set(status, add_histogram(events, step, tag, values, count, &arena));
  leat_arena_deinitialize(&arena);
}

void leat_events_add_graph(leat_events_t* events, TF_Graph* graph, TF_Status* status) {
  if (!leat_events_check_open(events, status)) return;
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t result = leat_graph_export(leat_capi_lock(graph), &bytes);
  leat_capi_unlock(graph);
  if (!result) result = leat_status_clone(bytes.status);
  if (!result) {
    result = leat_event_writer_add_graph(writer_of(events), 0, leat_string_builder_view(&bytes));
  }
  leat_string_builder_deinitialize(&bytes);
  leat_capi_status_set(status, result);
}

static leat_status_t add_summary(leat_events_t* events, int64_t step, const void* summary,
                                 size_t size, leat_arena_t* arena) {
  // the field summary of the Event's oneof is 5
  leat_pb_event_t event = {.step = step, .what_case = 5};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &event.summary));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_summary_descriptor,
                                           leat_string_view_make(summary, size), arena, NULL,
                                           event.summary));
  return leat_event_writer_add(writer_of(events), &event);
}

void leat_events_add_summary(leat_events_t* events, int64_t step, const void* summary, size_t size,
                             TF_Status* status) {
  if (!leat_events_check_open(events, status)) return;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_capi_status_set(status, add_summary(events, step, summary, size, &arena));
  leat_arena_deinitialize(&arena);
}

void leat_events_flush(leat_events_t* events, TF_Status* status) {
  if (!leat_events_check_open(events, status)) return;
  leat_capi_status_set(status, leat_event_writer_flush(writer_of(events)));
}

void leat_events_close(leat_events_t* events, TF_Status* status) {
  leat_capi_status_set(status, leat_event_writer_close(writer_of(events)));
}
