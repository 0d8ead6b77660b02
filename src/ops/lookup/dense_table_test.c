// Dense hash tables whose keys somebody chose so that all of them collide. With such keys every
// look-up in a plain table passes all the others, which is an attack on a server that takes keys
// from strangers. The table counts its probes, and the tests compare these counts, not times, with
// the number of keys: for integers of one home, for runs of neighbours, for tables full of deleted
// keys, and for texts that were computed to have one hash. The second half shows that the
// protection changes nothing else: the answers are those of any table, an export has a layout in
// which TensorFlow finds every key, and memory that runs out loses no entry.
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/test.h"
#include "ops/lookup/dense_key_cpu.h"
#include "ops/lookup/table_cpu.h"

enum { kKeys = 20000, kEmpty = -1, kDeleted = -2 };

// ---- Tables -------------------------------------------------------------------------------------

static leat_tensor_t int_scalar(int64_t value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT64, &value, &tensor));
  return tensor;
}

static leat_tensor_t text_scalar(leat_string_view_t text) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(text, &tensor));
  return tensor;
}

// A table from |empty|'s type to int64; the two keys are moved.
static leat_lookup_t* make_table(leat_tensor_t empty, leat_tensor_t deleted, int64_t buckets) {
  leat_lookup_t* table;
  const leat_dense_options_t options = {.empty_key = &empty,
                                        .deleted_key = &deleted,
                                        .value_dtype = LEAT_DTYPE_INT64,
                                        .value_shape = leat_shape_scalar(),
                                        .bucket_count = buckets,
                                        .max_load_factor = 0.8f};
  LEAT_EXPECT_OK(leat_dense_table_create(&options, &table));
  leat_tensor_release(&empty);
  leat_tensor_release(&deleted);
  return table;
}

static leat_lookup_t* make_int_table(void) {
  return make_table(int_scalar(kEmpty), int_scalar(kDeleted), 1 << 16);
}

static leat_status_t try_insert(leat_lookup_t* table, int64_t key, int64_t value) {
  leat_tensor_t k = int_scalar(key), v = int_scalar(value);
  leat_status_t status = table->vtable->insert(table, &k, &v);
  leat_tensor_release(&k);
  leat_tensor_release(&v);
  return status;
}

static void insert(leat_lookup_t* table, int64_t key, int64_t value) {
  LEAT_EXPECT_OK(try_insert(table, key, value));
}

static void take_out(leat_lookup_t* table, int64_t key) {
  leat_tensor_t k = int_scalar(key);
  LEAT_EXPECT_OK(table->vtable->remove(table, &k));
  leat_tensor_release(&k);
}

// -1 where |key| (moved) is not there.
static int64_t find_tensor(leat_lookup_t* table, leat_tensor_t key) {
  leat_tensor_t none = int_scalar(-1), found = int_scalar(0);
  LEAT_EXPECT_OK(table->vtable->find(table, &key, &none, &found));
  const int64_t value = *leat_tensor_data(&found, const int64_t);
  leat_tensor_release(&key);
  leat_tensor_release(&none);
  leat_tensor_release(&found);
  return value;
}

static int64_t find(leat_lookup_t* table, int64_t key) {
  return find_tensor(table, int_scalar(key));
}

// The probes since the last call of this.
static int64_t probes_of(leat_lookup_t* table, int64_t* inout_before) {
  const int64_t count = leat_dense_table_probe_count(table), since = count - *inout_before;
  *inout_before = count;
  return since;
}

// Exports, and looks every key up as TensorFlow would. Returns how many there are.
static int64_t check_layout(leat_lookup_t* table) {
  leat_tensor_t keys, values;
  int64_t entries = 0;
  LEAT_EXPECT_OK(table->vtable->export(table, leat_buffer_source_host(), &keys, &values));
  const int64_t* k = leat_tensor_data(&keys, const int64_t);
  const uint64_t mask = (uint64_t)leat_shape_dim(&keys.shape, 0) - 1;
  for (uint64_t bucket = 0; bucket <= mask; ++bucket) {
    if (k[bucket] == kEmpty || k[bucket] == kDeleted) continue;
    uint64_t at = (uint64_t)k[bucket] & mask;
    for (uint64_t probe = 1; at != bucket; ++probe) {
      if (k[at] == kEmpty || k[at] == k[bucket] || probe > mask) {
        fail_msg("TensorFlow would not find the key %lld in bucket %llu", (long long)k[bucket],
                 (unsigned long long)bucket);
      }
      at = (at + probe) & mask;
    }
    ++entries;
  }
  leat_tensor_release(&keys);
  leat_tensor_release(&values);
  return entries;
}

// ---- The cost -----------------------------------------------------------------------------------

// All numbers of one home, however many buckets there are.
static int64_t chosen(int64_t index) { return (index + 1) << 40; }

static void numbers_of_one_home(void** state) {
  leat_lookup_t* table = make_int_table();
  int64_t before = 0;
  for (int64_t i = 0; i < kKeys; ++i) insert(table, chosen(i), i);
  assert_in_range(probes_of(table, &before), kKeys, 40 * kKeys);
  for (int64_t i = 0; i < kKeys; ++i) assert_int_equal(find(table, chosen(i)), i);
  assert_in_range(probes_of(table, &before), kKeys, 4 * kKeys);
  for (int64_t i = 0; i < kKeys; ++i) assert_int_equal(find(table, chosen(kKeys + i)), -1);
  assert_in_range(probes_of(table, &before), 0, 4 * kKeys);
  assert_int_equal(check_layout(table), kKeys);
  // One goes out and one comes in, again and again, so that deleted buckets pile up.
  for (int64_t i = 0; i < 4 * kKeys; ++i) {
    take_out(table, chosen(i));
    insert(table, chosen(kKeys + i), i);
  }
  assert_in_range(probes_of(table, &before), kKeys, 40 * kKeys);
  assert_int_equal(table->vtable->size(table), kKeys);
  assert_int_equal(check_layout(table), kKeys);
  for (int64_t i = 0; i < 5 * kKeys; ++i) {
    assert_int_equal(find(table, chosen(i)), i < 4 * kKeys ? -1 : i - kKeys);
  }
  leat_resource_release(&table->resource);
}

// One key that comes and goes leaves nothing behind that a search has to pass.
static void one_key_again_and_again(void** state) {
  leat_lookup_t* table = make_int_table();
  int64_t before = 0;
  for (int64_t i = 0; i < 2000; ++i) insert(table, chosen(i), i);
  probes_of(table, &before);
  for (int64_t i = 0; i < kKeys; ++i) {
    take_out(table, chosen(0));
    insert(table, chosen(0), i);
  }
  assert_in_range(probes_of(table, &before), kKeys, 8 * kKeys);
  assert_int_equal(find(table, chosen(0)), kKeys - 1);
  leat_resource_release(&table->resource);
}

// Keys that lie side by side and as many that have their homes: every way is short, but none as
// short as it could be.
static void numbers_side_by_side(void** state) {
  leat_lookup_t* table = make_int_table();
  int64_t before = 0;
  for (int64_t i = 0; i < kKeys; ++i) insert(table, i, i);
  assert_int_equal(probes_of(table, &before), kKeys);  // each is at home
  for (int64_t i = 0; i < kKeys; ++i) insert(table, i + (1 << 20), kKeys + i);
  assert_in_range(probes_of(table, &before), kKeys, 600 * kKeys);
  assert_int_equal(check_layout(table), 2 * kKeys);
  for (int64_t i = 0; i < kKeys; ++i) {
    assert_int_equal(find(table, i), i);
    assert_int_equal(find(table, i + (1 << 20)), kKeys + i);
  }
  leat_resource_release(&table->resource);
}

// A table that is full of deleted keys: whoever looks for an absent one meets no empty bucket.
static void nothing_but_deleted_keys(void** state) {
  leat_lookup_t* table = make_table(int_scalar(kEmpty), int_scalar(kDeleted), 1 << 14);
  int64_t before = 0;
  for (int64_t i = 0; i < 1 << 14; ++i) {
    insert(table, i, i);
    take_out(table, i);
  }
  probes_of(table, &before);
  for (int64_t i = 0; i < 1 << 14; ++i) assert_int_equal(find(table, i), -1);
  assert_in_range(probes_of(table, &before), 0, 16 << 14);
  leat_resource_release(&table->resource);
}

static uint64_t inverse(uint64_t odd) {
  uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

// A text of 16 bytes that has the same hash for every |index|: the second half undoes what the
// first one did to MurmurHash64A's state.
static leat_string_view_t chosen_text(uint64_t index, char out_text[16]) {
  const uint64_t m = UINT64_C(0xc6a4a7935bd1e995), target = UINT64_C(0x0123456789abcdef);
  uint64_t word = index * m;
  word = (word ^ word >> 47) * m;
  const uint64_t hash = ((UINT64_C(0xDECAFCAFFE) ^ 16 * m) ^ word) * m;
  uint64_t second = (hash ^ target) * inverse(m);
  second = (second ^ second >> 47) * inverse(m);
  memcpy(out_text, &index, 8);
  memcpy(out_text + 8, &second, 8);
  return leat_string_view_make(out_text, 16);
}

static void texts_of_one_hash(void** state) {
  leat_lookup_t* table = make_table(text_scalar(LEAT_SV("")), text_scalar(LEAT_SV("-")), 1 << 16);
  int64_t before = 0;
  char text[16];
  uint64_t hash = 0;
  for (int64_t i = 0; i < kKeys; ++i) {
    leat_tensor_t key = text_scalar(chosen_text((uint64_t)i, text)), value = int_scalar(i);
    const uint64_t own = leat_dense_key_hash((leat_dense_keys_t){LEAT_DTYPE_STRING, 1}, key.data);
    if (i) assert_true(own == hash);
    hash = own;
    LEAT_EXPECT_OK(table->vtable->insert(table, &key, &value));
    leat_tensor_release(&key);
    leat_tensor_release(&value);
  }
  assert_in_range(probes_of(table, &before), kKeys, 40 * kKeys);
  for (int64_t i = 0; i < kKeys; ++i) {
    assert_int_equal(find_tensor(table, text_scalar(chosen_text((uint64_t)i, text))), i);
  }
  assert_int_equal(find_tensor(table, text_scalar(chosen_text(kKeys, text))), -1);
  assert_in_range(probes_of(table, &before), kKeys, 4 * kKeys);
  leat_resource_release(&table->resource);
}

// ---- The answers --------------------------------------------------------------------------------

enum { kPool = 3000 };

// A table with a guard, and half of the pool's keys in it; |out_values| says what it must hold, -1
// for a key that is not there.
static leat_lookup_t* make_guarded(int64_t out_values[kPool]) {
  leat_lookup_t* table = make_int_table();
  for (int i = 0; i < kPool; ++i) {
    out_values[i] = i % 2 ? i : -1;
    if (i % 2) insert(table, chosen(i), i);
  }
  return table;
}

static void expect_values(leat_lookup_t* table, const int64_t values[kPool]) {
  int64_t count = 0;
  for (int i = 0; i < kPool; ++i) {
    assert_int_equal(find(table, chosen(i)), values[i]);
    count += values[i] >= 0;
  }
  assert_int_equal(table->vtable->size(table), count);
  assert_int_equal(check_layout(table), count);
}

// Random changes. What was exported before more of them stays as it is, and its import brings back
// what was there.
static void answers_are_those_of_any_table(void** state) {
  static int64_t values[kPool];
  leat_lookup_t* table = make_guarded(values);
  unsigned random = 1;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 4 * kPool; ++i) {
      random = random * 1103515245u + 12345u;
      const int k = (int)((random >> 8) % kPool);
      if (random >> 30) {
        insert(table, chosen(k), i);
        values[k] = i;
      } else {
        take_out(table, chosen(k));
        values[k] = -1;
      }
    }
    expect_values(table, values);
    leat_tensor_t keys, exported, kept;
    LEAT_EXPECT_OK(table->vtable->export(table, leat_buffer_source_host(), &keys, &exported));
    LEAT_EXPECT_OK(leat_tensor_copy(leat_buffer_source_host(), &keys, &kept));
    for (int k = 0; k < kPool; ++k) {
      if (k % 3) take_out(table, chosen(k));
      if (k % 3 < 2) insert(table, chosen(k), kPool + k);
    }
    assert_memory_equal(keys.data, kept.data, (1 << 16) * sizeof(int64_t));
    LEAT_EXPECT_OK(table->vtable->import(table, &keys, &exported));
    leat_tensor_release(&keys);
    leat_tensor_release(&exported);
    leat_tensor_release(&kept);
    expect_values(table, values);
  }
  leat_resource_release(&table->resource);
}

// Whichever allocation fails while the guard starts or the table grows: no entry is lost.
static void without_memory_nothing_is_lost(void** state) {
  enum { kFew = 1200 };
  for (int64_t n = 1, faults = 0;; ++n) {
    leat_lookup_t* table = make_table(int_scalar(kEmpty), int_scalar(kDeleted), 1 << 8);
    leat_fault_t fault;
    static bool is_in[kFew];
    leat_tensor_t keys[kFew], value = int_scalar(5);
    for (int64_t i = 0; i < kFew; ++i) keys[i] = int_scalar(chosen(i));
    int64_t size = 0;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    for (int i = 0; i < kFew; ++i) {
      leat_status_t status = table->vtable->insert(table, &keys[i], &value);
      is_in[i] = leat_status_code(status) == LEAT_OK;
      leat_status_free(status);
      const int64_t before = size;
      size = table->vtable->size(table);
      assert_true(size == before + 1 || (size == before && !is_in[i]));
    }
    const bool met = leat_fault_remove(&fault);
    int64_t count = 0;
    for (int i = 0; i < kFew; ++i) {
      assert_true(!is_in[i] || find(table, chosen(i)) == 5);
      count += is_in[i];
      leat_tensor_release(&keys[i]);
    }
    assert_true(count >= kFew - 1);
    assert_true(check_layout(table) >= count);
    assert_int_equal(check_layout(table), table->vtable->size(table));
    leat_tensor_release(&value);
    leat_resource_release(&table->resource);
    faults += met;
    if (!met) {
      assert_true(faults > 10);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_one_home),
      cmocka_unit_test(one_key_again_and_again),
      cmocka_unit_test(numbers_side_by_side),
      cmocka_unit_test(nothing_but_deleted_keys),
      cmocka_unit_test(texts_of_one_hash),
      cmocka_unit_test(answers_are_those_of_any_table),
      cmocka_unit_test(without_memory_nothing_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
