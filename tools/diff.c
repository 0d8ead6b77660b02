// The subcommand leat diff: compares the values in two graphs piece by piece, or in a graph and a
// recording of the same graph (tools/recording.h), and finds the first tensor, in the order of
// computation, whose values differ (section 6 of the white paper). Both sides get the same feeds,
// and each runs one step that fetches every tensor that both have and that the fetches need.
//
// The order is: parse the arguments, open both sides, list what is compared (diff_order.c), run
// --init and the steps, compare, and report (diff_report.c). After a step whose values are all
// equal the next one follows, if there is one.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "diff.h"
#include "element.h"
#include "endpoint.h"
#include "literal.h"
#include "npy.h"

#define MOST 64  // feeds, fetches, targets, inits, each
#define MAX_NAME 512

typedef struct request_s {
  model_source_t a, b;
  const char* feeds[MOST];  // "NAME=VALUE"
  const char* fetches[MOST];
  const char* targets[MOST];
  const char* inits[MOST];
  int feed_count, fetch_count, target_count, init_count, steps;
  tolerance_t tolerance;
  const char *rename, *record, *svg;
  bool json, list;
} request_t;

// What one side is given and asked for in a step.
typedef struct side_s {
  const model_t* model;
  TF_Output feeds[MOST];
  TF_Tensor* feed_values[MOST];
  int feed_count;
  const TF_Operation* targets[MOST];
  int target_count;
} side_t;

// ---- The request --------------------------------------------------------------------------------

enum {
  FEED, FETCH, TARGET, INIT, STEPS, RTOL, ATOL, RENAME, RECORD, SVG, JSON, TAG, CHECKPOINT,
  LIST
};

static bool add(const char** list, int* count, const char* value) {
  if (*count == MOST) {
    complain_usage("diff", "more than %d of a kind", MOST);
    return false;
  }
  list[(*count)++] = value;
  return true;
}

static bool parse_number(const char* option, const char* text, double least, double* out) {
  char* end;
  *out = strtod(text, &end);
  if (end != text && !*end && *out >= least && *out < 1e9) return true;
  complain_usage("diff", "--%s is '%s', must be a number from %g", option, text, least);
  return false;
}

static bool take_operand(request_t* r, const char* path) {
  const char** place = !r->a.path ? &r->a.path : &r->b.path;
  if (*place) complain_usage("diff", "two graphs at a time, not '%s' too", path);
  if (*place) return false;
  *place = path;
  return true;
}

// Reads the command line. Returns ARGUMENT_END, or what ended the command early.
static int parse(int argc, char** argv, request_t* r) {
  static const option_t options[] = {
      {"feed", true},   {"fetch", true},  {"target", true}, {"init", true}, {"steps", true},
      {"rtol", true},   {"atol", true},   {"rename", true}, {"record", true}, {"svg", true},
      {"json", false},  {"tag", true},    {"checkpoint", true}, {"list", false},
      {NULL, false}};
  arguments_t arguments = {.command = &command_diff, .options = options, .argc = argc,
                           .argv = argv};
  for (;;) {
    int kind = arguments_next(&arguments);
    const char* value = arguments.value;
    double number = 0;
    bool ok = true;
    switch (kind) {
      case FEED: ok = add(r->feeds, &r->feed_count, value); break;
      case FETCH: ok = add(r->fetches, &r->fetch_count, value); break;
      case TARGET: ok = add(r->targets, &r->target_count, value); break;
      case INIT: ok = add(r->inits, &r->init_count, value); break;
      case STEPS:
        ok = parse_number("steps", value, 1, &number);
        r->steps = (int)number;
        break;
      case RTOL: ok = parse_number("rtol", value, 0, &r->tolerance.relative); break;
      case ATOL: ok = parse_number("atol", value, 0, &r->tolerance.absolute); break;
      case RENAME: r->rename = value; break;
      case RECORD: r->record = value; break;
      case SVG: r->svg = value; break;
      case JSON: r->json = true; break;
      case LIST: r->list = true; break;
      case TAG:
        ok = model_source_add_tag(&r->a, "diff", value) &&
             model_source_add_tag(&r->b, "diff", value);
        break;
      case CHECKPOINT: r->a.checkpoint = r->b.checkpoint = value; break;
      case ARGUMENT_OPERAND: ok = take_operand(r, value); break;
      default: return kind;
    }
    if (!ok) return ARGUMENT_WRONG;
  }
}

static int check(const request_t* r) {
  if (!r->a.path) return complain_usage("diff", "no graph is named");
  if (!r->b.path && !r->record && !r->list) {
    return complain_usage("diff", "%s is compared with nothing: name another graph or a recording",
                          r->a.path);
  }
  if (r->b.path && r->record) return complain_usage("diff", "--record is for one graph");
  if (r->rename && !strchr(r->rename, '=')) {
    return complain_usage("diff", "--rename is '%s', must be FROM=TO", r->rename);
  }
  if (r->steps > 1 && r->b.path && recording_is(r->b.path)) {
    return complain_usage("diff", "a recording is of one step");
  }
  return EXIT_OK;
}

// ---- Feeds --------------------------------------------------------------------------------------

static TF_DataType value_type(TF_Output output) {
  TF_DataType dtype = TF_OperationOutputType(output);
  return dtype > 100 ? (TF_DataType)(dtype - 100) : dtype;  // of a reference: what it refers to
}

// What |output| of the first graph is in the second; without operation where it has no such tensor.
static TF_Output twin_of(const diff_t* diff, TF_Output output) {
  TF_Output twin = {NULL, output.index};
  char* name = diff_name_of(diff, output);
  if (name && diff->b.graph) {
    *strrchr(name, ':') = 0;
    twin.oper = TF_GraphOperationByName(diff->b.graph, name);
    if (twin.oper && output.index >= TF_OperationNumOutputs(twin.oper)) twin.oper = NULL;
  }
  free(name);
  return twin;
}

static bool is_fed(const side_t* side, TF_Output output) {
  for (int i = 0; i < side->feed_count; ++i) {
    if (side->feeds[i].oper == output.oper && side->feeds[i].index == output.index) return true;
  }
  return false;
}

// Whether the values of a tensor can be fetched and looked at, and recorded where they must be.
static bool is_comparable(const diff_t* diff, int node, TF_Output output) {
  const element_type_t* type = element_type_of(value_type(output));
  return !diff->nodes[node].is_inside && type && (!diff->recording || type->numpy);
}

static void feed(side_t* side, TF_Output output, TF_Tensor* value) {
  side->feeds[side->feed_count] = output;
  side->feed_values[side->feed_count++] = value;
}

// Resolves "x=[1, 2]" or "x:0=@file.npy", and feeds both sides.
static int take_feed(const char* text, diff_t* diff, side_t* a, side_t* b) {
  char name[MAX_NAME];
  const char* equals = strchr(text, '=');
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
    return complain_usage("diff", "--feed %s: must be NAME=VALUE", text);
  }
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  TF_Output output = endpoint_output(diff->a.graph, name);
  if (!output.oper) return EXIT_FAILED;
  TF_Output twin = twin_of(diff, output);
  for (int side = 0; side < 2; ++side) {
    if (side && !twin.oper) break;
    const char* value = equals + 1;
    TF_Tensor* tensor = *value == '@'
        ? npy_read(value + 1, diff->a.status)
        : literal_parse(value, value_type(output), diff->a.status);
    if (!tensor) return complain_status(text, diff->a.status);
    feed(side ? b : a, side ? twin : output, tensor);
  }
  return EXIT_OK;
}

// Feeds the first graph's placeholders with what was fed to them when the recording was made.
static int take_recorded_feeds(diff_t* diff, side_t* a) {
  for (int i = 0; diff->recording && i < diff->node_count; ++i) {
    TF_Output output = {diff->nodes[i].operation, 0};
    if (strncmp(TF_OperationOpType(output.oper), "Placeholder", 11) || is_fed(a, output) ||
        !is_comparable(diff, i, output)) {
      continue;
    }
    char* name = diff_name_of(diff, output);
    TF_Tensor* value = name ? recording_read(diff->recording, name, diff->a.status) : NULL;
    free(name);
    if (TF_GetCode(diff->a.status) != TF_OK) return complain("%s", TF_Message(diff->a.status));
    if (value && a->feed_count == MOST) {
      TF_DeleteTensor(value);
      return complain("%s has more than %d feeds", diff->b_path, MOST);
    }
    if (value) feed(a, output, value);
  }
  return EXIT_OK;
}

// ---- What is compared ---------------------------------------------------------------------------

static int find_operations(const request_t* r, diff_t* diff, side_t* a, side_t* b) {
  for (int i = 0; i < r->target_count; ++i) {
    a->targets[a->target_count] = endpoint_operation(diff->a.graph, r->targets[i]);
    if (!a->targets[a->target_count++]) return EXIT_FAILED;
    if (!diff->b.graph) continue;
    b->targets[b->target_count] = endpoint_operation(diff->b.graph, r->targets[i]);
    if (!b->targets[b->target_count++]) return EXIT_FAILED;
  }
  return EXIT_OK;
}

static int find_fetches(const request_t* r, diff_t* diff, TF_Output* fetches) {
  for (int i = 0; i < r->fetch_count; ++i) {
    fetches[i] = endpoint_output(diff->a.graph, r->fetches[i]);
    if (!fetches[i].oper) return EXIT_FAILED;
  }
  return EXIT_OK;
}

static int list_values(diff_t* diff, const side_t* a, const side_t* b) {
  int room = 0;
  for (int n = 0; n < diff->node_count; ++n) {
    room += TF_OperationNumOutputs(diff->nodes[n].operation);
  }
  diff->values = calloc((size_t)room + 1, sizeof *diff->values);
  if (!diff->values) return complain("no memory for %d tensors", room);
  for (int n = 0; n < diff->node_count; ++n) {
    TF_Operation* operation = diff->nodes[n].operation;
    bool is_missing = false;
    for (int o = 0; o < TF_OperationNumOutputs(operation); ++o) {
      diff_value_t value = {.node = n, .a = {operation, o}};
      if (!is_comparable(diff, n, value.a) || is_fed(a, value.a)) continue;
      value.b = twin_of(diff, value.a);
      is_missing |= diff->b.graph && !value.b.oper;
      if (diff->b.graph && (!value.b.oper || is_fed(b, value.b))) continue;
      value.name = diff_name_of(diff, value.a);
      diff->values[diff->value_count++] = value;
    }
    if (is_missing && !diff->missing_count++) diff->missing = operation;
  }
  return diff->value_count ? EXIT_OK : complain("%s and %s have no tensor in common", diff->a_path,
                                                diff->b_path ? diff->b_path : "the recording");
}

// ---- Steps --------------------------------------------------------------------------------------

static int run_inits(const request_t* r, model_t* model) {
  for (int i = 0; i < r->init_count; ++i) {
    const TF_Operation* target = endpoint_operation(model->graph, r->inits[i]);
    if (!target) return EXIT_FAILED;
    TF_SessionRun(model->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL,
                  model->status);
    if (TF_GetCode(model->status) != TF_OK) return complain_status(r->inits[i], model->status);
  }
  return EXIT_OK;
}

// Runs a step of one side for all values.
static int run_side(diff_t* diff, model_t* model, const side_t* side, const char* path) {
  bool is_a = model == &diff->a;
  size_t count = (size_t)diff->value_count;
  TF_Output* fetches = calloc(count, sizeof *fetches);
  TF_Tensor** values = calloc(count, sizeof *values);
  int code = fetches && values ? EXIT_OK : complain("no memory for %zu tensors", count);
  for (size_t i = 0; !code && i < count; ++i) {
    fetches[i] = is_a ? diff->values[i].a : diff->values[i].b;
  }
  if (!code) {
    TF_SessionRun(model->session, NULL, side->feeds, side->feed_values, side->feed_count, fetches,
                  values, (int)count, side->targets, side->target_count, NULL, model->status);
    if (TF_GetCode(model->status) != TF_OK) code = complain_status(path, model->status);
  }
  for (size_t i = 0; !code && i < count; ++i) {
    *(is_a ? &diff->values[i].a_value : &diff->values[i].b_value) = values[i];
  }
  free(fetches);
  free(values);
  return code;
}

static void forget_values(diff_t* diff) {
  for (int i = 0; i < diff->value_count; ++i) {
    TF_DeleteTensor(diff->values[i].a_value);
    TF_DeleteTensor(diff->values[i].b_value);
    diff->values[i].a_value = diff->values[i].b_value = NULL;
  }
}

// Takes the second side's values from the recording; those that it has not are compared no more.
static int read_recorded(diff_t* diff) {
  int kept = 0, last_missing = -1;
  for (int i = 0; i < diff->value_count; ++i) {
    diff_value_t value = diff->values[i];
    value.b_value = recording_read(diff->recording, value.name, diff->a.status);
    if (TF_GetCode(diff->a.status) != TF_OK) return complain("%s", TF_Message(diff->a.status));
    diff->values[i] = (diff_value_t){0};
    if (value.b_value) {
      diff->values[kept++] = value;
      continue;
    }
    if (last_missing != value.node && !diff->missing_count++) diff->missing = value.a.oper;
    last_missing = value.node;
    TF_DeleteTensor(value.a_value);
    free(value.name);
  }
  diff->value_count = kept;
  return kept ? EXIT_OK : complain("%s has no tensor of %s", diff->b_path, diff->a_path);
}

static int record(diff_t* diff, const side_t* a, const char* folder) {
  int left_out = 0;
  for (int i = 0; i < diff->value_count + a->feed_count; ++i) {
    bool is_feed = i >= diff->value_count;
    int feed = i - diff->value_count;
    char* name = diff_name_of(diff, is_feed ? a->feeds[feed] : diff->values[i].a);
    if (!name) return complain("no memory for a name");
    recording_write(folder, name, is_feed ? a->feed_values[feed] : diff->values[i].a_value,
                    diff->a.status);
    free(name);
    if (TF_GetCode(diff->a.status) == TF_UNIMPLEMENTED) {  // a type that numpy does not have
      ++left_out;
      TF_SetStatus(diff->a.status, TF_OK, "");
    }
    if (TF_GetCode(diff->a.status) != TF_OK) return complain("%s", TF_Message(diff->a.status));
  }
  printf("%d tensors recorded in %s", diff->value_count + a->feed_count - left_out, folder);
  printf(left_out ? "; %d of types that numpy does not have are left out\n" : "\n", left_out);
  return EXIT_OK;
}

static void compare(const request_t* r, diff_t* diff) {
  diff->first = -1;
  for (int i = 0; i < diff->value_count; ++i) {
    diff_value_t* value = &diff->values[i];
    value->difference = difference_between(value->a_value, value->b_value, r->tolerance);
    if (value->difference.kind && diff->first < 0) diff->first = i;
  }
}

static int report(const request_t* r, const diff_t* diff) {
  if (r->json) {
    diff_report_json(diff);
  } else {
    diff_report(diff);
  }
  int code = r->svg ? diff_draw(diff, r->svg) : EXIT_OK;
  return code ? code : diff->first < 0 ? EXIT_OK : EXIT_FAILED;
}

static int run_steps(const request_t* r, diff_t* diff, const side_t* a, const side_t* b) {
  for (diff->step = 1;; ++diff->step) {
    forget_values(diff);
    int code = run_side(diff, &diff->a, a, diff->a_path);
    if (code) return code;
    if (r->record) return record(diff, a, r->record);
    code = diff->recording ? read_recorded(diff) : run_side(diff, &diff->b, b, diff->b_path);
    if (code) return code;
    compare(r, diff);
    if (diff->first >= 0 || diff->step >= r->steps) return report(r, diff);
  }
}

// ---- The command --------------------------------------------------------------------------------

static int open_sides(const request_t* r, diff_t* diff) {
  diff->a_path = r->a.path;
  diff->b_path = r->b.path;
  int code = model_open(&r->a, &diff->a);
  if (code || !r->b.path) return code;
  if (!recording_is(r->b.path)) return model_open(&r->b, &diff->b);
  diff->recording = recording_open(r->b.path, diff->a.status);
  return diff->recording ? EXIT_OK : complain("%s", TF_Message(diff->a.status));
}

static int prepare(const request_t* r, diff_t* diff, side_t* a, side_t* b) {
  TF_Output fetches[MOST];
  int code = EXIT_OK;
  for (int i = 0; !code && i < r->feed_count; ++i) code = take_feed(r->feeds[i], diff, a, b);
  if (!code) code = find_operations(r, diff, a, b);
  if (!code) code = find_fetches(r, diff, fetches);
  if (code) return code;
  diff_step_t step = {.feeds = a->feeds, .feed_count = a->feed_count, .fetches = fetches,
                      .fetch_count = r->fetch_count, .targets = a->targets,
                      .target_count = a->target_count};
  if (!diff_order(diff, &step)) {
    return complain("no memory for the order of %s", diff->a_path);
  }
  code = take_recorded_feeds(diff, a);
  if (!code) code = list_values(diff, a, b);
  if (!code && !r->list) code = run_inits(r, &diff->a);
  return code || r->list || !diff->b.graph ? code : run_inits(r, &diff->b);
}

static void close_sides(diff_t* diff) {
  forget_values(diff);
  for (int i = 0; i < diff->value_count; ++i) free(diff->values[i].name);
  free(diff->values);
  free(diff->nodes);
  recording_close(diff->recording);
  model_close(&diff->a);
  if (diff->b.graph) model_close(&diff->b);
}

static int run(int argc, char** argv) {
  request_t request = {.steps = 1, .tolerance = {-1, -1}};
  int kind = parse(argc, argv, &request);
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  int code = check(&request);
  if (code) return code;
  // They are static because their arrays are large and they start as zeros.
  static side_t a, b;
  static char from[MAX_NAME];
  diff_t diff = {.first = -1};
  if (request.rename) {
    const char* equals = strchr(request.rename, '=');
    snprintf(from, sizeof from, "%.*s", (int)(equals - request.rename), request.rename);
    diff.rename_from = from;
    diff.rename_to = equals + 1;
  }
  code = open_sides(&request, &diff);
  if (!code) code = prepare(&request, &diff, &a, &b);
  for (int i = 0; !code && request.list && i < diff.value_count; ++i) puts(diff.values[i].name);
  if (!code && !request.list) code = run_steps(&request, &diff, &a, &b);
  for (int i = 0; i < MOST; ++i) {
    TF_DeleteTensor(a.feed_values[i]);
    TF_DeleteTensor(b.feed_values[i]);
  }
  close_sides(&diff);
  return code;
}

const command_t command_diff = {
    "diff", "finds where two graphs, or a graph and recorded values, begin to differ",
    "Examples:\n"
    "  leat diff before.pb after.pb --feed x=[1,2,3]\n"
    "  leat diff model.meta recorded.npz --fetch loss --svg where.svg\n"
    "  leat diff a.pb b.pb --init init --target train --fetch loss --steps 20 --rtol 1e-3\n"
    "  leat diff model.pb --feed x=@x.npy --record values\n"
    "\n"
    "Usage:\n"
    "  leat diff A B [options]    A is a graph as for leat run; B another, with the same names,\n"
    "                             or values recorded of A by another program: an .npz file\n"
    "                             with an array for each tensor (\"layer/MatMul:0\"), or a folder\n"
    "                             with an .npy file for each\n"
    "  leat diff A --record FOLDER [options]    records A's values there\n"
    "  leat diff A --list [options]    prints the names of the tensors that would be compared\n"
    "\n"
    "Exit codes: 0 all values are equal, 1 some differ or it failed, 2 misused.\n"
    "\n"
    "Options:\n"
    "  --feed NAME=VALUE    as for leat run, for both sides; placeholders that B recorded are fed\n"
    "                       what it recorded\n"
    "  --fetch NAME         a tensor: it and what it is computed from are compared; without it,\n"
    "                       all that A can compute\n"
    "  --target NAME        an operation that both run in the step too\n"
    "  --init NAME          an operation that both run before, in a step of its own\n"
    "  --steps N            compares N steps, and stops at the first with a difference\n"
    "  --rtol R, --atol A   equal is |a - b| <= R * max(|a|, |b|) + A; by default R is 1e-4 for\n"
    "                       float, 1e-8 for double, 1e-2 for 16 bits, and A is R / 100\n"
    "  --rename FROM=TO     names of A that begin with FROM begin with TO in B\n"
    "  --svg FILE           draws the operations around the first that differs\n"
    "  --json               prints the result as JSON\n"
    "  --tag TAG, --checkpoint PREFIX    as for leat run, for both sides\n",
    run};
