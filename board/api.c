// The addresses that the board answers, and what several of them need. An address is looked up as a
// whole in one table, so that nothing exists but what stands there. An answer that fails becomes an
// HTTP code and its message as text. The functions below the table print what TensorBoard's pages
// read of a tag: its name for display, its description as HTML. Descriptions are Markdown there;
// here their markup is escaped, because a log may come from a stranger.
#include "board/api.h"

#include "board/json_writer.h"

typedef struct route_s {
  const char* path;
  board_route_fn_t answer;
} route_t;

static const route_t kRoutes[] = {
    {"/", board_api_page},
    {"/page.css", board_api_style},
    {"/page.js", board_api_script},
    {"/data/runs", board_api_runs},
    {"/data/environment", board_api_environment},
    {"/data/logdir", board_api_logdir},
    {"/data/window_properties", board_api_window_properties},
    {"/data/experiments", board_api_nothing},
    {"/data/experiment_runs", board_api_nothing},
    {"/data/plugins_listing", board_api_plugins},
    {"/data/plugin/scalars/tags", board_api_scalar_tags},
    {"/data/plugin/scalars/scalars", board_api_scalars},
    {"/data/plugin/scalars/scalars_multirun", board_api_scalars_multirun},
    {"/data/plugin/custom_scalars/layout", board_api_layout},
    {"/data/plugin/custom_scalars/scalars", board_api_custom_scalars},
    {"/data/plugin/custom_scalars/download_data", board_api_scalars},
    {"/data/plugin/histograms/tags", board_api_histogram_tags},
    {"/data/plugin/histograms/histograms", board_api_histograms},
    {"/data/plugin/distributions/tags", board_api_histogram_tags},
    {"/data/plugin/distributions/distributions", board_api_distributions},
    {"/data/plugin/images/tags", board_api_image_tags},
    {"/data/plugin/images/images", board_api_images},
    {"/data/plugin/images/individualImage", board_api_image},
    {"/data/plugin/audio/tags", board_api_audio_tags},
    {"/data/plugin/audio/audio", board_api_audio},
    {"/data/plugin/audio/individualAudio", board_api_sound},
    {"/data/plugin/text/tags", board_api_text_tags},
    {"/data/plugin/text/text", board_api_text},
    {"/data/plugin/graphs/info", board_api_graph_info},
    {"/data/plugin/graphs/graph", board_api_graph},
    {"/data/plugin/graphs/run_metadata", board_api_run_metadata},
    {"/data/plugin/pr_curves/tags", board_api_pr_curve_tags},
    {"/data/plugin/pr_curves/pr_curves", board_api_pr_curves},
    {"/data/plugin/hparams/experiment", board_api_experiment},
    {"/data/plugin/hparams/session_groups", board_api_session_groups},
    {"/data/plugin/hparams/metric_evals", board_api_metric_evals},
    {"/data/plugin/hparams/download_data", board_api_hparams_table},
    {"/data/plugin/mesh/tags", board_api_mesh_tags},
    {"/data/plugin/mesh/meshes", board_api_meshes},
    {"/data/plugin/mesh/data", board_api_mesh_data},
    {"/data/plugin/projector/runs", board_api_projector_runs},
    {"/data/plugin/projector/info", board_api_projector_info},
    {"/data/plugin/projector/tensor", board_api_projector_tensor},
    {"/data/plugin/projector/metadata", board_api_projector_metadata},
    {"/data/plugin/projector/bookmarks", board_api_projector_bookmarks},
    {"/data/plugin/projector/sprite_image", board_api_projector_sprite},
    {"/data/leat/projection", board_api_projection},
    {"/data/leat/status", board_api_status},
    {"/data/leat/overview", board_api_overview},
    {"/data/leat/delete_run", board_api_delete_run},
    {"/data/leat/columns", board_api_columns},
    {"/data/leat/scalar_tags", board_api_scalar_tag_list},
    {"/data/leat/live", board_api_live},
    {"/data/leat/text", board_api_raw_text},
    {"/data/leat/hparams", board_api_hparams},
    {"/data/leat/graph/levels", board_api_graph_levels},
    {"/data/leat/graph/item", board_api_graph_item},
    {"/data/leat/graph/search", board_api_graph_search},
    {"/data/leat/graph/stages", board_api_graph_stages},
    {"/data/leat/graph/changes", board_api_graph_changes},
    {"/data/leat/graph/dumps", board_api_dumps},
    {"/data/leat/traces", board_api_traces},
    {"/data/leat/trace", board_api_trace},
    {"/data/leat/trace/steps", board_api_trace_steps},
    {"/data/leat/trace/window", board_api_trace_window},
    {"/data/leat/trace/slice", board_api_trace_slice},
    {"/data/leat/trace/node", board_api_trace_node},
    {"/data/leat/trace/arrows", board_api_trace_arrows},
    {"/data/leat/trace/step", board_api_trace_step},
};

static int code_of(leat_status_t status) {
  switch (leat_status_code(status)) {
    case LEAT_INVALID_ARGUMENT: return 400;
    case LEAT_PERMISSION_DENIED: return 403;
    case LEAT_NOT_FOUND: return 404;
    case LEAT_UNIMPLEMENTED: return 501;
    default: return 500;
  }
}

void board_api_handle(void* data, const board_request_t* request, board_response_t* response) {
  leat_string_view_t path = request->path;
  board_route_fn_t answer = NULL;
  // As in TensorBoard, one slash at the end does not matter.
  if (path.size > 1 && path.data[path.size - 1] == '/') --path.size;
  if (request->path.data && !path.size) path = LEAT_SV("/");
  for (size_t i = 0; i < sizeof kRoutes / sizeof *kRoutes && !answer; ++i) {
    if (leat_string_view_equals(path, kRoutes[i].path)) answer = kRoutes[i].answer;
  }
  // An answer to a part of the question would be mistaken for the whole.
  const bool is_cut = request->query.is_cut || request->form.is_cut;
  leat_status_t status =
      is_cut ? leat_make_status(LEAT_INVALID_ARGUMENT, "the request has more than 10,000 "
                                "parameters, must have fewer: show fewer runs at a time")
      : answer ? answer(data, request, response) : leat_make_status(LEAT_NOT_FOUND, "Not found");
  if (!status) return;
  response->code = code_of(status);
  response->content_type = "text/plain; charset=utf-8";
  response->is_stream = false;
  response->body.size = 0;
  leat_string_builder_append(&response->body, leat_string_view_from(leat_status_message(status)));
  leat_status_free(status);
}

leat_status_t board_api_run_and_tag(board_api_t* api, const board_request_t* request,
                                    board_run_t** out_run, leat_string_view_t* out_tag) {
  leat_string_view_t run;
  if (!board_query_get(&request->query, "run", &run) ||
      !board_query_get(&request->query, "tag", out_tag)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Both run and tag must be specified");
  }
  *out_run = board_logdir_find(api->logdir, run);
  if (*out_run) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND, "Not found: there is no run '%.*s'", LEAT_SV_ARG(run));
}

leat_status_t board_api_int(const board_request_t* request, const char* name, int64_t fallback,
                            int64_t* out_value) {
  leat_string_view_t text;
  *out_value = fallback;
  if (!board_query_get(&request->query, name, &text)) return leat_ok_status();
  if (leat_string_view_to_int64(leat_string_view_trim(text), out_value)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s is '%.*s', must be a whole number", name,
                          LEAT_SV_ARG(text));
}

// The first field of every plugin's data is its version, and TensorBoard passes over series of
// later versions than 0. The field is absent where it is 0.
static bool is_version_0(leat_string_view_t content) {
  return content.size < 2 || content.data[0] != 0x08 || content.data[1] == 0;
}

// Prints the series of one run; false where it has none. The lock is held.
static bool print_run(const board_run_t* run, const char* plugin, board_data_class_t data_class,
                      board_api_print_fn_t print, bool is_first, leat_string_builder_t* out) {
  bool has_any = false, follows = false;
  for (size_t i = 0; i < run->series_count; ++i) {
    board_series_t* series = run->series[i];
    if (series->data_class != data_class || strcmp(series->plugin, plugin)) continue;
    if (!has_any) {
      if (!is_first) leat_string_builder_append_char(out, ',');
      board_json_string(out, leat_string_view_from(run->name));
      leat_string_builder_append(out, print ? LEAT_SV(":{") : LEAT_SV(":["));
      has_any = true;
    }
    if (!is_version_0(series->content)) continue;
    if (follows) leat_string_builder_append_char(out, ',');
    follows = true;
    board_json_string(out, leat_string_view_make(series->tag, series->tag_size));
    if (!print) continue;
    leat_string_builder_append(out, LEAT_SV(":{"));
    print(series, out);
    leat_string_builder_append_char(out, '}');
  }
  if (has_any) leat_string_builder_append_char(out, print ? '}' : ']');
  return has_any;
}

leat_status_t board_api_index(board_api_t* api, const char* plugin, board_data_class_t data_class,
                              board_api_print_fn_t print, leat_string_builder_t* out) {
  board_run_t** runs;
  size_t count;
  bool has_any = false;
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_builder_append_char(out, '{');
  for (size_t i = 0; i < count; ++i) {
    board_run_lock(runs[i]);
    has_any |= print_run(runs[i], plugin, data_class, print, !has_any, out);
    leat_mutex_unlock(&runs[i]->lock);
  }
  leat_string_builder_append_char(out, '}');
  leat_allocator_free(leat_allocator_system(), runs);
  return leat_ok_status();
}

// Prints the tags of one run that |seen| does not have, and adds them to it. Runs of one program
// mostly have the same tags in the same order: the tag behind the one that was found last is looked
// at before the whole map is. The lock is held.
static leat_status_t print_new_tags(const board_run_t* run, const char* plugin,
                                    board_data_class_t data_class, leat_string_map_t* seen,
                                    leat_string_builder_t* out) {
  uint64_t next = 0;  // index of the tag that is expected
  for (size_t i = 0; i < run->series_count; ++i) {
    const board_series_t* series = run->series[i];
    leat_string_view_t tag = leat_string_view_make(series->tag, series->tag_size);
    bool is_new;
    if (series->data_class != data_class || strcmp(series->plugin, plugin)) continue;
    if (!is_version_0(series->content)) continue;
    const bool is_expected =
        next < seen->count && leat_string_view_equal(seen->entries[next].key, tag);
    if (is_expected || leat_string_map_get(seen, tag, &next)) {
      ++next;
      continue;
    }
    next = seen->count + 1;
    // What was printed is no key, since the text moves as it grows, and a run may be forgotten.
    LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(seen->allocator, tag.data, tag.size,
                                                     (char**)&tag.data));
    leat_status_t status = leat_string_map_insert(seen, tag, seen->count, NULL, &is_new);
    if (status) {
      leat_allocator_free(seen->allocator, (char*)tag.data);
      return status;
    }
    if (seen->count > 1) leat_string_builder_append_char(out, ',');
    board_json_string(out, tag);
  }
  return leat_ok_status();
}

leat_status_t board_api_tag_list(board_api_t* api, const char* plugin,
                                 board_data_class_t data_class, leat_string_builder_t* out) {
  board_run_t** runs;
  size_t count;
  leat_string_map_t seen;
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_map_initialize(leat_allocator_system(), &seen);
  leat_status_t status = leat_ok_status();
  leat_string_builder_append_char(out, '[');
  for (size_t i = 0; i < count && !status; ++i) {
    board_run_lock(runs[i]);
    status = print_new_tags(runs[i], plugin, data_class, &seen, out);
    leat_mutex_unlock(&runs[i]->lock);
  }
  leat_string_builder_append_char(out, ']');
  for (size_t i = 0; i < seen.count; ++i) {
    leat_allocator_free(leat_allocator_system(), (char*)seen.entries[i].key.data);
  }
  leat_string_map_deinitialize(&seen);
  leat_allocator_free(leat_allocator_system(), runs);
  return status;
}

void board_api_print_names(board_series_t* series, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("\"displayName\":"));
  board_json_string(out, leat_string_view_from(series->display_name));
  leat_string_builder_append(out, LEAT_SV(",\"description\":"));
  board_api_print_html_string(leat_string_view_from(series->description), out);
}

static void append_escaped(leat_string_view_t text, leat_string_builder_t* out) {
  for (size_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    if (c == '<') {
      leat_string_builder_append(out, LEAT_SV("&lt;"));
    } else if (c == '>') {
      leat_string_builder_append(out, LEAT_SV("&gt;"));
    } else if (c == '&') {
      leat_string_builder_append(out, LEAT_SV("&amp;"));
    } else if (c) {
      leat_string_builder_append_char(out, c);
    }
  }
}

void board_api_print_html(leat_string_view_t text, leat_string_builder_t* out) {
  leat_string_view_t line;
  bool is_open = false, is_first = true;
  while (leat_string_view_take_line(&text, &line)) {
    if (!leat_string_view_trim(line).size) {
      if (is_open) leat_string_builder_append(out, LEAT_SV("</p>"));
      is_open = false;
      continue;
    }
    if (!is_open) {
      if (!is_first) leat_string_builder_append_char(out, '\n');
      leat_string_builder_append(out, LEAT_SV("<p>"));
      line = leat_string_view_trim(line);
    } else {
      leat_string_builder_append_char(out, '\n');
    }
    append_escaped(line, out);
    is_open = true;
    is_first = false;
  }
  if (is_open) leat_string_builder_append(out, LEAT_SV("</p>"));
}

void board_api_print_html_string(leat_string_view_t text, leat_string_builder_t* out) {
  leat_string_builder_t html;
  leat_string_builder_initialize(leat_allocator_system(), &html);
  board_api_print_html(text, &html);
  board_json_string(out, leat_string_builder_view(&html));
  leat_string_builder_deinitialize(&html);
}
