// The subcommand leat convert: it reads the options and calls the conversion that the first operand
// names. Converting a graph between its binary and text form is done here, in one call of the
// library; freezing a model (convert_freeze.c) and rewriting a checkpoint (convert_checkpoint.c)
// have files of their own. Which form a graph file has follows from its name alone
// (tools/graph_file.h). An option that the named conversion does not use is an error, because a
// silent one would look as if it had worked.
#include "convert.h"

#include <string.h>

#include "file.h"
#include "graph_file.h"

enum { SIGNATURE, OUTPUT, TAG, CHECKPOINT };

static const struct {
  const char* name;
  int (*run)(const conversion_t* conversion);
  bool takes_options;
} kKinds[] = {{"graph", convert_graph, false},
              {"freeze", convert_freeze, true},
              {"checkpoint", convert_checkpoint, false}};
#define KIND_COUNT (sizeof kKinds / sizeof *kKinds)

int convert_graph(const conversion_t* c) {
  const char* type = graph_file_type(c->source.path);
  int from_text = graph_file_is_text(c->source.path), to_text = graph_file_is_text(c->target);
  if (from_text == to_text) {
    return complain_usage("convert", "%s and %s are both %s", c->source.path, c->target,
                          to_text ? "text" : "binary");
  }
  TF_Status* status = TF_NewStatus();
  TF_Buffer* from = file_read(c->source.path, status);
  TF_Buffer* to = NULL;
  if (from) {
    to = to_text ? leat_message_to_text(type, from, status)
                 : leat_message_from_text(type, from, status);
  }
  if (to) file_write(c->target, to->data, to->length, status);
  int code = EXIT_OK;
  if (TF_GetCode(status) != TF_OK) code = complain_status(from ? c->source.path : type, status);
  TF_DeleteBuffer(from);
  TF_DeleteBuffer(to);
  TF_DeleteStatus(status);
  return code;
}

// The operands come in a fixed order: kind, source, target.
static bool add_operand(conversion_t* c, const char** kind, const char* value) {
  const char** places[] = {kind, &c->source.path, &c->target};
  for (int i = 0; i < 3; ++i) {
    if (*places[i]) continue;
    *places[i] = value;
    return true;
  }
  complain_usage("convert", "'%s' is one file too many", value);
  return false;
}

// Reads the arguments into |c| and |kind|. Returns what ended them.
static int parse(arguments_t* arguments, conversion_t* c, const char** kind, bool* has_options) {
  for (;;) {
    int next = arguments_next(arguments);
    bool ok = true;
    *has_options |= next >= 0;
    switch (next) {
      case SIGNATURE: c->signature = arguments->value; break;
      case CHECKPOINT: c->source.checkpoint = arguments->value; break;
      case TAG: ok = model_source_add_tag(&c->source, "convert", arguments->value); break;
      case OUTPUT:
        ok = c->output_count < CONVERT_MOST;
        if (ok) c->outputs[c->output_count++] = arguments->value;
        if (!ok) complain_usage("convert", "more than %d outputs", CONVERT_MOST);
        break;
      case ARGUMENT_OPERAND: ok = add_operand(c, kind, arguments->value); break;
      default: return next;
    }
    if (!ok) return ARGUMENT_WRONG;
  }
}

static int run(int argc, char** argv) {
  static const option_t options[] = {
      {"signature", true}, {"output", true}, {"tag", true}, {"checkpoint", true}, {NULL, 0}};
  arguments_t arguments = {.command = &command_convert, .options = options, .argc = argc,
                           .argv = argv};
  // It is static because its arrays are large and it starts as zeros.
  static conversion_t conversion;
  const char* kind = NULL;
  bool has_options = false;
  int end = parse(&arguments, &conversion, &kind, &has_options);
  if (end != ARGUMENT_END) return arguments_exit_code(end);
  if (!kind) return complain_usage("convert", "the kind of conversion is not named");
  for (size_t i = 0; i < KIND_COUNT; ++i) {
    if (strcmp(kKinds[i].name, kind)) continue;
    if (!conversion.target) return complain_usage("convert", "FROM and TO must be named");
    if (has_options && !kKinds[i].takes_options) {
      return complain_usage("convert", "options are for freeze");
    }
    return kKinds[i].run(&conversion);
  }
  return complain_usage("convert", "'%s' is no conversion, must be graph, freeze or checkpoint",
                        kind);
}

const command_t command_convert = {
    "convert", "freezes models, turns graphs into text and old checkpoints into new ones",
    "Examples:\n"
    "  leat convert freeze export/1 frozen.pb\n"
    "  leat convert freeze ckpt/model.ckpt-100.meta frozen.pb --output logits\n"
    "  leat convert graph frozen.pb frozen.pbtxt\n"
    "  leat convert checkpoint old.ckpt new.ckpt\n"
    "\n"
    "Usage:\n"
    "  leat convert freeze MODEL GRAPH [options]\n"
    "      a SavedModel (its directory), MetaGraphDef (.meta, with its checkpoint) or GraphDef\n"
    "      becomes a GraphDef in which variables are constants, and which holds only what its\n"
    "      outputs need; text where the name of GRAPH says so (.pbtxt)\n"
    "  leat convert graph FROM TO\n"
    "      between binary and text (.pbtxt): GraphDef, MetaGraphDef (.meta), SavedModel\n"
    "      (saved_model.pb)\n"
    "  leat convert checkpoint FROM TO\n"
    "      a checkpoint of the first or the second version, in any number of files, becomes one\n"
    "      of the second version in one\n"
    "\n"
    "Options:\n"
    "  --output NAME       kept with all that it needs; without it, the outputs of the signature\n"
    "  --signature NAME    of a SavedModel; without it, all of them\n"
    "  --tag TAG           of a SavedModel: its graph with just these tags (given once for each)\n"
    "  --checkpoint PREFIX of a MetaGraphDef: its variables' values, if not MODEL without .meta\n",
    run};
