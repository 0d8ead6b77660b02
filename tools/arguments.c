// Reads the options and operands of a subcommand one after the other (tools/command.h). There is no
// getopt here because every subcommand has long options only, and because a wrong option must be
// answered with the subcommand's name.
#include <string.h>

#include "command.h"

static void print_help(const command_t* command) {
  // Headings are the lines that begin in the first column and end with a colon.
  for (const char* line = command->help; *line;) {
    size_t size = strcspn(line, "\n");
    bool is_heading = size > 0 && line[0] != ' ' && line[size - 1] == ':';
    if (is_heading) {
      printf("%s%.*s%s\n", style_bold(stdout), (int)size - 1, line, style_end(stdout));
    } else {
      printf("%.*s\n", (int)size, line);
    }
    line += size + (line[size] == '\n');
  }
}

static int take_option(arguments_t* a, const char* text) {
  size_t size = strcspn(text, "=");
  for (int i = 0; a->options[i].name; ++i) {
    const option_t* option = &a->options[i];
    if (strlen(option->name) != size || strncmp(option->name, text, size)) continue;
    if (!option->takes_value && text[size]) {
      complain_usage(a->command->name, "--%s takes no value", option->name);
      return ARGUMENT_WRONG;
    }
    if (option->takes_value && text[size]) {
      a->value = text + size + 1;
    } else if (option->takes_value) {
      if (a->next >= a->argc) {
        complain_usage(a->command->name, "--%s needs a value", option->name);
        return ARGUMENT_WRONG;
      }
      a->value = a->argv[a->next++];
    }
    return i;
  }
  complain_usage(a->command->name, "there is no option --%.*s", (int)size, text);
  return ARGUMENT_WRONG;
}

int arguments_next(arguments_t* a) {
  a->value = NULL;
  if (a->next >= a->argc) return ARGUMENT_END;
  const char* text = a->argv[a->next++];
  if (!a->only_operands && !strcmp(text, "--")) {
    a->only_operands = true;
    return arguments_next(a);
  }
  if (!a->only_operands && (!strcmp(text, "--help") || !strcmp(text, "-h"))) {
    print_help(a->command);
    return ARGUMENT_HELP;
  }
  if (!a->only_operands && !strncmp(text, "--", 2)) return take_option(a, text + 2);
  if (!a->only_operands && text[0] == '-' && text[1]) {
    complain_usage(a->command->name, "there is no option %s", text);
    return ARGUMENT_WRONG;
  }
  a->value = text;
  return ARGUMENT_OPERAND;
}
