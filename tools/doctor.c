// The subcommand leat doctor: prints what the library says of the machine, as lines or as JSON.
#include <string.h>

#include "command.h"
#include "json.h"
#include "leat/inspect.h"

enum { PEAK_OPTION, JSON_OPTION };

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

static int run(int argc, char** argv) {
  static const option_t options[] = {{"peak", false}, {"json", false}, {NULL, 0}};
  arguments_t arguments = {.command = &command_doctor, .options = options, .argc = argc,
                           .argv = argv};
  bool as_json = false, measure = false;
  int kind;
  while ((kind = arguments_next(&arguments)) >= ARGUMENT_OPERAND) {
    if (kind == ARGUMENT_OPERAND) return complain_usage("doctor", "'%s' is not wanted",
                                                        arguments.value);
    measure |= kind == PEAK_OPTION;
    as_json |= kind == JSON_OPTION;
  }
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
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
    "doctor", "says what this machine has, and with --peak what it reaches",
    "Examples:\n"
    "  leat doctor\n"
    "  leat doctor --peak        measures flops, bandwidth, wake-up and step times (2 s, 256 MB)\n"
    "  leat doctor --peak --json\n"
    "\n"
    "Usage:\n"
    "  leat doctor [--peak] [--json]\n",
    run};
