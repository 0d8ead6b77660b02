// The scopes of leat/graph.h, over the C API. A scope is a prefix for names, a device, and
// operations that everything added in it waits for; a scope entered from it inherits all three.
// What all scopes of a graph share is in the root: the graph, the first error, the list of
// variables, and the declarations of ops that were used. The root is reference counted and ends
// with the last of its scopes.
//
// After the first error nothing more is added, and every function returns NULL or an output without
// an operation. So a client can write a formula as nested calls and look at the status once, at the
// end.
#include "client/scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Life ---------------------------------------------------------------------------------------

// Makes a scope inside |parent| (NULL: the first one of |root|). |name| extends the prefix,
// |controls| the operations to wait for; both may be absent.
static leat_scope_t* make_scope(leat_scope_root_t* root, const leat_scope_t* parent,
                                const char* name, TF_Operation* const* controls, int count) {
  leat_scope_t* scope = calloc(1, sizeof *scope);
  const char* before = parent ? parent->prefix : "";
  int inherited = parent ? parent->control_count : 0;
  size_t size = strlen(before) + (name ? strlen(name) + 1 : 0) + 1;
  char* prefix = malloc(size);
  TF_Operation** all = calloc((size_t)(inherited + count) + 1, sizeof *all);
  char* device = strdup(parent ? parent->device : "");
  if (!scope || !prefix || !all || !device) {
    free(scope);
    free(device);
    free(prefix);
    free(all);
    if (TF_GetCode(root->status) == TF_OK) {
      TF_SetStatus(root->status, TF_RESOURCE_EXHAUSTED, "no memory for a scope");
    }
    return NULL;
  }
  snprintf(prefix, size, "%s%s%s", before, name ? name : "", name ? "/" : "");
  for (int i = 0; i < inherited; ++i) all[i] = parent->controls[i];
  for (int i = 0; i < count; ++i) all[inherited + i] = controls[i];
  *scope = (leat_scope_t){root, prefix, all, inherited + count, device};
  ++root->references;
  return scope;
}

leat_scope_t* leat_scope_create(TF_Graph* graph) {
  leat_scope_root_t* root = calloc(1, sizeof *root);
  if (!root) return NULL;
  root->graph = graph;
  root->status = TF_NewStatus();
  leat_scope_t* scope = root->status ? make_scope(root, NULL, NULL, NULL, 0) : NULL;
  if (!scope) {
    TF_DeleteStatus(root->status);
    free(root);
  }
  return scope;
}

leat_scope_t* leat_scope_enter(leat_scope_t* parent, const char* name) {
  return parent ? make_scope(parent->root, parent, name, NULL, 0) : NULL;
}

leat_scope_t* leat_scope_after(leat_scope_t* parent, TF_Operation* const* operations, int count) {
  return parent ? make_scope(parent->root, parent, NULL, operations, count) : NULL;
}

// Makes a scope whose operations are asked to run on |device|.
leat_scope_t* leat_scope_on(leat_scope_t* parent, const char* device) {
  char* copy = parent ? strdup(device) : NULL;
  leat_scope_t* scope = copy ? make_scope(parent->root, parent, NULL, NULL, 0) : NULL;
  if (!scope) {
    leat_scope_fail(parent, TF_RESOURCE_EXHAUSTED, "no memory for a scope");
    free(copy);
    return NULL;
  }
  free(scope->device);
  scope->device = copy;
  return scope;
}

void leat_scope_free(leat_scope_t* scope) {
  if (!scope) return;
  leat_scope_root_t* root = scope->root;
  free(scope->prefix);
  free(scope->device);
  free(scope->controls);
  free(scope);
  if (--root->references > 0) return;
  for (int i = 0; i < root->variable_count; ++i) {
    free(root->variables[i].name);
    free(root->variables[i].dims);
  }
  free(root->variables);
  leat_signature_free(root->signatures);
  TF_DeleteStatus(root->status);
  free(root);
}

TF_Graph* leat_scope_graph(const leat_scope_t* scope) { return scope ? scope->root->graph : NULL; }

TF_Status* leat_scope_status(leat_scope_t* scope) { return scope ? scope->root->status : NULL; }

int leat_scope_is_ok(const leat_scope_t* scope) {
  return scope && TF_GetCode(scope->root->status) == TF_OK;
}

// Only the first error is kept, since the later ones are mostly its consequences.
void leat_scope_fail(leat_scope_t* scope, TF_Code code, const char* format, ...) {
  if (!leat_scope_is_ok(scope)) return;
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  TF_SetStatus(scope->root->status, code, message);
}

// ---- Adding operations --------------------------------------------------------------------------

// Numbers are tried from 1 on: "x", "x_1", "x_2".
char* leat_scope_name(leat_scope_t* scope, const char* base) {
  if (!leat_scope_is_ok(scope)) return NULL;
  size_t size = strlen(scope->prefix) + strlen(base) + 16;
  char* name = malloc(size);
  if (!name) {
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for the name of '%s'", base);
    return NULL;
  }
  snprintf(name, size, "%s%s", scope->prefix, base);
  for (int i = 1; TF_GraphOperationByName(scope->root->graph, name); ++i) {
    snprintf(name, size, "%s%s_%d", scope->prefix, base, i);
  }
  return name;
}

// The sizes of all shapes lie one behind the other; the C API wants a pointer to those of each.
static void set_shapes(TF_OperationDescription* op, const leat_attribute_t* a, TF_Status* status) {
  const int64_t** dims = calloc((size_t)a->integer + 1, sizeof *dims);
  const int64_t* next = a->integers;
  if (!dims) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for a list of shapes");
    return;
  }
  for (int64_t i = 0; i < a->integer; ++i) {
    dims[i] = next;
    if (a->ranks[i] > 0) next += a->ranks[i];
  }
  TF_SetAttrShapeList(op, a->name, dims, a->ranks, (int)a->integer);
  free(dims);
}

static void set_attribute(TF_OperationDescription* op, const leat_attribute_t* a,
                          TF_Status* status) {
  switch (a->kind) {
    case 'i': TF_SetAttrInt(op, a->name, a->integer); break;
    case 'f': TF_SetAttrFloat(op, a->name, a->real); break;
    case 'b': TF_SetAttrBool(op, a->name, (unsigned char)(a->integer != 0)); break;
    case 't': TF_SetAttrType(op, a->name, (TF_DataType)a->integer); break;
    case 's': TF_SetAttrString(op, a->name, a->text, strlen(a->text)); break;
    case 'l': TF_SetAttrIntList(op, a->name, a->integers, (int)a->integer); break;
    case 'y': TF_SetAttrTypeList(op, a->name, a->types, (int)a->integer); break;
    case 'h': TF_SetAttrShape(op, a->name, a->integers, (int)a->integer); break;
    case 'H': set_shapes(op, a, status); break;
    case 'v': TF_SetAttrTensor(op, a->name, a->tensor, status); break;
    default: TF_SetStatus(status, TF_INVALID_ARGUMENT, "unknown kind of attribute");
  }
}

// Finds the declaration of |op|. The graph is asked once for each op.
static const leat_op_signature_t* find_signature(leat_scope_root_t* root, const char* op) {
  for (leat_op_signature_t* s = root->signatures; s; s = s->next) {
    if (!strcmp(s->op, op)) return s;
  }
  leat_op_signature_t* signature = leat_signature_create(root->graph, op, root->status);
  if (!signature) return NULL;
  signature->next = root->signatures;
  root->signatures = signature;
  return signature;
}

// Divides the inputs among the op's arguments. Inputs that do not fit are added too, because
// TF_FinishOperation has the best error message for them.
static void add_inputs(TF_OperationDescription* op, const leat_op_signature_t* signature,
                       const TF_Output* inputs, int count, const leat_attribute_t* attributes,
                       int attribute_count) {
  int next = 0;
  for (int i = 0; i < signature->count; ++i) {
    int share = leat_signature_share(signature, i, count, attributes, attribute_count);
    if (share < 0 || share > count - next) break;
    if (signature->arguments[i].is_list) {
      TF_AddInputList(op, inputs + next, share);
    } else {
      TF_AddInput(op, inputs[next]);
    }
    next += share;
  }
  for (; next < count; ++next) TF_AddInput(op, inputs[next]);
}

// Fails the scope where an input has no operation, and returns whether all have.
static int check_inputs(leat_scope_t* scope, const char* op, const char* name,
                        const TF_Output* inputs, int count) {
  for (int i = 0; i < count; ++i) {
    if (inputs[i].oper) continue;
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Adding node '%s' (%s) failed: input %d is missing, must be an output", name,
                    op, i);
    return 0;
  }
  return 1;
}

TF_Operation* leat_scope_add(leat_scope_t* scope, const char* op_type, const char* name,
                             const TF_Output* inputs, int input_count,
                             const leat_attribute_t* attributes, int attribute_count) {
  if (!leat_scope_is_ok(scope) || !check_inputs(scope, op_type, name, inputs, input_count)) {
    return NULL;
  }
  TF_Status* status = scope->root->status;
  const leat_op_signature_t* signature = find_signature(scope->root, op_type);
  if (!signature) return NULL;
  TF_OperationDescription* op = TF_NewOperation(scope->root->graph, op_type, name);
  if (scope->device[0]) TF_SetDevice(op, scope->device);
  add_inputs(op, signature, inputs, input_count, attributes, attribute_count);
  for (int i = 0; i < scope->control_count; ++i) TF_AddControlInput(op, scope->controls[i]);
  for (int i = 0; i < attribute_count && TF_GetCode(status) == TF_OK; ++i) {
    set_attribute(op, &attributes[i], status);
  }
  if (TF_GetCode(status) == TF_OK) return TF_FinishOperation(op, status);
  TF_Status* ignored = TF_NewStatus();  // the description must be consumed
  TF_FinishOperation(op, ignored);
  TF_DeleteStatus(ignored);
  return NULL;
}

TF_Operation* leat_operation(leat_scope_t* scope, const char* op, const char* name,
                             const TF_Output* inputs, int input_count,
                             const leat_attribute_t* attributes, int attribute_count) {
  char* unique = leat_scope_name(scope, name ? name : op);
  if (!unique) return NULL;
  TF_Operation* operation =
      leat_scope_add(scope, op, unique, inputs, input_count, attributes, attribute_count);
  free(unique);
  return operation;
}

// Adds a NoOp that waits for all |operations|.
TF_Operation* leat_group(leat_scope_t* scope, const char* name, TF_Operation* const* operations,
                         int count) {
  for (int i = 0; i < count; ++i) {
    if (operations[i]) continue;
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Adding node '%s' (NoOp) failed: operation %d is NULL", name ? name : "group",
                    i);
  }
  if (!leat_scope_is_ok(scope)) return NULL;
  leat_scope_t* after = leat_scope_after(scope, operations, count);
  TF_Operation* group =
      leat_operation(after, "NoOp", name ? name : "group", NULL, 0, NULL, 0);
  leat_scope_free(after);
  return group;
}

void leat_scope_add_variable(leat_scope_t* scope, TF_Output handle, TF_Operation* initializer,
                             const char* name, TF_DataType dtype, int rank, const int64_t* dims,
                             int trainable) {
  if (!leat_scope_is_ok(scope)) return;
  leat_scope_root_t* root = scope->root;
  if (root->variable_count == root->variable_capacity) {
    int capacity = root->variable_capacity ? 2 * root->variable_capacity : 16;
    void* grown = realloc(root->variables, (size_t)capacity * sizeof *root->variables);
    if (!grown) {
      leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for variable '%s'", name);
      return;
    }
    root->variables = grown;
    root->variable_capacity = capacity;
  }
  leat_variable_record_t* record = &root->variables[root->variable_count];
  *record = (leat_variable_record_t){handle, initializer, strdup(name), dtype,
                                     rank,   NULL,        trainable};
  record->dims = malloc((size_t)(rank + 1) * sizeof(int64_t));
  if (!record->name || !record->dims) {
    free(record->name);
    free(record->dims);
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for variable '%s'", name);
    return;
  }
  if (rank > 0) memcpy(record->dims, dims, (size_t)rank * sizeof(int64_t));
  ++root->variable_count;
}
