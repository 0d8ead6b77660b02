// Where a process finds its cluster, by the front door: `leat launch --cluster SOURCE -- PROGRAM`
// becomes the program with what the source says in TF_CONFIG, which the program prints. The
// variables are those that Slurm 22.05, Open MPI 4.1, MPICH and Kubernetes set, as they were seen
// there; tests/schedulers/run lets the real ones set them. Each case clears all variables that a
// source may read, so that the machine on which the test runs says nothing. What a source says
// otherwise than it must is answered with the variable, the value and the rule. The library is also
// asked directly, with each of its allocations failing once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/test.h"
#include "cluster/cluster_source.h"
#include "cluster/host_list.h"
#include "tools/tool_run.h"

// Has the environment hold just these variables of those that sources read: "NAME=VALUE\n...".
static void set_variables(const char* settings) {
  static const char* const kAll[] = {
      "TF_CONFIG", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST",
      "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_DISTRIBUTION", "SLURM_PROCID",
      "SLURM_NODEID", "SLURM_LOCALID", "SLURM_JOB_ID", "OMPI_COMM_WORLD_RANK",
      "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
      "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMIX_RANK", "PMIX_NAMESPACE",
      "OMPI_MCA_ess_base_jobid", "POD_NAME", "HOSTNAME"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kAll); ++i) unsetenv(kAll[i]);
  while (*settings) {
    char name[64], value[512];
    assert_int_equal(sscanf(settings, "%63[^=]=%511[^\n]", name, value), 2);
    setenv(name, value, 1);
    settings += strcspn(settings, "\n");
    settings += *settings == '\n';
  }
}

// A source, what it says or complains of, and the variables.
typedef struct case_s {
  const char *source, *expected, *variables;
} case_t;

#define PLACE(cluster, job, index) \
  "{\"cluster\": {" cluster "}, \"task\": {\"type\": \"" job "\", \"index\": " #index "}}\n"

static void run_cases(const case_t* cases, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    set_variables(cases[i].variables);
    const bool is_right = cases[i].expected[0] == '{';
    if (is_right) {
      tool_expect(0, cases[i].expected, "launch --cluster '%s' -- sh -c 'echo \"$TF_CONFIG\"'",
                  cases[i].source);
    } else {
      tool_result_t result = tool_run("launch --cluster '%s' -- true", cases[i].source);
      if (!strstr(result.out, cases[i].expected)) print_error("%s", result.out);
      assert_in_range(result.code, 1, 2);
      assert_non_null(strstr(result.out, cases[i].expected));
      tool_free(&result);
    }
  }
  set_variables("");
}

// ---- Slurm --------------------------------------------------------------------------------------

#define STEP "SLURM_STEP_NODELIST=n[01-02]\nSLURM_STEP_TASKS_PER_NODE=2(x2)\n"

static void slurm_lists_hosts_and_tasks(void** state) {
  static const case_t kCases[] = {
      {"slurm:ps=1",
       PLACE("\"ps\": [\"n01:8888\"], \"worker\": [\"n01:8889\", \"n02:8888\", \"n02:8889\"]",
             "worker", 1),
       STEP "SLURM_PROCID=2\nSLURM_NODEID=1\nSLURM_LOCALID=0"},
      {"", PLACE("\"worker\": [\"n01:8888\", \"n01:8889\", \"n02:8888\", \"n02:8889\"]",
                 "worker", 0),
       STEP "SLURM_PROCID=0\nSLURM_DISTRIBUTION=block:cyclic"},
      {"slurm:ps=1,port=2222",
       PLACE("\"ps\": [\"n01:2222\"], \"worker\": [\"n02:2222\", \"n01:2223\", \"n02:2223\"]",
             "worker", 1),
       STEP "SLURM_PROCID=2\nSLURM_NODEID=0\nSLURM_LOCALID=1\nSLURM_DISTRIBUTION=cyclic"},
      {"slurm:chief=1,worker=2,tasks_per_node=1+2",
       PLACE("\"chief\": [\"n01:8888\"], \"worker\": [\"n02:8888\", \"n02:8889\"]", "chief", 0),
       STEP "SLURM_PROCID=0"},
      {"slurm", PLACE("\"worker\": [\"r1n2:8888\", \"r1n3:8888\", \"r2n2:8888\", \"r2n3:8888\", "
                      "\"login:8888\"]", "worker", 4),
       "SLURM_STEP_NODELIST=r[1-2]n[2,3],login\nSLURM_STEP_TASKS_PER_NODE=1(x5)\nSLURM_PROCID=4"},
      {"slurm", "SLURM_NODEID is '1', must be 0 for process 2",
       STEP "SLURM_PROCID=2\nSLURM_NODEID=1\nSLURM_DISTRIBUTION=cyclic"},
      {"slurm", "SLURM_LOCALID is '1', must be 0 for process 2",
       STEP "SLURM_PROCID=2\nSLURM_NODEID=1\nSLURM_LOCALID=1"},
      {"slurm", "SLURM_DISTRIBUTION is 'plane=2', must begin with block or cyclic",
       STEP "SLURM_PROCID=2\nSLURM_DISTRIBUTION=plane=2"},
      {"slurm", "SLURM_PROCID is '4', must be a number from 0 to 3", STEP "SLURM_PROCID=4"},
      {"slurm:ps=5", "the number of tasks of a job is '5', must be at most 4",
       STEP "SLURM_PROCID=0"},
      {"slurm:port=65535", "a port is '65536', must be at most 65535", STEP "SLURM_PROCID=0"},
      {"slurm:ps=x", "option ps is 'x', must be a number", STEP "SLURM_PROCID=0"},
      {"slurm:ps=4", "must be a source that says which task", STEP},  // no step's process
      {"slurm", "SLURM_STEP_TASKS_PER_NODE is wrong: Reading numbers of tasks failed: they are "
                "'2(x3)', must be one for each host",
       "SLURM_STEP_NODELIST=a,b\nSLURM_STEP_TASKS_PER_NODE=2(x3)"},
      {"slurm", "SLURM_STEP_NODELIST is not set, must name the hosts", ""},
  };
  run_cases(kCases, LEAT_ARRAY_SIZE(kCases));
}

// Lists that are malformed, or that would take the memory of the machine.
static void bad_host_lists_are_refused(void** state) {
  static const char* const kLists[] = {"",       "a,",     "a[1",    "a]1[",      "a[1-]",
                                       "a[x]",   "a[2-1]", "a[]",    "a[1]]",     "a[[1]]",
                                       "a[+1]",  "a,,b",   "a[1,]b", "a[0-99999]", "a[0-99]b[0-99]",
                                       "a[1-9999999999]", "[1][1][1][1][1][1][1][1][1]"};
  static const char* const kCounts[] = {"", "x", "1(", "1(x)", "1(x0)", "1(x2", "-1", "1,,1",
                                        "9999", "1(x3)", "600(x2)"};
  leat_arena_t arena;
  leat_string_view_t* hosts;
  size_t count;
  int counts[2];
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLists); ++i) {
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     leat_host_list_expand(leat_string_view_from(kLists[i]), 1000, &arena, &hosts,
                                           &count));
  }
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCounts); ++i) {
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     leat_task_counts_expand(leat_string_view_from(kCounts[i]), 2, 1000, counts));
  }
  leat_arena_deinitialize(&arena);
}

// ---- MPI ----------------------------------------------------------------------------------------

static void mpi_numbers_processes(void** state) {
  static const case_t kCases[] = {
      {"", PLACE("\"worker\": [\"localhost:8888\", \"localhost:8889\"]", "worker", 1),
       "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_SIZE=2\n" STEP},
      {"mpi:ps=1,port=2222",
       PLACE("\"ps\": [\"localhost:2222\"], \"worker\": [\"localhost:2223\"]", "ps", 0),
       "OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_SIZE=2"},
      {"mpi", "option folder is '', must be a folder that all processes see",
       "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_SIZE=2"},
      {"mpi:folder=x", "option run is '', must be a name, since no variable tells",
       "PMI_RANK=1\nPMI_SIZE=4"},
      {"mpi", "OMPI_COMM_WORLD_RANK is '2', must be a number from 0 to 1",
       "OMPI_COMM_WORLD_RANK=2\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_SIZE=2"},
      {"mpi", "the number of processes is '', must be above 0", "PMIX_RANK=0"},
      {"mpi", "none of OMPI_COMM_WORLD_RANK, PMI_RANK and PMIX_RANK is set", ""},
      {"mpi:folder=x,run=alone,timeout=1", "x/leat-alone.1' is not there, must come from rank 1",
       "PMI_RANK=0\nPMI_SIZE=2"},
      {"mpi:folder=x,run=old", "x/leat-old' has 1 lines, must have one for each of 2 ranks",
       "PMI_RANK=1\nPMI_SIZE=2"},
  };
  assert_int_equal(mkdir("x", 0777), 0);
  scratch_write_text("x/leat-old", "somewhere:1\n");
  run_cases(kCases, LEAT_ARRAY_SIZE(kCases));
}

// Three processes that know no more than their numbers find each other through a folder.
static void processes_exchange_addresses(void** state) {
  set_variables("");
  tool_expect(0, "3 ps worker worker\n",
              "--help >/dev/null; for i in 2 0 1; do PMI_RANK=$i PMI_SIZE=3 MPI_LOCALRANKID=$i "
              "$LEAT_BUILD_DIR/bin/leat launch --cluster mpi:ps=1,folder=f/g,run=a/b -- "
              "sh -c 'echo \"$TF_CONFIG\"' > out.$i & done; wait; "
              "echo $(sort -u out.* | wc -l) $(grep -ho 'type\": \"[a-z]*' out.0 out.1 out.2 | "
              "cut -c 9-); test $(ls f/g) = leat-a_b && test $(wc -l < f/g/leat-a_b) = 3; exit $?");
}

// ---- Text, TF_CONFIG, files, pods ---------------------------------------------------------------

#define CONFIG "{\"cluster\": {\"ps\": [\"a:1\"], \"worker\": {\"0\": \"b:1\", \"7\": \"c:1\"}}, "

static void tf_config_is_read(void** state) {
  static const case_t kCases[] = {
      {"", PLACE("\"ps\": [\"a:1\"], \"worker\": {\"0\": \"b:1\", \"7\": \"c:1\"}", "worker", 7),
       "TF_CONFIG=" CONFIG "\"environment\": \"cloud\", \"rpc_layer\": [null, {\"a\": 1.5e3}], "
       "\"task\": {\"cloud\": true, \"index\": \"7\", \"type\": \"worker\"}}\n" STEP},
      {"tf_config", "TF_CONFIG failed: it has no cluster", "TF_CONFIG={\"task\": {}}"},
      {"tf_config", "TF_CONFIG failed: it is not set", ""},
      {"tf_config", "a string is expected at byte 20",
       "TF_CONFIG={\"cluster\": {\"ps\": [1]}}"},
      {"tf_config", "a list of addresses, or an object of them, is expected",
       "TF_CONFIG={\"cluster\": {\"ps\": \"a:1\"}}"},
      {"tf_config", "the index of a task is 'x', must be a number",
       "TF_CONFIG={\"cluster\": {\"ps\": {\"x\": \"a:1\"}}}"},
      {"tf_config", "more text", "TF_CONFIG={\"cluster\": {\"ps\": [\"a:1\"]}} x"},
      {"tf_config:ps=1", "an option is 'ps=1', must not be there", "TF_CONFIG={}"},
      {"", "nobody names one: TF_CONFIG is not set, and neither mpirun nor Slurm", ""},
  };
  run_cases(kCases, LEAT_ARRAY_SIZE(kCases));
}

static void files_and_texts_are_read(void** state) {
  static const case_t kCases[] = {
      {"file:absent", "absent", ""},
      {"file:empty", "Reading the cluster from empty failed", ""},
      {"file:bad", "Reading the cluster from bad failed: a job is 'worker', must be like", ""},
      {"ps=", "a job is 'ps=', must be like", ""},
      {"=a:1", "a job is '=a:1', must be like", ""},
      {"ps=a:1,,b:1", "a job is 'ps=a:1,,b:1', must be like", ""},
      {"nonsense", "its source is 'nonsense', must be JOB=HOST:PORT,...;JOB=..., tf_config", ""},
      {"ps=a:1", "must be a source that says which task this process is", ""},
  };
  scratch_write_text("empty", "# nothing\n\n");
  scratch_write_text("bad", "ps=a:1\nworker\n");
  scratch_write_text("text", "# the cluster\nps = localhost:1  # here\nworker=localhost:2; worker="
                             "localhost:3\n");
  scratch_write_text("whole.json", CONFIG "\"task\": {\"type\": \"ps\", \"index\": 0}}");
  scratch_write_text("jobs.json", "\n {\"ps\": [\"localhost:1\"]}");
  run_cases(kCases, LEAT_ARRAY_SIZE(kCases));
  tool_expect(0, PLACE("\"ps\": [\"a:1\"], \"worker\": {\"0\": \"b:1\", \"7\": \"c:1\"}", "ps", 0),
              "launch --cluster file:whole.json -- sh -c 'echo \"$TF_CONFIG\"'");
  tool_expect_part(1, "/job:worker/replica:0/task:1 at localhost:3",
                   "doctor --cluster file:text --no-pairs");
  tool_expect_part(1, "/job:ps/replica:0/task:0 at localhost:1",
                   "doctor --cluster file:jobs.json --no-pairs");
  tool_expect_part(2, "--job is missing", "server --cluster file:text");
}

static void pods_have_names(void** state) {
  static const case_t kCases[] = {
      {"kubernetes:ps=1,worker=2,service=leat",
       PLACE("\"ps\": [\"ps-0.leat:2222\"], \"worker\": [\"worker-0.leat:2222\", "
             "\"worker-1.leat:2222\"]", "worker", 1), "HOSTNAME=worker-1"},
      {"kubernetes:name=mnist-,worker=1,service=s,port=80,domain=d.svc",
       PLACE("\"worker\": [\"mnist-worker-0.s.d.svc:80\"]", "worker", 0),
       "HOSTNAME=worker-0\nPOD_NAME=mnist-worker-0"},
      {"kubernetes:ps=1,service=leat", "must be a source that says which task", "HOSTNAME=else"},
      {"kubernetes:ps=1", "must be like 'ps=1,worker=2,service=NAME'", "HOSTNAME=ps-0"},
  };
  run_cases(kCases, LEAT_ARRAY_SIZE(kCases));
}

// A server takes its place from the source; what the command line says of it goes first.
static void a_server_takes_its_place(void** state) {
  set_variables("TF_CONFIG={\"cluster\": {\"ps\": [\"machine.test:1\", \"machine.test:2\"]}, "
                "\"task\": {\"type\": \"ps\", \"index\": 1}}");
  tool_expect_part(1, "address is grpc://machine.test:2, must be of this machine", "server");
  tool_expect_part(1, "address is grpc://machine.test:1, must be of this machine",
                   "server --task 0");
  tool_expect_part(1, "address is grpc://machine.test:2, must be of this machine",
                   "server --job ps");
  set_variables("");
  tool_expect_part(2, "--cluster is missing: Reading a cluster failed: nobody names one", "server");
  tool_expect_part(2, "must not come with --cluster", "launch -n 2 --cluster slurm -- true");
}

// ---- Memory -------------------------------------------------------------------------------------

static void every_allocation_may_fail(void** state) {
  set_variables("TF_CONFIG=" CONFIG "\"task\": {\"type\": \"ps\", \"index\": 0}}\n" STEP
                "SLURM_PROCID=1");
  static const char* const kSources[] = {"tf_config", "slurm:ps=1", "ps=a:1;worker=b:1",
                                         "kubernetes:ps=1,service=s"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSources); ++i) {
    for (int n = 1;; ++n) {
      leat_fault_t fault;
      leat_cluster_place_t place;
      leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
      leat_status_t status =
          leat_cluster_place_initialize(leat_string_view_from(kSources[i]), &place);
      if (!leat_fault_remove(&fault)) {
        LEAT_EXPECT_OK(status);
        leat_cluster_place_deinitialize(&place);
        assert_true(n > 1);
        break;
      }
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    }
  }
  set_variables("");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(slurm_lists_hosts_and_tasks),
      TEST(bad_host_lists_are_refused),
      TEST(mpi_numbers_processes),
      TEST(processes_exchange_addresses),
      TEST(tf_config_is_read),
      TEST(files_and_texts_are_read),
      TEST(pods_have_names),
      TEST(a_server_takes_its_place),
      TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
