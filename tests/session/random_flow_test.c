// Random structured programs: conditions and loops in each other, over scalars of int32 and vectors
// of float. Each is built into a graph of Switch, Merge, Enter, Exit and NextIteration and also
// interpreted here. Whatever the executor, the number of threads and the optimizer, for feeds that
// lead other ways, with some variables fetched or all, and with traced steps in between, they end
// as the interpreter says. Every fifth program lies on two devices, loops and all.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/flow.h"
#include "slowdown.h"
#include "trace/collector.h"

enum {
  kPrograms = 300,
  kInts = 4,
  kVars = 8,         // kInts of int32, the others of float
  kMaxWidth = 40,
  kStatements = 26,  // most in a program
  kDepth = 3,
  kBlocks = 2 * kStatements + 1,
  kNone = -1,
};

typedef enum kind_e { DO_ASSIGN, DO_COPY, DO_ROTATE, DO_IF, DO_WHILE, KIND_COUNT } kind_t;
typedef enum op_e { OP_ADD, OP_SUB, OP_MAXIMUM, OP_MINIMUM, OP_NEG, OP_CONVERT, OP_COUNT } op_t;

typedef struct statement_s {
  kind_t kind;
  op_t op;
  int target;         // ASSIGN, COPY; IF: gets the value index of a Merge, or kNone
  int a, b;           // operands; kNone: |value|
  int value;
  int rotated[3];     // ROTATE: each becomes the next one
  int compare;        // IF, WHILE: less, greater, equal
  int limit;          // WHILE: at most so often; times a variable mod 4 if |limited_by| is one
  int limited_by;
  bool tests_limit;   // WHILE: the limit is computed in the condition
  bool tests_more;    // WHILE: and the comparison must hold
  int counter;        // WHILE: gets the counter in the body, or kNone
  int total;          // WHILE: gets the counter afterwards, or kNone
  bool merges_all;    // IF: also what no branch writes
  bool swaps_sides;   // IF: the Merges read the true side first
  uint32_t carried;   // WHILE: variables of the loop that nobody writes
  int blocks[2];      // IF: false, true; WHILE: the body
  uint32_t reads, writes;
  int next;           // in its block
} statement_t;

typedef struct values_s {
  int32_t ints[kInts];
  float floats[kVars][kMaxWidth];
} values_t;

typedef struct program_s {
  statement_t statements[kStatements];
  int statement_count;
  int blocks[kBlocks];  // first statement
  int block_count;
  int width;
  bool is_fed[kVars];   // else it starts as a constant, the same in |inputs|
  values_t inputs[2], outputs[2];
  leat_output_t feeds[kVars], fetches[kVars];
} program_t;

static uint64_t seed;
static int draw(int below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((seed >> 33) % (uint64_t)below);
}

static bool is_int(int variable) { return variable < kInts; }
static int draw_like(int variable) {
  return is_int(variable) ? draw(kInts) : kInts + draw(kVars - kInts);
}
static uint32_t bit(int variable) { return variable == kNone ? 0 : UINT32_C(1) << variable; }

// ---- Programs -----------------------------------------------------------------------------------

static int describe_block(program_t* p, int depth, int most, uint32_t* reads, uint32_t* writes);

static void describe_assignment(statement_t* s) {
  s->target = draw(kVars);
  s->op = (op_t)draw(OP_COUNT);
  s->a = draw_like(s->target);
  s->b = s->op == OP_CONVERT ? draw(kInts) : draw_like(s->target);
  if (s->op != OP_CONVERT && !draw(3)) s->b = kNone;
  if (s->kind == DO_COPY && !draw(4)) s->a = kNone;
  s->reads = bit(s->a) | (s->kind == DO_ASSIGN && s->op != OP_NEG ? bit(s->b) : 0);
  s->writes = bit(s->target);
}

static void describe_rotation(statement_t* s) {
  int first = draw(kVars);
  for (int i = 0; i < 3; ++i) s->rotated[i] = draw_like(first);
  for (int i = 0; i < 3; ++i) s->reads |= bit(s->rotated[i]);
  s->writes = s->reads;
}

static void describe_if(program_t* p, statement_t* s, int depth) {
  s->compare = draw(3);
  s->a = draw(kInts);
  s->b = draw(2) ? draw(kInts) : kNone;
  s->merges_all = !draw(4);
  s->swaps_sides = draw(2);
  for (int k = 0; k < 2; ++k) {
    s->blocks[k] = describe_block(p, depth + 1, 4, &s->reads, &s->writes);
  }
  s->target = s->writes && !draw(4) ? draw(kInts) : kNone;
  s->reads |= bit(s->a) | bit(s->b);
}

static void describe_while(program_t* p, statement_t* s, int depth) {
  s->limit = draw(4);
  s->limited_by = draw(2) ? draw(kInts) : kNone;
  s->tests_limit = draw(2);
  s->tests_more = !draw(3);
  s->compare = draw(3);
  s->a = draw(kInts);
  s->b = kNone;
  s->counter = draw(3) ? kNone : draw(kInts);
  s->total = draw(4) ? kNone : draw(kInts);
  s->carried = (uint32_t)draw(1 << kVars);
  s->blocks[0] = describe_block(p, depth + 1, 5, &s->reads, &s->writes);
  s->writes |= bit(s->counter);
  s->reads |= bit(s->limited_by) | (s->tests_more ? bit(s->a) : 0);
}

static int describe_block(program_t* p, int depth, int most, uint32_t* reads, uint32_t* writes) {
  int block = p->block_count++, count = draw(most + 1), *link = &p->blocks[block];
  if (depth == 0) count = 4 + draw(5);
  *link = kNone;
  while (count-- > 0 && p->statement_count < kStatements) {
    *link = p->statement_count;
    statement_t* s = &p->statements[p->statement_count++];
    *s = (statement_t){.next = kNone, .value = draw(9) - 4};
    s->kind = (kind_t)(draw(3) ? draw(KIND_COUNT) : DO_IF + draw(2));
    if (depth == kDepth && s->kind >= DO_IF) s->kind = DO_ASSIGN;
    if (s->kind <= DO_COPY) describe_assignment(s);
    if (s->kind == DO_ROTATE) describe_rotation(s);
    if (s->kind == DO_IF) describe_if(p, s, depth);
    if (s->kind == DO_WHILE) describe_while(p, s, depth);
    *reads |= s->reads;
    *writes |= s->writes;
    if (s->kind == DO_IF) *writes |= bit(s->target);
    if (s->kind == DO_WHILE) *writes |= bit(s->total);
    link = &s->next;
  }
  return block;
}

static void describe(program_t* p) {
  uint32_t reads = 0, writes = 0;
  memset(p, 0, sizeof *p);
  static const int widths[] = {1, 4, kMaxWidth};
  p->width = widths[draw(3)];
  describe_block(p, 0, 0, &reads, &writes);
  for (int v = 0; v < kVars; ++v) {
    p->is_fed[v] = draw(3);
    for (int run = 0; run < 2; ++run) {
      if (run && !p->is_fed[v]) {
        if (is_int(v)) p->inputs[1].ints[v] = p->inputs[0].ints[v];
        memcpy(p->inputs[1].floats[v], p->inputs[0].floats[v], sizeof p->inputs[0].floats[v]);
      } else if (is_int(v)) {
        p->inputs[run].ints[v] = draw(13) - 6;
      } else {
        for (int k = 0; k < p->width; ++k) p->inputs[run].floats[v][k] = (float)(draw(41) - 20);
      }
    }
  }
}

// ---- The interpreter ----------------------------------------------------------------------------

static int floor_mod(int a, int b) { return (a % b + b) % b; }

static float wrap(float x) {
  float rest = fmodf(x, 64);
  return rest < 0 ? rest + 64 : rest;
}

static float apply_float(op_t op, float a, float b) {
  switch (op) {
    case OP_ADD: return wrap(a + b);
    case OP_SUB: return wrap(a - b);
    case OP_MAXIMUM: return a > b ? a : b;
    case OP_MINIMUM: return a < b ? a : b;
    case OP_NEG: return -a;
    default: return wrap(a + b);
  }
}

static int32_t apply_int(op_t op, int32_t a, int32_t b) {
  switch (op) {
    case OP_ADD: return (int32_t)((uint32_t)a + (uint32_t)b);
    case OP_SUB: return (int32_t)((uint32_t)a - (uint32_t)b);
    case OP_MAXIMUM: return a > b ? a : b;
    case OP_MINIMUM: return a < b ? a : b;
    case OP_NEG: return (int32_t)-(uint32_t)a;
    default: return (int32_t)((uint32_t)a * (uint32_t)b);
  }
}

static void assign(const program_t* p, const statement_t* s, values_t* v) {
  bool copies = s->kind == DO_COPY;
  if (is_int(s->target)) {
    int32_t a = s->a == kNone ? s->value : v->ints[s->a];
    int32_t b = s->b == kNone ? s->value : v->ints[s->b];
    v->ints[s->target] = copies ? a : apply_int(s->op, a, b);
    return;
  }
  for (int k = 0; k < p->width; ++k) {
    float a = s->a == kNone ? (float)s->value : v->floats[s->a][k];
    float b = s->b == kNone ? (float)s->value
                            : is_int(s->b) ? (float)v->ints[s->b] : v->floats[s->b][k];
    v->floats[s->target][k] = copies ? a : apply_float(s->op, a, b);
  }
}

static void rotate(const statement_t* s, values_t* v) {
  values_t old = *v;
  for (int i = 0; i < 3; ++i) {
    int to = s->rotated[i], from = s->rotated[(i + 1) % 3];
    if (is_int(to)) v->ints[to] = old.ints[from];
    if (!is_int(to)) memcpy(v->floats[to], old.floats[from], sizeof old.floats[from]);
  }
}

static bool compares(const statement_t* s, const values_t* v) {
  int32_t a = v->ints[s->a], b = s->b == kNone ? s->value : v->ints[s->b];
  return s->compare == 0 ? a < b : s->compare == 1 ? a > b : a == b;
}

static void interpret(const program_t* p, int block, values_t* v);

static int limit_of(const statement_t* s, const values_t* v) {
  return s->limited_by == kNone ? s->limit : floor_mod(v->ints[s->limited_by], 4);
}

static void interpret_while(const program_t* p, const statement_t* s, values_t* v) {
  int limit = limit_of(s, v), count = 0;
  for (;; ++count) {
    if (s->tests_limit) limit = limit_of(s, v);
    if (count >= limit || (s->tests_more && !compares(s, v))) break;
    if (s->counter != kNone) v->ints[s->counter] = count;
    interpret(p, s->blocks[0], v);
  }
  if (s->total != kNone) v->ints[s->total] = count;
}

static void interpret(const program_t* p, int block, values_t* v) {
  for (int i = p->blocks[block]; i != kNone; i = p->statements[i].next) {
    const statement_t* s = &p->statements[i];
    if (s->kind <= DO_COPY) assign(p, s, v);
    if (s->kind == DO_ROTATE) rotate(s, v);
    if (s->kind == DO_WHILE) interpret_while(p, s, v);
    if (s->kind == DO_IF) {
      bool taken = compares(s, v);
      interpret(p, s->blocks[taken], v);
      if (s->target != kNone) v->ints[s->target] = taken != s->swaps_sides;
    }
  }
}

// ---- The graph ----------------------------------------------------------------------------------

// A branch, a condition or a body: what the variables are there.
typedef struct context_s {
  scene_t* scene;
  const program_t* program;
  leat_output_t values[kVars];
  int32_t pivot;  // live when the place is; kNone: always
  int32_t last;   // a node built here earlier, or kNone
  const struct context_s* around;  // of a branch; NULL elsewhere
  leat_output_t entered[kVars];    // of a branch: what the variables were first
} context_t;

// Orders some nodes by control edges too.
static leat_output_t built(context_t* c, leat_output_t output) {
  if (c->last != kNone && !draw(5)) scene_after(c->scene, output.node, c->last);
  c->last = output.node;
  return output;
}

static leat_output_t build_constant(context_t* c, bool is_int, bool whole, int value) {
  float values[kMaxWidth];
  leat_output_t constant;
  if (is_int) {
    constant = flow_int(c->scene, value);
  } else {
    for (int k = 0; k < kMaxWidth; ++k) values[k] = (float)value;
    constant = scene_floats(c->scene, whole ? c->program->width : 1, values);
  }
  if (c->pivot != kNone) scene_after(c->scene, constant.node, c->pivot);
  if (c->pivot != kNone && c->last != kNone && !draw(3)) {
    scene_after(c->scene, constant.node, c->last);
  }
  return constant;
}

static leat_output_t binary(context_t* c, const char* op, leat_output_t a, leat_output_t b) {
  int device = c->scene->options.cpu_device_count < 2 || draw(2) ? -1 : draw(2);
  return scene_binary(c->scene, op, device, a, b);
}

static leat_output_t build_assignment(context_t* c, const statement_t* s) {
  static const char* const ops[] = {"AddV2", "Sub", "Maximum", "Minimum", "Neg", "AddV2"};
  bool ints = is_int(s->target);
  if (s->kind == DO_COPY) {
    if (s->a == kNone) return build_constant(c, ints, true, s->value);
    if (draw(2)) return c->values[s->a];
    return scene_unary(c->scene, "Identity", -1, c->values[s->a]);
  }
  leat_output_t a = c->values[s->a];
  if (s->op == OP_NEG) return scene_unary(c->scene, "Neg", -1, a);
  leat_output_t b = s->b == kNone ? build_constant(c, ints, draw(2), s->value) : c->values[s->b];
  if (s->op == OP_CONVERT && ints) return binary(c, "Mul", a, b);
  if (s->op == OP_CONVERT) {
    b = scene_output(c->scene, "Cast", "", "", LEAT_INPUTS(b),
                     LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
  }
  leat_output_t result = binary(c, ops[s->op], a, b);
  if (ints || s->op == OP_MAXIMUM || s->op == OP_MINIMUM) return result;
  return binary(c, "FloorMod", result, build_constant(c, false, draw(2), 64));
}

static leat_output_t build_comparison(context_t* c, const statement_t* s) {
  static const char* const ops[] = {"Less", "Greater", "Equal"};
  leat_output_t b = s->b == kNone ? build_constant(c, true, true, s->value) : c->values[s->b];
  return binary(c, ops[s->compare], c->values[s->a], b);
}

static void build_block(context_t* c, int block);

// What the branches of |s| read or write.
static void used_in_branches(const program_t* p, const statement_t* s, uint32_t* reads,
                             uint32_t* writes) {
  for (int k = 0; k < 2; ++k) {
    for (int i = p->blocks[s->blocks[k]]; i != kNone; i = p->statements[i].next) {
      const statement_t* inner = &p->statements[i];
      *reads |= inner->reads;
      *writes |= inner->writes;
      if (inner->kind == DO_IF) *writes |= bit(inner->target);
      if (inner->kind == DO_WHILE) *writes |= bit(inner->total);
    }
  }
}

static void build_if(context_t* c, const statement_t* s) {
  uint32_t reads = 0, writes = 0;
  used_in_branches(c->program, s, &reads, &writes);
  leat_output_t pred = build_comparison(c, s), index = LEAT_OUTPUT_NONE;
  int32_t pivots = flow_switch(c->scene, pred, pred, 0).node;
  context_t sides[2];
  for (int k = 0; k < 2; ++k) {
    sides[k] = *c;
    sides[k].around = c;
    sides[k].pivot = scene_unary(c->scene, "Identity", -1, leat_node_output(pivots, k)).node;
    sides[k].last = draw(2) ? sides[k].pivot : kNone;
  }
  for (int v = 0; v < kVars; ++v) {
    if (!((reads | writes) & bit(v))) continue;
    int32_t node = flow_switch(c->scene, c->values[v], pred, 0).node;
    for (int k = 0; k < 2; ++k) {
      sides[k].values[v] = sides[k].entered[v] = leat_node_output(node, k);
    }
  }
  for (int k = 0; k < 2; ++k) build_block(&sides[k], s->blocks[k]);
  for (int v = 0; v < kVars; ++v) {
    if (!((writes | (s->merges_all ? reads : 0)) & bit(v))) continue;
    leat_output_t merge = flow_merge(c->scene, sides[s->swaps_sides].values[v],
                                     sides[!s->swaps_sides].values[v]);
    c->values[v] = built(c, merge);
    if ((writes & bit(v)) && !leat_output_exists(index)) index = flow_index(merge);
  }
  if (s->target != kNone) c->values[s->target] = index;
}

// In a branch a loop may also read what is live outside.
static leat_output_t loop_input(const context_t* c, int v) {
  bool unchanged = c->around && c->entered[v].node == c->values[v].node &&
                   c->entered[v].index == c->values[v].index;
  return unchanged && !draw(3) ? c->around->values[v] : c->values[v];
}

static leat_output_t build_limit(context_t* c, const statement_t* s) {
  if (s->limited_by == kNone) return build_constant(c, true, true, s->limit);
  return binary(c, "FloorMod", c->values[s->limited_by], build_constant(c, true, true, 4));
}

static leat_output_t gated(context_t* c, leat_output_t x) {
  leat_output_t identity = scene_unary(c->scene, "Identity", -1, x);
  scene_after(c->scene, identity.node, c->pivot);
  return identity;
}

static void build_while(context_t* c, const statement_t* s) {
  static int frames;
  char frame[32];
  snprintf(frame, sizeof frame, "loop%d", frames++);
  uint32_t carried = s->writes | (s->reads & s->carried), uses = s->reads | s->writes;
  int places[kVars];
  leat_output_t limit = LEAT_OUTPUT_NONE, initial[kVars + 1] = {build_constant(c, true, true, 0)};
  if (!s->tests_limit) limit = build_limit(c, s);
  int count = 1;
  for (int v = 0; v < kVars; ++v) {
    places[v] = carried & bit(v) ? count++ : kNone;
    if (places[v] != kNone) initial[places[v]] = loop_input(c, v);
  }
  flow_loop_t loop;
  flow_loop_open(c->scene, frame, (leat_outputs_t){initial, count}, &loop);
  context_t in = {.scene = c->scene, .program = c->program, .last = kNone};
  in.pivot = loop.merges[0].node;
  for (int v = 0; v < kVars; ++v) {
    if (places[v] != kNone) {
      in.values[v] = loop.values[places[v]];
    } else if (uses & bit(v)) {
      in.values[v] = flow_loop_invariant(&loop, loop_input(c, v));
    }
  }
  limit = s->tests_limit ? build_limit(&in, s) : flow_loop_invariant(&loop, limit);
  leat_output_t more = binary(&in, "Less", loop.values[0], limit);
  if (s->tests_more) more = binary(&in, "LogicalAnd", more, build_comparison(&in, s));
  flow_loop_test(&loop, more);
  in.pivot = loop.pivot;
  for (int v = 0; v < kVars; ++v) {
    if (places[v] != kNone) in.values[v] = loop.values[places[v]];
  }
  if (s->counter != kNone) in.values[s->counter] = loop.values[0];
  // What goes on must not be live when the loop ends, as invariants are.
  bool gates_first = draw(2);
  for (int v = 0; gates_first && v < kVars; ++v) {
    if (places[v] == kNone && (uses & bit(v))) in.values[v] = gated(&in, in.values[v]);
  }
  build_block(&in, s->blocks[0]);
  leat_output_t one = build_constant(&in, true, true, 1);
  flow_loop_next(&loop, 0, binary(&in, "AddV2", loop.values[0], one));
  for (int v = 0; v < kVars; ++v) {
    if (places[v] == kNone) continue;
    bool stays = !(s->writes & bit(v));
    flow_loop_next(&loop, places[v],
                   stays || gates_first ? in.values[v] : gated(&in, in.values[v]));
    leat_output_t exit = flow_loop_exit(&loop, places[v]);
    if ((s->writes & bit(v)) || draw(2)) c->values[v] = exit;
  }
  if (s->total != kNone) c->values[s->total] = flow_loop_exit(&loop, 0);
  if (c->last != kNone && draw(2)) c->last = flow_loop_exit(&loop, 0).node;
}

static void build_rotation(context_t* c, const statement_t* s) {
  leat_output_t old[kVars];
  memcpy(old, c->values, sizeof old);
  for (int i = 0; i < 3; ++i) c->values[s->rotated[i]] = old[s->rotated[(i + 1) % 3]];
}

static void build_block(context_t* c, int block) {
  for (int i = c->program->blocks[block]; i != kNone; i = c->program->statements[i].next) {
    const statement_t* s = &c->program->statements[i];
    if (s->kind == DO_ASSIGN) c->values[s->target] = built(c, build_assignment(c, s));
    if (s->kind == DO_COPY) c->values[s->target] = build_assignment(c, s);
    if (s->kind == DO_ROTATE) build_rotation(c, s);
    if (s->kind == DO_IF) build_if(c, s);
    if (s->kind == DO_WHILE) build_while(c, s);
  }
}

static void build(scene_t* s, program_t* p) {
  context_t c = {.scene = s, .program = p, .pivot = kNone, .last = kNone};
  for (int v = 0; v < kVars; ++v) {
    if (p->is_fed[v]) {
      p->feeds[v] = scene_placeholder(s, "", is_int(v) ? LEAT_DTYPE_INT32 : LEAT_DTYPE_FLOAT);
      c.values[v] = scene_unary(s, "Identity", -1, p->feeds[v]);
    } else {
      c.values[v] = is_int(v) ? flow_int(s, p->inputs[0].ints[v])
                              : scene_floats(s, p->width, p->inputs[0].floats[v]);
    }
  }
  build_block(&c, 0);
  memcpy(p->fetches, c.values, sizeof p->fetches);
}

// ---- Runs ---------------------------------------------------------------------------------------

static leat_tensor_t tensor_of(const program_t* p, const values_t* values, int v) {
  leat_tensor_t tensor;
  if (is_int(v)) {
    LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT32, &values->ints[v], &tensor));
  } else {
    LEAT_EXPECT_OK(
        leat_tensor_vector(LEAT_DTYPE_FLOAT, values->floats[v], p->width, &tensor));
  }
  return tensor;
}

static bool equals(const program_t* p, const values_t* values, int v, const leat_tensor_t* got) {
  if (is_int(v)) return *leat_tensor_data(got, const int32_t) == values->ints[v];
  if (got->shape.element_count != p->width) return false;
  for (int k = 0; k < p->width; ++k) {
    if (leat_tensor_data(got, const float)[k] != values->floats[v][k]) return false;
  }
  return true;
}

// One step: which inputs it has, which variables it fetches, and whether it is traced or timed.
typedef struct step_s {
  int inputs;
  uint32_t fetched;
  bool is_traced, is_timed;
} step_t;

static int list_feeds(const program_t* p, int inputs, leat_output_t* feeds, leat_tensor_t* fed) {
  int count = 0;
  for (int v = 0; v < kVars; ++v) {
    if (!p->is_fed[v]) continue;
    feeds[count] = p->feeds[v];
    fed[count++] = tensor_of(p, &p->inputs[inputs], v);
  }
  return count;
}

static bool run(scene_t* s, const program_t* p, step_t step) {
  leat_output_t feeds[kVars], fetches[kVars];
  leat_tensor_t fed[kVars], got[kVars];
  int feed_count = list_feeds(p, step.inputs, feeds, fed), fetch_count = 0, different = 0;
  int variables[kVars];
  for (int v = 0; v < kVars; ++v) {
    if (!(step.fetched & bit(v))) continue;
    variables[fetch_count] = v;
    fetches[fetch_count++] = p->fetches[v];
  }
  leat_step_collector_t collector;
  leat_step_collector_initialize(leat_allocator_system(), &collector);
  leat_run_t run = {.feeds = feeds, .feed_values = fed, .feed_count = feed_count,
                    .fetches = fetches, .fetch_values = got, .fetch_count = fetch_count,
                    .timeout_ms = step.is_timed ? 100000 : 0,
                    .collector = step.is_traced ? &collector : NULL};
  LEAT_EXPECT_OK(leat_session_run(scene_session(s), &run));
  leat_step_collector_deinitialize(&collector);
  for (int i = 0; i < feed_count; ++i) leat_tensor_release(&fed[i]);
  for (int i = 0; i < fetch_count; ++i) {
    if (!equals(p, &p->outputs[step.inputs], variables[i], &got[i])) {
      print_error("variable %d is wrong, of inputs %d%s\n", variables[i], step.inputs,
                  step.is_traced ? ", traced" : "");
      ++different;
    }
    leat_tensor_release(&got[i]);
  }
  return different == 0;
}

static void check(scene_t* s, const program_t* p, int number, int way) {
  s->options.executor = way & 1 ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_AUTOMATIC;
  s->options.optimize = way & 2;
  s->options.intra_op_threads = way & 4 ? 4 : 1;
  enum { kAll = (1 << kVars) - 1 };
  const step_t steps[] = {{0, kAll, false, false}, {1, kAll, false, true}, {0, kAll, true, false},
                          {1, kAll, false, false}, {0, 1u << draw(kVars), false, false},
                          {1, 1u + (uint32_t)draw(kAll), false, false}};
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof steps / sizeof *steps; ++i) ok = run(s, p, steps[i]);
  if (!ok) fail_msg("program %d (LEAT_TEST_PROGRAM), way %d", number, way);
  leat_session_free(s->session);
  s->session = NULL;
}

static void all_ways_agree(void** state) {
  const char* only = getenv("LEAT_TEST_PROGRAM");
  program_t* p = calloc(1, sizeof *p);
  for (int number = 1; number <= kPrograms; ++number) {
    if (only ? atoi(only) != number : number % LEAT_SLOWDOWN != 0) continue;
    seed = (uint64_t)number;
    for (int i = 0; i < 4; ++i) draw(2);
    describe(p);
    for (int i = 0; i < 2; ++i) {
      p->outputs[i] = p->inputs[i];
      interpret(p, 0, &p->outputs[i]);
    }
    scene_t s;
    scene_open(&s);
    s.options.cpu_device_count = number % 5 ? 1 : 2;
    build(&s, p);
    for (int way = 0; way < 8; ++way) check(&s, p, number, way);
    scene_close(&s);
  }
  free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_ways_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
