// Asynchronous data parallelism: each device has a replica and a thread that trains it on its share
// of the data; nobody waits for the others. A replica's gradients may be of variables that another
// one has changed meanwhile, which training bears.
#include <stdio.h>

#include "leat/input.h"
#include "parallel.h"

#define STEPS 300  // of each replica
#define RATE 0.05f

typedef struct {
  TF_Output loss;
  TF_Operation* train;
  leat_callable_t* step;
} replica_t;

static replica_t build_replica(program_t* p, layer_t hidden, layer_t out, int device) {
  leat_scope_t* s = on_device(p->scope, device);
  TF_Output h = leat_relu(s, layer_apply(s, hidden, points(s, device, DEVICES)));
  TF_Output logits = layer_apply(s, out, h);
  replica_t r = {
      .loss = leat_sparse_softmax_cross_entropy(s, logits, labels(s, device, DEVICES))};
  // Updates happen where the variables are.
  r.train = leat_minimize(p->scope, leat_optimizer_sgd(RATE), r.loss);
  leat_scope_free(s);
  return r;
}

static void train_replica(void* data) {
  const replica_t* r = data;
  for (int i = 0; i < STEPS; ++i) run_number(r->step);
}

static float mean_loss(const program_t* p, const replica_t* replicas) {
  float sum = 0;
  for (int i = 0; i < DEVICES; ++i) {
    leat_callable_t* step = prepare(p, replicas[i].loss, NULL);
    sum += run_number(step);
    leat_callable_free(step);
  }
  return sum / DEVICES;
}

int run_asynchronous(void) {
  program_t p = program_begin();
  layer_t hidden = layer_make(p.scope, "hidden", 2, HIDDEN);
  layer_t out = layer_make(p.scope, "out", HIDDEN, CLASSES);
  replica_t replicas[DEVICES];
  for (int i = 0; i < DEVICES; ++i) replicas[i] = build_replica(&p, hidden, out, i);
  program_open(&p, PROCESSORS);
  float before = mean_loss(&p, replicas);
  leat_coordinator_t* threads = leat_coordinator_create();
  for (int i = 0; i < DEVICES; ++i) {
    replicas[i].step = prepare(&p, replicas[i].loss, replicas[i].train);
    leat_coordinator_start(threads, "replica", train_replica, &replicas[i], p.status);
    program_check(&p, "starting a replica");
  }
  leat_coordinator_join(threads, -1, p.status);
  leat_coordinator_free(threads);
  for (int i = 0; i < DEVICES; ++i) leat_callable_free(replicas[i].step);
  float after = mean_loss(&p, replicas);
  printf("asynchronous: %d replicas, loss %.3f -> %.3f\n", DEVICES, before, after);
  program_end(&p);
  return !(after < before / 2);
}
