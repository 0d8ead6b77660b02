// SqlDataset through the front door: what needs a database that the test has made, and steps. The
// values of each type, and the codes of bad queries, are compared with TensorFlow's in
// tests/oracle/sql_dataset_oracle.py. A database that cannot be opened is only here, since
// TensorFlow crashes there, and so is that a query cannot change one, where TensorFlow lets it.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "capi/dataset_kit.h"
#include "formats/database/sqlite.h"
#include "scratch.h"

#define SQL(path, query)                                                   \
  TEXT("driver", "sqlite") TEXT("path", path) TEXT("query", query)         \
  NODE("rows", "SqlDataset", IN("driver") IN("path") IN("query"), ELEMENT) \
  ITERATOR("rows")
// A second iterator, which "same" sets to where the first one is.
#define SECOND                                              \
  NODE("it2", "IteratorV2", , ELEMENT NAMES)                \
  NODE("make2", "MakeIterator", IN("rows") IN("it2"), )     \
  NODE("next2", "IteratorGetNext", IN("it2"), ELEMENT)      \
  NODE("place", "SerializeIterator", IN("it"), )            \
  NODE("same", "DeserializeIterator", IN("it2") IN("place"), )
// Gives row 1 at once, and row 2000001 a second later.
#define SLOW_ROWS                                                                             \
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000001) SELECT " \
  "i FROM n WHERE i % 2000000 = 1"

static leat_status_t try_to_execute(const char* text) {
  leat_sqlite_t* database;
  leat_sqlite_statement_t* statement;
  bool is_row;
  LEAT_RETURN_IF_ERROR(leat_sqlite_open(LEAT_SV("people.db"), true, &database));
  leat_status_t status =
      leat_sqlite_prepare(database, leat_string_view_from(text), &statement);
  if (!status) {
    status = leat_sqlite_step(statement, &is_row);
    leat_sqlite_statement_free(statement);
  }
  leat_sqlite_close(database);
  return status;
}

static void execute(const char* text) { LEAT_EXPECT_OK(try_to_execute(text)); }

static int make_database(void** state) {
  if (scratch_set_up(state)) return -1;
  execute("CREATE TABLE people (age INTEGER)");
  execute("INSERT INTO people VALUES (36), (39), (77), (NULL)");
  return 0;
}

// Whether this process has the database open.
static bool is_open(void) {
  char link[32], path[512];
  for (int file = 0; file < 256; ++file) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = 0;
    if (strstr(path, "people.db")) return true;
  }
  return false;
}

static functions_t begin(const char* text) {
  functions_t f = functions_open(text);
  functions_target(&f, "make");
  return f;
}

static int64_t next_of(functions_t* f, const char* name) {
  TF_Tensor* tensor = functions_run(f, name, 0, NULL, NULL);
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static int64_t next(functions_t* f) { return next_of(f, "next"); }

static void expect_failure(const char* text, TF_Code code, const char* part) {
  functions_t f = begin(text);
  assert_int_equal(functions_try(&f, "next", NULL, 0), code);
  assert_non_null(strstr(TF_Message(f.status), part));
  functions_close(&f);
}

// A database cannot be changed while a query reads it, and is closed when the query has ended.
static void test_each_pass_executes_the_query(void** state) {
  functions_t f = begin(SQL("people.db", "SELECT age FROM people ORDER BY rowid"));
  assert_int_equal(next(&f), 36);
  leat_status_t status = try_to_execute("DELETE FROM people WHERE age = 39");
  assert_int_equal(leat_status_code(status), LEAT_UNAVAILABLE);
  leat_status_free(status);
  assert_true(is_open());
  assert_int_equal(next(&f), 39);
  assert_int_equal(next(&f), 77);
  assert_int_equal(next(&f), 0);  // NULL
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  assert_false(is_open());
  execute("DELETE FROM people WHERE age = 39");
  functions_target(&f, "make");
  assert_int_equal(next(&f), 36);
  assert_int_equal(next(&f), 77);
  functions_target(&f, "make");
  execute("DELETE FROM people");
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}

static void test_a_place_is_saved_and_restored(void** state) {
  functions_t f = begin(SQL("people.db", "SELECT age FROM people ORDER BY age DESC") SECOND);
  functions_target(&f, "make2");
  assert_int_equal(next(&f), 77);
  assert_int_equal(next(&f), 39);
  functions_target(&f, "same");
  assert_int_equal(next_of(&f, "next2"), 36);
  assert_int_equal(next(&f), 36);
  functions_close(&f);
}

// The rows that were given are not given again by the step that goes on.
static void test_a_query_that_works_can_be_stopped(void** state) {
  functions_t f = begin(SQL(":memory:", SLOW_ROWS));
  assert_int_equal(next(&f), 1);
  assert_int_equal(functions_try(&f, "next", NULL, 20), TF_DEADLINE_EXCEEDED);
  assert_int_equal(functions_try(&f, "next", NULL, 20), TF_DEADLINE_EXCEEDED);
  assert_int_equal(next(&f), 2000001);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}

static void test_a_query_that_fails_has_ended(void** state) {
  functions_t f = begin(SQL("people.db", "SELECT abs(column1) FROM (VALUES (-7), (1 << 63), (3))"));
  assert_int_equal(next(&f), 7);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_UNKNOWN);
  assert_non_null(strstr(TF_Message(f.status), "integer overflow"));
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}

// What cannot be begun fails every time, until it can.
static void test_a_missing_database_is_not_made(void** state) {
  functions_t f = begin(SQL("missing.db", "SELECT 1"));
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(functions_try(&f, "next", NULL, 0), TF_INVALID_ARGUMENT);
    assert_non_null(strstr(TF_Message(f.status), "missing.db"));
  }
  assert_int_equal(access("missing.db", F_OK), -1);
  assert_int_equal(rename("people.db", "missing.db"), 0);
  assert_int_equal(next(&f), 1);
  functions_close(&f);
  assert_int_equal(rename("missing.db", "people.db"), 0);
  expect_failure(SQL("/", "SELECT 1"), TF_INVALID_ARGUMENT, "unable to open");
}

static void test_a_query_only_reads(void** state) {
  expect_failure(SQL("people.db", "INSERT INTO people VALUES (5) RETURNING age"),
                 TF_FAILED_PRECONDITION, "readonly");
  expect_failure(SQL("people.db", "DELETE FROM people"), TF_INVALID_ARGUMENT, "columns");
  expect_failure(SQL("people.db", "SELECT load_extension(age) FROM people"), TF_UNKNOWN,
                 "not authorized");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_database, scratch_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_each_pass_executes_the_query),  TEST(test_a_place_is_saved_and_restored),
      TEST(test_a_query_that_works_can_be_stopped), TEST(test_a_query_that_fails_has_ended),
      TEST(test_a_missing_database_is_not_made), TEST(test_a_query_only_reads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
