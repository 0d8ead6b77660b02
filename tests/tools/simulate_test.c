// leat simulate, held against what can be computed without it. Where nothing is random, a step is a
// sum of times and the sum is compared to nine digits; where many workers share a resource, the
// sharing has a closed form; where steps are drawn at random, the law of the distribution is known
// (of the maximum of eight, of quantiles) and the tolerance is some deviations of the estimate.
// What is wrong with a scenario must be told with its line, field, value and rule. The figures of
// the OSDI paper are in simulate_figures_test.c.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leat/files.h"
#include "leat/inspect.h"
#include "leat/train.h"
#include "tools/tool_run.h"

// A number of the |run|-th simulation in a result with --json.
static double figure(const tool_result_t* result, int run, const char* name) {
  char key[64];
  const char* at = result->out;
  snprintf(key, sizeof key, "\"%s\": ", name);
  for (int i = 0; i <= run; ++i) {
    at = strstr(at, "{\"policy\"");
    assert_non_null(at);
    ++at;
  }
  at = strstr(at, key);
  assert_non_null(at);
  return strtod(at + strlen(key), NULL);
}

// Simulates |text| with further arguments.
static tool_result_t simulate(const char* text, const char* arguments) {
  scratch_write_text("s.txt", text);
  tool_result_t result = tool_run("simulate s.txt --json %s", arguments);
  if (result.code) print_error("%s\n", result.out);
  assert_int_equal(result.code, 0);
  return result;
}

static double simulate_one(const char* text, const char* arguments, const char* name) {
  tool_result_t result = simulate(text, arguments);
  double value = figure(&result, 0, name);
  tool_free(&result);
  return value;
}

static void expect_near(double value, double wanted, double tolerance) {
  if (fabs(value - wanted) > tolerance) print_error("%.12g, wanted %.12g\n", value, wanted);
  assert_true(fabs(value - wanted) <= tolerance);
}

#define MEDIAN "step_median_s"
#define TRAINING \
  "bandwidth = 100 MB/s\nlatency = 1 ms\nsteps = 20\n" \
  "phase = server send 10 MB\nphase = worker compute 500 ms send 20 MB\n" \
  "phase = server compute 30 ms\n"

// ---- Sums of times ------------------------------------------------------------------------------

// RunGraph, two transfers and the answer have a latency each.
static void test_one_worker(void** state) {
  expect_near(simulate_one(TRAINING, "", MEDIAN), .1 + .5 + .2 + .03 + 4 * .001, 1e-9);
  // Four servers divide their work, but the worker has one interface.
  expect_near(simulate_one(TRAINING, "--set servers=4", MEDIAN), .8 + .03 / 4 + .004, 1e-9);
  // What is said of each server is not divided: 4 x 10 MB through the worker's interface.
  expect_near(simulate_one("bandwidth = 100 MB/s\nservers = 4\nphase = server send 10 MB each\n"
                           "phase = worker compute 1 s\n", "", MEDIAN), 1.4, 1e-9);
  // Of servers with different amounts the slowest counts: its 30 MB are more than the worker's 50.
  expect_near(simulate_one("bandwidth = 100 MB/s\nservers = 2\npolicy = sync\nworkers = 2\n"
                           "phase = server send 30 MB, 20 MB\nphase = worker compute 1 s\n", "",
                           MEDIAN), 1.6, 1e-9);
}

// Each call costs 10 us at both ends. The worker sends RunGraph to 2 servers, takes 3 values of
// each and sends 4 to each; a server has that call, 3 and 4. The worker's work on what comes from
// both servers is not at the same time on its one core.
static void test_calls(void** state) {
  const char* text = "servers = 2\ncall_cpu = 10 us\nstep_cpu = 100 us\nworker_cores = 1\n"
                     "phase = server messages 6\nphase = worker compute 1 ms messages 8\n"
                     "phase = server\n";
  const double call = 10e-6;
  expect_near(simulate_one(text, "", MEDIAN),
              100e-6 + 2 * call + (1 + 3) * call + 6 * call + 1e-3 + 8 * call + 4 * call, 1e-9);
  // With two cores it is.
  expect_near(simulate_one(text, "--set worker_cores=2", MEDIAN),
              100e-6 + 2 * call + (1 + 3) * call + 3 * call + 1e-3 + 8 * call + 4 * call, 1e-9);
  // With a CleanupGraph as well.
  expect_near(simulate_one(text, "--set step_calls=2", MEDIAN),
              100e-6 + 4 * call + (2 + 3) * call + 6 * call + 1e-3 + 8 * call + 4 * call, 1e-9);
}

// Both ends copy while the bytes are on their way, so the slowest of the three counts.
static void test_copy(void** state) {
  const char* text = "bandwidth = 100 MB/s\nphase = server send 10 MB\n"
                     "phase = worker compute 1 s\n";
  expect_near(simulate_one(text, "--set 'copy=200 MB/s'", MEDIAN), 1.1, 1e-9);
  expect_near(simulate_one(text, "--set 'copy=50 MB/s'", MEDIAN), 1.2, 1e-9);
  // On one machine there is no network, and both copies are work for its cores.
  expect_near(simulate_one(text, "--set machines=one --set cores=2 --set 'copy=50 MB/s'", MEDIAN),
              1.2, 1e-9);
  expect_near(simulate_one(text, "--set machines=one --set cores=1 --set 'copy=50 MB/s'", MEDIAN),
              1.4, 1e-9);
}

// ---- Sharing ------------------------------------------------------------------------------------

// Workers in step meet at the server: its interface carries the bytes of all, its core computes for
// all. The update takes three latencies more: the chief's request, its answer, the token.
static void test_workers_in_step(void** state) {
  const char* sync = "--set policy=sync --set server_cores=1 --set 'update=40 ms' --sweep "
                     "workers=1,4,10";
  tool_result_t result = simulate(TRAINING, sync);
  const int workers[] = {1, 4, 10};
  for (int i = 0; i < 3; ++i) {
    double step = workers[i] * (.1 + .2 + .03) + .5 + .04 + 7 * .001;
    expect_near(figure(&result, i, MEDIAN), step, 1e-9);
    expect_near(figure(&result, i, "steps_per_s"), 1 / step, 1e-9);
    expect_near(figure(&result, i, "server_send"), workers[i] * .1 / step, 1e-9);
    expect_near(figure(&result, i, "server_receive"), workers[i] * .2 / step, 1e-9);
    expect_near(figure(&result, i, "compute"), .5 / step, 1e-9);
  }
  tool_free(&result);
}

// At their own pace, more workers than the server can serve keep it busy all the time: its
// interface takes 20 MB of each step, so five steps a second are all there is.
static void test_saturation(void** state) {
  tool_result_t result = simulate(TRAINING, "--set steps=60 --sweep workers=1,2,40");
  expect_near(figure(&result, 0, "steps_per_s"), 1 / .834, 1e-6);
  expect_near(figure(&result, 2, "steps_per_s"), 5, .1);
  expect_near(figure(&result, 2, "server_receive"), 1, .01);
  // Busy time is that of the bytes carried (the utilization law).
  for (int i = 0; i < 3; ++i) {
    expect_near(figure(&result, i, "server_receive"), figure(&result, i, "steps_per_s") * .2, .02);
    expect_near(figure(&result, i, "server_send"), figure(&result, i, "steps_per_s") * .1, .02);
  }
  assert_non_null(strstr(result.out, "the servers' network interfaces receive 100 % of the time"));
  tool_free(&result);
}

// Processes of one machine share its cores.
static void test_one_machine(void** state) {
  const char* text = "machines = one\ncores = 2\nsteps = 50\nphase = server compute 10 ms\n"
                     "phase = worker compute 80 ms\nphase = server compute 10 ms\n";
  tool_result_t result = simulate(text, "--sweep workers=1,2,4,8");
  const double rates[] = {10, 20, 20, 20};
  for (int i = 0; i < 4; ++i) {
    expect_near(figure(&result, i, "steps_per_s"), rates[i], 1e-6 + .2 * i);
  }
  assert_non_null(strstr(result.out, "the machine's cores compute 100 % of the time"));
  tool_free(&result);
  // A computation of two threads takes both.
  expect_near(simulate_one("machines = one\ncores = 2\nworkers = 2\npolicy = sync\n"
                           "phase = worker compute 80 ms threads 2\n", "", MEDIAN), .16, 1e-9);
}

// ---- Chance -------------------------------------------------------------------------------------

// An update waits for the slowest: it takes twice as long unless none of eight workers is slow.
static void test_slowest_of_eight(void** state) {
  const char* text = "workers = 8\npolicy = sync\nsteps = 4000\ntail_chance = 0.1\n"
                     "tail_factor = 2\nphase = worker compute 1 s\n";
  const double chance = 1 - pow(.9, 8), deviation = sqrt(chance * (1 - chance) / 4000);
  tool_result_t result = simulate(text, "");
  expect_near(figure(&result, 0, "step_mean_s"), 1 + chance, 4 * deviation);
  // A worker that is not slow waits a second where another is.
  expect_near(figure(&result, 0, "waiting") * figure(&result, 0, "step_mean_s"), chance - .1,
              4 * deviation);
  tool_free(&result);
}

// Two workers are there for the one gradient that an update needs, and a step takes ten seconds
// instead of one with a chance of 5 %. While one is late the other makes updates alone; the
// gradient of the late one is dropped, and it begins with the round that is there. Written down as
// twelve lines of Python that know of two workers only, this gives a mean of 1.148 and 0.552
// dropped gradients for each update, and 0.74 and 0 where late gradients are taken.
static void test_backup(void** state) {
  const char* text = "workers = 1\nbackup = 1\npolicy = sync\nsteps = 20000\ntail_chance = 0.05\n"
                     "tail_factor = 10\nlognormal = 0.2\nphase = worker compute 1 s\n";
  tool_result_t result = simulate(text, "--sweep backup=0,1");
  expect_near(figure(&result, 0, "step_mean_s"), 1.45 * exp(.2 * .2 / 2), .06);
  expect_near(figure(&result, 0, "dropped"), 0, 0);
  expect_near(figure(&result, 1, "step_mean_s"), 1.148, .01);
  expect_near(figure(&result, 1, "dropped"), .552, .02);
  tool_free(&result);
}

// Quantiles of the lognormal distribution, whose deviation is 0.5, and of measured times.
static void test_distributions(void** state) {
  const char* text = "workers = 10\nsteps = 1000\nlognormal = 0.5\nphase = worker compute 1 s\n";
  tool_result_t result = simulate(text, "");
  expect_near(figure(&result, 0, MEDIAN), 1, .03);
  expect_near(figure(&result, 0, "step_p90_s"), exp(1.2816 * .5), .07);
  expect_near(figure(&result, 0, "step_p99_s"), exp(2.3263 * .5), .3);
  tool_free(&result);
  scratch_write_text("times.txt", "# milliseconds\n40\n\n20\n20\n10\n20\n40 # slow\n20\n");
  text = "samples = times.txt\nsteps = 3000\nphase = worker compute 1 s\n";
  result = simulate(text, "");
  expect_near(figure(&result, 0, MEDIAN), 1, 1e-9);
  expect_near(figure(&result, 0, "step_p90_s"), 2, 1e-9);
  // A sixth is between 10 and 20, one between 20 and 40, one 40, and all others 20.
  expect_near(figure(&result, 0, "step_mean_s"), (.75 + 3 + 1.5 + 2) / 6, .03);
  tool_free(&result);
}

// The same seed gives the same bytes, another one others.
static void test_seed(void** state) {
  scratch_write_text("s.txt", "workers = 20\nservers = 3\nlognormal = 0.3\n" TRAINING);
  tool_expect(0, NULL, "simulate s.txt --json > a && "
                       "$LEAT_BUILD_DIR/bin/leat simulate s.txt --json > b && cmp a b");
  tool_expect(1, NULL, "simulate s.txt --json --set seed=2 > b; cmp -s a b");
}

// ---- Scenarios ----------------------------------------------------------------------------------

// What --describe prints is the same scenario.
static void test_description(void** state) {
  scratch_write_text("s.txt", "workers = 3\nservers = 2\npolicy = sync\nbackup = 1\nseed = 7\n"
                              "bandwidth = 10 Gbit/s\nlatency = 35 us\nlognormal = 0.1\n"
                              "phase = server send 1 MB, 2 MB messages 4 each\n"
                              "phase = worker compute 0.25 s threads 4 send 5 kB each\n");
  tool_expect(0, "workers = 3\nservers = 2\npolicy = sync\nbackup = 1\nbandwidth = 1.25 GB/s\n"
                 "latency = 35 us\nlognormal = 0.1\nseed = 7\n"
                 "phase = server send 1 MB, 2 MB messages 4 each\n"
                 "phase = worker compute 250 ms send 5 kB each threads 4\n",
              "simulate s.txt --describe");
  tool_expect(0, NULL, "simulate s.txt --describe > t.txt && "
                       "$LEAT_BUILD_DIR/bin/leat simulate t.txt --json > t && "
                       "$LEAT_BUILD_DIR/bin/leat simulate s.txt --json > s && cmp s t");
}

static void expect_wrong(const char* text, const char* message) {
  scratch_write_text("s.txt", text);
  tool_expect_part(1, message, "simulate s.txt");
}

static void test_wrong_scenarios(void** state) {
  expect_wrong("workers = 2\n\nbandwith = 1 GB/s\n",
               "s.txt:3: field is 'bandwith', must be one of workers, servers, ");
  expect_wrong("bandwidth = 1.25 GB\n",
               "s.txt:1: bandwidth is '1.25 GB', must be a rate such as 1.25 GB/s");
  expect_wrong("latency = 0x10 s", "s.txt:1: latency is '0x10 s', must be a time such as");
  expect_wrong("latency = nan s", "s.txt:1: latency is 'nan s', must be a time such as");
  expect_wrong("latency = 1e999 s", "s.txt:1: latency is '1e999 s', must be a time such as");
  expect_wrong("latency = -1 s", "s.txt:1: latency is '-1 s', must be from 0 to 1000");
  expect_wrong("workers = 1.5", "s.txt:1: workers is '1.5', must be a whole number");
  expect_wrong("workers = 0", "s.txt:1: workers is '0', must be from 1 to 100000");
  expect_wrong("policy = fast", "s.txt:1: policy is 'fast', must be async or sync");
  expect_wrong("seed = 1\nseed = 2", "s.txt:2: seed is '2', must be set once; line 1 did");
  expect_wrong("workers", "s.txt:1: line is 'workers', must be FIELD = VALUE");
  expect_wrong("phase = gpu compute 1 s",
               "s.txt:1: phase is 'gpu compute 1 s', must begin with server or worker");
  expect_wrong("phase = worker\nphase = worker compute 1 s",
               "s.txt:2: phase is 'worker compute 1 s', must be of the server, as the one before");
  expect_wrong("phase = worker compute 1 parsec",
               "s.txt:1: compute is '1 parsec', must be a time such as");
  expect_wrong("phase = server compute 1 s,", "s.txt:1: compute is '1 s,', must be a time such as");
  expect_wrong("phase = worker compute 1 s, 2 s", "must be one time, that of the worker");
  expect_wrong("phase = worker threads 0", "s.txt:1: threads is '0', must be a number above 0");
  expect_wrong("phase = worker flies", "s.txt:1: phase is 'flies', must be of compute, send");
  expect_wrong("workers = 2", "s.txt: has no phase, must have at least one");
  expect_wrong("servers = 3\nphase = server send 1 B, 2 B",
               "s.txt:2: send has 2 amounts, must have 1 or one for each of the 3 servers");
  expect_wrong("backup = 1\nphase = worker compute 1 s",
               "s.txt:1: backup is 1, must be 0 with policy async");
  expect_wrong("phase = worker", "a step takes no time, must take some");
  expect_wrong("samples = none.txt\nphase = worker compute 1 s",
               "samples is 'none.txt', must be a file: No such file");
  scratch_write_text("bad.txt", "1\ntwo\n");
  expect_wrong("samples = bad.txt\nphase = worker compute 1 s",
               "bad.txt:2: a time is 'two', must be a number above 0, one a line");
  scratch_write_file("s.txt", "workers = 1\n\0", 13);
  tool_expect_part(1, "s.txt:2: line is of 1 bytes, must be text", "simulate s.txt");
}

// Work is bounded: what would run for hours is refused.
static void test_limits(void** state) {
  expect_wrong("phase = worker compute 1 s\nworkers = 100000\nservers = 10000\n",
               "s.txt:2: workers is 100000, must be at most 400 with 10000 servers");
  expect_wrong("steps = 100000\nworkers = 1000\nservers = 100\nphase = worker compute 1 s\n",
               "s.txt:1: steps and warmup are 100005, must be at most 214 with 1000 workers");
  char text[65 * 40] = "";
  for (int i = 0; i < 65; ++i) strcat(text, i % 2 ? "phase = server\n" : "phase = worker\n");
  expect_wrong(text, "s.txt:65: phase is one too many, must be of at most 64");
}

static void test_misuse(void** state) {
  scratch_write_text("s.txt", TRAINING);
  tool_expect_part(2, "no scenario and no --graph is named", "simulate");
  tool_expect_part(2, "one scenario at a time, not 't.txt' too", "simulate s.txt t.txt");
  tool_expect_part(2, "--set is 'workers', must be FIELD=VALUE", "simulate s.txt --set workers");
  tool_expect_part(2, "--set: workers is 'x', must be a whole number",
                   "simulate s.txt --set workers=x");
  tool_expect_part(2, "phases are for files", "simulate s.txt --set 'phase=worker compute 1 s'");
  tool_expect_part(2, "--sweep is 'workers', must be FIELD=VALUE",
                   "simulate s.txt --sweep workers");
  tool_expect_part(2, "--costs are for a --graph", "simulate s.txt --costs c");
  tool_expect_part(1, "none.txt", "simulate none.txt");
  // The last value is looked at before the first is simulated.
  tool_expect(2, "leat: --sweep: workers is '-3', must be from 1 to 100000\n"
                 "leat simulate --help shows how it is used\n",
              "simulate s.txt --sweep workers=1,2,-3");
}

// ---- What was measured elsewhere ----------------------------------------------------------------

static void test_network(void** state) {
  scratch_write_text("s.txt", TRAINING);
  scratch_write_text("n.json",
                     "{\"tasks\": [{\"task\": \"ps:0\", \"latency_median_us\": 900}], \"pairs\": ["
                     "{\"latency_median_us\": 80, \"upload_mb_per_s\": 900, "
                     "\"download_mb_per_s\": 1000},"
                     "{\"latency_median_us\": 120, \"upload_mb_per_s\": 1200, "
                     "\"download_mb_per_s\": 1000},"
                     "{\"latency_median_us\": 100, \"upload_mb_per_s\": 1100, "
                     "\"download_mb_per_s\": 1000}]}");
  tool_expect_part(0, "bandwidth = 1.1 GB/s\nlatency = 50 us\n",
                   "simulate s.txt --network n.json --describe");
  scratch_write_text("n.json", "{}");
  tool_expect_part(1, "n.json: latency_median_us is absent, must be as leat doctor",
                   "simulate s.txt --network n.json");
}

// y = x w on the worker, w on one server and b on another, which takes what the worker sends.
#define FLOAT " attr { key: 'dtype' value { type: DT_FLOAT } } "
#define SHAPE(rows, columns)                                                        \
  " attr { key: 'shape' value { shape { dim { size: " #rows " } dim { size: " #columns " } } } } "
#define T " attr { key: 'T' value { type: DT_FLOAT } } "
static const char kGraph[] =
    "node { name: 'w' op: 'VariableV2' device: '/job:ps/task:0'" FLOAT SHAPE(100, 10) "}"
    "node { name: 'b' op: 'VariableV2' device: '/job:ps/task:1'" FLOAT SHAPE(32, 10) "}"
    "node { name: 'x' op: 'Placeholder' device: '/job:worker/task:0'" FLOAT SHAPE(-1, 100) "}"
    "node { name: 'y' op: 'MatMul' input: 'x' input: 'w' device: '/job:worker/task:0'" T "}"
    "node { name: 'z' op: 'MatMul' input: 'x' input: 'w' device: '/job:worker/task:0'" T "}"
    "node { name: 'a' op: 'AssignAdd' input: 'b' input: 'y'" T "}"  // where |b| is
    "node { name: 'd' op: 'Neg' input: 'b' input: '^a' device: '/job:ps/task:1'" T "}"
    "node { name: 'e' op: 'Add' input: 'd' input: 'z' device: '/job:worker/task:0'" T "}";

// The weights cross once although two nodes read them; an unknown size counts as 32. The worker
// sends y (32 x 10 floats) to the second server, which sends back what it then has.
static void test_graph(void** state) {
  scratch_write_text("g.pbtxt", kGraph);
  scratch_write_text("costs.pbtxt",
                     "step_stats { dev_stats { device: '/job:worker/task:0/device:CPU:0' "
                     "node_stats { node_name: 'y' op_start_rel_nanos: 1 op_end_rel_nanos: 4000001 }"
                     "node_stats { node_name: 'z' op_start_rel_nanos: 1 op_end_rel_nanos: 1000001 }"
                     "node_stats { node_name: 'x' op_end_rel_nanos: 1 } "
                     "node_stats { node_name: 'w' op_end_rel_nanos: 1 } "
                     "node_stats { node_name: 'b' op_end_rel_nanos: 1 } "
                     "node_stats { node_name: 'a' op_end_rel_nanos: 2000000 } "
                     "node_stats { node_name: 'd' op_end_rel_nanos: 3000000 } "
                     "node_stats { node_name: 'e' op_end_rel_nanos: 500000 } } }");
  TF_Status* status = TF_NewStatus();
  TF_Buffer text = {.data = NULL};
  char bytes[4096];
  FILE* file = fopen("costs.pbtxt", "r");
  text.length = fread(bytes, 1, sizeof bytes, file);
  text.data = bytes;
  fclose(file);
  TF_Buffer* costs = leat_message_from_text("RunMetadata", &text, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  scratch_write_file("costs.pb", costs->data, costs->length);
  TF_DeleteBuffer(costs);
  TF_DeleteStatus(status);
  tool_expect(0, "workers = 1\nservers = 2\npolicy = async\n"
                 "phase = server send 4 kB, 0 messages 1, 0\n"
                 "phase = worker compute 5 ms send 0, 1.28 kB messages 0, 1\n"
                 "phase = server compute 0, 5 ms send 0, 1.28 kB messages 0, 1\n"
                 "phase = worker compute 500 us\n",
              "simulate --graph g.pbtxt --fetch e --costs costs.pb --describe");
  // Without measurements there are estimates, and only what is fetched counts.
  tool_expect_part(0, "servers = 1\npolicy = async\nphase = server send 4 kB messages 1\n"
                      "phase = worker compute ",
                   "simulate --graph g.pbtxt --fetch z --server-job ps --describe");
  tool_expect_part(1, "no node that the step needs is on job 'server', must be some",
                   "simulate --graph g.pbtxt --fetch e --server-job server");
  tool_expect_part(2, "--graph needs a --fetch or a --target", "simulate --graph g.pbtxt");
  // The fields of a file stay, its phases do not.
  scratch_write_text("s.txt", "workers = 9\n" TRAINING);
  tool_expect_part(0, "workers = 9\nservers = 2\n",
                   "simulate s.txt --graph g.pbtxt --fetch e --describe");
}

// ---- The page -----------------------------------------------------------------------------------

// The examples of docs/simulate.md print what stands below them there.
static void test_page(void** state) {
  static char page[1 << 16];
  const char* source = getenv("LEAT_SOURCE_DIR");
  char path[1024];
  snprintf(path, sizeof path, "%s/examples", source);
  assert_int_equal(symlink(path, "examples"), 0);
  snprintf(path, sizeof path, "%s/docs/simulate.md", source);
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  page[fread(page, 1, sizeof page - 1, file)] = 0;
  fclose(file);
  int examples = 0;
  for (char* at = page; (at = strstr(at, "\n    $ leat ")); ++examples) {
    char wanted[8192] = "", command[512];
    at += strlen("\n    $ leat ");
    size_t length = strcspn(at, "\n");
    snprintf(command, sizeof command, "%.*s", (int)length, at);
    for (at += length; !strncmp(at, "\n    ", 5) && at[5] != '$'; at += length) {
      at += 5;
      length = strcspn(at, "\n");
      strncat(wanted, at, length + 1);
    }
    tool_expect(0, wanted, "%s", command);
  }
  assert_true(examples >= 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_worker),
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_copy),
      cmocka_unit_test(test_workers_in_step),
      cmocka_unit_test(test_saturation),
      cmocka_unit_test(test_one_machine),
      cmocka_unit_test(test_slowest_of_eight),
      cmocka_unit_test(test_backup),
      cmocka_unit_test(test_distributions),
      cmocka_unit_test(test_seed),
      cmocka_unit_test(test_description),
      cmocka_unit_test(test_wrong_scenarios),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_misuse),
      cmocka_unit_test(test_network),
      cmocka_unit_test(test_graph),
      cmocka_unit_test(test_page),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
