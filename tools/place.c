// The subcommand leat place: prints on which device the placer puts each node of a graph, and why;
// and, if asked, how long the step takes there. The placement is that of leat_explain_placement,
// which runs the same placer as a session and gives its decisions as JSON: for each node its
// device, the reason, and the cost in the simulated step of the greedy placer. With --run or
// --explain the step is also run (place_measure.c), so that the predicted and the measured time
// stand side by side. The devices are made up for the purpose: CPUs, and SIM, a simulated
// accelerator.
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "endpoint.h"
#include "graph_file.h"
#include "json.h"
#include "leat/inspect.h"
#include "place.h"

#define MOST 64

typedef struct request_s {
  const char *path, *devices, *placer;
  const char* fetches[MOST];
  const char* targets[MOST];
  const char* inits[MOST];
  const char* feeds[MOST];
  int fetch_count, target_count, init_count, feed_count;
  bool explain, run, json, soft;
} request_t;

enum { DEVICES, PLACER, FETCH, TARGET, INIT, FEED, EXPLAIN, RUN, STRICT, JSON };

// Adds the value of an option that may be repeated to |list|.
static bool add(const char** list, int* count, const char* value) {
  if (*count == MOST) {
    complain_usage("place", "more than %d of a kind", MOST);
    return false;
  }
  list[(*count)++] = value;
  return true;
}

// Reads the command line into |r|. Returns ARGUMENT_END, or what ended the command early: a call
// for help or a mistake.
static int parse(int argc, char** argv, request_t* r) {
  static const option_t options[] = {{"devices", true}, {"placer", true}, {"fetch", true},
                                     {"target", true},  {"init", true},   {"feed", true},
                                     {"explain", false}, {"run", false},  {"strict", false},
                                     {"json", false},   {NULL, 0}};
  arguments_t arguments = {.command = &command_place, .options = options, .argc = argc,
                           .argv = argv};
  for (;;) {
    int kind = arguments_next(&arguments);
    bool ok = true;
    switch (kind) {
      case DEVICES: r->devices = arguments.value; break;
      case PLACER: r->placer = arguments.value; break;
      case FETCH: ok = add(r->fetches, &r->fetch_count, arguments.value); break;
      case TARGET: ok = add(r->targets, &r->target_count, arguments.value); break;
      case INIT: ok = add(r->inits, &r->init_count, arguments.value); break;
      case FEED: ok = add(r->feeds, &r->feed_count, arguments.value); break;
      case EXPLAIN: r->explain = true; break;
      case RUN: r->run = true; break;
      case STRICT: r->soft = false; break;
      case JSON: r->json = true; break;
      case ARGUMENT_OPERAND:
        if (r->path) {
          complain_usage("place", "one graph at a time, not '%s' too", arguments.value);
          return ARGUMENT_WRONG;
        }
        r->path = arguments.value;
        break;
      default: return kind;
    }
    if (!ok) return ARGUMENT_WRONG;
  }
}

static int check(const request_t* r) {
  if (!r->path) return complain_usage("place", "no graph is named");
  if (r->run && r->fetch_count + r->target_count == 0) {
    return complain_usage("place", "--run needs a --fetch or a --target");
  }
  return EXIT_OK;
}

// ---- Preparing ----------------------------------------------------------------------------------

static int import(const char* path, place_step_t* s) {
  TF_Buffer* bytes = graph_file_read(path, s->status);
  if (!bytes) return complain("%s", TF_Message(s->status));
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(s->graph, bytes, options, s->status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
  return TF_GetCode(s->status) == TF_OK ? EXIT_OK : complain_status(path, s->status);
}

// Sets the session's options. A step that may fail gets a time limit of ten seconds, because it may
// wait for ever, for example for a queue that nobody fills.
static int configure(const request_t* r, place_step_t* s) {
  // ConfigProto in wire format: allow_soft_placement = |r->soft|, operation_timeout_in_ms = 10,000.
  const unsigned char config[] = {0x38, r->soft, 0x58, 0x90, 0x4e};
  TF_SetConfig(s->options, config, s->may_fail ? sizeof config : 2, s->status);
  leat_set_devices(s->options, r->devices, s->status);
  if (TF_GetCode(s->status) == TF_OK) leat_set_placer(s->options, r->placer, s->status);
  return TF_GetCode(s->status) == TF_OK ? EXIT_OK : complain("%s", TF_Message(s->status));
}

// Finds the fetches and targets in the graph.
static int resolve(const request_t* r, place_step_t* s) {
  for (int i = 0; i < r->fetch_count; ++i) {
    s->fetches[i] = endpoint_output(s->graph, r->fetches[i]);
    if (!s->fetches[i].oper) return EXIT_FAILED;
  }
  for (int i = 0; i < r->target_count; ++i) {
    s->targets[i] = endpoint_operation(s->graph, r->targets[i]);
    if (!s->targets[i]) return EXIT_FAILED;
  }
  s->fetch_count = r->fetch_count;
  s->target_count = r->target_count;
  return EXIT_OK;
}

// ---- Printing -----------------------------------------------------------------------------------

// The value of a member that is a number; 0 when it is not there.
static double number(const json_t* json, const char* name) {
  return strtod(json_text(json, name), NULL);
}

static const json_t* item(const json_t* list, int index) {
  const json_t* at = list->first;
  while (index-- > 0 && at) at = at->next;
  return at;
}

// The part of a device's full name after "device:", such as "SIM:0".
static const char* short_name(const char* name) {
  const char* device = strstr(name, "device:");
  return device ? device + 7 : name;
}

static void print_nodes(const json_t* placement) {
  const json_t* devices = json_member(placement, "devices");
  const json_t* nodes = json_member(placement, "nodes");
  for (const json_t* n = nodes->first; n; n = n->next) {
    const json_t* device = item(devices, atoi(json_text(n, "device")));
    const char* beside = json_text(n, "beside");
    printf("%-36s %-22s %s%-7s%s %s%s%s", json_text(n, "name"), json_text(n, "op"),
           style_bold(stdout), short_name(json_text(device, "name")), style_end(stdout),
           json_text(n, "reason"), *beside ? " " : "", beside);
    if (number(n, "cost_us") > 0) {
      printf("  (%.3g us, ends at %.4g)", number(n, "cost_us"), number(n, "end_us"));
    }
    putchar('\n');
  }
}

enum { BAR = 40 };
// Prints a bar that shows which part of the step the device is busy.
static void print_bar(const char* name, double busy_us, double step_us, const char* tail) {
  int filled = step_us > 0 ? (int)(BAR * busy_us / step_us + 0.5) : 0;
  char bar[BAR + 1];
  memset(bar, '.', BAR);
  memset(bar, '#', (size_t)(filled > BAR ? BAR : filled));
  bar[BAR] = 0;
  printf("%-7s |%s| %3.0f %%  busy %.4g us%s\n", name, bar,
         step_us > 0 ? 100 * busy_us / step_us : 0, busy_us, tail);
}

// Prints a bar for each device, and a second one where the step was measured.
static void print_devices(const json_t* placement, const place_measured_t* measured) {
  const json_t* devices = json_member(placement, "devices");
  double step_us = number(placement, "step_us");
  int index = 0;
  for (const json_t* d = devices->first; d; d = d->next, ++index) {
    char tail[80];
    snprintf(tail, sizeof tail, ", %s nodes, at most %.3g MB", json_text(d, "nodes"),
             number(d, "peak_bytes") / 1e6);
    print_bar(short_name(json_text(d, "name")), number(d, "busy_us"), step_us, tail);
    if (measured->steps > 0) {
      print_bar("", place_measured_busy_us(measured, json_text(d, "name")), measured->step_us,
                ", measured");
    }
  }
  printf("%s: predicted step %.4g us", json_text(placement, "placer"), step_us);
  if (measured->steps > 0) {
    printf(", measured %.4g us (best of %d)", measured->step_us, measured->steps);
  }
  if (*measured->reason) printf(", not measured: %s", measured->reason);
  putchar('\n');
}

// Prints the placement: with --json as the library gave it, otherwise as lines and bars.
static void print(const request_t* r, const TF_Buffer* text, const json_t* placement,
                  const place_measured_t* measured) {
  if (r->json) {
    // The measured step goes in front: {"measured_us": ..., <what the library said>
    if (measured->steps > 0) printf("{\"measured_us\": %.4g, ", measured->step_us);
    size_t skip = measured->steps > 0 ? 1 : 0;
    fwrite((const char*)text->data + skip, 1, text->length - skip, stdout);
    return;
  }
  if (r->explain) print_nodes(placement);
  print_devices(placement, measured);
}

// A step is measured when --run or --explain asks for it and something is fetched or run: without
// these there is no step.
static bool is_measured(const request_t* r) {
  return r->run || (r->explain && r->fetch_count + r->target_count > 0);
}

// Places the graph, measures the step if asked to, and prints.
static int place(const request_t* r, place_step_t* s) {
  place_measured_t measured = {0};
  TF_Buffer* text = leat_explain_placement(s->graph, s->options, s->fetches, s->fetch_count,
                                           s->targets, s->target_count, s->status);
  if (!text) return complain("%s", TF_Message(s->status));
  json_t* placement = json_parse(text->data, text->length);
  int code = placement ? EXIT_OK : complain("out of memory");
  if (!code && is_measured(r)) {
    code = place_measure(s, r->inits, r->init_count, r->feeds, r->feed_count,
                         json_member(placement, "nodes"), &measured);
  }
  if (!code) print(r, text, placement, &measured);
  json_free(placement);
  TF_DeleteBuffer(text);
  place_measured_free(&measured);
  return code;
}

static int run(int argc, char** argv) {
  request_t request = {.devices = "CPU:1", .placer = "simple", .soft = true};
  int kind = parse(argc, argv, &request);
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  int code = check(&request);
  if (code) return code;
  place_step_t step = {.graph = TF_NewGraph(), .status = TF_NewStatus(),
                       .options = TF_NewSessionOptions(), .may_fail = !request.run};
  code = configure(&request, &step);
  if (!code) code = import(request.path, &step);
  if (!code) code = resolve(&request, &step);
  if (!code) code = place(&request, &step);
  TF_DeleteSessionOptions(step.options);
  TF_DeleteGraph(step.graph);
  TF_DeleteStatus(step.status);
  return code;
}

const command_t command_place = {
    "place", "shows which device runs each node of a graph, and why",
    "Examples:\n"
    "  leat place graph.pb --devices CPU:2\n"
    "  leat place train.pb --devices CPU:1,SIM:2 --placer greedy --explain --fetch loss\n"
    "  leat place train.pb --devices CPU:1,SIM:1 --run --init init --fetch loss\n"
    "\n"
    "Usage:\n"
    "  leat place GRAPH [options]    GRAPH is a GraphDef, .pb or .pbtxt\n"
    "\n"
    "Options:\n"
    "  --devices TYPE:COUNT,...  CPU and SIM, a simulated accelerator (default CPU:1)\n"
    "  --placer simple|greedy    TensorFlow's rules, or the shortest simulated step\n"
    "  --explain                 a line for each node: device, reason, cost; and what steps of\n"
    "                            --fetch or --target take, where they run\n"
    "  --fetch NAME              place only what this output needs (or --target an operation)\n"
    "  --run                     the same without a line for each node; a step must run\n"
    "  --init NAME               an operation to run before, in a step of its own\n"
    "  --feed NAME=VALUE         as for leat run; other placeholders are fed zeros\n"
    "  --strict                  a constraint that cannot be met is an error\n"
    "  --json                    the same as JSON\n",
    run};
