// A graph, a session over it and short forms of what tests of the runtime do all the time. Every
// failure that the caller does not ask for fails the test.
#ifndef LEAT_TESTS_SESSION_SCENE_H_
#define LEAT_TESTS_SESSION_SCENE_H_

#include "base/test.h"
#include "graph/builder.h"
#include "session/probe.h"

typedef struct scene_s {
  const leat_runtime_t* runtime;
  leat_shared_graph_t* shared;
  leat_graph_t* graph;
  leat_builder_t b;
  leat_session_options_t options;  // to change before the first run
  leat_session_t* session;         // made by the first run
} scene_t;

// With every optimizer off; counts of probes are reset.
void scene_open(scene_t* scene);
void scene_close(scene_t* scene);
leat_session_t* scene_session(scene_t* scene);

// Calls |test| on both executors, with pools of 1 and of 4 threads, optimizers off and on.
typedef void (*scene_test_fn_t)(scene_t* scene);
void scene_run_all_ways(scene_test_fn_t test);

// ---- Nodes. A failure to build one fails the test. ----------------------------------------------

// One of |op| under a name of the caller's ("" takes the op's), perhaps on a device ("" = any).
int32_t scene_node(scene_t* scene, const char* op, const char* name, const char* device,
                   leat_outputs_t inputs, leat_attrs_t attrs);
leat_output_t scene_output(scene_t* scene, const char* op, const char* name, const char* device,
                           leat_outputs_t inputs, leat_attrs_t attrs);
leat_output_t scene_placeholder(scene_t* scene, const char* name, int dtype);
// A placeholder of floats of that shape; -1: unknown.
leat_output_t scene_matrix(scene_t* scene, const char* name, int64_t rows, int64_t columns);
leat_output_t scene_float(scene_t* scene, float value);
leat_output_t scene_floats(scene_t* scene, int count, const float* values);
// On /device:CPU:<device>; -1 = any.
leat_output_t scene_unary(scene_t* scene, const char* op, int device, leat_output_t x);
leat_output_t scene_binary(scene_t* scene, const char* op, int device, leat_output_t x,
                           leat_output_t y);
leat_output_t scene_pass(scene_t* scene, int id, int device, leat_output_t x);
leat_output_t scene_wait(scene_t* scene, int id, int device, leat_output_t x);
leat_output_t scene_fail(scene_t* scene, leat_status_code_t code, int device, leat_output_t x);
int32_t scene_mark(scene_t* scene, int id, int device);
void scene_after(scene_t* scene, int32_t node, int32_t earlier);  // a control edge

// ---- Runs ---------------------------------------------------------------------------------------

leat_tensor_t scene_value(float value);  // a scalar, the caller's
// All of a run; |feed_values| are released.
LEAT_MUST_USE leat_status_t scene_run(scene_t* scene, leat_outputs_t feeds,
                                      leat_tensor_t* feed_values, leat_outputs_t fetches,
                                      leat_tensor_t* fetch_values, const int32_t* targets,
                                      int target_count);
LEAT_MUST_USE leat_status_t scene_fetch(scene_t* scene, leat_output_t fetch,
                                        leat_tensor_t* out_value);
// A run that must succeed: the first item of |fetch|, with |feed| = |value| where it exists.
float scene_get(scene_t* scene, leat_output_t fetch);
float scene_get_fed(scene_t* scene, leat_output_t feed, float value, leat_output_t fetch);
LEAT_MUST_USE leat_status_t scene_target(scene_t* scene, int32_t target);
// Fails the test unless the status has that code and its message contains |text|; consumes it.
void scene_expect(leat_status_t status, leat_status_code_t code, const char* text);

#endif  // LEAT_TESTS_SESSION_SCENE_H_
