// What TensorBoard's API lacks, for the board's own pages: scalars of many runs and tags at once,
// in columns that a page reads without parsing; a stream that says when something is new; what was
// wrong with the files; and the end of a run. TensorBoard's own addresses are answered in the files
// beside this one.
//
// The columns (/data/leat/columns?run=...&tag=..., each any number of times, none meaning all; as a
// POST too) are one block of little-endian numbers. pattern=... asks for the tags that a regular
// expression matches from their beginning, besides those that are named:
//
//   u32 magic "LBC1" | u32 runs | u32 tags | u32 series | u64 version | texts | series ...
//   texts:  for each run, then each tag: u32 bytes, the bytes (UTF-8), zeros up to a multiple of 4;
//           at the end zeros up to a multiple of 8 from the beginning
//   series: u32 run | u32 tag | u32 points | u32 0 | f64 steps | f64 wall times | f64 values
//
// Steps are doubles because that is what a page computes with; up to 2^53 they are exact.
#include "board/api.h"
#include "board/json_writer.h"
#include "board/text_pattern.h"
#include "formats/wire/wire.h"

#define ANSWER_BYTES ((size_t)256 << 20)
#define PATTERN_LIMIT 100
#define SERIES_BYTES 16  // of a series before its columns

leat_status_t board_api_status(board_api_t* api, const board_request_t* request,
                               board_response_t* response) {
  board_run_t** runs;
  size_t count;
  uint64_t series = 0, points = 0, damaged = 0, skipped = 0, purged = 0;
  (void)request;
  bool is_loaded = board_logdir_is_loaded(api->logdir);
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  for (size_t i = 0; i < count; ++i) {
    board_run_lock(runs[i]);
    series += runs[i]->series_count;
    for (size_t s = 0; s < runs[i]->series_count; ++s) points += runs[i]->series[s]->count;
    damaged += board_run_damaged(runs[i]);
    skipped += runs[i]->skipped;
    purged += runs[i]->purged;
    leat_mutex_unlock(&runs[i]->lock);
  }
  leat_allocator_free(leat_allocator_system(), runs);
  leat_string_builder_print(
      &response->body, "{\"version\":%llu,\"loaded\":%s,\"runs\":%zu,\"series\":%llu,"
      "\"points\":%llu,\"damaged_records\":%llu,\"skipped_values\":%llu,\"purged_points\":%llu,"
      "\"deletes_runs\":%s}",
      (unsigned long long)board_logdir_version(api->logdir), is_loaded ? "true" : "false", count,
      (unsigned long long)series, (unsigned long long)points, (unsigned long long)damaged,
      (unsigned long long)skipped, (unsigned long long)purged,
      api->deletes_runs ? "true" : "false");
  return leat_ok_status();
}

// A page of somebody else must not be able to make a browser ask for this.
leat_status_t board_api_delete_run(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  leat_string_view_t run;
  if (!api->deletes_runs) {
    return leat_make_status(LEAT_PERMISSION_DENIED,
                            "Deleting a run failed: the board was started without --delete_runs");
  }
  if (!request->is_post || !request->is_of_page) {
    return leat_make_status(LEAT_PERMISSION_DENIED,
                            "Deleting a run failed: the request must be a POST with the header "
                            "X-Leat-Board");
  }
  if (!board_query_get(&request->form, "run", &run)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Deleting a run failed: the form has no run, must name one");
  }
  LEAT_RETURN_IF_ERROR(board_logdir_delete_run(api->logdir, run));
  leat_string_builder_append(&response->body, LEAT_SV("{}"));
  return leat_ok_status();
}

leat_status_t board_api_live(board_api_t* api, const board_request_t* request,
                             board_response_t* response) {
  (void)request;
  response->content_type = "text/event-stream; charset=utf-8";
  response->is_stream = true;
  leat_string_builder_print(&response->body, "retry: 2000\nevent: version\ndata: %llu\n\n",
                            (unsigned long long)board_logdir_version(api->logdir));
  return leat_ok_status();
}

// ---- Columns ------------------------------------------------------------------------------------
static void put(leat_string_builder_t* out, uint64_t number, int bytes) {
  char text[8];
  for (int i = 0; i < bytes; ++i) text[i] = (char)(number >> 8 * i);
  leat_string_builder_append(out, leat_string_view_make(text, (size_t)bytes));
}

static void pad(leat_string_builder_t* out, size_t multiple) {
  while (!out->status && out->size % multiple) leat_string_builder_append_char(out, 0);
}

static void put_text(leat_string_builder_t* out, leat_string_view_t text) {
  put(out, text.size, 4);
  leat_string_builder_append(out, text);
  pad(out, 4);
}

static void store_double(char* data, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  leat_wire_store64(data, bits);
}

typedef struct choice_s {
  const board_query_t* query;
  board_text_pattern_t* patterns[PATTERN_LIMIT];
  size_t pattern_count;
  leat_string_map_t tags;  // those of the series that were chosen
  uint32_t series;
  leat_string_builder_t body;
  leat_arena_t* arena;
} choice_t;

// Whether the query names |value| under |name|, or nothing under it.
static bool is_wanted(const board_query_t* query, const char* name, leat_string_view_t value) {
  bool names_any = false;
  for (size_t i = 0; i < query->count; ++i) {
    if (!leat_string_view_equals(query->items[i].name, name)) continue;
    if (leat_string_view_equal(query->items[i].value, value)) return true;
    names_any = true;
  }
  return !names_any;
}

// Compiles the patterns of the query.
static leat_status_t take_patterns(choice_t* choice) {
  for (size_t i = 0; i < choice->query->count; ++i) {
    if (!leat_string_view_equals(choice->query->items[i].name, "pattern")) continue;
    if (choice->pattern_count == PATTERN_LIMIT) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "there are more than %d patterns",
                              PATTERN_LIMIT);
    }
    LEAT_RETURN_IF_ERROR(board_text_pattern_create(choice->query->items[i].value,
                                                   &choice->patterns[choice->pattern_count]));
    ++choice->pattern_count;
  }
  return leat_ok_status();
}

// Whether the query names |tag|, or a pattern that matches it, or neither tags nor patterns.
static leat_status_t is_wanted_tag(choice_t* choice, leat_string_view_t tag, bool* out_is_wanted) {
  leat_string_view_t named;
  bool names_tags = board_query_get(choice->query, "tag", &named);
  *out_is_wanted =
      (names_tags || !choice->pattern_count) && is_wanted(choice->query, "tag", tag);
  for (size_t i = 0; i < choice->pattern_count && !*out_is_wanted; ++i) {
    LEAT_RETURN_IF_ERROR(board_text_pattern_begins(choice->patterns[i], tag, out_is_wanted));
  }
  return leat_ok_status();
}

// Appends a series. The run's lock is held.
static leat_status_t put_series(choice_t* choice, uint32_t run, board_series_t* series) {
  const board_columns_t columns = board_series_columns(series);
  leat_string_view_t tag = leat_string_view_make(series->tag, series->tag_size);
  uint64_t index;
  if (!leat_string_map_get(&choice->tags, tag, &index)) {
    index = choice->tags.count;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(choice->arena, tag, &tag));
    LEAT_RETURN_IF_ERROR(leat_string_map_set(&choice->tags, tag, index));
  }
  if (choice->body.size + (size_t)columns.count * 24 > ANSWER_BYTES) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "the answer has more than 256 MiB: ask for fewer runs or tags");
  }
  const size_t column_bytes = (size_t)columns.count * 8;
  char* data = leat_string_builder_reserve(&choice->body, SERIES_BYTES + 3 * column_bytes);
  if (!data) return leat_status_clone(choice->body.status);
  leat_wire_store32(data, run);
  leat_wire_store32(data + 4, (uint32_t)index);
  leat_wire_store32(data + 8, columns.count);
  leat_wire_store32(data + 12, 0);
  char* steps = data + SERIES_BYTES;
  char* times = steps + column_bytes;
  char* values = times + column_bytes;
  for (size_t i = 0; i < columns.count; ++i) {
    store_double(steps + 8 * i, (double)columns.steps[i]);
    store_double(times + 8 * i, columns.wall_times[i]);
    store_double(values + 8 * i, columns.values[i]);
  }
  ++choice->series;
  return leat_ok_status();
}

static leat_status_t put_run(choice_t* choice, uint32_t index, board_run_t* run) {
  leat_status_t status = leat_ok_status();
  board_run_lock(run);
  for (size_t i = 0; i < run->series_count && !status; ++i) {
    board_series_t* series = run->series[i];
    leat_string_view_t tag = leat_string_view_make(series->tag, series->tag_size);
    bool is_chosen = false;
    if (series->form != BOARD_FORM_SCALAR || strcmp(series->plugin, "scalars")) continue;
    status = is_wanted_tag(choice, tag, &is_chosen);
    if (is_chosen && !status) status = put_series(choice, index, series);
  }
  leat_mutex_unlock(&run->lock);
  return status;
}

leat_status_t board_api_columns(board_api_t* api, const board_request_t* request,
                                board_response_t* response) {
  board_run_t** runs;
  size_t count, chosen = 0;
  choice_t choice = {.query = request->is_post ? &request->form : &request->query,
                     .arena = request->arena};
  uint64_t version = board_logdir_version(api->logdir);
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_map_initialize(leat_allocator_system(), &choice.tags);
  leat_string_builder_initialize(leat_allocator_system(), &choice.body);
  leat_status_t status = take_patterns(&choice);
  for (size_t i = 0; i < count && !status; ++i) {
    if (!is_wanted(choice.query, "run", leat_string_view_from(runs[i]->name))) continue;
    runs[chosen] = runs[i];
    status = put_run(&choice, (uint32_t)chosen++, runs[i]);
  }
  if (!status) {
    leat_string_builder_append(&response->body, LEAT_SV("LBC1"));
    put(&response->body, chosen, 4);
    put(&response->body, choice.tags.count, 4);
    put(&response->body, choice.series, 4);
    put(&response->body, version, 8);
    for (size_t i = 0; i < chosen; ++i) {
      put_text(&response->body, leat_string_view_from(runs[i]->name));
    }
    for (size_t i = 0; i < choice.tags.count; ++i) {
      put_text(&response->body, choice.tags.entries[i].key);
    }
    pad(&response->body, 8);
    leat_string_builder_append(&response->body, leat_string_builder_view(&choice.body));
    response->content_type = "application/octet-stream";
  }
  for (size_t i = 0; i < choice.pattern_count; ++i) board_text_pattern_free(choice.patterns[i]);
  leat_string_map_deinitialize(&choice.tags);
  leat_string_builder_deinitialize(&choice.body);
  leat_allocator_free(leat_allocator_system(), runs);
  return status;
}
