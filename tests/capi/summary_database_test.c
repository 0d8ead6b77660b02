// CreateSummaryDbWriter through the front door: a number keeps its type, what cannot be kept is
// refused, and the run has ended when its writer is closed. All that is written is compared with
// TensorFlow's in tests/oracle/summary_database_oracle.py.
#include <string.h>

#include "base/test.h"
#include "capi/dataset_kit.h"
#include "formats/database/sqlite.h"
#include "scratch.h"

#define DATABASE(path)                                                                          \
  NODE("w", "SummaryWriter", , NAMES) TEXT("path", path) TEXT("name", "mine")                   \
  NODE("open", "CreateSummaryDbWriter", IN("w") IN("path") IN("name") IN("name") IN("name"), )  \
  NODE("step", "Const", , INT64("7")) TEXT("tag", "a") TEXT("bad", "\\377")                     \
  NODE("four", "Const", , CONST("UINT8", "int_val", "4"))                                       \
  NODE("truth", "Const", , CONST("BOOL", "bool_val", "true"))                                   \
  NODE("number", "WriteScalarSummary", IN("w") IN("step") IN("tag") IN("four"),                 \
       TYPE("T", "UINT8"))                                                                      \
  NODE("told", "WriteSummary", IN("w") IN("step") IN("four") IN("tag") IN("bad"),               \
       TYPE("T", "UINT8"))                                                                      \
  NODE("bool", "WriteSummary", IN("w") IN("step") IN("truth") IN("tag") IN("tag"),              \
       TYPE("T", "BOOL"))                                                                       \
  NODE("flush", "FlushSummaryWriter", IN("w"), ) NODE("close", "CloseSummaryWriter", IN("w"), )

static TF_Code run(functions_t* f, const char* name) {
  const TF_Operation* target = TF_GraphOperationByName(f->graph, name);
  TF_SessionRun(f->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, f->status);
  return TF_GetCode(f->status);
}

static void expect(const char* text, int64_t wanted) {
  leat_sqlite_t* database;
  leat_sqlite_statement_t* query;
  bool is_row;
  LEAT_EXPECT_OK(leat_sqlite_open(LEAT_SV("mine.db"), false, &database));
  LEAT_EXPECT_OK(leat_sqlite_prepare(database, leat_string_view_from(text), &query));
  LEAT_EXPECT_OK(leat_sqlite_step(query, &is_row));
  assert_true(is_row);
  assert_int_equal(leat_sqlite_integer(query, 0), wanted);
  leat_sqlite_statement_free(query);
  leat_sqlite_close(database);
}

static void test_numbers_keep_their_types(void** state) {
  functions_t f = functions_open(DATABASE("mine.db"));
  assert_int_equal(run(&f, "number"), TF_NOT_FOUND);  // it is not open
  functions_target(&f, "open");
  functions_target(&f, "open");  // it is open
  functions_target(&f, "number");
  functions_target(&f, "flush");
  expect("SELECT data = x'04' FROM Tensors WHERE dtype = 4 AND step = 7 AND shape = ''", 1);
  expect("SELECT plugin_name = 'scalars' FROM Tags WHERE tag_name = 'a'", 1);
  expect("SELECT count(*) FROM Runs WHERE finished_time IS NULL", 1);
  functions_target(&f, "close");
  expect("SELECT count(*) FROM Runs WHERE finished_time IS NULL", 0);
  expect("SELECT count(*) FROM Tensors", 1);
  functions_close(&f);
}

static void test_what_cannot_be_kept_is_refused(void** state) {
  functions_t f = functions_open(DATABASE("mine.db"));
  functions_target(&f, "open");
  assert_int_equal(run(&f, "told"), TF_INVALID_ARGUMENT);
  assert_non_null(strstr(TF_Message(f.status), "Bad serialized_metadata"));
  assert_int_equal(run(&f, "bool"), TF_INVALID_ARGUMENT);  // its tag is no metadata
  functions_close(&f);
  expect("SELECT count(*) FROM Tags", 0);
}

static void test_a_database_must_be_one(void** state) {
  functions_t f = functions_open(DATABASE("missing/mine.db"));
  assert_int_equal(run(&f, "open"), TF_INVALID_ARGUMENT);
  assert_non_null(strstr(TF_Message(f.status), "missing/mine.db"));
  assert_int_equal(run(&f, "number"), TF_NOT_FOUND);
  functions_close(&f);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_numbers_keep_their_types),
      TEST(test_what_cannot_be_kept_is_refused),
      TEST(test_a_database_must_be_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
