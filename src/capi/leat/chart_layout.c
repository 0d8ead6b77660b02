// Layouts of custom scalars (leat/summary.h): which scalars the board and TensorBoard show together
// in one chart. A layout is a message Layout in a text of the tag custom_scalars__config__. Titles
// of categories must differ, because readers merge the categories of all runs by their titles. A
// chart has patterns of tags or bands, never both, since the message has a oneof there. A pattern
// that is no regular expression is not refused: TensorBoard shows that in the chart's own place.
#include "base/map.h"
#include "capi/leat/summary.h"
#include "formats/generated/custom_scalars.h"
#include "formats/wire/encode.h"

#define VERB "AddLayout"

// Fields of the oneof of a Chart.
enum { CONTENT_MULTILINE = 2, CONTENT_MARGIN = 3 };

typedef struct request_s {
  const leat_chart_category_t* categories;
  int category_count;
} request_t;

static leat_status_t make_multiline(const leat_chart_t* chart, leat_arena_t* arena,
                                    leat_pb_chart_t* out_chart) {
  size_t count = (size_t)chart->tag_count;
  out_chart->content_case = CONTENT_MULTILINE;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_chart->multiline));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out_chart->multiline->tag.items));
  out_chart->multiline->tag.count = count;
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_summary_take_name(VERB, "tag of a chart", chart->tags[i],
                                                &out_chart->multiline->tag.items[i]));
  }
  return leat_ok_status();
}

static leat_status_t make_margin(const leat_chart_t* chart, leat_arena_t* arena,
                                 leat_pb_chart_t* out_chart) {
  size_t count = (size_t)chart->margin_count;
  out_chart->content_case = CONTENT_MARGIN;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_chart->margin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out_chart->margin->series.items));
  out_chart->margin->series.count = count;
  for (size_t i = 0; i < count; ++i) {
    const leat_margin_t* margin = &chart->margins[i];
    leat_pb_margin_chart_content_series_t* series = &out_chart->margin->series.items[i];
    LEAT_RETURN_IF_ERROR(
        leat_summary_take_name(VERB, "value of a margin", margin->value, &series->value));
    LEAT_RETURN_IF_ERROR(
        leat_summary_take_name(VERB, "lower of a margin", margin->lower, &series->lower));
    LEAT_RETURN_IF_ERROR(
        leat_summary_take_name(VERB, "upper of a margin", margin->upper, &series->upper));
  }
  return leat_ok_status();
}

static leat_status_t make_chart(const leat_chart_t* chart, leat_arena_t* arena,
                                leat_pb_chart_t* out_chart) {
  LEAT_RETURN_IF_ERROR(
      leat_summary_take_name(VERB, "title of a chart", chart->title, &out_chart->title));
  LEAT_RETURN_IF_ERROR(
      leat_summary_check_list(VERB, "tags of a chart", chart->tags, chart->tag_count));
  LEAT_RETURN_IF_ERROR(
      leat_summary_check_list(VERB, "margins of a chart", chart->margins, chart->margin_count));
  if (!chart->tag_count == !chart->margin_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            VERB " failed for chart '%s': it has %d tags and %d margins, must have "
                                 "one of the two",
                            chart->title, chart->tag_count, chart->margin_count);
  }
  return chart->tag_count ? make_multiline(chart, arena, out_chart)
                          : make_margin(chart, arena, out_chart);
}

static leat_status_t make_category(const leat_chart_category_t* category, leat_arena_t* arena,
                                   leat_string_map_t* titles, leat_pb_category_t* out_category) {
  bool is_new;
  LEAT_RETURN_IF_ERROR(
      leat_summary_take_name(VERB, "title of a category", category->title, &out_category->title));
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(titles, out_category->title, 0, NULL, &is_new));
  if (!is_new) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            VERB " failed: the title of a category is '%s' twice, must be unique",
                            category->title);
  }
  LEAT_RETURN_IF_ERROR(leat_summary_check_list(VERB, "charts of a category", category->charts,
                                               category->chart_count));
  out_category->closed = category->is_closed != 0;
  size_t count = (size_t)category->chart_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out_category->chart.items));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        make_chart(&category->charts[i], arena, &out_category->chart.items[i]));
    ++out_category->chart.count;
  }
  return leat_ok_status();
}

static leat_status_t make_categories(const request_t* request, leat_arena_t* arena,
                                     leat_string_map_t* titles, leat_pb_layout_t* layout) {
  size_t count = (size_t)request->category_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &layout->category.items));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        make_category(&request->categories[i], arena, titles, &layout->category.items[i]));
    ++layout->category.count;
  }
  return leat_ok_status();
}

static leat_status_t make_layout(const void* data, leat_arena_t* arena,
                                 leat_pb_summary_value_t* value) {
  const request_t* request = data;
  leat_pb_layout_t layout = {0};
  leat_string_view_t text = {0};
  leat_string_map_t titles;
  leat_string_builder_t bytes;
  LEAT_RETURN_IF_ERROR(leat_summary_check_list(VERB, "categories", request->categories,
                                               request->category_count));
  leat_string_map_initialize(leat_allocator_system(), &titles);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = make_categories(request, arena, &titles, &layout);
  if (!status) status = leat_message_encode(&leat_pb_layout_descriptor, &layout, &bytes);
  if (!status) status = leat_arena_copy_string(arena, leat_string_builder_view(&bytes), &text);
  leat_string_builder_deinitialize(&bytes);
  leat_string_map_deinitialize(&titles);
  LEAT_RETURN_IF_ERROR(status);
  value->tag = LEAT_SV("custom_scalars__config__");
  LEAT_RETURN_IF_ERROR(leat_summary_set_metadata("custom_scalars", LEAT_SV(""), arena, value));
  return leat_summary_set_string(text, arena, value);
}

void leat_events_add_layout(leat_events_t* events, const leat_chart_category_t* categories,
                            int category_count, TF_Status* status) {
  leat_summary_add(events, 0, make_layout, &(request_t){categories, category_count}, status);
}

TF_Buffer* leat_summary_layout(const leat_chart_category_t* categories, int category_count,
                               TF_Status* status) {
  return leat_summary_encode(make_layout, &(request_t){categories, category_count}, status);
}
