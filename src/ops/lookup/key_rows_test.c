// The rows of keys inside hash tables (key_rows_cpu.h), with keys that somebody chose so that they
// collide. A table that meets a long way changes to a keyed hash, which |is_keyed| tells; the tests
// look at that flag and at the longest run of taken places. Keys that are merely neighbours form a
// long run as well, although each of them is at home and found at once. Removing closes the gap
// with keys that lie behind their home and only with those, a rule for which the cases choose homes
// through the inverse of the hash. In all cases every key must still be found with its value.
#include "ops/lookup/key_rows_cpu.h"

#include <string.h>

#include "base/test.h"

enum { kKeys = 30000 };

// The number whose product with |odd| is 1 modulo 2^64, by Newton's iteration.
static uint64_t inverse(uint64_t odd) {
  uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

// The number whose hash in a table is |hash|: hash = product ^ product >> 32.
static int64_t number_of(uint64_t hash) {
  const uint64_t product = hash ^ hash >> 32;
  return (int64_t)(product * inverse(UINT64_C(0x9e3779b97f4a7c15)));
}

static int64_t one_home(int64_t index) { return number_of((uint64_t)index << 32); }
static int64_t neighbours(int64_t index) { return number_of((uint64_t)index); }

// Adds the keys from |begin| on, each with its index as value; all are new.
static void add(leat_key_rows_t* rows, int64_t (*key)(int64_t index), int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t k = key(i);
    int64_t row;
    bool added;
    LEAT_EXPECT_OK(leat_key_rows_find_or_add(rows, &k, 0, &row, &added));
    assert_true(added);
    *(int64_t*)leat_key_rows_values(rows, row) = i;
  }
}

static void expect_found(const leat_key_rows_t* rows, int64_t (*key)(int64_t index), int64_t begin,
                         int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t k = key(i);
    const int64_t row = leat_key_rows_find(rows, &k, 0);
    assert_true(row >= 0);
    assert_int_equal(*(int64_t*)leat_key_rows_values(rows, row), i);
  }
}

// The longest row of taken places, which a search for an absent key may have to pass.
static size_t longest_run(const leat_key_rows_t* rows) {
  size_t longest = 0, run = 0;
  for (size_t i = 0; i < 2 * rows->place_count; ++i) {
    run = rows->places[i & (rows->place_count - 1)] ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

static void numbers_of_one_home(void** state) {
  leat_key_rows_t rows;
  leat_key_rows_initialize(LEAT_DTYPE_INT64, LEAT_DTYPE_INT64, 1, &rows);
  add(&rows, one_home, 0, kKeys);
  assert_true(rows.is_keyed);
  assert_in_range(longest_run(&rows), 1, 300);
  expect_found(&rows, one_home, 0, kKeys);
  for (int64_t i = 0; i < kKeys; ++i) {  // in the order in which they came
    assert_true(((const int64_t*)rows.keys)[i] == one_home(i));
  }
  for (int64_t i = 0; i < kKeys; i += 2) {
    const int64_t key = one_home(i);
    leat_key_rows_remove(&rows, leat_key_rows_find(&rows, &key, 0));
    assert_int_equal(leat_key_rows_find(&rows, &key, 0), -1);
  }
  assert_int_equal(rows.count, kKeys / 2);
  add(&rows, one_home, kKeys, kKeys + 100);
  expect_found(&rows, one_home, kKeys, kKeys + 100);
  leat_key_rows_deinitialize(&rows);
}

// Each of these keys is at home, so that nothing is wrong with them; but where they end there is a
// way as long as they are many for whoever has the first one's home.
static void numbers_side_by_side(void** state) {
  leat_key_rows_t rows;
  leat_key_rows_initialize(LEAT_DTYPE_INT64, LEAT_DTYPE_INT64, 1, &rows);
  LEAT_EXPECT_OK(leat_key_rows_reserve(&rows, kKeys + 1));
  add(&rows, neighbours, 1, kKeys);
  assert_false(rows.is_keyed);
  assert_int_equal(longest_run(&rows), kKeys - 1);
  const int64_t guest = number_of((UINT64_C(1) << 40) + 1);
  assert_int_equal(leat_key_rows_find(&rows, &guest, 0), -1);
  int64_t row;
  bool added;
  LEAT_EXPECT_OK(leat_key_rows_find_or_add(&rows, &guest, 0, &row, &added));
  assert_true(added && row == kKeys - 1 && rows.is_keyed);
  assert_in_range(longest_run(&rows), 1, 300);
  expect_found(&rows, neighbours, 1, kKeys);
  assert_int_equal(leat_key_rows_find(&rows, &guest, 0), kKeys - 1);
  leat_key_rows_deinitialize(&rows);
}

// Removing closes the gap with keys that lie behind their home, and only with those.
static void gaps_are_closed(void** state) {
  leat_key_rows_t rows;
  leat_key_rows_initialize(LEAT_DTYPE_INT64, LEAT_DTYPE_INT64, 1, &rows);
  LEAT_EXPECT_OK(leat_key_rows_reserve(&rows, kKeys));
  add(&rows, one_home, 0, 200);
  add(&rows, neighbours, 1, 2000);  // each lies 199 places behind its home
  assert_false(rows.is_keyed);
  assert_int_equal(longest_run(&rows), 2199);
  for (int64_t i = 0; i < 200; i += 2) {
    const int64_t key = one_home(i);
    leat_key_rows_remove(&rows, leat_key_rows_find(&rows, &key, 0));
  }
  for (int64_t i = 3; i < 2000; i += 3) {
    const int64_t key = neighbours(i);
    leat_key_rows_remove(&rows, leat_key_rows_find(&rows, &key, 0));
  }
  for (int64_t i = 1; i < 200; i += 2) expect_found(&rows, one_home, i, i + 1);
  for (int64_t i = 1; i < 2000; ++i) {
    const int64_t key = neighbours(i);
    if (i % 3) {
      expect_found(&rows, neighbours, i, i + 1);
    } else {
      assert_int_equal(leat_key_rows_find(&rows, &key, 0), -1);
    }
  }
  // A gap before many that are at home, and behind them one that belongs into it.
  leat_key_rows_clear(&rows);
  add(&rows, neighbours, 0, 100);
  add(&rows, one_home, 7, 8);
  add(&rows, neighbours, 5000, 5001);  // it becomes row 0, and the other one's row stays as it is
  leat_key_rows_remove(&rows, 0);
  expect_found(&rows, one_home, 7, 8);
  leat_key_rows_deinitialize(&rows);
}

// Numbers that have their homes far from those of |neighbours|.
static int64_t elsewhere(int64_t index) { return number_of((uint64_t)index + 2000); }

// Two keys of home 0 and |neighbours| behind them, each one place behind its home. When the table
// grows they are entered in the order of the rows, in which the second of home 0 is now the last:
// its place would be behind all others.
static void numbers_that_are_far_when_it_grows(void** state) {
  leat_key_rows_t rows;
  leat_key_rows_initialize(LEAT_DTYPE_INT64, LEAT_DTYPE_INT64, 1, &rows);
  LEAT_EXPECT_OK(leat_key_rows_reserve(&rows, 2000));
  add(&rows, elsewhere, 0, 300);
  add(&rows, neighbours, 0, 1);
  add(&rows, one_home, 5, 6);
  add(&rows, neighbours, 1, 301);
  for (int64_t i = 0; i < 300; ++i) leat_key_rows_remove(&rows, i);
  assert_false(rows.is_keyed);
  assert_true(((const int64_t*)rows.keys)[301] == one_home(5));
  LEAT_EXPECT_OK(leat_key_rows_reserve(&rows, 4 * 2000));
  assert_true(rows.is_keyed);
  expect_found(&rows, neighbours, 0, 301);
  expect_found(&rows, one_home, 5, 6);
  leat_key_rows_deinitialize(&rows);
}

// What nobody chose to collide keeps the fast hash.
static int64_t plain(int64_t index) { return index * 3 - 1000; }

static void harmless_numbers(void** state) {
  leat_key_rows_t rows;
  leat_key_rows_initialize(LEAT_DTYPE_INT64, LEAT_DTYPE_INT64, 1, &rows);
  add(&rows, plain, 0, 10 * kKeys);
  assert_false(rows.is_keyed);
  expect_found(&rows, plain, 0, 10 * kKeys);
  leat_key_rows_deinitialize(&rows);
}

// The hash of strings multiplies two halves, so 16 bytes of which the first 8 make one half zero
// all have one hash, whatever the other 8 are.
static void texts_of_one_hash(void** state) {
  leat_key_rows_t rows;
  leat_tensor_t texts;
  leat_shape_t shape = leat_shape_vector(kKeys);
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, &texts));
  TF_TString* strings = texts.data;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const uint64_t zero = UINT64_C(0x13198a2e03707344);
    char text[16];
    memcpy(text, &zero, 8);
    memcpy(text + 8, &i, 8);
    TF_TString_Copy(&strings[i], text, sizeof text);
  }
  leat_key_rows_initialize(LEAT_DTYPE_STRING, LEAT_DTYPE_INT64, 1, &rows);
  for (int64_t i = 0; i < kKeys; ++i) {
    int64_t row;
    bool added;
    LEAT_EXPECT_OK(leat_key_rows_find_or_add(&rows, strings, i, &row, &added));
    assert_true(added && row == i);
  }
  assert_true(rows.is_keyed);
  assert_in_range(longest_run(&rows), 1, 300);
  for (int64_t i = 0; i < kKeys; ++i) assert_int_equal(leat_key_rows_find(&rows, strings, i), i);
  leat_key_rows_deinitialize(&rows);
  leat_tensor_release(&texts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_one_home),
      cmocka_unit_test(numbers_side_by_side),
      cmocka_unit_test(gaps_are_closed),
      cmocka_unit_test(numbers_that_are_far_when_it_grows),
      cmocka_unit_test(harmless_numbers),
      cmocka_unit_test(texts_of_one_hash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
