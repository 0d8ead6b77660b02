// The step that leat place runs and measures.
#ifndef LEAT_TOOLS_PLACE_H_
#define LEAT_TOOLS_PLACE_H_

#include "json.h"
#include "leat/inspect.h"

// The step, and the graph and options that it runs with, which are the caller's.
typedef struct place_step_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_SessionOptions* options;
  TF_Output fetches[64];
  const TF_Operation* targets[64];
  int fetch_count, target_count;
  bool may_fail;  // a step that does not run is no error, and place_measured_t says why
} place_step_t;

// What was measured; place_measured_free frees what it holds.
typedef struct place_measured_s {
  int steps;  // how many were measured
  double step_us;       // time of the shortest one
  TF_Buffer* metadata;  // RunMetadata of one more step
  leat_message_t* message;  // a view of |metadata|
  char reason[300];     // why the step did not run, or ""
} place_measured_t;

// Opens a session, runs |inits| one after the other, and then the step several times, for about two
// seconds. Placeholders among |nodes|, which are those of leat_explain_placement, are fed zeros
// where |feeds| leave them out: of their shape, with 32 for an unknown size. Returns the exit code.
int place_measure(place_step_t* step, const char* const* inits, int init_count,
                  const char* const* feeds, int feed_count, const json_t* nodes,
                  place_measured_t* out_measured);
// The time that kernels took on |device|, in microseconds, in the step that |metadata| describes.
double place_measured_busy_us(const place_measured_t* measured, const char* device);
void place_measured_free(place_measured_t* measured);

#endif  // LEAT_TOOLS_PLACE_H_
