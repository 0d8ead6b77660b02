// Concurrent steps: one model, a few steps of it in flight, each over a share of the data. A step
// here goes through two accelerators (simulated ones, whose every kernel takes its time), one after
// the other; while one step is on the second, the next is on the first. The steps share the
// variables, as asynchronous replicas do.
#include <stdio.h>
#include <time.h>

#include "leat/input.h"
#include "parallel.h"

#define STEPS 240  // in all
#define SHARES 4
#define RATE 0.1f

typedef struct {
  leat_callable_t* step;
  int count;
} worker_t;

static double seconds(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_steps(void* data) {
  const worker_t* worker = data;
  for (int i = 0; i < worker->count; ++i) run_number(worker->step);
}

// Takes STEPS steps, |width| at a time; returns the seconds that took.
static double run_all(const program_t* p, leat_callable_t* const* steps, int width) {
  leat_coordinator_t* threads = leat_coordinator_create();
  worker_t workers[SHARES];
  double begun = seconds();
  for (int i = 0; i < width; ++i) {
    workers[i] = (worker_t){steps[i], STEPS / width};
    leat_coordinator_start(threads, "steps", run_steps, &workers[i], p->status);
    program_check(p, "starting a thread");
  }
  leat_coordinator_join(threads, -1, p->status);
  leat_coordinator_free(threads);
  return seconds() - begun;
}

// The loss over one share, and a step that lessens it.
static TF_Output build(leat_scope_t* s, layer_t hidden, layer_t out, int share,
                       TF_Operation** out_train) {
  leat_scope_t* first = leat_scope_on(s, "/device:SIM:0");
  leat_scope_t* second = leat_scope_on(s, "/device:SIM:1");
  TF_Output h = leat_relu(first, layer_apply(first, hidden, points(s, share, SHARES)));
  TF_Output logits = layer_apply(second, out, h);
  TF_Output loss = leat_sparse_softmax_cross_entropy(s, logits, labels(s, share, SHARES));
  *out_train = leat_minimize(s, leat_optimizer_sgd(RATE), loss);
  leat_scope_free(first);
  leat_scope_free(second);
  return loss;
}

int run_concurrent(void) {
  program_t p = program_begin();
  layer_t hidden = layer_make(p.scope, "hidden", 2, HIDDEN);
  layer_t out = layer_make(p.scope, "out", HIDDEN, CLASSES);
  TF_Output losses[SHARES];
  TF_Operation* trains[SHARES];
  leat_callable_t* steps[SHARES];
  for (int i = 0; i < SHARES; ++i) losses[i] = build(p.scope, hidden, out, i, &trains[i]);
  program_open(&p, "CPU:1,SIM:2");
  for (int i = 0; i < SHARES; ++i) steps[i] = prepare(&p, losses[i], trains[i]);
  float before = run_number(steps[0]);
  double alone = run_all(&p, steps, 1), together = run_all(&p, steps, SHARES);
  float after = run_number(steps[0]);
  printf("concurrent: loss %.3f -> %.3f, %.0f steps a second one by one, %.0f by %d\n", before,
         after, STEPS / alone, STEPS / together, SHARES);
  for (int i = 0; i < SHARES; ++i) leat_callable_free(steps[i]);
  program_end(&p);
  return !(after < before / 2);
}
