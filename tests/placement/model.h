// Graphs for placers, devices to place them on, and a search for the best placement that is as long
// as one likes: to judge a placer by. Nothing of it runs.
#ifndef LEAT_TESTS_PLACEMENT_MODEL_H_
#define LEAT_TESTS_PLACEMENT_MODEL_H_

#include "master/simulator.h"
#include "session/scene.h"

typedef struct model_s {
  const char* name;
  void (*build)(scene_t* scene);
} model_t;
// An LSTM of several layers, forward and with its gradients and updates; branches that join; chains
// with cross edges; random layers.
extern const model_t model_list[];
enum { MODEL_COUNT = 5 };
// 36,000 nodes: for how long placing takes.
extern const model_t model_large;

// |accelerators| devices "SIM" of some 10 TFLOP/s behind 10 GB/s, and a CPU.
void model_devices(int accelerators, leat_placement_device_t out_devices[1 + 8]);

typedef struct model_result_s {
  int64_t simple_ns, greedy_ns, best_ns;
  int64_t serial_ns;   // on one accelerator
  int64_t placing_ns;  // what the greedy placer took of a CPU
  size_t nodes;
  int groups;         // that have a choice
} model_result_t;
// Places |model| on |accelerators| devices with both placers, then searches for |seconds|, from the
// greedy placement and from random ones.
model_result_t model_judge(const model_t* model, int accelerators, double seconds);

#endif  // LEAT_TESTS_PLACEMENT_MODEL_H_
