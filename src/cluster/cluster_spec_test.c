// A description of a cluster (ClusterDef: jobs, their tasks and addresses) comes from a file or a
// peer, so that a lie in it must be named and leave nothing behind. The tests build the message
// from small tables of jobs and look at the list that becomes of it: sorted by job and index,
// whatever the order of the message, because all tasks must number each other alike. The jobs "ps"
// and "ps_2" and the tasks 1 and 10 are there because one name is the beginning of the other, where
// a search by prefix would find the wrong task. The spec copies its texts, which a test shows by
// overwriting the message. Bad names, addresses, indices and tasks that are there twice are refused
// with the task in the message, and each allocation fails once.
#include "cluster/cluster_spec.h"

#include <string.h>

#include "base/fault.h"
#include "base/test.h"

// A cluster of one job per name, whose tasks are at |addresses|, from index |first| on.
typedef struct job_s {
  const char* name;
  int first;
  const char* addresses[3];  // up to NULL
} job_t;

enum { kMostJobs = 4 };

// Makes the ClusterDef of |jobs| and reads it.
static leat_status_t read_jobs(const job_t* jobs, size_t count, leat_cluster_spec_t* out_spec) {
  leat_pb_job_def_tasks_entry_t entries[kMostJobs][3];
  leat_pb_job_def_t items[kMostJobs] = {0};
  for (size_t i = 0; i < count; ++i) {
    items[i].name = leat_string_view_from(jobs[i].name);
    items[i].tasks.items = entries[i];
    for (int k = 0; k < 3 && jobs[i].addresses[k]; ++k) {
      entries[i][k] = (leat_pb_job_def_tasks_entry_t){
          .key = jobs[i].first + k, .value = leat_string_view_from(jobs[i].addresses[k])};
      ++items[i].tasks.count;
    }
  }
  const leat_pb_cluster_def_t cluster = {.job = {items, count}};
  return leat_cluster_spec_of(&cluster, leat_allocator_system(), out_spec);
}

// Jobs in the wrong order, one with an index above 9 and one whose name begins like the other's.
static const job_t kJobs[] = {
    {"worker", 0, {"w0:1", "w1:2"}},
    {"ps", 9, {"[::1]:65535", "p10:0", "10.0.0.1:2222"}},
    {"ps_2", 0, {"q:5"}},
};

static void tasks_are_ordered_and_named(void** state) {
  static const struct {
    const char *job, *name, *address;
    int index;
  } kExpected[] = {
      {"ps", "/job:ps/replica:0/task:9", "[::1]:65535", 9},
      {"ps", "/job:ps/replica:0/task:10", "p10:0", 10},
      {"ps", "/job:ps/replica:0/task:11", "10.0.0.1:2222", 11},
      {"ps_2", "/job:ps_2/replica:0/task:0", "q:5", 0},
      {"worker", "/job:worker/replica:0/task:0", "w0:1", 0},
      {"worker", "/job:worker/replica:0/task:1", "w1:2", 1},
  };
  leat_cluster_spec_t spec;
  LEAT_EXPECT_OK(read_jobs(kJobs, LEAT_ARRAY_SIZE(kJobs), &spec));
  assert_int_equal(spec.task_count, LEAT_ARRAY_SIZE(kExpected));
  for (int i = 0; i < spec.task_count; ++i) {
    const leat_cluster_task_t* task = &spec.tasks[i];
    assert_true(leat_string_view_equals(task->job, kExpected[i].job));
    assert_true(leat_string_view_equals(task->name, kExpected[i].name));
    assert_true(leat_string_view_equals(task->address, kExpected[i].address));
    assert_int_equal(task->index, kExpected[i].index);
    assert_int_equal(leat_cluster_spec_find(&spec, task->job, task->index), i);
  }
  assert_int_equal(leat_cluster_spec_find(&spec, LEAT_SV("ps"), 0), -1);
  assert_int_equal(leat_cluster_spec_find(&spec, LEAT_SV("p"), 9), -1);
  assert_int_equal(leat_cluster_spec_find(&spec, LEAT_SV("PS"), 9), -1);
  leat_cluster_spec_deinitialize(&spec);
}

// The name of a task may be the beginning of another's, and of something that is no device.
static void devices_have_their_tasks(void** state) {
  const job_t jobs[] = {{"ps", 0, {"a:1", "b:2"}}, {"ps", 10, {"c:3"}}};
  static const struct {
    const char* device;
    int task;
  } kCases[] = {
      {"/job:ps/replica:0/task:0/device:CPU:0", 0},
      {"/job:ps/replica:0/task:1/device:CPU:7", 1},
      {"/job:ps/replica:0/task:10/device:CPU:0", 2},
      {"/job:ps/replica:0/task:1/", 1},
      {"/job:ps/replica:0/task:1", -1},
      {"/job:ps/replica:0/task:100/device:CPU:0", -1},
      {"/job:ps/replica:0/task:2/device:CPU:0", -1},
      {"/job:ps/replica:1/task:1/device:CPU:0", -1},
      {"/job:p/replica:0/task:1/device:CPU:0", -1},
      {"job:ps/replica:0/task:1/device:CPU:0", -1},
      {"/device:CPU:0", -1},
      {"/", -1},
      {"", -1},
  };
  leat_cluster_spec_t spec;
  LEAT_EXPECT_OK(read_jobs(jobs, 2, &spec));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    assert_int_equal(
        leat_cluster_spec_find_device(&spec, leat_string_view_from(kCases[i].device)),
        kCases[i].task);
  }
  leat_cluster_spec_deinitialize(&spec);
}

static void a_cluster_may_be_empty(void** state) {
  const job_t none = {"idle", 0, {NULL}};
  leat_cluster_spec_t spec;
  LEAT_EXPECT_OK(read_jobs(NULL, 0, &spec));
  assert_int_equal(spec.task_count, 0);
  assert_int_equal(leat_cluster_spec_find(&spec, LEAT_SV("ps"), 0), -1);
  leat_cluster_spec_deinitialize(&spec);
  LEAT_EXPECT_OK(read_jobs(&none, 1, &spec));
  assert_int_equal(spec.task_count, 0);
  leat_cluster_spec_deinitialize(&spec);
}

// A spec keeps nothing of the message, whose bytes may go.
static void names_are_copied(void** state) {
  char name[] = "ps", address[] = "host:1";
  leat_pb_job_def_tasks_entry_t entry = {.value = leat_string_view_from(address)};
  leat_pb_job_def_t job = {.name = leat_string_view_from(name), .tasks = {&entry, 1}};
  const leat_pb_cluster_def_t cluster = {.job = {&job, 1}};
  leat_cluster_spec_t spec;
  LEAT_EXPECT_OK(leat_cluster_spec_of(&cluster, leat_allocator_system(), &spec));
  memset(name, 'x', sizeof name);
  memset(address, 'x', sizeof address);
  assert_true(leat_string_view_equals(spec.tasks[0].job, "ps"));
  assert_true(leat_string_view_equals(spec.tasks[0].address, "host:1"));
  leat_cluster_spec_deinitialize(&spec);
}

static void expect_refused(const job_t* jobs, size_t count, const char* text) {
  leat_cluster_spec_t spec;
  leat_status_t status = read_jobs(jobs, count, &spec);
  if (!status || !strstr(leat_status_message(status), text)) {
    print_error("'%s': %s\n", jobs[0].name, leat_status_message(status));
  }
  assert_true(strstr(leat_status_message(status), text));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
  assert_null(spec.tasks);
  assert_int_equal(spec.task_count, 0);
}

static void bad_names_are_refused(void** state) {
  const char* const refused[] = {"", "1ps", "_ps", "-ps", "p s", "p/s", "p:s", "ps\n", "p\xc3\xa4"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(refused); ++i) {
    expect_refused(&(job_t){refused[i], 0, {"h:1"}}, 1, "a job is named");
  }
  leat_cluster_spec_t spec;
  LEAT_EXPECT_OK(read_jobs(&(job_t){"A1_b-c", 0, {"h:1"}}, 1, &spec));
  leat_cluster_spec_deinitialize(&spec);
}

static void bad_addresses_are_refused(void** state) {
  const char* const refused[] = {"",      "h",    ":1",    "h:",    "h:-1", "h:65536",
                                 "h:x",   "h:1x", "h: 1",  "h:1 ",  "h:99999999999999999999",
                                 "h:1:x", "h:0x1"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(refused); ++i) {
    expect_refused(&(job_t){"ps", 3, {"good:1", refused[i]}}, 1, "task 4 of job 'ps'");
  }
  expect_refused(&(job_t){"ps", -1, {"h:1"}}, 1, "task -1 of job 'ps'");
  expect_refused(&(job_t){"ps", INT32_MIN, {"h:1"}}, 1, "of job 'ps'");
}

// A job may be there twice, each with tasks of its own, but a task may not.
static void a_task_is_there_once(void** state) {
  const job_t twice[] = {{"ps", 0, {"a:1"}}, {"worker", 0, {"b:1"}}, {"ps", 0, {"c:1"}}};
  expect_refused(twice, 3, "'/job:ps/replica:0/task:0' is there twice");
}

static void every_allocation_may_fail(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_cluster_spec_t spec;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = read_jobs(kJobs, LEAT_ARRAY_SIZE(kJobs), &spec);
    if (!leat_fault_remove(&fault)) {
      LEAT_EXPECT_OK(status);
      leat_cluster_spec_deinitialize(&spec);
      assert_true(n > 1);
      return;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    assert_null(spec.tasks);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_are_ordered_and_named),
      cmocka_unit_test(devices_have_their_tasks),
      cmocka_unit_test(a_cluster_may_be_empty),
      cmocka_unit_test(names_are_copied),
      cmocka_unit_test(bad_names_are_refused),
      cmocka_unit_test(bad_addresses_are_refused),
      cmocka_unit_test(a_task_is_there_once),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
