// Looking at an operation: its name, op and device, and its edges in both directions. Every
// function takes the graph's lock, since another thread may be adding nodes, which moves the nodes
// in memory. The texts stay valid without the lock: they lie in the graph's arena or in the rows of
// ops, and have a NUL behind them. Consumers are found in the graph's table of readers (graph.c),
// so that asking for those of every output of a graph takes time in proportion to its edges.
#include "capi/handles.h"

// ---- The operation itself -----------------------------------------------------------------------

static const char* text_of(leat_string_view_t text) { return text.size ? text.data : ""; }

const char* TF_OperationName(TF_Operation* oper) {
  leat_capi_lock(oper->graph);
  const char* name = text_of(leat_capi_node(oper)->name);
  leat_capi_unlock(oper->graph);
  return name;
}

const char* TF_OperationOpType(TF_Operation* oper) {
  leat_capi_lock(oper->graph);
  const char* name = text_of(leat_capi_node(oper)->op->name);
  leat_capi_unlock(oper->graph);
  return name;
}

const char* TF_OperationDevice(TF_Operation* oper) {
  leat_capi_lock(oper->graph);
  const char* device = text_of(leat_capi_node(oper)->device);
  leat_capi_unlock(oper->graph);
  return device;
}

// ---- Inputs and outputs -------------------------------------------------------------------------

typedef int (*type_fn_t)(const leat_node_t* node, int index);

static int output_type(const leat_node_t* node, int index) {
  return index < node->output_count ? node->output_types[index] : 0;
}
static int input_type(const leat_node_t* node, int index) {
  return index < node->input_count ? leat_node_input_type(node, index) : 0;
}

// The type of an input or output; 0 where there is none with that index.
static TF_DataType type_at(TF_Operation* oper, int index, type_fn_t type) {
  if (!oper || index < 0) return (TF_DataType)0;
  leat_capi_lock(oper->graph);
  const int dtype = type(leat_capi_node(oper), index);
  leat_capi_unlock(oper->graph);
  return (TF_DataType)dtype;
}

int TF_OperationNumOutputs(TF_Operation* oper) {
  leat_capi_lock(oper->graph);
  int count = leat_capi_node(oper)->output_count;
  leat_capi_unlock(oper->graph);
  return count;
}

TF_DataType TF_OperationOutputType(TF_Output oper_out) {
  return type_at(oper_out.oper, oper_out.index, output_type);
}

int TF_OperationNumInputs(TF_Operation* oper) {
  leat_capi_lock(oper->graph);
  int count = leat_capi_node(oper)->input_count;
  leat_capi_unlock(oper->graph);
  return count;
}

TF_DataType TF_OperationInputType(TF_Input oper_in) {
  return type_at(oper_in.oper, oper_in.index, input_type);
}

typedef int (*argument_fn_t)(const leat_node_t* node, int argument, int* out_begin);

// The number of tensors in an argument; -1 with INVALID_ARGUMENT where there is no such argument.
static int list_length(TF_Operation* oper, const char* arg_name, bool of_input,
                       TF_Status* status) {
  leat_string_view_t name = leat_string_view_from(arg_name);
  argument_fn_t measure = of_input ? leat_node_input_argument : leat_node_output_argument;
  int length = -1;
  leat_capi_lock(oper->graph);
  const leat_node_t* node = leat_capi_node(oper);
  const leat_op_argument_t* arguments = of_input ? node->op->inputs : node->op->outputs;
  int count = of_input ? node->op->input_count : node->op->output_count;
  for (int i = 0; i < count; ++i) {
    if (leat_string_view_equal(arguments[i].name, name)) length = measure(node, i, NULL);
  }
  leat_capi_unlock(oper->graph);
  leat_status_t result = leat_ok_status();
  if (length < 0) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT, "%s arg '%.*s' not found",
                              of_input ? "Input" : "Output", LEAT_SV_ARG(name));
  }
  leat_capi_status_set(status, result);
  return length;
}

int TF_OperationOutputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status) {
  return list_length(oper, arg_name, false, status);
}

int TF_OperationInputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status) {
  return list_length(oper, arg_name, true, status);
}

TF_Output TF_OperationInput(TF_Input oper_in) {
  TF_Output source = {NULL, -1};
  if (!oper_in.oper) return source;
  TF_Graph* graph = oper_in.oper->graph;
  leat_capi_lock(graph);
  const leat_node_t* node = leat_capi_node(oper_in.oper);
  if (oper_in.index >= 0 && oper_in.index < node->input_count) {
    source = leat_capi_output(graph, node->inputs[oper_in.index]);
  }
  leat_capi_unlock(graph);
  return source;
}

void TF_OperationAllInputs(TF_Operation* oper, TF_Output* inputs, int max_inputs) {
  leat_capi_lock(oper->graph);
  const leat_node_t* node = leat_capi_node(oper);
  for (int i = 0; i < node->input_count && i < max_inputs; ++i) {
    inputs[i] = leat_capi_output(oper->graph, node->inputs[i]);
  }
  leat_capi_unlock(oper->graph);
}

// ---- Consumers ----------------------------------------------------------------------------------

// Which edges out of a node are asked for: data edges of one output, or control edges.
typedef struct edge_query_s {
  TF_Operation* operation;
  int32_t index;         // LEAT_CONTROL_INDEX for control edges
  TF_Input* inputs;      // to be filled, or NULL
  TF_Operation** nodes;  // to be filled, or NULL
  int room;  // items for which |inputs| or |nodes| has room
} edge_query_t;

// Counts the edges and writes as many as there is room for. Returns 0 where there is no memory.
static int collect_readers(const edge_query_t* query) {
  TF_Graph* graph = query->operation->graph;
  const leat_readers_t* readers = NULL;
  int count = 0;
  leat_graph_t* g = leat_capi_lock(graph);
  leat_status_t status = leat_capi_graph_readers(graph, &readers);
  uint32_t next = status ? 0 : readers->begin[query->operation->node];
  uint32_t end = status ? 0 : readers->begin[query->operation->node + 1];
  for (; next < end; ++next) {
    leat_reader_t reader = readers->readers[next];
    const leat_node_t* node = leat_graph_node(g, reader.node);
    if (node->inputs[reader.position].index != query->index) continue;
    if (count < query->room) {
      TF_Operation* operation = leat_capi_operation(graph, reader.node);
      if (query->inputs) query->inputs[count] = (TF_Input){operation, reader.position};
      if (query->nodes) query->nodes[count] = operation;
    }
    ++count;
  }
  leat_capi_unlock(graph);
  leat_status_free(status);
  return count;
}

int TF_OperationOutputNumConsumers(TF_Output oper_out) {
  return TF_OperationOutputConsumers(oper_out, NULL, 0);
}

int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input* consumers, int max_consumers) {
  if (!oper_out.oper || oper_out.index < 0) return 0;
  return collect_readers(&(edge_query_t){.operation = oper_out.oper,
                                         .index = oper_out.index,
                                         .inputs = consumers,
                                         .room = max_consumers});
}

int TF_OperationNumControlOutputs(TF_Operation* oper) {
  return TF_OperationGetControlOutputs(oper, NULL, 0);
}

int TF_OperationGetControlOutputs(TF_Operation* oper, TF_Operation** control_outputs,
                                  int max_control_outputs) {
  return collect_readers(&(edge_query_t){.operation = oper,
                                         .index = LEAT_CONTROL_INDEX,
                                         .nodes = control_outputs,
                                         .room = max_control_outputs});
}

int TF_OperationNumControlInputs(TF_Operation* oper) {
  return TF_OperationGetControlInputs(oper, NULL, 0);
}

int TF_OperationGetControlInputs(TF_Operation* oper, TF_Operation** control_inputs,
                                 int max_control_inputs) {
  leat_capi_lock(oper->graph);
  const leat_node_t* node = leat_capi_node(oper);
  int count = node->control_count;
  for (int i = 0; i < count && i < max_control_inputs; ++i) {
    control_inputs[i] = leat_capi_operation(oper->graph, node->inputs[node->input_count + i].node);
  }
  leat_capi_unlock(oper->graph);
  return count;
}
