// The subcommand leat run: runs one step of a graph in a file and prints what it fetches. The graph
// may be a GraphDef, a MetaGraphDef with its checkpoint or a SavedModel (tools/model.h). Feeds are
// values on the command line (tools/literal.h) or .npy files; fetches are printed like numpy
// arrays, as JSON, or written to .npy files. With --signature, feeds and fetches may be named as
// the signature names them.
//
// The order is: parse the arguments, open the model, resolve all names (so that a wrong name is
// reported before anything runs), run each --init in a step of its own, run the step, and print.
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "command.h"
#include "element.h"
#include "endpoint.h"
#include "json.h"
#include "literal.h"
#include "model.h"
#include "npy.h"
#include "view.h"

#define MOST 64  // feeds, fetches, targets, each
#define MAX_NAME 256

typedef struct request_s {
  model_source_t source;
  const char* signature;
  const char* feeds[MOST];    // "NAME=VALUE"
  const char* fetches[MOST];
  const char* targets[MOST];
  const char* inits[MOST];
  const char* npy[MOST];  // files for the first fetches
  int feed_count, fetch_count, target_count, init_count, npy_count;
  bool json;
} request_t;

typedef struct step_s {
  model_t model;
  leat_message_view_t signature;  // its data are NULL when no signature was asked for
  char names[MOST][MAX_NAME];     // the signature's outputs, when they are what is fetched
  TF_Output feeds[MOST];
  TF_Tensor* feed_values[MOST];
  TF_Output fetches[MOST];
  TF_Tensor* fetch_values[MOST];
  // for each fetch that was asked for: the fetched value, or the value that was fed
  const TF_Tensor* results[MOST];
  const TF_Operation* targets[MOST];
} step_t;

// ---- The request --------------------------------------------------------------------------------

static bool add(const char** list, int* count, const char* value) {
  if (*count == MOST) {
    complain_usage("run", "more than %d of a kind", MOST);
    return false;
  }
  list[(*count)++] = value;
  return true;
}

enum { FEED, FETCH, TARGET, INIT, NPY, JSON, SIGNATURE, TAG, CHECKPOINT };

// Reads the command line into |r|. Returns ARGUMENT_END, or what ended the command early: a call
// for help or a mistake.
static int parse(int argc, char** argv, request_t* r) {
  static const option_t options[] = {{"feed", true}, {"fetch", true}, {"target", true},
                                     {"init", true}, {"npy", true},   {"json", false},
                                     {"signature", true}, {"tag", true}, {"checkpoint", true},
                                     {NULL, 0}};
  arguments_t arguments = {.command = &command_run, .options = options, .argc = argc,
                           .argv = argv};
  for (;;) {
    int kind = arguments_next(&arguments);
    bool ok = true;
    switch (kind) {
      case FEED: ok = add(r->feeds, &r->feed_count, arguments.value); break;
      case FETCH: ok = add(r->fetches, &r->fetch_count, arguments.value); break;
      case TARGET: ok = add(r->targets, &r->target_count, arguments.value); break;
      case INIT: ok = add(r->inits, &r->init_count, arguments.value); break;
      case NPY: ok = add(r->npy, &r->npy_count, arguments.value); break;
      case JSON: r->json = true; break;
      case SIGNATURE: r->signature = arguments.value; break;
      case TAG: ok = model_source_add_tag(&r->source, "run", arguments.value); break;
      case CHECKPOINT: r->source.checkpoint = arguments.value; break;
      case ARGUMENT_OPERAND:
        if (r->source.path) {
          complain_usage("run", "one graph at a time, not '%s' too", arguments.value);
          return ARGUMENT_WRONG;
        }
        r->source.path = arguments.value;
        break;
      default: return kind;
    }
    if (!ok) return ARGUMENT_WRONG;
  }
}

static int check(const request_t* r) {
  if (!r->source.path) return complain_usage("run", "no graph is named");
  if (r->fetch_count + r->target_count + r->init_count == 0 && !r->signature) {
    const int is_saved_model = model_is_directory(r->source.path);
    return complain_usage("run", "nothing to do: give %s (leat inspect %s %s lists what there is)",
                          is_saved_model ? "--fetch, --target or --signature"
                                         : "--fetch or --target",
                          is_saved_model ? "saved_model" : "graph", r->source.path);
  }
  if (r->npy_count > r->fetch_count) {
    return complain_usage("run", "%d times --npy for %d fetches", r->npy_count, r->fetch_count);
  }
  return EXIT_OK;
}

// ---- The step -----------------------------------------------------------------------------------

// Finds an output by its name in the signature's |field|, if it has that name, or in the graph.
static TF_Output find_output(const step_t* s, const char* field, const char* name) {
  char tensor[MAX_NAME];
  bool is_alias = model_signature_tensor(s->signature, field, name, tensor, sizeof tensor);
  return endpoint_output(s->model.graph, is_alias ? tensor : name);
}

// Finds the signature. Where neither fetch nor target is named, all of its outputs are fetched.
static int use_signature(request_t* r, step_t* s) {
  if (!r->signature) return EXIT_OK;
  s->signature = model_signature(&s->model, r->signature);
  if (!s->signature.data) return EXIT_FAILED;
  size_t count = leat_message_count(s->signature, "outputs");
  if (r->fetch_count + r->target_count > 0) return EXIT_OK;
  for (size_t i = 0; i < count && i < MOST; ++i) {
    name_t key = view_string(leat_message_child(s->signature, "outputs", i), "key", 0);
    snprintf(s->names[i], MAX_NAME, "%.*s", (int)key.size, key.data);
    r->fetches[r->fetch_count++] = s->names[i];
  }
  return EXIT_OK;
}

// Resolves a feed such as "x=[1, 2]" or "x:0=@file.npy".
static int resolve_feed(const char* text, step_t* s, int index) {
  char name[MAX_NAME], what[300];
  const char* equals = strchr(text, '=');
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
    return complain_usage("run", "--feed %s: must be NAME=VALUE", text);
  }
  memcpy(name, text, (size_t)(equals - text));
  name[equals - text] = 0;
  s->feeds[index] = find_output(s, "inputs", name);
  if (!s->feeds[index].oper) return EXIT_FAILED;
  TF_DataType dtype = TF_OperationOutputType(s->feeds[index]);
  if (dtype > 100) dtype = (TF_DataType)(dtype - 100);  // a reference is fed a value
  const char* value = equals + 1;
  bool is_file = *value == '@';
  TF_Tensor* tensor =
      is_file ? npy_read(value + 1, s->model.status) : literal_parse(value, dtype, s->model.status);
  snprintf(what, sizeof what, "--feed %s", name);
  if (!tensor) return complain_status(what, s->model.status);
  s->feed_values[index] = tensor;
  if (TF_TensorType(tensor) == dtype) return EXIT_OK;
  // element_type_name may give both names in one buffer, so that one of them is copied.
  char wanted[32];
  snprintf(wanted, sizeof wanted, "%s", element_type_name(dtype));
  return complain("%s: %s holds %s, must hold %s", what, value + 1,
                  element_type_name(TF_TensorType(tensor)), wanted);
}

static int resolve(const request_t* r, step_t* s) {
  for (int i = 0; i < r->feed_count; ++i) {
    int code = resolve_feed(r->feeds[i], s, i);
    if (code) return code;
  }
  for (int i = 0; i < r->fetch_count; ++i) {
    s->fetches[i] = find_output(s, "outputs", r->fetches[i]);
    if (!s->fetches[i].oper) return EXIT_FAILED;
  }
  for (int i = 0; i < r->target_count; ++i) {
    s->targets[i] = endpoint_operation(s->model.graph, r->targets[i]);
    if (!s->targets[i]) return EXIT_FAILED;
  }
  return EXIT_OK;
}

// The value that is fed to |output|, or NULL. A session refuses to fetch what it is fed, and the
// value is known anyway.
static const TF_Tensor* fed_value(const request_t* r, const step_t* s, TF_Output output) {
  for (int i = 0; i < r->feed_count; ++i) {
    if (s->feeds[i].oper == output.oper && s->feeds[i].index == output.index) {
      return s->feed_values[i];
    }
  }
  return NULL;
}

// Runs the step. Fetches that are fed are left out of it and take the value that was fed.
static int run_step(const request_t* r, step_t* s) {
  int count = 0, places[MOST];
  for (int i = 0; i < r->fetch_count; ++i) {
    s->results[i] = fed_value(r, s, s->fetches[i]);
    if (s->results[i]) continue;
    s->fetches[count] = s->fetches[i];
    places[count++] = i;
  }
  if (count + r->target_count == 0) return EXIT_OK;
  TF_SessionRun(s->model.session, NULL, s->feeds, s->feed_values, r->feed_count, s->fetches,
                s->fetch_values, count, s->targets, r->target_count, NULL, s->model.status);
  if (TF_GetCode(s->model.status) != TF_OK) return complain("%s", TF_Message(s->model.status));
  for (int i = 0; i < count; ++i) s->results[places[i]] = s->fetch_values[i];
  return EXIT_OK;
}

static int run_steps(const request_t* r, step_t* s) {
  for (int i = 0; i < r->init_count; ++i) {
    const TF_Operation* target = endpoint_operation(s->model.graph, r->inits[i]);
    if (!target) return EXIT_FAILED;
    TF_SessionRun(s->model.session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL,
                  s->model.status);
    if (TF_GetCode(s->model.status) != TF_OK) return complain_status(r->inits[i], s->model.status);
  }
  return run_step(r, s);
}

// ---- The results --------------------------------------------------------------------------------

static void print_json(const request_t* r, const step_t* s) {
  putchar('{');
  for (int i = 0; i < r->fetch_count; ++i) {
    if (i) fputs(",\n ", stdout);
    json_print_string(stdout, r->fetches[i], strlen(r->fetches[i]));
    fputs(": ", stdout);
    array_print_json(stdout, s->results[i]);
  }
  puts("}");
}

static int give(const request_t* r, step_t* s) {
  for (int i = 0; i < r->npy_count; ++i) {
    npy_write(r->npy[i], s->results[i], s->model.status);
    if (TF_GetCode(s->model.status) != TF_OK) return complain("%s", TF_Message(s->model.status));
  }
  if (r->json) print_json(r, s);
  for (int i = r->npy_count; i < r->fetch_count && !r->json; ++i) {
    printf("%s%s%s ", style_bold(stdout), r->fetches[i], style_end(stdout));
    array_print_type(stdout, s->results[i]);
    putchar('\n');
    array_print(stdout, s->results[i]);
  }
  return EXIT_OK;
}

static int run(int argc, char** argv) {
  request_t request = {0};
  int kind = parse(argc, argv, &request);
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  int code = check(&request);
  if (code) return code;
  // It is static because its arrays are large and it starts as zeros.
  static step_t step;
  code = model_open(&request.source, &step.model);
  if (!code) code = use_signature(&request, &step);
  if (!code) code = resolve(&request, &step);
  if (!code) code = run_steps(&request, &step);
  if (!code) code = give(&request, &step);
  for (int i = 0; i < MOST; ++i) {
    TF_DeleteTensor(step.feed_values[i]);
    TF_DeleteTensor(step.fetch_values[i]);
  }
  model_close(&step.model);
  return code;
}

const command_t command_run = {
    "run", "runs a step of a graph and prints what it gives",
    "Examples:\n"
    "  leat run half_plus_two.pb --feed x=[1,2,3] --fetch y\n"
    "  leat run model.pb --feed images=@digits.npy --fetch logits --npy logits.npy\n"
    "  leat run train.pbtxt --init init --target train --fetch loss --json\n"
    "  leat run export/1 --signature serving_default --feed images=@digits.npy\n"
    "\n"
    "Usage:\n"
    "  leat run GRAPH [options]      GRAPH is a GraphDef, .pb or .pbtxt; the directory of a\n"
    "                                SavedModel; or a MetaGraphDef, .meta\n"
    "\n"
    "Options:\n"
    "  --feed NAME=VALUE   VALUE is a number, [[1, 2], [3, 4]], true, 1+2j, \"text\", or\n"
    "                      @FILE.npy; it has the type that the graph gives to NAME (x, x:0)\n"
    "  --fetch NAME        an output to print\n"
    "  --target NAME       an operation to run in the same step\n"
    "  --init NAME         an operation to run before, in a step of its own\n"
    "  --signature NAME    of a SavedModel: names of feeds and fetches are those of its inputs\n"
    "                      and outputs; without --fetch all of these are printed\n"
    "  --tag TAG           of a SavedModel: its graph with just these tags (given once for each)\n"
    "  --checkpoint PREFIX of a MetaGraphDef: its variables' values, if not FILE without .meta\n"
    "  --npy FILE          writes the first fetch there instead (the second time: the second)\n"
    "  --json              prints {NAME: {\"dtype\", \"shape\", \"value\"}}\n",
    run};
