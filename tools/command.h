// A subcommand of the executable, and what all of them share: the exit codes, complaints, options.
#ifndef LEAT_TOOLS_COMMAND_H_
#define LEAT_TOOLS_COMMAND_H_

#include <stdbool.h>
#include <stdio.h>

#include "tensorflow/c/c_api.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

typedef struct command_s {
  const char* name;
  const char* summary;  // one line for the list of commands
  const char* help;     // examples first, then usage and options
  int (*run)(int argc, char** argv);  // without the command's own name; the exit code
} command_t;

extern const command_t command_run, command_inspect, command_place, command_ops, command_doctor,
    command_train, command_convert;

// ---- Complaints ---------------------------------------------------------------------------------
// One line on stderr, "leat: ...".

// Returns EXIT_FAILED.
int complain(const char* format, ...) __attribute__((format(printf, 1, 2)));
// "<what>: <message of |status|>"; returns EXIT_FAILED.
int complain_status(const char* what, const TF_Status* status);
// Says how to get help for |command| too (NULL: in general); returns EXIT_MISUSED.
int complain_usage(const char* command, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// An escape sequence when |file| is a terminal and NO_COLOR is not set, else "".
const char* style_bold(FILE* file);
const char* style_red(FILE* file);
const char* style_end(FILE* file);

// ---- Options ------------------------------------------------------------------------------------
// "--name", "--name=value", "--name value", "--" and what stands alone, in the order given.

typedef struct option_s {
  const char* name;  // without the dashes; NULL ends the list
  bool takes_value;
} option_t;

typedef struct arguments_s {
  const command_t* command;
  const option_t* options;
  int argc;
  char** argv;
  int next;
  bool only_operands;  // after "--"
  const char* value;   // of the option, or the operand
} arguments_t;

enum { ARGUMENT_OPERAND = -1, ARGUMENT_END = -2, ARGUMENT_HELP = -3, ARGUMENT_WRONG = -4 };
// The index of the next option, or one of these; WRONG has complained and HELP has printed it.
int arguments_next(arguments_t* arguments);
// The exit code when a loop over arguments ended with |kind|.
static inline int arguments_exit_code(int kind) {
  return kind == ARGUMENT_WRONG ? EXIT_MISUSED : EXIT_OK;
}

#endif  // LEAT_TOOLS_COMMAND_H_
