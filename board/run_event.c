// An event becomes points of series as in TensorBoard, which knows two generations of summaries. In
// the older one the field that holds a value says what it is: simple_value, histo, image, audio. In
// the newer one every value is a tensor, and the metadata of the first value of a tag names the
// plugin that owns the tag. Both become the same series here, and a series keeps the owner, the
// class and the names of its first value.
//
// A program that dies at step 120 and starts again from a checkpoint of step 100 writes steps 100
// to 120 a second time. What the first try wrote at and behind step 100 is then void. Files of
// version 2 say so themselves: the second SessionLog START of a run is a restart. In older files a
// summary with a smaller step than the one before says it for its own tags.
#include "board/run_event.h"

#include "formats/wire/utf8.h"

#define SESSION_START 1
#define DEFAULT_POINTS 10

typedef struct owner_s {
  const char* plugin;
  board_data_class_t data_class;
  uint32_t points;  // that TensorBoard keeps of a series
} owner_t;

static const owner_t kOwners[] = {
    {"scalars", BOARD_CLASS_SCALAR, 1000},
    {"histograms", BOARD_CLASS_TENSOR, 500},
    {"images", BOARD_CLASS_BLOB, 10},
    {"audio", BOARD_CLASS_BLOB, 10},
    {"text", BOARD_CLASS_TENSOR, DEFAULT_POINTS},
    {"hparams", BOARD_CLASS_TENSOR, DEFAULT_POINTS},
    {"pr_curves", BOARD_CLASS_TENSOR, 100},
    {"mesh", BOARD_CLASS_TENSOR, DEFAULT_POINTS},
    {"custom_scalars", BOARD_CLASS_TENSOR, DEFAULT_POINTS},
    {"graph_run_metadata", BOARD_CLASS_BLOB, DEFAULT_POINTS},
    {"graph_run_metadata_graph", BOARD_CLASS_BLOB, DEFAULT_POINTS},
    {"graph_keras_model", BOARD_CLASS_BLOB, DEFAULT_POINTS},
};

static const owner_t* find_owner(leat_string_view_t plugin) {
  for (size_t i = 0; i < sizeof kOwners / sizeof *kOwners; ++i) {
    if (leat_string_view_equal(plugin, leat_string_view_from(kOwners[i].plugin))) {
      return &kOwners[i];
    }
  }
  return NULL;
}

// A copy of |text| that is UTF-8: each byte that is not part of it becomes U+FFFD.
static leat_status_t copy_text(leat_string_view_t text, char** out_copy, size_t* out_size) {
  char* copy;
  if (leat_utf8_is_valid(text)) {
    if (out_size) *out_size = text.size;
    return leat_allocator_clone_string(leat_allocator_system(), text.data, text.size, out_copy);
  }
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), text.size * 3 + 1, (void**)&copy));
  size_t size = 0;
  for (size_t i = 0; i < text.size;) {
    size_t bytes = 1;
    while (bytes <= 4 && i + bytes <= text.size &&
           !leat_utf8_is_valid(leat_string_view_make(text.data + i, bytes))) {
      ++bytes;
    }
    if (bytes > 4 || i + bytes > text.size) {
      memcpy(copy + size, "\xef\xbf\xbd", 3);
      size += 3;
      ++i;
    } else {
      memcpy(copy + size, text.data + i, bytes);
      size += bytes;
      i += bytes;
    }
  }
  copy[size] = 0;
  *out_copy = copy;
  if (out_size) *out_size = size;
  return leat_ok_status();
}

static leat_status_t fill_series(leat_string_view_t tag, const board_metadata_t* metadata,
                                 board_series_t* series) {
  leat_allocator_t* allocator = leat_allocator_system();
  char* content;
  LEAT_RETURN_IF_ERROR(copy_text(tag, &series->tag, &series->tag_size));
  LEAT_RETURN_IF_ERROR(copy_text(metadata->plugin, &series->plugin, NULL));
  LEAT_RETURN_IF_ERROR(copy_text(metadata->display_name, &series->display_name, NULL));
  LEAT_RETURN_IF_ERROR(copy_text(metadata->description, &series->description, NULL));
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(allocator, metadata->content.data,
                                                   metadata->content.size, &content));
  series->content = leat_string_view_make(content, metadata->content.size);
  return leat_ok_status();
}

// Makes the series of a tag that was not seen before.
static leat_status_t add_series(board_run_t* run, leat_string_view_t tag,
                                const board_metadata_t* metadata, board_data_class_t data_class,
                                board_form_t form, board_series_t** out_series) {
  const owner_t* owner = find_owner(metadata->plugin);
  board_series_t series = {.data_class = data_class, .form = form};
  series.reservoir.size = owner ? owner->points : DEFAULT_POINTS;
  leat_status_t status = fill_series(tag, metadata, &series);
  if (!status) status = board_run_add_series(run, &series, out_series);
  board_series_deinitialize(&series);
  return status;
}

// A value of the series |index| came after one of the series |latest|.
static inline void note_order(board_run_t* run, size_t index) {
  run->series[run->latest]->follower = index;
  run->latest = index;
}

// The series of a tag, or NULL. A tag that is no UTF-8 is known by its copy.
static leat_status_t find_series(board_run_t* run, leat_string_view_t tag,
                                 board_series_t** out_series) {
  *out_series = NULL;
  uint64_t index;
  char* copy = NULL;
  if (!leat_utf8_is_valid(tag)) {
    LEAT_RETURN_IF_ERROR(copy_text(tag, &copy, &tag.size));
    tag.data = copy;
  }
  if (leat_string_map_get(&run->by_tag, tag, &index)) {
    *out_series = run->series[index];
    note_order(run, (size_t)index);
  }
  leat_allocator_free(leat_allocator_system(), copy);
  return leat_ok_status();
}

// The metadata that TensorBoard gives values of the older generation.
static void describe_older(const board_value_t* value, board_metadata_t* metadata) {
  const char* plugin = value->kind == BOARD_VALUE_SIMPLE      ? "scalars"
                       : value->kind == BOARD_VALUE_HISTOGRAM ? "histograms"
                       : value->kind == BOARD_VALUE_IMAGE     ? "images"
                                                              : "audio";
  metadata->plugin = leat_string_view_from(plugin);
  if (!metadata->display_name.size) metadata->display_name = value->tag;
  metadata->data_class = BOARD_CLASS_UNKNOWN;
  // AudioPluginData: encoding (2) is WAV (11). The other plugins' data are empty.
  metadata->content = leat_string_view_make("\x10\x0b", value->kind == BOARD_VALUE_AUDIO ? 2 : 0);
}

static leat_status_t series_of_value(board_run_t* run, const board_value_t* value,
                                     board_series_t** out_series) {
  board_metadata_t metadata;
  LEAT_RETURN_IF_ERROR(find_series(run, value->tag, out_series));
  if (*out_series) return leat_ok_status();
  if (!board_metadata_read(value->metadata, &metadata)) return leat_ok_status();
  if (value->kind != BOARD_VALUE_TENSOR && value->kind != BOARD_VALUE_NONE) {
    describe_older(value, &metadata);
  }
  const owner_t* owner = find_owner(metadata.plugin);
  board_data_class_t data_class = metadata.data_class <= BOARD_CLASS_BLOB ? metadata.data_class : 0;
  if (data_class == BOARD_CLASS_UNKNOWN && owner) data_class = owner->data_class;
  return add_series(run, value->tag, &metadata, data_class,
                    data_class == BOARD_CLASS_SCALAR ? BOARD_FORM_SCALAR : BOARD_FORM_VALUE,
                    out_series);
}

// The elements of a blob sequence.
static bool count_blobs(const board_value_t* value, const board_series_t* series,
                        uint32_t* out_length) {
  uint64_t elements, first;
  uint32_t rank;
  *out_length = value->kind == BOARD_VALUE_IMAGE ? 3 : 1;
  if (value->kind != BOARD_VALUE_TENSOR) return true;
  if (!board_shape_read(value->body, &elements, &first, &rank)) return false;
  // A sound is a row of its tensor: the sound and its label.
  if (!strcmp(series->plugin, "audio") && rank > 1) elements = first;
  *out_length = elements < INT32_MAX ? (uint32_t)elements : INT32_MAX;
  return true;
}

static leat_status_t take_value(board_run_t* run, const board_event_t* event,
                                const board_value_t* value, board_place_t place) {
  board_series_t* series;
  double number = 0;
  LEAT_RETURN_IF_ERROR(series_of_value(run, value, &series));
  if (!series) {
    ++run->skipped;
    return leat_ok_status();
  }
  // A tag that nobody owns is never shown. One without a value says only that the tag is there,
  // but a session's hyper-parameters are their metadata.
  if (series->data_class == BOARD_CLASS_UNKNOWN) return leat_ok_status();
  if (value->kind == BOARD_VALUE_NONE && strcmp(series->plugin, "hparams")) {
    return leat_ok_status();
  }
  bool understood = series->form != BOARD_FORM_BYTES;
  if (series->form == BOARD_FORM_SCALAR) {
    uint64_t elements = 1;
    uint32_t dtype = 1;  // float
    number = value->simple;
    understood = value->kind == BOARD_VALUE_SIMPLE ||
                 (value->kind == BOARD_VALUE_TENSOR &&
                  board_scalar_read(value->body, &elements, &dtype, &number) && elements == 1);
    if (understood) series->number_kind = board_number_kind(dtype);
  } else if (series->data_class == BOARD_CLASS_BLOB && understood) {
    understood = count_blobs(value, series, &place.length);
  }
  if (!understood) {
    ++run->skipped;
    return leat_ok_status();
  }
  return board_series_add(series, event->step, event->wall_time, number, place);
}

// Where |bytes|, a part of |record|, lies in the file. false where a place cannot say it.
static bool locate(uint32_t file, board_record_t record, leat_string_view_t bytes,
                   board_place_t* out_place) {
  *out_place = (board_place_t){.file = file, .size = (uint32_t)bytes.size, .length = 1};
  out_place->offset = record.offset + (uint64_t)(bytes.data - record.bytes.data);
  return bytes.size <= UINT32_MAX;
}

// Takes the next number off the front of |*rest|, if it comes in one of the usual forms of scalars
// and belongs to a series of scalars that is known. Values mostly come in the same order in every
// event, or, where each event has one, in the same order of events: hence the series is tried first
// whose value followed the last time.
static bool take_number(board_run_t* run, leat_string_view_t* rest, board_series_t** out_series,
                        float* out_number) {
  size_t index = run->series[run->latest]->follower;
  board_series_t* series = run->series[index];
  if (series->form != BOARD_FORM_SCALAR ||
      !board_scalar_next(rest, series->tag, series->tag_size, out_number)) {
    leat_string_view_t tag;
    uint64_t found;
    if (!board_usual_tag(*rest, &tag) || !leat_string_map_get(&run->by_tag, tag, &found)) {
      return false;
    }
    index = (size_t)found;
    series = run->series[index];
    if (series->form != BOARD_FORM_SCALAR ||
        !board_scalar_next(rest, series->tag, series->tag_size, out_number)) {
      return false;
    }
  }
  note_order(run, index);
  *out_series = series;
  return true;
}

static leat_status_t take_numbers(board_run_t* run, const board_event_t* event,
                                  leat_string_view_t* rest) {
  board_series_t* series;
  float number;
  while (rest->size && run->series_count && take_number(run, rest, &series, &number)) {
    series->number_kind = BOARD_NUMBER_FLOAT;
    if (board_series_add_quickly(series, event->step, event->wall_time, number)) continue;
    LEAT_RETURN_IF_ERROR(
        board_series_add(series, event->step, event->wall_time, number, (board_place_t){0}));
  }
  return leat_ok_status();
}

static leat_status_t take_summary(board_run_t* run, uint32_t file, board_record_t record,
                                  const board_event_t* event) {
  leat_string_view_t rest = event->body;
  board_value_t value;
  board_place_t place;
  while (true) {
    LEAT_RETURN_IF_ERROR(take_numbers(run, event, &rest));
    if (!rest.size || !board_value_next(&rest, &value)) break;
    if (!locate(file, record, value.bytes, &place)) {
      ++run->skipped;
    } else {
      LEAT_RETURN_IF_ERROR(take_value(run, event, &value, place));
    }
  }
  run->skipped += rest.size > 0;
  return leat_ok_status();
}

// Graphs and run metadata, which are events of their own.
static leat_status_t take_bytes(board_run_t* run, uint32_t file, board_record_t record,
                                const board_event_t* event, leat_string_view_t tag,
                                const char* plugin, leat_string_view_t bytes) {
  board_series_t* series;
  board_place_t place;
  board_metadata_t metadata = {.plugin = leat_string_view_from(plugin)};
  LEAT_RETURN_IF_ERROR(find_series(run, tag, &series));
  if (!series) {
    LEAT_RETURN_IF_ERROR(
        add_series(run, tag, &metadata, BOARD_CLASS_BLOB, BOARD_FORM_BYTES, &series));
  }
  if (series->form != BOARD_FORM_BYTES || !locate(file, record, bytes, &place)) {
    ++run->skipped;
    return leat_ok_status();
  }
  return board_series_add(series, event->step, event->wall_time, 0, place);
}

// ---- Restarts -----------------------------------------------------------------------------------
// The number behind the last "brain.Event:"; -1 where there is none.
static double parse_version(leat_string_view_t text) {
  const char* word = "brain.Event:";
  double version = -1;
  size_t size = strlen(word);
  if (text.size > size && !memcmp(text.data, word, size)) {
    text = leat_string_view_from_index(text, size);
  }
  return leat_string_view_to_double(text, &version) ? version : -1;
}

static leat_status_t purge_tags(board_run_t* run, const board_event_t* event) {
  leat_string_view_t rest = event->body;
  board_value_t value;
  board_series_t* series;
  while (board_value_next(&rest, &value)) {
    LEAT_RETURN_IF_ERROR(find_series(run, value.tag, &series));
    if (series) run->purged += board_series_purge(series, event->step);
  }
  return leat_ok_status();
}

static leat_status_t purge_orphans(board_run_t* run, const board_event_t* event) {
  bool is_summary = event->what == BOARD_EVENT_SUMMARY;
  uint32_t session = 0;
  if (run->file_version >= 2) {
    bool starts = event->what == BOARD_EVENT_SESSION_LOG &&
                  board_session_status_read(event->body, &session) && session == SESSION_START;
    for (size_t i = 0; starts && run->seen_start && i < run->series_count; ++i) {
      run->purged += board_series_purge(run->series[i], event->step);
    }
    run->seen_start |= starts;
  } else if (is_summary && event->step < run->latest_step) {
    LEAT_RETURN_IF_ERROR(purge_tags(run, event));
  }
  if (is_summary) run->latest_step = event->step;
  return leat_ok_status();
}

leat_status_t board_run_take(board_run_t* run, uint32_t file, board_record_t record) {
  board_event_t event;
  leat_string_view_t tag, bytes;
  if (!board_event_read(record.bytes, &event)) {
    ++run->skipped;
    return leat_ok_status();
  }
  if (!run->has_events) {
    run->has_events = true;
    run->first_wall_time = event.wall_time;
  }
  if (event.what == BOARD_EVENT_FILE_VERSION) run->file_version = parse_version(event.body);
  LEAT_RETURN_IF_ERROR(purge_orphans(run, &event));
  switch (event.what) {
    case BOARD_EVENT_SUMMARY:
      return take_summary(run, file, record, &event);
    case BOARD_EVENT_GRAPH_DEF:
      return take_bytes(run, file, record, &event, LEAT_SV("__run_graph__"), "graphs", event.body);
    case BOARD_EVENT_RUN_METADATA:
      if (!board_run_metadata_read(event.body, &tag, &bytes)) {
        ++run->skipped;
        return leat_ok_status();
      }
      return take_bytes(run, file, record, &event, tag, "graph_tagged_run_metadata", bytes);
    default:
      return leat_ok_status();
  }
}
