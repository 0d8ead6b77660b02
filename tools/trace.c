// The subcommand leat trace: runs a program with its threads recorded, or says what the steps of a
// recording waited for. The library records a process whose environment has LEAT_TRACE, so all that
// is done for that is to set it, to make the library of this tool the one that is found, and to
// become the program; the flight recorder is one more variable. The report is made by the code of
// the board, which a tool without the board lacks.
//
// A cluster is recorded by leat_trace_cluster_start, for some seconds or as long as a program runs.
// The program is a child then, and is recorded too, into a file beside it that is appended: a
// trace of Perfetto's is the recordings of its processes one behind the other.
#define _GNU_SOURCE  // realpath with NULL
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "command.h"
#include "json.h"
#include "leat/trace.h"

#ifdef LEAT_HAVE_BOARD
#include "board/trace_report.h"
#endif

enum {
  OUT_OPTION, MEGABYTES_OPTION, REPORT_OPTION, FLIGHT_OPTION, CLUSTER_OPTION, SECONDS_OPTION,
  SECURITY_OPTIONS  // and those behind it
};
static const option_t kOptions[] = {
    {"out", true}, {"megabytes", true}, {"report", true}, {"flight", true}, {"cluster", true},
    {"seconds", true}, CLUSTER_SECURITY_OPTIONS, {NULL, false}};

#define DEFAULT_OUT "leat-%p.perfetto-trace"
#define DEFAULT_FLIGHT_OUT "leat-%p-%n.perfetto-trace"
#define DEFAULT_CLUSTER_OUT "cluster.perfetto-trace"
#define TIMEOUT_MS 60000

// What the options said; NULL where they did not.
typedef struct wishes_s {
  const char *out, *megabytes, *flight, *cluster, *seconds;
  char** program;  // NULL: there is none
} wishes_t;

// Whether |text| is a whole number of at least 1.
static bool is_count(const char* text) {
  return *text && strspn(text, "0123456789") == strlen(text) && strtoull(text, NULL, 10) > 0;
}

// Sets the variables by which the library records the program.
static bool set_environment(const wishes_t* wishes, const char* out) {
  return !setenv("LEAT_TRACE", out, 1) &&
         !(wishes->megabytes && setenv("LEAT_TRACE_MB", wishes->megabytes, 1)) &&
         !(wishes->flight && setenv("LEAT_TRACE_FLIGHT", wishes->flight, 1));
}

static int become(const wishes_t* wishes) {
  const char* out = wishes->flight ? DEFAULT_FLIGHT_OUT : DEFAULT_OUT;
  if (!set_environment(wishes, wishes->out ? wishes->out : out)) {
    return complain("no memory for the environment");
  }
  execvp(wishes->program[0], wishes->program);
  return complain("%s: %s", wishes->program[0], strerror(errno));
}

// ---- Clusters -----------------------------------------------------------------------------------

// Runs the program with its own recording in |own|; returns its exit code.
static int run_program(const wishes_t* wishes, const char* own) {
  int state;
  const pid_t child = fork();
  if (child < 0) return complain("%s: %s", wishes->program[0], strerror(errno));
  if (child == 0) {
    if (set_environment(wishes, own)) execvp(wishes->program[0], wishes->program);
    complain("%s: %s", wishes->program[0], strerror(errno));
    _exit(127);
  }
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : EXIT_FAILED;
}

// Ctrl-C ends the wait and not the tool, which has recordings to fetch.
static void end_wait(int number) {}

static void wait_seconds(const char* seconds) {
  const struct timespec pause = {(time_t)(seconds ? strtoull(seconds, NULL, 10) : 2), 0};
  signal(SIGINT, end_wait);
  nanosleep(&pause, NULL);
}

// Appends the program's recording, if there is one, and removes its file.
static void append_own(const char* own, const char* out) {
  char block[65536];
  size_t size;
  FILE *from = fopen(own, "rb"), *to = from ? fopen(out, "ab") : NULL;
  while (to && (size = fread(block, 1, sizeof block, from)) > 0) fwrite(block, 1, size, to);
  if (from) fclose(from);
  if (to && fclose(to)) complain("%s: %s", out, strerror(errno));
  unlink(own);
}

static int print_tasks(const TF_Buffer* text, const char* out) {
  int code = EXIT_OK;
  json_t* report = json_parse(text->data, text->length);
  const json_t* tasks = json_member(report, "tasks");
  for (const json_t* task = tasks ? tasks->first : NULL; task; task = task->next) {
    printf("%s at %s: ", json_text(task, "task"), json_text(task, "address"));
    if (json_truth(task, "recorded")) {
      printf("%s bytes, clock ahead by %s us, drift %s ppm, residual %s us\n",
             json_text(task, "bytes"), json_text(task, "clock_offset_us"),
             json_text(task, "clock_drift_ppm"), json_text(task, "clock_residual_us"));
    } else if (json_truth(task, "shared")) {
      printf("its process %s is recorded already, for another task or by itself\n",
             json_text(task, "process"));
    } else {
      printf("not recorded: %s\n", json_text(task, "message"));
      code = EXIT_FAILED;
    }
  }
  json_free(report);
  printf("The recording is in %s\n", out);
  return code;
}

// Records while the program runs, or some seconds pass. Returns the exit code of the first of both
// that failed, the program or the recording.
static int record_cluster(const wishes_t* wishes, const TF_Buffer* cluster, TF_Status* status) {
  const char* out = wishes->out ? wishes->out : DEFAULT_CLUSTER_OUT;
  const uint64_t limit =
      wishes->megabytes ? strtoull(wishes->megabytes, NULL, 10) << 20 : 0;
  const size_t own_size = strlen(out) + sizeof ".program";
  char* own = malloc(own_size);
  int code = EXIT_OK;
  leat_trace_cluster_t* trace =
      own ? leat_trace_cluster_start(cluster->data, cluster->length, limit, TIMEOUT_MS, status)
          : NULL;
  if (!trace) {
    free(own);
    return own ? complain_status("trace", status) : complain("no memory");
  }
  snprintf(own, own_size, "%s.program", out);
  if (wishes->program) {
    code = run_program(wishes, own);
  } else {
    wait_seconds(wishes->seconds);
  }
  TF_Buffer* text = leat_trace_cluster_stop(trace, out, status);
  if (!text) {
    complain_status("trace", status);
    if (code == EXIT_OK) code = EXIT_FAILED;
  } else {
    append_own(own, out);
    const int reached = print_tasks(text, out);
    if (code == EXIT_OK) code = reached;
  }
  TF_DeleteBuffer(text);
  free(own);
  return code;
}

static int trace_cluster(const wishes_t* wishes) {
  cluster_place_t place;
  int code = cluster_place_read("trace", wishes->cluster, &place);
  if (code != EXIT_OK) return code;
  TF_Status* status = TF_NewStatus();
  code = record_cluster(wishes, place.cluster_def, status);
  TF_DeleteStatus(status);
  cluster_place_free(&place);
  return code;
}

// ---- Reports ------------------------------------------------------------------------------------

static int print_report(const char* path) {
#ifdef LEAT_HAVE_BOARD
  char message[512];
  char* report = board_trace_report(path, message, sizeof message);
  if (!report) return complain("%s", message);
  fputs(report, stdout);
  free(report);
  return EXIT_OK;
#else
  return complain("%s: this tool was built without libmicrohttpd, and reads no recordings", path);
#endif
}

static int complain_count(const char* option, const char* value) {
  return complain_usage("trace", "--%s is '%s', must be a whole number of at least 1", option,
                        value);
}

static int run(int argc, char** argv) {
  arguments_t arguments = {
      .command = &command_trace, .options = kOptions, .argc = argc, .argv = argv};
  wishes_t wishes = {0};
  const char* report = NULL;
  int kind;
  while ((kind = arguments_next(&arguments)) >= 0) {
    if (kind == OUT_OPTION) wishes.out = arguments.value;
    if (kind == MEGABYTES_OPTION) wishes.megabytes = arguments.value;
    if (kind == REPORT_OPTION) report = arguments.value;
    if (kind == FLIGHT_OPTION) wishes.flight = arguments.value;
    if (kind == CLUSTER_OPTION) wishes.cluster = arguments.value;
    if (kind == SECONDS_OPTION) wishes.seconds = arguments.value;
    if (kind >= SECURITY_OPTIONS) cluster_take_security(kOptions[kind].name, arguments.value);
  }
  if (report && kind == ARGUMENT_END) return print_report(report);
  if (kind != ARGUMENT_OPERAND && kind != ARGUMENT_END) return arguments_exit_code(kind);
  if (kind == ARGUMENT_OPERAND) wishes.program = argv + arguments.next - 1;
  if (!wishes.program && !wishes.cluster) {
    return complain_usage("trace", "which program is to be recorded?");
  }
  if (wishes.megabytes && !is_count(wishes.megabytes)) {
    return complain_count("megabytes", wishes.megabytes);
  }
  if (wishes.seconds && !is_count(wishes.seconds)) {
    return complain_count("seconds", wishes.seconds);
  }
  if (wishes.cluster && wishes.flight) {
    return complain_usage("trace", "--flight is for programs, and cannot be had with --cluster");
  }
  return wishes.cluster ? trace_cluster(&wishes) : become(&wishes);
}

const command_t command_trace = {
    "trace", "records what the threads of a program do, or says what its steps waited for",
    "Examples\n"
    "  leat trace -- leat train mnist /tmp/mnist    records an unchanged program\n"
    "  leat trace --out step.json -- python train.py\n"
    "  leat trace --report leat-123.perfetto-trace  says what its steps waited for\n"
    "  leat trace --flight 'slow=3 steps=20 failure' -- python train.py\n"
    "  leat trace --cluster 'ps=a:2222;worker=b:2222,c:2222' --seconds 5\n"
    "\n"
    "Usage\n"
    "  leat trace [--out FILE] [--megabytes N] [--flight WHEN] -- PROGRAM [ARGUMENT...]\n"
    "  leat trace --cluster SOURCE [--seconds N | -- PROGRAM [ARGUMENT...]]\n"
    "  leat trace --report FILE\n"
    "\n"
    "Records each kernel, each piece of a kernel's loop, each task of a thread pool, each step,\n"
    "and the times in which threads wait. The file is written when the program exits and opens in\n"
    "ui.perfetto.dev; one whose name ends in .json opens in chrome://tracing too.\n"
    "\n"
    "Options\n"
    "  --out FILE        where to; %p stands for the number of the process\n"
    "                    (leat-%p.perfetto-trace)\n"
    "  --megabytes N     how much is kept (256); beyond it the oldest spans go\n"
    "  --report FILE     read a recording: what a step would gain without each delay, and why\n"
    "                    the slowest step took longer than the median\n"
    "  --flight WHEN     keep the end in memory, and write it when one of these happens: slow=K\n"
    "                    (a step takes K times the median), failure (a step fails), signal=N;\n"
    "                    steps=N: write the last N steps; files=N: at most so many (16). %n in\n"
    "                    FILE stands for the number of the file (leat-%p-%n.perfetto-trace)\n"
    "  --cluster SOURCE  record all tasks of a cluster of Leat's into one file, with their\n"
    "                    clocks related (cluster.perfetto-trace): while PROGRAM runs, which is\n"
    "                    recorded too, or for some seconds. The exit code is 1 where a task\n"
    "                    cannot be recorded\n"
    "  --seconds N       how long a cluster is recorded (2)\n"
    CLUSTER_SECURITY_HELP
    "\n"
    CLUSTER_SOURCE_HELP,
    run};
