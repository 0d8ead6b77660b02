// The training that tests of supervisors interrupt: tests/client/supervisor_test.c in one process,
// tests/cluster/supervisor_test.c in a cluster. A 5 x 5 matrix w is fitted by gradient descent with
// momentum so that tanh(sin(phase + i) w) comes near cos(phase + i), where phase is the sine of the
// step's number. The expected losses come from plain steps in a session on the same graph
// (training_reference), in which no supervisor, save or restart takes part. Losses are compared to
// the bit, since each depends on all updates before it. An update that is lost or made twice, a
// momentum that is not restored, or a step under another number therefore changes every later loss.
// The reference also checks that neighbouring losses differ, because a graph that learns nothing
// would hide such mistakes.
#include "client/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS 6
#define COLUMNS 5

static TF_Output unary(leat_scope_t* s, const char* op, TF_Output x) {
  return (TF_Output){leat_operation(s, op, NULL, &x, 1, NULL, 0), 0};
}

// tanh(sin(phase + i) w) is to be cos(phase + i).
static TF_Output build_loss(leat_scope_t* s, TF_Output w, TF_Output phase) {
  float numbers[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; ++i) numbers[i] = (float)i;
  TF_Output angles = leat_add(
      s, leat_constant_floats(s, 2, (int64_t[]){ROWS, COLUMNS}, numbers), phase);
  TF_Output y = unary(s, "Tanh", leat_matmul(s, unary(s, "Sin", angles), w));
  return leat_mean(s, unary(s, "Square", leat_subtract(s, y, unary(s, "Cos", angles))));
}

static void observe(void* data, const leat_supervisor_event_t* event) {
  training_t* t = data;
  const size_t used = strlen(t->events);
  const char* name = strrchr(event->path, '/');
  snprintf(t->events + used, sizeof t->events - used, "%s %lld%s%s; ", event->name,
           (long long)event->step, name ? " " : "", name ? name + 1 : "");
  if (*event->message) snprintf(t->message, sizeof t->message, "%s", event->message);
  if (t->on_event) t->on_event(t, event);
}

void training_open(training_t* t, const char* variables, const char* others) {
  *t = (training_t){.graph = TF_NewGraph(), .status = TF_NewStatus()};
  leat_scope_t* root = t->scope = leat_scope_create(t->graph);
  leat_scope_t* there = leat_scope_on(root, variables);
  leat_scope_t* here = leat_scope_on(root, others);
  t->step = leat_global_step(there);
  TF_Output w = leat_variable(there, "w", TF_FLOAT, 2, (int64_t[]){COLUMNS, COLUMNS},
                              leat_initializer_glorot_uniform(7));
  t->phase = leat_placeholder(here, "phase", TF_FLOAT, 0, NULL);
  t->loss = build_loss(here, w, t->phase);
  t->train = leat_count_step(
      there, leat_minimize(there, leat_optimizer_momentum(0.1f, 0.9f), t->loss));
  TF_Output summary[] = {leat_constant_string(here, "loss"), t->loss};
  t->summary = (TF_Output){leat_operation(here, "ScalarSummary", NULL, summary, 2, NULL, 0), 0};
  t->init = leat_variables_initializer(root);
  t->saver = leat_saver_create(here, "ckpt", (leat_saver_options_t){
                                                 .keep = 3, .every_steps = TRAINING_SAVES});
  t->spec = (leat_supervisor_spec_t){.graph = t->graph,
                                     .init = t->init,
                                     .ready = leat_variables_uninitialized(here),
                                     .global_step = t->step,
                                     .saver = t->saver,
                                     .wait_seconds = 60,
                                     .poll_seconds = 0.01,
                                     .last_step = TRAINING_STEPS,
                                     .observe = observe,
                                     .data = t};
  kit_ok(leat_scope_status(root));
  leat_scope_free(there);
  leat_scope_free(here);
}

void training_close(training_t* t) {
  leat_saver_free(t->saver);
  leat_scope_free(t->scope);
  TF_DeleteGraph(t->graph);
  TF_DeleteStatus(t->status);
}

static TF_Tensor* phase_of(int64_t step) { return kit_float(sinf((float)step)); }

void training_reference(training_t* t, const char* target, float losses[TRAINING_STEPS]) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (*target) TF_SetTarget(options, target);
  TF_Session* session = TF_NewSession(t->graph, options, t->status);
  kit_ok(t->status);
  leat_target_run(session, t->init, t->status);
  kit_ok(t->status);
  for (int i = 0; i < TRAINING_STEPS; ++i) {
    const TF_Operation* target_operation = t->train;
    TF_Tensor *phase = phase_of(i), *loss = NULL;
    TF_SessionRun(session, NULL, &t->phase, &phase, 1, &t->loss, &loss, 1, &target_operation, 1,
                  NULL, t->status);
    kit_ok(t->status);
    losses[i] = kit_float_of(loss);
    assert_true(i == 0 || losses[i] != losses[i - 1]);
    TF_DeleteTensor(phase);
    TF_DeleteTensor(loss);
  }
  TF_CloseSession(session, t->status);
  TF_DeleteSession(session, t->status);
  TF_DeleteSessionOptions(options);
}

void training_begin(training_t* t) {
  t->events[0] = t->message[0] = 0;
  t->supervisor = leat_supervisor_create(&t->spec, t->status);
  kit_ok(t->status);
}

int training_step(training_t* t, int64_t step, const float* expected) {
  TF_Tensor *phase = phase_of(step), *loss = NULL;
  const int done = leat_supervisor_run(t->supervisor, &t->phase, &phase, 1, &t->loss, &loss, 1,
                                       &t->train, 1);
  assert_int_equal(loss != NULL, done);
  if (done && expected && kit_float_of(loss) != *expected) {
    fail_msg("step %lld: loss %a, must be %a", (long long)step, (double)kit_float_of(loss),
             (double)*expected);
  }
  TF_DeleteTensor(phase);
  TF_DeleteTensor(loss);
  return done;
}

void training_end(training_t* t, TF_Code code, const char* text) {
  assert_int_equal(leat_supervisor_next(t->supervisor, NULL), 0);
  leat_supervisor_close(t->supervisor, t->status);
  t->supervisor = NULL;
  if (code == TF_OK) {
    kit_ok(t->status);
  } else {
    kit_expect_text(t->status, code, text);
  }
}

int training_run(training_t* t, const float losses[TRAINING_STEPS]) {
  int done = 0;
  training_begin(t);
  for (int64_t step; leat_supervisor_next(t->supervisor, &step);) {
    done += training_step(t, step, &losses[step]);
  }
  training_end(t, TF_OK, "");
  return done;
}

void training_expect_events(const training_t* t, const char* events) {
  assert_string_equal(t->events, events);
}
