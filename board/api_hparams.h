// What the two files that answer for hyper-parameters share.
#ifndef LEAT_BOARD_API_HPARAMS_H_
#define LEAT_BOARD_API_HPARAMS_H_

#include "board/api.h"
#include "board/session_groups.h"

// The JSON of a request: the body of a POST, or the parameter "request".
LEAT_MUST_USE leat_status_t board_api_request_json(const board_request_t* request,
                                                   leat_string_view_t* out_json);
// A value as JSON; NULL and what is none as null.
void board_api_print_hparam(const leat_pb_value_t* value, leat_string_builder_t* out);
// The entries of a session as those of a JSON object, without its braces; |request|, which may be
// NULL, says which.
void board_api_print_hparams(const leat_pb_hparam_session_start_t* start,
                             const board_groups_request_t* request, leat_string_builder_t* out);
// "name": {"tag": ..., "group": ...}
void board_api_print_metric_name(board_metric_name_t name, leat_string_builder_t* out);

#endif  // LEAT_BOARD_API_HPARAMS_H_
