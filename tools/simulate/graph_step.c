// A graph of one worker and the servers becomes phases. The level of a node is the largest number
// of crossings between the worker and servers on a way to it: even on a server, odd on the worker.
// All nodes of a level are one phase, because none of them waits for a message that another one of
// them causes. Variables are of level 0, what the worker computes from them is of level 1, and what
// updates them of level 2; a softmax that servers compute makes more. The time of a phase is the
// sum over its nodes, as one thread takes it; a value that crosses is sent by the phase that makes
// it, once to each task that reads it, as the partitioner does.
//
// Times of kernels are those of the cost model, asked for by leat_explain_placement on one CPU: as
// measured where a RunMetadata was given, and estimated elsewhere. Sizes are those of the shapes
// that the graph knows, with 32 for an unknown dimension. Values between two servers are left out.
// A loop counts once where its times are estimated. tools/simulate.c is the only caller.
#include "simulate/graph_step.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "endpoint.h"
#include "file.h"
#include "graph_file.h"
#include "json.h"
#include "leat/inspect.h"

#define WORKER (-1)
enum { UNKNOWN_DIM = 32 };

typedef struct graph_node_s {
  TF_Operation* operation;
  double seconds;
  int task;       // the number of a server, or WORKER
  int level;
  int waits_for;  // inputs whose level is not known yet
} graph_node_t;

// Finds a node by its operation.
typedef struct graph_entry_s {
  const TF_Operation* operation;
  int node;
} graph_entry_t;

typedef struct graph_step_s {
  TF_Graph* graph;
  TF_Graph* here;  // the same without devices, for the cost model
  TF_Status* status;
  graph_node_t* nodes;  // in the order in which leat_explain_placement lists them
  graph_entry_t* by_operation;  // sorted
  int node_count;
  int* order;           // each after all that it reads
  int servers, levels;
  double *compute, *bytes, *messages;  // [levels, servers]; the worker's with the server concerned
  int* seen;            // for each server, the value that was sent to it last
  int values;
} graph_step_t;

static int complain_memory(const graph_step_request_t* r) {
  return complain("%s: no memory for its nodes", r->path);
}

// ---- Nodes and their tasks ----------------------------------------------------------------------

// The number of the server that a device's name gives, or WORKER.
static int task_of(const char* device, const char* server_job) {
  const char *job = strstr(device, "/job:"), *task = strstr(device, "/task:");
  size_t size = strlen(server_job);
  if (!job || strncmp(job + 5, server_job, size) || (job[5 + size] && job[5 + size] != '/')) {
    return WORKER;
  }
  long number = task ? strtol(task + 6, NULL, 10) : 0;
  return number >= 0 && number < SCENARIO_SERVERS ? (int)number : SCENARIO_SERVERS;
}

static int compare(const void* a, const void* b) {
  const graph_entry_t *x = a, *y = b;
  return (x->operation > y->operation) - (x->operation < y->operation);
}

static graph_node_t* find(const graph_step_t* g, TF_Operation* operation) {
  graph_entry_t key = {operation, 0};
  graph_entry_t* entry = bsearch(&key, g->by_operation, (size_t)g->node_count, sizeof key, compare);
  return entry ? &g->nodes[entry->node] : NULL;
}

static bool is_handle(TF_Output output) {
  TF_DataType dtype = TF_OperationOutputType(output);
  return dtype == TF_RESOURCE || dtype > 100;
}

// A node without a device stands with the variable that it reads by its handle or by reference.
static int find_task(const graph_step_request_t* r, TF_Operation* operation) {
  for (int depth = 0; depth < 100; ++depth) {
    const char* device = TF_OperationDevice(operation);
    TF_Operation* owner = NULL;
    for (int i = 0; !*device && !owner && i < TF_OperationNumInputs(operation); ++i) {
      TF_Output input = TF_OperationInput((TF_Input){operation, i});
      if (is_handle(input)) owner = input.oper;
    }
    if (!owner) return task_of(device, r->server_job);
    operation = owner;
  }
  return WORKER;
}

// Takes the nodes that leat_explain_placement has listed.
static int list_nodes(const graph_step_request_t* r, graph_step_t* g, const json_t* list) {
  for (const json_t* n = list->first; n; n = n->next) ++g->node_count;
  g->nodes = calloc((size_t)g->node_count + 1, sizeof *g->nodes);
  g->order = calloc((size_t)g->node_count + 1, sizeof *g->order);
  g->by_operation = calloc((size_t)g->node_count + 1, sizeof *g->by_operation);
  if (!g->nodes || !g->order || !g->by_operation) return complain_memory(r);
  int count = 0;
  for (const json_t* n = list->first; n; n = n->next) {
    graph_node_t* node = &g->nodes[count];
    node->operation = TF_GraphOperationByName(g->graph, json_text(n, "name"));
    if (!node->operation) continue;
    node->seconds = strtod(json_text(n, "cost_us"), NULL) * 1e-6;
    node->task = find_task(r, node->operation);
    if (node->task == SCENARIO_SERVERS) {
      return complain("%s: device of node '%s' is '%s', must be of a task below %d", r->path,
                      json_text(n, "name"), TF_OperationDevice(node->operation), SCENARIO_SERVERS);
    }
    if (node->task >= g->servers) g->servers = node->task + 1;
    g->by_operation[count] = (graph_entry_t){node->operation, count};
    ++count;
  }
  g->node_count = count;
  qsort(g->by_operation, (size_t)count, sizeof *g->by_operation, compare);
  if (g->servers > 0) return EXIT_OK;
  return complain("%s: no node that the step needs is on job '%s', must be some (--server-job)",
                  r->path, r->server_job);
}

// ---- Levels -------------------------------------------------------------------------------------

// Calls |visit| for each input of |node| that the step needs; edges back to the begin of a loop are
// left out, so that there is no cycle.
static void visit_inputs(const graph_step_t* g, graph_node_t* node,
                         void (*visit)(graph_node_t* node, const graph_node_t* input)) {
  int controls = TF_OperationNumControlInputs(node->operation);
  TF_Operation** list = calloc((size_t)controls + 1, sizeof *list);
  if (!list) return;
  TF_OperationGetControlInputs(node->operation, list, controls);
  int inputs = TF_OperationNumInputs(node->operation);
  for (int i = 0; i < inputs + controls; ++i) {
    TF_Operation* from = i < inputs ? TF_OperationInput((TF_Input){node->operation, i}).oper
                                    : list[i - inputs];
    const graph_node_t* input = find(g, from);
    if (input && strcmp(TF_OperationOpType(from), "NextIteration")) visit(node, input);
  }
  free(list);
}

static void count_input(graph_node_t* node, const graph_node_t* input) { ++node->waits_for; }

static void raise_level(graph_node_t* node, const graph_node_t* input) {
  bool is_crossing = (node->task == WORKER) != (input->task == WORKER);
  int level = input->level + is_crossing;
  if (level > node->level) node->level = level;
}

// Calls |visit| with each node that reads |node|, and with the output; -1 for a control edge.
static int visit_readers(const graph_step_t* g, const graph_node_t* node, void* data,
                         void (*visit)(void* data, const graph_node_t* node, graph_node_t* reader,
                                       int output)) {
  int outputs = TF_OperationNumOutputs(node->operation);
  for (int o = -1; o < outputs; ++o) {
    int count = o < 0 ? TF_OperationNumControlOutputs(node->operation)
                      : TF_OperationOutputNumConsumers((TF_Output){node->operation, o});
    TF_Input* inputs = calloc((size_t)count + 1, sizeof *inputs);
    TF_Operation** controls = calloc((size_t)count + 1, sizeof *controls);
    if (!inputs || !controls) count = -1;
    if (count > 0 && o < 0) TF_OperationGetControlOutputs(node->operation, controls, count);
    if (count > 0 && o >= 0) {
      TF_OperationOutputConsumers((TF_Output){node->operation, o}, inputs, count);
    }
    for (int i = 0; i < count; ++i) {
      graph_node_t* reader = find(g, o < 0 ? controls[i] : inputs[i].oper);
      if (reader) visit(data, node, reader, o);
    }
    free(inputs);
    free(controls);
    if (count < 0) return EXIT_FAILED;
  }
  return EXIT_OK;
}

typedef struct ready_s {
  graph_step_t* g;
  int count;
} ready_t;

static void make_ready(void* data, const graph_node_t* node, graph_node_t* reader, int output) {
  ready_t* ready = data;
  if (!strcmp(TF_OperationOpType(node->operation), "NextIteration")) return;
  if (--reader->waits_for == 0) ready->g->order[ready->count++] = (int)(reader - ready->g->nodes);
}

static int find_levels(const graph_step_request_t* r, graph_step_t* g) {
  ready_t ready = {g, 0};
  for (int i = 0; i < g->node_count; ++i) {
    visit_inputs(g, &g->nodes[i], count_input);
    if (g->nodes[i].waits_for == 0) g->order[ready.count++] = i;
  }
  for (int i = 0; i < ready.count; ++i) {
    graph_node_t* node = &g->nodes[g->order[i]];
    node->level = node->task == WORKER;
    visit_inputs(g, node, raise_level);
    if (node->level >= g->levels) g->levels = node->level + 1;
    if (visit_readers(g, node, &ready, make_ready)) return complain_memory(r);
  }
  if (ready.count < g->node_count) return complain("%s: has a cycle", r->path);
  if (g->levels <= SCENARIO_PHASES) return EXIT_OK;
  return complain("%s: values cross between worker and servers %d times one after the other, must "
                  "be at most %d",
                  r->path, g->levels - 1, SCENARIO_PHASES - 1);
}

// ---- Amounts ------------------------------------------------------------------------------------

static double bytes_of(const graph_step_t* g, TF_Output output) {
  int64_t dims[64];
  int rank = TF_GraphGetTensorNumDims(g->graph, output, g->status);
  double bytes = (double)TF_DataTypeSize((TF_DataType)(TF_OperationOutputType(output) % 100));
  if (bytes == 0) bytes = 16;  // of a string: little beside its message
  if (rank < 0 || rank > 64) return bytes;
  TF_GraphGetTensorShape(g->graph, output, dims, rank, g->status);
  for (int i = 0; i < rank; ++i) bytes *= dims[i] < 0 ? UNKNOWN_DIM : (double)dims[i];
  return bytes;
}

typedef struct sending_s {
  graph_step_t* g;
  int output, value;  // the value that is sent at present
} sending_t;

static void send(void* data, const graph_node_t* node, graph_node_t* reader, int output) {
  sending_t* sending = data;
  graph_step_t* g = sending->g;
  if ((node->task == WORKER) == (reader->task == WORKER)) return;
  if (output != sending->output) sending->value = ++g->values;
  sending->output = output;
  int server = node->task == WORKER ? reader->task : node->task;
  if (g->seen[server] == sending->value) return;
  g->seen[server] = sending->value;
  size_t at = (size_t)node->level * (size_t)g->servers + (size_t)server;
  g->messages[at] += 1;
  if (output >= 0) g->bytes[at] += bytes_of(g, (TF_Output){node->operation, output});
}

static int add_amounts(const graph_step_request_t* r, graph_step_t* g) {
  size_t count = (size_t)g->levels * (size_t)g->servers;
  g->compute = calloc(count, sizeof *g->compute);
  g->bytes = calloc(count, sizeof *g->bytes);
  g->messages = calloc(count, sizeof *g->messages);
  g->seen = calloc((size_t)g->servers, sizeof *g->seen);
  if (!g->compute || !g->bytes || !g->messages || !g->seen) return complain_memory(r);
  for (int i = 0; i < g->node_count; ++i) {
    graph_node_t* node = &g->nodes[g->order[i]];
    int server = node->task == WORKER ? 0 : node->task;
    g->compute[(size_t)node->level * (size_t)g->servers + (size_t)server] += node->seconds;
    sending_t sending = {g, -2, 0};
    if (visit_readers(g, node, &sending, send)) return complain_memory(r);
  }
  return EXIT_OK;
}

// Where all servers have the same, their sum, so that another number of servers divides it too.
static bool fill(portions_t* out, const double* values, int count, bool is_sum) {
  bool is_even = true;
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    is_even = is_even && values[i] == values[0];
    sum += values[i];
  }
  if (sum == 0) return true;
  bool is_one = is_even || is_sum;
  if (!scenario_portions(out, is_one ? 1 : count)) return false;
  if (is_one) out->values[0] = sum;
  if (!is_one) memcpy(out->values, values, (size_t)count * sizeof *values);
  return true;
}

static int make_phases(const graph_step_request_t* r, const graph_step_t* g, scenario_t* s) {
  scenario_t phases = *s;
  phases.phase_count = 0;
  for (int level = 0; level < g->levels; ++level) {
    const size_t at = (size_t)level * (size_t)g->servers;
    bool is_server = level % 2 == 0;
    phase_t* phase = scenario_add_phase(&phases, is_server);
    if (!phase || !fill(&phase->compute, g->compute + at, g->servers, !is_server) ||
        !fill(&phase->send, g->bytes + at, g->servers, false) ||
        !fill(&phase->messages, g->messages + at, g->servers, false)) {
      phases.samples_path = NULL;  // it stays the scenario's
      scenario_free(&phases);
      return complain_memory(r);
    }
  }
  // The phases of the file are replaced; all other fields stay.
  for (int i = 0; i < s->phase_count; ++i) {
    free(s->phases[i].compute.values);
    free(s->phases[i].send.values);
    free(s->phases[i].messages.values);
  }
  *s = phases;
  s->servers = g->servers;
  return EXIT_OK;
}

// ---- Reading ------------------------------------------------------------------------------------

// Reads a number of the wire format and moves |inout_at| behind it, or returns false.
static bool read_number(const unsigned char** inout_at, const unsigned char* end,
                        uint64_t* out_number) {
  *out_number = 0;
  for (int shift = 0; shift < 64 && *inout_at < end; shift += 7) {
    unsigned char byte = *(*inout_at)++;
    *out_number |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

// Takes the devices of all nodes away from a GraphDef, so that it can be placed on this machine. A
// field keeps its place and gets a number that NodeDef does not have, which readers pass over.
// Reads GraphDef.node (1) and within it NodeDef.device (4), which are all of the kind with a size;
// what looks otherwise ends the search.
static void forget_devices(unsigned char* at, unsigned char* end, bool is_node) {
  enum { WITH_SIZE = 2, NODE = 1 << 3 | WITH_SIZE, DEVICE = 4 << 3 | WITH_SIZE,
         UNKNOWN = 15 << 3 | WITH_SIZE };
  while (at < end) {
    unsigned char* tag = at;
    uint64_t number, size;
    const unsigned char* next = at;
    if (!read_number(&next, end, &number)) return;
    if ((number & 7) == 0) {
      if (!read_number(&next, end, &size)) return;
      at += next - at;
      continue;
    }
    if ((number & 7) != WITH_SIZE || !read_number(&next, end, &size)) return;
    if (size > (uint64_t)(end - next)) return;
    at += next - at;
    if (is_node && number == DEVICE) *tag = UNKNOWN;
    if (!is_node && number == NODE) forget_devices(at, at + size, true);
    at += size;
  }
}

static int import(const graph_step_request_t* r, graph_step_t* g) {
  TF_Buffer* bytes = graph_file_read(r->path, g->status);
  if (!bytes) return complain("%s", TF_Message(g->status));
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(g->graph, bytes, options, g->status);
  if (TF_GetCode(g->status) == TF_OK) {
    unsigned char* data = (unsigned char*)bytes->data;
    forget_devices(data, data + bytes->length, false);
    TF_GraphImportGraphDef(g->here, bytes, options, g->status);
  }
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
  return TF_GetCode(g->status) == TF_OK ? EXIT_OK : complain_status(r->path, g->status);
}

static int set_costs(const graph_step_request_t* r, graph_step_t* g, TF_SessionOptions* options) {
  leat_set_placer(options, "greedy", g->status);
  if (r->costs) {
    TF_Buffer* bytes = file_read(r->costs, g->status);
    if (!bytes) return complain("%s", TF_Message(g->status));
    leat_set_costs(options, bytes, g->status);
    TF_DeleteBuffer(bytes);
  }
  return TF_GetCode(g->status) == TF_OK ? EXIT_OK
                                        : complain_status(r->costs ? r->costs : "", g->status);
}

// Asks which nodes the step needs and how long each takes on a CPU.
static int explain(const graph_step_request_t* r, graph_step_t* g, TF_SessionOptions* options) {
  TF_Output fetches[GRAPH_STEP_MOST];
  const TF_Operation* targets[GRAPH_STEP_MOST];
  for (int i = 0; i < r->fetch_count; ++i) {
    fetches[i] = endpoint_output(g->here, r->fetches[i]);
    if (!fetches[i].oper) return EXIT_FAILED;
  }
  for (int i = 0; i < r->target_count; ++i) {
    targets[i] = endpoint_operation(g->here, r->targets[i]);
    if (!targets[i]) return EXIT_FAILED;
  }
  TF_Buffer* text = leat_explain_placement(g->here, options, fetches, r->fetch_count, targets,
                                           r->target_count, g->status);
  if (!text) return complain_status(r->path, g->status);
  json_t* placement = json_parse(text->data, text->length);
  TF_DeleteBuffer(text);
  int code = placement ? list_nodes(r, g, json_member(placement, "nodes")) : complain_memory(r);
  json_free(placement);
  return code;
}

int graph_step_read(const graph_step_request_t* r, scenario_t* scenario) {
  graph_step_t g = {.graph = TF_NewGraph(), .here = TF_NewGraph(), .status = TF_NewStatus()};
  TF_SessionOptions* options = TF_NewSessionOptions();
  // ConfigProto in wire format: allow_soft_placement = true, for ops without a kernel on CPUs.
  const unsigned char config[] = {0x38, 1};
  TF_SetConfig(options, config, sizeof config, g.status);
  int code = import(r, &g);
  if (!code) code = set_costs(r, &g, options);
  if (!code) code = explain(r, &g, options);
  if (!code) code = find_levels(r, &g);
  if (!code) code = add_amounts(r, &g);
  if (!code) code = make_phases(r, &g, scenario);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(g.graph);
  TF_DeleteGraph(g.here);
  TF_DeleteStatus(g.status);
  free(g.nodes);
  free(g.by_operation);
  free(g.order);
  free(g.compute);
  free(g.bytes);
  free(g.messages);
  free(g.seen);
  return code;
}
