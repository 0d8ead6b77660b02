// Graphs for placers, devices to place them on, and a search for a good placement to judge a placer
// by. The graphs have the forms on which a placer's mistakes cost most: a recurrent network, with
// and without its gradients, branches of unlike length, chains that read each other, and random
// layers. model_judge compares the greedy placer with the simple one and with the best that
// simulated annealing finds in the given time. All three are measured by the same simulator of
// costs (master/simulator.h). Nothing is run, so the figures say how well a placer minimises the
// simulated time, and not how good the simulation is.
#include "placement/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "gradient/gradient.h"

static leat_output_t node(scene_t* s, const char* op, leat_output_t x) {
  return scene_output(s, op, "", "", LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

static leat_output_t node2(scene_t* s, const char* op, leat_output_t x, leat_output_t y) {
  return scene_output(s, op, "", "", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}

static leat_output_t input(scene_t* s, int64_t rows, int64_t columns) {
  int64_t dims[] = {rows, columns};
  return scene_output(s, "Placeholder", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
}

typedef struct weights_s {
  leat_output_t handle, value;
} weights_t;

static weights_t weights(scene_t* s, int64_t rows, int64_t columns) {
  static int number;
  char name[32];
  snprintf(name, sizeof name, "weights%d", number++);
  int64_t dims[] = {rows, columns};
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims})),
                         LEAT_STRING("shared_name", leat_string_view_from(name))};
  weights_t w;
  w.handle = scene_output(s, "VarHandleOp", name, "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 3});
  w.value = scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(w.handle),
                         (leat_attrs_t){attrs, 1});
  return w;
}

static leat_output_t sum_all(scene_t* s, leat_output_t x) {
  const int32_t axes[] = {0, 1};
  return node2(s, "Sum", x, leat_build_int32_vector(&s->b, axes, 2));
}

// ---- LSTM ---------------------------------------------------------------------------------------

enum { LAYERS = 4, STEPS = 8, BATCH = 64, UNITS = 256 };

static void cell(scene_t* s, leat_output_t x, leat_output_t w, leat_output_t* h,
                 leat_output_t* c) {
  leat_output_t parts[] = {x, *h, leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 1)};
  leat_output_t both = scene_output(s, "ConcatV2", "", "", (leat_outputs_t){parts, 3},
                                    LEAT_ATTRS(LEAT_INT("N", 2)));
  leat_output_t gates = node2(s, "MatMul", both, w);
  int32_t split = scene_node(s, "Split", "", "",
                             LEAT_INPUTS(leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 1), gates),
                             LEAT_ATTRS(LEAT_INT("num_split", 4)));
  leat_output_t i = node(s, "Sigmoid", leat_node_output(split, 0));
  leat_output_t j = node(s, "Tanh", leat_node_output(split, 1));
  leat_output_t f = node(s, "Sigmoid", leat_node_output(split, 2));
  leat_output_t o = node(s, "Sigmoid", leat_node_output(split, 3));
  *c = node2(s, "AddV2", node2(s, "Mul", *c, f), node2(s, "Mul", i, j));
  *h = node2(s, "Mul", node(s, "Tanh", *c), o);
}

static void lstm(scene_t* s, bool train) {
  weights_t w[LAYERS];
  leat_output_t h[LAYERS], c[LAYERS], outputs[STEPS];
  for (int l = 0; l < LAYERS; ++l) {
    w[l] = weights(s, 2 * UNITS, 4 * UNITS);
    h[l] = input(s, BATCH, UNITS);
    c[l] = input(s, BATCH, UNITS);
  }
  for (int t = 0; t < STEPS; ++t) {
    leat_output_t x = input(s, BATCH, UNITS);
    for (int l = 0; l < LAYERS; ++l) {
      cell(s, x, w[l].value, &h[l], &c[l]);
      x = h[l];
    }
    outputs[t] = x;
  }
  leat_output_t all = scene_output(s, "AddN", "", "", (leat_outputs_t){outputs, STEPS},
                                   LEAT_NO_ATTRS);
  leat_output_t loss = sum_all(s, node(s, "Square", all));
  if (!train) return;
  leat_output_t xs[LAYERS];
  leat_gradient_value_t gradients[LAYERS];
  for (int l = 0; l < LAYERS; ++l) xs[l] = w[l].value;
  leat_gradient_spec_t spec = {.ys = &loss, .y_count = 1, .xs = xs, .x_count = LAYERS,
                               .prefix = LEAT_SV("gradients")};
  LEAT_EXPECT_OK(leat_add_gradients(s->graph, &spec, gradients));
  for (int l = 0; l < LAYERS; ++l) {
    scene_node(s, "ResourceApplyGradientDescent", "", "",
               LEAT_INPUTS(w[l].handle, scene_float(s, 0.1f), gradients[l].dense), LEAT_NO_ATTRS);
  }
}

static void lstm_forward(scene_t* s) { lstm(s, false); }
static void lstm_training(scene_t* s) { lstm(s, true); }

// ---- Branching graphs ---------------------------------------------------------------------------

// Towers of different length and width over one input, joined.
static void branches(scene_t* s) {
  leat_output_t x = input(s, 128, 256), ends[9];
  for (int b = 0; b < 9; ++b) {
    int64_t width = 128 << b % 4, before = 256;
    leat_output_t y = x;
    for (int l = 0; l < 3 + b % 5; ++l) {
      y = node(s, "Relu", node2(s, "MatMul", y, weights(s, before, width).value));
      before = width;
    }
    ends[b] = node2(s, "MatMul", y, weights(s, before, 64).value);
  }
  sum_all(s, scene_output(s, "AddN", "", "", (leat_outputs_t){ends, 9}, LEAT_NO_ATTRS));
}

// Chains that look at each other.
static void lattice(scene_t* s) {
  enum { CHAINS = 5, LENGTH = 10, WIDTH = 256 };
  leat_output_t row[CHAINS];
  for (int c = 0; c < CHAINS; ++c) row[c] = input(s, 128, WIDTH);
  for (int l = 0; l < LENGTH; ++l) {
    leat_output_t next[CHAINS];
    for (int c = 0; c < CHAINS; ++c) {
      leat_output_t y = node2(s, "MatMul", row[c], weights(s, WIDTH, WIDTH).value);
      if ((l + c) % 3 == 0) y = node2(s, "AddV2", y, row[(c + 1) % CHAINS]);
      next[c] = node(s, "Tanh", y);
    }
    memcpy(row, next, sizeof row);
  }
  sum_all(s, scene_output(s, "AddN", "", "", (leat_outputs_t){row, CHAINS}, LEAT_NO_ATTRS));
}

static void random_layers(scene_t* s) {
  enum { COUNT = 80, WIDTH = 192 };
  leat_output_t made[COUNT];
  uint32_t seed = 7;
  for (int i = 0; i < COUNT; ++i) {
    seed = seed * 1664525 + 1013904223;
    int a = i ? (int)(seed >> 8) % i : 0, b = i ? (int)(seed >> 16) % i : 0;
    if (i - a > 12) a = i - 12;
    if (i < 4) {
      made[i] = input(s, 96, WIDTH);
    } else if (seed % 3 == 0) {
      made[i] = node2(s, "AddV2", made[a], made[b]);
    } else {
      made[i] = node2(s, "MatMul", made[a], weights(s, WIDTH, WIDTH).value);
    }
  }
  sum_all(s, scene_output(s, "AddN", "", "", (leat_outputs_t){made, COUNT}, LEAT_NO_ATTRS));
}

// A step of 36,000 nodes: four chains, each now and then with a look at the next.
static void long_chains(scene_t* s) {
  enum { CHAINS = 4, LENGTH = 9000 };
  leat_output_t row[CHAINS];
  for (int c = 0; c < CHAINS; ++c) row[c] = input(s, 64, 256);
  for (int l = 1; l < LENGTH; ++l) {
    for (int c = 0; c < CHAINS; ++c) {
      row[c] = (l + c) % 50 ? node(s, "Tanh", row[c])
                            : node2(s, "AddV2", row[c], row[(c + 1) % CHAINS]);
    }
  }
  sum_all(s, scene_output(s, "AddN", "", "", (leat_outputs_t){row, CHAINS}, LEAT_NO_ATTRS));
}

const model_t model_large = {"long chains", long_chains};
const model_t model_list[] = {{"lstm", lstm_forward},
                              {"lstm with gradients", lstm_training},
                              {"branches", branches},
                              {"lattice", lattice},
                              {"random", random_layers}};

// ---- Judging ------------------------------------------------------------------------------------

void model_devices(int accelerators, leat_placement_device_t out_devices[1 + 8]) {
  static char names[9][64];
  for (int i = 0; i <= accelerators; ++i) {
    snprintf(names[i], sizeof names[i], "/job:localhost/replica:0/task:0/device:%s:%d",
             i ? "SIM" : "CPU", i ? i - 1 : 0);
    leat_placement_device_t* d = &out_devices[i];
    *d = (leat_placement_device_t){.name = leat_string_view_from(names[i]),
                                   .type = i ? LEAT_SV("SIM") : LEAT_SV("CPU"),
                                   .has_own_memory = i > 0};
    d->speed = i ? (leat_speed_t){.flops_per_ns = 10000, .bytes_per_ns = 500, .start_ns = 5000,
                                  .transfer_bytes_per_ns = 10, .transfer_ns = 10000}
                 : (leat_speed_t){.flops_per_ns = 100, .bytes_per_ns = 10, .start_ns = 500,
                                  .transfer_bytes_per_ns = 10, .transfer_ns = 2000};
  }
}

typedef struct search_s {
  leat_simulator_t sim;
  leat_groups_t groups;
  int32_t* devices;
  int32_t* roots;  // of the groups with a choice
  int root_count;
  uint64_t seed;
} search_t;

static uint64_t draw(search_t* s, uint64_t below) {
  s->seed ^= s->seed << 13;
  s->seed ^= s->seed >> 7;
  s->seed ^= s->seed << 17;
  return s->seed % below;
}

static void move(search_t* s, int32_t root, int device) {
  for (size_t i = 0; i < s->sim.graph->node_count; ++i) {
    if (leat_groups_of(&s->groups, (int32_t)i) == &s->groups.items[root]) s->devices[i] = device;
  }
}

static int64_t cost(search_t* s) {
  leat_simulator_run(&s->sim, s->devices);
  return s->sim.makespan_ns;
}

// Annealing from what |devices| hold until |deadline|; returns the best seen.
static int64_t anneal(search_t* s, int64_t deadline_ns, double heat) {
  int64_t start_ns = leat_clock_now_ns(), now = cost(s), best = now;
  for (int64_t t; (t = leat_clock_now_ns()) < deadline_ns;) {
    double left = (double)(deadline_ns - t) / (double)(deadline_ns - start_ns);
    double temperature = heat * (double)best * left * left;
    int moves = 1 + (int)draw(s, 2);
    int32_t roots[2], before[2];
    int device = (int)draw(s, (uint64_t)s->sim.device_count);
    for (int m = 0; m < moves; ++m) {
      roots[m] = s->roots[draw(s, (uint64_t)s->root_count)];
      before[m] = s->devices[roots[m]];
      if (leat_group_allows(&s->groups.items[roots[m]], device)) move(s, roots[m], device);
    }
    int64_t after = cost(s);
    double chance = exp(-(double)(after - now) / (temperature + 1));
    if (after <= now || (double)draw(s, 1000000) < 1e6 * chance) {
      now = after;
      if (now < best) best = now;
    } else {
      for (int m = moves; m-- > 0;) move(s, roots[m], before[m]);
    }
  }
  return best;
}

static void find_roots(search_t* s) {
  for (size_t i = 0; i < s->sim.graph->node_count; ++i) {
    leat_group_t* group = leat_groups_of(&s->groups, (int32_t)i);
    int choices = 0;
    for (int d = 0; d < s->sim.device_count; ++d) choices += leat_group_allows(group, d);
    if (group == &s->groups.items[i] && choices > 1) s->roots[s->root_count++] = (int32_t)i;
  }
}

static int64_t placed_cost(search_t* s, leat_graph_t* graph, leat_placer_options_t* options,
                           leat_placer_kind_t kind) {
  options->placer = kind;
  LEAT_EXPECT_OK(leat_place(graph, options));
  for (size_t i = 0; i < graph->node_count; ++i) s->devices[i] = graph->nodes[i].assigned_device;
  return cost(s);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

model_result_t model_judge(const model_t* model, int accelerators, double seconds) {
  scene_t scene;
  scene_open(&scene);
  model->build(&scene);
  leat_placement_device_t devices[9];
  model_devices(accelerators, devices);
  leat_placer_options_t options = {.kernels = scene.runtime->kernels, .devices = devices,
                                   .device_count = 1 + accelerators};
  size_t count = scene.graph->node_count;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  search_t s = {.seed = 88172645463325252u};
  s.devices = calloc(count, sizeof *s.devices);
  s.roots = calloc(count, sizeof *s.roots);
  LEAT_EXPECT_OK(leat_groups_initialize(scene.graph, &options, &arena, &s.groups));
  LEAT_EXPECT_OK(leat_groups_find(&s.groups, &arena));
  LEAT_EXPECT_OK(leat_simulator_initialize(&s.groups, &arena, &s.sim));
  find_roots(&s);
  model_result_t result = {.nodes = count, .groups = s.root_count};
  result.simple_ns = placed_cost(&s, scene.graph, &options, LEAT_PLACER_SIMPLE);
  for (int i = 0; i < s.root_count; ++i) move(&s, s.roots[i], 1);
  result.serial_ns = cost(&s);
  clock_t before = clock();
  result.greedy_ns = placed_cost(&s, scene.graph, &options, LEAT_PLACER_GREEDY);
  result.placing_ns = (int64_t)((double)(clock() - before) * (1e9 / CLOCKS_PER_SEC));
  int64_t share = (int64_t)(seconds * 1e9 / 3), now = leat_clock_now_ns();
  if (seconds > 1) options.effort = (int)(4 * seconds);
  int64_t longer_ns = placed_cost(&s, scene.graph, &options, LEAT_PLACER_GREEDY);
  result.best_ns = least(longer_ns, least(result.greedy_ns, anneal(&s, now + share, 0.01)));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < s.root_count; ++i) {
      int device = round ? 1 : 1 + (int)draw(&s, (uint64_t)accelerators);
      if (leat_group_allows(&s.groups.items[s.roots[i]], device)) move(&s, s.roots[i], device);
    }
    now = leat_clock_now_ns();
    result.best_ns = least(result.best_ns, anneal(&s, now + share, 0.05));
  }
  leat_simulator_deinitialize(&s.sim);
  leat_arena_deinitialize(&arena);
  free(s.devices);
  free(s.roots);
  scene_close(&scene);
  return result;
}
