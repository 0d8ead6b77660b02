// The programs of a group's members, run by a loop that lets one hop at a time go on, in an order
// that a seed draws. Whatever the order: each offer is taken once, nobody is left waiting, and the
// elements are what the collective promises, with the same bits at all members. The expected values
// come from plain loops over the inputs. Sizes around multiples of a chunk's alignment, groups of
// one, members of one task and of several, and more members than elements are among the cases.
#include "kernel/collective_program.h"

#include <stdlib.h>

#include "base/test.h"

#define MAX_MEMBERS 9
#define MAX_COUNT 8300

typedef struct scene_s {
  int size;
  int32_t starts[MAX_MEMBERS + 1];  // of tasks
  int32_t leaders[MAX_MEMBERS];     // of hosts
  leat_collective_group_t group;
  leat_collective_call_t calls[MAX_MEMBERS];
  leat_collective_program_t programs[MAX_MEMBERS];
  double data[MAX_MEMBERS][MAX_COUNT];
  double sent[MAX_MEMBERS][MAX_COUNT];
  double kept[MAX_MEMBERS][MAX_COUNT];
  leat_hop_t* offers[MAX_MEMBERS * MAX_MEMBERS * 32];
  int offer_count;
  bool is_skewed;  // merges depend on the order of the two
  uint32_t seed;
} scene_t;

static uint32_t draw(scene_t* s) {
  s->seed = s->seed * 1664525 + 1013904223;
  return s->seed >> 16;
}

// Whole numbers, so that sums are exact in any order.
static double input(int member, int64_t index) { return (double)(member * 1000 + index % 997); }

static bool fits(const leat_hop_t* offer, const leat_hop_t* taker, int offerer, int member) {
  return offer->peer == member && taker->peer == offerer && offer->tag.a == taker->tag.a &&
         offer->tag.b == taker->tag.b && offer->tag.c == taker->tag.c;
}

// The member that a hop belongs to.
static int owner(const scene_t* s, const leat_hop_t* hop) {
  for (int m = 0; m < s->size; ++m) {
    const leat_chain_t* chains = s->programs[m].chains;
    if (hop->chain >= chains && hop->chain < chains + s->programs[m].chain_count) return m;
  }
  fail();
  return -1;
}

static double merge(const scene_t* s, double first, double second) {
  return s->is_skewed ? first - 3 * second : first + second;
}

// Does the next hop of |chain|, a chain of |member|, if it can be done.
static bool advance(scene_t* s, int member, leat_chain_t* chain) {
  leat_hop_t* hop = chain->next;
  double* bytes = (double*)(void*)chain->bytes;
  switch (hop->kind) {
    case LEAT_HOP_OFFER: s->offers[s->offer_count++] = hop; break;
    case LEAT_HOP_DIVIDE:
      for (int64_t i = 0; i < chain->count; ++i) bytes[i] /= s->size;
      break;
    case LEAT_HOP_KEEP:
      memcpy(s->calls[member].kept, bytes, (size_t)chain->count * sizeof *bytes);
      break;
    case LEAT_HOP_TAKE:
    case LEAT_HOP_MERGE:
    case LEAT_HOP_MERGE_BEHIND: {
      int found = 0;
      while (found < s->offer_count &&
             !fits(s->offers[found], hop, owner(s, s->offers[found]), member)) {
        ++found;
      }
      if (found == s->offer_count) return false;
      const leat_chain_t* source = s->offers[found]->chain;
      const double* from = (const double*)(const void*)source->bytes;
      assert_int_equal(source->count, chain->count);
      for (int64_t i = 0; i < chain->count; ++i) {
        bytes[i] = hop->kind == LEAT_HOP_TAKE    ? from[i]
                   : hop->kind == LEAT_HOP_MERGE ? merge(s, bytes[i], from[i])
                                                 : merge(s, from[i], bytes[i]);
      }
      s->offers[found] = s->offers[--s->offer_count];
      break;
    }
  }
  ++chain->next;
  return true;
}

// Runs all programs to their ends, each time from a member and chain that is drawn.
static void run_all(scene_t* s) {
  for (bool moved = true; moved;) {
    moved = false;
    uint32_t first = draw(s);
    for (int i = 0; i < s->size; ++i) {
      int m = (int)((first + (uint32_t)i) % (uint32_t)s->size);
      leat_collective_program_t* program = &s->programs[m];
      uint32_t begin = draw(s);
      for (int64_t k = 0; k < program->chain_count; ++k) {
        int64_t turn = (begin + k) % program->chain_count;
        leat_chain_t* chain = &program->chains[turn];
        if (chain->next != chain->end && advance(s, m, chain)) moved = true;
      }
    }
  }
  assert_int_equal(s->offer_count, 0);
  for (int m = 0; m < s->size; ++m) {
    for (int64_t k = 0; k < s->programs[m].chain_count; ++k) {
      assert_ptr_equal(s->programs[m].chains[k].next, s->programs[m].chains[k].end);
    }
  }
}

// Makes a group whose tasks have |each| members, the last one what is left.
static scene_t* make_scene(leat_collective_kind_t kind, int size, int64_t count, int source,
                           int each) {
  scene_t* s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->size = size;
  s->seed = (uint32_t)(size * 31 + count);
  s->group = (leat_collective_group_t){.starts = s->starts, .source = source};
  for (int rank = 0; rank < size; rank += each) s->starts[s->group.task_count++] = rank;
  s->starts[s->group.task_count] = size;
  const bool starts_full = kind == LEAT_COLLECTIVE_REDUCE || kind == LEAT_COLLECTIVE_REDUCE_SCATTER;
  for (int m = 0; m < size; ++m) {
    for (int64_t i = 0; i < count; ++i) {
      s->data[m][i] = starts_full || m == source ? input(m, i) : -1;
      s->sent[m][i] = input(m, i);
    }
    s->calls[m] = (leat_collective_call_t){
        .kind = kind, .group_size = size, .dtype = LEAT_DTYPE_DOUBLE, .data = s->data[m],
        .count = count, .sent = s->sent[m], .kept = s->kept[m], .max_subdivs = -1};
  }
  return s;
}

static void create_programs(scene_t* s) {
  for (int m = 0; m < s->size; ++m) {
    LEAT_EXPECT_OK(leat_collective_program_create(&s->calls[m], m, &s->group,
                                                  leat_allocator_system(), &s->programs[m]));
  }
}

static scene_t* play(leat_collective_kind_t kind, int size, int64_t count, int source) {
  scene_t* s = make_scene(kind, size, count, source, size);
  create_programs(s);
  run_all(s);
  return s;
}

static void end(scene_t* s) {
  for (int m = 0; m < s->size; ++m) {
    leat_collective_program_free(&s->programs[m], leat_allocator_system());
  }
  free(s);
}

static const int64_t kCounts[] = {0, 1, 7, 8, 9, 63, 64, 65, 500, 697};
#define FOR_COUNTS(count)                                                               \
  for (size_t c_ = 0; c_ < sizeof kCounts / sizeof *kCounts; ++c_)                      \
    for (int64_t count = kCounts[c_], once_ = 1; once_; once_ = 0)

static void reduce__gives_the_sum_to_all(void** state) {
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    FOR_COUNTS(count) {
      scene_t* s = play(LEAT_COLLECTIVE_REDUCE, size, count, -1);
      for (int64_t i = 0; i < count; ++i) {
        double sum = 0;
        for (int m = 0; m < size; ++m) sum += input(m, i);
        for (int m = 0; m < size; ++m) assert_true(s->data[m][i] == sum);
      }
      end(s);
    }
  }
}

// Doubles above which a reduction goes by hosts and not in pairs.
#define LARGE_COUNT 8300

static void check_sums(const scene_t* s, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int m = 0; m < s->size; ++m) sum += input(m, i);
    for (int m = 0; m < s->size; ++m) assert_true(s->data[m][i] == sum);
  }
}

#define RING_COUNT 700

// Whatever the offsets, also such that are larger than a task.
static void reduce__goes_around_rings_with_offsets(void** state) {
  static const int32_t kOffsets[] = {0, -1, 2, -3, 100, INT32_MIN};
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    for (int each = 1; each <= size; ++each) {
      for (int count = 1; count <= 6; ++count) {
        scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, size, RING_COUNT, -1, each);
        for (int m = 0; m < size; ++m) {
          s->calls[m].subdiv_offsets = kOffsets;
          s->calls[m].subdiv_count = count;
        }
        create_programs(s);
        run_all(s);
        check_sums(s, RING_COUNT);
        end(s);
      }
    }
  }
}

static void pairs__give_the_sum_to_all(void** state) {
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    FOR_COUNTS(count) {
      scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, size, count, -1, 1);
      s->group.is_alike = true;
      create_programs(s);
      run_all(s);
      check_sums(s, count);
      end(s);
    }
  }
}

// Not even the order of two operands differs between members.
static void pairs__give_the_same_bits_to_all(void** state) {
  for (int size = 2; size <= MAX_MEMBERS; ++size) {
    scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, size, 100, -1, 1);
    s->group.is_alike = true;
    s->is_skewed = true;
    create_programs(s);
    run_all(s);
    for (int m = 1; m < size; ++m) {
      assert_memory_equal(s->data[m], s->data[0], 100 * sizeof *s->data[0]);
    }
    end(s);
  }
}

// Nine members meet at three distances, and one of them before and after that.
static void pairs__are_for_small_reductions_of_one_ring(void** state) {
  static const int32_t kOffsets[] = {1, 0};
  static const struct { int64_t count; int32_t offsets, limit; bool are_pairs; } kCases[] = {
      {1, 0, -1, true},  {8192, 0, -1, true}, {8193, 0, -1, false}, {0, 0, -1, false},
      {1, 0, 0, false},  {1, 0, 2, false},    {1, 1, -1, false},    {1, 2, -1, false}};
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kCases); ++k) {
    scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, 9, 0, -1, 1);
    double* data = calloc(8193, sizeof *data);
    s->group.is_alike = true;
    s->calls[0].data = data;
    s->calls[0].count = kCases[k].count;
    s->calls[0].subdiv_offsets = kOffsets;
    s->calls[0].subdiv_count = kCases[k].offsets;
    s->calls[0].max_subdivs = kCases[k].limit;
    LEAT_EXPECT_OK(leat_collective_program_create(&s->calls[0], 0, &s->group,
                                                  leat_allocator_system(), &s->programs[0]));
    assert_int_equal(s->programs[0].memory != NULL, kCases[k].are_pairs);
    if (kCases[k].are_pairs) assert_int_equal(s->programs[0].chain_count, 4);
    free(data);
    end(s);
  }
}

// Puts member m on the host m % hosts, or on m / each where |hosts| is 0.
static void place_on_hosts(scene_t* s, int hosts, int each) {
  for (int m = 0; m < s->size; ++m) {
    for (int k = m; k >= 0; --k) {
      if (hosts ? k % hosts == m % hosts : k / each == m / each) s->leaders[m] = k;
    }
  }
  s->group.is_alike = true;
  s->group.leaders = s->leaders;
}

// Between hosts each element goes as often as around a ring with a member on each: H hosts take
// all elements 2 (H - 1) times.
static int64_t count_crossings(const scene_t* s) {
  int64_t elements = 0;
  for (int m = 0; m < s->size; ++m) {
    for (const leat_hop_t* hop = s->programs[m].hops; hop->chain; ++hop) {
      const bool crosses = s->leaders[hop->peer] != s->leaders[m];
      if (hop->kind == LEAT_HOP_OFFER && crosses) elements += hop->chain->count;
    }
  }
  return elements;
}

static void check_reduction_by_hosts(int size, int hosts, int each, bool is_skewed) {
  scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, size, LARGE_COUNT, -1, 1);
  place_on_hosts(s, hosts, each);
  s->is_skewed = is_skewed;
  int leaders = 0;
  for (int m = 0; m < size; ++m) leaders += s->leaders[m] == m;
  create_programs(s);
  assert_int_equal(count_crossings(s), 2 * (leaders - 1) * LARGE_COUNT);
  run_all(s);
  if (!is_skewed) check_sums(s, LARGE_COUNT);
  for (int m = 1; m < size; ++m) {
    assert_memory_equal(s->data[m], s->data[0], LARGE_COUNT * sizeof *s->data[0]);
  }
  end(s);
}

// Hosts with one member and with several, of neighbouring ranks and of scattered ones.
static void hosts__give_the_same_sum_to_all(void** state) {
  for (int size = 3; size <= MAX_MEMBERS; ++size) {
    for (int each = 2; each < size; ++each) {
      for (int skewed = 0; skewed < 2; ++skewed) {
        check_reduction_by_hosts(size, 0, each, skewed);
        check_reduction_by_hosts(size, each, 0, skewed);
      }
    }
  }
}

static void hosts__have_the_mean_divided_once(void** state) {
  scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, 5, LARGE_COUNT, -1, 1);
  place_on_hosts(s, 2, 0);
  for (int m = 0; m < 5; ++m) s->calls[m].divides = true;
  create_programs(s);
  run_all(s);
  for (int64_t i = 0; i < LARGE_COUNT; ++i) {
    for (int m = 0; m < 5; ++m) assert_true(s->data[m][i] == 2000 + (double)(i % 997));
  }
  end(s);
}

// Chains go by chunks of half a MiB, and as TensorFlow's where there is nothing to gain.
static void hosts__matter_where_several_have_several_members(void** state) {
  static const int32_t kOffset = 1;
  static const struct { int64_t kibibytes; int hosts; int32_t offsets, limit, chains; } kCases[] = {
      {65, 2, 0, -1, 2}, {1023, 2, 0, -1, 2}, {1024, 2, 0, -1, 4}, {1 << 20, 2, 0, -1, 32},
      {65, 1, 0, -1, 4}, {1 << 20, 4, 0, -1, 4}, {65, 2, 1, -1, 4},   {65, 2, 0, 0, 4}};
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kCases); ++k) {
    scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, 4, 0, -1, 1);
    place_on_hosts(s, kCases[k].hosts, 0);
    s->calls[0].count = kCases[k].kibibytes << 7;  // of 8 bytes; nothing touches them
    s->calls[0].subdiv_offsets = &kOffset;
    s->calls[0].subdiv_count = kCases[k].offsets;
    s->calls[0].max_subdivs = kCases[k].limit;
    LEAT_EXPECT_OK(leat_collective_program_create(&s->calls[0], 0, &s->group,
                                                  leat_allocator_system(), &s->programs[0]));
    assert_int_equal(s->programs[0].chain_count, kCases[k].chains);
    end(s);
  }
}

// The picture in kernel/collective_program.c: two tasks of three members.
static void rings__begin_where_their_offsets_say(void** state) {
  static const struct { int32_t offset; int32_t ring[6]; } kRings[] = {
      {0, {0, 1, 2, 3, 4, 5}},  {1, {1, 2, 0, 4, 5, 3}},  {-1, {1, 0, 2, 4, 3, 5}},
      {-2, {0, 2, 1, 3, 5, 4}}, {5, {2, 0, 1, 5, 3, 4}}};
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kRings); ++k) {
    scene_t* s = make_scene(LEAT_COLLECTIVE_REDUCE, 6, 600, -1, 3);
    for (int m = 0; m < 6; ++m) {
      s->calls[m].subdiv_offsets = &kRings[k].offset;
      s->calls[m].subdiv_count = 1;
    }
    create_programs(s);
    for (int place = 0; place < 6; ++place) {
      const leat_collective_program_t* program = &s->programs[kRings[k].ring[place]];
      for (const leat_hop_t* hop = program->hops; hop->chain; ++hop) {
        if (hop->kind != LEAT_HOP_OFFER) continue;
        assert_int_equal(hop->peer, kRings[k].ring[(place + 1) % 6]);
        assert_int_equal(hop->tag.c, place);
      }
    }
    run_all(s);
    end(s);
  }
}

// Chunks of more than 4 MiB are divided, as often as there may be rings.
static void rings__are_as_many_as_the_size_asks_for(void** state) {
  static const struct { int64_t mebibytes; int32_t limit, size, each, rings; } kCases[] = {
      {8, 0, 2, 1, 1},  {9, 0, 2, 1, 2},   {100, 0, 2, 1, 2},  {100, 5, 2, 1, 5},
      {100, -1, 2, 1, 1}, {100, 0, 4, 2, 4}, {40, 0, 4, 4, 3}, {1, 7, 4, 4, 1}};
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kCases); ++k) {
    scene_t* s =
        make_scene(LEAT_COLLECTIVE_REDUCE, kCases[k].size, 0, -1, kCases[k].each);
    s->calls[0].count = kCases[k].mebibytes << 17;  // of 8 bytes; nothing touches them
    s->calls[0].max_subdivs = kCases[k].limit;
    LEAT_EXPECT_OK(leat_collective_program_create(&s->calls[0], 0, &s->group,
                                                  leat_allocator_system(), &s->programs[0]));
    assert_int_equal(s->programs[0].chain_count, kCases[k].rings * kCases[k].size);
    end(s);
  }
}

static void reduce_scatter__keeps_the_chunk_of_the_rank(void** state) {
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    for (int64_t each = 0; each <= 70; each += 7) {
      scene_t* s = play(LEAT_COLLECTIVE_REDUCE_SCATTER, size, each * size, -1);
      for (int r = 0; r < size; ++r) {
        for (int64_t i = 0; i < each; ++i) {
          double sum = 0;
          for (int m = 0; m < size; ++m) sum += input(m, r * each + i);
          assert_true(s->kept[r][i] == sum);
        }
      }
      end(s);
    }
  }
}

static void gather__joins_by_rank(void** state) {
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    for (int64_t each = 0; each <= 70; each += 7) {
      scene_t* s = play(LEAT_COLLECTIVE_GATHER, size, each * size, -1);
      for (int m = 0; m < size; ++m) {
        for (int64_t i = 0; i < each * size; ++i) {
          assert_true(s->data[m][i] == input((int)(i / each), i % each));
        }
      }
      end(s);
    }
  }
}

static void all_to_all__transposes(void** state) {
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    for (int64_t each = 0; each <= 70; each += 7) {
      scene_t* s = play(LEAT_COLLECTIVE_ALL_TO_ALL, size, each * size, -1);
      for (int m = 0; m < size; ++m) {
        for (int64_t i = 0; i < each * size; ++i) {
          assert_true(s->data[m][i] == input((int)(i / each), m * each + i % each));
        }
      }
      end(s);
    }
  }
}

static void broadcast__reaches_all_from_any_source(void** state) {
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    for (int source = 0; source < size; ++source) {
      scene_t* s = play(LEAT_COLLECTIVE_BROADCAST, size, 65, source);
      for (int m = 0; m < size; ++m) {
        for (int64_t i = 0; i < 65; ++i) assert_true(s->data[m][i] == input(source, i));
      }
      end(s);
    }
  }
}

// One member of each task takes part in the tree over tasks, and nobody receives twice.
static void broadcast__crosses_tasks_once(void** state) {
  for (int size = 1; size <= MAX_MEMBERS; ++size) {
    for (int each = 1; each <= size; ++each) {
      for (int source = 0; source < size; ++source) {
        scene_t* s = make_scene(LEAT_COLLECTIVE_BROADCAST, size, 65, source, each);
        int crossings = 0;
        create_programs(s);
        for (int m = 0; m < size; ++m) {
          for (const leat_hop_t* hop = s->programs[m].hops; hop->chain; ++hop) {
            crossings += hop->kind == LEAT_HOP_OFFER && hop->peer / each != m / each;
          }
        }
        assert_int_equal(crossings, s->group.task_count - 1);
        run_all(s);
        for (int m = 0; m < size; ++m) {
          for (int64_t i = 0; i < 65; ++i) assert_true(s->data[m][i] == input(source, i));
        }
        end(s);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reduce__gives_the_sum_to_all),
      cmocka_unit_test(reduce__goes_around_rings_with_offsets),
      cmocka_unit_test(pairs__give_the_sum_to_all),
      cmocka_unit_test(pairs__give_the_same_bits_to_all),
      cmocka_unit_test(pairs__are_for_small_reductions_of_one_ring),
      cmocka_unit_test(hosts__give_the_same_sum_to_all),
      cmocka_unit_test(hosts__have_the_mean_divided_once),
      cmocka_unit_test(hosts__matter_where_several_have_several_members),
      cmocka_unit_test(rings__begin_where_their_offsets_say),
      cmocka_unit_test(rings__are_as_many_as_the_size_asks_for),
      cmocka_unit_test(reduce_scatter__keeps_the_chunk_of_the_rank),
      cmocka_unit_test(gather__joins_by_rank),
      cmocka_unit_test(all_to_all__transposes),
      cmocka_unit_test(broadcast__reaches_all_from_any_source),
      cmocka_unit_test(broadcast__crosses_tasks_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
