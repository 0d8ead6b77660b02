// Groups of sessions with the same hyper-parameters, filtered, sorted and cut as a request says:
// the rows of TensorBoard's table of hyper-parameters.
#ifndef LEAT_BOARD_SESSION_GROUPS_H_
#define LEAT_BOARD_SESSION_GROUPS_H_

#include "board/hparams.h"
#include "board/json_reader.h"

typedef enum board_aggregation_e {
  BOARD_AGGREGATION_UNSET,  // as the mean
  BOARD_AGGREGATION_MEAN,
  BOARD_AGGREGATION_MEDIAN,
  BOARD_AGGREGATION_MIN,
  BOARD_AGGREGATION_MAX,
} board_aggregation_t;

// What a request says of one hyper-parameter or metric.
typedef struct board_column_s {
  bool is_metric;
  leat_string_view_t hparam;
  board_metric_name_t metric;
  int order;  // 0: not sorted by; 1: rising; 2: falling
  bool missing_first, exclude_missing;
  bool says_include, include;  // in the result
  // At most one of these filters is there.
  leat_string_view_t pattern;
  bool has_pattern, has_interval;
  double low, high;
  const board_json_t* choices;  // a list
} board_column_t;

typedef struct board_groups_request_s {
  uint32_t statuses;  // a bit each
  board_column_t* columns;
  size_t column_count;
  board_aggregation_t aggregation;
  board_metric_name_t aggregation_metric;
  int64_t start, size;
  bool leaves_metrics_out;
} board_groups_request_t;

typedef struct board_session_list_s {
  const board_session_t** items;
  size_t count;
} board_session_list_t;

typedef struct board_session_group_s {
  leat_string_view_t name, monitor_url;
  board_session_list_t sessions;
  board_metric_list_t metrics;  // of all its sessions
} board_session_group_t;

// Reads a ListSessionGroupsRequest. INVALID_ARGUMENT says which field breaks which rule.
LEAT_MUST_USE leat_status_t board_groups_request_read(leat_string_view_t json, leat_arena_t* arena,
                                                      board_groups_request_t* out_request);
// The groups in |arena| in the order that the request asks for; those from |request->start| on are
// to be shown. |hparams| must outlive them. INVALID_ARGUMENT where a filter does not fit a value.
LEAT_MUST_USE leat_status_t board_groups_make(const board_hparams_t* hparams,
                                              const leat_pb_hparam_experiment_t* experiment,
                                              const board_groups_request_t* request,
                                              leat_arena_t* arena,
                                              board_session_group_t** out_groups,
                                              size_t* out_count);
// Whether |name| belongs into the result.
bool board_groups_has_hparam(const board_groups_request_t* request, leat_string_view_t name);

#endif  // LEAT_BOARD_SESSION_GROUPS_H_
