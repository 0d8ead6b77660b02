// Where the ways of two kernels part, and what a kernel waited for, in steps of random graphs. The
// recordings are made of the builder's events: each node has edges to a few earlier ones, and the
// kernels of a step lie on some threads at random times, some without a length, some nodes with
// several kernels as in a loop. What the indexed search finds is compared with a walk that climbs
// one kernel at a time, and with one that looks through all kernels. Nodes that wait for each other
// at one moment, which only a damaged recording has, must not keep the search from ending.
#include "trace/delay_graph.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/random.h"
#include "base/test.h"

#define MAX_KERNELS 600

typedef struct scene_s {
  leat_timeline_builder_t* builder;
  leat_timeline_row_t* rows[4];
  leat_timeline_t* timeline;
  leat_arena_t arena;
  leat_delay_graph_t graph;
  leat_instances_t instances;
  leat_philox_t random;
} scene_t;

static uint32_t below(scene_t* scene, uint32_t limit) {
  uint32_t words[4];
  leat_philox_next(&scene->random, words);
  return words[0] % limit;
}

static void begin(scene_t* scene, uint64_t seed) {
  *scene = (scene_t){.random = leat_philox_make(seed, 1)};
  LEAT_EXPECT_OK(leat_timeline_builder_create(&scene->builder));
  for (uint32_t i = 0; i < 4; ++i) {
    LEAT_EXPECT_OK(leat_timeline_builder_row(scene->builder, 10 + i, &scene->rows[i]));
  }
}

static void name_of(uint32_t node, leat_slice_name_t* out_name) {
  static char text[16];
  snprintf(text, sizeof text, "n%u", node);
  *out_name = (leat_slice_name_t){LEAT_SV("Op"), leat_string_view_from(text), LEAT_SPAN_KERNEL, 7};
}

static void add_node(scene_t* scene, uint32_t node, uint32_t* producers, uint32_t count) {
  leat_slice_name_t name;
  name_of(node, &name);
  const leat_timeline_node_t added = {.graph = 7, .name = name.node, .producers = producers,
                                      .producer_count = count};
  LEAT_EXPECT_OK(leat_timeline_builder_node(scene->builder, &added));
}

static void add_kernel(scene_t* scene, uint32_t row, uint32_t node, int64_t begin_ns,
                       int64_t end_ns) {
  const leat_slice_facts_t facts = {.step = 1};
  leat_slice_name_t name;
  name_of(node, &name);
  LEAT_EXPECT_OK(leat_timeline_builder_begin(scene->builder, scene->rows[row], begin_ns, &name,
                                             &facts));
  leat_timeline_builder_end(scene->builder, scene->rows[row], end_ns);
}

// The kernels between the two times become those of the step.
static void look(scene_t* scene, int64_t begin_ns, int64_t end_ns) {
  const leat_step_t step = {.mark = 1, .begin_ns = begin_ns, .end_ns = end_ns};
  if (!scene->timeline) {
    scene->timeline = leat_timeline_builder_finish(scene->builder);
    leat_arena_initialize(leat_allocator_system(), 0, &scene->arena);
    LEAT_EXPECT_OK(leat_delay_graph_index(scene->timeline, &scene->arena, &scene->graph));
    LEAT_EXPECT_OK(leat_instances_initialize(&scene->graph, &scene->instances));
  }
  LEAT_EXPECT_OK(leat_instances_find(&scene->instances, &step));
}

static void end(scene_t* scene) {
  leat_instances_deinitialize(&scene->instances);
  leat_arena_deinitialize(&scene->arena);
  leat_timeline_free(scene->timeline);
  leat_timeline_builder_free(scene->builder);
}

// The last kernel that |of| waited for, by a look at all; NULL: it waited for none.
static const leat_instance_t* producer_of(const scene_t* scene, const leat_instance_t* of) {
  const leat_timeline_node_t* node = &scene->timeline->nodes[of->node];
  const leat_instance_t* last = NULL;
  for (uint32_t k = 0; k < node->producer_count; ++k) {
    const leat_instance_t* found = NULL;
    for (size_t i = 0; i < scene->instances.count; ++i) {
      const leat_instance_t* item = &scene->instances.items[i];
      const bool is_before = item->end_ns <= of->slice->begin_ns;
      if (item->node != node->producers[k] || !is_before) continue;
      if (!found || item->end_ns >= found->end_ns) found = item;
    }
    if (found && (!last || found->end_ns > last->end_ns)) last = found;
  }
  return last;
}

// Where the ways meet, one kernel at a time.
static int64_t parting_of(const scene_t* scene, const leat_instance_t* a,
                          const leat_instance_t* b) {
  for (int64_t steps = 0; a && b && steps < 2 * MAX_KERNELS; ++steps) {
    if (a->slice == b->slice) return a->end_ns;
    const leat_instance_t** later = a->end_ns >= b->end_ns ? &a : &b;
    *later = producer_of(scene, *later);
  }
  return 0;
}

static void check(scene_t* scene, size_t* inout_met) {
  const leat_instances_t* instances = &scene->instances;
  for (int i = 0; i < 400 && instances->count; ++i) {
    const leat_instance_t* a = &instances->items[below(scene, (uint32_t)instances->count)];
    leat_instance_t b = instances->items[below(scene, (uint32_t)instances->count)];
    leat_instance_t last, second;
    bool has_any;
    const leat_instance_t* wanted = producer_of(scene, a);
    leat_instances_producers(instances, a->node, a->slice->begin_ns, &last, &second, &has_any);
    assert_ptr_equal(last.slice, wanted ? wanted->slice : NULL);
    const int64_t parting_ns = parting_of(scene, a, &b);
    if (i % 2) b.place = 0;  // as that of a kernel that was met on its thread
    assert_int_equal(leat_instances_parting(instances, a, &b), parting_ns);
    *inout_met += parting_ns > 0 && a->slice != b.slice;
  }
}

// A kernel that the step does not have: its way begins with what it waited for among those that the
// step has, whatever kernels of its node these are.
static void check_stranger(scene_t* scene, leat_instance_t stranger) {
  const leat_instances_t* instances = &scene->instances;
  const leat_instance_t* last = producer_of(scene, &stranger);
  stranger.place = 0;
  for (size_t i = 0; i < instances->count; ++i) {
    const leat_instance_t* a = &instances->items[i];
    assert_int_equal(leat_instances_parting(instances, a, &stranger),
                     parting_of(scene, a, last));
  }
}

static void ways_part_where_a_walk_says(void** state) {
  size_t met = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    scene_t scene;
    int64_t now[4] = {1000, 1000, 1000, 1000}, last = 0;
    begin(&scene, seed);
    const uint32_t nodes = 2 + below(&scene, 200), reach = 1 + below(&scene, 40);
    for (uint32_t n = 0; n < nodes; ++n) {
      uint32_t producers[3], count = n ? below(&scene, 4) : 0;
      for (uint32_t k = 0; k < count; ++k) {
        producers[k] = n - 1 - below(&scene, LEAT_MIN(n, reach));
      }
      add_node(&scene, n, producers, count);
    }
    for (uint32_t i = 0; i < 3 * nodes; ++i) {
      const uint32_t row = below(&scene, 4), gap = below(&scene, 30);
      // Times differ in their last digit, so that no two ends are equal.
      const int64_t from = now[row] + 10 * gap + row, length = 10 * below(&scene, 20) * (i % 5 > 0);
      add_kernel(&scene, row, i < nodes ? i : below(&scene, nodes), from, from + length);
      now[row] = (from + length) / 10 * 10 + 10;
      last = LEAT_MAX(last, now[row]);
    }
    // The whole, and two parts of it one after the other.
    look(&scene, 0, last + 1);
    assert_int_equal(scene.instances.count, 3 * nodes);
    check(&scene, &met);
    look(&scene, last / 2, last + 1);
    check(&scene, &met);
    const size_t count = scene.instances.count;
    const leat_instance_t stranger =
        count ? scene.instances.items[below(&scene, (uint32_t)count)] : (leat_instance_t){0};
    look(&scene, 0, last / 2);
    check(&scene, &met);
    if (count) check_stranger(&scene, stranger);
    end(&scene);
  }
  assert_true(met > 1000);
}

// A chain of many kernels: the ways of its end and of what branched off early part far back.
static void long_ways_part(void** state) {
  scene_t scene;
  begin(&scene, 1);
  for (uint32_t n = 0; n < MAX_KERNELS; ++n) {
    uint32_t producer = n == MAX_KERNELS - 1 ? 3 : n - 1;
    add_node(&scene, n, &producer, n > 0);
    add_kernel(&scene, n == MAX_KERNELS - 1, n, 1000 + 10 * n, 1005 + 10 * n);
  }
  look(&scene, 0, 1000000);
  leat_instance_t end_of_chain = {0}, branch = {0};
  for (size_t i = 0; i < scene.instances.count; ++i) {
    const leat_instance_t* item = &scene.instances.items[i];
    if (item->node == MAX_KERNELS - 2) end_of_chain = *item;
    if (item->node == MAX_KERNELS - 1) branch = *item;
  }
  assert_int_equal(leat_instances_parting(&scene.instances, &end_of_chain, &branch), 1035);
  end(&scene);
}

static void kernels_that_wait_for_each_other_end(void** state) {
  scene_t scene;
  begin(&scene, 1);
  for (uint32_t n = 0; n < 3; ++n) {
    uint32_t producer = (n + 1) % 3;
    add_node(&scene, n, &producer, 1);
    add_kernel(&scene, n, n, 1000, 1000);
  }
  add_node(&scene, 3, NULL, 0);
  add_kernel(&scene, 3, 3, 900, 950);
  look(&scene, 0, 2000);
  for (int i = 0; i < 16; ++i) {
    const leat_instance_t *a = &scene.instances.items[i / 4], *b = &scene.instances.items[i % 4];
    const int64_t parting_ns = leat_instances_parting(&scene.instances, a, b);
    assert_true(parting_ns == 0 || parting_ns == 1000 || (a == b && parting_ns == a->end_ns));
  }
  end(&scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ways_part_where_a_walk_says),
      cmocka_unit_test(long_ways_part),
      cmocka_unit_test(kernels_that_wait_for_each_other_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
