// The inspection leat inspect graph: prints the inputs, outputs, variables and ops of a graph, one
// node, or the whole graph as text. It works on the message through views (leat/inspect.h) and does
// not import the graph, so that a graph with ops that are not registered can be inspected too;
// these ops are pointed out.
//
// The listing keeps an array of the nodes sorted by name, with which the source of each input is
// found by binary search. A node whose outputs nobody reads counts as an output of the graph,
// unless it is a placeholder, a variable, a constant or a NoOp.
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "graph_file.h"
#include "inspect.h"
#include "json.h"
#include "view.h"

typedef struct node_s {
  leat_message_view_t view;
  name_t name, op;
  bool is_read;  // some node names it as an input
} node_t;

typedef struct op_count_s {
  name_t name;
  int count;
} op_count_t;

typedef struct listing_s {
  graph_file_t file;
  node_t* nodes;  // sorted by name
  size_t node_count;
  op_count_t* ops;  // sorted by count, the most frequent first
  size_t op_count;
  json_t* registered;  // the library's list of ops, as JSON; NULL: it could not be read
} listing_t;

static int compare_nodes(const void* a, const void* b) {
  return name_compare(((const node_t*)a)->name, ((const node_t*)b)->name);
}

static int compare_nodes_by_op(const void* a, const void* b) {
  const node_t *x = *(const node_t* const*)a, *y = *(const node_t* const*)b;
  return name_compare(x->op, y->op);
}

static int compare_counts(const void* a, const void* b) {
  const op_count_t *x = a, *y = b;
  if (x->count != y->count) return y->count - x->count;
  return name_compare(x->name, y->name);
}

static node_t* find_node(const listing_t* l, name_t name) {
  node_t key = {.name = name};
  return bsearch(&key, l->nodes, l->node_count, sizeof *l->nodes, compare_nodes);
}

// Reduces the name of an input to that of its node: "^name" and "name:1" become "name".
static name_t name_of_input(name_t input) {
  if (input.size && input.data[0] == '^') return (name_t){input.data + 1, input.size - 1};
  for (size_t i = input.size; i > 0; --i) {
    if (input.data[i - 1] == ':') return (name_t){input.data, i - 1};
  }
  return input;
}

// ---- Reading ------------------------------------------------------------------------------------

// Fills |l->nodes| and marks those that are read. Returns false when there is no memory.
static bool list_nodes(listing_t* l) {
  l->node_count = leat_message_count(l->file.graph, "node");
  l->nodes = calloc(l->node_count + 1, sizeof *l->nodes);
  if (!l->nodes) return false;
  for (size_t i = 0; i < l->node_count; ++i) {
    leat_message_view_t view = leat_message_child(l->file.graph, "node", i);
    l->nodes[i] = (node_t){view, view_string(view, "name", 0), view_string(view, "op", 0), false};
  }
  qsort(l->nodes, l->node_count, sizeof *l->nodes, compare_nodes);
  for (size_t i = 0; i < l->node_count; ++i) {
    size_t inputs = leat_message_count(l->nodes[i].view, "input");
    for (size_t k = 0; k < inputs; ++k) {
      node_t* source = find_node(l, name_of_input(view_string(l->nodes[i].view, "input", k)));
      if (source) source->is_read = true;
    }
  }
  return true;
}

// Counts the nodes of each op: sorts them by op, counts equal neighbours, and sorts the counts.
static bool count_ops(listing_t* l) {
  node_t** sorted = calloc(l->node_count + 1, sizeof *sorted);
  l->ops = calloc(l->node_count + 1, sizeof *l->ops);
  if (sorted && l->ops) {
    for (size_t i = 0; i < l->node_count; ++i) sorted[i] = &l->nodes[i];
    qsort(sorted, l->node_count, sizeof *sorted, compare_nodes_by_op);
    for (size_t i = 0; i < l->node_count; ++i) {
      if (!l->op_count || name_compare(l->ops[l->op_count - 1].name, sorted[i]->op)) {
        l->ops[l->op_count++] = (op_count_t){sorted[i]->op, 0};
      }
      ++l->ops[l->op_count - 1].count;
    }
    qsort(l->ops, l->op_count, sizeof *l->ops, compare_counts);
  }
  free(sorted);
  return sorted && l->ops;
}

static void close_listing(listing_t* l) {
  free(l->nodes);
  free(l->ops);
  json_free(l->registered);
  graph_file_close(&l->file);
}

static int open_listing(const char* path, listing_t* l) {
  TF_Status* status = TF_NewStatus();
  int code = EXIT_OK;
  if (!graph_file_open(path, &l->file, status)) {
    code = complain("%s", TF_Message(status));
  } else if (!list_nodes(l) || !count_ops(l)) {
    code = complain("no memory for %zu nodes", l->node_count);
  } else {
    TF_Buffer* ops = leat_ops_json(status);
    if (ops) l->registered = json_parse(ops->data, ops->length);
    TF_DeleteBuffer(ops);
  }
  TF_DeleteStatus(status);
  return code;
}

// An op is known if it is registered or if it is a function in the graph's library.
static bool is_known(const listing_t* l, name_t op) {
  for (const json_t* o = l->registered ? l->registered->first : NULL; o; o = o->next) {
    if (name_is(op, json_text(o, "name"))) return true;
  }
  leat_message_view_t library = leat_message_child(l->file.graph, "library", 0);
  for (size_t i = 0; i < leat_message_count(library, "function"); ++i) {
    leat_message_view_t function = leat_message_child(library, "function", i);
    leat_message_view_t signature = leat_message_child(function, "signature", 0);
    if (!name_compare(op, view_string(signature, "name", 0))) return true;
  }
  return false;
}

// ---- Kinds of nodes -----------------------------------------------------------------------------

static bool is_input(const node_t* node) {
  return name_is(node->op, "Placeholder") || name_is(node->op, "PlaceholderV2") ||
         name_is(node->op, "PlaceholderWithDefault");
}

static bool is_variable(const node_t* node) {
  return name_is(node->op, "Variable") || name_is(node->op, "VariableV2") ||
         name_is(node->op, "VarHandleOp");
}

static bool is_output(const node_t* node) {
  return !node->is_read && !is_input(node) && !name_is(node->op, "NoOp") &&
         !name_is(node->op, "Const") && !is_variable(node);
}

// Prints a node with its type and shape, which inputs and variables have as attributes.
static void print_typed(const node_t* node) {
  leat_message_view_t dtype = view_entry(node->view, "attr", "dtype");
  printf("  %-32.*s %s ", (int)node->name.size, node->name.data,
         element_type_name((TF_DataType)leat_message_integer(dtype, "type", 0)));
  view_print_shape(leat_message_child(view_entry(node->view, "attr", "shape"), "shape", 0));
  putchar('\n');
}

static void print_op_of(const node_t* node) {
  printf("  %-32.*s %.*s\n", (int)node->name.size, node->name.data, (int)node->op.size,
         node->op.data);
}

#define SHOWN 24  // nodes of a kind that are printed by name

// Prints the nodes for which |wanted| is true, under a title if there are any.
static void print_section(const listing_t* l, const char* title, bool (*wanted)(const node_t*),
                          void (*print)(const node_t*)) {
  size_t count = 0;
  for (size_t i = 0; i < l->node_count; ++i) {
    if (!wanted(&l->nodes[i])) continue;
    if (!count++) printf("%s%s%s\n", style_bold(stdout), title, style_end(stdout));
    if (count <= SHOWN) print(&l->nodes[i]);
  }
  if (count > SHOWN) printf("  and %zu more\n", count - SHOWN);
}

// ---- The inspection -----------------------------------------------------------------------------

static void print_ops(const listing_t* l) {
  printf("%sops%s\n", style_bold(stdout), style_end(stdout));
  for (size_t i = 0; i < l->op_count; ++i) {
    const op_count_t* op = &l->ops[i];
    printf("  %6d %.*s%s\n", op->count, (int)op->name.size, op->name.data,
           is_known(l, op->name) ? "" : "  (not registered here)");
  }
}

// Prints the graph for people.
static void print_summary(const listing_t* l, const char* path) {
  leat_message_view_t graph = l->file.graph;
  leat_message_view_t library = leat_message_child(graph, "library", 0);
  printf("%s: %s, %zu nodes, %zu kinds of op, %zu functions, %zu bytes, producer %lld\n", path,
         l->file.type, l->node_count, l->op_count, leat_message_count(library, "function"),
         l->file.bytes->length,
         (long long)leat_message_integer(leat_message_child(graph, "versions", 0), "producer", 0));
  print_section(l, "inputs", is_input, print_typed);
  print_section(l, "outputs (read by no node)", is_output, print_op_of);
  print_section(l, "variables", is_variable, print_typed);
  print_ops(l);
}

static void print_json_names(const listing_t* l, const char* title,
                             bool (*wanted)(const node_t*)) {
  bool first = true;
  printf(", \"%s\": [", title);
  for (size_t i = 0; i < l->node_count; ++i) {
    if (!wanted(&l->nodes[i])) continue;
    if (!first) fputs(", ", stdout);
    json_print_string(stdout, l->nodes[i].name.data, l->nodes[i].name.size);
    first = false;
  }
  putchar(']');
}

static void print_json(const listing_t* l) {
  leat_message_view_t versions = leat_message_child(l->file.graph, "versions", 0);
  printf("{\"message\": \"%s\", \"bytes\": %zu, \"nodes\": %zu, \"producer\": %lld",
         l->file.type, l->file.bytes->length, l->node_count,
         (long long)leat_message_integer(versions, "producer", 0));
  print_json_names(l, "inputs", is_input);
  print_json_names(l, "outputs", is_output);
  print_json_names(l, "variables", is_variable);
  fputs(", \"ops\": {", stdout);
  for (size_t i = 0; i < l->op_count; ++i) {
    if (i) fputs(", ", stdout);
    json_print_string(stdout, l->ops[i].name.data, l->ops[i].name.size);
    printf(": %d", l->ops[i].count);
  }
  fputs("}, \"not_registered\": [", stdout);
  bool first = true;
  for (size_t i = 0; i < l->op_count; ++i) {
    if (is_known(l, l->ops[i].name)) continue;
    if (!first) fputs(", ", stdout);
    json_print_string(stdout, l->ops[i].name.data, l->ops[i].name.size);
    first = false;
  }
  puts("]}");
}

static int print_text(leat_message_view_t view) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* text = leat_message_view_to_text(view, status);
  int code = EXIT_OK;
  if (text) {
    fwrite(text->data, 1, text->length, stdout);
  } else {
    code = complain("%s", TF_Message(status));
  }
  TF_DeleteBuffer(text);
  TF_DeleteStatus(status);
  return code;
}

// Prints what the options ask for.
static int show(const inspection_t* inspection, const listing_t* l) {
  if (inspection->text) return print_text(l->file.root);
  if (inspection->node) {
    name_t name = {inspection->node, strlen(inspection->node)};
    const node_t* node = find_node(l, name);
    if (node) return print_text(node->view);
    return complain("%s has no node '%s'", inspection->path, inspection->node);
  }
  if (inspection->json) {
    print_json(l);
  } else {
    print_summary(l, inspection->path);
  }
  return EXIT_OK;
}

int inspect_graph(const inspection_t* inspection) {
  listing_t listing = {0};
  int code = open_listing(inspection->path, &listing);
  if (!code) code = show(inspection, &listing);
  close_listing(&listing);
  return code;
}
