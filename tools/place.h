// What leat place runs and measures.
#ifndef LEAT_TOOLS_PLACE_H_
#define LEAT_TOOLS_PLACE_H_

#include "json.h"
#include "leat/inspect.h"

typedef struct place_step_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_SessionOptions* options;
  TF_Output fetches[64];
  const TF_Operation* targets[64];
  int fetch_count, target_count;
  bool may_fail;  // a step that does not run is no error: place_measured_t says why
} place_step_t;

typedef struct place_measured_s {
  int steps;
  double step_us;       // of the shortest step
  TF_Buffer* metadata;  // RunMetadata of one
  leat_message_t* message;
  char reason[300];     // why it did not run, or ""
} place_measured_t;

// Opens a session, runs |inits|, then the step several times, for about two seconds at most.
// Placeholders among |nodes| (of leat_explain_placement) that |feeds| leave out are fed zeros: of
// their shape, 32 where a dimension is not known. The exit code.
int place_measure(place_step_t* step, const char* const* inits, int init_count,
                  const char* const* feeds, int feed_count, const json_t* nodes,
                  place_measured_t* out_measured);
// The time that kernels took on a device.
double place_measured_busy_us(const place_measured_t* measured, const char* device);
void place_measured_free(place_measured_t* measured);

#endif  // LEAT_TOOLS_PLACE_H_
