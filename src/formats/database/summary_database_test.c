// Events of a run in a database. What TensorFlow writes for the same events is compared in
// tests/oracle/summary_database_oracle.py; here is how rows lie in a database, what is left of a
// run that has ended, and what happens where a database cannot be written. Not built where the
// module sqlite is left out.
#include "formats/database/summary_database.h"

#include "formats/database/summary_store.h"
#include "formats/generated/graph.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"
#include "tensor/dtype.h"

enum { EVENT_GRAPH_DEF = 4, EVENT_SUMMARY = 5, VALUE_NUMBER = 2, VALUE_TENSOR = 8 };

static leat_summary_database_t* open_run(const char* run, const char* user) {
  leat_summary_database_t* database;
  LEAT_EXPECT_OK(leat_summary_database_open(
      leat_string_view_from(test_path("db")),
      (leat_summary_run_t){.experiment = LEAT_SV("experiment"),
                           .run = leat_string_view_from(run),
                           .user = leat_string_view_from(user)},
      &database));
  return database;
}

static leat_status_t add(leat_summary_database_t* database, const char* tag, int64_t step,
                         double time) {
  leat_pb_summary_value_t value = {.tag = leat_string_view_from(tag),
                                   .simple_value = (float)step / 2,
                                   .value_case = VALUE_NUMBER};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  const leat_pb_event_t event = {
      .step = step, .wall_time = time, .summary = &summary, .what_case = EVENT_SUMMARY};
  return leat_summary_database_add(database, &event);
}

static leat_sqlite_t* reader;
static leat_sqlite_statement_t* query;

// The first column of the only row of |text|, as a number.
static double ask(const char* text) {
  bool is_row;
  LEAT_EXPECT_OK(leat_sqlite_open(leat_string_view_from(test_path("db")), false, &reader));
  LEAT_EXPECT_OK(leat_sqlite_prepare(reader, leat_string_view_from(text), &query));
  LEAT_EXPECT_OK(leat_sqlite_step(query, &is_row));
  assert_true(is_row);
  const double answer = leat_sqlite_real(query, 0);
  leat_sqlite_statement_free(query);
  leat_sqlite_close(reader);
  return answer;
}

static void expect(const char* text, double wanted) {
  const double answer = ask(text);
  if (answer != wanted) fail_msg("%s is %g, must be %g", text, answer, wanted);
}

// Each tag's rows lie together though they were written in turn, and each is there at once.
static void a_series_lies_together(void** state) {
  leat_summary_database_t* database = open_run("run", "ada");
  for (int64_t step = 0; step < 5; ++step) {
    LEAT_EXPECT_OK(add(database, "a", step, 1));
    LEAT_EXPECT_OK(add(database, "b", step, 1));
    expect("SELECT max(step) FROM Tensors", (double)step);
  }
  expect("SELECT count(*) FROM Tensors", 2000);
  expect("SELECT max(Tensors.rowid) FROM Tensors JOIN Tags ON series = tag_id "
         "WHERE tag_name = 'a' AND dtype = 1", 5);
  expect("SELECT min(Tensors.rowid) FROM Tensors JOIN Tags ON series = tag_id "
         "WHERE tag_name = 'b'", 1001);
  expect("SELECT data = x'0000803f' FROM Tensors WHERE rowid = 3", 1);  // 2 / 2
  LEAT_EXPECT_OK(leat_summary_database_close(database));
  expect("SELECT count(*) FROM Tensors", 10);
  expect("SELECT finished_time > 1.7e9 FROM Runs", 1);
}

// Two places are reserved, and more when these are taken.
static void large_tensors_reserve_few_places(void** state) {
  leat_summary_database_t* database = open_run("run", "ada");
  const size_t size = 300000;
  char* zeros = calloc(1, size);
  assert_non_null(zeros);
  leat_pb_tensor_shape_proto_dim_t dims[] = {{.size = (int64_t)size}};
  leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 1}};
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_INT8,
                                  .tensor_shape = &shape,
                                  .tensor_content = leat_string_view_make(zeros, size)};
  leat_pb_summary_value_t value = {
      .tag = LEAT_SV("a"), .tensor = &proto, .value_case = VALUE_TENSOR};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_pb_event_t event = {.summary = &summary, .what_case = EVENT_SUMMARY};
  for (event.step = 0; event.step < 3; ++event.step) {
    LEAT_EXPECT_OK(leat_summary_database_add(database, &event));
    expect("SELECT count(*) FROM Tensors", event.step < 2 ? 2 : 4);
  }
  expect("SELECT sum(length(data)) FROM Tensors WHERE dtype = 6", 3 * (double)size);
  LEAT_EXPECT_OK(leat_summary_database_close(database));
  expect("SELECT count(*) FROM Tensors", 3);
  free(zeros);
}

static void writers_share_experiments_and_users(void** state) {
  static const char* const kRuns[][2] = {{"one", "ada"}, {"two", "ada"}, {"one", "carl"}};
  for (int i = 0; i < 3; ++i) {
    leat_summary_database_t* database = open_run(kRuns[i][0], kRuns[i][1]);
    LEAT_EXPECT_OK(add(database, "a", 1, 10 - i));
    LEAT_EXPECT_OK(leat_summary_database_close(database));
  }
  expect("SELECT count(*) FROM Users", 2);
  expect("SELECT count(*) FROM Experiments", 2);
  expect("SELECT count(*) FROM Runs", 3);
  expect("SELECT count(*) FROM Tags", 3);
  // Three for each writer, and two of each user.
  expect("SELECT count(*) FROM Ids", 10);
  // An experiment begins with the earliest event of its runs.
  expect("SELECT started_time FROM Experiments JOIN Users USING (user_id) "
         "WHERE user_name = 'ada'", 9);
}

static void a_run_begins_with_its_earliest_event(void** state) {
  leat_summary_database_t* database = open_run("run", "");
  LEAT_EXPECT_OK(add(database, "a", 1, 5.5));
  LEAT_EXPECT_OK(add(database, "a", 2, 4.5));
  LEAT_EXPECT_OK(add(database, "a", 3, 6.5));
  expect("SELECT started_time FROM Runs", 4.5);
  expect("SELECT started_time FROM Experiments", 4.5);
  expect("SELECT user_id IS NULL FROM Experiments", 1);
  LEAT_EXPECT_OK(leat_summary_database_close(database));
}

// A graph that is refused leaves no edges.
static void a_bad_graph_leaves_nothing(void** state) {
  leat_summary_database_t* database = open_run("run", "ada");
  leat_string_view_t inputs[] = {LEAT_SV("a"), LEAT_SV("missing:1")};
  leat_pb_node_def_t nodes[] = {{.name = LEAT_SV("a")},
                                {.name = LEAT_SV("b"), .input = {inputs, 2}}};
  leat_pb_graph_def_t graph = {.node = {nodes, 2}};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &bytes));
  const leat_pb_event_t event = {.graph_def = leat_string_builder_view(&bytes),
                                 .what_case = EVENT_GRAPH_DEF};
  leat_status_t status = leat_summary_database_add(database, &event);
  assert_int_equal(leat_status_code(status), LEAT_DATA_LOSS);
  assert_non_null(strstr(leat_status_message(status), "missing"));
  leat_status_free(status);
  expect("SELECT count(*) FROM NodeInputs", 0);
  expect("SELECT count(*) FROM Ids", 3);  // of user, experiment and run
  leat_string_builder_deinitialize(&bytes);
  LEAT_EXPECT_OK(leat_summary_database_close(database));
}

// Whoever finds the database locked may try again.
static void a_locked_database_is_unavailable(void** state) {
  leat_summary_database_t* database = open_run("run", "ada");
  bool is_row;
  LEAT_EXPECT_OK(leat_sqlite_open(leat_string_view_from(test_path("db")), true, &reader));
  LEAT_EXPECT_OK(leat_sqlite_prepare(reader, LEAT_SV("BEGIN IMMEDIATE"), &query));
  LEAT_EXPECT_OK(leat_sqlite_step(query, &is_row));
  leat_status_t status = add(database, "a", 1, 1);
  assert_int_equal(leat_status_code(status), LEAT_UNAVAILABLE);
  assert_non_null(strstr(leat_status_message(status), "'a' of step 1"));
  leat_status_free(status);
  leat_sqlite_statement_free(query);
  leat_sqlite_close(reader);
  LEAT_EXPECT_OK(add(database, "a", 1, 1));
  expect("SELECT count(*) FROM Tensors WHERE dtype = 1", 1);
  LEAT_EXPECT_OK(leat_summary_database_close(database));
}

// An identifier that is taken is not given again: of three bits there are seven.
static void identifiers_are_unique(void** state) {
  leat_summary_store_t store;
  int64_t id;
  LEAT_EXPECT_OK(leat_summary_store_open(leat_string_view_from(test_path("db")), &store));
  store.id_bits = 3;
  for (int i = 0; i < 9; ++i) {
    LEAT_EXPECT_OK(leat_summary_store_new_id(&store, &id));
    assert_true(id > 0 && id < 1 << 19);
  }
  leat_summary_store_close(&store);
  expect("SELECT count(*) FROM Ids", 9);
}

int main(void) {
#define IN_DIRECTORY(test) \
  cmocka_unit_test_setup_teardown(test, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
      IN_DIRECTORY(a_series_lies_together),
      IN_DIRECTORY(large_tensors_reserve_few_places),
      IN_DIRECTORY(writers_share_experiments_and_users),
      IN_DIRECTORY(a_run_begins_with_its_earliest_event),
      IN_DIRECTORY(a_bad_graph_leaves_nothing),
      IN_DIRECTORY(a_locked_database_is_unavailable),
      IN_DIRECTORY(identifiers_are_unique),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
