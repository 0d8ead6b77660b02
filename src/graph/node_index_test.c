// The index by which a graph finds its nodes: a hash table of node numbers, whose names lie in the
// nodes themselves. Three thousand names of all lengths from one letter on share long beginnings,
// as names in scopes do. Eight nodes are entered under the same hash, which no real names would
// give, so that the comparison of bytes is what tells them apart. The index forgets from the end
// only, because an import that fails takes back the nodes that it added last. Checking a name and
// hashing it is one pass over its bytes, so the last case compares that pass with the rule of names
// and with the plain hash.
#include "graph/node_index.h"

#include "base/arena.h"
#include "base/test.h"
#include "graph/graph.h"

enum { NODES = 3000 };

typedef struct fixture_s {
  leat_arena_t arena;
  leat_node_index_t index;
  leat_node_t nodes[NODES];
} fixture_t;

static int open_fixture(void** state) {
  static fixture_t f;
  f = (fixture_t){.nodes = {{.op = NULL}}};
  leat_arena_initialize(leat_allocator_system(), 0, &f.arena);
  leat_node_index_initialize(leat_allocator_system(), &f.index);
  for (int i = 0; i < NODES; ++i) {
    // Of 1 to 40 letters before the number.
    LEAT_EXPECT_OK(leat_arena_print(&f.arena, &f.nodes[i].name, "%.*s%d", i % 40 + 1,
                                    "a/name/that/many/nodes/share/the/whole/of", i));
  }
  *state = &f;
  return 0;
}

static int close_fixture(void** state) {
  fixture_t* f = *state;
  leat_node_index_deinitialize(&f->index);
  leat_arena_deinitialize(&f->arena);
  return 0;
}

static void add(fixture_t* f, size_t count) {
  while (f->index.count < count) {
    LEAT_EXPECT_OK(leat_node_index_reserve(&f->index, f->nodes, f->index.count + 1));
    uint64_t hash = leat_node_name_hash(f->nodes[f->index.count].name);
    assert_true(leat_node_index_add(&f->index, f->nodes, hash));
  }
}

static int32_t find(const fixture_t* f, leat_string_view_t name) {
  return leat_node_index_find(&f->index, f->nodes, name, leat_node_name_hash(name));
}

static void nodes_are_found_by_name(void** state) {
  fixture_t* f = *state;
  assert_int_equal(find(f, f->nodes[0].name), -1);
  add(f, NODES);
  for (int i = 0; i < NODES; ++i) assert_int_equal(find(f, f->nodes[i].name), i);
  assert_int_equal(find(f, LEAT_SV("a/name/that/no/node/has")), -1);
}

static void a_name_is_taken_once(void** state) {
  fixture_t* f = *state;
  add(f, 100);
  LEAT_EXPECT_OK(leat_node_index_reserve(&f->index, f->nodes, 101));
  leat_string_view_t own = f->nodes[100].name;
  f->nodes[100].name = f->nodes[7].name;
  assert_false(leat_node_index_add(&f->index, f->nodes, leat_node_name_hash(f->nodes[7].name)));
  assert_int_equal(f->index.count, 100);
  f->nodes[100].name = own;
  add(f, 101);
  assert_int_equal(find(f, own), 100);
}

// Names whose hashes agree where the table looks are told apart by their bytes.
static void equal_hashes_are_no_equal_names(void** state) {
  fixture_t* f = *state;
  LEAT_EXPECT_OK(leat_node_index_reserve(&f->index, f->nodes, 8));
  for (int i = 0; i < 8; ++i) assert_true(leat_node_index_add(&f->index, f->nodes, 5));
  for (int i = 0; i < 8; ++i) {
    assert_int_equal(leat_node_index_find(&f->index, f->nodes, f->nodes[i].name, 5), i);
  }
  assert_int_equal(leat_node_index_find(&f->index, f->nodes, f->nodes[8].name, 5), -1);
}

static void the_last_are_forgotten(void** state) {
  fixture_t* f = *state;
  add(f, 2000);
  leat_node_index_truncate(&f->index, f->nodes, 500);
  for (int i = 0; i < 2000; ++i) {
    assert_int_equal(find(f, f->nodes[i].name), i < 500 ? i : -1);
  }
  add(f, 2000);
  assert_int_equal(find(f, f->nodes[1999].name), 1999);
}

static void names_are_read_as_they_are_hashed(void** state) {
  static const char* const bad[] = {"",
                                    "_a",
                                    "-a",
                                    "a b",
                                    "a>",
                                    ">a",
                                    "a>>b",
                                    "a>_b",
                                    "a:0",
                                    "a/name/that/is/long/and/has a/space",
                                    "a/name/that/is/long/and/ends/badly!"};
  static const char* const good[] = {
      "a", ".a", "0", "a>b", "a/b-c_d.e", "A/name/that/is/long>and/has.2", "sixteen_letters_"};
  uint64_t hash;
  (void)state;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(bad); ++i) {
    assert_false(leat_node_name_read(leat_string_view_from(bad[i]), false, &hash));
  }
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(good); ++i) {
    leat_string_view_t name = leat_string_view_from(good[i]);
    assert_true(leat_node_name_read(name, false, &hash));
    assert_int_equal(hash, leat_node_name_hash(name));
  }
  assert_true(leat_node_name_read(LEAT_SV("_a"), true, &hash));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(nodes_are_found_by_name, open_fixture, close_fixture),
      cmocka_unit_test_setup_teardown(a_name_is_taken_once, open_fixture, close_fixture),
      cmocka_unit_test_setup_teardown(equal_hashes_are_no_equal_names, open_fixture, close_fixture),
      cmocka_unit_test_setup_teardown(the_last_are_forgotten, open_fixture, close_fixture),
      cmocka_unit_test(names_are_read_as_they_are_hashed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
