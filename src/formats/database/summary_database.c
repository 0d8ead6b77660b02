// The events of a run as rows of a database of summaries (formats/database/summary_store.h). The
// rows of the user, the experiment and the run are found or made with the first event, and that of
// a tag with its first value:
//
//   event ──▶ run ──▶ tag ──▶ tensor ──▶ a row that was reserved for the tag's series
//
// The tensors of a series are read together, but those of many tags are written in turn. So that
// they lie together, the first one of a series reserves the places of up to a thousand, each with
// room for half as many bytes again, and the next ones take them; what is left is given back when
// the run ends. A place has no step and no type, and readers pass over it: a program that is killed
// leaves nothing that is wrong. The places of a series take about a megabyte at most, whatever its
// tensors are.
//
// A writer makes a run of its own. One that takes up the name of an earlier run puts that one's row
// out of the table; an experiment and a user of the same name are the same. All of this is what
// TensorFlow does, but that it leaves half of the places behind, and reserves a thousand of any
// size.
//
// The lock is held while a row is written, and so while SQLite waits for the disk.
#include "formats/database/summary_database.h"

#include <float.h>
#include <stdio.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/string_builder.h"
#include "base/sync.h"
#include "formats/database/summary_store.h"
#include "formats/wire/decode.h"
#include "formats/wire/tensor_proto.h"

// How many places a series reserves, for how many bytes at least each, and for how many in all.
enum { MOST_PLACES = 1000, LEAST_BYTES = 32, RESERVED_BYTES = 1 << 20 };

// The cases of the messages' oneofs.
enum { EVENT_GRAPH_DEF = 4, EVENT_SUMMARY = 5 };
enum { VALUE_NUMBER = 2, VALUE_IMAGE = 4, VALUE_HISTOGRAM = 5, VALUE_AUDIO = 6, VALUE_TENSOR = 8 };

// A tag of the run, and the places that are reserved for it: rows [next, end).
typedef struct series_s {
  int64_t id;
  int64_t next, end;
} series_t;

struct leat_summary_database_s {
  leat_summary_store_t store;
  leat_mutex_t mutex;  // guards all of this
  leat_arena_t arena;  // names and tags
  leat_summary_run_t names;
  int64_t user_id, experiment_id, run_id;  // 0: not made yet
  double experiment_time, run_time;        // of their first events
  leat_string_map_t tags;                  // the index of each one's series
  series_t* series;
  size_t series_capacity;
};

#define INTEGER(value) LEAT_SQLITE_OF_INTEGER(value)
#define REAL(value) LEAT_SQLITE_OF_REAL(value)
#define TEXT(value) LEAT_SQLITE_OF_TEXT(value)
#define BLOB(value) LEAT_SQLITE_OF_BLOB(value)
#define RUN(database, statement, ...)                                   \
  leat_summary_store_run(&(database)->store, LEAT_SUMMARY_##statement, \
                         LEAT_SUMMARY_VALUES(__VA_ARGS__))

// Seconds since 1970, of microseconds, as all times of the database are.
static double now(void) { return (double)(leat_clock_wall_ns() / 1000) / 1e6; }

// ---- The run ------------------------------------------------------------------------------------

static leat_status_t find_user(leat_summary_database_t* d) {
  bool is_row;
  double unused;
  if (d->user_id || !d->names.user.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_summary_store_find(&d->store, LEAT_SUMMARY_FIND_USER,
                                               LEAT_SUMMARY_VALUES(TEXT(d->names.user)), &is_row,
                                               &d->user_id, &unused));
  if (is_row) return leat_ok_status();
  int64_t id;
  LEAT_RETURN_IF_ERROR(leat_summary_store_new_id(&d->store, &id));
  LEAT_RETURN_IF_ERROR(RUN(d, ADD_USER, INTEGER(id), TEXT(d->names.user), REAL(now())));
  d->user_id = id;
  return leat_ok_status();
}

static leat_status_t find_experiment(leat_summary_database_t* d, double time) {
  bool is_row;
  if (d->experiment_id || !d->names.experiment.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_user(d));
  const leat_sqlite_value_t user = leat_summary_store_id(d->user_id);
  LEAT_RETURN_IF_ERROR(leat_summary_store_find(
      &d->store, LEAT_SUMMARY_FIND_EXPERIMENT, LEAT_SUMMARY_VALUES(user, TEXT(d->names.experiment)),
      &is_row, &d->experiment_id, &d->experiment_time));
  if (is_row) return leat_ok_status();
  int64_t id;
  LEAT_RETURN_IF_ERROR(leat_summary_store_new_id(&d->store, &id));
  LEAT_RETURN_IF_ERROR(RUN(d, ADD_EXPERIMENT, user, INTEGER(id), TEXT(d->names.experiment),
                           REAL(now()), REAL(time)));
  d->experiment_id = id;
  d->experiment_time = time;
  return leat_ok_status();
}

static leat_status_t make_run(leat_summary_database_t* d, double time) {
  int64_t id;
  LEAT_RETURN_IF_ERROR(leat_summary_store_new_id(&d->store, &id));
  LEAT_RETURN_IF_ERROR(RUN(d, ADD_RUN, leat_summary_store_id(d->experiment_id), INTEGER(id),
                           TEXT(d->names.run), REAL(now()), REAL(time)));
  d->run_id = id;
  d->run_time = time;
  return leat_ok_status();
}

// Makes sure that there is a run, and that it and its experiment began no later than |time|, which
// is that of an event.
static leat_status_t find_run(leat_summary_database_t* d, double time) {
  if (!d->names.run.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_experiment(d, time));
  if (d->experiment_id && time < d->experiment_time) {
    LEAT_RETURN_IF_ERROR(RUN(d, START_EXPERIMENT, REAL(time), INTEGER(d->experiment_id)));
    d->experiment_time = time;
  }
  if (!d->run_id) return make_run(d, time);
  if (time < d->run_time) {
    LEAT_RETURN_IF_ERROR(RUN(d, START_RUN, REAL(time), INTEGER(d->run_id)));
    d->run_time = time;
  }
  return leat_ok_status();
}

// ---- Tags ---------------------------------------------------------------------------------------

// A tag that is made: what its rows say.
typedef struct tag_s {
  int64_t run_id, id;
  leat_string_view_t name, plugin;
  const leat_pb_summary_metadata_t* metadata;
} tag_t;

static leat_status_t add_tag(leat_summary_store_t* store, void* data) {
  tag_t* tag = data;
  const leat_pb_summary_metadata_t* metadata = tag->metadata;
  LEAT_RETURN_IF_ERROR(leat_summary_store_new_id(store, &tag->id));
  LEAT_RETURN_IF_ERROR(leat_summary_store_run(
      store, LEAT_SUMMARY_ADD_DESCRIPTION,
      LEAT_SUMMARY_VALUES(INTEGER(tag->id), TEXT(metadata->summary_description))));
  return leat_summary_store_run(
      store, LEAT_SUMMARY_ADD_TAG,
      LEAT_SUMMARY_VALUES(
          leat_summary_store_id(tag->run_id), INTEGER(tag->id), TEXT(tag->name), REAL(now()),
          TEXT(metadata->display_name), TEXT(tag->plugin),
          BLOB(metadata->plugin_data ? metadata->plugin_data->content : (leat_string_view_t){0})));
}

static leat_status_t make_series(leat_summary_database_t* d, tag_t* tag, series_t** out_series) {
  const size_t index = d->tags.count;
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&d->arena, tag->name, &name));
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), index + 1, &d->series, &d->series_capacity));
  LEAT_RETURN_IF_ERROR(leat_string_map_reserve(&d->tags, index + 1));
  LEAT_RETURN_IF_ERROR(leat_summary_store_transact(&d->store, add_tag, tag));
  LEAT_RETURN_IF_ERROR(leat_string_map_set(&d->tags, name, index));
  d->series[index] = (series_t){.id = tag->id};
  *out_series = &d->series[index];
  return leat_ok_status();
}

// Finds the series of |value|'s tag, or makes it with the value's metadata, where |plugin| stands
// for a plugin that they do not name.
static leat_status_t find_series(leat_summary_database_t* d, const leat_pb_summary_value_t* value,
                                 const char* plugin, series_t** out_series) {
  static const leat_pb_summary_metadata_t kNothing;
  uint64_t index;
  if (leat_string_map_get(&d->tags, value->tag, &index)) {
    *out_series = &d->series[index];
    return leat_ok_status();
  }
  tag_t tag = {.run_id = d->run_id,
               .name = value->tag,
               .plugin = leat_string_view_from(plugin),
               .metadata = value->metadata ? value->metadata : &kNothing};
  const leat_pb_summary_metadata_plugin_data_t* named = tag.metadata->plugin_data;
  if (named && named->plugin_name.size) tag.plugin = named->plugin_name;
  return make_series(d, &tag, out_series);
}

// ---- Tensors ------------------------------------------------------------------------------------

// A tensor of a series, and the row that it is written to.
typedef struct cell_s {
  int64_t series, row, step;
  double time;
  const leat_tensor_t* tensor;
} cell_t;

static bool has_strings_of_its_own(const leat_tensor_t* tensor) {
  return tensor->dtype == LEAT_DTYPE_STRING && tensor->shape.rank > 0;
}

// The bytes that stand in the row itself: those of numbers, or of one string.
static leat_string_view_t bytes_of(const leat_tensor_t* tensor) {
  if (has_strings_of_its_own(tensor)) return (leat_string_view_t){0};
  if (tensor->dtype == LEAT_DTYPE_STRING) return leat_tensor_string_at(tensor, 0);
  return leat_string_view_make(tensor->data, leat_tensor_size_bytes(tensor));
}

static leat_status_t reserve(leat_summary_database_t* d, series_t* series,
                             const leat_tensor_t* tensor) {
  const size_t size = bytes_of(tensor).size;
  const size_t room = LEAT_MAX(size + size / 2, LEAST_BYTES);
  const int64_t count = LEAT_MAX(LEAT_MIN(RESERVED_BYTES / (int64_t)room, MOST_PLACES), 1);
  int64_t last;
  double unused;
  bool is_row;
  LEAT_RETURN_IF_ERROR(
      RUN(d, RESERVE, INTEGER(series->id), INTEGER(count), INTEGER((int64_t)room)));
  LEAT_RETURN_IF_ERROR(leat_summary_store_find(&d->store, LEAT_SUMMARY_FIND_RESERVED, NULL, 0,
                                               &is_row, &last, &unused));
  series->end = last + 1;
  series->next = series->end - count;
  return leat_ok_status();
}

static leat_status_t write_row(leat_summary_store_t* store, const cell_t* cell) {
  const leat_tensor_t* tensor = cell->tensor;
  const leat_string_view_t bytes = bytes_of(tensor);
  const bool is_null = tensor->shape.element_count == 0 || has_strings_of_its_own(tensor);
  leat_string_builder_t shape;
  leat_string_builder_initialize(leat_allocator_system(), &shape);
  for (int i = 0; i < tensor->shape.rank; ++i) {
    leat_string_builder_print(&shape, "%s%lld", i ? "," : "",
                              (long long)leat_shape_dim(&tensor->shape, i));
  }
  leat_status_t status = leat_status_clone(shape.status);
  if (!status) {
    status = leat_summary_store_run(
        store, LEAT_SUMMARY_SET_TENSOR,
        LEAT_SUMMARY_VALUES(INTEGER(cell->step), REAL(cell->time), INTEGER(tensor->dtype),
                            TEXT(leat_string_builder_view(&shape)),
                            is_null ? (leat_sqlite_value_t){0} : (leat_sqlite_value_t)BLOB(bytes),
                            INTEGER(cell->row), INTEGER(cell->series)));
  }
  leat_string_builder_deinitialize(&shape);
  return status;
}

static leat_status_t write_strings(leat_summary_store_t* store, void* data) {
  const cell_t* cell = data;
  LEAT_RETURN_IF_ERROR(write_row(store, cell));
  LEAT_RETURN_IF_ERROR(leat_summary_store_run(store, LEAT_SUMMARY_DROP_STRINGS,
                                              LEAT_SUMMARY_VALUES(INTEGER(cell->row))));
  for (int64_t i = 0; i < cell->tensor->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_summary_store_run(
        store, LEAT_SUMMARY_ADD_STRING,
        LEAT_SUMMARY_VALUES(INTEGER(cell->row), INTEGER(i),
                            BLOB(leat_tensor_string_at(cell->tensor, i)))));
  }
  return leat_ok_status();
}

#define KEPT_TYPES                                                                              \
  (LEAT_DTYPES_INTEGER | LEAT_DTYPES_COMPLEX | LEAT_DTYPE_BIT(STRING) | LEAT_DTYPE_BIT(HALF) | \
   LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE))

static leat_status_t write_tensor(leat_summary_database_t* d, const leat_pb_event_t* event,
                                  const leat_pb_summary_value_t* value, const char* plugin,
                                  const leat_tensor_t* tensor) {
  series_t* series;
  if (!leat_dtype_in(tensor->dtype, KEPT_TYPES)) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "%s tensors unsupported on platform",
                            leat_dtype_name(tensor->dtype));
  }
  LEAT_RETURN_IF_ERROR(find_run(d, event->wall_time));
  LEAT_RETURN_IF_ERROR(find_series(d, value, plugin, &series));
  if (series->next == series->end) LEAT_RETURN_IF_ERROR(reserve(d, series, tensor));
  cell_t cell = {.series = series->id,
                 .row = series->next++,
                 .step = event->step,
                 .time = event->wall_time,
                 .tensor = tensor};
  if (!has_strings_of_its_own(tensor)) return write_row(&d->store, &cell);
  return leat_summary_store_transact(&d->store, write_strings, &cell);
}

// ---- Values as tensors --------------------------------------------------------------------------

static leat_status_t tensor_of_histogram(const leat_pb_histogram_proto_t* histogram,
                                         leat_tensor_t* out_tensor) {
  const size_t count = histogram->bucket.count;
  const int64_t dims[] = {(int64_t)count, 3};
  const double* limits = histogram->bucket_limit.items;
  leat_shape_t shape;
  if (count != histogram->bucket_limit.count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "size mismatch: the histogram has %zu buckets and %zu limits", count,
                            histogram->bucket_limit.count);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_DOUBLE, &shape, out_tensor));
  double* row = leat_tensor_data(out_tensor, double);
  for (size_t i = 0; i < count; ++i, row += 3) {
    row[0] = i ? limits[i - 1] : DBL_MIN;  // TensorFlow's left end of the first bucket
    row[1] = limits[i];
    row[2] = histogram->bucket.items[i];
  }
  return leat_ok_status();
}

// Makes a tensor of |rank| dimensions of |count| strings, of which the last dimension has all.
static leat_status_t tensor_of_strings(int rank, const leat_string_view_t* strings, int64_t count,
                                       leat_tensor_t* out_tensor) {
  const int64_t dims[] = {1, count};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims + 2 - rank, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, out_tensor));
  for (int64_t i = 0; i < count; ++i) {
    leat_status_t status = leat_tensor_set_string(out_tensor, i, strings[i]);
    if (status) {
      leat_tensor_release(out_tensor);
      return status;
    }
  }
  return leat_ok_status();
}

static leat_status_t tensor_of_image(const leat_pb_summary_image_t* image,
                                     leat_tensor_t* out_tensor) {
  char width[16], height[16];
  snprintf(width, sizeof width, "%d", image->width);
  snprintf(height, sizeof height, "%d", image->height);
  const leat_string_view_t strings[] = {leat_string_view_from(width),
                                        leat_string_view_from(height),
                                        image->encoded_image_string};
  return tensor_of_strings(1, strings, 3, out_tensor);
}

static leat_status_t tensor_of_sound(const leat_pb_summary_audio_t* sound,
                                     leat_tensor_t* out_tensor) {
  const leat_string_view_t strings[] = {sound->encoded_audio_string, {0}};
  return tensor_of_strings(2, strings, 2, out_tensor);
}

// Makes the tensor of |value| and says which plugin shows it; no tensor where it holds nothing.
static leat_status_t tensor_of_value(const leat_pb_summary_value_t* value, const char** out_plugin,
                                     leat_tensor_t* out_tensor) {
  *out_tensor = (leat_tensor_t){0};
  switch (value->value_case) {
    case VALUE_NUMBER:
      *out_plugin = "scalars";
      return leat_tensor_scalar(LEAT_DTYPE_FLOAT, &value->simple_value, out_tensor);
    case VALUE_HISTOGRAM:
      *out_plugin = "histograms";
      return tensor_of_histogram(value->histo, out_tensor);
    case VALUE_IMAGE:
      *out_plugin = "images";
      return tensor_of_image(value->image, out_tensor);
    case VALUE_AUDIO:
      *out_plugin = "audio";
      return tensor_of_sound(value->audio, out_tensor);
    case VALUE_TENSOR:
      *out_plugin = "";
      return leat_tensor_from_proto(value->tensor, leat_buffer_source_host(), out_tensor);
    default: *out_plugin = NULL; return leat_ok_status();
  }
}

static leat_status_t add_value(leat_summary_database_t* d, const leat_pb_event_t* event,
                               const leat_pb_summary_value_t* value) {
  const char* plugin;
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(tensor_of_value(value, &plugin, &tensor));
  if (!plugin) return leat_ok_status();
  leat_status_t status = write_tensor(d, event, value, plugin, &tensor);
  leat_tensor_release(&tensor);
  return status;
}

// ---- Events -------------------------------------------------------------------------------------

static leat_status_t add_summary(leat_summary_database_t* d, const leat_pb_event_t* event) {
  for (size_t i = 0; i < event->summary->value.count; ++i) {
    const leat_pb_summary_value_t* value = &event->summary->value.items[i];
    leat_status_t status = add_value(d, event, value);
    if (status) {
      return leat_status_annotate(status, "Adding the summary '%.*s' of step %lld failed",
                                  LEAT_SV_ARG(value->tag), (long long)event->step);
    }
  }
  return leat_ok_status();
}

static leat_status_t add_graph(leat_summary_database_t* d, const leat_pb_event_t* event) {
  leat_arena_t arena;
  leat_pb_graph_def_t graph;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_graph_def_descriptor, event->graph_def, &arena, NULL, &graph);
  if (!status) status = find_run(d, event->wall_time);
  if (!status) status = leat_summary_store_add_graph(&d->store, d->run_id, now(), &graph);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_summary_database_add(leat_summary_database_t* database,
                                        const leat_pb_event_t* event) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&database->mutex);
  if (event->what_case == EVENT_SUMMARY) status = add_summary(database, event);
  if (event->what_case == EVENT_GRAPH_DEF) status = add_graph(database, event);
  leat_mutex_unlock(&database->mutex);
  return status;
}

// ---- Opening and closing ------------------------------------------------------------------------

static leat_status_t open(leat_summary_database_t* d, leat_string_view_t path,
                          const leat_summary_run_t* names) {
  LEAT_RETURN_IF_ERROR(
      leat_arena_copy_string(&d->arena, names->experiment, &d->names.experiment));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&d->arena, names->run, &d->names.run));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&d->arena, names->user, &d->names.user));
  return leat_summary_store_open(path, &d->store);
}

static void free_database(leat_summary_database_t* d) {
  leat_summary_store_close(&d->store);
  leat_string_map_deinitialize(&d->tags);
  leat_allocator_free(leat_allocator_system(), d->series);
  leat_arena_deinitialize(&d->arena);
  leat_mutex_deinitialize(&d->mutex);
  leat_allocator_free(leat_allocator_system(), d);
}

leat_status_t leat_summary_database_open(leat_string_view_t path, leat_summary_run_t run,
                                         leat_summary_database_t** out_database) {
  leat_summary_database_t* d;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &d));
  leat_mutex_initialize(&d->mutex);
  leat_arena_initialize(leat_allocator_system(), 0, &d->arena);
  leat_string_map_initialize(leat_allocator_system(), &d->tags);
  leat_status_t status = open(d, path, &run);
  if (status) {
    free_database(d);
    return status;
  }
  *out_database = d;
  return leat_ok_status();
}

static leat_status_t give_places_back(leat_summary_store_t* store, void* data) {
  const leat_summary_database_t* d = data;
  for (size_t i = 0; i < d->tags.count; ++i) {
    const series_t* series = &d->series[i];
    if (series->next == series->end) continue;
    LEAT_RETURN_IF_ERROR(leat_summary_store_run(
        store, LEAT_SUMMARY_GIVE_BACK,
        LEAT_SUMMARY_VALUES(INTEGER(series->next), INTEGER(series->end - 1),
                            INTEGER(series->id))));
  }
  if (!d->run_id) return leat_ok_status();
  return leat_summary_store_run(store, LEAT_SUMMARY_FINISH_RUN,
                                LEAT_SUMMARY_VALUES(REAL(now()), INTEGER(d->run_id)));
}

leat_status_t leat_summary_database_close(leat_summary_database_t* database) {
  if (!database) return leat_ok_status();
  leat_status_t status = leat_summary_store_transact(&database->store, give_places_back, database);
  free_database(database);
  return status;
}
