// Random graphs: whatever the executor, the number of threads, of devices and the optimizer, the
// fetches are, bit for bit, what a plain walk over the graph computes. A graph is drawn from a seed
// as a plan of kinds and inputs; its values are computed here while it is drawn, and it is built
// from the same plan. The kinds are those of which optimizers make something: elementwise ops,
// joins of slices, reductions of rows. All operations are exact or single roundings of float, so
// that no tolerance is needed. Control flow is in random_flow_test.c.
#include <stdlib.h>
#include <string.h>

#include "session/scene.h"
#include "slowdown.h"

enum { kNodes = 150, kWidth = 8, kJoint = 3, kFetches = 12, kSeeds = 40 };

typedef enum kind_e {
  KIND_FEED, KIND_CONSTANT,
  KIND_ADD, KIND_SUB, KIND_MAXIMUM, KIND_MINIMUM, KIND_NEG, KIND_IDENTITY, KIND_PASS, KIND_WORK,
  KIND_JOIN,  // the first items of a, then those of b, summed as the gradients of slices are
  KIND_ROW,   // a and the largest item of b
  KIND_HALVES,  // the same items of both, at least node FIRST_CONSTANT's, joined before and after
  KIND_END,
} kind_t;

typedef struct plan_s {
  kind_t kinds[kNodes];
  int a[kNodes], b[kNodes];  // inputs
  float values[kNodes][kWidth];
  leat_output_t outputs[kNodes];
} plan_t;

enum { FIRST_CONSTANT = 3 };

static uint64_t seed;
static int draw(int below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((seed >> 33) % (uint64_t)below);
}

static float apply(kind_t kind, int item, float a, float b) {
  switch (kind) {
    case KIND_JOIN: return (item < kJoint ? a : b) + 0.0f;
    case KIND_ROW:
    case KIND_ADD: return a + b;
    case KIND_SUB: return a - b;
    case KIND_MAXIMUM: return a > b ? a : b;
    case KIND_MINIMUM: return a < b ? a : b;
    case KIND_NEG: return -a;
    case KIND_WORK: return a + 1;
    default: return a;
  }
}

static float largest(const float* items) {
  float best = items[0];
  for (int k = 1; k < kWidth; ++k) best = items[k] > best ? items[k] : best;
  return best;
}

static void describe(plan_t* p) {
  for (int i = 0; i < kNodes; ++i) {
    const kind_t drawn = (kind_t)(KIND_ADD + draw(KIND_END - KIND_ADD));
    p->kinds[i] = i < 3 ? KIND_FEED : i < 6 ? KIND_CONSTANT : drawn;
    p->a[i] = i ? draw(i) : 0;
    p->b[i] = i ? draw(i) : 0;
    if (i > 20 && draw(3)) p->a[i] = i - 1 - draw(10);  // depth
    const float *a = p->values[p->a[i]], *b = p->values[p->b[i]];
    for (int k = 0; k < kWidth; ++k) {
      const float other = p->kinds[i] == KIND_ROW ? largest(b) : b[k];
      const float least = p->values[FIRST_CONSTANT][k];
      p->values[i][k] =
          i < 6 ? (float)(draw(2001) - 1000) / 16 : apply(p->kinds[i], k, a[k], other);
      if (p->kinds[i] == KIND_HALVES) {
        p->values[i][k] = apply(KIND_MAXIMUM, k, k < kJoint ? a[k] : other, least);
      }
    }
  }
}

static leat_output_t slice(scene_t* s, leat_output_t x, int begin, int end) {
  leat_builder_t* b = &s->b;
  return leat_build(b, "Slice",
                    LEAT_INPUTS(x, leat_build_int32_vector(b, &begin, 1),
                                leat_build_int32_vector(b, &(int32_t){end - begin}, 1)),
                    LEAT_NO_ATTRS);
}

static leat_output_t join(scene_t* s, leat_output_t x, leat_output_t y) {
  leat_output_t axis = leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 0);
  return leat_build(&s->b, "ConcatV2", LEAT_INPUTS(x, y, axis), LEAT_NO_ATTRS);
}

static leat_output_t build_halves(scene_t* s, const plan_t* p, leat_output_t a, leat_output_t b) {
  leat_output_t joined = join(s, slice(s, a, 0, kJoint), slice(s, b, kJoint, kWidth));
  leat_output_t most = leat_build_binary(&s->b, "Maximum", joined, p->outputs[FIRST_CONSTANT]);
  leat_output_t both = join(s, slice(s, most, 0, kJoint), slice(s, most, kJoint, kWidth));
  LEAT_EXPECT_OK(s->b.status);
  return both;
}

// Items [begin, end) of |x|, and zeros in the place of the others.
static leat_output_t build_part(scene_t* s, leat_output_t x, int begin, int end) {
  leat_builder_t* b = &s->b;
  const int32_t paddings[] = {begin, kWidth - end};
  leat_output_t part = slice(s, x, begin, end);
  leat_output_t row = leat_build_binary(b, "Reshape", leat_build_int32_vector(b, paddings, 2),
                                        leat_build_int32_vector(b, (const int32_t[]){1, 2}, 2));
  leat_output_t padded = leat_build_binary(b, "Pad", part, row);
  LEAT_EXPECT_OK(b->status);
  return padded;
}

static void build(scene_t* s, plan_t* p, int devices) {
  static const char* const ops[] = {"",        "",    "AddV2",    "Sub",      "Maximum",
                                    "Minimum", "Neg", "Identity", "ProbePass", "ProbeWork"};
  for (int i = 0; i < kNodes; ++i) {
    kind_t kind = p->kinds[i];
    int device = devices > 1 && draw(2) ? draw(devices) : -1;
    leat_output_t a = p->outputs[p->a[i]], b = p->outputs[p->b[i]];
    if (kind == KIND_FEED) {
      p->outputs[i] = scene_placeholder(s, "", LEAT_DTYPE_FLOAT);
    } else if (kind == KIND_CONSTANT) {
      p->outputs[i] = scene_floats(s, kWidth, p->values[i]);
    } else if (kind == KIND_PASS) {
      p->outputs[i] = scene_pass(s, 1, device, a);
    } else if (kind == KIND_JOIN) {
      leat_output_t parts[] = {build_part(s, a, 0, kJoint), build_part(s, b, kJoint, kWidth)};
      p->outputs[i] = scene_output(s, "AddN", "", "", (leat_outputs_t){parts, 2}, LEAT_NO_ATTRS);
    } else if (kind == KIND_HALVES) {
      p->outputs[i] = build_halves(s, p, a, b);
    } else if (kind == KIND_ROW) {
      leat_output_t axis = leat_build_int32_vector(&s->b, &(int32_t){-1}, 1);
      p->outputs[i] =
          scene_binary(s, "AddV2", device, a, scene_binary(s, "Max", device, b, axis));
    } else if (kind < KIND_NEG) {
      p->outputs[i] = scene_binary(s, ops[kind], device, a, b);
    } else {
      p->outputs[i] = scene_unary(s, ops[kind], device, a);
    }
    if (i > 10 && !draw(4)) scene_after(s, p->outputs[i].node, p->outputs[6 + draw(i - 6)].node);
  }
}

static void check(scene_t* s, const plan_t* p) {
  leat_output_t fetches[kFetches];
  int nodes[kFetches];
  for (int i = 0; i < kFetches; ++i) {
    nodes[i] = 3 + draw(kNodes - 3);
    if (nodes[i] == 60) ++nodes[i];  // fed
    fetches[i] = p->outputs[nodes[i]];
  }
  // The three feeds and an edge in the middle, which is fed with the value that it has anyway.
  leat_output_t feeds[4];
  for (int i = 0; i < 4; ++i) feeds[i] = p->outputs[i < 3 ? i : 60];
  for (int step = 0; step < 2; ++step) {
    leat_tensor_t fed[4], got[kFetches];
    for (int i = 0; i < 4; ++i) {
      LEAT_EXPECT_OK(
          leat_tensor_vector(LEAT_DTYPE_FLOAT, p->values[i < 3 ? i : 60], kWidth, &fed[i]));
    }
    LEAT_EXPECT_OK(scene_run(s, (leat_outputs_t){feeds, 4}, fed,
                             (leat_outputs_t){fetches, kFetches}, got, NULL, 0));
    for (int i = 0; i < kFetches; ++i) {
      assert_int_equal(got[i].shape.element_count, kWidth);
      assert_memory_equal(got[i].data, p->values[nodes[i]], sizeof p->values[0]);
      leat_tensor_release(&got[i]);
    }
  }
}

static void all_ways_agree(void** state) {
  plan_t* plan = calloc(1, sizeof *plan);
  for (uint64_t first = 1; first <= kSeeds; first += LEAT_SLOWDOWN) {
    for (int way = 0; way < 8; ++way) {
      scene_t s;
      scene_open(&s);
      s.options.executor = way & 1 ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_AUTOMATIC;
      s.options.intra_op_threads = way & 2 ? 4 : 1;
      s.options.optimize = way & 4;
      s.options.optimizer.fusion_limit_elements = 1;
      s.options.cpu_device_count = 1 + (int)(first % 3);
      seed = first;
      describe(plan);
      build(&s, plan, s.options.cpu_device_count);
      check(&s, plan);
      check(&s, plan);  // another signature
      scene_close(&s);
    }
  }
  free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_ways_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
