// The n-th allocation or file call fails, for every n: the client room and the calls of leat/ say
// so (RESOURCE_EXHAUSTED, UNAVAILABLE) and lose nothing; the first n that is never met succeeds. A
// scenario is a function that uses a part of the API from beginning to end, and survive() runs it
// with each fault in turn. The scenarios are messages, event files, records, a model that trains,
// saves and restores, alone and under a supervisor, and input by queue runners, whose threads must
// all end. Under the sanitizers some n are left out, since a training run makes thousands of
// allocations. A save that fails leaves the checkpoint before it.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fault.h"
#include "capi/kit.h"
#include "leat/callable.h"
#include "leat/files.h"
#include "leat/input.h"
#include "leat/inspect.h"
#include "leat/summary.h"
#include "leat/supervisor.h"
#include "scratch.h"
#include "slowdown.h"

typedef void (*scenario_fn_t)(TF_Status* status);

// Runs |scenario| with each fault in turn; |stride| leaves some out where there are many.
static void survive(scenario_fn_t scenario, int kind, int64_t stride) {
  TF_Code allowed = kind == LEAT_FAULT_ALLOCATION ? TF_RESOURCE_EXHAUSTED : TF_UNAVAILABLE;
  for (int64_t n = 1;; n += stride) {
    leat_fault_t fault;
    TF_Status* status = TF_NewStatus();
    leat_fault_install(&fault, kind, n);
    scenario(status);
    bool met = leat_fault_remove(&fault);
    TF_Code code = TF_GetCode(status);
    if (code != TF_OK && (!met || code != allowed)) {
      fail_msg("fault %lld%s: code %d: %s", (long long)n, met ? "" : " (not met)", code,
               TF_Message(status));
    }
    TF_DeleteStatus(status);
    if (!met) return;
    assert_true(n < 100000);
  }
}

// ---- Messages, files ----------------------------------------------------------------------------

static void use_messages(TF_Status* status) {
  TF_Buffer text = {"node { name: 'a' op: 'NoOp' }", 29, NULL};
  TF_Buffer* bytes = leat_message_from_text("GraphDef", &text, status);
  TF_Buffer* again = bytes ? leat_message_to_text("GraphDef", bytes, status) : NULL;
  leat_message_t* message = again ? leat_message_open("GraphDef", bytes, status) : NULL;
  leat_message_close(message);
  TF_DeleteBuffer(again);
  TF_DeleteBuffer(bytes);
}

static void list_ops(TF_Status* status) {
  TF_DeleteBuffer(leat_ops_json(status));
  if (TF_GetCode(status) == TF_OK) TF_DeleteBuffer(leat_doctor_json(0, status));
}

static void write_events(TF_Status* status) {
  TF_Status* closing = TF_NewStatus();
  leat_events_t* events = leat_events_open("logs", status);
  if (events) leat_events_add_scalar(events, 1, "loss", 1, status);
  if (TF_GetCode(status) == TF_OK) {
    leat_events_add_histogram(events, 1, "w", (double[]){1, 2}, 2, status);
  }
  leat_events_close(events, TF_GetCode(status) == TF_OK ? status : closing);
  TF_DeleteStatus(closing);
}

static void make_summaries(TF_Status* status) {
  float label = 1, prediction = 0.5f;
  const char* tag = "loss";
  leat_chart_t chart = {"losses", &tag, 1, NULL, 0};
  leat_hparam_info_t info = {.name = "lr", .kind = LEAT_HPARAM_BOOL};
  leat_hparam_t hparam = leat_hparam_text("optimizer", "adam");
  leat_hparam_metric_t metric = {tag, NULL, NULL};
  TF_DeleteBuffer(leat_summary_pr_curve(
      "c", &(leat_pr_curve_t){&label, &prediction, NULL, 1, 5}, status));
  if (TF_GetCode(status) != TF_OK) return;
  TF_DeleteBuffer(leat_summary_layout(&(leat_chart_category_t){"A", &chart, 1, 0}, 1, status));
  if (TF_GetCode(status) != TF_OK) return;
  TF_DeleteBuffer(
      leat_summary_session_start(&(leat_session_start_t){&hparam, 1, "group"}, status));
  if (TF_GetCode(status) != TF_OK) return;
  TF_DeleteBuffer(
      leat_summary_experiment(&(leat_experiment_t){NULL, &info, 1, &metric, 1}, status));
}

static void write_and_read_records(TF_Status* status) {
  size_t size;
  leat_records_writer_t* writer = leat_records_create("r", status);
  if (writer) leat_records_write(writer, "abc", 3, status);
  TF_Status* closing = TF_NewStatus();
  leat_records_finish(writer, TF_GetCode(status) == TF_OK ? status : closing);
  TF_DeleteStatus(closing);
  if (TF_GetCode(status) != TF_OK) return;
  leat_records_t* records = leat_records_open("r", status);
  if (records) leat_records_next(records, &size, status);
  leat_records_close(records);
}

static void test_small_things(void** state) {
  survive(use_messages, LEAT_FAULT_ALLOCATION, 1);
  survive(list_ops, LEAT_FAULT_ALLOCATION, 1);
  survive(write_events, LEAT_FAULT_ALLOCATION, 1);
  survive(write_events, LEAT_FAULT_FILE, 1);
  survive(make_summaries, LEAT_FAULT_ALLOCATION, 1);
  survive(write_and_read_records, LEAT_FAULT_ALLOCATION, 1);
  survive(write_and_read_records, LEAT_FAULT_FILE, 1);
}

// ---- A model ------------------------------------------------------------------------------------

typedef struct model_s {
  TF_Graph* graph;
  leat_scope_t* scope;
  TF_Session* session;
  leat_saver_t* saver;
  TF_Output w;
  TF_Operation *train, *init;
} model_t;

static void close_model(model_t* m) {
  TF_Status* closing = TF_NewStatus();
  leat_saver_free(m->saver);
  if (m->session && closing) TF_DeleteSession(m->session, closing);
  leat_scope_free(m->scope);
  TF_DeleteGraph(m->graph);
  TF_DeleteStatus(closing);
  *m = (model_t){NULL};
}

static void build_model(model_t* m, TF_Status* status) {
  m->graph = TF_NewGraph();
  leat_scope_t* s = m->scope = m->graph ? leat_scope_create(m->graph) : NULL;
  m->w = leat_variable(s, "w", TF_FLOAT, 2, (int64_t[]){3, 2}, leat_initializer_uniform(0, 1, 3));
  TF_Output x = leat_constant_floats(s, 2, (int64_t[]){1, 3}, (float[]){1, 2, 3});
  TF_Output y = leat_relu(s, leat_matmul(s, x, m->w));
  m->train = leat_minimize(s, leat_optimizer_adam(0.1f), leat_mean(s, y));
  m->init = leat_variables_initializer(s);
  m->saver = leat_saver_create(s, "ckpt", (leat_saver_options_t){.keep = 2});
  if (!s) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no scope");
  } else {
    TF_SetStatus(status, TF_GetCode(leat_scope_status(s)), TF_Message(leat_scope_status(s)));
  }
}

static void open_session(model_t* m, TF_Status* status) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (options) {
    m->session = TF_NewSession(m->graph, options, status);
  } else {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no options");
  }
  TF_DeleteSessionOptions(options);
}

static void call_prepared(model_t* m, TF_Status* status) {
  float values[6];
  leat_array_t fetch = {.data = values, .size_bytes = sizeof values};
  leat_callable_t* f = leat_callable_create(m->session, NULL, 0, &m->w, 1, NULL, 0, status);
  if (f) leat_callable_run(f, NULL, &fetch, status);
  leat_callable_free(f);
}

static void train_save_restore(TF_Status* status) {
  model_t m = {NULL};
  build_model(&m, status);
  if (TF_GetCode(status) == TF_OK) open_session(&m, status);
  if (TF_GetCode(status) == TF_OK) leat_target_run(m.session, m.init, status);
  for (int i = 0; i < 2 && TF_GetCode(status) == TF_OK; ++i) {
    leat_target_run(m.session, m.train, status);
  }
  if (TF_GetCode(status) == TF_OK) leat_saver_save(m.saver, m.session, 2, status);
  if (TF_GetCode(status) == TF_OK) {
    leat_saver_restore_latest(m.saver, m.session, NULL, status);
  }
  if (TF_GetCode(status) == TF_OK) call_prepared(&m, status);
  close_model(&m);
}

static void test_model(void** state) {
  survive(train_save_restore, LEAT_FAULT_ALLOCATION, LEAT_SLOWDOWN > 1 ? 7 : 1);
}

// ---- A supervisor -------------------------------------------------------------------------------

// A fault that looks like one of a cluster, as a file's does, ends a session, and the next one goes
// on.
static void train_supervised(TF_Status* status) {
  model_t m = {NULL};
  build_model(&m, status);
  if (TF_GetCode(status) == TF_OK) {
    const leat_supervisor_spec_t spec = {.graph = m.graph,
                                         .init = m.init,
                                         .saver = m.saver,
                                         .logs = "logs",
                                         .poll_seconds = 1e-3,
                                         .last_step = 2};
    unlink("ckpt/checkpoint");
    leat_supervisor_t* supervisor = leat_supervisor_create(&spec, status);
    while (leat_supervisor_next(supervisor, NULL)) {
      leat_supervisor_run(supervisor, NULL, NULL, 0, NULL, NULL, 0, &m.train, 1);
    }
    leat_supervisor_close(supervisor, status);
  }
  close_model(&m);
}

static void test_supervisor(void** state) {
  survive(train_supervised, LEAT_FAULT_ALLOCATION, LEAT_SLOWDOWN > 1 ? 17 : 3);
  survive(train_supervised, LEAT_FAULT_FILE, 1);
}

// ---- A save that fails --------------------------------------------------------------------------

static int64_t saved_step;
static model_t kept;

static void save_next(TF_Status* status) {
  leat_saver_save(kept.saver, kept.session, ++saved_step, status);
}

static void expect_checkpoint(int64_t least) {
  int64_t step = -1;
  TF_Status* status = TF_NewStatus();
  leat_saver_restore_latest(kept.saver, kept.session, &step, status);
  kit_ok(status);
  assert_true(step >= least && step <= saved_step);
  TF_DeleteStatus(status);
}

// After each failure the newest checkpoint is the last one that was saved without.
static void survive_saving(int kind) {
  int64_t whole = saved_step;
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    TF_Status* status = TF_NewStatus();
    leat_fault_install(&fault, kind, n);
    save_next(status);
    bool met = leat_fault_remove(&fault);
    if (TF_GetCode(status) == TF_OK) whole = saved_step;
    assert_true(met || TF_GetCode(status) == TF_OK);
    TF_DeleteStatus(status);
    expect_checkpoint(whole);
    if (!met) return;
  }
}

static void test_failed_saves(void** state) {
  TF_Status* status = TF_NewStatus();
  build_model(&kept, status);
  kit_ok(status);
  open_session(&kept, status);
  leat_target_run(kept.session, kept.init, status);
  save_next(status);
  kit_ok(status);
  survive_saving(LEAT_FAULT_FILE);
  survive_saving(LEAT_FAULT_ALLOCATION);
  // Two checkpoints of two files and the state file; beside them stays only what the removal itself
  // failed on, a few of all saves.
  assert_true(saved_step > 50);
  assert_true(scratch_count("ckpt/") < 5 + 40);
  TF_DeleteStatus(status);
  close_model(&kept);
}

// ---- Input --------------------------------------------------------------------------------------

static void build_input(model_t* m, leat_queue_runner_t** out_runner, TF_Output* out_taken) {
  const TF_DataType type = TF_FLOAT;
  leat_scope_t* s = m->scope;
  leat_attribute_t attributes[] = {leat_attribute_types("component_types", 1, &type),
                                   leat_attribute_int("capacity", 2)};
  TF_Output queue = {leat_operation(s, "FIFOQueueV2", NULL, NULL, 0, attributes, 2), 0};
  TF_Output inputs[] = {queue, leat_constant_float(s, 1)};
  TF_Operation* enqueue = leat_operation(s, "QueueEnqueueV2", NULL, inputs, 2, NULL, 0);
  *out_runner = leat_queue_runner_create(s, queue, &enqueue, 1, NULL, NULL);
  *out_taken = (TF_Output){leat_operation(s, "QueueDequeueV2", NULL, &queue, 1, attributes, 1), 0};
}

// Threads that an operation of the queue has no memory for still end, all of them.
static void take_input(TF_Status* status) {
  model_t m = {.graph = TF_NewGraph()};
  m.scope = m.graph ? leat_scope_create(m.graph) : NULL;
  leat_coordinator_t* coordinator = leat_coordinator_create();
  leat_queue_runner_t* runner = NULL;
  TF_Output taken = {NULL, 0};
  TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no graph");
  if (m.scope && coordinator) {
    build_input(&m, &runner, &taken);
    TF_SetStatus(status, TF_GetCode(leat_scope_status(m.scope)), "");
  }
  if (TF_GetCode(status) == TF_OK) open_session(&m, status);
  if (TF_GetCode(status) == TF_OK) {
    leat_queue_runners_start(&runner, 1, m.session, coordinator, status);
    if (TF_GetCode(status) == TF_OK) leat_target_run(m.session, taken.oper, status);
    leat_coordinator_request_stop(coordinator, status);
    TF_Code code = TF_GetCode(status);
    leat_coordinator_join(coordinator, -1, status);
    if (code == TF_RESOURCE_EXHAUSTED) TF_SetStatus(status, code, "");
  }
  leat_coordinator_free(coordinator);
  leat_queue_runner_free(runner);
  close_model(&m);
}

static void test_input(void** state) { survive(take_input, LEAT_FAULT_ALLOCATION, 1); }

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_small_things),
      TEST(test_model),
      TEST(test_supervisor),
      TEST(test_failed_saves),
      TEST(test_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
