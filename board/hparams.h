// The sessions and the experiment of hyper-parameters that a log directory tells, read at one
// moment. A session is a run that wrote with which hyper-parameters it began. The scalars of a
// session are its own and those of the runs below it, but for runs below a session that is nearer.
#ifndef LEAT_BOARD_HPARAMS_H_
#define LEAT_BOARD_HPARAMS_H_

#include "board/logdir.h"
#include "formats/generated/hparams.h"

// Kinds of leat_pb_value_t (its kind_case), and TensorBoard's types of hyper-parameters.
enum { BOARD_HPARAM_NUMBER = 2, BOARD_HPARAM_TEXT = 3, BOARD_HPARAM_BOOL = 4 };
enum { BOARD_HPARAM_TYPE_TEXT = 1, BOARD_HPARAM_TYPE_BOOL = 2, BOARD_HPARAM_TYPE_NUMBER = 3 };

// A group is the run below the session; empty for the session itself.
typedef leat_pb_hparam_metric_name_t board_metric_name_t;

// The newest value of a scalar.
typedef struct board_metric_value_s {
  board_metric_name_t name;
  double value, wall_time;
  int64_t step;
} board_metric_value_t;

typedef struct board_metric_list_s {
  board_metric_value_t* items;
  size_t count;
} board_metric_list_t;

typedef struct board_session_s {
  leat_string_view_t name;  // of the run
  const leat_pb_hparam_session_start_t* start;
  const leat_pb_hparam_session_end_t* end;  // NULL while it runs, or where it died
  board_metric_list_t metrics;              // in the order of their tags, then of their groups
} board_session_t;

typedef struct board_hparams_s {
  board_session_t* sessions;  // in the order of their names
  size_t session_count;
  const leat_pb_hparam_experiment_t* experiment;  // what a program wrote; NULL: nothing
} board_hparams_t;

// Reads all of it into |arena|.
LEAT_MUST_USE leat_status_t board_hparams_read(board_logdir_t* logdir, leat_arena_t* arena,
                                               board_hparams_t* out_hparams);
// The experiment that was written, or else one made of what the sessions have: every hyper-
// parameter and every metric that any of them has.
LEAT_MUST_USE leat_status_t board_hparams_experiment(const board_hparams_t* hparams,
                                                     leat_arena_t* arena,
                                                     leat_pb_hparam_experiment_t* out_experiment);
// The value of |name|; NULL where the session has none or it is no value (null, not a number).
const leat_pb_value_t* board_hparam_find(const leat_pb_hparam_session_start_t* start,
                                                leat_string_view_t name);
// Whether |value| is one of the three kinds, and not NaN.
bool board_hparam_is_value(const leat_pb_value_t* value);
// |*name|, or the empty name where it is NULL.
board_metric_name_t board_metric_name_of(const board_metric_name_t* name);
// Below, equal to or above 0, by tag, then by group.
int board_metric_name_compare(board_metric_name_t a, board_metric_name_t b);

#endif  // LEAT_BOARD_HPARAMS_H_
