// Groups of sessions with the same hyper-parameters, filtered, sorted and cut as a request says:
// the rows of TensorBoard's table of hyper-parameters.
#ifndef LEAT_BOARD_SESSION_GROUPS_H_
#define LEAT_BOARD_SESSION_GROUPS_H_

#include "board/groups_request.h"
#include "board/hparams.h"

typedef struct board_session_list_s {
  const board_session_t** items;
  size_t count;
} board_session_list_t;

typedef struct board_session_group_s {
  leat_string_view_t name, monitor_url;
  board_session_list_t sessions;
  board_metric_list_t metrics;  // of all its sessions
} board_session_group_t;

// The groups in |arena| in the order that the request asks for; those from |request->start_index|
// on are to be shown. |hparams| must outlive them. INVALID_ARGUMENT where a filter does not fit a
// value.
LEAT_MUST_USE leat_status_t board_groups_make(const board_hparams_t* hparams,
                                              const leat_pb_hparam_experiment_t* experiment,
                                              const board_groups_request_t* request,
                                              leat_arena_t* arena,
                                              board_session_group_t** out_groups,
                                              size_t* out_count);
// Whether |name| belongs into the result.
bool board_groups_has_hparam(const board_groups_request_t* request, leat_string_view_t name);

#endif  // LEAT_BOARD_SESSION_GROUPS_H_
