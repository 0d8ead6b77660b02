// The subcommand leat launch: a whole cluster on this machine. It starts one process a task, each
// with the cluster and its own place in it in TF_CONFIG, as TensorFlow's programs and the operators
// for Kubernetes have it, and looks after them until all have ended:
//
//   leat launch -n 2 --ps 1 -- python train.py
//     worker 0 (the chief), worker 1, ps 0 ──stdout, stderr──▶ lines with the task before them
//     SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 ─────────────▶ all processes
//
// With --cluster somebody else starts the processes, such as srun, and each of them comes here to
// find its place and becomes the program.
//
// When a task fails the others are ended: with SIGTERM, and with SIGKILL after some seconds. When
// all workers are done, so are the parameter servers, which would serve for ever. Each task leads a
// process group of its own, so that a signal of the terminal reaches it once, through this process,
// and so that what a task started ends with it.
#define _GNU_SOURCE  // pipe2, ppoll
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "command.h"
#include "free_port.h"
#include "leat/cluster.h"

#define MAX_TASKS 256
#define NOT_STARTED 127  // as of a shell that finds no program

enum {
  WORKERS_OPTION, PS_OPTION, PORT_OPTION, GRACE_OPTION, CLUSTER_OPTION, SECURITY_OPTIONS
};

// Where a line of output is gathered.
typedef struct stream_s {
  int from;    // the end of a pipe; -1: closed
  FILE* to;
  char* line;
  size_t size, capacity;
} stream_t;

typedef struct task_s {
  const char* job;
  int index, port;
  pid_t process;  // 0: has ended
  stream_t streams[2];
} task_t;

typedef struct launch_s {
  int worker_count, ps_count, first_port, grace_s;
  pid_t process;     // this one
  char** program;
  const char* source;  // of the cluster in which this is one task; NULL: we start them all
  bool is_local;       // some option is about tasks that we start
  task_t tasks[MAX_TASKS];
  int count;         // of tasks; the workers come first
  int running, running_workers;
  int code;          // of the chief, or of the first task that failed
  bool has_failed, is_ending;
  time_t kill_at;    // when SIGTERM was not heeded; 0: nobody is being ended
} launch_t;

// ---- Addresses ----------------------------------------------------------------------------------

// Finds the ports of all tasks: those that follow one another from --port on, or any that are free
// until the tasks have started.
static bool find_ports(launch_t* launch) {
  for (int i = 0; i < launch->count; ++i) {
    const int port = launch->first_port ? launch->first_port + i : take_free_port();
    if (port < 1 || port > 65535 || !is_free_port(port)) return false;
    launch->tasks[i].port = port;
  }
  return true;
}

static void print_job(FILE* out, const launch_t* launch, const char* job) {
  const char* before = "";
  fprintf(out, "\"%s\": [", job);
  for (int i = 0; i < launch->count; ++i) {
    if (strcmp(launch->tasks[i].job, job)) continue;
    fprintf(out, "%s\"localhost:%d\"", before, launch->tasks[i].port);
    before = ", ";
  }
  fputs("]", out);
}

// TF_CONFIG of a task; the caller frees it. NULL without memory.
static char* make_config(const launch_t* launch, const task_t* task) {
  char* text = NULL;
  size_t size;
  FILE* out = open_memstream(&text, &size);
  if (!out) return NULL;
  fputs("{\"cluster\": {", out);
  print_job(out, launch, "worker");
  if (launch->ps_count > 0) {
    fputs(", ", out);
    print_job(out, launch, "ps");
  }
  fprintf(out, "}, \"task\": {\"type\": \"%s\", \"index\": %d}}", task->job, task->index);
  return fclose(out) ? NULL : text;
}

// ---- Processes ----------------------------------------------------------------------------------

// Those that are handled here.
static const int kSignals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define SIGNAL_COUNT (sizeof kSignals / sizeof *kSignals)

static volatile sig_atomic_t passed_signal;  // that is to be passed on; 0: none

static void take_signal(int number) {
  if (number != SIGCHLD) passed_signal = number;
}

// Runs the program in the child. Does not return.
static void become_program(const launch_t* launch, const char* config, const int* pipes,
                           const sigset_t* mask) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != launch->process) _exit(NOT_STARTED);  // the launcher died before that
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(pipes[0], STDOUT_FILENO);
  dup2(pipes[1], STDERR_FILENO);
  // A signal that came meanwhile must end the child, and not be taken by the handler above.
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) signal(kSignals[i], SIG_DFL);
  sigprocmask(SIG_SETMASK, mask, NULL);
  if (!setenv("TF_CONFIG", config, 1)) execvp(launch->program[0], launch->program);
  fprintf(stderr, "leat: launch: %s cannot be started: %s\n", launch->program[0], strerror(errno));
  _exit(NOT_STARTED);
}

static bool start_task(launch_t* launch, task_t* task, const sigset_t* mask) {
  int out[2], err[2];
  char* config = make_config(launch, task);
  if (!config || pipe2(out, O_CLOEXEC)) {
    free(config);
    return false;
  }
  if (pipe2(err, O_CLOEXEC)) {
    close(out[0]);
    close(out[1]);
    free(config);
    return false;
  }
  fflush(NULL);
  task->process = fork();
  if (task->process == 0) {
    become_program(launch, config, (const int[]){out[1], err[1]}, mask);
  }
  free(config);
  close(out[1]);
  close(err[1]);
  task->streams[0] = (stream_t){.from = out[0], .to = stdout};
  task->streams[1] = (stream_t){.from = err[0], .to = stderr};
  if (task->process < 0) {
    task->process = 0;
    return false;
  }
  setpgid(task->process, task->process);  // as the child does: whoever comes first
  ++launch->running;
  launch->running_workers += task - launch->tasks < launch->worker_count;
  return true;
}

static void signal_all(const launch_t* launch, int number) {
  for (int i = 0; i < launch->count; ++i) {
    if (launch->tasks[i].process) kill(-launch->tasks[i].process, number);
  }
}

// Asks those that still run to end, and allows them some seconds.
static void end_all(launch_t* launch) {
  if (launch->is_ending || launch->running == 0) return;
  launch->is_ending = true;
  launch->kill_at = time(NULL) + launch->grace_s;
  signal_all(launch, SIGTERM);
  signal_all(launch, SIGCONT);  // a stopped process does not heed SIGTERM
}

// A task has ended with |status| of waitpid.
static void note_end(launch_t* launch, task_t* task, int status) {
  const bool is_chief = task == launch->tasks;
  const bool is_worker = task - launch->tasks < launch->worker_count;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  kill(-task->process, SIGTERM);  // what it left behind
  task->process = 0;
  --launch->running;
  launch->running_workers -= is_worker;
  if (launch->is_ending) return;
  if (code && !launch->has_failed) {
    launch->has_failed = true;
    launch->code = code;
    complain("launch: %s %d ended with %s %d%s", task->job, task->index,
             WIFEXITED(status) ? "code" : "signal", WIFEXITED(status) ? code : WTERMSIG(status),
             launch->running ? "; the other tasks are ended" : "");
    end_all(launch);
  } else if (is_chief && !launch->has_failed) {
    launch->code = code;
  }
  if (launch->running_workers == 0) end_all(launch);
}

static void reap(launch_t* launch) {
  int status;
  for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (int i = 0; i < launch->count; ++i) {
      if (launch->tasks[i].process == process) note_end(launch, &launch->tasks[i], status);
    }
  }
}

// ---- Output -------------------------------------------------------------------------------------

static void print_line(const task_t* task, stream_t* stream) {
  fprintf(stream->to, "[%s %d] %.*s\n", task->job, task->index, (int)stream->size,
          stream->line ? stream->line : "");
  fflush(stream->to);
  stream->size = 0;
}

static void close_stream(const task_t* task, stream_t* stream) {
  if (stream->from < 0) return;
  if (stream->size) print_line(task, stream);
  close(stream->from);
  free(stream->line);
  *stream = (stream_t){.from = -1};
}

// Adds bytes to lines; whole lines are printed, as are very long ones and, without memory, pieces.
static void take_bytes(const task_t* task, stream_t* stream, const char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] == '\n') {
      print_line(task, stream);
      continue;
    }
    if (stream->size == stream->capacity) {
      const size_t capacity = stream->capacity ? 2 * stream->capacity : 256;
      char* grown = capacity <= 1 << 20 ? realloc(stream->line, capacity) : NULL;
      if (grown) {
        stream->line = grown;
        stream->capacity = capacity;
      } else {
        print_line(task, stream);
        if (!stream->capacity) continue;
      }
    }
    stream->line[stream->size++] = bytes[i];
  }
}

static void read_stream(const task_t* task, stream_t* stream) {
  char bytes[65536];
  const ssize_t size = read(stream->from, bytes, sizeof bytes);
  if (size > 0) {
    take_bytes(task, stream, bytes, (size_t)size);
  } else if (size == 0 || (errno != EINTR && errno != EAGAIN)) {
    close_stream(task, stream);
  }
}

// Waits up to a second for output or a signal. Returns whether any stream is open.
static bool wait_for_output(launch_t* launch, const sigset_t* mask) {
  struct pollfd polled[2 * MAX_TASKS];
  int numbers[2 * MAX_TASKS];  // of the streams
  nfds_t count = 0;
  for (int i = 0; i < 2 * launch->count; ++i) {
    const stream_t* stream = &launch->tasks[i / 2].streams[i % 2];
    if (stream->from < 0) continue;
    numbers[count] = i;
    polled[count++] = (struct pollfd){.fd = stream->from, .events = POLLIN};
  }
  const struct timespec second = {.tv_sec = 1};
  if (ppoll(polled, count, &second, mask) <= 0) return count > 0;
  for (nfds_t k = 0; k < count; ++k) {
    task_t* task = &launch->tasks[numbers[k] / 2];
    if (polled[k].revents) read_stream(task, &task->streams[numbers[k] % 2]);
  }
  return true;
}

// ---- The command --------------------------------------------------------------------------------

static void look_after(launch_t* launch, const sigset_t* mask) {
  bool has_output = true;
  time_t over_at = 0;  // what holds the output open after the last task is not waited for
  while (launch->running > 0 || (has_output && time(NULL) <= over_at)) {
    has_output = wait_for_output(launch, mask);
    reap(launch);
    if (launch->running == 0 && !over_at) over_at = time(NULL) + 1;
    const int number = passed_signal;
    passed_signal = 0;
    if (number) signal_all(launch, number);
    if (launch->kill_at && time(NULL) >= launch->kill_at) {
      signal_all(launch, SIGKILL);
      launch->kill_at = 0;
    }
  }
}

static int launch_all(launch_t* launch) {
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) {
    const struct sigaction action = {.sa_handler = take_signal};
    sigaction(kSignals[i], &action, NULL);
    sigaddset(&blocked, kSignals[i]);
  }
  sigprocmask(SIG_BLOCK, &blocked, &mask);
  for (int i = 0; i < launch->count; ++i) {
    if (start_task(launch, &launch->tasks[i], &mask)) continue;
    launch->code = complain("launch: %s %d cannot be started: %s", launch->tasks[i].job,
                            launch->tasks[i].index, strerror(errno));
    launch->has_failed = true;
    end_all(launch);
    break;
  }
  look_after(launch, &mask);
  for (int i = 0; i < 2 * launch->count; ++i) {
    close_stream(&launch->tasks[i / 2], &launch->tasks[i / 2].streams[i % 2]);
  }
  return launch->code;
}

static bool read_number(const char* text, int limit, int* out_number) {
  char* end;
  errno = 0;
  const long number = strtol(text, &end, 10);
  *out_number = (int)number;
  return end != text && !*end && !errno && number >= 0 && number <= limit;
}

static int read_arguments(int argc, char** argv, launch_t* launch) {
  static const option_t known[] = {
      {"n", true}, {"ps", true}, {"port", true}, {"grace", true},
      {"cluster", true}, CLUSTER_SECURITY_OPTIONS, {NULL, 0}};
  int* const numbers[] = {&launch->worker_count, &launch->ps_count, &launch->first_port,
                          &launch->grace_s};
  // "-n 3" is written like that everywhere.
  for (int i = 0; i < argc && strcmp(argv[i], "--"); ++i) {
    if (!strcmp(argv[i], "-n")) argv[i] = "--n";
  }
  arguments_t arguments = {.command = &command_launch, .options = known, .argc = argc,
                           .argv = argv};
  int kind;
  while ((kind = arguments_next(&arguments)) >= 0) {
    if (kind >= SECURITY_OPTIONS) {
      cluster_take_security(known[kind].name, arguments.value);
      continue;
    }
    if (kind == CLUSTER_OPTION) {
      launch->source = arguments.value;
      continue;
    }
    launch->is_local = true;
    const int limit = kind == PORT_OPTION ? 65535 : kind == GRACE_OPTION ? 1 << 20 : MAX_TASKS;
    if (!read_number(arguments.value, limit, numbers[kind])) {
      return complain_usage("launch", "'%s' must be a number from 0 to %d", arguments.value, limit);
    }
  }
  if (kind == ARGUMENT_HELP) return -1;
  if (kind == ARGUMENT_WRONG) return EXIT_MISUSED;
  if (kind == ARGUMENT_END) return complain_usage("launch", "the program is missing");
  launch->program = argv + arguments.next - 1;
  if (launch->source && launch->is_local) {
    return complain_usage("launch", "-n, --ps, --port and --grace start a cluster on this machine, "
                                    "must not come with --cluster, which names another");
  }
  if (launch->worker_count < 1 || launch->worker_count + launch->ps_count > MAX_TASKS) {
    return complain_usage("launch", "the number of tasks is %d, must be 1 to %d, with a worker",
                          launch->worker_count + launch->ps_count, MAX_TASKS);
  }
  return EXIT_OK;
}

// Becomes the program, as the task that the source says this process is. Returns only where that
// fails.
static int become_task(const launch_t* launch) {
  cluster_place_t place;
  int code = cluster_place_read("launch", launch->source, &place);
  if (code != EXIT_OK) return code;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* config = leat_cluster_tf_config(place.cluster_def->data, place.cluster_def->length,
                                             place.job, place.task, status);
  char* text = config ? strndup(config->data, config->length) : NULL;
  if (!*place.job) {
    code = complain("launch: --cluster is '%s', must be a source that says which task this process "
                    "is", launch->source);
  } else if (!text || setenv("TF_CONFIG", text, 1)) {
    code = complain("launch: there is no memory");
  } else {
    execvp(launch->program[0], launch->program);
    complain("launch: %s cannot be started: %s", launch->program[0], strerror(errno));
    code = NOT_STARTED;
  }
  free(text);
  TF_DeleteBuffer(config);
  TF_DeleteStatus(status);
  cluster_place_free(&place);
  return code;
}

static int run(int argc, char** argv) {
  launch_t* launch = calloc(1, sizeof *launch);
  if (!launch) return complain("there is no memory");
  *launch = (launch_t){.worker_count = 1, .grace_s = 10, .process = getpid()};
  int code = read_arguments(argc, argv, launch);
  if (code == EXIT_OK && launch->source) {
    code = become_task(launch);
  } else if (code == EXIT_OK) {
    launch->count = launch->worker_count + launch->ps_count;
    for (int i = 0; i < launch->count; ++i) {
      const bool is_worker = i < launch->worker_count;
      launch->tasks[i] = (task_t){.job = is_worker ? "worker" : "ps",
                                  .index = is_worker ? i : i - launch->worker_count,
                                  .streams = {{.from = -1}, {.from = -1}}};
    }
    code = find_ports(launch) ? launch_all(launch)
                              : complain("launch: there are no free ports%s",
                                         launch->first_port ? " from that one on" : "");
  }
  free(launch);
  return code < 0 ? EXIT_OK : code;
}

const command_t command_launch = {
    "launch", "starts a cluster of processes on this machine",
    "Examples:\n"
    "  leat launch -n 3 -- python train.py      three workers\n"
    "  leat launch -n 2 --ps 1 -- ./train --steps 1000\n"
    "  leat launch -n 2 -- leat server          two servers, for a client of yours\n"
    "  srun -n 3 leat launch --cluster slurm:ps=1 -- python train.py\n"
    "\n"
    "Usage:\n"
    "  leat launch [-n WORKERS] [--ps SERVERS] [options] -- PROGRAM [ARGUMENTS]\n"
    "  leat launch --cluster SOURCE [options] -- PROGRAM [ARGUMENTS]\n"
    "\n"
    "Starts one process a task, with the cluster and its task in TF_CONFIG, and puts the task\n"
    "before each line of its output. Signals are passed on to all. When a task fails, the others\n"
    "are ended; when all workers are done, so are the parameter servers. The exit code is that of\n"
    "the chief, worker 0, or of the first task that failed.\n"
    "\n"
    "With --cluster this process is one task of a cluster that somebody else starts. It becomes\n"
    "the program, with the cluster and its task in TF_CONFIG.\n"
    "\n"
    CLUSTER_SOURCE_HELP
    "\n"
    "Options:\n"
    "  -n WORKERS     how many workers (1)\n"
    "  --ps SERVERS   how many parameter servers (0)\n"
    "  --port P       the first of the ports, which follow one another; else any that are free\n"
    "  --grace S      how long a task has to end before it is killed (10)\n"
    CLUSTER_SECURITY_HELP,
    run};
