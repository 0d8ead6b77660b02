// The subcommand leat train: becomes the example program of that name, which lies beside this one.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const char* const kModels[] = {"mnist"};

// Writes "<directory of this program>/<name>" to |path|. Returns false where the directory cannot
// be found out.
static bool find_beside(const char* name, char* path, size_t size) {
  ssize_t length = readlink("/proc/self/exe", path, size - 1);
  if (length <= 0) return false;
  path[length] = 0;
  char* slash = strrchr(path, '/');
  if (!slash) return false;
  return (size_t)snprintf(slash + 1, size - (size_t)(slash + 1 - path), "%s", name) <
         size - (size_t)(slash + 1 - path);
}

static int run(int argc, char** argv) {
  static const option_t options[] = {{NULL, 0}};
  arguments_t arguments = {.command = &command_train, .options = options, .argc = argc,
                           .argv = argv};
  const char* operands[2] = {NULL, "mnist-checkpoints"};
  int count = 0, kind;
  while ((kind = arguments_next(&arguments)) == ARGUMENT_OPERAND) {
    if (count == 2) return complain_usage("train", "'%s' is not wanted", arguments.value);
    operands[count++] = arguments.value;
  }
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  if (!count) return complain_usage("train", "no model is named");
  bool known = false;
  for (size_t i = 0; i < sizeof kModels / sizeof *kModels; ++i) {
    known |= !strcmp(kModels[i], operands[0]);
  }
  if (!known) return complain_usage("train", "there is no model '%s'", operands[0]);
  char path[4096];
  if (!find_beside(operands[0], path, sizeof path)) {
    return complain("where this program lies cannot be told");
  }
  fflush(stdout);
  execv(path, (char* const[]){(char*)operands[0], "train", (char*)operands[1], NULL});
  return complain("%s: %s", path, strerror(errno));
}

const command_t command_train = {
    "train", "trains a model that comes with Leat",
    "Examples:\n"
    "  leat train mnist                       checkpoints in mnist-checkpoints/\n"
    "  LEAT_DATA_DIR=data leat train mnist /tmp/mnist\n"
    "\n"
    "Usage:\n"
    "  leat train mnist [DIR]\n"
    "\n"
    "Trains softmax regression, a perceptron and a convolutional network on rendered digits, or\n"
    "on MNIST itself when LEAT_DATA_DIR holds mnist/. The program is examples/mnist; `mnist\n"
    "classify DIR` shows what the models have learnt.\n",
    run};
