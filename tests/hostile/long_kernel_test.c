// Nodes that work for minutes, each of a size that is fed. A step's deadline and the closing of its
// session must reach a kernel while it runs. The bound on the time is generous, and far below what
// any of the nodes takes when it is left alone.
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "capi/function_kit.h"

#define MOST_SECONDS 10
#define TIMEOUT_MS 100

#define F32 TYPE("T", "FLOAT")
#define I32 TYPE("T", "INT32")
#define MANY(n) " attr { key: 'N' value { i: " n " } }"
#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define PAIR(name, a, b)                                                           \
  NODE(name, "Const", ,                                                            \
       TYPE("dtype", "INT32")                                                      \
       " attr { key: 'value' value { tensor { dtype: DT_INT32 "                    \
       "tensor_shape { dim { size: 2 } } int_val: [" a ", " b "] } } }")
#define FLOATS(name, sizes) NODE(name, "Fill", IN(sizes) IN("small"), F32)
#define RANDOM(name, op, sizes) NODE(name, op, IN(sizes), I32 TYPE("dtype", "FLOAT"))

// "x" is the count.
static const char kGraph[] =
    NODE("x", "Placeholder", , TYPE("dtype", "INT32"))
    NODE("zero", "Const", , INT32("0")) NODE("one", "Const", , INT32("1"))
    NODE("small", "Const", , FLOAT("0.001"))
    NODE("sizes", "Pack", IN("x"), I32 MANY("1"))
    NODE("square_sizes", "Pack", IN("x") IN("x"), I32 MANY("2"))
    NODE("boxes_sizes", "Pack", IN("x") IN("four"), I32 MANY("2"))
    NODE("four", "Const", , INT32("4")) PAIR("row_of_five", "1", "5")
    FLOATS("line", "sizes") FLOATS("square", "square_sizes") FLOATS("logits", "row_of_five")
    RANDOM("noise", "RandomUniform", "square_sizes") RANDOM("scores", "RandomUniform", "sizes")
    RANDOM("boxes", "RandomUniform", "boxes_sizes")
    FLOATS("fill", "sizes")
    NODE("range", "Range", IN("zero") IN("x") IN("one"), TYPE("Tidx", "INT32"))
    NODE("tile", "Tile", IN("logits") IN("square_sizes"), F32)
    NODE("linspace", "LinSpace", IN("small") IN("small") IN("x"), F32)
    RANDOM("uniform", "RandomUniform", "sizes") RANDOM("normal", "RandomStandardNormal", "sizes")
    RANDOM("truncated", "TruncatedNormal", "sizes")
    NODE("gamma", "RandomGamma", IN("sizes") IN("small"), TYPE("S", "INT32") F32)
    NODE("poisson", "RandomPoissonV2", IN("sizes") IN("small"), TYPE("S", "INT32")
         TYPE("R", "FLOAT"))
    NODE("multinomial", "Multinomial", IN("logits") IN("x"), F32)
    NODE("shuffle", "RandomShuffle", IN("line"), F32)
    NODE("exp", "Exp", IN("square"), F32)
    NODE("outer", "AddV2", IN("column") IN("line"), F32)
    NODE("column", "ExpandDims", IN("line") IN("one"), F32)
    NODE("igamma", "Igamma", IN("column") IN("line"), F32)
    NODE("sum", "Sum", IN("noise") IN("zero"), F32)
    NODE("cumsum", "Cumsum", IN("noise") IN("zero"), F32)
    NODE("top", "TopKV2", IN("scores") IN("x"), F32)
    NODE("where", "Where", IN("scores"), F32)
    NODE("matmul", "MatMul", IN("square") IN("square"), F32)
    NODE("einsum", "Einsum", IN("square") IN("square"),
         MANY("2") F32 " attr { key: 'equation' value { s: 'ij,jk->ik' } }")
    NODE("inverse", "MatrixInverse", IN("noise"), F32)
    NODE("determinant", "MatrixDeterminant", IN("noise"), F32)
    NODE("svd", "Svd", IN("noise"), F32)
    NODE("eigen", "SelfAdjointEigV2", IN("noise"), F32)
    NODE("qr", "Qr", IN("noise"), F32)
    NODE("solve", "MatrixSolve", IN("noise") IN("noise"), F32)
    NODE("band_solve", "MatrixTriangularSolve", IN("noise") IN("noise"), F32)
    NODE("lu", "Lu", IN("noise"), F32)
    NODE("exponential", "MatrixExponential", IN("noise"), F32)
    NODE("suppression", "NonMaxSuppressionV3", IN("boxes") IN("scores") IN("x") IN("one_float")
         IN("zero_float"), F32)
    NODE("one_float", "Const", , FLOAT("1")) NODE("zero_float", "Const", , FLOAT("0"));

typedef struct case_s {
  const char* name;
  int32_t count;
} case_t;

static const case_t kCases[] = {
    {"fill", 2000000000}, {"range", 2000000000}, {"tile", 20000}, {"linspace", 2000000000},
    {"uniform", 2000000000}, {"normal", 2000000000}, {"truncated", 2000000000},
    {"gamma", 2000000000}, {"poisson", 2000000000}, {"multinomial", 2000000000},
    {"shuffle", 100000000}, {"exp", 40000}, {"outer", 40000}, {"igamma", 40000}, {"sum", 20000},
    {"cumsum", 20000}, {"top", 20000000}, {"where", 100000000}, {"matmul", 6000}, {"einsum", 6000},
    {"inverse", 3000}, {"determinant", 5000}, {"svd", 1500}, {"eigen", 1500}, {"qr", 2000},
    {"solve", 4000}, {"band_solve", 6000}, {"lu", 4000}, {"exponential", 1000},
    {"suppression", 100000},
};

static double seconds_since(int64_t start_ns) {
  return (double)(leat_clock_now_ns() - start_ns) / 1e9;
}

static void test_deadline(void** state) {
  functions_t f = functions_open(kGraph);
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    int64_t start_ns = leat_clock_now_ns();
    TF_Code code = functions_try(&f, kCases[i].name, kit_int32(kCases[i].count), TIMEOUT_MS);
    double seconds = seconds_since(start_ns);
    if (code == TF_DEADLINE_EXCEEDED && seconds < MOST_SECONDS) continue;
    fail_msg("%s: code %d (%s) after %.1f s", kCases[i].name, code, TF_Message(f.status), seconds);
  }
  functions_close(&f);
}

// The timeout that a session has for steps that state none: ConfigProto.operation_timeout_in_ms.
static void test_timeout_of_session(void** state) {
  functions_t f = functions_open(kGraph);
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char config[] = {0x58, TIMEOUT_MS};
  TF_SetConfig(options, config, sizeof config, f.status);
  kit_ok(f.status);
  kit_close(f.session);
  f.session = TF_NewSession(f.graph, options, f.status);
  kit_ok(f.status);
  int64_t start_ns = leat_clock_now_ns();
  assert_int_equal(functions_try(&f, "multinomial", kit_int32(2000000000), 0),
                   TF_DEADLINE_EXCEEDED);
  assert_true(seconds_since(start_ns) < MOST_SECONDS);
  TF_DeleteSessionOptions(options);
  functions_close(&f);
}

static void* close_soon(void* session) {
  TF_Status* status = TF_NewStatus();
  usleep(TIMEOUT_MS * 1000);
  TF_CloseSession(session, status);
  kit_ok(status);
  TF_DeleteStatus(status);
  return NULL;
}

static void test_close(void** state) {
  static const case_t kinds[] = {{"multinomial", 2000000000}, {"svd", 1500},
                                 {"matmul", 6000},            {"inverse", 2500}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    functions_t f = functions_open(kGraph);
    pthread_t closer;
    int64_t start_ns = leat_clock_now_ns();
    assert_int_equal(pthread_create(&closer, NULL, close_soon, f.session), 0);
    assert_int_equal(functions_try(&f, kinds[i].name, kit_int32(kinds[i].count), 0), TF_CANCELLED);
    assert_true(seconds_since(start_ns) < MOST_SECONDS);
    pthread_join(closer, NULL);
    functions_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_deadline),
      cmocka_unit_test(test_timeout_of_session),
      cmocka_unit_test(test_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
