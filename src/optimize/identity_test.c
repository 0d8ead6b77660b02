// Every identity that an op's row claims (leat_identity_e, LEAT_OP_PASS_THROUGH), against what the
// op's kernel refuses. The cases are generated: for each such row the test draws shapes, types,
// attributes and constants, well-formed and malformed ones, applies the op to a placeholder once or
// twice, and lets the arithmetic pass rewrite the graph. Both graphs are then evaluated node by
// node. They must give the same bits under the same shape, or fail with the same code: a flag that
// holds only for inputs that the kernel accepts shows as a rewritten graph that succeeds where the
// original one is refused. (arithmetic_test.c proves that the claims hold for every value.) A
// generator that never reaches a claim would prove nothing, so for each row the test also records
// which of its flags made a difference: the pass runs again over the same case with the flag taken
// from the row, and must leave another number of nodes in at least one case. A case at the end goes
// through a session.
#include <stdio.h>
#include <string.h>

#include "session/pass_scene.h"

enum { kDraws = 1500, kDrawsOfAScene = 10, kMaxInputs = 4, kMaxAttrs = 4, kMaxRank = 3 };

static uint64_t seed;
static int draw(int below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((seed >> 33) % (uint64_t)below);
}

// One case: an op applied to |x|, whose shape inference knows in part or not at all.
typedef struct case_s {
  pass_scene_t* f;
  const leat_op_t* op;
  int dtypes[16];  // what each attribute of kind type is, by attribute; 0: not drawn yet
  int rank;
  int64_t dims[kMaxRank];
  leat_tensor_t x;  // the value of the placeholder
  leat_output_t placeholder;
} case_t;

// ---- What is drawn ------------------------------------------------------------------------------

static void fill(leat_tensor_t* tensor) {
  char* data = leat_tensor_data(tensor, char);
  for (size_t i = 0; i < leat_tensor_size_bytes(tensor); ++i) {
    data[i] = (char)(tensor->dtype == LEAT_DTYPE_BOOL ? draw(2) : 1 + draw(60));
  }
}

static leat_tensor_t allocate(int dtype, int rank, const int64_t* dims) {
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(rank, dims, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
  leat_shape_release(&shape);
  return tensor;
}

static void draw_x(case_t* c, int dtype) {
  int64_t known[kMaxRank];
  c->rank = draw(10) ? 1 + draw(kMaxRank) : 0;
  for (int d = 0; d < c->rank; ++d) {
    c->dims[d] = draw(8) ? 1 + draw(3) : 0;
    known[d] = draw(6) ? c->dims[d] : -1;
  }
  c->x = allocate(dtype, c->rank, c->dims);
  fill(&c->x);
  const leat_partial_shape_t shape =
      draw(8) ? (leat_partial_shape_t){c->rank, known} : leat_partial_shape_unknown();
  c->placeholder = scene_output(&c->f->s, "Placeholder", "", "", LEAT_NO_INPUTS,
                                LEAT_ATTRS(LEAT_TYPE("dtype", dtype), LEAT_SHAPE("shape", shape)));
}

static leat_output_t constant(case_t* c, leat_tensor_t* tensor) {
  leat_output_t output = leat_build_constant(&c->f->s.b, tensor);
  leat_tensor_release(tensor);
  return output;
}

// Integers that may stand for sizes, places, axes or paddings of x: often one rule for all of them,
// as in the arguments that make an op an identity, else some of each.
static leat_output_t draw_integers(case_t* c, int dtype) {
  enum { ZERO, ONE, ALL, SIZE, AXIS, BELOW, LARGE, RULES };
  int64_t dims[2] = {draw(4) ? c->rank : draw(4), draw(8) ? 2 : draw(3)};
  const int rank = draw(5) < 3 ? 1 : draw(4) ? 2 : draw(2);
  leat_tensor_t tensor = allocate(dtype, rank, dims);
  const int common = draw(2) ? draw(AXIS + 1) : -1;
  for (int64_t i = 0; i < tensor.shape.element_count; ++i) {
    const int64_t d = rank == 2 && dims[1] > 0 ? i / dims[1] : i;
    const int rule = common >= 0 && draw(10) ? common : draw(RULES);
    int64_t item = rule == ONE ? 1 : rule == ALL ? -1 : rule == AXIS ? d : 0;
    if (rule == SIZE) item = d < c->rank ? c->dims[d] : 2;
    if (rule == BELOW) item = -2;
    if (rule == LARGE) item = dtype == LEAT_DTYPE_INT64 ? INT64_MAX : 2;  // no real memory
    if (dtype == LEAT_DTYPE_INT64) {
      leat_tensor_data(&tensor, int64_t)[i] = item;
    } else {
      leat_tensor_data(&tensor, int32_t)[i] = (int32_t)item;
    }
  }
  return constant(c, &tensor);
}

// A number over and over: 0, -0, 1, all bits, or another, as a scalar, of x's shape or of any.
static leat_output_t draw_numbers(case_t* c, int dtype) {
  int64_t dims[kMaxRank];
  const int kind = draw(3), rank = kind == 0 ? 0 : kind == 1 ? c->rank : draw(kMaxRank + 1);
  for (int d = 0; d < rank; ++d) dims[d] = kind == 1 ? c->dims[d] : draw(4);
  leat_tensor_t tensor = allocate(dtype, rank, dims);
  const int which = draw(5);
  const float f = which == 0 ? 0.0f : which == 1 ? -0.0f : which == 2 ? 1.0f : 3.0f;
  const int64_t all = which < 2 ? 0 : which == 2 ? 1 : which == 3 ? -1 : 3;
  for (int64_t i = 0; i < tensor.shape.element_count; ++i) {
    switch (dtype) {
      case LEAT_DTYPE_FLOAT: leat_tensor_data(&tensor, float)[i] = f; break;
      case LEAT_DTYPE_INT32: leat_tensor_data(&tensor, int32_t)[i] = (int32_t)all; break;
      case LEAT_DTYPE_INT64: leat_tensor_data(&tensor, int64_t)[i] = all; break;
      case LEAT_DTYPE_UINT8: leat_tensor_data(&tensor, uint8_t)[i] = (uint8_t)all; break;
      case LEAT_DTYPE_BOOL: leat_tensor_data(&tensor, bool)[i] = all != 0; break;
      default: leat_tensor_fill_zero(&tensor); break;
    }
  }
  return constant(c, &tensor);
}

// One of a few types that the attribute admits; 0 where it admits none of them.
static int draw_type(const leat_op_attr_t* attr) {
  static const uint8_t kTypes[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_INT32, LEAT_DTYPE_INT64,
                                   LEAT_DTYPE_UINT8, LEAT_DTYPE_BOOL, LEAT_DTYPE_COMPLEX64};
  for (int tries = 0; tries < 50; ++tries) {
    const int dtype = kTypes[draw(LEAT_ARRAY_SIZE(kTypes))];
    if (!attr->allowed_types || leat_dtype_in(dtype, attr->allowed_types)) return dtype;
  }
  return 0;
}

static int type_of(case_t* c, const leat_op_argument_t* argument) {
  if (argument->source == LEAT_TYPE_FIXED) return argument->dtype;
  if (argument->source != LEAT_TYPE_FROM_ATTR) return 0;
  int* dtype = &c->dtypes[argument->type_attr];
  if (!*dtype) *dtype = draw_type(&c->op->attrs[argument->type_attr]);
  return *dtype;
}

// An attribute that does not follow from the inputs; false: it is left to its default.
static bool draw_attr(case_t* c, int index, leat_attr_t* out_attr) {
  static int64_t ints[2], dims[kMaxRank];
  const leat_op_attr_t* attr = &c->op->attrs[index];
  leat_attr_value_t value = {.kind = attr->kind, .is_list = attr->is_list};
  if (attr->is_list) {
    if (attr->kind != LEAT_ATTR_INT) return false;
    for (int i = 0; i < 2; ++i) ints[i] = draw(6) - 3;
    value.count = (uint32_t)draw(3);
    value.ints = ints;
  } else if (attr->kind == LEAT_ATTR_TYPE) {
    value.type = (leat_dtype_t)(draw(3) ? c->x.dtype : draw_type(attr));
  } else if (attr->kind == LEAT_ATTR_BOOL) {
    value.b = draw(2);
  } else if (attr->kind == LEAT_ATTR_STRING && attr->allowed_strings) {
    value.s = attr->allowed_strings[draw(attr->allowed_string_count)];
  } else if (attr->kind == LEAT_ATTR_SHAPE) {
    for (int d = 0; d < c->rank; ++d) dims[d] = draw(6) ? c->dims[d] : draw(4);
    value.shape = (leat_partial_shape_t){c->rank, dims};
  } else {
    return false;
  }
  *out_attr = (leat_attr_t){.name = attr->name, .value = value};
  return true;
}

static bool follows_from_inputs(const leat_op_t* op, int attr) {
  for (int i = 0; i < op->input_count; ++i) {
    if (op->inputs[i].type_attr == attr || op->inputs[i].number_attr == attr) return true;
  }
  return false;
}

// The op over |data| and constants; no output where the draw makes no node, which most malformed
// ones do not: the shape function refuses them.
static leat_output_t build(case_t* c, leat_output_t data) {
  leat_output_t inputs[kMaxInputs];
  leat_attr_t attrs[kMaxAttrs];
  int count = 0, attr_count = 0;
  for (int i = 0; i < c->op->input_count; ++i) {
    const leat_op_argument_t* argument = &c->op->inputs[i];
    const int dtype = type_of(c, argument);
    const bool is_integer = dtype == LEAT_DTYPE_INT32 || dtype == LEAT_DTYPE_INT64;
    for (int k = argument->number_attr >= 0 ? draw(3) : 0; k >= 0 && count < kMaxInputs; --k) {
      inputs[count] = is_integer && (argument->type_attr != c->op->inputs[0].type_attr || draw(2))
                          ? draw_integers(c, dtype) : draw_numbers(c, dtype);
      ++count;
    }
  }
  const bool swaps = (c->op->row->identities & LEAT_IDENTITY_EITHER_SIDE) && draw(2);
  inputs[swaps ? 1 : 0] = data;
  for (int i = 0; i < c->op->attr_count && attr_count < kMaxAttrs; ++i) {
    if (!follows_from_inputs(c->op, i)) attr_count += draw_attr(c, i, &attrs[attr_count]);
  }
  leat_builder_t* b = &c->f->s.b;
  const int32_t node = leat_build_node(b, c->op->row->name, (leat_outputs_t){inputs, count},
                                       (leat_attrs_t){attrs, attr_count});
  bool ok = !b->status;
  leat_status_free(b->status);
  b->status = NULL;
  // A node of a type that no kernel takes never comes to the pass: placement refuses it first.
  if (ok) {
    const leat_node_t* built = &b->graph->nodes[node];
    ok = pass_scene_find_kernel(c->f, built->op, built->attrs, built->attr_count, -1) != NULL;
  }
  return ok ? leat_node_output(node, 0) : LEAT_OUTPUT_NONE;
}

// ---- The comparison -----------------------------------------------------------------------------

// The value of |output| where every placeholder is x.
static leat_status_t evaluate(const case_t* c, const leat_graph_t* graph, leat_output_t output,
                              leat_tensor_t* out_value) {
  const leat_node_t* node = &graph->nodes[output.node];
  leat_tensor_t inputs[kMaxInputs] = {0}, outputs[8];
  leat_status_t status = NULL;
  if (pass_scene_is_op(node, "Placeholder")) {
    *out_value = leat_tensor_share(&c->x);
    return NULL;
  }
  int count = 0;
  for (; count < node->input_count && !status; ++count) {
    status = evaluate(c, graph, node->inputs[count], &inputs[count]);
    if (status) break;
  }
  if (!status) {
    status = leat_evaluator_run(&c->f->evaluator, graph, output.node, inputs, outputs);
    for (int i = 0; !status && i < node->output_count; ++i) {
      if (i != output.index) leat_tensor_release(&outputs[i]);
    }
    if (!status) *out_value = outputs[output.index];
  }
  for (int i = 0; i < count; ++i) leat_tensor_release(&inputs[i]);
  return status;
}

typedef struct counts_s {
  int refused;        // the cases that a kernel refuses
  bool bypassed;      // whether a node went away in one of them, whatever the reason
  unsigned decisive;  // the identities of the row that made a difference in one of them
} counts_t;

// The flags that widen or narrow what another flag of their row claims.
enum {
  kWidening = LEAT_IDENTITY_EITHER_SIDE | LEAT_IDENTITY_LAST_WINS,
  kNarrowing = LEAT_IDENTITY_INTEGERS | LEAT_IDENTITY_AT_ORIGIN | LEAT_IDENTITY_NO_NEGATIVES,
};

// How many nodes the pass leaves of what |fetch| needs, if the row of the op had |identities|.
static size_t count_left(case_t* c, leat_output_t fetch, unsigned identities) {
  static leat_op_row_t row;  // the rewritten graph points to both until the next is made
  static leat_op_t op;
  pass_scene_prune(c->f, LEAT_INPUTS(fetch));
  leat_graph_t* graph = c->f->rewrite.graph;
  row = *c->op->row;
  row.identities = identities;
  op = *c->op;
  op.row = &row;
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op == c->op) graph->nodes[i].op = &op;
  }
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_arithmetic, &c->f->rewrite, &c->f->options));
  return c->f->rewrite.graph->node_count;
}

// Adds the flags that decide over this case to |counts|. A widening or narrowing flag does if the
// pass leaves another number of nodes without it. The flag that they widen or narrow does if the
// pass still removes a node where nothing widens it.
static void find_decisive(case_t* c, leat_output_t fetch, counts_t* counts) {
  const unsigned all = c->op->row->identities;
  if (counts->decisive == all) return;
  const size_t left = count_left(c, fetch, all);
  for (unsigned flag = 1; flag && flag <= all; flag <<= 1) {
    if (!(all & flag) || (counts->decisive & flag)) continue;
    const bool is_main = !(flag & (kWidening | kNarrowing));
    const bool differs = is_main ? count_left(c, fetch, all & ~(unsigned)kWidening) <
                                       count_left(c, fetch, 0)
                                 : count_left(c, fetch, all & ~flag) != left;
    if (differs) counts->decisive |= flag;
  }
}

static void compare(case_t* c, leat_output_t fetch, counts_t* counts) {
  leat_tensor_t plain = {0}, rewritten = {0};
  pass_scene_prune(c->f, LEAT_INPUTS(fetch));
  leat_rewrite_t* rewrite = &c->f->rewrite;
  leat_status_t before = evaluate(c, rewrite->graph, rewrite->fetches[0], &plain);
  const size_t nodes = rewrite->graph->node_count;
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_arithmetic, rewrite, &c->f->options));
  const bool bypassed = rewrite->graph->node_count < nodes;
  leat_status_t after = evaluate(c, rewrite->graph, rewrite->fetches[0], &rewritten);
  const leat_status_code_t want = leat_status_code(before), got = leat_status_code(after);
  if (want != got) {
    print_error("%s of %s: %s without the pass, %s with it: %s\n", c->op->row->name,
                LEAT_SHAPE_TEXT(&c->x.shape), leat_status_code_name(want),
                leat_status_code_name(got), leat_status_message(want ? before : after));
  }
  assert_int_equal(got, want);
  if (!want) {
    if (!leat_shape_equal(&plain.shape, &rewritten.shape) || plain.dtype != rewritten.dtype ||
        memcmp(plain.data, rewritten.data, leat_tensor_size_bytes(&plain))) {
      fail_msg("%s: %s becomes %s with the pass, or its items change", c->op->row->name,
               LEAT_SHAPE_TEXT(&plain.shape), LEAT_SHAPE_TEXT(&rewritten.shape));
    }
    leat_tensor_release(&plain);
    leat_tensor_release(&rewritten);
  }
  counts->refused += want != LEAT_OK;
  counts->bypassed |= bypassed;
  leat_status_free(before);
  leat_status_free(after);
  find_decisive(c, fetch, counts);
}

static void draw_case(pass_scene_t* f, const leat_op_t* op, counts_t* counts) {
  case_t c = {.f = f, .op = op};
  const int dtype = type_of(&c, &op->inputs[0]);
  if (!dtype) return;
  draw_x(&c, dtype);
  leat_output_t fetch = build(&c, c.placeholder);
  // A chain of two, for the rules of pairs; cast once, the second cast has other types.
  if (leat_output_exists(fetch) && draw(2) &&
      leat_graph_output_type(f->s.graph, fetch) == dtype) {
    fetch = build(&c, fetch);
  }
  if (leat_output_exists(fetch)) compare(&c, fetch, counts);
  leat_tensor_release(&c.x);
}

static bool claims(const leat_op_row_t* row) {
  return row->identities || (row->flags & LEAT_OP_PASS_THROUGH);
}

static void no_claim_hides_what_a_kernel_refuses(void** state) {
  pass_scene_t* f = *state;
  const int count = leat_op_registry_count(f->s.graph->ops);
  int ops = 0, refused = 0, unreached = 0;
  for (int i = 0; i < count; ++i) {
    const leat_op_row_t* row = leat_op_registry_row(f->s.graph->ops, i);
    counts_t counts = {0};
    if (!claims(row)) continue;
    seed = (uint64_t)i + 1;
    for (int k = 0; k < kDraws; ++k) {
      if (k % kDrawsOfAScene == 0) {  // small graphs are pruned faster
        pass_scene_tear_down(state);
        pass_scene_set_up(state);
      }
      const leat_op_t* op;
      LEAT_EXPECT_OK(
          leat_op_registry_find(f->s.graph->ops, leat_string_view_from(row->name), &op));
      draw_case(f, op, &counts);
    }
    if (!counts.bypassed) fail_msg("%s was never taken for an identity", row->name);
    if (counts.decisive != row->identities) {
      print_error("%s: no case depends on the identities 0x%x (leat_identity_e)\n", row->name,
                  (unsigned)row->identities & ~counts.decisive);
      ++unreached;
    }
    refused += counts.refused;
    ++ops;
  }
  assert_int_equal(unreached, 0);
  assert_true(ops >= 35);
  assert_true(refused >= 1000);
}

// ---- Through a session --------------------------------------------------------------------------

// Runs |fetch| with the optimizers off and on; both must give |code|.
static void expect_code(scene_t* s, leat_output_t fetch, leat_status_code_t code) {
  for (int optimize = 0; optimize < 2; ++optimize) {
    leat_tensor_t value = {0};
    leat_session_free(s->session);
    s->session = NULL;
    s->options.optimize = optimize;
    leat_status_t status = scene_fetch(s, fetch, &value);
    if (!status) leat_tensor_release(&value);
    assert_int_equal(leat_status_code(status), code);
    leat_status_free(status);
  }
}

static void a_slice_of_full_size_must_begin_at_the_origin(void** state) {
  scene_t s;
  scene_open(&s);
  const int32_t one[] = {1, 0}, zero[] = {0, 0}, sizes[] = {2, 3};
  // The data must not be a constant, which would be folded by the kernel itself.
  const int64_t dims[] = {2, 3};
  leat_output_t shape = leat_build_int32_vector(&s.b, sizes, 2);
  leat_output_t x = leat_build(&s.b, "RandomUniform", LEAT_INPUTS(shape),
                               LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  x = leat_build(&s.b, "EnsureShape", LEAT_INPUTS(x),
                 LEAT_ATTRS(LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
  leat_output_t slices[2];
  for (int i = 0; i < 2; ++i) {
    leat_output_t begin = leat_build_int32_vector(&s.b, i ? one : zero, 2);
    slices[i] = leat_build(&s.b, "Slice", LEAT_INPUTS(x, begin, shape), LEAT_NO_ATTRS);
  }
  LEAT_EXPECT_OK(s.b.status);
  expect_code(&s, slices[0], LEAT_OK);
  expect_code(&s, slices[1], LEAT_INVALID_ARGUMENT);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)
      TEST(no_claim_hides_what_a_kernel_refuses),
      cmocka_unit_test(a_slice_of_full_size_must_begin_at_the_origin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
