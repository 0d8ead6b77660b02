// Complaints on stderr, and colours for terminals.
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"

static const char* style(FILE* file, const char* sequence) {
  const char* no_color = getenv("NO_COLOR");
  return isatty(fileno(file)) && !(no_color && *no_color) ? sequence : "";
}

const char* style_bold(FILE* file) { return style(file, "\033[1m"); }
const char* style_red(FILE* file) { return style(file, "\033[31m"); }
const char* style_end(FILE* file) { return style(file, "\033[0m"); }

// Prints one line: the line ends within the message become blanks, so that scripts can rely on it.
static void print_line(const char* format, va_list arguments) {
  char line[4096];
  int size = vsnprintf(line, sizeof line, format, arguments);
  for (char* c = line; *c; ++c) {
    if (*c == '\n') *c = ' ';
  }
  fprintf(stderr, "%sleat:%s %s%s\n", style_red(stderr), style_end(stderr), line,
          size >= (int)sizeof line ? " ..." : "");
}

int complain(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  return EXIT_FAILED;
}

int complain_status(const char* what, const TF_Status* status) {
  return complain("%s: %s", what, TF_Message(status));
}

int complain_usage(const char* command, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  fprintf(stderr, "leat%s%s --help shows how it is used\n", command ? " " : "",
          command ? command : "");
  return EXIT_MISUSED;
}
