// The subcommand leat inspect: it reads the options and calls the inspection of the kind of file
// that the first operand names. The inspections themselves are in inspect_*.c, and each prints for
// people or, with --json, for programs. A table says for each kind which options it takes, so that
// an option for another kind of file is an error rather than ignored. A new kind is a row in that
// table and a file of its own.
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

enum {
  JSON_OPTION, TEXT_OPTION, NODE_OPTION, TENSOR_OPTION, AS_OPTION, PASS_OPTION, DEVICES_OPTION,
  COMPRESSION_OPTION, OBJECTS_OPTION, SVG_OPTION, OPEN_OPTION
};

static const struct {
  const char* name;
  int (*run)(const inspection_t* inspection);
  unsigned options;  // options that are allowed: bit i is option i
} kKinds[] = {
    {"graph", inspect_graph, 1 << JSON_OPTION | 1 << TEXT_OPTION | 1 << NODE_OPTION |
                                 1 << PASS_OPTION | 1 << DEVICES_OPTION | 1 << SVG_OPTION |
                                 1 << OPEN_OPTION},
    {"checkpoint", inspect_checkpoint,
     1 << JSON_OPTION | 1 << TENSOR_OPTION | 1 << OBJECTS_OPTION},
    {"events", inspect_events, 1 << JSON_OPTION},
    {"records", inspect_records,
     1 << JSON_OPTION | 1 << AS_OPTION | 1 << COMPRESSION_OPTION},
    {"saved_model", inspect_saved_model, 1 << JSON_OPTION},
};
#define KIND_COUNT (sizeof kKinds / sizeof *kKinds)

static const option_t kOptions[] = {{"json", false},   {"text", false},       {"node", true},
                                    {"tensor", true},  {"as", true},          {"pass", true},
                                    {"devices", true}, {"compression", true}, {"objects", false},
                                    {"svg", false},    {"open", true},
                                    {NULL, 0}};

// Reads the arguments; |*out_given| gets a bit for each option that was given. Returns what ended
// the arguments.
static int parse(arguments_t* arguments, inspection_t* inspection, const char** out_kind,
                 unsigned* out_given) {
  for (;;) {
    int kind = arguments_next(arguments);
    if (kind >= 0) *out_given |= 1u << kind;
    switch (kind) {
      case JSON_OPTION: inspection->json = true; break;
      case TEXT_OPTION: inspection->text = true; break;
      case NODE_OPTION: inspection->node = arguments->value; break;
      case TENSOR_OPTION: inspection->tensor = arguments->value; break;
      case OBJECTS_OPTION: inspection->objects = true; break;
      case SVG_OPTION: inspection->svg = true; break;
      case OPEN_OPTION: inspection->open[inspection->open_count++] = arguments->value; break;
      case AS_OPTION: inspection->as = arguments->value; break;
      case PASS_OPTION: inspection->pass = arguments->value; break;
      case DEVICES_OPTION:
        inspection->devices = atoi(arguments->value);
        if (inspection->devices >= 1 && inspection->devices <= 4096) break;
        complain_usage("inspect", "--devices is '%s', must be 1 to 4096", arguments->value);
        return ARGUMENT_WRONG;
      case COMPRESSION_OPTION: inspection->compression = arguments->value; break;
      case ARGUMENT_OPERAND:
        if (!*out_kind) {
          *out_kind = arguments->value;
        } else if (!inspection->path) {
          inspection->path = arguments->value;
        } else {
          complain_usage("inspect", "one file at a time, not '%s' too", arguments->value);
          return ARGUMENT_WRONG;
        }
        break;
      default: return kind;
    }
  }
}

// Calls the inspection of the named kind, after checking that its options fit.
static int run(int argc, char** argv) {
  arguments_t arguments = {.command = &command_inspect, .options = kOptions, .argc = argc,
                           .argv = argv};
  const char* open[argc + 1];  // as many as there are arguments at most
  inspection_t inspection = {.devices = 1, .open = open};
  const char* name = NULL;
  unsigned given = 0;
  int kind = parse(&arguments, &inspection, &name, &given);
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  if (!name) return complain_usage("inspect", "the kind of file is not named");
  for (size_t i = 0; i < KIND_COUNT; ++i) {
    if (strcmp(kKinds[i].name, name)) continue;
    for (int option = 0; kOptions[option].name; ++option) {
      if (given & ~kKinds[i].options & 1u << option) {
        return complain_usage("inspect", "--%s is not for a %s", kOptions[option].name, name);
      }
    }
    if (!inspection.path) return complain_usage("inspect", "no file is named");
    if (inspection.svg) return inspect_svg(&inspection);
    if (inspection.open_count) return complain_usage("inspect", "--open is for --svg");
    return inspection.pass ? inspect_pass(&inspection) : kKinds[i].run(&inspection);
  }
  return complain_usage("inspect", "'%s' is no kind of file, must be graph, saved_model, "
                                   "checkpoint, events or records", name);
}

const command_t command_inspect = {
    "inspect", "shows what is in a graph, model, checkpoint, event or record file",
    "Examples:\n"
    "  leat inspect graph model.pb\n"
    "  leat inspect graph model.pb --node logits\n"
    "  leat inspect graph model.pb --pass arithmetic\n"
    "  leat inspect graph model.pb --svg --open layer1 > model.svg\n"
    "  leat inspect saved_model export/1\n"
    "  leat inspect checkpoint ckpt/model.ckpt-100 --tensor hidden/w\n"
    "  leat inspect events logs/events.out.tfevents.1700000000.host\n"
    "  leat inspect records train.tfrecord --as Example\n"
    "\n"
    "Usage:\n"
    "  leat inspect graph FILE [--text | --node NAME | --pass PASS [--devices N]] [--json]\n"
    "      GraphDef (.pb, .pbtxt), MetaGraphDef (.meta) or saved_model.pb: its inputs, outputs,\n"
    "      ops; --text all of it as text, --node one node; --pass what a pass of the optimizer\n"
    "      removes, adds and rewires (--pass list says which there are; those over partitions\n"
    "      need N devices)\n"
    "  leat inspect graph FILE --svg [--open SCOPE ...]\n"
    "      a drawing of it, scopes closed but for those that are named; --open '*' opens all\n"
    "  leat inspect saved_model DIR [--json]\n"
    "      its graphs by their tags, with signatures, assets and variables\n"
    "  leat inspect checkpoint PREFIX [--tensor NAME | --objects] [--json]\n"
    "      PREFIX without .index, or a directory with a state file; --tensor prints values,\n"
    "      --objects the objects of TensorFlow 2 that the values belong to\n"
    "  leat inspect events FILE [--json]\n"
    "      step, time, tag and value of each event\n"
    "  leat inspect records FILE [--as MESSAGE] [--compression GZIP|ZLIB|SNAPPY] [--json]\n"
    "      number and size of each record; --as prints it as that message, such as Example\n",
    run};
