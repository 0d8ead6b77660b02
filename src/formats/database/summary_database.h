// Summaries in a database instead of event files (formats/record/event.h): what a run says at its
// steps, as TensorFlow's CreateSummaryDbWriter writes it. The run belongs to an experiment, and
// that to a user; each tag of the run is a series of tensors, one for each step.
//
//   leat_summary_database_t* summaries;
//   LEAT_RETURN_IF_ERROR(leat_summary_database_open(
//       LEAT_SV("runs.db"), (leat_summary_run_t){.run = LEAT_SV("first")}, &summaries));
//   status = leat_summary_database_add(summaries, &event);
//   ...
//   status = leat_status_join(status, leat_summary_database_close(summaries));
//
// Each event is in the database when the call that adds it returns, for all who read it.
#ifndef LEAT_FORMATS_DATABASE_SUMMARY_DATABASE_H_
#define LEAT_FORMATS_DATABASE_SUMMARY_DATABASE_H_

#include "base/status.h"
#include "base/string_view.h"
#include "formats/generated/event.h"

typedef struct leat_summary_database_s leat_summary_database_t;  // thread-safe

// Whose events are written. Without a run the tags belong to none, and the other names are not
// used; without an experiment the user is not.
typedef struct leat_summary_run_s {
  leat_string_view_t experiment, run, user;
} leat_summary_run_t;

// Opens the database at |path|, which may be a URI, or makes it. The names are copied.
// UNIMPLEMENTED without the module sqlite.
LEAT_MUST_USE leat_status_t leat_summary_database_open(leat_string_view_t path,
                                                       leat_summary_run_t run,
                                                       leat_summary_database_t** out_database);
// Notes when the run has ended. NULL is allowed.
LEAT_MUST_USE leat_status_t leat_summary_database_close(leat_summary_database_t* database);
// Adds the summaries or the graph of |event|, with its step and wall time; other events are passed
// over. A number is kept as a float under the plugin "scalars", a tensor with its type, a histogram
// as rows of (left, right, count), an image as (width, height, file), a sound as (file, ""). A
// second tensor of a tag at a step takes the place of the first. UNIMPLEMENTED for a type that is
// neither a number that TensorFlow keeps nor a string; UNAVAILABLE where another program writes.
LEAT_MUST_USE leat_status_t leat_summary_database_add(leat_summary_database_t* database,
                                                      const leat_pb_event_t* event);

#endif  // LEAT_FORMATS_DATABASE_SUMMARY_DATABASE_H_
