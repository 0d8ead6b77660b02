// The subcommand leat simulate: predicts how fast a cluster trains, from a scenario
// (simulate/scenario.h) that is written by hand or made of a graph (simulate/graph_step.h). The
// order is: parse the arguments, read the scenario or make it of the graph, set what --set and
// --network say, and then simulate once, or once for each value of --sweep. All scenarios of a
// sweep are checked before the first is simulated, so that a mistake in the last is told at once.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "file.h"
#include "json.h"
#include "simulate/graph_step.h"
#include "simulate/report.h"
#include "simulate/scenario.h"
#include "simulate/simulation.h"

enum { MOST = 64, MOST_VALUES = 256 };

typedef struct request_s {
  const char *path, *network, *sweep;
  graph_step_request_t graph;
  const char* settings[MOST];
  int setting_count;
  bool json, describe;
} request_t;

enum { SET, SWEEP, GRAPH, FETCH, TARGET, SERVER_JOB, COSTS, NETWORK, DESCRIBE, JSON };

static bool add(const char** list, int* count, const char* value) {
  if (*count == MOST) {
    complain_usage("simulate", "more than %d of a kind", MOST);
    return false;
  }
  list[(*count)++] = value;
  return true;
}

// Reads the command line. Returns ARGUMENT_END, or what ended the command early.
static int parse(int argc, char** argv, request_t* r) {
  static const option_t options[] = {
      {"set", true}, {"sweep", true}, {"graph", true}, {"fetch", true}, {"target", true},
      {"server-job", true}, {"costs", true}, {"network", true}, {"describe", false},
      {"json", false}, {NULL, false}};
  arguments_t arguments = {.command = &command_simulate, .options = options, .argc = argc,
                           .argv = argv};
  for (;;) {
    int kind = arguments_next(&arguments);
    bool ok = true;
    switch (kind) {
      case SET: ok = add(r->settings, &r->setting_count, arguments.value); break;
      case SWEEP: r->sweep = arguments.value; break;
      case GRAPH: r->graph.path = arguments.value; break;
      case FETCH: ok = add(r->graph.fetches, &r->graph.fetch_count, arguments.value); break;
      case TARGET: ok = add(r->graph.targets, &r->graph.target_count, arguments.value); break;
      case SERVER_JOB: r->graph.server_job = arguments.value; break;
      case COSTS: r->graph.costs = arguments.value; break;
      case NETWORK: r->network = arguments.value; break;
      case DESCRIBE: r->describe = true; break;
      case JSON: r->json = true; break;
      case ARGUMENT_OPERAND:
        ok = !r->path;
        if (!ok) complain_usage("simulate", "one scenario at a time, not '%s' too",
                                arguments.value);
        r->path = arguments.value;
        break;
      default: return kind;
    }
    if (!ok) return ARGUMENT_WRONG;
  }
}

static int check(const request_t* r) {
  if (!r->path && !r->graph.path) {
    return complain_usage("simulate", "no scenario and no --graph is named");
  }
  if (!r->graph.path && (r->graph.fetch_count + r->graph.target_count || r->graph.costs)) {
    return complain_usage("simulate", "--fetch, --target and --costs are for a --graph");
  }
  if (r->graph.path && r->graph.fetch_count + r->graph.target_count == 0) {
    return complain_usage("simulate", "--graph needs a --fetch or a --target");
  }
  return EXIT_OK;
}

// ---- The scenario -------------------------------------------------------------------------------

static int read_file(const char* path, scenario_t* scenario) {
  scenario_error_t error;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* bytes = file_read(path, status);
  int code = bytes ? EXIT_OK : complain("%s", TF_Message(status));
  if (bytes && !scenario_parse(scenario, path, bytes->data, bytes->length, &error)) {
    code = complain("%s", error.text);
  }
  if (bytes) TF_DeleteBuffer(bytes);
  TF_DeleteStatus(status);
  return code;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// The median of a member of the ways in |list|; 0 where none has it.
static double median_of(const json_t* list, const char* name) {
  double values[1000];
  int count = 0;
  for (const json_t* way = list ? list->first : NULL; way && count < 1000; way = way->next) {
    double value = strtod(json_text(way, name), NULL);
    if (value > 0) values[count++] = value;
  }
  qsort(values, (size_t)count, sizeof *values, compare);
  return count ? values[count / 2] : 0;
}

// Takes latency and bandwidth from what `leat doctor --cluster --json` has printed: those between
// tasks, or those from where it ran. The latency there is of a call and its answer.
static int read_network(const char* path, scenario_t* scenario) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* bytes = file_read(path, status);
  json_t* report = bytes ? json_parse(bytes->data, bytes->length) : NULL;
  int code = bytes ? EXIT_OK : complain("%s", TF_Message(status));
  const json_t* ways = report ? json_member(report, "pairs") : NULL;
  if (!ways || !ways->first) ways = report ? json_member(report, "tasks") : NULL;
  double latency_us = median_of(ways, "latency_median_us");
  double up = median_of(ways, "upload_mb_per_s"), down = median_of(ways, "download_mb_per_s");
  if (!code && !(latency_us > 0)) {
    code = complain("%s: latency_median_us is absent, must be as leat doctor --cluster --json "
                    "prints it",
                    path);
  }
  if (!code) {
    scenario->latency = latency_us / 2e6;
    if (fmax(up, down) > 0) scenario->bandwidth = fmax(up, down) * 1e6;
  }
  json_free(report);
  if (bytes) TF_DeleteBuffer(bytes);
  TF_DeleteStatus(status);
  return code;
}

static int set(scenario_t* scenario, const char* option, const char* text) {
  char name[64];
  scenario_error_t error;
  const char* equals = strchr(text, '=');
  if (!equals || (size_t)(equals - text) >= sizeof name) {
    return complain_usage("simulate", "%s is '%s', must be FIELD=VALUE", option, text);
  }
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  bool ok = scenario_set(scenario, option, name, equals + 1, &error);
  return ok ? EXIT_OK : complain_usage("simulate", "%s", error.text);
}

// Makes the scenario with all that the arguments say but --sweep, of which |swept|, unless NULL, is
// one "FIELD=VALUE".
static int prepare(const request_t* r, const char* swept, scenario_t* scenario) {
  scenario_error_t error;
  scenario_initialize(scenario);
  int code = r->path ? read_file(r->path, scenario) : EXIT_OK;
  if (!code && r->graph.path) code = graph_step_read(&r->graph, scenario);
  if (!code && r->network) code = read_network(r->network, scenario);
  for (int i = 0; !code && i < r->setting_count; ++i) {
    code = set(scenario, "--set", r->settings[i]);
  }
  if (!code && swept) code = set(scenario, "--sweep", swept);
  const char* name = r->path ? r->path : r->graph.path;
  if (!code && !scenario_check(scenario, name, &error)) code = complain("%s", error.text);
  return code;
}

static int run_one(const request_t* r, const char* swept, const char* value) {
  scenario_t scenario;
  outcome_t outcome;
  scenario_error_t error;
  int code = prepare(r, swept, &scenario);
  if (!code && !simulate(&scenario, &outcome, &error)) code = complain("%s", error.text);
  if (!code && r->json) {
    report_print_json(&scenario, &outcome);
  } else if (!code && value) {
    report_print_row(value, &outcome, &scenario);
  } else if (!code) {
    report_print(&scenario, &outcome);
  }
  fflush(stdout);
  scenario_free(&scenario);
  return code;
}

// Runs each value of "FIELD=VALUE,VALUE,...", or with |only_check| checks its scenario.
static int run_sweep(const request_t* r, bool only_check) {
  const char* equals = strchr(r->sweep, '=');
  if (!equals || equals == r->sweep || equals - r->sweep > 60) {
    return complain_usage("simulate", "--sweep is '%s', must be FIELD=VALUE,VALUE,...", r->sweep);
  }
  int code = EXIT_OK, count = 0;
  for (const char* at = equals + 1; !code; ++count) {
    int length = (int)strcspn(at, ",");
    char swept[200];
    if (count == MOST_VALUES || length > 100) {
      return complain_usage("simulate", "--sweep is '%s', must be of at most %d short values",
                            r->sweep, MOST_VALUES);
    }
    int field = (int)(equals + 1 - r->sweep);
    snprintf(swept, sizeof swept, "%.*s%.*s", field, r->sweep, length, at);
    if (only_check) {
      scenario_t scenario;
      code = prepare(r, swept, &scenario);
      scenario_free(&scenario);
    } else {
      if (r->json && count) fputs(",\n ", stdout);
      code = run_one(r, swept, swept + field);
    }
    if (!at[length]) break;
    at += length + 1;
  }
  return code;
}

static int describe(const request_t* r) {
  scenario_t scenario;
  int code = prepare(r, NULL, &scenario);
  if (!code) scenario_print(&scenario, stdout);
  scenario_free(&scenario);
  return code;
}

static int run(int argc, char** argv) {
  static request_t request;
  request.graph.server_job = "ps";
  int kind = parse(argc, argv, &request);
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  int code = check(&request);
  if (code) return code;
  if (request.describe) return describe(&request);
  if (request.sweep) code = run_sweep(&request, true);
  if (code) return code;
  if (request.json) fputs("{\"runs\": [", stdout);
  if (request.sweep && !request.json) {
    char field[64];
    snprintf(field, sizeof field, "%.*s", (int)strcspn(request.sweep, "="), request.sweep);
    report_print_heading(field);
  }
  code = request.sweep ? run_sweep(&request, false) : run_one(&request, NULL, NULL);
  if (request.json) fputs("]}\n", stdout);
  return code;
}

const command_t command_simulate = {
    "simulate", "predicts how fast a cluster of many machines trains",
    "Examples:\n"
    "  leat simulate examples/simulate/inception_async.txt\n"
    "  leat simulate examples/simulate/inception_sync.txt --sweep backup=0,1,2,3,4,5\n"
    "  leat simulate --graph train.pb --target train --set workers=1000 --set latency='50 us'\n"
    "\n"
    "Usage:\n"
    "  leat simulate SCENARIO [options]    a file of lines FIELD = VALUE (docs/simulate.md)\n"
    "  leat simulate [SCENARIO] --graph GRAPH --target NAME [options]    the step is that of a\n"
    "                                      graph whose nodes name the devices of their tasks\n"
    "\n"
    "Options:\n"
    "  --set FIELD=VALUE      instead of what the scenario says\n"
    "  --sweep FIELD=V,V,...  simulates each value, and prints a table\n"
    "  --fetch NAME           an output that the step fetches\n"
    "  --target NAME          an operation that the step runs\n"
    "  --server-job JOB       whose tasks are the servers (ps); all else is the worker's\n"
    "  --costs FILE           RunMetadata of a step, whose times of kernels are taken instead of\n"
    "                         estimates\n"
    "  --network FILE         what leat doctor --cluster --json printed: latency and bandwidth\n"
    "  --describe             prints the scenario instead of simulating it\n"
    "  --json                 {\"runs\": [...]}, an object for each simulation\n",
    run};
