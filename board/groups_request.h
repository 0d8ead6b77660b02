// Requests of TensorBoard's plugin hparams, which are messages in JSON.
#ifndef LEAT_BOARD_GROUPS_REQUEST_H_
#define LEAT_BOARD_GROUPS_REQUEST_H_

#include "base/arena.h"
#include "formats/generated/hparams_request.h"

typedef leat_pb_hparam_groups_request_t board_groups_request_t;
typedef leat_pb_hparam_column_t board_column_t;  // what is asked of one hyper-parameter or metric

// What a column names and filters by: name_case and filter_case of board_column_t.
enum { BOARD_COLUMN_METRIC = 1, BOARD_COLUMN_HPARAM = 2 };
enum { BOARD_FILTER_REGEXP = 5, BOARD_FILTER_INTERVAL = 6, BOARD_FILTER_DISCRETE = 7 };

// Reads the message of |descriptor| that |json| states into |arena|. INVALID_ARGUMENT says where
// the text breaks which rule.
LEAT_MUST_USE leat_status_t board_json_decode(const leat_message_descriptor_t* descriptor,
                                              leat_string_view_t json, leat_arena_t* arena,
                                              void* out_message);
// Reads a request for groups. Each of its columns that sorts or filters has a name, and its
// aggregation is one of the enum; else INVALID_ARGUMENT.
LEAT_MUST_USE leat_status_t board_groups_request_read(leat_string_view_t json, leat_arena_t* arena,
                                                      board_groups_request_t* out_request);

#endif  // LEAT_BOARD_GROUPS_REQUEST_H_
