// The executable leat: it calls the subcommand that the first argument names.
#include <string.h>

#include "command.h"
#include "leat/inspect.h"

static const command_t* const kCommands[] = {
    &command_run,    &command_inspect, &command_place,  &command_ops,
    &command_doctor, &command_train,   &command_convert, &command_diff,
    &command_server, &command_launch,  &command_board,   &command_trace,
    &command_simulate, &command_data_service,
};
#define COMMAND_COUNT ((int)(sizeof kCommands / sizeof *kCommands))

static void print_help(FILE* out) {
  fprintf(out,
          "%sExamples%s\n"
          "  leat run graph.pb --feed x=[[1,2],[3,4]] --fetch y\n"
          "  leat inspect graph graph.pb\n"
          "  leat inspect checkpoint ckpt/model.ckpt-100 --tensor w\n"
          "  leat convert freeze export/1 frozen.pb\n"
          "  leat ops MatMul\n"
          "  leat train mnist /tmp/mnist\n"
          "  leat board --logdir logs\n\n"
          "%sCommands%s\n",
          style_bold(out), style_end(out), style_bold(out), style_end(out));
  for (int i = 0; i < COMMAND_COUNT; ++i) {
    fprintf(out, "  %-12s %s\n", kCommands[i]->name, kCommands[i]->summary);
  }
  fprintf(out,
          "\nleat COMMAND --help says more; leat --version which one this is.\n"
          "Exit codes: 0 done, 1 failed, 2 misused. NO_COLOR=1 leaves terminals uncoloured.\n");
}

int main(int argc, char** argv) {
  if (argc < 2) {
    print_help(stderr);
    return EXIT_MISUSED;
  }
  const char* name = argv[1];
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
    print_help(stdout);
    return EXIT_OK;
  }
  if (!strcmp(name, "--version")) {
    printf("leat %s (TensorFlow %s)\n", leat_version(), TF_Version());
    return EXIT_OK;
  }
  for (int i = 0; i < COMMAND_COUNT; ++i) {
    if (strcmp(kCommands[i]->name, name)) continue;
    int code = kCommands[i]->run(argc - 2, argv + 2);
    // Output that is still buffered may fail to be written, for example to a full disk: then the
    // command has failed.
    if (fflush(stdout) || ferror(stdout)) return complain("writing to the standard output failed");
    return code;
  }
  return complain_usage(NULL, "there is no command '%s'", name);
}
