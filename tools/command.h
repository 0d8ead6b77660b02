// The interface of a subcommand of the executable leat, and what all subcommands share: exit codes,
// complaints on stderr, and the reading of options. The tools use the public headers of the library
// alone.
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
  // gets the arguments after the subcommand's name; returns the exit code
  int (*run)(int argc, char** argv);
} command_t;

extern const command_t command_run, command_inspect, command_place, command_ops, command_doctor,
    command_train, command_convert, command_server, command_launch, command_board, command_diff,
    command_trace, command_simulate, command_data_service;

// ---- Complaints ---------------------------------------------------------------------------------
// A complaint is one line on stderr that begins with "leat: ".

// Prints a complaint and returns EXIT_FAILED.
int complain(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Prints "<what>: <message of |status|>" and returns EXIT_FAILED.
int complain_status(const char* what, const TF_Status* status);
// Prints a complaint about the arguments and a line that says how to get help for |command| (NULL:
// in general). Returns EXIT_MISUSED.
int complain_usage(const char* command, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// Return an escape sequence when |file| is a terminal and NO_COLOR is not set, and "" otherwise.
const char* style_bold(FILE* file);
const char* style_red(FILE* file);
const char* style_end(FILE* file);

// ---- Options ------------------------------------------------------------------------------------
// Understood are "--name", "--name=value", "--name value", operands, and "--", after which
// everything is an operand.

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
  const char* value;   // of the option that was returned last, or the operand
} arguments_t;

enum { ARGUMENT_OPERAND = -1, ARGUMENT_END = -2, ARGUMENT_HELP = -3, ARGUMENT_WRONG = -4 };
// Returns the index of the next option in |options|, or one of the values above. For WRONG it has
// complained, and for HELP it has printed the help.
int arguments_next(arguments_t* arguments);
// The exit code for a loop over the arguments that ended with |kind|.
static inline int arguments_exit_code(int kind) {
  return kind == ARGUMENT_WRONG ? EXIT_MISUSED : EXIT_OK;
}

#endif  // LEAT_TOOLS_COMMAND_H_
