// The subcommand leat doctor: prints what the library says of the machine (instruction sets,
// modules, and with --peak the speed that its cores and memory reach) or, with --cluster, of the
// ways between the tasks of a cluster (doctor_cluster.h). The library answers in JSON; The option
// --json prints that as it is; otherwise each member becomes a line. The file interprets nothing,
// so a figure that the library adds is printed without a change of this file. The exit code is 0
// unless a task of the cluster was not reached or the library failed.
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "command.h"
#include "doctor_cluster.h"
#include "json.h"
#include "leat/inspect.h"

enum { PEAK_OPTION, JSON_OPTION, CLUSTER_OPTION, LOAD_OPTION, TIMEOUT_OPTION, NO_PAIRS_OPTION,
       SECURITY_OPTIONS };

// Prints a line for a member; an object is a heading with its members below it.
static void print_member(const json_t* member, const char* indent) {
  if (member->kind == JSON_OBJECT) {
    printf("%s%s%s%s\n", indent, style_bold(stdout), member->name, style_end(stdout));
    for (const json_t* inner = member->first; inner; inner = inner->next) {
      print_member(inner, "  ");
    }
    return;
  }
  const char* value = member->kind == JSON_NULL ? "absent"
                      : member->kind == JSON_BOOL ? (member->truth ? "yes" : "no")
                                                  : member->text;
  printf("%s%-*s %s\n", indent, *indent ? 26 : 28, member->name, value);
}

static int print_report(const TF_Buffer* text) {
  json_t* report = json_parse(text->data, text->length);
  if (!report) return complain("the report cannot be read");
  for (const json_t* member = report->first; member; member = member->next) {
    print_member(member, "");
  }
  json_free(report);
  return EXIT_OK;
}

static bool read_number(const char* text, long least, long* out_number) {
  char* end;
  *out_number = strtol(text, &end, 10);
  return end != text && !*end && *out_number >= least && *out_number <= 3600;
}

static int run(int argc, char** argv) {
  static const option_t options[] = {{"peak", false},   {"json", false},    {"cluster", true},
                                     {"load", true},    {"timeout", true},  {"no-pairs", false},
                                     CLUSTER_SECURITY_OPTIONS, {NULL, 0}};
  doctor_cluster_t cluster = {.load_mb = 16, .timeout_s = 10, .probes_pairs = true};
  arguments_t arguments = {.command = &command_doctor, .options = options, .argc = argc,
                           .argv = argv};
  bool as_json = false, measure = false;
  int kind;
  while ((kind = arguments_next(&arguments)) >= ARGUMENT_OPERAND) {
    if (kind == ARGUMENT_OPERAND) return complain_usage("doctor", "'%s' is not wanted",
                                                        arguments.value);
    if (kind == CLUSTER_OPTION) cluster.cluster = arguments.value;
    if (kind == NO_PAIRS_OPTION) cluster.probes_pairs = false;
    if (kind >= SECURITY_OPTIONS) cluster_take_security(options[kind].name, arguments.value);
    if ((kind == LOAD_OPTION && !read_number(arguments.value, 0, &cluster.load_mb)) ||
        (kind == TIMEOUT_OPTION && !read_number(arguments.value, 1, &cluster.timeout_s))) {
      return complain_usage("doctor", "'%s' must be a number", arguments.value);
    }
    measure |= kind == PEAK_OPTION;
    as_json |= kind == JSON_OPTION;
  }
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  cluster.as_json = as_json;
  if (cluster.cluster) return doctor_cluster(&cluster);
  TF_Status* status = TF_NewStatus();
  TF_Buffer* text = leat_doctor_json(measure, status);
  int code = EXIT_OK;
  if (!text) {
    code = complain_status("doctor", status);
  } else if (as_json) {
    fwrite(text->data, 1, text->length, stdout);
  } else {
    code = print_report(text);
  }
  TF_DeleteBuffer(text);
  TF_DeleteStatus(status);
  return code;
}

const command_t command_doctor = {
    "doctor", "says what this machine has and reaches, and how a cluster is",
    "Examples:\n"
    "  leat doctor\n"
    "  leat doctor --peak        measures flops, bandwidth, wake-up and step times (2 s, 256 MB)\n"
    "  leat doctor --peak --json\n"
    "  leat doctor --cluster 'ps=a:2222;worker=b:2222,c:2222'\n"
    "\n"
    "Usage:\n"
    "  leat doctor [--peak] [--json]\n"
    "  leat doctor --cluster SOURCE [--load MB] [--timeout S] [--no-pairs] [--json]\n"
    "\n"
    "With --cluster it asks each task whether it is there,\n"
    "which version and incarnation it has, how far its clock is ahead, and how far and fast the\n"
    "way to it is. Tasks that run Leat are asked for their ways to the others too. The exit code\n"
    "is 1 where one cannot be reached.\n"
    "\n"
    CLUSTER_SOURCE_HELP
    "\n"
    "Options:\n"
    "  --load MB     how large the messages are that measure the bandwidth (16; 0: not measured)\n"
    "  --timeout S   for each way (10)\n"
    "  --no-pairs    only the ways from here\n"
    CLUSTER_SECURITY_HELP,
    run};
