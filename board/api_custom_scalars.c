// Layouts of charts that programs wrote, and the scalars whose tags a regular expression matches,
// as TensorBoard's plugin custom_scalars answers for them. A layout is a message in a text of the
// tag custom_scalars__config__. The newest of each run counts, and those of several runs are
// merged: the runs are taken in the order of their names, and a category of a title that was seen
// before gives its charts to that one, but for those that it has already.
#include <stdlib.h>

#include "board/api.h"
#include "board/json_writer.h"
#include "board/tensor_list.h"
#include "board/text_pattern.h"
#include "formats/generated/custom_scalars.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

#define LAYOUT_TAG LEAT_SV("custom_scalars__config__")
#define LAYOUT_MEMORY_BYTES ((uint64_t)64 << 20)
#define CHART_LIMIT 4096  // of all layouts
#define ANSWER_BYTES ((size_t)256 << 20)

// ---- Reading layouts ----------------------------------------------------------------------------
// A chart that is shown, and its bytes, by which equal ones are found.
typedef struct chart_s {
  const leat_pb_chart_t* chart;
  leat_string_view_t bytes;
} chart_t;

typedef struct chart_list_s {
  chart_t* items;
  size_t count;
} chart_list_t;

typedef struct category_s {
  const leat_pb_category_t* category;
  chart_list_t charts;
} category_t;

typedef struct category_list_s {
  category_t* items;
  size_t count;
} category_list_t;

typedef struct merger_s {
  leat_arena_t* arena;
  bool has_layout;
  int32_t version;  // of the first
  category_list_t categories;
  size_t charts;  // in all categories
} merger_t;

static leat_status_t bytes_of(const leat_pb_chart_t* chart, leat_arena_t* arena,
                              leat_string_view_t* out_bytes) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(&leat_pb_chart_descriptor, chart, &bytes);
  if (!status) status = leat_arena_copy_string(arena, leat_string_builder_view(&bytes), out_bytes);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// Adds |chart|, unless one of the first |known| charts of the category equals it.
static leat_status_t add_chart(merger_t* merger, category_t* category, const leat_pb_chart_t* chart,
                               size_t known) {
  leat_string_view_t bytes;
  chart_t* added;
  if (merger->charts >= CHART_LIMIT) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the layouts have more than %d charts",
                            CHART_LIMIT);
  }
  LEAT_RETURN_IF_ERROR(bytes_of(chart, merger->arena, &bytes));
  for (size_t i = 0; i < known; ++i) {
    if (leat_string_view_equal(category->charts.items[i].bytes, bytes)) return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_message_list_append(merger->arena, &category->charts, sizeof *added,
                                                (void**)&added));
  *added = (chart_t){chart, bytes};
  ++merger->charts;
  return leat_ok_status();
}

static leat_status_t add_category(merger_t* merger, const leat_pb_category_t* category) {
  category_t* into = NULL;
  // A title that comes twice within one layout is merged too, which nobody writes.
  for (size_t i = 0; i < merger->categories.count && !into; ++i) {
    category_t* other = &merger->categories.items[i];
    if (leat_string_view_equal(other->category->title, category->title)) into = other;
  }
  size_t known = into ? into->charts.count : 0;
  if (!into) {
    LEAT_RETURN_IF_ERROR(leat_message_list_append(merger->arena, &merger->categories, sizeof *into,
                                                  (void**)&into));
    *into = (category_t){.category = category};
  }
  for (size_t i = 0; i < category->chart.count; ++i) {
    LEAT_RETURN_IF_ERROR(add_chart(merger, into, &category->chart.items[i], known));
  }
  return leat_ok_status();
}

// Reads the newest layout of |run|; |*out_layout| is NULL where it has none.
static leat_status_t read_layout(board_run_t* run, leat_arena_t* arena,
                                 leat_pb_layout_t** out_layout) {
  leat_decode_limits_t limits = {.max_memory_bytes = LAYOUT_MEMORY_BYTES};
  board_snapshot_t snapshot;
  leat_pb_summary_value_t value;
  board_tensor_list_t list;
  *out_layout = NULL;
  leat_status_t status = board_snapshot_take(run, LAYOUT_TAG, "custom_scalars", BOARD_CLASS_TENSOR,
                                             arena, &snapshot);
  if (status && leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(status);
  if (!snapshot.count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(board_snapshot_value(&snapshot, snapshot.count - 1, arena, &value));
  LEAT_RETURN_IF_ERROR(board_tensor_list_read(value.tensor, arena, &list));
  if (!list.texts || list.count != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the layout of run '%s' is not one text",
                            run->name);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, out_layout));
  return leat_message_decode(&leat_pb_layout_descriptor, list.texts[0], arena, &limits,
                             *out_layout);
}

static leat_status_t merge_run(merger_t* merger, board_run_t* run) {
  leat_pb_layout_t* layout;
  LEAT_RETURN_IF_ERROR(read_layout(run, merger->arena, &layout));
  if (!layout) return leat_ok_status();
  if (!merger->has_layout) merger->version = layout->version;
  merger->has_layout = true;
  for (size_t i = 0; i < layout->category.count; ++i) {
    LEAT_RETURN_IF_ERROR(add_category(merger, &layout->category.items[i]));
  }
  return leat_ok_status();
}

// ---- Printing them ------------------------------------------------------------------------------
static void print_margin(const leat_pb_margin_chart_content_t* margin, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV(",\"margin\":{\"series\":["));
  for (size_t i = 0; i < margin->series.count; ++i) {
    const leat_pb_margin_chart_content_series_t* series = &margin->series.items[i];
    leat_string_builder_append(out, i ? LEAT_SV(",{\"value\":") : LEAT_SV("{\"value\":"));
    board_json_string(out, series->value);
    leat_string_builder_append(out, LEAT_SV(",\"lower\":"));
    board_json_string(out, series->lower);
    leat_string_builder_append(out, LEAT_SV(",\"upper\":"));
    board_json_string(out, series->upper);
    leat_string_builder_append_char(out, '}');
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

static void print_chart(const leat_pb_chart_t* chart, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\"title\":"));
  board_json_string(out, chart->title);
  if (chart->margin) print_margin(chart->margin, out);
  if (chart->multiline) {
    leat_string_builder_append(out, LEAT_SV(",\"multiline\":{\"tag\":["));
    for (size_t i = 0; i < chart->multiline->tag.count; ++i) {
      if (i) leat_string_builder_append_char(out, ',');
      board_json_string(out, chart->multiline->tag.items[i]);
    }
    leat_string_builder_append(out, LEAT_SV("]}"));
  }
  leat_string_builder_append_char(out, '}');
}

static void print_category(const category_t* category, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\"title\":"));
  board_json_string(out, category->category->title);
  leat_string_builder_append(out, LEAT_SV(",\"chart\":["));
  for (size_t i = 0; i < category->charts.count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_chart(category->charts.items[i].chart, out);
  }
  leat_string_builder_append(out, LEAT_SV("],\"closed\":"));
  board_json_number(out, BOARD_NUMBER_BOOL, category->category->closed);
  leat_string_builder_append_char(out, '}');
}

static int compare_names(const void* a, const void* b) {
  return strcmp((*(board_run_t* const*)a)->name, (*(board_run_t* const*)b)->name);
}

leat_status_t board_api_layout(board_api_t* api, const board_request_t* request,
                               board_response_t* response) {
  board_run_t** runs;
  size_t count;
  merger_t merger = {.arena = request->arena};
  leat_status_t status = leat_ok_status();
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  if (count) qsort(runs, count, sizeof *runs, compare_names);
  for (size_t i = 0; i < count && !status; ++i) status = merge_run(&merger, runs[i]);
  leat_allocator_free(leat_allocator_system(), runs);
  LEAT_RETURN_IF_ERROR(status);
  if (!merger.has_layout) {
    leat_string_builder_append(&response->body, LEAT_SV("{}"));
    return leat_ok_status();
  }
  leat_string_builder_print(&response->body, "{\"version\":%d,\"category\":[", merger.version);
  for (size_t i = 0; i < merger.categories.count; ++i) {
    if (i) leat_string_builder_append_char(&response->body, ',');
    print_category(&merger.categories.items[i], &response->body);
  }
  leat_string_builder_append(&response->body, LEAT_SV("]}"));
  return leat_ok_status();
}

// ---- Scalars by a regular expression ------------------------------------------------------------
// The tags of scalars of |run| that |pattern| matches, in |arena|.
static leat_status_t find_tags(board_run_t* run, board_text_pattern_t* pattern, leat_arena_t* arena,
                               leat_string_view_t** out_tags, size_t* out_count) {
  leat_status_t status = leat_ok_status();
  *out_count = 0;
  board_run_lock(run);
  status = LEAT_NEW(arena, run->series_count + 1, out_tags);
  for (size_t i = 0; i < run->series_count && !status; ++i) {
    const board_series_t* series = run->series[i];
    leat_string_view_t tag = leat_string_view_make(series->tag, series->tag_size);
    bool matches = false;
    if (series->data_class != BOARD_CLASS_SCALAR || strcmp(series->plugin, "scalars")) continue;
    status = board_text_pattern_begins(pattern, tag, &matches);
    if (matches && !status) {
      status = leat_arena_copy_string(arena, tag, &(*out_tags)[(*out_count)++]);
    }
  }
  leat_mutex_unlock(&run->lock);
  return status;
}

static leat_status_t print_matches(board_run_t* run, board_text_pattern_t* pattern,
                                   leat_arena_t* arena, leat_string_builder_t* out) {
  leat_string_view_t* tags;
  size_t count;
  LEAT_RETURN_IF_ERROR(find_tags(run, pattern, arena, &tags, &count));
  for (size_t i = 0; i < count; ++i) {
    board_snapshot_t snapshot;
    LEAT_RETURN_IF_ERROR(
        board_snapshot_take(run, tags[i], "scalars", BOARD_CLASS_SCALAR, arena, &snapshot));
    if (i) leat_string_builder_append_char(out, ',');
    board_json_string(out, tags[i]);
    leat_string_builder_append_char(out, ':');
    board_api_print_points(&snapshot, out);
    if (out->size > ANSWER_BYTES) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "the answer has more than 256 MiB: ask for fewer tags");
    }
  }
  return leat_ok_status();
}

leat_status_t board_api_custom_scalars(board_api_t* api, const board_request_t* request,
                                       board_response_t* response) {
  leat_string_view_t run_name, tag = {0};
  board_text_pattern_t* pattern = NULL;
  leat_status_t status = leat_ok_status();
  bool has_tag = board_query_get(&request->query, "tag", &tag) && tag.size;
  if (has_tag && !board_query_get(&request->query, "run", &run_name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Both run and tag must be specified");
  }
  if (has_tag) status = board_text_pattern_create(tag, &pattern);
  if (status && leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
  leat_status_free(status);
  status = leat_ok_status();
  leat_string_builder_print(&response->body, "{\"regex_valid\":%s,\"tag_to_events\":{",
                            pattern ? "true" : "false");
  board_run_t* run = pattern ? board_logdir_find(api->logdir, run_name) : NULL;
  if (run) status = print_matches(run, pattern, request->arena, &response->body);
  leat_string_builder_append(&response->body, LEAT_SV("}}"));
  board_text_pattern_free(pattern);
  return status;
}
