// The answers of the board: TensorBoard's read API, and a few addresses of our own.
//
// Every file api_<plugin>.c answers for one plugin; api.c has the table of the addresses. An answer
// is made on a thread of the HTTP server, of snapshots or under the lock of one run at a time. An
// answer of TensorBoard's API is that of TensorBoard for the same logs, because its pages and
// people's scripts read it; the addresses of our own begin with /data/leat/.
#ifndef LEAT_BOARD_API_H_
#define LEAT_BOARD_API_H_

#include "board/http.h"
#include "board/logdir.h"
#include "board/snapshot.h"

typedef struct board_graph_store_s board_graph_store_t;
typedef struct board_trace_store_s board_trace_store_t;
typedef struct board_dump_store_s board_dump_store_t;

typedef struct board_api_s {
  board_logdir_t* logdir;
  board_graph_store_t* graphs;
  board_trace_store_t* traces;
  board_dump_store_t* dumps;
  const char* path_prefix;
  bool deletes_runs;
} board_api_t;

// What a route gets. An error becomes an answer: INVALID_ARGUMENT 400, PERMISSION_DENIED 403,
// NOT_FOUND 404, UNIMPLEMENTED 501, others 500, each with its message as text.
typedef leat_status_t (*board_route_fn_t)(board_api_t* api, const board_request_t* request,
                                          board_response_t* response);

// The handler of the HTTP server; |data| is the board_api_t.
void board_api_handle(void* data, const board_request_t* request, board_response_t* response);

// ---- What the plugins share ---------------------------------------------------------------------
// The run that the parameter "run" names and the tag; INVALID_ARGUMENT where one is missing,
// NOT_FOUND where there is no such run.
LEAT_MUST_USE leat_status_t board_api_run_and_tag(board_api_t* api, const board_request_t* request,
                                                  board_run_t** out_run,
                                                  leat_string_view_t* out_tag);
// A whole number of the query, |fallback| where it is absent, INVALID_ARGUMENT where it is none.
LEAT_MUST_USE leat_status_t board_api_int(const board_request_t* request, const char* name,
                                          int64_t fallback, int64_t* out_value);
// Prints what stands behind the tag of |series| in an index; NULL prints the tag alone, in a list.
typedef void (*board_api_print_fn_t)(board_series_t* series, leat_string_builder_t* out);
// {"run": {"tag": ..., ...}, ...} of the runs that have series of |plugin| and class.
LEAT_MUST_USE leat_status_t board_api_index(board_api_t* api, const char* plugin,
                                            board_data_class_t data_class,
                                            board_api_print_fn_t print,
                                            leat_string_builder_t* out);
// ["tag", ...]: the tags of all such series, each once, in the order of the runs.
LEAT_MUST_USE leat_status_t board_api_tag_list(board_api_t* api, const char* plugin,
                                               board_data_class_t data_class,
                                               leat_string_builder_t* out);
// The content type of a picture, which its first bytes tell.
const char* board_api_image_type(leat_string_view_t bytes);
// "displayName": ..., "description": ...
void board_api_print_names(board_series_t* series, leat_string_builder_t* out);
// |text| as HTML: paragraphs, with all markup escaped.
void board_api_print_html(leat_string_view_t text, leat_string_builder_t* out);
// The points of scalars as a JSON list of [wall time, step, value].
void board_api_print_points(const board_snapshot_t* snapshot, leat_string_builder_t* out);
// The text of board_api_print_html as a JSON string.
void board_api_print_html_string(leat_string_view_t text, leat_string_builder_t* out);

#define BOARD_ROUTE(name)                                                         \
  LEAT_MUST_USE leat_status_t name(board_api_t* api, const board_request_t* request, \
                                   board_response_t* response)
BOARD_ROUTE(board_api_runs);
BOARD_ROUTE(board_api_environment);
BOARD_ROUTE(board_api_logdir);
BOARD_ROUTE(board_api_window_properties);
BOARD_ROUTE(board_api_nothing);
BOARD_ROUTE(board_api_plugins);
BOARD_ROUTE(board_api_scalar_tags);
BOARD_ROUTE(board_api_scalars);
BOARD_ROUTE(board_api_scalars_multirun);
BOARD_ROUTE(board_api_layout);
BOARD_ROUTE(board_api_custom_scalars);
BOARD_ROUTE(board_api_histogram_tags);
BOARD_ROUTE(board_api_histograms);
BOARD_ROUTE(board_api_distributions);
BOARD_ROUTE(board_api_image_tags);
BOARD_ROUTE(board_api_images);
BOARD_ROUTE(board_api_image);
BOARD_ROUTE(board_api_audio_tags);
BOARD_ROUTE(board_api_audio);
BOARD_ROUTE(board_api_sound);
BOARD_ROUTE(board_api_text_tags);
BOARD_ROUTE(board_api_text);
BOARD_ROUTE(board_api_raw_text);
BOARD_ROUTE(board_api_hparams);
BOARD_ROUTE(board_api_experiment);
BOARD_ROUTE(board_api_metric_evals);
BOARD_ROUTE(board_api_session_groups);
BOARD_ROUTE(board_api_hparams_table);
BOARD_ROUTE(board_api_graph_info);
BOARD_ROUTE(board_api_graph);
BOARD_ROUTE(board_api_run_metadata);
BOARD_ROUTE(board_api_graph_levels);
BOARD_ROUTE(board_api_graph_item);
BOARD_ROUTE(board_api_graph_search);
BOARD_ROUTE(board_api_graph_stages);
BOARD_ROUTE(board_api_graph_changes);
BOARD_ROUTE(board_api_dumps);
BOARD_ROUTE(board_api_pr_curve_tags);
BOARD_ROUTE(board_api_pr_curves);
BOARD_ROUTE(board_api_projector_runs);
BOARD_ROUTE(board_api_projector_info);
BOARD_ROUTE(board_api_projector_tensor);
BOARD_ROUTE(board_api_projector_metadata);
BOARD_ROUTE(board_api_projector_bookmarks);
BOARD_ROUTE(board_api_projector_sprite);
BOARD_ROUTE(board_api_projection);
BOARD_ROUTE(board_api_mesh_tags);
BOARD_ROUTE(board_api_meshes);
BOARD_ROUTE(board_api_mesh_data);
BOARD_ROUTE(board_api_traces);
BOARD_ROUTE(board_api_trace);
BOARD_ROUTE(board_api_trace_steps);
BOARD_ROUTE(board_api_trace_window);
BOARD_ROUTE(board_api_trace_slice);
BOARD_ROUTE(board_api_trace_node);
BOARD_ROUTE(board_api_trace_arrows);
BOARD_ROUTE(board_api_trace_step);
BOARD_ROUTE(board_api_status);
BOARD_ROUTE(board_api_overview);
BOARD_ROUTE(board_api_delete_run);
BOARD_ROUTE(board_api_columns);
BOARD_ROUTE(board_api_scalar_tag_list);
BOARD_ROUTE(board_api_live);
BOARD_ROUTE(board_api_page);
BOARD_ROUTE(board_api_style);
BOARD_ROUTE(board_api_script);

#endif  // LEAT_BOARD_API_H_
