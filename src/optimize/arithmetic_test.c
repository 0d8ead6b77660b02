// The pass "arithmetic" bypasses nodes that change nothing, such as x * 1, by identities that each
// op's row claims. A claim is only allowed if it is exact for every bit pattern, infinities, NaN
// and -0 included; denormals are not, which kernels take as zeros (base/float_mode.h) and an
// identity passes on. The first half proves that: it runs every op that claims an identity over
// every bit pattern of the small types and the special ones of the large types, in every type that
// has a kernel. The second half shows by the number of nodes that are left which nodes the pass
// bypasses, and which it must leave alone because they wait for something, lie on another device or
// may fail.
#include <string.h>

#include "session/pass_scene.h"

static int set_up(void** state) {
  static pass_scene_t f;
  pass_scene_open(&f);
  *state = &f;
  return 0;
}

// ---- Each rule is exact -------------------------------------------------------------------------

static const uint8_t kTypes[] = {
    LEAT_DTYPE_FLOAT,  LEAT_DTYPE_DOUBLE, LEAT_DTYPE_HALF,      LEAT_DTYPE_BFLOAT16,
    LEAT_DTYPE_INT8,   LEAT_DTYPE_INT16,  LEAT_DTYPE_INT32,     LEAT_DTYPE_INT64,
    LEAT_DTYPE_UINT8,  LEAT_DTYPE_UINT16, LEAT_DTYPE_UINT32,    LEAT_DTYPE_UINT64,
    LEAT_DTYPE_BOOL,   LEAT_DTYPE_COMPLEX64, LEAT_DTYPE_COMPLEX128,
};

// A number of |bytes| that is no signalling NaN and no denormal (|fraction| bits below the
// exponent; 0: integers).
static uint64_t usual(uint64_t bits, int bytes, int fraction) {
  if (!fraction) return bits;
  uint64_t exponent = ((UINT64_C(1) << (8 * bytes - 1)) - 1) & -(UINT64_C(1) << fraction);
  if ((bits & exponent) == 0) return bits >> fraction << fraction;
  if ((bits & exponent) == exponent && (bits & ((UINT64_C(1) << fraction) - 1))) {
    bits |= UINT64_C(1) << (fraction - 1);
  }
  return bits;
}

static leat_tensor_t special_values(int dtype) {
  static const struct {
    uint8_t dtype, bytes, fraction;
  } kFloats[] = {{LEAT_DTYPE_FLOAT, 4, 23},    {LEAT_DTYPE_DOUBLE, 8, 52},
                 {LEAT_DTYPE_HALF, 2, 10},     {LEAT_DTYPE_BFLOAT16, 2, 7},
                 {LEAT_DTYPE_COMPLEX64, 4, 23}, {LEAT_DTYPE_COMPLEX128, 8, 52}};
  int bytes = (int)leat_dtype_size(dtype), fraction = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFloats); ++i) {
    if (kFloats[i].dtype != dtype) continue;
    bytes = kFloats[i].bytes;
    fraction = kFloats[i].fraction;
  }
  enum { kCount = 1 << 16 };
  leat_tensor_t tensor;
  leat_shape_t shape = leat_shape_vector(kCount * bytes / (int)leat_dtype_size(dtype));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
  char* data = leat_tensor_data(&tensor, char);
  uint64_t random = 1;
  for (int i = 0; i < kCount; ++i) {
    // Two bytes are all there are; of more, the first half have two bytes at the top and 0, 1 or
    // all ones below, and the rest are drawn.
    uint64_t bits = (uint64_t)i;
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (bytes > 2) {
      bits <<= 8 * bytes - 16;
      if (i % 3 == 1) bits |= 1;
      if (i % 3 == 2) bits |= (UINT64_C(1) << (8 * bytes - 16)) - 1;
      if (i % 8 == 7) bits = random ^ random >> 32;
    }
    if (dtype == LEAT_DTYPE_BOOL) bits &= 1;
    bits = usual(bits, bytes, fraction);
    memcpy(data + (size_t)i * (size_t)bytes, &bits, (size_t)bytes);
  }
  return tensor;
}

// A scalar: -0 of floats for ZERO, and so on.
static leat_tensor_t neutral(int dtype, unsigned identities) {
  leat_tensor_t tensor;
  uint64_t item[2] = {0, 0};
  bool minus = identities & LEAT_IDENTITY_ZERO, one = identities & LEAT_IDENTITY_ONE;
  float f = minus ? -0.0f : one;
  double d = minus ? -0.0 : one;
  if (leat_dtype_in(dtype, LEAT_DTYPES_INTEGER)) item[0] = one;
  if (identities & LEAT_IDENTITY_ALL_ONES) item[0] = dtype == LEAT_DTYPE_BOOL ? 1 : UINT64_MAX;
  if (dtype == LEAT_DTYPE_HALF) item[0] = minus ? 0x8000 : one ? 0x3c00 : 0;
  if (dtype == LEAT_DTYPE_BFLOAT16) item[0] = minus ? 0x8000 : one ? 0x3f80 : 0;
  if (dtype == LEAT_DTYPE_FLOAT || dtype == LEAT_DTYPE_COMPLEX64) {
    memcpy(item, &f, 4);
    memcpy((char*)item + 4, &f, 4);
  }
  if (dtype == LEAT_DTYPE_DOUBLE || dtype == LEAT_DTYPE_COMPLEX128) {
    memcpy(&item[0], &d, 8);
    memcpy(&item[1], &d, 8);
  }
  LEAT_EXPECT_OK(leat_tensor_scalar(dtype, item, &tensor));
  return tensor;
}

// The node with inputs of that type, or -1 when the op takes no such.
static int32_t make_node(pass_scene_t* f, const char* op, int dtype, int inputs, int second_dtype) {
  leat_output_t in[2];
  for (int i = 0; i < 2; ++i) {
    in[i] = leat_build(&f->s.b, "Placeholder", LEAT_NO_INPUTS,
                       LEAT_ATTRS(LEAT_TYPE("dtype", i ? second_dtype : dtype)));
  }
  leat_attr_t attrs[] = {LEAT_TYPE("DstT", dtype), LEAT_TYPE("type", dtype),
                         LEAT_SHAPE("shape", leat_partial_shape_unknown())};
  int attr = !strcmp(op, "Cast") || !strcmp(op, "_HostCast") ? 0 : !strcmp(op, "Bitcast") ? 1
             : !strcmp(op, "AccumulateNV2") ? 2 : -1;
  int32_t node = leat_build_node(&f->s.b, op, (leat_outputs_t){in, inputs},
                                 (leat_attrs_t){&attrs[attr < 0 ? 0 : attr], attr >= 0});
  leat_status_free(f->s.b.status);
  f->s.b.status = NULL;
  return node;
}

// false: no kernel.
static bool evaluate(pass_scene_t* f, int32_t node, const leat_tensor_t* inputs,
                     leat_tensor_t* out) {
  leat_status_t status = leat_evaluator_run(&f->evaluator, f->s.graph, node, inputs, out);
  bool ok = !status;
  leat_status_free(status);
  return ok;
}

static void expect_same_bits(const char* op, const leat_tensor_t* a, const leat_tensor_t* b) {
  assert_int_equal(leat_tensor_size_bytes(a), leat_tensor_size_bytes(b));
  size_t size = leat_dtype_size(a->dtype);
  for (int64_t i = 0; i < a->shape.element_count; ++i) {
    const char *x = leat_tensor_data(a, const char), *y = leat_tensor_data(b, const char);
    if (!memcmp(x + (size_t)i * size, y + (size_t)i * size, size)) continue;
    fail_msg("%s of %s, element %d", op, leat_dtype_name(a->dtype), (int)i);
  }
}

// How many pairs of op and type were seen to be exact: 0 or 1.
static int prove(pass_scene_t* f, const leat_op_row_t* row, int dtype, bool swapped) {
  unsigned identities = row->identities;
  const unsigned neutral_kinds = LEAT_IDENTITY_ZERO | LEAT_IDENTITY_PLUS_ZERO | LEAT_IDENTITY_ONE |
                                 LEAT_IDENTITY_ALL_ONES;
  bool twice = identities & (LEAT_IDENTITY_INVOLUTION | LEAT_IDENTITY_IDEMPOTENT);
  bool has_neutral = identities & neutral_kinds, no_items = identities & LEAT_IDENTITY_NO_ITEMS;
  bool floating = !leat_dtype_in(dtype, LEAT_DTYPES_INTEGER | LEAT_DTYPE_BIT(BOOL));
  if ((identities & LEAT_IDENTITY_INTEGERS) && floating) return 0;
  if ((identities & LEAT_IDENTITY_ONE) && leat_dtype_in(dtype, LEAT_DTYPES_COMPLEX)) return 0;
  int32_t node = make_node(f, row->name, dtype, 1 + (has_neutral || no_items),
                           no_items ? LEAT_DTYPE_INT32 : dtype);
  if (node < 0) return 0;
  leat_tensor_t x = special_values(dtype), y = {0}, z = {0}, second = {0};
  if (has_neutral) second = neutral(dtype, identities);
  if (no_items) LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, "", 0, &second));
  bool ran = evaluate(f, node, (leat_tensor_t[]){swapped ? second : x, swapped ? x : second}, &y);
  if (ran && twice) assert_true(evaluate(f, node, &y, &z));
  if (ran) {
    expect_same_bits(row->name, twice ? &z : &y,
                     identities & LEAT_IDENTITY_IDEMPOTENT ? &y : &x);
  }
  leat_tensor_release(&x);
  leat_tensor_release(&y);
  leat_tensor_release(&z);
  leat_tensor_release(&second);
  return ran;
}

static void every_claim_is_exact(void** state) {
  pass_scene_t* f = *state;
  const unsigned shapes = LEAT_IDENTITY_SAME_SHAPE | LEAT_IDENTITY_PERMUTES;  // below
  int proved = 0, ops = 0;
  for (int i = 0; i < leat_op_registry_count(f->s.graph->ops); ++i) {
    const leat_op_row_t* row = leat_op_registry_row(f->s.graph->ops, i);
    if (!row->identities || (row->identities & shapes)) continue;
    int before = proved;
    for (size_t t = 0; t < LEAT_ARRAY_SIZE(kTypes); ++t) {
      proved += prove(f, row, kTypes[t], false);
      if (row->identities & LEAT_IDENTITY_EITHER_SIDE) proved += prove(f, row, kTypes[t], true);
    }
    if (proved == before) fail_msg("%s was not proved for any type", row->name);
    ++ops;
  }
  assert_true(ops >= 30);
  assert_true(proved >= 200);
}

// ---- What the pass does -------------------------------------------------------------------------

// Nodes left of |fetch|; the value is the same with the pass and without, for any |x|.
static size_t left(pass_scene_t* f, leat_output_t fetch) {
  if (f->rewrite.graph) leat_rewrite_deinitialize(&f->rewrite);
  LEAT_EXPECT_OK(leat_prune(f->s.graph, NULL, 0, &fetch, 1, NULL, 0, &f->rewrite));
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_arithmetic, &f->rewrite, &f->options));
  return f->rewrite.graph->node_count;
}

static leat_output_t shaped(pass_scene_t* f, int dtype, int rank, const int64_t* dims) {
  return scene_output(&f->s, "Placeholder", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", dtype),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){rank, dims}))));
}
#define SHAPED(f, ...)                                                       \
  shaped((f), LEAT_DTYPE_FLOAT, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})

static leat_output_t ints(pass_scene_t* f, int count, const int32_t* values) {
  return leat_build_int32_vector(&f->s.b, values, count);
}
#define INTS(f, ...) ints((f), sizeof((int32_t[]){__VA_ARGS__}) / 4, (int32_t[]){__VA_ARGS__})
#define U(op, x) scene_unary(&f->s, op, -1, x)
#define B(op, x, y) scene_binary(&f->s, op, -1, x, y)

static void chains_of_identities(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT), y = x;
  for (int i = 0; i < 5000; ++i) y = U(i % 2 ? "Identity" : "StopGradient", y);
  assert_int_equal(left(f, y), 1);
  assert_int_equal(left(f, U("Exp", U("PreventGradient", y))), 2);
  // On a device of its own, or waiting for somebody, it stays.
  assert_int_equal(left(f, scene_unary(&f->s, "Identity", 1, x)), 2);
  leat_output_t late = U("Identity", x);
  scene_after(&f->s, late.node, scene_mark(&f->s, 1, -1));
  assert_int_equal(left(f, late), 3);
}

static void control_edges_follow(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t e = U("Exp", x), after = U("Neg", x);
  scene_after(&f->s, after.node, U("Identity", U("Identity", e)).node);
  assert_int_equal(left(f, after), 3);
  const leat_graph_t* graph = f->rewrite.graph;
  const leat_node_t* node = &graph->nodes[f->rewrite.fetches[0].node];
  assert_int_equal(node->control_count, 1);
  assert_string_equal(graph->nodes[node->inputs[1].node].op->row->name, "Exp");
}

// One output of a Switch is dead: whoever waits for it must go on waiting for what reads it.
static void pivots_stay(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t p = scene_placeholder(&f->s, "p", LEAT_DTYPE_BOOL);
  int32_t s = scene_node(&f->s, "Switch", "s", "", LEAT_INPUTS(x, p), LEAT_NO_ATTRS);
  leat_output_t pivot = U("Identity", leat_node_output(s, 1));
  leat_output_t one = scene_float(&f->s, 1), waits = scene_float(&f->s, 1);
  scene_after(&f->s, waits.node, pivot.node);
  assert_int_equal(left(f, waits), 5);
  assert_int_equal(left(f, B("Mul", pivot, waits)), 6);  // the constant may be dead
  assert_int_equal(left(f, B("Mul", pivot, one)), 3);
}

// What a Recv brings may be dead, which those who wait for the Recv would not hear.
static void pivots_that_are_received_stay(void** state) {
  pass_scene_t* f = *state;
  const int32_t recv =
      scene_node(&f->s, "_Recv", "", "", LEAT_NO_INPUTS,
                 LEAT_ATTRS(LEAT_TYPE("tensor_type", LEAT_DTYPE_FLOAT),
                            LEAT_STR("tensor_name", "v"),
                            LEAT_STR("send_device", "a"),
                            LEAT_INT("send_device_incarnation", 1),
                            LEAT_STR("recv_device", "b")));
  leat_output_t pivot = U("Identity", leat_node_output(recv, 0)), waits = scene_float(&f->s, 1);
  scene_after(&f->s, waits.node, pivot.node);
  assert_int_equal(left(f, waits), 3);
  assert_int_equal(left(f, U("Neg", pivot)), 2);
}

static void neutral_operands(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t zero = scene_float(&f->s, 0), minus = scene_float(&f->s, -0.0f);
  leat_output_t one = scene_float(&f->s, 1);
  assert_int_equal(left(f, B("Mul", x, one)), 1);
  assert_int_equal(left(f, B("Mul", one, x)), 1);
  assert_int_equal(left(f, B("AddV2", x, minus)), 1);
  assert_int_equal(left(f, B("AddV2", x, zero)), 3);  // -0 + 0 is 0
  assert_int_equal(left(f, B("Sub", x, zero)), 1);
  assert_int_equal(left(f, B("Sub", x, minus)), 3);
  assert_int_equal(left(f, B("Sub", zero, x)), 3);
  assert_int_equal(left(f, B("RealDiv", x, one)), 1);
  assert_int_equal(left(f, B("RealDiv", one, x)), 3);
  assert_int_equal(left(f, B("FloorDiv", x, one)), 3);
  // A vector of ones may widen what it is multiplied with.
  const float ones[] = {1, 1};
  leat_output_t pair = scene_floats(&f->s, 2, ones);
  assert_int_equal(left(f, B("Mul", SHAPED(f, 3, 2), pair)), 1);
  assert_int_equal(left(f, B("Mul", SHAPED(f, 3, 1), pair)), 3);
  assert_int_equal(left(f, B("Mul", x, pair)), 3);
  leat_output_t c = scene_placeholder(&f->s, "c", LEAT_DTYPE_COMPLEX64);
  leat_output_t unit = leat_build_scalar(&f->s.b, LEAT_DTYPE_COMPLEX64, 1);
  assert_int_equal(left(f, B("Mul", c, unit)), 3);
}

static void pairs(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t b = scene_placeholder(&f->s, "b", LEAT_DTYPE_BOOL);
  assert_int_equal(left(f, U("Neg", U("Neg", x))), 1);
  assert_int_equal(left(f, U("Neg", U("Neg", U("Neg", x)))), 2);
  assert_int_equal(left(f, U("Neg", U("Identity", U("Neg", x)))), 1);
  assert_int_equal(left(f, U("LogicalNot", U("LogicalNot", b))), 1);
  assert_int_equal(left(f, U("Reciprocal", U("Reciprocal", x))), 3);
  assert_int_equal(left(f, U("Floor", U("Floor", x))), 2);
  assert_int_equal(left(f, U("Floor", U("Ceil", x))), 3);
  leat_output_t cast = scene_output(&f->s, "Cast", "", "", LEAT_INPUTS(x),
                                    LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
  assert_int_equal(left(f, cast), 1);
  cast = scene_output(&f->s, "Cast", "", "", LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_HALF)));
  assert_int_equal(left(f, cast), 2);
}

static void transposes(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = SHAPED(f, 2, 3, 4);
  assert_int_equal(left(f, B("Transpose", x, INTS(f, 0, 1, 2))), 1);
  leat_output_t there = B("Transpose", x, INTS(f, 2, 0, 1));
  assert_int_equal(left(f, B("Transpose", there, INTS(f, 1, 2, 0))), 1);
  leat_output_t on = B("Transpose", there, INTS(f, 2, 0, 1));
  assert_int_equal(left(f, on), 3);
  const leat_graph_t* graph = f->rewrite.graph;
  const leat_node_t* node = &graph->nodes[f->rewrite.fetches[0].node];
  const leat_tensor_t* perm =
      leat_node_attr(&graph->nodes[node->inputs[1].node], LEAT_SV("value"))->tensor;
  const int32_t expected[] = {1, 2, 0};
  assert_memory_equal(leat_tensor_data(perm, const char), expected, sizeof expected);
  // Of unknown rank it still has to be checked.
  leat_output_t any = scene_placeholder(&f->s, "any", LEAT_DTYPE_FLOAT);
  assert_int_equal(left(f, B("Transpose", any, INTS(f, 0, 1))), 3);
}

static void reshapes(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = SHAPED(f, 4, 6), batch = SHAPED(f, -1, 6), any = SHAPED(f, -1, -1);
  assert_int_equal(left(f, B("Reshape", x, INTS(f, 4, 6))), 1);
  assert_int_equal(left(f, B("Reshape", x, INTS(f, -1, 6))), 1);
  assert_int_equal(left(f, B("Reshape", x, INTS(f, 6, 4))), 3);
  assert_int_equal(left(f, B("Reshape", B("Reshape", x, INTS(f, 6, 4)), INTS(f, 24))), 3);
  assert_int_equal(left(f, B("Reshape", B("Reshape", x, INTS(f, 6, 4)), INTS(f, 4, 6))), 1);
  assert_int_equal(left(f, B("Reshape", batch, INTS(f, -1, 6))), 1);
  leat_output_t inner = B("Reshape", batch, INTS(f, -1, 3, 2));
  assert_int_equal(left(f, B("Reshape", inner, INTS(f, -1, 6))), 1);
  // The inner one may fail: 6 b need not be a multiple of 4, nor b be 5.
  assert_int_equal(left(f, B("Reshape", B("Reshape", batch, INTS(f, -1, 4)), INTS(f, -1))), 5);
  assert_int_equal(left(f, B("Reshape", batch, INTS(f, 5, 6))), 3);
  assert_int_equal(left(f, B("Reshape", any, INTS(f, -1, 6))), 3);
  assert_int_equal(left(f, B("Tile", x, INTS(f, 1, 1))), 1);
  assert_int_equal(left(f, B("Tile", x, INTS(f, 1, 2))), 3);
  assert_int_equal(left(f, B("BroadcastTo", x, INTS(f, 4, 6))), 1);
  assert_int_equal(left(f, B("Sum", x, ints(f, 0, NULL))), 1);
  assert_int_equal(left(f, B("Sum", x, INTS(f, 0))), 3);
  assert_int_equal(left(f, U("Squeeze", x)), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pass_scene_tear_down)
      TEST(every_claim_is_exact),
      TEST(chains_of_identities),
      TEST(control_edges_follow),
      TEST(pivots_stay),
      TEST(pivots_that_are_received_stay),
      TEST(neutral_operands),
      TEST(pairs),
      TEST(transposes),
      TEST(reshapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
