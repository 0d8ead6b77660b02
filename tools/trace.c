// The subcommand leat trace: runs a program with its threads recorded, or says what the steps of a
// recording waited for. The library records a process whose environment has LEAT_TRACE, so all that
// is done for that is to set it, to make the library of this tool the one that is found, and to
// become the program. The report is made by the code of the board, which a tool without the board
// lacks.
#define _GNU_SOURCE  // realpath with NULL
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

#ifdef LEAT_HAVE_BOARD
#include "board/trace_report.h"
#endif

enum { OUT_OPTION, MEGABYTES_OPTION, REPORT_OPTION };
static const option_t kOptions[] = {
    {"out", true}, {"megabytes", true}, {"report", true}, {NULL, false}};

#define DEFAULT_OUT "leat-%p.perfetto-trace"

// Whether |text| is a whole number of at least 1.
static bool is_count(const char* text) {
  return *text && strspn(text, "0123456789") == strlen(text) && strtoull(text, NULL, 10) > 0;
}

static int become(char** program, const char* out, const char* megabytes) {
  if (setenv("LEAT_TRACE", out, 1) || (megabytes && setenv("LEAT_TRACE_MB", megabytes, 1))) {
    return complain("no memory for the environment");
  }
  execvp(program[0], program);
  return complain("%s: %s", program[0], strerror(errno));
}

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

static int run(int argc, char** argv) {
  arguments_t arguments = {
      .command = &command_trace, .options = kOptions, .argc = argc, .argv = argv};
  const char *out = DEFAULT_OUT, *megabytes = NULL, *report = NULL;
  int kind;
  while ((kind = arguments_next(&arguments)) >= 0) {
    if (kind == OUT_OPTION) out = arguments.value;
    if (kind == MEGABYTES_OPTION) megabytes = arguments.value;
    if (kind == REPORT_OPTION) report = arguments.value;
  }
  if (report && kind == ARGUMENT_END) return print_report(report);
  if (kind != ARGUMENT_OPERAND) {
    if (kind != ARGUMENT_END) return arguments_exit_code(kind);
    return complain_usage("trace", "which program is to be recorded?");
  }
  if (megabytes && !is_count(megabytes)) {
    return complain_usage("trace", "--megabytes is '%s', must be a whole number of at least 1",
                          megabytes);
  }
  return become(argv + arguments.next - 1, out, megabytes);
}

const command_t command_trace = {
    "trace", "records what the threads of a program do, or says what its steps waited for",
    "Examples\n"
    "  leat trace -- leat train mnist /tmp/mnist    records an unchanged program\n"
    "  leat trace --out step.json -- python train.py\n"
    "  leat trace --report leat-123.perfetto-trace  says what its steps waited for\n"
    "\n"
    "Usage\n"
    "  leat trace [--out FILE] [--megabytes N] -- PROGRAM [ARGUMENT...]\n"
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
    "  --report FILE     read a recording (not .json): what a step would gain without each delay,\n"
    "                    and why the slowest step took longer than the median\n",
    run};
