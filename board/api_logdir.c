// What is true of the whole log directory: runs, environment, and which plugins have something to
// show. The list of plugins is TensorBoard's own, with those that the board does not answer for
// marked as not enabled, so that a page made for TensorBoard finds each name that it looks for. The
// environment names this library's version, where TensorBoard states its own. Runs are listed by
// the time of their first event, as in TensorBoard.
#include "board/api.h"
#include "board/embeddings.h"
#include "board/json_writer.h"
#include "leat/inspect.h"

leat_status_t board_api_runs(board_api_t* api, const board_request_t* request,
                             board_response_t* response) {
  board_run_t** runs;
  size_t count;
  (void)request;
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_builder_append_char(&response->body, '[');
  for (size_t i = 0; i < count; ++i) {
    if (i) leat_string_builder_append_char(&response->body, ',');
    board_json_string(&response->body, leat_string_view_from(runs[i]->name));
  }
  leat_string_builder_append_char(&response->body, ']');
  leat_allocator_free(leat_allocator_system(), runs);
  return leat_ok_status();
}

leat_status_t board_api_environment(board_api_t* api, const board_request_t* request,
                                    board_response_t* response) {
  (void)request;
  leat_string_builder_append(&response->body, LEAT_SV("{\"version\":"));
  board_json_string(&response->body, leat_string_view_from(leat_version()));
  leat_string_builder_append(&response->body, LEAT_SV(",\"data_location\":"));
  board_json_string(&response->body, leat_string_view_from(board_logdir_path(api->logdir)));
  leat_string_builder_append(
      &response->body, LEAT_SV(",\"window_title\":\"\",\"experiment_name\":\"\","
                               "\"experiment_description\":\"\",\"creation_time\":0}"));
  return leat_ok_status();
}

// What the board's own pages ask for first, in one answer instead of four that would wait for each
// other. The status comes first: what follows is at least as new as the version in it.
leat_status_t board_api_overview(board_api_t* api, const board_request_t* request,
                                 board_response_t* response) {
  leat_string_builder_t* out = &response->body;
  leat_string_builder_append(out, LEAT_SV("{\"status\":"));
  LEAT_RETURN_IF_ERROR(board_api_status(api, request, response));
  leat_string_builder_append(out, LEAT_SV(",\"logdir\":"));
  board_json_string(out, leat_string_view_from(board_logdir_path(api->logdir)));
  leat_string_builder_append(out, LEAT_SV(",\"runs\":"));
  LEAT_RETURN_IF_ERROR(board_api_runs(api, request, response));
  leat_string_builder_append(out, LEAT_SV(",\"scalar_tags\":"));
  LEAT_RETURN_IF_ERROR(board_api_scalar_tag_list(api, request, response));
  leat_string_builder_append_char(out, '}');
  return leat_ok_status();
}

leat_status_t board_api_logdir(board_api_t* api, const board_request_t* request,
                               board_response_t* response) {
  (void)request;
  leat_string_builder_append(&response->body, LEAT_SV("{\"logdir\":"));
  board_json_string(&response->body, leat_string_view_from(board_logdir_path(api->logdir)));
  leat_string_builder_append_char(&response->body, '}');
  return leat_ok_status();
}

leat_status_t board_api_window_properties(board_api_t* api, const board_request_t* request,
                                          board_response_t* response) {
  (void)api;
  (void)request;
  leat_string_builder_append(&response->body, LEAT_SV("{\"window_title\":\"\"}"));
  return leat_ok_status();
}

leat_status_t board_api_nothing(board_api_t* api, const board_request_t* request,
                                board_response_t* response) {
  (void)api;
  (void)request;
  leat_string_builder_append(&response->body, LEAT_SV("[]"));
  return leat_ok_status();
}

// A plugin of TensorBoard: its name, that of its tab, how its page is loaded, and the plugins (of
// metadata) whose series it shows.
typedef struct plugin_row_s {
  const char* name;
  const char* tab;
  const char* element;  // NULL: a component of TensorBoard's page
  bool never_reloads;
  const char* owners[6];
} plugin_row_t;

static const plugin_row_t kPlugins[] = {
    {"timeseries", "Time Series", NULL, false, {"scalars", "histograms", "images"}},
    {"scalars", "scalars", "tf-scalar-dashboard", false, {"scalars"}},
    {"custom_scalars", "Custom Scalars", "tf-custom-scalar-dashboard", false, {"custom_scalars"}},
    {"images", "images", "tf-image-dashboard", false, {"images"}},
    {"audio", "audio", "tf-audio-dashboard", false, {"audio"}},
    {"debugger-v2", "Debugger V2", NULL, false, {NULL}},
    {"graphs", "graphs", "tf-graph-dashboard", true,
     {"graphs", "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model",
      "graph_tagged_run_metadata"}},
    {"distributions", "distributions", "tf-distribution-dashboard", false, {"histograms"}},
    {"histograms", "histograms", "tf-histogram-dashboard", false, {"histograms"}},
    {"text", "text", "tf-text-dashboard", false, {"text"}},
    {"pr_curves", "PR Curves", "tf-pr-curve-dashboard", false, {"pr_curves"}},
    {"profile_redirect", "Profile", "tf-profile-redirect-dashboard", false, {NULL}},
    {"hparams", "hparams", "tf-hparams-dashboard", false, {"hparams"}},
    {"mesh", "mesh", "mesh-dashboard", false, {"mesh"}},
    {"wit_redirect", "What-If Tool", "tf-wit-redirect-dashboard", false, {NULL}},
    {"projector", "projector", "", true, {NULL}},
};
#define PLUGIN_COUNT (sizeof kPlugins / sizeof *kPlugins)

// Sets the bit of each plugin that shows a series of |run|.
static uint32_t find_plugins(board_run_t* run) {
  uint32_t found = 0;
  board_run_lock(run);
  const char* before = "";
  for (size_t i = 0; i < run->series_count; ++i) {
    if (!strcmp(run->series[i]->plugin, before)) continue;
    before = run->series[i]->plugin;
    for (size_t p = 0; p < PLUGIN_COUNT; ++p) {
      for (size_t o = 0; o < 6 && kPlugins[p].owners[o]; ++o) {
        found |= (uint32_t)!strcmp(run->series[i]->plugin, kPlugins[p].owners[o]) << p;
      }
    }
  }
  leat_mutex_unlock(&run->lock);
  return found;
}

static void print_plugin(const board_api_t* api, const plugin_row_t* row, bool enabled,
                         leat_string_builder_t* out) {
  leat_string_builder_print(
      out, "\"%s\":{\"disable_reload\":%s,\"enabled\":%s,\"remove_dom\":false,\"tab_name\":\"%s\","
      "\"loading_mechanism\":", row->name, row->never_reloads ? "true" : "false",
      enabled ? "true" : "false", row->tab);
  if (!row->element) {
    leat_string_builder_append(out, LEAT_SV("{\"type\":\"NG_COMPONENT\"}}"));
  } else if (*row->element) {
    leat_string_builder_print(
        out, "{\"type\":\"CUSTOM_ELEMENT\",\"element_name\":\"%s\"}}", row->element);
  } else {
    leat_string_builder_print(
        out, "{\"type\":\"IFRAME\",\"module_path\":\"%s/data/plugin/%s/index.js\"}}",
        api->path_prefix, row->name);
  }
}

// Whether a run, or the log directory itself, has what the projector shows.
static bool has_embeddings(const board_api_t* api, board_run_t** runs, size_t count) {
  bool has_any = board_embeddings_may_exist(board_logdir_path(api->logdir));
  for (size_t i = 0; i < count && !has_any; ++i) {
    has_any = board_embeddings_may_exist(runs[i]->directory);
  }
  return has_any;
}

leat_status_t board_api_plugins(board_api_t* api, const board_request_t* request,
                                board_response_t* response) {
  board_run_t** runs;
  size_t count;
  uint32_t found = 0;
  (void)request;
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  for (size_t i = 0; i < count; ++i) found |= find_plugins(runs[i]);
  bool has_points = has_embeddings(api, runs, count);
  leat_allocator_free(leat_allocator_system(), runs);
  leat_string_builder_append_char(&response->body, '{');
  for (size_t p = 0; p < PLUGIN_COUNT; ++p) {
    if (p) leat_string_builder_append_char(&response->body, ',');
    bool is_enabled = found >> p & 1 || (has_points && !strcmp(kPlugins[p].name, "projector"));
    print_plugin(api, &kPlugins[p], is_enabled, &response->body);
  }
  leat_string_builder_append_char(&response->body, '}');
  return leat_ok_status();
}
