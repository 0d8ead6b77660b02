// The conversion leat convert freeze: makes a graph in which variables are constants, and which
// holds only what its outputs need. Such a graph needs no checkpoint and can be run by anything
// that runs a GraphDef. The nodes change as follows:
//
//     Variable, VariableV2, VarHandleOp   becomes a Const with the value that the session holds
//     ReadVariableOp, ResourceGather      of a VarHandleOp becomes Identity or Gather of that Const
//     a call of a function                becomes the function's body
//     any other node                      stays as it is, but without "_class", which may name a
//                                         node that is gone
//
// The steps are: open the model and restore its variables; choose the outputs; let the library cut
// out what they need and inline functions (cut_out); walk back from the outputs and mark each
// needed node with its change (need_all); fetch the variables' values in one step; and write the
// nodes. The nodes are copied as bytes of the GraphDef, field by field, so that attributes which
// this program does not know survive. A needed node that takes a variable in any other way, such as
// an assignment, cannot be frozen, and is named in an error.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "endpoint.h"
#include "file.h"
#include "graph_file.h"
#include "view.h"

#define MAX_NAME 512
#define FIRST_REFERENCE 100
#define MOST_OUTPUTS 1024

// ---- The wire format of protocol buffers --------------------------------------------------------

// As far as this file needs it to take a GraphDef apart and put it together again. Malformed bytes
// end a message.

// A position in a message, which is borrowed: the field that wire_next went to last. The bytes from
// |begin| to |next| are that whole field, tag included, so that it can be copied unread.
typedef struct wire_s {
  // where the current field began, where the next one begins, and the end of the message
  const uint8_t *begin, *next, *end;
  uint32_t number;  // of the current field
  const uint8_t* value;  // of a field with a length; NULL for other fields
  size_t size;
} wire_t;

// A position before the first field of the message in |data|.
static wire_t wire_of(const void* data, size_t size) {
  const uint8_t* bytes = (const uint8_t*)data;
  return (wire_t){.next = bytes, .end = bytes ? bytes + size : bytes};
}

static bool read_varint(const uint8_t** next, const uint8_t* end, uint64_t* out_value) {
  *out_value = 0;
  for (int shift = 0; *next < end && shift < 64; shift += 7) {
    uint8_t byte = *(*next)++;
    *out_value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

// Goes to the next field. Returns false at the end and where the bytes are malformed.
static bool wire_next(wire_t* w) {
  uint64_t tag, value;
  const uint8_t* next = w->next;
  w->begin = next;
  w->value = NULL;
  w->size = 0;
  if (!next || next == w->end || !read_varint(&next, w->end, &tag)) return false;
  size_t left = (size_t)(w->end - next), skip = 0;
  switch (tag & 7) {
    case 0:
      if (!read_varint(&next, w->end, &value)) return false;
      break;
    case 1: skip = 8; break;
    case 5: skip = 4; break;
    case 2:
      if (!read_varint(&next, w->end, &value) || value > (uint64_t)(w->end - next)) return false;
      w->value = next;
      w->size = skip = (size_t)value;
      break;
    default: return false;
  }
  if (skip > left) return false;
  w->number = (uint32_t)(tag >> 3);
  w->next = next + skip;
  return true;
}

// The content of the first field |number| that has a length; empty where there is none.
static wire_t wire_find(wire_t message, uint32_t number) {
  while (wire_next(&message)) {
    if (message.number == number && message.value) return wire_of(message.value, message.size);
  }
  return (wire_t){0};
}

// A buffer that grows; |failed| is set once there is no memory.
typedef struct bytes_s {
  uint8_t* data;
  size_t size, capacity;
  bool failed;
} bytes_t;

static void bytes_append(bytes_t* bytes, const void* data, size_t size) {
  if (bytes->capacity - bytes->size < size) {
    size_t capacity = bytes->capacity * 2 + size + 64;
    uint8_t* grown = realloc(bytes->data, capacity);
    if (!grown) bytes->failed = true;
    if (!grown) return;
    bytes->data = grown;
    bytes->capacity = capacity;
  }
  if (size) memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

// Appends a field with a length; |number| must be less than 16.
static void bytes_append_field(bytes_t* bytes, uint32_t number, const void* data, size_t size) {
  uint8_t header[11] = {(uint8_t)(number << 3 | 2)};
  int used = 1;
  size_t left = size;
  for (; left >= 128; left >>= 7) header[used++] = (uint8_t)(left | 128);
  header[used++] = (uint8_t)left;
  bytes_append(bytes, header, (size_t)used);
  bytes_append(bytes, data, size);
}

// ---- The conversion -----------------------------------------------------------------------------

typedef enum change_e { GONE, KEPT, CONSTANT, READ, GATHER } change_t;

typedef struct node_s {  // a GONE node is not needed; the others are written
  TF_Operation* operation;
  change_t change;
  TF_Tensor* tensor;  // a CONSTANT's value
} node_t;

typedef struct freeze_s {
  model_t model;
  TF_Operation** outputs;  // operations of the model's graph that are kept
  int output_count;
  TF_Buffer* graph_def;    // what the outputs need, with functions inlined
  TF_Graph* graph;         // |graph_def|, imported
  node_t* nodes;           // of |graph|, sorted by the address of the operation
  size_t count;
  TF_Operation** stack;  // needed nodes whose inputs were not visited yet
  size_t depth;
  bytes_t out;  // the frozen GraphDef
} freeze_t;

static bool is_op(TF_Operation* operation, const char* op) {
  return !strcmp(TF_OperationOpType(operation), op);
}

static int compare_nodes(const void* a, const void* b) {
  uintptr_t x = (uintptr_t)((const node_t*)a)->operation;
  uintptr_t y = (uintptr_t)((const node_t*)b)->operation;
  return (x > y) - (x < y);
}

static node_t* find_node(const freeze_t* f, TF_Operation* operation) {
  node_t key = {.operation = operation};
  return bsearch(&key, f->nodes, f->count, sizeof *f->nodes, compare_nodes);
}

// Makes |f->nodes| and room for the stack. Returns false when there is no memory.
static bool list_nodes(freeze_t* f) {
  size_t position = 0, capacity = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(f->graph, &position));) {
    if (f->count == capacity) {
      capacity = capacity * 2 + 256;
      node_t* grown = realloc(f->nodes, capacity * sizeof *grown);
      if (!grown) return false;
      f->nodes = grown;
    }
    f->nodes[f->count++] = (node_t){.operation = o};
  }
  f->stack = calloc(f->count + 1, sizeof *f->stack);
  if (f->nodes) qsort(f->nodes, f->count, sizeof *f->nodes, compare_nodes);
  return f->stack != NULL;
}

// ---- Outputs ------------------------------------------------------------------------------------

// Adds the output or operation |name| to those that are kept.
static int keep(freeze_t* f, const char* name) {
  TF_Operation* operation = strchr(name, ':') ? endpoint_output(f->model.graph, name).oper
                                              : endpoint_operation(f->model.graph, name);
  if (!operation) return EXIT_FAILED;
  if (f->output_count == MOST_OUTPUTS) return complain("more than %d outputs", MOST_OUTPUTS);
  f->outputs[f->output_count++] = operation;
  return EXIT_OK;
}

static int keep_signature(freeze_t* f, leat_message_view_t signature) {
  char name[MAX_NAME];
  for (size_t i = 0; i < leat_message_count(signature, "outputs"); ++i) {
    leat_message_view_t info = leat_message_child(leat_message_child(signature, "outputs", i),
                                                  "value", 0);
    name_t tensor = view_string(info, "name", 0);
    snprintf(name, sizeof name, "%.*s", (int)tensor.size, tensor.data);
    int code = keep(f, name);
    if (code) return code;
  }
  return EXIT_OK;
}

// Keeps what the options name; otherwise the outputs of one signature, or of all of them.
static int choose_outputs(freeze_t* f, const conversion_t* c) {
  leat_message_view_t meta = leat_message_view(f->model.message), signature;
  size_t count = leat_message_count(meta, "signature_def");
  for (int i = 0; i < c->output_count; ++i) {
    int code = keep(f, c->outputs[i]);
    if (code) return code;
  }
  if (c->output_count) return EXIT_OK;
  if (c->signature) {
    signature = model_signature(&f->model, c->signature);
    return signature.data ? keep_signature(f, signature) : EXIT_FAILED;
  }
  for (size_t i = 0; i < count; ++i) {
    leat_message_view_t entry = leat_message_child(meta, "signature_def", i);
    name_t key = view_string(entry, "key", 0);
    // signatures of the loader, such as its init op
    if (key.size > 2 && !memcmp(key.data, "__", 2)) continue;
    int code = keep_signature(f, leat_message_child(entry, "value", 0));
    if (code) return code;
  }
  if (f->output_count) return EXIT_OK;
  return complain("%s has no signatures: name what to keep by --output", c->source.path);
}

// ---- Needed nodes -------------------------------------------------------------------------------

// True when the ResourceGather has batch dimensions, which Gather cannot express.
static bool is_batched(TF_Operation* gather) {
  int64_t batch_dims = 0;
  TF_Status* status = TF_NewStatus();
  TF_OperationGetAttrInt(gather, "batch_dims", &batch_dims, status);
  TF_DeleteStatus(status);
  return batch_dims != 0;
}

// What becomes of an operation if it is needed.
static change_t change_of(TF_Operation* o) {
  static const struct {
    const char* op;
    change_t change;
  } kChanges[] = {{"Variable", CONSTANT},    {"VariableV2", CONSTANT},   {"VarHandleOp", CONSTANT},
                  {"ReadVariableOp", READ},  {"ResourceGather", GATHER}};
  for (size_t i = 0; i < sizeof kChanges / sizeof *kChanges; ++i) {
    if (!is_op(o, kChanges[i].op)) continue;
    change_t change = kChanges[i].change;
    if (change < READ) return change;
    if (change == GATHER && is_batched(o)) return KEPT;
    // A handle that comes through another node cannot be followed: its reader stays as it is.
    return is_op(TF_OperationInput((TF_Input){o, 0}).oper, "VarHandleOp") ? change : KEPT;
  }
  return KEPT;
}

// Marks |operation| as needed and puts it on the stack, unless it becomes a constant: a constant
// needs no inputs.
static void need(freeze_t* f, TF_Operation* operation) {
  node_t* node = find_node(f, operation);
  if (!node || node->change != GONE) return;
  node->change = change_of(operation);
  if (node->change != CONSTANT) f->stack[f->depth++] = operation;
}

// Complains when |reader|, which becomes |change|, would be left with a variable as its input: a
// handle, or a reference that it may assign to.
static int check_input(TF_Operation* reader, int index, TF_Operation* source, change_t change) {
  bool is_variable = change_of(source) == CONSTANT;
  bool is_handle = is_variable && is_op(source, "VarHandleOp") && change == KEPT;
  bool is_changed = is_variable && TF_OperationInputType((TF_Input){reader, index}) >=
                                       (TF_DataType)FIRST_REFERENCE;
  if (!is_handle && !is_changed) return EXIT_OK;
  return complain("freezing failed for node '%s' (%s): it takes the variable '%s' itself, must "
                  "read its value", TF_OperationName(reader), TF_OperationOpType(reader),
                  TF_OperationName(source));
}

static int need_inputs(freeze_t* f, TF_Operation* o) {
  change_t change = find_node(f, o)->change;
  for (int i = 0; i < TF_OperationNumInputs(o); ++i) {
    TF_Operation* source = TF_OperationInput((TF_Input){o, i}).oper;
    int code = check_input(o, i, source, change);
    if (code) return code;
    need(f, source);
  }
  int count = TF_OperationNumControlInputs(o);
  TF_Operation** controls = calloc((size_t)count + 1, sizeof *controls);
  if (!controls) return complain("no memory for the inputs of a node");
  TF_OperationGetControlInputs(o, controls, count);
  for (int i = 0; i < count; ++i) need(f, controls[i]);
  free(controls);
  return EXIT_OK;
}

// Sets |f->graph_def| and |f->graph| to what the outputs need.
static int cut_out(freeze_t* f) {
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  f->graph = TF_NewGraph();
  f->graph_def = leat_graph_inline(f->model.graph, (const TF_Operation* const*)f->outputs,
                                   f->output_count, f->model.status);
  if (f->graph_def) {
    TF_GraphImportGraphDef(f->graph, f->graph_def, options, f->model.status);
  }
  TF_DeleteImportGraphDefOptions(options);
  if (TF_GetCode(f->model.status) != TF_OK) return complain_status("freezing", f->model.status);
  return list_nodes(f) ? EXIT_OK : complain("no memory for %zu nodes", f->count);
}

// Marks every node that the outputs need, depth first.
static int need_all(freeze_t* f) {
  int code = EXIT_OK;
  for (int i = 0; i < f->output_count; ++i) {
    need(f, TF_GraphOperationByName(f->graph, TF_OperationName(f->outputs[i])));
  }
  while (!code && f->depth) code = need_inputs(f, f->stack[--f->depth]);
  return code;
}

// ---- Values -------------------------------------------------------------------------------------

// The output of the model's graph that gives the variable's value. A variable behind a handle is
// read by a ReadVariableOp that is added here.
static TF_Output value_of(freeze_t* f, const node_t* node, size_t index) {
  TF_DataType dtype = TF_FLOAT;
  char name[64];
  TF_Operation* own = TF_GraphOperationByName(f->model.graph, TF_OperationName(node->operation));
  if (!own) {
    TF_SetStatus(f->model.status, TF_UNIMPLEMENTED, "one of them is made within a function");
  }
  if (!own || !is_op(own, "VarHandleOp")) return (TF_Output){own, 0};
  TF_OperationGetAttrType(own, "dtype", &dtype, f->model.status);
  snprintf(name, sizeof name, "leat_freeze/read_%zu", index);
  TF_OperationDescription* desc = TF_NewOperation(f->model.graph, "ReadVariableOp", name);
  TF_AddInput(desc, (TF_Output){own, 0});
  TF_SetAttrType(desc, "dtype", dtype);
  return (TF_Output){TF_FinishOperation(desc, f->model.status), 0};
}

// Fetches the values of all variables in one step and keeps them with their nodes.
static int fetch_values(freeze_t* f) {
  TF_Output* outputs = calloc(f->count + 1, sizeof *outputs);
  TF_Tensor** values = calloc(f->count + 1, sizeof *values);
  int count = 0, code = EXIT_OK;
  for (size_t i = 0; outputs && i < f->count && TF_GetCode(f->model.status) == TF_OK; ++i) {
    if (f->nodes[i].change == CONSTANT) outputs[count++] = value_of(f, &f->nodes[i], i);
  }
  if (!outputs || !values) {
    code = complain("no memory for the variables");
  } else if (count && TF_GetCode(f->model.status) == TF_OK) {
    TF_SessionRun(f->model.session, NULL, NULL, NULL, 0, outputs, values, count, NULL, 0, NULL,
                  f->model.status);
  }
  if (!code && TF_GetCode(f->model.status) != TF_OK) {
    code = complain_status("reading the variables", f->model.status);
  }
  for (size_t i = 0, next = 0; !code && i < f->count; ++i) {
    if (f->nodes[i].change == CONSTANT) f->nodes[i].tensor = values[next++];
  }
  free(outputs);
  free(values);
  return code;
}

// ---- Writing ------------------------------------------------------------------------------------

// Appends the NodeDef of a Const. The library writes it, so that it has the form of any other.
static void append_constant(freeze_t* f, const node_t* node) {
  TF_Status* status = f->model.status;
  TF_Graph* scratch = TF_NewGraph();
  TF_Buffer* bytes = TF_NewBuffer();
  TF_OperationDescription* desc =
      TF_NewOperation(scratch, "Const", TF_OperationName(node->operation));
  TF_SetAttrType(desc, "dtype", TF_TensorType(node->tensor));
  TF_SetAttrTensor(desc, "value", node->tensor, status);
  TF_Operation* constant = TF_FinishOperation(desc, status);
  if (constant) TF_OperationToNodeDef(constant, bytes, status);
  if (TF_GetCode(status) == TF_OK) bytes_append_field(&f->out, 1, bytes->data, bytes->length);
  TF_DeleteBuffer(bytes);
  TF_DeleteGraph(scratch);
}

// True when an attribute, an entry of the map |attr|, has the key |key|.
static bool key_is(const wire_t* attribute, const char* key) {
  wire_t name = wire_find(wire_of(attribute->value, attribute->size), 1);
  return name.next && name_is((name_t){(const char*)name.next, (size_t)(name.end - name.next)},
                              key);
}

// Appends an attribute's value under the key |key|.
static void append_renamed(bytes_t* out, const wire_t* attribute, const char* key) {
  bytes_t entry = {0};
  wire_t value = wire_find(wire_of(attribute->value, attribute->size), 2);
  bytes_append_field(&entry, 1, key, strlen(key));
  bytes_append_field(&entry, 2, value.next, (size_t)(value.end - value.next));
  bytes_append_field(out, 5, entry.data, entry.size);
  out->failed |= entry.failed;
  free(entry.data);
}

// Appends a NodeDef (name 1, op 2, input 3, device 4, attr 5) changed as |change| says: a READ or
// GATHER gets a new op, its dtype becomes the attribute of the new op, and attributes that the new
// op does not have are dropped.
static void append_node(freeze_t* f, wire_t node, change_t change) {
  static const struct {
    const char *op, *type;
  } kNew[] = {[READ] = {"Identity", "T"}, [GATHER] = {"Gather", "Tparams"}};
  bytes_t out = {0};
  while (wire_next(&node)) {
    if (node.number == 5 && key_is(&node, "_class")) continue;
    if (change >= READ && node.number == 2) {
      bytes_append_field(&out, 2, kNew[change].op, strlen(kNew[change].op));
    } else if (change >= READ && node.number == 5 && key_is(&node, "dtype")) {
      append_renamed(&out, &node, kNew[change].type);
    } else if (change < READ || node.number != 5 || key_is(&node, "Tindices")) {
      bytes_append(&out, node.begin, (size_t)(node.next - node.begin));
    }
  }
  bytes_append_field(&f->out, 1, out.data, out.size);
  f->out.failed |= out.failed;
  free(out.data);
}

// Appends the fields of the GraphDef (node 1, and others, which are copied).
static void append_graph(freeze_t* f) {
  bytes_t name = {0};  // of a node, NUL-terminated: names may have any length
  wire_t field = wire_of(f->graph_def->data, f->graph_def->length);
  while (wire_next(&field)) {
    if (field.number != 1) {
      bytes_append(&f->out, field.begin, (size_t)(field.next - field.begin));
      continue;
    }
    wire_t text = wire_find(wire_of(field.value, field.size), 1);
    name.size = 0;
    bytes_append(&name, text.next, (size_t)(text.end - text.next));
    bytes_append(&name, "", 1);
    if (name.failed) {
      f->out.failed = true;
      break;
    }
    const node_t* node = find_node(f, TF_GraphOperationByName(f->graph, (const char*)name.data));
    if (!node || node->change == GONE) continue;
    if (node->change == CONSTANT) {
      append_constant(f, node);
    } else {
      append_node(f, wire_of(field.value, field.size), node->change);
    }
  }
  free(name.data);
}

static int write_frozen(freeze_t* f, const char* target) {
  TF_Status* status = f->model.status;
  TF_Buffer* text = NULL;
  TF_Buffer frozen = {f->out.data, f->out.size, NULL};
  if (f->out.failed) TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the graph");
  if (TF_GetCode(status) == TF_OK && graph_file_is_text(target)) {
    text = leat_message_to_text("GraphDef", &frozen, status);
  }
  const TF_Buffer* bytes = text ? text : &frozen;
  if (TF_GetCode(status) == TF_OK) file_write(target, bytes->data, bytes->length, status);
  TF_DeleteBuffer(text);
  return TF_GetCode(status) == TF_OK ? EXIT_OK : complain_status("freezing", status);
}

int convert_freeze(const conversion_t* conversion) {
  freeze_t f = {.outputs = calloc(MOST_OUTPUTS, sizeof *f.outputs)};
  int code = model_open(&conversion->source, &f.model);
  if (!code && !f.outputs) code = complain("no memory for the outputs");
  if (!code) code = choose_outputs(&f, conversion);
  if (!code) code = cut_out(&f);
  if (!code) code = need_all(&f);
  if (!code) code = fetch_values(&f);
  if (!code) {
    append_graph(&f);
    code = write_frozen(&f, conversion->target);
  }
  for (size_t i = 0; i < f.count; ++i) TF_DeleteTensor(f.nodes[i].tensor);
  free(f.nodes);
  free(f.stack);
  free(f.outputs);
  free(f.out.data);
  TF_DeleteBuffer(f.graph_def);
  TF_DeleteGraph(f.graph);
  model_close(&f.model);
  return code;
}
