// The greedy placer beside the best placement found by a long local search, by the step times that
// the simulator gives: placement [SECONDS a graph, 9] [ACCELERATORS]. One line a graph, and one for
// a graph of 36,000 nodes that is placed without a search. Exit status 1 when a greedy placement is
// more than a tenth longer, or when that of the large graph takes more than two seconds of a CPU.
#include <stdio.h>
#include <stdlib.h>

#include "placement/model.h"

#define PLACING_LIMIT_NS INT64_C(2000000000)

static double judge(const model_t* model, int accelerators, double seconds,
                    int64_t* out_placing_ns) {
  model_result_t r = model_judge(model, accelerators, seconds);
  double ratio = (double)r.greedy_ns / (double)r.best_ns;
  printf("%-20s %5d %6zu %6d  %9.1f %9.1f %9.1f %9.1f %10.1f  %.3f\n", model->name, accelerators,
         r.nodes, r.groups, (double)r.serial_ns / 1e3, (double)r.simple_ns / 1e3,
         (double)r.greedy_ns / 1e3, (double)r.best_ns / 1e3, (double)r.placing_ns / 1e6, ratio);
  fflush(stdout);
  *out_placing_ns = r.placing_ns;
  return ratio;
}

int main(int argc, char** argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 9;
  int only = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
  int64_t placing_ns;
  printf("%-20s %5s %6s %6s  %9s %9s %9s %9s %10s  %s\n", "graph", "SIMs", "nodes", "groups",
         "one us", "simple us", "greedy us", "best us", "placing ms", "greedy/best");
  for (int i = 0; i < MODEL_COUNT; ++i) {
    for (int accelerators = 2; accelerators <= 4; accelerators += 2) {
      if (only && accelerators != only) continue;
      failed |= judge(&model_list[i], accelerators, seconds, &placing_ns) > 1.1;
    }
  }
  (void)judge(&model_large, 4, 0, &placing_ns);
  return failed || placing_ns > PLACING_LIMIT_NS;
}
