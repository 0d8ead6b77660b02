// The phases of a step, from a graph whose nodes name the devices of a cluster's tasks.
#ifndef LEAT_TOOLS_SIMULATE_GRAPH_STEP_H_
#define LEAT_TOOLS_SIMULATE_GRAPH_STEP_H_

#include "simulate/scenario.h"

enum { GRAPH_STEP_MOST = 64 };

typedef struct graph_step_request_s {
  const char* path;  // of a GraphDef
  const char* fetches[GRAPH_STEP_MOST];
  const char* targets[GRAPH_STEP_MOST];
  int fetch_count, target_count;
  const char* server_job;  // nodes of its tasks are the servers', all others the worker's
  const char* costs;       // a file of RunMetadata with the times of kernels; NULL: estimates
} graph_step_request_t;

// Replaces the scenario's phases and number of servers by those of the graph. Returns an exit code,
// after a complaint if it is not EXIT_OK.
int graph_step_read(const graph_step_request_t* request, scenario_t* scenario);

#endif  // LEAT_TOOLS_SIMULATE_GRAPH_STEP_H_
