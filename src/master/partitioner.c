// Cuts a placed graph at the edges between devices (section 3.2.2). Each node is copied into the
// graph of its device, inputs first. An input that comes from another device is replaced by the
// Recv of that (output, destination), which is made on first need together with its Send:
//
//   before   A: x ─┬─▶ y     (y, z on B)       after   A: x ─▶ _Send     B: _Recv ─┬─▶ y
//                  └─▶ z                                                           └─▶ z
//
// All readers on a device thus share one transfer. The worker's executors then synchronize by these
// transfers alone, and the master need not take part in a step (3.2.2).
//
// Each transfer gets a number, which both its ends carry as an attribute. Within a process they
// meet by that number (worker/local_rendezvous.c), so a step composes no text. The names of the
// devices and of the edge, from which a text key is made, are there for transports. A client's own
// Sends and Recvs get no number, and lose the one that they may claim to have, because a false
// number would bring the value of one edge to another.
//
// A graph can also be cut by task: a task's graph then holds the nodes of all its devices, and
// edges between these stay whole, because the task's own worker cuts it again. Everything meets by
// text, since the numbers would be known in one process only.
//
// A device with memory of its own is two places. An edge between its memory and the host's is cut
// inside its graph by a pair whose one end is a Host op, and what is fetched from it is received on
// a device that the host can read. Edges that close a loop are set last, when both their ends have
// been copied; they are never cut, because loop_control.c moves the nodes at both ends to one
// device.
#include "master/partitioner.h"

#include <string.h>

#include "graph/verify.h"
#include "master/loop_control.h"

// ---- Memory kinds -------------------------------------------------------------------------------
// Where the values of a node lie, by the row of the kernel that was chosen for the node's device.

// Whether |name| is one of the names in |text|, such as "shape; axis".
static bool lists(const char* text, leat_string_view_t name) {
  leat_string_view_t rest = leat_string_view_from(text);
  while (rest.size > 0) {
    size_t end = leat_string_view_find(rest, ';');
    leat_string_view_t part = rest;
    if (end != SIZE_MAX) part.size = end;
    if (leat_string_view_equal(leat_string_view_trim(part), name)) return true;
    rest = leat_string_view_from_index(rest, end == SIZE_MAX ? rest.size : end + 1);
  }
  return false;
}

// Whether an input or output of a node lies in the host's memory: on a device without memory of its
// own, for strings and other objects, and where the kernel's row says so.
static bool lies_with_host(const leat_placer_options_t* placement, const leat_node_t* node,
                           int type, int index, bool input) {
  LEAT_DCHECK(node->assigned_device >= 0 && node->assigned_device < placement->device_count);
  LEAT_DCHECK(index >= 0 && index < (input ? node->input_count : node->output_count));
  const leat_placement_device_t* device = &placement->devices[node->assigned_device];
  if (!device->has_own_memory) return true;
  if (leat_dtype_in(leat_dtype_base(type), LEAT_DTYPES_OBJECT)) return true;
  const leat_kernel_row_t* row;
  // The kernel was found when the node was placed, so this cannot fail for want of one.
  leat_status_free(leat_kernel_registry_probe(placement->kernels, node->op, node->attrs,
                                              node->attr_count, device->type, &row));
  if (!row || !row->host_memory) return false;
  const leat_op_t* op = node->op;
  for (int a = 0; a < (input ? op->input_count : op->output_count); ++a) {
    int begin, count = input ? leat_node_input_argument(node, a, &begin)
                             : leat_node_output_argument(node, a, &begin);
    if (index < begin || index >= begin + count) continue;
    return lists(row->host_memory, input ? op->inputs[a].name : op->outputs[a].name);
  }
  return false;
}

bool leat_memory_input_is_host(const leat_placer_options_t* placement, const leat_graph_t* graph,
                               const leat_node_t* node, int index) {
  return lies_with_host(placement, node, leat_graph_output_type(graph, node->inputs[index]), index,
                        true);
}

bool leat_memory_output_is_host(const leat_placer_options_t* placement, const leat_node_t* node,
                                int index) {
  return lies_with_host(placement, node, node->output_types[index], index, false);
}

int leat_memory_host_device(const leat_placer_options_t* placement) {
  LEAT_DCHECK(placement->device_count > 0);
  for (int i = 0; i < placement->device_count; ++i) {
    if (!placement->devices[i].has_own_memory) return i;
  }
  return 0;
}

// ---- Cutting ------------------------------------------------------------------------------------

typedef struct cut_s {
  const leat_graph_t* graph;
  const leat_placer_options_t* placement;
  bool by_task;
  leat_partition_t* by_device;  // [device_count]; graph NULL where nothing lies; see home()
  int32_t* place;               // node -> its index in its graph
  int32_t* starts;              // device -> 1 + a NoOp for constants to wait for, or 0
  uint64_t* first_edge;         // node -> the number of its control edge; its outputs follow
  uint32_t* transfer_count;     // of the partitions
  leat_word_map_t receives;     // (output, destination) -> Recv in the destination's graph
  leat_loop_control_t loops;
  leat_arena_t arena;
} cut_t;

// The device under whose number the graph of |device| stands: its own, or the first of its task.
static int home(const cut_t* c, int device) {
  const leat_placement_device_t* devices = c->placement->devices;
  LEAT_DCHECK(device >= 0 && device < c->placement->device_count);
  int first = device;
  while (c->by_task && first > 0 && devices[first - 1].task == devices[device].task) --first;
  return first;
}

static leat_partition_t* partition_of(const cut_t* c, int device) {
  return &c->by_device[home(c, device)];
}

// The key in |receives|: the number of the edge's source, the destination, and which memory there.
static uint64_t receive_key(const cut_t* c, leat_output_t source, int device, bool host) {
  // Keys of two edges differ because the numbers of a node's edges end where the next node's begin.
  LEAT_DCHECK(source.index >= LEAT_CONTROL_INDEX);
  LEAT_DCHECK(c->first_edge[source.node] + (uint64_t)(source.index + 1) <
              c->first_edge[source.node + 1]);
  uint64_t edge = c->first_edge[source.node] + (uint64_t)(source.index - LEAT_CONTROL_INDEX);
  return (edge * (uint64_t)c->placement->device_count + (uint64_t)device) * 2 + host;
}

// Memory counts only where a graph is cut by device.
static bool has_own_memory(const cut_t* c, int device) {
  LEAT_DCHECK(device >= 0 && device < c->placement->device_count);
  return !c->by_task && c->placement->devices[device].has_own_memory;
}

// Whether the value lies in host memory; a control edge has none, and counts as if it did.
static bool is_host(const cut_t* c, leat_output_t source) {
  return c->by_task || source.index == LEAT_CONTROL_INDEX ||
         leat_memory_output_is_host(c->placement, &c->graph->nodes[source.node], source.index);
}

static leat_status_t ensure_graph(const cut_t* c, int device) {
  leat_partition_t* partition = partition_of(c, device);
  if (partition->graph) return leat_ok_status();
  return leat_graph_create_child(c->graph, &partition->graph);
}

// Notes the device of a new node in the graph of a task. A graph of one device has it for all.
static void name_device(const cut_t* c, int device, int32_t node) {
  if (!c->by_task) return;
  leat_graph_t* graph = partition_of(c, device)->graph;
  graph->nodes[node].assigned_device = device;
  graph->nodes[node].device = c->placement->devices[device].name;
}

// Adds a node for |device| to its graph.
static leat_status_t add(const cut_t* c, int device, leat_node_spec_t* spec, leat_string_view_t op,
                         int32_t* out_node) {
  leat_graph_t* graph = partition_of(c, device)->graph;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, op, &spec->op));
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(graph, spec, out_node));
  name_device(c, device, *out_node);
  return leat_ok_status();
}

// Adds the value that a control edge from |device| sends: an empty constant that waits for node
// |source| of the device's graph.
static leat_status_t add_dummy(cut_t* c, int device, int32_t source, leat_string_view_t name,
                               leat_output_t* out_value) {
  leat_tensor_t* empty;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, 1, &empty));
  LEAT_RETURN_IF_ERROR(leat_tensor_vector(LEAT_DTYPE_FLOAT, "", 0, empty));
  leat_attr_t attrs[] = {LEAT_TENSOR("value", empty), LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)};
  leat_node_spec_t spec = {.name = name, .attrs = attrs, .attr_count = 2,
                           .control_inputs = &source, .control_count = 1};
  leat_status_t status = add(c, device, &spec, LEAT_OP_NAME_CONSTANT, &out_value->node);
  out_value->index = 0;
  leat_tensor_release(empty);
  return status;
}

// Adds the Send and the Recv of |source| for device |to|; |host|: the value is wanted in host
// memory. Their names begin with '_', as no client's node's does. A Recv in a loop waits for its
// control loop.
static leat_status_t add_pair(cut_t* c, leat_output_t source, int to, bool host,
                              int32_t* out_receive) {
  const leat_node_t* node = &c->graph->nodes[source.node];
  int from = node->assigned_device;
  // The source has been copied, since nodes are copied inputs first.
  LEAT_DCHECK(partition_of(c, from)->graph &&
              (size_t)c->place[source.node] < partition_of(c, from)->graph->node_count);
  leat_string_view_t edge, name;
  bool to_host = host && has_own_memory(c, to);
  bool from_host = has_own_memory(c, from) && is_host(c, source);
  LEAT_RETURN_IF_ERROR(leat_arena_print(&c->arena, &edge, "edge_%d_%d%s_%.*s", source.node,
                                        source.index, to_host ? "h" : "",
                                        LEAT_SV_ARG(node->name)));
  leat_output_t value = {c->place[source.node], source.index};
  int dtype = LEAT_DTYPE_FLOAT;
  if (source.index == LEAT_CONTROL_INDEX) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(&c->arena, &name, "_%.*s/control_%d", LEAT_SV_ARG(edge), to));
    LEAT_RETURN_IF_ERROR(add_dummy(c, from, c->place[source.node], name, &value));
  } else {
    dtype = leat_dtype_base(leat_graph_output_type(c->graph, source));
  }
  leat_attr_t attrs[] = {
      LEAT_TYPE("T", dtype),
      LEAT_STRING("tensor_name", edge),
      LEAT_STRING("send_device", c->placement->devices[from].name),
      LEAT_INT("send_device_incarnation",
               (int64_t)c->placement->devices[from].incarnation),
      LEAT_STRING("recv_device", c->placement->devices[to].name),
      LEAT_INT(LEAT_ATTR_NAME_TRANSFER, 0),
  };
  int attr_count = LEAT_ARRAY_SIZE(attrs);
  if (c->by_task) {
    --attr_count;
  } else {
    attrs[attr_count - 1].value.i = (int64_t)(*c->transfer_count)++;
  }
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&c->arena, &name, "_%.*s/send_%d", LEAT_SV_ARG(edge), to));
  leat_node_spec_t send = {.name = name, .inputs = &value, .input_count = 1, .attrs = attrs,
                           .attr_count = attr_count};
  int32_t sent;
  LEAT_RETURN_IF_ERROR(
      add(c, from, &send, from_host ? LEAT_OP_NAME_HOST_SEND : LEAT_OP_NAME_SEND, &sent));
  attrs[0].name = LEAT_SV("tensor_type");
  LEAT_RETURN_IF_ERROR(leat_arena_print(&c->arena, &name, "_%.*s/recv_%d", LEAT_SV_ARG(edge),
                                        to));
  int32_t gate = leat_loop_control_gate(&c->loops, source, to);
  LEAT_DCHECK(gate < 0 || c->graph->nodes[gate].assigned_device == to);
  if (gate >= 0) gate = c->place[gate];
  leat_node_spec_t receive = {.name = name, .attrs = attrs, .attr_count = attr_count,
                              .control_inputs = &gate, .control_count = gate >= 0};
  LEAT_RETURN_IF_ERROR(ensure_graph(c, to));
  return add(c, to, &receive, to_host ? LEAT_OP_NAME_HOST_RECV : LEAT_OP_NAME_RECV, out_receive);
}

// Finds |source| as device |to| sees it, in host memory or in the device's; adds a transfer where
// there is none yet.
static leat_status_t map_input(cut_t* c, leat_output_t source, int to, bool host,
                               leat_output_t* out) {
  LEAT_DCHECK(leat_output_exists(source) && (size_t)source.node < c->graph->node_count);
  if (home(c, c->graph->nodes[source.node].assigned_device) == home(c, to) &&
      (!has_own_memory(c, to) || is_host(c, source) == host)) {
    *out = (leat_output_t){c->place[source.node], source.index};
    return leat_ok_status();
  }
  uint64_t receive;
  uint64_t key = receive_key(c, source, to, host);
  if (!leat_word_map_get(&c->receives, key, &receive)) {
    int32_t node;
    LEAT_RETURN_IF_ERROR(add_pair(c, source, to, host, &node));
    receive = (uint64_t)node;
    LEAT_RETURN_IF_ERROR(leat_word_map_set(&c->receives, key, receive));
  }
  LEAT_DCHECK(receive < partition_of(c, to)->graph->node_count);
  out->node = (int32_t)receive;
  out->index = source.index == LEAT_CONTROL_INDEX ? LEAT_CONTROL_INDEX : 0;
  return leat_ok_status();
}

// Gives an argument the next number in its partition, and remembers which feed of the whole it is.
static leat_status_t note_feed(leat_partition_t* partition, int32_t node) {
  LEAT_DCHECK(partition->graph->nodes[node].op->flags & LEAT_OP_ARGUMENT);
  leat_graph_t* graph = partition->graph;
  int index = (int)leat_node_attr_int(&graph->nodes[node], "index", 0);
  leat_attr_t local = LEAT_INT("index", partition->feed_count);
  LEAT_RETURN_IF_ERROR(leat_graph_set_attr(graph, node, &local));
  size_t capacity = (size_t)partition->feed_count;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(graph->allocator, (size_t)partition->feed_count + 1,
                                 &partition->feed_indices, &capacity));
  partition->feed_indices[partition->feed_count++] = index;
  return leat_ok_status();
}

// Whether |node| wants its |input| in host memory. A reference is passed as it is, without a copy.
static bool wants_host(const cut_t* c, const leat_node_t* node, int input) {
  if (input >= node->input_count) return true;
  bool takes_ref = node->op->has_ref_inputs && leat_dtype_is_ref(leat_node_input_type(node, input));
  return takes_ref ? is_host(c, node->inputs[input])
                   : leat_memory_input_is_host(c->placement, c->graph, node, input);
}

// Lets a constant that shall lie in the device wait for a NoOp. The executor's plan takes constants
// without inputs from host memory without running them, but this one has to run.
static leat_status_t follow_start(cut_t* c, int32_t index) {
  const leat_node_t* node = &c->graph->nodes[index];
  int device = node->assigned_device;
  leat_graph_t* graph = partition_of(c, device)->graph;
  if (!(node->op->flags & LEAT_OP_CONSTANT) || node->control_count > 0 ||
      is_host(c, (leat_output_t){index, 0})) {
    return leat_ok_status();
  }
  if (c->starts[device] == 0) {
    leat_node_spec_t spec = {.name = LEAT_SV("_start")};
    int32_t start;
    LEAT_RETURN_IF_ERROR(add(c, device, &spec, LEAT_OP_NAME_NO_OP, &start));
    c->starts[device] = 1 + start;
  }
  return leat_graph_add_control_input(graph, c->place[index], c->starts[device] - 1);
}

// Whether the edge comes from a node that is copied later, around a loop on the same device.
static bool closes_loop(const cut_t* c, const leat_node_t* node, int input) {
  return input < node->input_count && leat_edge_closes_loop(c->graph, node, node->inputs[input]);
}

static leat_status_t close_loops(cut_t* c) {
  for (size_t i = 0; i < c->graph->node_count; ++i) {
    const leat_node_t* node = &c->graph->nodes[i];
    for (int k = 0; k < node->input_count; ++k) {
      if (!closes_loop(c, node, k)) continue;
      // An edge that closes a loop is never cut: leat_loop_control_add put both ends on one device.
      LEAT_DCHECK(c->graph->nodes[node->inputs[k].node].assigned_device == node->assigned_device);
      leat_output_t source = {c->place[node->inputs[k].node], node->inputs[k].index};
      LEAT_RETURN_IF_ERROR(leat_graph_set_input(partition_of(c, node->assigned_device)->graph,
                                                c->place[i], k, source));
    }
  }
  return leat_ok_status();
}

// Copies node |index| into its device's graph, with its inputs as that device sees them.
static leat_status_t copy_node(cut_t* c, int32_t index) {
  const leat_node_t* node = &c->graph->nodes[index];
  leat_partition_t* partition = partition_of(c, node->assigned_device);
  int total = node->input_count + node->control_count;
  leat_output_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, (size_t)total + 1, &inputs));
  for (int i = 0; i < total; ++i) {
    inputs[i] = LEAT_OUTPUT_NONE;
    if (closes_loop(c, node, i)) continue;
    LEAT_RETURN_IF_ERROR(map_input(c, node->inputs[i], node->assigned_device,
                                   wants_host(c, node, i), &inputs[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_graph_copy_node(partition->graph, node, inputs, node->input_count,
                                            node->control_count, &c->place[index]));
  if (leat_node_attr(node, LEAT_SV(LEAT_ATTR_NAME_TRANSFER))) {
    leat_attr_t none = LEAT_INT(LEAT_ATTR_NAME_TRANSFER, -1);
    LEAT_RETURN_IF_ERROR(leat_graph_set_attr(partition->graph, c->place[index], &none));
  }
  name_device(c, node->assigned_device, c->place[index]);
  if (c->by_task) return leat_ok_status();
  if (node->op->flags & LEAT_OP_ARGUMENT) return note_feed(partition, c->place[index]);
  return follow_start(c, index);
}

// Finds where a fetch is taken: at its node, or on a device of the master that the host can read.
static leat_status_t map_fetch(cut_t* c, leat_output_t fetch, int* out_device,
                               leat_output_t* out) {
  *out_device = c->graph->nodes[fetch.node].assigned_device;
  if ((has_own_memory(c, *out_device) && !is_host(c, fetch)) ||
      c->placement->devices[*out_device].task != 0) {
    *out_device = leat_memory_host_device(c->placement);
  }
  return map_input(c, fetch, *out_device, true, out);
}

// Gives each fetch to the device that computes it, with its place in the step's list.
static leat_status_t note_fetches(cut_t* c, const leat_output_t* fetches, int fetch_count) {
  int* devices;
  leat_output_t* outputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, (size_t)fetch_count + 1, &devices));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, (size_t)fetch_count + 1, &outputs));
  for (int i = 0; i < fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(map_fetch(c, fetches[i], &devices[i], &outputs[i]));
  }
  for (int d = 0; d < c->placement->device_count; ++d) {
    leat_partition_t* partition = &c->by_device[d];
    if (!partition->graph) continue;
    leat_allocator_t* allocator = partition->graph->allocator;
    size_t room = (size_t)fetch_count + 1;
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, room, &partition->fetches));
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, room, &partition->fetch_indices));
  }
  for (int i = 0; i < fetch_count; ++i) {
    leat_partition_t* partition = partition_of(c, devices[i]);
    LEAT_DCHECK(partition->graph && partition->fetches && partition->fetch_count < fetch_count);
    partition->fetches[partition->fetch_count] = outputs[i];
    partition->fetch_indices[partition->fetch_count++] = i;
  }
  return leat_ok_status();
}

// Cuts the whole graph. Every device that has nodes gets a graph before the first node is copied.
static leat_status_t cut(cut_t* c, const leat_output_t* fetches, int fetch_count) {
  size_t count = c->graph->node_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, count + 1, &c->place));
  int32_t* order;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, count + 1, &order));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, count + 1, &c->first_edge));
  for (size_t i = 0; i < count; ++i) {
    c->first_edge[i + 1] = c->first_edge[i] + 1 + (uint64_t)c->graph->nodes[i].output_count;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->arena, (size_t)c->placement->device_count, &c->starts));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(c->graph, order));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(ensure_graph(c, c->graph->nodes[i].assigned_device));
  }
  for (size_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(copy_node(c, order[i]));
  LEAT_RETURN_IF_ERROR(close_loops(c));
  return note_fetches(c, fetches, fetch_count);
}

static leat_status_t allocate_partitions(int count, leat_partitions_t* partitions) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count, &partitions->items));
  for (int i = 0; i < count; ++i) partitions->items[i].device = i;
  partitions->count = count;
  return leat_ok_status();
}

// Makes the graph itself the only partition; all its nodes lie on |device|.
static leat_status_t hand_through(leat_graph_t** inout_graph, const leat_output_t* fetches,
                                  int fetch_count, int device, leat_partitions_t* partitions) {
  LEAT_RETURN_IF_ERROR(allocate_partitions(1, partitions));
  leat_partition_t* partition = &partitions->items[0];
  partition->device = device;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE((*inout_graph)->allocator, (size_t)fetch_count + 1, &partition->fetches));
  if (fetch_count) memcpy(partition->fetches, fetches, (size_t)fetch_count * sizeof *fetches);
  partition->fetch_count = fetch_count;
  LEAT_DCHECK(device >= 0);
  partition->graph = *inout_graph;
  *inout_graph = NULL;
  return leat_ok_status();
}

// The device that holds every node, or -1.
static int only_device(const leat_graph_t* graph) {
  int device = graph->node_count ? graph->nodes[0].assigned_device : 0;
  for (size_t i = 1; i < graph->node_count; ++i) {
    if (graph->nodes[i].assigned_device != device) return -1;
  }
  return device;
}

// Drops the partitions of devices on which nothing lies.
static void drop_empty(leat_partitions_t* partitions) {
  int kept = 0;
  for (int i = 0; i < partitions->count; ++i) {
    if (partitions->items[i].graph) partitions->items[kept++] = partitions->items[i];
  }
  partitions->count = kept;
}

static leat_status_t cut_graph(leat_graph_t* graph, const leat_output_t* fetches, int fetch_count,
                               const leat_placer_options_t* placement, bool by_task,
                               leat_partitions_t* out_partitions) {
  LEAT_RETURN_IF_ERROR(allocate_partitions(placement->device_count, out_partitions));
  cut_t c = {.graph = graph, .placement = placement, .by_task = by_task,
             .by_device = out_partitions->items, .transfer_count = &out_partitions->transfer_count};
  leat_arena_initialize(graph->allocator, 0, &c.arena);
  leat_word_map_initialize(graph->allocator, &c.receives);
  leat_status_t status = leat_loop_control_add(graph, placement, &c.arena, &c.loops);
  if (!status) status = cut(&c, fetches, fetch_count);
  leat_word_map_deinitialize(&c.receives);
  leat_arena_deinitialize(&c.arena);
  drop_empty(out_partitions);
  // The nodes of graphs by device are new and have no device: the partition has it for all of them.
  for (int i = 0; !status && i < out_partitions->count; ++i) {
    status = LEAT_VERIFY_GRAPH(out_partitions->items[i].graph, "partitioning");
  }
  if (status) leat_partitions_free(out_partitions);
  return status;
}

leat_status_t leat_partition(leat_graph_t** inout_graph, const leat_output_t* fetches,
                             int fetch_count, const leat_placer_options_t* placement,
                             leat_partitions_t* out_partitions) {
  memset(out_partitions, 0, sizeof *out_partitions);
  int device = only_device(*inout_graph);
  LEAT_DCHECK(device < placement->device_count);
  if (device >= 0 && !placement->devices[device].has_own_memory) {
    leat_status_t status =
        hand_through(inout_graph, fetches, fetch_count, device, out_partitions);
    if (status) leat_partitions_free(out_partitions);
    return status;
  }
  return cut_graph(*inout_graph, fetches, fetch_count, placement, false, out_partitions);
}

bool leat_spans_tasks(const leat_graph_t* graph, const leat_placer_options_t* placement) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (placement->devices[graph->nodes[i].assigned_device].task != 0) return true;
  }
  return false;
}

leat_status_t leat_partition_by_task(leat_graph_t* graph, const leat_output_t* fetches,
                                     int fetch_count, const leat_placer_options_t* placement,
                                     leat_partitions_t* out_partitions) {
  memset(out_partitions, 0, sizeof *out_partitions);
  for (size_t i = 0; i < graph->node_count; ++i) {
    leat_node_t* node = &graph->nodes[i];
    if (!(node->op->flags & LEAT_OP_ARGUMENT)) continue;
    if (placement->devices[node->assigned_device].task == 0) continue;
    node->assigned_device = leat_memory_host_device(placement);
  }
  return cut_graph(graph, fetches, fetch_count, placement, true, out_partitions);
}

static void free_partition(leat_partition_t* partition) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_graph_free(partition->graph);
  leat_allocator_free(allocator, partition->fetches);
  leat_allocator_free(allocator, partition->fetch_indices);
  leat_allocator_free(allocator, partition->feed_indices);
}

void leat_partitions_remove_first(leat_partitions_t* partitions) {
  LEAT_DCHECK(partitions->count > 0 && !partitions->items[0].graph);
  free_partition(&partitions->items[0]);
  --partitions->count;
  memmove(partitions->items, partitions->items + 1,
          (size_t)partitions->count * sizeof *partitions->items);
}

void leat_partitions_free(leat_partitions_t* partitions) {
  leat_allocator_t* allocator = leat_allocator_system();
  for (int i = 0; i < partitions->count; ++i) free_partition(&partitions->items[i]);
  leat_allocator_free(allocator, partitions->items);
  memset(partitions, 0, sizeof *partitions);
}
