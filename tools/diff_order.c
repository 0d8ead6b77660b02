// Which operations leat diff looks at, and in which order: all that the step needs, each after what
// it reads and waits for. A walk from the fetches with a stack of its own lists an operation when
// all before it are listed. The edge that closes a loop, from a NextIteration to a Merge, is not
// followed from the Merge, but when the loop's Exit is reached, below which its body is listed.
//
// Within loops there is a value for each round, and within branches perhaps none, so that a step
// cannot fetch them. How deep an operation is follows from what it reads: Enter begins a loop and
// Exit ends it, Switch begins a branch and Merge ends it. Within a loop only loops are counted,
// because the Switch and Merge of the loop itself are no branches.
#include <stdlib.h>
#include <string.h>

#include "diff.h"

typedef struct index_s {
  const TF_Operation* operation;
  int place;  // in the order; -1: not listed yet
  bool is_open;  // what it reads is on the stack above it
} index_t;

typedef struct walk_s {
  diff_t* diff;
  const diff_step_t* step;
  index_t* index;  // of all operations, sorted by address
  int count;
  TF_Operation** stack;
  size_t depth, room;
  bool has_failed;  // there was no memory
} walk_t;

static int compare_index(const void* a, const void* b) {
  uintptr_t x = (uintptr_t)((const index_t*)a)->operation;
  uintptr_t y = (uintptr_t)((const index_t*)b)->operation;
  return x < y ? -1 : x > y;
}

static index_t* find(const walk_t* w, const TF_Operation* operation) {
  index_t key = {.operation = operation};
  return bsearch(&key, w->index, (size_t)w->count, sizeof key, compare_index);
}

// Whether it has that op, or the one for references ("RefSwitch").
static bool is_op(const TF_Operation* operation, const char* op) {
  const char* type = TF_OperationOpType((TF_Operation*)operation);
  return !strcmp(type, op) || (!strncmp(type, "Ref", 3) && !strcmp(type + 3, op));
}

static TF_Operation* input_of(const TF_Operation* operation, int index) {
  if (index >= TF_OperationNumInputs((TF_Operation*)operation)) return NULL;
  return TF_OperationInput((TF_Input){(TF_Operation*)operation, index}).oper;
}

// What |operation| waits for, a list to free; an empty one without memory.
static TF_Operation** control_inputs(walk_t* w, TF_Operation* operation, int* out_count) {
  int count = TF_OperationNumControlInputs(operation);
  TF_Operation** waits = malloc(sizeof *waits * (size_t)(count + 1));
  *out_count = waits ? TF_OperationGetControlInputs(operation, waits, count) : 0;
  w->has_failed |= !waits;
  return waits;
}

// Makes |node| as deep as what it reads or waits for.
static void deepen(const walk_t* w, diff_node_t* node, const TF_Operation* before) {
  const index_t* listed = find(w, before);
  if (listed->place < 0) return;  // by an edge that closes a loop
  const diff_node_t* other = &w->diff->nodes[listed->place];
  if (other->frames > node->frames) node->frames = other->frames;
  if (other->branches > node->branches) node->branches = other->branches;
}

static void count_depth(walk_t* w, diff_node_t* node) {
  TF_Operation* operation = node->operation;
  bool closes_loop = false;
  for (int i = 0; i < TF_OperationNumInputs(operation); ++i) {
    deepen(w, node, input_of(operation, i));
    closes_loop |= is_op(input_of(operation, i), "NextIteration");
  }
  int count;
  TF_Operation** waits = control_inputs(w, operation, &count);
  for (int i = 0; i < count; ++i) deepen(w, node, waits[i]);
  free(waits);
  if (is_op(operation, "Enter")) ++node->frames;
  if (is_op(operation, "Exit") && node->frames) --node->frames;
  if (node->frames == 0 && is_op(operation, "Switch")) ++node->branches;
  if (node->frames == 0 && is_op(operation, "Merge") && !closes_loop && node->branches) {
    --node->branches;
  }
  node->is_inside = node->frames || node->branches;
}

static void push(walk_t* w, TF_Operation* operation) {
  const index_t* at = find(w, operation);
  if (at->place >= 0 || at->is_open) return;
  if (w->depth == w->room) {
    size_t room = 2 * w->room + 64;
    TF_Operation** grown = realloc(w->stack, room * sizeof *grown);
    if (!grown) {
      w->has_failed = true;
      return;
    }
    w->stack = grown;
    w->room = room;
  }
  w->stack[w->depth++] = operation;
}

// Whether all that an operation gives is fed, so that it does not run.
static bool is_fed(const walk_t* w, const TF_Operation* operation) {
  int fed = 0;
  for (int i = 0; i < w->step->feed_count; ++i) fed += w->step->feeds[i].oper == operation;
  return fed && fed == TF_OperationNumOutputs((TF_Operation*)operation);
}

// Puts on the stack what gives the next value of the loop variable whose Merge this is.
static void push_next(walk_t* w, const TF_Operation* merge) {
  for (int i = 0; i < TF_OperationNumInputs((TF_Operation*)merge); ++i) {
    if (is_op(input_of(merge, i), "NextIteration")) push(w, input_of(merge, i));
  }
}

// Puts what |operation| reads and waits for, and is not listed yet, on the stack. What lies on top
// is listed first: of a loop the part that decides on the next round, and then the body.
static void push_inputs(walk_t* w, TF_Operation* operation) {
  int count;
  if (is_fed(w, operation)) return;
  TF_Operation** waits = control_inputs(w, operation, &count);
  for (int i = count; i-- > 0;) push(w, waits[i]);
  bool is_merge = is_op(operation, "Merge");
  if (is_op(operation, "Exit")) {
    const TF_Operation* merge = input_of(input_of(operation, 0), 0);  // through the Switch
    if (merge && is_op(merge, "Merge")) push_next(w, merge);
  }
  for (int i = TF_OperationNumInputs(operation); i-- > 0;) {
    TF_Operation* input = input_of(operation, i);
    if (!is_merge || !is_op(input, "NextIteration")) push(w, input);
  }
  free(waits);
}

static void list(walk_t* w) {
  while (w->depth) {
    TF_Operation* operation = w->stack[w->depth - 1];
    index_t* at = find(w, operation);
    if (at->place < 0 && !at->is_open) {
      at->is_open = true;
      push_inputs(w, operation);
      continue;
    }
    --w->depth;
    if (at->place >= 0) continue;
    diff_node_t* node = &w->diff->nodes[w->diff->node_count];
    *node = (diff_node_t){.operation = operation};
    count_depth(w, node);
    at->place = w->diff->node_count++;
  }
}

// An operation whose outputs nobody reads, but for constants and what changes a variable.
static bool is_end(TF_Operation* operation) {
  if (TF_OperationNumOutputs(operation) == 0 || is_op(operation, "Const")) return false;
  bool gives_reference = TF_OperationOutputType((TF_Output){operation, 0}) > 100;
  if (gives_reference && TF_OperationNumInputs(operation)) return false;
  for (int i = 0; i < TF_OperationNumOutputs(operation); ++i) {
    if (TF_OperationOutputNumConsumers((TF_Output){operation, i})) return false;
  }
  return true;
}

static void push_ends(walk_t* w) {
  size_t position = 0;
  TF_Operation* operation;
  while ((operation = TF_GraphNextOperation(w->diff->a.graph, &position))) {
    if (is_end(operation)) push(w, operation);
  }
}

// Makes the index of all operations. False without memory.
static bool make_index(walk_t* w) {
  size_t position = 0;
  TF_Operation* operation;
  while (TF_GraphNextOperation(w->diff->a.graph, &position)) ++w->count;
  w->index = calloc((size_t)w->count + 1, sizeof *w->index);
  w->diff->nodes = calloc((size_t)w->count + 1, sizeof *w->diff->nodes);
  if (!w->index || !w->diff->nodes) return false;
  position = 0;
  for (int i = 0; (operation = TF_GraphNextOperation(w->diff->a.graph, &position)); ++i) {
    w->index[i] = (index_t){.operation = operation, .place = -1};
  }
  qsort(w->index, (size_t)w->count, sizeof *w->index, compare_index);
  return true;
}

bool diff_order(diff_t* diff, const diff_step_t* step) {
  walk_t w = {.diff = diff, .step = step};
  w.has_failed = !make_index(&w);
  if (!w.has_failed) {
    if (step->fetch_count + step->target_count == 0) push_ends(&w);
    for (int i = step->fetch_count; i-- > 0;) push(&w, step->fetches[i].oper);
    for (int i = step->target_count; i-- > 0;) push(&w, (TF_Operation*)step->targets[i]);
    list(&w);
    // Loop variables without an Exit have bodies too.
    for (int i = 0; i < diff->node_count; ++i) {
      if (!is_op(diff->nodes[i].operation, "Merge")) continue;
      push_next(&w, diff->nodes[i].operation);
      list(&w);
    }
  }
  free(w.index);
  free(w.stack);
  return !w.has_failed;
}

int diff_find(const diff_t* diff, const TF_Operation* operation) {
  for (int i = 0; i < diff->node_count; ++i) {
    if (diff->nodes[i].operation == operation) return i;
  }
  return -1;
}

char* diff_name_of(const diff_t* diff, TF_Output output) {
  const char* name = TF_OperationName(output.oper);
  const char *from = diff->rename_from ? diff->rename_from : "", *to = "";
  size_t size = strlen(from);
  if (size && !strncmp(name, from, size)) {
    to = diff->rename_to;
    name += size;
  }
  size_t room = strlen(to) + strlen(name) + 16;
  char* text = malloc(room);
  if (text) snprintf(text, room, "%s%s:%d", to, name, output.index);
  return text;
}
