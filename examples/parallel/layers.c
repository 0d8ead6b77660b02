// Model parallelism: each layer and its variables are on a device of their own. What passes from
// layer to layer, there and back, is sent by the runtime: the graph says only where things are.
#include <math.h>
#include <stdio.h>

#include "parallel.h"

#define STEPS 200

// Layer i of the stack is on device i, or all are on the first one.
static TF_Output build(leat_scope_t* scope, int spread) {
  static const int sizes[DEVICES + 1] = {2, HIDDEN, HIDDEN, HIDDEN, CLASSES};
  TF_Output x = points(scope, 0, 1);
  for (int i = 0; i < DEVICES; ++i) {
    char name[16];
    snprintf(name, sizeof name, "layer%d", i);
    leat_scope_t* s = on_device(scope, spread ? i : 0);
    x = layer_apply(s, layer_make(s, name, sizes[i], sizes[i + 1]), x);
    if (i + 1 < DEVICES) x = leat_relu(s, x);
    leat_scope_free(s);
  }
  return leat_sparse_softmax_cross_entropy(scope, x, labels(scope, 0, 1));
}

static void train(int spread, float* out_first, float* out_last) {
  program_t p = program_begin();
  TF_Output loss = build(p.scope, spread);
  TF_Operation* target = leat_minimize(p.scope, leat_optimizer_sgd(0.2f), loss);
  program_open(&p, PROCESSORS);
  leat_callable_t* step = prepare(&p, loss, target);
  *out_first = run_number(step);
  for (int i = 0; i < STEPS; ++i) *out_last = run_number(step);
  leat_callable_free(step);
  program_end(&p);
}

int run_layers(void) {
  float first, last, one_first, one_last;
  train(0, &one_first, &one_last);
  train(1, &first, &last);
  printf("layers: %d on %d devices, loss %.3f -> %.3f (on one device %.3f)\n", DEVICES, DEVICES,
         first, last, one_last);
  return !(last < first / 2 && fabsf(last - one_last) < 1e-5f);
}
