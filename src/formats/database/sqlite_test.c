// Databases through the module: values go in and come out, failures have TensorFlow's codes and
// name the statement, and a statement that works for ever is stopped. Not built where the module is
// left out.
#include "formats/database/sqlite.h"

#include "formats/test_directory.h"

static leat_sqlite_t* database;

static int set_up(void** state) {
  LEAT_EXPECT_OK(leat_sqlite_open(LEAT_SV(":memory:"), true, &database));
  return 0;
}

static int tear_down(void** state) {
  leat_sqlite_close(database);
  return 0;
}

static leat_sqlite_statement_t* prepare(const char* text) {
  leat_sqlite_statement_t* statement;
  LEAT_EXPECT_OK(leat_sqlite_prepare(database, leat_string_view_from(text), &statement));
  return statement;
}

static bool step(leat_sqlite_statement_t* statement) {
  bool is_row;
  LEAT_EXPECT_OK(leat_sqlite_step(statement, &is_row));
  return is_row;
}

static void expect_failure(leat_status_t status, leat_status_code_t code, const char* part) {
  assert_int_equal(leat_status_code(status), code);
  assert_non_null(strstr(leat_status_message(status), part));
  leat_status_free(status);
}

static void expect_bytes(const leat_sqlite_statement_t* statement, int column,
                         leat_string_view_t wanted) {
  leat_string_view_t bytes;
  LEAT_EXPECT_OK(leat_sqlite_bytes(statement, column, &bytes));
  assert_true(leat_string_view_equal(bytes, wanted));
}

static void values_come_back(void** state) {
  const leat_string_view_t zeros = leat_string_view_make("a\0b", 3);
  const leat_sqlite_value_t values[] = {
      LEAT_SQLITE_OF_INTEGER(INT64_MIN), LEAT_SQLITE_OF_REAL(0.1),
      LEAT_SQLITE_OF_TEXT(LEAT_SV("12x")), LEAT_SQLITE_OF_BLOB(zeros), {0}};
  leat_sqlite_statement_t* echo = prepare("SELECT ?, ?, ?, ?, ?");
  assert_int_equal(leat_sqlite_column_count(echo), 5);
  LEAT_EXPECT_OK(leat_sqlite_bind(echo, values, 5));
  assert_true(step(echo));
  assert_true(leat_sqlite_integer(echo, 0) == INT64_MIN);
  assert_true(leat_sqlite_real(echo, 1) == 0.1);
  expect_bytes(echo, 1, LEAT_SV("0.1"));
  expect_bytes(echo, 2, LEAT_SV("12x"));
  expect_bytes(echo, 3, zeros);
  assert_true(leat_sqlite_integer(echo, 4) == 0);
  expect_bytes(echo, 4, (leat_string_view_t){0});
  assert_false(step(echo));
  assert_true(step(echo));  // it begins anew
  leat_sqlite_reset(echo);
  assert_true(step(echo));
  assert_true(leat_sqlite_integer(echo, 0) == 0);  // forgotten
  leat_sqlite_statement_free(echo);
}

// No bytes are an empty text or blob, and NULL is neither.
static void nothing_is_not_null(void** state) {
  const leat_string_view_t nothing = {0};
  const leat_sqlite_value_t values[] = {LEAT_SQLITE_OF_TEXT(nothing), LEAT_SQLITE_OF_BLOB(nothing),
                                        {0}};
  leat_sqlite_statement_t* types = prepare("SELECT typeof(?), typeof(?), typeof(?)");
  LEAT_EXPECT_OK(leat_sqlite_bind(types, values, 3));
  assert_true(step(types));
  expect_bytes(types, 0, LEAT_SV("text"));
  expect_bytes(types, 1, LEAT_SV("blob"));
  expect_bytes(types, 2, LEAT_SV("null"));
  leat_sqlite_statement_free(types);
}

static void a_text_without_a_statement_has_no_rows(void** state) {
  leat_sqlite_statement_t* nothing = prepare(" -- nothing");
  assert_int_equal(leat_sqlite_column_count(nothing), 0);
  leat_sqlite_reset(nothing);
  assert_false(step(nothing));
  leat_sqlite_statement_free(nothing);
}

static void failures_have_codes(void** state) {
  leat_sqlite_statement_t* statement;
  bool is_row;
  expect_failure(leat_sqlite_prepare(database, LEAT_SV("SELECT * FROM missing"), &statement),
                 LEAT_UNKNOWN, "no such table: missing: \"SELECT * FROM missing\"");
  statement = prepare("CREATE TABLE ids (id INTEGER PRIMARY KEY)");
  assert_false(step(statement));
  leat_sqlite_statement_free(statement);
  statement = prepare("INSERT INTO ids VALUES (?)");
  const leat_sqlite_value_t values[] = {LEAT_SQLITE_OF_INTEGER(1),
                                        LEAT_SQLITE_OF_TEXT(LEAT_SV("x"))};
  expect_failure(leat_sqlite_bind(statement, values, 2), LEAT_OUT_OF_RANGE, "out of range");
  LEAT_EXPECT_OK(leat_sqlite_bind(statement, values, 1));
  assert_false(step(statement));
  expect_failure(leat_sqlite_step(statement, &is_row), LEAT_INVALID_ARGUMENT, "UNIQUE");
  leat_sqlite_reset(statement);
  LEAT_EXPECT_OK(leat_sqlite_bind(statement, values + 1, 1));
  expect_failure(leat_sqlite_step(statement, &is_row), LEAT_FAILED_PRECONDITION, "mismatch");
  leat_sqlite_statement_free(statement);
}

static void files_that_are_no_databases_are_refused(void** state) {
  leat_sqlite_t* file;
  leat_sqlite_statement_t* statement;
  leat_string_view_t path = leat_string_view_from(test_path("words"));
  expect_failure(leat_sqlite_open(path, false, &file), LEAT_INVALID_ARGUMENT, "words");
  char words[600];
  memset(words, 'w', sizeof words);
  test_write_file("words", words, sizeof words);
  LEAT_EXPECT_OK(leat_sqlite_open(path, false, &file));
  expect_failure(leat_sqlite_prepare(file, LEAT_SV("SELECT * FROM x"), &statement),
                 LEAT_INVALID_ARGUMENT, "not a database");
  leat_sqlite_close(file);
}

static int stop_at_third(void* data) { return ++*(int*)data == 3; }

static void a_statement_that_works_for_ever_is_stopped(void** state) {
  int asked = 0;
  bool is_row;
  leat_sqlite_set_check(database, stop_at_third, &asked);
  leat_sqlite_statement_t* endless = prepare(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n");
  expect_failure(leat_sqlite_step(endless, &is_row), LEAT_CANCELLED, "interrupted");
  assert_int_equal(asked, 3);
  leat_sqlite_statement_free(endless);
}

// A message shows the beginning of a long statement.
static void messages_are_short(void** state) {
  char text[5000];
  leat_sqlite_statement_t* statement;
  memset(text, 'x', sizeof text);
  leat_status_t status =
      leat_sqlite_prepare(database, leat_string_view_make(text, sizeof text), &statement);
  assert_non_null(strstr(leat_status_message(status), "xxx\"..."));
  leat_status_free(status);
}

int main(void) {
#define IN_MEMORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      IN_MEMORY(values_come_back),
      IN_MEMORY(nothing_is_not_null),
      IN_MEMORY(a_text_without_a_statement_has_no_rows),
      IN_MEMORY(failures_have_codes),
      IN_MEMORY(a_statement_that_works_for_ever_is_stopped),
      IN_MEMORY(messages_are_short),
      cmocka_unit_test_setup_teardown(files_that_are_no_databases_are_refused, test_directory_make,
                                      test_directory_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
