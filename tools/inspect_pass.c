// The inspection leat inspect graph --pass: prints what one pass of the optimizer does to a graph:
// the nodes that it removes, adds and rewires, and how many nodes each op has before and after. A
// pass works on a step. The one assumed fetches the outputs of every operation that no other reads
// or waits for, and runs such operations without outputs. An output that nobody reads of another
// operation is not fetched, because most steps have no use for it (the index of a Merge).
//
// The graph is imported into a session, and the library runs that pass alone and gives the graph
// before and after it. Nodes of the two graphs match if they have the same device, name and op:
//
//     before ──┬── removed            no match after
//              └── matched ── rewired  if their inputs differ
//     after  ───── added              no match before
//
// A session with several CPU devices serves the passes that work on what each device gets.
#include <stdlib.h>
#include <string.h>

#include "graph_file.h"
#include "inspect.h"
#include "json.h"

typedef struct name_s {
  const char* data;
  size_t size;
} name_t;

typedef struct node_s {
  name_t device, name, op;
  leat_message_view_t view;
  bool is_in_other;  // it has a match in the other graph
  bool is_rewired;   // its match has other inputs
} node_t;

typedef struct side_s {
  TF_Buffer* bytes;
  leat_message_t* message;
  node_t* nodes;  // sorted by device and name; after visit_ops by op
  size_t count;
} side_t;

typedef struct show_s {
  const inspection_t* inspection;
  TF_Status* status;
  TF_Graph* graph;
  TF_Session* session;
  TF_Output* fetches;
  const TF_Operation** targets;
  int fetch_count, target_count;
  side_t sides[2];  // before and after the pass
  TF_Buffer* passes;  // of "all": what each pass does, as leat_passes_explain tells it
} show_t;

static name_t string_of(leat_message_view_t view, const char* field, size_t index) {
  name_t name;
  name.data = leat_message_string(view, field, index, &name.size);
  return name;
}

static int compare_names(name_t a, name_t b) {
  size_t size = a.size < b.size ? a.size : b.size;
  int order = size ? memcmp(a.data, b.data, size) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_nodes(const void* a, const void* b) {
  const node_t *x = a, *y = b;
  int order = compare_names(x->device, y->device);
  return order ? order : compare_names(x->name, y->name);
}

static int compare_ops(const void* a, const void* b) {
  return compare_names(((const node_t*)a)->op, ((const node_t*)b)->op);
}

static int failed(const show_t* s, const char* what) { return complain_status(what, s->status); }

// ---- The step -----------------------------------------------------------------------------------

// Returns the GraphDef of the file. One inside a MetaGraphDef or SavedModel goes through text,
// because a view can only be written as text.
static TF_Buffer* read_graph_def(show_t* s) {
  graph_file_t file;
  if (!graph_file_open(s->inspection->path, &file, s->status)) return NULL;
  TF_Buffer* bytes = NULL;
  if (!strcmp(file.type, "GraphDef")) {
    bytes = file.bytes;
    file.bytes = NULL;
  } else {
    TF_Buffer* text = leat_message_view_to_text(file.graph, s->status);
    if (text) bytes = leat_message_from_text("GraphDef", text, s->status);
    TF_DeleteBuffer(text);
  }
  graph_file_close(&file);
  return bytes;
}

// Opens a session with as many CPU devices as were asked for.
static int open_session(show_t* s) {
  char config[80];
  int size = snprintf(config, sizeof config, "device_count { key: 'CPU' value: %d }",
                      s->inspection->devices);
  TF_Buffer* text = TF_NewBufferFromString(config, (size_t)size);
  TF_Buffer* bytes = leat_message_from_text("ConfigProto", text, s->status);
  TF_DeleteBuffer(text);
  if (!bytes) return failed(s, "reading the configuration");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, bytes->data, bytes->length, s->status);
  TF_DeleteBuffer(bytes);
  s->session = TF_NewSession(s->graph, options, s->status);
  TF_DeleteSessionOptions(options);
  return s->session ? EXIT_OK : failed(s, "opening a session");
}

static int import(show_t* s) {
  TF_Buffer* bytes = read_graph_def(s);
  if (!bytes) return complain("%s", TF_Message(s->status));
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(s->graph, bytes, options, s->status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
  if (TF_GetCode(s->status) != TF_OK) return failed(s, s->inspection->path);
  return open_session(s);
}

// Whether no other operation reads or waits for this one.
static bool is_end(TF_Operation* operation) {
  for (int i = 0; i < TF_OperationNumOutputs(operation); ++i) {
    if (TF_OperationOutputNumConsumers((TF_Output){operation, i})) return false;
  }
  return !TF_OperationNumControlOutputs(operation);
}

// Sets the fetches to the outputs of the ends of the graph, and the targets to the ends without.
static int find_ends(show_t* s) {
  size_t outputs = 0, operations = 0, position = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(s->graph, &position)); ++operations) {
    outputs += (size_t)TF_OperationNumOutputs(o);
  }
  s->fetches = calloc(outputs + 1, sizeof *s->fetches);
  s->targets = calloc(operations + 1, sizeof *s->targets);
  if (!s->fetches || !s->targets) return complain("no memory for %zu nodes", operations);
  position = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(s->graph, &position));) {
    if (!is_end(o)) continue;
    int count = TF_OperationNumOutputs(o);
    if (!count) s->targets[s->target_count++] = o;
    for (int i = 0; i < count; ++i) s->fetches[s->fetch_count++] = (TF_Output){o, i};
  }
  return EXIT_OK;
}

// ---- The graphs before and after ----------------------------------------------------------------

static bool list_nodes(show_t* s, side_t* side) {
  side->message = leat_message_open("GraphDef", side->bytes, s->status);
  if (!side->message) return false;
  leat_message_view_t graph = leat_message_view(side->message);
  side->count = leat_message_count(graph, "node");
  side->nodes = calloc(side->count + 1, sizeof *side->nodes);
  for (size_t i = 0; side->nodes && i < side->count; ++i) {
    leat_message_view_t view = leat_message_child(graph, "node", i);
    side->nodes[i] = (node_t){string_of(view, "device", 0), string_of(view, "name", 0),
                              string_of(view, "op", 0), view, false, false};
  }
  if (side->nodes) qsort(side->nodes, side->count, sizeof *side->nodes, compare_nodes);
  return side->nodes != NULL;
}

static bool same_inputs(const node_t* a, const node_t* b) {
  size_t count = leat_message_count(a->view, "input");
  if (leat_message_count(b->view, "input") != count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (compare_names(string_of(a->view, "input", i), string_of(b->view, "input", i))) {
      return false;
    }
  }
  return true;
}

// Finds the match of each node by binary search, and compares their inputs.
static void match_nodes(side_t* before, side_t* after) {
  for (size_t i = 0; i < after->count; ++i) {
    node_t* node = &after->nodes[i];
    node_t* other =
        bsearch(node, before->nodes, before->count, sizeof *before->nodes, compare_nodes);
    if (!other || compare_names(other->op, node->op)) continue;
    other->is_in_other = node->is_in_other = true;
    node->is_rewired = !same_inputs(other, node);
  }
}

static bool is_lost(const node_t* node) { return !node->is_in_other; }
static bool is_rewired(const node_t* node) { return node->is_rewired; }

static size_t count_of(const side_t* side, bool (*wanted)(const node_t*)) {
  size_t count = 0;
  for (size_t i = 0; i < side->count; ++i) count += wanted(&side->nodes[i]);
  return count;
}

// ---- Printing -----------------------------------------------------------------------------------

#define SHOWN 24  // nodes of a kind that are printed by name

static void print_nodes(const char* title, const side_t* side, bool (*wanted)(const node_t*)) {
  size_t count = count_of(side, wanted), shown = 0;
  if (!count) return;
  printf("%s%s%s\n", style_bold(stdout), title, style_end(stdout));
  for (size_t i = 0; i < side->count && shown < SHOWN; ++i) {
    const node_t* node = &side->nodes[i];
    if (!wanted(node)) continue;
    printf("  %-40.*s %.*s\n", (int)node->name.size, node->name.data, (int)node->op.size,
           node->op.data);
    ++shown;
  }
  if (count > shown) printf("  and %zu more\n", count - shown);
}

// Calls |print| for each op with its number of nodes in both graphs. It sorts the nodes by op and
// merges the two lists.
static void visit_ops(show_t* s, void (*print)(name_t op, size_t before, size_t after)) {
  side_t *before = &s->sides[0], *after = &s->sides[1];
  qsort(before->nodes, before->count, sizeof(node_t), compare_ops);
  qsort(after->nodes, after->count, sizeof(node_t), compare_ops);
  for (size_t b = 0, a = 0; b < before->count || a < after->count;) {
    bool from_after = b == before->count ||
                      (a < after->count &&
                       compare_names(after->nodes[a].op, before->nodes[b].op) < 0);
    name_t op = from_after ? after->nodes[a].op : before->nodes[b].op;
    size_t counts[2] = {b, a};
    while (b < before->count && !compare_names(before->nodes[b].op, op)) ++b;
    while (a < after->count && !compare_names(after->nodes[a].op, op)) ++a;
    print(op, b - counts[0], a - counts[1]);
  }
}

static void print_op(name_t op, size_t before, size_t after) {
  if (before == after) return;
  printf("  %6zu -> %6zu %.*s\n", before, after, (int)op.size, op.data);
}

// Prints what each pass did, and the rules that it used.
static void print_passes(const json_t* passes) {
  for (const json_t* p = passes->first; p; p = p->next) {
    const char *removed = json_text(p, "removed"), *added = json_text(p, "added");
    const json_t* rules = json_member(p, "rules");
    if (!strcmp(removed, "0") && !strcmp(added, "0")) continue;
    printf("  %-15s %6s removed, %6s added\n", json_text(p, "pass"), removed, added);
    for (const json_t* r = rules ? rules->first : NULL; r; r = r->next) {
      printf("      %4s x %-24s %s\n", json_text(r, "times"), json_text(r, "rule"),
             json_text(r, "doc"));
    }
  }
}

static void print_summary(show_t* s) {
  const side_t *before = &s->sides[0], *after = &s->sides[1];
  printf("%s, pass %s: %zu -> %zu nodes, %zu removed, %zu added, %zu rewired\n",
         s->inspection->path, s->inspection->pass, before->count, after->count,
         count_of(before, is_lost), count_of(after, is_lost), count_of(after, is_rewired));
  if (s->passes) {
    json_t* passes = json_parse(s->passes->data, s->passes->length);
    printf("%spasses%s\n", style_bold(stdout), style_end(stdout));
    if (passes) print_passes(passes);
    json_free(passes);
  }
  print_nodes("removed", before, is_lost);
  print_nodes("added", after, is_lost);
  print_nodes("rewired", after, is_rewired);
  printf("%sops%s\n", style_bold(stdout), style_end(stdout));
  visit_ops(s, print_op);
}

static void print_json_nodes(const char* title, const side_t* side,
                             bool (*wanted)(const node_t*)) {
  bool first = true;
  printf(", \"%s\": [", title);
  for (size_t i = 0; i < side->count; ++i) {
    if (!wanted(&side->nodes[i])) continue;
    if (!first) fputs(", ", stdout);
    json_print_string(stdout, side->nodes[i].name.data, side->nodes[i].name.size);
    first = false;
  }
  putchar(']');
}

// Set before visit_ops, whose callback has no argument for it.
static const char* op_separator;

static void print_json_op(name_t op, size_t before, size_t after) {
  fputs(op_separator, stdout);
  op_separator = ", ";
  json_print_string(stdout, op.data, op.size);
  printf(": [%zu, %zu]", before, after);
}

static void print_json(show_t* s) {
  printf("{\"pass\": \"%s\", \"nodes\": [%zu, %zu]", s->inspection->pass, s->sides[0].count,
         s->sides[1].count);
  print_json_nodes("removed", &s->sides[0], is_lost);
  print_json_nodes("added", &s->sides[1], is_lost);
  print_json_nodes("rewired", &s->sides[1], is_rewired);
  if (s->passes) {
    printf(", \"passes\": %.*s", (int)s->passes->length, (const char*)s->passes->data);
  }
  fputs(", \"ops\": {", stdout);
  op_separator = "";
  visit_ops(s, print_json_op);
  puts("}}");
}

// ---- The inspection -----------------------------------------------------------------------------

// Prints the name, the stage and the purpose of each pass; those that run by default have a star.
static int list_passes(const inspection_t* inspection) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* bytes = leat_passes_json(status);
  json_t* passes = bytes ? json_parse(bytes->data, bytes->length) : NULL;
  const int code = passes ? EXIT_OK : complain("no memory for the list of passes");
  if (passes && inspection->json) printf("%.*s", (int)bytes->length, (const char*)bytes->data);
  for (const json_t* p = passes && !inspection->json ? passes->first : NULL; p; p = p->next) {
    const json_t* is_default = json_member(p, "default");
    printf("%c %-15s %-11s %s\n", is_default && is_default->truth ? '*' : ' ',
           json_text(p, "name"), json_text(p, "stage"), json_text(p, "doc"));
  }
  json_free(passes);
  TF_DeleteBuffer(bytes);
  TF_DeleteStatus(status);
  return code;
}

// Complains that there is no such pass, and lists those that there are.
static int complain_of_pass(const show_t* s) {
  char names[300] = "";
  TF_Status* status = TF_NewStatus();
  TF_Buffer* bytes = leat_passes_json(status);
  json_t* passes = bytes ? json_parse(bytes->data, bytes->length) : NULL;
  for (const json_t* p = passes ? passes->first : NULL; p; p = p->next) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", json_text(p, "name"));
  }
  json_free(passes);
  TF_DeleteBuffer(bytes);
  TF_DeleteStatus(status);
  return complain_usage("inspect", "'%s' is no pass, must be all or one of %s", s->inspection->pass,
                        names);
}

static int show(show_t* s) {
  int code = import(s);
  if (!code) code = find_ends(s);
  if (code) return code;
  for (int i = 0; i < 2; ++i) s->sides[i].bytes = TF_NewBuffer();
  leat_pass_show(s->session, s->inspection->pass, s->fetches, s->fetch_count, s->targets,
                 s->target_count, s->sides[0].bytes, s->sides[1].bytes, s->status);
  if (TF_GetCode(s->status) == TF_NOT_FOUND) return complain_of_pass(s);
  if (TF_GetCode(s->status) == TF_OK && !strcmp(s->inspection->pass, "all")) {
    s->passes = leat_passes_explain(s->session, s->fetches, s->fetch_count, s->targets,
                                    s->target_count, s->status);
  }
  if (TF_GetCode(s->status) != TF_OK) return failed(s, "running the pass");
  if (!list_nodes(s, &s->sides[0]) || !list_nodes(s, &s->sides[1])) {
    return complain("no memory for the graphs");
  }
  match_nodes(&s->sides[0], &s->sides[1]);
  if (s->inspection->json) {
    print_json(s);
  } else {
    print_summary(s);
  }
  return EXIT_OK;
}

int inspect_pass(const inspection_t* inspection) {
  if (!strcmp(inspection->pass, "list")) return list_passes(inspection);
  show_t s = {.inspection = inspection, .status = TF_NewStatus(), .graph = TF_NewGraph()};
  int code = show(&s);
  for (int i = 0; i < 2; ++i) {
    free(s.sides[i].nodes);
    leat_message_close(s.sides[i].message);
    TF_DeleteBuffer(s.sides[i].bytes);
  }
  TF_DeleteBuffer(s.passes);
  if (s.session) TF_DeleteSession(s.session, s.status);
  free(s.fetches);
  free(s.targets);
  TF_DeleteGraph(s.graph);
  TF_DeleteStatus(s.status);
  return code;
}
