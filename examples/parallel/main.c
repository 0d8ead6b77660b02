// parallel: trains on several devices, in four ways. Each way is a file of its own and follows the
// same lines: build the graph with devices in its scopes, open a session, run steps, print the
// loss. This file has what they share: a program's graph, scope and session, and prepared steps.
// The devices are CPU devices of one machine, which show everything but the gain in speed.
//
//   parallel                  all of them
//   parallel synchronous      replicas' gradients are averaged: the same losses as on one device
//   parallel asynchronous     replicas update the shared variables whenever they are done
//   parallel layers           the layers of one model on different devices
//   parallel concurrent       several steps of one model at once
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"

// ---- A program ----------------------------------------------------------------------------------

void program_check(const program_t* p, const char* what) {
  const TF_Status* status = p->status;
  if (TF_GetCode(status) == TF_OK) status = leat_scope_status(p->scope);
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "parallel: %s: %s\n", what, TF_Message(status));
  exit(1);
}

program_t program_begin(void) {
  program_t p = {.graph = TF_NewGraph(), .status = TF_NewStatus()};
  p.scope = leat_scope_create(p.graph);
  return p;
}

void program_open(program_t* p, const char* devices) {
  TF_Operation* init = leat_variables_initializer(p->scope);
  program_check(p, "building the graph");
  TF_SessionOptions* options = TF_NewSessionOptions();
  leat_set_devices(options, devices, p->status);
  p->session = TF_NewSession(p->graph, options, p->status);
  TF_DeleteSessionOptions(options);
  program_check(p, "opening a session");
  leat_target_run(p->session, init, p->status);
  program_check(p, "initialising");
}

void program_end(program_t* p) {
  TF_DeleteSession(p->session, p->status);
  leat_scope_free(p->scope);
  TF_DeleteGraph(p->graph);
  TF_DeleteStatus(p->status);
}

leat_scope_t* on_device(leat_scope_t* s, int device) {
  char name[32];
  snprintf(name, sizeof name, "/device:CPU:%d", device);
  return leat_scope_on(s, name);
}

leat_callable_t* prepare(const program_t* p, TF_Output number, TF_Operation* target) {
  const TF_Operation* targets[] = {target};
  leat_callable_t* step =
      leat_callable_create(p->session, NULL, 0, &number, 1, targets, target != NULL, p->status);
  program_check(p, "preparing a step");
  return step;
}

float run_number(leat_callable_t* step) {
  float number = 0;
  leat_array_t fetch = {TF_FLOAT, 0, {0}, &number, sizeof number};
  TF_Status* status = TF_NewStatus();  // many threads run steps
  leat_callable_run(step, NULL, &fetch, status);
  if (TF_GetCode(status) != TF_OK) fprintf(stderr, "parallel: a step: %s\n", TF_Message(status));
  if (TF_GetCode(status) != TF_OK) exit(1);
  TF_DeleteStatus(status);
  return number;
}

// ---- The problem --------------------------------------------------------------------------------

TF_Output points(leat_scope_t* s, int part, int parts) {
  float values[POINTS][2];
  int count = 0;
  for (int i = part; i < POINTS; i += parts) {
    float radius = 0.1f + 0.9f * (float)i / POINTS;
    float angle = 2.1f * (float)(i % CLASSES) + 3 * radius;
    values[count][0] = radius * cosf(angle);
    values[count++][1] = radius * sinf(angle);
  }
  return leat_constant_floats(s, 2, (int64_t[]){count, 2}, values[0]);
}

TF_Output labels(leat_scope_t* s, int part, int parts) {
  int32_t values[POINTS];
  int count = 0;
  for (int i = part; i < POINTS; i += parts) values[count++] = i % CLASSES;
  return leat_constant_ints(s, count, values);
}

layer_t layer_make(leat_scope_t* s, const char* name, int in, int out) {
  leat_scope_t* inner = leat_scope_enter(s, name);
  layer_t layer = {leat_variable(inner, "w", TF_FLOAT, 2, (int64_t[]){in, out},
                                 leat_initializer_glorot_uniform(1)),
                   leat_variable(inner, "b", TF_FLOAT, 1, (int64_t[]){out},
                                 leat_initializer_constant(0))};
  leat_scope_free(inner);
  return layer;
}

TF_Output layer_apply(leat_scope_t* s, layer_t layer, TF_Output x) {
  return leat_add(s, leat_matmul(s, x, layer.weights), layer.bias);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(void);
  } ways[WAYS] = {{"synchronous", run_synchronous},
                  {"asynchronous", run_asynchronous},
                  {"layers", run_layers},
                  {"concurrent", run_concurrent}};
  int found = 0, failures = 0;
  for (int i = 0; i < WAYS; ++i) {
    if (argc > 1 && strcmp(argv[1], ways[i].name)) continue;
    ++found;
    failures += ways[i].run() != 0;
    fflush(stdout);
  }
  if (found) return failures != 0;
  fprintf(stderr, "usage: parallel [synchronous | asynchronous | layers | concurrent]\n");
  return 2;
}
